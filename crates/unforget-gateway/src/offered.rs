//! Our tools, offered to a model with a prompt that left something out, and the handling of its calls.
//!
//! Synchronous: runs on threads that may wait for the disk.

use std::sync::Arc;

use serde_json::{Value, json};
use unforget_core::entry::ToolCall;
use unforget_core::policy::{
    RECALL_ANSWERS_MAX, RECALL_CALL_FRAME, RECALL_CALLS_MAX, RECALL_NOTED_CHARS, RECALL_PART,
    RECALL_RESULT_MIN, RECALL_ROOM_MAX, RECALL_ROOM_MIN,
};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::Engine;
use unforget_engine::host::{Assembled, Host, LaneKey};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::Target;
use unforget_wire::exchange::{Call, Edit, Ended, Offer, Outcome, Round};

use super::fault::CallProblem;
use super::logged_once::LoggedOnce;
use super::recall_tools::RecallTools;
use super::trace;

/// Stop reasons of an incomplete answer, whose calls may be cut off.
const CUT: [&str; 5] = ["max_tokens", "length", "model_context_window_exceeded", "content_filter", "refusal"];

/// The tools offered with one call, and their use so far.
#[derive(Clone, Debug)]
pub(super) struct OfferedTools {
    offers: Vec<Offer>,
    /// Size of the tools themselves.
    weight: Tokens,
    /// Tokens left for calls and results.
    left: u64,
    /// Number of answers with calls that were run.
    rounds: u32,
    /// The messages behind the prompt: answers with calls, and results.
    behind: Vec<String>,
    /// The record of calls, to be stored.
    done: Vec<Value>,
    /// Whether the tools are no longer offered.
    is_closed: bool,
}

/// The tools after an answer with calls of ours.
pub(super) struct CallsRun {
    pub(super) offered: OfferedTools,
    /// Whether calls were dropped, so that no further request is made.
    pub(super) is_refused: bool,
}

/// Whether a prompt shows any part of the history other than verbatim.
pub(super) const fn has_left_something(assembled: &Assembled) -> bool {
    let cover = assembled.certificate.cover;
    cover.summarised + cover.stubbed + cover.elided > 0
}

impl OfferedTools {
    /// The tools that may be offered in a call.
    ///
    /// * `budget` - token budget of the call's messages.
    ///
    /// # Errors
    /// Why none may be offered.
    pub(super) fn of(tools: &dyn RecallTools, call: &Call<'_>, budget: u64) -> Result<Self, &'static str> {
        call.takes_offers(tools.prefix())?;
        let offers = tools.offers();
        let ruler = ModelRuler::of(call.model.as_deref(), call.dialect);
        let weight = offers.iter().map(|offer| ruler.count(&offer.json(call.dialect))).sum();
        let left = (budget / RECALL_PART).min(RECALL_ROOM_MAX);
        let offered =
            Self { offers, weight, left, rounds: 0, behind: Vec::new(), done: Vec::new(), is_closed: false };
        if left >= RECALL_ROOM_MIN { Ok(offered) } else { Err("the window is too small for it") }
    }

    /// Tokens that a prompt must leave free for them.
    pub(super) const fn room(&self) -> u64 {
        self.weight.upper + self.left
    }

    pub(super) const fn weight(&self) -> Tokens {
        self.weight
    }

    pub(super) fn behind(&self) -> &[String] {
        &self.behind
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.offers.iter().map(|offer| offer.name.as_str()).collect()
    }

    /// The edits that add them to a call.
    pub(super) fn edits(&self, call: &Call<'_>) -> Vec<Edit> {
        if self.is_closed { Vec::new() } else { call.offer_edits(&self.offers) }
    }

    /// Returns to the prompt alone. Returns whether that changes the request.
    pub(super) fn give_up(&mut self, why: &str) -> bool {
        let is_other = !self.behind.is_empty() || !self.is_closed;
        self.note(json!({ "given-up": why }));
        (self.behind, self.is_closed) = (Vec::new(), true);
        is_other
    }

    fn note(&mut self, what: Value) {
        self.done.push(what);
    }

    /// The record of calls, if there were any.
    pub(super) fn noted(&self) -> Option<String> {
        (!self.done.is_empty()).then(|| Value::from(self.done.clone()).to_string())
    }

    /// Why our calls in an answer are not run; `None` if they are.
    fn refusal(&self, round: &Round) -> Option<&'static str> {
        let is_cut = round.answered.stop.as_deref().is_some_and(|stop| CUT.contains(&stop));
        if round.answered.ended != Ended::Complete || is_cut {
            Some("the answer is not whole")
        } else if round.others > 0 {
            Some("they stand beside calls of the client's tools")
        } else {
            self.is_closed.then_some("they were not offered any more")
        }
    }
}

/// What the gateway recalls by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recall {
    /// Nothing.
    #[default]
    Off,
    /// A small block before the newest question, if the prompt left something out.
    Slot,
    /// The model's own recall: tools are offered to it if the prompt left something out, and run here.
    Tools,
}

/// A model's answer with calls of ours.
pub(super) struct RecallRound<'a> {
    pub(super) lane: &'a LaneKey,
    /// The call that it answers.
    pub(super) call: &'a Call<'a>,
    pub(super) round: &'a Round,
}

/// The recall of left-out content: by the gateway, or by the model with tools.
pub(super) struct RecallHelp {
    pub(super) mode: Recall,
    pub(super) tools: Arc<dyn RecallTools>,
    /// Log messages that are written once.
    pub(super) once: LoggedOnce,
}

