//! System instructions that a transcript records.

use unforget_core::id::Seq;
use unforget_core::pair::OmissionReason;
use unforget_core::policy::EXCERPT_MIN;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_text::excerpt;
use unforget_wire::render_head;

use super::Shape;
use super::pieces::handle;

/// Recorded instructions in the form in which they are sent.
///
/// Recorded instructions are entries. Where they would leave no room for the conversation, they are shortened, and the
/// certificate says so. Instructions that a live host passes with a request are never changed.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedSystem {
    /// In order.
    pub(super) texts: Vec<String>,
    /// Their size.
    pub(super) tokens: Tokens,
    /// Entries that were shortened.
    pub(super) shortened: Vec<(Seq, OmissionReason)>,
}

impl RecordedSystem {
    /// The instructions for a shape. They depend on nothing else, so the beginning of a prompt is stable.
    pub(super) fn of(recorded: &[(Seq, String)], shape: &Shape) -> Self {
        let texts: Vec<_> = recorded.iter().map(|(_, text)| text.clone()).collect();
        let tokens = weigh(&texts, shape);
        let Some(each) = shape.policy.instruction_cap(tokens.upper, texts.len()) else {
            return Self { texts, tokens, shortened: Vec::new() };
        };
        let mut shortened = Vec::new();
        let short = |(seq, text): &(Seq, String)| {
            if shape.ruler.count(text).upper <= each {
                return text.clone();
            }
            shortened.push((*seq, OmissionReason::LongSystem));
            excerpt(text, each.max(EXCERPT_MIN), &shape.ruler, &handle(*seq, *seq))
        };
        let texts: Vec<_> = recorded.iter().map(short).collect();
        let tokens = weigh(&texts, shape);
        Self { texts, tokens, shortened }
    }
}

fn weigh(texts: &[String], shape: &Shape) -> Tokens {
    if texts.is_empty() {
        return Tokens::default();
    }
    shape.ruler.count(&render_head(texts, shape.dialect, true))
}
