//! Trust: every byte can be exported, and damage is found and reported.

mod doctor;
mod export;
mod resolve;
mod unfinished;
mod verify;

pub use doctor::Finding;
pub use export::Exported;
pub use resolve::{Resolved, short_names};
pub use verify::Verified;
