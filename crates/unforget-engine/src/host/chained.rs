//! Answers of a model, and calls that go on from one by its id, or from a conversation by its name.

use unforget_core::deliver::{Base, Fate, Plan, Why};
use unforget_core::id::{Seq, Timestamp};
use unforget_store::{Name, NamedEntry};
use unforget_wire::journal::{self, After};

use super::deliver::{Carrying, Writing};
use super::exact::{Answered, Array};
use super::lane::{Lane, Line};
use super::names::{self, Incoming};
use super::types::{HostError, Receipt};

impl Lane {
    /// Takes what comes behind an answer; behind the newest entry without one.
    ///
    /// * `behind` - lines that are written with it.
    ///
    /// # Errors
    /// [`HostError::Refused`] if there is no such answer.
    pub(super) fn follow_answer(
        &mut self,
        answer: Option<&str>,
        array: &Array,
        behind: Vec<(String, Vec<Name>)>,
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let at = match answer {
            Some(answer) => self.answer(answer, now)?,
            None => self.unanswered(array)?,
        };
        // Asked once more: what was appended by the first try stands there already.
        let later = self.path_after(at);
        let known = self.match_at(&array.messages, &later)?;
        let last = known.last().copied().or(at);
        let (why, base) = match (known.len() == array.len(), known.len() == later.len()) {
            (true, true) => (Why::UpToDate, Base::Head),
            (false, true) => (Why::Append, Base::Head),
            (_, false) => (Why::Branch, last.map_or(Base::Root, Base::After)),
        };
        let new = array.messages.iter().skip(known.len()).map(|_| Fate::Append);
        let fates = known.iter().map(|seq| Fate::Known(*seq)).chain(new).collect();
        let plan = Plan { why, base, fates };
        Ok(self.carry_out(&plan, &array.messages, Carrying::new(false, now), behind)?.0)
    }

    /// What an array comes behind: what the path ends with, or what stands before the same array, if that has no answer yet.
    fn unanswered(&self, array: &Array) -> Result<Option<Seq>, HostError> {
        let mut end = self.path_end(array.len() + 1);
        let before = (end.len() > array.len()).then(|| end.remove(0));
        let is_it = end.len() == array.len() && self.match_at(&array.messages, &end)?.len() == array.len();
        Ok(if is_it { before } else { self.head() })
    }

    /// The entries that these messages are, as far as they stand where `stored` has them.
    fn match_at(&self, incoming: &[Incoming], stored: &[Seq]) -> Result<Vec<Seq>, HostError> {
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        let is_it = |(incoming, seq): &(&Incoming, &Seq)| {
            let item = incoming.item(known, self.path());
            [&item.exact, &item.alike].iter().any(|list| list.binary_search(seq).is_ok())
        };
        Ok(incoming.iter().zip(stored).take_while(is_it).map(|(_, seq)| *seq).collect())
    }

