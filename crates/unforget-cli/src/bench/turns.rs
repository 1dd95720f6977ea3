//! Continuing a conversation: its turns, its prompts, its return after a restart.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;
use unforget_core::id::Thread;
use unforget_engine::Engine;
use unforget_engine::prompt::{Session, Shape, ThreadRef, Until};
use unforget_engine::replay::{RecordedEntry, RecordedHost};
use unforget_engine::view::Answers;
use unforget_wire::{Dialect, Reader, Record};

use super::workload::Workload;
use super::{Times, memory, timed};
use crate::failure::{Exit, Failure, Outcome};

/// Records delivered together while the history is stored.
const BATCH: usize = 512;

/// The cost of turns behind a history.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Turns {
    /// The first prompt of the history, before any was made: a provisional one.
    pub(super) first_prompt: Times,
    /// The first prompt for another model with the same window, when the one for the first is made.
    pub(super) alike_prompt: Times,
    /// The first prompt in a window of an eighth.
    pub(super) other_prompt: Times,
    /// Compacting the whole history, in microseconds.
    pub(super) compact_us: u64,
    /// The summariser's part of it.
    pub(super) summariser_us: u64,
    /// Its peak memory, in bytes.
    pub(super) compact_peak_bytes: Option<u64>,
    /// Committing the entries of a turn.
    pub(super) commit: Times,
    /// Committing the same bytes with SQLite alone, alternating with ours: mostly the time of the disk.
    pub(super) raw_commit: Times,
    /// The prompt before a model call, summaries included.
    pub(super) prompt: Times,
    /// The prompt without the summariser.
    pub(super) assemble: Times,
    /// Reopening the database and the prompt, and making the next prompt.
    pub(super) resume: Times,
}

/// Stores the history as a live host would, compacts it, and continues for `turns` turns.
pub(super) fn measure(workload: &mut Workload, turns: usize, window: u64) -> Outcome<Turns> {
    let db = workload.beside("live.sqlite");
    let engine = Engine::open(&db)?;
    let mut host = lay_down(&engine, &workload.path)?;
    let id = host.open()?;
    engine.maintain_index(id)?;
    let shape = Shape::new(window, None, Dialect::Anthropic);
    let lane = ThreadRef { conversation: id, thread: Thread(0) };
    let first_prompt = first_prompts(&engine, lane, shape)?;
    memory::forget_peak();
    let (session, compact_us) = timed(|| Session::open_whole(&engine, lane, shape, &mut |_, _| true));
    let mut session = session?;
    let compact_peak_bytes = memory::peak();
    let summariser_us = session.counters().summariser_us;
    let alike_prompt = first_prompts(&engine, lane, Shape::new(window, Some("gpt-5"), Dialect::OpenAiChat))?;
    let other_prompt = first_prompts(&engine, lane, Shape::new(window / 8, None, Dialect::Anthropic))?;
    let (mut commits, mut prompts, mut assembles) = (Vec::new(), Vec::new(), Vec::new());
    let mut raw = RawCommits::open(&workload.beside("raw-live.sqlite"))?;
    let mut answers = Answers::default();
    for _ in 0..turns {
        let records = next_turn(workload)?;
        raw.commit(&records)?;
        let (delivered, us) = timed(|| host.deliver(records));
        commits.push(us);
        for RecordedEntry { seq, parent, entry, tokens, .. } in delivered? {
            if answers.is_call(&entry) {
                let before = session.counters().summariser_us;
                let (prompt, us) = timed(|| session.prompt());
                prompt?;
                prompts.push(us);
                assembles.push(us.saturating_sub(session.counters().summariser_us.saturating_sub(before)));
            }
            session.push(seq, parent, &entry, tokens)?;
        }
    }
    drop((session, host, engine));
    let mut resumes = Vec::new();
    for _ in 0..5 {
        let (done, us) = timed(|| -> Outcome<()> {
            let engine = Engine::open(&db)?;
            let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ())?;
            session.prompt()?;
            Ok(())
        });
        done?;
        resumes.push(us);
    }
    Ok(Turns {
        first_prompt,
        alike_prompt,
        other_prompt,
        compact_us,
        summariser_us,
        compact_peak_bytes,
        commit: Times::of(&commits),
        raw_commit: Times::of(&raw.times),
        prompt: Times::of(&prompts),
        assemble: Times::of(&assembles),
        resume: Times::of(&resumes),
    })
}

/// Opens the prompt of a lane and makes it, as often as a median needs. Nothing is written, so each is the first.
fn first_prompts(engine: &Engine, lane: ThreadRef, shape: Shape) -> Outcome<Times> {
    let reader = engine.confined([lane.conversation].into());
    let mut times = Vec::new();
    for _ in 0..5 {
        let (done, us) = timed(|| -> Outcome<()> {
            Session::open(&reader, lane, shape, Until::Now, &mut |_, _| ())?.prompt()?;
            Ok(())
        });
        done?;
        times.push(us);
    }
    Ok(Times::of(&times))
}

/// Turns committed by SQLite alone: one durable transaction each, a row per record.
struct RawCommits {
    connection: Connection,
    times: Vec<u64>,
}

impl RawCommits {
    fn open(db: &Path) -> Outcome<Self> {
        let open = || {
            let connection = Connection::open(db)?;
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch(
                "PRAGMA synchronous = FULL; CREATE TABLE entry (seq INTEGER PRIMARY KEY, raw BLOB NOT NULL);",
            )?;
            Ok(connection)
        };
        let connection = open().map_err(|error| raw_failure(&error))?;
        Ok(Self { connection, times: Vec::new() })
    }

    fn commit(&mut self, records: &[Record]) -> Outcome<()> {
        let connection = &mut self.connection;
        let (done, us) = timed(|| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            for record in records {
                transaction
                    .prepare_cached("INSERT INTO entry (raw) VALUES (?)")?
                    .execute([record.body.as_slice()])?;
            }
            transaction.commit()
        });
        self.times.push(us);
        done.map_err(|error| raw_failure(&error))
    }
}

fn raw_failure(error: &rusqlite::Error) -> Failure {
    let message = format!("raw SQLite: {error}");
    Failure { kind: "bench", message, hint: String::new(), exit: Exit::Store }
}

/// Delivers the transcript in batches.
fn lay_down(engine: &Engine, path: &Path) -> Outcome<RecordedHost> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let failed = |source| unforget_engine::EngineError::Read { path: path.to_path_buf(), source };
    let mut reader = Reader::open(BufReader::new(file)).map_err(failed)?;
    let mut host = RecordedHost::begin(engine, reader.source(), None);
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(record) = reader.next_record().map_err(failed)? {
        batch.push(record);
        if batch.len() == BATCH {
            host.deliver(std::mem::take(&mut batch))?;
        }
    }
    host.deliver(batch)?;
    Ok(host)
}

/// The records of the next turn.
fn next_turn(workload: &mut Workload) -> Outcome<Vec<Record>> {
    let mut text = workload.session.header();
    workload.session.turn(&mut text);
    let failed = |source| unforget_engine::EngineError::Read { path: workload.path.clone(), source };
    let mut reader = Reader::open(text.as_bytes()).map_err(failed)?;
    let mut records = Vec::new();
    // The header only serves to detect the format; it is stored already.
    reader.next_record().map_err(failed)?;
    while let Some(record) = reader.next_record().map_err(failed)? {
        records.push(record);
    }
    Ok(records)
}