impl RecallHelp {
    /// The tools offered with a call, if wanted. Logs once per lane and reason why none are offered.
    ///
    /// * `lane` - its name.
    /// * `budget` - token budget of the call's messages.
    pub(super) fn offered(&self, lane: &str, call: &Call<'_>, budget: u64) -> Option<OfferedTools> {
        if self.mode != Recall::Tools {
            return None;
        }
        let offered = OfferedTools::of(&*self.tools, call, budget);
        if let Err(why) = offered
            && self.once.is_first(&format!("offer {lane} {why}"))
        {
            tracing::info!(lane, why, "the model cannot be offered recall tools in these calls");
        }
        offered.ok()
    }

    /// Runs the calls of ours in an answer, if there is room for their results.
    pub(super) fn run_calls(
        &self,
        host: &Host,
        RecallRound { lane, call: asked, round }: RecallRound<'_>,
        mut offered: OfferedTools,
    ) -> Result<CallsRun, CallProblem> {
        if let Some(why) = offered.refusal(round) {
            let names: Vec<&str> = round.ours.iter().map(|call| call.name.as_str()).collect();
            offered.note(json!({ "dropped": names, "why": why }));
            return Ok(CallsRun { offered, is_refused: true });
        }
        let ruler = ModelRuler::of(asked.model.as_deref(), asked.dialect);
        let target = Target { is_own: true, ..Target::of(asked.dialect, asked.model.as_deref()) };
        let weigh = |outcomes: &[Outcome]| -> (Vec<String>, u64) {
            let messages = round.next(outcomes, target);
            let tokens: Tokens = messages.iter().map(|message| ruler.count(message)).sum();
            (messages, tokens.upper + RECALL_CALL_FRAME * round.ours.len() as u64)
        };
        let nothing = vec![Outcome { text: "-".to_owned(), is_error: false }; round.ours.len()];
        let (_, bare) = weigh(&nothing);
        // At most half of the rest, so that the next round has room for results too.
        let free = offered.left.saturating_sub(bare).min((offered.left / 2).max(RECALL_RESULT_MIN));
        let each = free / (round.ours.len().clamp(1, RECALL_CALLS_MAX) as u64);
        if each < RECALL_RESULT_MIN {
            offered.give_up("what the model wants to look up leaves no room for results");
            return Ok(CallsRun { offered, is_refused: false });
        }
        let memory = host.memory(lane)?;
        let mut outcomes = Vec::with_capacity(round.ours.len());
        for (at, call) in round.ours.iter().enumerate() {
            let engine = memory.clone().filter(|_| at < RECALL_CALLS_MAX);
            let outcome = trace::tool(&call.name).in_scope(|| run(&*self.tools, call, engine, each, ruler));
            offered.note(noted(call, &outcome, ruler));
            outcomes.push(outcome);
        }
        let (messages, tokens) = weigh(&outcomes);
        if tokens > offered.left {
            offered.give_up("the results leave no room");
        } else {
            offered.behind.extend(messages);
            offered.left -= tokens;
            offered.rounds += 1;
            offered.is_closed = offered.rounds >= RECALL_ANSWERS_MAX || offered.left < RECALL_ROOM_MIN / 2;
        }
        Ok(CallsRun { offered, is_refused: false })
    }
}

/// Runs a call.
///
/// * `engine` - `None` if the call is not run: there are too many at once, or nothing is stored.
fn run(
    tools: &dyn RecallTools,
    call: &ToolCall,
    engine: Option<Engine>,
    tokens: u64,
    ruler: ModelRuler,
) -> Outcome {
    let error = |text: &str| Outcome { text: text.to_owned(), is_error: true };
    if !call.complete {
        return error("the arguments are no JSON object\nNext: call it again with an object");
    }
    let Some(engine) = engine else { return error("too many calls at once\nNext: ask for less") };
    // Pages are cut by expected tokens; the room must hold their bound and the framing.
    let page = (tokens / 2).max(RECALL_RESULT_MIN);
    match tools.run(call, engine, page) {
        Ok(text) => Outcome { text: fitted(text, tokens, ruler), is_error: false },
        Err(text) => Outcome { text: fitted(text, tokens, ruler), is_error: true },
    }
}

/// Text cut to this many tokens, by their bound.
fn fitted(text: String, tokens: u64, ruler: ModelRuler) -> String {
    const MORE: &str = "\n[cut to fit: ask for less at once]";
    let weight = |text: &str| ruler.count(&Value::from(text).to_string()).upper;
    if weight(&text) <= tokens {
        return text;
    }
    let mut kept = text.as_str();
    while !kept.is_empty() && weight(kept) + RECALL_CALL_FRAME > tokens {
        let half = kept.len() - kept.len().div_ceil(4);
        let end = (0..=half).rev().find(|at| kept.is_char_boundary(*at)).unwrap_or_default();
        kept = kept.get(..end).unwrap_or_default();
    }
    format!("{kept}{MORE}")
}

/// The record of a call: the question, and the size of the result.
fn noted(call: &ToolCall, outcome: &Outcome, ruler: ModelRuler) -> Value {
    let arguments: String = call.arguments.chars().take(RECALL_NOTED_CHARS).collect();
    json!({
        "tool": call.name, "arguments": arguments, "error": outcome.is_error,
        "tokens": ruler.count(&outcome.text).expected,
    })
}
