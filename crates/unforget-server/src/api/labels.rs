//! What people say of conversations: titles of their own, stars, tags.

use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_engine::LabelChange;
use utoipa::ToSchema;

use super::asked::{At, Named, Sent};
use super::problem::{Done, Problems};
use super::prompts::now;
use super::scope::Seen;
use super::tag::Shown;
use crate::json::LabelJson;

/// A change of a label. What is not named stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Relabel {
    /// The title, at most 200 characters on one line; an empty text takes it away.
    title: Option<String>,
    /// Whether there is a star.
    starred: Option<bool>,
    /// Tags to add: words of at most 40 characters, 24 in all.
    #[serde(default)]
    add: Vec<String>,
    /// Tags to take away.
    #[serde(default)]
    remove: Vec<String>,
}

/// Shows the title, the star and the tags that people gave a conversation.
#[utoipa::path(get, path = "/conversations/{name}/label", tag = "conversations", params(Named),
    responses((status = 200, description = "Done", body = LabelJson), Problems))]
pub(super) async fn show(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let label = engine.label(found.conversation.id)?;
        Ok(Shown::new(&LabelJson::new(&found.conversation.key.0, &label))?.answer(&headers))
    })
    .await
}

/// Gives a conversation another title, star or tags. Doing it twice changes nothing. Answers the label as it is then.
#[utoipa::path(patch, path = "/conversations/{name}/label", tag = "conversations", request_body = Relabel, params(Named),
    responses((status = 200, description = "Done", body = LabelJson), Problems))]
pub(super) async fn change(seen: Seen, At(named): At<Named>, Sent(sent): Sent<Relabel>) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let change =
            LabelChange { title: sent.title, star: sent.starred, tags: sent.add, untags: sent.remove };
        let label = engine.change_label(found.conversation.id, &change, now())?;
        Ok(axum::Json(LabelJson::new(&found.conversation.key.0, &label)).into_response())
    })
    .await
}
