//! Verify: reads everything back and locates the first damage of each kind.
//!
//! A conversation is read page by page, without one long snapshot: a writer may add entries meanwhile, which are then
//! not looked at, but a purge meanwhile may look like damage to a second reader. A conversation that seems damaged is
//! looked at again if its revision has changed.

use std::collections::BTreeSet;
use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationKey, Generation, Seq};
use unforget_store::backend::{
    ChainBefore, Extent, Extents, OTHER_BYTES, OTHER_PLACE, Stored, bytes_kind, int,
};
use unforget_store::{Conversation, Page, Problem, StoreError, SummaryPlace, read_all};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;
use crate::store::PgStore;
use crate::{bytes, conversations, entries, paths, summaries};

/// Entries per read.
const PAGE: u64 = 512;

/// How often a conversation that changes is looked at.
const TRIES: usize = 3;

/// Problems, the first of each kind per conversation.
struct Findings<'a> {
    key: &'a ConversationKey,
    problems: Vec<Problem>,
    seen: BTreeSet<&'static str>,
}

impl Findings<'_> {
    fn add(&mut self, seq: Option<Seq>, kind: &'static str, detail: impl Into<String>) {
        if self.seen.insert(kind) {
            let conversation = Some(self.key.clone());
            self.problems.push(Problem { conversation, seq, kind, detail: detail.into() });
        }
    }
}

