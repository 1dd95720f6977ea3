//! Calls: the newest prompts of live conversations, and what changes while somebody looks.

use std::collections::{BTreeMap, BTreeSet};

use maud::html;
use unforget_core::id::{ConversationId, ConversationKey};
use unforget_text::numbers::{count, percent};

use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Viewed};
use crate::today;
use crate::visit::{Visit, address};
use crate::words::{shown, time};

/// Conversations that are looked at.
const RECENT: usize = 60;

/// Rows shown.
const ROWS: usize = 200;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let mut rows = Vec::new();
    let recent = visit.engine.recent(RECENT)?;
    let ids: BTreeSet<ConversationId> = recent.iter().map(|one| one.id).collect();
    let named = visit.engine.recognised(&|stored| ids.contains(&stored.id))?;
    let titles: BTreeMap<&ConversationKey, String> =
        named.iter().map(|one| (&one.stored.key, one.title())).collect();
    for one in &recent {
        let recipes = visit.engine.recipes(one.id)?;
        rows.extend(recipes.into_iter().map(|(number, recipe)| (one.key.clone(), number, recipe)));
    }
    rows.sort_by_key(|(_, _, recipe)| std::cmp::Reverse(recipe.time));
    rows.truncate(ROWS);
    let body = html! {
        h1 class="quiet" { "Calls" }
        section class="live-calls" {
            h2 { "Now" }
            p id="feed-state" class="dim" role="status" { "What happens is listed here while this page is open. It needs JavaScript; the list below does not." }
            ol id="feed" class="feed" aria-label="What happens now" {}
        }
        (today::section(visit)?)
        h2 { "Prompts that were sent" }
        @if rows.is_empty() {
            (empty("No prompt was sent through this daemon yet.", &html! { code { "unforget run -- claude" } " sends its calls through it; imported conversations have their prompts under Context." }))
        } @else {
            table class="list" {
                thead { tr { th scope="col" { "When" } th scope="col" { "Conversation" } th scope="col" { "Prompt" } th scope="col" class="num" { "Tokens" } th scope="col" class="num" { "Of its window" } th scope="col" { "Rung" } th scope="col" { "Break" } th scope="col" class="num" { "Billed again" } } }
                tbody {
                    @for (key, number, recipe) in &rows {
                        tr data-row {
                            td { (time(visit, Some(recipe.time))) }
                            td { a href=(address(key)) dir="auto" title=(shown(&key.0)) { @match titles.get(key) { Some(title) => (title), None => (shown(&key.0)) } } }
                            td { a href={ (address(key)) "/context?at=r" (number) } { "r" (number) } }
                            td class="num" { (count(recipe.tokens.expected)) }
                            td class="num" { (percent(recipe.bound as f64 / recipe.window_now.max(1) as f64)) }
                            td { (recipe.rung.name()) }
                            td { @if let Some(broken) = recipe.broken { span class="state failed" title=(broken.cause.words()) { (broken.cause.name()) } } }
                            td class="num" { @if let Some(broken) = recipe.broken { (count(broken.rebilled)) } }
                        }
                    }
                }
            }
        }
    };
    Ok(Reply::page(frame(visit, &Frame { title: "Calls", here: Here::Calls, of: None }, &body)))
}
