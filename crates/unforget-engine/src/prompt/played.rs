//! The calls of a stored thread, played: the prompt that each of them gets in one shape, with its figures. Every prompt can be
//! composed again from a recipe, byte for byte, without playing.

use std::sync::Arc;

use unforget_core::admit::{Admitted, Cover, Rung, Sections};
use unforget_core::compact::Cache;
use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::tokens::Tokens;
use unforget_store::{Conversation, DecisionRow};
use unforget_wire::{Format, Target, render};

use super::open::Until;
use super::prefetch::RUN;
use super::window::PathEntry;
use super::{Broken, Part, Prompt, Recipe, Session, Shape, ThreadRef};
use crate::path::parts;
use crate::thread::decoded;
use crate::view::Answers;
use crate::{Engine, EngineError};

/// Entries between two reports of progress.
const REPORT_EVERY: u64 = 256;

/// One call of a played thread.
#[derive(Clone, Debug)]
pub struct PlayedCall {
    /// Its number, from 1.
    pub number: u64,
    /// The entry that answered it; `None` for the call that would be made now.
    pub answer: Option<Seq>,
    /// Newest entry of the history before the answer.
    pub head: Option<Seq>,
    /// Number of the turn, from 1; 0 before the first message of a person.
    pub turn: u64,
    /// Time of the answer.
    pub time: Option<Timestamp>,
    /// Expected tokens of everything before the answer, if it were sent.
    pub everything: u64,
    /// The prompt; the tokens that the smallest request needs if none fits.
    pub prompt: Result<PlayedFigures, u64>,
}

/// Figures of a played prompt.
#[derive(Clone, Copy, Debug)]
pub struct PlayedFigures {
    /// Tokens by section.
    pub sections: Sections,
    /// Tokens of the whole prompt.
    pub total: Tokens,
    /// Upper bound by which it was admitted.
    pub bound: u64,
    /// How many entries are represented in which way.
    pub cover: Cover,
    /// Expected tokens at its beginning that equal the prompt before.
    pub reused: u64,
    /// Tokens of these that the provider's cache should still hold.
    pub cached: u64,
    /// Whether the provider's cache had expired.
    pub is_cold: bool,
    /// Milliseconds since the call before.
    pub idle_ms: Option<u64>,
    /// Why its beginning is not that of the prompt before.
    pub broken: Option<Broken>,
    /// Number of breaks so far.
    pub epoch: u32,
    /// The rung of admission.
    pub rung: Rung,
}

/// A played prompt, composed again.
#[derive(Clone, Debug)]
pub struct PlayedPrompt {
    /// The certified request.
    pub admitted: Admitted,
    /// How it represents the entries of the path, oldest first.
    pub parts: Vec<Part>,
    /// The target of its request.
    pub target: Target,
}

impl PlayedPrompt {
    /// The body of the request.
    pub fn render(&self) -> String {
        render(self.admitted.request(), self.target)
    }
}

/// How a call's prompt is composed again: its recipe, and the index of its context.
struct KeptRecipe {
    recipe: Recipe,
    context: usize,
}

/// All calls of a thread.
pub struct PlayedCalls {
    engine: Engine,
    of: ThreadRef,
    shape: Shape,
    calls: Vec<PlayedCall>,
    recipes: Vec<Option<KeptRecipe>>,
    contexts: Vec<Vec<u8>>,
    decisions: Vec<DecisionRow>,
}

impl PlayedCalls {
    /// In order; the last one is the call that would be made now.
    pub fn calls(&self) -> &[PlayedCall] {
        &self.calls
    }

    /// The shape of the prompts.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The engine on which they were played: it knows the summaries that were made for them.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The states of the contexts of the prompts, in order.
    pub(crate) fn states(&self) -> impl Iterator<Item = &[u8]> {
        self.states_before(u64::MAX)
    }

    /// The states of the contexts of the prompts up to this one, in order.
    pub(crate) fn states_before(&self, number: u64) -> impl Iterator<Item = &[u8]> {
        let calls = usize::try_from(number).unwrap_or(usize::MAX);
        let newest = self.recipes.iter().take(calls).flatten().last();
        let contexts = newest.map_or(0, |kept| kept.context + 1);
        self.contexts.iter().take(contexts).map(Vec::as_slice)
    }

    /// The decisions about breaks, in order.
    pub fn decisions(&self) -> &[DecisionRow] {
        &self.decisions
    }

