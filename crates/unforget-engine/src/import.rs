//! Transcript files into the store, exactly once.
//!
//! ```text
//! file ─▶ wire::Reader ─▶ StoredPrefix ─▶ core::reconcile::plan ─▶ Crew (prepare) ─▶ BatchWriter ─▶ append
//! ```
//!
//! The stored prefix of a transcript is recognised by its raw chain and skipped. All records behind the prefix are new:
//! two threads prepare them (tokens, digests, search terms, compression), and the writer stores them in batches of one
//! transaction each. The last batch carries the snapshot that makes the file current. An import that crashed is
//! repeated and continues where the last transaction ended.

mod crew;
mod folder;
mod known;
mod lineage;
mod run;
mod sessions;
mod writer;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::iter::once;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationKey, Generation};
use unforget_core::reconcile::ImportPlan;
use unforget_store::{FoundSnapshot, Snapshot, read_all};
use unforget_wire::{Format, ReadError, Warning};

use crate::rows::stored_rows;
use crate::{Engine, EngineError};

pub use folder::{Found, passed_over};

/// Number of warnings listed in a report; further ones are only counted.
pub const WARNINGS_LISTED: usize = 20;

/// Bytes that one read takes from a file.
const READ_BYTES: usize = 256 * 1024;

/// Minimum age of a file in ns at the time of reading. Only then does an unchanged modification time prove unchanged
/// bytes: clocks of file systems tick every few milliseconds, some every two seconds.
const SETTLED_NS: i128 = 50_000_000;
const SETTLED_COARSE_NS: i128 = 2_000_000_000;

/// A transcript that was received as bytes, such as an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedTranscript<'a> {
    /// Origin for people, also stored as the path of the snapshot. No such file is opened.
    pub name: &'a str,
    /// Length in bytes, 0 if unknown.
    pub bytes: u64,
    /// Modification time of the file `name`, in ns since 1970; 0 if unknown. Given only if the time was settled when the
    /// file was read, as by [`Engine::file_to_send`].
    pub modified_ns: i64,
}

/// A file before it is sent to a process that owns the database.
#[derive(Debug)]
pub enum FileToSend {
    /// The stored snapshot is this file: there is nothing to send.
    Unchanged(Box<Imported>),
    /// The file is new or may have changed.
    Changed {
        /// Its contents.
        file: File,
        /// Name and modification time for [`ReceivedTranscript`].
        name: String,
        /// As in [`ReceivedTranscript`].
        modified_ns: i64,
    },
}

/// Progress of an import.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file.
    pub path: &'a Path,
    /// Bytes read so far.
    pub bytes: u64,
    /// Size of the file when it was opened; 0 if unknown.
    pub total: u64,
    /// Records read so far.
    pub entries: u64,
}

/// Irregularities in a file: the first few and the total number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// At most [`WARNINGS_LISTED`], in file order.
    pub first: Vec<Warning>,
    /// Total number.
    pub count: u64,
}

/// Result of the import of one file.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The file, as given.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// The conversation recorded in the file.
    pub conversation: ConversationKey,
    /// For a sub-agent: the conversation that started this one.
    pub parent: Option<ConversationKey>,
    /// How the file relates to the stored records.
    pub plan: ImportPlan,
    /// The generation that is current after the import.
    pub generation: Generation,
    /// Number of the snapshot that reproduces the file.
    pub snapshot: u64,
    /// Records in the file.
    pub entries: u64,
    /// Number of records that were not stored before.
    pub added: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// True if size and modification time proved that the file is unchanged and was not read.
    pub skipped_unchanged: bool,
    /// Irregularities in the file.
    pub warnings: Warnings,
}

/// Origin of the bytes, as a snapshot records it.
pub(crate) struct TranscriptOrigin<'a> {
    /// Path for errors and progress.
    path: &'a Path,
    /// Absolute path as text; see [`spelled`].
    name: String,
    size: u64,
    modified_ns: i128,
}

impl Engine {
    /// Imports one transcript file, unless it has not changed since it was last imported.
    ///
    /// A repeated import changes nothing, even after a crash in the middle. Memory does not grow with the file: a few
    /// batches of 2 MiB, or the largest record. The conversation is locked meanwhile, so `progress` must start neither
    /// an import nor index upkeep.
    ///
    /// # Errors
    /// [`EngineError::File`], [`EngineError::Read`] if the file is not a transcript, [`EngineError::Store`]. Batches
    /// written before an error stay stored; the next import continues behind them.
    pub fn import_file(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        let (_, place) = open(path)?;
        if let Some(unchanged) = self.unchanged(&place)? {
            return Ok(unchanged);
        }
        self.import_file_anyway(path, progress)
    }

