//! How a call touches a lane: one call of a lane after another, each on the lane as it is stored.

use std::sync::{Arc, MutexGuard, PoisonError};

use unforget_core::id::{ConversationId, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_store::Name;
use unforget_wire::Format;

use super::one_call::HostCall;
use super::{Host, HostLane, OVERTAKEN_MAX, OpenLanes};
use crate::EngineError;
use crate::journal::{HostError, LaneKey};

impl Host {
    /// The conversation of a lane. It never changes, so an open lane is not compared with the store.
    pub(super) fn conversation_of(&self, key: &LaneKey, form: Format) -> Result<ConversationId, HostError> {
        let slot = self.lanes().by_key.get(key).map(|slot| Arc::clone(&slot.lane));
        let known = slot.and_then(|slot| Some(slot.lock().ok()?.as_ref()?.journal().conversation()));
        match known {
            Some(known) => Ok(known),
            None => self.with_again(key, form, |lane, _| Ok(lane.journal().conversation())),
        }
    }

    /// Tells a lane in memory something that is stored already. A lane that is not in memory reads it when it is opened.
    pub(super) fn tell_held(&self, key: &LaneKey, tell: impl FnOnce(&mut HostLane)) {
        let slot = self.lanes().by_key.get(key).map(|slot| Arc::clone(&slot.lane));
        if let Some(slot) = slot
            && let Ok(mut slot) = slot.lock()
            && let Some(lane) = slot.as_mut()
        {
            tell(lane);
        }
    }

    pub(super) fn lanes(&self) -> MutexGuard<'_, OpenLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`Host::with`], and again on what is stored now if another process wrote to the lane meanwhile: what the call
    /// stored before is recognised then, as in a client's own retry.
    ///
    /// # Errors
    /// [`unforget_store::StoreError::is_overtaken`] if others were faster [`OVERTAKEN_MAX`] times.
    pub(super) fn with_again<T>(
        &self,
        key: &LaneKey,
        form: Format,
        act: impl Fn(&mut HostLane, Timestamp) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        again(|| self.with(key, form, &act))
    }

    /// Runs a call of a lane, after all earlier calls of the lane. After an error the lane is opened again.
    pub(super) fn with<T>(
        &self,
        key: &LaneKey,
        form: Format,
        act: impl FnOnce(&mut HostLane, Timestamp) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        self.with_names(key, form, &[], act)
    }

    /// [`Host::with_again`] for a call that will ask for these names.
    pub(super) fn with_names_again<T>(
        &self,
        key: &LaneKey,
        form: Format,
        names: &[Name],
        act: impl Fn(&mut HostLane, Timestamp) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        again(|| self.with_names(key, form, names, &act))
    }

    /// Compares two lanes that a call is going to use, in one read. A lane that is not in memory, or that another call uses, is
    /// left out: it is compared when it is used. So is each of them outside a call.
    pub(super) fn compare_ahead(
        &self,
        first: NamedLane<'_>,
        guess: impl FnOnce(&HostLane) -> Option<LaneKey>,
        names: &[Name],
    ) -> Result<(), HostError> {
        let Some(call) = HostCall::current() else { return Ok(()) };
        let slot = self.lanes().slot(first.key);
        let Ok(mut held) = slot.lock() else { return Ok(()) };
        let Some(lane) = held.as_mut().filter(|lane| lane.compared_in != Some(call)) else { return Ok(()) };
        let Some(second) = guess(lane).filter(|second| second != first.key) else { return Ok(()) };
        let slot = self.lanes().by_key.get(&second).map(|slot| Arc::clone(&slot.lane));
        let Some(slot) = slot else { return Ok(()) };
        // Whoever waits for two lanes might wait for somebody who waits for the first of them.
        let Ok(mut other) = slot.try_lock() else { return Ok(()) };
        let Some(second) = other.as_mut() else { return Ok(()) };
        let missing = [lane.missing_names(first.names), second.missing_names(names)];
        let [of_first, of_second] = missing;
        let rows = self.engine.store().lane_rows(&[lane.look(&of_first), second.look(&of_second)])?;
        let mut rows = rows.into_iter();
        for (slot, missing) in [(&mut *held, of_first), (&mut *other, of_second)] {
            let is_current = match (slot.as_mut(), rows.next()) {
                (Some(lane), Some(rows)) => {
                    lane.compared_in = Some(call);
                    lane.is_current(missing, rows)
                }
                _ => false,
            };
            if !is_current && !mutants::is(Bug::StaleLaneKept) {
                *slot = None;
            }
        }
        Ok(())
    }

    /// [`Host::with`] for a call that will ask for these names.
    pub(super) fn with_names<T>(
        &self,
        key: &LaneKey,
        form: Format,
        names: &[Name],
        act: impl FnOnce(&mut HostLane, Timestamp) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let slot = self.lanes().slot(key);
        // After a panic the lane in the slot may be inconsistent: it is dropped.
        let mut slot = slot.lock().unwrap_or_else(|poisoned| {
            let mut slot = poisoned.into_inner();
            *slot = None;
            slot
        });
        let now = (self.clock)();
        // Another process may have written to the lane since.
        let call = HostCall::current();
        let held = match slot.take() {
            Some(lane) if call.is_some() && lane.compared_in == call => Some(lane),
            Some(mut lane) => {
                let missing = lane.missing_names(names);
                let rows = self.engine.store().lane_rows(&[lane.look(&missing)])?.pop();
                let is_current = rows.is_some_and(|rows| lane.is_current(missing, rows));
                (is_current || mutants::is(Bug::StaleLaneKept)).then_some(lane)
            }
            None => None,
        };
        let mut lane = match held {
            Some(lane) => lane,
            None => HostLane::open(&self.engine, key, form, now)?,
        };
        lane.compared_in = call;
        let mut outcome = act(&mut lane, now);
        let is_sound = match &outcome {
            Err(HostError::Engine(error)) => {
                // Refusals that changed nothing.
                matches!(error, EngineError::Irreducible(_) | EngineError::Pin(_) | EngineError::Usage { .. })
            }
            _ => true,
        };
        if is_sound || mutants::is(Bug::LaneKeptAfterError) {
            match lane.keep() {
                Ok(()) => *slot = Some(lane),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }
}

/// A lane, and the names that it will be asked for.
#[derive(Clone, Copy)]
pub(super) struct NamedLane<'a> {
    pub(super) key: &'a LaneKey,
    pub(super) names: &'a [Name],
}

/// Does something again while it is overtaken by other processes, [`OVERTAKEN_MAX`] times at most.
pub(super) fn again<T>(act: impl Fn() -> Result<T, HostError>) -> Result<T, HostError> {
    for _ in 1..OVERTAKEN_MAX {
        match act() {
            Err(HostError::Engine(EngineError::Store(error))) if error.is_overtaken() => {}
            done => return done,
        }
    }
    act()
}
