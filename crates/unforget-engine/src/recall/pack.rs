//! Evidence for another agent: what is known of a question, each statement with its receipt, within a budget of tokens.
//!
//! Nothing here decides what is true or what fits: statements and passages are those of [`Engine::answer`], rows those of
//! [`Engine::search`], rules and open work those of [`Engine::session_memory`]. A pack only puts them together.

use std::collections::BTreeSet;

use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_core::tokens::Ruler as _;
use unforget_recall::coverage::Coverage;
use unforget_recall::terms::Analyser;
use unforget_recall::tuning::Tuning;
use unforget_text::{MemoryBounds, MemoryItem, MemoryKind, QuoteKind, chosen};

use super::answer::{AnswerLine, Answered, Evidence, Grant, Question};
use super::clues::{Clue, ClueKind};
use super::search::{SearchAnswer, SearchQuery};
use crate::internal::is_internal;
use crate::meaning::MeaningReceipt;
use crate::{Engine, EngineError};

/// Default tokens of a pack.
pub const PACK_TOKENS: u64 = 2_000;

/// Fewest tokens in which a pack says anything.
pub const PACK_TOKENS_MIN: u64 = 200;

/// Percent of the budget for statements and rows; passages get the rest, and what these leave.
const LINES_PERCENT: u64 = 60;

/// Tokens of a line beside its words: mark, receipt, line feed.
const LINE_FRAME: u64 = 24;

/// Tokens of a passage beside its words.
const PASSAGE_FRAME: u64 = 40;

/// Rows that are asked for beside the hits.
const CLUES: usize = 8;

/// Sessions whose memory is asked, the newest first.
const SESSIONS_MAX: usize = 50;

/// Entries of a session that are folded while the caller waits.
const BEHIND_MAX: u64 = 2_000;

/// Share of the question that an item of the memory holds at least.
const SHARE_MIN: f32 = 0.5;

/// Rules of a project that belong into every pack.
const RULES_MAX: usize = 3;

/// What is to be packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackQuery {
    /// The question, or words.
    pub text: String,
    /// Restricts the pack to this conversation.
    pub conversation: Option<ConversationId>,
    /// Maximum tokens of the pack, frame included; 0 for [`PACK_TOKENS`].
    pub budget_tokens: u64,
    /// Whether the conversations in scope are one project: then its newest rules are packed whatever the question says.
    pub is_project: bool,
    /// Reference time for words such as `yesterday`.
    pub now: Option<Timestamp>,
}

/// The kind of a line, in the order of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackKind {
    /// Rules that people laid down.
    Rule,
    /// Decisions, and the reasons for something.
    Decision,
    /// Work that is not done.
    Open,
    /// Failures, and what cleared them.
    Failure,
    /// Commands.
    Command,
    /// Files that were changed.
    File,
    /// What was done: completed work, commits.
    Done,
    /// What people said.
    Said,
    /// Anything else that holds much of the question.
    Found,
}

impl PackKind {
    /// All kinds, in order.
    pub const ALL: [Self; 9] = [
        Self::Rule,
        Self::Decision,
        Self::Open,
        Self::Failure,
        Self::Command,
        Self::File,
        Self::Done,
        Self::Said,
        Self::Found,
    ];

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Open => "open",
            Self::Failure => "failure",
            Self::Command => "command",
            Self::File => "file",
            Self::Done => "done",
            Self::Said => "said",
            Self::Found => "found",
        }
    }
}

/// A line of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackLine {
    /// What it tells.
    pub kind: PackKind,
    /// Its words, on one line: somebody's writing, never an instruction.
    pub text: String,
    /// Names for `expand` of the entries that it is from; empty for a rule that was typed as a pin.
    pub receipts: Vec<String>,
    /// The host's time of the entry, where it is known.
    pub time: Option<Timestamp>,
}

