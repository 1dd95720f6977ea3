//! Parameters and answers of recall, and of `classify`.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unforget_core::entry;
use unforget_engine::recall as engine;
use unforget_wire::refusal;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Instructions.
    System,
    /// A person, or the host in their place.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Nobody: a bookkeeping record.
    None,
}

impl From<entry::Role> for Role {
    fn from(role: entry::Role) -> Self {
        match role {
            entry::Role::System => Self::System,
            entry::Role::User => Self::User,
            entry::Role::Assistant => Self::Assistant,
            entry::Role::Tool => Self::Tool,
            entry::Role::None => Self::None,
        }
    }
}

impl From<Role> for entry::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
            Role::None => Self::None,
        }
    }
}

/// Parameters of `search`. The scope is the call's lane, or else `conversation`, or else everything.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchParams {
    /// Words, names, questions: any text.
    pub query: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Only entries of this role.
    #[serde(default)]
    pub role: Option<Role>,
    /// Only calls and results of this tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Only entries from this time on, in ms since 1970.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// Only entries before this time, in ms since 1970.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Most results; by default 10, or as many as `budget` holds.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Most tokens of all result texts together.
    #[serde(default)]
    pub budget: Option<u64>,
}

/// Parameters of `grep`, with the scope of `search`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepParams {
    /// A regular expression; linear time, no look-around.
    pub pattern: String,
    /// Takes the pattern literally.
    #[serde(default)]
    pub is_literal: bool,
    /// Ignores case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Only entries of this role.
    #[serde(default)]
    pub role: Option<Role>,
    /// Only entries from this time on, in ms since 1970.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// Only entries before this time, in ms since 1970.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Most matches; by default 100.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Parameters of `describe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DescribeParams {
    /// `s:12`, `s:12-40` in the lane; `e:KEY:12`, of other conversations only without a scope; `sum:…` a summary.
    pub name: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
}

/// Parameters of `expand`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpandParams {
    /// A name as for `describe`.
    pub name: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Tokens of a page.
    #[serde(default)]
    pub page_tokens: Option<u64>,
    /// `next` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether items include their record as received.
    #[serde(default)]
    pub raw: bool,
}

/// First byte and the byte behind the last, in the lane's journal or the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Span {
    /// First.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
}

impl From<&Range<u64>> for Span {
    fn from(range: &Range<u64>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// Answer of `search`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    /// Best first.
    pub results: Vec<Hit>,
    /// Number of entries in scope that match any part of the query.
    pub matched: u64,
    /// Number of entries in scope that contain words.
    pub searched: u64,
    /// Whether every match is shown.
    pub is_complete: bool,
    /// Words of the query that occur nowhere.
    pub absent: Vec<String>,
    /// What the lack of results means.
    pub evidence: Option<String>,
}

/// A result of `search`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// A name for `describe` and `expand`.
    pub name: String,
    /// Place of the entry in its conversation.
    pub seq: u64,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// Comparable within one answer.
    pub score: f32,
    /// The entry's text.
    pub text: String,
    /// Whether `text` is the entry's whole text.
    pub is_whole: bool,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Place of its record.
    pub bytes: Span,
}

impl From<engine::SearchAnswer> for SearchAnswer {
    fn from(answer: engine::SearchAnswer) -> Self {
        let hit = |hit: engine::Hit| Hit {
            name: format!("e:{}:{}", hit.conversation, hit.seq),
            seq: hit.seq.0,
            host_id: hit.host_id,
            role: hit.role.into(),
            time_ms: hit.time.map(|time| time.0),
            score: hit.score,
            text: hit.text,
            is_whole: hit.is_whole,
            tokens: hit.tokens,
            bytes: (&hit.bytes).into(),
        };
        Self {
            results: answer.results.into_iter().map(hit).collect(),
            matched: answer.matched,
            searched: answer.searched,
            is_complete: answer.is_complete,
            absent: answer.absent,
            evidence: Some(answer.evidence).filter(|text| !text.is_empty()),
        }
    }
}

/// Answer of `grep`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepAnswer {
    /// Newest first.
    pub matches: Vec<Match>,
    /// Number of entries that were read, or that provably cannot match.
    pub searched: u64,
    /// Number of entries in scope.
    pub total: u64,
    /// Whether the limit of matches was reached, so that there may be more.
    pub stopped_at_limit: bool,
    /// Whether time ran out before everything was read.
    pub stopped_at_deadline: bool,
}

/// A match of `grep`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// A name for `describe` and `expand`.
    pub name: String,
    /// Place of the entry in its conversation.
    pub seq: u64,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// The match with its surroundings.
    pub text: String,
    /// The match alone.
    pub matched: String,
    /// Place of the match.
    pub bytes: Span,
}

impl From<engine::GrepAnswer> for GrepAnswer {
    fn from(answer: engine::GrepAnswer) -> Self {
        let found = |found: engine::GrepMatch| Match {
            name: format!("e:{}:{}", found.conversation, found.seq),
            seq: found.seq.0,
            host_id: found.host_id,
            role: found.role.into(),
            time_ms: found.time.map(|time| time.0),
            matched: found.snippet.get(found.shown.clone()).unwrap_or_default().to_owned(),
            text: found.snippet,
            bytes: (&found.bytes).into(),
        };
        Self {
            matches: answer.matches.into_iter().map(found).collect(),
            searched: answer.entries_searched,
            total: answer.entries_total,
            stopped_at_limit: answer.stopped_at_limit,
            stopped_at_deadline: answer.stopped_at_deadline,
        }
    }
}

/// Number of entries of a role.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoleCount {
    /// The role.
    pub role: Role,
    /// Number of entries.
    pub entries: u64,
}

