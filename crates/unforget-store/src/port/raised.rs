//! Entries that people put back into prompts.

use unforget_core::id::{Seq, Timestamp};
use unforget_core::raised::RaisedSpan;

/// A decision of a person: these entries stand in prompts again, word for word. Never changed, only taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaisedRow {
    /// Its number within the conversation, from 1, ascending with time. 0 for a new one, see
    /// [`put_raised`](crate::Summaries::put_raised).
    pub number: u64,
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Who decided.
    pub author: String,
    /// The time of the decision.
    pub made: Timestamp,
    /// The time at which it was taken back.
    pub withdrawn: Option<Timestamp>,
}

impl RaisedRow {
    /// Whether it counts: nobody took it back.
    pub const fn is_standing(&self) -> bool {
        self.withdrawn.is_none()
    }

    /// Whether it counted at a time.
    pub fn stood_at(&self, time: Timestamp) -> bool {
        self.made <= time && self.withdrawn.is_none_or(|end| end > time)
    }

    /// The span with its number.
    pub const fn raised(&self) -> RaisedSpan {
        RaisedSpan { number: self.number, span: self.span }
    }
}
