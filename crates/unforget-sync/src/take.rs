//! Takes what this machine does not have.

mod sayings;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Cursor, Read};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, ConversationKey};
use unforget_engine::Engine;
use unforget_engine::import::ReceivedTranscript;
use unforget_engine::sayings::TakenSayings;
use unforget_store::Conversation;
use unforget_wire::Reader;

use crate::error::{Result, SyncError};
use crate::local::{LocalHistory, StoredPath, behind, ranges};
use crate::record_frames::{self, CheckedRecords, FrameError};
use crate::tip::{HistorySource, PurgedEntry, TipLayout, TipPart, TranscriptTip};

/// Entries of this machine read at once, where a transcript is put together.
const STEP: u64 = 64;

/// Bytes by which the conversation of a transcript is known before it is imported.
const HEAD_BYTES: usize = 256 << 10;

static NOTHING_PURGED: BTreeSet<Chain> = BTreeSet::new();

/// A transcript on its way into the database.
pub struct IncomingTranscript<'a> {
    /// Its origin, for people. No such file is opened.
    pub name: &'a str,
    /// Its bytes from the first on.
    pub input: &'a mut dyn BufRead,
    /// How many.
    pub bytes: u64,
}

/// The writing side of this machine: its database, or the daemon that owns it.
pub trait TranscriptIntake {
    /// Imports a transcript. Returns the number of new entries.
    fn import(&mut self, transcript: IncomingTranscript<'_>) -> Result<u64>;

    /// Erases entries for good, as another machine did.
    fn purge(&mut self, conversation: &Conversation, seqs: Range<u64>) -> Result<()>;

    /// Takes sayings of a conversation.
    ///
    /// * `bodies` - the bytes of each.
    fn say(&mut self, key: &ConversationKey, bodies: &[Vec<u8>]) -> Result<TakenSayings>;
}

/// A database that this process writes.
pub struct EngineIntake<'a>(
    /// The engine; it may write.
    pub &'a Engine,
);

impl TranscriptIntake for EngineIntake<'_> {
    fn import(&mut self, transcript: IncomingTranscript<'_>) -> Result<u64> {
        let IncomingTranscript { name, input, bytes } = transcript;
        let received = ReceivedTranscript { name, bytes, modified_ns: 0 };
        Ok(self.0.import_sent(input, received, &mut |_| ())?.added)
    }

    fn purge(&mut self, conversation: &Conversation, seqs: Range<u64>) -> Result<()> {
        self.0.purge(conversation, seqs)?;
        Ok(())
    }

    fn say(&mut self, key: &ConversationKey, bodies: &[Vec<u8>]) -> Result<TakenSayings> {
        Ok(self.0.take_sayings(key, bodies)?)
    }
}

/// What happened to one conversation.
#[derive(Debug)]
pub enum SyncEvent<'a> {
    /// Its entries were taken.
    Taken {
        /// The conversation.
        key: &'a ConversationKey,
        /// Number of new entries.
        added: u64,
    },
    /// Its new records wait at the source: this is a trial.
    Waiting {
        /// The conversation.
        key: &'a ConversationKey,
        /// Number of records of its tip.
        records: u64,
    },
    /// Entries were purged at another machine and are still here.
    PurgedElsewhere {
        /// The conversation.
        key: &'a ConversationKey,
        /// Number of entries.
        entries: u64,
        /// Whether they were purged here too.
        is_done: bool,
    },
    /// What people said of it elsewhere was taken.
    Said {
        /// The conversation.
        key: &'a ConversationKey,
        /// Number of new sayings.
        added: u64,
    },
    /// Titles, stars, tags, verdicts and what was put back stay where they are: the other machine's program is older than they are.
    NoSayings,
    /// It was passed over, and the others go on.
    Left {
        /// The conversation.
        key: &'a ConversationKey,
        /// The reason.
        why: SyncError,
    },
}

/// What was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeReport {
    /// Conversations of the source.
    pub conversations: u64,
    /// Conversations that grew.
    pub grown: u64,
    /// Conversations that would grow: this is a trial.
    pub waiting: u64,
    /// New entries.
    pub entries: u64,
    /// Entries purged, as at another machine.
    pub purged: u64,
    /// Entries that another machine purged and this one keeps.
    pub kept: u64,
    /// Conversations that were passed over.
    pub left: u64,
    /// Of these, conversations whose missing records were purged: nothing of them is to come.
    #[serde(default)]
    pub left_purged: u64,
    /// New sayings of people.
    #[serde(default)]
    pub sayings: u64,
    /// Sayings that are not known here: this is a trial.
    #[serde(default)]
    pub sayings_waiting: u64,
}

