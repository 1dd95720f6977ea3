//! Purging entries, in two steps.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use unforget_core::digest::Digest;
use unforget_engine::trust::Resolved;
use unforget_store::Purged;
use utoipa::ToSchema;

use super::asked::{At, Named, Sent};
use super::conversations;
use super::problem::{Done, Problem, Problems};
use super::scope::Seen;
use crate::json::PurgedJson;

/// The key of purge plans, so that only plans that were made here can be carried out.
pub(super) struct Plans {
    seed: String,
}

impl Plans {
    /// * `shared` - a secret of all processes with this API; `None` for a single one.
    pub(super) fn new(shared: Option<Digest>) -> Self {
        let own = || format!("{:?}", [0; 4].map(|_: u8| RandomState::new().hash_one(0_u8)));
        Self { seed: shared.map_or_else(own, |shared| format!("plans {}", shared.hex())) }
    }

    /// The token of a plan. Any change of the conversation gives another token.
    fn token(&self, found: &Resolved, seqs: &std::ops::Range<u64>, plan: &Purged) -> String {
        let Resolved { conversation, .. } = found;
        let named = format!(
            "{} {} {} {}-{} {plan:?}",
            self.seed, conversation.id, conversation.revision, seqs.start, seqs.end
        );
        Digest::of(named.as_bytes()).hex()
    }
}

/// The entries to purge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asking {
    /// First entry; by default 0.
    first: Option<u64>,
    /// Last entry, included; by default the last of all.
    last: Option<u64>,
    /// Token of a plan. Without it nothing is purged, and the plan is returned.
    token: Option<String>,
}

/// A planned or completed purge.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PlanJson {
    /// Figures, and whether it is completed.
    #[serde(flatten)]
    figures: PurgedJson,
    /// Token that, sent with these entries, carries the plan out; null after the purge.
    token: Option<String>,
}

/// Removes entries for good, in two steps: without a token it returns the plan and its token, with the token it carries
/// the plan out. `If-Match`: the conversation's tag.
#[utoipa::path(post, path = "/conversations/{name}/purge", tag = "conversations", request_body = Asking,
    params(Named, ("if-match" = Option<String>, Header, description = "Tag of the conversation")),
    responses((status = 200, description = "Done", body = PlanJson), Problems))]
pub(super) async fn purge(
    seen: Seen,
    At(named): At<Named>,
    headers: HeaderMap,
    Sent(asking): Sent<Asking>,
) -> Done<Response> {
    seen.of(named.name, move |engine, found, api| {
        conversations::full(engine, &found)?.must_match(&headers)?;
        let stored = &found.conversation;
        let first = asking.first.unwrap_or(0);
        let end = asking.last.map_or(stored.entries, |last| last.saturating_add(1).min(stored.entries));
        if first >= end {
            let what = format!("{} has {} entries", stored.key, stored.entries);
            return Err(Problem::absent(
                "no-entries",
                what,
                "GET /api/v1/conversations/{name}/entries lists the entries",
            ));
        }
        let plan = engine.purge_plan(stored, first..end)?;
        let pins = engine.pins_repeating(stored.id, first..end)?;
        let token = api.plans.token(&found, &(first..end), &plan);
        let Some(told) = asking.token else {
            let figures = PurgedJson::new(&stored.key.0, first..=end - 1, false, &plan, &pins);
            return Ok(axum::Json(PlanJson { figures, token: Some(token) }).into_response());
        };
        if told != token {
            let what = "this is not the plan of what would go now";
            return Err(Problem::new(
                409,
                "plan-changed",
                what,
                "send the request without a token to see the new plan",
            ));
        }
        let done = engine.purge(stored, first..end)?;
        api.forget(&stored.key);
        let figures = PurgedJson::new(&stored.key.0, first..=end - 1, true, &done, &pins);
        Ok(axum::Json(PlanJson { figures, token: None }).into_response())
    })
    .await
}
