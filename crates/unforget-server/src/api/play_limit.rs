//! How long a request may play a history.

use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};
use unforget_core::id::ConversationKey;
use unforget_engine::EngineError;

use super::problem::Problem;

/// Longest time that a request plays a history.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends the playing of a history when its client has gone, when it takes too long, and when the daemon ends.
pub(super) struct PlayLimit {
    gone: CancellationToken,
    ending: CancellationToken,
    until: Instant,
}

impl PlayLimit {
    /// * `ending` - cancelled when the daemon ends.
    pub(super) fn new(ending: &CancellationToken) -> Self {
        Self { gone: CancellationToken::new(), ending: ending.clone(), until: Instant::now() + PATIENCE }
    }

    /// Stands for the client: without it the playing ends.
    pub(super) fn client(&self) -> DropGuard {
        self.gone.clone().drop_guard()
    }

    /// Whether to play on.
    pub(super) fn goes_on(&self) -> bool {
        !self.gone.is_cancelled() && !self.ending.is_cancelled() && Instant::now() < self.until
    }

    /// Why a history was not played to its end, or another error of the engine.
    pub(super) fn problem(&self, error: EngineError, key: &ConversationKey) -> Problem {
        match error {
            EngineError::Stopped if Instant::now() >= self.until => {
                let what = format!("{key} is not played to its end within {} seconds", PATIENCE.as_secs());
                let next = "name a smaller window, or run unforget prompt CONVERSATION --window TOKENS, which takes its time";
                Problem::new(503, "playing", what, next)
            }
            other => other.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_with_its_client_its_time_and_the_daemon() {
        let key = ConversationKey("pi:1".to_owned());
        let ending = CancellationToken::new();
        let limit = PlayLimit::new(&ending);
        let client = limit.client();
        assert!(limit.goes_on());
        drop(client);
        assert!(!limit.goes_on(), "the client went away");

        let late = PlayLimit { until: Instant::now(), ..PlayLimit::new(&ending) };
        assert!(!late.goes_on(), "too long");
        let told = format!("{:?}", late.problem(EngineError::Stopped, &key));
        assert!(told.contains("within 30 seconds") && told.contains("smaller window"), "{told}");

        let limit = PlayLimit::new(&ending);
        ending.cancel();
        assert!(!limit.goes_on(), "the daemon ends");
        let told = format!("{:?}", limit.problem(EngineError::Stopped, &key));
        assert!(told.contains("503") && told.contains("send the request again"), "{told}");
    }
}
