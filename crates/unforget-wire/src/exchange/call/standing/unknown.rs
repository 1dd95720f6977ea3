//! An unknown client: only the place tells its context from a person's text. Text of user messages before the first
//! answer is context, except the last one, which is the question.

use unforget_core::standing::Rank;

use super::{ContextKind, Found};

/// Selects the standing context.
///
/// * `texts` - all texts of user messages before the first answer, in order.
pub(super) fn take(mut texts: Vec<Found>) -> Vec<Found> {
    texts.pop();
    for text in &mut texts {
        text.is(ContextKind::adds(Rank::Other, "other"));
    }
    texts
}
