//! Lanes, delivered messages and receipts.

use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::Seq;
use unforget_wire::journal::Provenance;

use crate::EngineError;

/// A lane: one history of a host, under the name that it keeps across restarts and resets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey(pub String);

/// The first 16 bytes of the SHA-256 of a message's JSON, in UTF-8 as the host sends it. See [`body_digest`](super::body_digest).
///
/// SHA-256, since every language has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyDigest(pub [u8; 16]);

/// A message that a host delivers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The message, in the lane's form; `None` if the engine had it before and `digest` names it.
    pub body: Option<Vec<u8>>,
    /// Digest of the message.
    pub digest: Option<BodyDigest>,
    /// The host's id of the record in its transcript.
    pub id: Option<String>,
    /// The provenance of the message; `None` if the host does not say. Then the message's own field counts, or for
    /// [`Format::Pi`](unforget_wire::Format::Pi) the marker words of old hosts: [`unforget_wire::legacy`].
    pub provenance: Option<Provenance>,
    /// Whether the host leaves the message out of its transcript.
    pub is_volatile: bool,
}

impl Delivered {
    /// A message as the host's transcript has it.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// Adds the host's id.
    #[must_use]
    pub fn with_id(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }
}

/// The effect of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The outcome of the delivery.
    pub why: DeliveryOutcome,
    /// Number of added entries on the path.
    pub added: u64,
    /// Number of added entries beside the path: rewritten copies, possible replays.
    pub off_path: u64,
    /// Number of cuts of the path so far. If it changed, the path is another one.
    pub generation: u64,
    /// The newest entry of the path.
    pub head: Option<Seq>,
}

/// Why a call of a host failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The bodies of these messages are not stored: send the call again with them. Nothing was stored.
    #[error("the database lacks {} of the messages that were named by digest; send them with their bodies", indices.len())]
    Need {
        /// Their places in the array.
        indices: Vec<usize>,
    },
    /// A message cannot be read. Nothing was stored.
    #[error("message {index} of the delivery cannot be used: {what}")]
    BadMessage {
        /// Its place in the array.
        index: usize,
        /// What is wrong.
        what: String,
    },
    /// The lane lacks what the call refers to, or has messages in another form.
    #[error("{what}")]
    Refused {
        /// What was wrong.
        what: String,
    },
    /// Something below failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<unforget_store::StoreError> for HostError {
    fn from(error: unforget_store::StoreError) -> Self {
        Self::Engine(error.into())
    }
}
