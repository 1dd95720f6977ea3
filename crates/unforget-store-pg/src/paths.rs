//! The entries of a generation's path.

use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::ConversationId;
use unforget_store::backend::int;

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::entries;
use crate::fault::Outcome;

/// Seqs at `positions` of a generation's path, in path order, as maximal runs. Clamped.
///
/// One statement, whatever the number of generations: each is older than the one that forks from it.
pub(crate) async fn runs(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    generation: u64,
    positions: Range<u64>,
) -> Outcome<Vec<Range<u64>>> {
    // The last extent at or before the first position may reach into the range.
    let sql = "WITH RECURSIVE part(number, parent, fork, until) AS (
          SELECT number, parent, coalesce(fork, 0), least($5, length) FROM unforget.generation
          WHERE tenant = $1 AND conversation = $2 AND number = $3
          UNION ALL
          SELECT g.number, g.parent, coalesce(g.fork, 0), least(part.until, part.fork, g.length)
          FROM part JOIN unforget.generation g ON g.tenant = $1 AND g.conversation = $2 AND g.number = part.parent
          WHERE g.number < part.number AND $4 < least(part.until, part.fork))
        SELECT x.position, x.seq, x.count, greatest(part.fork, $4), part.until
        FROM part JOIN LATERAL (SELECT position, seq, count FROM unforget.extent
          WHERE tenant = $1 AND conversation = $2 AND generation = part.number AND position < part.until
            AND position >= coalesce((SELECT max(position) FROM unforget.extent
              WHERE tenant = $1 AND conversation = $2 AND generation = part.number
                AND position <= greatest(part.fork, $4)), 0)) x ON true
        ORDER BY x.position";
    let values = [int(id.0), int(generation), int(positions.start), int(positions.end)];
    let [id, generation, start, end] = &values;
    let mut all: Vec<Range<u64>> = Vec::new();
    for row in conn.rows(sql, &[&tenant, id, generation, start, end]).await? {
        let (position, seq, count) = (row.number(0)?, row.number(1)?, row.number(2)?);
        let from = row.number(3)?.max(position);
        let to = row.number(4)?.min(position.saturating_add(count));
        if from >= to {
            continue;
        }
        let first = seq.saturating_add(from - position);
        let run = first..first.saturating_add(to - from);
        match all.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => all.push(run),
        }
    }
    Ok(all)
}

/// See [`unforget_store::Log::chains`].
pub(crate) async fn chains(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    generation: u64,
    positions: Range<u64>,
) -> Outcome<Vec<Chain>> {
    let mut all = Vec::new();
    for run in runs(conn, tenant, id, generation, positions).await? {
        all.append(&mut entries::chains(conn, tenant, id, run).await?);
    }
    Ok(all)
}
