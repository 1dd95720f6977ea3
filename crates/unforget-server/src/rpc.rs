//! JSON-RPC 2.0 over lines: one call per line, one answer per line.
//!
//! | module | does |
//! |---|---|
//! | [`protocol`] | the wire format as types, and its JSON Schema |
//! | `frame` | bounded lines, and the envelope of a call |
//! | `queue` | order within a lane, concurrency between lanes, deadlines, cancellation |
//! | `array`, `held` | message arrays and prompts as deltas |
//! | `verbs`, `recall`, `file` | carries calls out |
//! | `own` | the host's own model, asked over its connection |
//! | `spelling` | answers that other protocols share |
//! | `connection`, `socket` | stdio and Unix sockets |

mod array;
mod connection;
mod file;
mod frame;
mod held;
mod own;
mod pins;
pub mod protocol;
mod queue;
mod raised;
mod recall;
mod server;
#[cfg(unix)]
mod socket;
mod spelling;
mod verbs;

pub use connection::Ended;
pub use server::{CallLimits, Server};
#[cfg(unix)]
pub use socket::{Listening, SocketError, listen};
