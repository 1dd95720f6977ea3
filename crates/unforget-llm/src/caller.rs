//! Makes calls until one is answered: retries, a chain of models, limits, breakers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use unforget_core::id::Timestamp;

use crate::breaker::{Breaker, BreakerPolicy, Breakers};
use crate::clock::{Cancel, Clock};
use crate::fault::{Account, Cause, Fault};
use crate::places::Places;
use crate::port::{Answer, Model, Request, Stop, Usage};

/// Parameters of a [`Caller`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPolicy {
    /// Most attempts at one model.
    pub attempts_max: u32,
    /// Longest time of one attempt, so that a hanging model leaves time for the next.
    pub attempt: Duration,
    /// Wait before the first retry; doubles each time, reduced at random by up to half.
    pub wait: Duration,
    /// Longest wait, unless the provider asks for more.
    pub wait_max: Duration,
    /// Most concurrent calls at one provider.
    pub concurrent_max: usize,
    /// Parameters of the breakers.
    pub breaker: BreakerPolicy,
}

impl Default for CallPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 3,
            attempt: Duration::from_mins(2),
            wait: Duration::from_secs(1),
            wait_max: Duration::from_secs(30),
            concurrent_max: 2,
            breaker: BreakerPolicy::default(),
        }
    }
}

/// How a call treats breakers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// It respects them.
    #[default]
    Normal,
    /// A person asked for it, or it is an emergency: it ignores the breakers, and they learn from it (F013).
    Manual,
}

/// A call to make.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The request. Its `within` is the time for all attempts at all models together.
    pub request: Request<'a>,
    /// Index of the first model of the chain to try, at most the last. Used after a bad draft in a successful call.
    pub from: usize,
    /// How the call treats breakers.
    pub urgency: Urgency,
    /// Cancels the call.
    pub cancel: &'a Cancel,
}

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer and the index of its model. Otherwise the last fault: of a sent attempt or, without any, of one that
    /// was not.
    pub result: Result<(Answer, usize), Fault>,
    /// Every attempt, in order, whatever its outcome: the basis of spend and reports (F017).
    pub attempts: Vec<Attempt>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Index of the model in the chain.
    pub model: usize,
    /// The account of the attempt.
    pub account: Account,
    /// Its outcome.
    pub end: Result<(Stop, Usage), Cause>,
    /// Its duration.
    pub took: Duration,
}

impl Attempt {
    /// Whether anything was sent. See [`Cause::was_made`].
    pub const fn was_made(&self) -> bool {
        match &self.end {
            Ok(_) => true,
            Err(cause) => cause.was_made(),
        }
    }
}

/// Why no model of a chain may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// When the first breaker allows a probe; `None` if none opens by itself.
    pub until: Option<Timestamp>,
    /// No model is available to answer.
    pub is_absent: bool,
}

/// A model and its place in the chain.
struct ChainModel<'a> {
    index: usize,
    model: &'a dyn Model,
}

/// Calls a chain of models.
pub struct Caller {
    chain: Vec<Arc<dyn Model>>,
    policy: CallPolicy,
    clock: Arc<dyn Clock>,
    breakers: Mutex<Breakers>,
    places: Places,
}

impl Caller {
    /// A caller of `first`, followed by the models of `rest` in order, each used when the previous ones give no answer.
    pub fn new(
        first: Arc<dyn Model>,
        rest: Vec<Arc<dyn Model>>,
        policy: CallPolicy,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let mut chain = vec![first];
        chain.extend(rest);
        let places = Places::new(policy.concurrent_max);
        Self { chain, policy, clock, breakers: Mutex::default(), places }
    }

    /// This caller with stored breakers.
    #[must_use]
    pub fn with_breakers(self, breakers: Breakers) -> Self {
        *self.lock() = breakers;
        self
    }

    /// The current breakers, for storing and display.
    pub fn breakers(&self) -> Breakers {
        self.lock().clone()
    }

    /// Whether any model of the chain may be called now.
    ///
    /// # Errors
    /// [`Closed`] if a call would end before anything is sent.
    pub fn may_call(&self) -> Result<(), Closed> {
        let (now, breakers) = (self.clock.time(), self.lock());
        let mut closed = Closed { until: None, is_absent: true };
        for model in self.chain.iter().filter(|model| model.is_there()) {
            closed.is_absent = false;
            let breaker = breakers.get(model.account()).copied().unwrap_or_default();
            if breaker.admit(now, &self.policy.breaker).is_some() {
                return Ok(());
            }
            if let Breaker::Open { until, .. } | Breaker::Probing { until, .. } = breaker {
                closed.until = Some(closed.until.map_or(until, |other| other.min(until)));
            }
        }
        Err(closed)
    }

    /// Closes the breaker of an account, whatever opened it.
    pub fn reset(&self, account: &Account) {
        self.lock().remove(account);
    }

