//! Spools arriving answers to disk: a client never gets bytes that are only in memory.
//!
//! There is one file per answer beside the database: a line of JSON that names the conversation, then the bytes as the
//! provider sent them. A chunk is written before any client gets it, so a killed process loses nothing that was
//! delivered. The file is synced several times per second, so a power failure loses little. Once the answer is stored,
//! its file is emptied and reused: with hundreds of answers per second, creating and removing files would be most of
//! the spool's cost.

mod repeat;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::figures;

use repeat::REPEAT;
pub(super) use repeat::{RepeatFile, RepeatLabel, keep_repeat, repeat_of};

/// Greatest age of unsynced bytes while more arrive.
const SYNC: Duration = Duration::from_millis(250);

/// Most bytes of a label read to find its number.
const LABEL_MAX: u64 = 64 * 1024;

/// Bytes that must be free on the disk.
#[cfg(unix)]
const ROOM: u64 = 1 << 20;

/// Most empty files kept for reuse.
const EMPTY: usize = 64;

/// The origin of the answer in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SpoolLabel {
    pub(super) tenant: String,
    pub(super) lane: String,
    pub(super) form: String,
    /// The newest entry of the path at the time of the call.
    pub(super) asked_at: Option<u64>,
    pub(super) is_streamed: bool,
    /// Its compression, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) encoding: Option<String>,
    /// The lane's line in the register.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// How it is asked for again, if its client gave a key for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<RepeatLabel>,
    /// Its number among all answers. Files of earlier versions have it only in their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u64>,
}

/// A place in an answer's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpoolRange {
    pub(super) from: u64,
    pub(super) bytes: usize,
}

/// The folder of arriving answers.
pub(super) struct Spool {
    folder: PathBuf,
    next: AtomicU64,
    empty: Arc<EmptyFiles>,
}

/// Empty files for reuse; removed when the last owner is dropped.
#[derive(Default)]
struct EmptyFiles(Mutex<Vec<(File, PathBuf)>>);

impl EmptyFiles {
    /// An empty file that nobody has touched.
    fn take(&self) -> Option<(File, PathBuf)> {
        std::iter::from_fn(|| self.files().pop()).find(|(file, path)| is_ours_alone(file, path))
    }

    /// Empties a file for reuse, or removes it if there are enough.
    fn put(&self, file: File, path: PathBuf) -> io::Result<()> {
        let has_place = self.files().len() < EMPTY;
        if has_place && file.set_len(0).is_ok() {
            let mut files = self.files();
            if files.len() < EMPTY {
                files.push((file, path));
                return Ok(());
            }
        }
        fs::remove_file(path)
    }

    fn files(&self) -> MutexGuard<'_, Vec<(File, PathBuf)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EmptyFiles {
    fn drop(&mut self) {
        for (_, path) in self.files().drain(..) {
            // The next process to open the folder removes empty files that stay.
            fs::remove_file(path).ok();
        }
    }
}

/// Whether an open file is still the one under its name, and has no other name: an answer written to a moved or removed
/// file would not be found, and a linked one belongs to somebody's copy.
fn is_ours_alone(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(open), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
        (open.dev(), open.ino()) == (named.dev(), named.ino()) && named.nlink() == 1
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        false
    }
}

impl Spool {
    /// Opens or creates the folder, for its owner only.
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        let mut make = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.recursive(true).create(&folder)?;
        let mut last = files(&folder, &[UNREAD, REPEAT])?.iter().filter_map(|path| number(path)).max();
        for path in files(&folder, &[OPEN])? {
            let begun = begun(&path).unwrap_or_default();
            last = last.max(number(&path)).max(begun.number);
            if begun.is_awaited {
                // One that stays is empty and means nothing to a reader.
                fs::remove_file(path).ok();
            }
        }
        let next = AtomicU64::new(last.map_or(0, |last| last + 1));
        Ok(Self { folder, next, empty: Arc::default() })
    }

    /// Checks whether the disk has room for the next call and its answer.
    ///
    /// # Errors
    /// If it has none, or its state is unknown.
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

    /// Begins the file of an answer.
    pub(super) fn begin(&self, label: SpoolLabel) -> io::Result<SpoolFile> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let is_repeated = label.repeat.is_some();
        let mut line = serde_json::to_vec(&SpoolLabel { number: Some(number), ..label })?;
        line.push(b'\n');
        let (file, path) = match self.empty.take() {
            Some(empty) => empty,
            None => self.make(number)?,
        };
        let place = SpoolRange { from: line.len() as u64, bytes: 0 };
        let empty = Arc::clone(&self.empty);
        let synced = Instant::now();
        let mut spooled = SpoolFile { file, path, synced, place, is_read_back: false, is_repeated, empty };
        figures::spooled(1.0);
        match spooled.file.write_all(&line) {
            Ok(()) => Ok(spooled),
            Err(error) => {
                spooled.done(true);
                Err(error)
            }
        }
    }

    fn make(&self, number: u64) -> io::Result<(File, PathBuf)> {
        let path = self.folder.join(format!("{number}.{OPEN}"));
        let mut options = OpenOptions::new();
        options.create_new(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok((options.open(&path)?, path))
    }

    /// Files left by an earlier process, those of the oldest answers first.
    pub(super) fn left(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = files(&self.folder, &[OPEN])?;
        paths.sort_by_cached_key(|path| {
            begun(path).ok().and_then(|begun| begun.number).or_else(|| number(path))
        });
        Ok(paths)
    }
}

