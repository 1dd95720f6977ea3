//! The calls of a conversation, as they were sent or played for a window, and one of them in full.

use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_engine::Engine;
use unforget_engine::prompt::{Broken, Cause, PlayedCalls, Shape, ThreadRef};
use unforget_web::figures::{self, ShownCall};
use unforget_wire::{Dialect, Format};

use super::call_text::{ComparedCalls, diff_lines, left_lines, map_cell, prompt_lines, shares};
use super::load::lane;
use super::rows::{CallPanel, LineKind, RowTarget, TuiLine, TuiRow};
use super::state::{CallFace, TuiTold};
use crate::failure::Outcome;
use crate::text;
use crate::when::Clock;

/// For which prompts calls are played.
#[derive(Clone, Debug)]
pub(crate) struct CallTarget {
    /// The window of the settings.
    pub(crate) window: u64,
    /// The model, for its tokens.
    pub(crate) model: Option<String>,
    /// The dialect; `None` takes the usual one of the transcript.
    pub(crate) dialect: Option<Dialect>,
}

/// A call in the list.
struct CallRow {
    number: u64,
    turn: u64,
    time: Option<Timestamp>,
    head: Option<Seq>,
    total: u64,
    /// Tokens that it had for input.
    room: u64,
    broken: Option<Broken>,
    /// Tokens that the smallest request needs, where none fits.
    refused: Option<u64>,
    is_cold: bool,
    /// Expected tokens of the whole history, if it were sent.
    everything: Option<u64>,
}

/// The calls of a conversation.
pub(super) struct CallSeries {
    key: String,
    window: Option<u64>,
    of: ThreadRef,
    calls: Vec<CallRow>,
    /// `None` for calls that were sent.
    played: Option<PlayedCalls>,
}

/// What to read calls of.
#[derive(Clone, Copy)]
pub(super) struct SeriesWanted<'a> {
    /// Key of the conversation.
    pub(super) key: &'a str,
    /// The window; `None` takes the calls that were sent where there are any.
    pub(super) window: Option<u64>,
    /// The prompts.
    pub(super) target: &'a CallTarget,
}

impl CallSeries {
    /// Reads the calls that were sent, or plays them.
    ///
    /// * `progress` - called with the number of played and of all entries; playing ends where it returns false, and gives `None`.
    pub(super) fn read(
        engine: &Engine,
        wanted: SeriesWanted<'_>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Outcome<Option<Self>> {
        let SeriesWanted { key, window, target } = wanted;
        let of = lane(engine, key)?;
        let this = Self { key: key.to_owned(), window, of, calls: Vec::new(), played: None };
        let recipes = engine.recipes(of.conversation)?;
        if window.is_none() && !recipes.is_empty() {
            let calls = recipes.iter().map(|(number, recipe)| CallRow {
                number: *number,
                turn: 0,
                time: Some(recipe.time),
                head: recipe.head,
                total: recipe.tokens.expected,
                room: recipe.window_now,
                broken: recipe.broken,
                refused: None,
                is_cold: false,
                everything: None,
            });
            return Ok(Some(Self { calls: calls.collect(), ..this }));
        }
        let format = engine.store().conversation(of.conversation)?.format;
        let usual = || Dialect::usual(Format::by_name(&format).unwrap_or(Format::Unknown));
        let size = window.unwrap_or(target.window);
        let shape = Shape::new(size, target.model.as_deref(), target.dialect.unwrap_or_else(usual));
        let Some(played) = engine.play_calls(of, shape, progress)? else { return Ok(None) };
        let room = played.shape().policy.budget();
        let calls = played.calls().iter().map(|call| {
            let figures = call.prompt.as_ref().ok();
            CallRow {
                number: call.number,
                turn: call.turn,
                time: call.time,
                head: call.head,
                total: figures.map_or(0, |figures| figures.total.expected),
                room,
                broken: figures.and_then(|figures| figures.broken),
                refused: call.prompt.as_ref().err().copied(),
                is_cold: figures.is_some_and(|figures| figures.is_cold),
                everything: Some(call.everything),
            }
        });
        Ok(Some(Self { calls: calls.collect(), played: Some(played), ..this }))
    }

    /// Whether these are the calls of a question.
    pub(super) fn is_of(&self, key: &str) -> bool {
        self.key == key
    }

    /// The rows, and what stands beside their name.
    pub(super) fn rows(&self) -> (Vec<TuiRow>, String) {
        let rows = self.calls.iter().enumerate().map(|(at, call)| self.row(at, call)).collect();
        let breaks = self.calls.iter().filter(|call| is_break(call.broken)).count();
        let again: u64 = self.calls.iter().filter_map(|call| Some(call.broken?.rebilled)).sum();
        let room = self.calls.last().map_or(0, |call| call.room);
        let how = if self.played.is_some() {
            format!("played for {} of input", text::short(room))
        } else {
            "as sent".to_owned()
        };
        let breaks = text::plural(breaks as u64, "break");
        (
            rows,
            format!(
                "{}, {how}; {breaks}, {} billed again",
                text::count(self.calls.len() as u64),
                text::short(again)
            ),
        )
    }

    fn row(&self, at: usize, call: &CallRow) -> TuiRow {
        let sign = if self.played.is_some() { "" } else { "r" };
        let why = match (call.broken.filter(|_| is_break(call.broken)), call.refused) {
            (_, Some(needs)) => format!("none fits: {} needed", text::short(needs)),
            (Some(broken), _) => {
                let from = at.checked_sub(1).and_then(|at| self.calls.get(at)).map_or(0, |call| call.total);
                format!("{} → {} · {}", text::short(from), text::short(call.total), broken.cause.name())
            }
            (None, None) => text::short(call.total),
        };
        let kind = if call.refused.is_some() {
            LineKind::Bad
        } else if is_break(call.broken) {
            LineKind::Warn
        } else {
            LineKind::Plain
        };
        let share = text::percent(call.total as f64 / call.room.max(1) as f64);
        TuiRow {
            lead: format!("{sign}{}", call.number),
            who: share,
            kind,
            text: why,
            target: RowTarget::Call(at),
            about: Vec::new(),
        }
    }

