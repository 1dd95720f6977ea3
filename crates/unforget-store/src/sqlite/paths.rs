//! Generations: the entries of a path, and how a path grows.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Generation, Position};

use super::entries;
use super::fault::Outcome;
use crate::codes::{int, opened_by_code, uint};
use crate::counters::Counters;
use crate::error::StoreError;
use crate::port::{OpenedBy, Target};

/// A generation and the length of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEnd {
    pub(super) generation: u64,
    pub(super) length: u64,
}

/// Finds or opens the target generation of an append.
pub(super) fn enter(
    tx: &Connection,
    id: ConversationId,
    target: Target,
    counters: &mut Counters,
) -> Outcome<PathEnd> {
    match target {
        Target::Extend(generation, expected) => {
            let found = length(tx, id, generation.0)?;
            if found != Some(expected) {
                let found = found.unwrap_or(0);
                return Err(StoreError::Moved { generation, expected, found }.into());
            }
            Ok(PathEnd { generation: generation.0, length: expected })
        }
        Target::Open { parent, opened_by } => open(tx, id, parent, opened_by, counters),
    }
}

fn open(
    tx: &Connection,
    id: ConversationId,
    parent: Option<(Generation, Position)>,
    opened_by: OpenedBy,
    counters: &mut Counters,
) -> Outcome<PathEnd> {
    let fork = parent.map_or(0, |(_, fork)| fork.0);
    if let Some((generation, _)) = parent {
        let found = length(tx, id, generation.0)?;
        if found.is_none_or(|found| fork > found) {
            return Err(StoreError::Moved { generation, expected: fork, found: found.unwrap_or(0) }.into());
        }
    }
    let number = counters.generations;
    counters.generations += 1;
    tx.prepare_cached("INSERT INTO generation VALUES (?, ?, ?, ?, ?, ?)")?.execute(params![
        int(id.0),
        int(number),
        parent.map(|(generation, _)| int(generation.0)),
        parent.map(|(_, fork)| int(fork.0)),
        opened_by_code(opened_by),
        int(fork)
    ])?;
    Ok(PathEnd { generation: number, length: fork })
}

/// Lengthens a generation's path, `length` entries long, by a range of seqs.
pub(super) fn grow(
    tx: &Connection,
    id: ConversationId,
    generation: u64,
    length: u64,
    seqs: Range<u64>,
) -> Outcome<()> {
    let count = int(seqs.end - seqs.start);
    if count == 0 {
        return Ok(());
    }
    let last: Option<(i64, i64, i64)> = tx
        .prepare_cached(
            "SELECT position, seq, count FROM extent WHERE conversation = ? AND generation = ?
             ORDER BY position DESC LIMIT 1",
        )?
        .query_row([int(id.0), int(generation)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    match last {
        Some((position, seq, held)) if seq + held == int(seqs.start) => {
            tx.prepare_cached(
                "UPDATE extent SET count = count + ? WHERE conversation = ? AND generation = ? AND position = ?",
            )?
            .execute([count, int(id.0), int(generation), position])?;
        }
        _ => {
            tx.prepare_cached("INSERT INTO extent VALUES (?, ?, ?, ?, ?)")?.execute([
                int(id.0),
                int(generation),
                int(length),
                int(seqs.start),
                count,
            ])?;
        }
    }
    tx.prepare_cached("UPDATE generation SET length = length + ? WHERE conversation = ? AND number = ?")?
        .execute([count, int(id.0), int(generation)])?;
    Ok(())
}

/// Length of a generation's path; `None` if it is missing.
fn length(conn: &Connection, id: ConversationId, generation: u64) -> Outcome<Option<u64>> {
    let found: Option<i64> = conn
        .prepare_cached("SELECT length FROM generation WHERE conversation = ? AND number = ?")?
        .query_row([int(id.0), int(generation)], |row| row.get(0))
        .optional()?;
    Ok(found.map(uint))
}

/// Seqs at `positions` of a generation's path, in path order, as maximal runs. Clamped.
pub(super) fn runs(
    conn: &Connection,
    id: ConversationId,
    generation: u64,
    positions: Range<u64>,
) -> Outcome<Vec<Range<u64>>> {
    let mut select_generation = conn.prepare_cached(
        "SELECT parent, fork, length FROM generation WHERE conversation = ? AND number = ?",
    )?;
    // The last extent at or before `start` may reach into the range.
    let mut select_extents = conn.prepare_cached(
        "SELECT position, seq, count FROM extent WHERE conversation = ?1 AND generation = ?2 AND position < ?4
           AND position >= coalesce((SELECT max(position) FROM extent
             WHERE conversation = ?1 AND generation = ?2 AND position <= ?3), 0)
         ORDER BY position DESC",
    )?;
    // Backwards, since a generation's own entries come after the shared ones.
    let mut backwards: Vec<Range<u64>> = Vec::new();
    let (mut at, mut end) = (Some(generation), positions.end);
    while let Some(number) = at {
        let found: Option<(Option<i64>, Option<i64>, i64)> = select_generation
            .query_row([int(id.0), int(number)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((parent, fork, length)) = found else { break };
        let fork = fork.map_or(0, uint);
        end = end.min(uint(length));
        let own = positions.start.max(fork)..end;
        if own.start < own.end {
            let mut rows = select_extents.query([int(id.0), int(number), int(own.start), int(own.end)])?;
            while let Some(row) = rows.next()? {
                let (position, seq, count) = (uint(row.get(0)?), uint(row.get(1)?), uint(row.get(2)?));
                let from = own.start.max(position);
                let to = own.end.min(position.saturating_add(count));
                if from < to {
                    let first = seq.saturating_add(from - position);
                    backwards.push(first..first.saturating_add(to - from));
                }
            }
        }
        end = end.min(fork);
        // A parent is always older; this check keeps damaged data from causing an endless walk.
        at = parent.map(uint).filter(|parent| *parent < number && positions.start < end);
    }
    Ok(joined(backwards.into_iter().rev()))
}

/// Joins neighbouring runs.
fn joined(runs: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => all.push(run),
        }
    }
    all
}

/// See [`crate::Log::chains`].
pub(super) fn chains(
    conn: &Connection,
    id: ConversationId,
    generation: u64,
    positions: Range<u64>,
) -> Outcome<Vec<Chain>> {
    let mut all = Vec::new();
    for run in runs(conn, id, generation, positions)? {
        all.append(&mut entries::chains(conn, id, run)?);
    }
    Ok(all)
}