/// Takes every tip that this machine does not know, and imports it as if its transcript had been written here.
///
/// A conversation that cannot be taken is told and passed over; what came of it before is a beginning of its transcript. Where two
/// machines went on with one session, both paths are kept, and the one with the later time is current.
///
/// * `engine` - reads this machine's database; it need not write.
/// * `into` - the writing side; `None` for a trial.
/// * `purges` - whether to purge what another machine purged. Otherwise it is told.
///
/// # Errors
/// Those of the source's lists, of a lost connection, and of this machine's store.
pub fn take(
    engine: &Engine,
    from: &mut dyn HistorySource,
    into: Option<&mut dyn TranscriptIntake>,
    purges: bool,
    told: &mut dyn FnMut(SyncEvent<'_>),
) -> Result<TakeReport> {
    let mut tips: BTreeMap<ConversationKey, Vec<TranscriptTip>> = BTreeMap::new();
    for tip in from.tips()? {
        tips.entry(tip.key.clone()).or_default().push(tip);
    }
    let mut purged: BTreeMap<ConversationKey, BTreeSet<Chain>> = BTreeMap::new();
    for PurgedEntry { key, chain } in from.purged()? {
        purged.entry(key).or_default().insert(chain);
    }
    let (local, report) = (LocalHistory::new(engine), TakeReport::default());
    let mut taker = Taker { local, from, into, told, report, purged };
    taker.take_purged(purges)?;
    for (key, tips) in tips {
        taker.report.conversations += 1;
        match taker.take_conversation(&key, tips) {
            Ok(()) => {}
            Err(error) if error.is_of_everything() => return Err(error),
            Err(why) => {
                taker.report.left += 1;
                taker.report.left_purged += u64::from(matches!(why, SyncError::Purged { .. }));
                (taker.told)(SyncEvent::Left { key: &key, why });
            }
        }
    }
    taker.take_sayings()?;
    Ok(taker.report)
}

struct Taker<'a, 'e, 'i> {
    local: LocalHistory<'e>,
    from: &'a mut dyn HistorySource,
    into: Option<&'a mut (dyn TranscriptIntake + 'i)>,
    told: &'a mut dyn FnMut(SyncEvent<'_>),
    report: TakeReport,
    /// Entries that were purged where the tips come from.
    purged: BTreeMap<ConversationKey, BTreeSet<Chain>>,
}

/// The transcript that is current before others are taken.
struct CurrentTranscript {
    tip: TranscriptTip,
    path: StoredPath,
    name: String,
    trailer: Vec<u8>,
}

