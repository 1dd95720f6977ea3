//! What people said of conversations on other machines.

use serde::{Deserialize, Serialize};
use unforget_core::id::ConversationKey;
use unforget_engine::sayings::TakenSayings;
use utoipa::ToSchema;

use super::asked::{At, Named, Sent};
use super::problem::{Done, Problems};
use super::scope::Owned;

/// Sayings from another machine.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SentSayings {
    /// The text of each, unchanged: its digest names it.
    sayings: Vec<String>,
}

/// What became of them.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TakenSayingsJson {
    /// New ones.
    added: u64,
    /// About entries or a conversation that are not here, or are purged.
    absent: u64,
    /// No sayings of this conversation.
    unfit: u64,
}

/// Takes titles, stars, tags, verdicts and put-back entries that people gave on other machines, as `unforget sync` sends them. Doing it
/// twice changes nothing; of two sayings about one thing the newest counts. The name is the whole key.
#[utoipa::path(post, path = "/conversations/{name}/sayings", tag = "conversations", request_body = SentSayings, params(Named),
    responses((status = 200, description = "Done", body = TakenSayingsJson), Problems))]
pub(super) async fn take(
    Owned(seen): Owned,
    At(named): At<Named>,
    Sent(sent): Sent<SentSayings>,
) -> Done<axum::Json<TakenSayingsJson>> {
    seen.with(move |engine, _| {
        let bodies: Vec<Vec<u8>> = sent.sayings.into_iter().map(String::into_bytes).collect();
        let TakenSayings { added, absent, unfit } =
            engine.take_sayings(&ConversationKey(named.name), &bodies)?;
        Ok(axum::Json(TakenSayingsJson { added, absent, unfit }))
    })
    .await
}
