//! Answers of a model, and calls that continue behind an answer.

use unforget_core::deliver::{Base, DeliveryOutcome, DeliveryPlan, Fate};
use unforget_core::id::{Seq, Timestamp};
use unforget_store::{NamedEntry, WriteLatency};
use unforget_wire::journal::{self, After, OffPath};

use super::array::Array;
use crate::journal::{
    BehindLine, HostError, Incoming, Journal, JournalLine, JournalLines, MadeLines, PlanManner, Receipt,
    answer_id, asked,
};

/// An answer of a model.
#[derive(Clone, Debug, Default)]
pub struct DeliveredAnswer {
    /// The newest entry of the path when the model was asked.
    pub asked_at: Option<Seq>,
    /// Its messages or items, in the lane's form.
    pub messages: Vec<Vec<u8>>,
    /// The provider's id, by which later calls may refer to the answer.
    pub id: Option<String>,
    /// Why the answer is incomplete, if it is.
    pub interrupted: Option<String>,
    /// Urgency of the write.
    pub latency: WriteLatency,
    /// Whether its call is over, so that another answer to the call may be on its way: then it goes beside the path, unless the
    /// path has it.
    pub is_late: bool,
}

impl Journal {
    /// Takes an array that continues behind an answer, or behind the newest entry if no answer is given.
    ///
    /// * `behind` - lines that are written with the array.
    ///
    /// # Errors
    /// [`HostError::Refused`] if the answer is not stored.
    pub(crate) fn follow_answer(
        &mut self,
        answer: Option<&str>,
        array: &Array,
        behind: Vec<BehindLine>,
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let at = match answer {
            Some(answer) => self.answer(answer, now)?,
            None => self.unanswered(array)?,
        };
        // A retry: the first try appended these messages already.
        let later = self.path_after(at);
        let known = self.match_at(&array.messages, &later)?;
        let last = known.last().copied().or(at);
        let (why, base) = match (known.len() == array.len(), known.len() == later.len()) {
            (true, true) => (DeliveryOutcome::UpToDate, Base::Head),
            (false, true) => (DeliveryOutcome::Append, Base::Head),
            (_, false) => (DeliveryOutcome::Branch, last.map_or(Base::Root, Base::After)),
        };
        let new = array.messages.iter().skip(known.len()).map(|_| Fate::Append);
        let fates = known.iter().map(|seq| Fate::Known(*seq)).chain(new).collect();
        let plan = DeliveryPlan { why, base, fates };
        Ok(self.carry_out(&plan, &array.messages, PlanManner::new(false, now), behind)?.receipt)
    }

    /// The entry that an array continues: the head, or the entry before an equal array that has no answer yet.
    fn unanswered(&self, array: &Array) -> Result<Option<Seq>, HostError> {
        let mut end = self.path_end(array.len() + 1);
        let before = (end.len() > array.len()).then(|| end.remove(0));
        let is_it = end.len() == array.len() && self.match_at(&array.messages, &end)?.len() == array.len();
        Ok(if is_it { before } else { self.head() })
    }

    /// Matches messages with stored entries, place by place, up to the first difference.
    fn match_at(&self, incoming: &[Incoming], stored: &[Seq]) -> Result<Vec<Seq>, HostError> {
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        let is_it = |(incoming, seq): &(&Incoming, &Seq)| {
            let item = incoming.item(known, self.path());
            [&item.exact, &item.alike].iter().any(|list| list.binary_search(seq).is_ok())
        };
        Ok(incoming.iter().zip(stored).take_while(is_it).map(|(_, seq)| *seq).collect())
    }

    /// The last entry of an answer with a provider's id. If the answer is off the path, the path is led back to it.
    fn answer(&mut self, id: &str, now: Timestamp) -> Result<Option<Seq>, HostError> {
        let name = answer_id(id);
        let seqs = self.under(&[name])?;
        let Some(last) = seqs.iter().max().copied() else {
            return Err(HostError::Refused {
                what: format!("no answer with the id {id} is stored; send the whole history instead"),
            });
        };
        if self.path().holds(last) {
            return Ok(Some(last));
        }
        let asked = self.under(&[asked(id)])?;
        let is_off_path = |seq: &Seq| Ok::<_, HostError>(self.line(*seq)?.of.is_some());
        let at = if is_off_path(&last)? {
            let mut own = Vec::new();
            for seq in seqs {
                own.extend(Some(seq).filter(|_| is_off_path(&seq).unwrap_or_default()));
            }
            self.return_to(asked.iter().max().copied(), &own, now)?
        } else {
            self.return_to(Some(last), &[], now)?
        };
        if let Some(at) = at {
            self.write(Vec::new(), vec![NamedEntry::new(name, at)])?;
        }
        Ok(at)
    }

