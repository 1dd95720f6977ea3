//! The list of conversations: filters in the address, pages by key, sub-agents under what started them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use unforget_core::id::ConversationKey;
use unforget_engine::host::is_internal;
use unforget_engine::recognise::RecognisedConversation;
use unforget_server::when::FORMS;
use unforget_text::numbers::{bytes, count, plural};

use crate::decide;
use crate::frame::{Frame, Here, empty, frame};
use crate::labels;
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Visit, address};
use crate::words::{shown, time};

/// Conversations on a page, without those below them.
const PAGE: usize = 100;

/// Deepest indentation.
const DEPTH_MAX: usize = 6;

/// Shows the list.
pub(crate) fn list(visit: &Visit) -> Viewed {
    let all = visit.engine.recognised(&|stored| !is_internal(&stored.key))?;
    let (total, hosts, projects) =
        (all.len(), names(&all, |one| one.host().to_owned()), names(&all, RecognisedConversation::project));
    let tags = all.iter().flat_map(|one| one.label.tags.iter().cloned()).collect();
    let mut chosen = choose(visit, all)?;
    chosen.sort_by_key(place);
    let body = html! {
        h1 { "Conversations" }
        (filters(visit, &KnownValues { hosts, projects, tags }))
        @if chosen.is_empty() {
            @if total == 0 {
                (empty("Nothing is stored yet.", &html! { "Run " code { "unforget import --discover" } " in a terminal: it finds the sessions on this machine and asks before it takes them." }))
            } @else {
                (empty(&format!("None of {} is like that.", plural(total as u64, "conversation")), &html! { a href="/web/conversations" { "Take the filters away" } }))
            }
        } @else {
            (rows(visit, &chosen))
        }
    };
    Ok(Reply::page(frame(
        visit,
        &Frame { title: "Conversations", here: Here::Conversations, of: None },
        &body,
    )))
}

/// The place in the list: newest first, those without a time last.
fn place(one: &RecognisedConversation) -> (Reverse<i64>, u64) {
    (Reverse(one.last().map_or(i64::MIN, |last| last.0)), one.stored.id.0)
}

fn names(
    all: &[RecognisedConversation],
    name: impl Fn(&RecognisedConversation) -> String,
) -> BTreeSet<String> {
    all.iter().map(name).filter(|name| !name.is_empty()).collect()
}

fn choose(visit: &Visit, all: Vec<RecognisedConversation>) -> Result<Vec<RecognisedConversation>, Trouble> {
    let lower = |name: &str| visit.query.get(name).map(str::to_lowercase);
    let (project, host, word, tag) = (lower("project"), lower("host"), lower("q"), lower("tag"));
    let is_starred = visit.query.get("star").is_some();
    let since = visit.query.get("since").map(|text| {
        visit.clock.parse(text).ok_or_else(|| Trouble::new(400, format!("{text} is not a time"), FORMS))
    });
    let since = since.transpose()?;
    let is_wanted = |one: &RecognisedConversation| {
        project.as_ref().is_none_or(|project| one.project().to_lowercase().contains(project))
            && host.as_ref().is_none_or(|host| one.is_of_host(host))
            && tag.as_ref().is_none_or(|tag| one.label.tags.contains(tag))
            && (!is_starred || one.label.is_starred)
            && word.as_ref().is_none_or(|word| one.has(word))
            && since.is_none_or(|since| one.last().is_some_and(|last| last >= since))
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// Values that a filter can have.
struct KnownValues {
    hosts: BTreeSet<String>,
    projects: BTreeSet<String>,
    tags: BTreeSet<String>,
}

fn filters(visit: &Visit, known: &KnownValues) -> Markup {
    let value = |name: &str| visit.query.get(name).unwrap_or("").to_owned();
    let KnownValues { hosts, projects, tags } = known;
    let lists = [("project", "Project", projects), ("host", "Agent", hosts), ("tag", "Tag", tags)];
    html! {
        form class="filters" method="get" action="/web/conversations" {
            label { "Words" input name="q" type="search" value=(value("q")) placeholder="in title, folder, branch"; }
            @for (name, label, known) in lists {
                label {
                    (label)
                    input name=(name) value=(value(name)) list={ "known-" (name) } autocomplete="off";
                    datalist id={ "known-" (name) } { @for one in known.iter().take(200) { option value=(one) {} } }
                }
            }
            label { "Since" input name="since" value=(value("since")) placeholder="7d, yesterday, 2026-03-02"; }
            label class="check" { input type="checkbox" name="star" value="1" checked[visit.query.get("star").is_some()]; "Starred" }
            button type="submit" { "Filter" }
        }
    }
}

/// A line and its depth below the conversation that is listed for itself.
struct Line<'a> {
    one: &'a RecognisedConversation,
    depth: usize,
}

/// The lines of a page, and the place of the next one.
fn lines<'a>(chosen: &'a [RecognisedConversation], after: Option<&str>) -> (Vec<Line<'a>>, Option<String>) {
    let keys: BTreeSet<&ConversationKey> = chosen.iter().map(|one| &one.stored.key).collect();
    let above = |one: &'a RecognisedConversation| {
        one.above().filter(|above| keys.contains(above) && **above != one.stored.key)
    };
    let mut below: BTreeMap<&ConversationKey, Vec<&RecognisedConversation>> = BTreeMap::new();
    for one in chosen {
        if let Some(above) = above(one) {
            below.entry(above).or_default().push(one);
        }
    }
    let after = after.and_then(|after| {
        let (last, id) = after.split_once('.')?;
        Some((Reverse(last.parse().ok()?), id.parse().ok()?))
    });
    let tops = chosen.iter().filter(|one| above(one).is_none());
    let mut tops = tops.filter(|one| after.is_none_or(|after| place(one) > after));
    let (mut lines, mut seen, mut last) = (Vec::new(), BTreeSet::new(), None);
    for top in tops.by_ref().take(PAGE) {
        let mut waiting = vec![(top, 0)];
        while let Some((one, depth)) = waiting.pop() {
            if seen.insert(&one.stored.key) {
                lines.push(Line { one, depth });
                let under = below.get(&one.stored.key).into_iter().flatten();
                waiting.extend(under.rev().map(|one| (*one, depth + 1)));
            }
        }
        let (Reverse(time), id) = place(top);
        last = Some(format!("{time}.{id}"));
    }
    (lines, tops.next().and(last))
}

