//! Pins.

use serde::Serialize;
use unforget_core::pin::{PinState, Trouble};
use unforget_engine::Proposed;
use unforget_store::{PinFileRow, PinRow};
use utoipa::ToSchema;

use super::iso;

/// A pinned file.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinFileJson {
    /// The pin with its text.
    pub pin: u64,
    /// Its absolute path.
    pub path: String,
    /// BLAKE3 of the pinned text, in hex.
    pub digest: String,
    /// When this text was read.
    pub read: Option<String>,
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
            trouble: trouble.map(Trouble::name),
            detail: trouble.map(|trouble| format!("{} {}", file.path, trouble.words())),
            next: trouble.map(Trouble::hint),
        }
    }
}

/// A pin.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinJson {
    pin: u64,
    text: String,
    seq: Option<u64>,
    state: &'static str,
    superseded_by: Option<u64>,
    made: Option<String>,
    changed: Option<String>,
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
            changed: iso(row.changed),
            file: files.iter().find(|file| file.file.pin == row.pin.id).map(Into::into),
        }
    }
}

/// A sentence that a person may want to pin.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProposalJson {
    number: u64,
    seq: u64,
    kind: &'static str,
    text: String,
}

impl From<&Proposed> for ProposalJson {
    fn from(one: &Proposed) -> Self {
        Self { number: one.number, seq: one.seq.0, kind: one.kind.name(), text: one.text.clone() }
    }
}

/// What `pin` and `unpin` print.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinnedJson {
    /// Key of the conversation.
    pub conversation: String,
    #[serde(flatten)]
    /// The pin.
    pub pin: PinJson,
}

/// What `pins` prints.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinsJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Pins, by number.
    pub pins: Vec<PinJson>,
    /// Sentences that a person may want to pin.
    pub proposals: Vec<ProposalJson>,
}
