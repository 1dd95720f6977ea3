//! The files of a folder, and their contents.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use unforget_core::digest::{Chain, Digest};
use unforget_core::id::ConversationKey;

use super::FolderHistory;
use crate::error::{Result, SyncError};
use crate::folder_seal::FolderSeal;
use crate::tip::{PurgedEntry, TipLayout, TipPart, TranscriptTip};

/// The file that says what a folder is.
const MARKER: &str = "unforget-sync.json";

/// The format of the folder.
const VERSION: u64 = 1;

/// What the passphrase of a folder encrypts, so that a wrong one is told.
const CHECK: &[u8] = b"unforget";

/// Most bytes of a tip or a mark.
const SMALL_MAX: u64 = 16 << 20;

/// Most bytes of a part: its last record may be as large as a transcript allows.
pub(super) const PART_MAX: u64 = 4 << 30;

/// Letters of the names of tips, parts and marks, before the ending.
const NAME_LETTERS: usize = 32;

/// Beginning of the names of files that are being written.
pub(super) const WRITING: &str = ".writing-";

/// Compression: fast, and nearly as small as more.
const LEVEL: i32 = 3;

/// The content of the marker.
#[derive(Serialize, Deserialize)]
pub(super) struct Marker {
    version: u64,
    /// Of an encrypted folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    /// Of an encrypted folder: known bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

impl Marker {
    /// The marker of a folder; `None` if the folder is new or empty.
    pub(super) fn read(root: &Path) -> Result<Option<Self>> {
        let path = root.join(MARKER);
        match fs::read(&path) {
            Ok(content) => {
                let wrong = || SyncError::OtherFolder { path: root.to_owned() };
                Ok(Some(serde_json::from_slice(&content).map_err(|_| wrong())?))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_empty = match fs::read_dir(root) {
                    Ok(mut entries) => !entries.any(|entry| entry.is_ok_and(|entry| !is_of_system(&entry))),
                    Err(error) if error.kind() == ErrorKind::NotFound => true,
                    Err(source) => return Err(SyncError::File { path: root.to_owned(), source }),
                };
                if is_empty { Ok(None) } else { Err(SyncError::OtherFolder { path: root.to_owned() }) }
            }
            Err(source) => Err(SyncError::File { path, source }),
        }
    }

    /// Makes a new folder.
    pub(super) fn make(root: &Path, passphrase: Option<&str>) -> Result<FolderSeal> {
        let (seal, salt, check) = match passphrase {
            None => (FolderSeal::Open, None, None),
            Some(passphrase) => {
                let salt = FolderSeal::salt()?;
                let seal = FolderSeal::of(passphrase, &salt)?;
                let check = seal.seal(MARKER, CHECK.to_vec())?;
                (seal, Some(STANDARD.encode(salt)), Some(STANDARD.encode(check)))
            }
        };
        let content = serde_json::to_vec(&Self { version: VERSION, salt, check }).unwrap_or_default();
        let path = root.join(MARKER);
        let failed = |source| SyncError::File { path: path.clone(), source };
        match written(&path, &content)?.persist_noclobber(&path) {
            Ok(_) => Ok(seal),
            // Another machine made the folder meanwhile: its salt counts.
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => match Self::read(root)? {
                Some(marker) => marker.seal(root, passphrase),
                None => Err(SyncError::OtherFolder { path: root.to_owned() }),
            },
            Err(error) => Err(failed(error.error)),
        }
    }