    /// Composes the prompt of a call again; `None` if there is no such call, or none of its requests fits.
    ///
    /// Cost: O(entries of the prompt); O(history) for a transcript that forks.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn prompt(&self, number: u64) -> Result<Option<PlayedPrompt>, EngineError> {
        let at = number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let kept = at.and_then(|at| self.recipes.get(at)).and_then(Option::as_ref);
        let Some(KeptRecipe { recipe, context }) = kept else { return Ok(None) };
        let state = self.contexts.get(*context).map(Vec::as_slice).unwrap_or_default();
        match Session::of_recipe(&self.engine, self.of, recipe, state) {
            Ok(mut session) => {
                let admitted = session.compose_again(recipe)?;
                let parts = session.parts(recipe.window_now, recipe.rung);
                Ok(Some(PlayedPrompt { admitted, parts, target: session.shape().target() }))
            }
            // A path with forks has no context to begin from.
            Err(EngineError::Usage { .. }) => self.played_again(number),
            Err(error) => Err(error),
        }
    }

    fn played_again(&self, number: u64) -> Result<Option<PlayedPrompt>, EngineError> {
        let mut found = None;
        let mut each = |session: &mut Session, call: &PlayedCall, prompt: Option<Prompt>| {
            let Some(prompt) = prompt.filter(|_| call.number == number) else { return };
            let certificate = prompt.admitted.certificate();
            let parts = session.parts(certificate.window, certificate.rung);
            let target = session.shape().target();
            found = Some(PlayedPrompt { admitted: prompt.admitted, parts, target });
        };
        let played = PlayedThread { of: self.of, shape: self.shape, upto: Some(number) };
        self.engine.play(played, &mut each, &mut |_, _| true)?;
        Ok(found)
    }
}

impl Engine {
    /// Plays a stored thread and makes the prompt of each of its calls in one shape, as if all of them had gone through this
    /// engine. Writes nothing.
    ///
    /// * `progress` - called with the number of played entries and of all entries; playing ends where it returns false.
    ///
    /// Returns `None` if `progress` ended it. Cost: O(history), and O(prompt) per call; memory: some 400 bytes per call.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn play_calls(
        &self,
        of: ThreadRef,
        shape: Shape,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Option<PlayedCalls>, EngineError> {
        let engine = self.scratch();
        let stored = engine.store().conversation(of.conversation)?;
        let is_journal = stored.format == Format::Journal.name();
        let shape = if is_journal { shape.of_conversation(&engine, of.conversation)? } else { shape };
        let (mut calls, mut recipes, mut contexts) = (Vec::new(), Vec::new(), Vec::<Vec<u8>>::new());
        let mut each = |session: &mut Session, call: &PlayedCall, prompt: Option<Prompt>| {
            calls.push(call.clone());
            recipes.push(prompt.map(|prompt| {
                let (recipe, state) = session.recipe(&prompt);
                if contexts.last() != Some(&state) {
                    contexts.push(state);
                }
                KeptRecipe { recipe, context: contexts.len().saturating_sub(1) }
            }));
        };
        if !engine.play(PlayedThread { of, shape, upto: None }, &mut each, progress)? {
            return Ok(None);
        }
        let decisions = engine.store().decisions(of.conversation)?;
        Ok(Some(PlayedCalls { engine, of, shape, calls, recipes, contexts, decisions }))
    }

    /// Plays a thread up to a call, or to its end. Returns whether it got there.
    fn play(
        &self,
        PlayedThread { of, shape, upto }: PlayedThread,
        each: &mut dyn FnMut(&mut Session, &PlayedCall, Option<Prompt>),
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, EngineError> {
        let stored = self.store().conversation(of.conversation)?;
        let mut playing = Playing {
            session: Session::new(self, of, shape, true),
            answers: Answers::default(),
            calls: 0,
            turns: 0,
            everything: 0,
            time: Timestamp(0),
            each,
        };
        playing.session.load_said()?;
        let path = playing.session.source.active_path(&stored, Until::Now)?;
        let total = path.iter().map(|run| run.end - run.start).sum::<u64>();
        let mut done = 0;
        for seqs in path.into_iter().flat_map(|run| parts(run, RUN.min(REPORT_EVERY))) {
            if !progress(done, total) {
                return Ok(false);
            }
            done += seqs.end - seqs.start;
            playing.take(&stored, seqs)?;
            if upto.is_some_and(|upto| playing.calls >= upto) {
                return Ok(true);
            }
        }
        playing.call(None, None)?;
        Ok(true)
    }
}

/// A thread to be played.
#[derive(Clone, Copy)]
struct PlayedThread {
    of: ThreadRef,
    shape: Shape,
    /// Number of the last call; `None` plays to the end.
    upto: Option<u64>,
}

/// A thread that is being played.
struct Playing<'a> {
    session: Session,
    answers: Answers,
    calls: u64,
    turns: u64,
    everything: u64,
    /// Time of the newest call with one.
    time: Timestamp,
    each: &'a mut dyn FnMut(&mut Session, &PlayedCall, Option<Prompt>),
}

