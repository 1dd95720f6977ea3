//! Lines of the journal, made from a plan.

use std::collections::BTreeMap;

use unforget_core::deliver::{Base, DeliveryOutcome, DeliveryPlan, Fate};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_store::{Name, NamedEntry};
use unforget_wire::journal::{self, After, OffPath};

use super::deliver::{BehindLine, stored_as};
use super::names::{self, Incoming, KeyedPlace};
use super::types::{Delivered, HostError};
use super::{Journal, JournalLine, KnownNames};

/// Maximum number of entries that an insertion writes again. With more entries behind it, a message goes to the end of
/// the path.
const REWRITTEN_MAX: usize = 64;

/// Maximum number of messages of a turn whose places are looked up when they are written again.
const TURN_MAX: usize = 256;

/// Lines made from a plan, not written yet.
#[derive(Default)]
pub(crate) struct MadeLines {
    /// In order.
    pub(crate) lines: Vec<JournalLine>,
    /// Further names of entries.
    pub(crate) names: Vec<NamedEntry>,
    /// For each message, its entry on the path.
    pub(crate) places: Vec<Option<Seq>>,
    /// Number of lines on the path.
    pub(crate) added: u64,
    /// Number of lines beside the path.
    pub(crate) off_path: u64,
    /// The newest entry of the path, once the lines are written.
    head: Option<Seq>,
}

impl MadeLines {
    /// Adds lines behind the others.
    pub(crate) fn add_behind(&mut self, behind: Vec<BehindLine>) {
        let parent = self.head;
        let lines = behind.into_iter();
        self.lines.extend(lines.map(|BehindLine { text, names }| JournalLine {
            text,
            parent,
            names,
            is_open: false,
        }));
    }
}

/// Makes the lines of a plan.
pub(crate) struct JournalLines<'a> {
    journal: &'a Journal,
    known: KnownNames<'a>,
    /// Names of the entries that are marked as possibly delivered twice.
    marked: KnownNames<'a>,
    now: Timestamp,
    is_open: bool,
    /// Whether a message may have the id of an earlier one.
    repeats_ids: bool,
    made: MadeLines,
    /// The newest entry of the path, once the lines so far are written.
    parent: Option<Seq>,
    /// The newest matched entry that tells the places of other messages.
    anchor: Option<Seq>,
    /// New seqs of entries that are written again, by their old seqs.
    moved: BTreeMap<Seq, Seq>,
}

impl<'a> JournalLines<'a> {
    /// No lines, behind the head of the path.
    ///
    /// * `known` - all names of the messages, but for new ones with their bodies.
    pub(crate) fn new(journal: &'a Journal, known: KnownNames<'a>, now: Timestamp) -> Self {
        let made = MadeLines::default();
        let (parent, moved) = (journal.head(), BTreeMap::new());
        Self {
            journal,
            known,
            marked: known,
            now,
            is_open: false,
            repeats_ids: false,
            made,
            parent,
            anchor: None,
            moved,
        }
    }

    /// A message with the id of an earlier one takes its place.
    pub(crate) const fn repeat_ids(&mut self) {
        self.repeats_ids = true;
    }

    /// The messages belong to the open turn: arrays may leave them out until it is committed.
    pub(crate) const fn belong_to_open_turn(&mut self) {
        self.is_open = true;
    }

    /// Says which entries are marked as possibly delivered twice.
    pub(crate) const fn mark(&mut self, marked: KnownNames<'a>) {
        self.marked = marked;
    }

    /// The lines so far.
    pub(crate) fn finish(self) -> MadeLines {
        let Self { mut made, moved, parent, .. } = self;
        for place in made.places.iter_mut().flatten() {
            *place = moved.get(place).copied().unwrap_or(*place);
        }
        made.head = parent;
        made
    }

    /// Makes the lines of a plan.
    pub(crate) fn carry_out(&mut self, plan: &DeliveryPlan, incoming: &[Incoming]) -> Result<(), HostError> {
        match plan.base {
            Base::Head => {}
            Base::After(seq) => self.cut(plan.why, Some(seq))?,
            Base::Root => self.cut(plan.why, None)?,
        }
        let first = plan.fates.iter().zip(incoming).position(|(fate, one)| is_inserted(*fate, one));
        let plain = first.unwrap_or(incoming.len());
        for (incoming, fate) in incoming.iter().zip(&plan.fates).take(plain) {
            let place = self.one(incoming, *fate)?;
            self.made.places.push(place);
            if !incoming.is_volatile {
                self.anchor = self.anchor.max(place);
            }
        }
        let rest = incoming.iter().zip(plan.fates.iter().copied()).skip(plain);
        if first.is_some() { self.reorder(&rest.collect::<Vec<_>>()) } else { Ok(()) }
    }

