//! Turns as Markdown.

use super::{Block, ReadTurn, ToolUse, ToolsShown, outcome_of, put};
use crate::output::visible;
use crate::text::one_line;
use crate::when::Clock;

/// A turn as Markdown.
pub(crate) fn turn(turn: &ReadTurn, tools: ToolsShown, clock: &Clock) -> String {
    let when = turn.time.map(|time| format!(" · {}", clock.full(time))).unwrap_or_default();
    let mut out = match turn.number {
        0 => format!("## Before the first turn{when}\n\n"),
        number => format!("## {number}{when}\n\n"),
    };
    for block in &turn.blocks {
        match block {
            Block::Said(speaker, text) => put(&mut out, format_args!("**{}**\n\n{text}\n\n", speaker.name())),
            Block::Thought(text) => {
                let quoted: Vec<_> = text.lines().map(|line| format!("> *{line}*")).collect();
                put(&mut out, format_args!("{}\n\n", quoted.join("\n")));
            }
            Block::Tool(tool) => work(&mut out, tool, tools),
        }
    }
    visible(&out).into_owned()
}

fn work(out: &mut String, tool: &ToolUse, tools: ToolsShown) {
    let (mark, _) = outcome_of(tool.outcome);
    let error = tool.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let line = one_line(&format!("{}{error}", tool.what), 200).replace('`', "'");
    put(out, format_args!("- {mark} `{line}`\n\n"));
    if tools == ToolsShown::Full {
        for text in [&tool.arguments, &tool.result] {
            let fence = fence_for(text);
            put(out, format_args!("{fence}\n{text}\n{fence}\n\n"));
        }
    }
}

/// A fence that is longer than any in the text.
fn fence_for(text: &str) -> String {
    let longest = text.split(|one| one != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