    /// The last entry of an answer with a provider's id. If it is not on the path, the path leads to it from now on.
    fn answer(&mut self, id: &str, now: Timestamp) -> Result<Option<Seq>, HostError> {
        let name = names::answer_id(id);
        let seqs = self.under(&[name])?;
        let Some(last) = seqs.iter().max().copied() else {
            return Err(HostError::Refused { what: format!("no answer is called {id}") });
        };
        if self.path().holds(last) {
            return Ok(Some(last));
        }
        let asked = self.under(&[names::asked(id)])?;
        let is_aside = |seq: &Seq| Ok::<_, HostError>(self.line(*seq)?.of.is_some());
        let at = if is_aside(&last)? {
            let mut own = Vec::new();
            for seq in seqs {
                own.extend(Some(seq).filter(|_| is_aside(&seq).unwrap_or_default()));
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

    /// The path goes on after this entry, which was left: what leads to it is written again, and behind it what was kept
    /// beside the path. Gives the newest entry then.
    ///
    /// Cost: O(entries that are written again).
    fn return_to(
        &mut self,
        seq: Option<Seq>,
        aside: &[Seq],
        now: Timestamp,
    ) -> Result<Option<Seq>, HostError> {
        let (mut at, mut left) = (seq, Vec::new());
        while let Some(seq) = at.filter(|seq| !self.path().holds(*seq)) {
            left.push(seq);
            let rows = self.engine.store().rows(self.conversation, seq.0..seq.0 + 1)?;
            at = rows.into_iter().next().and_then(|row| row.parent);
        }
        let none = self.known([])?;
        let mut writing = Writing::new(self, (none, none), (false, now));
        writing.cut(Why::Branch, at)?;
        left.iter().rev().chain(aside).try_for_each(|seq| writing.again(*seq))?;
        let Writing { lines, names, .. } = writing;
        self.write(lines, names)?;
        Ok(self.head())
    }

    /// Whether an answer with this id of the provider's was taken.
    pub(super) fn has_answer(&self, id: &str) -> Result<bool, HostError> {
        Ok(!self.under(&[names::answer_id(id)])?.is_empty())
    }

    /// Takes an answer: on the path if nothing else came in between, else beside it. See [`Host::take_answer`](super::Host::take_answer).
    pub(super) fn take_answer(
        &mut self,
        answered: &Answered,
        incoming: &[Incoming],
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let is_active = answered.asked_at.is_none_or(|at| self.path().holds(at));
        let behind = if is_active { self.path_after(answered.asked_at) } else { Vec::new() };
        let is_there = !behind.is_empty() && self.match_at(incoming, &behind)?.len() == incoming.len();
        let fates = match (self.head() == answered.asked_at || incoming.is_empty(), is_there) {
            (true, _) => vec![Fate::Append; incoming.len()],
            (false, true) => behind.iter().take(incoming.len()).map(|seq| Fate::Known(*seq)).collect(),
            (false, false) => return self.put_aside(answered, incoming, now),
        };
        let why = if fates.contains(&Fate::Append) { Why::Append } else { Why::UpToDate };
        let interrupted = interrupted(answered, now).into_iter().collect();
        let plan = Plan { why, base: Base::Head, fates };
        // An answer of no words is called by what it answers.
        let last = answered.id.as_deref().map(|id| (names::answer_id(id), answered.asked_at));
        let carrying = Carrying { latency: answered.latency, last, ..Carrying::new(false, now) };
        Ok(self.carry_out(&plan, incoming, carrying, interrupted)?.0)
    }

    /// Keeps an answer beside the path, with what it answers. The same once more changes nothing.
    fn put_aside(
        &mut self,
        answered: &Answered,
        incoming: &[Incoming],
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let receipt = |lane: &Self, aside| Receipt {
            why: Why::UpToDate,
            added: 0,
            aside,
            generation: lane.generation(),
            head: lane.head(),
        };
        if answered.id.as_deref().map(|id| self.has_answer(id)).transpose()? == Some(true) {
            return Ok(receipt(self, 0));
        }
        let of = answered.asked_at.map_or_else(|| Ok("?".to_owned()), |seq| self.call(seq))?;
        let head = self.head();
        let name = answered.id.as_deref().map(names::answer_id);
        let line = |incoming: &Incoming| {
            let text = journal::message(&journal::Line {
                form: self.form,
                message: &incoming.message.as_ref()?.text,
                id: None,
                after: &After::Newest,
                provenance: incoming.provenance,
                is_volatile: false,
                of: Some(&of),
                turn: None,
                at: now.0,
            });
            Some(Line { text, parent: head, names: name.into_iter().collect(), is_open: false })
        };
        let mut lines: Vec<Line> = incoming.iter().filter_map(line).collect();
        let aside = lines.len() as u64;
        let told = interrupted(answered, now).into_iter();
        lines.extend(told.map(|(text, names)| Line { text, parent: head, names, is_open: false }));
        let asked = answered
            .id
            .as_deref()
            .map(names::asked)
            .zip(answered.asked_at)
            .map(|(name, seq)| NamedEntry::new(name, seq));
        self.write(lines, asked.into_iter().collect())?;
        Ok(receipt(self, aside))
    }
}

/// The line that says that an answer is not whole, if it is not.
fn interrupted(answered: &Answered, now: Timestamp) -> Option<(String, Vec<Name>)> {
    let why = answered.interrupted.as_ref()?;
    let detail = serde_json::json!({ "id": answered.id, "why": why }).to_string();
    Some((journal::event("interrupted", Some(&detail), &After::Newest, now.0), Vec::new()))
}
