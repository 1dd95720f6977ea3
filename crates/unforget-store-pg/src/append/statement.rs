//! The statement of a commit and its values.

use tokio_postgres::types::ToSql;
use unforget_core::digest::Digest;
use unforget_store::Snapshot;
use unforget_store::backend::{PackedBlob, chunk_spans, int, opened_by_code};

use super::plan::Planned;
use super::{Commits, synchronous_commit};
use crate::conn::Conn;
use crate::fault::Outcome;

/// Changes the conversation's row if it is the expected one, and writes everything else only with it. A table is
/// written by one part at most. A part that only reads runs when something uses it: the last line uses `z`.
const COMMIT: &str = "WITH z AS MATERIALIZED (SELECT set_config('synchronous_commit', coalesce($40, current_setting('synchronous_commit')), true)),
c AS (UPDATE unforget.conversation SET revision = revision + 1, entries = $5, generations = $6, chunks = $7,
    snapshots = $8, current = $9, length = $10, tokens = $11, raw_bytes = $12, first_ms = $13, last_ms = $14
  WHERE tenant = $1 AND id = $2 AND revision = $3 AND entries = $4 RETURNING tenant, id),
g AS (INSERT INTO unforget.generation (tenant, conversation, number, parent, fork, opened_by, length)
  SELECT c.*, u.* FROM c, unnest($15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[]) u
  ON CONFLICT (tenant, conversation, number) DO UPDATE SET length = excluded.length),
x AS (INSERT INTO unforget.extent (tenant, conversation, generation, position, seq, count)
  SELECT c.*, u.* FROM c, unnest($20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[]) u
  ON CONFLICT (tenant, conversation, generation, position) DO UPDATE SET count = excluded.count),
e AS (INSERT INTO unforget.entry (tenant, conversation, seq, chunk, chain_head, chain, facts)
  SELECT c.*, u.* FROM c, unnest($24::bigint[], $25::bigint[], $26::int[], $27::bytea[], $28::bytea[]) u),
k AS (INSERT INTO unforget.chunk (tenant, conversation, number, first_seq, entries, raw_len, data, filter)
  SELECT c.*, u.* FROM c, unnest($29::bigint[], $30::bigint[], $31::bigint[], $32::bigint[], $33::bytea[], $34::bytea[]) u),
n AS (INSERT INTO unforget.name (tenant, conversation, name, seq)
  SELECT c.*, u.* FROM c, unnest($35::bytea[], $36::bigint[]) u ON CONFLICT DO NOTHING),
t AS (INSERT INTO unforget.context (tenant, conversation, thread, budget, state)
  SELECT c.*, u.* FROM c, unnest($37::bigint[], $38::bigint[], $39::bytea[]) u
  ON CONFLICT (tenant, conversation, thread, budget) DO UPDATE SET state = excluded.state)";

/// The part for large parts and snapshots, which most commits have not.
const MORE: &str = ",
b AS (INSERT INTO unforget.blob (tenant, conversation, digest, raw_len, data, filter)
  SELECT c.*, u.* FROM c, unnest($41::bytea[], $42::bigint[], $43::bytea[], $44::bytea[]) u ON CONFLICT DO NOTHING),
h AS (INSERT INTO unforget.hole (tenant, conversation, seq, at, digest)
  SELECT c.*, u.* FROM c, unnest($45::bigint[], $46::bigint[], $47::bytea[]) u),
s AS (INSERT INTO unforget.snapshot (tenant, conversation, number, generation, length, trailer, file_bytes,
    path_digest, path, modified_ns, time_ms)
  SELECT c.*, u.* FROM c, unnest($48::bigint[], $49::bigint[], $50::bigint[], $51::bytea[], $52::bigint[],
    $53::bytea[], $54::bytea[], $55::bigint[], $56::bigint[]) u)";

const END: &str = " SELECT 1 FROM c, z";

/// A value of the statement.
type Value<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Columns of bytes.
type Slices<'a> = Vec<&'a [u8]>;

/// The statement of a planned append.
pub(super) struct Statement<'a> {
    tenant: i32,
    planned: &'a Planned<'a>,
    #[cfg(debug_assertions)]
    planted: Option<super::PlantedFault>,
}