    /// Puts messages between stored entries: the path is written again from the first insertion on.
    fn reorder(&mut self, rest: &[(&Incoming, Fate)]) -> Result<(), HostError> {
        let at = self.anchor;
        let mut behind = self.journal.path_after(at);
        let stored =
            rest.iter().enumerate().filter_map(|(index, (_, fate))| Some((stored_as(*fate)?, index)));
        let last: BTreeMap<Seq, usize> = stored.collect();
        // Entries right behind the anchor that the array leaves out stay there.
        let path = self.journal.path();
        let is_left_out = |seq: &Seq| path.is_loose(*seq) && !last.contains_key(seq);
        let before = behind.iter().take_while(|seq| is_left_out(seq)).count();
        let at = behind.drain(..before).next_back().or(at);
        if behind.len() > REWRITTEN_MAX || self.parent != self.journal.head() {
            return self.at_end(rest);
        }
        self.cut(DeliveryOutcome::Branch, at)?;
        let mut behind = behind.into_iter().peekable();
        for (index, (incoming, fate)) in rest.iter().enumerate() {
            let is_later = |seq: &Seq| last.get(seq).is_some_and(|last| *last > index);
            let fate = if is_inserted(*fate, incoming) { Fate::Insert } else { *fate };
            // Volatile input does not tell the places of messages of the transcript.
            let is_before = |seq: &Seq| match (fate, stored_as(fate)) {
                (Fate::Insert, _) => is_left_out(seq),
                (_, Some(stored)) => *seq <= stored && !(incoming.is_volatile && is_later(seq)),
                (fate, None) => fate == Fate::Append,
            };
            while let Some(stored) = behind.next_if(is_before) {
                self.write_again(stored)?;
            }
            let place = self.one(incoming, if fate == Fate::Insert { Fate::Append } else { fate })?;
            self.made.places.push(place);
        }
        behind.try_for_each(|stored| self.write_again(stored))
    }

    /// Makes the lines of insertions with too many entries behind them: the messages go to the end of the path.
    fn at_end(&mut self, rest: &[(&Incoming, Fate)]) -> Result<(), HostError> {
        for (incoming, fate) in rest {
            let fate = match fate {
                Fate::Insert | Fate::Misplaced if incoming.is_volatile => Fate::Append,
                Fate::Insert => Fate::Misplaced,
                fate => *fate,
            };
            let place = self.one(incoming, fate)?;
            self.made.places.push(place);
        }
        Ok(())
    }

