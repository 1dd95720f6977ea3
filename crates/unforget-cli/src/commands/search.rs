//! `unforget search`.

use std::collections::BTreeSet;

use anstyle::Style;
use unforget_core::id::Timestamp;
use unforget_engine::recall::{CLUES_SHOWN, Clue, ClueKind, Hit, HitCopy, SearchAnswer, SearchQuery};
use unicode_width::UnicodeWidthStr as _;

use super::{confined, role_of, time_of};
use crate::app::App;
use crate::args::SearchArgs;
use crate::broken_lines::pieces;
use crate::failure::{Exit, Outcome};
use crate::found::{FoundLine, lines, painted, words_in, words_of};
use crate::json::{SearchJson, id_of};
use crate::output::paint;
use crate::recognised::{Grouped, RecognisedConversation, ResultGroup, groups, some};
use crate::text;
use crate::when::Clock;

/// Number of copies of a hit that are named.
const ALSO_SHOWN: usize = 3;

/// Behind an entry that its transcript has no more, or in another form.
pub(super) const EARLIER: &str = " · earlier form";

/// Most lines with words of the query that are shown of a hit.
const LINES_SHOWN: usize = 4;

/// Most characters of a row beside the hits.
const CLUE_CHARS: usize = 280;

/// Lines shown of a hit that has no word of the query in its text.
const FIRST_LINES: usize = 3;

/// Finds entries by words. Without results, it reports how much was searched.
pub(crate) fn run(app: &mut App, args: &SearchArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let wanted = SearchQuery {
        text: args.query.join(" "),
        conversation: confined(&engine, args.conversation.as_deref())?,
        role: args.role.map(role_of),
        author: args.author.clone(),
        tool: args.tool.clone(),
        since: time_of(args.since.as_deref())?,
        until: time_of(args.until.as_deref())?,
        limit: args.limit,
        budget_tokens: args.budget,
        now: Some(Timestamp(jiff::Timestamp::now().as_millisecond())),
        is_unasked: false,
        clues: CLUES_SHOWN,
    };
    let answer = args.place.filter()?.confine(engine.clone())?.search(&wanted)?;
    app.tell_broken(&engine);
    if app.out.json {
        app.out.json(&SearchJson::from(&answer))?;
        return Ok(Exit::Done);
    }
    let of_clues = answer.clues.found.iter().map(|clue| &clue.conversation);
    let keys: BTreeSet<_> = answer.results.iter().flat_map(keys_of).chain(of_clues).collect();
    let grouped = Grouped::new(some(&engine, &keys)?);
    let words = words_of(&wanted.text);
    let clock = Clock::here();
    for ResultGroup { key, results } in groups(&answer.results, |hit| &hit.conversation) {
        let found = grouped.get(key);
        say_conversation(app, found, &clock)?;
        for hit in results {
            let name = found.map_or(key.0.as_str(), |found| found.name.as_str());
            show(app, hit, HitLook { name, words: &words, context: args.context, clock: &clock })?;
            say_also(app, hit, &grouped)?;
            say_verdict(app, hit)?;
        }
        writeln!(app.out)?;
    }
    for (number, clue) in answer.clues.found.iter().enumerate() {
        say_clue(app, clue, &grouped, number == 0)?;
    }
    looked_at(app, &answer)?;
    Ok(Exit::Done)
}

fn keys_of(hit: &Hit) -> impl Iterator<Item = &unforget_core::id::ConversationKey> {
    std::iter::once(&hit.conversation).chain(hit.also.iter().take(ALSO_SHOWN).map(|copy| &copy.conversation))
}

