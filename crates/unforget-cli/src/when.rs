//! Times as people write and read them.

use unforget_core::id::Timestamp;
use unforget_server::when::FORMS;

use crate::failure::{Failure, Outcome};

pub(crate) use unforget_server::when::Clock;

/// The beginning of a period, in the person's time zone.
///
/// # Errors
/// Wrong usage, with the forms that are known.
pub(crate) fn parse(text: &str) -> Outcome<Timestamp> {
    Clock::here().parse(text).ok_or_else(|| Failure::usage(format!("{text} is not a time"), FORMS))
}
