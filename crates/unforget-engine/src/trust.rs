//! Trust: everything comes back byte for byte, and what is wrong is found and said.

mod doctor;
mod export;
mod resolve;
mod verify;

pub use doctor::Finding;
pub use export::Exported;
pub(crate) use export::portions;
pub use resolve::Resolved;
pub use verify::Verified;
