//! What was acknowledged, in a small file beside the database.
//!
//! A log that is cut or damaged ends earlier for SQLite, and nothing in the database says that there was more. So after
//! the sync of a commit, and before its caller hears of it, the number of entries is written here, without a sync: it
//! survives a kill of the process and damage of the other files. A power cut may lose it; then it says less, never more.
//!
//! `PATH.acknowledged` has two places that are written in turn, each with a seal. It belongs to one file: copies,
//! backups and restored files have another inode or time of birth, and nothing is said about them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OptionalExtension};
use unforget_core::id::{ConversationId, ConversationKey};

use super::fault::Outcome;
use super::identity::number;
use super::open::make_private;
use crate::codes::{int, uint};
use crate::port::LostEntries;

/// Begins a place.
const MAGIC: &[u8; 8] = b"UnFgAck1";

/// Bytes between the two places: one is less than that.
const PLACE: u64 = 4096;

/// Most conversations that are named; the others count in the sum only.
const NAMED: usize = 64;

/// Bytes of the seal of a place.
const SEAL: usize = 16;

/// The file that a record belongs to: device, inode, time of birth in ns since 1970.
type Birth = [u64; 3];

/// The identity of a file, found without opening the file; `None` if the system does not tell it.
fn birth(db: &Path) -> Option<Birth> {
    let (device, inode) = number(db)?;
    let born = std::fs::metadata(db).ok()?.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some([device, inode, u64::try_from(born.as_nanos()).ok()?])
}

/// Entries of a conversation that were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gone {
    conversation: u64,
    /// Number of entries that are there.
    left: u64,
    /// Number of entries that were acknowledged.
    had: u64,
}

/// What a place says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Record {
    birth: Birth,
    turn: u64,
    /// Number of entries of all conversations.
    entries: u64,
    /// The conversations that were written to last, and their numbers of entries.
    named: Vec<(u64, u64)>,
    /// Found missing when the database was opened before.
    gone: Vec<Gone>,
    /// Number of missing entries whose conversation is not known.
    gone_elsewhere: u64,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let named = self.named.iter().flat_map(|(id, entries)| [*id, *entries]);
        let gone = self.gone.iter().flat_map(|gone| [gone.conversation, gone.left, gone.had]);
        let sizes = [self.named.len() as u64, self.gone.len() as u64];
        let head = self.birth.into_iter().chain([self.turn, self.entries, self.gone_elsewhere]).chain(sizes);
        let numbers = head.chain(named).chain(gone).flat_map(u64::to_le_bytes);
        let mut bytes: Vec<u8> = MAGIC.iter().copied().chain(numbers).collect();
        let seal = blake3::hash(&bytes);
        bytes.extend(seal.as_bytes().iter().take(SEAL));
        bytes
    }

    /// `None` if the place is empty or damaged.
    fn decode(place: &[u8]) -> Option<Self> {
        let rest = place.strip_prefix(MAGIC)?;
        let numbers: Vec<u64> =
            rest.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let [a, b, c, turn, entries, gone_elsewhere, named, gone, lists @ ..] = numbers.as_slice() else {
            return None;
        };
        let named_end = usize::try_from(*named).ok().filter(|count| *count <= NAMED)?.checked_mul(2)?;
        let gone_end = usize::try_from(*gone)
            .ok()
            .filter(|count| *count <= NAMED)?
            .checked_mul(3)?
            .checked_add(named_end)?;
        let length = gone_end.checked_add(8)?.checked_mul(8)?.checked_add(MAGIC.len())?;
        let seal = place.get(length..length.checked_add(SEAL)?)?;
        if blake3::hash(place.get(..length)?).as_bytes().get(..SEAL)? != seal {
            return None;
        }
        let pairs = lists.get(..named_end)?.as_chunks::<2>().0;
        let threes = lists.get(named_end..gone_end)?.as_chunks::<3>().0;
        Some(Self {
            birth: [*a, *b, *c],
            turn: *turn,
            entries: *entries,
            named: pairs.iter().map(|[id, entries]| (*id, *entries)).collect(),
            gone: threes
                .iter()
                .map(|[conversation, left, had]| Gone { conversation: *conversation, left: *left, had: *had })
                .collect(),
            gone_elsewhere: *gone_elsewhere,
        })
    }

    /// The newest record about a file.
    ///
    /// * `born` - the identity of the file.
    fn read(db: &Path, born: Option<Birth>) -> Option<Self> {
        let bytes = std::fs::read(path_of(db)).ok()?;
        let second = bytes.get(PLACE as usize..).unwrap_or_default();
        let found = [bytes.as_slice(), second].into_iter().filter_map(Self::decode);
        let newest = found.max_by_key(|record| record.turn)?;
        (Some(newest.birth) == born).then_some(newest)
    }

    /// The record after a comparison with the database. Entries that the record counts and the database lacks are gone.
    fn compared(mut self, conn: &Connection) -> Outcome<Self> {
        let there = entries_of_all(conn)?;
        let mut known = 0;
        for (conversation, had) in std::mem::take(&mut self.named) {
            let left = conn
                .prepare_cached("SELECT entries FROM conversation WHERE id = ?")?
                .query_row([int(conversation)], |row| row.get(0))
                .optional()?
                .map_or(0, uint);
            if left < had {
                known += had - left;
                self.gone.push(Gone { conversation, left, had });
            }
        }
        self.gone_elsewhere += self.entries.saturating_sub(there).saturating_sub(known);
        self.gone.truncate(NAMED);
        self.entries = there;
        Ok(self)
    }
}

