//! A client that is not known: nothing tells its context from a person's words but the place. Text of user messages before
//! the first answer is context, all but the last: that is what was asked.

use unforget_core::standing::Rank;

use super::{Found, Kind};

/// Takes what is context.
///
/// * `texts` - all texts of user messages before the first answer, in order.
pub(super) fn take(mut texts: Vec<Found>) -> Vec<Found> {
    texts.pop();
    for text in &mut texts {
        text.is(Kind::adds(Rank::Other, "other"));
    }
    texts
}
