//! What another agent needs to go on with a session: the last words, rules, decisions, open work, files, each with its receipt.

use unforget_core::entry::Origin;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_core::ledger::{FileChange, Ledger, TaskState};
use unforget_core::tokens::Ruler as _;
use unforget_store::Conversation;
use unforget_text::numbers::one_line;
use unforget_text::{MemoryItem, MemoryKind};

use super::pack::{Pack, PackKind, PackLine, kind_of};
use super::turns::{PageStart, TurnEntry};
use super::verdict::VerdictCache;
use crate::entry_text::{is_typed, words};
use crate::thread::ThreadRef;
use crate::{Engine, EngineError, Folded};

/// Default tokens of a handoff.
pub const HANDOFF_TOKENS: u64 = 4_000;

/// Fewest tokens in which a handoff says anything.
pub const HANDOFF_TOKENS_MIN: u64 = 500;

/// Tokens of the head, the headings and the frame of the last words.
const HEAD_TOKENS: u64 = 250;

/// Percent of the budget for the last words of either side, at most.
const WORDS_PERCENT: u64 = 20;

/// Entries that are read for what people asked, the newest.
const ENTRIES: usize = 2_000;

/// Entries of a page of them.
const PAGE: usize = 250;

/// Most files.
const FILES: usize = 40;

/// Most characters of an earlier request.
const REQUEST_CHARS: usize = 240;

/// Somebody's words at the end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWords {
    /// The entry.
    pub seq: Seq,
    /// Its words, perhaps cut.
    pub text: String,
    /// Whether they are cut.
    pub is_cut: bool,
}

/// What another agent needs to go on with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handoff {
    /// What a person asked last.
    pub asked: Option<LastWords>,
    /// What the model answered last.
    pub answered: Option<LastWords>,
    /// The other lines, without passages.
    pub pack: Pack,
}

impl Engine {
    /// Makes a handoff of a session's main lane.
    ///
    /// Rules, decisions and open work are those of [`Engine::session_memory`], files and tasks those of the ledger.
    ///
    /// * `budget_tokens` - most tokens of the document, by the estimate without a bound; at least [`HANDOFF_TOKENS_MIN`].
    ///
    /// Cost: reads the newest 2,000 entries; O(new entries) for what is folded.
    ///
    /// # Errors
    /// [`EngineError::Store`]; [`EngineError::Usage`] for too small a budget.
    pub fn handoff(&self, stored: &Conversation, budget_tokens: u64) -> Result<Handoff, EngineError> {
        if budget_tokens < HANDOFF_TOKENS_MIN {
            let what = format!("a handoff of {budget_tokens} tokens says nothing");
            let hint = format!("give it at least {HANDOFF_TOKENS_MIN}");
            return Err(EngineError::Usage { what, hint });
        }
        let lane = ThreadRef { conversation: stored.id, thread: Thread(0) };
        let memory = self.session_memory(stored, u64::MAX)?;
        let mut folded = Folded::default();
        self.fold_ledger(stored.id, lane.thread, &mut folded)?;
        let mut spoken = self.spoken(lane)?;
        if let Some(oldest) = spoken.last() {
            let left = self.taken_back(stored, oldest.seq)?;
            spoken.retain(|one| !left.contains(&one.seq));
        }
        let words_max = budget_tokens.saturating_mul(WORDS_PERCENT) / 100;
        let last = |origin| spoken.iter().find(|one| one.origin == origin);
        let asked = last(Origin::Human);
        let mut handoff = Handoff {
            asked: asked.map(|one| one.cut(words_max)),
            answered: last(Origin::Model).map(|one| one.cut(words_max)),
            pack: Pack::default(),
        };
        let words = [&handoff.asked, &handoff.answered].into_iter().flatten();
        let spent: u64 = words.map(|words| ClassEstimate.count(&words.text).expected).sum();
        let key = &stored.key.0;
        let earlier = spoken.iter().filter(|one| one.origin == Origin::Human).skip(1);
        let mut told: Vec<ToldLine> = memory.items.iter().map(ToldLine::of_item).collect();
        let mut verdicts = VerdictCache::default();
        for line in of_ledger(&folded.ledger).into_iter().chain(earlier.map(Spoken::line)) {
            let is_rejected = match line.seq {
                Some(seq) => verdicts.rejects(self, stored.id, seq, &line.text)?,
                None => false,
            };
            if !is_rejected {
                told.push(line);
            }
        }
        let lines = told.into_iter().map(|line| line.in_pack(key)).collect();
        handoff.pack.fill(lines, budget_tokens.saturating_sub(spent + HEAD_TOKENS));
        handoff.pack.tokens += spent + HEAD_TOKENS;
        Ok(handoff)
    }

