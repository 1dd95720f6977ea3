//! A recorded session as a live host: every record is delivered to the lane of its thread.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, HostParent};
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_wire::{Format, Record, RecordedMessage, Source, journal, message_of};

use crate::host::{ComposedPrompt, Counted, HostLane, PathCut};
use crate::journal::{Delivered, HostError, LaneKey, WrittenLine, conversation_key};
use crate::prompt::{PromptWeight, Session, Shape};
use crate::{Engine, EngineError};

/// Delivers the records of a transcript, and asks for prompts, as the host that wrote the transcript would have.
///
/// Every thread of the transcript is a lane. The messages are those that the host held: the record without what the
/// transcript's format puts around it. The clock is the transcript's. A record that does not follow the newest one is a
/// rewind. What is stored of the lanes already is recognised, so that a delivery that was interrupted is repeated from its
/// start.
pub struct RecordedHost {
    engine: Engine,
    key: ConversationKey,
    format: Format,
    /// Shape of the prompts, if any are asked for.
    shape: Option<Shape>,
    lanes: BTreeMap<Option<String>, RecordedLane>,
    /// The newest known time of the transcript so far; 0 before the first.
    clock: Timestamp,
    /// Number of records so far.
    records: u64,
}

/// A record that became an entry of its lane's path.
#[derive(Clone, Debug)]
pub struct RecordedEntry {
    /// Index of its record in the transcript, from 0.
    pub record: u64,
    /// Its thread in the transcript; `None` for the main one.
    pub thread: Option<String>,
    /// Its seq in the journal of the lane.
    pub seq: Seq,
    /// The entry that it follows.
    pub parent: Option<Seq>,
    /// Its content.
    pub entry: Arc<Entry>,
    /// Expected tokens, independent of the model.
    pub tokens: u64,
}

/// The lane of one thread.
struct RecordedLane {
    lane: HostLane,
    /// Places of the records with a host's id, by digest of the id.
    places: HashMap<i64, LanePlace>,
    waiting: Waiting,
}

/// Where the next entry would stand behind a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LanePlace {
    /// Behind this entry of the lane; `None` is its start.
    Stored(Option<Seq>),
    /// Behind the message with this index among those that wait.
    Waiting(usize),
}

/// Messages that are delivered together.
#[derive(Default)]
struct Waiting {
    /// Time of the delivery.
    now: Timestamp,
    messages: Vec<Delivered>,
    /// For each message, the index of its record.
    records: Vec<u64>,
    /// Digests of ids whose places are among these messages.
    ids: Vec<i64>,
}

impl RecordedHost {
    /// Begins in front of the first record of the transcript.
    ///
    /// * `shape` - of the prompts that will be asked for, if any are.
    pub fn begin(engine: &Engine, source: &Source, shape: Option<Shape>) -> Self {
        Self {
            engine: engine.clone(),
            key: source.key.clone(),
            format: source.format,
            shape,
            lanes: BTreeMap::new(),
            clock: Timestamp::default(),
            records: 0,
        }
    }

    /// Key of the conversation in which a thread is stored.
    pub fn conversation_key(&self, thread: Option<&str>) -> ConversationKey {
        conversation_key(&self.lane_key(thread))
    }