impl<'a> Statement<'a> {
    pub(super) fn new(store: &Commits<'_>, planned: &'a Planned<'a>) -> Self {
        Self {
            tenant: store.tenant,
            planned,
            #[cfg(debug_assertions)]
            planted: store.planted,
        }
    }

    /// Runs it; 1 if it wrote, 0 if the conversation is another one by now.
    pub(super) async fn run(&self, conn: &Conn) -> Outcome<usize> {
        let request = self.planned.request;
        let mut values = self.counters();
        values.extend(self.path());
        values.extend(self.entries());
        values.extend(self.chunks());
        values.extend(self.names());
        let has_large = request.parts.entries.iter().any(|entry| !entry.holes.is_empty());
        let has_more = has_large || request.snapshot.is_some() || !request.parts.blobs.is_empty();
        if has_more {
            values.extend(self.large());
            values.extend(self.snapshot());
        }
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect();
        Ok(conn.rows(&self.sql(has_more), &values).await?.len())
    }

    /// What is expected of the conversation, and its counters behind the commit.
    fn counters(&self) -> Vec<Value<'a>> {
        let Planned { request, before, after, .. } = self.planned;
        let mut values: Vec<Value<'a>> = vec![Box::new(self.tenant)];
        let counters = [
            request.id.0,
            *before,
            request.entries,
            after.counters.entries,
            after.counters.generations,
            after.counters.chunks,
            after.counters.snapshots,
            after.counters.current,
            after.counters.length,
            after.counters.tokens,
            after.counters.raw_bytes,
        ];
        values.extend(counters.into_iter().map(|counter| Box::new(int(counter)) as Value<'a>));
        values.push(Box::new(after.counters.first_ms));
        values.push(Box::new(after.counters.last_ms));
        values
    }

    /// The generation, if it is opened or grows, and the run of its entries.
    fn path(&self) -> Vec<Value<'a>> {
        let Planned { request, place, run, .. } = self.planned;
        let generation = int(place.generation);
        let some = usize::from(place.opened.is_some() || run.is_some());
        let parent = place.opened.and_then(|(parent, _)| parent);
        let reason = place.opened.map_or(0, |(_, opened_by)| opened_by_code(opened_by));
        let run = run.map(|run| [generation, int(run.position), int(run.seq), int(run.count)]);
        let column = |at: usize| run.iter().filter_map(|run| run.get(at).copied()).collect::<Vec<i64>>();
        vec![
            Box::new(vec![generation; some]),
            Box::new(vec![parent.map(|(generation, _)| int(generation.0)); some]),
            Box::new(vec![parent.map(|(_, fork)| int(fork.0)); some]),
            Box::new(vec![reason; some]),
            Box::new(vec![int(place.position + request.count()); some]),
            Box::new(column(0)),
            Box::new(column(1)),
            Box::new(column(2)),
            Box::new(column(3)),
        ]
    }

