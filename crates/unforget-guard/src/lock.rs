//! The host's lock on a transcript, and our own.
//!
//! OpenClaw writes a session only while it holds `SESSION.jsonl.lock`, a file created exclusively with
//! `{"pid", "createdAt", "starttime"}` as content. OpenClaw takes over a lock in three cases: its process is gone, its
//! process number belongs to another process by now, or it has no number and is older than 30 minutes. We do the same,
//! except that we never take a lock from a living process. pi and Claude Code do not lock. Their files are protected by
//! an advisory lock on the file, by the quiet time of `watch`, and by the check that the file did not change.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{GuardError, json};

/// Age from which a lock without a process number counts as abandoned.
const STALE: Duration = Duration::from_mins(30);

/// Maximum size of a lock file that is read.
const LOCK_BYTES_MAX: u64 = 64 * 1024;

/// Exclusive access to a transcript. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// The transcript, with an advisory lock of the operating system.
    file: File,
}

impl Lock {
    /// Locks a transcript, without waiting.
    ///
    /// # Errors
    /// [`GuardError::Busy`] if a living process holds the lock; [`GuardError::File`].
    pub(super) fn take(transcript: &Path) -> Result<Self, GuardError> {
        let path = lock_path(transcript)?;
        if !create(&path)? {
            let busy = |owner| GuardError::Busy { path: transcript.into(), owner };
            if let Some(owner) = owner(&path)? {
                return Err(busy(owner));
            }
            remove_stale(&path)?;
            if !create(&path)? {
                return Err(busy("another process that came first".into()));
            }
        }
        // From here on dropping removes the lock file.
        let opened = File::open(transcript).map_err(|error| {
            fs::remove_file(&path).ok();
            GuardError::file("opening", transcript)(error)
        })?;
        let lock = Self { path, file: opened };
        match lock.file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                Err(GuardError::Busy { path: transcript.into(), owner: "a process with a lock on it".into() })
            }
            // On a file system without advisory locks the lock file must suffice.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(lock),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.file.unlock().ok();
        fs::remove_file(&self.path).ok();
    }
}

/// The lock file of a transcript, in the real folder like OpenClaw's.
pub(super) fn lock_path(transcript: &Path) -> Result<PathBuf, GuardError> {
    let folder = transcript.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(GuardError::file("looking at", folder))?;
    let mut name = OsString::from(transcript.file_name().unwrap_or_default());
    name.push(".lock");
    Ok(folder.join(name))
}

/// Makes a lock file that says whose it is from its first moment on: a process that is killed on the way leaves no lock
/// of nobody, for which others would wait. False if there is a lock already.
fn create(path: &Path) -> Result<bool, GuardError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut written = tempfile::Builder::new()
        .prefix(".unforget-lock-")
        .tempfile_in(folder)
        .map_err(GuardError::file("making", path))?;
    written.write_all(content().as_bytes()).map_err(GuardError::file("writing", path))?;
    match fs::hard_link(written.path(), path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // A file system without hard links.
        Err(_) => create_in_place(path),
    }
}

fn create_in_place(path: &Path) -> Result<bool, GuardError> {
    let mut file = match File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(GuardError::file("making", path)(error)),
    };
    match file.write_all(content().as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) => {
            fs::remove_file(path).ok();
            Err(GuardError::file("writing", path)(error))
        }
    }
}

/// The content of a lock of this process.
fn content() -> String {
    let pid = std::process::id();
    let start = start_of(pid).map_or_else(String::new, |start| format!(",\n  \"starttime\": {start}"));
    let created = now_iso();
    format!("{{\n  \"pid\": {pid},\n  \"createdAt\": \"{created}\"{start}\n}}")
}

/// The holder of a lock; `None` if the lock was abandoned.
fn owner(path: &Path) -> Result<Option<String>, GuardError> {
    let facts = match fs::symlink_metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(GuardError::file("looking at", path)(error)),
    };
    if !facts.is_file() || facts.len() > LOCK_BYTES_MAX {
        return Ok(Some("something that is not a lock file of a kind we know".into()));
    }
    let text = fs::read(path).map_err(GuardError::file("reading", path))?;
    let text = json::text_of(&text);
    let Some(pid) =
        json::number(&text, &["pid"]).and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0)
    else {
        let age = facts.modified().ok().and_then(|time| time.elapsed().ok());
        let is_old = age.is_some_and(|age| age > STALE);
        return Ok((!is_old).then(|| "somebody who does not say who".into()));
    };
    if !is_alive(pid) {
        return Ok(None);
    }
    let started = json::number(&text, &["starttime"]);
    let is_other = started.zip(start_of(pid)).is_some_and(|(then, now)| then != now);
    Ok((!is_other).then(|| format!("process {pid}")))
}