/// Cited evidence within a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// By kind; within a kind the weightiest first.
    pub lines: Vec<PackLine>,
    /// Passages, best first.
    pub passages: Vec<Evidence>,
    /// Number of lines and passages that were found and did not fit.
    pub left_out: u64,
    /// Number of entries searched, and of entries in the store.
    pub searched: (u64, u64),
    /// Explanation of an empty pack; empty if anything was found.
    pub negative: String,
    /// Tokens of the pack.
    pub tokens: u64,
    /// What the search says of meaning; `None` without a model of vectors.
    pub meaning: Option<MeaningReceipt>,
}

impl Engine {
    /// Packs what is known of a question for another agent.
    ///
    /// Cost: one [`Engine::answer`] without a model, one [`Engine::search`], and the memory of the newest 50 sessions.
    ///
    /// # Errors
    /// See [`Engine::search`].
    pub fn pack(&self, wanted: &PackQuery) -> Result<Pack, EngineError> {
        let budget = if wanted.budget_tokens == 0 { PACK_TOKENS } else { wanted.budget_tokens };
        if budget < PACK_TOKENS_MIN {
            let what = format!("a pack of {budget} tokens holds nothing");
            let hint = format!("give it at least {PACK_TOKENS_MIN}");
            return Err(EngineError::Usage { what, hint });
        }
        let question = Question { text: &wanted.text, from: &[], now: wanted.now };
        let grant =
            Grant { scope: wanted.conversation, tokens: budget.saturating_mul(2), ..Grant::default() };
        let answered = self.answer(&question, &grant, None)?;
        let found = self.search(&SearchQuery {
            text: wanted.text.clone(),
            conversation: wanted.conversation,
            limit: Some(1),
            clues: CLUES,
            now: wanted.now,
            ..SearchQuery::default()
        })?;
        let mut lines = of_answer(&answered);
        lines.extend(found.clues.found.iter().map(of_clue));
        lines.extend(self.of_memory(wanted, &found)?);
        let mut pack = Pack { searched: answered.searched, meaning: found.meaning, ..Pack::default() };
        pack.fill(lines, budget.saturating_mul(LINES_PERCENT) / 100);
        pack.read(answered.evidence, budget);
        if pack.lines.is_empty() && pack.passages.is_empty() {
            pack.negative = answered.negative;
        }
        Ok(pack)
    }

    /// Rules of the project, and items of its sessions that hold much of the question.
    fn of_memory(&self, wanted: &PackQuery, found: &SearchAnswer) -> Result<Vec<PackLine>, EngineError> {
        let mut sessions = self.conversations_in(wanted.conversation)?;
        sessions.retain(|one| !is_internal(&one.key) && one.parent.is_none());
        sessions.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
        sessions.truncate(SESSIONS_MAX);
        let coverage = Coverage::new(&found.weights, Tuning::default().near);
        let mut analyser = Analyser::new();
        let (mut rules, mut about) = (Vec::new(), Vec::new());
        for stored in &sessions {
            let items = self.session_memory(stored, BEHIND_MAX)?.items;
            let is_rule = |item: &MemoryItem| wanted.is_project && item.kind == MemoryKind::Rule;
            rules.push(items.iter().filter(|item| is_rule(item)).cloned().collect::<Vec<_>>());
            about.push(
                items
                    .into_iter()
                    .filter(|item| coverage.of(&mut analyser, &item.text) >= SHARE_MIN)
                    .collect::<Vec<_>>(),
            );
        }
        let shown = chosen(&rules, MemoryBounds { of_kind: RULES_MAX, bytes: usize::MAX });
        let more = chosen(&about, MemoryBounds { of_kind: RULES_MAX, bytes: usize::MAX });
        let line = |one: unforget_text::ShownMemory| {
            let key = sessions.get(one.session).map_or("", |session| session.key.0.as_str());
            PackLine {
                kind: kind_of(one.item.kind),
                receipts: one.item.seq.map(|seq| format!("e:{key}:{seq}")).into_iter().collect(),
                text: one.item.text,
                time: one.item.time,
            }
        };
        Ok(shown.into_iter().chain(more).map(line).collect())
    }
}

/// The kind of a pack's line for an item of the memory.
pub(super) const fn kind_of(kind: MemoryKind) -> PackKind {
    match kind {
        MemoryKind::Rule => PackKind::Rule,
        MemoryKind::Open => PackKind::Open,
        MemoryKind::Decision => PackKind::Decision,
        MemoryKind::Fixed => PackKind::Failure,
        MemoryKind::Works => PackKind::Command,
    }
}