    /// The encryption of this folder.
    pub(super) fn seal(&self, root: &Path, passphrase: Option<&str>) -> Result<FolderSeal> {
        if self.version > VERSION {
            return Err(SyncError::NewerFolder {
                path: root.to_owned(),
                version: self.version,
                known: VERSION,
            });
        }
        let refused = |what| Err(SyncError::Passphrase { path: root.to_owned(), what });
        let (Some(salt), Some(check)) = (&self.salt, &self.check) else {
            return match passphrase {
                None => Ok(FolderSeal::Open),
                Some(_) => refused("the folder is not encrypted"),
            };
        };
        let Some(passphrase) = passphrase else { return refused("the folder is encrypted") };
        let decoded = STANDARD.decode(salt).ok().zip(STANDARD.decode(check).ok());
        let Some((salt, check)) = decoded else {
            return Err(SyncError::OtherFolder { path: root.to_owned() });
        };
        let seal = FolderSeal::of(passphrase, &salt)?;
        let is_right = seal.open(MARKER, check).is_some_and(|check| check == CHECK);
        if is_right { Ok(seal) } else { refused("this is another passphrase") }
    }
}

/// Files and folders that systems, drives and programs that carry folders put into every folder.
const SYSTEM_NAMES: [&str; 20] = [
    ".DS_Store",
    ".localized",
    ".fseventsd",
    ".Spotlight-V100",
    ".TemporaryItems",
    ".Trashes",
    ".Trash-1000",
    ".directory",
    ".stfolder",
    ".stignore",
    ".stversions",
    ".sync",
    ".dropbox",
    ".dropbox.cache",
    ".owncloudsync.log",
    ".nextcloudsync.log",
    "lost+found",
    "System Volume Information",
    "desktop.ini",
    "Thumbs.db",
];

/// Whether a file in a new folder is one that systems and drives put into every folder.
fn is_of_system(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    // A process of ours that makes the folder at the same time.
    name.starts_with(WRITING) || SYSTEM_NAMES.iter().any(|system| name.eq_ignore_ascii_case(system))
}

/// The content of a tip's file.
#[derive(Serialize, Deserialize)]
pub(super) struct TipFile {
    conversation: String,
    chain: String,
    length: u64,
    bytes: u64,
    newest_ms: i64,
    parts: Vec<StoredPartDto>,
    /// In Base64.
    trailer: String,
    /// Of the trailer: the chain does not cover it.
    trailer_digest: String,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct StoredPartDto {
    end: u64,
    chain: String,
    bytes: u64,
}

impl TipFile {
    pub(super) fn new(tip: &TranscriptTip, layout: &TipLayout) -> Self {
        let part =
            |part: &TipPart| StoredPartDto { end: part.end, chain: part.chain.0.hex(), bytes: part.bytes };
        Self {
            conversation: tip.key.0.clone(),
            chain: tip.chain.0.hex(),
            length: tip.length,
            bytes: tip.bytes,
            newest_ms: tip.newest_ms,
            parts: layout.parts.iter().map(part).collect(),
            trailer: STANDARD.encode(&layout.trailer),
            trailer_digest: Digest::of(&layout.trailer).hex(),
            name: layout.name.clone(),
        }
    }

    /// Whether everything in it can be read.
    fn is_sound(&self) -> bool {
        let trailer = STANDARD.decode(&self.trailer);
        chain(&self.chain).is_some()
            && self.parts().count() == self.parts.len()
            && trailer.is_ok_and(|trailer| Digest::of(&trailer).hex() == self.trailer_digest)
    }

    pub(super) fn encoded(&self) -> Vec<u8> {
        // A struct of numbers and strings always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn tip(&self) -> Result<TranscriptTip> {
        let chain = chain(&self.chain).ok_or_else(|| SyncError::Damaged {
            place: self.conversation.clone(),
            what: "a tip has no chain".to_owned(),
        })?;
        Ok(TranscriptTip {
            key: ConversationKey(self.conversation.clone()),
            chain,
            length: self.length,
            bytes: self.bytes,
            newest_ms: self.newest_ms,
        })
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = TipPart> {
        let part = |part: &StoredPartDto| {
            Some(TipPart { end: part.end, chain: chain(&part.chain)?, bytes: part.bytes })
        };
        self.parts.iter().filter_map(part)
    }

    pub(super) fn layout(&self) -> TipLayout {
        TipLayout {
            parts: self.parts().collect(),
            trailer: STANDARD.decode(&self.trailer).unwrap_or_default(),
            name: self.name.clone(),
        }
    }
}

/// The content of a mark.
#[derive(Serialize, Deserialize)]
pub(super) struct PurgedFile {
    conversation: String,
    chain: String,
}

impl PurgedFile {
    pub(super) fn new(purged: &PurgedEntry) -> Self {
        Self { conversation: purged.key.0.clone(), chain: purged.chain.0.hex() }
    }