    /// Opens the lane of the main thread, unless it is open. Returns its conversation.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn open(&mut self) -> Result<ConversationId, EngineError> {
        let (form, now) = (self.format, self.clock);
        Ok(self.lane(None, form, now)?.lane.journal().conversation())
    }

    /// All conversations, the main one first.
    pub fn conversations(&self) -> Vec<ConversationId> {
        self.lanes.values().map(|lane| lane.lane.journal().conversation()).collect()
    }

    /// The prompt of a thread in progress.
    pub fn session(&mut self, thread: Option<&str>) -> Option<&mut Session> {
        self.lanes.get_mut(&thread.map(str::to_owned))?.lane.session()
    }

    /// Delivers the next records. What was delivered survives a loss of power once this function returns.
    ///
    /// Cost: O(delivery), independent of the history; a few durable writes.
    ///
    /// # Errors
    /// Errors of the store. [`EngineError::Usage`] if the lane is stored with other messages.
    pub fn deliver(&mut self, records: Vec<Record>) -> Result<Vec<RecordedEntry>, EngineError> {
        let mut entries = Vec::new();
        let mut before: Option<Option<String>> = None;
        for record in records {
            let thread = record.entry.thread.clone();
            if let Some(other) = before.filter(|before| *before != thread) {
                entries.extend(self.flush(other.as_deref())?);
            }
            entries.extend(self.take(&record)?);
            before = Some(thread);
        }
        if let Some(thread) = before {
            entries.extend(self.flush(thread.as_deref())?);
        }
        Ok(entries)
    }

    /// The prompt for the call of which this record is the answer. The record itself is not delivered.
    ///
    /// # Errors
    /// [`EngineError::Irreducible`] if not even the newest message fits; [`EngineError::Usage`] without a shape.
    pub fn prompt_before(&mut self, answer: &Record) -> Result<ComposedPrompt, EngineError> {
        let Some(shape) = self.shape else {
            return Err(other_lane("no shape of prompts is given".to_owned()));
        };
        let (thread, now) = (answer.entry.thread.clone(), self.clock);
        let form = self.form_of(answer);
        self.lane(thread.as_deref(), form, now)?.lane.assemble_in(shape, now).map_err(engine_error)
    }

    /// Takes the provider's count of the last prompt of a thread.
    pub fn counted(
        &mut self,
        thread: Option<&str>,
        weighed: PromptWeight,
        input: u64,
    ) -> Result<(), EngineError> {
        if let Some(lane) = self.lanes.get_mut(&thread.map(str::to_owned)) {
            let head = lane.lane.journal().head();
            let counted = Counted { head, input, weighed: Some(weighed), ..Counted::default() };
            lane.lane.counted(&counted, self.clock).map_err(engine_error)?;
        }
        Ok(())
    }

    /// Takes one record: it waits for delivery, or tells only the place of later ones. Returns what was delivered before it.
    fn take(&mut self, record: &Record) -> Result<Vec<RecordedEntry>, EngineError> {
        let thread = record.entry.thread.clone();
        let index = self.records;
        self.records += 1;
        self.clock = record.entry.time.unwrap_or(self.clock);
        let (now, message) = (self.clock, message_of(self.format, record));
        let form = message.as_ref().map_or_else(|| self.form_of(record), |message| message.form);
        let lane = self.lane(thread.as_deref(), form, now)?;
        let Some(message) = message else {
            lane.note(record);
            return Ok(Vec::new());
        };
        let mut delivered = Vec::new();
        if lane.place_of(&record.entry) != lane.head() {
            delivered = lane.flush().map_err(engine_error)?;
            lane.go_to(&record.entry, now).map_err(engine_error)?;
        }
        if !lane.waiting.takes(&message, now) {
            delivered = lane.flush().map_err(engine_error)?;
        }
        lane.wait(record, message, index, now);
        Ok(in_thread(delivered, thread.as_deref()))
    }

    fn flush(&mut self, thread: Option<&str>) -> Result<Vec<RecordedEntry>, EngineError> {
        let Some(lane) = self.lanes.get_mut(&thread.map(str::to_owned)) else { return Ok(Vec::new()) };
        Ok(in_thread(lane.flush().map_err(engine_error)?, thread))
    }

    /// The lane of a thread, opened.
    fn lane(
        &mut self,
        thread: Option<&str>,
        form: Format,
        now: Timestamp,
    ) -> Result<&mut RecordedLane, EngineError> {
        let key = self.lane_key(thread);
        let entry = match self.lanes.entry(thread.map(str::to_owned)) {
            std::collections::btree_map::Entry::Occupied(lane) => return Ok(lane.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => entry,
        };
        let opened = HostLane::open_at_start(&self.engine, &key, form, self.shape, now);
        let lane = opened.map_err(engine_error)?;
        Ok(entry.insert(RecordedLane { lane, places: HashMap::new(), waiting: Waiting::default() }))
    }

    fn lane_key(&self, thread: Option<&str>) -> LaneKey {
        LaneKey(thread.map_or_else(|| self.key.0.clone(), |thread| format!("{}/{thread}", self.key.0)))
    }

    /// The form of the messages of a lane that begins with this record.
    fn form_of(&self, record: &Record) -> Format {
        match self.format {
            Format::Journal => {
                let form = journal::read_line(&record.body).form;
                form.as_deref().and_then(Format::by_name).unwrap_or(Format::Pi)
            }
            format => format,
        }
    }
}

impl RecordedLane {
    /// Where the next entry would stand now.
    fn head(&self) -> LanePlace {
        match self.waiting.messages.len().checked_sub(1) {
            Some(last) => LanePlace::Waiting(last),
            None => LanePlace::Stored(self.lane.journal().head()),
        }
    }

