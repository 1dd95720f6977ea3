//! The window over a whole session: its calls as a chart, and the exact prompt of one of them beside what it shows of each entry.

mod breaks;
mod chart;
mod chosen;
mod cover;
mod pretty;
mod series;

use maud::{Markup, html};
use unforget_engine::calls::{CallPoint, ShownCall};
use unforget_text::numbers::{count, percent, plural, short};

use crate::frame::{Frame, Here, Kept, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit};
use crate::words::{fact, shown, time};

pub(crate) use breaks::{BreakPlace, breaks};
pub(crate) use chart::{ChartCursor, chart};
pub use cover::{CoverCell, cells};
pub(crate) use cover::{CoverGrid, grid};
pub(crate) use series::SeriesRead;
pub use series::{BreakCost, Series};

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let series = match Series::read(visit, &found)? {
        SeriesRead::Done(series) => series,
        SeriesRead::Working(page) => return Ok(page.into_reply(visit, &found, Here::Context)),
    };
    let at = series.at(visit)?;
    let body = html! {
        h1 class="quiet" { "Context" }
        (controls(visit, &found, &series))
        @if series.calls.points.is_empty() {
            (empty("This conversation has no call of a model.", &html! { a href=(found.address()) { "Read it" } }))
        } @else {
            (about(&series))
            (chart(&series, Some(&ChartCursor { visit, at })))
            (breaks(&series, &BreakPlace::View(visit, &found)))
            @if let Some(point) = series.calls.points.get(at) { (one(visit, &found, &series, point)?) }
        }
    };
    let title = format!("Context of {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Context, of: Some(&found) }, &body)))
}

/// The body of a call's request, as bytes.
pub(crate) fn body(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let series = match Series::read(visit, &found)? {
        SeriesRead::Done(series) => series,
        SeriesRead::Working(page) => return Ok(page.into_reply(visit, &found, Here::Context)),
    };
    let at = series.at(visit)?;
    let point = series.calls.points.get(at).ok_or_else(|| Trouble::new(404, "there is no such call", ""))?;
    let call = series.calls.call(&visit.engine, found.of.conversation, point)?;
    let call = call
        .ok_or_else(|| Trouble::new(404, "no request of this call fits the window", "take a larger one"))?;
    Ok(Reply::File { mime: "application/json", bytes: call.body.into_bytes() })
}

fn controls(visit: &Visit, found: &Found, series: &Series) -> Markup {
    let value = |name: &str| visit.query.get(name).unwrap_or("").to_owned();
    let windows = ["32k", "64k", "128k", "200k", "1m"];
    let base = found.address();
    html! {
        form class="filters" method="get" action={ (base) "/context" } {
            label {
                "Window" input name="window" list="windows" value={ @if visit.query.get("window").is_some() { (value("window")) } @else { (short(series.calls.window)) } } disabled[series.calls.is_sent];
                datalist id="windows" { @for window in windows { option value=(window) {} } }
            }
            label { "Model" input name="model" value=(value("model")) placeholder="for its tokeniser" disabled[series.calls.is_sent]; }
            label { "Call" input name="at" value=(visit.query.call().unwrap_or_default()) placeholder="the newest" size="8"; }
            @if series.has_sent {
                label { "Calls" select name="source" {
                    option value="sent" selected[series.calls.is_sent] { "as they were sent" }
                    option value="played" selected[!series.calls.is_sent] { "as if for this window" }
                } }
            }
            button type="submit" { "Show" }
        }
    }
}

/// What the chart is of, in a sentence.
fn about(series: &Series) -> Markup {
    let calls = plural(series.calls.points.len() as u64, "call");
    html! {
        p class="dim" {
            @if series.calls.is_sent { (calls) " as they were sent, composed again from what is kept of the newest ones." }
            @else { (calls) " of this session, each with the prompt that it gets in a window of " (count(series.calls.window)) " tokens: " (count(series.calls.budget)) " for input, the rest for the answer." }
        }
    }
}

