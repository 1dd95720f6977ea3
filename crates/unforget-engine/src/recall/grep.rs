//! Searches for any bytes.

use std::cmp::Reverse;
use std::collections::hash_map::Entry::Vacant;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use unforget_core::entry::Role;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Thread, Timestamp};
use unforget_recall::grep::Pattern;
use unforget_recall::parts::Probe;
use unforget_store::{ChunkBytes, Conversation, EntryRow, Holed, Scan as ChunkScan, Scratch, read_all};

use crate::presence::{Presence, PresenceCache};
use crate::{Engine, EngineError};

mod plan;

use plan::{Holder, Task, fitting};

/// Default maximum number of matches.
const LIMIT: usize = 100;

/// Maximum number of listed matches per entry.
const PER_ENTRY: usize = 20;

/// Number of characters shown before and after a match.
const CONTEXT_CHARS: usize = 80;

/// Default time limit of a scan.
const DEADLINE: Duration = Duration::from_secs(30);

/// Number of scanning threads.
const THREADS: usize = 2;

/// Pattern and scope of a grep.
#[derive(Clone, Debug, Default)]
pub struct GrepQuery {
    /// A regular expression; linear time, no look-around.
    pub pattern: String,
    /// Take the pattern literally, not as an expression.
    pub is_literal: bool,
    /// Restricts the scan to this conversation.
    pub conversation: Option<ConversationId>,
    /// Restricts the scan to this lane.
    pub thread: Option<Thread>,
    /// Restricts the scan to entries of this role.
    pub role: Option<Role>,
    /// Restricts the scan to entries from this time on; entries without a time are left out.
    pub since: Option<Timestamp>,
    /// Restricts the scan to entries before this time.
    pub until: Option<Timestamp>,
    /// Maximum number of matches; `None` is 100.
    pub limit: Option<usize>,
    /// Ignore the difference between upper and lower case.
    pub ignore_case: bool,
    /// Time limit; `None` is 30 seconds.
    pub deadline: Option<Duration>,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepMatch {
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The entry.
    pub seq: Seq,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Role of the speaker.
    pub role: Role,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Range of the match in the file.
    pub bytes: Range<u64>,
    /// The match with its surroundings, escapes undone.
    pub snippet: String,
    /// Range of the match in `snippet`.
    pub shown: Range<usize>,
    /// Whether only an earlier form of its transcript has the entry: see [`Presence::Earlier`].
    pub is_earlier: bool,
}

/// Result of a scan and its receipts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepAnswer {
    /// Matches ordered by conversation (newest entry first), then by entry (newest first), then by position.
    pub matches: Vec<GrepMatch>,
    /// Number of entries read or excluded by their filter.
    pub entries_searched: u64,
    /// Number of entries of the conversations in scope.
    pub entries_total: u64,
    /// Number of chunks and blobs read.
    pub chunks_scanned: u64,
    /// Number of chunks and blobs of the conversations in scope.
    pub chunks_total: u64,
    /// True if there may be more matches than listed.
    pub stopped_at_limit: bool,
    /// True if the time limit was reached before everything was read.
    pub stopped_at_deadline: bool,
}

impl Engine {
    /// Finds a pattern in all stored bytes, both raw and with JSON escapes undone; no match is reported twice, and none in
    /// an entry that its transcript has again in a newer form with the same words. An
    /// incomplete scan is always marked: see [`GrepAnswer::stopped_at_limit`].
    ///
    /// Cost: O(filters), and O(bytes) of the chunks whose filter permits a match, on two threads.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the pattern is invalid; [`EngineError::Store`] if stored bytes cannot be read: there
    /// is no partial answer.
    pub fn grep(&self, wanted: &GrepQuery) -> Result<GrepAnswer, EngineError> {
        let pattern = compile(wanted)?;
        let mut conversations = self.conversations_in(wanted.conversation)?;
        conversations.sort_by_key(|one| (Reverse(one.time.map(|time| time.1)), one.id));
        let mut answer = GrepAnswer::default();
        let mut units = Vec::new();
        for (at, conversation) in conversations.iter().enumerate() {
            let filters = read_all(|page| self.store().filters(conversation.id, page))?;
            answer.entries_total += conversation.entries;
            answer.chunks_total += filters.len() as u64;
            let tasks = fitting(conversation.id, &filters, &pattern)?;
            units.extend(tasks.into_iter().map(|task| Unit { at, task }));
        }
        let scan = Scan {
            engine: self,
            wanted,
            pattern: &pattern,
            probes: if pattern.holds_quote() { Probe::all(pattern.need()) } else { Vec::new() },
            conversations: &conversations,
            units: &units,
            limit: wanted.limit.unwrap_or(LIMIT),
            deadline: Instant::now().checked_add(wanted.deadline.unwrap_or(DEADLINE)),
            next: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
            late: AtomicBool::new(false),
            matches: Mutex::new(BTreeMap::new()),
            read: Mutex::new(ReadAmounts::default()),
            whole: Mutex::new(HashSet::new()),
        };
        scan.run()?;
        scan.finish(answer)
    }
}

