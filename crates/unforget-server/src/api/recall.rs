//! Recall, with receipts.

use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_engine::recall::{
    self, CLUES_SHOWN, Grant, GrepQuery, PACK_TOKENS, PACK_TOKENS_MIN, PackQuery, Reader, SearchQuery,
};
use unforget_engine::summarise::Cancel;
use utoipa::{IntoParams, ToSchema};

use super::asked::{Asked, Sent, time};
use super::page::LIMIT_MAX;
use super::problem::{Done, Problem, Problems};
use super::prompts::now;
use super::scope::{Seen, confined};
use super::tag::Shown;
use crate::json::{AnswerJson, DescriptionJson, GrepJson, PackJson, PageJson, RoleJson, SearchJson};

/// Most entries per request for raw bytes.
const RAW_MAX: usize = 10_000;

/// Most tokens read or written for an answer, and most tokens of a page.
const TOKENS_MAX: u64 = 100_000;

/// Most requests of a model for further passages.
const DEPTH_MAX: u32 = 8;

/// Longest time for an answer, in seconds.
const SECONDS_MAX: u64 = 600;

/// Longest search for a pattern.
const GREP: Duration = Duration::from_secs(30);

/// A search by words.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Words, names, questions: any text.
    q: String,
    /// Only this conversation.
    conversation: Option<String>,
    /// Only entries of this role.
    #[param(inline)]
    role: Option<RoleJson>,
    /// Only entries of this author.
    author: Option<String>,
    /// Only calls and results of this tool.
    tool: Option<String>,
    /// Only from this day or time on.
    since: Option<String>,
    /// Only before this day or time.
    until: Option<String>,
    /// Results at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// Most tokens of all result texts together.
    #[param(maximum = 100_000)]
    budget: Option<u64>,
}

fn within<T: Copy + PartialOrd + std::fmt::Display>(
    name: &str,
    value: Option<T>,
    least: T,
    most: T,
) -> Done<Option<T>> {
    match value {
        Some(value) if value < least || value > most => {
            Err(Problem::bad(format!("`{name}` is {value}; it has to be from {least} to {most}")))
        }
        value => Ok(value),
    }
}

/// Finds entries by words.
#[utoipa::path(get, path = "/search", tag = "recall", params(Wanted),
    responses((status = 200, description = "Done", body = SearchJson), Problems))]
pub(super) async fn search(seen: Seen, Asked(wanted): Asked<Wanted>, headers: HeaderMap) -> Done<Response> {
    seen.with(move |engine, _| {
        let query = SearchQuery {
            text: wanted.q,
            conversation: confined(engine, wanted.conversation.as_deref())?,
            role: wanted.role.map(Into::into),
            author: wanted.author,
            tool: wanted.tool,
            since: time(wanted.since.as_deref())?,
            until: time(wanted.until.as_deref())?,
            limit: within("limit", wanted.limit, 1, LIMIT_MAX)?,
            budget_tokens: within("budget", wanted.budget, 0, TOKENS_MAX)?,
            now: Some(now()),
            is_unasked: false,
            clues: CLUES_SHOWN,
        };
        Ok(Shown::new(&SearchJson::from(&engine.search(&query)?))?.answer(&headers))
    })
    .await
}

/// What is to be packed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Packed {
    /// A question, or words.
    q: String,
    /// Only this conversation.
    conversation: Option<String>,
    /// Most tokens of the pack; by default 2,000.
    #[param(minimum = 200, maximum = 100_000)]
    budget: Option<u64>,
}

/// Packs what is known of a question for another agent: statements, rows and passages, each with its receipt, within a budget.
#[utoipa::path(get, path = "/pack", tag = "recall", params(Packed),
    responses((status = 200, description = "Done", body = PackJson), Problems))]
