//! Results of recall, with receipts.

use std::ops::Range;

use serde::Serialize;
use unforget_engine::recall::{
    Description, EntryCopy, EntryPage, GrepAnswer, GrepMatch, Hit, Item, SearchAnswer,
};
use unforget_engine::summarise::Writer;
use utoipa::ToSchema;

use super::iso;
use super::stored::role;

/// An id for `describe` and `expand`, made from a result.
pub fn id_of(conversation: &str, seq: u64) -> String {
    format!("e:{conversation}:{seq}")
}

/// First byte and the byte behind the last, in the transcript.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct BytesJson {
    start: u64,
    end: u64,
}

impl From<&Range<u64>> for BytesJson {
    fn from(bytes: &Range<u64>) -> Self {
        Self { start: bytes.start, end: bytes.end }
    }
}

/// The result of a search and its extent.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchJson<'a> {
    results: Vec<HitJson<'a>>,
    matched: u64,
    searched: u64,
    total: u64,
    complete: bool,
    absent: &'a [String],
    evidence: Option<&'a str>,
}

#[derive(Debug, Serialize, ToSchema)]
struct HitJson<'a> {
    id: String,
    conversation: &'a str,
    seq: u64,
    host_id: Option<&'a str>,
    bytes: BytesJson,
    score: f32,
    role: &'static str,
    author: Option<&'a str>,
    time: Option<String>,
    tokens: u64,
    whole: bool,
    text: &'a str,
}

impl<'a> From<&'a SearchAnswer> for SearchJson<'a> {
    fn from(answer: &'a SearchAnswer) -> Self {
        Self {
            results: answer.results.iter().map(HitJson::from).collect(),
            matched: answer.matched,
            searched: answer.searched,
            total: answer.total,
            complete: answer.is_complete,
            absent: &answer.absent,
            evidence: Some(answer.evidence.as_str()).filter(|text| !text.is_empty()),
        }
    }
}

impl<'a> From<&'a Hit> for HitJson<'a> {
    fn from(hit: &'a Hit) -> Self {
        Self {
            id: id_of(&hit.conversation.0, hit.seq.0),
            conversation: &hit.conversation.0,
            seq: hit.seq.0,
            host_id: hit.host_id.as_deref(),
            bytes: (&hit.bytes).into(),
            score: hit.score,
            role: role(hit.role),
            author: hit.author.as_deref(),
            time: hit.time.and_then(iso),
            tokens: hit.tokens,
            whole: hit.is_whole,
            text: &hit.text,
        }
    }
}

/// The result of a scan and its extent.
#[derive(Debug, Serialize, ToSchema)]
pub struct GrepJson<'a> {
    results: Vec<MatchJson<'a>>,
    searched: u64,
    total: u64,
    chunks_scanned: u64,
    chunks_total: u64,
    stopped_at_limit: bool,
    stopped_at_deadline: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct MatchJson<'a> {
    id: String,
    conversation: &'a str,
    seq: u64,
    host_id: Option<&'a str>,
    bytes: BytesJson,
    role: &'static str,
    time: Option<String>,
    /// The match, with escapes undone.
    #[serde(rename = "match")]
    matched: &'a str,
    text: &'a str,
}

impl<'a> From<&'a GrepAnswer> for GrepJson<'a> {
    fn from(answer: &'a GrepAnswer) -> Self {
        Self {
            results: answer.matches.iter().map(MatchJson::from).collect(),
            searched: answer.entries_searched,
            total: answer.entries_total,
            chunks_scanned: answer.chunks_scanned,
            chunks_total: answer.chunks_total,
            stopped_at_limit: answer.stopped_at_limit,
            stopped_at_deadline: answer.stopped_at_deadline,
        }
    }
}

impl<'a> From<&'a GrepMatch> for MatchJson<'a> {
    fn from(found: &'a GrepMatch) -> Self {
        Self {
            id: id_of(&found.conversation.0, found.seq.0),
            conversation: &found.conversation.0,
            seq: found.seq.0,
            host_id: found.host_id.as_deref(),
            bytes: (&found.bytes).into(),
            role: role(found.role),
            time: found.time.and_then(iso),
            matched: found.snippet.get(found.shown.clone()).unwrap_or_default(),
            text: &found.snippet,
        }
    }
}

