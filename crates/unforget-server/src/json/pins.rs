//! Pins.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_core::pin::{PinState, Trouble};
use unforget_engine::Proposed;
use unforget_store::{PinFileRow, PinRow};
use utoipa::ToSchema;

use super::iso;

/// A pinned file. Only a person at the command line can name a file.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct PinFileJson {
    /// The pin with its text.
    pub pin: u64,
    /// Its absolute path.
    pub path: String,
    /// BLAKE3 of the pinned text, in hex.
    pub digest: String,
    /// When this text was read, in UTC.
    pub read: Option<String>,
    /// When this text was read, in ms since 1970.
    pub read_ms: i64,
    /// Why the pinned text may be older than the file: `gone`, `unreadable`, `folder`, `special`, `link`, `too-large`,
    /// `not-text`, `blank`. Null if the last reading succeeded.
    pub trouble: Option<&'static str>,
    /// The trouble as a sentence.
    pub detail: Option<String>,
    /// Advice for the user.
    pub next: Option<&'static str>,
}

impl From<&PinFileRow> for PinFileJson {
    fn from(row: &PinFileRow) -> Self {
        let (file, trouble) = (&row.file, row.file.trouble);
        Self {
            pin: file.pin.0,
            path: file.path.clone(),
            digest: file.digest.hex(),
            read: iso(row.read),
            read_ms: row.read.0,
            trouble: trouble.map(Trouble::name),
            detail: trouble.map(|trouble| format!("{} {}", file.path, trouble.words())),
            next: trouble.map(Trouble::hint),
        }
    }
}

/// A pin.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct PinJson {
    /// Its number.
    pin: u64,
    /// The words, verbatim.
    text: String,
    /// The entry that they come from; null for typed words.
    #[schemars(rename = "entry")]
    seq: Option<u64>,
    /// `active`, `retired`, `superseded`.
    state: &'static str,
    /// Number of the pin that took its place.
    superseded_by: Option<u64>,
    /// When it was made, in UTC.
    made: Option<String>,
    /// When it was made, in ms since 1970.
    made_ms: i64,
    /// When its state changed last, in UTC.
    changed: Option<String>,
    /// When its state changed last, in ms since 1970.
    changed_ms: i64,
    /// The file with this text; null for a typed text, and for an older text of a file.
    file: Option<PinFileJson>,
}

impl PinJson {
    /// * `files` - of the conversation.
    pub fn new(row: &PinRow, files: &[PinFileRow]) -> Self {
        let (state, superseded_by) = match row.pin.state {
            PinState::Active => ("active", None),
            PinState::Retired => ("retired", None),
            PinState::SupersededBy(by) => ("superseded", Some(by.0)),
        };
        Self {
            pin: row.pin.id.0,
            text: row.pin.text.clone(),
            seq: row.pin.source.map(|seq| seq.0),
            state,
            superseded_by,
            made: iso(row.made),
            made_ms: row.made.0,
            changed: iso(row.changed),
            changed_ms: row.changed.0,
            file: files.iter().find(|file| file.file.pin == row.pin.id).map(Into::into),
        }
    }
}

/// A sentence that a person may want to pin.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ProposalJson {
    /// Its number among the proposals as they are now.
    number: u64,
    /// The entry that it stands in.
    #[schemars(rename = "entry")]
    seq: u64,
    /// `prohibition`, `demand`, `approval`, `rule-file`.
    kind: &'static str,
    /// The words, verbatim.
    text: String,
}

impl From<&Proposed> for ProposalJson {
    fn from(one: &Proposed) -> Self {
        Self { number: one.number, seq: one.seq.0, kind: one.kind.name(), text: one.text.clone() }
    }
}

/// A pin that was made, or taken back.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinnedJson {
    /// Key of the conversation.
    pub conversation: String,
    /// The pin.
    #[serde(flatten)]
    pub pin: PinJson,
}

/// The pins of a conversation.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct PinsJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Pins, by number.
    pub pins: Vec<PinJson>,
    /// Sentences that a person may want to pin, if they were asked for.
    pub proposals: Vec<ProposalJson>,
}
