//! Sessions in the database of a host: each becomes a transcript that begins with what is stored of it.
//!
//! ```text
//! rows of a session ─▶ hosts: one record per message ─▶ those that are new or changed, behind the stored ones ─▶ import
//! ```
//!
//! A host changes rows and deletes them; a transcript only grows. A changed row is a new record with the same id, a deleted one a
//! record that says so, and everything that was read once stays.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use unforget_core::digest::Digest;
use unforget_core::id::ConversationKey;
use unforget_hosts::{HostDatabase, HostDatabaseError, HostSession, is_sqlite};
use unforget_store::{Conversation, Snapshot};

use super::{
    FileToSend, Imported, Progress, READ_BYTES, SETTLED_NS, TranscriptOrigin, again_if_overtaken,
    exists_beside, run, spelled,
};
use crate::rows::stored_portions;
use crate::{Engine, EngineError};

/// What is stored of a session, by the host's ids.
struct StoredSession {
    /// Name of the transcript format, which is the first key of every record.
    format: &'static str,
    /// Digest of the newest record with each id; `None` if it was purged, and must not come back.
    newest: HashMap<String, Option<Digest>>,
    /// Ids of the messages that the host still had, in order.
    alive: Vec<String>,
    has_records: bool,
}

impl StoredSession {
    fn new(format: &'static str) -> Self {
        Self { format, newest: HashMap::new(), alive: Vec::new(), has_records: false }
    }

    /// Whether a record is one of ours: it says that a row was deleted (`gone`), or takes back a message and all behind it (`rewind`).
    fn is_mark(&self, body: &[u8], kind: &str) -> bool {
        let rest = body.strip_prefix(b"{\"").and_then(|rest| rest.strip_prefix(self.format.as_bytes()));
        let rest = rest.and_then(|rest| rest.strip_prefix(b"\":\""));
        rest.and_then(|rest| rest.strip_prefix(kind.as_bytes())).is_some_and(|rest| rest.starts_with(b"\","))
    }

    /// Takes the next stored record.
    fn take(&mut self, id: Option<&str>, body: &[u8]) {
        self.has_records = true;
        if self.is_mark(body, "rewind") {
            let to = id_in(body, "to");
            if let Some(place) = self.alive.iter().position(|id| Some(id) == to.as_ref()) {
                for id in self.alive.drain(place..) {
                    self.newest.remove(&id);
                }
            }
        } else if let Some(id) = id {
            if self.is_mark(body, "gone") {
                self.newest.remove(id);
                self.alive.retain(|alive| alive != id);
                return;
            }
            let digest = (!body.is_empty()).then(|| Digest::of(body));
            if self.newest.insert(id.to_owned(), digest).is_none() {
                self.alive.push(id.to_owned());
            }
        }
    }

    /// Whether a record is stored as it is now, or was purged.
    fn has(&self, id: &str, line: &str) -> bool {
        match self.newest.get(id) {
            Some(Some(digest)) => *digest == Digest::of(line.as_bytes()),
            Some(None) => true,
            None => false,
        }
    }

    /// Records that tell what the host deleted.
    ///
    /// * `ids` - of the host's records now.
    fn deletions(&self, ids: &[String]) -> Vec<String> {
        let now: HashSet<&String> = ids.iter().collect();
        let kept = self.alive.iter().take_while(|id| now.contains(id)).count();
        let (_, rest) = self.alive.split_at(kept);
        match rest {
            [] => Vec::new(),
            [first, ..] if rest.iter().all(|id| !now.contains(id)) => {
                vec![self.mark("rewind", "to", first)]
            }
            rest => {
                rest.iter().filter(|id| !now.contains(id)).map(|id| self.mark("gone", "id", id)).collect()
            }
        }
    }