    /// Imports one transcript file even if its size and modification time suggest that it did not change.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_file_anyway(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        again_if_overtaken(|| {
            let (file, place) = open(path)?;
            run::import(self.store(), BufReader::with_capacity(READ_BYTES, file), &place, progress)
        })
    }

    /// Imports a transcript from a reader.
    ///
    /// * `name` - origin of the transcript, for people.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_reader(&self, input: impl BufRead, name: &str) -> Result<Imported, EngineError> {
        self.import_sent(input, ReceivedTranscript { name, bytes: 0, modified_ns: 0 }, &mut |_| ())
    }

    /// Imports a transcript received over the network.
    ///
    /// # Errors
    /// As [`Engine::import_file`].
    pub fn import_sent(
        &self,
        input: impl BufRead,
        received: ReceivedTranscript<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        let ReceivedTranscript { name, bytes, modified_ns } = received;
        let modified_ns = i128::from(modified_ns);
        let place =
            TranscriptOrigin { path: Path::new(name), name: name.to_owned(), size: bytes, modified_ns };
        run::import(self.store(), input, &place, progress)
    }

    /// Opens a file that another process imports, unless size and modification time prove that its latest snapshot is
    /// stored. For readers of a database that a daemon owns.
    ///
    /// * `anyway` - opens an unchanged file too.
    ///
    /// # Errors
    /// [`EngineError::File`], [`EngineError::Store`].
    pub fn file_to_send(&self, path: &Path, anyway: bool) -> Result<FileToSend, EngineError> {
        let (file, place) = open(path)?;
        if !anyway && let Some(unchanged) = self.unchanged(&place)? {
            return Ok(FileToSend::Unchanged(Box::new(unchanged)));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i128);
        // The other process stamps its snapshot later than the file is read here.
        let is_settled = now - place.modified_ns > settled_after(place.modified_ns);
        let modified_ns = if is_settled { i64::try_from(place.modified_ns).unwrap_or(0) } else { 0 };
        Ok(FileToSend::Changed { file, name: place.name, modified_ns })
    }

    /// Whether a file with this size and modification time was imported from this place.
    ///
    /// # Errors
    /// As [`Engine::file_to_send`].
    pub fn has_file(&self, path: &Path) -> Result<bool, EngineError> {
        let (_, place) = open(path)?;
        let found = self.store().snapshot_of_path(&place.name)?;
        let is_it = |of: &Snapshot| of.file_bytes == place.size && of.modified_ns == place.modified_ns;
        Ok(found.is_some_and(|found| is_it(&found.snapshot)))
    }

    /// Imports files and folders in the given order; the files of a folder are sorted by path. Symbolic links inside
    /// folders are not followed. Errors do not stop the import of the remaining files.
    ///
    /// * `force` - reads files again whose size and time did not change.
    /// * `each` - called with every file and its outcome as soon as the file is done.
    pub fn import_paths(
        &self,
        paths: &[PathBuf],
        force: bool,
        progress: &mut dyn FnMut(Progress<'_>),
        each: &mut dyn FnMut(&Path, Found),
    ) {
        for path in paths {
            unforget_guard::walk(path, &mut |file, given| {
                let is_asked = given == path;
                match (file, passed_over(given)) {
                    (Err(source), _) => {
                        each(given, Found::Failed(EngineError::File { path: given.into(), source }));
                    }
                    (Ok(()), Some(why)) if !is_asked => each(given, Found::Skipped(why.to_owned())),
                    (Ok(()), _) => self.import_any(given, force, progress, &mut |path, outcome| {
                        each(path, Found::of(outcome, is_asked));
                    }),
                }
            });
        }
    }

    /// Digest of the stored keys and raw chains of all conversations. Two stores that received the same transcripts
    /// have the same digest, regardless of order, repetitions and intermediate states.
    ///
    /// Cost: O(entries); memory 32 bytes per entry of the largest conversation.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn digest(&self) -> Result<Digest, EngineError> {
        let store = self.store();
        let mut conversations = read_all(|page| store.conversations(page))?;
        conversations.sort_by(|a, b| a.key.cmp(&b.key));
        let mut all = blake3::Hasher::new();
        for conversation in conversations {
            let mut heads = Vec::with_capacity(conversation.entries as usize);
            for row in stored_rows(store, conversation.id, once(0..conversation.entries)) {
                heads.push(row?.chain);
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

    /// The report for a file that size and modification time identify as the one that was read last at this place, `None`
    /// for any other file.
    fn unchanged(&self, place: &TranscriptOrigin<'_>) -> Result<Option<Imported>, EngineError> {
        self.latest_import(place.path, &place.name, |snapshot| is_same_file(snapshot, place))
    }

    /// The report for a transcript whose latest snapshot is known to be what would be read now. Another file of the
    /// session may have been read since: an unchanged file has nothing to add to it, and reading both in turn would make
    /// a new snapshot each time.
    ///
    /// * `name` - name of the transcript in its snapshots.
    fn latest_import(
        &self,
        path: &Path,
        name: &str,
        is_same: impl FnOnce(&Snapshot) -> bool,
    ) -> Result<Option<Imported>, EngineError> {
        let found = self.store().snapshot_of_path(name)?;
        let Some(FoundSnapshot { conversation: id, snapshot }) = found else { return Ok(None) };
        if !is_same(&snapshot) {
            return Ok(None);
        }
        let conversation = self.store().conversation(id)?;
        let Some(format) = Format::by_name(&conversation.format) else { return Ok(None) };
        Ok(Some(Imported {
            path: path.into(),
            format,
            conversation: conversation.key,
            parent: conversation.parent,
            plan: ImportPlan::UpToDate,
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

/// How often an import begins again because another process wrote to its conversation.
const TRIES: usize = 5;

/// Imports once more, from the start of the file, where another process wrote to the conversation meanwhile: what it wrote
/// is then recognised like everything else that is stored.
fn again_if_overtaken(
    mut import: impl FnMut() -> Result<Imported, EngineError>,
) -> Result<Imported, EngineError> {
    for _ in 1..TRIES {
        match import() {
            Err(EngineError::Store(error)) if error.is_overtaken() => {}
            done => return done,
        }
    }
    import()
}

/// Whether size and modification time prove that the file has not changed since the snapshot.
fn is_same_file(snapshot: &Snapshot, place: &TranscriptOrigin<'_>) -> bool {
    let settled = settled_after(place.modified_ns);
    let read_ns = i128::from(snapshot.time.0) * 1_000_000;
    snapshot.file_bytes == place.size
        && snapshot.modified_ns == place.modified_ns
        && read_ns - place.modified_ns > settled
}

/// Age in ns after which a modification time proves that the file did not change.
const fn settled_after(modified_ns: i128) -> i128 {
    let is_coarse = modified_ns % 1_000_000_000 == 0;
    if is_coarse { SETTLED_COARSE_NS } else { SETTLED_NS }
}

fn open(path: &Path) -> Result<(File, TranscriptOrigin<'_>), EngineError> {
    let failed = |source| EngineError::File { path: path.into(), source };
    let absolute = fs::canonicalize(path).map_err(failed)?;
    if is_database(&absolute) {
        let what = "it belongs to a database that is open".to_owned();
        let source = ReadError::NotATranscript { what, is_begun: false };
        return Err(EngineError::Read { path: path.into(), source });
    }
    let file = unforget_guard::open_now(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
    }
    let modified = facts.modified().ok().map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    });
    Ok((file, TranscriptOrigin { path, name: spelled(&absolute), size: facts.len(), modified_ns: modified }))
}

/// A path as text. Different paths have different texts: bytes outside of UTF-8 appear as `\xNN`, and a path with such
/// bytes has its backslashes doubled.
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

/// Whether the path is an SQLite database in use or one of its companion files, recognised by a `-shm` file. Opening
/// and closing our own database as a transcript would drop the locks that this process holds on it.
fn is_database(path: &Path) -> bool {
    let name = path.as_os_str();
    let text = path.to_string_lossy();
    let base = ["-wal", "-shm", ".lock"].iter().find_map(|end| text.strip_suffix(end));
    exists_beside(name, "-shm") || base.is_some_and(|base| exists_beside(OsStr::new(base), "-shm"))
}

/// Whether there is a file with this name and ending.
fn exists_beside(name: &OsStr, end: &str) -> bool {
    let mut name = name.to_owned();
    name.push(end);
    Path::new(&name).exists()
}
