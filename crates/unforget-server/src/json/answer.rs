//! An answer with its passages.

use serde::Serialize;
use unforget_engine::recall::{Answered, Ended, Evidence, Named};
use utoipa::ToSchema;

use super::{id_of, iso, role};

/// What `answer` prints.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerJson<'a> {
    /// Null if no model said anything.
    text: Option<&'a str>,
    ended: &'static str,
    /// Why it is partial; null if it is not.
    why: Option<&'a str>,
    passages: Vec<PassageJson<'a>>,
    /// What was read of each id of `--from`.
    from: Vec<NamedJson<'a>>,
    /// Numbers that are cited though there is no such passage.
    invented: &'a [u32],
    searched: u64,
    total: u64,
    /// What the lack of results means; null if there are results.
    negative: Option<&'a str>,
    calls: u32,
    /// Number of the grant; null without a model.
    grant: Option<u64>,
}

/// What was read of an id. The rest of its entries was not reached.
#[derive(Debug, Serialize, ToSchema)]
struct NamedJson<'a> {
    id: &'a str,
    entries: u64,
    /// Whole.
    read: u64,
    /// In part.
    cut: u64,
    purged: u64,
}

/// A passage that was read.
#[derive(Debug, Serialize, ToSchema)]
struct PassageJson<'a> {
    number: u32,
    id: String,
    conversation: &'a str,
    seq: u64,
    host_id: Option<&'a str>,
    time: Option<String>,
    role: &'static str,
    tokens: u64,
    cited: bool,
    text: &'a str,
}

impl<'a> From<&'a Answered> for AnswerJson<'a> {
    fn from(answered: &'a Answered) -> Self {
        let why = if let Ended::Partial(why) = &answered.ended { Some(why.as_str()) } else { None };
        Self {
            text: answered.text.as_deref(),
            ended: answered.ended.name(),
            why,
            passages: answered.evidence.iter().map(Into::into).collect(),
            from: answered.named.iter().map(Into::into).collect(),
            invented: &answered.invented,
            searched: answered.searched.0,
            total: answered.searched.1,
            negative: Some(answered.negative.as_str()).filter(|text| !text.is_empty()),
            calls: answered.calls,
            grant: answered.grant,
        }
    }
}

impl<'a> From<&'a Named> for NamedJson<'a> {
    fn from(one: &'a Named) -> Self {
        Self { id: &one.name, entries: one.entries, read: one.read, cut: one.cut, purged: one.purged }
    }
}

impl<'a> From<&'a Evidence> for PassageJson<'a> {
    fn from(one: &'a Evidence) -> Self {
        Self {
            number: one.number,
            id: id_of(&one.conversation.0, one.seq.0),
            conversation: &one.conversation.0,
            seq: one.seq.0,
            host_id: one.host_id.as_deref(),
            time: one.time.and_then(iso),
            role: role(one.role),
            tokens: one.tokens,
            cited: one.is_cited,
            text: &one.text,
        }
    }
}
