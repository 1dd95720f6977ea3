//! The gateway of one command: everything is shared with the daemon's gateway but the settings that the command brings.

use std::sync::Arc;

use super::decide::{Decider, ModelLimits};
use super::relay::Relay;
use super::upstream::Providers;
use super::{Gateway, Upstream, Windows};

/// Settings that a command brings for its own calls.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// Takes all calls, whatever their API and model. `None` for the daemon's upstreams.
    pub upstream: Option<Upstream>,
    /// Windows that win over the daemon's windows for equal patterns, and a cap that wins over the daemon's cap.
    pub windows: Windows,
}

impl RunSettings {
    /// Whether the daemon's settings are used as they are.
    pub const fn is_empty(&self) -> bool {
        self.upstream.is_none() && self.windows.patterns.is_empty() && self.windows.cap.is_none()
    }
}

impl Gateway {
    /// A gateway with a command's settings over the same store, lanes, budgets and running calls. Closing either closes
    /// both.
    pub fn with(&self, settings: &RunSettings) -> Arc<Self> {
        let shared = &self.relay.decider;
        let (providers, limits) = match &settings.upstream {
            // Another provider has other limits for a model of this name.
            Some(upstream) => (self.relay.providers.only(upstream.clone()), Arc::default()),
            None => (Providers::clone(&self.relay.providers), Arc::clone(&shared.models.limits)),
        };
        let providers = Arc::new(providers);
        let decider = Arc::new(Decider {
            host: Arc::clone(&shared.host),
            providers: Arc::clone(&providers),
            recogniser: Arc::clone(&shared.recogniser),
            models: ModelLimits { windows: shared.models.windows.with(&settings.windows), limits },
            recall: Arc::clone(&shared.recall),
            memory: Arc::clone(&shared.memory),
        });
        let relay = Arc::new(Relay {
            store: Arc::clone(&self.relay.store),
            decider,
            providers,
            replays: Arc::clone(&self.relay.replays),
            queue: Arc::clone(&self.relay.queue),
            budget: self.relay.budget.clone(),
        });
        Arc::new(Self {
            relay,
            intake: self.intake.clone(),
            once: Arc::clone(&self.once),
            tasks: self.tasks.clone(),
            closing: self.closing.clone(),
        })
    }
}