impl Taker<'_, '_, '_> {
    fn take_purged(&mut self, purges: bool) -> Result<()> {
        for (key, chains) in self.purged.clone() {
            let Some(stored) = self.local.store().find(&key)? else { continue };
            let mut seqs = Vec::new();
            for chain in chains {
                let row = self.local.store().by_chain(stored.id, chain)?;
                seqs.extend(row.filter(|row| !row.purged).map(|row| row.seq));
            }
            let entries = seqs.len() as u64;
            if entries == 0 {
                continue;
            }
            let into = self.into.as_deref_mut().filter(|_| purges);
            let is_done = into.is_some();
            if let Some(into) = into {
                for range in ranges(seqs) {
                    into.purge(&stored, range)?;
                }
            }
            *if is_done { &mut self.report.purged } else { &mut self.report.kept } += entries;
            (self.told)(SyncEvent::PurgedElsewhere { key: &key, entries, is_done });
        }
        Ok(())
    }

    fn take_conversation(&mut self, key: &ConversationKey, tips: Vec<TranscriptTip>) -> Result<()> {
        let mut unknown = Vec::new();
        for tip in tips {
            if self.local.known(key, tip.chain)?.is_none() {
                unknown.push(tip);
            }
        }
        unknown.sort_by_key(TranscriptTip::order);
        let Some(newest) = unknown.last() else { return Ok(()) };
        if self.into.is_none() {
            self.report.waiting += 1;
            (self.told)(SyncEvent::Waiting { key, records: newest.length });
            return Ok(());
        }
        let before = self.current(key)?;
        let mut hole = 0;
        if let Some(before) = &before {
            // Behind an older path, the path of this machine is imported again. With purged entries it would have a hole.
            let is_newer = |tip: &TranscriptTip| tip.order() > before.tip.order();
            if !unknown.iter().all(is_newer) {
                hole = self.local.purged_on(&before.path)?;
            }
            unknown.retain(|tip| hole == 0 || is_newer(tip));
        }
        let (mut added, mut newest_taken) = (0, None);
        let taken: Result<()> = unknown.iter().try_for_each(|tip| {
            added += self.take_tip(tip)?;
            newest_taken = Some(tip.order());
            Ok(())
        });
        if let Some((before, newest)) = before.zip(newest_taken)
            && newest < before.tip.order()
        {
            self.make_current(&before)?;
        }
        if added > 0 {
            self.report.grown += 1;
            self.report.entries += added;
            (self.told)(SyncEvent::Taken { key, added });
        }
        taken?;
        if hole > 0 { Err(SyncError::Purged { purged: hole }) } else { Ok(()) }
    }

    fn current(&self, key: &ConversationKey) -> Result<Option<CurrentTranscript>> {
        let Some(stored) = self.local.store().find(key)? else { return Ok(None) };
        let Some(tip) = self.local.tip_at(&stored, stored.current, stored.length)? else { return Ok(None) };
        let runs = self.local.store().path(stored.id, stored.current, stored.length)?;
        let latest = self.local.store().latest_snapshot(stored.id)?;
        let latest =
            latest.filter(|latest| latest.generation == stored.current && latest.length == stored.length);
        let (trailer, name) = latest.map_or_else(Default::default, |latest| (latest.trailer, latest.path));
        Ok(Some(CurrentTranscript { tip, path: StoredPath { id: stored.id, runs }, name, trailer }))
    }

    /// Imports a transcript of this machine again: the later one of two.
    fn make_current(&mut self, before: &CurrentTranscript) -> Result<()> {
        let CurrentTranscript { tip, path, name, trailer } = before;
        let Some(into) = self.into.as_deref_mut() else { return Ok(()) };
        let records = StoredBytes::new(&self.local, path);
        let mut input = BufReader::new(records.chain(Cursor::new(trailer)));
        let bytes = tip.bytes + trailer.len() as u64;
        into.import(IncomingTranscript { name, input: &mut input, bytes })?;
        Ok(())
    }

    fn take_tip(&mut self, tip: &TranscriptTip) -> Result<u64> {
        let layout = self.from.layout(tip)?;
        check_layout(tip, &layout)?;
        let mut shared = self.shared(tip, &layout)?;
        if self.local.purged_on(&shared.path)? > 0 {
            // The source has all of it; what is known here is recognised and not stored again.
            shared = SharedBeginning::nothing();
        }
        let Some(into) = self.into.as_deref_mut() else { return Ok(0) };
        let mut coming = ComingRecords {
            from: self.from,
            tip,
            parts: layout.parts.get(shared.parts..).unwrap_or_default().iter(),
            at: shared.records,
            chain: shared.chain,
            bytes: Cursor::default(),
            failed: None,
            purged: self.purged.get(&tip.key).unwrap_or(&NOTHING_PURGED),
        };
        let name = if layout.name.is_empty() { &tip.key.0 } else { &layout.name };
        let records = StoredBytes::new(&self.local, &shared.path);
        let mut input = BufReader::with_capacity(
            HEAD_BYTES,
            records.chain(&mut coming).chain(Cursor::new(&layout.trailer)),
        );
        let bytes = tip.bytes.saturating_add(layout.trailer.len() as u64);
        let is_of_another = input.fill_buf().is_ok_and(|head| is_of_another(tip, head));
        let imported = if is_of_another {
            Err(damaged(tip, "its records are those of another conversation"))
        } else {
            into.import(IncomingTranscript { name, input: &mut input, bytes })
        };
        drop(input);
        let added = match coming.failed {
            Some(failed) => return Err(failed),
            None => imported?,
        };
        if self.local.known(&tip.key, tip.chain)?.is_none() {
            return Err(damaged(tip, "its records are those of another conversation or format"));
        }
        Ok(added)
    }

    /// The longest beginning of a tip that ends with a part and is stored here.
    fn shared(&self, tip: &TranscriptTip, layout: &TipLayout) -> Result<SharedBeginning> {
        for (index, part) in layout.parts.iter().enumerate().rev() {
            if let Some((stored, row)) = self.local.known(&tip.key, part.chain)? {
                let path = self.local.path_to(&stored, &row, part.end)?;
                return Ok(SharedBeginning { parts: index + 1, records: part.end, chain: part.chain, path });
            }
        }
        Ok(SharedBeginning::nothing())
    }
}

