//! Turns and questions, whatever their data set.

use unforget_core::entry::Role;
use unforget_core::id::Timestamp;

/// A conversation, or many in one index, with questions about it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Its turns, oldest first.
    pub turns: Vec<Turn>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// One turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Who speaks; empty if the data set does not say.
    pub author: String,
    /// The role of the speaker; [`Role::None`] in a talk between people.
    pub role: Role,
    /// The time, if known.
    pub time: Option<Timestamp>,
    /// Number of its session within the case, ascending.
    pub session: usize,
    /// The spoken text and shown content.
    pub text: String,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its text, which is all that the search gets.
    pub text: String,
    /// Its kind, for the report.
    pub category: String,
    /// The turns that are evidence, by place, ascending, without duplicates.
    pub evidence: Vec<usize>,
    /// Whether one piece of evidence is as good as all: equal texts, or turns with the same identifier.
    pub any: bool,
}

impl Case {
    /// Adds the turns of another case behind these, as sessions of their own, and its questions if they are wanted.
    pub(crate) fn append(&mut self, other: &Self, with_questions: bool) {
        let base = self.turns.len();
        let session = self.turns.last().map_or(0, |turn| turn.session + 1);
        self.turns
            .extend(other.turns.iter().map(|turn| Turn { session: session + turn.session, ..turn.clone() }));
        if with_questions {
            self.questions.extend(other.questions.iter().map(|question| Question {
                evidence: question.evidence.iter().map(|turn| base + turn).collect(),
                ..question.clone()
            }));
        }
    }
}
