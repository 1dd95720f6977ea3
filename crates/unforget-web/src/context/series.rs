//! The calls of a conversation, as they were sent or played for a window.

use std::sync::Arc;

use unforget_core::id::ConversationId;
use unforget_engine::calls::{CallHistory, CallPoint};
use unforget_engine::prompt::PlayedCalls;
use unforget_engine::{Engine, EngineError};
use unforget_server::price::{PriceList, dollars};

use crate::played::WorkingPage;
use crate::reply::Trouble;
use crate::visit::{Found, Visit};

/// The calls of a conversation, with what their model costs.
pub struct Series {
    /// The calls.
    pub calls: CallHistory,
    /// Whether there are such prompts.
    pub has_sent: bool,
    /// The model whose prices hold for these calls, if one is known.
    pub model: Option<String>,
}

/// The model that a visit asks for, else that of the newest recorded call, else that of the settings.
fn model_of(visit: &Visit, found: &Found) -> Result<Option<String>, Trouble> {
    let asked = visit.query.get("model").map(str::to_owned);
    let recorded = || visit.engine.newest_model(&found.resolved.conversation);
    let model = asked.map_or_else(recorded, |model| Ok(Some(model)))?;
    Ok(model.or_else(|| visit.site.settings.model.clone()))
}

/// What a break cost beyond a call that all came from the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BreakCost {
    /// Dollars.
    Dollars(f64),
    /// Nothing: the provider's cache had expired, so all was billed anyway.
    Expired,
    /// The model has no price, or is not known.
    NoPrice,
}

impl BreakCost {
    /// In words, for a table.
    pub fn words(self) -> String {
        match self {
            Self::Dollars(sum) => dollars(sum),
            Self::Expired => "$0.00".to_owned(),
            Self::NoPrice => "no price".to_owned(),
        }
    }
}

/// The calls, or how far their playing is.
pub(crate) enum SeriesRead {
    Done(Series),
    Working(WorkingPage),
}

impl Series {
    /// The calls that a visit asks for: those that were sent, unless it wants them played.
    pub(crate) fn read(visit: &Visit, found: &Found) -> Result<SeriesRead, Trouble> {
        let sent = Self::sent(&visit.engine, found.of.conversation)?;
        let at = visit.query.call().or_else(|| visit.query.get("to")).unwrap_or_default();
        let source = visit.query.get("source");
        let is_wanted =
            source != Some("played") && (source == Some("sent") || at.starts_with('r') || at.is_empty());
        let has_sent = sent.is_some();
        if let Some(sent) = sent.filter(|_| is_wanted) {
            return Ok(SeriesRead::Done(sent.with_model(model_of(visit, found)?)));
        }
        let played = match visit.played(found)? {
            Ok(played) => played,
            Err(page) => return Ok(SeriesRead::Working(page)),
        };
        Ok(SeriesRead::Done(Self { has_sent, model: model_of(visit, found)?, ..Self::played(played) }))
    }

    /// The newest prompts of a conversation that were sent; `None` if there are none.
    ///
    /// # Errors
    /// Those of [`Engine::recipes`].
    pub fn sent(engine: &Engine, id: ConversationId) -> Result<Option<Self>, EngineError> {
        let calls = CallHistory::sent(engine, id)?;
        Ok(calls.map(|calls| Self { calls, has_sent: true, model: None }))
    }

    /// The calls of a played session.
    pub fn played(played: Arc<PlayedCalls>) -> Self {
        Self { calls: CallHistory::played(played), has_sent: false, model: None }
    }

    /// Index of the call that a visit chose; the last one by default, and the one that first showed the chosen entry.
    pub(crate) fn at(&self, visit: &Visit) -> Result<usize, Trouble> {
        let last = self.calls.points.len().saturating_sub(1);
        let Some(label) = visit.query.call() else { return Ok(last) };
        let found = self.calls.find(label);
        let what = || format!("there is no call {label}");
        found.ok_or_else(|| {
            Trouble::new(
                404,
                what(),
                format!("calls go from {} to {}", self.calls.label(0), self.calls.label(last)),
            )
        })
    }

    /// These calls at the prices of a model.
    #[must_use]
    pub fn with_model(self, model: Option<String>) -> Self {
        Self { model, ..self }
    }

    /// What a break cost; `None` for a call that is none.
    pub fn cost(&self, point: &CallPoint) -> Option<BreakCost> {
        let broken = point.broken.filter(|_| point.is_break())?;
        if point.is_cold {
            return Some(BreakCost::Expired);
        }
        let model = self.model.as_deref();
        let sum = model.and_then(|model| PriceList::current().cost_again(model, broken.rebilled));
        Some(sum.map_or(BreakCost::NoPrice, BreakCost::Dollars))
    }

    /// Dollars of all breaks; `None` if the model has no price.
    pub fn cost_of_breaks(&self) -> Option<f64> {
        let model = self.model.as_deref()?;
        PriceList::current().cost_again(model, 0)?;
        let cost = |point: &CallPoint| match self.cost(point) {
            Some(BreakCost::Dollars(sum)) => sum,
            _ => 0.0,
        };
        Some(self.calls.points.iter().map(cost).sum())
    }
}