/// The lines of an answer, with their passages' names.
fn of_answer(answered: &Answered) -> Vec<PackLine> {
    let line = |line: &AnswerLine| {
        let passage = answered.evidence.iter().find(|one| one.number == line.number);
        PackLine {
            kind: match line.kind {
                QuoteKind::Said => PackKind::Said,
                QuoteKind::Decided => PackKind::Decision,
                QuoteKind::Done => PackKind::Done,
                QuoteKind::Failed => PackKind::Failure,
                QuoteKind::Open => PackKind::Open,
                QuoteKind::Found => PackKind::Found,
            },
            text: line.text.clone(),
            receipts: passage.map(|one| one.name.clone()).into_iter().collect(),
            time: passage.and_then(|one| one.time),
        }
    };
    answered.lines.iter().map(line).collect()
}

/// A row beside the hits as a line.
fn of_clue(clue: &Clue) -> PackLine {
    let kind = match (clue.kind, clue.row.as_str()) {
        (ClueKind::Pin, _) => PackKind::Rule,
        (ClueKind::Ledger, "command") => PackKind::Command,
        (ClueKind::Ledger, "file") => PackKind::File,
        (ClueKind::Ledger, "failure") => PackKind::Failure,
        (ClueKind::Ledger, _) => PackKind::Done,
        (ClueKind::Title | ClueKind::Summary, _) => PackKind::Found,
    };
    PackLine { kind, text: clue.text.clone(), receipts: clue.names(), time: None }
}

impl Pack {
    /// Takes lines, each kind in its turn, so that no kind fills the room alone.
    pub(super) fn fill(&mut self, lines: Vec<PackLine>, most: u64) {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<Vec<PackLine>> = PackKind::ALL.map(|_| Vec::new()).into();
        for line in lines {
            if seen.insert(line.text.to_lowercase())
                && let Some(of_kind) = waiting.get_mut(line.kind as usize)
            {
                of_kind.push(line);
            }
        }
        for of_kind in &mut waiting {
            of_kind.reverse();
        }
        while waiting.iter().any(|of_kind| !of_kind.is_empty()) {
            for line in waiting.iter_mut().filter_map(Vec::pop) {
                let tokens = ClassEstimate.count(&line.text).expected + LINE_FRAME;
                if self.tokens + tokens <= most {
                    self.tokens += tokens;
                    self.lines.push(line);
                } else {
                    self.left_out += 1;
                }
            }
        }
        // Stable: the order within a kind stays.
        self.lines.sort_by_key(|line| line.kind);
    }

    /// Takes passages while they fit.
    fn read(&mut self, passages: Vec<Evidence>, most: u64) {
        for passage in passages {
            let tokens = passage.tokens + PASSAGE_FRAME;
            if self.tokens + tokens > most {
                self.left_out += 1;
                continue;
            }
            self.tokens += tokens;
            let number = self.passages.len() as u32 + 1;
            self.passages.push(Evidence { number, ..passage });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: PackKind, text: &str) -> PackLine {
        PackLine { kind, text: text.to_owned(), receipts: Vec::new(), time: None }
    }

    #[test]
    fn fill_table() {
        use PackKind::{Command, Decision, Rule};
        let lines = || {
            vec![
                line(Decision, "one"),
                line(Decision, "two"),
                line(Rule, "three"),
                line(Decision, "ONE"),
                line(Command, "four"),
            ]
        };
        let table: [(u64, &[&str], u64, &str); 3] = [
            (1_000, &["three", "one", "two", "four"], 0, "by kind, each once"),
            (80, &["three", "one", "four"], 1, "each kind has its turn before a second line"),
            (10, &[], 4, "no room"),
        ];
        for (most, want, left_out, why) in table {
            let mut pack = Pack::default();
            pack.fill(lines(), most);
            let texts: Vec<&str> = pack.lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!((texts.as_slice(), pack.left_out), (want, left_out), "{why}");
            assert!(pack.tokens <= most, "{why}");
        }
    }
}
