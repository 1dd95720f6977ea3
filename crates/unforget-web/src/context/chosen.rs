//! What was chosen in the map: an entry's words and how the prompt shows it, or a summary and its sources.

use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_engine::calls::{CallPoint, ShownCall};
use unforget_engine::prompt::{How, Part};
use unforget_text::numbers::{count, plural};

use super::cover::CoverCell;
use super::series::Series;
use crate::frame::Kept;
use crate::reply::Trouble;
use crate::visit::{Found, Visit};
use crate::words::{cut, shown};

/// Most tokens of an entry's words here.
const TOKENS: u64 = 3_000;

/// Most characters of a summary.
const CHARS: usize = 24_000;

/// Parts in the list under the map.
const PARTS: usize = 200;

/// The panel under the map.
pub(super) fn chosen(
    visit: &Visit,
    found: &Found,
    series: &Series,
    point: &CallPoint,
    call: &ShownCall,
) -> Result<Markup, Trouble> {
    let entry = visit.number("e")?;
    let summary = visit.query.get("sum");
    Ok(html! {
        @if entry.is_some() { (words(visit, found, series, point, call)?) }
        @if let Some(name) = summary { (sources(visit, found, series, point, name)?) }
        @if entry.is_none() && summary.is_none() { p class="hint dim" { "Choose a cell to read its words, and a summary to see its sources." } }
        (parts(visit, found, point, &call.parts))
    })
}

/// The part that shows an entry.
fn part_of(parts: &[Part], seq: Seq) -> Option<&Part> {
    let holds = |part: &&Part| (part.span.0..=part.span.1).contains(&seq);
    parts.iter().filter(holds).min_by_key(|part| matches!(part.how, How::Summary { .. } | How::Coarse))
}

fn to_summary(visit: &Visit, found: &Found, point: &CallPoint, name: &str) -> Markup {
    let query = Kept::with(visit, &[("at", Some(&point.label)), ("sum", Some(name))]);
    html! { a href={ (found.address()) "/context" (query) "#sources" } { (shown(name)) } }
}

/// The entry that the query names, and how the prompt shows it.
fn words(
    visit: &Visit,
    found: &Found,
    series: &Series,
    point: &CallPoint,
    call: &ShownCall,
) -> Result<Markup, Trouble> {
    let Some(seq) = visit.number("e")?.map(Seq) else { return Ok(html! {}) };
    let page = series.calls.engine(&visit.engine).expand(
        Some(found.of.conversation),
        &format!("s:{seq}"),
        TOKENS,
        None,
    )?;
    let part = part_of(&call.parts, seq);
    let base = found.address();
    Ok(html! {
        section id="words" class="chosen" aria-labelledby="words-head" {
            h3 id="words-head" { "Entry s:" (seq) }
            p {
                @match part {
                    None => { "This prompt does not show it: " @if point.head.is_none_or(|head| seq > head) { "it came later." } @else { "it is not for models, or not on this path." } },
                    Some(part) => {
                        "Here it is " strong { (CoverCell::of(&part.how).words()) }
                        @if let How::Summary { name, .. } = &part.how { ": " (to_summary(visit, found, point, name)) ", " (count(part.tokens)) " tokens for s:" (part.span.0) " to s:" (part.span.1) }
                        "."
                    }
                }
                " " a href={ (base) "/entry/" (seq) } { "Receipt and raw bytes" } " · " a href={ (base) "?from=" (seq.0.saturating_sub(10)) "#s" (seq) } { "In the conversation" }
            }
            @for item in &page.items {
                @if item.purged { p class="dim" { "Its bytes were purged." } }
                @else if item.text.trim().is_empty() { p class="dim" { "It has no words." } }
                @else { pre class="plain" dir="auto" tabindex="0" { (shown(&item.text)) } }
            }
            @if page.next.is_some() { p class="dim" { "Longer than fits here." } }
        }
    })
}

/// A summary, its words, and what it stands for.
fn sources(
    visit: &Visit,
    found: &Found,
    series: &Series,
    point: &CallPoint,
    name: &str,
) -> Result<Markup, Trouble> {
    let what = series.calls.engine(&visit.engine).describe(Some(found.of.conversation), name)?;
    let (first, last) = what.span;
    let base = found.address();
    let writer = what.writer.as_ref().map_or("nobody", |writer| writer.name());
    Ok(html! {
        section id="sources" class="chosen" aria-labelledby="sources-head" {
            h3 id="sources-head" { "Summary of s:" (first) " to s:" (last) }
            p class="dim" { (shown(name)) " · by " (writer) " · " (plural(what.entries, "entry")) ", " (count(what.tokens)) " tokens of source" }
            p {
                a href={ (base) "?from=" (first) } { "All of its words" }
                @if !what.sources.is_empty() { " · merged from " @for source in &what.sources { (to_summary(visit, found, point, source)) " " } }
            }
            pre class="plain" dir="auto" tabindex="0" { (cut(&what.preview, CHARS).0) }
        }
    })
}

/// The map as a list: for the keyboard, and for who does not see colours.
fn parts(visit: &Visit, found: &Found, point: &CallPoint, parts: &[Part]) -> Markup {
    let query = |seq: Seq| Kept::with(visit, &[("at", Some(&point.label)), ("e", Some(&seq.to_string()))]);
    let base = found.address();
    html! {
        details class="parts" {
            summary { "The same as a list: " (plural(parts.len() as u64, "part")) }
            div class="scroll" tabindex="0" role="region" aria-label="Parts of the prompt" {
                table class="list" {
                    thead { tr { th scope="col" { "Entries" } th scope="col" { "How" } th scope="col" class="num" { "Tokens" } } }
                    tbody {
                        @for part in parts.iter().take(PARTS) {
                            tr data-row {
                                td { a href={ (base) "/context" (query(part.span.0)) "#words" } { "s:" (part.span.0) @if part.span.1 != part.span.0 { " to s:" (part.span.1) } } }
                                td { (CoverCell::of(&part.how).words()) @if let How::Summary { name, .. } = &part.how { ": " (to_summary(visit, found, point, name)) } }
                                td class="num" { (count(part.tokens)) }
                            }
                        }
                    }
                }
            }
            @if parts.len() > PARTS { p class="dim" { (plural((parts.len() - PARTS) as u64, "part")) " more; the map has all of them." } }
        }
    }
}
