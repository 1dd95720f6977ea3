//! `unforget list`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use unforget_core::id::ConversationKey;
use unforget_engine::Engine;

use super::time_of;
use super::usage::{RecordedUse, by_conversation};
use crate::app::App;
use crate::args::ListArgs;
use crate::columns::{Cell, cut_middle, fit};
use crate::failure::{Exit, Outcome};
use crate::json::ListedJson;
use crate::output::paint;
use crate::recognised::{RecognisedConversation, everything};
use crate::text;
use crate::when::Clock;

/// Columns from which the host is shown too.
const HOST_FROM: usize = 90;

/// Most columns of a name. Names differ at their beginnings or ends, so both are shown.
const NAME: usize = 24;

/// Lists conversations: on a terminal the newest last, at the prompt; otherwise the newest first.
pub(crate) fn run(app: &mut App, args: &ListArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let all = everything(&engine)?;
    app.tell_broken(&engine);
    if all.is_empty() {
        if app.out.json {
            app.out.json(&Vec::<ListedJson>::new())?;
        }
        app.out.note("the store is empty; import something: unforget import --discover");
        return Ok(Exit::Done);
    }
    let total = all.len();
    let mut chosen = choose(all, args)?;
    chosen.sort_by_key(|one| Reverse(one.last()));
    let uses = args.cost.then(|| by_conversation(&engine)).transpose()?;
    if app.out.json {
        chosen.truncate(args.limit.unwrap_or(usize::MAX));
        let list: Vec<_> =
            chosen.iter().map(|one| listed(&engine, one, uses.as_ref())).collect::<Outcome<_>>()?;
        app.out.json(&list)?;
        return Ok(Exit::Done);
    }
    if chosen.is_empty() {
        app.out.note(format_args!("no conversation fits, of {}", text::plural(total as u64, "conversation")));
        return Ok(Exit::Done);
    }
    say(app, args, &chosen, uses.as_ref())?;
    chosen.truncate(args.limit.unwrap_or(usize::MAX));
    say_unfinished(app, &engine, &chosen)?;
    Ok(Exit::Done)
}

/// What the conversations used, if it was asked for.
type Uses = BTreeMap<ConversationKey, RecordedUse>;

fn listed(engine: &Engine, one: &RecognisedConversation, uses: Option<&Uses>) -> Outcome<ListedJson> {
    let listed = ListedJson::new(one, engine.is_unfinished(&one.stored)?);
    let Some(uses) = uses else { return Ok(listed) };
    let used = uses.get(&one.stored.key).cloned().unwrap_or_default();
    let dollars = used.dollars();
    Ok(listed.with_use(used.models.into_iter().collect(), dollars))
}

/// Tells which of the listed conversations are a part of their files.
fn say_unfinished(app: &App, engine: &Engine, chosen: &[RecognisedConversation]) -> Outcome<()> {
    let mut names = Vec::new();
    for one in chosen {
        if engine.is_unfinished(&one.stored)? {
            names.push(text::harmless(&one.name));
        }
    }
    if let Some((first, more)) = names.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        app.out.note(format_args!(
            "not read to its end: the file of {first}{more}; unforget doctor says how to go on"
        ));
    }
    Ok(())
}

