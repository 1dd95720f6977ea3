//! Clients of a provider's API, as their journals see them: arrays that are the path, answers, and the register that finds
//! the lane of a call.

mod answer;
mod array;
mod recall_block;
mod register;

pub use answer::DeliveredAnswer;
pub(crate) use array::request_name;
pub use array::{Array, Brings, Foreseen, Said};
pub use recall_block::Recalled;
pub(crate) use recall_block::{RecallQuestion, recall_block};
#[cfg(test)]
pub(crate) use register::BEGINNINGS_AT_ONCE;
pub use register::{Asking, Recognised};
pub(crate) use register::{
    REGISTER_FORM, REGISTER_NAMES_MAX, RegisteredCandidate, asked_first, begin, candidates, likely, read,
    recognised, register, seed,
};