    /// Makes the lines of one message. Returns its entry on the path.
    fn one(&mut self, incoming: &Incoming, fate: Fate) -> Result<Option<Seq>, HostError> {
        match fate {
            Fate::Known(seq) => {
                let new = incoming.learnt().filter(|name| !self.known.of(name).contains(&seq));
                self.made.names.extend(new.map(|name| NamedEntry::new(name, seq)));
                return Ok(Some(seq));
            }
            Fate::Append => self.append(incoming, None)?,
            Fate::Copy(seq) | Fate::Changed(seq) => {
                if let Some(copy) = self.beside(incoming, Some(seq))? {
                    // The bytes name the entry only if the content is equal.
                    match fate {
                        Fate::Copy(_) => self.made.names.push(NamedEntry::new(incoming.byte_name(), seq)),
                        _ => self.made.names.extend([
                            NamedEntry::new(incoming.byte_name(), copy),
                            NamedEntry::new(names::moved_to(copy), seq),
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
            Fate::Excluded if incoming.is_own() => return Ok(None),
            Fate::Insert | Fate::Misplaced if mutants::is(Bug::LateDropped) => return Ok(None),
            Fate::Insert | Fate::Misplaced | Fate::Excluded => {
                let copy = self.beside(incoming, None)?;
                self.made.names.extend(copy.map(|copy| NamedEntry::new(incoming.byte_name(), copy)));
                return Ok(None);
            }
        }
        Ok(self.parent)
    }

    /// Cuts the path, which then continues behind an entry before its newest one.
    pub(crate) fn cut(&mut self, why: DeliveryOutcome, to: Option<Seq>) -> Result<(), HostError> {
        let after = self.after(to)?;
        let text = journal::event(why.name(), None, &after, self.now.0);
        self.made.lines.push(JournalLine { text, parent: to, names: Vec::new(), is_open: false });
        self.parent = to;
        Ok(())
    }

    /// The `after` of a line with this parent. The parent may be a line that is not written yet.
    fn after(&self, parent: Option<Seq>) -> Result<After, HostError> {
        match parent {
            Some(seq) if seq >= self.journal.next() => Ok(After::Newest),
            _ => self.journal.after(parent),
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
        let (after, of) = (self.after(parent)?, of.map(|seq| self.journal.reference(seq)).transpose()?);
        let line = journal::message(&journal::Line {
            form: self.journal.form,
            message: &message.text,
            id,
            after: &after,
            provenance: incoming.provenance,
            is_volatile: incoming.is_volatile,
            beside: of.as_deref().map(OffPath::Copy),
            turn: incoming.turn.as_deref(),
            at: self.now.0,
        });
        let seq = self.next();
        let is_open = self.is_open && original.is_none();
        self.made.lines.push(JournalLine { text: line, parent, names: incoming.kept().collect(), is_open });
        if let Some(original) = original {
            self.made.off_path += 1;
            self.made.names.push(NamedEntry::new(names::replay(original), seq));
        } else {
            self.made.added += 1;
            self.parent = Some(seq);
        }
        Ok(())
    }

    fn next(&self) -> Seq {
        Seq(self.journal.next().0 + self.made.lines.len() as u64)
    }

    /// Whether another entry has the host's id already: the journal gives an id to one entry only, unless the host says that a
    /// message with a known id takes the place of the earlier one.
    fn is_taken(&self, incoming: &Incoming) -> Result<bool, HostError> {
        let Some(id) = incoming.id.as_ref().filter(|_| !self.repeats_ids) else { return Ok(false) };
        let name = names::id_name(id);
        let is_written = self.made.lines.iter().any(|line| line.names.contains(&name));
        Ok(is_written || self.journal.known([name])?.has(&name))
    }

    /// Makes a copy beside the path, unless the bytes are stored. Returns its seq.
    fn beside(&mut self, incoming: &Incoming, of: Option<Seq>) -> Result<Option<Seq>, HostError> {
        let Some(message) = incoming.message.as_ref().filter(|_| !incoming.is_stored(self.known)) else {
            return Ok(None);
        };
        let of_name = of.map_or_else(|| Ok("?".to_owned()), |seq| self.journal.reference(seq))?;
        let line = journal::message(&journal::Line {
            form: self.journal.form,
            message: &message.text,
            id: None,
            after: &After::Newest,
            provenance: incoming.provenance,
            is_volatile: incoming.is_volatile,
            beside: Some(OffPath::Copy(&of_name)),
            turn: None,
            at: self.now.0,
        });
        let seq = self.next();
        self.made.lines.push(JournalLine {
            text: line,
            parent: self.parent,
            names: Vec::new(),
            is_open: false,
        });
        self.made.off_path += 1;
        Ok(Some(seq))
    }

    /// Makes the line of a stored message again, at the end of the path.
    pub(crate) fn write_again(&mut self, seq: Seq) -> Result<(), HostError> {
        let kept = self.journal.line(seq)?;
        let Some(message) = kept.message else { return Ok(()) };
        let place = kept.turn.as_deref().map(|turn| self.place_in_turn(turn, seq)).transpose()?.flatten();
        let delivered = Delivered {
            id: kept.id,
            body: Some(message.into_bytes()),
            is_volatile: kept.is_volatile,
            provenance: Some(kept.provenance),
            ..Delivered::default()
        };
        let incoming = Incoming::read(self.journal.form, delivered, 0, None)?.at_place(place);
        self.moved.insert(seq, self.next());
        self.made.names.push(NamedEntry::new(names::moved_to(seq), self.next()));
        self.append(&incoming, None)
    }

    /// The name of an entry's place in its turn.
    fn place_in_turn(&self, turn: &str, seq: Seq) -> Result<Option<Name>, HostError> {
        let places: Vec<Name> =
            (0..TURN_MAX).map(|index| names::turn_place(KeyedPlace { key: turn, index })).collect();
        let known = self.journal.known(places.iter().copied())?;
        Ok(places.into_iter().find(|place| known.of(place).contains(&seq)))
    }

    /// Adds the stored body to a message of which only the digest was sent.
    fn embodied(&self, incoming: &Incoming) -> Result<Incoming, HostError> {
        for seqs in incoming.byte_names().map(|name| self.known.of(&name)) {
            for seq in seqs.iter() {
                if let Some(body) = self.journal.line(*seq)?.message {
                    return incoming.with_body(self.journal.form, body);
                }
            }
        }
        Err(HostError::Refused {
            what:
                "a message was named by its digest, but its bytes were purged; send the message with its body"
                    .to_owned(),
        })
    }
}

/// Whether a message is put between stored ones: the host's array always tells the place of volatile input.
const fn is_inserted(fate: Fate, incoming: &Incoming) -> bool {
    matches!(fate, Fate::Insert) || (incoming.is_volatile && matches!(fate, Fate::Misplaced))
}