/// The facts at the beginning of a file.
#[derive(Default)]
struct SpoolFacts {
    /// The answer's number among all answers.
    number: Option<u64>,
    /// Whether no byte of the answer has been written.
    is_awaited: bool,
}

fn begun(path: &Path) -> io::Result<SpoolFacts> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut line = Vec::new();
    BufReader::new(file.take(LABEL_MAX)).read_until(b'\n', &mut line)?;
    let label = serde_json::from_slice::<SpoolLabel>(&line);
    let is_awaited = line.len() as u64 == length && (line.is_empty() || label.is_ok());
    Ok(SpoolFacts { number: label.ok().and_then(|label| label.number), is_awaited })
}

/// A left file: the origin of its answer, and the bytes; `None` for a foreign file.
pub(super) fn read(path: &Path) -> io::Result<Option<(SpoolLabel, Vec<u8>)>> {
    let mut bytes = fs::read(path)?;
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let rest = bytes.split_off(at + 1);
    Ok(serde_json::from_slice(&bytes).ok().map(|label| (label, rest)))
}

/// Extension of files with answers that are not stored yet.
const OPEN: &str = "answer";

/// Extension of files with unreadable answers: they stay for people.
const UNREAD: &str = "unread";

/// Sets an unreadable file aside, and tells where it is.
pub(super) fn keep(path: &Path) -> io::Result<()> {
    let kept = path.with_extension(UNREAD);
    fs::rename(path, &kept)?;
    tracing::warn!(path = %kept.display(), "an answer cannot be read to its end; what was read is stored, and the file stays");
    Ok(())
}

/// The answers in a folder that could not be read to their ends. What of them was read is stored.
///
/// * `folder` - of a gateway. A folder that is not there has none.
///
/// # Errors
/// If the folder cannot be read.
pub fn unread_answers(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match files(folder, &[UNREAD]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found,
    }
}

/// The number of one of our files.
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
pub(super) struct SpoolFile {
    file: File,
    path: PathBuf,
    synced: Instant,
    /// Place of the newest chunk.
    place: SpoolRange,
    /// Whether a reader holds it open, perhaps longer than storing takes.
    is_read_back: bool,
    /// Whether its client may ask for it again by a key.
    is_repeated: bool,
    empty: Arc<EmptyFiles>,
}

