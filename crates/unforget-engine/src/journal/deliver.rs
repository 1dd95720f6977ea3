//! Deliveries: read, planned by [`unforget_core::deliver`], and written as lines of the journal.

use unforget_core::deliver::{
    self, DeliveredItem, DeliveryOutcome, DeliveryPlan, Fate, How, Planning, StoredParts,
};
use unforget_core::id::{Seq, Timestamp};
use unforget_store::{Durability, Name, NamedEntry, WriteLatency};

use super::lines::JournalLines;
use super::names::{self, Incoming, KeyedPlace};
use super::types::{Delivered, HostError, Receipt};
use super::{CACHED_NAMES_MAX, Journal, JournalWrite, KnownNames, WriteUrgency};

/// Maximum number of moves that are followed from an entry.
const MOVES_MAX: usize = 64;

/// How messages are delivered.
#[derive(Clone, Copy)]
pub(crate) struct DeliveryManner {
    pub(crate) how: How,
    pub(crate) is_open: bool,
    /// Whether the open turn ends with them.
    pub(crate) ends_turn: bool,
    pub(crate) now: Timestamp,
}

impl DeliveryManner {
    /// Outside a turn.
    pub(crate) const fn new(how: How, now: Timestamp) -> Self {
        Self { how, is_open: false, ends_turn: false, now }
    }
}

/// How a plan is carried out.
#[derive(Clone, Copy)]
pub(crate) struct PlanManner {
    pub(crate) is_open: bool,
    /// Whether the open turn ends with the messages.
    pub(crate) ends_turn: bool,
    pub(crate) now: Timestamp,
    pub(crate) latency: WriteLatency,
    /// A name for the entry of the last message, or for the given entry if the last message has none.
    pub(crate) last: Option<(Name, Option<Seq>)>,
    /// Whether a message may have the id of an earlier one, whose place it takes.
    pub(crate) repeats_ids: bool,
}

impl PlanManner {
    /// Urgent, and without a name for the last entry.
    pub(crate) const fn new(is_open: bool, now: Timestamp) -> Self {
        Self { is_open, ends_turn: false, now, latency: WriteLatency::Now, last: None, repeats_ids: false }
    }
}

/// A line written after the lines of a delivery.
pub(crate) struct BehindLine {
    /// The line.
    pub(crate) text: String,
    /// Its names.
    pub(crate) names: Vec<Name>,
}

/// The effect of a delivery.
pub(crate) struct DeliveryEffect {
    /// For the host.
    pub(crate) receipt: Receipt,
    /// For each message, its entry on the path.
    pub(crate) places: Vec<Option<Seq>>,
}

/// A delivery that is not read yet.
pub(crate) struct Delivery<'a> {
    pub(crate) how: How,
    pub(crate) messages: Vec<Delivered>,
    /// Key of their turn.
    pub(crate) turn: Option<&'a str>,
    /// Arrays may leave its messages out until the turn is committed.
    pub(crate) is_open: bool,
    /// Whether the open turn ends with them.
    pub(crate) ends_turn: bool,
    pub(crate) now: Timestamp,
}

impl Delivery<'_> {
    /// Messages outside a turn.
    pub(crate) const fn new(how: How, messages: Vec<Delivered>, now: Timestamp) -> Self {
        Self { how, messages, turn: None, is_open: false, ends_turn: false, now }
    }
}

impl Journal {
    /// Stores the new messages of a delivery in one transaction.
    pub(crate) fn deliver(&mut self, delivery: Delivery<'_>) -> Result<Receipt, HostError> {
        Ok(self.deliver_with(delivery, Vec::new())?.receipt)
    }

    /// Like [`Journal::deliver`], with further lines behind.
    pub(crate) fn deliver_with(
        &mut self,
        delivery: Delivery<'_>,
        behind: Vec<BehindLine>,
    ) -> Result<DeliveryEffect, HostError> {
        let Delivery { how, messages, turn, is_open, ends_turn, now } = delivery;
        let incoming = self.read(messages, turn)?;
        self.deliver_read(&incoming, DeliveryManner { how, is_open, ends_turn, now }, behind)
    }

    /// Like [`Journal::deliver_with`], for messages that are read.
    pub(crate) fn deliver_read(
        &mut self,
        incoming: &[Incoming],
        DeliveryManner { how, is_open, ends_turn, now }: DeliveryManner,
        behind: Vec<BehindLine>,
    ) -> Result<DeliveryEffect, HostError> {
        self.trim_names(CACHED_NAMES_MAX);
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        let plan = self.plan(how, incoming, known)?;
        let manner = PlanManner { repeats_ids: how == How::Rest, ends_turn, ..PlanManner::new(is_open, now) };
        self.carry_out(&plan, incoming, manner, behind)
    }

