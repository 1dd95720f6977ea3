//! The ledgers of all conversations: who did what, when, and why.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::AskedTurn;
use unforget_engine::{Engine, Folded};

use super::wanted::{WantedRows, newest};
use crate::app::App;
use crate::args::LedgerArgs;
use crate::commands::search::say_conversation;
use crate::failure::{Exit, Outcome};
use crate::json::{LedgerKind, LedgerRow, id_of, iso, ledger_rows};
use crate::output::paint;
use crate::recognised::{RecognisedConversation, everything};
use crate::text;
use crate::when::Clock;

/// Columns for the words of a row on a terminal.
const WIDTH: usize = 120;

/// What was done in one conversation.
struct DoneThere {
    who: RecognisedConversation,
    rows: Vec<LedgerRow>,
    asked: BTreeMap<Seq, AskedTurn>,
    /// Number of older rows that the ledger dropped: nothing is looked for in them.
    dropped: u64,
}

/// A conversation with its rows, with `--json`.
#[derive(Serialize)]
struct DoneThereJson<'a> {
    conversation: &'a str,
    name: &'a str,
    title: Option<&'a str>,
    project: Option<&'a str>,
    folder: Option<&'a str>,
    host: &'a str,
    rows: Vec<DoneJson<'a>>,
    /// Number of older rows that are not looked through.
    dropped: u64,
}

/// A row with its time and its reason.
#[derive(Serialize)]
struct DoneJson<'a> {
    #[serde(flatten)]
    row: &'a LedgerRow,
    /// Id of the entry, for `expand`.
    entry: String,
    time: Option<String>,
    /// The first words of what had been asked for.
    asked: Option<&'a str>,
}

/// Lists the rows of every conversation that has any, on a terminal the newest last, and tells which ledgers lack older rows.
pub(super) fn run(app: &mut App, args: &LedgerArgs, engine: &Engine, wanted: &WantedRows) -> Outcome {
    let place = args.place.filter()?;
    let mut done = Vec::new();
    let all = everything(engine)?;
    place.must_be_known(&all)?;
    for who in all.into_iter().filter(|one| place.takes(one)) {
        done.extend(done_there(engine, who, wanted, args.limit)?);
    }
    done.sort_by_key(|one| one.who.last());
    if !app.out.is_terminal() {
        done.reverse();
    }
    if app.out.json {
        app.out.json(&done.iter().map(json).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let clock = Clock::here();
    let with_rows = done.iter().filter(|one| !one.rows.is_empty());
    for one in with_rows.clone() {
        say(app, one, &clock)?;
    }
    let rows: usize = done.iter().map(|one| one.rows.len()).sum();
    let line = format!(
        "{} in {}",
        text::plural(rows as u64, "row"),
        text::plural(with_rows.count() as u64, "conversation")
    );
    app.out.note(paint(app.out.notes.dim, line));
    for one in done.iter().filter(|one| one.dropped > 0) {
        let (rows, name) = (text::plural(one.dropped, "older row"), &one.who.name);
        let why = "a ledger keeps the newest of a kind; unforget search WORDS looks through everything";
        app.out.note(format_args!("{rows} of {name} not looked through: {why}"));
    }
    Ok(Exit::Done)
}

/// The wanted rows of one conversation; `None` without any, unless its ledger lacks older rows.
fn done_there(
    engine: &Engine,
    who: RecognisedConversation,
    wanted: &WantedRows,
    limit: Option<usize>,
) -> Outcome<Option<DoneThere>> {
    let of = ThreadRef { conversation: who.stored.id, thread: Thread(0) };
    let mut folded = Folded::default();
    engine.fold_ledger(of.conversation, of.thread, &mut folded)?;
    let mut rows: Vec<_> = ledger_rows(&folded.ledger).into_iter().filter(|row| wanted.takes(row)).collect();
    let dropped = folded.ledger.dropped();
    if rows.is_empty() && dropped == 0 {
        return Ok(None);
    }
    let asked = engine.asked_for(of, &entries(&rows))?;
    rows.retain(|row| wanted.takes_time(time(&asked, row)));
    newest(&mut rows, limit);
    Ok((!rows.is_empty() || dropped > 0).then_some(DoneThere { who, rows, asked, dropped }))
}

/// The entries that rows name last.
pub(super) fn entries(rows: &[LedgerRow]) -> BTreeSet<Seq> {
    rows.iter().map(|row| Seq(row.last)).collect()
}

/// The time of a row.
pub(super) fn time(asked: &BTreeMap<Seq, AskedTurn>, row: &LedgerRow) -> Option<Timestamp> {
    asked.get(&Seq(row.last)).and_then(|asked| asked.time)
}

fn json(one: &DoneThere) -> DoneThereJson<'_> {
    let facts = &one.who.facts;
    let row = |row| DoneJson {
        row,
        entry: id_of(&one.who.stored.key.0, row.last),
        time: time(&one.asked, row).and_then(iso),
        asked: one.asked.get(&Seq(row.last)).and_then(|asked| asked.words.as_deref()),
    };
    DoneThereJson {
        conversation: &one.who.stored.key.0,
        name: &one.who.name,
        title: one.who.known_title().map(|title| title.text),
        project: facts.project(),
        folder: facts.folder.as_deref(),
        host: one.who.host(),
        rows: one.rows.iter().map(row).collect(),
        dropped: one.dropped,
    }
}

fn say(app: &mut App, done: &DoneThere, clock: &Clock) -> Outcome<()> {
    let p = app.out.palette;
    say_conversation(app, Some(&done.who), clock)?;
    let width = app.out.columns().map_or(WIDTH, |columns| columns.saturating_sub(4));
    let mut asked_before: Option<&str> = None;
    let mut rows: Vec<&LedgerRow> = done.rows.iter().collect();
    rows.sort_by_key(|row| row.last);
    for row in rows {
        let asked = done.asked.get(&Seq(row.last));
        let words = asked.and_then(|asked| asked.words.as_deref());
        if words != asked_before
            && let Some(words) = words
        {
            let line = text::one_line(&text::harmless(&format!("asked: {words}")), width);
            writeln!(app.out, "  {}", paint(p.dim, line))?;
        }
        asked_before = words;
        let when = asked.and_then(|asked| asked.time).map(|time| clock.short(time)).unwrap_or_default();
        let id = text::one_line(&text::harmless(&id_of(&done.who.name, row.last)), 80);
        let times = if row.times > 1 { format!(" ×{}", row.times) } else { String::new() };
        let state = if row.kind == LedgerKind::Commit { "committed" } else { row.state };
        let is_bad = matches!(row.state, "failed" | "open")
            && matches!(row.kind, LedgerKind::Command | LedgerKind::Failure);
        let state = paint(if is_bad { p.bad } else { p.good }, format!("{state}{times}"));
        let told = row.told().map(|told| format!(": {told}")).unwrap_or_default();
        let what = text::one_line(&text::harmless(&format!("{}{told}", done.who.relative(&row.what))), width);
        writeln!(app.out, "  {}  {}  {state}  {what}", paint(p.ours, id), paint(p.dim, when))?;
    }
    Ok(writeln!(app.out)?)
}
