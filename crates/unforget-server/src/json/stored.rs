//! Stored data: conversations, generations, saves, entries.

use std::ops::RangeInclusive;

use serde::Serialize;
use unforget_core::entry::{Origin, Status};
use unforget_core::pin::PinId;
use unforget_store::{Conversation, EntryRow, GenerationRow, OpenedBy, Purged, Snapshot};
use utoipa::ToSchema;

use super::{RoleJson, iso};

/// A conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationJson {
    conversation: String,
    format: String,
    title: Option<String>,
    parent: Option<String>,
    entries: u64,
    length: u64,
    generation: u64,
    revision: u64,
    tokens: u64,
    bytes: u64,
    first: Option<String>,
    last: Option<String>,
}

impl ConversationJson {
    /// The conversation under the title by which a person recognises it.
    #[must_use]
    pub fn titled(self, title: Option<String>) -> Self {
        Self { title, ..self }
    }
}

impl From<&Conversation> for ConversationJson {
    fn from(stored: &Conversation) -> Self {
        Self {
            conversation: stored.key.0.clone(),
            format: stored.format.clone(),
            title: stored.title.clone(),
            parent: stored.parent.as_ref().map(|key| key.0.clone()),
            entries: stored.entries,
            length: stored.length,
            generation: stored.current.0,
            revision: stored.revision,
            tokens: stored.tokens,
            bytes: stored.raw_bytes,
            first: stored.time.and_then(|(first, _)| iso(first)),
            last: stored.time.and_then(|(_, last)| iso(last)),
        }
    }
}

/// A generation.
#[derive(Debug, Serialize, ToSchema)]
pub struct GenerationJson {
    number: u64,
    opened_by: &'static str,
    parent: Option<u64>,
    shared: Option<u64>,
    length: u64,
}

impl From<&GenerationRow> for GenerationJson {
    fn from(row: &GenerationRow) -> Self {
        Self {
            number: row.number.0,
            opened_by: opened_by(row.opened_by),
            parent: row.parent.map(|(generation, _)| generation.0),
            shared: row.parent.map(|(_, position)| position.0),
            length: row.length,
        }
    }
}

/// The reason for opening a generation, as a name.
pub const fn opened_by(opened_by: OpenedBy) -> &'static str {
    match opened_by {
        OpenedBy::FirstSight => "first-sight",
        OpenedBy::Branch => "branch",
        OpenedBy::Rotation => "rotation",
    }
}

/// A save of the transcript.
#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotJson {
    number: u64,
    generation: u64,
    entries: u64,
    bytes: u64,
    path: String,
    imported: Option<String>,
}

impl From<&Snapshot> for SnapshotJson {
    fn from(snapshot: &Snapshot) -> Self {
        Self {
            number: snapshot.number,
            generation: snapshot.generation.0,
            entries: snapshot.length,
            bytes: snapshot.file_bytes,
            path: snapshot.path.clone(),
            imported: iso(snapshot.time),
        }
    }
}

/// The facts of an entry.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryJson {
    seq: u64,
    generation: u64,
    position: u64,
    parent: Option<u64>,
    thread: u64,
    role: RoleJson,
    origin: &'static str,
    status: &'static str,
    host_id: Option<String>,
    time: Option<String>,
    tokens: u64,
    #[schema(value_type = Vec<u64>, min_items = 2, max_items = 2)]
    bytes: (u64, u64),
    purged: bool,
}

impl From<&EntryRow> for EntryJson {
    fn from(row: &EntryRow) -> Self {
        Self {
            seq: row.seq.0,
            generation: row.generation.0,
            position: row.position.0,
            parent: row.parent.map(|seq| seq.0),
            thread: row.thread.0,
            role: row.role.into(),
            origin: origin(row.origin),
            status: status(row.status),
            host_id: row.host_id.clone(),
            time: row.time.and_then(iso),
            tokens: row.tokens.expected,
            bytes: (row.bytes.start, row.bytes.end),
            purged: row.purged,
        }
    }
}

/// An origin as a name.
pub const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Human => "human",
        Origin::Model => "model",
        Origin::Tool => "tool",
        Origin::Injected => "injected",
        Origin::HostSummary => "host-summary",
        Origin::Copy => "copy",
        Origin::Bookkeeping => "bookkeeping",
        Origin::Opaque => "opaque",
        Origin::Volatile => "volatile",
        Origin::Overtaken => "overtaken",
    }
}

const fn status(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Aborted => "aborted",
        Status::Error => "error",
    }
}

/// The extent of a purge.
#[derive(Debug, Serialize, ToSchema)]
pub struct PurgedJson {
    conversation: String,
    first: u64,
    last: u64,
    purged: bool,
    entries: u64,
    bytes: u64,
    blobs: u64,
    summaries: u64,
    /// Pins that repeat words of these entries and stay.
    pins: Vec<u64>,
}

impl PurgedJson {
    /// * `span` - first and last entry.
    /// * `pins` - pins that repeat words of these entries and stay.
    /// * `purged` - whether the purge was carried out.
    pub fn new(
        conversation: &str,
        span: RangeInclusive<u64>,
        purged: bool,
        what: &Purged,
        pins: &[PinId],
    ) -> Self {
        Self {
            conversation: conversation.to_owned(),
            first: *span.start(),
            last: *span.end(),
            purged,
            entries: what.entries,
            bytes: what.bytes,
            blobs: what.blobs,
            summaries: what.summaries,
            pins: pins.iter().map(|pin| pin.0).collect(),
        }
    }
}

/// A conversation in full.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShowJson {
    /// Its row in the list of conversations.
    #[serde(flatten)]
    pub conversation: ConversationJson,
    /// Its sub-agents.
    pub children: Vec<String>,
    /// Its generations, by number.
    pub generations: Vec<GenerationJson>,
    /// Its saves, by number.
    pub snapshots: Vec<SnapshotJson>,
    /// Number of its summaries.
    pub summaries: u64,
    /// Its entries, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<EntryJson>>,
}