/// The line above the results of a conversation.
pub(super) fn say_conversation(
    app: &mut App,
    found: Option<&RecognisedConversation>,
    clock: &Clock,
) -> Outcome<()> {
    let Some(found) = found else { return Ok(()) };
    let p = app.out.palette;
    let when = found.last().map(|last| clock.short(last)).unwrap_or_default();
    let facts = [found.project(), found.host().to_owned(), when];
    let facts: Vec<_> = facts.iter().filter(|fact| !fact.is_empty()).map(String::as_str).collect();
    let facts = format!("  {}", facts.join(" · "));
    let room =
        app.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(facts.chars().count()).max(20));
    let title = crate::columns::cut(&found.title(), room);
    Ok(writeln!(app.out, "{}{}", paint(p.strong, title), paint(p.dim, facts))?)
}

/// How a hit is shown.
#[derive(Clone, Copy)]
struct HitLook<'a> {
    /// The short name of its conversation.
    name: &'a str,
    words: &'a [String],
    context: usize,
    clock: &'a Clock,
}

fn show(app: &mut App, hit: &Hit, look: HitLook<'_>) -> Outcome<()> {
    let p = app.out.palette;
    let who = text::one_line(hit.author.as_deref().unwrap_or_else(|| hit.role.name()), 40);
    let when = hit.time.map(|time| look.clock.short(time)).unwrap_or_default();
    let id = text::one_line(&id_of(look.name, hit.seq.0), 200);
    let mark = if hit.is_earlier { EARLIER } else { "" };
    writeln!(app.out, "  {}  {}", paint(p.ours, id), paint(p.dim, format_args!("{who} · {when}{mark}")))?;
    let find = |line: &str| words_in(line, look.words);
    let mut found = lines(&hit.text, look.context, LINES_SHOWN, &find);
    if found.is_empty() {
        let written = hit.text.lines().filter(|line| !line.trim().is_empty()).enumerate();
        let first = written.take(FIRST_LINES);
        found = first
            .map(|(number, text)| FoundLine { number, at: 0, text: text.to_owned(), matches: Vec::new() })
            .collect();
    }
    say_lines(app, &found, false)?;
    let shown = found.len();
    if !hit.is_whole || shown < hit.text.lines().filter(|line| !line.trim().is_empty()).count() {
        writeln!(app.out, "    {}", paint(p.dim, "…"))?;
    }
    Ok(())
}

/// Lines with what was found in them; a gap shows lines that are left out.
///
/// * `is_numbered` - whether the number of each line in its text stands before it.
pub(super) fn say_lines(app: &mut App, found: &[FoundLine], is_numbered: bool) -> Outcome<()> {
    let p = app.out.palette;
    let mut next = found.first().map_or(0, |line| line.number);
    for line in found {
        if line.number > next {
            writeln!(app.out, "    {}", paint(p.dim, "…"))?;
        }
        next = line.number.saturating_add(1);
        let mark = if line.matches.is_empty() { '-' } else { ':' };
        let mut number =
            if is_numbered && line.at > 0 { format!("{}{mark}", line.at) } else { String::new() };
        let columns = app.out.columns().map(|columns| columns.saturating_sub(4 + number.len()));
        for piece in painted(line, p.bad, columns) {
            writeln!(app.out, "    {}{piece}", paint(p.good, &number))?;
            // Under the text, not under its number.
            number = " ".repeat(number.len());
        }
    }
    Ok(())
}

/// Shows a row that holds the words of the query, with the entries that it leads to.
fn say_clue(app: &mut App, clue: &Clue, grouped: &Grouped, is_first: bool) -> Outcome<()> {
    let p = app.out.palette;
    if is_first {
        writeln!(app.out, "{}", paint(p.strong, "What is kept about them"))?;
    }
    let name = grouped.get(&clue.conversation).map_or(clue.conversation.0.as_str(), |one| one.name.as_str());
    let entries = clue.names_in(name);
    let row = if clue.kind == ClueKind::Title { name } else { &clue.row };
    let of = if clue.entries.is_empty() { format!(" of {name}") } else { String::new() };
    let from = text::one_line(&format!("from: {} {row}{of}", clue.kind.name()), 120);
    let entries = text::one_line(&entries.join(", "), 200);
    if app.out.columns().is_some_and(|columns| entries.width() + from.width() + 4 > columns) {
        say_wrapped(app, "  ", p.ours, &entries)?;
        say_wrapped(app, "    ", p.dim, &from)?;
    } else {
        writeln!(app.out, "  {}  {}", paint(p.ours, entries), paint(p.dim, from))?;
    }
    say_wrapped(app, "    ", Style::new(), &text::one_line(&text::harmless(&clue.text), CLUE_CHARS))
}