    fn whole(&self, engine: &Engine, at: usize) -> Outcome<Option<ShownCall>> {
        let Some(call) = self.calls.get(at) else { return Ok(None) };
        let Some(played) = &self.played else {
            return Ok(Some(ShownCall::sent(engine, self.of.conversation, call.number)?));
        };
        Ok(played.prompt(call.number)?.map(ShownCall::played))
    }

    /// A call at the right.
    pub(super) fn told(&self, engine: &Engine, at: usize, face: CallFace) -> Outcome<TuiTold> {
        let of = RowTarget::Call(at);
        let Some(call) = self.calls.get(at) else {
            return Ok(TuiTold::Text { of, face, title: String::new(), lines: Vec::new(), panel: None });
        };
        let sign = if self.played.is_some() { "" } else { "r" };
        let name = format!("call {sign}{}", call.number);
        let Some(whole) = self.whole(engine, at)? else {
            let needs = text::count(call.refused.unwrap_or(0));
            let lines = vec![
                TuiLine::new(
                    LineKind::Bad,
                    format!("No request of this call fits: the smallest needs {needs} tokens."),
                ),
                TuiLine::new(LineKind::Dim, "w plays the calls for another window"),
            ];
            return Ok(TuiTold::Text { of, face, title: name, lines, panel: None });
        };
        let is_compared = matches!(face, CallFace::Diff | CallFace::Left);
        let before = at.checked_sub(1).filter(|_| is_compared);
        let before = before.map(|at| self.whole(engine, at)).transpose()?.flatten();
        let (title, lines, panel) = match (face, before) {
            (CallFace::Gauge, _) => (name, Vec::new(), Some(panel(call, &whole))),
            (CallFace::Prompt, _) => (format!("{name}: the prompt"), prompt_lines(&whole), None),
            (_, None) => {
                let none = vec![TuiLine::new(LineKind::Dim, "There is no prompt before this one.")];
                (name, none, None)
            }
            (CallFace::Diff, Some(before)) => (
                format!("{name}: since the call before"),
                diff_lines(ComparedCalls { was: &before, is: &whole }),
                None,
            ),
            (CallFace::Left, Some(before)) => (
                format!("{name}: what left"),
                left_lines(
                    self.played.as_ref().map_or(engine, |played| played.engine()),
                    self.of,
                    ComparedCalls { was: &before, is: &whole },
                )?,
                None,
            ),
        };
        Ok(TuiTold::Text { of, face, title, lines, panel })
    }

    /// The conversation.
    pub(super) const fn conversation(&self) -> ConversationId {
        self.of.conversation
    }

    /// The window that it was asked for.
    pub(super) const fn window(&self) -> Option<u64> {
        self.window
    }
}

fn is_break(broken: Option<Broken>) -> bool {
    broken.is_some_and(|broken| broken.cause != Cause::First)
}

/// A call's use of its window.
fn panel(call: &CallRow, whole: &ShownCall) -> CallPanel {
    let certificate = &whole.certificate;
    let cover = certificate.cover;
    let n = text::count;
    let plain = |text: String| TuiLine::new(LineKind::Plain, text);
    let mut facts = Vec::new();
    if let Some(broken) = call.broken.filter(|_| is_break(call.broken)) {
        let cache = if call.is_cold { "; the cache had expired" } else { "" };
        let again = format!("{} billed again, {} still cached{cache}", n(broken.rebilled), n(broken.hit));
        facts.push(TuiLine::new(
            LineKind::Warn,
            format!("break in the {}: {}", broken.region.name(), broken.cause.words()),
        ));
        facts.push(TuiLine::new(LineKind::Warn, again));
    }
    let when = call.time.map(|time| format!(" · {}", Clock::here().full(time))).unwrap_or_default();
    let turn = if call.turn > 0 { format!("turn {}", call.turn) } else { format!("prompt r{}", call.number) };
    facts.push(plain(format!("{turn}{when}")));
    facts.push(plain(format!(
        "{} tokens expected, {} at most",
        n(certificate.total.expected),
        n(certificate.bound)
    )));
    if let Some(everything) = call.everything {
        facts.push(plain(format!("{} if everything were sent", n(everything))));
    }
    facts.push(plain(format!(
        "{} entries: {} verbatim, {} stubbed, {} summarised, {} not sent",
        n(cover.total()),
        n(cover.verbatim),
        n(cover.stubbed),
        n(cover.summarised),
        n(cover.elided)
    )));
    let proof = if certificate.proof.is_ok() {
        ("cover proved", LineKind::Good)
    } else {
        ("cover NOT exact", LineKind::Bad)
    };
    facts.push(TuiLine::new(proof.1, format!("{}; rung {}", proof.0, certificate.rung.name())));
    match whole.is_same {
        Some(true) => facts.push(TuiLine::new(LineKind::Good, "byte for byte what was sent")),
        Some(false) => facts.push(TuiLine::new(LineKind::Bad, "NOT the bytes that were sent")),
        None => {}
    }
    facts.push(TuiLine::new(LineKind::Dim, "p prompt · d diff · x what left · [ ] breaks · w window"));
    let cells = figures::cells(&whole.parts, call.head).into_iter().map(map_cell).collect();
    CallPanel { shares: shares(&certificate.sections), room: call.room, cells, facts }
}
