//! Recall for hosts: search, grep, describe, expand, answer.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::recall::{CLUES_SHOWN, Grant, GrepQuery, Question, Reader, SearchQuery, VERBATIM};

use super::protocol::{AnswerParams, Code, DescribeParams, ExpandParams, Failure, GrepParams, SearchParams};
use super::server::{Running, Server};
use super::spelling::spelled;
use super::verbs::{Answer, conversation_key, params};
use crate::json::{AnswerJson, DescriptionJson, GrepJson, PageJson, SearchJson};

/// Most tokens read or written for an answer.
const TOKENS_MAX: u64 = 100_000;

/// Most requests of a model for further passages.
const DEPTH_MAX: u32 = 8;

/// Default tokens of a page of `expand`.
const PAGE_TOKENS: u64 = 4_000;

/// Finds entries by words.
pub(super) fn search(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: SearchParams = params(call)?;
    let query = SearchQuery {
        text: wanted.query,
        conversation: scope(server, call, wanted.conversation.as_deref())?,
        role: wanted.role.map(Into::into),
        author: None,
        tool: wanted.tool,
        since: wanted.since_ms.map(Timestamp),
        until: wanted.until_ms.map(Timestamp),
        limit: wanted.limit,
        budget_tokens: wanted.budget,
        now: now(),
        is_unasked: false,
        clues: CLUES_SHOWN,
    };
    spelled(&SearchJson::from(&server.host.engine().search(&query)?))
}

/// Finds a pattern in every stored byte. Stops at the call's deadline, and reports so.
pub(super) fn grep(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: GrepParams = params(call)?;
    let query = GrepQuery {
        pattern: wanted.pattern,
        is_literal: wanted.is_literal,
        conversation: scope(server, call, wanted.conversation.as_deref())?,
        thread: None,
        role: wanted.role.map(Into::into),
        since: wanted.since_ms.map(Timestamp),
        until: wanted.until_ms.map(Timestamp),
        limit: wanted.limit,
        ignore_case: wanted.ignore_case,
        deadline: call.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
    };
    spelled(&GrepJson::from(&server.host.engine().grep(&query)?))
}

/// Describes the content behind a name.
pub(super) fn describe(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: DescribeParams = params(call)?;
    let scope = named(server, call, wanted.conversation.as_deref(), &wanted.name)?;
    spelled(&DescriptionJson::from(&server.host.engine().describe(scope, &wanted.name)?))
}

/// Goes from a name down to the entries.
pub(super) fn expand(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: ExpandParams = params(call)?;
    let scope = named(server, call, wanted.conversation.as_deref(), &wanted.name)?;
    let tokens = wanted.page_tokens.unwrap_or(PAGE_TOKENS);
    // Records are asked for: an outline has none.
    let cursor = wanted.cursor.as_deref().or(wanted.raw.then_some(VERBATIM));
    let page = server.host.engine().expand(scope, &wanted.name, tokens, cursor)?;
    let shown = PageJson::new(&wanted.name, &page);
    spelled(&if wanted.raw { shown.with_raw(&page) } else { shown })
}

/// Answers a question from the stored conversations: by a model within a grant, or else by passages alone.
pub(super) fn answer_question(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: AnswerParams<'_> = params(call)?;
    if server.is_nested(call.peer) {
        let what = "the host's model is being asked, and an answer never asks for another";
        return Err(Failure::new(
            Code::Refused,
            what,
            "answer the open `complete` first, then send the call again",
        ));
    }
    let usual = Grant::default();
    let left = call.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let grant = Grant {
        scope: scope(server, call, wanted.conversation.as_deref())?,
        tokens: wanted.tokens.unwrap_or(usual.tokens).min(TOKENS_MAX),
        depth: wanted.depth.unwrap_or(usual.depth).min(DEPTH_MAX),
        output_tokens_max: wanted.output.unwrap_or(usual.output_tokens_max).min(TOKENS_MAX),
        within: left.map_or(usual.within, |left| left.min(usual.within)),
    };
    let models = server.models.get().filter(|models| wanted.model && models.is_there());
    let reader = models.as_deref().map(|models| Reader { models, cancel: &server.cancel });
    let question = Question { text: &wanted.question, from: &wanted.from, now: now() };
    let answered = server.host.engine().answer(&question, &grant, reader)?;
    spelled(&AnswerJson::from(&answered))
}

fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).ok().map(Timestamp)
}

/// The conversation that a call searches; `None` for all.
fn scope(
    server: &Server,
    call: &Running<'_>,
    named: Option<&str>,
) -> Result<Option<ConversationId>, Failure> {
    if let Some(name) = named {
        return Ok(Some(server.host.engine().resolve(name)?.conversation.id));
    }
    let Some(lane) = call.lane else { return Ok(None) };
    let found = server.host.engine().store().find(&conversation_key(lane))?;
    let what = "nothing is stored of this lane yet";
    let conversation = found
        .ok_or_else(|| Failure::new(Code::Usage, what, "leave out `lane` to search all conversations"))?;
    Ok(Some(conversation.id))
}

/// The scope of a call about a name, which has to belong to that conversation: the name may come from a model.
fn named(
    server: &Server,
    call: &Running<'_>,
    conversation: Option<&str>,
    name: &str,
) -> Result<Option<ConversationId>, Failure> {
    let scope = scope(server, call, conversation)?;
    server.host.engine().address_within(scope, name)?;
    Ok(scope)
}
