//! Decides when an account may not be called: pure functions on a storable value.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use unforget_core::id::Timestamp;

use crate::fault::{Account, Cause};

/// The breakers of all accounts called so far.
pub type Breakers = BTreeMap<Account, Breaker>;

/// Whether an account may be called.
///
/// Its text form (`Display`, `FromStr`) is the stored one: `closed 0`, `open UNTIL_MS TIMES`, `probing UNTIL_MS TIMES`,
/// `blocked SINCE_MS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    /// The account may be called.
    Closed {
        /// Number of consecutive failures.
        failures: u32,
    },
    /// The account may not be called for some time.
    Open {
        /// The time from which one call may probe it.
        until: Timestamp,
        /// Number of consecutive openings; each lasts longer than the previous one.
        times: u32,
    },
    /// One call is probing the account.
    Probing {
        /// The time at which the probe counts as lost, and another may start.
        until: Timestamp,
        /// Number of consecutive openings before.
        times: u32,
    },
    /// The account may not be called until its credential changes, which makes another account, or until a person asks
    /// for it: the credential was refused.
    Blocked {
        /// Time of the refusal.
        since: Timestamp,
    },
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// Parameters of breakers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Number of consecutive failed calls that open a breaker.
    pub failures: u32,
    /// Duration of the first opening; doubles each time.
    pub open: Duration,
    /// Longest opening.
    pub open_max: Duration,
    /// Time after which a probe counts as lost.
    pub probe: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            failures: 3,
            open: Duration::from_mins(1),
            open_max: Duration::from_hours(1),
            probe: Duration::from_mins(5),
        }
    }
}

impl Breaker {
    /// The state with one more call under way, or `None` if the call may not be made.
    ///
    /// If the time of day moved back by more than the longest opening, the breaker allows a probe (F013).
    #[must_use]
    pub fn admit(self, now: Timestamp, policy: &BreakerPolicy) -> Option<Self> {
        match self {
            Self::Closed { .. } => Some(self),
            Self::Open { until, times } | Self::Probing { until, times } => {
                let longest = policy.open_max.max(policy.probe);
                let is_over = now >= until || until > after(now, longest);
                is_over.then_some(Self::Probing { until: after(now, policy.probe), times })
            }
            Self::Blocked { .. } => None,
        }
    }

    /// The state after the end of a call; `None` means that it was answered.
    ///
    /// Causes that say nothing about the account (our own cancellation) leave the state, but end a probe: the next call
    /// may be one. Causes that prove that the account works (a request that is too long, or not allowed) close the
    /// breaker.
    #[must_use]
    pub fn record(self, cause: Option<&Cause>, now: Timestamp, policy: &BreakerPolicy) -> Self {
        let (failures, times) = match self {
            Self::Closed { failures } => (failures, 0),
            Self::Open { times, .. } | Self::Probing { times, .. } => (policy.failures, times),
            Self::Blocked { .. } => (policy.failures, 0),
        };
        let Some(cause) = cause else { return Self::default() };
        match cause {
            Cause::Auth => Self::Blocked { since: now },
            Cause::Payment => Self::Open { until: after(now, policy.open_max), times: times + 1 },
            Cause::TooLong { .. }
            | Cause::OutputTooLong { .. }
            | Cause::NotFound
            | Cause::Policy
            | Cause::Invalid => Self::default(),
            Cause::Cancelled | Cause::BreakerOpen { .. } | Cause::Busy | Cause::Absent => match self {
                Self::Probing { times, .. } => Self::Open { until: now, times },
                other => other,
            },
            _ if matches!(self, Self::Blocked { .. }) => self,
            failure => {
                let failures = failures.saturating_add(1);
                let asked = failure.retry_after().unwrap_or_default().min(policy.open_max);
                if failures < policy.failures && asked <= policy.open {
                    return Self::Closed { failures };
                }
                let doubled = policy.open.saturating_mul(1 << times.min(16));
                let time = doubled.max(asked).min(policy.open_max);
                Self::Open { until: after(now, time), times: times.saturating_add(1) }
            }
        }
    }
}

fn after(now: Timestamp, time: Duration) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}

impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { failures } => write!(f, "closed {failures}"),
            Self::Open { until, times } => write!(f, "open {} {times}", until.0),
            Self::Probing { until, times } => write!(f, "probing {} {times}", until.0),
            Self::Blocked { since } => write!(f, "blocked {}", since.0),
        }
    }
}

/// The stored text of a breaker is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored breaker is not understood")]
pub struct BreakerTextError;

