//! A conversation, read: turns of words, thoughts and work with tools, a page at a time; and one entry with its receipt.

use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_core::ledger::Outcome;
use unforget_engine::reading::{Block, ReadOptions, ReadTurn, Speaker, ToolUse, TurnReader, outcome_of};
use unforget_engine::recall::PageStart;
use unforget_server::json::id_of;
use unforget_text::numbers::{count, one_line, plural};

use crate::frame::{Frame, Here, empty, frame};
use crate::markdown::markdown;
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit, encoded};
use crate::words::{cut, fact, shown, time};

/// Entries of a page.
const ENTRIES: usize = 120;

/// Most characters of an argument or a result on a page; the entry has all of it.
const TOOL_CHARS: usize = 6_000;

/// Most characters of words or a thought.
const WORD_CHARS: usize = 40_000;

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
        @for turn in &turns { (one_turn(visit, &found, turn)) }
        (pager("below"))
    };
    let title = found.one.title();
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Read, of: Some(&found) }, &body)))
}

fn one_turn(visit: &Visit, found: &Found, turn: &ReadTurn) -> Markup {
    html! {
        article class="turn" {
            @if turn.time.is_some() { p class="when dim" { (time(visit, turn.time)) } }
            @for (block, place) in turn.blocks.iter().zip(&turn.places) { (one_block(found, block, *place)) }
        }
    }
}

/// The address of an entry, and its anchor on a page.
pub(crate) fn entry_link(base: &str, seq: Seq) -> Markup {
    html! { a class="seq" href={ (base) "/entry/" (seq) } title="this entry: receipt, raw bytes, how prompts show it" { "s:" (seq) } }
}

fn one_block(found: &Found, block: &Block, place: Seq) -> Markup {
    let base = found.address();
    match block {
        Block::Said(speaker, text) => {
            let (text, is_cut) = cut(text, WORD_CHARS);
            html! {
                div id={ "s" (place) } class={ "said by-" (speaker.name()) } data-entry dir="auto" {
                    p class="who" { (speaker.name()) " " (entry_link(&base, place)) }
                    @if *speaker == Speaker::Host { pre class="plain" { (text) } } @else { (markdown(&text)) }
                    @if is_cut { p class="dim" { "Cut here: the entry has all of it." } }
                }
            }
        }
        Block::Thought(text) => html! {
            div id={ "s" (place) } class="fold" data-entry {
                details class="thought" {
                    summary { "thinking: " span dir="auto" { (shown(&one_line(text, 90))) } }
                    pre class="plain" dir="auto" { (cut(text, WORD_CHARS).0) }
                }
                (entry_link(&base, place))
            }
        },
        Block::Tool(tool) => work(&base, tool, place),
    }
}

fn work(base: &str, tool: &ToolUse, place: Seq) -> Markup {
    let (mark, word) = outcome_of(tool.outcome);
    let class = match tool.outcome {
        Some(Outcome::Done) => "done",
        Some(Outcome::Failed) => "failed",
        _ => "open",
    };
    let error = tool.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    html! {
        div id={ "s" (place) } class="fold" data-entry {
            details class={ "tool " (class) } {
                summary {
                    span class="mark" aria-hidden="true" { (mark) } span class="gone" { (word) ": " }
                    span dir="auto" { (shown(&one_line(&format!("{}{error}", tool.what), 220))) }
                }
                @if let Some(edit) = edit(&tool.arguments) { (edit) } @else if !tool.arguments.is_empty() { (long(&tool.arguments)) }
                @if !tool.result.is_empty() { (long(&tool.result)) }
            }
            (entry_link(base, place))
        }
    }
}

fn long(text: &str) -> Markup {
    let (text, is_cut) = cut(text, TOOL_CHARS);
    html! {
        @if text.starts_with("diff ") || text.starts_with("--- ") || text.contains("\n@@ ") { (diff(&text)) } @else { pre tabindex="0" { (text) } }
        @if is_cut { p class="dim" { "Cut here: the entry has all of it." } }
    }
}

/// A change of a file as its lines that went and came, where the arguments of the tool tell both.
fn edit(arguments: &str) -> Option<Markup> {
    let value: serde_json::Value = serde_json::from_str(arguments).ok()?;
    let field = |names: [&str; 3]| names.iter().find_map(|name| value.get(name)?.as_str());
    let old = field(["old_string", "oldText", "old_str"])?;
    let new = field(["new_string", "newText", "new_str"])?;
    let path = field(["file_path", "path", "filePath"]).unwrap_or_default();
    let mut text = format!("--- {path}\n");
    for (sign, side) in [('-', old), ('+', new)] {
        for line in side.lines() {
            text.extend([sign]);
            text.extend([line, "\n"]);
        }
    }
    Some(diff(&cut(&text, TOOL_CHARS).0))
}

/// Lines of a diff.
pub(crate) fn diff(text: &str) -> Markup {
    html! {
        pre class="diff" tabindex="0" {
            @for line in text.lines() {
                @let class = match line.as_bytes().first() { Some(b'+') => "plus", Some(b'-') => "minus", Some(b'@') => "at", _ => "same" };
                span class=(class) { (line) "\n" }
            }
        }
    }
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
        pre class="plain" tabindex="0" { (cut(&String::from_utf8_lossy(&item.raw), TOOL_CHARS).0) }
    };
    let title = format!("s:{seq}");
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Read, of: Some(&found) }, &body)))
}