/// Names some copies of a hit, and counts the others.
fn say_also(app: &mut App, hit: &Hit, grouped: &Grouped) -> Outcome<()> {
    let name = |copy: &HitCopy| {
        let name =
            grouped.get(&copy.conversation).map_or(copy.conversation.0.as_str(), |found| found.name.as_str());
        id_of(name, copy.seq.0)
    };
    let names: Vec<String> = hit.also.iter().take(ALSO_SHOWN).map(name).collect();
    let more = hit.also.len().saturating_sub(ALSO_SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    if !names.is_empty() {
        let line = text::one_line(&format!("also in {}{rest}", names.join(", ")), 300);
        say_wrapped(app, "    ", app.out.palette.dim, &line)?;
    }
    Ok(())
}

/// Shows what somebody said of the entry.
fn say_verdict(app: &mut App, hit: &Hit) -> Outcome<()> {
    let Some(verdict) = &hit.verdict else { return Ok(()) };
    let what = verdict
        .line
        .as_deref()
        .map_or_else(|| "rejected".to_owned(), |line| format!("rejected \u{201c}{line}\u{201d}"));
    let instead = verdict.instead.as_deref().map(|name| format!("; instead {name}")).unwrap_or_default();
    let line = text::one_line(&format!("{what} by {}: {}{instead}", verdict.author, verdict.why), 300);
    say_wrapped(app, "    ", app.out.palette.bad, &line)
}

/// A line, broken between words to fit the terminal.
fn say_wrapped(app: &mut App, indent: &str, ink: Style, line: &str) -> Outcome<()> {
    let columns = app.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(indent.len()));
    for piece in pieces(line, columns) {
        let piece = line.get(piece).unwrap_or_default();
        writeln!(app.out, "{indent}{}", paint(ink, piece))?;
    }
    Ok(())
}

fn looked_at(app: &mut App, answer: &SearchAnswer) -> Outcome<()> {
    let dim = app.out.palette.dim;
    if !answer.evidence.is_empty() {
        say_wrapped(app, "", Style::new(), &text::harmless(&answer.evidence))?;
    }
    let by_meaning = match answer.meant {
        0 => String::new(),
        meant => format!(" and {} near in meaning", text::count(meant)),
    };
    let beside = match answer.nearby {
        0 => String::new(),
        nearby => format!(" and {} beside them", text::count(nearby)),
    };
    let line = format!(
        "{} shown of {} that match{beside}{by_meaning}; {} searched of {}",
        text::count(answer.results.len() as u64),
        text::count(answer.matched),
        text::count(answer.searched),
        text::plural(answer.total, "entry"),
    );
    say_wrapped(app, "", dim, &line)?;
    if let Some(meaning) = &answer.meaning {
        say_wrapped(app, "", dim, &text::one_line(&text::harmless(&meaning.to_string()), 300))?;
    }
    if !answer.absent.is_empty() && !answer.results.is_empty() {
        say_wrapped(app, "", dim, &text::harmless(&format!("nowhere: {}", answer.absent.join(", "))))?;
    }
    if answer.is_weak() {
        let weak = format!(
            "no result holds more than {} % of the words, weighed by rarity: what you look for may not be stored",
            answer.held
        );
        say_wrapped(app, "", dim, &weak)?;
    }
    if let Some(first) = answer.results.first() {
        let id = "unforget expand ID: an entry; show NAME: its conversation";
        // Behind the results, not before them.
        app.out.flush()?;
        app.out.note(paint(app.out.notes.dim, if first.is_whole { "" } else { id }));
    }
    Ok(())
}