    fn entries(&self) -> Vec<Value<'a>> {
        let rows = &self.planned.rows;
        vec![
            Box::new(rows.iter().map(|row| row.seq).collect::<Vec<i64>>()),
            Box::new(rows.iter().map(|row| row.chunk).collect::<Vec<Option<i64>>>()),
            Box::new(rows.iter().map(|row| row.chain_head).collect::<Vec<i32>>()),
            Box::new(rows.iter().map(|row| row.chain.as_slice()).collect::<Slices<'a>>()),
            Box::new(rows.iter().map(|row| row.facts.as_slice()).collect::<Slices<'a>>()),
        ]
    }

    fn chunks(&self) -> Vec<Value<'a>> {
        let Planned { request, first_chunk, .. } = self.planned;
        let chunks = &request.parts.chunks;
        let spans = chunk_spans(&request.parts.entries, request.entries, chunks.len());
        let firsts: Vec<i64> = spans.iter().map(|span| int(span.start)).collect();
        let counts: Vec<i64> = spans.iter().map(|span| int(span.end - span.start)).collect();
        vec![
            Box::new((*first_chunk..).take(chunks.len()).map(int).collect::<Vec<i64>>()),
            Box::new(firsts),
            Box::new(counts),
            Box::new(chunks.iter().map(|chunk| int(chunk.raw_len)).collect::<Vec<i64>>()),
            Box::new(chunks.iter().map(|chunk| chunk.data.as_slice()).collect::<Slices<'a>>()),
            Box::new(chunks.iter().map(|chunk| chunk.filter.as_slice()).collect::<Slices<'a>>()),
        ]
    }

    /// Names, states of prompts, and the durability.
    fn names(&self) -> Vec<Value<'a>> {
        let request = self.planned.request;
        let contexts = &request.contexts;
        vec![
            Box::new(request.names.iter().map(|named| named.name.0.as_slice()).collect::<Slices<'a>>()),
            Box::new(request.names.iter().map(|named| int(named.seq.0)).collect::<Vec<i64>>()),
            Box::new(contexts.iter().map(|context| int(context.thread.0)).collect::<Vec<i64>>()),
            Box::new(contexts.iter().map(|context| int(context.budget)).collect::<Vec<i64>>()),
            Box::new(contexts.iter().map(|context| context.state.as_slice()).collect::<Slices<'a>>()),
            Box::new(synchronous_commit(request.durability)),
        ]
    }

    /// Large parts and their places.
    fn large(&self) -> Vec<Value<'a>> {
        let request = self.planned.request;
        let mut blobs: Vec<&PackedBlob> = request.parts.blobs.iter().collect();
        blobs.sort_by_key(|blob| blob.digest);
        // Parts packed on several threads may hold the same blob.
        blobs.dedup_by_key(|blob| blob.digest);
        let (mut seqs, mut places, mut digests) = (Vec::new(), Vec::new(), Slices::new());
        for (entry, seq) in request.parts.entries.iter().zip(request.entries..) {
            for (at, digest) in &entry.holes {
                seqs.push(int(seq));
                places.push(int(*at));
                digests.push(&digest.0);
            }
        }
        vec![
            Box::new(blobs.iter().map(|blob| blob.digest.0.as_slice()).collect::<Slices<'a>>()),
            Box::new(blobs.iter().map(|blob| int(blob.raw_len)).collect::<Vec<i64>>()),
            Box::new(blobs.iter().map(|blob| blob.data.as_slice()).collect::<Slices<'a>>()),
            Box::new(blobs.iter().map(|blob| blob.filter.as_slice()).collect::<Slices<'a>>()),
            Box::new(seqs),
            Box::new(places),
            Box::new(digests),
        ]
    }

    fn snapshot(&self) -> Vec<Value<'a>> {
        let Planned { request, place, after, .. } = self.planned;
        let all = request.snapshot.as_slice();
        let numbers = |of: fn(&Snapshot) -> i64| all.iter().map(of).collect::<Vec<i64>>();
        vec![
            Box::new(vec![int(after.counters.snapshots); all.len()]),
            Box::new(vec![int(place.generation); all.len()]),
            Box::new(numbers(|one| int(one.length))),
            Box::new(all.iter().map(|one| one.trailer.as_slice()).collect::<Slices<'a>>()),
            Box::new(numbers(|one| int(one.file_bytes))),
            Box::new(all.iter().map(|one| Digest::of(one.path.as_bytes()).0.to_vec()).collect::<Vec<_>>()),
            Box::new(all.iter().map(|one| one.path.as_bytes()).collect::<Slices<'a>>()),
            Box::new(numbers(|one| nanoseconds(one.modified_ns))),
            Box::new(numbers(|one| one.time.0)),
        ]
    }

    #[cfg_attr(
        not(debug_assertions),
        allow(clippy::unused_self, reason = "a planted fault is part of the plan")
    )]
    fn sql(&self, has_more: bool) -> String {
        let sql = [COMMIT, if has_more { MORE } else { "" }, END].concat();
        #[cfg(debug_assertions)]
        if self.planted == Some(super::PlantedFault::CasMissing) {
            return sql
                .replace("AND revision = $3 AND entries = $4", "AND ($3::bigint, $4::bigint) IS NOT NULL")
                .replace("$28::bytea[]) u)", "$28::bytea[]) u ON CONFLICT DO NOTHING)")
                .replace("$34::bytea[]) u)", "$34::bytea[]) u ON CONFLICT DO NOTHING)");
        }
        sql
    }
}

/// Modification times beyond 64 bits become the nearest that fits.
fn nanoseconds(time: i128) -> i64 {
    time.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
