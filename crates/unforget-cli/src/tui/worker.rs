//! What reads the store: three threads, so that keys never wait, a search never waits for a page, and neither for a played session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use unforget_core::id::ConversationId;
use unforget_engine::{Engine, LabelChange};
use unforget_store::{LabelRow, read_all};

use super::calls::{CallSeries, CallTarget, SeriesWanted};
use super::load::{self, TuiQuestion, picker_rows};
use super::state::{MiddleKind, TuiAsk, TuiTold};
use super::{entry_text, tables};
use crate::database::Database;
use crate::failure::Outcome;
use crate::picker::{PickerFilter, PickerRow};
use crate::recognised::{RecognisedConversation, everything};
use crate::remote::Remote;
use crate::text;

/// How long a search waits for another letter.
const LETTER: Duration = Duration::from_millis(10);

/// Played entries between two reports.
const REPORT: u64 = 2_000;

/// The threads.
pub(super) struct TuiWorkers {
    pub(super) reads: Sender<TuiAsk>,
    pub(super) searches: Sender<TuiAsk>,
    pub(super) series: Sender<TuiAsk>,
    /// Question of the newest series: older ones end.
    newest: Arc<AtomicU64>,
    /// Their answers.
    pub(super) told: Receiver<TuiTold>,
}

/// What the threads work with.
pub(super) struct WorkerParts {
    /// An engine for each thread.
    pub(super) engines: [Engine; 3],
    /// The prompts that are played.
    pub(super) target: CallTarget,
    /// The database: its daemon knows which calls run.
    pub(super) db: Database,
    /// Changes what a person says of a conversation, by its key.
    pub(super) label: LabelWriter,
}

/// Changes the label of a conversation.
pub(crate) type LabelWriter = Arc<dyn Fn(&str, &LabelChange) -> Outcome<()> + Send + Sync>;

impl TuiWorkers {
    /// Starts the threads. They end when this value is dropped.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub(super) fn start(parts: WorkerParts) -> std::io::Result<Self> {
        let WorkerParts { engines: [reader, searcher, player], target, db, label } = parts;
        let (tell, told) = channel();
        let (reads, to_read) = channel();
        let (searches, to_search) = channel();
        let (series, to_play) = channel();
        let newest = Arc::new(AtomicU64::new(0));
        let out = tell.clone();
        let reads_of = Reads { engine: reader, db, label };
        Builder::new().name("tui-read".to_owned()).spawn(move || read(&reads_of, &to_read, &out))?;
        let out = tell.clone();
        Builder::new().name("tui-search".to_owned()).spawn(move || search(&searcher, &to_search, &out))?;
        let wanted = Arc::clone(&newest);
        let player = Player { engine: player, target, newest: wanted, tell };
        Builder::new().name("tui-play".to_owned()).spawn(move || player.run(&to_play))?;
        Ok(Self { reads, searches, series, newest, told })
    }

    /// Hands a question over. What is done elsewhere (copying, ending) is none.
    pub(super) fn ask(&self, ask: TuiAsk) {
        let to = match &ask {
            TuiAsk::Search { .. } => &self.searches,
            TuiAsk::Series { generation, .. } => {
                self.newest.store(*generation, Ordering::Relaxed);
                &self.series
            }
            TuiAsk::Call { .. } => &self.series,
            TuiAsk::Copy(_) | TuiAsk::End(_) => return,
            _ => &self.reads,
        };
        // A thread that is gone has told why.
        to.send(ask).ok();
    }
}

/// Waits for questions; of those that wait, only the newest of each sort is answered.
fn waiting(questions: &Receiver<TuiAsk>) -> Option<Vec<TuiAsk>> {
    let mut all = vec![questions.recv().ok()?];
    all.extend(questions.try_iter());
    // Each change counts, and comes before what is read.
    let (mut asks, all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|ask| matches!(ask, TuiAsk::Label { .. }));
    let sort = |ask: &TuiAsk| match ask {
        TuiAsk::Conversations => 0,
        TuiAsk::Page { .. } => 1,
        TuiAsk::Table { .. } => 2,
        TuiAsk::Series { .. } => 3,
        TuiAsk::Call { .. } => 4,
        _ => 5,
    };
    let mut newest: BTreeMap<u8, TuiAsk> = BTreeMap::new();
    for ask in all {
        newest.insert(sort(&ask), ask);
    }
    asks.extend(newest.into_values());
    Some(asks)
}

