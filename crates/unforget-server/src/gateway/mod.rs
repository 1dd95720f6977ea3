//! The gateway: requests of clients in, requests to providers out, and everything said stored on the way.
//!
//! ```text
//! client ─▶ route ─▶ ask (recognise, store, fit) ─▶ upstream ─▶ pump ─▶ live ─▶ client
//!                                                                 └──▶ spool, then the store
//! ```
//!
//! A call runs in a task of its own. What a client does meanwhile, going away too, changes nothing about it.

mod arrays;
mod ask;
mod body;
mod cache;
mod caller;
mod fault;
mod figures;
mod finish;
mod limits;
mod live;
mod lives;
mod notices;
mod offer;
mod orders;
mod passed;
mod pump;
mod reading;
mod room;
mod rounds;
mod route;
mod shared;
mod slot;
mod spool;
mod standing;
mod turns;
mod upstream;
mod windows;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{Host, LaneKey};

use arrays::Arrays;
use finish::{Measured, Unstored};
use limits::Limits;
use lives::Lives;
use notices::Once;
use orders::Orders;
use room::Room;
use spool::Spool;
use standing::PutBack;
use turns::Turns;

pub use cache::{Caches, Count, Kept};
pub use route::{Tenant, routes};
pub use upstream::{Api, Key, Upstream, install_crypto};
pub use windows::Windows;

/// What the settings say of the gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where calls go, in order: the first that fits.
    pub upstreams: Vec<Upstream>,
    /// Windows of models.
    pub windows: Windows,
    /// Bytes of a request's body at most, unpacked.
    pub body_max: usize,
    /// Bytes of requests that are in memory at once, of all clients. At least twice `body_max` is needed for the largest.
    pub bodies_max: usize,
    /// Bytes of answers that are in memory at once, of all clients.
    pub answers_max: usize,
    /// How long a request waits for room among these, and a provider for its answer's.
    pub wait: Duration,
    /// Calls of one conversation that wait at most while another of them is worked on.
    pub lane_calls_max: usize,
    /// Pause before an answer that could not be stored is tried again; it doubles each time, up to a minute.
    pub store_again: Duration,
    /// Whether what a prompt left out is looked up for the newest question.
    pub recall: Recall,
    /// Longest silence of a client within a request.
    pub silence: Duration,
    /// Longest silence of a provider within an answer.
    pub idle: Duration,
    /// How long a client's same request again is taken for a retry.
    pub retry_window: Duration,
}

/// Bytes of a request's body, if nobody says.
const BODY_MAX: usize = 256 << 20;

/// What a gateway recalls by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recall {
    /// Nothing.
    #[default]
    Off,
    /// A small block before the newest question, where the prompt left something out.
    Slot,
    /// The model itself, with tools that are offered to it where the prompt left something out, and run here.
    Tools,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            upstreams: Upstream::defaults(),
            windows: Windows::default(),
            body_max: BODY_MAX,
            bodies_max: 4 * BODY_MAX,
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

/// Calls that are worked on at once, between their arrival and the model; others wait, each lane for its turn.
const AT_WORK: usize = 32;

/// Calls that wait at most.
const WAITING: usize = 4_096;

/// See the module.
pub struct Gateway {
    /// Before the host: its files are tidied while the database is still ours.
    spool: Spool,
    host: Arc<Host>,
    settings: Settings,
    client: reqwest::Client,
    arrays: Arrays,
    lives: Lives,
    orders: Orders,
    /// What providers counted of the last call of a lane.
    measured: Mutex<HashMap<LaneKey, Measured>>,
    /// Standing context that was put back into prompts.
    put_back: PutBack,
    /// Lanes of conversations that providers keep, and all of which is here.
    whole: Mutex<HashSet<LaneKey>>,
    /// Limits that providers told.
    limits: Limits,
    /// What became of providers' caches.
    caches: Arc<Caches>,
    /// What is said once.
    once: Once,
    turns: Arc<Turns>,
    /// For requests.
    bodies: Room,
    /// For answers.
    answers: Room,
    /// Answers that could not be stored.
    unstored: Unstored,
    tasks: TaskTracker,
    /// No new calls.
    closing: CancellationToken,
}

impl Gateway {
    /// A gateway over a host's view of the store. Stores what an earlier process left in the spool.
    ///
    /// * `spool` - folder of answers that arrive, beside the database.
    ///
    /// # Errors
    /// If the spool cannot be used, or the HTTP client cannot be made.
    pub fn open(host: Arc<Host>, settings: Settings, spool: PathBuf) -> io::Result<Arc<Self>> {
        let client = upstream::client(settings.idle).map_err(io::Error::other)?;
        let gateway = Arc::new(Self {
            host,
            client,
            arrays: Arrays::default(),
            lives: Lives::new(settings.retry_window, settings.answers_max),
            turns: Turns::new(AT_WORK, settings.lane_calls_max),
            bodies: Room::new("requests", settings.bodies_max, settings.wait),
            answers: Room::new("answers", settings.answers_max, settings.wait),
            unstored: Unstored::default(),
            orders: Orders::default(),
            settings,
            spool: Spool::open(spool)?,
            measured: Mutex::default(),
            put_back: PutBack::default(),
            whole: Mutex::default(),
            limits: Limits::default(),
            caches: Arc::default(),
            once: Once::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        });
        gateway.recover()?;
        Ok(gateway)
    }

    /// Ends: no new calls are taken, those that run are finished, for so long at most. What is cut off is in the spool.
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

    /// Whether no new calls are taken.
    pub fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Whether calls can be stored: there is room, and what is written can be read back.
    ///
    /// # Errors
    /// What kept it from being stored.
    pub fn probe(&self) -> io::Result<()> {
        self.spool.has_room()?;
        self.host.probe().map_err(io::Error::other)
    }

    /// What became of providers' caches since it was opened.
    pub const fn caches(&self) -> &Arc<Caches> {
        &self.caches
    }

    /// Calls that run.
    pub fn running(&self) -> usize {
        self.tasks.len()
    }

    /// Clients that read an answer, or wait for one. One that went away is counted until its connection has ended here.
    pub fn readers(&self) -> usize {
        self.lives.readers()
    }

    /// Bytes of requests and of answers that are in memory, as far as they are counted.
    pub fn held(&self) -> (usize, usize) {
        (self.bodies.held(), self.answers.held())
    }

    /// Tokens of the messages of a call: what the provider counted of those that it has read, and ours for the rest.
    fn measured(&self, begun: &ask::Begun) -> Tokens {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured
            .get(&begun.who.lane.lane)
            .map_or(begun.array.tokens(), |known| known.of(&begun.array, begun.fixed()))
    }
}
