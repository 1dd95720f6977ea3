//! Models at work behind what serves others, as the settings name them: read again when they change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unforget_engine::Engine;
use unforget_engine::summarise::{Background, Cancel, Current, Model, News};

use super::engine::now;
use crate::config::{Summariser, Watched};
use crate::failure::Outcome;

/// How often models look for summaries to write.
const LOOK: Duration = Duration::from_secs(5);

/// Sets the models from now on, and has them write what is wanted until what is returned is dropped.
///
/// * `host` - the host's own model, if this process serves a host.
/// * `looked` - is called at first, and whenever the settings were looked at: says what came of it if they had changed.
/// * `told` - hears of each job.
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
