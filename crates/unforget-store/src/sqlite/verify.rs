//! Verify: reads everything back and locates the first damage of each kind.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rusqlite::Connection;
use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, ConversationKey, Seq};

use super::acknowledged::Remembered;
use super::bytes::Assembler;
use super::conversations::FoundConversation;
use super::derived::SEALED;
use super::entries;
use super::fault::Outcome;
use super::seal::{BrokenOf, Seals, check_all};
use super::{SqliteStore, conversations, maintain, paths, summaries};
use crate::chain_walk::{ChainBefore, OTHER_BYTES, OTHER_PLACE, bytes_kind};
use crate::codes::{int, uint};
use crate::error::StoreError;
use crate::extents::{Extent, Extents};
use crate::port::{Conversation, Page, Problem, Result};
use crate::stored::Stored;

/// Entries per read transaction: short transactions hold back neither writer nor checkpoint.
const PAGE: u64 = 512;

/// Broken rows that are named by their numbers, at most.
const NAMED: usize = 8;

/// See [`crate::Upkeep::verify`].
pub(super) fn store(store: &SqliteStore, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
    let mut found = Findings::default();
    // Read before the database, so that a commit in between is no loss.
    let remembered = Remembered::of(&store.path);
    let lost = store.read("verify", |conn| remembered.lost(conn));
    for lost in found.or_error(None, lost)?.unwrap_or_default() {
        let first = lost.conversation.is_some().then_some(Seq(lost.from));
        found.add(lost.conversation.as_ref(), first, "lost", lost.to_string());
    }
    let checked = store.read("verify", |conn| database(conn, &mut found));
    found.or_error(None, checked)?;
    let all = store.read("verify", conversations::all);
    let mut all = found.or_error(None, all)?.unwrap_or_default();
    for FoundConversation { conversation, defect } in &mut all {
        if let Some(defect) = defect.take() {
            found.add(Some(&conversation.key), None, "conversation", defect);
        }
    }
    let all: Vec<_> = all.into_iter().map(|found| found.conversation).collect();
    for table in SEALED {
        let checked = store.read("verify", |conn| check_all(conn, &store.seals, table));
        for broken in found.or_error(None, checked)?.unwrap_or_default() {
            let of = all.iter().find(|one| Some(one.id) == broken.conversation).map(|one| &one.key);
            let BrokenOf { table, rows, numbers, .. } = broken;
            let numbers: Vec<_> = numbers.iter().take(NAMED).map(i64::to_string).collect();
            let which = match numbers.as_slice() {
                [] => String::new(),
                numbers => format!(" (number {})", numbers.join(", ")),
            };
            found.add(of, None, table.kind, format!("number of damaged rows: {rows}; {}{which}", table.what));
        }
    }
    let total = all.iter().map(|conversation| conversation.entries).sum();
    let mut before = 0;
    for conversation in &all {
        let mut report = |done: u64| progress(before + done, total);
        let checked = check_conversation(store, conversation, &mut found, &mut report);
        found.or_error(Some(&conversation.key), checked)?;
        before += conversation.entries;
    }
    progress(total, total);
    Ok(found.problems)
}

/// Problems, the first of each kind per conversation.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    seen: BTreeSet<(Option<ConversationKey>, &'static str)>,
}

impl Findings {
    fn add(
        &mut self,
        key: Option<&ConversationKey>,
        seq: Option<Seq>,
        kind: &'static str,
        detail: impl Into<String>,
    ) {
        if self.seen.insert((key.cloned(), kind)) {
            self.problems.push(Problem { conversation: key.cloned(), seq, kind, detail: detail.into() });
        }
    }

