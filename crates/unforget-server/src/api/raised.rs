//! Entries that people put back into prompts.

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, NewRaised};
use utoipa::{IntoParams, ToSchema};

use super::asked::{At, Named, Sent};
use super::problem::{Done, Problems};
use super::prompts::now;
use super::scope::Seen;
use super::tag::Shown;
use crate::json::RaisedSpansJson;

/// Author of a decision whose sender names none.
const SENDER: &str = "api";

/// Entries to put back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Raise {
    /// An entry or a span: `120`, `120-130`, `s:120-130` or `e:KEY:120-130`.
    #[schema(min_length = 1)]
    entries: String,
    /// Who decides; `api` without one.
    author: Option<String>,
}

fn all(engine: &Engine, found: &Resolved) -> Done<RaisedSpansJson> {
    let rows = engine.raised_with_weights(found.conversation.id)?;
    Ok(RaisedSpansJson::new(&found.conversation.key.0, &rows))
}

/// Lists the spans that people put back, those that were taken away again too.
#[utoipa::path(get, path = "/conversations/{name}/raised", tag = "prompts", params(Named),
    responses((status = 200, description = "Done", body = RaisedSpansJson), Problems))]
pub(super) async fn list(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| Ok(Shown::new(&all(engine, &found)?)?.answer(&headers))).await
}

/// Puts entries back: from the next prompt on they stand word for word behind the summaries that cover them, as far as they
/// have room. Doing it twice changes nothing. Answers all spans.
#[utoipa::path(post, path = "/conversations/{name}/raised", tag = "prompts", request_body = Raise, params(Named),
    responses((status = 201, description = "Made", body = RaisedSpansJson), Problems))]
pub(super) async fn raise(seen: Seen, At(named): At<Named>, Sent(sent): Sent<Raise>) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let id = found.conversation.id;
        let (first, last) = engine.span_of(id, &sent.entries)?;
        engine.raise(
            id,
            &NewRaised { first, last, author: sent.author.as_deref().unwrap_or(SENDER) },
            now(),
        )?;
        Ok((StatusCode::CREATED, axum::Json(all(engine, &found)?)).into_response())
    })
    .await
}

/// A raised span of a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NumberedRaised {
    /// Its key, percent-encoded, or enough of it.
    name: String,
    /// Number of the decision.
    raised: u64,
}

/// Takes a span away again. Answers all spans.
#[utoipa::path(delete, path = "/conversations/{name}/raised/{raised}", tag = "prompts", params(NumberedRaised),
    responses((status = 200, description = "Done", body = RaisedSpansJson), Problems))]
pub(super) async fn lower(seen: Seen, At(at): At<NumberedRaised>) -> Done<Response> {
    seen.of(at.name, move |engine, found, _| {
        engine.lower(found.conversation.id, at.raised, now())?;
        Ok(axum::Json(all(engine, &found)?).into_response())
    })
    .await
}
