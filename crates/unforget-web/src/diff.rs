//! Two prompts compared: how many bytes they begin with alike, which messages went and came, and which entries changed their form.

use std::collections::BTreeMap;

use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_engine::calls::{CallPoint, ShownCall, segments};
use unforget_engine::prompt::How;
use unforget_text::numbers::{bytes, count, one_line, percent, plural};

use crate::context::{Series, SeriesRead};
use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit};
use crate::words::{cut, fact, shown};

/// Messages of a side that are shown.
const MESSAGES: usize = 80;

/// Most characters of a message.
const CHARS: usize = 4_000;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let series = match Series::read(visit, &found)? {
        SeriesRead::Done(series) => series,
        SeriesRead::Working(page) => return Ok(page.into_reply(visit, &found, Here::Diff)),
    };
    let last = series.calls.points.len().saturating_sub(1);
    let to = match visit.query.get("to") {
        Some(label) => place(&series, label)?,
        None => series.calls.points.iter().rposition(CallPoint::is_break).unwrap_or(last),
    };
    let from = match visit.query.get("from") {
        Some(label) => place(&series, label)?,
        None => to.saturating_sub(1),
    };
    let body = html! {
        h1 class="quiet" { "Diff" }
        (controls(visit, &found, &series, from, to))
        @match (series.calls.points.get(from), series.calls.points.get(to)) {
            (Some(one), Some(other)) if from != to => (compared(visit, &found, &series, one, other)?),
            _ => (empty("There are no two calls to compare.", &html! { "Name two calls above." })),
        }
    };
    let title = format!("Diff of {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Diff, of: Some(&found) }, &body)))
}

fn place(series: &Series, label: &str) -> Result<usize, Trouble> {
    series.calls.find(label).ok_or_else(|| {
        Trouble::new(404, format!("there is no call {label}"), "the context view has all of them")
    })
}

fn controls(visit: &Visit, found: &Found, series: &Series, from: usize, to: usize) -> Markup {
    let label = |at: usize| series.calls.points.get(at).map_or("", |point| &point.label);
    html! {
        form class="filters" method="get" action={ (found.address()) "/diff" } {
            label { "From call" input name="from" value=(label(from)); }
            label { "To call" input name="to" value=(label(to)); }
            @for name in ["window", "model", "dialect", "source"] {
                @if let Some(value) = visit.query.get(name) { input type="hidden" name=(name) value=(value); }
            }
            button type="submit" { "Compare" }
        }
    }
}

/// Number of equal items at the beginning of two lists.
fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

fn compared(
    visit: &Visit,
    found: &Found,
    series: &Series,
    from: &CallPoint,
    to: &CallPoint,
) -> Result<Markup, Trouble> {
    let (was, is) = (
        series.calls.call(&visit.engine, found.of.conversation, from)?,
        series.calls.call(&visit.engine, found.of.conversation, to)?,
    );
    let (Some(was), Some(is)) = (was, is) else {
        return Ok(empty(
            "One of the two prompts does not fit its window.",
            &html! { "Take a larger one in the context view." },
        ));
    };
    let same = common(was.body.as_bytes(), is.body.as_bytes());
    let messages = common(&was.messages, &is.messages);
    let (went, came) = sides(&was.messages, &is.messages);
    Ok(html! {
        dl class="facts" {
            (fact("common beginning", format!("{} of {}", bytes(same as u64), bytes(was.body.len() as u64))))
            (fact("of the earlier prompt", percent(same as f64 / was.body.len().max(1) as f64)))
            (fact("equal messages first", count(messages as u64)))
            (fact("went", count(went.len() as u64)))
            (fact("came", count(came.len() as u64)))
        }
        @if let Some(broken) = to.broken.filter(|_| to.is_break()) { p class="notice" { "Call " (to.label) " broke: " (broken.cause.words()) ", in the " (broken.region.name()) "." } }
        (forms(&was, &is))
        div class="halves" {
            section { h2 { "Went" } (side(&went, '-')) }
            section { h2 { "Came" } (side(&came, '+')) }
        }
    })
}

