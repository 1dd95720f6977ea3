//! Results of recall, with receipts.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use unforget_engine::recall::{
    Description, EntryCopy, EntryPage, GrepAnswer, GrepMatch, Hit, HitCopy, Item, SearchAnswer, SpanOutline,
};
use unforget_engine::summarise::Writer;
use utoipa::ToSchema;

use super::{CluesJson, MeaningJson, RoleJson, VerdictJson, iso};

/// An id for `describe` and `expand`, made from a result.
pub fn id_of(conversation: &str, seq: u64) -> String {
    format!("e:{conversation}:{seq}")
}

/// A range: of bytes in the transcript or the lane's journal, or of characters.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, ToSchema)]
struct BytesJson {
    /// The first one.
    start: u64,
    /// The one behind the last.
    end: u64,
}

impl From<&Range<u64>> for BytesJson {
    fn from(bytes: &Range<u64>) -> Self {
        Self { start: bytes.start, end: bytes.end }
    }
}

/// The result of a search and its extent.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct SearchJson<'a> {
    /// Best first.
    results: Vec<HitJson<'a>>,
    /// Number of entries in scope with a word of the query.
    matched: u64,
    /// Number of entries in scope that were found without a word of the query: by a near word, beside an entry that was found, or
    /// by a date of the query.
    nearby: u64,
    /// Number of entries in scope that were found by their meaning alone.
    meant: u64,
    /// Number of entries in scope that contain words.
    searched: u64,
    /// Number of entries that contain words, in scope or not.
    total: u64,
    /// Whether everything found is shown.
    #[schemars(rename = "isComplete")]
    complete: bool,
    /// Words of the query that occur nowhere.
    absent: &'a [String],
    /// Percent of the query's words, weighed by rarity, in the result that holds most. Below 50, what was asked for may not be
    /// stored.
    held: u32,
    /// What the lack of results means; null if there are results.
    evidence: Option<&'a str>,
    /// Rows of ours that hold much of the query: pins, titles, summaries, the ledger.
    clues: CluesJson<'a>,
    /// What the search says of meaning; null without a model of vectors.
    meaning: Option<MeaningJson<'a>>,
}

/// A result of a search.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct HitJson<'a> {
    /// A name for `describe` and `expand`.
    #[schemars(rename = "name")]
    id: String,
    /// Key of its conversation.
    conversation: &'a str,
    /// Place of the entry in its conversation.
    seq: u64,
    /// The host's id of the entry.
    host_id: Option<&'a str>,
    /// Place of its record.
    bytes: BytesJson,
    /// Comparable within one answer.
    score: f32,
    /// Role of the speaker.
    role: RoleJson,
    /// Name of the speaker.
    author: Option<&'a str>,
    /// The host's time, in UTC.
    time: Option<String>,
    /// The host's time, in ms since 1970.
    time_ms: Option<i64>,
    /// Tokens of `text`.
    tokens: u64,
    /// Whether `text` is the entry's whole text.
    #[schemars(rename = "isWhole")]
    whole: bool,
    /// The entry's text.
    text: &'a str,
    /// Entries of the same role that say nearly the same: copies in forks, texts that were read again.
    also: Vec<HitCopyJson>,
    /// What somebody said of the entry; null if nobody did.
    verdict: Option<VerdictJson<'a>>,
    /// Whether only an earlier form of the transcript has the entry: it was repaired, rewound or rewritten since.
    #[schemars(rename = "isEarlier")]
    earlier: bool,
}

/// An entry that says nearly what a better hit says.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct HitCopyJson {
    /// A name for `describe` and `expand`.
    #[schemars(rename = "name")]
    id: String,
}

impl<'a> From<&'a SearchAnswer> for SearchJson<'a> {
    fn from(answer: &'a SearchAnswer) -> Self {
        Self {
            results: answer.results.iter().map(HitJson::from).collect(),
            matched: answer.matched,
            nearby: answer.nearby,
            meant: answer.meant,
            searched: answer.searched,
            total: answer.total,
            complete: answer.is_complete,
            absent: &answer.absent,
            held: answer.held,
            evidence: Some(answer.evidence.as_str()).filter(|text| !text.is_empty()),
            clues: CluesJson::from(&answer.clues),
            meaning: answer.meaning.as_ref().map(MeaningJson::from),
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
            role: hit.role.into(),
            author: hit.author.as_deref(),
            time: hit.time.and_then(iso),
            time_ms: hit.time.map(|time| time.0),
            tokens: hit.tokens,
            whole: hit.is_whole,
            text: &hit.text,
            also: hit.also.iter().map(HitCopyJson::from).collect(),
            verdict: hit.verdict.as_ref().map(VerdictJson::from),
            earlier: hit.is_earlier,
        }
    }
}

