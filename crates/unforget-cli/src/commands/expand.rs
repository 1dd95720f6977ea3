//! `unforget expand`.

use std::io::Write;

use unforget_core::entry::Role;
use unforget_core::id::Seq;
use unforget_engine::recall::{Item, SpanOutline};

use crate::app::App;
use crate::args::ExpandArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::PageJson;
use crate::output::paint;
use crate::text;

/// Most entries that `--raw` writes at once.
const RAW_MAX: usize = 10_000;

/// Shows the entries behind an id, word for word, a page at a time.
pub(crate) fn run(app: &mut App, args: &ExpandArgs) -> Outcome {
    let engine = app.read()?;
    let at_hand = super::confined(&engine, args.conversation.as_deref())?;
    let id = super::entries_of(&engine, &args.id)?;
    if args.raw {
        if app.out.json {
            return Err(Failure::usage("raw bytes are not JSON", "leave out --json or --raw"));
        }
        for raw in engine.expand_raw(at_hand, &id, RAW_MAX)? {
            app.out.bytes().write_all(&raw.body)?;
            writeln!(app.out)?;
        }
        return Ok(Exit::Done);
    }
    let mut page = engine.expand(at_hand, &id, args.page, args.cursor.as_deref())?;
    if app.out.json {
        app.out.json(&PageJson::new(&id, &page))?;
        return Ok(Exit::Done);
    }
    // A person who names a conversation or a range reads what was said and done, not the host's bookkeeping.
    let is_range = id.contains('-') || id.starts_with("sum:");
    let current = super::current_entries(&engine, &args.id)?.filter(|_| !args.all);
    let is_old = |seq: Seq| current.as_ref().is_some_and(|runs| !runs.iter().any(|run| run.contains(&seq.0)));
    let is_left_out = |item: &Item| is_range && !args.all && (item.role == Role::None || is_old(item.seq));
    while page.outline.is_none()
        && page.items.iter().all(is_left_out)
        && let Some(next) = page.next.take()
    {
        page = engine.expand(at_hand, &id, args.page, Some(&next))?;
    }
    page.items.retain(|item| !is_left_out(item));
    if let Some(outline) = &mut page.outline {
        outline.lines.retain(|line| !is_old(line.seq));
        say_outline(app, outline, page.entries)?;
    }
    let p = app.out.palette;
    for item in &page.items {
        let who = item.author.as_deref().unwrap_or_else(|| item.role.name());
        let when = item.time.map(text::minute).unwrap_or_default();
        let purged = if item.purged { "  purged" } else { "" };
        let head = text::harmless(&format!("{}  {who}  {when}{purged}", item.seq));
        writeln!(app.out, "{}", paint(p.ours, head))?;
        writeln!(app.out, "{}\n", text::harmless(&item.text))?;
        for copy in &item.copies {
            let note = format!("also delivered as {}", copy.name);
            writeln!(app.out, "{}\n", paint(p.dim, text::harmless(&note)))?;
        }
    }
    if let Some(next) = &page.next {
        let what = if page.outline.is_some() { "word for word, a page at a time" } else { "more" };
        app.out.note(format_args!("{what}: add --cursor {next}"));
    }
    Ok(Exit::Done)
}

/// Writes an outline: a line per entry.
///
/// * `entries` - number of all entries behind the id.
fn say_outline(app: &mut App, outline: &SpanOutline, entries: u64) -> Outcome<()> {
    let p = app.out.palette;
    for line in &outline.lines {
        let head = text::harmless(&format!("{}  {}", line.seq, line.role.name()));
        writeln!(app.out, "{}  {}", paint(p.ours, head), text::harmless(&line.text))?;
    }
    let entries = text::plural(entries, "entry");
    app.out.note(format_args!(
        "an outline, for {entries} do not fit a page; `unforget expand e:CONVERSATION:NUMBER` reads one whole"
    ));
    if outline.left_out > 0 {
        let left_out = text::plural(outline.left_out, "entry");
        app.out.note(format_args!("{left_out} found no room: expand a shorter range, or add --page"));
    }
    Ok(())
}
