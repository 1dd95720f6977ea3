//! The counters of a conversation, remembered between appends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::id::{ConversationId, Generation, Position};
use unforget_store::backend::{Counters, int, uint};
use unforget_store::{StoreError, Target};

use super::Placed;
use super::plan::{Place, Request};
use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// Most remembered conversations. The memory only saves a round trip.
const MOST: usize = 4096;

/// The counters of conversations as the last commits of this store left them.
#[derive(Default)]
pub(crate) struct Heads(Mutex<BTreeMap<u64, Head>>);

impl Heads {
    /// What is remembered of a conversation, if it is enough for this target.
    pub(super) fn of(&self, id: ConversationId, target: Target) -> Option<Head> {
        let generation = asked(target)?;
        let head = self.all().get(&id.0).cloned()?;
        (head.end.generation == Some(generation)).then_some(head)
    }

    pub(super) fn put(&self, id: ConversationId, head: Head) {
        let mut all = self.all();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(id.0, head);
    }

    pub(super) fn forget(&self, id: ConversationId) {
        self.all().remove(&id.0);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Head>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The generation whose path an append reads; `None` if it starts a new path.
fn asked(target: Target) -> Option<u64> {
    match target {
        Target::Extend(generation, _) => Some(generation.0),
        Target::Open { parent, .. } => parent.map(|(generation, _)| generation.0),
    }
}

/// The counters of a conversation, and the end of one of its generations.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(super) counters: Counters,
    /// How often it was purged.
    pub(super) purged: u64,
    pub(super) end: End,
    /// Whether it was read for this append.
    pub(super) is_fresh: bool,
}

/// The end of a generation's path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// The generation asked for, if one was.
    pub(super) generation: Option<u64>,
    /// Length of its path; `None` if it does not exist.
    pub(super) length: Option<u64>,
    /// The last run of its own entries.
    pub(super) run: Option<Run>,
}

/// A run of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(super) position: u64,
    pub(super) seq: u64,
    pub(super) count: u64,
}

/// Reads the counters for an append.
pub(super) async fn read(conn: &Conn, tenant: i32, request: &Request) -> Outcome<Head> {
    let sql = "SELECT c.revision, c.entries, c.generations, c.chunks, c.snapshots, c.current, c.length, c.tokens,
          c.raw_bytes, c.first_ms, c.last_ms, g.length, x.position, x.seq, x.count,
          c.purged
        FROM unforget.conversation c
        LEFT JOIN unforget.generation g ON g.tenant = c.tenant AND g.conversation = c.id AND g.number = $3
        LEFT JOIN LATERAL (SELECT position, seq, count FROM unforget.extent
          WHERE tenant = $1 AND conversation = $2 AND generation = $3 ORDER BY position DESC LIMIT 1) x ON true
        WHERE c.tenant = $1 AND c.id = $2";
    let (id, generation) = (request.id, asked(request.target));
    let row = conn.row(sql, &[&tenant, &int(id.0), &generation.map(int)]).await?;
    let row = row.ok_or(StoreError::NoConversation { id })?;
    let run = match row.number_if(12)? {
        Some(position) => Some(Run { position, seq: row.number(13)?, count: row.number(14)? }),
        None => None,
    };
    Ok(Head {
        counters: Counters {
            revision: row.number(0)?,
            entries: row.number(1)?,
            generations: row.number(2)?,
            chunks: row.number(3)?,
            snapshots: row.number(4)?,
            current: row.number(5)?,
            length: row.number(6)?,
            tokens: row.number(7)?,
            raw_bytes: row.number(8)?,
            first_ms: row.at(9)?,
            last_ms: row.at(10)?,
        },
        purged: row.number(15)?,
        end: End { generation, length: row.at::<Option<i64>>(11)?.map(uint), run },
        is_fresh: true,
    })
}

impl Head {
    /// Where an append would write.
    ///
    /// # Errors
    /// Those of [`unforget_store::Log::append`].
    pub(super) fn place(&self, request: &Request) -> Placed {
        self.counters.expect(request.id, request.entries)?;
        let length = self.end.length;
        let moved = |generation: Generation, expected| {
            Err(StoreError::Moved { generation, expected, found: length.unwrap_or(0) })
        };
        let place = match request.target {
            Target::Extend(generation, expected) if length == Some(expected) => {
                Place { generation: generation.0, position: expected, opened: None }
            }
            Target::Extend(generation, expected) => return moved(generation, expected),
            Target::Open { parent: Some((generation, Position(fork))), .. }
                if length.is_none_or(|length| fork > length) =>
            {
                return moved(generation, fork);
            }
            Target::Open { parent, opened_by } => Place {
                generation: self.counters.generations,
                position: parent.map_or(0, |(_, fork)| fork.0),
                opened: Some((parent, opened_by)),
            },
        };
        let found = place.position + request.count();
        match &request.snapshot {
            Some(snapshot) if snapshot.length > found => Err(StoreError::Moved {
                generation: Generation(place.generation),
                expected: snapshot.length,
                found,
            }),
            _ => Ok(place),
        }
    }
}
