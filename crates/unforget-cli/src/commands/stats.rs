//! `unforget stats`.

use unforget_store::read_all;

use crate::app::App;
use crate::args::StatsArgs;
use crate::failure::{Exit, Outcome};
use crate::json::StatsJson;
use crate::text;

/// Counts everything, or one conversation.
pub(crate) fn run(app: &mut App, args: &StatsArgs) -> Outcome {
    let engine = app.read()?;
    let all = match &args.conversation {
        Some(name) => vec![super::resolve(&engine, name)?.conversation],
        None => read_all(|page| engine.store().conversations(page))?,
    };
    // Tables hold all conversations, so their sizes say nothing about one of them.
    let tables = if args.conversation.is_none() { engine.store().sizes()? } else { Vec::new() };
    let stats = StatsJson::new(app.settings.db.value.display().to_string(), &all, tables);
    if app.out.json {
        app.out.json(&stats)?;
    } else {
        say(app, &stats)?;
    }
    Ok(Exit::Done)
}

fn say(app: &mut App, stats: &StatsJson) -> Outcome<()> {
    let mut formats: Vec<_> = stats.formats.iter().collect();
    formats.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let formats: Vec<_> = formats.iter().map(|(name, count)| format!("{count} {name}")).collect();
    writeln!(app.out, "database       {}", stats.db)?;
    writeln!(app.out, "conversations  {}  ({})", text::count(stats.conversations), formats.join(", "))?;
    writeln!(app.out, "entries        {}", text::count(stats.entries))?;
    writeln!(app.out, "tokens         {}", text::count(stats.tokens))?;
    writeln!(app.out, "transcripts    {}", text::bytes(stats.raw_bytes))?;
    if let (Some(stored), Some(ratio)) = (stats.stored_bytes, stats.ratio) {
        writeln!(
            app.out,
            "on disk        {}  ({} of the transcripts)",
            text::bytes(stored),
            text::percent(ratio)
        )?;
    }
    let rows: Vec<_> =
        stats.tables.iter().map(|table| vec![table.name.clone(), text::bytes(table.bytes)]).collect();
    if !rows.is_empty() {
        write!(app.out, "\n{}", text::table(&["table", "bytes"], rows, &[1]))?;
    }
    Ok(())
}
