//! The calls of a conversation, as they were sent or played for a window.

use std::sync::Arc;

use unforget_core::admit::{Certificate, Sections};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_engine::prompt::{Broken, Cause, Part, PlayedCall, PlayedCalls, PlayedPrompt, Recipe};
use unforget_engine::{Engine, EngineError};
use unforget_server::price::{PriceList, dollars};

use super::pretty::messages_of;
use crate::played::{Playing, WorkingPage};
use crate::reply::Trouble;
use crate::visit::{Found, Visit};

/// A call of a session, in figures.
#[derive(Clone, Debug)]
pub struct CallPoint {
    /// Its name: `12`, or `r12` for one that was sent.
    pub label: String,
    /// Its number, or that of its recipe.
    pub number: u64,
    /// Its turn; 0 for a sent prompt.
    pub turn: u64,
    /// When it was made.
    pub time: Option<Timestamp>,
    /// The entry that answers it.
    pub answer: Option<Seq>,
    /// The newest entry before it.
    pub head: Option<Seq>,
    /// Expected tokens of the prompt; 0 for a refused one.
    pub total: u64,
    /// The tokens by class, where they are known without composing the prompt again.
    pub sections: Option<Sections>,
    /// Expected tokens of everything, if it were sent.
    pub everything: Option<u64>,
    /// Where it does not begin with the prompt before.
    pub broken: Option<Broken>,
    /// Expected tokens from the provider's cache; 0 for a sent prompt.
    pub cached: u64,
    /// Whether the cache had expired.
    pub is_cold: bool,
    /// Tokens that the smallest request needs, where none fits.
    pub refused: Option<u64>,
    /// Of a sent prompt: its own window.
    pub window: Option<u64>,
}

impl CallPoint {
    /// Whether the beginning of the prompt before was lost.
    pub fn is_break(&self) -> bool {
        self.broken.is_some_and(|broken| broken.cause != Cause::First)
    }
}

impl From<&PlayedCall> for CallPoint {
    fn from(call: &PlayedCall) -> Self {
        let figures = call.prompt.as_ref().ok();
        Self {
            label: call.number.to_string(),
            number: call.number,
            turn: call.turn,
            time: call.time,
            answer: call.answer,
            head: call.head,
            total: figures.map_or(0, |figures| figures.total.expected),
            sections: figures.map(|figures| figures.sections),
            everything: Some(call.everything),
            broken: figures.and_then(|figures| figures.broken),
            cached: figures.map_or(0, |figures| figures.cached),
            is_cold: figures.is_some_and(|figures| figures.is_cold),
            refused: call.prompt.as_ref().err().copied(),
            window: None,
        }
    }
}

fn sent(number: u64, recipe: &Recipe) -> CallPoint {
    CallPoint {
        label: format!("r{number}"),
        number,
        turn: 0,
        time: Some(recipe.time),
        answer: None,
        head: recipe.head,
        total: recipe.tokens.expected,
        sections: None,
        everything: None,
        broken: recipe.broken,
        cached: 0,
        is_cold: false,
        refused: None,
        window: Some(recipe.window_now),
    }
}

/// The calls of a conversation, as they were sent or played for a window.
pub struct Series {
    /// The calls, oldest first.
    pub points: Vec<CallPoint>,
    /// The window in tokens; of sent prompts, the largest.
    pub window: u64,
    /// Tokens for input.
    pub budget: u64,
    /// Whether they are prompts that were sent.
    pub is_sent: bool,
    /// Whether there are such prompts.
    pub has_sent: bool,
    /// The model whose prices hold for these calls, if one is known.
    pub model: Option<String>,
    played: Option<Arc<PlayedCalls>>,
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

/// A call in full.
pub struct ShownCall {
    /// The request: its body as rendered, or a sent prompt's messages as a list.
    pub body: String,
    /// Its instructions.
    pub system: Vec<String>,
    /// Its messages, as JSON.
    pub messages: Vec<String>,
    /// All its words, without reasoning.
    pub words: String,
    /// Its certificate.
    pub certificate: Certificate,
    /// Its entries, in order, with the form of each.
    pub parts: Vec<Part>,
    /// Of a sent prompt: whether these are the bytes that were sent.
    pub is_same: Option<bool>,
    /// Tokens of the instructions and tools that the client sent beside a sent prompt, with what stands before the first answer. They
    /// are not kept.
    pub beside: u64,
}

impl ShownCall {
    /// A prompt that was sent, rebuilt from its recipe.
    ///
    /// * `number` - of the recipe.
    ///
    /// # Errors
    /// Those of [`Engine::rebuild`].
    pub fn sent(engine: &Engine, id: ConversationId, number: u64) -> Result<Self, EngineError> {
        let rebuilt = engine.rebuild(id, number)?;
        let (_, parts) = engine.parts_of(id, number)?;
        let words = rebuilt.messages.iter().flat_map(|message| words_of(message)).collect::<Vec<_>>();
        Ok(Self {
            body: format!("[{}]", rebuilt.messages.join(",\n")),
            system: rebuilt.system,
            messages: rebuilt.messages,
            words: words.join("\n"),
            certificate: rebuilt.certificate,
            parts,
            is_same: Some(rebuilt.is_same),
            beside: rebuilt.recipe.beside,
        })
    }

