//! Search over everything, or one conversation: hits in their context, each with its receipt, and how much was searched.

use std::collections::BTreeMap;

use maud::{Markup, html};
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_engine::host::is_internal;
use unforget_engine::meaning::MeaningReceipt;
use unforget_engine::recall::{Hit, SearchAnswer, SearchQuery};
use unforget_engine::recognise::RecognisedConversation;
use unforget_server::json::id_of;
use unforget_server::when::FORMS;
use unforget_text::numbers::{count, plural};

use crate::decide;
use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Visit, address};
use crate::words::{cut, shown, time};

/// Hits shown.
const HITS: usize = 40;

/// Most characters of a hit.
const CHARS: usize = 700;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let words = visit.query.get("q");
    let found = words.map(|words| search(visit, words)).transpose()?;
    let body = html! {
        h1 class="quiet" { "Search" }
        (form(visit))
        (decide::form(visit))
        @match &found {
            None => (empty("Words, names, questions: any text.", &html! { "A search goes over every stored entry and says how many it read." })),
            Some(answer) => (answered(visit, answer)?),
        }
    };
    let title = words.unwrap_or("Search");
    Ok(Reply::page(frame(visit, &Frame { title, here: Here::Search, of: None }, &body)))
}

fn search(visit: &Visit, words: &str) -> Result<SearchAnswer, Trouble> {
    let at = |name: &str| -> Result<Option<Timestamp>, Trouble> {
        let parsed = visit.query.get(name).map(|text| {
            visit.clock.parse(text).ok_or_else(|| Trouble::new(400, format!("{text} is not a time"), FORMS))
        });
        parsed.transpose()
    };
    let engine = match visit.query.get("project").map(str::to_lowercase) {
        None => visit.engine.clone(),
        Some(project) => {
            let all = visit.engine.recognised(&|stored| !is_internal(&stored.key))?;
            let here = all.iter().filter(|one| one.project().to_lowercase().contains(&project));
            visit.engine.confined(here.map(|one| one.stored.id).collect())
        }
    };
    let conversation = visit.query.get("in").map(|name| engine.resolve(name)).transpose()?;
    let query = SearchQuery {
        text: words.to_owned(),
        conversation: conversation.map(|found| found.conversation.id),
        since: at("since")?,
        until: at("until")?,
        limit: Some(HITS),
        now: Some(visit.clock.now()),
        ..SearchQuery::default()
    };
    Ok(engine.search(&query)?)
}

fn form(visit: &Visit) -> Markup {
    let value = |name: &str| visit.query.get(name).unwrap_or("").to_owned();
    html! {
        form class="filters" method="get" action="/web/search" {
            label class="wide" { "Words" input name="q" type="search" value=(value("q")); }
            label { "Project" input name="project" value=(value("project")); }
            label { "Since" input name="since" value=(value("since")) placeholder="7d, yesterday"; }
            label { "Conversation" input name="in" value=(value("in")); }
            button type="submit" { "Search" }
        }
    }
}

fn answered(visit: &Visit, answer: &SearchAnswer) -> Result<Markup, Trouble> {
    let words_only = answer.meaning.as_ref().and_then(MeaningReceipt::words_only);
    let words_only = words_only.map(|what| html! { p class="bad" role="status" { (shown(&what)) } });
    if answer.results.is_empty() {
        let what = format!("0 of {} searched.", plural(answer.searched, "entry"));
        let absent = answer.absent.iter().map(|word| shown(word)).collect::<Vec<_>>().join(", ");
        return Ok(html! {
            @if let Some(told) = &words_only { (told) }
            (empty(&what, &html! {
                (shown(&answer.evidence))
                @if !absent.is_empty() { " Nowhere: " (absent) "." }
                " Other words may find it; " code { "unforget grep" } " reads every byte."
            }))
        });
    }
    let mut groups: Vec<(&ConversationKey, Vec<&Hit>)> = Vec::new();
    for hit in &answer.results {
        match groups.iter_mut().find(|(key, _)| *key == &hit.conversation) {
            Some((_, hits)) => hits.push(hit),
            None => groups.push((&hit.conversation, vec![hit])),
        }
    }
    let known = visit.engine.recognised(&|stored| groups.iter().any(|(key, _)| **key == stored.key))?;
    let known: BTreeMap<_, _> = known.iter().map(|one| (&one.stored.key, one)).collect();
    Ok(html! {
        @if let Some(told) = &words_only { (told) }
        @if answer.is_weak() { p class="dim" role="status" { "No result holds more than " (answer.held) " % of the words, weighed by rarity: what you look for may not be stored." } }
        p class="dim" role="status" {
            (plural(answer.results.len() as u64, "result")) " of " (plural(answer.matched, "entry")) " with a word of it"
            @if answer.nearby > 0 { ", " (count(answer.nearby)) " beside them" }
            ", "
            (count(answer.searched)) " searched"
            @if answer.searched != answer.total { " of " (count(answer.total)) }
        }
        @for (key, hits) in &groups { (group(visit, key, known.get(key).copied(), hits)?) }
    })
}

fn group(
    visit: &Visit,
    key: &ConversationKey,
    one: Option<&RecognisedConversation>,
    hits: &[&Hit],
) -> Result<Markup, Trouble> {
    let base = address(key);
    let told = one.map(|one| decide::told(visit, &one.stored)).transpose()?;
    Ok(html! {
        section class="hits" {
            h2 { a href=(base) dir="auto" { @if let Some(one) = one { (one.title()) } @else { (shown(&key.0)) } } }
            @if let Some(one) = one { p class="dim" { span dir="auto" { (one.project()) } " · " (one.host()) " · " (time(visit, one.last())) } }
            @if let Some(told) = told { (told) }
            @for hit in hits { (one_hit(visit, &base, hit)) }
        }
    })
}

fn one_hit(visit: &Visit, base: &str, hit: &Hit) -> Markup {
    let (text, is_cut) = cut(hit.text.trim(), CHARS);
    html! {
        article class="hit" data-row {
            p class="dim" {
                a href={ (base) "?from=" (hit.seq.0.saturating_sub(10)) "#s" (hit.seq) } { "s:" (hit.seq) }
                " · " (hit.role.name()) " · " (time(visit, hit.time)) " · "
                a href={ (base) "/entry/" (hit.seq) } title=(shown(&id_of(&hit.conversation.0, hit.seq.0))) { "receipt: bytes " (count(hit.bytes.start)) " to " (count(hit.bytes.end)) }
                @if !hit.also.is_empty() { " · " (plural(hit.also.len() as u64, "copy")) }
                @if visit.may_decide { " · " (decide::put_back(visit, &hit.conversation.0, hit.seq, hit.seq)) " · " (decide::reject(visit, &hit.conversation.0, &format!("s:{}", hit.seq), None)) }
            }
            @if let Some(verdict) = &hit.verdict { p class="bad" { "marked: " (shown(&verdict.why)) } }
            p class="text" dir="auto" { (text) @if is_cut || !hit.is_whole { "…" } }
        }
    }
}
