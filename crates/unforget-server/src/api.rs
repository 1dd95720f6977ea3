//! The HTTP API under `/api/v1`: the functions of the command line for programs. `docs/http-api.md` explains its use.
//! `docs/openapi.json` describes it and is generated from the types and routes here.
//!
//! | module | holds |
//! |---|---|
//! | `conversations`, `labels`, `prompts`, `left`, `status`, `pins`, `raised`, `sayings`, `recall`, `whole`, `purge` | routes, by topic |
//! | `imports`, `tasks` | uploads, and work that outlives its request |
//! | `events` | changes, as they happen |
//! | `scope` | the tenant of a request, and the tenant's view of the engine |
//! | `problem` | errors as problem+json |
//! | `play_limit` | how long a request may play a history |
//! | `asked`, `page`, `tag` | parameters, pages, entity tags |
//! | `metrics` | figures for Prometheus |

mod asked;
mod conversations;
mod events;
mod imports;
mod labels;
mod left;
mod metrics;
mod page;
mod pins;
mod play_limit;
mod problem;
mod prompts;
mod purge;
mod raised;
mod recall;
mod sayings;
mod scope;
mod status;
mod tag;
mod tasks;
mod verdicts;
mod whole;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_engine::summarise::{Cancel, Current};
use unforget_wire::Dialect;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::json::ConfigJson;
use crate::play_cache::PlayedCache;
use unforget_gateway::CacheRecords;
use unforget_gateway::trace;

pub use events::Events;
pub use metrics::Figures;
pub use problem::Problem;
pub use scope::{CommandLine, engine_of};
pub use tasks::Task;

/// The settings of the API.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Path of the database, for people.
    pub db: String,
    /// The settings, without secrets.
    pub config: ConfigJson,
    /// Folder for backups; `None` forbids backups over the API.
    pub backups: Option<PathBuf>,
    /// Folder of incoming uploads, emptied at the start.
    pub uploads: PathBuf,
    /// Largest upload, in bytes.
    pub upload_max: u64,
    /// Default window of prompts, in tokens.
    pub window: u64,
    /// Default model of prompts.
    pub model: Option<String>,
    /// Default dialect of prompts; `None` stands for that of the transcript's host.
    pub dialect: Option<Dialect>,
    /// A secret of all processes with this API on the database; `None` if this is the only one.
    pub seal: Option<Digest>,
}

/// Most concurrent calls into the engine; others wait in order, and are told to come again after [`AT_WORK_WAIT`].
const AT_WORK: usize = 8;

/// Longest wait for a call into the engine.
const AT_WORK_WAIT: Duration = Duration::from_secs(10);

/// Most concurrent questions to models; others wait in order, without delaying other calls, and are told to come again
/// after [`ASKING_WAIT`].
const ASKING: usize = 4;

/// Longest wait for a question to models: answers take their time.
const ASKING_WAIT: Duration = Duration::from_mins(2);

/// Most concurrent exports; further clients are told to come again.
const EXPORTS: usize = 16;

/// The API over one store.
pub struct Api {
    host: Arc<Host>,
    settings: Settings,
    models: Current,
    events: Arc<Events>,
    tasks: tasks::Tasks,
    plans: purge::Plans,
    at_work: Arc<Semaphore>,
    asking: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    /// The fate of providers' caches, if a gateway reports it.
    caches: Mutex<Option<Arc<CacheRecords>>>,
    /// Sessions whose calls were played.
    played: PlayedCache,
    /// Cancels the models' work, for threads waiting for it.
    cancel: Cancel,
    /// Cancels the models' work, for futures waiting for it.
    ending: CancellationToken,
}

impl Api {
    /// * `host` - a host whose engine reports its changes to `events`. See [`Events::on`].
    /// * `models` - the models that answer questions and write summaries on request.
    pub fn new(host: Arc<Host>, settings: Settings, models: Current, events: Arc<Events>) -> Arc<Self> {
        // Uploads left by a killed process. Only this process uses the folder.
        std::fs::remove_dir_all(&settings.uploads).ok();
        let plans = purge::Plans::new(settings.seal);
        Arc::new(Self {
            host,
            settings,
            models,
            tasks: tasks::Tasks::new(Arc::clone(&events)),
            events,
            plans,
            at_work: Arc::new(Semaphore::new(AT_WORK)),
            asking: Arc::new(Semaphore::new(ASKING)),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            caches: Mutex::default(),
            played: PlayedCache::default(),
            cancel: Cancel::default(),
            ending: CancellationToken::new(),
        })
    }

