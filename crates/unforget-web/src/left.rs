//! What a break took out of the prompt: decisions, rules, commands, numbers, paths; each with whether it can still be reached, and how.

use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_engine::calls::CallPoint;
use unforget_engine::left::{CallPair, GoneLine, LeftQuestion, LeftReach, LeftThing};
use unforget_text::ToldKind;
use unforget_text::numbers::{count, plural};

use crate::context::{Series, SeriesRead};
use crate::decide;
use crate::frame::{Frame, Here, Kept, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::turns::entry_link;
use crate::visit::{Found, Visit};
use crate::words::{shown, time};

/// Things of a kind that are shown.
const SHOWN: usize = 40;

/// Things of a kind that are looked for with a search; each takes a search over all of the conversation.
const SEARCHED: usize = 3;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let series = match Series::read(visit, &found)? {
        SeriesRead::Done(series) => series,
        SeriesRead::Working(page) => return Ok(page.into_reply(visit, &found, Here::Left)),
    };
    let at = match visit.query.call() {
        Some(_) => Some(series.at(visit)?),
        None => series.calls.points.iter().rposition(CallPoint::is_break),
    };
    let body = html! {
        h1 class="quiet" { "What left" }
        (decide::form(visit))
        (decide::standing(visit, &found)?)
        @match at.filter(|at| *at > 0) {
            None => (empty("Nothing left the prompt: it never broke.", &html! { "Everything is still there, word for word. " a href={ (found.address()) "/left?window=32k" } { "See it in a smaller window" } })),
            Some(at) => (one(visit, &found, &series, at)?),
        }
    };
    let title = format!("What left {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Left, of: Some(&found) }, &body)))
}

fn one(visit: &Visit, found: &Found, series: &Series, at: usize) -> Result<Markup, Trouble> {
    let (Some(before), Some(point)) = (series.calls.points.get(at - 1), series.calls.points.get(at)) else {
        return Err(Trouble::new(404, "there is no such call", "choose one in the context view"));
    };
    let (was, is) = (
        series.calls.call(&visit.engine, found.of.conversation, before)?,
        series.calls.call(&visit.engine, found.of.conversation, point)?,
    );
    let (Some(was), Some(is)) = (was, is) else {
        return Ok(empty(
            "One of the two prompts does not fit its window.",
            &html! { "Take a larger one in the context view." },
        ));
    };
    let now = Some(visit.clock.now());
    let asked = LeftQuestion { of: found.of, calls: &series.calls, searches: SEARCHED, now };
    let answer = visit.engine.left_between(asked, CallPair { was: &was, is: &is })?;
    let (entries, spans) = (answer.entries, &answer.spans);
    let (base, key) = (found.address(), &found.resolved.conversation.key.0);
    Ok(html! {
        (choose(visit, found, series, at))
        p {
            "Between call " a href={ (base) "/context" (Kept::with(visit, &[("at", Some(&before.label))])) "#call" } { (before.label) } " and call " a href={ (base) "/context" (Kept::with(visit, &[("at", Some(&point.label))])) "#call" } { (point.label) }
            @if entries > 0 || answer.lines.is_empty() { ", " (plural(entries, "entry")) " stopped standing word for word" } @else { ", summaries of older entries were merged" }
            @if let Some(broken) = point.broken { ": " (broken.cause.words()) }
            ". " (count(was.certificate.total.expected)) " tokens became " (count(is.certificate.total.expected)) ". "
            a href={ (base) "/diff" (Kept::with(visit, &[("from", Some(&before.label)), ("to", Some(&point.label))])) } { "Diff of the two" }
        }
        @if let Some(span) = whole(spans) {
            @if visit.may_decide { p { "Everything that left here: s:" (span.0) " to s:" (span.1) " " (decide::put_back(visit, key, span.0, span.1)) } }
        }
        @if answer.is_nothing() { (empty("No entry changed its form.", &html! { "Something else moved: the diff shows it." })) }
        @if answer.unread > 0 { p class="notice" { "Only the newest " (count(entries.saturating_sub(answer.unread))) " of " (plural(entries, "entry")) " were looked through for the lists below." } }
        @if !answer.purged.is_empty() { p class="notice" { (plural(answer.purged.len() as u64, "entry")) " of them cannot be reached: a purge took the words." } }
        (gone_lines(found, &answer.lines))
        @for of in ToldKind::ALL { (kind(visit, found, of, &answer.of_kind(of).collect::<Vec<_>>())) }
    })
}

/// Breaks to choose from.
fn choose(visit: &Visit, found: &Found, series: &Series, at: usize) -> Markup {
    let breaks: Vec<_> =
        series.calls.points.iter().enumerate().filter(|(_, point)| point.is_break()).collect();
    html! {
        nav class="tabs small" aria-label="Breaks" {
            @for (index, point) in breaks.iter().rev().take(24) {
                a href={ (found.address()) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } aria-current=[(*index == at).then_some("page")] { "call " (point.label) " " span class="dim" { (time(visit, point.time)) } }
            }
        }
    }
}

fn gone_lines(found: &Found, lines: &[GoneLine]) -> Markup {
    if lines.is_empty() {
        return html! {};
    }
    let base = found.address();
    html! {
        section class="left" {
            h2 { "Lines of summaries " span class="dim" { "what the merged summary no longer says" } }
            table class="list" {
                thead { tr { th scope="col" { "What" } th scope="col" class="num" { "From" } } }
                tbody {
                    @for line in lines.iter().take(SHOWN) {
                        tr data-row { td dir="auto" { (shown(&line.text)) } td class="num" { (entry_link(&base, line.span.0)) } }
                    }
                }
            }
            @if lines.len() > SHOWN { p class="dim" { (count((lines.len() - SHOWN) as u64)) " more" } }
        }
    }
}

fn kind(visit: &Visit, found: &Found, of: ToldKind, things: &[&LeftThing]) -> Markup {
    if things.is_empty() {
        return html! {};
    }
    let kept = things.iter().filter(|thing| thing.reach == LeftReach::Prompt).count();
    let (base, key) = (found.address(), &found.resolved.conversation.key.0);
    html! {
        section class="left" {
            h2 { (of.heading()) " " span class="dim" { (of.about()) } }
            p class="dim" { (count(kept as u64)) " of " (count(things.len() as u64)) " still stand in the prompt in these words; all can be read back by their entry" }
            table class="list" {
                thead { tr { th scope="col" { "What" } th scope="col" { "Reachable" } th scope="col" class="num" { "Entry" } @if visit.may_decide { th scope="col" { "Decide" } } } }
                tbody {
                    @for thing in things.iter().take(SHOWN) {
                        tr data-row {
                            td dir="auto" { (shown(&thing.text)) }
                            td { (reached(thing)) }
                            td class="num" { (entry_link(&base, thing.seq)) }
                            @if visit.may_decide {
                                td class="acts" { (decide::put_back(visit, key, thing.seq, thing.seq)) " " (decide::reject(visit, key, &format!("s:{}", thing.seq), line_of(thing))) }
                            }
                        }
                    }
                }
            }
            @if things.len() > SHOWN { p class="dim" { (count((things.len() - SHOWN) as u64)) " more" } }
        }
    }
}

/// The words by which a thing is rejected; `None` means the entry, if it does not say them so.
fn line_of(thing: &LeftThing) -> Option<&str> {
    thing.is_said.then_some(thing.text.as_str())
}

/// The smallest span that has all of these.
fn whole(spans: &[(Seq, Seq)]) -> Option<(Seq, Seq)> {
    let first = spans.iter().map(|span| span.0).min()?;
    Some((first, spans.iter().map(|span| span.1).max()?))
}

fn reached(thing: &LeftThing) -> Markup {
    match thing.reach {
        LeftReach::Prompt => {
            html! { span class="state done" { "in the prompt" } " its words still stand there" }
        }
        LeftReach::Search(rank) => {
            html! { span class="state" { "by search" } " result " (rank) ", or " code { "expand s:" (thing.seq) } }
        }
        LeftReach::Entry => html! { span class="state" { "by entry" } " " code { "expand s:" (thing.seq) } },
    }
}
