//! Transcript files into the store, exactly once.
//!
//! ```text
//! file ─▶ wire::Reader ─▶ Known (what have we?) ─▶ core::reconcile::plan ─▶ Crew (prepare) ─▶ Writer ─▶ store
//! ```
//!
//! The prefix that is stored is recognised by its raw chain and passed over. Everything behind it is
//! new: it is prepared (tokens, digests, search terms, compression) on two threads and written in
//! batches of one transaction each. The last batch carries the snapshot that makes the file current, so
//! an import that died is simply done again: it continues where the last transaction ended.

mod crew;
mod folder;
mod known;
mod lineage;
mod live;
mod run;
mod writer;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationKey, Generation};
use unforget_core::reconcile::Plan;
use unforget_store::Snapshot;
use unforget_wire::{Format, ReadError, Warning};

use crate::{Engine, EngineError};

pub(crate) use crew::{Incoming, new_entry};
pub use folder::{Found, walk};
pub(crate) use lineage::Standing;
pub use live::{Live, Stored};
pub(crate) use run::{turn, turn_of};

/// Warnings that a report lists; the rest is only counted.
pub const WARNINGS_LISTED: usize = 20;

/// Bytes that one read takes from a file.
const READ_BYTES: usize = 256 * 1024;

/// Age in ns that a file must have had when it was read, so that its modification time proves that it was
/// not written since: clocks of file systems tick every few milliseconds, those of some every two seconds.
const SETTLED_NS: i128 = 50_000_000;
const SETTLED_COARSE_NS: i128 = 2_000_000_000;

/// How far an import is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file.
    pub path: &'a Path,
    /// Bytes read so far.
    pub bytes: u64,
    /// Bytes of the file when it was opened; 0 if that is not known.
    pub total: u64,
    /// Records read so far.
    pub entries: u64,
}

/// Something odd in a file: the first few, and how many in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// At most [`WARNINGS_LISTED`], in file order.
    pub first: Vec<Warning>,
    /// All of them.
    pub count: u64,
}

/// What the import of one file did.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The file, as given.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// The conversation that it is a transcript of.
    pub conversation: ConversationKey,
    /// The conversation that started this one as a sub-agent.
    pub parent: Option<ConversationKey>,
    /// What the file was in the light of what is stored.
    pub plan: Plan,
    /// The generation that is now current.
    pub generation: Generation,
    /// Number of the snapshot that gives the file back.
    pub snapshot: u64,
    /// Records in the file.
    pub entries: u64,
    /// How many of them were not stored before.
    pub added: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// True if size and modification time proved that there is nothing to read.
    pub skipped_unchanged: bool,
    /// Odd things on the way.
    pub warnings: Warnings,
}

/// Where bytes come from: what a snapshot says of its file.
pub(crate) struct Place<'a> {
    /// For errors and progress.
    path: &'a Path,
    /// Absolute, as text; see [`spelled`].
    name: String,
    size: u64,
    modified_ns: i128,
}

impl Engine {
    /// Imports one transcript file, unless it has not changed since it was last imported.
    ///
    /// Doing it again changes nothing, also after a crash in the middle. Memory does not grow with the
    /// file: some batches of 2 MiB, or the largest record. Imports and index upkeep take turns within the
    /// process, so `progress` must start neither.
    ///
    /// # Errors
    /// [`EngineError::File`], [`EngineError::Read`] if it is not a transcript, [`EngineError::Store`].
    /// Batches written before an error stay; the next import continues behind them.
    pub fn import_file(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        let (file, place) = open(path)?;
        if let Some(unchanged) = self.unchanged(&place)? {
            return Ok(unchanged);
        }
        run::import(self.store(), BufReader::with_capacity(READ_BYTES, file), &place, progress)
    }

