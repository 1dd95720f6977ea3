//! The measured transcript: generated, or a file of the user.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;
use unforget_bench::Session;

use crate::failure::{Failure, Outcome};

/// A generated transcript on disk, and the session that continues it.
pub(super) struct Workload {
    /// Holds all files of the bench; removed at the end.
    pub(super) folder: TempDir,
    /// The transcript.
    pub(super) path: PathBuf,
    /// Its generator.
    pub(super) session: Session,
}

impl Workload {
    /// Generates whole turns with at least this many messages.
    pub(super) fn generate(messages: usize, seed: u64) -> Outcome<Self> {
        let folder = folder()?;
        let path = folder.path().join("session.jsonl");
        let failed = |error| Failure::file(&path, &error);
        let mut file = BufWriter::new(File::create(&path).map_err(failed)?);
        let mut session = Session::new(seed);
        let mut text = session.header();
        while session.messages() < messages as u64 {
            session.turn(&mut text);
            file.write_all(text.as_bytes()).map_err(failed)?;
            text.clear();
        }
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.flush().map_err(failed)?;
        Ok(Self { folder, path, session })
    }

    /// A file in the bench's folder.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The folders of this process's benches.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Exit code of a program that an interrupt ended.
#[cfg(unix)]
const INTERRUPTED: i32 = 130;

/// A folder for the files of a bench. On Unix an interrupt (Ctrl-C) removes it too.
pub(super) fn folder() -> Outcome<TempDir> {
    let failed = |error| Failure::file(Path::new("a temporary folder"), &error);
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    #[cfg(unix)]
    if folders.is_empty() {
        wait_for_interrupt().map_err(failed)?;
    }
    let folder = tempfile::tempdir().map_err(failed)?;
    folders.push(folder.path().to_owned());
    Ok(folder)
}

/// Has a thread wait for an interrupt, which then removes the folders and ends the process.
#[cfg(unix)]
fn wait_for_interrupt() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    std::thread::Builder::new().spawn(move || {
        runtime.block_on(interrupts.recv());
        for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            std::fs::remove_dir_all(folder).ok();
        }
        std::process::exit(INTERRUPTED);
    })?;
    Ok(())
}

/// Size of a database in bytes, including SQLite's files beside it.
pub(super) fn size_of(db: &Path) -> u64 {
    let beside = |suffix: &str| {
        let mut name = db.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let size = |path: PathBuf| path.metadata().map_or(0, |facts| facts.len());
    size(db.to_path_buf()) + size(beside("-wal"))
}
