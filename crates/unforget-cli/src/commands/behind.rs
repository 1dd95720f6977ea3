//! Models that work in the background of a server, as configured: settings are read again when they change.

use std::sync::Arc;
use std::time::Duration;

use unforget_engine::Engine;
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

/// Who is told about models and their jobs.
pub(super) struct Listeners<L, T> {
    /// Called at first, and with the result whenever changed settings were read.
    pub(super) looked: L,
    /// Called for each job.
    pub(super) told: T,
}

/// Sets the models, and lets them write wanted summaries until the result is dropped.
///
/// * `host` - the host's own model, if this process serves a host.
pub(super) fn start<L, T>(
    settings: ModelSettings,
    engine: &Engine,
    shared: &Shared<'_>,
    host: Option<Arc<dyn Model>>,
    listeners: Listeners<L, T>,
) -> Outcome<Background>
where
    L: FnMut(&Watched, Option<Outcome<()>>) + Send + 'static,
    T: Fn(News<'_>) + Send + 'static,
{
    let Listeners { mut looked, told } = listeners;
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
    Ok(Background::start(engine.clone(), shared.current.clone(), shared.cancel.clone(), LOOK, callbacks)?)
}