fn rows(visit: &Visit, chosen: &[RecognisedConversation]) -> Markup {
    let (lines, next) = lines(chosen, visit.query.get("after"));
    html! {
        (decide::form(visit))
        table class="list" {
            caption class="dim" { (plural(chosen.len() as u64, "conversation")) ", newest first" }
            thead { tr { th scope="col" { "Title" } th scope="col" { "Project" } th scope="col" { "Agent" } th scope="col" class="num" { "Turns" } th scope="col" class="num" { "Size" } th scope="col" class="num" { "Last" } } }
            tbody {
                @for line in &lines { (row(visit, line)) }
            }
        }
        @if let Some(next) = next {
            p class="pager" { a rel="next" href={ "/web/conversations" (visit.query.with(&[("after", Some(&next))])) } { "Older" } }
        }
    }
}

fn row(visit: &Visit, line: &Line<'_>) -> Markup {
    let one = line.one;
    let depth = line.depth.min(DEPTH_MAX);
    html! {
        tr data-row {
            td class={ "title depth-" (depth) } {
                (labels::star(visit, one))
                a href=(address(&one.stored.key)) dir="auto" { (one.title()) }
                (labels::tags(one))
                " " span class="name dim" { (shown(&one.name)) }
            }
            td dir="auto" { (one.project()) @if let Some(branch) = &one.facts.branch { span class="dim" { " (" (shown(branch)) ")" } } }
            td { (one.host()) }
            td class="num" { (count(one.facts.turns)) }
            td class="num" { (bytes(one.stored.raw_bytes)) }
            td class="num" { (time(visit, one.last())) }
        }
    }
}

/// The newest conversations, for other views.
pub(crate) fn newest(visit: &Visit, most: usize) -> Result<Markup, Trouble> {
    let mut all = visit.engine.recognised(&|stored| !is_internal(&stored.key) && stored.parent.is_none())?;
    all.sort_by_key(place);
    all.truncate(most);
    Ok(html! {
        (decide::form(visit))
        table class="list" {
            thead { tr { th scope="col" { "Title" } th scope="col" { "Project" } th scope="col" { "Agent" } th scope="col" class="num" { "Turns" } th scope="col" class="num" { "Size" } th scope="col" class="num" { "Last" } } }
            tbody { @for one in &all { (row(visit, &Line { one, depth: 0 })) } }
        }
    })
}