    /// Stores what a plan says, in one transaction.
    pub(crate) fn carry_out(
        &mut self,
        plan: &DeliveryPlan,
        incoming: &[Incoming],
        manner: PlanManner,
        behind: Vec<BehindLine>,
    ) -> Result<DeliveryEffect, HostError> {
        // A new message with its body is written whatever else is stored, so its names need no look.
        let looked = incoming.iter().zip(&plan.fates);
        let looked = looked.filter(|(incoming, fate)| **fate != Fate::Append || incoming.message.is_none());
        let known = self.known(looked.flat_map(|(incoming, _)| incoming.wanted()))?;
        let mut lines = JournalLines::new(self, known, manner.now);
        if manner.is_open {
            lines.belong_to_open_turn();
        }
        if manner.repeats_ids {
            lines.repeat_ids();
        }
        lines.mark(self.marked(plan)?);
        lines.carry_out(plan, incoming)?;
        let mut made = lines.finish();
        made.add_behind(behind);
        if let Some((name, instead)) = manner.last {
            let named = made.places.last().copied().flatten().or(instead);
            made.names.extend(named.map(|seq| NamedEntry::new(name, seq)));
        }
        self.carry_out_write(JournalWrite {
            urgency: WriteUrgency { durability: Durability::OnReturn, latency: manner.latency },
            lines: made.lines,
            names: made.names,
            ends_turn: manner.ends_turn,
        })?;
        let receipt = Receipt {
            why: plan.why,
            added: made.added,
            off_path: made.off_path,
            generation: self.generation(),
            head: self.head(),
        };
        Ok(DeliveryEffect { receipt, places: made.places })
    }

    /// Looks up which of a plan's possible replays are marked already.
    fn marked(&self, plan: &DeliveryPlan) -> Result<KnownNames<'_>, HostError> {
        let replay =
            |fate: &Fate| if let Fate::Replay(seq) = fate { Some(names::replay(*seq)) } else { None };
        self.known(plan.fates.iter().filter_map(replay))
    }

    /// The outcome that a delivery would have. Stores nothing.
    pub(crate) fn foresee(&self, how: How, incoming: &[Incoming]) -> Result<DeliveryOutcome, HostError> {
        Ok(self.foresee_plan(how, incoming)?.why)
    }

    /// The plan of a delivery. Stores nothing.
    pub(crate) fn foresee_plan(&self, how: How, incoming: &[Incoming]) -> Result<DeliveryPlan, HostError> {
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        self.plan(how, incoming, known)
    }

    /// Reads messages. O(bytes).
    ///
    /// * `turn` - key of their turn.
    pub(crate) fn read(
        &self,
        messages: Vec<Delivered>,
        turn: Option<&str>,
    ) -> Result<Vec<Incoming>, HostError> {
        let read = |(index, message): (usize, Delivered)| {
            Incoming::read(self.form, message, index, turn.map(|key| KeyedPlace { key, index }))
        };
        messages.into_iter().enumerate().map(read).collect()
    }

    /// Adds the seqs to which entries were moved, if none of the entries is on the path.
    pub(crate) fn follow(&self, seqs: &mut Vec<Seq>) -> Result<(), HostError> {
        let mut from = 0;
        for _ in 0..MOVES_MAX {
            if from == seqs.len() || seqs.iter().any(|seq| self.path().holds(*seq)) {
                break;
            }
            let names: Vec<Name> = seqs.iter().skip(from).map(|seq| names::moved_to(*seq)).collect();
            from = seqs.len();
            seqs.extend(self.under(&names)?);
        }
        seqs.sort_unstable();
        seqs.dedup();
        Ok(())
    }

    /// Whether an entry of the path has the id of a message, or was moved from an entry with that id. Hosts may reuse
    /// the ids of entries off the path.
    fn has_id(&self, incoming: &Incoming) -> Result<bool, HostError> {
        let Some(id) = &incoming.id else { return Ok(false) };
        let mut seqs = self.under(&[names::id_name(id)])?;
        self.follow(&mut seqs)?;
        Ok(seqs.iter().any(|seq| self.path().holds(*seq)))
    }

    fn plan(
        &self,
        how: How,
        incoming: &[Incoming],
        known: KnownNames<'_>,
    ) -> Result<DeliveryPlan, HostError> {
        let mut items: Vec<_> = incoming.iter().map(|incoming| incoming.item(known, self.path())).collect();
        for (item, incoming) in items.iter_mut().zip(incoming) {
            if matches!(how, How::Exact | How::Alike | How::Rest) {
                // Instructions and summaries in the middle of a path belong to it.
                item.is_excluded = incoming.is_own();
                continue;
            }
            self.follow(&mut item.named)?;
            item.is_doubtful = item.is_doubtful && self.has_id(incoming)?;
            if item.parts.is_none() && !item.exact.iter().any(|seq| self.path().holds(*seq)) {
                // Only a copy has these bytes, and its content is known.
                item.parts = item.exact.first().map(|copy| self.parts(*copy)).transpose()?;
            }
        }
        let is_lacking = |(index, item): (usize, &DeliveredItem)| {
            (item.parts.is_none() && item.exact.is_empty()).then_some(index)
        };
        let indices: Vec<usize> = items.iter().enumerate().filter_map(is_lacking).collect();
        if !indices.is_empty() {
            return Err(HostError::Need { indices });
        }
        let mut stored = StoredParts::new();
        loop {
            match deliver::plan(how, self.path(), &items, &stored) {
                Planning::Done(plan) => return Ok(plan),
                Planning::Wants(seqs) => {
                    for seq in seqs {
                        stored.insert(seq, self.parts(seq)?);
                    }
                }
            }
        }
    }
}

/// The stored entry of a message with this fate.
pub(crate) const fn stored_as(fate: Fate) -> Option<Seq> {
    match fate {
        Fate::Known(seq) | Fate::Copy(seq) | Fate::Changed(seq) | Fate::Replay(seq) => Some(seq),
        _ => None,
    }
}
