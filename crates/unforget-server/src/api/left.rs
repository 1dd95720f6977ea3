//! What a prompt does not show.

use std::time::Duration;

use axum::http::header::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use unforget_engine::Engine;
use unforget_engine::calls::CallHistory;
use unforget_engine::left::{LeftPlace, LeftQuestion};
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_engine::trust::Resolved;
use unforget_text::ToldKind;
use utoipa::IntoParams;

use super::Api;
use super::asked::{Asked, At, Named};
use super::page::LIMIT_MAX;
use super::play_limit::PlayLimit;
use super::problem::{Done, Problem, Problems};
use super::prompts::{For, now};
use super::scope::Seen;
use super::tag::Shown;
use crate::json::{NotShownFilter, NotShownJson};
use crate::play_cache::{PlayedState, PlayedTrouble};

/// Time between two looks whether the request still waits for the calls of a session to be played.
const LOOK: Duration = Duration::from_millis(250);

/// Things of a kind that are listed by default.
const THINGS: usize = 40;

/// What is asked of a prompt.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NotShownAsked {
    /// The call: `120`, or `r12` for a prompt that was sent; by default the newest.
    call: Option<String>,
    /// Instead of a call: what left at this break, from 1.
    #[serde(rename = "break")]
    #[param(minimum = 1)]
    broke: Option<u32>,
    /// Kinds of things, with commas between them: `request`, `rule`, `decision`, `command`, `number`, `path`; by default all.
    kind: Option<String>,
    /// Most things of a kind.
    #[param(minimum = 1, maximum = 500, default = 40)]
    limit: Option<usize>,
    /// Whether things are listed whose words still stand in the prompt; by default no.
    standing: Option<bool>,
    /// Whether the calls are played for the window, also where prompts that were sent are kept; by default no.
    played: Option<bool>,
}

impl NotShownAsked {
    fn place(&self) -> Done<LeftPlace> {
        match (&self.call, self.broke) {
            (Some(_), Some(_)) => Err(Problem::bad("name a call or a break, not both")),
            (Some(call), None) => Ok(LeftPlace::Call(call.clone())),
            (None, Some(number)) => Ok(LeftPlace::Break(number)),
            (None, None) => Ok(LeftPlace::Newest),
        }
    }

    fn wanted(&self) -> Done<NotShownFilter> {
        let limit = self.limit.unwrap_or(THINGS);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Problem::bad(format!("`limit` is {limit}; it has to be from 1 to {LIMIT_MAX}")));
        }
        let named = |name: &str| {
            let names = ToldKind::ALL.map(ToldKind::name).join(", ");
            ToldKind::by_name(name.trim())
                .ok_or_else(|| Problem::bad(format!("there is no kind {name}; the kinds are {names}")))
        };
        let kinds = self.kind.iter().flat_map(|names| names.split(',')).map(named).collect::<Done<_>>()?;
        Ok(NotShownFilter { kinds, limit, with_standing: self.standing == Some(true) })
    }
}

impl From<PlayedTrouble> for Problem {
    fn from(trouble: PlayedTrouble) -> Self {
        Self::new(trouble.status, "playing", trouble.what, trouble.next)
    }
}

/// The calls of a conversation, played for a shape and kept for the next request.
fn played(
    engine: &Engine,
    found: &Resolved,
    api: &Api,
    shape: Shape,
    limit: &PlayLimit,
) -> Done<CallHistory> {
    let stored = &found.conversation;
    let playing = api.played.play(engine, stored, found.thread, shape)?;
    let mut state = playing.wait(LOOK)?;
    while limit.goes_on() && matches!(state, PlayedState::Working(_)) {
        state = playing.wait(LOOK)?;
    }
    match state {
        PlayedState::Done(played) => Ok(CallHistory::played(played)),
        PlayedState::Working(progress) => {
            let what =
                format!("{} of {} entries of {} are played", progress.done, progress.total, stored.key);
            Err(Problem::new(503, "playing", what, "ask again: what is done is kept"))
        }
    }
}

/// Tells what the prompt of a call does not show word for word, since which break, and how to get it back; or what left at one
/// break. At most 1,500 entries are looked through, the newest first; `unread` says how many were not.
#[utoipa::path(get, path = "/conversations/{name}/left", tag = "prompts", params(Named, NotShownAsked, For),
    responses((status = 200, description = "Done", body = NotShownJson), Problems))]
pub(super) async fn left(
    seen: Seen,
    At(named): At<Named>,
    Asked(asked): Asked<NotShownAsked>,
    Asked(shape): Asked<For>,
    headers: HeaderMap,
) -> Done<Response> {
    let (place, wanted) = (asked.place()?, asked.wanted()?);
    seen.playing(named.name, move |engine, found, api, limit| {
        let (shape, _) = shape.shape(api, &found.conversation.format)?;
        let sent = CallHistory::sent(engine, found.conversation.id)?;
        let calls = match sent.filter(|_| asked.played != Some(true)) {
            Some(sent) => sent,
            None => played(engine, &found, api, shape, limit)?,
        };
        let of = ThreadRef { conversation: found.conversation.id, thread: found.thread };
        let question = LeftQuestion { of, calls: &calls, searches: 0, now: Some(now()) };
        let read = engine.left(question, &place)?;
        let shown = NotShownJson::new(&found.conversation.key.0, &calls, &read, &wanted);
        Ok(Shown::new(&shown)?.answer(&headers))
    })
    .await
}