impl From<&HitCopy> for HitCopyJson {
    fn from(copy: &HitCopy) -> Self {
        Self { id: id_of(&copy.conversation.0, copy.seq.0) }
    }
}

/// The result of a scan and its extent.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct GrepJson<'a> {
    /// Newest first.
    #[schemars(rename = "matches")]
    results: Vec<MatchJson<'a>>,
    /// Number of entries that were read, or that provably cannot match.
    searched: u64,
    /// Number of entries in scope.
    total: u64,
    /// Number of chunks that were read.
    chunks_scanned: u64,
    /// Number of chunks in scope.
    chunks_total: u64,
    /// Whether the limit of matches was reached, so that there may be more.
    stopped_at_limit: bool,
    /// Whether time ran out before everything was read.
    stopped_at_deadline: bool,
}

/// A match of a pattern.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct MatchJson<'a> {
    /// A name for `describe` and `expand`.
    #[schemars(rename = "name")]
    id: String,
    /// Key of its conversation.
    conversation: &'a str,
    /// Place of the entry in its conversation.
    seq: u64,
    /// The host's id of the entry.
    host_id: Option<&'a str>,
    /// Place of the match.
    bytes: BytesJson,
    /// Role of the speaker.
    role: RoleJson,
    /// The host's time, in UTC.
    time: Option<String>,
    /// The host's time, in ms since 1970.
    time_ms: Option<i64>,
    /// The match alone, with escapes undone.
    #[serde(rename = "match")]
    #[schemars(rename = "matched")]
    matched: &'a str,
    /// The match with its surroundings.
    text: &'a str,
    /// Whether only an earlier form of the transcript has the entry.
    #[schemars(rename = "isEarlier")]
    earlier: bool,
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
            role: found.role.into(),
            time: found.time.and_then(iso),
            time_ms: found.time.map(|time| time.0),
            matched: found.snippet.get(found.shown.clone()).unwrap_or_default(),
            text: &found.snippet,
            earlier: found.is_earlier,
        }
    }
}

/// The content behind an id.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DescriptionJson<'a> {
    /// The requested id.
    #[schemars(rename = "name")]
    id: &'a str,
    /// `entry`, `entries` or `summary`.
    kind: &'static str,
    /// Key of the conversation.
    conversation: &'a str,
    /// First entry.
    first: u64,
    /// Last entry.
    last: u64,
    /// Number of entries that `expand` returns.
    entries: u64,
    /// Their tokens.
    tokens: u64,
    /// The host's earliest time, in UTC.
    from: Option<String>,
    /// The host's latest time, in UTC.
    to: Option<String>,
    /// Number of entries by role.
    #[schemars(with = "Vec<RoleCountJson>")]
    roles: serde_json::Map<String, serde_json::Value>,
    /// The writer of a summary; null for entries.
    writer: Option<WriterJson<'a>>,
    /// Ids of a summary's source summaries.
    sources: &'a [String],
    /// The beginning of the entries; for a summary, its text.
    preview: &'a str,
    /// Other copies of its entries, as the host delivered them.
    faces: Vec<FaceJson<'a>>,
}

/// Number of entries of a role, as JSON-RPC lists them.
#[derive(Debug, JsonSchema)]
#[allow(dead_code, reason = "its shape is described, its values are made by `rpc/spelling`")]
pub(crate) struct RoleCountJson {
    /// The role.
    role: RoleJson,
    /// Number of entries.
    entries: u64,
}

/// The writer of a summary.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WriterJson<'a> {
    /// `model`, `deterministic` (no model was asked for), `fallback` (a model was asked for, but has not written it
    /// yet).
    kind: &'static str,
    /// The model that wrote it.
    model: Option<&'a str>,
    /// For a fallback: the state of its job: `waiting`, `leased`, `given-up`.
    job: Option<&'static str>,
    /// For a fallback: the outcome of the last attempt; empty before the first.
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

/// Another copy of an entry, as the host delivered it. Stored, and shown by no prompt.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
struct FaceJson<'a> {
    /// A name for `describe` and `expand`.
    #[schemars(rename = "name")]
    id: &'a str,
    /// Its place in the conversation.
    seq: u64,
    /// The entry that it is a copy of.
    of: u64,
    /// The host's time, in UTC.
    time: Option<String>,
    /// The host's time, in ms since 1970.
    time_ms: Option<i64>,
    /// Place of its record.
    bytes: BytesJson,
}