    fn engine(&self) -> &Engine {
        self.host.engine()
    }

    /// Cancels the models' work when the daemon ends.
    pub const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Ends subscriptions to events, and asks work that waits for models to end. Other tasks continue.
    pub fn close(&self) {
        self.cancel.cancel();
        self.tasks.close();
        self.ending.cancel();
        self.events.close();
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Unforget",
        description = "A lossless context engine for LLM agents: conversations, recall, prompts, pins, upkeep.\n\nA conversation's `name` is its key, or enough of it to be the only one. Errors are `application/problem+json`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Problem)),
    tags(
        (name = "conversations", description = "What is stored"),
        (name = "prompts", description = "What models are sent, were sent, and why"),
        (name = "pins", description = "Rules that stand in every prompt"),
        (name = "recall", description = "Finding again, with receipts"),
        (name = "store", description = "Figures, checks and upkeep of all of it"),
        (name = "tasks", description = "Work that outlives its request"),
        (name = "events", description = "What changes, as it changes"),
    )
)]
struct Document;

fn described() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(conversations::list))
        .routes(routes!(conversations::show))
        .routes(routes!(conversations::entries))
        .routes(routes!(conversations::stats))
        .routes(routes!(conversations::ledger))
        .routes(routes!(conversations::export))
        .routes(routes!(labels::show, labels::change))
        .routes(routes!(prompts::prompt))
        .routes(routes!(prompts::compact))
        .routes(routes!(prompts::prompts))
        .routes(routes!(prompts::rebuilt))
        .routes(routes!(prompts::diff))
        .routes(routes!(prompts::why))
        .routes(routes!(left::left))
        .routes(routes!(prompts::decisions))
        .routes(routes!(status::status))
        .routes(routes!(status::statuses))
        .routes(routes!(prompts::jobs, prompts::drop_jobs))
        .routes(routes!(prompts::run_jobs))
        .routes(routes!(pins::list, pins::pin))
        .routes(routes!(pins::supersede, pins::unpin))
        .routes(routes!(pins::proposals))
        .routes(routes!(verdicts::list, verdicts::reject))
        .routes(routes!(verdicts::withdraw))
        .routes(routes!(raised::list, raised::raise))
        .routes(routes!(raised::lower))
        .routes(routes!(sayings::take))
        .routes(routes!(recall::search))
        .routes(routes!(recall::pack))
        .routes(routes!(recall::grep))
        .routes(routes!(recall::describe))
        .routes(routes!(recall::expand))
        .routes(routes!(recall::raw))
        .routes(routes!(recall::answer))
        .routes(routes!(imports::import))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show, tasks::end))
        .routes(routes!(whole::stats))
        .routes(routes!(whole::doctor))
        .routes(routes!(whole::config))
        .routes(routes!(whole::verify))
        .routes(routes!(whole::backup))
        .routes(routes!(whole::reindex))
        .routes(routes!(purge::purge))
        .routes(routes!(events::events))
}

/// The description of all routes, as JSON with a final line feed.
pub fn document() -> String {
    let (_, document) =
        OpenApiRouter::with_openapi(Document::openapi()).nest(ROOT, described()).split_for_parts();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// Path of the API.
pub const ROOT: &str = "/api/v1";

/// The routes under [`ROOT`] and `/metrics`.
pub fn routes(api: Arc<Api>) -> Router {
    let text = document();
    let document = move || {
        let text = text.clone();
        async move { ([("content-type", "application/json")], text) }
    };
    let (routes, _) = described().split_for_parts();
    let routes = routes
        .route("/openapi.json", get(document))
        .route("/local/pins", post(pins::pin_file))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .route_layer(from_fn(trace::requests))
        .with_state(Arc::clone(&api));
    Router::new().nest(ROOT, routes).route("/metrics", get(metrics::show).with_state(api))
}

async fn nowhere(uri: Uri) -> Problem {
    let what = format!("there is no {}", uri.path());
    Problem::new(404, "no-route", what, "GET /api/v1/openapi.json lists the routes")
}

async fn not_so(method: axum::http::Method, uri: Uri) -> Problem {
    let what = format!("{} does not take {method}", uri.path());
    Problem::new(405, "method", what, "GET /api/v1/openapi.json lists the methods of each route")
}
