//! Turns for a terminal.

use unforget_core::ledger::Outcome;
use unicode_width::UnicodeWidthStr;

use super::{Block, ReadTurn, Speaker, ToolUse, ToolsShown, outcome_of, put};
use crate::columns::cut;
use crate::output::{Palette, paint, visible};
use crate::text::one_line;
use crate::when::Clock;

/// Most columns of a line of words: longer lines are hard to read.
const LINE_COLUMNS: usize = 100;

/// How turns are shown.
#[derive(Clone, Copy)]
pub(crate) struct ShownStyle<'a> {
    /// Colours.
    pub(crate) palette: Palette,
    /// Columns of the terminal.
    pub(crate) columns: usize,
    /// How much of tools.
    pub(crate) tools: ToolsShown,
    /// Tells times.
    pub(crate) clock: &'a Clock,
    /// The folder that paths are relative to.
    pub(crate) folder: Option<&'a str>,
}

/// A turn as text.
pub(crate) fn turn(turn: &ReadTurn, style: ShownStyle<'_>) -> String {
    let p = style.palette;
    let mut out = String::new();
    let when = turn.time.map(|time| format!(" · {}", style.clock.short(time))).unwrap_or_default();
    let head = match turn.number {
        0 => format!("── before the first turn{when} "),
        number => format!("── {number}{when} "),
    };
    let line = "─".repeat(style.columns.min(LINE_COLUMNS).saturating_sub(head.width()));
    put(&mut out, format_args!("{}\n", paint(p.dim, format_args!("{head}{line}"))));
    let mut last = None;
    for block in &turn.blocks {
        let speaker = match block {
            Block::Said(speaker, _) => *speaker,
            Block::Thought(_) | Block::Tool(_) => Speaker::Model,
        };
        if last != Some(speaker) {
            let ink = if speaker == Speaker::Person { p.ours } else { p.strong };
            put(&mut out, format_args!("\n{}\n", paint(ink, speaker.name())));
            last = Some(speaker);
        }
        match block {
            Block::Said(Speaker::Host, text) => plain(&mut out, text, style),
            Block::Said(_, text) => words(&mut out, text, style),
            Block::Thought(text) => plain(&mut out, &format!("(thinking) {text}"), style),
            Block::Tool(tool) => work(&mut out, tool, style),
        }
    }
    out.push('\n');
    out
}

/// A tool: one line with the outcome, and on request everything.
fn work(out: &mut String, tool: &ToolUse, style: ShownStyle<'_>) {
    let p = style.palette;
    let (mark, _) = outcome_of(tool.outcome);
    let ink = match tool.outcome {
        Some(Outcome::Done) => p.good,
        Some(Outcome::Failed) => p.bad,
        _ => p.dim,
    };
    let error = tool.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let what = match style.folder {
        Some(folder) => tool.what.replace(&format!("{}/", folder.trim_end_matches('/')), ""),
        None => tool.what.clone(),
    };
    let line = one_line(&visible(&format!("{what}{error}")), 400);
    let line = cut(&line, style.columns.saturating_sub(6));
    put(out, format_args!("  {} {}\n", paint(ink, mark), paint(p.dim, line)));
    if style.tools == ToolsShown::Full {
        for text in [&tool.arguments, &tool.result] {
            for line in text.lines() {
                put(out, format_args!("    {}\n", paint(ink_of(line, style), line)));
            }
        }
    }
}

/// The colour of a line of a diff; dim for any other.
fn ink_of(line: &str, style: ShownStyle<'_>) -> anstyle::Style {
    let p = style.palette;
    match line.as_bytes() {
        [b'+', ..] => p.good,
        [b'-', ..] => p.bad,
        [b'@', b'@', ..] => p.ours,
        _ => p.dim,
    }
}

/// Words in Markdown: headings are strong, code is set apart, long lines are wrapped.
fn words(out: &mut String, text: &str, style: ShownStyle<'_>) {
    let p = style.palette;
    let text = visible(text);
    let mut fence: Option<bool> = None;
    for line in text.lines() {
        let mark = line.trim_start().strip_prefix("```");
        match (mark, fence) {
            (Some(kind), None) => fence = Some(kind.trim() == "diff"),
            (Some(_), Some(_)) => fence = None,
            (None, Some(is_diff)) => {
                let ink = if is_diff { ink_of(line, style) } else { p.sliding };
                put(out, format_args!("    {}\n", paint(ink, line)));
            }
            (None, None) if line.starts_with('#') => {
                put(out, format_args!("{}\n", paint(p.strong, line.trim_start_matches('#').trim())));
            }
            (None, None) => wrap(out, line, style.columns.min(LINE_COLUMNS), &|line| line.to_owned()),
        }
    }
}

/// Words that matter less.
fn plain(out: &mut String, text: &str, style: ShownStyle<'_>) {
    let ink = style.palette.dim;
    for line in visible(text).lines() {
        wrap(out, line, style.columns.min(LINE_COLUMNS), &|line| paint(ink, line));
    }
}

/// Writes a line in pieces of at most `columns`, broken between words, the later ones indented like the first.
fn wrap(out: &mut String, line: &str, columns: usize, ink: &dyn Fn(&str) -> String) {
    let body = line.trim_start_matches(' ');
    let lead = line.len() - body.len();
    let item = if body.starts_with(['-', '*']) { 2 } else { 0 };
    let indent = " ".repeat((lead + item).min(columns / 2));
    let mut piece = " ".repeat(lead.min(columns / 2));
    let mut width = piece.len();
    let mut is_empty = true;
    for word in body.split(' ') {
        let next = word.width();
        if !is_empty && width + 1 + next > columns {
            out.push_str(&ink(piece.trim_end()));
            out.push('\n');
            piece.clone_from(&indent);
            width = indent.len();
            is_empty = true;
        }
        if !is_empty {
            piece.push(' ');
            width += 1;
        }
        piece.push_str(word);
        width += next;
        is_empty = false;
    }
    out.push_str(&ink(piece.trim_end()));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(line: &str, columns: usize) -> String {
        let mut out = String::new();
        wrap(&mut out, line, columns, &|line| line.to_owned());
        out
    }

    #[test]
    fn wrap_table() {
        let table = [
            ("one two three", 9, "one two\nthree\n", "between words"),
            ("- one two three", 9, "- one two\n  three\n", "an item"),
            ("    indented far away", 14, "    indented\n    far away\n", "indented"),
            ("averylongwordthatfitsnowhere", 9, "averylongwordthatfitsnowhere\n", "a word stays whole"),
            ("", 9, "\n", "an empty line"),
        ];
        for (line, columns, want, why) in table {
            assert_eq!(wrapped(line, columns), want, "{why}");
        }
    }
}