    /// A call that was played.
    pub fn played(prompt: PlayedPrompt) -> Self {
        let body = prompt.render();
        Self {
            messages: messages_of(&body),
            body,
            system: prompt.admitted.request().system.clone(),
            words: prompt.admitted.request().words(),
            certificate: prompt.admitted.certificate().clone(),
            parts: prompt.parts,
            is_same: None,
            beside: 0,
        }
    }
}

impl Series {
    /// The calls that a visit asks for: those that were sent, unless it wants them played.
    pub(crate) fn read(visit: &Visit, found: &Found) -> Result<SeriesRead, Trouble> {
        let sent = Self::sent(&visit.engine, found.of.conversation)?;
        let at = visit.query.get("at").or_else(|| visit.query.get("to")).unwrap_or_default();
        let source = visit.query.get("source");
        let is_wanted =
            source != Some("played") && (source == Some("sent") || at.starts_with('r') || at.is_empty());
        let has_sent = sent.is_some();
        if let Some(sent) = sent.filter(|_| is_wanted) {
            return Ok(SeriesRead::Done(sent.with_model(model_of(visit, found)?)));
        }
        let played = match visit.played(found)? {
            Playing::Done(played) => played,
            Playing::Working(page) => return Ok(SeriesRead::Working(page)),
        };
        Ok(SeriesRead::Done(Self { has_sent, model: model_of(visit, found)?, ..Self::played(played) }))
    }

    /// The newest prompts of a conversation that were sent; `None` if there are none.
    ///
    /// # Errors
    /// Those of [`Engine::recipes`].
    pub fn sent(engine: &Engine, id: ConversationId) -> Result<Option<Self>, EngineError> {
        let recipes = engine.recipes(id)?;
        let Some(window) = recipes.iter().map(|(_, recipe)| recipe.window_now).max() else { return Ok(None) };
        let points = recipes.iter().map(|(number, recipe)| sent(*number, recipe)).collect();
        Ok(Some(Self {
            points,
            window,
            budget: window,
            is_sent: true,
            has_sent: true,
            model: None,
            played: None,
        }))
    }

    /// The calls of a played session.
    pub fn played(played: Arc<PlayedCalls>) -> Self {
        let policy = played.shape().policy;
        Self {
            points: played.calls().iter().map(CallPoint::from).collect(),
            window: policy.window,
            budget: policy.budget(),
            is_sent: false,
            has_sent: false,
            model: None,
            played: Some(played),
        }
    }

    /// Index of the call that a visit chose; the last one by default, and the one that first showed the chosen entry.
    pub(crate) fn at(&self, visit: &Visit) -> Result<usize, Trouble> {
        let last = self.points.len().saturating_sub(1);
        let Some(label) = visit.query.get("at") else { return Ok(last) };
        let found = self.find(label);
        let what = || format!("there is no call {label}");
        found.ok_or_else(|| {
            Trouble::new(404, what(), format!("calls go from {} to {}", self.label(0), self.label(last)))
        })
    }

    /// Index of the call with this label.
    pub(crate) fn find(&self, label: &str) -> Option<usize> {
        self.points.iter().position(|point| point.label == label)
    }

    fn label(&self, at: usize) -> &str {
        self.points.get(at).map_or("", |point| &point.label)
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
        Some(self.points.iter().map(cost).sum())
    }

    /// Tokens that a call has for input.
    pub fn room(&self, point: &CallPoint) -> u64 {
        point.window.unwrap_or(self.budget)
    }

    /// The engine that knows the summaries of these prompts.
    ///
    /// * `stored` - the engine of the store.
    pub fn engine<'a>(&'a self, stored: &'a Engine) -> &'a Engine {
        self.played.as_ref().map_or(stored, |played| played.engine())
    }

    /// A call in full; `None` if none of its requests fits.
    ///
    /// * `engine`, `id` - where the conversation is stored.
    ///
    /// # Errors
    /// Those of [`Engine::rebuild`].
    pub fn call(
        &self,
        engine: &Engine,
        id: ConversationId,
        point: &CallPoint,
    ) -> Result<Option<ShownCall>, EngineError> {
        match &self.played {
            None => ShownCall::sent(engine, id, point.number).map(Some),
            Some(played) => Ok(played.prompt(point.number)?.map(ShownCall::played)),
        }
    }
}

fn words_of(message: &str) -> Vec<String> {
    let segments = super::pretty::segments(message);
    segments.into_iter().filter(|segment| segment.kind != "thinking").map(|segment| segment.text).collect()
}
