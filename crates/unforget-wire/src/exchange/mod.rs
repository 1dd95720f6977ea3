//! One call of a provider's API as a gateway between client and provider sees it.
//!
//! * [`Call`] - what a client's request body says, and the body with other messages in it.
//! * [`annotations`] - what clients write into messages for the provider's cache alone.
//!
//! Only for [`Dialect::OpenAiChat`](crate::Dialect::OpenAiChat), [`Dialect::OpenAiResponses`](crate::Dialect::OpenAiResponses)
//! and [`Dialect::Anthropic`](crate::Dialect::Anthropic). Everything is pure and total; bodies are read in one pass and
//! without recursion, so depth and size cost no more than their bytes.

pub mod annotations;
mod call;
mod edit;

pub use call::{Call, CallFault, Hints, Shape, Wrong};
pub use edit::{Edit, edited};
