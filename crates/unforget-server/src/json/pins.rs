//! Pins.

use serde::Serialize;
use unforget_core::pin::PinState;
use unforget_engine::Proposed;
use unforget_store::PinRow;
use utoipa::ToSchema;

use super::iso;

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
}

impl From<&PinRow> for PinJson {
    fn from(row: &PinRow) -> Self {
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
