//! One call of a provider's API as seen by a gateway between client and provider.
//!
//! * [`Call`] - a client's request body, and that body with other messages.
//! * [`Context`] - parts of a client's history meant for every call.
//! * [`annotations`] - annotations of messages for the provider's cache.
//! * [`sse`] - a stream as events.
//! * [`Answer`] - an answer, streamed or whole, as the messages that the client will send back.
//! * [`Offer`] - a tool of the gateway's own in a call, and [`Join`] - several answers that call it, joined into one.
//! * [`pieces`] - what a body costs before it is read.
//! * [`Fault`] - our own errors in the dialect's shape.
//!
//! Only for [`Dialect::OpenAiChat`](crate::Dialect::OpenAiChat),
//! [`Dialect::OpenAiResponses`](crate::Dialect::OpenAiResponses) and [`Dialect::Anthropic`](crate::Dialect::Anthropic).
//! Everything is pure and total. Bodies are read in one pass and without recursion, so depth and size cost no more than
//! their bytes.

mod answer;
mod call;
mod fault;
mod join;
mod offer;
mod pieces;
pub mod sse;

pub use crate::annotations;
pub use crate::edit::{Edit, edited};
pub use answer::{ANSWER_MAX, Answer, Answered, BLOCKS_MAX, Ended, Usage, Why};
pub use call::{Call, CallFault, Context, Hints, Shape, Wrong, kept_in, named_model};
pub use fault::Fault;
pub use join::{Join, Outcome, Round};
pub use offer::Offer;
pub use pieces::pieces;

/// Text as a JSON string.
fn quoted(text: &str) -> String {
    // Serialising a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
