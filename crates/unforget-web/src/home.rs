//! The first view: how much is stored, when it happened, what is newest, and whether the store is well.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use unforget_engine::host::is_internal;
use unforget_store::{Conversation, read_all};
use unforget_text::numbers::{bytes, count, plural, short};

use crate::conversations::newest;
use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::today;
use crate::visit::{Visit, encoded};
use crate::words::{fact, shown};

/// Newest conversations shown.
const NEWEST: usize = 10;

/// Weeks of the activity map.
const WEEKS: i32 = 53;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let mut all = read_all(|page| visit.engine.store().conversations(page))?;
    all.retain(|one| !is_internal(&one.key));
    let body = html! {
        h1 class="quiet" { "Home" }
        @if all.is_empty() {
            (empty("Nothing is stored yet.", &html! { "Run " code { "unforget import --discover" } " in a terminal: it finds the sessions on this machine and asks before it takes them." }))
        } @else {
            (totals(visit, &all)?)
            (today::section(visit)?)
            (activity(visit, &all))
            div class="columns" {
                section { h2 { "Newest" } (newest(visit, NEWEST)?) p class="pager" { a href="/web/conversations" { "All conversations" } } }
                section class="narrow" { h2 { "Agents" } (hosts(&all)) (health(visit)) }
            }
        }
    };
    Ok(Reply::page(frame(visit, &Frame { title: "Home", here: Here::Home, of: None }, &body)))
}

fn totals(visit: &Visit, all: &[Conversation]) -> Result<Markup, Trouble> {
    let sum = |of: fn(&Conversation) -> u64| all.iter().map(of).sum::<u64>();
    let raw = sum(|one| one.raw_bytes);
    // Only the owner may know the size of everything.
    let stored = if visit.is_owner && visit.engine.is_writer() {
        visit.engine.store().sizes()?.iter().map(|table| table.bytes).sum::<u64>()
    } else {
        0
    };
    Ok(html! {
        dl class="facts big" {
            (fact("conversations", count(all.len() as u64)))
            (fact("entries", count(sum(|one| one.entries))))
            (fact("tokens", short(sum(|one| one.tokens))))
            (fact("as received", bytes(raw)))
            @if stored > 0 { (fact("on disk", bytes(stored))) }
        }
    })
}

/// Conversations by the day of their last entry, a column per week.
fn activity(visit: &Visit, all: &[Conversation]) -> Markup {
    let today = visit.clock.today();
    let weekday = i32::from(today.weekday().to_monday_zero_offset());
    let mut days: BTreeMap<i32, u64> = BTreeMap::new();
    for one in all.iter().filter(|one| one.parent.is_none()) {
        let day = one.time.and_then(|(_, last)| visit.clock.day_of(last));
        let ago = day.and_then(|(day, _)| day.until(today).ok()).map(|span| span.get_days());
        if let Some(ago) = ago.filter(|ago| (0..WEEKS * 7).contains(ago)) {
            *days.entry(ago).or_default() += 1;
        }
    }
    let most = days.values().copied().max().unwrap_or(1).max(1);
    let shown = days.values().sum::<u64>();
    let mut cells = String::new();
    for ago in 0..=(WEEKS - 1) * 7 + weekday {
        let at = weekday - ago;
        let (week, day) = (at.div_euclid(7) + WEEKS - 1, at.rem_euclid(7));
        let number = days.get(&ago).copied().unwrap_or(0);
        let level = if number == 0 { 0 } else { 1 + (number * 3).div_ceil(most).min(3) };
        let title =
            if number == 0 { String::new() } else { format!("<title>{ago} days ago: {number}</title>") };
        let (x, y) = (week * 13, day * 13);
        // Writing to a string cannot fail.
        write!(
            cells,
            "<rect class=\"heat-{level}\" x=\"{x}\" y=\"{y}\" width=\"11\" height=\"11\" rx=\"2\">{title}</rect>"
        )
        .ok();
    }
    html! {
        figure class="activity" {
            svg viewBox={ "0 0 " (WEEKS * 13) " 91" } role="img" aria-label={ (plural(shown, "conversation")) " in the last year, by the day of their last entry" } { (PreEscaped(cells)) }
            figcaption class="dim" { (plural(shown, "conversation")) " in the last year, each on the day of its last entry" }
        }
    }
}

fn hosts(all: &[Conversation]) -> Markup {
    let mut hosts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for one in all {
        let host = if one.key.0.starts_with("journal:gateway/") { "gateway" } else { one.format.as_str() };
        let host = if host == "journal" { "live" } else { host };
        let sum = hosts.entry(host).or_default();
        *sum = (sum.0 + 1, sum.1 + one.raw_bytes);
    }
    let mut hosts: Vec<_> = hosts.into_iter().collect();
    hosts.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    html! {
        table class="list" {
            thead { tr { th scope="col" { "Agent" } th scope="col" class="num" { "Conversations" } th scope="col" class="num" { "Size" } } }
            tbody {
                @for (host, (number, size)) in hosts {
                    tr { td { a href={ "/web/conversations?host=" (encoded(host)) } { (shown(host)) } } td class="num" { (count(number)) } td class="num" { (bytes(size)) } }
                }
            }
        }
    }
}

/// Whether the store is well, as far as reading so far tells.
fn health(visit: &Visit) -> Markup {
    let broken = visit.engine.store().broken_rows();
    let lost = visit.engine.store().lost_entries().unwrap_or_default();
    html! {
        @if visit.is_owner {
            h2 { "Store" }
            @if broken.is_empty() && lost.is_empty() {
                p { span class="good" { "✓" } " No damage was met since the start. " a href="/web/trust" { "Trust" } }
            } @else {
                p { span class="bad" { "✗" } " Damage was met. " a href="/web/trust" { "See what, and what to do" } }
            }
        }
    }
}