    /// The place of a record, by the parent that it names. A parent that is unknown counts as the newest entry.
    fn place_of(&self, entry: &Entry) -> LanePlace {
        match &entry.parent {
            HostParent::Previous => self.head(),
            HostParent::Root => LanePlace::Stored(None),
            HostParent::Id(id) => self.places.get(&short(id)).copied().unwrap_or_else(|| self.head()),
        }
    }

    /// Notes a record without a message: what names it as parent stands where it stands.
    fn note(&mut self, record: &Record) {
        let place = self.place_of(&record.entry);
        self.keep_place(record, place);
    }

    fn keep_place(&mut self, record: &Record, place: LanePlace) {
        if let Some(id) = &record.entry.host_id {
            self.places.insert(short(id), place);
            if matches!(place, LanePlace::Waiting(_)) {
                self.waiting.ids.push(short(id));
            }
        }
    }

    /// Adds a message to those that wait.
    fn wait(&mut self, record: &Record, message: RecordedMessage, index: u64, now: Timestamp) {
        if self.waiting.messages.is_empty() {
            self.waiting.now = now;
        }
        self.waiting.records.push(index);
        self.waiting.messages.push(Delivered {
            id: record.entry.host_id.clone(),
            provenance: message.provenance,
            is_volatile: message.is_volatile,
            ..Delivered::new(message.body)
        });
        self.keep_place(record, self.head());
    }

    /// Delivers the messages that wait. Their thread is not set.
    fn flush(&mut self) -> Result<Vec<RecordedEntry>, HostError> {
        let Waiting { now, messages, records, ids } = std::mem::take(&mut self.waiting);
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let mut before = self.lane.journal().head();
        let written = self.lane.deliver_rest(messages, now)?;
        // Our own output coming back is no entry: what follows it stands where it would have stood.
        let mut places = Vec::with_capacity(written.places.len());
        for place in &written.places {
            before = place.or(before);
            places.push(before);
        }
        for id in ids {
            if let Some(place) = self.places.get_mut(&id)
                && let LanePlace::Waiting(index) = *place
            {
                *place = LanePlace::Stored(places.get(index).copied().flatten());
            }
        }
        let records = records.into_iter().zip(&written.places).filter(|(_, place)| place.is_some());
        let entry = |(record, WrittenLine { row, entry, .. }): (u64, WrittenLine)| RecordedEntry {
            record,
            thread: None,
            seq: row.seq,
            parent: row.parent,
            entry,
            tokens: row.tokens.expected,
        };
        Ok(records.map(|(record, _)| record).zip(written.lines).map(entry).collect())
    }

    /// Leads the path to the place of a record that does not follow the newest one. Nothing waits.
    fn go_to(&mut self, entry: &Entry, now: Timestamp) -> Result<(), HostError> {
        let LanePlace::Stored(to) = self.place_of(entry) else { return Ok(()) };
        let journal = self.lane.journal();
        if to == journal.head() {
            return Ok(());
        }
        // An entry that the path left and came back to stands elsewhere now.
        let mut seqs: Vec<Seq> = to.into_iter().collect();
        journal.follow(&mut seqs)?;
        let on_path = seqs.iter().copied().rfind(|seq| journal.path().holds(*seq));
        if to.is_some() && on_path.is_none() {
            return self.lane.record(|journal| journal.return_to(to, &[], now)).map(|_| ());
        }
        self.lane.cut(&PathCut { event: "rewind", to: on_path, detail: None }, now)
    }
}

impl Waiting {
    /// Whether a message may be delivered with those that wait: a message that does not tell its own time gets that of the
    /// delivery.
    fn takes(&self, message: &RecordedMessage, now: Timestamp) -> bool {
        self.messages.is_empty() || message.is_dated || self.now == now
    }
}

fn in_thread(entries: Vec<RecordedEntry>, thread: Option<&str>) -> Vec<RecordedEntry> {
    entries.into_iter().map(|entry| RecordedEntry { thread: thread.map(str::to_owned), ..entry }).collect()
}

fn engine_error(error: HostError) -> EngineError {
    match error {
        HostError::Engine(error) => error,
        other => other_lane(other.to_string()),
    }
}

fn other_lane(what: String) -> EngineError {
    EngineError::Usage { what, hint: "replay into a database that does not hold this session yet".to_owned() }
}

fn short(id: &str) -> i64 {
    Digest::of(id.as_bytes()).short()
}
