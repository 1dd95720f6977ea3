//! Commands that use the daemon: `unforget run` attaches its command for as long as it runs, with settings of its own.
//!
//! An attached command is a request whose answer stays open. Whatever ends the command closes the connection, so that no
//! command is forgotten and none is counted after its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use unforget_core::id::Timestamp;
use unforget_gateway::{Api, Gateway, RunSettings, Upstream, Windows};

use crate::api::{CommandLine, Problem};
use crate::json::iso;

/// Where commands attach, and where the daemon is described and ended. For the owner's command line only.
pub const DAEMON: &str = "/daemon";

/// Before the path of a call by a command with settings of its own, followed by the command's id.
pub const RUN: &str = "/run";

/// Longest id and longest shown command, in bytes.
const NAME_MAX: usize = 200;

/// A command that attaches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandJson {
    /// Its id: unguessable, chosen by `unforget run`, and kept when the daemon is started again.
    pub id: String,
    /// Name of the program.
    pub command: String,
    /// Process of `unforget run`.
    pub pid: u32,
    /// Where its calls are sent; `None` for the daemon's upstreams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Windows of models, in tokens, by pattern.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub windows: BTreeMap<String, u64>,
    /// Most tokens of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<u64>,
}

/// A line of the answer to an attached command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum RunState {
    /// The command is attached; its base URL is the daemon's with this path.
    Attached {
        /// Empty for a command without settings of its own.
        path: String,
        /// Whether calls need a token of the daemon.
        asks_for_token: bool,
    },
    /// The daemon was told to end.
    Ending,
}

/// The daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonJson {
    /// Its process.
    pub pid: u32,
    /// Its start.
    pub since: Option<String>,
    /// Seconds without use after which the daemon ends by itself; `None` for a daemon that stays.
    pub until_unused: Option<u64>,
    /// Calls that run now.
    pub calls: usize,
    /// Attached commands, oldest first.
    pub runs: Vec<CommandJson>,
}

/// Ends the daemon.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndJson {
    /// Also while commands are attached.
    pub force: bool,
}

struct AttachedRun {
    order: u64,
    run: CommandJson,
    /// Its gateway; `None` for the daemon's.
    routes: Option<Router>,
}

#[derive(Default)]
struct RunTable {
    next: u64,
    by_id: BTreeMap<String, AttachedRun>,
}

/// How long a daemon serves, and whom.
#[derive(Clone, Copy, Debug, Default)]
pub struct DaemonTerms {
    /// Seconds, as in [`DaemonJson`].
    pub until_unused: Option<u64>,
    /// Whether calls need a token of the daemon.
    pub asks_for_token: bool,
}

/// The attached commands of a daemon.
pub struct Runs {
    gateway: Arc<Gateway>,
    since: Timestamp,
    until_unused: Option<u64>,
    asks_for_token: bool,
    table: Mutex<RunTable>,
    ending: CancellationToken,
}

impl Runs {
    /// * `terms` - how the daemon is used.
    /// * `ending` - cancelled to end the daemon, also from here.
    pub fn new(
        gateway: Arc<Gateway>,
        since: Timestamp,
        terms: DaemonTerms,
        ending: CancellationToken,
    ) -> Arc<Self> {
        let DaemonTerms { until_unused, asks_for_token } = terms;
        Arc::new(Self { gateway, since, until_unused, asks_for_token, table: Mutex::default(), ending })
    }

    fn table(&self) -> MutexGuard<'_, RunTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn described(&self) -> DaemonJson {
        let table = self.table();
        let mut runs: Vec<_> = table.by_id.values().collect();
        runs.sort_by_key(|run| run.order);
        DaemonJson {
            pid: std::process::id(),
            since: iso(self.since),
            until_unused: self.until_unused,
            calls: self.gateway.running(),
            runs: runs.into_iter().map(|run| run.run.clone()).collect(),
        }
    }

    /// Attaches a command. A command with a known id takes the place of the earlier one, whose connection is gone or
    /// about to go.
    fn attach(self: &Arc<Self>, run: CommandJson) -> Result<Attachment, Problem> {
        let settings = settings(&run)?;
        let routes =
            (!settings.is_empty()).then(|| super::routes(self.gateway.with(&settings), Router::new()));
        let mut table = self.table();
        table.next += 1;
        let (order, id) = (table.next, run.id.clone());
        let path = if routes.is_some() { format!("{RUN}/{id}") } else { String::new() };
        table.by_id.insert(id.clone(), AttachedRun { order, run, routes });
        drop(table);
        Ok(Attachment { runs: Arc::clone(self), id, order, path })
    }

    fn routes_of(&self, id: &str) -> Option<Router> {
        self.table().by_id.get(id)?.routes.clone()
    }
}

