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
    /// What the messages lack for room.
    pub cuts: ThreadCuts,
    /// Expected tokens of summary and messages.
    pub tokens: u64,
    /// The newest entry; `None` if there is none.
    pub head: Option<Seq>,
}

/// What messages lack for room. The database holds all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCuts {
    /// Results, arguments, texts and media with a shorter text in their place, which names the entry of the whole.
    pub shortened: u64,
    /// Reasoning and unknown blocks that are left out.
    pub dropped: u64,
    /// Entries for which one line stands.
    pub elided: u64,
}

impl ThreadCuts {
    /// * `shown` - the messages as they are said.
    /// * `whole` - the same and perhaps more, verbatim. Messages of `shown` that are not in it count as whole.
    fn of(shown: &[Message], whole: &[SaidMessage]) -> Self {
        let mut cuts = Self::default();
        let mut blocks: BTreeMap<Seq, Vec<&[Block]>> = BTreeMap::new();
        for SaidMessage { message, .. } in whole {
            for seq in &message.seqs {
                blocks.entry(*seq).or_default().push(&message.blocks);
            }
        }
        for message in shown {
            let found: Vec<&[Block]> =
                message.seqs.iter().filter_map(|seq| blocks.get(seq)).flatten().copied().collect();
            let Some(first) = found.first() else { continue };
            let is_whole = |block: &&Block| found.iter().any(|blocks| blocks.contains(block));
            let short = message.blocks.iter().filter(|block| !is_whole(block)).count();
            cuts.shortened += short as u64;
            if found.iter().all(|blocks| blocks == first) {
                cuts.dropped += first.len().saturating_sub(message.blocks.len()) as u64;
            }
        }
        cuts
    }

    /// Whether nothing is lacking.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
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
            cuts: ThreadCuts::default(),
            tokens: self.group_sizes().sum(),
            head: self.window.head(),
        }
    }

    /// The prompt that would be sent now, divided: pins, summaries and ledger as one text, and the messages behind them.
    ///
    /// # Errors
    /// See [`Session::prompt`].
    ///
    /// Cost: that of a prompt, and a copy of the messages behind the summaries.
    pub fn divided(&mut self) -> Result<SaidThread, EngineError> {
        let certificate = self.prompt()?.admitted.certificate().clone();
        let composer = Composer::new(self.parts_within(*self.source.policy()));
        let DividedLayout { front, behind } = composer.divided(certificate.rung);
        let texts: Vec<&str> =
            front.iter().flat_map(|message| &message.blocks).filter_map(own_text).collect();
        let cuts =
            ThreadCuts { elided: certificate.cover.elided, ..ThreadCuts::of(&behind, &self.whole().said) };
        let facts = self.facts();
        Ok(SaidThread {
            summary: (!texts.is_empty()).then(|| texts.join("\n\n")),
            said: behind.into_iter().map(|message| facts.said(message)).collect(),
            omitted: certificate.omitted,
            cuts,
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

#[cfg(test)]
mod tests {
    use unforget_core::entry::Part;
    use unforget_core::message::Speaker;

    use super::*;

    /// A message of one letter per block.
    fn message(seqs: &[u64], letters: &str) -> Message {
        let blocks = letters.chars().map(|letter| Block::Part(Part::Text(letter.to_string()))).collect();
        let seqs = seqs.iter().copied().map(Seq).collect();
        Message { speaker: Speaker::User, blocks, model: None, seqs }
    }

    #[test]
    fn cuts_table() {
        let whole = [message(&[1, 2], "ab"), message(&[3], "cd"), message(&[4], "e")]
            .map(|message| SaidMessage { message, origin: Origin::Human, time: None });
        let table = [
            (vec![message(&[1, 2], "ab"), message(&[3], "cd")], (0, 0), "whole"),
            (vec![message(&[1, 2], "aB")], (1, 0), "one result of two is shortened"),
            (vec![message(&[3], "d")], (0, 1), "reasoning is left out"),
            (vec![message(&[1, 2, 3, 4], "x")], (1, 0), "one text stands for a whole group"),
            (vec![message(&[9], "z"), message(&[], "z")], (0, 0), "of elsewhere, and our own"),
        ];
        for (shown, want, why) in table {
            let cuts = ThreadCuts::of(&shown, &whole);
            assert_eq!((cuts.shortened, cuts.dropped), want, "{why}");
        }
    }
}
