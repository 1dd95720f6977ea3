//! Recall for hosts: search, grep, describe, expand.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::recall::{GrepQuery, SearchQuery};

use super::protocol::{
    Code, DescribeParams, Description, ExpandAnswer, ExpandParams, Failure, GrepAnswer, GrepParams,
    SearchAnswer, SearchParams,
};
use super::server::{Running, Server};
use super::verbs::{Answer, answer, conversation_key, params};

/// Tokens of a page of `expand` if the host does not say.
const PAGE_TOKENS: u64 = 4_000;

/// Finds entries by words.
pub(super) fn search(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: SearchParams = params(call)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
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
        now: i64::try_from(since.as_millis()).ok().map(Timestamp),
    };
    answer(&SearchAnswer::from(server.host.engine().search(&query)?))
}

/// Finds a pattern in every stored byte. It gives up at the call's deadline, and says so.
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
    answer(&GrepAnswer::from(server.host.engine().grep(&query)?))
}

/// Says what is behind a name.
pub(super) fn describe(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: DescribeParams = params(call)?;
    let scope = scope(server, call, wanted.conversation.as_deref())?;
    answer(&Description::from(server.host.engine().describe(scope, &wanted.name)?))
}

/// Goes from a name down to the entries.
pub(super) fn expand(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: ExpandParams = params(call)?;
    let scope = scope(server, call, wanted.conversation.as_deref())?;
    let tokens = wanted.page_tokens.unwrap_or(PAGE_TOKENS);
    let page = server.host.engine().expand(scope, &wanted.name, tokens, wanted.cursor.as_deref())?;
    answer(&ExpandAnswer::new(page, wanted.raw))
}

/// The conversation that a call looks into; `None` for all.
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
    let what = "nothing is stored of the lane";
    let conversation =
        found.ok_or_else(|| Failure::new(Code::Usage, what, "leave the lane out to look everywhere"))?;
    Ok(Some(conversation.id))
}