impl Playing<'_> {
    fn take(&mut self, stored: &Conversation, seqs: std::ops::Range<u64>) -> Result<(), EngineError> {
        let thread = self.session.source.thread().thread;
        let engine = self.session.source.engine().clone();
        for one in decoded(engine.store(), stored, seqs)? {
            if one.row.thread != thread {
                continue;
            }
            if self.answers.is_call(&one.entry) {
                self.call(Some(one.row.seq), one.row.time)?;
            }
            self.turns += u64::from(opens(&one.entry, one.row.tokens.expected));
            let shown =
                self.session.add_next(PathEntry::new(one.row.seq, &one.entry, one.row.tokens.expected));
            self.everything += if shown { one.row.tokens.expected } else { 0 };
        }
        Ok(())
    }

    /// The time up to which people's decisions count for a call: its own, or that of the call before; all of them for the
    /// call that would be made now.
    fn decided(&mut self, answer: Option<Seq>, time: Option<Timestamp>) -> Timestamp {
        if answer.is_none() {
            return Timestamp(i64::MAX);
        }
        self.time = time.unwrap_or(self.time);
        self.time
    }

    /// Makes the prompt of the next call.
    fn call(&mut self, answer: Option<Seq>, time: Option<Timestamp>) -> Result<(), EngineError> {
        self.calls += 1;
        let decided = self.decided(answer, time);
        self.session.source.look_back(decided);
        let prompt = match self.session.prompt() {
            Ok(prompt) => Ok(prompt),
            Err(EngineError::Irreducible(irreducible)) => Err(irreducible.sections.total().upper),
            Err(error) => return Err(error),
        };
        // Nobody asks for the sizes of groups that passed.
        self.session.take_passed();
        let ttl_ms = self.session.shape().policy.cache_ttl_ms;
        let call = PlayedCall {
            number: self.calls,
            answer,
            head: self.session.window.head(),
            turn: self.turns,
            time,
            everything: self.everything,
            prompt: prompt.as_ref().map(|prompt| figures(prompt, ttl_ms)).map_err(|needs| *needs),
        };
        (self.each)(&mut self.session, &call, prompt.ok());
        Ok(())
    }
}

fn figures(prompt: &Prompt, ttl_ms: u64) -> PlayedFigures {
    let certificate = prompt.admitted.certificate();
    let cache = Cache::after(prompt.idle_ms, ttl_ms);
    PlayedFigures {
        sections: certificate.sections,
        total: certificate.total,
        bound: certificate.bound,
        cover: certificate.cover,
        reused: prompt.reused,
        cached: cache.holds(prompt.reused),
        is_cold: cache == Cache::Cold,
        idle_ms: prompt.idle_ms,
        broken: prompt.broken,
        epoch: prompt.epoch,
        rung: certificate.rung,
    }
}

/// Whether an entry opens a turn.
fn opens(entry: &Arc<Entry>, tokens: u64) -> bool {
    entry.origin == Origin::Human && entry.role == unforget_core::entry::Role::User && tokens > 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use unforget_core::id::Thread;
    use unforget_wire::Dialect;

    use super::*;

    fn long_session() -> String {
        let mut lines = vec![r#"{"role":"system","content":"Be brief."}"#.to_owned()];
        for turn in 0..60 {
            let words = format!("word{turn} ").repeat(120);
            lines.push(format!(r#"{{"role":"user","content":"Question {turn}: {words}"}}"#));
            lines.push(format!(r#"{{"role":"assistant","content":"Answer {turn}. {words}"}}"#));
        }
        lines.join("\n")
    }

    #[test]
    fn every_prompt_is_composed_again_byte_for_byte() {
        let engine = Engine::in_memory();
        let imported = engine.import_reader(long_session().as_bytes(), "test").unwrap();
        let id = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        let of = ThreadRef { conversation: id, thread: Thread(0) };
        let shape = Shape::new(8_000, None, Dialect::Anthropic);
        let played = engine.play_calls(of, shape, &mut |_, _| true).unwrap().unwrap();
        assert_eq!(played.calls().len(), 61, "one per answer, and the one that comes");
        let mut sent = Vec::new();
        let mut each = |session: &mut Session, _: &PlayedCall, prompt: Option<Prompt>| {
            sent.push(prompt.map(|prompt| prompt.render(session.shape().target())));
        };
        engine.scratch().play(PlayedThread { of, shape, upto: None }, &mut each, &mut |_, _| true).unwrap();
        let breaks = played.calls().iter().filter(|call| call.prompt.as_ref().unwrap().epoch > 0).count();
        assert!(breaks > 0, "the window is small enough");
        for (call, sent) in played.calls().iter().zip(sent) {
            let prompt = played.prompt(call.number).unwrap().unwrap();
            assert_eq!(Some(prompt.render()), sent, "call {}", call.number);
            let head = call.head.unwrap();
            assert!(prompt.parts.iter().all(|part| part.span.1 <= head), "nothing of later");
        }
        assert!(!played.decisions().is_empty());
        assert_eq!(engine.store().count_summaries(id).unwrap(), 0, "nothing is written");
        assert!(played.prompt(0).unwrap().is_none() && played.prompt(99).unwrap().is_none());
        assert!(engine.play_calls(of, shape, &mut |_, _| false).unwrap().is_none(), "ended");
    }
}
