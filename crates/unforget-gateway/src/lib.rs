//! The gateway: takes requests of clients, sends requests to providers, and stores everything said in between.
//!
//! ```text
//! client ─▶ route ─▶ decide (recognise, store, fit) ─▶ upstream ─▶ relay ─▶ broadcast ─▶ client
//!                                                                       └──▶ spool, then the store
//! ```
//!
//! A call runs in a task of its own. Nothing that its client does meanwhile, not even going away, changes the call.
//!
//! # Modules
//!
//! A call goes through the modules in this order:
//!
//! | module | holds |
//! |---|---|
//! | `route`, `api`, `headers`, `body`, `byte_budget`, `received`, `tenant`, `trace` | which API a request calls; its body, within bounds of memory; who asks; spans |
//! | `serve`, `relay`, `fair_queue`, `key_locks`, `replays`, `shared_calls`, `broadcast` | from the request to the last byte of the answer; conversations take turns; answers that are read again, by several, or from another process |
//! | `decide`, `caller`, `arrays`, `limits`, `windows`, `prepared` | whose conversation a call belongs to; as it came or as a prompt of ours; what the model's window holds |
//! | `standing`, `pinned`, `recall_block`, `offered`, `recall_tools`, `tool_loop` | what is put back or added: standing context, pinned files, recall by the gateway or by the model |
//! | `variant` | the gateway of a command that brings settings of its own |
//! | `upstream`, `reading`, `spool`, `arriving`, `answer_store` | the provider; its answer while it arrives, and as it is stored |
//! | `learn`, `provider_counts`, `caches`, `figures`, `notices`, `logged_once`, `passed_on`, `fault` | what an answer teaches; figures, and what a person is told |

mod answer_store;
mod api;
mod arrays;
mod arriving;
mod body;
mod broadcast;
mod byte_budget;
mod caches;
mod caller;
mod credential;
mod decide;
mod fair_queue;
mod fault;
mod figures;
mod headers;
mod key_locks;
mod learn;
mod limits;
mod logged_once;
mod notices;
mod offered;
mod passed_on;
pub mod pinned;
mod prepared;
mod provider_counts;
mod reading;
mod recall_block;
mod recall_tools;
mod received;
mod relay;
mod replays;
mod route;
mod serve;
mod shared_calls;
mod shared_key;
mod spool;
mod standing;
mod tenant;
mod tool_loop;
pub mod trace;
mod upstream;
mod variant;
mod windows;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unforget_engine::host::Host;

use answer_store::{AnswerStore, RetryList};
use body::BodyIntake;
use byte_budget::ByteBudget;
use decide::{Decider, ModelLimits, Recogniser};
use fair_queue::FairQueue;
use logged_once::LoggedOnce;
use offered::RecallHelp;
use relay::Relay;
use replays::Replays;
use spool::Spool;
use upstream::Providers;

pub use api::Api;
pub use caches::{CacheRecords, CallCount, LaneRecord};
pub use offered::Recall;
pub use recall_tools::RecallTools;
pub use route::{refusal, routes};
pub use spool::unread_answers;
pub use tenant::{OWNER, Tenant};
pub use upstream::{Key, Upstream, install_crypto};
pub use variant::RunSettings;
pub use windows::Windows;

/// The settings of the gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The upstreams in order; the first suitable one is used.
    pub upstreams: Vec<Upstream>,
    /// Windows of models.
    pub windows: Windows,
    /// Largest request body in bytes, decompressed.
    pub body_max: usize,
    /// Memory budget for requests of all clients, in bytes. The largest request needs at least twice `body_max`.
    pub bodies_max: usize,
    /// Most objects and lists of a request.
    pub pieces_max: usize,
    /// Memory budget for answers of all clients, in bytes.
    pub answers_max: usize,
    /// How long a request waits for this budget, and a provider for its answer's.
    pub wait: Duration,
    /// Most waiting calls of one conversation, while the gateway handles another of its calls.
    pub lane_calls_max: usize,
    /// Pause before another attempt to store an answer; doubles each time, up to a minute.
    pub store_again: Duration,
    /// Whether left-out content is recalled for the newest question.
    pub recall: Recall,
    /// Longest silence of a client inside a request.
    pub silence: Duration,
    /// Longest silence of a provider inside an answer.
    pub idle: Duration,
    /// How long a client's repeated request counts as a retry.
    pub retry_window: Duration,
}

/// Default of the largest request body, in bytes.
const BODY_MAX: usize = 256 << 20;