/// Removes an abandoned lock. It is renamed first, so that only one of two simultaneous attempts succeeds.
fn remove_stale(path: &Path) -> Result<(), GuardError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".stale-{}", std::process::id()));
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GuardError::file("renaming", path)(error)),
    }
    if let Some(owner) = owner(&aside)? {
        // Another process took the lock in between. Give the lock back unless there is a newer one by now.
        fs::hard_link(&aside, path).ok();
        fs::remove_file(&aside).ok();
        return Err(GuardError::Busy { path: path.into(), owner });
    }
    fs::remove_file(&aside).map_err(GuardError::file("removing", &aside))
}

/// Whether a process is alive; true if that cannot be determined.
fn is_alive(pid: u32) -> bool {
    if pid == std::process::id() {
        return true;
    }
    if Path::new("/proc/self/stat").exists() {
        return Path::new(&format!("/proc/{pid}")).exists();
    }
    if !cfg!(unix) {
        return true;
    }
    let asked = std::process::Command::new("kill").args(["-0", &pid.to_string()]).output();
    // A refused permission also proves that the process is alive.
    asked.map_or(true, |asked| asked.status.success() || !said_no_such(&asked.stderr))
}

fn said_no_such(stderr: &[u8]) -> bool {
    String::from_utf8_lossy(stderr).to_lowercase().contains("no such process")
}

/// Start time of a process in ticks since boot: the 22nd field of `/proc/PID/stat`.
fn start_of(pid: u32) -> Option<u64> {
    let stat: io::Result<String> = fs::read_to_string(format!("/proc/{pid}/stat"));
    // The second field is the name in parentheses and may contain any character.
    let stat = stat.ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// The current time in UTC, to the second, in the format of lock files.
fn now_iso() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.000Z", time / 3600, time / 60 % 60, time % 60)
}

/// Converts days since 1970-01-01 to year, month and day of the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years that start in March have their leap day at the end.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn civil_table() {
        let table = [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_454, (2026, 1, 1)),
            (20_779, (2026, 11, 22)),
        ];
        for (days, want) in table {
            assert_eq!(civil(days), want, "{days}");
        }
    }

    fn dead_pid() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn locks_of_hosts_table() {
        let alive = std::process::id();
        let start = start_of(alive);
        let dead = dead_pid();
        let recycled = start.map(|start| format!(r#"{{"pid":{alive},"starttime":{}}}"#, start + 1));
        let table = [
            (
                Some(format!(r#"{{"pid":{alive},"createdAt":"2020-01-01T00:00:00Z"}}"#)),
                false,
                "a live host, however old",
            ),
            (
                Some(format!(r#"{{"pid":{dead},"createdAt":"2026-01-01T00:00:00Z"}}"#)),
                true,
                "its process is gone",
            ),
            (recycled, true, "the number belongs to another process now"),
            (Some(String::new()), false, "made this moment, not yet written"),
            (Some("not json".into()), false, "does not say whose it is, and is new"),
        ];
        for (text, want, why) in table {
            let Some(text) = text else { continue };
            let folder = tempfile::tempdir().unwrap();
            let transcript = folder.path().join("s.jsonl");
            fs::write(&transcript, "{}\n").unwrap();
            let path = lock_path(&transcript).unwrap();
            fs::write(&path, &text).unwrap();
            let taken = Lock::take(&transcript);
            assert_eq!(taken.is_ok(), want, "{why}: {text} gives {taken:?}");
            drop(taken);
            assert_eq!(path.exists(), !want, "{why}: ours is given back, the host's stays");
            let left = fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, if want { 1 } else { 2 }, "{why}: nothing else is left");
        }
    }

    /// A process that is killed while it makes a lock leaves none, or one with its name.
    #[test]
    fn a_lock_never_is_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl.lock");
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    assert!(create(&path).unwrap());
                    fs::remove_file(&path).unwrap();
                }
                ended.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            while !ended.load(std::sync::atomic::Ordering::SeqCst) {
                let Ok(text) = fs::read(&path) else { continue };
                assert!(text.ends_with(b"}"), "whole from its first moment on: {text:?}");
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing else is left");
    }

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("s.jsonl");
        fs::write(&transcript, "{}\n").unwrap();
        let first = Lock::take(&transcript).unwrap();
        assert!(matches!(Lock::take(&transcript), Err(GuardError::Busy { .. })));
        drop(first);
        assert!(Lock::take(&transcript).is_ok());
    }

    #[test]
    fn an_old_lock_without_a_name_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("s.jsonl");
        fs::write(&transcript, "{}\n").unwrap();
        let path = lock_path(&transcript).unwrap();
        fs::write(&path, "").unwrap();
        let old = std::time::SystemTime::now() - 2 * STALE;
        File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        assert!(Lock::take(&transcript).is_ok());
    }
}
