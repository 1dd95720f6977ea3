//! The summaries of a conversation as a tree, from those that merge others down to the entries.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use unforget_engine::Engine;
use unforget_engine::recall::summary_name;
use unforget_store::{SummaryKey, SummaryRow, read_all};
use unforget_text::numbers::{count, plural};

use crate::decide;
use crate::frame::{Frame, Here, Kept, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit};
use crate::words::{shown, time};

/// Summaries of the highest level that are shown.
const ROOTS: usize = 400;

/// Lines of a summary that are shown.
const LINES: usize = 200;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let stored = read_all(|page| visit.engine.store().summaries(found.of.conversation, page))?;
    let jobs = read_all(|page| visit.engine.store().jobs(found.of.conversation, page))?;
    let (engine, rows, is_played) = if stored.is_empty() {
        // Without stored ones: those that the window asked for makes.
        match visit.played(&found)? {
            Ok(played) => {
                let rows = read_all(|page| played.engine().store().summaries(found.of.conversation, page))?;
                (played.engine().clone(), rows, true)
            }
            Err(page) => return Ok(page.into_reply(visit, &found, Here::Summaries)),
        }
    } else {
        (visit.engine.clone(), stored, false)
    };
    let body = html! {
        h1 class="quiet" { "Summaries" }
        (decide::form(visit))
        (decide::standing(visit, &found)?)
        @if let Some(name) = visit.query.get("lines") { (lines(visit, &found, &engine, name, is_played)?) }
        @if rows.is_empty() {
            (empty("There are none: everything of this conversation fits, word for word.", &html! { a href={ (found.address()) "/context?window=32k" } { "See it in a smaller window" } }))
        } @else {
            p class="dim" {
                (plural(rows.len() as u64, "summary"))
                @if is_played { ", made for the window of this view; none is stored" } @else { ", stored" }
                @if !jobs.is_empty() { "; " (plural(jobs.len() as u64, "job")) " for models" }
            }
            (tree(visit, &found, &engine, &rows)?)
        }
    };
    let title = format!("Summaries of {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Summaries, of: Some(&found) }, &body)))
}

/// The lines of a summary, each with what a person can do about it.
fn lines(
    visit: &Visit,
    found: &Found,
    engine: &Engine,
    name: &str,
    is_played: bool,
) -> Result<Markup, Trouble> {
    let what = engine.describe(Some(found.of.conversation), name)?;
    let key = &found.resolved.conversation.key.0;
    let points: Vec<&str> = what
        .preview
        .lines()
        .map(|line| line.trim_start_matches("- ").trim())
        .filter(|line| !line.is_empty())
        .collect();
    Ok(html! {
        section class="left" id="lines" aria-labelledby="lines-head" {
            h2 id="lines-head" { "Lines of s:" (what.span.0) " to s:" (what.span.1) " " (decide::put_back(visit, key, what.span.0, what.span.1)) }
            @if is_played { p class="dim" { "No prompt of this conversation has it: it was made for this view. Reject its entries instead." } }
            table class="list" {
                thead { tr { th scope="col" { "Line" } @if visit.may_decide && !is_played { th scope="col" { "Decide" } } } }
                tbody {
                    @for point in points.iter().take(LINES) {
                        tr data-row {
                            td dir="auto" { (shown(point)) }
                            @if visit.may_decide && !is_played { td class="acts" { (decide::reject(visit, key, name, Some(point))) } }
                        }
                    }
                }
            }
            @if points.len() > LINES { p class="dim" { (count((points.len() - LINES) as u64)) " more" } }
        }
    })
}

struct Tree<'a> {
    visit: &'a Visit,
    found: &'a Found,
    engine: &'a Engine,
    by_key: BTreeMap<SummaryKey, &'a SummaryRow>,
}

fn tree(visit: &Visit, found: &Found, engine: &Engine, rows: &[SummaryRow]) -> Result<Markup, Trouble> {
    let merged: BTreeSet<SummaryKey> = rows.iter().flat_map(|row| row.sources.iter().copied()).collect();
    let by_key = rows.iter().map(|row| (row.key, row)).collect();
    let tree = Tree { visit, found, engine, by_key };
    let mut roots: Vec<_> = rows.iter().filter(|row| !merged.contains(&row.key)).collect();
    roots.sort_by_key(|row| (row.key.grain, row.span));
    let all = roots.len();
    let shown = roots.iter().take(ROOTS).map(|row| tree.node(row, 0)).collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        ul class="tree" { @for one in shown { (one) } }
        @if all > ROOTS { p class="dim" { (plural((all - ROOTS) as u64, "summary")) " more" } }
    })
}

impl Tree<'_> {
    fn node(&self, row: &SummaryRow, depth: usize) -> Result<Markup, Trouble> {
        let name = summary_name(&row.key);
        let writer = self.engine.writer(self.found.of.conversation, &row.key)?;
        let (first, last) = row.span;
        let base = self.found.address();
        let sources = row.sources.iter().filter_map(|key| self.by_key.get(key));
        let below = sources.filter(|_| depth < 32).map(|row| self.node(row, depth + 1));
        let below = below.collect::<Result<Vec<_>, _>>()?;
        let (source, body) = row.tokens;
        Ok(html! {
            li data-row {
                details open[depth == 0 && !below.is_empty()] {
                    summary {
                        span class={ "level level-" (row.key.level.min(5)) } { "level " (row.key.level) } " "
                        "s:" (first) " to s:" (last) " " span class="dim" { (plural(row.count, "entry")) ", " (count(source)) " → " (count(body)) " tokens, by " (writer.name()) ", " (time(self.visit, Some(row.time))) }
                    }
                    p class="pager" {
                        a href={ (base) "/context" (Kept::with(self.visit, &[("sum", Some(&name))])) "#sources" } { "Its words and sources" }
                        a href={ (base) "?from=" (first) } { "Its entries" }
                        a href={ (base) "/summaries" (Kept::with(self.visit, &[("lines", Some(&name))])) "#lines" } { "Its lines" }
                        code { (shown(&name)) }
                    }
                    @if !below.is_empty() { ul { @for one in below { (one) } } }
                }
            }
        })
    }
}
