//! The tenant of a request, and the tenant's view of the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use unforget_core::id::{ConversationId, ConversationKey};
use unforget_engine::host::LaneKey;
use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, EngineError};
use unforget_store::walk;

use super::play_limit::PlayLimit;
use super::problem::{Done, Problem};
use super::{ASKING_WAIT, AT_WORK_WAIT, Api};
use crate::work::apart;
use unforget_gateway::{OWNER, Tenant};

/// Marks a request of the owner's command line.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine;

/// Whether a conversation belongs to a tenant.
///
/// Conversations of a gateway's clients are stored under their tenant's name; imported histories are the owner's.
pub(super) fn is_of(tenant: &str, key: &ConversationKey) -> bool {
    let within = key.0.strip_prefix("journal:gateway/").and_then(|rest| rest.strip_prefix(tenant));
    tenant == OWNER || within.is_some_and(|rest| rest.starts_with('/'))
}

/// The live host's lane of a conversation.
pub(super) fn lane(key: &ConversationKey) -> Option<LaneKey> {
    key.0.strip_prefix("journal:").map(|lane| LaneKey(lane.to_owned()))
}

fn tenant(parts: &Parts) -> Arc<str> {
    parts.extensions.get::<Tenant>().map_or_else(|| OWNER.into(), |tenant| Arc::clone(&tenant.0))
}

/// A request of any tenant.
#[derive(Clone)]
pub(super) struct Seen {
    api: Arc<Api>,
    pub(super) tenant: Arc<str>,
}

impl FromRequestParts<Arc<Api>> for Seen {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Done<Self> {
        Ok(Self { api: Arc::clone(api), tenant: tenant(parts) })
    }
}

impl Seen {
    /// Runs work on the tenant's conversations, on a thread that may block.
    pub(super) async fn with<T: Send + 'static>(
        self,
        act: impl FnOnce(&Engine, &Arc<Api>) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        let turn = turn(&self.api.at_work, AT_WORK_WAIT).await?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if its client has gone away.
            let _turn = turn;
            act(&self.engine()?, &self.api)
        });
        done.await.unwrap_or_else(|error| Err(Problem::ours("a call of the engine", &error)))
    }

    /// Like [`Seen::with`], for work that waits for models: such calls have separate places and threads.
    pub(super) async fn asking<T: Send + 'static>(
        self,
        act: impl FnOnce(&Engine, &Arc<Api>) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        let turn = turn(&self.api.asking, ASKING_WAIT).await?;
        let done = apart(move || {
            let _turn = turn;
            act(&self.engine()?, &self.api)
        });
        done.await.unwrap_or_else(|error| Err(Problem::ours("a question", &error)))
    }

    /// Like [`Seen::with`], for one conversation.
    pub(super) async fn of<T: Send + 'static>(
        self,
        name: String,
        act: impl FnOnce(&Engine, Resolved, &Arc<Api>) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        self.with(move |engine, api| {
            let found = engine.resolve(&name)?;
            act(engine, found, api)
        })
        .await
    }

    /// Like [`Seen::of`], for work that plays a history: it ends when its client goes away.
    pub(super) async fn playing<T: Send + 'static>(
        self,
        name: String,
        act: impl FnOnce(&Engine, Resolved, &Arc<Api>, &PlayLimit) -> Done<T> + Send + 'static,
    ) -> Done<T> {
        let limit = PlayLimit::new(&self.api.ending);
        // Dropped with this future.
        let _client = limit.client();
        self.of(name, move |engine, found, api| act(engine, found, api, &limit)).await
    }

    /// Cancelled when the daemon ends.
    pub(super) fn ending(&self) -> CancellationToken {
        self.api.ending.clone()
    }

    /// Whether the request is the owner's, who may see details of the daemon.
    pub(super) fn is_owner(&self) -> bool {
        &*self.tenant == OWNER
    }

    fn engine(&self) -> Done<Engine> {
        Ok(engine_of(self.api.engine(), &self.tenant)?)
    }
}

/// A tenant's view of the engine: all of it for the owner, else the tenant's own conversations.
///
/// # Errors
/// Errors of the store.
pub fn engine_of(engine: &Engine, tenant: &str) -> Result<Engine, EngineError> {
    if tenant == OWNER {
        return Ok(engine.clone());
    }
    let mut only = BTreeSet::new();
    for one in walk(|page| engine.store().conversations(page)) {
        let one = one?;
        if is_of(tenant, &one.key) {
            only.insert(one.id);
        }
    }
    Ok(engine.confined(only))
}

/// Waits for one of the places.
async fn turn(places: &Arc<Semaphore>, most: Duration) -> Done<OwnedSemaphorePermit> {
    let turn = tokio::time::timeout(most, Arc::clone(places).acquire_owned()).await;
    let turn = turn.map_err(|_| {
        let what = format!("others are served, and no place became free within {} seconds", most.as_secs());
        Problem::new(503, "busy", what, "send the request again in a moment")
    })?;
    turn.map_err(|error| Problem::ours("waiting for a turn", &error))
}

/// A request of the owner, for matters of all conversations.
pub(super) struct Owned(pub(super) Seen);

impl FromRequestParts<Arc<Api>> for Owned {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Done<Self> {
        let seen = Seen::from_request_parts(parts, api).await?;
        if !seen.is_owner() {
            let what = "this concerns all conversations, also those of others";
            return Err(Problem::new(403, "forbidden", what, "ask the owner of the daemon"));
        }
        Ok(Self(seen))
    }
}

/// A request of the owner's command line. It carries the token from the file beside the database, which only the owner can
/// read. No other token is accepted, whatever its scopes.
pub(super) struct AtHand;

impl<S: Send + Sync> FromRequestParts<S> for AtHand {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Done<Self> {
        parts.extensions.get::<CommandLine>().map(|_| Self).ok_or_else(|| {
            let what = "only the command line of the database's owner may name a file";
            Problem::new(
                403,
                "forbidden",
                what,
                "run on the machine of the daemon: unforget pin CONVERSATION --file FILE",
            )
        })
    }
}

/// The conversation with this name; `None` without a name.
pub(super) fn confined(engine: &Engine, name: Option<&str>) -> Done<Option<ConversationId>> {
    Ok(name.map(|name| engine.resolve(name)).transpose()?.map(|found| found.conversation.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_table() {
        let table = [
            ("default", "pi:1", true, "an imported history is the owner's"),
            ("default", "journal:gateway/ann/1", true, "the owner sees all"),
            ("ann", "journal:gateway/ann/1", true, "hers"),
            ("ann", "journal:gateway/anna/1", false, "a name that begins alike"),
            ("ann", "journal:gateway/bob/1", false, "another's"),
            ("ann", "journal:gateway/bob/ann/1", false, "another's, called like hers"),
            ("ann", "pi:1", false, "the owner's"),
            ("", "journal:gateway//1", true, "a name without letters is a name"),
            ("", "journal:gateway/ann/1", false, "and no pattern"),
        ];
        for (tenant, key, want, why) in table {
            assert_eq!(is_of(tenant, &ConversationKey(key.to_owned())), want, "{why}: {tenant} {key}");
        }
    }
}
