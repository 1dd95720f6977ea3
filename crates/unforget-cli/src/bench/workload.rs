//! The measured transcript: generated, or a file of the user.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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

/// A folder for the files of a bench.
pub(super) fn folder() -> Outcome<TempDir> {
    tempfile::tempdir().map_err(|error| Failure::file(Path::new("a temporary folder"), &error))
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
