//! Deliveries carried out: what the plan says, as lines of the journal.

use std::collections::BTreeMap;

use unforget_core::deliver::{self, Base, Fate, How, Item, Plan, Planning, StoredParts, Why};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::zoo::{self, Bug};
use unforget_store::{Name, NamedEntry, WriteLatency};
use unforget_wire::journal::{self, After};

use super::lane::{Known, Lane, Line, SEEN};
use super::names::{self, Incoming};
use super::types::{Delivered, HostError, Receipt};

/// Entries behind an insertion that are written again at most. Behind more, the insertion goes to the end.
const AGAIN: usize = 64;

/// How often an entry is looked for where it was moved to.
const MOVES: usize = 64;

/// Messages of a turn whose places are looked up, when they are written again.
const TURN: usize = 256;

/// How read messages are delivered.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) how: How,
    pub(super) is_open: bool,
    pub(super) now: Timestamp,
}

/// How a plan is carried out.
#[derive(Clone, Copy)]
pub(super) struct Carrying {
    pub(super) is_open: bool,
    pub(super) now: Timestamp,
    pub(super) latency: WriteLatency,
    /// A name for the entry that the last message is; for this one if that is none.
    pub(super) last: Option<(Name, Option<Seq>)>,
}

impl Carrying {
    /// At once, and with no other name.
    pub(super) const fn new(is_open: bool, now: Timestamp) -> Self {
        Self { is_open, now, latency: WriteLatency::Now, last: None }
    }
}

/// A delivery on its way into the journal.
pub(super) struct Delivery<'a> {
    pub(super) how: How,
    pub(super) messages: Vec<Delivered>,
    /// Key of the turn that they are of.
    pub(super) turn: Option<&'a str>,
    /// Arrays may leave its messages out until the turn is committed.
    pub(super) is_open: bool,
    pub(super) now: Timestamp,
}

impl Lane {
    /// Stores what is new of a delivery, in one transaction.
    pub(super) fn deliver(&mut self, delivery: Delivery<'_>) -> Result<Receipt, HostError> {
        Ok(self.deliver_with(delivery, Vec::new())?.0)
    }

    /// The same, with further lines behind. Also gives the entry of the path that each message is, if it is one.
    pub(super) fn deliver_with(
        &mut self,
        delivery: Delivery<'_>,
        behind: Vec<(String, Vec<Name>)>,
    ) -> Result<(Receipt, Vec<Option<Seq>>), HostError> {
        let Delivery { how, messages, turn, is_open, now } = delivery;
        let incoming = self.read(messages, turn)?;
        self.deliver_read(&incoming, Manner { how, is_open, now }, behind)
    }

    /// The same with messages that are read.
    pub(super) fn deliver_read(
        &mut self,
        incoming: &[Incoming],
        Manner { how, is_open, now }: Manner,
        behind: Vec<(String, Vec<Name>)>,
    ) -> Result<(Receipt, Vec<Option<Seq>>), HostError> {
        self.forget(SEEN);
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        let plan = self.plan(how, incoming, known)?;
        self.carry_out(&plan, incoming, Carrying::new(is_open, now), behind)
    }

    /// Stores what a plan says, in one transaction.
    pub(super) fn carry_out(
        &mut self,
        plan: &Plan,
        incoming: &[Incoming],
        Carrying { is_open, now, latency, last }: Carrying,
        behind: Vec<(String, Vec<Name>)>,
    ) -> Result<(Receipt, Vec<Option<Seq>>), HostError> {
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        let mut writing = Writing::new(self, (known, self.marked(plan)?), (is_open, now));
        writing.carry_out(plan, incoming)?;
        let Writing { mut lines, mut names, parent, mut places, moved, added, aside, .. } = writing;
        for place in places.iter_mut().flatten() {
            *place = moved.get(place).copied().unwrap_or(*place);
        }
        lines.extend(behind.into_iter().map(|(text, names)| Line { text, parent, names, is_open: false }));
        if let Some((name, instead)) = last {
            names.extend(places.last().copied().flatten().or(instead).map(|seq| NamedEntry::new(name, seq)));
        }
        self.write_soon(latency, lines, names)?;
        let receipt =
            Receipt { why: plan.why, added, aside, generation: self.generation(), head: self.head() };
        Ok((receipt, places))
    }