pub(super) async fn pack(seen: Seen, Asked(wanted): Asked<Packed>, headers: HeaderMap) -> Done<Response> {
    seen.with(move |engine, _| {
        let query = PackQuery {
            conversation: confined(engine, wanted.conversation.as_deref())?,
            budget_tokens: within("budget", wanted.budget, PACK_TOKENS_MIN, TOKENS_MAX)?
                .unwrap_or(PACK_TOKENS),
            is_project: false,
            now: Some(now()),
            text: wanted.q,
        };
        Ok(Shown::new(&PackJson::new(&query.text, &engine.pack(&query)?))?.answer(&headers))
    })
    .await
}

/// A search by pattern.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(clippy::struct_field_names, reason = "the name of the parameter")]
pub(super) struct Pattern {
    /// A regular expression, in the syntax of Rust's regex crate.
    pattern: String,
    /// Takes the pattern literally.
    #[serde(default)]
    #[param(required = false)]
    fixed: bool,
    /// Ignores case.
    #[serde(default)]
    #[param(required = false)]
    ignore_case: bool,
    /// Only this conversation.
    conversation: Option<String>,
    /// Only entries of this role.
    #[param(inline)]
    role: Option<RoleJson>,
    /// Only from this day or time on.
    since: Option<String>,
    /// Only before this day or time.
    until: Option<String>,
    /// Matches at most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
}

/// Finds a pattern in every stored byte. It stops after 30 seconds, and reports so.
#[utoipa::path(get, path = "/grep", tag = "recall", params(Pattern),
    responses((status = 200, description = "Done", body = GrepJson), Problems))]
pub(super) async fn grep(seen: Seen, Asked(wanted): Asked<Pattern>, headers: HeaderMap) -> Done<Response> {
    seen.with(move |engine, _| {
        let query = GrepQuery {
            pattern: wanted.pattern,
            is_literal: wanted.fixed,
            conversation: confined(engine, wanted.conversation.as_deref())?,
            thread: None,
            role: wanted.role.map(Into::into),
            since: time(wanted.since.as_deref())?,
            until: time(wanted.until.as_deref())?,
            limit: within("limit", wanted.limit, 1, LIMIT_MAX)?,
            ignore_case: wanted.ignore_case,
            deadline: Some(GREP),
        };
        Ok(Shown::new(&GrepJson::from(&engine.grep(&query)?))?.answer(&headers))
    })
    .await
}

/// An id to look up.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Id {
    /// An id from a prompt, a search or a summary: `e:KEY:12`, `e:KEY:12-40`, `s:12`, `sum:…`.
    id: String,
    /// The conversation for ids such as `s:12`.
    conversation: Option<String>,
}

/// Describes the content behind an id.
#[utoipa::path(get, path = "/describe", tag = "recall", params(Id),
    responses((status = 200, description = "Done", body = DescriptionJson), Problems))]
pub(super) async fn describe(seen: Seen, Asked(id): Asked<Id>, headers: HeaderMap) -> Done<Response> {
    seen.with(move |engine, _| {
        let at_hand = confined(engine, id.conversation.as_deref())?;
        Ok(Shown::new(&DescriptionJson::from(&engine.describe(at_hand, &id.id)?))?.answer(&headers))
    })
    .await
}

/// The requested page of an id's content.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Cut {
    /// Tokens of a page.
    #[param(minimum = 64, maximum = 100_000, default = 2000)]
    page: Option<u64>,
    /// Start of the page: `next` of the previous page.
    cursor: Option<String>,
}

/// Shows the entries behind an id, a page at a time.
#[utoipa::path(get, path = "/expand", tag = "recall", params(Id, Cut),
    responses((status = 200, description = "Done", body = PageJson), Problems))]
