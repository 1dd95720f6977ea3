//! Helpers of the tests.

pub(crate) mod clients;
pub(crate) mod daemon;
pub(crate) mod talk;
