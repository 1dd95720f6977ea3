//! What several processes on one store agree on: [`Engine::peers`](crate::Engine::peers).

pub use unforget_store::{CallStanding, KeptAnswer, KeyedCall, Peers};
