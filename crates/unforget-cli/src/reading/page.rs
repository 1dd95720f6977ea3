//! Turns as a page for a browser: one file, no network, no scripts, light and dark.

use super::{Block, ReadTurn, Speaker, ToolUse, ToolsShown, outcome_of, put};
use crate::html::escape;
use crate::output::visible;
use crate::when::Clock;

const CSS: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}\
section{border-top:1px solid #8886;margin-top:1.5rem}h2{font-size:.85rem;opacity:.6;font-weight:400}\
.said{white-space:pre-wrap;overflow-wrap:anywhere;margin:.6rem 0}.you{background:#8882;border-radius:.5rem;padding:.6rem .8rem}\
.host,.thought{opacity:.6}.thought{font-style:italic}.tool{font:13px/1.4 ui-monospace,monospace;opacity:.8;margin:.2rem 0}\
.failed{color:#c33;opacity:1}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.5rem;border-radius:.3rem}";

/// The start of the page.
pub(crate) fn head(title: &str, facts: &str) -> String {
    let (title, facts) = (text(title), text(facts));
    format!(
        "<!doctype html>\n<html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{title}</title><style>{CSS}</style></head><body>\n<h1>{title}</h1>\n<p>{facts}</p>\n"
    )
}

/// The end of the page.
pub(crate) const END: &str = "</body></html>\n";

/// A turn as a section.
pub(crate) fn turn(turn: &ReadTurn, tools: ToolsShown, clock: &Clock) -> String {
    let when = turn.time.map(|time| format!(" · {}", clock.full(time))).unwrap_or_default();
    let number = turn.number;
    let mut out = format!("<section id=\"turn-{number}\"><h2>{number}{when}</h2>\n");
    for block in &turn.blocks {
        match block {
            Block::Said(speaker, said) => {
                let class = if *speaker == Speaker::Person { "you" } else { speaker.name() };
                put(&mut out, format_args!("<div class=\"said {class}\">{}</div>\n", text(said)));
            }
            Block::Thought(said) => {
                put(&mut out, format_args!("<div class=\"said thought\">{}</div>\n", text(said)));
            }
            Block::Tool(tool) => out.push_str(&work(tool, tools)),
        }
    }
    out + "</section>\n"
}

fn work(tool: &ToolUse, tools: ToolsShown) -> String {
    let (mark, word) = outcome_of(tool.outcome);
    let error = tool.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let line = text(&format!("{mark} {}{error}", tool.what));
    if tools != ToolsShown::Full {
        return format!("<div class=\"tool {word}\">{line}</div>\n");
    }
    format!(
        "<details class=\"tool {word}\"><summary>{line}</summary><pre>{}</pre><pre>{}</pre></details>\n",
        text(&tool.arguments),
        text(&tool.result)
    )
}

fn text(text: &str) -> String {
    escape(&visible(text))
}
