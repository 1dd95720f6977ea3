//! The window over a whole session: its calls as a chart, and the exact prompt of one of them beside what it shows of each entry.

mod chart;
mod chosen;
mod cover;
mod pretty;
mod series;

use maud::{Markup, html};
use unforget_text::numbers::{count, percent, plural, short};

use crate::frame::{Frame, Here, Kept, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit};
use crate::words::{fact, shown, time};

pub(crate) use chart::{ChartCursor, chart};
pub use cover::{CoverCell, cells};
pub(crate) use cover::{CoverGrid, grid};
pub use pretty::{PromptSegment, messages_of, segments};
pub(crate) use series::SeriesRead;
pub use series::{CallPoint, Series, ShownCall};

/// Breaks in the table; the chart has all of them.
const BREAKS: usize = 60;

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
        @if series.points.is_empty() {
            (empty("This conversation has no call of a model.", &html! { a href=(found.address()) { "Read it" } }))
        } @else {
            (about(&series))
            (chart(&series, Some(&ChartCursor { visit, at })))
            (breaks(visit, &found, &series))
            @if let Some(point) = series.points.get(at) { (one(visit, &found, &series, point)?) }
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
    let point = series.points.get(at).ok_or_else(|| Trouble::new(404, "there is no such call", ""))?;
    let call = series.call(&visit.engine, found.of.conversation, point)?;
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
                "Window" input name="window" list="windows" value={ @if visit.query.get("window").is_some() { (value("window")) } @else { (short(series.window)) } } disabled[series.is_sent];
                datalist id="windows" { @for window in windows { option value=(window) {} } }
            }
            label { "Model" input name="model" value=(value("model")) placeholder="for its tokeniser" disabled[series.is_sent]; }
            @if series.has_sent {
                label { "Calls" select name="source" {
                    option value="sent" selected[series.is_sent] { "as they were sent" }
                    option value="played" selected[!series.is_sent] { "as if for this window" }
                } }
            }
            button type="submit" { "Show" }
        }
    }
}

/// What the chart is of, in a sentence.
fn about(series: &Series) -> Markup {
    let calls = plural(series.points.len() as u64, "call");
    html! {
        p class="dim" {
            @if series.is_sent { (calls) " as they were sent, composed again from what is kept of the newest ones." }
            @else { (calls) " of this session, each with the prompt that it gets in a window of " (count(series.window)) " tokens: " (count(series.budget)) " for input, the rest for the answer." }
        }
    }
}

fn breaks(visit: &Visit, found: &Found, series: &Series) -> Markup {
    let all: Vec<(usize, &CallPoint)> =
        series.points.iter().enumerate().filter(|(_, point)| point.is_break()).collect();
    let rebilled: u64 = all.iter().filter_map(|(_, point)| Some(point.broken?.rebilled)).sum();
    let cold = all.iter().filter(|(_, point)| point.is_cold).count();
    let base = found.address();
    html! {
        details class="breaks" open[!all.is_empty() && all.len() <= 6] {
            summary {
                (plural(all.len() as u64, "break"))
                @if !all.is_empty() { ": " (count(rebilled)) " tokens billed again; " (cold) " after the cache had expired anyway" }
            }
            @if all.is_empty() { p { "The beginning of the prompt never changed: all of it could come from the provider's cache." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Breaks" {
                    table class="list" {
                        thead { tr { th scope="col" { "Call" } th scope="col" { "When" } th scope="col" { "Cause" } th scope="col" { "From" } th scope="col" class="num" { "Tokens" } th scope="col" class="num" { "Billed again" } th scope="col" class="num" { "Still cached" } th scope="col" { "Cache" } th scope="col" { span class="gone" { "What left" } } } }
                        tbody {
                            @for (at, point) in all.iter().rev().take(BREAKS) {
                                @let before = at.checked_sub(1).and_then(|at| series.points.get(at));
                                tr data-row {
                                    td { a href={ (base) "/context" (Kept::with(visit, &[("at", Some(&point.label))])) "#call" } { (point.label) } }
                                    td { (time(visit, point.time)) }
                                    @if let Some(broken) = point.broken {
                                        td title=(broken.cause.words()) { (broken.cause.name()) }
                                        td { (broken.region.name()) }
                                        td class="num" { @if let Some(before) = before { (short(before.total)) " → " } (short(point.total)) }
                                        td class="num" { (count(broken.rebilled)) }
                                        td class="num" { (count(broken.hit)) }
                                    }
                                    td { @if series.is_sent { "–" } @else if point.is_cold { "expired" } @else { "warm" } }
                                    td { a href={ (base) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } { "What left" } }
                                }
                            }
                        }
                    }
                }
                @if all.len() > BREAKS { p class="dim" { (plural((all.len() - BREAKS) as u64, "older break")) " in the chart." } }
            }
        }
    }
}

/// The chosen call.
fn one(visit: &Visit, found: &Found, series: &Series, point: &CallPoint) -> Result<Markup, Trouble> {
    let call = series.call(&visit.engine, found.of.conversation, point)?;
    let base = found.address();
    Ok(html! {
        section id="call" class="call" data-label=(point.label) {
            div class="callhead" {
                h2 { "Call " (point.label) @if point.answer.is_none() && !series.is_sent { " (the next one)" } }
                (steps(visit, found, series, point))
            }
            p class="dim" {
                "turn " (point.turn) " · " (time(visit, point.time))
                @if let Some(answer) = point.answer { " · answered by " a href={ (base) "/entry/" (answer) } { "s:" (answer) } }
            }
            @if let Some(broken) = point.broken.filter(|_| point.is_break()) {
                p class="notice" { "Break: " (broken.cause.words()) ". " (count(broken.rebilled)) " tokens are billed again, " (count(broken.hit)) " still come from the cache. " a href={ (base) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } { "What left the prompt" } }
            }
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

fn figures(series: &Series, point: &CallPoint, call: &ShownCall) -> Markup {
    let certificate = &call.certificate;
    let cover = certificate.cover;
    let proved = if certificate.proof.is_ok() { "exact" } else { "NOT exact" };
    html! {
        dl class="facts" {
            (fact("tokens", format!("{} (at most {})", count(certificate.total.expected), count(certificate.bound))))
            (fact("of the room", percent(certificate.bound as f64 / series.room(point).max(1) as f64)))
            (fact("from the cache", if series.is_sent { "see Calls".to_owned() } else { count(point.cached) }))
            (fact("entries", format!("{} whole, {} shortened, {} summarised, {} left out", count(cover.verbatim), count(cover.stubbed), count(cover.summarised), count(cover.elided))))
            (fact("cover", proved))
            (fact("rung", certificate.rung.name()))
            @if let Some(is_same) = call.is_same { (fact("bytes", if is_same { "as they were sent" } else { "NOT as they were sent" })) }
        }
    }
}

/// Links from call to call.
fn steps(visit: &Visit, found: &Found, series: &Series, point: &CallPoint) -> Markup {
    let at = series.points.iter().position(|one| one.label == point.label).unwrap_or(0);
    let place = |at: Option<usize>| at.and_then(|at| series.points.get(at)).map(|one| one.label.clone());
    let last = series.points.len().checked_sub(1);
    let before = (0..at).rev().find(|at| series.points.get(*at).is_some_and(CallPoint::is_break));
    let behind =
        (at + 1..series.points.len()).find(|at| series.points.get(*at).is_some_and(CallPoint::is_break));
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
