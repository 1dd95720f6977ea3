//! `unforget grep`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;

use regex::Regex;
use unforget_core::id::ConversationKey;
use unforget_engine::Engine;
use unforget_engine::recall::{GrepAnswer, GrepMatch, GrepQuery};

use super::search::{EARLIER, say_conversation, say_lines};
use super::{confined, role_of, time_of};
use crate::app::App;
use crate::args::GrepArgs;
use crate::failure::{Exit, Outcome};
use crate::found::{FoundLine, lines};
use crate::json::{GrepJson, id_of};
use crate::output::paint;
use crate::recognised::{Grouped, ResultGroup, groups, some};
use crate::text;
use crate::when::Clock;

/// Most lines that are shown of an entry.
const ENTRY_LINES: usize = 20;

/// Largest entry whose text is decoded to show lines, in tokens. A larger entry is shown as stored.
const ENTRY_TOKENS: u64 = 2_000_000;

/// Finds a regular expression in every stored byte.
pub(crate) fn run(app: &mut App, args: &GrepArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let words = args.word && !args.fixed;
    let wanted = GrepQuery {
        pattern: if words { format!(r"\b(?:{})\b", args.regex) } else { pattern_of(args) },
        is_literal: args.fixed && !args.word,
        conversation: confined(&engine, args.conversation.as_deref())?,
        role: args.role.map(role_of),
        since: time_of(args.since.as_deref())?,
        until: time_of(args.until.as_deref())?,
        limit: Some(args.limit),
        ignore_case: args.ignore_case,
        ..GrepQuery::default()
    };
    let answer = args.place.filter()?.confine(engine.clone())?.grep(&wanted)?;
    app.tell_broken(&engine);
    if app.out.json {
        app.out.json(&GrepJson::from(&answer))?;
        return Ok(Exit::Done);
    }
    let keys: BTreeSet<_> = answer.matches.iter().map(|found| &found.conversation).collect();
    let grouped = Grouped::new(some(&engine, &keys)?);
    let left = Cell::new(args.limit);
    let shown = EntryFinder { engine: &engine, regex: regex_of(&wanted), context: args.context, left };
    for ResultGroup { key, results } in groups(&answer.matches, |found| &found.conversation) {
        let entries = shown.entries(key, &results)?;
        if entries.is_empty() {
            break;
        }
        say_group(app, args, key, &grouped, &entries)?;
    }
    looked_at(app, &answer);
    Ok(Exit::Done)
}

/// The pattern for the engine; a literal that must be whole words is an expression.
fn pattern_of(args: &GrepArgs) -> String {
    if args.fixed && args.word { format!(r"\b{}\b", regex::escape(&args.regex)) } else { args.regex.clone() }
}

/// The pattern for lines of decoded text. `None` if it is too large: then matches are shown as they are stored.
fn regex_of(wanted: &GrepQuery) -> Option<Regex> {
    let pattern = if wanted.is_literal { regex::escape(&wanted.pattern) } else { wanted.pattern.clone() };
    regex::RegexBuilder::new(&pattern).case_insensitive(wanted.ignore_case).size_limit(1 << 20).build().ok()
}

/// The lines found in one entry.
struct FoundEntry<'a> {
    found: &'a GrepMatch,
    lines: Vec<FoundLine>,
}

/// Finds the lines of entries that matched.
struct EntryFinder<'a> {
    engine: &'a Engine,
    regex: Option<Regex>,
    context: usize,
    /// Lines that may still be shown.
    left: Cell<usize>,
}

impl EntryFinder<'_> {
    /// The entries of one conversation, each once.
    fn entries<'m>(&self, key: &ConversationKey, found: &[&'m GrepMatch]) -> Outcome<Vec<FoundEntry<'m>>> {
        let mut entries: Vec<FoundEntry<'m>> = Vec::new();
        for one in found {
            if self.left.get() == 0 {
                break;
            }
            if let Some(last) = entries.last_mut().filter(|last| last.found.seq == one.seq) {
                let is_stored = last.lines.iter().all(|line| line.number == usize::MAX);
                let line = stored_line(one);
                if is_stored && !last.lines.contains(&line) {
                    self.left.update(|left| left.saturating_sub(1));
                    last.lines.push(line);
                }
                continue;
            }
            let lines = self.lines(key, one)?;
            let lines = if lines.is_empty() { vec![stored_line(one)] } else { lines };
            let shown = lines.iter().filter(|line| !line.matches.is_empty()).count();
            self.left.update(|left| left.saturating_sub(shown));
            entries.push(FoundEntry { found: one, lines });
        }
        Ok(entries)
    }

    /// The lines of the entry's text that match; none if the match is elsewhere in its record.
    fn lines(&self, key: &ConversationKey, one: &GrepMatch) -> Outcome<Vec<FoundLine>> {
        let Some(regex) = &self.regex else { return Ok(Vec::new()) };
        let page = self.engine.expand(None, &id_of(&key.0, one.seq.0), ENTRY_TOKENS, None)?;
        let text = page.items.first().map(|item| item.text.as_str()).unwrap_or_default();
        let find = |line: &str| regex.find_iter(line).map(|found| found.range()).collect();
        Ok(lines(text, self.context, ENTRY_LINES.min(self.left.get()), &find))
    }
}

