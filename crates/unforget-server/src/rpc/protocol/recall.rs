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
    /// Nobody: bookkeeping.
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

/// Parameters of `search`. The scope is the lane of the call, else `conversation`, else everything.
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
    /// Results at most; 10, or as many as `budget` holds.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Tokens that the texts of the results may have in all.
    #[serde(default)]
    pub budget: Option<u64>,
}

/// Parameters of `grep`. The scope is that of `search`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepParams {
    /// A regular expression; linear time, no look-around.
    pub pattern: String,
    /// Take the pattern as it stands.
    #[serde(default)]
    pub is_literal: bool,
    /// Large and small letters are the same.
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
    /// Matches at most; 100.
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
    /// As of `describe`.
    pub name: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Tokens of a page.
    #[serde(default)]
    pub page_tokens: Option<u64>,
    /// `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether items have their record as received.
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
    /// Entries in scope that have something of the query.
    pub matched: u64,
    /// Entries in scope with words in them.
    pub searched: u64,
    /// Whether every result that matched is shown.
    pub is_complete: bool,
    /// Words of the query that are nowhere.
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
    /// The host's id of it.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// Comparable within one answer.
    pub score: f32,
    /// What it says.
    pub text: String,
    /// Whether `text` is all that it says.
    pub is_whole: bool,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Where its record is.
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
    /// Entries that were read, or that provably cannot match.
    pub searched: u64,
    /// Entries in scope.
    pub total: u64,
    /// There may be more matches.
    pub stopped_at_limit: bool,
    /// Time ran out before everything was read.
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
    /// The host's id of it.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// The match with what is around it.
    pub text: String,
    /// The match alone.
    pub matched: String,
    /// Where the match is.
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

/// Entries of a role.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoleCount {
    /// The role.
    pub role: Role,
    /// How many.
    pub entries: u64,
}

/// Answer of `describe`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// What was asked for.
    pub name: String,
    /// `entry`, `entries` or `summary`.
    pub kind: &'static str,
    /// Key of the conversation.
    pub conversation: String,
    /// First entry.
    pub first: u64,
    /// Last entry.
    pub last: u64,
    /// Entries that `expand` gives.
    pub entries: u64,
    /// Tokens of them.
    pub tokens: u64,
    /// Entries by role.
    pub roles: Vec<RoleCount>,
    /// Who wrote it, if it is a summary.
    pub writer: Option<super::Writer>,
    /// Names of the summaries that this one was merged from.
    pub sources: Vec<String>,
    /// How it begins; of a summary, its text.
    pub preview: String,
    /// Other faces of its entries.
    pub faces: Vec<Face>,
}

/// Another face of an entry: what the host delivered of it in other clothes. Stored, and shown by no prompt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Face {
    /// A name for `describe` and `expand`.
    pub name: String,
    /// Its place in the conversation.
    pub seq: u64,
    /// The entry that it is a face of.
    pub of: u64,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
}

impl From<engine::Face> for Face {
    fn from(face: engine::Face) -> Self {
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
            faces: what.faces.into_iter().map(Into::into).collect(),
        }
    }
}

/// Answer of `expand`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpandAnswer {
    /// In order.
    pub items: Vec<Item>,
    /// Tokens of them.
    pub tokens: u64,
    /// Entries that the name stands for.
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
    /// The host's id of it.
    pub host_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The host's time, in ms since 1970.
    pub time_ms: Option<i64>,
    /// What it says, word for word.
    pub text: String,
    /// Which characters of it `text` is; none if all.
    pub piece: Option<Span>,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Whether the bytes were purged.
    pub is_purged: bool,
    /// Other faces of the entry.
    pub faces: Vec<Face>,
    /// Its record as received, if that was asked for; null if it is not UTF-8.
    pub raw: Option<String>,
}

impl ExpandAnswer {
    /// * `is_raw` - whether items have their record as received.
    pub fn new(page: engine::Page, is_raw: bool) -> Self {
        let item = |item: engine::Item| Item {
            seq: item.seq.0,
            host_id: item.host_id,
            role: item.role.into(),
            time_ms: item.time.map(|time| time.0),
            text: item.text,
            piece: item.piece.as_ref().map(Span::from),
            tokens: item.tokens,
            is_purged: item.purged,
            faces: item.faces.into_iter().map(Into::into).collect(),
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

/// Response headers that say something about a refusal.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Headers {
    /// Seconds.
    pub retry_after: Option<String>,
    /// Milliseconds.
    pub retry_after_ms: Option<String>,
    /// Of AWS.
    pub x_amzn_errortype: Option<String>,
}

/// Parameters of `classify`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassifyParams {
    /// The HTTP status; none if there was no response.
    pub status: Option<u16>,
    /// The headers that matter.
    pub headers: Headers,
    /// The body as received, decompressed; of a stream its end.
    pub body: String,
    /// Who answered.
    pub provider: Option<String>,
}

/// Answer of `classify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Classified {
    /// Whether it is a refusal at all.
    pub is_refusal: bool,
    /// Which: `overflow`, `suspected-overflow`, `output`, `rate-limited`, `overloaded`, `auth`, `quota`, `bad-image`,
    /// `tool-pairing`, `invalid`, `not-found`, `policy`, `server`, `network`, `unknown`.
    pub refusal: Option<&'static str>,
    /// The limit that the provider told.
    pub limit: Option<u64>,
    /// What was sent, as the provider counted it.
    pub sent: Option<u64>,
    /// How long the provider says to wait.
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
