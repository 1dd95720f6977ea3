//! `unforget stats`.

use unforget_store::read_all;

use crate::app::App;
use crate::args::StatsArgs;
use crate::failure::{Exit, Outcome};
use crate::json::StatsJson;
use crate::text;

/// Counts everything; of one conversation, shows the facts.
pub(crate) fn run(app: &mut App, args: &StatsArgs) -> Outcome {
    if let Some(name) = &args.conversation {
        return super::stats_of::run(app, name, args.entries);
    }
    let engine = app.read()?;
    let all = read_all(|page| engine.store().conversations(page))?;
    app.tell_broken(&engine);
    let tables = engine.store().sizes()?;
    let stats = StatsJson::new(Some(app.settings.db.value.to_string()), &all, tables);
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
    writeln!(app.out, "database       {}", stats.db.as_deref().unwrap_or_default())?;
    let formats = if formats.is_empty() { String::new() } else { format!("  ({})", formats.join(", ")) };
    writeln!(app.out, "conversations  {}{formats}", text::count(stats.conversations))?;
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