    fn mark(&self, kind: &str, key: &str, id: &str) -> String {
        format!(r#"{{"{}":"{kind}","{key}":{}}}"#, self.format, serde_json::Value::from(id))
    }
}

fn id_in(body: &[u8], key: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(record.get(key)?.as_str()?.to_owned())
}

impl Engine {
    /// Imports a transcript file, or every session in the database of a host.
    ///
    /// * `is_anyway` - imports what seems unchanged, too.
    /// * `each` - called with every transcript and its outcome as soon as it is done. A session in a database is named
    ///   `DATABASE#SESSION`.
    pub fn import_any(
        &self,
        path: &Path,
        is_anyway: bool,
        progress: &mut dyn FnMut(Progress<'_>),
        each: &mut dyn FnMut(&Path, Result<Imported, EngineError>),
    ) {
        if !is_host_database(path) {
            let outcome = if is_anyway {
                self.import_file_anyway(path, progress)
            } else {
                self.import_file(path, progress)
            };
            return each(path, outcome);
        }
        self.sessions_to_send(path, is_anyway, &mut |named, found| {
            let outcome = found.and_then(|found| self.import_session(named, found, progress));
            each(named, outcome);
        });
    }

    /// What [`Engine::import_any`] would read, for a process that owns the database: see [`Engine::file_to_send`].
    pub fn any_to_send(
        &self,
        path: &Path,
        is_anyway: bool,
        each: &mut dyn FnMut(&Path, Result<FileToSend, EngineError>),
    ) {
        if is_host_database(path) {
            self.sessions_to_send(path, is_anyway, each);
        } else {
            each(path, self.file_to_send(path, is_anyway));
        }
    }

    fn import_session(
        &self,
        named: &Path,
        found: FileToSend,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Imported, EngineError> {
        match found {
            FileToSend::Unchanged(imported) => Ok(*imported),
            FileToSend::Changed { file, name, modified_ns } => {
                let size = file.metadata().map_or(0, |facts| facts.len());
                let place =
                    TranscriptOrigin { path: named, name, size, modified_ns: i128::from(modified_ns) };
                let failed = |source| EngineError::File { path: named.into(), source };
                again_if_overtaken(|| {
                    let mut again = file.try_clone().map_err(failed)?;
                    again.rewind().map_err(failed)?;
                    run::import(self.store(), BufReader::with_capacity(READ_BYTES, again), &place, progress)
                })
            }
        }
    }

    fn sessions_to_send(
        &self,
        path: &Path,
        is_anyway: bool,
        each: &mut dyn FnMut(&Path, Result<FileToSend, EngineError>),
    ) {
        let failed = |source| EngineError::HostDatabase { path: path.into(), source };
        let opened = HostDatabase::open(path).and_then(|database| Ok((database.sessions()?, database)));
        let (sessions, mut database) = match opened {
            Ok(opened) => opened,
            Err(source) => return each(path, Err(failed(source))),
        };
        for session in sessions {
            let named = PathBuf::from(format!("{}#{}", path.display(), session.id));
            let found = self.session_to_send(&mut database, &session, is_anyway, &named);
            each(&named, found);
        }
    }

    fn session_to_send(
        &self,
        database: &mut HostDatabase,
        session: &HostSession,
        is_anyway: bool,
        named: &Path,
    ) -> Result<FileToSend, EngineError> {
        let unopened = |source| EngineError::File { path: database.path().into(), source };
        let absolute = fs::canonicalize(database.path()).map_err(unopened)?;
        let name = format!("{}#{}", spelled(&absolute), session.id);
        let is_same = |snapshot: &Snapshot| is_same_session(snapshot, session);
        if !is_anyway && let Some(unchanged) = self.latest_import(named, &name, is_same)? {
            return Ok(FileToSend::Unchanged(Box::new(unchanged)));
        }
        let key = ConversationKey(format!("{}:{}", database.format(), session.id));
        let stored = self.store().find(&key)?;
        let failed = |source| EngineError::File { path: named.into(), source };
        let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
        let known = match &stored {
            Some(stored) => self.write_stored(stored, database.format(), &mut out, named)?,
            None => StoredSession::new(database.format()),
        };
        write_new(database, session, &known, &mut out)
            .map_err(|source| EngineError::HostDatabase { path: named.into(), source })?;
        let mut file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        Ok(FileToSend::Changed { file, name, modified_ns: session.stamp })
    }

    /// Writes the stored records of a session as they are.
    fn write_stored(
        &self,
        stored: &Conversation,
        format: &'static str,
        out: &mut BufWriter<File>,
        named: &Path,
    ) -> Result<StoredSession, EngineError> {
        let (store, id) = (self.store(), stored.id);
        let failed = |source| EngineError::File { path: named.into(), source };
        let mut known = StoredSession::new(format);
        for portion in stored_portions(store, id, store.path(id, stored.current, stored.length)?) {
            let portion = portion?;
            for (row, raw) in portion.rows.iter().zip(portion.raw(store, id)?) {
                out.write_all(&raw.lead).and_then(|()| out.write_all(&raw.body)).map_err(failed)?;
                known.take(row.host_id.as_deref(), &raw.body);
            }
        }
        Ok(known)
    }
}

/// Writes the records that are not stored as they are now, behind the stored ones.
fn write_new(
    database: &mut HostDatabase,
    session: &HostSession,
    known: &StoredSession,
    out: &mut BufWriter<File>,
) -> Result<(), HostDatabaseError> {
    let mut is_first = !known.has_records;
    let mut write = |line: &str| -> io::Result<()> {
        if !std::mem::take(&mut is_first) {
            out.write_all(b"\n")?;
        }
        out.write_all(line.as_bytes())
    };
    for line in known.deletions(&database.ids(&session.id)?) {
        write(&line)?;
    }
    database.read(&session.id, &mut |record| {
        if known.has(&record.id, &record.line) { Ok(()) } else { write(&record.line) }
    })?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Whether a path is a SQLite database of another program. Files beside an open database are none, and an open database is not
/// opened to look.
fn is_host_database(path: &Path) -> bool {
    let is_part = ["-wal", "-shm", "-journal"].iter().any(|end| path.to_string_lossy().ends_with(end));
    !is_part && (exists_beside(path.as_os_str(), "-shm") || is_sqlite(path))
}

/// Whether the stamp proves that the session has not changed since the snapshot.
fn is_same_session(snapshot: &Snapshot, session: &HostSession) -> bool {
    let read_ns = i128::from(snapshot.time.0) * 1_000_000;
    snapshot.modified_ns == i128::from(session.stamp) && read_ns - i128::from(session.stamp) > SETTLED_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_table() {
        let stored = |script: &str| {
            let mut stored = StoredSession::new("opencode");
            for word in script.split_whitespace() {
                match word.split_at(1) {
                    ("-", id) => {
                        let gone = stored.mark("gone", "id", id);
                        stored.take(Some(id), gone.as_bytes());
                    }
                    ("<", id) => {
                        let rewind = stored.mark("rewind", "to", id);
                        stored.take(None, rewind.as_bytes());
                    }
                    (_, id) => stored.take(Some(id), id.as_bytes()),
                }
            }
            stored
        };
        let table = [
            ("", "a", "", "nothing is stored"),
            ("+a +b", "a b c", "", "it grew"),
            ("+a +b +c", "a", "rewind b", "the end is gone"),
            ("+a +b +c", "a c", "gone b", "one in the middle"),
            ("+a +b +c <b", "a", "", "told already"),
            ("+a +b +c -b", "a c", "", "told already"),
            ("+a +b +c <b +d", "a", "rewind d", "told, and gone again"),
            ("+a +b", "", "rewind a", "all"),
        ];
        for (script, now, want, why) in table {
            let ids: Vec<String> = now.split_whitespace().map(str::to_owned).collect();
            let told = stored(script).deletions(&ids);
            let shown = |line: &String| {
                let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                let id = record.get("to").or(record.get("id")).and_then(|id| id.as_str()).unwrap_or("?");
                format!("{} {id}", record.get("opencode").and_then(|kind| kind.as_str()).unwrap_or("?"))
            };
            assert_eq!(told.iter().map(shown).collect::<Vec<_>>().join(", "), want, "{why}");
        }
        assert!(!stored("+a +b +c <b").has("b", "b"), "a message that comes back is written again");
        assert!(stored("+a").has("a", "a") && !stored("+a").has("a", "changed"));
    }
}