fn compile(wanted: &GrepQuery) -> Result<Pattern, EngineError> {
    let pattern = match (wanted.is_literal, wanted.ignore_case) {
        (true, ignore_case) => Pattern::literal(&wanted.pattern, ignore_case),
        (false, true) => Pattern::new(&format!("(?i){}", wanted.pattern)),
        (false, false) => Pattern::new(&wanted.pattern),
    };
    pattern.map_err(|error| {
        use std::error::Error;
        let why = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        EngineError::Usage { what: format!("{error}{why}"), hint: error.hint().to_owned() }
    })
}

/// A unit of reading in one of the conversations.
struct Unit {
    at: usize,
    task: Task,
}

/// The state of a thread that reads a unit.
struct UnitReader<'a> {
    /// Index of the conversation.
    at: usize,
    scratch: &'a mut Scratch,
    read: ReadAmounts,
}

/// Amounts read so far.
#[derive(Clone, Copy, Debug, Default)]
struct ReadAmounts {
    units: u64,
    /// Number of chunks and blobs, some perhaps counted twice.
    chunks: u64,
    entries: u64,
}

/// Sort key of matches: conversation, newest entry first, position.
type Key = (usize, Reverse<Seq>, u64);

/// Where the entries with matches stand.
fn presences(
    engine: &Engine,
    conversations: &[Conversation],
    matches: &BTreeMap<Key, GrepMatch>,
) -> Result<HashMap<(usize, Reverse<Seq>), Presence>, EngineError> {
    let mut cache = PresenceCache::default();
    let mut found = HashMap::new();
    for (at, seq, _) in matches.keys() {
        let conversation = conversations.get(*at).filter(|one| one.entries != one.length);
        if let (Some(conversation), Vacant(new)) = (conversation, found.entry((*at, *seq))) {
            let row = engine.row(conversation.id, seq.0)?;
            new.insert(cache.presence(engine, conversation, &row)?);
        }
    }
    Ok(found)
}

/// One scan, shared by its threads. The threads take units in order, so the units taken are always a prefix.
struct Scan<'a> {
    engine: &'a Engine,
    wanted: &'a GrepQuery,
    pattern: &'a Pattern,
    /// One probe for each required clause of the pattern.
    probes: Vec<Probe>,
    conversations: &'a [Conversation],
    units: &'a [Unit],
    limit: usize,
    /// `None` if the deadline is beyond the range of the clock.
    deadline: Option<Instant>,
    next: AtomicUsize,
    found: AtomicUsize,
    late: AtomicBool,
    matches: Mutex<BTreeMap<Key, GrepMatch>>,
    read: Mutex<ReadAmounts>,
    /// Entries read with their large parts.
    whole: Mutex<HashSet<(usize, Seq)>>,
}