/// The chosen call.
fn one(visit: &Visit, found: &Found, series: &Series, point: &CallPoint) -> Result<Markup, Trouble> {
    let call = series.calls.call(&visit.engine, found.of.conversation, point)?;
    let base = found.address();
    Ok(html! {
        section id="call" class="call" data-label=(point.label) {
            div class="callhead" {
                h2 { "Call " (point.label) @if point.answer.is_none() && !series.calls.is_sent { " (the next one)" } }
                (steps(visit, found, series, point))
            }
            p class="dim" {
                "turn " (point.turn) " · " (time(visit, point.time))
                @if let Some(answer) = point.answer { " · answered by " a href={ (base) "/entry/" (answer) } { "s:" (answer) } }
            }
            @if let Some(broken) = point.broken.filter(|_| point.is_break()) {
                p class="notice" { "Break: " (broken.cause.words()) ". " (count(broken.rebilled)) " tokens are billed again, " (count(broken.hit)) " still come from the cache" @if let Some(cost) = series.cost(point) { @match cost { BreakCost::Dollars(_) => { ": " (cost.words()) " more than from the cache" }, BreakCost::Expired => { "; the cache had expired anyway" }, BreakCost::NoPrice => {} } } ". " a href={ (base) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } { "What left the prompt" } }
            }
            @if !point.is_break() { (left_before(visit, found, series, point)) }
            @match &call {
                None => (empty(&format!("No request of this call fits: the smallest needs {} tokens.", count(point.refused.unwrap_or(0))), &html! { "Take a larger window above." })),
                Some(call) => {
                    (figures(series, point, call))
                    div class="halves" {
                        div { (cover::map(visit, found, point, call)) (chosen::chosen(visit, found, series, point, call)?) }
                        div { (pretty::prompt(visit, found, point, call)) }
                    }
                }
            }
        }
    })
}

/// The break at which what this call does not show left, if there was one.
fn left_before(visit: &Visit, found: &Found, series: &Series, point: &CallPoint) -> Markup {
    let at = series.calls.points.iter().position(|one| one.label == point.label).unwrap_or(0);
    let breaks = || series.calls.points.iter().take(at).filter(|one| one.is_break());
    let Some(last) = breaks().next_back() else { return html! {} };
    html! {
        p class="notice" {
            "What it does not show word for word left at " (plural(breaks().count() as u64, "break")) " before, the last at call " (last.label)
            @if let Some(broken) = last.broken { ": " (broken.cause.words()) }
            ". " a href={ (found.address()) "/left" (Kept::with(visit, &[("at", Some(&last.label))])) } { "What left there" }
        }
    }
}

fn figures(series: &Series, point: &CallPoint, call: &ShownCall) -> Markup {
    let certificate = &call.certificate;
    let cover = certificate.cover;
    let proved = if certificate.proof.is_ok() { "exact" } else { "NOT exact" };
    html! {
        dl class="facts" {
            (fact("tokens", format!("{} (at most {})", count(certificate.total.expected), count(certificate.bound))))
            (fact("of the room", percent(certificate.bound as f64 / series.calls.room(point).max(1) as f64)))
            (fact("from the cache", if series.calls.is_sent { "see Calls".to_owned() } else { count(point.cached) }))
            (fact("entries", format!("{} whole, {} shortened, {} summarised, {} left out", count(cover.verbatim), count(cover.stubbed), count(cover.summarised), count(cover.elided))))
            @if certificate.provisional.total() > 0 { (fact("provisional", format!("{} of the summarised ones, until all of the history is read", count(certificate.provisional.total())))) }
            @if certificate.raised.total() > 0 { (fact("put back", format!("{} of {}", count(certificate.raised.shown()), count(certificate.raised.total())))) }
            @if call.beside > 0 { (fact("sent beside", format!("{} of instructions and tools, which are not kept", count(call.beside)))) }
            (fact("cover", proved))
            (fact("rung", certificate.rung.name()))
            @if let Some(is_same) = call.is_same { (fact("bytes", if is_same { "as they were sent" } else { "NOT as they were sent" })) }
        }
    }
}

/// Links from call to call.
fn steps(visit: &Visit, found: &Found, series: &Series, point: &CallPoint) -> Markup {
    let at = series.calls.points.iter().position(|one| one.label == point.label).unwrap_or(0);
    let place =
        |at: Option<usize>| at.and_then(|at| series.calls.points.get(at)).map(|one| one.label.clone());
    let last = series.calls.points.len().checked_sub(1);
    let before = (0..at).rev().find(|at| series.calls.points.get(*at).is_some_and(CallPoint::is_break));
    let behind = (at + 1..series.calls.points.len())
        .find(|at| series.calls.points.get(*at).is_some_and(CallPoint::is_break));
    let all = [
        ("first", "⏮", "First call", place(Some(0).filter(|_| at > 0))),
        ("prev-break", "◀ break", "The break before", place(before)),
        ("prev", "← call", "The call before", place(at.checked_sub(1))),
        ("next", "call →", "The next call", place(Some(at + 1))),
        ("next-break", "break ▶", "The next break", place(behind)),
        ("last", "⏭", "Last call", place(last.filter(|last| *last > at))),
    ];
    html! {
        nav class="steps" aria-label="Calls" {
            @for (step, sign, name, to) in all {
                @if let Some(label) = to {
                    a data-step=(step) aria-label=(name) title=(name) href={ (found.address()) "/context" (Kept::with(visit, &[("at", Some(&label))])) "#call" } { (sign) }
                } @else { span class="off" aria-hidden="true" { (sign) } }
            }
            a href={ (found.address()) "/diff" (Kept::with(visit, &[("to", Some(&shown(&point.label)))])) } { "Diff" }
        }
    }
}
