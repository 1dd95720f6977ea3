//! Stored answers that their clients may ask for again by a key, also after a restart.
//!
//! Such a file has the label of the answer with the head of its response, then the bytes as the provider sent them. It
//! stays for the time in which a client may ask again.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unforget_core::digest::Digest;
use unforget_engine::peers::KeyedCall;

use super::{LABEL_MAX, Spool, SpoolLabel, files};

/// Extension of files with stored answers that may be asked for again.
pub(super) const REPEAT: &str = "repeat";

/// Keeps the file of a stored answer, which may be asked for again. Returns its new path.
pub(crate) fn keep_repeat(path: &Path) -> io::Result<PathBuf> {
    let to = path.with_extension(REPEAT);
    fs::rename(path, &to)?;
    Ok(to)
}

/// What a client needs to get an answer again by its key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RepeatLabel {
    /// Digest of the caller and its key, in hex.
    pub(crate) key: String,
    /// Digest of the request, in hex.
    pub(crate) request: String,
    pub(crate) status: u16,
    /// Names and values of the response's headers.
    pub(crate) headers: Vec<(String, String)>,
}

impl RepeatLabel {
    /// The call; `None` if the label is damaged.
    pub(crate) fn call(&self) -> Option<KeyedCall> {
        Some(KeyedCall { key: Digest::from_hex(&self.key)?, request: Digest::from_hex(&self.request)? })
    }
}

/// The label of a stored answer and its bytes; `None` for an answer of more than `most` bytes.
pub(crate) fn repeat_of(path: &Path, most: u64) -> io::Result<Option<(RepeatLabel, Vec<u8>)>> {
    let Some(RepeatFile { label, mut file, from, bytes, .. }) = repeat(path, Duration::MAX)? else {
        return Ok(None);
    };
    if bytes > most {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut body = Vec::new();
    file.read_to_end(&mut body)?;
    Ok(Some((label, body)))
}

/// A stored answer that may be asked for again.
pub(crate) struct RepeatFile {
    pub(crate) label: RepeatLabel,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Place of its bytes.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    /// Time since its end.
    pub(crate) age: Duration,
}

impl Spool {
    /// Answers of earlier processes that may be asked for again, the oldest first. Older ones are removed.
    ///
    /// * `window` - how long after its end an answer may be asked for.
    pub(crate) fn repeats(&self, window: Duration) -> io::Result<Vec<RepeatFile>> {
        let mut found = Vec::new();
        for path in files(&self.folder, &[REPEAT])? {
            match repeat(&path, window) {
                Ok(Some(fresh)) => found.push(fresh),
                // Worthless: its client gets a new answer.
                Ok(None) | Err(_) => drop(fs::remove_file(&path)),
            }
        }
        found.sort_by_key(|fresh| std::cmp::Reverse(fresh.age));
        Ok(found)
    }
}

fn repeat(path: &Path, window: Duration) -> io::Result<Option<RepeatFile>> {
    let mut file = File::open(path)?;
    let facts = file.metadata()?;
    let age = facts.modified()?.elapsed().unwrap_or_default();
    let mut line = Vec::new();
    BufReader::new((&mut file).take(LABEL_MAX)).read_until(b'\n', &mut line)?;
    let label = serde_json::from_slice::<SpoolLabel>(&line).ok().and_then(|label| label.repeat);
    let (from, path) = (line.len() as u64, path.to_owned());
    let bytes = facts.len().saturating_sub(from);
    let fresh = label.filter(|_| age < window);
    Ok(fresh.map(|label| RepeatFile { label, path, file, from, bytes, age }))
}