/// A match in a record that is no text: the line around it, with JSON's escapes undone.
fn stored_line(one: &GrepMatch) -> FoundLine {
    let part = |range: Range<usize>| one.snippet.get(range).unwrap_or_default();
    let (before, behind) = (part(0..one.shown.start), part(one.shown.end..one.snippet.len()));
    let before = before.rsplit("\\n").next().unwrap_or_default();
    let behind = behind.split("\\n").next().unwrap_or_default();
    let (mut text, found) = (unescaped(before), unescaped(part(one.shown.clone())));
    let matched = text.len()..text.len() + found.len();
    text.push_str(&found);
    text.push_str(&unescaped(behind));
    FoundLine { number: usize::MAX, at: 0, text, matches: vec![matched] }
}

/// Text without the escapes of a JSON string, as far as a cut piece of one shows them.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(one) = rest.next() {
        let escaped = if one == '\\' { rest.next() } else { None };
        match escaped {
            Some('n' | 'r' | 't') => out.push(' '),
            Some(plain @ ('"' | '\\' | '/')) => out.push(plain),
            Some(other) => out.extend(['\\', other]),
            None => out.push(one),
        }
    }
    out
}

fn say_group(
    app: &mut App,
    args: &GrepArgs,
    key: &ConversationKey,
    grouped: &Grouped,
    entries: &[FoundEntry<'_>],
) -> Outcome<()> {
    let p = app.out.palette;
    let clock = Clock::here();
    let found = grouped.get(key);
    let name = found.map_or(key.0.as_str(), |found| found.name.as_str());
    let count: usize =
        entries.iter().flat_map(|one| &one.lines).filter(|line| !line.matches.is_empty()).count();
    if args.only_matching {
        for line in entries.iter().flat_map(|one| &one.lines) {
            for range in &line.matches {
                writeln!(app.out, "{}", line.text.get(range.clone()).unwrap_or_default())?;
            }
        }
        return Ok(());
    }
    if args.list || args.count {
        let count = if args.count { format!("{count:>6}  ") } else { String::new() };
        write!(app.out, "{count}{}  ", paint(p.ours, text::one_line(name, 200)))?;
        return say_conversation(app, found, &clock);
    }
    say_conversation(app, found, &clock)?;
    for one in entries {
        let when = one.found.time.map(|time| clock.short(time)).unwrap_or_default();
        let who = one.found.role.name();
        let id = text::one_line(&id_of(name, one.found.seq.0), 200);
        let mark = if one.found.is_earlier { EARLIER } else { "" };
        writeln!(app.out, "  {}  {}", paint(p.ours, id), paint(p.dim, format_args!("{who} · {when}{mark}")))?;
        say_lines(app, &one.lines, args.line_number)?;
    }
    Ok(writeln!(app.out)?)
}

fn looked_at(app: &App, answer: &GrepAnswer) {
    let p = app.out.notes;
    let line = format!(
        "{}; {} searched of {}, {} of {} read",
        text::plural(answer.matches.len() as u64, "match"),
        text::count(answer.entries_searched),
        text::plural(answer.entries_total, "entry"),
        text::count(answer.chunks_scanned),
        text::plural(answer.chunks_total, "chunk"),
    );
    app.out.note(paint(p.dim, line));
    if answer.stopped_at_limit {
        app.out.note("there may be more: raise -m to see them");
    }
    if answer.stopped_at_deadline {
        app.out.note(paint(
            p.bad,
            "time ran out before everything was read: name a conversation or a longer pattern",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_table() {
        let table = [
            (r#"if a != \"\" {\tb"#, "if a != \"\" { b", "quotes and tabs"),
            (r"C:\\x \u00fc", r"C:\x \u00fc", "a backslash; others stay"),
            (r"cut \", r"cut \", "half an escape"),
        ];
        for (text, want, why) in table {
            assert_eq!(unescaped(text), want, "{why}");
        }
    }
}