impl<'a> From<&'a EntryCopy> for FaceJson<'a> {
    fn from(face: &'a EntryCopy) -> Self {
        Self {
            id: &face.name,
            seq: face.seq.0,
            of: face.of.0,
            time: face.time.and_then(iso),
            time_ms: face.time.map(|time| time.0),
            bytes: (&face.bytes).into(),
        }
    }
}

impl<'a> From<&'a Description> for DescriptionJson<'a> {
    fn from(what: &'a Description) -> Self {
        let roles = what.roles.iter().map(|(who, count)| (who.name().to_owned(), (*count).into()));
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
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct PageJson<'a> {
    /// The requested id.
    #[schemars(rename = "name")]
    id: &'a str,
    /// Number of entries behind the id.
    entries: u64,
    /// Tokens of the page.
    tokens: u64,
    /// Cursor of the next page; null if there is none.
    next: Option<&'a str>,
    /// What each entry says, on the first page of entries that do not fit one; null otherwise. `next` leads to their
    /// words; `cursor=0.0` begins with these.
    outline: Option<OutlineJson<'a>>,
    /// The items, in order; none beside an outline.
    items: Vec<ItemJson<'a>>,
}

/// What each entry of a long span says, in few words of its own.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub(crate) struct OutlineJson<'a> {
    /// Number of entries that were read for it, counted from the first: all, unless they have more than 16 MiB.
    entries: u64,
    /// Number of these that have words and no line, for want of room.
    left_out: u64,
    /// In order; an entry without words has none.
    lines: Vec<OutlineLineJson<'a>>,
}

/// What an entry says.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
struct OutlineLineJson<'a> {
    /// Place of the entry in its conversation.
    seq: u64,
    /// Role of the speaker.
    role: RoleJson,
    /// Pieces of its text, in order, with `…` between those that are not neighbours.
    text: &'a str,
}

/// An entry, or a piece of a long one.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ItemJson<'a> {
    /// Place of the entry in its conversation.
    seq: u64,
    /// The host's id of the entry.
    host_id: Option<&'a str>,
    /// Role of the speaker.
    role: RoleJson,
    /// Name of the speaker.
    author: Option<&'a str>,
    /// The host's time, in UTC.
    time: Option<String>,
    /// The host's time, in ms since 1970.
    time_ms: Option<i64>,
    /// Place of its record.
    bytes: BytesJson,
    /// Tokens of `text`.
    tokens: u64,
    /// Range of characters that `text` covers; null for the whole entry.
    piece: Option<BytesJson>,
    /// Whether the bytes were purged.
    #[schemars(rename = "isPurged")]
    purged: bool,
    /// The entry's text, word for word.
    text: &'a str,
    /// Its record as received, where a protocol can ask for it; null otherwise, and if it is not UTF-8.
    raw: Option<&'a str>,
    /// Other copies of the entry, as the host delivered them.
    faces: Vec<FaceJson<'a>>,
}

impl<'a> PageJson<'a> {
    /// * `id` - the requested id.
    pub fn new(id: &'a str, page: &'a EntryPage) -> Self {
        let items = page.items.iter().map(ItemJson::from).collect();
        let outline = page.outline.as_ref().map(OutlineJson::from);
        let EntryPage { entries, tokens, .. } = *page;
        Self { id, entries, tokens, next: page.next.as_deref(), outline, items }
    }

    /// This page, with the records of its items as received.
    #[must_use]
    pub(crate) fn with_raw(mut self, page: &'a EntryPage) -> Self {
        for (shown, item) in self.items.iter_mut().zip(&page.items) {
            shown.raw = std::str::from_utf8(&item.raw).ok();
        }
        self
    }
}

impl<'a> From<&'a SpanOutline> for OutlineJson<'a> {
    fn from(outline: &'a SpanOutline) -> Self {
        let lines = outline.lines.iter().map(|line| OutlineLineJson {
            seq: line.seq.0,
            role: line.role.into(),
            text: &line.text,
        });
        Self { entries: outline.entries, left_out: outline.left_out, lines: lines.collect() }
    }
}

impl<'a> From<&'a Item> for ItemJson<'a> {
    fn from(item: &'a Item) -> Self {
        Self {
            seq: item.seq.0,
            host_id: item.host_id.as_deref(),
            role: item.role.into(),
            author: item.author.as_deref(),
            time: item.time.and_then(iso),
            time_ms: item.time.map(|time| time.0),
            bytes: (&item.bytes).into(),
            tokens: item.tokens,
            piece: item.piece.as_ref().map(BytesJson::from),
            purged: item.purged,
            text: &item.text,
            raw: None,
            faces: item.copies.iter().map(FaceJson::from).collect(),
        }
    }
}
