//! Answers on disk while they arrive: what a client has got is never only in memory.
//!
//! A file per answer beside the database: a line of JSON that says whose answer it is, then the bytes as the provider sent
//! them. A chunk is written before any client gets it, so a killed process loses nothing that was delivered; it is synced
//! some times per second, so little is lost when power fails. When the answer is stored its file goes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::figures;
use super::live::Place;

/// Unsynced bytes are at most this old, while bytes arrive.
const SYNC: Duration = Duration::from_millis(250);

/// Bytes that have to be free on the disk.
#[cfg(unix)]
const ROOM: u64 = 1 << 20;

/// Whose answer a file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Label {
    pub(super) tenant: String,
    pub(super) lane: String,
    pub(super) form: String,
    /// The newest entry of the path when the model was asked.
    pub(super) asked_at: Option<u64>,
    pub(super) is_streamed: bool,
    /// How it is packed, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) encoding: Option<String>,
    /// The lane's line in the register.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
}

/// The folder of answers that arrive.
pub(super) struct Spool {
    folder: PathBuf,
    next: AtomicU64,
}

impl Spool {
    /// Opens the folder, or makes it, for its owner only.
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        let mut make = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.recursive(true).create(&folder)?;
        let names = files(&folder, &[OPEN, UNREAD])?;
        let last = names.iter().filter_map(|path| number(path)).max();
        Ok(Self { folder, next: AtomicU64::new(last.map_or(0, |last| last + 1)) })
    }

    /// Whether the disk has room for the next call and its answer.
    ///
    /// # Errors
    /// If it has not, or does not tell.
    pub(super) fn has_room(&self) -> io::Result<()> {
        #[cfg(unix)]
        {
            let disk = rustix::fs::statvfs(&self.folder)?;
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            if free < ROOM {
                return Err(io::Error::new(io::ErrorKind::StorageFull, format!("{free} bytes are free")));
            }
        }
        Ok(())
    }

    /// Begins a file.
    pub(super) fn begin(&self, label: &Label) -> io::Result<Spooled> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number}.{OPEN}"));
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let mut line = serde_json::to_vec(label)?;
        line.push(b'\n');
        file.write_all(&line)?;
        figures::spooled(1.0);
        let place = Place { from: line.len() as u64, bytes: 0 };
        Ok(Spooled { file, path, synced: Instant::now(), place })
    }

    /// Files that a process before this one left, oldest first.
    pub(super) fn left(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = files(&self.folder, &[OPEN])?;
        paths.sort_by_key(|path| number(path));
        Ok(paths)
    }
}

/// A file that was left: whose answer, and its bytes; `None` if it is none of ours.
pub(super) fn read(path: &Path) -> io::Result<Option<(Label, Vec<u8>)>> {
    let mut bytes = fs::read(path)?;
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let rest = bytes.split_off(at + 1);
    Ok(serde_json::from_slice(&bytes).ok().map(|label| (label, rest)))
}

/// Files of answers that are not stored yet.
const OPEN: &str = "answer";

/// Files of answers that say nothing that could be read: they stay for people.
const UNREAD: &str = "unread";

/// Keeps what cannot be read out of the way.
pub(super) fn keep(path: &Path) -> io::Result<()> {
    fs::rename(path, path.with_extension(UNREAD))
}

/// The number of a file of ours.
fn number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

fn files(folder: &Path, kinds: &[&str]) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let is_ours = |path: &PathBuf| {
        let kind = path.extension().and_then(std::ffi::OsStr::to_str);
        number(path).is_some() && kind.is_some_and(|kind| kinds.contains(&kind))
    };
    Ok(paths.into_iter().filter(is_ours).collect())
}

/// The file of one answer.
pub(super) struct Spooled {
    file: File,
    path: PathBuf,
    synced: Instant,
    /// Of the newest chunk.
    place: Place,
}

impl Spooled {
    /// Writes a chunk. It survives the process from then on.
    pub(super) fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.file.write_all(chunk)?;
        self.place = Place { from: self.place.from + self.place.bytes as u64, bytes: chunk.len() };
        Ok(())
    }

    /// Where the newest chunk is.
    pub(super) const fn place(&self) -> Place {
        self.place
    }

    /// Opens the file for reading.
    pub(super) fn back(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle to sync, if that is due.
    pub(super) fn due(&mut self) -> Option<File> {
        if self.synced.elapsed() < SYNC {
            return None;
        }
        self.synced = Instant::now();
        self.file.try_clone().ok()
    }

    /// The answer is stored.
    ///
    /// * `is_read` - whether all that came of it could be read; else its bytes stay.
    pub(super) fn done(self, is_read: bool) {
        // What stays is stored once more after a restart, and recognised.
        let done = if is_read { fs::remove_file(&self.path) } else { keep(&self.path) };
        done.ok();
        figures::spooled(-1.0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_was_written_is_left_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let label = |lane: &str| Label {
            tenant: "t".into(),
            lane: lane.into(),
            form: "anthropic".into(),
            asked_at: Some(3),
            is_streamed: true,
            encoding: None,
            line: None,
        };
        let spool = Spool::open(folder.path().join("spool")).unwrap();
        for lane in ["a", "b", "c"] {
            let mut one = spool.begin(&label(lane)).unwrap();
            one.push(b"data: 1\n").unwrap();
            one.push(lane.as_bytes()).unwrap();
            if lane == "b" {
                one.done(true);
            }
        }
        fs::write(folder.path().join("spool/7.answer"), "no label").unwrap();
        let spool = Spool::open(folder.path().join("spool")).unwrap();
        let left: Vec<_> = spool.left().unwrap().iter().map(|path| read(path).unwrap()).collect();
        let lanes: Vec<_> =
            left.iter().flatten().map(|(label, bytes)| (label.lane.as_str(), bytes.as_slice())).collect();
        assert_eq!(lanes, [("a", b"data: 1\na".as_slice()), ("c", b"data: 1\nc".as_slice())]);
        assert_eq!(left.iter().filter(|one| one.is_none()).count(), 1);
        let unread = spool.begin(&label("d")).unwrap();
        assert!(unread.path.ends_with("8.answer"), "no number twice");
        unread.done(false);
        let spool = Spool::open(folder.path().join("spool")).unwrap();
        assert_eq!(spool.left().unwrap().len(), 3, "what cannot be read is not tried again");
        assert!(spool.begin(&label("e")).unwrap().path.ends_with("9.answer"), "and not overwritten");
        assert!(folder.path().join("spool/8.unread").exists());
    }
}
