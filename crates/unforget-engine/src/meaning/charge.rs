//! What calls of a model of vectors may cost, charged before they are made.

use unforget_core::id::{ConversationId, Timestamp};
use unforget_core::tokens::Ruler as _;
use unforget_store::{Spend, SpendHour, SpendKind, StoreError};

use super::{EmbedStep, MeaningModel};
use crate::ruler::ModelRuler;
use crate::{Engine, EngineError};

const HOUR_MS: i64 = 3_600_000;

/// The greatest cost of some calls. A model in this process costs nothing.
pub(super) struct Charge {
    hour: SpendHour,
    caps: Spend,
    price: u64,
    /// `None` for calls that cost nothing.
    most: Option<Spend>,
}

impl Charge {
    /// * `calls` - the greatest number of calls.
    pub(super) fn of(model: &MeaningModel, texts: &[String], calls: u64, now: Timestamp) -> Self {
        let ruler = ModelRuler::Estimate;
        let tokens = texts.iter().map(|text| ruler.count(text).upper).sum();
        let is_free = model.is_local() || texts.is_empty();
        let hour = SpendHour { kind: SpendKind::Meaning, hour: now.0.div_euclid(HOUR_MS) };
        let (price, caps) = (model.config().price, Spend { output: u64::MAX, ..model.config().caps });
        Self { hour, caps, price, most: (!is_free).then(|| cost(calls, tokens, price)) }
    }

    /// Charges the greatest cost to a conversation; false if its limit of the hour is reached.
    ///
    /// A store that cannot be written is charged in memory: what this process asked for, beside what is stored.
    pub(super) fn is_taken(
        &self,
        engine: &Engine,
        model: &MeaningModel,
        id: ConversationId,
    ) -> Result<bool, EngineError> {
        let Some(most) = self.most else { return Ok(true) };
        match engine.store().charge(id, self.hour, most, self.caps) {
            Err(StoreError::ReadOnly { .. } | StoreError::OutOfScope { .. }) => {
                let stored = engine.store().spent(id, self.hour)?;
                Ok(model.charge_in_memory(self.hour.hour, most, self.caps.less(stored)))
            }
            charged => Ok(charged?),
        }
    }

    /// Gives back what the calls did not take.
    ///
    /// * `calls` - the number of calls that were made.
    /// * `tokens` - by the model's own count, if it counts.
    pub(super) fn settle(
        &self,
        engine: &Engine,
        id: ConversationId,
        calls: u64,
        tokens: Option<u64>,
    ) -> Result<(), EngineError> {
        let Some(most) = self.most else { return Ok(()) };
        let taken = cost(calls, tokens.unwrap_or(most.input), self.price);
        match engine.store().refund(id, self.hour, most.less(taken)) {
            // What is counted in memory alone stays at the greatest cost.
            Err(StoreError::ReadOnly { .. } | StoreError::OutOfScope { .. }) => Ok(()),
            refunded => Ok(refunded?),
        }
    }

    pub(super) const fn spent_up(&self) -> EmbedStep {
        EmbedStep::SpentUp { until: Timestamp((self.hour.hour + 1).saturating_mul(HOUR_MS)) }
    }
}

fn cost(calls: u64, tokens: u64, price: u64) -> Spend {
    Spend { calls, input: tokens, output: 0, micros: tokens.saturating_mul(price).div_ceil(1_000_000) }
}