/// The content behind an id.
#[derive(Debug, Serialize, ToSchema)]
pub struct DescriptionJson<'a> {
    id: &'a str,
    kind: &'static str,
    conversation: &'a str,
    first: u64,
    last: u64,
    entries: u64,
    tokens: u64,
    from: Option<String>,
    to: Option<String>,
    roles: serde_json::Map<String, serde_json::Value>,
    /// The writer of a summary; null for entries.
    writer: Option<WriterJson<'a>>,
    sources: &'a [String],
    preview: &'a str,
    faces: Vec<FaceJson<'a>>,
}

/// The writer of a summary.
#[derive(Debug, Serialize, ToSchema)]
pub struct WriterJson<'a> {
    kind: &'static str,
    model: Option<&'a str>,
    /// For a fallback: the state of its job, and the outcome of the last attempt.
    job: Option<&'static str>,
    why: Option<&'a str>,
}

impl<'a> From<&'a Writer> for WriterJson<'a> {
    fn from(writer: &'a Writer) -> Self {
        let (mut model, mut job, mut reason) = (None, None, None);
        match writer {
            Writer::Model(name) => model = Some(name.as_str()),
            Writer::Deterministic => {}
            Writer::Fallback { state, why } => (job, reason) = (Some(state.name()), Some(why.as_str())),
        }
        Self { kind: writer.name(), model, job, why: reason }
    }
}

/// Another copy of an entry, as the host delivered it.
#[derive(Debug, Serialize, ToSchema)]
struct FaceJson<'a> {
    id: &'a str,
    seq: u64,
    of: u64,
    time: Option<String>,
    bytes: BytesJson,
}

impl<'a> From<&'a EntryCopy> for FaceJson<'a> {
    fn from(face: &'a EntryCopy) -> Self {
        Self {
            id: &face.name,
            seq: face.seq.0,
            of: face.of.0,
            time: face.time.and_then(iso),
            bytes: (&face.bytes).into(),
        }
    }
}

impl<'a> From<&'a Description> for DescriptionJson<'a> {
    fn from(what: &'a Description) -> Self {
        let roles = what.roles.iter().map(|(who, count)| (role(*who).to_owned(), (*count).into()));
        Self {
            id: &what.name,
            kind: what.kind,
            conversation: &what.conversation.0,
            first: what.span.0.0,
            last: what.span.1.0,
            entries: what.entries,
            tokens: what.tokens,
            from: what.time.and_then(|(from, _)| iso(from)),
            to: what.time.and_then(|(_, to)| iso(to)),
            roles: roles.collect(),
            writer: what.writer.as_ref().map(Into::into),
            sources: &what.sources,
            preview: &what.preview,
            faces: what.copies.iter().map(FaceJson::from).collect(),
        }
    }
}

/// A page of entries.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageJson<'a> {
    id: &'a str,
    entries: u64,
    tokens: u64,
    next: Option<&'a str>,
    items: Vec<ItemJson<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ItemJson<'a> {
    seq: u64,
    host_id: Option<&'a str>,
    role: &'static str,
    author: Option<&'a str>,
    time: Option<String>,
    bytes: BytesJson,
    tokens: u64,
    /// First character of the text within the entry, and the one behind the last; null for a whole entry.
    piece: Option<BytesJson>,
    purged: bool,
    text: &'a str,
    faces: Vec<FaceJson<'a>>,
}

impl<'a> PageJson<'a> {
    /// * `id` - the requested id.
    pub fn new(id: &'a str, page: &'a EntryPage) -> Self {
        let items = page.items.iter().map(ItemJson::from).collect();
        Self { id, entries: page.entries, tokens: page.tokens, next: page.next.as_deref(), items }
    }
}

impl<'a> From<&'a Item> for ItemJson<'a> {
    fn from(item: &'a Item) -> Self {
        Self {
            seq: item.seq.0,
            host_id: item.host_id.as_deref(),
            role: role(item.role),
            author: item.author.as_deref(),
            time: item.time.and_then(iso),
            bytes: (&item.bytes).into(),
            tokens: item.tokens,
            piece: item.piece.as_ref().map(BytesJson::from),
            purged: item.purged,
            text: &item.text,
            faces: item.copies.iter().map(FaceJson::from).collect(),
        }
    }
}
