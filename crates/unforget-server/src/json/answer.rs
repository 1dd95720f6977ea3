//! An answer with its passages.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unforget_engine::recall::{Answered, Ended, Evidence, Named};
use utoipa::ToSchema;

use super::{id_of, iso, role};

/// The output of `answer`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AnswerJson {
    /// The model's answer; null if no model answered.
    pub text: Option<String>,
    /// `answered`, `uncited`, `no-model`, `nothing-found` or `partial`.
    pub ended: Cow<'static, str>,
    /// Why the answer is partial; null if it is not.
    pub why: Option<String>,
    /// The passages read or found.
    pub passages: Vec<PassageJson>,
    /// The part read of each id in `--from`.
    pub from: Vec<NamedJson>,
    /// Cited numbers for which no passage exists.
    pub invented: Vec<u32>,
    /// Number of entries searched.
    pub searched: u64,
    /// Number of all entries.
    pub total: u64,
    /// What the lack of results means; null if there are results.
    pub negative: Option<String>,
    /// Number of model calls.
    pub calls: u32,
    /// Number of the grant; null without a model.
    grant: Option<u64>,
}

/// The part read of an id. The rest of its entries was not reached.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NamedJson {
    /// The id.
    pub id: String,
    /// Number of its entries.
    pub entries: u64,
    /// Number of entries read whole.
    pub read: u64,
    /// Number of entries read in part.
    pub cut: u64,
    /// Number of entries with purged bytes.
    pub purged: u64,
}

/// A passage for the answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PassageJson {
    /// Its number in the answer, from 1.
    pub number: u32,
    /// Id for expanding it.
    pub id: String,
    conversation: String,
    seq: u64,
    host_id: Option<String>,
    /// The host's time.
    pub time: Option<String>,
    /// Who speaks.
    pub role: Cow<'static, str>,
    tokens: u64,
    /// Whether the answer cites it.
    pub cited: bool,
    /// The text that was read.
    pub text: String,
}

impl From<&Answered> for AnswerJson {
    fn from(answered: &Answered) -> Self {
        let why = if let Ended::Partial(why) = &answered.ended { Some(why.clone()) } else { None };
        Self {
            text: answered.text.clone(),
            ended: answered.ended.name().into(),
            why,
            passages: answered.evidence.iter().map(Into::into).collect(),
            from: answered.named.iter().map(Into::into).collect(),
            invented: answered.invented.clone(),
            searched: answered.searched.0,
            total: answered.searched.1,
            negative: Some(answered.negative.clone()).filter(|text| !text.is_empty()),
            calls: answered.calls,
            grant: answered.grant,
        }
    }
}

impl From<&Named> for NamedJson {
    fn from(one: &Named) -> Self {
        Self { id: one.name.clone(), entries: one.entries, read: one.read, cut: one.cut, purged: one.purged }
    }
}

impl From<&Evidence> for PassageJson {
    fn from(one: &Evidence) -> Self {
        Self {
            number: one.number,
            id: id_of(&one.conversation.0, one.seq.0),
            conversation: one.conversation.0.clone(),
            seq: one.seq.0,
            host_id: one.host_id.clone(),
            time: one.time.and_then(iso),
            role: role(one.role).into(),
            tokens: one.tokens,
            cited: one.is_cited,
            text: one.text.clone(),
        }
    }
}
