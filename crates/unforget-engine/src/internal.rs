//! Journals of our own that hold no messages: registers, and the lane of probes.

use unforget_core::id::ConversationKey;

use crate::journal::{LaneKey, conversation_key};

/// Beginning of the keys of registers.
pub(crate) const REGISTERS: &str = "register/";

/// Key of the lane that probes write to.
pub(crate) const PROBE: &str = "unforget/probe";

/// Whether a conversation is an internal journal without messages: a register, or that of probes. People do not see these.
pub fn is_internal(key: &ConversationKey) -> bool {
    let internal = [LaneKey(REGISTERS.to_owned()), LaneKey(PROBE.to_owned())];
    internal.iter().any(|own| key.0.starts_with(&conversation_key(own).0))
}
