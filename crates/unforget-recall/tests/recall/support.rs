//! Helpers of the tests.

pub(crate) mod locomo_file;
