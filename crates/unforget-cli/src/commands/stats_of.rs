//! `unforget stats CONVERSATION`: the facts of one conversation.

use std::collections::BTreeMap;

use serde::Serialize;
use unforget_store::{Conversation, EntryRow, GenerationRow, Snapshot, read_all, walk};

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::json::{EntryJson, GenerationJson, ShowJson, SnapshotJson, opened_by, origin};
use crate::output::paint;
use crate::text;
use crate::value::EntryRange;

/// The facts, and the totals as `stats` has them for all conversations.
#[derive(Debug, Serialize)]
struct StatsOfJson {
    db: String,
    conversations: u64,
    raw_bytes: u64,
    /// Null: the tables of the database hold all conversations together.
    stored_bytes: Option<u64>,
    ratio: Option<f64>,
    formats: BTreeMap<String, u64>,
    #[serde(flatten)]
    shown: ShowJson,
}

struct Shown {
    conversation: Conversation,
    children: Vec<String>,
    generations: Vec<GenerationRow>,
    snapshots: Vec<Snapshot>,
    summaries: u64,
    rows: Option<Vec<EntryRow>>,
}

/// Prints facts, generations, saves and, on request, entries.
pub(super) fn run(app: &mut App, name: &str, entries: Option<EntryRange>) -> Outcome {
    let engine = app.read()?;
    let store = engine.store();
    let conversation = super::resolve(&engine, name)?.conversation;
    app.tell_broken(&engine);
    let id = conversation.id;
    let rows = entries.map(|range| store.rows(id, range.first..range.last + 1)).transpose()?;
    let mut children = Vec::new();
    for one in walk(|page| store.conversations(page)) {
        let one = one?;
        if one.parent.as_ref() == Some(&conversation.key) {
            children.push(one.key.0);
        }
    }
    let shown = Shown {
        children,
        generations: read_all(|page| store.generations(id, page))?,
        snapshots: read_all(|page| store.snapshots(id, page))?,
        summaries: store.count_summaries(id)?,
        rows,
        conversation,
    };
    if app.out.json {
        let json = ShowJson {
            conversation: (&shown.conversation).into(),
            children: shown.children,
            generations: shown.generations.iter().map(GenerationJson::from).collect(),
            snapshots: shown.snapshots.iter().map(SnapshotJson::from).collect(),
            summaries: shown.summaries,
            rows: shown.rows.map(|rows| rows.iter().map(EntryJson::from).collect()),
        };
        let conversation = &shown.conversation;
        let totals = StatsOfJson {
            db: app.settings.db.value.to_string(),
            conversations: 1,
            raw_bytes: conversation.raw_bytes,
            stored_bytes: None,
            ratio: None,
            formats: BTreeMap::from([(conversation.format.clone(), 1)]),
            shown: json,
        };
        app.out.json(&totals)?;
    } else {
        facts(app, &shown)?;
        history(app, &shown)?;
        say_entries(app, shown.rows.as_deref())?;
    }
    Ok(Exit::Done)
}

fn facts(app: &mut App, shown: &Shown) -> Outcome<()> {
    let Conversation { key, title, parent, time, .. } = &shown.conversation;
    let strong = app.out.palette.strong;
    writeln!(app.out, "{}", paint(strong, text::key(&key.0)))?;
    let title = title.as_deref().map(text::harmless);
    let span = time.map(|(first, last)| format!("{} to {} UTC", text::minute(first), text::minute(last)));
    let parent = parent.as_ref().map(|key| key.0.clone());
    let children = (!shown.children.is_empty()).then(|| shown.children.join(", "));
    let facts = [
        ("title", title),
        ("format", Some(shown.conversation.format.clone())),
        ("time", span),
        ("started by", parent),
        ("sub-agents", children),
        ("entries", Some(text::count(shown.conversation.entries))),
        ("tokens", Some(text::count(shown.conversation.tokens))),
        ("size", Some(text::bytes(shown.conversation.raw_bytes))),
        ("summaries", Some(text::count(shown.summaries))),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            writeln!(app.out, "  {name:<11} {fact}")?;
        }
    }
    Ok(())
}

fn history(app: &mut App, shown: &Shown) -> Outcome<()> {
    if shown.generations.len() > 1 {
        let rows = shown.generations.iter().map(|row| {
            let from = row.parent.map(|(parent, at)| format!("{parent} after {at}")).unwrap_or_default();
            let now = if row.number == shown.conversation.current { "now" } else { "" };
            let opened = opened_by(row.opened_by).to_owned();
            vec![row.number.to_string(), opened, from, text::count(row.length), now.to_owned()]
        });
        let head = ["generation", "opened by", "from", "length", ""];
        write!(app.out, "\n{}", text::table(&head, rows.collect(), &[0, 3]))?;
    }
    let rows = shown.snapshots.iter().map(|snapshot| {
        vec![
            snapshot.number.to_string(),
            text::minute(snapshot.time),
            text::count(snapshot.length),
            text::bytes(snapshot.file_bytes),
            text::harmless(&snapshot.path),
        ]
    });
    let head = ["save", "imported", "entries", "size", "from"];
    write!(app.out, "\n{}", text::table(&head, rows.collect(), &[0, 2, 3]))?;
    Ok(())
}

fn say_entries(app: &mut App, rows: Option<&[EntryRow]>) -> Outcome<()> {
    let Some(rows) = rows else { return Ok(()) };
    let rows = rows.iter().map(|row| {
        vec![
            row.seq.to_string(),
            row.time.map(text::minute).unwrap_or_default(),
            row.role.name().to_owned(),
            if row.purged { "purged".to_owned() } else { origin(row.origin).to_owned() },
            text::count(row.tokens.expected),
            row.host_id.clone().unwrap_or_default(),
        ]
    });
    let head = ["seq", "time", "role", "origin", "tokens", "host id"];
    write!(app.out, "\n{}", text::table(&head, rows.collect(), &[0, 4]))?;
    Ok(())
}