/// An attached command, until dropped.
struct Attachment {
    runs: Arc<Runs>,
    id: String,
    order: u64,
    path: String,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut table = self.runs.table();
        if table.by_id.get(&self.id).is_some_and(|run| run.order == self.order) {
            table.by_id.remove(&self.id);
        }
    }
}

/// The gateway settings of a command.
fn settings(run: &CommandJson) -> Result<RunSettings, Problem> {
    let is_id =
        |id: &str| (8..=NAME_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_id(&run.id) || run.command.len() > NAME_MAX {
        return Err(wrong(
            "an id has 8 to 200 letters and digits, and the name of a command at most 200 bytes",
        ));
    }
    let upstream = run.upstream.as_deref().map(|url| Upstream::new("upstream", url, Api::Any));
    let upstream = upstream.transpose().map_err(|what| wrong(&what))?;
    let windows = Windows { patterns: run.windows.clone().into_iter().collect(), cap: run.cap };
    Ok(RunSettings { upstream, windows })
}

fn wrong(what: &str) -> Problem {
    Problem::new(
        400,
        "usage",
        what,
        "run the same version of unforget as the daemon: unforget stop, then again",
    )
}

/// A request of the owner's command line, which can read the file beside the database.
struct OwnerRequest;

impl<S: Send + Sync> FromRequestParts<S> for OwnerRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<CommandLine>().map(|_| Self).ok_or_else(|| {
            let what = "only the command line of the database's owner may do this";
            Problem::new(
                403,
                "forbidden",
                what,
                "run unforget on the machine of the daemon, as the same user",
            )
        })
    }
}

/// The routes for commands.
pub fn routes(runs: Arc<Runs>) -> Router {
    Router::new()
        .route(DAEMON, get(describe))
        .route(&format!("{DAEMON}/runs"), post(attach))
        .route(&format!("{DAEMON}/end"), post(end))
        .route(&format!("{RUN}/{{id}}/{{*path}}"), any(call))
        .with_state(runs)
}

async fn describe(State(runs): State<Arc<Runs>>, _: OwnerRequest) -> Json<DaemonJson> {
    Json(runs.described())
}

async fn attach(
    State(runs): State<Arc<Runs>>,
    _: OwnerRequest,
    Json(run): Json<CommandJson>,
) -> Result<Response, Problem> {
    tracing::info!(command = run.command, pid = run.pid, "a command uses the daemon");
    let ending = runs.ending.clone();
    let attachment = runs.attach(run)?;
    let attached =
        line(&RunState::Attached { path: attachment.path.clone(), asks_for_token: runs.asks_for_token });
    let until_end = async move {
        ending.cancelled().await;
        drop(attachment);
        line(&RunState::Ending)
    };
    let lines = stream::once(async { attached }).chain(stream::once(until_end));
    Ok(Body::from_stream(lines.map(Ok::<_, std::convert::Infallible>)).into_response())
}

fn line(state: &RunState) -> String {
    // A value of two words is always JSON.
    serde_json::to_string(state).unwrap_or_default() + "\n"
}

async fn end(
    State(runs): State<Arc<Runs>>,
    _: OwnerRequest,
    Json(end): Json<EndJson>,
) -> Result<Json<DaemonJson>, Problem> {
    let daemon = runs.described();
    if !daemon.runs.is_empty() && !end.force {
        let names: Vec<_> =
            daemon.runs.iter().map(|run| format!("{} (process {})", run.command, run.pid)).collect();
        let what = format!("the daemon is used by {}", names.join(", "));
        return Err(Problem::new(
            409,
            "usage",
            &what,
            "end them first, or take it away from them with --force",
        ));
    }
    runs.ending.cancel();
    Ok(Json(daemon))
}

/// A call of a command with settings of its own.
async fn call(
    State(runs): State<Arc<Runs>>,
    Path((id, _)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(routes) = runs.routes_of(&id) else {
        let what = "no command that runs has this address: start it again with unforget run\n";
        return (StatusCode::NOT_FOUND, what).into_response();
    };
    let Some(request) = below(request, &format!("{RUN}/{id}")) else {
        return (StatusCode::BAD_REQUEST, "this address has no path\n").into_response();
    };
    match routes.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// A request without the beginning of its path.
fn below(mut request: Request, start: &str) -> Option<Request> {
    let rest = request.uri().path_and_query()?.as_str().strip_prefix(start)?.parse::<PathAndQuery>().ok()?;
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.path_and_query = Some(rest);
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    Some(request)
}