impl SpoolFile {
    /// Writes a chunk, which from then on survives the process.
    pub(super) fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.file.write_all(chunk)?;
        self.place = SpoolRange { from: self.place.from + self.place.bytes as u64, bytes: chunk.len() };
        Ok(())
    }

    /// Place of the newest chunk.
    pub(super) const fn place(&self) -> SpoolRange {
        self.place
    }

    /// Opens the file for reading.
    pub(super) fn back(&mut self) -> io::Result<File> {
        self.is_read_back = true;
        File::open(&self.path)
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for syncing, if a sync is due.
    pub(super) fn due(&mut self) -> Option<File> {
        if self.synced.elapsed() < SYNC {
            return None;
        }
        self.synced = Instant::now();
        self.file.try_clone().ok()
    }

    /// Marks the answer as stored. Returns its path if it may be asked for again, and stays.
    ///
    /// * `is_read` - see [`SpoolFile::done`].
    /// * `is_whole` - whether the provider ended it.
    pub(super) fn done_as(self, is_read: bool, is_whole: bool) -> Option<PathBuf> {
        if !(self.is_repeated && is_read && is_whole) {
            self.done(is_read);
            return None;
        }
        figures::spooled(-1.0);
        keep_repeat(&self.path).ok()
    }

    /// Marks the answer as stored.
    ///
    /// * `is_read` - whether all received bytes were readable; otherwise the bytes stay.
    pub(super) fn done(self, is_read: bool) {
        let done = match (is_read, self.is_read_back) {
            (false, _) => keep(&self.path),
            (true, true) => fs::remove_file(&self.path),
            (true, false) => self.empty.put(self.file, self.path),
        };
        // A file that stays is stored once more after a restart, and recognised as a repetition.
        done.ok();
        figures::spooled(-1.0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn label(lane: &str) -> SpoolLabel {
        SpoolLabel {
            tenant: "t".into(),
            lane: lane.into(),
            form: "anthropic".into(),
            asked_at: Some(3),
            is_streamed: true,
            encoding: None,
            line: None,
            repeat: None,
            number: None,
        }
    }

    /// The content of the folder: lanes and bytes, the oldest answer first.
    fn left(spool: &Spool) -> Vec<(String, Vec<u8>)> {
        let left = spool.left().unwrap().into_iter().filter_map(|path| read(&path).unwrap());
        left.map(|(label, bytes)| (label.lane, bytes)).collect()
    }

    #[test]
    fn a_file_is_used_again_and_holds_one_answer() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let spool = Spool::open(folder.path().to_owned()).unwrap();
        let mut first = spool.begin(label("a")).unwrap();
        first.push(b"a long answer").unwrap();
        let mut second = spool.begin(label("b")).unwrap();
        second.push(b"b").unwrap();
        first.done(true);
        let mut third = spool.begin(label("c")).unwrap();
        third.push(b"c").unwrap();
        assert_eq!(files(), 2);
        let want = [("b".to_owned(), b"b".to_vec()), ("c".to_owned(), b"c".to_vec())];
        assert_eq!(left(&spool), want, "by the age of the answer, not of the file");
        // A reader keeps the file for as long as it needs.
        let mut back = third.back().unwrap();
        third.done(true);
        spool.begin(label("d")).unwrap().push(b"another answer").unwrap();
        let mut bytes = Vec::new();
        back.read_to_end(&mut bytes).unwrap();
        assert!(bytes.ends_with(b"c"));
        // A file removed by somebody else is not written to.
        second.done(true);
        for file in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        spool.begin(label("e")).unwrap().push(b"e").unwrap();
        assert_eq!(left(&spool), [("e".to_owned(), b"e".to_vec())]);
        let all: Vec<_> = (0..EMPTY + 9).map(|_| spool.begin(label("f")).unwrap()).collect();
        for one in all {
            one.done(true);
        }
        assert_eq!(files(), EMPTY + 1);
        drop(spool);
        assert_eq!(files(), 1, "empty ones go with who made them");
    }

    #[test]
    fn who_was_killed_leaves_answers_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Spool::open(folder.path().to_owned()).unwrap();
        let path = |name: &str| folder.path().join(name);
        let killed = open();
        for _ in 0..3 {
            killed.begin(label("stored")).unwrap().done(true);
        }
        killed.begin(label("a")).unwrap().push(b"a").unwrap();
        std::mem::forget(killed);
        fs::write(path("1.answer"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", path("2.answer")).unwrap();
        let next = open();
        assert!(!path("1.answer").exists());
        let mut b = next.begin(label("b")).unwrap();
        b.push(b"b").unwrap();
        assert!(b.path.ends_with("4.answer"), "behind the fourth answer, though there is one file");
        let _awaited = next.begin(label("awaited")).unwrap();
        b.done(true);
        for lane in ["c", "d"] {
            next.begin(label(lane)).unwrap().push(b"begun").unwrap();
        }
        #[cfg(unix)]
        fs::remove_file(path("2.answer")).unwrap();
        let last = open();
        let lanes: Vec<_> = left(&last).into_iter().map(|(lane, _)| lane).collect();
        assert_eq!(lanes, ["a", "c", "d"], "by age, across restarts");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_somebody_moved_or_linked_is_not_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let (here, away) = (folder.path().join("here"), folder.path().join("away"));
        let spool = Spool::open(here.clone()).unwrap();
        spool.begin(label("a")).unwrap().done(true);
        fs::rename(&here, &away).unwrap();
        assert!(spool.begin(label("b")).is_err(), "its folder is gone");
        fs::create_dir(&here).unwrap();
        spool.begin(label("c")).unwrap().push(b"c").unwrap();
        assert_eq!(left(&spool).len(), 1);
        let linked = spool.begin(label("d")).unwrap();
        let (path, copy) = (linked.path.clone(), folder.path().join("copy"));
        linked.done(true);
        fs::hard_link(path, &copy).unwrap();
        spool.begin(label("e")).unwrap().push(b"e").unwrap();
        assert!(fs::read(copy).unwrap().is_empty());
    }

    #[test]
    fn what_was_written_is_left_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path().join("spool")).unwrap();
        for lane in ["a", "b", "c"] {
            let mut one = spool.begin(label(lane)).unwrap();
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
        let unread = spool.begin(label("d")).unwrap();
        assert!(unread.path.ends_with("8.answer"), "no number twice");
        unread.done(false);
        let spool = Spool::open(folder.path().join("spool")).unwrap();
        assert_eq!(spool.left().unwrap().len(), 3, "what cannot be read is not tried again");
        assert!(spool.begin(label("e")).unwrap().path.ends_with("9.answer"), "and not overwritten");
        assert!(folder.path().join("spool/8.unread").exists());
        assert_eq!(
            unread_answers(&folder.path().join("spool")).unwrap(),
            [folder.path().join("spool/8.unread")]
        );
        assert!(unread_answers(&folder.path().join("nowhere")).unwrap().is_empty());
    }
}