fn entries_of_all(conn: &Connection) -> Outcome<u64> {
    let sum: i64 =
        conn.query_row("SELECT coalesce(sum(entries), 0) FROM conversation", [], |row| row.get(0))?;
    Ok(uint(sum))
}

/// `db` with `.acknowledged` added.
pub(super) fn path_of(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push(".acknowledged");
    PathBuf::from(path)
}

/// The acknowledged entries that the database lacks. It is read after the file, so that a commit in between is no loss.
pub(super) struct Remembered(Option<Record>);

impl Remembered {
    /// Reads the file.
    pub(super) fn of(db: &Path) -> Self {
        Self(Record::read(db, birth(db)))
    }

    /// Compares it with the database.
    pub(super) fn lost(self, conn: &Connection) -> Outcome<Vec<LostEntries>> {
        let Some(record) = self.0 else { return Ok(Vec::new()) };
        let record = record.compared(conn)?;
        let mut lost = Vec::new();
        for Gone { conversation, left, had } in record.gone {
            let key = conn
                .prepare_cached("SELECT key FROM conversation WHERE id = ?")?
                .query_row([int(conversation)], |row| row.get(0))
                .optional()?;
            lost.push(LostEntries {
                conversation: key.map(ConversationKey),
                from: left,
                entries: had - left,
            });
        }
        if record.gone_elsewhere > 0 {
            lost.push(LostEntries { conversation: None, from: 0, entries: record.gone_elsewhere });
        }
        Ok(lost)
    }
}

/// The record of an owner.
pub(super) struct Acknowledged {
    /// The file that is written.
    path: PathBuf,
    /// Whether the database has an identity. Without one nothing is written.
    has_birth: bool,
    state: Mutex<AckState>,
}

struct AckState {
    record: Record,
    file: Option<File>,
    /// Appends of the transaction that is open.
    open: Vec<AckAppend>,
    /// Appends that are not on the disk yet, with the numbers of their transactions.
    pending: BTreeMap<u64, Vec<AckAppend>>,
}

/// An append inside its transaction.
struct AckAppend {
    conversation: u64,
    entries: u64,
    added: u64,
}

impl Acknowledged {
    /// For an open database.
    pub(super) fn of(db: &Path, conn: &Connection) -> Outcome<Self> {
        // The open file keeps its identity, whatever is put in its place later.
        let born = birth(db);
        let record = match Record::read(db, born) {
            Some(record) => record.compared(conn)?,
            None => Record {
                entries: entries_of_all(conn)?,
                birth: born.unwrap_or_default(),
                ..Record::default()
            },
        };
        let state = AckState { record, file: None, open: Vec::new(), pending: BTreeMap::new() };
        Ok(Self { path: path_of(db), has_birth: born.is_some(), state: Mutex::new(state) })
    }

    /// Notes an append of the open transaction.
    ///
    /// * `entries` - of the conversation, with those that were added.
    pub(super) fn note(&self, conversation: ConversationId, entries: u64, added: u64) {
        if added > 0 {
            self.state().open.push(AckAppend { conversation: conversation.0, entries, added });
        }
    }

    /// Notes the end of the open transaction; `None` if it was rolled back.
    pub(super) fn ended(&self, number: Option<u64>) {
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        if let Some(number) = number.filter(|_| !open.is_empty()) {
            state.pending.insert(number, open);
        }
    }

    /// Writes down what is on the disk, up to a transaction. If the file cannot be written, it says less.
    pub(super) fn on_disk(&self, number: u64) {
        let mut state = self.state();
        let later = state.pending.split_off(&(number + 1));
        let done = std::mem::replace(&mut state.pending, later);
        if done.is_empty() {
            return;
        }
        for AckAppend { conversation, entries, added } in done.into_values().flatten() {
            let record = &mut state.record;
            record.entries += added;
            record.named.retain(|(id, _)| *id != conversation);
            record.named.push((conversation, entries));
            let over = record.named.len().saturating_sub(NAMED);
            record.named.drain(..over);
        }
        if self.has_birth {
            state.write(&self.path).ok();
        }
    }

    fn state(&self) -> MutexGuard<'_, AckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AckState {
    fn write(&mut self, path: &Path) -> std::io::Result<()> {
        let file = if let Some(file) = &self.file {
            file
        } else {
            make_private(path)?;
            self.file.insert(File::options().read(true).write(true).open(path)?)
        };
        self.record.turn += 1;
        write_at(file, &self.record.encode(), self.record.turn % 2 * PLACE)
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}
