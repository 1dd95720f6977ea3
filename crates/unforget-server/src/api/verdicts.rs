//! What people and agents said of entries: wrong, or superseded.

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_engine::Engine;
use unforget_engine::recall::NewVerdict;
use unforget_engine::trust::Resolved;
use utoipa::{IntoParams, ToSchema};

use super::asked::{At, Named, Sent};
use super::problem::{Done, Problems};
use super::prompts::now;
use super::scope::Seen;
use super::tag::Shown;
use crate::json::VerdictsJson;

/// Author of a verdict whose sender names none.
const SENDER: &str = "api";

/// A word on an entry: the whole of it, or a line.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rejected {
    /// The entry: `12`, `s:12` or `e:KEY:12`; or a summary, `sum:…`, whose statement `line` says.
    entry: String,
    /// The words that are meant, as they stand in the entry; without them, the whole entry.
    line: Option<String>,
    /// The reason.
    #[schema(min_length = 1)]
    why: String,
    /// The name of an entry that holds now.
    instead: Option<String>,
    /// The author; `api` without one.
    author: Option<String>,
}

fn all(engine: &Engine, found: &Resolved) -> Done<VerdictsJson> {
    let rows = engine.verdicts(found.conversation.id)?;
    Ok(VerdictsJson::new(&found.conversation.key.0, &rows))
}

/// Lists verdicts, those that were taken back too.
#[utoipa::path(get, path = "/conversations/{name}/verdicts", tag = "recall", params(Named),
    responses((status = 200, description = "Done", body = VerdictsJson), Problems))]
pub(super) async fn list(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| Ok(Shown::new(&all(engine, &found)?)?.answer(&headers))).await
}

/// Records that an entry, or a line of it, is wrong or superseded: it is no longer recalled as true. Answers all verdicts.
#[utoipa::path(post, path = "/conversations/{name}/verdicts", tag = "recall", request_body = Rejected, params(Named),
    responses((status = 201, description = "Made", body = VerdictsJson), Problems))]
pub(super) async fn reject(seen: Seen, At(named): At<Named>, Sent(word): Sent<Rejected>) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let new = NewVerdict {
            line: word.line.as_deref(),
            why: &word.why,
            instead: word.instead.as_deref(),
            author: word.author.as_deref().unwrap_or(SENDER),
        };
        engine.reject_named(Some(found.conversation.id), &word.entry, &new, now())?;
        Ok((StatusCode::CREATED, axum::Json(all(engine, &found)?)).into_response())
    })
    .await
}

/// A verdict of a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NumberedVerdict {
    /// Its key, percent-encoded, or enough of it.
    name: String,
    /// Number of the verdict.
    verdict: u64,
}

/// Takes a verdict back. Answers all verdicts.
#[utoipa::path(delete, path = "/conversations/{name}/verdicts/{verdict}", tag = "recall", params(NumberedVerdict),
    responses((status = 200, description = "Done", body = VerdictsJson), Problems))]
pub(super) async fn withdraw(seen: Seen, At(at): At<NumberedVerdict>) -> Done<Response> {
    seen.of(at.name, move |engine, found, _| {
        engine.withdraw_verdict(found.conversation.id, at.verdict, now())?;
        Ok(axum::Json(all(engine, &found)?).into_response())
    })
    .await
}