    /// Imports one transcript file, also if its size and modification time say that it did not change.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_file_anyway(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        let (file, place) = open(path)?;
        run::import(self.store(), BufReader::with_capacity(READ_BYTES, file), &place, progress)
    }

    /// Imports a transcript that is not a file.
    ///
    /// * `name` - where it comes from, for people.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_reader(&self, input: impl BufRead, name: &str) -> Result<Imported, EngineError> {
        self.import_sent(input, (name, 0), &mut |_| ())
    }

    /// Imports a transcript that somebody sent.
    ///
    /// * `named` - where it comes from, for people and as a snapshot's path: no such file is opened; and its length, 0
    ///   if that is not known.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_sent(
        &self,
        input: impl BufRead,
        (name, size): (&str, u64),
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        let place = Place { path: Path::new(name), name: name.to_owned(), size, modified_ns: 0 };
        run::import(self.store(), input, &place, progress)
    }

    /// Imports files and folders, in the order given and within a folder sorted by path. Symbolic links
    /// inside folders are not followed. Goes on after errors.
    ///
    /// * `each` - gets every file with its outcome, as it is done.
    pub fn import_paths(
        &self,
        paths: &[PathBuf],
        progress: &mut dyn FnMut(Progress<'_>),
        each: &mut dyn FnMut(&Path, Found),
    ) {
        for path in paths {
            folder::walk(path, &mut |file, given| match file {
                Err(source) => each(given, Found::Failed(EngineError::File { path: given.into(), source })),
                Ok(()) => each(given, Found::of(self.import_file(given, progress), given == path)),
            });
        }
    }

    /// Digest of what is stored: keys and raw chains of all conversations. Stores that were given the same
    /// transcripts have the same digest, whatever the order, the number of times or the steps.
    ///
    /// Cost: O(entries); memory 32 bytes per entry of the largest conversation.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn digest(&self) -> Result<Digest, EngineError> {
        const STEP: u64 = 4096;
        let store = self.store();
        let mut conversations = store.conversations()?;
        conversations.sort_by(|a, b| a.key.cmp(&b.key));
        let mut all = blake3::Hasher::new();
        for conversation in conversations {
            let mut heads = Vec::with_capacity(conversation.entries as usize);
            for from in (0..conversation.entries).step_by(STEP as usize) {
                heads
                    .extend(store.rows(conversation.id, from..from + STEP)?.into_iter().map(|row| row.chain));
            }
            heads.sort_unstable();
            all.update(&(conversation.key.0.len() as u64).to_le_bytes());
            all.update(conversation.key.0.as_bytes());
            all.update(&(heads.len() as u64).to_le_bytes());
            for head in &heads {
                all.update(&head.0.0);
            }
        }
        Ok(Digest(*all.finalize().as_bytes()))
    }

    /// The report for a file that size and modification time prove to be the latest snapshot.
    fn unchanged(&self, place: &Place<'_>) -> Result<Option<Imported>, EngineError> {
        let Some((id, snapshot)) = self.store().snapshot_of_path(&place.name)? else { return Ok(None) };
        if !is_same_file(&snapshot, place) {
            return Ok(None);
        }
        let latest = self.store().snapshots(id)?.last().map(|last| last.number);
        let conversation = self.store().conversation(id)?;
        let format = Format::by_name(&conversation.format);
        let (Some(format), true) = (format, latest == Some(snapshot.number)) else { return Ok(None) };
        Ok(Some(Imported {
            path: place.path.into(),
            format,
            conversation: conversation.key,
            parent: conversation.parent,
            plan: Plan::UpToDate,
            generation: snapshot.generation,
            snapshot: snapshot.number,
            entries: snapshot.length,
            added: 0,
            bytes: snapshot.file_bytes,
            skipped_unchanged: true,
            warnings: Warnings::default(),
        }))
    }
}

/// Whether size and modification time prove that the file is as it was read.
fn is_same_file(snapshot: &Snapshot, place: &Place<'_>) -> bool {
    let is_coarse = place.modified_ns % 1_000_000_000 == 0;
    let settled = if is_coarse { SETTLED_COARSE_NS } else { SETTLED_NS };
    let read_ns = i128::from(snapshot.time.0) * 1_000_000;
    snapshot.file_bytes == place.size
        && snapshot.modified_ns == place.modified_ns
        && read_ns - place.modified_ns > settled
}

fn open(path: &Path) -> Result<(File, Place<'_>), EngineError> {
    let failed = |source| EngineError::File { path: path.into(), source };
    let absolute = fs::canonicalize(path).map_err(failed)?;
    if is_database(&absolute) {
        let source = ReadError::NotATranscript { what: "it belongs to a database that is open".to_owned() };
        return Err(EngineError::Read { path: path.into(), source });
    }
    let file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    let modified = facts.modified().ok().map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    });
    Ok((file, Place { path, name: spelled(&absolute), size: facts.len(), modified_ns: modified }))
}

/// A path as text, so that different paths have different texts: bytes that are not UTF-8 as `\xNN`, and a
/// backslash is doubled in paths that have such bytes.
fn spelled(path: &Path) -> String {
    use std::fmt::Write;
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            write!(text, "\\x{byte:02x}").ok();
        }
    }
    text
}

/// Whether this is a SQLite database that is open, or a file that belongs to one: `-shm` stands beside those.
/// Opening and closing ours would drop the locks that this process holds on it.
fn is_database(path: &Path) -> bool {
    let name = path.as_os_str();
    let beside = |name: &OsStr, end: &str| {
        let mut name = name.to_owned();
        name.push(end);
        Path::new(&name).exists()
    };
    let text = path.to_string_lossy();
    let base = ["-wal", "-shm", ".lock"].iter().find_map(|end| text.strip_suffix(end));
    beside(name, "-shm") || base.is_some_and(|base| beside(OsStr::new(base), "-shm"))
}