impl Scan<'_> {
    fn run(&self) -> Result<(), EngineError> {
        if self.units.len() < 2 {
            return self.work();
        }
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(|| self.work())).collect();
            let own = self.work();
            others.into_iter().try_for_each(|other| match other.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            })?;
            own
        })
    }

    fn work(&self) -> Result<(), EngineError> {
        let mut scratch = Scratch::default();
        while self.found.load(Ordering::Relaxed) <= self.limit {
            let Some(unit) = self.units.get(self.next.fetch_add(1, Ordering::Relaxed)) else { break };
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                self.late.store(true, Ordering::Relaxed);
                break;
            }
            self.unit(unit, &mut scratch)?;
        }
        Ok(())
    }

    fn unit(&self, unit: &Unit, scratch: &mut Scratch) -> Result<(), EngineError> {
        let Some(conversation) = self.conversations.get(unit.at) else { return Ok(()) };
        let read = ReadAmounts { units: 1, chunks: 0, entries: 0 };
        let mut reader = UnitReader { at: unit.at, scratch, read };
        match &unit.task {
            Task::Chunk { number, missing, holders } => {
                let found = match missing {
                    Some(clause) => self.probe(&mut reader, *clause, holders)?,
                    None => holders.iter().collect(),
                };
                if missing.is_none() || !found.is_empty() {
                    self.scan(&mut reader, *number, &found)?;
                }
            }
            Task::Blob(digest) => {
                let mut wants = |bytes: &[u8]| self.pattern.is_match(bytes);
                let seqs =
                    self.engine.store().scan_blob(conversation.id, *digest, reader.scratch, &mut wants)?;
                seqs.into_iter().try_for_each(|seq| self.entry(unit.at, seq, None))?;
                reader.read.chunks += 1;
            }
        }
        let read = reader.read;
        let mut all = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        all.units += read.units;
        all.chunks += read.chunks;
        all.entries += read.entries;
        Ok(())
    }

    /// The `holders` with a large part that contains a clause or a fragment of it at an end.
    fn probe<'h>(
        &self,
        reader: &mut UnitReader<'_>,
        clause: usize,
        holders: &'h [Holder],
    ) -> Result<Vec<&'h Holder>, EngineError> {
        let Some(conversation) = self.conversations.get(reader.at) else { return Ok(Vec::new()) };
        let mut leads = Vec::new();
        for holder in holders {
            let mut found = false;
            for digest in &holder.blobs {
                let mut probe = |bytes: &[u8]| {
                    found = self.probes.get(clause).is_none_or(|probe| probe.finds(bytes));
                    false
                };
                self.engine.store().scan_blob(conversation.id, *digest, reader.scratch, &mut probe)?;
                reader.read.chunks += 1;
                if found {
                    leads.push(holder);
                    break;
                }
            }
        }
        Ok(leads)
    }

    /// Lists the matches in a chunk.
    ///
    /// * `number` - number of the chunk in the conversation.
    /// * `holders` - entries that may have to be read with their large parts, ascending.
    fn scan(&self, reader: &mut UnitReader<'_>, number: u64, holders: &[&Holder]) -> Result<(), EngineError> {
        let at = reader.at;
        let Some(conversation) = self.conversations.get(at) else { return Ok(()) };
        let mut wants = |bytes: &[u8], places: Option<&[Range<usize>]>| self.pattern.may_match(bytes, places);
        let mut each = |row: &EntryRow, body: &[u8]| self.whole(at, row, body);
        let mut parts = 0;
        let mut wants_whole = |seq: Seq, around: &[u8]| {
            let found = holders.iter().find(|holder| holder.seq == seq);
            let wanted = found.filter(|holder| self.may_match(holder, around));
            parts += wanted.map_or(0, |holder| holder.blobs.len() as u64);
            wanted.is_some()
        };
        let seqs: Vec<Seq> = holders.iter().map(|holder| holder.seq).collect();
        let holed = Holed { seqs: &seqs, wants: &mut wants_whole, each: &mut each };
        let asked = ChunkScan { wants: &mut wants, holed: (!seqs.is_empty()).then_some(holed) };
        let scanned = self.engine.store().scan(conversation.id, number, reader.scratch, asked)?;
        reader.read.chunks += 1 + parts;
        reader.read.entries += scanned.entries;
        scanned.chunk.map_or(Ok(()), |chunk| self.chunk(at, &chunk))
    }

    /// Whether an entry may match if its large parts are included.
    ///
    /// * `around` - its text without the large parts.
    fn may_match(&self, holder: &Holder, around: &[u8]) -> bool {
        let mut clauses = holder.touched.iter().zip(&self.probes);
        clauses.all(|(touched, probe)| probe.finds_around(around, *touched))
    }

    /// Lists the matches in the candidate entries of a chunk, as stored in the chunk.
    fn chunk(&self, at: usize, chunk: &ChunkBytes) -> Result<(), EngineError> {
        let bodies = chunk.entries.iter().rev();
        let bodies = bodies.map(|(seq, range)| (*seq, chunk.bytes.get(range.clone()).unwrap_or_default()));
        bodies
            .filter(|(_, body)| self.pattern.is_match(body))
            .try_for_each(|(seq, body)| self.entry(at, seq, Some(body)))
    }

    /// Lists the matches of an entry with large parts.
    ///
    /// * `body` - the complete body.
    fn whole(&self, at: usize, row: &EntryRow, body: &[u8]) {
        if self.in_scope(row) && self.is_first(at, row.seq) && self.pattern.is_match(body) {
            self.list(at, row, body);
        }
    }

    /// Lists the matches of an entry.
    ///
    /// * `body` - as stored in the chunk, without the large parts; `None` to read the complete body.
    fn entry(&self, at: usize, seq: Seq, body: Option<&[u8]>) -> Result<(), EngineError> {
        let Some(conversation) = self.conversations.get(at) else { return Ok(()) };
        let row = self.engine.row(conversation.id, seq)?;
        if !self.in_scope(&row) {
            return Ok(());
        }
        let length = row.bytes.end.saturating_sub(row.bytes.start);
        if let Some(body) = body.filter(|body| body.len() as u64 == length) {
            self.list(at, &row, body);
        } else if self.is_first(at, seq) {
            let raw = self.engine.store().raw(conversation.id, seq.0..seq.0 + 1)?;
            self.list(at, &row, raw.first().map(|raw| raw.body.as_slice()).unwrap_or_default());
        }
        Ok(())
    }

    /// Whether this is the first time that the entry is to be read whole; several parts may lead to one entry.
    fn is_first(&self, at: usize, seq: Seq) -> bool {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).insert((at, seq))
    }

    /// Lists the matches of one entry in scope.
    ///
    /// * `body` - the complete body.
    fn list(&self, at: usize, row: &EntryRow, body: &[u8]) {
        let Some(conversation) = self.conversations.get(at) else { return };
        let found = self.pattern.find(body, CONTEXT_CHARS, PER_ENTRY);
        let mut matches = self.matches.lock().unwrap_or_else(PoisonError::into_inner);
        for one in found {
            let bytes = row.bytes.start + one.bytes.start as u64..row.bytes.start + one.bytes.end as u64;
            let shown = GrepMatch {
                conversation: conversation.key.clone(),
                seq: row.seq,
                host_id: row.host_id.clone(),
                role: row.role,
                time: row.time,
                bytes,
                snippet: one.snippet,
                shown: one.shown,
                is_earlier: false,
            };
            matches.insert((at, Reverse(row.seq), one.bytes.start as u64), shown);
        }
        self.found.store(matches.len(), Ordering::Relaxed);
    }

    fn in_scope(&self, row: &EntryRow) -> bool {
        let wanted = self.wanted;
        let timed = wanted.since.is_some() || wanted.until.is_some();
        let since = wanted.since.is_none_or(|since| row.time.is_some_and(|time| time >= since));
        let until = wanted.until.is_none_or(|until| row.time.is_some_and(|time| time < until));
        wanted.thread.is_none_or(|thread| row.thread == thread)
            && wanted.role.is_none_or(|role| row.role == role)
            && (!timed || (since && until))
    }

    fn finish(self, mut answer: GrepAnswer) -> Result<GrepAnswer, EngineError> {
        let read = self.read.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut matches = self.matches.into_inner().unwrap_or_else(PoisonError::into_inner);
        answer.chunks_scanned = read.chunks.min(answer.chunks_total);
        let is_whole = read.units == self.units.len() as u64;
        answer.stopped_at_deadline = self.late.into_inner();
        answer.stopped_at_limit = matches.len() > self.limit || (!is_whole && !answer.stopped_at_deadline);
        answer.entries_searched = if is_whole { answer.entries_total } else { read.entries };
        // Matches of one entry are limited; mark the answer if that may have happened.
        let mut per_entry: HashMap<(usize, Reverse<Seq>), usize> = HashMap::new();
        for (at, seq, _) in matches.keys() {
            *per_entry.entry((*at, *seq)).or_default() += 1;
        }
        answer.stopped_at_limit |= per_entry.values().any(|count| *count >= PER_ENTRY);
        let presences = presences(self.engine, self.conversations, &matches)?;
        matches.retain(|(at, seq, _), _| !matches!(presences.get(&(*at, *seq)), Some(Presence::Repeated(_))));
        for ((at, seq, _), one) in &mut matches {
            one.is_earlier = presences.get(&(*at, *seq)) == Some(&Presence::Earlier);
        }
        answer.matches = matches.into_values().take(self.limit).collect();
        Ok(answer)
    }
}
