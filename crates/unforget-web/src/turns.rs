//! Turns of a conversation as HTML: words, thoughts and work with tools.

use maud::{Markup, html};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::ledger::Outcome;
use unforget_engine::reading::{Block, ReadTurn, Speaker, ToolUse, outcome_of};
use unforget_server::when::Clock;
use unforget_text::numbers::one_line;

use crate::markdown::markdown;
use crate::visit::Visit;
use crate::words::{cut, shown, time, whole_time};

/// Most characters of an argument or a result; the entry has all of it.
const TOOL_CHARS: usize = 6_000;

/// Most characters of words or a thought.
const WORD_CHARS: usize = 40_000;

/// Where turns are shown, which decides the form of times and links.
pub(crate) enum TurnPlace<'a> {
    /// A view: times relative to now, links to the views of entries.
    View {
        visit: &'a Visit,
        /// Address of the conversation.
        base: String,
    },
    /// A file by itself: whole times, links inside the file.
    File { clock: &'a Clock },
}

/// The address of an entry, and its anchor on a page.
pub(crate) fn entry_link(base: &str, seq: Seq) -> Markup {
    html! { a class="seq" href={ (base) "/entry/" (seq) } title="this entry: receipt, raw bytes, how prompts show it" { "s:" (seq) } }
}

impl TurnPlace<'_> {
    /// A turn.
    pub(crate) fn turn(&self, turn: &ReadTurn) -> Markup {
        html! {
            article class="turn" {
                @if turn.time.is_some() { p class="when dim" { (self.time(turn.time)) } }
                @for (block, place) in turn.blocks.iter().zip(&turn.places) { (self.block(block, *place)) }
            }
        }
    }

    fn time(&self, at: Option<Timestamp>) -> Markup {
        match self {
            Self::View { visit, .. } => time(visit, at),
            Self::File { clock } => whole_time(clock, at),
        }
    }

    fn entry_link(&self, seq: Seq) -> Markup {
        match self {
            Self::View { base, .. } => entry_link(base, seq),
            Self::File { .. } => html! { a class="seq" href={ "#s" (seq) } { "s:" (seq) } },
        }
    }

    fn block(&self, block: &Block, place: Seq) -> Markup {
        match block {
            Block::Said(speaker, text) => {
                let (text, is_cut) = cut(text, WORD_CHARS);
                html! {
                    div id={ "s" (place) } class={ "said by-" (speaker.name()) } data-entry dir="auto" {
                        p class="who" { (speaker.name()) " " (self.entry_link(place)) }
                        @if *speaker == Speaker::Host { pre class="plain" { (text) } } @else { (markdown(&text)) }
                        @if is_cut { (self.cut_mark()) }
                    }
                }
            }
            Block::Thought(text) => html! {
                div id={ "s" (place) } class="fold" data-entry {
                    details class="thought" {
                        summary { "thinking: " span dir="auto" { (shown(&one_line(text, 90))) } }
                        pre class="plain" dir="auto" { (cut(text, WORD_CHARS).0) }
                    }
                    (self.entry_link(place))
                }
            },
            Block::Tool(tool) => self.work(tool, place),
        }
    }

    fn work(&self, tool: &ToolUse, place: Seq) -> Markup {
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
                    @if let Some(edit) = edit(&tool.arguments) { (edit) } @else if !tool.arguments.is_empty() { (self.long(&tool.arguments)) }
                    @if !tool.result.is_empty() { (self.long(&tool.result)) }
                }
                (self.entry_link(place))
            }
        }
    }

    fn long(&self, text: &str) -> Markup {
        let (text, is_cut) = cut(text, TOOL_CHARS);
        html! {
            @if text.starts_with("diff ") || text.starts_with("--- ") || text.contains("\n@@ ") { (diff(&text)) } @else { pre tabindex="0" { (text) } }
            @if is_cut { (self.cut_mark()) }
        }
    }

    fn cut_mark(&self) -> Markup {
        match self {
            Self::View { .. } => html! { p class="dim" { "Cut here: the entry has all of it." } },
            Self::File { .. } => html! { p class="dim" { "Cut here: the store has all of it." } },
        }
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
