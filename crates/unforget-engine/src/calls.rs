//! The calls of a conversation, as they were sent or played for a window, and each of them in full.

mod segments;

use std::sync::Arc;

use unforget_core::admit::{Certificate, Sections};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::left::BreakReach;

use crate::prompt::{Broken, Cause, Part, PlayedCall, PlayedCalls, PlayedPrompt, Recipe, break_reaches};
use crate::{Engine, EngineError};

pub use segments::{PromptSegment, messages_of, segments};

/// A call of a session, in figures.
#[derive(Clone, Debug)]
pub struct CallPoint {
    /// Name of the call: `12` for a played call, `r12` for a recorded one.
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
    /// Number of breaks of its context so far; `None` where no request fits.
    pub epoch: Option<u32>,
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
            epoch: figures.map(|figures| figures.epoch),
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
        epoch: Some(recipe.epoch),
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

fn words_of(message: &str) -> Vec<String> {
    let segments = segments(message);
    segments.into_iter().filter(|segment| segment.kind != "thinking").map(|segment| segment.text).collect()
}

/// The calls of a conversation, as they were sent or played for a window.
pub struct CallHistory {
    /// The calls, oldest first.
    pub points: Vec<CallPoint>,
    /// The window in tokens; of sent prompts, the largest.
    pub window: u64,
    /// Tokens for input.
    pub budget: u64,
    /// Whether they are prompts that were sent.
    pub is_sent: bool,
    played: Option<Arc<PlayedCalls>>,
}

impl CallHistory {
    /// The newest prompts of a conversation that were sent; `None` if there are none.
    ///
    /// # Errors
    /// Those of [`Engine::recipes`].
    pub fn sent(engine: &Engine, id: ConversationId) -> Result<Option<Self>, EngineError> {
        let recipes = engine.recipes(id)?;
        let Some(window) = recipes.iter().map(|(_, recipe)| recipe.window_now).max() else { return Ok(None) };
        let points = recipes.iter().map(|(number, recipe)| sent(*number, recipe)).collect();
        Ok(Some(Self { points, window, budget: window, is_sent: true, played: None }))
    }

    /// The calls of a played session.
    pub fn played(played: Arc<PlayedCalls>) -> Self {
        let policy = played.shape().policy;
        Self {
            points: played.calls().iter().map(CallPoint::from).collect(),
            window: policy.window,
            budget: policy.budget(),
            is_sent: false,
            played: Some(played),
        }
    }

    /// Index of the call with this label.
    pub fn find(&self, label: &str) -> Option<usize> {
        self.points.iter().position(|point| point.label == label)
    }

    /// Index of the first call with a prompt after this break.
    ///
    /// * `number` - from 1.
    pub fn after_break(&self, number: u32) -> Option<usize> {
        let at = self.points.iter().position(|point| point.epoch == Some(number))?;
        // Of the oldest kept prompt nobody knows whether the break was at it.
        (number > 0 && (at > 0 || !self.is_sent)).then_some(at)
    }

    /// The label of a call; empty if there is none.
    pub fn label(&self, at: usize) -> &str {
        self.points.get(at).map_or("", |point| &point.label)
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

    /// How far the breaks up to a call reach, by number, ascending.
    ///
    /// * `engine`, `id` - where the conversation is stored.
    ///
    /// Cost: O(contexts of the calls so far).
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn breaks_before(
        &self,
        engine: &Engine,
        id: ConversationId,
        point: &CallPoint,
    ) -> Result<Vec<BreakReach>, EngineError> {
        let mut breaks = match &self.played {
            None => engine.sent_breaks(id, point.number)?,
            Some(played) => break_reaches(played.states_before(point.number)),
        };
        // After a rewind an earlier context goes on: the breaks that it had not seen are none of this call.
        breaks.retain(|reach| point.epoch.is_none_or(|epoch| reach.number <= epoch));
        Ok(breaks)
    }
}
