//! A thread as messages that a host resumes: all of them verbatim, or as the prompt shows them.

use std::collections::BTreeMap;

use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::message::{Block, Message};
use unforget_core::pair::{self, Detail, OmissionReason};
use unforget_core::policy::Policy;
use unforget_wire::SaidMessage;

use super::compose::{Composer, DividedLayout};
use super::{Session, Shape, ThreadRef, Until};
use crate::Engine;
use crate::error::EngineError;

/// A window that no history fills.
const BOUNDLESS: u64 = 1 << 40;

/// A thread's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidThread {
    /// What stands for the entries before the messages; `None` if the messages are all.
    pub summary: Option<String>,
    /// Oldest first.
    pub said: Vec<SaidMessage>,
    /// Entries that are said only in part or not at all.
    pub omitted: Vec<(Seq, OmissionReason)>,
    /// Expected tokens of summary and messages.
    pub tokens: u64,
    /// The newest entry; `None` if there is none.
    pub head: Option<Seq>,
}

impl Engine {
    /// All messages of a thread's active path, verbatim and without a summary of ours.
    ///
    /// Cost: O(history), which is held in memory.
    pub fn said(
        &self,
        of: ThreadRef,
        shape: Shape,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SaidThread, EngineError> {
        let policy = Policy { soft_permille: 1_000, hard_permille: 1_000, ..Policy::for_window(BOUNDLESS) };
        let session = Session::open(&self.scratch(), of, Shape { policy, ..shape }, Until::Now, progress)?;
        Ok(session.whole())
    }
}

impl Session {
    /// The groups behind the summaries, verbatim.
    fn whole(&self) -> SaidThread {
        let facts = self.facts();
        let (mut said, mut omitted) = (Vec::new(), Vec::new());
        for group in self.window.groups() {
            let paired = pair::messages(group, Detail::Full, &|_, _, _| None);
            said.extend(paired.messages.into_iter().map(|message| facts.said(message)));
            omitted.extend(paired.omitted);
        }
        SaidThread {
            summary: None,
            said,
            omitted,
            tokens: self.group_sizes().sum(),
            head: self.window.head(),
        }
    }

    /// The prompt that would be sent now, divided: pins, summaries and ledger as one text, and the messages behind them.
    ///
    /// # Errors
    /// See [`Session::prompt`].
    pub fn divided(&mut self) -> Result<SaidThread, EngineError> {
        let certificate = self.prompt()?.admitted.certificate().clone();
        let composer = Composer::new(self.parts_within(*self.source.policy()));
        let DividedLayout { front, behind } = composer.divided(certificate.rung);
        let texts: Vec<&str> =
            front.iter().flat_map(|message| &message.blocks).filter_map(own_text).collect();
        let facts = self.facts();
        Ok(SaidThread {
            summary: (!texts.is_empty()).then(|| texts.join("\n\n")),
            said: behind.into_iter().map(|message| facts.said(message)).collect(),
            omitted: certificate.omitted,
            tokens: certificate.total.expected.saturating_sub(certificate.sections.system.expected),
            head: self.window.head(),
        })
    }

    fn facts(&self) -> EntryFacts {
        let carried = self.cover.carried().map(|carried| &carried.item);
        let items = self.window.groups().iter().flat_map(|group| &group.items).chain(carried);
        EntryFacts(items.map(|item| (item.seq, EntryFact::of(&item.entry))).collect())
    }
}

fn own_text(block: &Block) -> Option<&str> {
    match block {
        Block::Ours(text) => Some(text),
        _ => None,
    }
}

/// What entries say beside their messages.
struct EntryFacts(BTreeMap<Seq, EntryFact>);

#[derive(Clone, Copy)]
struct EntryFact {
    origin: Origin,
    time: Option<Timestamp>,
}

impl EntryFact {
    fn of(entry: &Entry) -> Self {
        Self { origin: entry.origin, time: entry.time }
    }
}

impl EntryFacts {
    /// A message with the facts of its first entry. Text of our own is nobody's.
    fn said(&self, message: Message) -> SaidMessage {
        let facts = message.seqs.first().and_then(|seq| self.0.get(seq)).copied();
        let EntryFact { origin, time } = facts.unwrap_or(EntryFact { origin: Origin::Injected, time: None });
        SaidMessage { message, origin, time }
    }
}
