//! The shared state of all views.

use std::sync::Arc;

use tokio::sync::Semaphore;
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_server::json::ConfigJson;
use unforget_server::play_cache::PlayedCache;
use unforget_wire::Dialect;

use crate::day_cache::DayCache;
use crate::form_seal::FormSeal;

/// Views that are made at once; others wait in order.
const AT_WORK: usize = 8;

/// What the page is told about the daemon.
#[derive(Clone, Debug, Default)]
pub struct SiteSettings {
    /// Path of the database, for people.
    pub db: String,
    /// The settings, without secrets.
    pub config: ConfigJson,
    /// Default window of prompts, in tokens.
    pub window: u64,
    /// Default model of prompts.
    pub model: Option<String>,
    /// Default dialect of prompts; `None` stands for that of the transcript's host.
    pub dialect: Option<Dialect>,
    /// Whether a token is needed, so that there is a way out.
    pub asks_for_token: bool,
    /// Whether the listener speaks TLS: then the cookie is sent to no other.
    pub is_secure: bool,
    /// A secret of all processes that serve this database's page; `None` if this is the only one.
    pub seal: Option<Digest>,
}

/// The page over one engine.
pub struct Site {
    pub(crate) engine: Engine,
    pub(crate) settings: SiteSettings,
    pub(crate) played: PlayedCache,
    pub(crate) at_work: Semaphore,
    pub(crate) seal: FormSeal,
    pub(crate) day: DayCache,
}

impl Site {
    /// * `engine` - of the daemon.
    pub fn new(engine: Engine, settings: SiteSettings) -> Arc<Self> {
        let (played, at_work) = (PlayedCache::default(), Semaphore::new(AT_WORK));
        let seal = FormSeal::of(settings.seal);
        Arc::new(Self { engine, settings, played, at_work, seal, day: DayCache::default() })
    }
}