    /// Which of a plan's possible replays are marked already.
    fn marked(&self, plan: &Plan) -> Result<Known<'_>, HostError> {
        let replay =
            |fate: &Fate| if let Fate::Replay(seq) = fate { Some(names::replay(*seq)) } else { None };
        self.known(plan.fates.iter().filter_map(replay))
    }

    /// What a delivery would be, without doing it.
    pub(super) fn foresee(&self, how: How, incoming: &[Incoming]) -> Result<Why, HostError> {
        Ok(self.foresee_plan(how, incoming)?.why)
    }

    /// The same, message by message.
    pub(super) fn foresee_plan(&self, how: How, incoming: &[Incoming]) -> Result<Plan, HostError> {
        let known = self.known(incoming.iter().flat_map(Incoming::wanted))?;
        self.plan(how, incoming, known)
    }

    /// Reads messages. O(bytes).
    ///
    /// * `turn` - key of the turn that they are of.
    pub(super) fn read(
        &self,
        messages: Vec<Delivered>,
        turn: Option<&str>,
    ) -> Result<Vec<Incoming>, HostError> {
        let read = |(index, message): (usize, Delivered)| {
            Incoming::read(self.form, message, index, turn.map(|turn| (turn, index)))
        };
        messages.into_iter().enumerate().map(read).collect()
    }

    /// Adds the places to which entries were moved, if none of them is on the path.
    pub(super) fn follow(&self, seqs: &mut Vec<Seq>) -> Result<(), HostError> {
        let mut from = 0;
        for _ in 0..MOVES {
            if from == seqs.len() || seqs.iter().any(|seq| self.path().holds(*seq)) {
                break;
            }
            let names: Vec<Name> = seqs.iter().skip(from).map(|seq| names::again(*seq)).collect();
            from = seqs.len();
            seqs.extend(self.under(&names)?);
        }
        seqs.sort_unstable();
        seqs.dedup();
        Ok(())
    }

    /// Whether an entry of the path has the id of a message, there or where it was moved from. Ids of entries that
    /// were left may be given anew.
    fn has_id(&self, incoming: &Incoming) -> Result<bool, HostError> {
        let Some(id) = &incoming.id else { return Ok(false) };
        let mut seqs = self.under(&[names::id_name(id)])?;
        self.follow(&mut seqs)?;
        Ok(seqs.iter().any(|seq| self.path().holds(*seq)))
    }

    fn plan(&self, how: How, incoming: &[Incoming], known: Known<'_>) -> Result<Plan, HostError> {
        let mut items: Vec<_> = incoming.iter().map(|incoming| incoming.item(known, self.path())).collect();
        for (item, incoming) in items.iter_mut().zip(incoming) {
            if matches!(how, How::Exact | How::Alike) {
                // Instructions in the middle of a path are of it.
                item.aside = incoming.is_own();
                continue;
            }
            self.follow(&mut item.named)?;
            item.is_doubtful = item.is_doubtful && self.has_id(incoming)?;
            if item.parts.is_none() && !item.exact.iter().any(|seq| self.path().holds(*seq)) {
                // Only a copy has its bytes: what that says is known.
                item.parts = item.exact.first().map(|copy| self.parts(*copy)).transpose()?;
            }
        }
        let is_lacking =
            |(index, item): (usize, &Item)| (item.parts.is_none() && item.exact.is_empty()).then_some(index);
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

/// Lines that are being made.
pub(super) struct Writing<'a> {
    lane: &'a Lane,
    known: Known<'a>,
    /// Entries that have a copy already which marks them as possibly delivered twice.
    marked: Known<'a>,
    now: Timestamp,
    is_open: bool,
    pub(super) lines: Vec<Line>,
    pub(super) names: Vec<NamedEntry>,
    /// The newest entry of the path as it will be.
    parent: Option<Seq>,
    /// The entry of the path that each message is.
    places: Vec<Option<Seq>>,
    /// The last of them that tells where messages belong.
    anchor: Option<Seq>,
    /// Entries that are written again, by the places that they had.
    moved: BTreeMap<Seq, Seq>,
    added: u64,
    aside: u64,
}

