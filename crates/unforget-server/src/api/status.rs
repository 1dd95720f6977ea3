//! The state of prompts: left-out entries and the reasons, and the fate of providers' caches.

use std::sync::{Arc, PoisonError};

use axum::http::header::HeaderMap;
use axum::response::Response;

use super::Api;
use super::asked::{At, Named};
use super::problem::{Done, Problems};
use super::scope::{Seen, lane};
use super::tag::Shown;
use crate::json::{BriefJson, LISTED, LiveJson, StatusJson, StatusesJson, VectorsJson};
use unforget_gateway::CacheRecords;

impl Api {
    /// Connects the API with the gateway's record of providers' caches.
    pub fn show_caches(&self, caches: &Arc<CacheRecords>) {
        *self.caches.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(caches));
    }

    fn caches(&self) -> Option<Arc<CacheRecords>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shows which entries the newest prompt of a conversation leaves out, why, and how to get them back, and the fate of
/// the provider's cache since the daemon's start.
#[utoipa::path(get, path = "/conversations/{name}/status", tag = "prompts", params(Named),
    responses((status = 200, description = "Done", body = StatusJson), Problems))]
pub(super) async fn status(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, api| {
        let stored = found.conversation;
        let kept = lane(&stored.key).and_then(|lane| api.caches()?.of(&lane));
        let live = kept.as_ref().map(LiveJson::from);
        let recipes = engine.recipes(stored.id)?;
        let parts = engine.newest_parts(stored.id, &recipes);
        let files = engine.followed_files(stored.id)?;
        let meaning = VectorsJson::of(engine, &stored)?;
        let status = StatusJson::new(&stored, &recipes, &parts, &files, live).with_meaning(meaning);
        Ok(Shown::new(&status)?.answer(&headers))
    })
    .await
}

/// Lists the most recently active conversations with the state of their prompts. The owner also gets the fate of
/// providers' caches over all conversations.
#[utoipa::path(get, path = "/status", tag = "prompts",
    responses((status = 200, description = "Done", body = StatusesJson), Problems))]
pub(super) async fn statuses(seen: Seen, headers: HeaderMap) -> Done<Response> {
    let is_owner = seen.is_owner();
    seen.with(move |engine, api| {
        let recent = engine.recent(LISTED)?;
        let brief = |one| Ok::<_, super::Problem>(BriefJson::new(one, &engine.recipes(one.id)?));
        let conversations = recent.iter().map(brief).collect::<Done<_>>()?;
        let all = api.caches().filter(|_| is_owner).map(|caches| caches.all());
        let live = all.map(|all| LiveJson { cache: (&all).into(), ..LiveJson::default() });
        Ok(Shown::new(&StatusesJson { conversations, live })?.answer(&headers))
    })
    .await
}