/// The conversations that the filters take.
fn choose(all: Vec<RecognisedConversation>, args: &ListArgs) -> Outcome<Vec<RecognisedConversation>> {
    let place = args.place.filter()?;
    place.must_be_known(&all)?;
    let (since, until) = (time_of(args.since.as_deref())?, time_of(args.until.as_deref())?);
    let word = args.word.as_ref().map(|word| word.to_lowercase());
    let is_wanted = |one: &RecognisedConversation| {
        let is_since = since.is_none_or(|since| one.stored.time.is_some_and(|(_, last)| last >= since));
        let is_until = until.is_none_or(|until| one.stored.time.is_some_and(|(first, _)| first < until));
        let is_labelled = (!args.starred || one.label.is_starred)
            && args.tag.iter().all(|tag| one.label.tags.contains(&tag.to_lowercase()));
        is_since
            && is_until
            && is_labelled
            && place.takes(one)
            && word.as_ref().is_none_or(|word| one.has(word))
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// A conversation and its depth below the one that is listed for itself.
struct ListLine<'a> {
    one: &'a RecognisedConversation,
    depth: usize,
}

/// The lines in the order of the list. Sub-agents of a listed conversation stand under it, or are left out.
///
/// * `chosen` - newest first.
fn lines<'a>(
    chosen: &'a [RecognisedConversation],
    args: &ListArgs,
    is_newest_last: bool,
) -> Vec<ListLine<'a>> {
    let keys: BTreeSet<_> = chosen.iter().map(|one| &one.stored.key).collect();
    let parent_of = |one: &'a RecognisedConversation| one.above().filter(|parent| keys.contains(parent));
    let mut children: BTreeMap<_, Vec<&RecognisedConversation>> = BTreeMap::new();
    for one in chosen.iter().rev() {
        if let Some(parent) = parent_of(one) {
            children.entry(parent).or_default().push(one);
        }
    }
    let tops = chosen.iter().filter(|one| parent_of(one).is_none()).take(args.limit.unwrap_or(usize::MAX));
    let mut tops: Vec<&RecognisedConversation> = tops.collect();
    if is_newest_last {
        tops.reverse();
    }
    let mut lines = Vec::new();
    for top in tops {
        let mut open = vec![ListLine { one: top, depth: 0 }];
        while let Some(line) = open.pop() {
            let below = children.remove(&line.one.stored.key).filter(|_| args.tree).unwrap_or_default();
            open.extend(below.into_iter().rev().map(|one| ListLine { one, depth: line.depth + 1 }));
            lines.push(line);
        }
    }
    lines
}

fn say(
    app: &mut App,
    args: &ListArgs,
    chosen: &[RecognisedConversation],
    uses: Option<&Uses>,
) -> Outcome<()> {
    let p = app.out.palette;
    let width = app.out.columns();
    let lines = lines(chosen, args, app.out.is_terminal());
    let clock = Clock::here();
    let cells = lines.iter().map(|line| row(line, &clock, width, uses)).collect();
    for (cells, line) in fit(cells, width).into_iter().zip(&lines) {
        let Some((name, rest)) = cells.split_first() else { continue };
        let Some((title, facts)) = rest.split_last() else { continue };
        let is_typed = line.one.known_title().is_some();
        let title = if is_typed { title.clone() } else { paint(p.dim, title) };
        writeln!(app.out, "{}{}{title}", paint(p.ours, name), paint(p.dim, facts.concat()))?;
    }
    let shown = lines.len();
    let hidden = chosen.len() - shown;
    let mut line = text::plural(shown as u64, "conversation");
    if hidden > 0 && args.limit.is_none() {
        line = format!("{line}; {} under them: --tree", text::plural(hidden as u64, "conversation"));
    } else if hidden > 0 {
        line = format!("{line} of {}", text::count(chosen.len() as u64));
    }
    app.out.note(paint(app.out.notes.dim, line));
    Ok(())
}

/// The cells of a row; the title is the last one.
fn row(line: &ListLine<'_>, clock: &Clock, width: Option<usize>, uses: Option<&Uses>) -> Vec<Cell> {
    let one = line.one;
    let columns = width.unwrap_or(usize::MAX);
    let indent = "  ".repeat(line.depth.min(8));
    let branch = if line.depth > 0 { "└ " } else { "" };
    let mut cells = vec![
        Cell::new(cut_middle(&text::harmless(&one.name), NAME), NAME),
        Cell::new(one.last().map(|last| clock.short(last)).unwrap_or_default(), 12),
        Cell::number(text::count(one.facts.turns)),
        Cell::new(one.project(), (columns / 6).clamp(8, 28)),
    ];
    if columns >= HOST_FROM {
        cells.push(Cell::new(one.host().to_owned(), 12));
    }
    if let Some(uses) = uses {
        let used = uses.get(&one.stored.key);
        let models = used.map(|used| used.models.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        let models = text::one_line(&text::harmless(&models.unwrap_or_default()), 64);
        cells.push(Cell::number(used.map(RecordedUse::shown).unwrap_or_default()));
        cells.push(Cell::new(models, (columns / 6).clamp(8, 28)));
    }
    let marks = one.marks();
    let space = if marks.is_empty() { "" } else { " " };
    cells.push(Cell::new(format!("{indent}{branch}{marks}{space}{}", one.title()), usize::MAX));
    cells
}
