//! `unforget stats`.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use unforget_store::Conversation;

use crate::app::App;
use crate::args::StatsArgs;
use crate::failure::{Exit, Outcome};
use crate::text;

/// What is stored and what it takes.
#[derive(Serialize)]
struct StatsJson {
    db: String,
    conversations: u64,
    entries: u64,
    tokens: u64,
    raw_bytes: u64,
    stored_bytes: Option<u64>,
    ratio: Option<f64>,
    formats: BTreeMap<String, u64>,
    tables: Vec<TableJson>,
}

#[derive(Serialize)]
struct TableJson {
    name: String,
    bytes: u64,
}

/// Counts everything, or one conversation.
pub(crate) fn run(app: &mut App, args: &StatsArgs) -> Outcome {
    let engine = app.read()?;
    let all = match &args.conversation {
        Some(name) => vec![super::resolve(&engine, name)?.conversation],
        None => engine.store().conversations()?,
    };
    // Tables hold all conversations: their sizes say nothing about one.
    let tables = if args.conversation.is_none() { engine.store().sizes()? } else { Vec::new() };
    let stats = count(app, &all, tables);
    if app.out.json {
        app.out.json(&stats)?;
    } else {
        say(app, &stats)?;
    }
    Ok(Exit::Done)
}

fn count(app: &App, all: &[Conversation], tables: Vec<(String, u64)>) -> StatsJson {
    let mut formats = BTreeMap::new();
    for conversation in all {
        *formats.entry(conversation.format.clone()).or_default() += 1;
    }
    let raw_bytes = all.iter().map(|conversation| conversation.raw_bytes).sum();
    let stored_bytes = (!tables.is_empty()).then(|| tables.iter().map(|(_, bytes)| bytes).sum::<u64>());
    StatsJson {
        db: app.settings.db.value.display().to_string(),
        conversations: all.len() as u64,
        entries: all.iter().map(|conversation| conversation.entries).sum(),
        tokens: all.iter().map(|conversation| conversation.tokens).sum(),
        raw_bytes,
        stored_bytes,
        ratio: stored_bytes.filter(|_| raw_bytes > 0).map(|stored| stored as f64 / raw_bytes as f64),
        formats,
        tables: tables.into_iter().map(|(name, bytes)| TableJson { name, bytes }).collect(),
    }
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