    /// Turns damage that stopped a step into a problem; other errors stop the verification.
    fn or_error<T>(&mut self, key: Option<&ConversationKey>, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(StoreError::Damaged { seq, detail, .. }) => {
                self.add(key, Some(seq), "row", detail);
                Ok(None)
            }
            Err(error @ (StoreError::Corrupt { .. } | StoreError::NotAStore { .. })) => {
                self.add(key, None, "database", error.to_string());
                Ok(None)
            }
            // A damaged page may claim any type or length, and the driver then refuses the value.
            Err(StoreError::Backend { source, .. }) if source.is::<rusqlite::Error>() => {
                self.add(key, None, "database", source.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Checks the file itself: its pages, and every row against the indexes of its table.
///
/// Cost: a lookup per row and index, O(rows · log rows) without the bytes of chunks and blobs. Far below the cost of
/// unpacking these, which `verify` does anyway.
fn database(conn: &Connection, found: &mut Findings) -> Outcome<()> {
    let mut check = conn.prepare("PRAGMA integrity_check(1)")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        let is_of_index = ["missing from index", "entries in index", "entry in index"]
            .iter()
            .any(|words| line.contains(words));
        match line.as_str() {
            "ok" => {}
            _ if is_of_index => found.add(None, None, "sqlite-index", line),
            _ => found.add(None, None, "database", line),
        }
    }
    let mut select = conn.prepare("SELECT id FROM dictionary ORDER BY id")?;
    let ids: Vec<u32> = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for id in ids {
        if let Err(detail) = maintain::load_dictionary(conn, id)? {
            found.add(None, None, "dictionary", detail);
        }
    }
    Ok(())
}

fn check_conversation(
    store: &SqliteStore,
    conversation: &Conversation,
    found: &mut Findings,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let extents = store.read("verify", |conn| check_paths(conn, conversation, found))?;
    let tokens = walk_halves(store, conversation, extents, found, progress)?;
    if tokens != conversation.tokens {
        let detail = format!("its rows have {tokens} tokens, its counter says {}", conversation.tokens);
        found.add(Some(&conversation.key), None, "conversation", detail);
    }
    store.read("verify", |conn| check_rest(conn, &store.seals, conversation, found))
}

/// Walks over all entries, over the newer half of a long history on a second thread. Returns the sum of their tokens.
///
/// The problems are those of a walk by one thread: what the older half has of a kind comes first.
fn walk_halves(
    store: &SqliteStore,
    conversation: &Conversation,
    extents: Extents,
    found: &mut Findings,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let entries = conversation.entries;
    let middle = entries / 2 / PAGE * PAGE;
    if middle == 0 {
        return Walk { store, conversation, extents, tokens: 0, found }.over(0..entries, progress);
    }
    // Each walk keeps its place among them.
    let of_newer = extents.clone();
    let newer_done = AtomicU64::new(0);
    let walk_newer = || {
        let mut found = Findings::default();
        let walk = Walk { store, conversation, extents: of_newer, tokens: 0, found: &mut found };
        let tokens = walk.over(middle..entries, &mut |done| newer_done.store(done, Ordering::Relaxed));
        (tokens, found.problems)
    };
    let (older, newer, problems) = thread::scope(|scope| {
        let newer = scope.spawn(walk_newer);
        let walk = Walk { store, conversation, extents, tokens: 0, found: &mut *found };
        let older = walk.over(0..middle, &mut |done| progress(done + newer_done.load(Ordering::Relaxed)));
        let (tokens, problems) = newer.join().unwrap_or_else(|panic| resume_unwind(panic));
        (older, tokens, problems)
    });
    // A walk that an error ends has seen nothing behind it.
    let older = older?;
    for Problem { seq, kind, detail, .. } in problems {
        found.add(Some(&conversation.key), seq, kind, detail);
    }
    progress(entries);
    Ok(older.saturating_add(newer?))
}

/// Checks generations, extents and the head. Returns the extents by seq.
fn check_paths(conn: &Connection, conversation: &Conversation, found: &mut Findings) -> Outcome<Extents> {
    let id = conversation.id;
    let generations = conversations::generations(conn, id, Page::first(usize::MAX))?;
    let mut select = conn.prepare_cached(
        "SELECT seq, count, generation, position FROM extent WHERE conversation = ? ORDER BY generation, position",
    )?;
    let rows = select.query_map([int(id.0)], |row| {
        let [seq, count, generation, position] =
            [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(uint);
        Ok(Extent { seq, count, generation, position })
    })?;
    let extents = Extents::new(rows.collect::<rusqlite::Result<_>>()?);
    for (seq, detail) in extents.defects(conversation, &generations) {
        found.add(Some(&conversation.key), seq, "path", detail);
    }
    Ok(extents)
}

/// A walk over entries in order of arrival.
struct Walk<'a> {
    store: &'a SqliteStore,
    conversation: &'a Conversation,
    extents: Extents,
    tokens: u64,
    found: &'a mut Findings,
}

impl Walk<'_> {
    /// Walks over these entries. Returns the sum of their tokens.
    ///
    /// * `progress` - called with the number of entries so far.
    fn over(mut self, seqs: Range<u64>, progress: &mut dyn FnMut(u64)) -> Result<u64> {
        let mut next = seqs.start;
        while next < seqs.end {
            let end = (next + PAGE).min(seqs.end);
            self.store.read("verify", |conn| self.page(conn, next..end))?;
            next = end;
            progress(next - seqs.start);
        }
        Ok(self.tokens)
    }

    fn page(&mut self, conn: &Connection, seqs: Range<u64>) -> Outcome<()> {
        let id = self.conversation.id;
        let mut assembler = Assembler::new(conn, &self.store.dictionaries, id);
        let mut last: Option<Stored> = None;
        let mut expected = seqs.start;
        for row in entries::stored_each(conn, id, seqs.clone())? {
            let stored = match row {
                Ok(stored) => stored,
                Err(StoreError::Damaged { seq, detail, .. }) => {
                    self.add(seq, "row", detail);
                    expected = seq.0.saturating_add(1).max(expected);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if stored.row.seq.0 != expected {
                self.add(Seq(expected), "row", "its row is missing");
            }
            expected = stored.row.seq.0 + 1;
            self.tokens = self.tokens.saturating_add(stored.row.tokens.expected);
            self.entry(conn, &mut assembler, last.as_ref(), &stored)?;
            last = Some(stored);
        }
        if expected < seqs.end {
            self.add(Seq(expected), "row", "its row is missing");
        }
        Ok(())
    }

    fn entry(
        &mut self,
        conn: &Connection,
        assembler: &mut Assembler<'_>,
        last: Option<&Stored>,
        stored: &Stored,
    ) -> Outcome<()> {
        let row = &stored.row;
        if self.extents.place(row.seq.0) != Some((row.generation.0, row.position.0)) {
            self.add(row.seq, "row", OTHER_PLACE);
            return Ok(());
        }
        let raw = match assembler.raw(stored)? {
            Ok(raw) => raw,
            Err(detail) => {
                self.add(row.seq, bytes_kind(&detail), detail);
                return Ok(());
            }
        };
        if row.purged {
            return Ok(());
        }
        let Some(before) = self.chain_before(conn, last, stored)? else { return Ok(()) };
        if before.next(&raw.lead, &raw.body) != row.chain {
            self.add(row.seq, "chain", OTHER_BYTES);
        }
        Ok(())
    }

    /// Stored chain of the previous entry on the path; `None` if that entry is damaged, which is reported there.
    fn chain_before(
        &self,
        conn: &Connection,
        last: Option<&Stored>,
        stored: &Stored,
    ) -> Outcome<Option<Chain>> {
        let (generation, position) = match ChainBefore::of(last.map(|last| &last.row), &stored.row) {
            ChainBefore::Known(chain) => return Ok(Some(chain)),
            ChainBefore::At(generation, position) => (generation.0, position),
        };
        match paths::chains(conn, self.conversation.id, generation, position..position + 1) {
            Ok(chains) => Ok(chains.first().copied()),
            Err(fault) if fault.is_corrupt() => Err(fault),
            Err(_) => Ok(None),
        }
    }

    fn add(&mut self, seq: Seq, kind: &'static str, detail: impl Into<String>) {
        self.found.add(Some(&self.conversation.key), Some(seq), kind, detail);
    }
}

/// Checks for rows beyond the end, blobs without holders, snapshots, summaries.
fn check_rest(
    conn: &Connection,
    seals: &Seals,
    conversation: &Conversation,
    found: &mut Findings,
) -> Outcome<()> {
    let ConversationId(id) = conversation.id;
    let key = Some(&conversation.key);
    let beyond: Option<i64> = conn.query_row(
        "SELECT min(id) & 0xFFFFFFFF FROM entry WHERE id >= ? AND id < ?",
        entries::keys(conversation.id, &(conversation.entries..u64::MAX)),
        |row| row.get(0),
    )?;
    if let Some(seq) = beyond {
        found.add(key, Some(Seq(uint(seq))), "row", "its row is beyond the end of the conversation");
    }
    let unheld: i64 = conn.query_row(
        "SELECT count(*) FROM blob WHERE conversation = ?
         AND NOT EXISTS (SELECT 1 FROM hole WHERE hole.blob = blob.id)",
        [int(id)],
        |row| row.get(0),
    )?;
    if unheld > 0 {
        found.add(key, None, "blob", format!("{unheld} blobs belong to no entry"));
    }
    let generations = conversations::generations(conn, conversation.id, Page::first(usize::MAX))?;
    let snapshots = conversations::snapshots(conn, conversation.id, Page::first(usize::MAX))?;
    for (number, snapshot) in (1..).zip(snapshots) {
        let length =
            generations.get(snapshot.generation.0 as usize).map_or(0, |generation| generation.length);
        if snapshot.number != number || snapshot.length > length {
            found.add(key, None, "snapshot", format!("snapshot {number} is missing or longer than its path"));
        }
    }
    for summary in summaries::page(conn, seals, ConversationId(id), Page::first(usize::MAX))? {
        if summary.span.0 > summary.span.1 || summary.span.1.0 >= conversation.entries {
            found.add(
                key,
                Some(summary.span.0),
                "summary",
                "a summary stands for entries that are not there",
            );
        }
    }
    Ok(())
}
