//! Reads back all data and reports damage.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::thread;

use unforget_core::id::{ConversationId, ConversationKey, Seq};
use unforget_recall::meaning::{CODE_BYTES, MeaningHead, is_meaning};
use unforget_recall::segment::{self, SegmentReader};
use unforget_store::{
    Conversation, JobRow, JobState, Problem, Purged, SegmentHead, Snapshot, SummaryKey, SummaryRow, read_all,
    walk,
};
use unforget_text::Summary;

use crate::append::ConversationLock;
use crate::recall::left;
use crate::summarise::BY_MODEL;
use crate::summary_name::summary_name;
use crate::{Engine, EngineError};

/// Conversations with more entries are checked by two threads.
const ALONE_MAX: u64 = 1_024;

/// Receipts and problems of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The problems; empty if all data is sound.
    pub problems: Vec<Problem>,
    /// Number of verified conversations.
    pub conversations: u64,
    /// Number of entries read back.
    pub entries: u64,
    /// Number of index segments read back.
    pub segments: u64,
    /// Number of summaries whose sources were looked up.
    pub summaries: u64,
    /// Number of models' summaries and jobs that were compared with their deterministic summaries.
    pub rewrites: u64,
    /// Number of snapshots with a checked length.
    pub snapshots: u64,
    /// Conversations whose files were not read to their ends; what is stored of them is sound.
    pub unfinished: Vec<ConversationKey>,
}

