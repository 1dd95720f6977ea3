//! Plays a recorded session up to each of its host's compactions, and collects the texts that represent the earlier
//! history.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use unforget_bench::Random;
use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{Seq, Thread};
use unforget_engine::prompt::{Session, Shape, ThreadRef, Until};
use unforget_engine::replay::{RecordedEntry, RecordedHost};
use unforget_engine::summarise::{Shift, Urgency};
use unforget_engine::view::Answers;
use unforget_engine::{Engine, EngineError};
use unforget_text::host_text;
use unforget_wire::{Dialect, Reader, Record};

use super::ask::{Question, questions};
use crate::bench::needles::{SummaryWriter, models};
use crate::commands::engine::now;
use crate::failure::{Failure, Outcome};

/// Least number of visible entries in a stretch with questions.
const ENTRIES_MIN: usize = 20;

/// A compaction by the host, and the texts there.
pub(super) struct Point {
    /// The host's summary.
    pub(super) host: String,
    /// Our summaries and ledger before the host's summary arrived, with everything summarised that may be.
    pub(super) ours: String,
    /// Our summaries and ledger with the host's summary.
    pub(super) ours_host: String,
    /// The prompt before the host's summary arrived.
    pub(super) prompt: String,
    /// The prompt with the host's summary.
    pub(super) prompt_host: String,
    /// Like `ours_host`, with summaries by a scripted model.
    pub(super) model_host: String,
    /// Number of summaries requested from the model.
    pub(super) asked: u64,
    /// Number of summaries that it wrote.
    pub(super) written: u64,
    pub(super) questions: Vec<Question>,
}

/// The compactions in a file; none if its host never compacted.
pub(super) fn points(path: &Path, window: u64, seed: u64) -> Outcome<Vec<Point>> {
    let Some(records) = records(path)? else { return Ok(Vec::new()) };
    let shape = Shape::new(window, None, Dialect::Anthropic);
    let plain = Stage::new(path, shape, SummaryWriter::Deterministic)?;
    let model = Stage::new(path, shape, SummaryWriter::Extracting)?;
    let (Some(mut plain), Some(mut model)) = (plain, model) else { return Ok(Vec::new()) };
    let (mut stretch, mut points): (Vec<Arc<Entry>>, Vec<Point>) = (Vec::new(), Vec::new());
    for record in records {
        let is_main = record.entry.thread.is_none();
        if is_main && is_summary(&record.entry) && stretch.len() >= ENTRIES_MIN {
            let entries: Vec<&Entry> = stretch.iter().map(AsRef::as_ref).collect();
            let questions = questions(&entries, &mut Random::new(seed ^ points.len() as u64));
            let host = host_text(&record.entry);
            let (before, after) = (plain.last, plain.take(record.clone())?);
            model.take(record)?;
            let (prompt, ours) = plain.texts(before)?;
            let (prompt_host, ours_host) = plain.texts(after)?;
            let (asked, written) = model.write()?;
            let (_, model_host) = model.texts(after)?;
            let point =
                Point { host, ours, ours_host, prompt, prompt_host, model_host, asked, written, questions };
            points.push(point);
            stretch.clear();
            continue;
        }
        if is_main && record.entry.origin.is_visible() {
            stretch.push(Arc::new(record.entry.clone()));
        }
        plain.take(record.clone())?;
        model.take(record)?;
    }
    Ok(points)
}

fn is_summary(entry: &Entry) -> bool {
    entry.origin == Origin::HostSummary && !host_text(entry).trim().is_empty()
}

/// The records of a file; `None` if it is no transcript, or holds no host summary.
fn records(path: &Path) -> Outcome<Option<Vec<Record>>> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let Ok(mut reader) = Reader::open(BufReader::new(file)) else { return Ok(None) };
    let failed = |source| EngineError::Read { path: path.into(), source };
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(failed)? {
        records.push(record);
    }
    let has_summary = records.iter().any(|record| record.entry.thread.is_none() && is_summary(&record.entry));
    Ok(has_summary.then_some(records))
}

/// A conversation stored record by record.
struct Stage {
    engine: Engine,
    host: RecordedHost,
    lane: ThreadRef,
    shape: Shape,
    /// Follows the conversation and queues jobs for the model, if there is one.
    session: Option<Session>,
    answers: Answers,
    last: Seq,
}

impl Stage {
    fn new(path: &Path, shape: Shape, writer: SummaryWriter) -> Outcome<Option<Self>> {
        let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
        let Ok(reader) = Reader::open(BufReader::new(file)) else { return Ok(None) };
        let (engine, has_model) = (Engine::in_memory(), writer != SummaryWriter::Deterministic);
        let engine = if has_model { engine.with_models() } else { engine };
        let mut host = RecordedHost::begin(&engine, reader.source(), None);
        let lane = ThreadRef { conversation: host.open()?, thread: Thread(0) };
        let session = has_model.then(|| Session::new(&engine, lane, shape, true));
        Ok(Some(Self { engine, host, lane, shape, session, answers: Answers::default(), last: Seq(0) }))
    }

    /// Stores a record; returns the newest entry of the main lane.
    fn take(&mut self, record: Record) -> Outcome<Seq> {
        let is_main = record.entry.thread.is_none();
        if let Some(session) =
            self.session.as_mut().filter(|_| is_main && self.answers.is_call(&record.entry))
        {
            session.compact_if_due()?;
        }
        for RecordedEntry { seq, parent, entry, tokens, .. } in self.host.deliver(vec![record])? {
            if is_main {
                self.last = seq;
                if let Some(session) = &mut self.session {
                    session.push(seq, parent, &entry, tokens)?;
                }
            }
        }
        Ok(self.last)
    }

    /// Lets the model write everything that may be summarised. Returns the numbers of requested and of written
    /// summaries.
    fn write(&mut self) -> Outcome<(u64, u64)> {
        if let Some(session) = &mut self.session {
            session.compact()?;
        }
        let Some(models) = models(&self.engine, SummaryWriter::Extracting)? else { return Ok((0, 0)) };
        let shift = Shift { limit: usize::MAX, urgency: Urgency::Normal };
        let reports = self.engine.work(self.lane.conversation, &models, now(), shift)?;
        let written = reports.iter().filter(|report| report.ended.name() == "written").count();
        Ok((reports.len() as u64, written as u64))
    }

    /// The prompt as of an entry, and the representation of entries after everything is summarised that may be.
    fn texts(&self, until: Seq) -> Outcome<(String, String)> {
        let mut session =
            Session::open(&self.engine, self.lane, self.shape, Until::Seq(until), &mut |_, _| ())?;
        let prompt = session.prompt()?.admitted.request().words();
        session.compact()?;
        Ok((prompt, blocks(&session.prompt()?.admitted.request().words())))
    }
}

/// Our own blocks of a prompt: summaries, ledger, the host's words.
fn blocks(prompt: &str) -> String {
    let mut found = String::new();
    for piece in prompt.split("<history-").skip(1) {
        let block = piece.split_once("</history-").map_or(piece, |(block, _)| block);
        found.push_str(block.split_once('\n').map_or("", |(_, body)| body));
        found.push('\n');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_without_their_wrappers() {
        let prompt = "hi\n<history-summary id=\"x\">\na\n</history-summary>\nb\n<history-ledger>\nc\n</history-ledger>";
        assert_eq!(blocks(prompt), "a\n\nc\n\n");
    }
}