    /// Makes a call. It returns within `call.request.within`, apart from the time for waking a thread.
    ///
    /// Only retryable faults are retried, after the longer of our wait and the provider's. A wait that exceeds the
    /// remaining time is not begun. Every other fault, and the last retry, leads to the next model of the chain.
    pub fn call(&self, call: &Call<'_>) -> Outcome {
        let deadline = self.clock.elapsed().saturating_add(call.request.within);
        let from = call.from.min(self.chain.len().saturating_sub(1));
        let mut attempts = Vec::new();
        let mut fault: Option<Fault> = None;
        for (index, model) in self.chain.iter().enumerate().skip(from) {
            match self.call_one(call, &ChainModel { index, model: model.as_ref() }, deadline, &mut attempts) {
                Ok(answer) => return Outcome { result: Ok((answer, index)), attempts },
                Err(new) => {
                    let is_end = matches!(new.cause, Cause::Cancelled) || self.clock.elapsed() >= deadline;
                    if new.cause.was_made() || fault.is_none() {
                        fault = Some(new);
                    }
                    if is_end {
                        break;
                    }
                }
            }
        }
        let none = || Self::fault(self.chain.first().map(AsRef::as_ref), Cause::Timeout);
        Outcome { result: Err(fault.unwrap_or_else(none)), attempts }
    }

    /// The attempts at one model.
    fn call_one(
        &self,
        call: &Call<'_>,
        chosen: &ChainModel<'_>,
        deadline: Duration,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Answer, Fault> {
        let ChainModel { index, model } = *chosen;
        let mut note = |end, took| {
            attempts.push(Attempt { model: index, account: model.account().clone(), end, took });
        };
        let admitted =
            if model.is_there() { self.admit(model.account(), call.urgency) } else { Err(Cause::Absent) };
        let tries_max = match admitted {
            Ok(tries_max) => tries_max,
            Err(cause) => {
                note(Err(cause.clone()), Duration::ZERO);
                return Err(Self::fault(Some(model), cause));
            }
        };
        let mut tried = 0;
        let result = loop {
            let start = self.clock.elapsed();
            let result = self.attempt(call, model, deadline);
            let took = self.clock.elapsed().saturating_sub(start);
            let end = result.as_ref().map(|answer| (answer.stop.clone(), answer.usage));
            note(end.map_err(|fault: &Fault| fault.cause.clone()), took);
            tried += 1;
            let Err(fault) = &result else { break result };
            let wait = self.wait(tried, fault.cause.retry_after());
            let left = deadline.saturating_sub(self.clock.elapsed());
            if !fault.cause.is_retryable() || tried >= tries_max || wait >= left {
                break result;
            }
            self.clock.wait(wait, call.cancel);
            if call.cancel.is_cancelled() {
                break Err(Self::fault(Some(model), Cause::Cancelled));
            }
        };
        self.record(model.account(), result.as_ref().err().map(|fault| &fault.cause));
        result
    }

    /// One attempt, holding a place among the concurrent calls.
    fn attempt(&self, call: &Call<'_>, model: &dyn Model, deadline: Duration) -> Result<Answer, Fault> {
        let left = || deadline.saturating_sub(self.clock.elapsed());
        let cancelled = || Self::fault(Some(model), Cause::Cancelled);
        if call.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let place = self.places.take(&model.account().provider, left(), call.cancel);
        let Some(place) = place else {
            let is_cancelled = call.cancel.is_cancelled();
            return Err(if is_cancelled { cancelled() } else { Self::fault(Some(model), Cause::Busy) });
        };
        let within = left().min(self.policy.attempt);
        if within.is_zero() {
            return Err(Self::fault(Some(model), Cause::Timeout));
        }
        let result = model.call(&Request { within, ..call.request });
        drop(place);
        if call.cancel.is_cancelled() { Err(cancelled()) } else { result }
    }

    /// Number of attempts that the account's breaker allows: one as a probe, or as many as the policy says.
    fn admit(&self, account: &Account, urgency: Urgency) -> Result<u32, Cause> {
        let mut breakers = self.lock();
        let breaker = breakers.get(account).copied().unwrap_or_default();
        let next = breaker.admit(self.clock.time(), &self.policy.breaker);
        let tries_max = match (next, urgency) {
            (Some(next), _) => {
                breakers.insert(account.clone(), next);
                if matches!(next, Breaker::Probing { .. }) { 1 } else { self.policy.attempts_max }
            }
            (None, Urgency::Manual) => 1,
            (None, Urgency::Normal) => {
                return Err(Cause::BreakerOpen { blocked: matches!(breaker, Breaker::Blocked { .. }) });
            }
        };
        Ok(tries_max)
    }

    fn record(&self, account: &Account, cause: Option<&Cause>) {
        let mut breakers = self.lock();
        let breaker = breakers.get(account).copied().unwrap_or_default();
        breakers.insert(account.clone(), breaker.record(cause, self.clock.time(), &self.policy.breaker));
    }

    /// The wait before retry `tried`: doubled each time, chosen at random from its upper half, and never shorter than
    /// the provider's request.
    fn wait(&self, tried: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.policy.wait.saturating_mul(1 << tried.saturating_sub(1).min(16));
        let ours = doubled.min(self.policy.wait_max).mul_f64(0.5 + self.clock.chance().clamp(0.0, 1.0) / 2.0);
        // Other clients were told an equal time; ours must not return together with them.
        asked.map_or(ours, |asked| asked.saturating_add(ours / 4))
    }

    fn fault(model: Option<&dyn Model>, cause: Cause) -> Fault {
        let none = || Account { provider: String::new(), credential: "none".to_owned() };
        let account = Box::new(model.map_or_else(none, |model| model.account().clone()));
        let model = model.map_or_else(String::new, |model| model.name().to_owned());
        Fault { cause, account, model, detail: String::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Breakers> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
