//! Models that work in the background of a server, as configured: settings are read again when they change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unforget_engine::Engine;
use unforget_engine::summarise::{Background, Cancel, Current, Model, News};

use super::engine::now;
use crate::config::{Summariser, Watched};
use crate::failure::Outcome;

/// Interval at which models look for summaries to write.
const LOOK: Duration = Duration::from_secs(5);

/// Sets the models, and lets them write wanted summaries until the result is dropped.
///
/// * `host` - the host's own model, if this process serves a host.
/// * `looked` - called at first, and with the result whenever changed settings were read.
/// * `told` - called for each job.
pub(super) fn start(
    settings: (Option<PathBuf>, Summariser),
    engine: &Engine,
    (current, cancel): (&Current, &Cancel),
    host: Option<Arc<dyn Model>>,
    (mut looked, told): (
        impl FnMut(&Watched, Option<Outcome<()>>) + Send + 'static,
        impl Fn(News<'_>) + Send + 'static,
    ),
) -> Outcome<Background> {
    let mut watched = Watched::new(settings, engine, host)?;
    looked(&watched, None);
    current.set(watched.models());
    let models = current.clone();
    let look = move || {
        if let Some(changed) = watched.look() {
            looked(&watched, Some(changed));
            models.set(watched.models());
        }
    };
    let ours = (current.clone(), cancel.clone());
    Ok(Background::start(engine.clone(), ours, look, (now, LOOK), told)?)
}
