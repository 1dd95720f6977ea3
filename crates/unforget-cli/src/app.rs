//! The common state of all commands: settings, outputs, engine.

use std::fs;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unforget_engine::{Engine, EngineError};
use unforget_store::{BrokenRows, StoreError};

use crate::config::{Settings, process_env};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::overrides::ShapeArgs;
use crate::text;

/// The state of a command.
pub(crate) struct App {
    /// Settings.
    pub(crate) settings: Settings,
    /// Whether the database was named on the command line.
    pub(crate) is_db_named: bool,
    /// Outputs.
    pub(crate) out: Output,
}

impl App {
    /// Opens the database for writing; creates it and its folder if they do not exist.
    pub(crate) fn open(&self) -> Outcome<Engine> {
        let folder = self.settings.db.value.file().and_then(Path::parent);
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        self.opened(self.settings.db.value.open_or_make(&|what| self.out.note(what))?)
    }

    /// Tells of entries that were acknowledged and are gone from a database that was opened for writing.
    fn opened(&self, engine: Engine) -> Outcome<Engine> {
        self.set_meaning(&engine);
        for lost in engine.store().lost_entries()? {
            self.out.note(lost);
        }
        Ok(engine)
    }

    /// Opens the database for writing; fails if it does not exist.
    pub(crate) fn open_existing(&self) -> Outcome<Engine> {
        self.must_exist()?;
        self.opened(self.settings.db.value.open()?)
    }

    /// Opens the database for reading, even while another process owns it.
    pub(crate) fn read(&self) -> Outcome<Engine> {
        self.must_exist()?;
        let engine = self.settings.db.value.open_reader()?;
        self.set_meaning(&engine);
        Ok(engine)
    }

    /// Sets the configured model of vectors. Settings that cannot be used are told, and searches rank by words.
    fn set_meaning(&self, engine: &Engine) {
        match self.settings.meaning.model(&process_env) {
            Ok(model) => engine.set_meaning(model),
            Err(failure) => self.out.note(format_args!("search by words alone: {}", failure.message)),
        }
    }

    /// Opens the database for writing if no other process owns it and its disk can be written, otherwise for reading:
    /// for work that gives one result either way and only speeds up the next run by writing.
    pub(crate) fn open_or_read(&self) -> Outcome<Engine> {
        self.must_exist()?;
        match self.settings.db.value.open() {
            Err(EngineError::Store(
                StoreError::Busy { .. } | StoreError::Full { .. } | StoreError::ReadOnly { .. },
            )) => self.read(),
            other => {
                let engine = other?;
                self.set_meaning(&engine);
                Ok(engine)
            }
        }
    }

    /// Does such work, and once more without writing if the disk becomes full on the way.
    pub(crate) fn open_or_read_for<T>(&self, work: impl Fn(&Engine) -> Outcome<T>) -> Outcome<T> {
        let engine = self.open_or_read()?;
        let done = work(&engine);
        self.tell_broken(&engine);
        match done {
            Err(failure) if engine.is_writer() && matches!(failure.kind, "full" | "read-only") => {
                drop(engine);
                work(&self.read()?)
            }
            done => done,
        }
    }

    /// Tells of damaged rows that a command met and left out.
    pub(crate) fn tell_broken(&self, engine: &Engine) {
        for BrokenRows { what, rows, .. } in engine.store().broken_rows() {
            let rows = text::plural(rows, "damaged row");
            self.out.note(format!("{rows} in the database: {what}"));
        }
    }

    /// The settings, overridden by the command's prompt options.
    pub(crate) fn shape(&self, shape: &ShapeArgs) -> Settings {
        self.settings.clone().with_shape(shape)
    }

    /// A progress bar on stderr, if that is a terminal and progress is wanted. `length` 0 gives a spinner.
    pub(crate) fn progress(&self, length: u64, template: &str) -> ProgressBar {
        let target = if self.out.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(12)
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        // The templates are ours; an invalid one would only look plain.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar
    }

    fn must_exist(&self) -> Outcome<()> {
        // A server says so itself.
        let Some(path) = self.settings.db.value.file() else { return Ok(()) };
        match fs::metadata(path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(no_database(path)),
            Err(error) => Err(Failure::file(path, &error)),
        }
    }
}

/// Moves a bar to the number of completed things.
pub(crate) fn show_progress(bar: &ProgressBar, done: u64, total: u64) {
    bar.set_length(total);
    bar.set_position(done);
}

fn no_database(path: &Path) -> Failure {
    Failure {
        kind: "no-database",
        message: format!("there is no database at {}", path.display()),
        hint: "import something first: unforget import --discover, or name another one with --db".to_owned(),
        exit: Exit::Input,
    }
}
