//! The effects: the terminal, the threads, the kept state.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use unforget_engine::Engine;

use super::calls::CallTarget;
use super::load::picker_rows;
use super::saved::TuiSaved;
use super::state::{MiddleKind, TuiAsk, TuiEnd, TuiMessage, TuiState, TuiTold};
use super::steps::{begin, begin_at};
use super::theme::ThemeName;
use super::update::update;
use super::view::view;
use super::worker::{LabelWriter, TuiWorkers, WorkerParts};
use crate::database::Database;
use crate::failure::Outcome;
use crate::output::{Screen, ScreenEvent, ScreenShape};
use crate::picker::PickerState;

/// How long a loop waits for a key while an answer may come, and otherwise.
const SOON: Duration = Duration::from_millis(8);
const IDLE: Duration = Duration::from_millis(120);

/// How long after a question an answer may come soon.
const EXPECTED: Duration = Duration::from_secs(3);

/// How often the program looks whether somebody wrote, and reads the calls again while they are looked at.
const LIVE: Duration = Duration::from_secs(2);

/// Most things a person did that are taken before the next frame.
const AT_ONCE: usize = 64;

/// How the interface is opened.
pub(crate) struct TuiOptions {
    /// How much of the terminal it takes.
    pub(crate) shape: ScreenShape,
    /// The prompts that are played.
    pub(crate) target: CallTarget,
    /// The database.
    pub(crate) db: Database,
    /// Where the state is kept; `None` keeps none.
    pub(crate) saved: Option<PathBuf>,
    /// Changes what a person says of a conversation.
    pub(crate) label: LabelWriter,
    /// Key of the conversation that is opened.
    pub(crate) open: Option<String>,
    /// The colours; `None` takes those of the last time.
    pub(crate) theme: Option<ThemeName>,
    /// Whether the terminal gets no colours this time; the theme of the last time is kept for the next one.
    pub(crate) is_plain: bool,
}

/// When the database and its log were last written, as the file system says. A server does not say, so it may have been
/// written at any time.
fn written(db: &Database) -> [Option<SystemTime>; 2] {
    let Some(db) = db.file() else { return [Some(SystemTime::now()), None] };
    let mut log = db.as_os_str().to_owned();
    log.push("-wal");
    [db, Path::new(&log)].map(|path| std::fs::metadata(path).and_then(|facts| facts.modified()).ok())
}

/// The interface from its opening to its end; it gives the terminal back in between, for an editor.
pub(crate) struct TuiSession {
    state: TuiState,
    workers: TuiWorkers,
    options: TuiOptions,
    asked: Instant,
    /// When the database was last written.
    written: [Option<SystemTime>; 2],
    /// The theme that is kept in place of the shown one.
    kept_theme: Option<ThemeName>,
}

impl TuiSession {
    /// * `open` - opens the database for reading.
    ///
    /// # Errors
    /// Errors of the store, or if the system has no thread left.
    pub(crate) fn new(open: &dyn Fn() -> Outcome<Engine>, options: TuiOptions) -> Outcome<Self> {
        let engines = [open()?, open()?, open()?];
        let [reader, ..] = &engines;
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut state =
            TuiState { list: PickerState::new(picker_rows(reader)?), now_ms, ..TuiState::default() };
        let saved = options.saved.as_deref().map(TuiSaved::read).unwrap_or_default();
        saved.apply(&mut state);
        let kept_theme = options.is_plain.then_some(state.theme);
        if options.is_plain {
            state.theme = ThemeName::Plain;
        }
        state.theme = options.theme.unwrap_or(state.theme);
        let (target, db) = (options.target.clone(), options.db.clone());
        let parts = WorkerParts { engines, target, db, label: options.label.clone() };
        let workers = TuiWorkers::start(parts)?;
        let written = written(&options.db);
        let mut session = Self { state, workers, options, asked: Instant::now(), written, kept_theme };
        let asks = match session.options.open.clone() {
            Some(key) => begin_at(&mut session.state, &key),
            None => begin(&mut session.state),
        };
        for ask in asks {
            session.workers.ask(ask);
        }
        Ok(session)
    }

    /// Shows the interface until it ends. May be called again after that.
    ///
    /// # Errors
    /// If the terminal cannot be a screen.
    pub(crate) fn run(&mut self) -> Outcome<TuiEnd> {
        let mut screen = Screen::of(self.options.shape)?;
        let area = screen.area()?;
        if let Some(end) = self.take(TuiMessage::Area(area), &mut screen)? {
            return Ok(end);
        }
        let mut looked = Instant::now();
        loop {
            screen.draw(|frame| view(&self.state, frame))?;
            if let Some(end) = self.wait(&mut screen, &mut looked)? {
                if let Some(path) = &self.options.saved {
                    // A state that cannot be kept is no reason to fail.
                    TuiSaved::of(&self.state).with_theme(self.kept_theme).write(path).ok();
                }
                return Ok(end);
            }
        }
    }

    /// Takes answers and what a person does, until something changed.
    fn wait(&mut self, screen: &mut Screen, looked: &mut Instant) -> Outcome<Option<TuiEnd>> {
        loop {
            let told: Vec<TuiTold> = self.workers.told.try_iter().collect();
            let mut is_new = !told.is_empty();
            for one in told {
                self.asked = Instant::now();
                if let Some(end) = self.take(TuiMessage::Told(one), screen)? {
                    return Ok(Some(end));
                }
            }
            let patience = match (is_new, self.asked.elapsed() < EXPECTED) {
                (true, _) => Duration::ZERO,
                (false, true) => SOON,
                (false, false) => IDLE,
            };
            let mut next = Screen::event(patience)?;
            for _ in 0..AT_ONCE {
                let Some(event) = next else { break };
                is_new = true;
                let message = match event {
                    ScreenEvent::Key(key) => TuiMessage::Key(key),
                    ScreenEvent::Mouse(deed, column, line) => TuiMessage::Mouse(deed, column, line),
                    ScreenEvent::Resized => TuiMessage::Area(screen.area()?),
                };
                if let Some(end) = self.take(message, screen)? {
                    return Ok(Some(end));
                }
                next = Screen::event(Duration::ZERO)?;
            }
            if looked.elapsed() > LIVE {
                *looked = Instant::now();
                self.look(screen)?;
            }
            if is_new {
                return Ok(None);
            }
        }
    }

    /// Reads again what may have changed: the calls while they are looked at, and the rest if somebody wrote.
    fn look(&mut self, screen: &mut Screen) -> Outcome<()> {
        if self.state.middle.kind == MiddleKind::Calls {
            let (generation, key) = (self.state.generation, self.state.open.clone());
            self.workers.ask(TuiAsk::Table { generation, kind: MiddleKind::Calls, key });
        }
        let written = written(&self.options.db);
        if written != self.written {
            self.written = written;
            self.take(TuiMessage::Changed, screen)?;
        }
        Ok(())
    }

    /// Takes a message, and does what is wanted then.
    fn take(&mut self, message: TuiMessage, screen: &mut Screen) -> Outcome<Option<TuiEnd>> {
        for ask in update(&mut self.state, message) {
            self.asked = Instant::now();
            match ask {
                TuiAsk::Copy(text) => screen.copy(&text)?,
                TuiAsk::End(end) => return Ok(Some(end)),
                ask => self.workers.ask(ask),
            }
        }
        Ok(None)
    }

    /// Tells the person something.
    pub(crate) fn remark(&mut self, what: String) {
        self.state.remark = what;
    }
}
