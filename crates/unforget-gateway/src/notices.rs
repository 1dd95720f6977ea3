//! One log line for each event that a person should know about: breaks, shortenings, refusals, unread requests.

use std::time::Duration;

use axum::http::StatusCode;
use unforget_core::admit::Rung;
use unforget_engine::host::Assembled;

use super::prepared::PreparedCall;

/// The target of the lines about calls.
const CALLS: &str = "unforget::call";

/// Logs a call whose answer begins, for people who want to see every call.
///
/// * `overhead` - from receiving the whole request to sending it.
pub(super) fn call(prepared: &PreparedCall, status: StatusCode, overhead: Duration) {
    tracing::debug!(
        target: CALLS,
        lane = prepared.who.lane.name(),
        model = prepared.model.as_deref().unwrap_or("unknown"),
        status = status.as_u16(),
        tokens = prepared.tokens.expected,
        sent = prepared.authority,
        overhead_ms = overhead.as_millis() as u64,
        "a call"
    );
}

/// Logs why a prompt does not simply extend the previous one, or how it was shortened. Silent for a prompt that only
/// grew.
pub(super) fn prompt(prepared: &PreparedCall, assembled: &Assembled) {
    let certificate = &assembled.certificate;
    let (cover, rung) = (certificate.cover, certificate.rung);
    let was = prepared.was.as_ref().map(|was| &was.last);
    let is_short = rung != Rung::Assembled && was.is_none_or(|was| was.rung != rung.name());
    if assembled.remade.is_none() || (assembled.broken.is_none() && !is_short) {
        return;
    }
    let lane = prepared.who.lane.name();
    let before = was.map(|was| was.tokens.expected);
    let (cause, region) =
        assembled.broken.map_or(("none", "none"), |broken| (broken.cause.name(), broken.region.name()));
    let words = match assembled.broken {
        Some(broken) if rung == Rung::Assembled => broken.cause.words(),
        _ => shortened(rung),
    };
    let back = format!("unforget status {lane}");
    let (after, rung_name) = (prepared.tokens.expected, rung.name());
    let (summarised, stubbed, elided) = (cover.summarised, cover.stubbed, cover.elided);
    let no_room = certificate.raised.left_out;
    let provisional = certificate.provisional.total();
    if rung == Rung::Assembled {
        tracing::info!(
            lane,
            cause,
            region,
            before,
            after,
            summarised,
            stubbed,
            elided,
            put_back_without_room = no_room,
            provisional,
            back,
            "another beginning of the prompt: {words}"
        );
    } else {
        tracing::warn!(
            lane,
            cause,
            region,
            rung = rung_name,
            before,
            after,
            summarised,
            stubbed,
            elided,
            put_back_without_room = no_room,
            back,
            "the prompt is shortened: {words}"
        );
    }
}

/// The omissions of a rung.
const fn shortened(rung: Rung) -> &'static str {
    match rung {
        Rung::Assembled => "nothing is",
        Rung::WithoutRaised => "what people put back is left out",
        Rung::ShortResults => "large results are cut to head and tail",
        Rung::ActiveTurn => "only the running turn stands behind the summaries",
        Rung::CutNewest => {
            "the newest message or answer is cut to head and tail, in all the room that the rest leaves"
        }
        Rung::ShortTurn => "only the running turn stands behind the summaries, cut to excerpts",
        Rung::Titles => "summaries are one line",
        Rung::Newest => "only the newest message and the last exchange are there, cut",
    }
}

/// Logs a provider's refusal of a call and the reaction to it.
///
/// * `sent` - tokens of the refused request.
/// * `again` - tokens of the next attempt; `None` if the refusal is passed on.
pub(super) fn refused(prepared: &PreparedCall, status: StatusCode, sent: u64, again: Option<u64>) {
    let (lane, model, status) = (prepared.who.lane.name(), prepared.model.as_deref(), status.as_u16());
    match again {
        Some(again) => tracing::warn!(
            lane,
            model,
            status,
            sent,
            again,
            "the provider refused a call as too large: it is sent again with less, and prompts for this model stay below \
             what was refused"
        ),
        None => {
            tracing::warn!(lane, model, status, sent, "the provider refused a call, and the client is told");
        }
    }
}