impl<'a> Writing<'a> {
    /// * `known`, `marked` - see the fields.
    pub(super) fn new(
        lane: &'a Lane,
        (known, marked): (Known<'a>, Known<'a>),
        (is_open, now): (bool, Timestamp),
    ) -> Self {
        Self {
            lane,
            known,
            marked,
            now,
            is_open,
            lines: Vec::new(),
            names: Vec::new(),
            parent: None,
            places: Vec::new(),
            anchor: None,
            moved: BTreeMap::new(),
            added: 0,
            aside: 0,
        }
    }

    /// Makes the lines of a plan.
    fn carry_out(&mut self, plan: &Plan, incoming: &[Incoming]) -> Result<(), HostError> {
        self.parent = self.lane.head();
        match plan.base {
            Base::Head => {}
            Base::After(seq) => self.cut(plan.why, Some(seq))?,
            Base::Root => self.cut(plan.why, None)?,
        }
        let first = plan.fates.iter().zip(incoming).position(|(fate, one)| is_inserted(*fate, one));
        let plain = first.unwrap_or(incoming.len());
        for (incoming, fate) in incoming.iter().zip(&plan.fates).take(plain) {
            let place = self.one(incoming, *fate)?;
            self.places.push(place);
            if !incoming.is_volatile {
                self.anchor = self.anchor.max(place);
            }
        }
        let rest = incoming.iter().zip(plan.fates.iter().copied()).skip(plain);
        if first.is_some() { self.reorder(&rest.collect::<Vec<_>>()) } else { Ok(()) }
    }

    /// Puts messages between entries that are stored: from the first of them on, the path is written again.
    fn reorder(&mut self, rest: &[(&Incoming, Fate)]) -> Result<(), HostError> {
        let at = self.anchor;
        let mut behind = self.lane.path_after(at);
        let stored =
            rest.iter().enumerate().filter_map(|(index, (_, fate))| Some((stored_as(*fate)?, index)));
        let last: BTreeMap<Seq, usize> = stored.collect();
        // What came before it and is left out by the array stays before it.
        let path = self.lane.path();
        let is_left_out = |seq: &Seq| path.is_loose(*seq) && !last.contains_key(seq);
        let before = behind.iter().take_while(|seq| is_left_out(seq)).count();
        let at = behind.drain(..before).next_back().or(at);
        if behind.len() > AGAIN || self.parent != self.lane.head() {
            return self.at_end(rest);
        }
        self.cut(Why::Branch, at)?;
        let mut behind = behind.into_iter().peekable();
        for (index, (incoming, fate)) in rest.iter().enumerate() {
            let is_later = |seq: &Seq| last.get(seq).is_some_and(|last| *last > index);
            let fate = if is_inserted(*fate, incoming) { Fate::Insert } else { *fate };
            // Input of the host's own does not tell where messages of the transcript belong.
            let is_before = |seq: &Seq| match (fate, stored_as(fate)) {
                (Fate::Insert, _) => is_left_out(seq),
                (_, Some(stored)) => *seq <= stored && !(incoming.is_volatile && is_later(seq)),
                (fate, None) => fate == Fate::Append,
            };
            while let Some(stored) = behind.next_if(is_before) {
                self.again(stored)?;
            }
            let place = self.one(incoming, if fate == Fate::Insert { Fate::Append } else { fate })?;
            self.places.push(place);
        }
        behind.try_for_each(|stored| self.again(stored))
    }