impl FromStr for Breaker {
    type Err = BreakerTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        fn number<T: FromStr>(word: Option<&str>) -> Result<T, BreakerTextError> {
            word.and_then(|word| word.parse().ok()).ok_or(BreakerTextError)
        }
        let mut words = text.split(' ');
        let state = match words.next() {
            Some("closed") => Self::Closed { failures: number(words.next())? },
            Some("open") => {
                Self::Open { until: Timestamp(number(words.next())?), times: number(words.next())? }
            }
            Some("probing") => {
                Self::Probing { until: Timestamp(number(words.next())?), times: number(words.next())? }
            }
            Some("blocked") => Self::Blocked { since: Timestamp(number(words.next())?) },
            _ => return Err(BreakerTextError),
        };
        if words.next().is_some() { Err(BreakerTextError) } else { Ok(state) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn at(seconds: i64) -> Timestamp {
        Timestamp(NOW.0 + seconds * 1000)
    }

    #[test]
    fn f013_f018_record_table() {
        let policy = BreakerPolicy::default();
        let server = Cause::Server { retry_after: None };
        let limited = |seconds| Cause::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        let closed = |failures| Breaker::Closed { failures };
        let open = |seconds, times| Breaker::Open { until: at(seconds), times };
        let probing = |times| Breaker::Probing { until: at(300), times };
        let blocked = Breaker::Blocked { since: at(-9) };
        let table = [
            (closed(2), None, closed(0), "an answer closes"),
            (closed(0), Some(server.clone()), closed(1), "first failure"),
            (closed(2), Some(server.clone()), open(60, 1), "third failure"),
            (probing(1), Some(server.clone()), open(120, 2), "twice as long"),
            (probing(40), Some(server.clone()), open(3600, 41), "the longest time"),
            (probing(3), None, closed(0), "the try worked"),
            (probing(3), Some(Cause::Cancelled), open(0, 3), "the try ended without a result"),
            (closed(0), Some(limited(5)), closed(1), "a short wait is a failure like others"),
            (closed(0), Some(limited(600)), open(600, 1), "a long wait is heeded at once"),
            (closed(0), Some(limited(86_400)), open(3600, 1), "up to the longest time"),
            (closed(0), Some(Cause::Auth), Breaker::Blocked { since: NOW }, "a refused key blocks at once"),
            (closed(0), Some(Cause::Payment), open(3600, 1), "a bill takes longer than a minute"),
            (closed(2), Some(Cause::TooLong { limit: None, sent: None }), closed(0), "the account works"),
            (closed(2), Some(Cause::Cancelled), closed(2), "says nothing"),
            (blocked, Some(server), blocked, "a failure does not unblock"),
            (blocked, None, closed(0), "an answer unblocks"),
        ];
        for (state, cause, want, why) in table {
            assert_eq!(state.record(cause.as_ref(), NOW, &policy), want, "{why}");
        }
    }

    #[test]
    fn f013_admit_table() {
        let policy = BreakerPolicy::default();
        let try_now = Some(Breaker::Probing { until: at(300), times: 1 });
        let table = [
            (Breaker::default(), Some(Breaker::default()), "closed"),
            (Breaker::Open { until: at(1), times: 1 }, None, "open"),
            (Breaker::Open { until: at(0), times: 1 }, try_now, "over"),
            (Breaker::Open { until: at(86_400), times: 1 }, try_now, "the clock went back"),
            (Breaker::Probing { until: at(1), times: 1 }, None, "another call is trying"),
            (Breaker::Probing { until: at(-1), times: 1 }, try_now, "whose try is lost"),
            (Breaker::Blocked { since: at(-999_999) }, None, "blocked for good"),
        ];
        for (state, want, why) in table {
            assert_eq!(state.admit(NOW, &policy), want, "{why}");
        }
    }

    fn any_breaker() -> impl Strategy<Value = Breaker> {
        (0..4, any::<i64>(), any::<u32>()).prop_map(|(kind, time, count)| match kind {
            0 => Breaker::Closed { failures: count },
            1 => Breaker::Open { until: Timestamp(time), times: count },
            2 => Breaker::Probing { until: Timestamp(time), times: count },
            _ => Breaker::Blocked { since: Timestamp(time) },
        })
    }

    proptest! {
        #[test]
        fn stored_breakers_come_back(state in any_breaker()) {
            prop_assert_eq!(state.to_string().parse::<Breaker>().unwrap(), state);
        }

        #[test]
        fn other_text_is_refused(text in "[a-z0-9 -]{0,20}") {
            if let Ok(state) = text.parse::<Breaker>() {
                prop_assert_eq!(state.to_string().parse::<Breaker>().unwrap(), state);
            }
        }

        /// After any failure, an account that is not blocked may be probed again within the longest opening.
        #[test]
        fn f013_no_breaker_wedges(state in any_breaker(), now in 0i64..4_000_000_000_000, auth in any::<bool>()) {
            let policy = BreakerPolicy::default();
            let cause = if auth { Cause::Auth } else { Cause::Broken };
            let after = state.record(Some(&cause), Timestamp(now), &policy);
            let later = Timestamp(now + 3_600_000);
            let is_blocked = matches!(after, Breaker::Blocked { .. });
            prop_assert_eq!(after.admit(later, &policy).is_none(), is_blocked);
        }
    }
}
