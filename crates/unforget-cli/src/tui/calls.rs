//! The calls of a conversation, as they were sent or played for a window, and one of them in full.

use std::sync::Arc;

use unforget_core::id::ConversationId;
use unforget_engine::Engine;
use unforget_engine::calls::{CallPoint, ShownCall};
use unforget_engine::left::{CallPair, LeftQuestion};
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_server::price::dollars;
use unforget_web::figures::{self, BreakCost, Series};
use unforget_wire::{Dialect, Format};

use super::call_text::{diff_lines, left_lines, map_cell, prompt_lines, shares};
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

/// The calls of a conversation.
pub(super) struct CallSeries {
    key: String,
    window: Option<u64>,
    of: ThreadRef,
    series: Series,
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
        let recorded = engine.newest_model(&engine.store().conversation(of.conversation)?)?;
        let model = recorded.or_else(|| target.model.clone());
        let read = |series: Series| {
            Some(Self { key: key.to_owned(), window, of, series: series.with_model(model.clone()) })
        };
        if let Some(sent) = Series::sent(engine, of.conversation)?.filter(|_| window.is_none()) {
            return Ok(read(sent));
        }
        let format = engine.store().conversation(of.conversation)?.format;
        let usual = || Dialect::usual(Format::by_name(&format).unwrap_or(Format::Unknown));
        let size = window.unwrap_or(target.window);
        let shape = Shape::new(size, target.model.as_deref(), target.dialect.unwrap_or_else(usual));
        let played = engine.play_calls(of, shape, progress)?;
        Ok(played.and_then(|played| read(Series::played(Arc::new(played)))))
    }

    /// Whether these are the calls of a question.
    pub(super) fn is_of(&self, key: &str) -> bool {
        self.key == key
    }

    /// The rows, and what stands beside their name.
    pub(super) fn rows(&self) -> (Vec<TuiRow>, String) {
        let calls = &self.series.calls.points;
        let rows = calls.iter().enumerate().map(|(at, call)| self.row(at, call)).collect();
        let breaks = calls.iter().filter(|call| call.is_break()).count();
        let again: u64 = calls.iter().filter_map(|call| Some(call.broken?.rebilled)).sum();
        let how = if self.series.calls.is_sent {
            "as sent".to_owned()
        } else {
            format!("played for {} of input", text::short(self.series.calls.budget))
        };
        let breaks = text::plural(breaks as u64, "break");
        let cost =
            self.series.cost_of_breaks().map(|sum| format!(" for {}", dollars(sum))).unwrap_or_default();
        let (calls, again) = (text::count(calls.len() as u64), text::short(again));
        (rows, format!("{calls}, {how}; {breaks}, {again} billed again{cost}"))
    }

    fn row(&self, at: usize, call: &CallPoint) -> TuiRow {
        let why = match (call.broken.filter(|_| call.is_break()), call.refused) {
            (_, Some(needs)) => format!("none fits: {} needed", text::short(needs)),
            (Some(broken), _) => {
                let from = at
                    .checked_sub(1)
                    .and_then(|at| self.series.calls.points.get(at))
                    .map_or(0, |call| call.total);
                format!("{} → {} · {}", text::short(from), text::short(call.total), broken.cause.name())
            }
            (None, None) => text::short(call.total),
        };
        let kind = if call.refused.is_some() {
            LineKind::Bad
        } else if call.is_break() {
            LineKind::Warn
        } else {
            LineKind::Plain
        };
        let share = text::percent(call.total as f64 / self.series.calls.room(call).max(1) as f64);
        TuiRow {
            lead: call.label.clone(),
            who: share,
            kind,
            text: why,
            target: RowTarget::Call(at),
            about: Vec::new(),
        }
    }

    fn whole(&self, engine: &Engine, at: usize) -> Outcome<Option<ShownCall>> {
        let Some(call) = self.series.calls.points.get(at) else { return Ok(None) };
        Ok(self.series.calls.call(engine, self.of.conversation, call)?)
    }

    /// A call at the right.
    pub(super) fn told(&self, engine: &Engine, at: usize, face: CallFace) -> Outcome<TuiTold> {
        let of = RowTarget::Call(at);
        let Some(call) = self.series.calls.points.get(at) else {
            return Ok(TuiTold::Text { of, face, title: String::new(), lines: Vec::new(), panel: None });
        };
        let name = format!("call {}", call.label);
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
            (CallFace::Gauge, _) => (name, Vec::new(), Some(self.panel(call, &whole))),
            (CallFace::Prompt, _) => (format!("{name}: the prompt"), prompt_lines(&whole), None),
            (_, None) => {
                let none = vec![TuiLine::new(LineKind::Dim, "There is no prompt before this one.")];
                (name, none, None)
            }
            (CallFace::Diff, Some(before)) => (
                format!("{name}: since the call before"),
                diff_lines(CallPair { was: &before, is: &whole }),
                None,
            ),
            (CallFace::Left, Some(before)) => (
                format!("{name}: what left"),
                left_lines(engine, self.asked(), CallPair { was: &before, is: &whole })?,
                None,
            ),
        };
        Ok(TuiTold::Text { of, face, title, lines, panel })
    }

    /// What left is told by entries alone: a key must not wait for searches.
    const fn asked(&self) -> LeftQuestion<'_> {
        LeftQuestion { of: self.of, calls: &self.series.calls, searches: 0, now: None }
    }

    /// A call's use of its window.
    fn panel(&self, call: &CallPoint, whole: &ShownCall) -> CallPanel {
        let cells = figures::cells(&whole.parts, call.head).into_iter().map(map_cell).collect();
        let room = self.series.calls.room(call);
        CallPanel {
            shares: shares(&whole.certificate.sections),
            room,
            cells,
            facts: facts(call, self.series.cost(call), whole),
        }
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

/// A call in words.
fn facts(call: &CallPoint, cost: Option<BreakCost>, whole: &ShownCall) -> Vec<TuiLine> {
    let certificate = &whole.certificate;
    let cover = certificate.cover;
    let n = text::count;
    let plain = |text: String| TuiLine::new(LineKind::Plain, text);
    let mut facts = Vec::new();
    if let Some(broken) = call.broken.filter(|_| call.is_break()) {
        let cache = match cost {
            Some(BreakCost::Expired) => "; the cache had expired, so it cost nothing more".to_owned(),
            Some(BreakCost::Dollars(sum)) => format!("; {} more than from the cache", dollars(sum)),
            Some(BreakCost::NoPrice) => "; no price of its model is known".to_owned(),
            None => String::new(),
        };
        let again = format!("{} billed again, {} still cached{cache}", n(broken.rebilled), n(broken.hit));
        facts.push(TuiLine::new(
            LineKind::Warn,
            format!("break in the {}: {}", broken.region.name(), broken.cause.words()),
        ));
        facts.push(TuiLine::new(LineKind::Warn, again));
    }
    let when = call.time.map(|time| format!(" · {}", Clock::here().full(time))).unwrap_or_default();
    let turn = if call.turn > 0 { format!("turn {}", call.turn) } else { format!("prompt {}", call.label) };
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
    if certificate.provisional.total() > 0 {
        let entries = n(certificate.provisional.total());
        facts.push(plain(format!("{entries} in provisional summaries, until all of the history is read")));
    }
    let raised = certificate.raised;
    if raised.total() > 0 {
        facts.push(plain(format!(
            "{} of {} entries that were put back",
            n(raised.shown()),
            n(raised.total())
        )));
    }
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
    facts
}