fn tell(to: &Sender<TuiTold>, of: TuiAsk, told: Outcome<TuiTold>) {
    let failed = |failure: crate::failure::Failure| {
        let hint = if failure.hint.is_empty() { String::new() } else { format!(" ({})", failure.hint) };
        let what = text::one_line(&text::harmless(&format!("{}{hint}", failure.message)), 300);
        TuiTold::Failed { of, what }
    };
    // Nobody is left who wants to know.
    to.send(told.unwrap_or_else(failed)).ok();
}

/// What the reading thread works with.
struct Reads {
    engine: Engine,
    db: Database,
    label: LabelWriter,
}

fn read(with: &Reads, questions: &Receiver<TuiAsk>, out: &Sender<TuiTold>) {
    let Reads { engine, db, label } = with;
    while let Some(asks) = waiting(questions) {
        for ask in asks {
            let told = match &ask {
                TuiAsk::Conversations => picker_rows(engine).map(TuiTold::Conversations),
                TuiAsk::Page { generation, key, wanted } => load::page(engine, key, *wanted, *generation),
                TuiAsk::Entry { key, seq } => entry_text::entry(engine, key, *seq),
                TuiAsk::Table { generation, kind, key } => {
                    tables::table(engine, *kind, key, *generation).map(|told| with_daemon(told, *kind, db))
                }
                TuiAsk::Label { key, change } => label(key, change).map(|()| labelled(change)),
                _ => continue,
            };
            let is_label = matches!(&ask, TuiAsk::Label { .. });
            tell(out, ask, told);
            if is_label {
                tell(out, TuiAsk::Conversations, picker_rows(engine).map(TuiTold::Conversations));
            }
        }
    }
}

/// What a person is told after a change of a label.
fn labelled(change: &LabelChange) -> TuiTold {
    let what = match change {
        LabelChange { star: Some(true), .. } => "starred",
        LabelChange { star: Some(false), .. } => "the star is taken away",
        LabelChange { title: Some(title), .. } if title.trim().is_empty() => "your title is taken away",
        LabelChange { title: Some(_), .. } => "renamed; the transcript stays as it is",
        _ => "the tags are kept",
    };
    TuiTold::Labelled(what.to_owned())
}

/// Adds what only a running daemon knows to the list of calls.
fn with_daemon(told: TuiTold, kind: MiddleKind, db: &Database) -> TuiTold {
    let TuiTold::Table { generation, rows, about } = told else { return told };
    let daemon = (kind == MiddleKind::Calls).then(|| Remote::of(db)?.daemon().ok()).flatten();
    let about = match daemon {
        Some(daemon) => format!("{} running now; {about}", text::plural(daemon.calls as u64, "call")),
        None if kind == MiddleKind::Calls => format!("no daemon runs; {about}"),
        None => about,
    };
    TuiTold::Table { generation, rows, about }
}

/// From which conversations and labels rows were made.
#[derive(Default, PartialEq, Eq)]
pub(super) struct RowsVersion {
    revisions: Vec<(ConversationId, u64)>,
    labels: Vec<LabelRow>,
}

/// What a search needs of the conversations.
pub(super) struct KnownRows {
    /// Each conversation and label when they were read: the rows are good as long as nobody writes.
    version: RowsVersion,
    rows: Vec<PickerRow>,
    /// Each conversation, and the key of the row under which it stands.
    of_row: Vec<(ConversationId, String)>,
    /// The short name of each key.
    names: BTreeMap<String, String>,
}

impl KnownRows {
    /// What is known, read again if somebody wrote since.
    fn renewed(engine: &Engine, known: Option<Self>) -> Outcome<Self> {
        let all = read_all(|page| engine.store().conversations(page))?;
        let labels = read_all(|page| engine.store().labels(page))?;
        let revisions = all.iter().map(|stored| (stored.id, stored.revision)).collect();
        let version = RowsVersion { revisions, labels };
        match known.filter(|known| known.version == version) {
            Some(known) => Ok(known),
            None => Ok(Self::of(&everything(engine)?, version)),
        }
    }

