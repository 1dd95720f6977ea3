//! Pins over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unforget_core::pin::{PinState, Trouble};
use unforget_engine::Proposed;
use unforget_store::{PinFileRow, PinRow};

/// Parameters of `pin`: words, an entry, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PinParams {
    /// The words, verbatim. Without them, those of the entry.
    #[serde(default)]
    pub text: Option<String>,
    /// The entry that they come from: `s:12`.
    #[serde(default)]
    pub entry: Option<String>,
    /// Number of the pin whose place they take.
    #[serde(default)]
    pub supersedes: Option<u64>,
}

/// Parameters of `unpin`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct UnpinParams {
    /// Number of the pin.
    pub pin: u64,
}

/// Parameters of `pins`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct PinsParams {
    /// Whether sentences that a person may want to pin are looked for: reads all of the history.
    #[serde(default)]
    pub proposals: bool,
}

/// Answer of `pin` and `unpin`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Pinned {
    /// Number of the pin.
    pub pin: u64,
}

/// A pinned file. Only a person at the command line can name a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinFileFacts {
    /// Its absolute path.
    pub path: String,
    /// BLAKE3 of the pinned text, in hex.
    pub digest: String,
    /// When this text was read, in milliseconds since 1970.
    pub read_ms: i64,
    /// Why the pinned text may be older than the file: `gone`, `unreadable`, `folder`, `special`, `link`, `too-large`, `not-text`,
    /// `blank`.
    pub trouble: Option<&'static str>,
}

/// A pin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinFacts {
    /// Its number.
    pub pin: u64,
    /// The words, verbatim.
    pub text: String,
    /// The entry that they come from.
    pub entry: Option<u64>,
    /// `active`, `retired`, `superseded`.
    pub state: &'static str,
    /// Number of the pin that stands for it.
    pub superseded_by: Option<u64>,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: i64,
    /// When its state changed last.
    pub changed_ms: i64,
    /// The file with this text.
    pub file: Option<PinFileFacts>,
}

impl From<&PinFileRow> for PinFileFacts {
    fn from(row: &PinFileRow) -> Self {
        Self {
            path: row.file.path.clone(),
            digest: row.file.digest.hex(),
            read_ms: row.read.0,
            trouble: row.file.trouble.map(Trouble::name),
        }
    }
}

impl PinFacts {
    /// * `files` - of the lane.
    pub(crate) fn new(row: PinRow, files: &[PinFileRow]) -> Self {
        let (state, superseded_by) = match row.pin.state {
            PinState::Active => ("active", None),
            PinState::Retired => ("retired", None),
            PinState::SupersededBy(by) => ("superseded", Some(by.0)),
        };
        Self {
            file: files.iter().find(|file| file.file.pin == row.pin.id).map(Into::into),
            pin: row.pin.id.0,
            text: row.pin.text,
            entry: row.pin.source.map(|seq| seq.0),
            state,
            superseded_by,
            made_ms: row.made.0,
            changed_ms: row.changed.0,
        }
    }
}

/// A sentence that a person may want to pin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProposalFacts {
    /// Its number among the proposals as they are now.
    pub number: u64,
    /// The entry that it stands in.
    pub entry: u64,
    /// `prohibition`, `demand`, `approval`, `rule-file`.
    pub kind: &'static str,
    /// The words, verbatim.
    pub text: String,
}

impl From<Proposed> for ProposalFacts {
    fn from(one: Proposed) -> Self {
        Self { number: one.number, entry: one.seq.0, kind: one.kind.name(), text: one.text }
    }
}

/// Answer of `pins`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PinList {
    /// All pins by number.
    pub pins: Vec<PinFacts>,
    /// Sentences that a person may want to pin, if they were asked for.
    pub proposals: Vec<ProposalFacts>,
}
