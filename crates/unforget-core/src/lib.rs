//! The rules of Unforget, as pure functions on plain values.
//!
//! Data flows in the order of the modules:
//!
//! ```text
//! transcript ─▶ wire ─▶ reconcile ─▶ store ─▶ compact ─▶ assemble ─▶ admit ─▶ wire ─▶ provider
//! ```
//!
//! Nothing here reads a clock, a file, the environment or random order, and nothing here looks into
//! text to guess a fact: same input, same output. Effects are carried out by `unforget-engine`.

pub mod admit;
pub mod assemble;
pub mod cache;
pub mod caller;
pub mod compact;
pub mod counts;
pub mod deliver;
pub mod digest;
pub mod entry;
pub mod estimate;
pub mod gate;
pub mod group;
pub mod id;
pub mod inherit;
pub mod ladder;
pub mod ledger;
pub mod loop_view;
pub mod media;
pub mod message;
pub mod pair;
pub mod pin;
pub mod policy;
pub mod prefix;
pub mod reconcile;
pub mod recover;
pub mod reported;
pub mod reserve;
pub mod standing;
pub mod tokens;
pub mod transcript;
pub mod zoo;
