//! Limits of models, as named by providers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use unforget_core::digest::Digest;
use unforget_core::recover::{Asked, Refused, Told};
use unforget_core::tokens::Tokens;
use unforget_wire::exchange::Call;

use super::api::Api;
use super::received::ReceivedCall;
use super::upstream::Providers;

/// Most models and callers with remembered limits.
const MOST: usize = 4_096;

/// The limits of models, by digest of model, caller and upstream.
pub(super) struct ProviderLimits {
    start: Instant,
    told: Mutex<HashMap<Digest, Told>>,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self { start: Instant::now(), told: Mutex::default() }
    }
}

impl ProviderLimits {
    /// Takes a provider's refusal.
    pub(super) fn refused(&self, name: &Digest, refused: Refused, asked: Asked) {
        self.change(name, |told| told.refused(refused, asked, self.start.elapsed()));
    }

    /// Takes the size, by our ruler, of an answered call.
    pub(super) fn fitted(&self, name: &Digest, ours: Tokens) {
        self.change(name, |told| told.fitted(ours, self.start.elapsed()));
    }

    /// Takes the provider's count of an answered call.
    pub(super) fn took(&self, name: &Digest, input: u64, output: u64) {
        self.change(name, |told| told.took(input, output, self.start.elapsed()));
    }

    /// The known limits of the window and of the input.
    ///
    /// * `output` - the requested answer; 0 if unspecified.
    pub(super) fn of(&self, name: &Digest, output: u64) -> (Option<u64>, Option<u64>) {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.start.elapsed();
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

/// The key of a call's limits: keys and beta features give one model different limits, and one name may mean
/// different models at different providers. `None` if the call names no model, or has no upstream.
pub(super) fn limits_key(providers: &Providers, received: &ReceivedCall, call: &Call<'_>) -> Option<Digest> {
    let model = call.model.as_deref()?;
    let upstream = &providers.upstream(Api::of(received.dialect), Some(model)).ok()?.name;
    let ReceivedCall { caller, betas, .. } = received;
    Some(Digest::of(format!("{upstream}\n{caller}\n{betas}\n{model}").as_bytes()))
}
