//! System instructions that a transcript records.

use unforget_core::id::Seq;
use unforget_core::pair::Reason;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_text::excerpt;
use unforget_wire::render_head;

use super::Shape;
use super::pieces::handle;

/// The instructions as they are sent.
///
/// Recorded instructions are entries like others: where they would leave no room for the conversation
/// they are shortened, with a handle, and the certificate says so. Instructions that a live host passes
/// with a request are not ours to change.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    /// In order.
    pub(super) texts: Vec<String>,
    /// What they weigh.
    pub(super) tokens: Tokens,
    /// Entries that were shortened.
    pub(super) shortened: Vec<(Seq, Reason)>,
}

/// Share of the budget, in hundredths, above which instructions are shortened, and to what.
const SHARE_MAX: u64 = 40;
const SHARE_SHORT: u64 = 25;

impl System {
    /// The instructions for a shape. Depends on nothing else, so the beginning of a prompt stays.
    pub(super) fn of(recorded: &[(Seq, String)], shape: &Shape) -> Self {
        let texts: Vec<_> = recorded.iter().map(|(_, text)| text.clone()).collect();
        let tokens = weigh(&texts, shape);
        if tokens.upper <= shape.policy.budget() * SHARE_MAX / 100 {
            return Self { texts, tokens, shortened: Vec::new() };
        }
        let each = shape.policy.budget() * SHARE_SHORT / 100 / (texts.len().max(1) as u64);
        let mut shortened = Vec::new();
        let short = |(seq, text): &(Seq, String)| {
            if shape.ruler.count(text).upper <= each {
                return text.clone();
            }
            shortened.push((*seq, Reason::LongSystem));
            excerpt(text, each.max(64), &shape.ruler, &handle(*seq, *seq))
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
