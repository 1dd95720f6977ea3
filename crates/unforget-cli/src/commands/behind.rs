//! Models that work in the background of a server, as configured: settings are read again when they change.

use std::sync::Arc;
use std::time::Duration;

use unforget_engine::Engine;
use unforget_engine::index::{IndexNews, IndexUpkeep};
use unforget_engine::meaning::{EmbedNews, Embedding};
use unforget_engine::prompt::{WholeHistories, WholeNews};
use unforget_engine::summarise::{Background, BackgroundCallbacks, Cancel, Current, Model, News};

use super::engine::now;
use crate::config::{ModelSettings, Watched};
use crate::failure::Outcome;

/// Interval at which models look for summaries to write.
const LOOK: Duration = Duration::from_secs(5);

/// What a server shares with its models.
pub(super) struct Shared<'a> {
    /// Where the current models are put.
    pub(super) current: &'a Current,
    /// Ends their calls.
    pub(super) cancel: &'a Cancel,
}

/// What works behind a server, until dropped.
pub(super) struct Behind {
    _summaries: Background,
    _vectors: Embedding,
    _histories: WholeHistories,
    _index: IndexUpkeep,
}

/// Who is told about models and their jobs.
pub(super) struct Listeners<L, T> {
    /// Called at first, and with the result whenever changed settings were read.
    pub(super) looked: L,
    /// Called for each job.
    pub(super) told: T,
    /// Called when the vectors of entries have to wait.
    pub(super) vectors: fn(EmbedNews<'_>),
    /// Called when all of a history was read behind a provisional prompt.
    pub(super) histories: fn(WholeNews<'_>),
    /// Called when the index of a conversation was looked after.
    pub(super) index: fn(IndexNews<'_>),
}

/// Sets the models, and lets them write wanted summaries and make vectors until the result is dropped.
///
/// * `host` - the host's own model, if this process serves a host.
pub(super) fn start<L, T>(
    settings: ModelSettings,
    engine: &Engine,
    shared: &Shared<'_>,
    host: Option<Arc<dyn Model>>,
    listeners: Listeners<L, T>,
) -> Outcome<Behind>
where
    L: FnMut(&Watched, Option<Outcome<()>>) + Send + 'static,
    T: Fn(News<'_>) + Send + 'static,
{
    let Listeners { mut looked, told, vectors, histories, index } = listeners;
    let mut watched = Watched::new(settings, engine, host)?;
    looked(&watched, None);
    shared.current.set(watched.models());
    let models = shared.current.clone();
    let look = move || {
        if let Some(changed) = watched.look() {
            looked(&watched, Some(changed));
            models.set(watched.models());
        }
    };
    let callbacks = BackgroundCallbacks { look, time: now, told };
    let (current, cancel) = (shared.current.clone(), shared.cancel.clone());
    Ok(Behind {
        _summaries: Background::start(engine.clone(), current, cancel, LOOK, callbacks)?,
        _vectors: Embedding::start(engine.clone(), LOOK, vectors)?,
        _histories: WholeHistories::start(engine.clone(), LOOK, histories)?,
        _index: IndexUpkeep::start(engine.clone(), LOOK, index)?,
    })
}