    /// Makes the lines of messages that belong between entries of which too many stand behind.
    fn at_end(&mut self, rest: &[(&Incoming, Fate)]) -> Result<(), HostError> {
        for (incoming, fate) in rest {
            let fate = match fate {
                Fate::Insert | Fate::Misplaced if incoming.is_volatile => Fate::Append,
                Fate::Insert => Fate::Misplaced,
                fate => *fate,
            };
            let place = self.one(incoming, fate)?;
            self.places.push(place);
        }
        Ok(())
    }

    /// Makes the lines of one message. Gives the entry of the path that it is.
    fn one(&mut self, incoming: &Incoming, fate: Fate) -> Result<Option<Seq>, HostError> {
        match fate {
            Fate::Known(seq) => {
                let new = incoming.learnt().filter(|name| !self.known.of(name).contains(&seq));
                self.names.extend(new.map(|name| NamedEntry::new(name, seq)));
                return Ok(Some(seq));
            }
            Fate::Append => self.append(incoming, None)?,
            Fate::Face(seq) | Fate::Changed(seq) => {
                if let Some(copy) = self.beside(incoming, Some(seq))? {
                    // Its bytes are the entry's only if they say the same.
                    match fate {
                        Fate::Face(_) => self.names.push(NamedEntry::new(incoming.face(), seq)),
                        _ => self.names.extend([
                            NamedEntry::new(incoming.face(), copy),
                            NamedEntry::new(names::again(copy), seq),
                        ]),
                    }
                }
                return Ok(Some(seq));
            }
            Fate::Replay(seq) => {
                if !self.marked.has(&names::replay(seq)) {
                    self.append(incoming, Some(seq))?;
                }
                return Ok(Some(seq));
            }
            Fate::Aside if incoming.is_own() => return Ok(None),
            Fate::Insert | Fate::Misplaced if zoo::is(Bug::LateDropped) => return Ok(None),
            Fate::Insert | Fate::Misplaced | Fate::Aside => {
                let copy = self.beside(incoming, None)?;
                self.names.extend(copy.map(|copy| NamedEntry::new(incoming.face(), copy)));
                return Ok(None);
            }
        }
        Ok(self.parent)
    }

    /// From here on, the path goes on after another entry than its newest.
    pub(super) fn cut(&mut self, why: Why, to: Option<Seq>) -> Result<(), HostError> {
        let after = self.after(to)?;
        let text = journal::event(why.name(), None, &after, self.now.0);
        self.lines.push(Line { text, parent: to, names: Vec::new(), is_open: false });
        self.parent = to;
        Ok(())
    }

    /// What a line that follows `parent` says about it. Certain lines before it are not written yet.
    fn after(&self, parent: Option<Seq>) -> Result<After, HostError> {
        match parent {
            Some(seq) if seq >= self.lane.next() => Ok(After::Newest),
            _ => self.lane.after(parent),
        }
    }

    /// Puts a message on the path, or beside it as a possible replay `of` an entry.
    fn append(&mut self, incoming: &Incoming, of: Option<Seq>) -> Result<(), HostError> {
        let Some(message) = &incoming.message else {
            return self.append(&self.embodied(incoming)?, of);
        };
        let is_taken = self.is_taken(incoming)?;
        let id = incoming.id.as_deref().filter(|_| of.is_none() && !is_taken);
        let (original, parent) = (of, self.parent);
        let (after, of) = (self.after(parent)?, of.map(|seq| self.lane.call(seq)).transpose()?);
        let line = journal::message(&journal::Line {
            form: self.lane.form,
            message: &message.text,
            id,
            after: &after,
            provenance: incoming.provenance,
            is_volatile: incoming.is_volatile,
            of: of.as_deref(),
            turn: incoming.turn.as_deref(),
            at: self.now.0,
        });
        let seq = self.next();
        let is_open = self.is_open && original.is_none();
        self.lines.push(Line { text: line, parent, names: incoming.kept().collect(), is_open });
        if let Some(original) = original {
            self.aside += 1;
            self.names.push(NamedEntry::new(names::replay(original), seq));
        } else {
            self.added += 1;
            self.parent = Some(seq);
        }
        Ok(())
    }

