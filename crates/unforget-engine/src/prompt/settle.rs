//! Whether the context breaks before the next prompt, and carrying that out.

use unforget_core::compact::{self, Break, Cache, Moment, Pressure, Sizes, Step};
use unforget_core::tokens::Tokens;

use super::Session;
use crate::error::EngineError;

impl Session {
    /// Brings the context up to date without making a prompt: what [`Session::prompt`] does first.
    pub fn settle(&mut self) -> Result<(), EngineError> {
        self.prepare();
        if self.shape.dialect.binds_reasoning()
            && let Some(plan) = compact::plan_over(&self.context, self.as_of, &self.sizes)
        {
            self.carry_out(plan)?;
        }
        let mut is_first = true;
        // A plan estimates what it has not rendered, so the state after it may still be too full. Every round
        // covers more or sends less, so this ends, and settling again changes nothing.
        loop {
            let plan = match self.moment()?.step() {
                Step::Keep => return Ok(()),
                Step::Prepare => return self.make_ahead(),
                Step::Refresh => Some(compact::plan_refresh(&self.context)),
                Step::Break => self.plan_break(std::mem::take(&mut is_first)),
            };
            match plan {
                Some(plan) => self.carry_out(plan)?,
                None => return Ok(()),
            }
        }
    }

    /// The next break. What lines in place of worthless results will save is a guess that is made once: where it leads
    /// to nothing, what stands there counts.
    fn plan_break(&self, is_first: bool) -> Option<Break> {
        let guide = self.guide.as_ref().map_or_else(Tokens::default, |piece| piece.tokens);
        let beside = self.headline_tokens() + self.shape.policy.ledger + self.host_tokens();
        let fixed = self.fixed() + self.frame_room() + guide + Tokens::exact(beside);
        let (pressure, policy) = (self.pressure(), self.beside_host(&self.scaled_policy()));
        let plan = |sizes: &[Sizes]| compact::plan_break(&self.context, pressure, fixed, sizes, &policy);
        let guessed = is_first.then(|| plan(&self.planned_sizes())).flatten();
        guessed.or_else(|| plan(&self.sizes))
    }

    fn moment(&self) -> Result<Moment, EngineError> {
        let (pressure, cache) = (self.pressure(), self.cache());
        let is_near = compact::nears(self.weight(), &self.shape.policy);
        // Only a cold cache makes it worth looking.
        let is_better_prepared = cache == Cache::Cold && self.is_better_prepared()?;
        Ok(Moment { pressure, is_near, cache, is_better_prepared })
    }

    /// Compacts everything that is old enough, whatever the pressure, if the prompt gets smaller by it: summaries of
    /// short messages may be longer than those.
    ///
    /// Returns whether anything changed.
    pub fn compact(&mut self) -> Result<bool, EngineError> {
        self.prepare();
        match compact::plan_all(&self.context, &self.sizes, &self.beside_host(&self.shape.policy)) {
            Some(plan) => self.carry_out_if_smaller(plan),
            None => Ok(false),
        }
    }

    /// How full the prompt is.
    pub fn pressure(&self) -> Pressure {
        let weight = self.weight();
        if weight.upper > self.room { Pressure::Hard } else { compact::pressure(weight, &self.shape.policy) }
    }

    /// Time from the newest answer to the newest entry: the times are the history's, so that a session that is
    /// opened again breaks where this one did. Clocks of hosts go back; then no time passed.
    pub(super) fn idle_ms(&self) -> Option<u64> {
        let (answered, newest) = self.times;
        Some(u64::try_from(newest?.0.saturating_sub(answered?.0)).unwrap_or(0))
    }

    /// What the provider's cache should have of the prompt before.
    pub(super) fn cache(&self) -> Cache {
        Cache::after(self.idle_ms(), self.shape.policy.cache_ttl_ms)
    }
}
