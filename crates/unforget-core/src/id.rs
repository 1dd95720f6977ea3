//! Identifiers as newtypes, so that a position can never be passed for a sequence number.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The store's own number of a conversation. Never shown to a person. See [`ConversationKey`].
    ConversationId
}
number! {
    /// Place of an entry in the order of arrival within its conversation: dense, from 0, never reused.
    Seq
}
number! {
    /// Place of an entry in its generation, in transcript order, from 0.
    Position
}
number! {
    /// One incarnation of a conversation's transcript, from 0.
    Generation
}
number! {
    /// A side lane inside one transcript. 0 is the main lane; the others are inline sub-agents or further tasks of one
    /// file.
    Thread
}

/// The stable name of a conversation: `format:host session id`, with `/agent-…` for a sub-agent.
///
/// It comes from inside the transcript, never from a file name, so it is equal on every machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationKey(pub String);

impl fmt::Display for ConversationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Milliseconds since 1970-01-01 UTC, by the host's clock or ours. An attribute, never an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);
