//! Limits of models that providers told.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use unforget_core::digest::Digest;
use unforget_core::recover::{Asked, Refused, Told};
use unforget_core::tokens::Tokens;
use unforget_wire::exchange::Call;

use super::Gateway;
use super::ask::{Begun, Received};
use super::upstream::Api;

/// Models of callers of which limits are remembered.
const MOST: usize = 4_096;

/// See the module. By digests of what they hold for.
pub(super) struct Limits {
    begun: Instant,
    told: Mutex<HashMap<Digest, Told>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { begun: Instant::now(), told: Mutex::default() }
    }
}

impl Limits {
    /// Takes what a provider refused.
    pub(super) fn refused(&self, name: &Digest, refused: Refused, asked: Asked) {
        self.change(name, |told| told.refused(refused, asked, self.begun.elapsed()));
    }

    /// Takes what a call weighed that a provider answered, by our ruler.
    pub(super) fn fitted(&self, name: &Digest, ours: Tokens) {
        self.change(name, |told| told.fitted(ours, self.begun.elapsed()));
    }

    /// Takes what a provider took, as it was counted.
    pub(super) fn took(&self, name: &Digest, input: u64, output: u64) {
        self.change(name, |told| told.took(input, output, self.begun.elapsed()));
    }

    /// What was told of the window and of the input.
    ///
    /// * `output` - what the call asks for as an answer; 0 if it does not say.
    pub(super) fn of(&self, name: &Digest, output: u64) -> (Option<u64>, Option<u64>) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.begun.elapsed();
        told.get(name).map_or((None, None), |told| (told.window(now), told.input(output, now)))
    }

    fn change(&self, name: &Digest, change: impl FnOnce(&mut Told)) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST && !told.contains_key(name) {
            told.clear();
        }
        change(told.entry(*name).or_default());
    }
}

impl Gateway {
    /// What the limits of a call's model hold for: keys and betas of one model have different ones, and so may the same name
    /// elsewhere. `None` if the call names no model, or one that goes nowhere.
    pub(super) fn limits_of(&self, received: &Received, call: &Call<'_>) -> Option<Digest> {
        let model = call.model.as_deref()?;
        let upstream = &self.upstream(Api::of(received.dialect), Some(model)).ok()?.name;
        let Received { caller, betas, .. } = received;
        Some(Digest::of(format!("{upstream}\n{caller}\n{betas}\n{model}").as_bytes()))
    }

    /// Takes a limit that a provider told, or that its refusal alone tells.
    pub(super) fn learn(&self, begun: &Begun, refused: Refused) {
        if let Some(name) = &begun.limits {
            let asked = Asked { input: begun.tokens.expected, output: begun.said() };
            self.limits.refused(name, refused, asked);
        }
    }
}