    pub(super) fn encoded(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn chain(hex: &str) -> Option<Chain> {
    Digest::from_hex(hex).map(Chain)
}

/// The kinds of small files.
pub(super) enum FileKind {
    Tip,
    Purged,
}

/// Most bytes of a saying's file: what may be said, encrypted.
pub(super) const SAID_MAX: u64 = 64 << 10;

/// Whether a file is a saying of this program's.
pub(super) fn is_said(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| stem.len() == NAME_LETTERS && ending == "said")
}

/// A small file that was read.
pub(super) enum SmallFile {
    Tip(TipFile),
    Purged(PurgedFile),
}

/// The kind of a file that is read for a list; `None` for parts and files of others, such as the second copies of a drive.
pub(super) fn kind(name: &str) -> Option<FileKind> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ours = stem.len() == NAME_LETTERS && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    match ending {
        "tip" if is_ours => Some(FileKind::Tip),
        "purged" if is_ours => Some(FileKind::Purged),
        _ => None,
    }
}

/// Whether a file is a part of this program's.
pub(super) fn is_part(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| stem.len() == NAME_LETTERS && ending == "part")
}

impl FileKind {
    /// Reads a file; `None` for one that was not written here under its name.
    pub(super) fn read(&self, path: &Path, name: &str, seal: &FolderSeal) -> Option<SmallFile> {
        let content = seal.open(name, read(path, SMALL_MAX).ok()?)?;
        match self {
            Self::Tip => serde_json::from_slice(&content).ok().filter(TipFile::is_sound).map(SmallFile::Tip),
            Self::Purged => serde_json::from_slice(&content).ok().map(SmallFile::Purged),
        }
    }
}

impl SmallFile {
    /// The chain that it is named by; `None` if it has none.
    pub(super) fn chain(&self) -> Option<Chain> {
        match self {
            Self::Tip(file) => chain(&file.chain),
            Self::Purged(file) => chain(&file.chain),
        }
    }

    /// Adds it to its conversation, and returns the conversation's key.
    ///
    /// * `chain` - the one that it is named by.
    pub(super) fn into_history(self, chain: Chain, history: &mut FolderHistory) -> ConversationKey {
        match self {
            Self::Tip(file) => {
                let key = ConversationKey(file.conversation.clone());
                history.tips.insert(chain, file);
                key
            }
            Self::Purged(file) => {
                history.purged.insert(chain);
                ConversationKey(file.conversation)
            }
        }
    }
}

/// Compresses records.
pub(super) fn packed(path: &Path, frames: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(frames, LEVEL).map_err(|source| SyncError::File { path: path.to_owned(), source })
}

/// Decompresses records; `None` for other bytes, or for more than there may be.
pub(super) fn unpacked(content: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut frames = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(content).ok()?;
    decoder.take(most.saturating_add(1)).read_to_end(&mut frames).ok()?;
    (frames.len() as u64 <= most).then_some(frames)
}

/// Folders in a folder; none if it does not exist.
pub(super) fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let all = match fs::read_dir(path) {
        Ok(all) => all,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(SyncError::File { path: path.to_owned(), source }),
    };
    let mut folders = Vec::new();
    for entry in all {
        let entry = entry.map_err(|source| SyncError::File { path: path.to_owned(), source })?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// Names of the files in a folder.
pub(super) fn names(path: &Path) -> Result<Vec<String>> {
    let failed = |source| SyncError::File { path: path.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

/// Reads a regular file, and of another one nothing.
///
/// # Errors
/// Also for a file with more than `most` bytes.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = |source| SyncError::File { path: path.to_owned(), source };
    let told = |what: &str| failed(std::io::Error::new(ErrorKind::InvalidData, what));
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(told("not a regular file"));
    }
    let mut content = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(most.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > most { Err(told("larger than such a file is")) } else { Ok(content) }
}

/// Writes a file so that it is there whole or not at all, also after a power loss.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<()> {
    let failed = |source| SyncError::File { path: path.to_owned(), source };
    written(path, content)?.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The content of a file, on disk but not yet under its name.
fn written(path: &Path, content: &[u8]) -> Result<NamedTempFile> {
    let failed = |source| SyncError::File { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let is_shared = is_shared(folder);
    let mut maker = fs::DirBuilder::new();
    maker.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, if is_shared { 0o777 } else { 0o700 });
    maker.create(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(WRITING);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(if is_shared { 0o666 } else { 0o600 }));
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    Ok(file)
}

/// Whether others may write in the folder of histories: they read and write the same files as other users, as far as the
/// mask of each one lets them.
///
/// * `folder` - that folder or one in it, which need not be there.
#[cfg(unix)]
fn is_shared(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let root = folder.ancestors().find(|folder| folder.join(MARKER).exists()).unwrap_or(folder);
    fs::metadata(root).is_ok_and(|root| root.permissions().mode() & 0o022 != 0)
}

#[cfg(not(unix))]
const fn is_shared(_: &Path) -> bool {
    true
}

/// Removes a file that another machine may have removed.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(SyncError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
