//! The stored conversations.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use unforget_engine::host::is_internal;
use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, Folded};
use unforget_store::{Conversation, read_all, walk};
use utoipa::IntoParams;

use super::asked::{Asked, At, Named};
use super::page::{Page, Paged};
use super::problem::{Done, Problem, Problems};
use super::scope::Seen;
use super::tag::Shown;
use super::{EXPORTS, ROOT};
use crate::json::{
    ConversationJson, EntryJson, GenerationJson, LedgerJson, LedgerKind, ShowJson, SnapshotJson, StatsJson,
    ledger_rows,
};

/// The filter of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listed {
    /// Only conversations of this format, such as `claude-code` or `journal`.
    format: Option<String>,
}

/// Text as a path segment of an address.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The sort key: newest entry first, conversations without a time last.
fn place(conversation: &Conversation) -> (Reverse<i64>, i64) {
    let last = conversation.time.map_or(i64::MIN, |(_, last)| last.0);
    (Reverse(last), i64::try_from(conversation.id.0).unwrap_or(i64::MAX))
}

/// Lists conversations, the one with the newest entry first.
#[utoipa::path(get, path = "/conversations", tag = "conversations", params(Paged, Listed),
    responses((status = 200, description = "Done", body = inline(Page<ConversationJson>)), Problems))]
pub(super) async fn list(
    seen: Seen,
    Asked(paged): Asked<Paged>,
    Asked(listed): Asked<Listed>,
    headers: HeaderMap,
) -> Done<Response> {
    let (limit, after) = (paged.limit()?, paged.after::<2>()?);
    seen.with(move |engine, _| {
        let mut all = read_all(|page| engine.store().conversations(page))?;
        all.retain(|one| !is_internal(&one.key));
        all.retain(|one| listed.format.as_ref().is_none_or(|format| *format == one.format));
        all.sort_by_key(place);
        let behind = after.map(|[last, id]| (Reverse(last), id));
        let rest = all.iter().filter(|one| behind.is_none_or(|behind| place(one) > behind));
        let format = listed.format.as_deref().map(|format| format!("?format={}", encoded(format)));
        let path = format!("{ROOT}/conversations{}", format.unwrap_or_default());
        let key = |one: &&Conversation| {
            let (Reverse(last), id) = place(one);
            format!("{last}.{id}")
        };
        Ok(Shown::new(&Page::new(&path, limit, rest, key, |one| ConversationJson::from(*one)))?
            .answer(&headers))
    })
    .await
}

fn has_snapshot(engine: &Engine, found: &Resolved, number: u64) -> Done<bool> {
    let page = unforget_store::Page { after: number.checked_sub(1), limit: 1 };
    let next = engine.store().snapshots(found.conversation.id, page)?;
    Ok(next.first().is_some_and(|one| one.number == number))
}

/// A conversation with all its details except its entries.
pub(super) fn full(engine: &Engine, found: &Resolved) -> Done<Shown> {
    let (store, conversation) = (engine.store(), &found.conversation);
    let id = conversation.id;
    let children = walk(|page| store.conversations(page)).filter_map(|one| match one {
        Ok(one) => (one.parent.as_ref() == Some(&conversation.key)).then_some(Ok(one.key.0)),
        Err(error) => Some(Err(error)),
    });
    Shown::new(&ShowJson {
        conversation: conversation.into(),
        children: children.collect::<Result<_, _>>()?,
        generations: read_all(|page| store.generations(id, page))?.iter().map(GenerationJson::from).collect(),
        snapshots: read_all(|page| store.snapshots(id, page))?.iter().map(SnapshotJson::from).collect(),
        summaries: store.count_summaries(id)?,
        rows: None,
    })
}

/// Shows a conversation: its generations and saves.
#[utoipa::path(get, path = "/conversations/{name}", tag = "conversations", params(Named),
    responses((status = 200, description = "Done", body = ShowJson), Problems))]
pub(super) async fn show(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| Ok(full(engine, &found)?.answer(&headers))).await
}

/// Lists entries of all generations, in order of arrival.
#[utoipa::path(get, path = "/conversations/{name}/entries", tag = "conversations", params(Named, Paged),
    responses((status = 200, description = "Done", body = inline(Page<EntryJson>)), Problems))]
