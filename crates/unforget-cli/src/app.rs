//! What commands share: the settings, the outputs, the engine.

use std::fs;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unforget_engine::Engine;
use unforget_store::StoreError;

use crate::args::ShapeArgs;
use crate::config::Settings;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;

/// What a command works with.
pub(crate) struct App {
    /// Settings.
    pub(crate) settings: Settings,
    /// Whether the database was named on the command line.
    pub(crate) is_db_named: bool,
    /// Outputs.
    pub(crate) out: Output,
}

impl App {
    /// The database for writing; makes it and its folder if they are not there.
    pub(crate) fn open(&self) -> Outcome<Engine> {
        let path = &self.settings.db.value;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        Ok(Engine::open(path)?)
    }

    /// The database for writing; an error if it is not there.
    pub(crate) fn open_existing(&self) -> Outcome<Engine> {
        self.must_exist()?;
        Ok(Engine::open(&self.settings.db.value)?)
    }

    /// The database for reading, also while another process owns it.
    pub(crate) fn read(&self) -> Outcome<Engine> {
        self.must_exist()?;
        Ok(Engine::open_reader(&self.settings.db.value)?)
    }

    /// The database for writing where nobody else owns it, else for reading: for work that is the same
    /// either way and only faster next time if it may write.
    pub(crate) fn open_or_read(&self) -> Outcome<Engine> {
        self.must_exist()?;
        match Engine::open(&self.settings.db.value) {
            Err(unforget_engine::EngineError::Store(StoreError::Busy { .. })) => self.read(),
            other => Ok(other?),
        }
    }

    /// The settings with what a command was told of its prompts.
    pub(crate) fn shape(&self, shape: &ShapeArgs) -> Settings {
        self.settings.clone().with_shape(shape)
    }

    /// A bar on stderr, if that is a terminal and somebody wants it. `length` 0: a spinner.
    pub(crate) fn progress(&self, length: u64, template: &str) -> ProgressBar {
        let target = if self.out.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(12)
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        // The templates are ours; a wrong one would only look plain.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar
    }

    fn must_exist(&self) -> Outcome<()> {
        let path = &self.settings.db.value;
        match fs::metadata(path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(no_database(path)),
            Err(error) => Err(Failure::file(path, &error)),
        }
    }
}

fn no_database(path: &Path) -> Failure {
    Failure {
        kind: "no-database",
        message: format!("there is no database at {}", path.display()),
        hint: "import something first: unforget import --discover, or name another one with --db".to_owned(),
        exit: Exit::Input,
    }
}