/// The messages that only one of two prompts has, as often as it has them more.
pub fn sides<'a>(was: &'a [String], is: &'a [String]) -> (Vec<&'a String>, Vec<&'a String>) {
    let count = |list: &'a [String]| {
        let mut counts: BTreeMap<&'a String, usize> = BTreeMap::new();
        for one in list {
            *counts.entry(one).or_default() += 1;
        }
        counts
    };
    let only = |list: &'a [String], mut others: BTreeMap<&'a String, usize>| {
        let is_only = |one: &&'a String| match others.get_mut(*one).filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                false
            }
            None => true,
        };
        list.iter().filter(is_only).collect::<Vec<_>>()
    };
    (only(was, count(is)), only(is, count(was)))
}

fn side(messages: &[&String], sign: char) -> Markup {
    html! {
        @if messages.is_empty() { p class="dim" { "Nothing." } }
        @for message in messages.iter().take(MESSAGES) {
            @let segments = segments(message);
            @let first = segments.iter().map(|one| one.text.as_str()).find(|text| !text.trim().is_empty());
            details class={ "message " (if sign == '+' { "plus" } else { "minus" }) } {
                summary { span aria-hidden="true" { (sign) } " " span dir="auto" { (shown(&one_line(first.unwrap_or(""), 110))) } }
                @for segment in &segments { pre class="plain" dir="auto" tabindex="0" { (cut(&segment.text, CHARS).0) } }
            }
        }
        @if messages.len() > MESSAGES { p class="dim" { (plural((messages.len() - MESSAGES) as u64, "message")) " more" } }
    }
}

/// Entries that changed their form between two prompts, in runs.
fn forms(was: &ShownCall, is: &ShownCall) -> Markup {
    let form = |call: &ShownCall, seq: Seq| {
        let holds = call.parts.iter().filter(|part| (part.span.0..=part.span.1).contains(&seq));
        let part = holds.min_by_key(|part| matches!(part.how, How::Summary { .. } | How::Coarse));
        part.map_or("not there", |part| part.how.name())
    };
    let mut runs: Vec<(Seq, Seq, &str, &str)> = Vec::new();
    for part in was.parts.iter().chain(&is.parts) {
        let (first, last) = part.span;
        let (before, after) = (form(was, first), form(is, first));
        if before == after || runs.iter().any(|(from, to, ..)| (*from..=*to).contains(&first)) {
            continue;
        }
        match runs.last_mut().filter(|run| run.1.0 + 3 >= first.0 && (run.2, run.3) == (before, after)) {
            Some(run) => run.1 = last,
            None => runs.push((first, last, before, after)),
        }
    }
    html! {
        @if !runs.is_empty() {
            details open[runs.len() <= 8] {
                summary { (plural(runs.len() as u64, "run")) " of entries in another form" }
                ul { @for (first, last, before, after) in runs.iter().take(200) { li { "s:" (first) @if first != last { " to s:" (last) } ": " (before) " → " (after) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_table() {
        let list = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let table = [
            ("abc", "abcd", "", "d", "more behind"),
            ("abc", "xbc", "a", "x", "another first"),
            ("aab", "ab", "a", "", "one of two equal ones"),
            ("", "a", "", "a", "all of it"),
            ("ab", "ba", "", "", "another order is no other content"),
        ];
        for (was, is, went, came, why) in table {
            let (was, is) = (list(was), list(is));
            let (a, b) = sides(&was, &is);
            let text = |side: Vec<&String>| side.into_iter().map(String::as_str).collect::<String>();
            assert_eq!((text(a), text(b)), (went.to_owned(), came.to_owned()), "{why}");
        }
        assert_eq!(common(b"abc", b"abx"), 2);
    }
}