    /// * `all` - every conversation.
    pub(super) fn of(all: &[RecognisedConversation], version: RowsVersion) -> Self {
        let above: BTreeMap<&str, &str> =
            all.iter().filter_map(|one| Some((one.stored.key.0.as_str(), one.above()?.0.as_str()))).collect();
        let root = |key: &str| {
            // A chain longer than this goes in a circle.
            let chain = std::iter::successors(Some(key), |key| above.get(key).copied());
            chain.take(above.len() + 1).last().unwrap_or(key).to_owned()
        };
        let name = |one: &RecognisedConversation| text::one_line(&text::harmless(&one.name), 64);
        Self {
            version,
            rows: load::rows_of(all),
            of_row: all.iter().map(|one| (one.stored.id, root(&one.stored.key.0))).collect(),
            names: all.iter().map(|one| (one.stored.key.0.clone(), name(one))).collect(),
        }
    }

    /// The conversations that a filter takes, with their sub-agents and lanes; `None` for all.
    pub(super) fn only(&self, filter: &PickerFilter) -> Option<BTreeSet<ConversationId>> {
        if filter.is_open() {
            return None;
        }
        let taken: BTreeSet<&str> =
            self.rows.iter().filter(|row| filter.takes(row)).map(|row| row.key.as_str()).collect();
        let of_taken = self.of_row.iter().filter(|(_, row)| taken.contains(row.as_str()));
        Some(of_taken.map(|(id, _)| *id).collect())
    }
}

fn search(engine: &Engine, questions: &Receiver<TuiAsk>, out: &Sender<TuiTold>) {
    let mut known: Option<KnownRows> = None;
    while let Ok(first) = questions.recv() {
        let mut newest = first;
        loop {
            match questions.recv_timeout(LETTER) {
                Ok(newer) => newest = newer,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        let TuiAsk::Search { generation, text, filter } = &newest else { continue };
        let told = KnownRows::renewed(engine, known.take()).and_then(|now| {
            let now = known.insert(now);
            let question = TuiQuestion { text, only: now.only(filter), generation: *generation };
            load::search(engine, question, &now.names)
        });
        tell(out, newest, told);
    }
}

/// A series of calls, with the revision of its conversation.
struct PlayedNow {
    series: CallSeries,
    revision: u64,
}

/// Plays sessions and composes their prompts.
struct Player {
    engine: Engine,
    target: CallTarget,
    newest: Arc<AtomicU64>,
    tell: Sender<TuiTold>,
}

impl Player {
    fn run(&self, questions: &Receiver<TuiAsk>) {
        let mut series: Option<PlayedNow> = None;
        while let Some(asks) = waiting(questions) {
            for ask in asks {
                match &ask {
                    TuiAsk::Series { .. } => series = self.series(series.take(), ask),
                    TuiAsk::Call { key, at, face } => {
                        if let Some(now) = series.as_ref().filter(|now| now.series.is_of(key)) {
                            let told = now.series.told(&self.engine, *at, *face);
                            tell(&self.tell, ask, told);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// The series of a question: the one that is there if nothing came since, or another one.
    fn series(&self, old: Option<PlayedNow>, ask: TuiAsk) -> Option<PlayedNow> {
        let TuiAsk::Series { generation, key, window } = &ask else { return old };
        let (generation, wanted) = (*generation, SeriesWanted { key, window: *window, target: &self.target });
        let revision = |series: &CallSeries| {
            self.engine.store().conversation(series.conversation()).map(|stored| stored.revision).ok()
        };
        let is_same = |now: &PlayedNow| {
            let series = &now.series;
            series.is_of(wanted.key)
                && series.window() == wanted.window
                && revision(series) == Some(now.revision)
        };
        let found = match old.filter(is_same) {
            Some(now) => Ok(Some(now.series)),
            None => self.read(generation, wanted),
        };
        match found {
            Ok(Some(series)) => {
                let (rows, about) = series.rows();
                tell(&self.tell, ask, Ok(TuiTold::Table { generation, rows, about }));
                let revision = revision(&series).unwrap_or(0);
                Some(PlayedNow { series, revision })
            }
            Ok(None) => None,
            Err(failure) => {
                tell(&self.tell, ask, Err(failure));
                None
            }
        }
    }

    fn read(&self, generation: u64, wanted: SeriesWanted<'_>) -> Outcome<Option<CallSeries>> {
        let mut told = 0;
        let mut progress = |done: u64, total: u64| {
            if done >= told {
                told = done + REPORT;
                let about = format!("playing: {} of {} entries", text::count(done), text::count(total));
                self.tell.send(TuiTold::Progress { generation, about }).ok();
            }
            self.newest.load(Ordering::Relaxed) == generation
        };
        CallSeries::read(&self.engine, wanted, &mut progress)
    }
}