/// Whether the beginning of a transcript says that it is another conversation than its tip. What is no transcript at all is told by the
/// import.
fn is_of_another(tip: &TranscriptTip, head: &[u8]) -> bool {
    Reader::open(head).is_ok_and(|reader| reader.source().key != tip.key)
}

/// What this machine has of a tip.
struct SharedBeginning {
    /// Number of whole parts.
    parts: usize,
    /// Number of records.
    records: u64,
    /// Head of the chain behind them.
    chain: Chain,
    path: StoredPath,
}

impl SharedBeginning {
    fn nothing() -> Self {
        let path = StoredPath { id: ConversationId(0), runs: Vec::new() };
        Self { parts: 0, records: 0, chain: Chain::root(), path }
    }
}

fn check_layout(tip: &TranscriptTip, layout: &TipLayout) -> Result<()> {
    let is_ascending = layout.parts.is_sorted_by(|a, b| a.end < b.end);
    let bytes = layout.parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.bytes));
    let ends = bytes == Some(tip.bytes)
        && layout.parts.last().is_some_and(|last| last.end == tip.length && last.chain == tip.chain);
    if is_ascending && ends { Ok(()) } else { Err(damaged(tip, "its parts are not the whole transcript")) }
}

fn damaged(tip: &TranscriptTip, what: &str) -> SyncError {
    SyncError::Damaged { place: tip.key.0.clone(), what: what.to_owned() }
}

/// Records that this machine has, as bytes of the transcript.
struct StoredBytes<'a> {
    local: &'a LocalHistory<'a>,
    path: &'a StoredPath,
    /// Number of records that were read.
    done: u64,
    bytes: Cursor<Vec<u8>>,
}

impl<'a> StoredBytes<'a> {
    fn new(local: &'a LocalHistory<'a>, path: &'a StoredPath) -> Self {
        Self { local, path, done: 0, bytes: Cursor::default() }
    }
}

impl Read for StoredBytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.bytes.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let Some(run) = behind(self.path.runs.clone(), self.done).next() else { return Ok(0) };
            let end = run.end.min(run.start + STEP);
            let raw = self.local.store().raw(self.path.id, run.start..end).map_err(std::io::Error::other)?;
            self.done += end - run.start;
            let records = raw.iter().flat_map(|raw| [raw.lead.as_slice(), &raw.body]);
            self.bytes = Cursor::new(records.collect::<Vec<_>>().concat());
        }
    }
}

/// Records of the source, each checked before it is read.
struct ComingRecords<'a> {
    from: &'a mut dyn HistorySource,
    tip: &'a TranscriptTip,
    parts: std::slice::Iter<'a, TipPart>,
    /// Number of records before the next part.
    at: u64,
    chain: Chain,
    bytes: Cursor<Vec<u8>>,
    /// Why reading ended early.
    failed: Option<SyncError>,
    /// Heads of the chain at entries that nobody takes any more.
    purged: &'a BTreeSet<Chain>,
}

impl ComingRecords<'_> {
    fn next_part(&mut self, part: &TipPart) -> Result<Vec<u8>> {
        let frames = self.from.part(self.tip, self.at, part)?;
        let CheckedRecords { bytes, count, chain } = record_frames::follow(self.chain, &frames, self.purged)
            .map_err(|error| match error {
                FrameError::Cut => damaged(self.tip, "a part is cut"),
                FrameError::Purged => SyncError::Purged { purged: self.purged.len() as u64 },
            })?;
        if chain != part.chain || self.at + count != part.end {
            return Err(damaged(self.tip, "a part has other records than its name says"));
        }
        (self.at, self.chain) = (part.end, part.chain);
        Ok(bytes)
    }
}

impl Read for ComingRecords<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.bytes.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let Some(part) = self.parts.next() else { return Ok(0) };
            match self.next_part(part) {
                Ok(bytes) => self.bytes = Cursor::new(bytes),
                Err(error) => {
                    let told = std::io::Error::other(error.to_string());
                    self.failed = Some(error);
                    return Err(told);
                }
            }
        }
    }
}