    /// What people and the model said in the newest entries, the newest first.
    fn spoken(&self, lane: ThreadRef) -> Result<Vec<Spoken>, EngineError> {
        let mut all = Vec::new();
        let mut start = PageStart::Newest;
        for _ in 0..ENTRIES / PAGE {
            let page = self.read_page(lane, start, PAGE)?;
            all.extend(page.entries.iter().rev().filter_map(Spoken::of));
            match page.entries.first() {
                Some(first) if page.has_older => start = PageStart::Before(first.seq),
                _ => break,
            }
        }
        Ok(all)
    }
}

/// Words of a person or of the model.
struct Spoken {
    seq: Seq,
    time: Option<Timestamp>,
    origin: Origin,
    text: String,
}

impl Spoken {
    fn of(read: &TurnEntry) -> Option<Self> {
        let origin = read.entry.origin;
        let is_spoken = match origin {
            // A host writes `[Request interrupted by user]` in a person's name.
            Origin::Human => is_typed(&read.entry),
            origin => origin == Origin::Model,
        };
        let text = is_spoken.then(|| words(&read.entry)).filter(|text| !text.is_empty())?;
        Some(Self { seq: read.seq, time: read.time, origin, text })
    }

    /// Its words within a number of tokens: the beginning.
    fn cut(&self, most: u64) -> LastWords {
        let mut text = self.text.clone();
        while ClassEstimate.count(&text).expected > most {
            let shorter = text.chars().count() * 4 / 5;
            text = text.chars().take(shorter).collect();
        }
        LastWords { seq: self.seq, is_cut: text.len() < self.text.len(), text }
    }

    /// It as an earlier request.
    fn line(&self) -> ToldLine {
        let text = one_line(&self.text, REQUEST_CHARS);
        ToldLine { kind: PackKind::Said, text, seq: Some(self.seq), time: self.time }
    }
}

/// A line and the entry that it is from; a rule that was typed as a pin is from none.
struct ToldLine {
    kind: PackKind,
    text: String,
    seq: Option<Seq>,
    time: Option<Timestamp>,
}

impl ToldLine {
    fn of_item(item: &MemoryItem) -> Self {
        let text = match item.kind {
            MemoryKind::Fixed => format!("{} (passed later)", item.text),
            _ => item.text.clone(),
        };
        Self { kind: kind_of(item.kind), text, seq: item.seq, time: item.time }
    }

    /// It with its receipt.
    ///
    /// * `key` - of the conversation.
    fn in_pack(self, key: &str) -> PackLine {
        let receipts = self.seq.map(|seq| format!("e:{key}:{seq}")).into_iter().collect();
        PackLine { kind: self.kind, text: self.text, receipts, time: self.time }
    }
}

/// Files that were changed, the most changed first; what fails, what is to be done, what was committed, the newest first.
fn of_ledger(ledger: &Ledger) -> Vec<ToldLine> {
    let line = |kind, text: String, seq| ToldLine { kind, text, seq: Some(seq), time: None };
    let mut lines = Vec::new();
    let mut files: Vec<_> =
        ledger.files().filter_map(|(path, row)| Some((path, row.writes, row.put?))).collect();
    files.sort_by_key(|(path, writes, put)| (std::cmp::Reverse((*writes, put.at.answer)), *path));
    lines.extend(files.into_iter().take(FILES).map(|(path, writes, put)| {
        let done = match (put.change, writes) {
            (FileChange::Gone, _) => "deleted".to_owned(),
            (FileChange::Whole | FileChange::Part, 1) => "changed once".to_owned(),
            (FileChange::Whole | FileChange::Part, writes) => format!("changed {writes} times"),
        };
        line(PackKind::File, format!("{path}: {done}"), put.at.answer)
    }));
    let tasks = ledger.tasks().iter().rev();
    let open = tasks.filter(|task| matches!(task.state, TaskState::Open | TaskState::Active));
    lines.extend(open.map(|task| line(PackKind::Open, task.text.clone(), task.changed.answer)));
    lines.extend(ledger.failing().map(|failure| {
        line(PackKind::Failure, format!("{}: {}", failure.what, failure.told), failure.last.answer)
    }));
    lines.extend(ledger.commits().iter().rev().map(|row| {
        line(PackKind::Done, format!("commit {} {}", row.commit.hash, row.commit.subject), row.at.answer)
    }));
    lines
}