/// Default of the most objects and lists of a request: ten times those of a full window of a million tokens.
const PIECES_MAX: usize = 250_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            upstreams: Upstream::defaults(),
            windows: Windows::default(),
            body_max: BODY_MAX,
            bodies_max: 4 * BODY_MAX,
            pieces_max: PIECES_MAX,
            answers_max: 512 << 20,
            wait: Duration::from_secs(10),
            lane_calls_max: 64,
            store_again: Duration::from_secs(1),
            recall: Recall::Off,
            silence: Duration::from_secs(30),
            idle: Duration::from_mins(10),
            retry_window: Duration::from_mins(10),
        }
    }
}

/// Most calls being handled between arrival and sending; others wait, each lane for its turn.
const AT_WORK: usize = 32;

/// Most waiting calls.
const WAITING: usize = 4_096;

/// The gateway between clients and providers.
pub struct Gateway {
    relay: Arc<Relay>,
    intake: BodyIntake,
    /// Log messages about requests that are passed on, written once.
    once: Arc<LoggedOnce>,
    tasks: TaskTracker,
    /// Cancelled when no new calls are accepted.
    closing: CancellationToken,
}

impl Gateway {
    /// A gateway over a host's view of the store. First stores the answers that an earlier process left in the spool.
    ///
    /// * `tools` - recall tools for models, offered if the settings want that.
    /// * `spool` - folder of arriving answers, beside the database.
    ///
    /// # Errors
    /// If the spool is unusable, or the HTTP client cannot be created.
    pub fn open(
        host: Arc<Host>,
        tools: Arc<dyn RecallTools>,
        settings: Settings,
        spool: PathBuf,
    ) -> io::Result<Arc<Self>> {
        let providers = Providers::new(settings.upstreams, settings.idle).map_err(io::Error::other)?;
        let providers = Arc::new(providers);
        let closing = CancellationToken::new();
        let decider = Arc::new(Decider {
            host: Arc::clone(&host),
            providers: Arc::clone(&providers),
            recogniser: Arc::new(Recogniser::default()),
            models: ModelLimits { windows: settings.windows, limits: Arc::default() },
            recall: Arc::new(RecallHelp { mode: settings.recall, tools, once: LoggedOnce::default() }),
            memory: Arc::default(),
        });
        let store = Arc::new(AnswerStore {
            spool: Spool::open(spool)?,
            is_shared: host.engine().peers().is_some(),
            host,
            unstored: RetryList::default(),
            pause: settings.store_again,
            closing: closing.clone(),
        });
        store.recover()?;
        let replays = Replays::new(settings.retry_window, settings.answers_max);
        let kept = store.spool.repeats(settings.retry_window)?;
        for kept in &kept {
            store.remove_after(kept.path.clone(), settings.retry_window.saturating_sub(kept.age));
        }
        replays.take_up(kept);
        let relay = Arc::new(Relay {
            store,
            decider,
            providers,
            replays: Arc::new(replays),
            queue: FairQueue::new(AT_WORK, settings.lane_calls_max),
            budget: ByteBudget::new("answers", settings.answers_max, settings.wait),
        });
        let intake = BodyIntake {
            limit: settings.body_max,
            pieces_max: settings.pieces_max,
            silence: settings.silence,
            budget: ByteBudget::new("requests", settings.bodies_max, settings.wait),
        };
        Ok(Arc::new(Self { relay, intake, once: Arc::default(), tasks: TaskTracker::new(), closing }))
    }

    /// Ends the gateway: no new calls are accepted, and running ones are completed within `patience`. Cut-off answers
    /// stay in the spool.
    pub async fn close(&self, patience: Duration) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(patience, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                calls = self.tasks.len(),
                "calls were cut off: what arrived of their answers is stored at the next start"
            );
        }
    }

    /// Whether new calls are refused.
    pub fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Tests whether calls can be stored: the disk has room, and written data can be read back.
    ///
    /// # Errors
    /// The reason why nothing can be stored.
    pub fn probe(&self) -> io::Result<()> {
        self.relay.store.spool.has_room()?;
        self.relay.decider.host.probe().map_err(io::Error::other)
    }

    /// The fate of providers' caches since the gateway was opened.
    pub fn caches(&self) -> &Arc<CacheRecords> {
        &self.relay.decider.memory.caches
    }

    /// Number of running calls.
    pub fn running(&self) -> usize {
        self.tasks.len()
    }

    /// Number of clients that read an answer or wait for one. A client that went away counts until its connection has
    /// ended here.
    pub fn readers(&self) -> usize {
        self.relay.replays.readers()
    }

    /// Bytes of requests and of answers in memory, as far as they are counted.
    pub fn held(&self) -> (usize, usize) {
        (self.intake.budget.held(), self.relay.budget.held())
    }
}