/// See [`unforget_store::Upkeep::verify`].
pub(crate) fn store(store: &PgStore, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>, StoreError> {
    let tenant = store.tenant;
    let all =
        read_all(|page| store.read("verify", async |conn| conversations::page(conn, tenant, page).await))?;
    let total = all.iter().map(|conversation| conversation.entries).sum();
    let (mut before, mut problems) = (0, Vec::new());
    for conversation in all {
        let mut report = |done: u64| progress(before + done, total);
        problems.append(&mut settled(store, &conversation, &mut report)?);
        before += conversation.entries;
    }
    progress(total, total);
    Ok(problems)
}

/// Looks at a conversation until it has not changed while it seemed damaged.
fn settled(
    store: &PgStore,
    conversation: &Conversation,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Problem>, StoreError> {
    let mut now = conversation.clone();
    let mut problems = check(store, &now, progress)?;
    for _ in 1..TRIES {
        if problems.is_empty() {
            break;
        }
        let id = conversation.id;
        let again = store.read("verify", async |conn| conversations::get(conn, store.tenant, id).await)?;
        if again.revision == now.revision {
            break;
        }
        now = again;
        problems = check(store, &now, progress)?;
    }
    Ok(problems)
}

fn check(
    store: &PgStore,
    conversation: &Conversation,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<Problem>, StoreError> {
    let mut found = Findings { key: &conversation.key, problems: Vec::new(), seen: BTreeSet::new() };
    let extents = store.read("verify", async |conn| extents(conn, store.tenant, conversation).await)?;
    let (extents, defects) = extents;
    for (seq, detail) in defects {
        found.add(seq, "path", detail);
    }
    let mut walk = Walk { store, conversation, extents, tokens: 0, found, last: None };
    let mut next = 0;
    while next < conversation.entries {
        let end = (next + PAGE).min(conversation.entries);
        walk.page(next..end)?;
        next = end;
        progress(next);
    }
    let Walk { tokens, mut found, .. } = walk;
    if tokens != conversation.tokens {
        let detail = format!("its rows have {tokens} tokens, its counter says {}", conversation.tokens);
        found.add(None, "conversation", detail);
    }
    rest(store, conversation, &mut found)?;
    Ok(found.problems)
}

/// The extents of a conversation, and what is wrong with its paths.
async fn extents(
    conn: &Conn,
    tenant: i32,
    conversation: &Conversation,
) -> Outcome<(Extents, Vec<(Option<Seq>, String)>)> {
    let id = conversation.id;
    // Entries that were added since are not looked at.
    let sql = "SELECT seq, least(count, $3 - seq), generation, position FROM unforget.extent
        WHERE tenant = $1 AND conversation = $2 AND seq < $3";
    let mut all = Vec::new();
    for row in conn.rows(sql, &[&tenant, &int(id.0), &int(conversation.entries)]).await? {
        let [seq, count, generation, position] =
            [row.number(0)?, row.number(1)?, row.number(2)?, row.number(3)?];
        all.push(Extent { seq, count, generation, position });
    }
    let generations = conversations::generations(conn, tenant, id, Page::first(usize::MAX)).await?;
    let extents = Extents::new(all);
    let now = conversations::get(conn, tenant, id).await?;
    // Lengths of generations are those of now; they say nothing of a conversation that has grown.
    let defects = if now.revision == conversation.revision {
        extents.defects(conversation, &generations)
    } else {
        Vec::new()
    };
    Ok((extents, defects))
}

/// The walk over all entries in order of arrival.
struct Walk<'a> {
    store: &'a PgStore,
    conversation: &'a Conversation,
    extents: Extents,
    tokens: u64,
    found: Findings<'a>,
    last: Option<Stored>,
}

impl Walk<'_> {
    fn page(&mut self, seqs: Range<u64>) -> Result<(), StoreError> {
        let (store, id) = (self.store, self.conversation.id);
        let rows = store
            .read("verify", async |conn| entries::stored_each(conn, store.tenant, id, seqs.clone()).await)?;
        let (mut whole, mut expected) = (Vec::with_capacity(rows.len()), seqs.start);
        for row in rows {
            let seq = match &row {
                Ok(stored) => stored.row.seq,
                Err(StoreError::Damaged { seq, .. }) => *seq,
                Err(_) => Seq(expected),
            };
            if seq.0 != expected {
                self.found.add(Some(Seq(expected)), "row", "its row is missing");
            }
            expected = seq.0.saturating_add(1);
            match row {
                Ok(stored) => whole.push(stored),
                Err(error) => self.found.add(Some(seq), "row", error.to_string()),
            }
        }
        if expected < seqs.end {
            self.found.add(Some(Seq(expected)), "row", "its row is missing");
        }
        // Entries may be of any size: only some bytes are held at once.
        for part in bytes::parts(&whole) {
            self.bytes(part)?;
        }
        Ok(())
    }

    fn bytes(&mut self, part: &[Stored]) -> Result<(), StoreError> {
        let (store, id) = (self.store, self.conversation.id);
        let raws = store.read("verify", async |conn| bytes::assemble(conn, store.tenant, id, part).await)?;
        for (stored, raw) in part.iter().zip(raws) {
            let row = &stored.row;
            self.tokens = self.tokens.saturating_add(row.tokens.expected);
            match raw {
                _ if self.extents.place(row.seq.0) != Some((row.generation.0, row.position.0)) => {
                    self.found.add(Some(row.seq), "row", OTHER_PLACE);
                }
                Err(detail) => {
                    self.found.add(Some(row.seq), bytes_kind(&detail), detail);
                }
                Ok(_) if row.purged => {}
                Ok(raw) => {
                    let before = self.chain_before(stored)?;
                    if before.is_some_and(|before| before.next(&raw.lead, &raw.body) != row.chain) {
                        self.found.add(Some(row.seq), "chain", OTHER_BYTES);
                    }
                }
            }
            self.last = Some(stored.clone());
        }
        Ok(())
    }

    /// Stored chain of the previous entry on the path; `None` if that entry is damaged, which is reported there.
    fn chain_before(&self, stored: &Stored) -> Result<Option<Chain>, StoreError> {
        let last = self.last.as_ref().map(|last| &last.row);
        let (generation, position) = match ChainBefore::of(last, &stored.row) {
            ChainBefore::Known(chain) => return Ok(Some(chain)),
            ChainBefore::At(generation, position) => (generation.0, position),
        };
        let (store, id) = (self.store, self.conversation.id);
        let chains = store.read("verify", async |conn| {
            paths::chains(conn, store.tenant, id, generation, position..position + 1).await
        });
        match chains {
            Ok(chains) => Ok(chains.first().copied()),
            Err(StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Checks for blobs without holders, snapshots, summaries.
fn rest(store: &PgStore, conversation: &Conversation, found: &mut Findings<'_>) -> Result<(), StoreError> {
    let (tenant, id) = (store.tenant, conversation.id);
    let unheld = store.read("verify", async |conn| {
        let sql = "SELECT count(*) FROM unforget.blob b WHERE tenant = $1 AND conversation = $2 AND NOT EXISTS
            (SELECT 1 FROM unforget.hole h WHERE h.tenant = $1 AND h.conversation = $2 AND h.digest = b.digest)";
        conn.row(sql, &[&tenant, &int(id.0)]).await?.map_or(Ok(0), |row| row.number(0))
    })?;
    if unheld > 0 {
        found.add(None, "blob", format!("{unheld} blobs belong to no entry"));
    }
    let generations = read_all(|page: Page<Generation>| {
        store.read("verify", async |conn| conversations::generations(conn, tenant, id, page).await)
    })?;
    let snapshots = read_all(|page: Page<u64>| {
        store.read("verify", async |conn| conversations::snapshots(conn, tenant, id, page).await)
    })?;
    for (number, snapshot) in (1..).zip(snapshots) {
        let length =
            generations.get(snapshot.generation.0 as usize).map_or(0, |generation| generation.length);
        if snapshot.number != number || snapshot.length > length {
            found.add(None, "snapshot", format!("snapshot {number} is missing or longer than its path"));
        }
    }
    let summaries = read_all(|page: Page<SummaryPlace>| {
        store.read("verify", async |conn| summaries::page(conn, tenant, id, page).await)
    })?;
    let entries = store.read("verify", async |conn| conversations::get(conn, tenant, id).await)?.entries;
    for summary in summaries {
        if summary.span.0 > summary.span.1 || summary.span.1.0 >= entries {
            found.add(Some(summary.span.0), "summary", "a summary stands for entries that are not there");
        }
    }
    Ok(())
}