/// Answer of `describe`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The requested name.
    pub name: String,
    /// `entry`, `entries` or `summary`.
    pub kind: &'static str,
    /// Key of the conversation.
    pub conversation: String,
    /// First entry.
    pub first: u64,
    /// Last entry.
    pub last: u64,
    /// Number of entries that `expand` returns.
    pub entries: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Entries by role.
    pub roles: Vec<RoleCount>,
    /// The writer of a summary.
    pub writer: Option<super::Writer>,
    /// Names of its source summaries.
    pub sources: Vec<String>,
    /// The beginning of the entries; for a summary, its text.
    pub preview: String,
    /// Other copies of its entries, as the host delivered them.
    pub faces: Vec<Face>,
}

/// Another copy of an entry, as the host delivered it in another form. Stored, and shown by no prompt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Face {
    /// A name for `describe` and `expand`.
    pub name: String,
    /// Its place in the conversation.
    pub seq: u64,
    /// The entry that it is a copy of.
    pub of: u64,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
}

impl From<engine::EntryCopy> for Face {
    fn from(face: engine::EntryCopy) -> Self {
        Self { name: face.name, seq: face.seq.0, of: face.of.0, time_ms: face.time.map(|time| time.0) }
    }
}

impl From<engine::Description> for Description {
    fn from(what: engine::Description) -> Self {
        Self {
            name: what.name,
            kind: what.kind,
            conversation: what.conversation.0,
            first: what.span.0.0,
            last: what.span.1.0,
            entries: what.entries,
            tokens: what.tokens,
            roles: what
                .roles
                .into_iter()
                .map(|(role, entries)| RoleCount { role: role.into(), entries })
                .collect(),
            writer: what.writer.map(Into::into),
            sources: what.sources,
            preview: what.preview,
            faces: what.copies.into_iter().map(Into::into).collect(),
        }
    }
}

/// Answer of `expand`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpandAnswer {
    /// The items, in order.
    pub items: Vec<Item>,
    /// Their tokens.
    pub tokens: u64,
    /// Number of entries behind the name.
    pub entries: u64,
    /// Cursor of the next page.
    pub next: Option<String>,
}

/// An entry, or a piece of a long one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Place of the entry in its conversation.
    pub seq: u64,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// The entry's text, word for word.
    pub text: String,
    /// Range of characters that `text` covers; none for the whole entry.
    pub piece: Option<Span>,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Whether the bytes were purged.
    pub is_purged: bool,
    /// Other copies of the entry, as the host delivered them.
    pub faces: Vec<Face>,
    /// Its record as received, if requested; null if it is not UTF-8.
    pub raw: Option<String>,
}

impl ExpandAnswer {
    /// * `is_raw` - whether items include their record as received.
    pub fn new(page: engine::EntryPage, is_raw: bool) -> Self {
        let item = |item: engine::Item| Item {
            seq: item.seq.0,
            host_id: item.host_id,
            role: item.role.into(),
            time_ms: item.time.map(|time| time.0),
            text: item.text,
            piece: item.piece.as_ref().map(Span::from),
            tokens: item.tokens,
            is_purged: item.purged,
            faces: item.copies.into_iter().map(Into::into).collect(),
            raw: Some(item.raw).filter(|_| is_raw).and_then(|raw| String::from_utf8(raw).ok()),
        };
        Self {
            items: page.items.into_iter().map(item).collect(),
            tokens: page.tokens,
            entries: page.entries,
            next: page.next,
        }
    }
}

/// Response headers that describe a refusal.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Headers {
    /// Delay in seconds.
    pub retry_after: Option<String>,
    /// Delay in milliseconds.
    pub retry_after_ms: Option<String>,
    /// Error type of AWS.
    pub x_amzn_errortype: Option<String>,
}

/// Parameters of `classify`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassifyParams {
    /// The HTTP status; none if there was no response.
    pub status: Option<u16>,
    /// The relevant headers.
    pub headers: Headers,
    /// The decompressed body; for a stream, its end.
    pub body: String,
    /// The answering provider.
    pub provider: Option<String>,
}

/// Answer of `classify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Classified {
    /// Whether the reply is a refusal.
    pub is_refusal: bool,
    /// The kind: `overflow`, `suspected-overflow`, `output`, `rate-limited`, `overloaded`, `auth`, `quota`,
    /// `bad-image`, `tool-pairing`, `invalid`, `not-found`, `policy`, `server`, `network`, `unknown`.
    pub refusal: Option<&'static str>,
    /// The limit that the provider named.
    pub limit: Option<u64>,
    /// The size of the request by the provider's count.
    pub sent: Option<u64>,
    /// Delay that the provider requests.
    pub retry_after_ms: Option<u64>,
    /// Whether a smaller prompt can help.
    pub shrinking_helps: bool,
}

impl From<Option<refusal::Refusal>> for Classified {
    fn from(refusal: Option<refusal::Refusal>) -> Self {
        use refusal::Refusal;
        let Some(refusal) = refusal else { return Self::default() };
        let (limit, sent) = match &refusal {
            Refusal::Overflow(overflow) => (overflow.limit, overflow.sent),
            Refusal::Output { limit, asked } => (*limit, *asked),
            Refusal::RateLimited { largest, .. } => (*largest, None),
            _ => (None, None),
        };
        let wait = match &refusal {
            Refusal::RateLimited { retry_after, .. }
            | Refusal::Overloaded { retry_after }
            | Refusal::Server { retry_after } => *retry_after,
            _ => None,
        };
        Self {
            is_refusal: true,
            refusal: Some(refusal.name()),
            limit,
            sent,
            retry_after_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            shrinking_helps: matches!(refusal, Refusal::Overflow(_) | Refusal::SuspectedOverflow),
        }
    }
}