    fn next(&self) -> Seq {
        Seq(self.lane.next().0 + self.lines.len() as u64)
    }

    /// Whether another entry has the host's id already: the journal names an entry by it only once.
    fn is_taken(&self, incoming: &Incoming) -> Result<bool, HostError> {
        let Some(id) = &incoming.id else { return Ok(false) };
        let name = names::id_name(id);
        let is_written = self.lines.iter().any(|line| line.names.contains(&name));
        Ok(is_written || self.lane.known([name])?.has(&name))
    }

    /// A copy that no prompt shows, unless its bytes are stored. Gives its place.
    fn beside(&mut self, incoming: &Incoming, of: Option<Seq>) -> Result<Option<Seq>, HostError> {
        let Some(message) = incoming.message.as_ref().filter(|_| !incoming.is_stored(self.known)) else {
            return Ok(None);
        };
        let of_name = of.map_or_else(|| Ok("?".to_owned()), |seq| self.lane.call(seq))?;
        let line = journal::message(&journal::Line {
            form: self.lane.form,
            message: &message.text,
            id: None,
            after: &After::Newest,
            provenance: incoming.provenance,
            is_volatile: incoming.is_volatile,
            of: Some(&of_name),
            turn: None,
            at: self.now.0,
        });
        let seq = self.next();
        self.lines.push(Line { text: line, parent: self.parent, names: Vec::new(), is_open: false });
        self.aside += 1;
        Ok(Some(seq))
    }

    /// Writes a stored message once more at the end of the path.
    pub(super) fn again(&mut self, seq: Seq) -> Result<(), HostError> {
        let kept = self.lane.line(seq)?;
        let Some(message) = kept.message else { return Ok(()) };
        let place = kept.turn.as_deref().map(|turn| self.place_in_turn(turn, seq)).transpose()?.flatten();
        let delivered = Delivered {
            id: kept.id,
            body: Some(message.into_bytes()),
            is_volatile: kept.is_volatile,
            provenance: Some(kept.provenance),
            ..Delivered::default()
        };
        let incoming = Incoming::read(self.lane.form, delivered, 0, None)?.at_place(place);
        self.moved.insert(seq, self.next());
        self.names.push(NamedEntry::new(names::again(seq), self.next()));
        self.append(&incoming, None)
    }

    /// The name of an entry's place in its turn.
    fn place_in_turn(&self, turn: &str, seq: Seq) -> Result<Option<Name>, HostError> {
        let places: Vec<Name> = (0..TURN).map(|at| names::turn_place(turn, at)).collect();
        let known = self.lane.known(places.iter().copied())?;
        Ok(places.into_iter().find(|place| known.of(place).contains(&seq)))
    }

    /// A message with the body that its digest names.
    fn embodied(&self, incoming: &Incoming) -> Result<Incoming, HostError> {
        for seqs in incoming.faces().map(|name| self.known.of(&name)) {
            for seq in seqs.iter() {
                if let Some(body) = self.lane.line(*seq)?.message {
                    return incoming.with_body(self.lane.form, body);
                }
            }
        }
        Err(HostError::Refused {
            what: "a message is named by its digest, and its bytes were purged".to_owned(),
        })
    }
}

/// The entry that a message is.
pub(super) const fn stored_as(fate: Fate) -> Option<Seq> {
    match fate {
        Fate::Known(seq) | Fate::Face(seq) | Fate::Changed(seq) | Fate::Replay(seq) => Some(seq),
        _ => None,
    }
}

/// Whether a message is put between stored ones: volatile input always has its place in the host's array.
const fn is_inserted(fate: Fate, incoming: &Incoming) -> bool {
    matches!(fate, Fate::Insert) || (incoming.is_volatile && matches!(fate, Fate::Misplaced))
}