pub(super) async fn expand(
    seen: Seen,
    Asked(id): Asked<Id>,
    Asked(cut): Asked<Cut>,
    headers: HeaderMap,
) -> Done<Response> {
    seen.with(move |engine, _| {
        let at_hand = confined(engine, id.conversation.as_deref())?;
        let tokens = within("page", cut.page, 64, TOKENS_MAX)?.unwrap_or(2_000);
        let page = engine.expand(at_hand, &id.id, tokens, cut.cursor.as_deref())?;
        Ok(Shown::new(&PageJson::new(&id.id, &page))?.answer(&headers))
    })
    .await
}

/// Returns the bytes behind an id as they were received, each entry followed by a line feed.
#[utoipa::path(get, path = "/raw", tag = "recall", params(Id),
    responses((status = 200, description = "Done", body = [u8], content_type = "application/octet-stream"), Problems))]
pub(super) async fn raw(seen: Seen, Asked(id): Asked<Id>) -> Done<Response> {
    seen.with(move |engine, _| {
        let at_hand = confined(engine, id.conversation.as_deref())?;
        let mut bytes = Vec::new();
        for raw in engine.expand_raw(at_hand, &id.id, RAW_MAX)? {
            bytes.extend_from_slice(&raw.body);
            bytes.push(b'\n');
        }
        let nosniff =
            (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
        let kind = (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        Ok(([kind, nosniff], bytes).into_response())
    })
    .await
}

/// A question, and the limits of its answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_field_names, reason = "the name of the field")]
pub(super) struct Question {
    /// The question.
    question: String,
    /// Only this conversation.
    conversation: Option<String>,
    /// Ids to read first, at most 64.
    #[serde(default)]
    #[schema(max_items = 64)]
    from: Vec<String>,
    /// Most tokens of passages to read; by default 6,000.
    #[schema(maximum = 100_000)]
    tokens: Option<u64>,
    /// Most requests of the model for further passages; by default 2.
    #[schema(maximum = 8)]
    depth: Option<u32>,
    /// Longest answer in tokens; by default 1,000.
    #[schema(maximum = 100_000)]
    output: Option<u64>,
    /// Time limit in seconds; by default 120.
    #[schema(maximum = 600)]
    within: Option<u64>,
    /// Whether a model may be asked; by default yes. Without one the passages are the answer.
    model: Option<bool>,
}

/// Answers a question from the stored conversations. If no model is configured, the passages are the answer.
#[utoipa::path(post, path = "/answer", tag = "recall", request_body = Question,
    responses((status = 200, description = "Done", body = AnswerJson), Problems))]
pub(super) async fn answer(seen: Seen, Sent(asked): Sent<Question>) -> Done<Response> {
    // The question is cancelled when its client goes away or the daemon ends.
    let (cancel, ending) = (Cancel::default(), seen.ending());
    let (_gone, inside) = (Gone(cancel.clone()), cancel.clone());
    let work = seen.asking(move |engine, api| {
        let usual = Grant::default();
        let seconds = within("within", asked.within, 0, SECONDS_MAX)?;
        let grant = Grant {
            scope: confined(engine, asked.conversation.as_deref())?,
            tokens: within("tokens", asked.tokens, 0, TOKENS_MAX)?.unwrap_or(usual.tokens),
            depth: within("depth", asked.depth, 0, DEPTH_MAX)?.unwrap_or(usual.depth),
            output_tokens_max: within("output", asked.output, 0, TOKENS_MAX)?
                .unwrap_or(usual.output_tokens_max),
            within: seconds.map_or(usual.within, Duration::from_secs),
        };
        let models = api.models.get().filter(|models| asked.model.unwrap_or(true) && models.is_there());
        let reader = models.as_deref().map(|models| Reader { models, cancel: &inside });
        let question = recall::Question { text: &asked.question, from: &asked.from, now: Some(now()) };
        let answered = engine.answer(&question, &grant, reader)?;
        Ok(axum::Json(AnswerJson::from(&answered)).into_response())
    });
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => done,
        () = ending.cancelled() => {
            cancel.cancel();
            work.await
        }
    }
}

/// Cancels a question when dropped.
struct Gone(Cancel);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