impl Engine {
    /// Verifies all data: the database, every byte and chain, search indexes, summaries against their sources, and
    /// snapshots against the length of their files. The latest snapshot of each conversation is exported completely.
    ///
    /// * `progress` - called with the number of verified entries and the total number.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the verification itself fails; damage is reported as a problem, not as an error.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified, EngineError> {
        let mut verified = Verified { problems: self.store().verify(progress)?, ..Verified::default() };
        let is_readable = verified.problems.iter().all(|problem| problem.kind != "database");
        if !is_readable {
            return Ok(verified);
        }
        for conversation in walk(|page| self.store().conversations(page)) {
            let conversation = conversation?;
            verified.conversations += 1;
            verified.entries += conversation.entries;
            self.check_beside(&conversation, &mut verified)?;
            if self.is_unfinished(&conversation)? {
                verified.unfinished.push(conversation.key);
            }
        }
        Ok(verified)
    }

    /// Checks what stands beside the entries; the snapshots, for which everything is exported, on a second thread.
    fn check_beside(&self, conversation: &Conversation, verified: &mut Verified) -> Result<(), EngineError> {
        let snapshots = |mut verified: Verified| -> Result<Verified, EngineError> {
            self.check_snapshots(conversation, &mut verified)?;
            Ok(verified)
        };
        let checked = thread::scope(|scope| {
            let beside =
                (conversation.entries > ALONE_MAX).then(|| scope.spawn(|| snapshots(Verified::default())));
            self.check_index(conversation, verified)?;
            self.check_summaries(conversation, verified)?;
            self.check_rewrites(conversation, verified)?;
            match beside {
                Some(beside) => beside.join().unwrap_or_else(|panic| resume_unwind(panic)),
                None => snapshots(Verified::default()),
            }
        })?;
        verified.snapshots += checked.snapshots;
        verified.problems.extend(checked.problems);
        Ok(())
    }

    /// The effect of purging these entries; see [`unforget_store::Log::purge_plan`].
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn purge_plan(
        &self,
        conversation: &Conversation,
        seqs: std::ops::Range<u64>,
    ) -> Result<Purged, EngineError> {
        Ok(self.store().purge_plan(conversation.id, seqs)?)
    }

    /// Erases the bytes of these entries permanently: see [`unforget_store::Log::purge`]. The search index is rebuilt
    /// without them.
    ///
    /// # Errors
    /// [`EngineError::Store`], [`EngineError::Index`].
    pub fn purge(
        &self,
        conversation: &Conversation,
        seqs: std::ops::Range<u64>,
    ) -> Result<Purged, EngineError> {
        let _lock = ConversationLock::of(conversation.id);
        self.wanted.note_purge(conversation.id);
        let purged = self.store().purge(conversation.id, seqs)?;
        crate::index::upkeep(self.store(), conversation.id, 1)?;
        Ok(purged)
    }

    fn check_index(&self, conversation: &Conversation, verified: &mut Verified) -> Result<(), EngineError> {
        let mut next = 0;
        let mut heads = read_all(|page| self.store().segments(conversation.id, page))?;
        self.check_vectors(conversation, heads.iter().filter(|head| is_meaning(&head.header)), verified);
        heads.retain(|head| !is_meaning(&head.header));
        heads.sort_by_key(|head| (head.seqs.start, head.number));
        for head in heads {
            verified.segments += 1;
            let mut wrong = |what: String| verified.problems.push(problem(conversation, None, "index", what));
            // Processes that index the same entries at once leave an overlap, which readers leave out.
            let is_overlap = head.seqs.start < next && self.peers().is_none();
            if is_overlap || head.seqs.end > conversation.entries {
                wrong(format!("segment {} overlaps another or goes beyond the last entry", head.number));
            }
            next = next.max(head.seqs.end);
            if head.header.is_empty() {
                continue;
            }
            let reader = match SegmentReader::parse(&head.header) {
                Ok(reader) => reader,
                Err(error) => {
                    wrong(format!("segment {}: {error}", head.number));
                    continue;
                }
            };
            let numbers = 0..reader.blocks();
            let blocks =
                numbers.map(|block| self.store().block(conversation.id, head.number, block)).collect();
            let blocks = match blocks {
                Ok(blocks) => blocks,
                Err(error) => {
                    wrong(format!("segment {}: {error}", head.number));
                    continue;
                }
            };
            // Merging a single segment reads every posting and must reproduce the segment.
            let whole = segment::Segment { seqs: reader.seqs(), header: head.header.clone(), blocks };
            match segment::merge(std::slice::from_ref(&whole)) {
                Ok(Some(again)) if again == whole => (),
                Ok(_) => wrong(format!("segment {} reads back as another", head.number)),
                Err(error) => wrong(format!("segment {}: {error}", head.number)),
            }
        }
        Ok(())
    }

    /// Reads the vectors of a conversation back.
    fn check_vectors<'a>(
        &self,
        conversation: &Conversation,
        heads: impl Iterator<Item = &'a SegmentHead>,
        verified: &mut Verified,
    ) {
        for head in heads {
            verified.segments += 1;
            let read = || -> Result<(), String> {
                let meaning = MeaningHead::parse(&head.header).map_err(|error| error.to_string())?;
                let block = if meaning.codes == 0 {
                    Vec::new()
                } else {
                    let block = self.store().block(conversation.id, head.number, 0);
                    block.map_err(|error| error.to_string())?
                };
                let mut is_inside = true;
                let each = &mut |seq: u64, _: &[u8; CODE_BYTES]| is_inside &= head.seqs.contains(&seq);
                meaning.each(head.seqs.start, &block, each).map_err(|error| error.to_string())?;
                if is_inside {
                    Ok(())
                } else {
                    Err("it has vectors of entries that it does not cover".to_owned())
                }
            };
            if let Err(what) = read() {
                let what = format!("segment {} of vectors: {what}", head.number);
                verified.problems.push(problem(conversation, None, "index", what));
            }
        }
    }

    fn check_summaries(
        &self,
        conversation: &Conversation,
        verified: &mut Verified,
    ) -> Result<(), EngineError> {
        for row in walk(|page| self.store().summaries(conversation.id, page)) {
            let row = row?;
            verified.summaries += 1;
            let name = summary_name(&row.key);
            let mut wrong = |what: String| {
                verified.problems.push(problem(conversation, Some(row.span.0), "summary", what));
            };
            let found = self.store().summaries_of(conversation.id, &row.sources)?;
            for source in &row.sources {
                if found.iter().all(|found| found.key != *source) {
                    wrong(format!("{name} was merged from {}, which is missing", summary_name(source)));
                }
            }
            let members = self.sources(conversation.id, &row)?;
            let left = left(&members);
            if row.count != left {
                wrong(format!("{name} stands for {} entries and expands to {left}", row.count));
            }
        }
        Ok(())
    }

    /// Checks that each model's summary is readable, stands beside a summary of the same entries, and has a matching
    /// job.
    fn check_rewrites(
        &self,
        conversation: &Conversation,
        verified: &mut Verified,
    ) -> Result<(), EngineError> {
        let (store, id) = (self.store(), conversation.id);
        let jobs = read_all(|page| store.jobs(id, page))?;
        let rewrites: BTreeSet<SummaryKey> =
            walk(|page| store.rewrites(id, page)).collect::<Result<_, _>>()?;
        verified.rewrites += (jobs.len() + rewrites.len()) as u64;
        for key in &rewrites {
            let what = match (store.rewrite(id, key), store.summary(id, key)?) {
                (Err(error), _) => Some((None, format!("cannot be read: {error}"))),
                (Ok(None), _) => None,
                (Ok(Some(row)), None) => Some((Some(row.span.0), "replaces no summary".to_owned())),
                (Ok(Some(row)), Some(base)) => unlike(&row, &base).map(|what| (Some(row.span.0), what)),
            };
            if let Some((seq, what)) = what {
                let what = format!("{} by a model {what}", summary_name(key));
                verified.problems.push(problem(conversation, seq, "rewrite", what));
            }
        }
        for job in &jobs {
            let is_odd = is_done(job) != rewrites.contains(&job.key) && self.is_odd(id, &job.key)?;
            let what = match store.summary(id, &job.key)? {
                None => Some("belongs to a missing summary"),
                Some(_) if is_odd => Some("disagrees with the stored summary"),
                Some(_) => None,
            };
            if let Some(what) = what {
                let what = format!("the job {} {what}", summary_name(&job.key));
                verified.problems.push(problem(conversation, Some(job.span.0), "job", what));
            }
        }
        Ok(())
    }

    /// Whether a job and its result still disagree; another process may have ended the job in the meantime.
    fn is_odd(&self, id: ConversationId, key: &SummaryKey) -> Result<bool, EngineError> {
        let job = self.store().job(id, key)?;
        let is_written = self.store().rewrite(id, key)?.is_some();
        Ok(job.is_some_and(|job| is_done(&job) != is_written))
    }

    fn check_snapshots(
        &self,
        conversation: &Conversation,
        verified: &mut Verified,
    ) -> Result<(), EngineError> {
        let latest = self.store().latest_snapshot(conversation.id)?.map(|latest| latest.number);
        for snapshot in walk(|page| self.store().snapshots(conversation.id, page)) {
            let snapshot = snapshot?;
            verified.snapshots += 1;
            let length = if latest == Some(snapshot.number) {
                self.written_length(conversation, &snapshot)?
            } else {
                self.told_length(conversation, &snapshot)?
            };
            if length.is_some_and(|length| length != snapshot.file_bytes) {
                let what = format!(
                    "snapshot {} gives {} bytes, the file had {}",
                    snapshot.number,
                    length.unwrap_or_default(),
                    snapshot.file_bytes
                );
                verified.problems.push(problem(conversation, None, "snapshot", what));
            }
        }
        Ok(())
    }

    /// Length of the exported file; `None` if it cannot be determined because bytes were purged, or are unreadable,
    /// which the store check reports.
    fn written_length(
        &self,
        conversation: &Conversation,
        snapshot: &Snapshot,
    ) -> Result<Option<u64>, EngineError> {
        let mut sink = ByteCounter(0);
        match self.export(conversation.id, Some(snapshot.number), &mut sink) {
            Ok(exported) => Ok((exported.purged == 0).then_some(sink.0)),
            Err(EngineError::Store(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Length up to the end of the last entry, plus the trailer; `None` if the last entry is purged.
    fn told_length(
        &self,
        conversation: &Conversation,
        snapshot: &Snapshot,
    ) -> Result<Option<u64>, EngineError> {
        let path = self.store().path(conversation.id, snapshot.generation, snapshot.length)?;
        let covered: u64 = path.iter().map(|run| run.end - run.start).sum();
        let Some(last) = path.last().map(|run| run.end.saturating_sub(1)) else {
            return Ok(Some(snapshot.trailer.len() as u64));
        };
        let row = self.row(conversation.id, Seq(last))?;
        let is_whole = covered == snapshot.length;
        let length = if is_whole { row.bytes.end + snapshot.trailer.len() as u64 } else { 0 };
        Ok((!row.purged).then_some(length))
    }
}

const fn is_done(job: &JobRow) -> bool {
    matches!(job.state, JobState::Done { .. })
}

/// How a model's summary differs from the summary that it replaces.
fn unlike(row: &SummaryRow, base: &SummaryRow) -> Option<String> {
    if (row.span, row.count, &row.sources) != (base.span, base.count, &base.sources) {
        return Some("stands for other entries".to_owned());
    }
    if !row.writer.starts_with(BY_MODEL) {
        return Some(format!("was written by {:?}", row.writer));
    }
    match Summary::parse(&row.body) {
        Ok(summary) if summary.to_text().trim().is_empty() => Some("is empty".to_owned()),
        Ok(_) => None,
        Err(error) => Some(format!("is no summary: {error}")),
    }
}

fn problem(conversation: &Conversation, seq: Option<Seq>, kind: &'static str, detail: String) -> Problem {
    Problem { conversation: Some(conversation.key.clone()), seq, kind, detail }
}

/// Counts the bytes written.
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
