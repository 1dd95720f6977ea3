//! The timing of a break: now or later.
//!
//! A break costs the cached part of the prompt behind the first change. On a cold cache the whole prompt is billed anew
//! anyway, so a break that will be due soon costs nothing now. While the cache is warm, a break waits until the prompt
//! is full.

use super::Pressure;

/// Whether a provider still caches the beginning of the last prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The last call is recent enough.
    Warm,
    /// The last call is too long ago.
    Cold,
    /// The time of the last call is unknown.
    Unknown,
}

impl Cache {
    /// The expected state of the cache at this time after the last call.
    ///
    /// * `idle_ms` - since the last call; `None` if a time is unknown, or there was no call.
    /// * `ttl_ms` - how long the provider caches a prompt.
    pub const fn after(idle_ms: Option<u64>, ttl_ms: u64) -> Self {
        match idle_ms {
            Some(idle) if idle > ttl_ms => Self::Cold,
            Some(_) => Self::Warm,
            None => Self::Unknown,
        }
    }

    /// The number of these tokens that should still be cached, all from the beginning of the last prompt.
    pub const fn holds(self, reused: u64) -> u64 {
        if matches!(self, Self::Cold) { 0 } else { reused }
    }
}

/// The known facts before a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakTiming {
    /// How full the prompt is.
    pub pressure: Pressure,
    /// Whether the next break is near. See [`super::nears`].
    pub is_near: bool,
    /// The state of the provider's cache, which decides the cost of a break.
    pub cache: Cache,
    /// Whether better summaries are prepared than some of the shown ones.
    pub is_better_prepared: bool,
}

/// What to do about the context before a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakStep {
    /// Nothing.
    Keep,
    /// Prepare a summary for the next break.
    Prepare,
    /// Show the prepared summaries instead of the shown ones; cover nothing new.
    Refresh,
    /// Break the context.
    Break,
}

impl BreakTiming {
    /// Decides the step. A full prompt always breaks. A prompt that is filling up breaks when the break costs nothing,
    /// and better summaries are shown when that costs nothing.
    ///
    /// Source: ADR-0007; field.md A8, §5.2.
    pub const fn step(&self) -> BreakStep {
        match (self.pressure, self.cache) {
            (Pressure::Hard, _) | (Pressure::Soft, Cache::Cold) => BreakStep::Break,
            (Pressure::Calm, Cache::Cold) if self.is_better_prepared => BreakStep::Refresh,
            (Pressure::Soft, Cache::Warm | Cache::Unknown) => BreakStep::Prepare,
            (Pressure::Calm, _) if self.is_near => BreakStep::Prepare,
            (Pressure::Calm, _) => BreakStep::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_table() {
        let table = [
            (Some(0), Cache::Warm, "a tool that answers at once"),
            (Some(300_000), Cache::Warm, "at its last moment"),
            (Some(300_001), Cache::Cold, "a person who was away"),
            (None, Cache::Unknown, "a host without times"),
        ];
        for (idle, want, why) in table {
            assert_eq!(Cache::after(idle, 300_000), want, "{why}");
        }
        assert_eq!([Cache::Warm, Cache::Unknown, Cache::Cold].map(|cache| cache.holds(9)), [9, 9, 0]);
    }

    #[test]
    fn step_table() {
        use {BreakStep::*, Cache::*, Pressure::*};
        let table = [
            // pressure, near, cache, better, step, why
            (Hard, true, Warm, false, Break, "it would not fit soon"),
            (Hard, true, Cold, true, Break, "what is prepared is shown by the break"),
            (Soft, true, Cold, false, Break, "all is billed again anyway"),
            (Soft, true, Warm, true, Prepare, "a warm cache is worth waiting"),
            (Soft, true, Unknown, false, Prepare, "a fact that nobody told is not guessed"),
            (Calm, false, Cold, true, Refresh, "better words for the same price"),
            (Calm, true, Cold, true, Refresh, "what is near can wait for the next prompt"),
            (Calm, false, Cold, false, Keep, "nothing to gain"),
            (Calm, false, Warm, true, Keep, "better words are not worth a break"),
            (Calm, false, Unknown, true, Keep, "nor on a guess"),
            (Calm, true, Warm, false, Prepare, "the break may come with the next prompt"),
            (Calm, true, Cold, false, Prepare, "also where this one came late"),
        ];
        for (pressure, is_near, cache, is_better_prepared, want, why) in table {
            assert_eq!(BreakTiming { pressure, is_near, cache, is_better_prepared }.step(), want, "{why}");
        }
    }
}
