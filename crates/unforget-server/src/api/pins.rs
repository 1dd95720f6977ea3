//! Rules that stand in every prompt.

use std::path::PathBuf;
use unforget_store::SaidRows;

use axum::http::StatusCode;
use axum::http::header::{HeaderMap, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::pin::PinId;
use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, PinText};
use utoipa::{IntoParams, ToSchema};

use super::ROOT;
use super::asked::{At, Named, Sent};
use super::conversations::encoded;
use super::problem::{Done, Problem, Problems};
use super::prompts::now;
use super::scope::{AtHand, Seen};
use super::tag::Shown;
use crate::json::{PinJson, PinnedJson, PinsJson};

/// The words of a pin: `text`, or those of `entry`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// The words, verbatim.
    #[schema(min_length = 1)]
    text: Option<String>,
    /// The entry that they come from: `12`, `s:12` or `e:KEY:12`. Without `text`, its words are pinned.
    entry: Option<String>,
}

impl Words {
    fn of(self, engine: &Engine, id: ConversationId) -> Done<(String, Option<Seq>)> {
        let source = self.entry.as_deref().map(|name| engine.words_of(id, name)).transpose()?;
        let (seq, said) = source.map_or((None, None), |(seq, said)| (Some(seq), Some(said)));
        let words = self.text.or(said);
        words.map(|words| (words, seq)).ok_or_else(|| Problem::bad("the body has neither `text` nor `entry`"))
    }
}

fn all(engine: &Engine, found: &Resolved) -> Done<Shown> {
    let SaidRows { pins: rows, files, .. } = engine.store().said(found.conversation.id)?;
    Shown::new(&PinsJson {
        conversation: found.conversation.key.0.clone(),
        pins: rows.iter().map(|row| PinJson::new(row, &files)).collect(),
        proposals: Vec::new(),
    })
}

fn one(engine: &Engine, found: &Resolved, id: PinId) -> Done<PinnedJson> {
    let SaidRows { pins: rows, files, .. } = engine.store().said(found.conversation.id)?;
    let row = rows.iter().find(|row| row.pin.id == id);
    let row = row.ok_or_else(|| {
        Problem::absent(
            "no-pin",
            format!("there is no {id}"),
            "GET /api/v1/conversations/{name}/pins lists the pins of the conversation",
        )
    })?;
    Ok(PinnedJson { conversation: found.conversation.key.0.clone(), pin: PinJson::new(row, &files) })
}

/// Lists pins, those that do not hold any more too.
#[utoipa::path(get, path = "/conversations/{name}/pins", tag = "pins", params(Named),
    responses((status = 200, description = "Done", body = PinsJson), Problems))]
pub(super) async fn list(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| Ok(all(engine, &found)?.answer(&headers))).await
}

/// Lists sentences that a person may want to pin, without the pins.
#[utoipa::path(get, path = "/conversations/{name}/pins/proposals", tag = "pins", params(Named),
    responses((status = 200, description = "Done", body = PinsJson), Problems))]
pub(super) async fn proposals(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let proposals = engine.proposed_pins(found.conversation.id)?;
        let proposals = proposals.iter().map(Into::into).collect();
        let shown = PinsJson { conversation: found.conversation.key.0, pins: Vec::new(), proposals };
        Ok(Shown::new(&shown)?.answer(&headers))
    })
    .await
}

/// Pins words, verbatim: they stand in every prompt from the next one on. Doing it twice changes nothing. `If-Match`: the
/// tag of the list.
#[utoipa::path(post, path = "/conversations/{name}/pins", tag = "pins", request_body = Words,
    params(Named, ("if-match" = Option<String>, Header, description = "Tag of the list of pins")),
    responses((status = 201, description = "Made", body = PinnedJson, headers(("location" = String, description = "The pin"))), Problems))]
pub(super) async fn pin(
    seen: Seen,
    At(named): At<Named>,
    headers: HeaderMap,
    Sent(words): Sent<Words>,
) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        all(engine, &found)?.must_match(&headers)?;
        let (words, seq) = words.of(engine, found.conversation.id)?;
        let id = engine.pin(found.conversation.id, &words, seq, now())?;
        made(engine, &found, id)
    })
    .await
}

fn made(engine: &Engine, found: &Resolved, id: PinId) -> Done<Response> {
    let pin = one(engine, found, id)?;
    let place = format!("{ROOT}/conversations/{}/pins/{}", encoded(&found.conversation.key.0), id.0);
    Ok((StatusCode::CREATED, [(LOCATION, place)], axum::Json(pin)).into_response())
}

/// A file to pin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfFile {
    /// Key of the conversation.
    conversation: String,
    /// Absolute, as [`unforget_engine::pin_place`] returns it.
    path: PathBuf,
    /// The pin whose place the text takes.
    supersedes: Option<u64>,
}

/// Pins the text of a file. Only for the owner's command line, since the text goes into prompts and can be read there; not part
/// of the API.
pub(super) async fn pin_file(_: AtHand, seen: Seen, Sent(file): Sent<OfFile>) -> Done<Response> {
    seen.of(file.conversation, move |engine, found, _| {
        let old = file.supersedes.map(PinId);
        let id = engine.pin_file(found.conversation.id, &file.path, old, now())?;
        made(engine, &found, id)
    })
    .await
}

/// A pin of a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct Pinned {
    /// Its key, percent-encoded, or enough of it.
    name: String,
    /// Number of the pin.
    pin: u64,
}

/// Puts other words in the place of a pin, as a new pin. `If-Match`: the tag of the list.
#[utoipa::path(put, path = "/conversations/{name}/pins/{pin}", tag = "pins", request_body = Words,
    params(Pinned, ("if-match" = Option<String>, Header, description = "Tag of the list of pins")),
    responses((status = 201, description = "Made", body = PinnedJson, headers(("location" = String, description = "The new pin"))), Problems))]
pub(super) async fn supersede(
    seen: Seen,
    At(at): At<Pinned>,
    headers: HeaderMap,
    Sent(words): Sent<Words>,
) -> Done<Response> {
    seen.of(at.name, move |engine, found, _| {
        all(engine, &found)?.must_match(&headers)?;
        let (words, seq) = words.of(engine, found.conversation.id)?;
        let id = engine.supersede_pin(
            found.conversation.id,
            PinId(at.pin),
            PinText { text: &words, source: seq },
            now(),
        )?;
        made(engine, &found, id)
    })
    .await
}

/// Takes a pin back. `If-Match`: the tag of the list.
#[utoipa::path(delete, path = "/conversations/{name}/pins/{pin}", tag = "pins",
    params(Pinned, ("if-match" = Option<String>, Header, description = "Tag of the list of pins")),
    responses((status = 200, description = "Done", body = PinnedJson), Problems))]
pub(super) async fn unpin(seen: Seen, At(at): At<Pinned>, headers: HeaderMap) -> Done<Response> {
    seen.of(at.name, move |engine, found, _| {
        all(engine, &found)?.must_match(&headers)?;
        engine.unpin(found.conversation.id, PinId(at.pin), now())?;
        Ok(axum::Json(one(engine, &found, PinId(at.pin))?).into_response())
    })
    .await
}