    /// Leads the path back to an entry that it left: writes again the entries up to this one, and then entries that were
    /// kept beside the path. Returns the new head.
    ///
    /// Cost: O(entries written again).
    pub(crate) fn return_to(
        &mut self,
        seq: Option<Seq>,
        off_path: &[Seq],
        now: Timestamp,
    ) -> Result<Option<Seq>, HostError> {
        let (mut at, mut left) = (seq, Vec::new());
        while let Some(seq) = at.filter(|seq| !self.path().holds(*seq)) {
            left.push(seq);
            at = self.row(seq)?.and_then(|row| row.parent);
        }
        let mut again = JournalLines::new(self, self.known([])?, now);
        again.cut(DeliveryOutcome::Branch, at)?;
        left.iter().rev().chain(off_path).try_for_each(|seq| again.write_again(*seq))?;
        let MadeLines { lines, names, .. } = again.finish();
        self.write(lines, names)?;
        Ok(self.head())
    }

    /// Whether an answer with this provider's id is stored.
    pub(crate) fn has_answer(&self, id: &str) -> Result<bool, HostError> {
        Ok(!self.under(&[answer_id(id)])?.is_empty())
    }

    /// Takes an answer: on the path if nothing else came in between and its call is not over, else beside it. Taking it again
    /// changes nothing.
    pub(crate) fn take_answer(
        &mut self,
        answered: &DeliveredAnswer,
        incoming: &[Incoming],
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let is_active = answered.asked_at.is_none_or(|at| self.path().holds(at));
        let behind = if is_active { self.path_after(answered.asked_at) } else { Vec::new() };
        let is_there = !behind.is_empty() && self.match_at(incoming, &behind)?.len() == incoming.len();
        let is_next = self.head() == answered.asked_at && !answered.is_late;
        let fates = match (is_next || incoming.is_empty(), is_there) {
            (true, _) => vec![Fate::Append; incoming.len()],
            (false, true) => behind.iter().take(incoming.len()).map(|seq| Fate::Known(*seq)).collect(),
            (false, false) => return self.put_off_path(answered, incoming, now),
        };
        let why =
            if fates.contains(&Fate::Append) { DeliveryOutcome::Append } else { DeliveryOutcome::UpToDate };
        let interrupted = interrupted(answered, now).into_iter().collect();
        let plan = DeliveryPlan { why, base: Base::Head, fates };
        // An answer without words is named at the entry that it answers.
        let last = answered.id.as_deref().map(|id| (answer_id(id), answered.asked_at));
        let manner = PlanManner { latency: answered.latency, last, ..PlanManner::new(false, now) };
        Ok(self.carry_out(&plan, incoming, manner, interrupted)?.receipt)
    }

    /// Keeps an answer beside the path, with the entry that it answers: searches find it, prompts do not show it. Doing it
    /// again changes nothing.
    fn put_off_path(
        &mut self,
        answered: &DeliveredAnswer,
        incoming: &[Incoming],
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let receipt = |lane: &Self, off_path| Receipt {
            why: DeliveryOutcome::UpToDate,
            added: 0,
            off_path,
            generation: lane.generation(),
            head: lane.head(),
        };
        if answered.id.as_deref().map(|id| self.has_answer(id)).transpose()? == Some(true) {
            return Ok(receipt(self, 0));
        }
        let of = answered.asked_at.map_or_else(|| Ok("?".to_owned()), |seq| self.reference(seq))?;
        let head = self.head();
        let name = answered.id.as_deref().map(answer_id);
        let line = |incoming: &Incoming| {
            let text = journal::message(&journal::Line {
                form: self.form(),
                message: &incoming.message.as_ref()?.text,
                id: None,
                after: &After::Newest,
                provenance: incoming.provenance,
                is_volatile: false,
                beside: Some(OffPath::Overtaken(&of)),
                turn: None,
                at: now.0,
            });
            Some(JournalLine { text, parent: head, names: name.into_iter().collect(), is_open: false })
        };
        let mut lines: Vec<JournalLine> = incoming.iter().filter_map(line).collect();
        let off_path = lines.len() as u64;
        let told = interrupted(answered, now).into_iter();
        lines.extend(told.map(|BehindLine { text, names }| JournalLine {
            text,
            parent: head,
            names,
            is_open: false,
        }));
        let named = answered.id.as_deref().map(asked).zip(answered.asked_at);
        let asked = named.map(|(name, seq)| NamedEntry::new(name, seq));
        self.write(lines, asked.into_iter().collect())?;
        Ok(receipt(self, off_path))
    }
}

/// The line that records that an answer is incomplete.
fn interrupted(answered: &DeliveredAnswer, now: Timestamp) -> Option<BehindLine> {
    let why = answered.interrupted.as_ref()?;
    let detail = serde_json::json!({ "id": answered.id, "why": why }).to_string();
    let text = journal::event("interrupted", Some(&detail), &After::Newest, now.0);
    Some(BehindLine { text, names: Vec::new() })
}
