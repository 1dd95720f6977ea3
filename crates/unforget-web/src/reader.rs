//! A conversation, read: turns of words, thoughts and work with tools, a page at a time; and one entry with its receipt.

use maud::html;
use unforget_core::id::Seq;
use unforget_engine::reading::{ReadOptions, ReadTurn, TurnReader};
use unforget_engine::recall::PageStart;
use unforget_server::json::id_of;
use unforget_text::numbers::{count, plural};

use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::turns::TurnPlace;
use crate::visit::{Visit, encoded};
use crate::words::{cut, fact, shown, time};

/// Entries of a page.
const ENTRIES: usize = 120;

/// Most characters of an entry's bytes in its own view.
const RAW_CHARS: usize = 6_000;

/// Most tokens of an entry's own view.
const ENTRY_TOKENS: u64 = 60_000;

/// Shows a page of a conversation.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let start = match (visit.number("from")?, visit.number("before")?) {
        (Some(seq), _) => PageStart::From(Seq(seq)),
        (None, Some(seq)) => PageStart::Before(Seq(seq)),
        (None, None) => PageStart::Newest,
    };
    let is_all = visit.query.get("all").is_some();
    let page = visit.engine.read_page(found.of, start, ENTRIES)?;
    let (first, last) = (page.entries.first().map(|one| one.seq), page.entries.last().map(|one| one.seq));
    let mut turns = Vec::new();
    let mut each = |turn: ReadTurn| turns.push(turn);
    let mut reader = TurnReader::new(ReadOptions { tools: true, all: is_all }, &mut each);
    page.entries.iter().for_each(|entry| reader.take(entry));
    reader.finish();
    let base = found.address();
    let place = TurnPlace::View { visit, base: base.clone() };
    let to = |name: &str, seq: u64| {
        let query = visit.query.with(&[("from", None), ("before", None), (name, Some(&seq.to_string()))]);
        format!("{base}{query}")
    };
    let older = first.filter(|_| page.has_older).map(|first| to("before", first.0));
    let newer = last.filter(|_| page.has_newer).map(|last| to("from", last.0 + 1));
    let pager = |place: &str| {
        html! {
            nav class="pager" aria-label={ "Pages, " (place) } {
                @if let Some(older) = &older { a rel="prev" href=(older) { "← Older" } }
                @if page.has_older { a href={ (base) "?from=0" } { "Beginning" } }
                @if let Some(newer) = &newer { a rel="next" href=(newer) { "Newer →" } a href=(base) { "End" } }
                span class="dim" { @if let (Some(first), Some(last)) = (first, last) { "entries " (first) " to " (last) " of " (count(found.one.stored.entries)) } }
                a class="plain" href={ (base) (visit.query.with(&[("all", if is_all { None } else { Some("1") })])) } { @if is_all { "Words only" } @else { "Every entry" } }
            }
        }
    };
    let body = html! {
        h1 class="quiet" { "Read" }
        (pager("above"))
        @if turns.is_empty() {
            (empty("Nothing on this page has words for a person.", &html! { a href={ (base) (visit.query.with(&[("all", Some("1"))])) } { "Show every entry" } }))
        }
        @for turn in &turns { (place.turn(turn)) }
        (pager("below"))
    };
    let title = found.one.title();
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Read, of: Some(&found) }, &body)))
}

/// Shows one entry: its words, its receipt, the bytes as received, and how the newest prompt shows it.
pub(crate) fn entry(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let text = visit.name("seq");
    let wrong = || Trouble::new(400, format!("{text} names no entry"), "an entry is a number, such as 12");
    let seq: u64 = text.parse().map_err(|_| wrong())?;
    let key = &found.resolved.conversation.key;
    let id = id_of(&key.0, seq);
    let page = visit.engine.expand(Some(found.of.conversation), &id, ENTRY_TOKENS, None)?;
    let item = page.items.first().ok_or_else(wrong)?;
    let raw = format!("/api/v1/raw?id={}", encoded(&id));
    let base = found.address();
    let body = html! {
        h1 { "Entry s:" (seq) }
        dl class="facts" {
            (fact("role", item.role.name()))
            div class="fact" { dt { "time" } dd { (time(visit, item.time)) } }
            (fact("tokens", count(item.tokens)))
            (fact("bytes", format!("{} to {}", count(item.bytes.start), count(item.bytes.end))))
            (fact("id", shown(&id)))
            @if let Some(host) = &item.host_id { (fact("host's id", shown(host))) }
        }
        p class="pager" {
            @if seq > 0 { a rel="prev" href={ (base) "/entry/" (seq - 1) } { "← s:" (seq - 1) } }
            @if seq + 1 < found.one.stored.entries { a rel="next" href={ (base) "/entry/" (seq + 1) } { "s:" (seq + 1) " →" } }
            a href={ (base) "?from=" (seq.saturating_sub(10)) "#s" (seq) } { "In the conversation" }
            a href=(raw) download { "Raw bytes" }
            a href={ (base) "/context?e=" (seq) } { "In the prompts" }
        }
        @if item.purged { (empty("This entry was purged: its bytes are gone, and its place in the chain stays.", &html! { "unforget verify checks the chain around it." })) }
        @else if item.text.trim().is_empty() { (empty("This entry has no words: it is the host's bookkeeping.", &html! { a href=(raw) download { "Its bytes" } })) }
        @else { pre class="plain whole" dir="auto" tabindex="0" { (shown(&item.text)) } }
        @if page.next.is_some() { p class="dim" { "Longer than this view shows; the raw bytes have all of it." } }
        @if !item.copies.is_empty() { p class="dim" { (plural(item.copies.len() as u64, "copy")) " of it came too." } }
        h2 { "As received" }
        pre class="plain" tabindex="0" { (cut(&String::from_utf8_lossy(&item.raw), RAW_CHARS).0) }
    };
    let title = format!("s:{seq}");
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Read, of: Some(&found) }, &body)))
}