pub(super) async fn entries(
    seen: Seen,
    At(named): At<Named>,
    Asked(paged): Asked<Paged>,
    headers: HeaderMap,
) -> Done<Response> {
    let (limit, after) = (paged.limit()?, paged.after::<1>()?);
    seen.of(named.name, move |engine, found, _| {
        let first = after.map_or(0, |[seq]| u64::try_from(seq).map_or(0, |seq| seq + 1));
        let end = first.saturating_add(limit as u64 + 1);
        let rows = engine.store().rows(found.conversation.id, first..end)?;
        let path = format!("{ROOT}/conversations/{}/entries", encoded(&found.conversation.key.0));
        let page = Page::new(&path, limit, rows, |row| row.seq.0.to_string(), |row| EntryJson::from(row));
        Ok(Shown::new(&page)?.answer(&headers))
    })
    .await
}

/// Shows how much is stored of a conversation.
#[utoipa::path(get, path = "/conversations/{name}/stats", tag = "conversations", params(Named),
    responses((status = 200, description = "Done", body = StatsJson), Problems))]
pub(super) async fn stats(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    let is_owner = seen.is_owner();
    seen.of(named.name, move |_, found, api| {
        let db = is_owner.then(|| api.settings.db.clone());
        Ok(Shown::new(&StatsJson::new(db, &[found.conversation], Vec::new()))?.answer(&headers))
    })
    .await
}

/// The filter of a ledger's rows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Kind {
    /// Only rows of this kind.
    #[param(inline)]
    kind: Option<LedgerKind>,
}

/// Lists the work done with tools.
#[utoipa::path(get, path = "/conversations/{name}/ledger", tag = "conversations", params(Named, Kind),
    responses((status = 200, description = "Done", body = LedgerJson), Problems))]
pub(super) async fn ledger(
    seen: Seen,
    At(named): At<Named>,
    Asked(Kind { kind }): Asked<Kind>,
    headers: HeaderMap,
) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let mut folded = Folded::default();
        engine.fold_ledger(found.conversation.id, found.thread, &mut folded)?;
        let mut rows = ledger_rows(&folded.ledger);
        rows.retain(|row| kind.is_none_or(|kind| row.kind == kind));
        let dropped = folded.ledger.dropped();
        Ok(Shown::new(&LedgerJson { conversation: found.conversation.key.0, rows, dropped })?
            .answer(&headers))
    })
    .await
}

/// The save of a request.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Save {
    /// Number of the save; by default the latest.
    snapshot: Option<u64>,
}

/// Size of the pieces of an export, in bytes.
const PIECE: usize = 64 << 10;

/// Longest wait for a client that reads nothing.
const STALL: Duration = Duration::from_mins(1);

/// Returns a transcript, byte for byte as it was received.
#[utoipa::path(get, path = "/conversations/{name}/export", tag = "conversations", params(Named, Save),
    responses((status = 200, description = "Done", body = [u8], content_type = "application/octet-stream"), Problems))]
pub(super) async fn export(seen: Seen, At(named): At<Named>, Asked(save): Asked<Save>) -> Done<Response> {
    let (engine, found, number, place) = seen
        .of(named.name, move |engine, found, api| {
            // Each export occupies a thread while its client reads.
            let place = Arc::clone(&api.exports).try_acquire_owned().map_err(|_| {
                Problem::new(503, "busy", format!("{EXPORTS} exports run already"), "try again later")
            })?;
            let number = save.snapshot.or(found.snapshot);
            if let Some(number) = number
                && !has_snapshot(engine, &found, number)?
            {
                let what = format!("{} has no save {number}", found.conversation.key);
                return Err(Problem::absent(
                    "no-snapshot",
                    what,
                    "GET /api/v1/conversations/{name} lists the saves of the conversation",
                ));
            }
            Ok((engine.clone(), found, number, place))
        })
        .await?;
    let (pieces, taken) = mpsc::channel(4);
    let key = found.conversation.key.0.clone();
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut out = Pieces { taken_by: pieces, piece: Vec::with_capacity(PIECE), runtime };
        if let Err(error) = engine.export(found.conversation.id, number, &mut out) {
            // The client sees a broken-off body, which it cannot take for a whole export.
            let told = io::Error::other(unforget_engine::causes(&error));
            out.runtime.block_on(out.taken_by.send_timeout(Err(told), STALL)).ok();
        }
    });
    let body =
        Body::from_stream(stream::unfold(taken, |mut taken| async { Some((taken.recv().await?, taken)) }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{}", encoded(&key))) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// A writer into a response's body. It waits for a client that reads slowly, but not for one that reads nothing.
struct Pieces {
    taken_by: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
    runtime: Handle,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        let sent = self.taken_by.send_timeout(Ok(piece.into()), STALL);
        self.runtime.block_on(sent).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
