//! The lists beside the entries: ledger, pins, sent prompts.

use std::cmp::Reverse;

use unforget_core::id::Seq;
use unforget_core::pin::PinState;
use unforget_engine::prompt::{Cause, Recipe};
use unforget_engine::{Engine, Folded};

use super::entry_text::cut;
use super::load::{ROW_CHARS, lane};
use super::rows::{LineKind, RowTarget, TuiLine, TuiRow, text_lines};
use super::state::{MiddleKind, TuiTold};
use crate::failure::Outcome;
use crate::json::{LedgerRow, ledger_rows};
use crate::text;
use crate::when::Clock;

/// Conversations whose sent prompts are looked at, and prompts shown.
const RECENT: usize = 60;
const SENT: usize = 300;

/// Another list.
pub(super) fn table(engine: &Engine, kind: MiddleKind, key: &str, generation: u64) -> Outcome<TuiTold> {
    let (rows, about) = match kind {
        MiddleKind::Ledger => ledger(engine, key)?,
        MiddleKind::Pins => pins(engine, key)?,
        _ => sent(engine)?,
    };
    Ok(TuiTold::Table { generation, rows, about })
}

fn ledger(engine: &Engine, key: &str) -> Outcome<(Vec<TuiRow>, String)> {
    let of = lane(engine, key)?;
    let mut folded = Folded::default();
    engine.fold_ledger(of.conversation, of.thread, &mut folded)?;
    let row = |row: LedgerRow| {
        let mut about = text_lines(LineKind::Plain, &row.what);
        let times = text::plural(row.times, "time");
        about.push(TuiLine::new(LineKind::Dim, format!("{}, {times}, last in s:{}", row.state, row.last)));
        about.extend(row.told().map(|told| text_lines(LineKind::Bad, told)).unwrap_or_default());
        about.push(TuiLine::new(LineKind::Dim, "Enter goes to the entry"));
        let kind = match row.state {
            "failed" | "open" => LineKind::Bad,
            "done" | "cleared" | "written" | "edited" => LineKind::Good,
            _ => LineKind::Plain,
        };
        TuiRow {
            lead: row.kind.name().to_owned(),
            who: row.state.to_owned(),
            kind,
            text: text::one_line(&text::harmless(&row.what), ROW_CHARS),
            target: RowTarget::Entry { key: key.to_owned(), seq: row.last },
            about,
        }
    };
    let rows: Vec<TuiRow> = ledger_rows(&folded.ledger).into_iter().map(row).collect();
    let dropped = folded.ledger.dropped();
    let about =
        if dropped > 0 { format!("{} older ones dropped", text::count(dropped)) } else { String::new() };
    Ok((rows, about))
}

fn pins(engine: &Engine, key: &str) -> Outcome<(Vec<TuiRow>, String)> {
    let of = lane(engine, key)?;
    let pins = engine.store().said(of.conversation)?.pins;
    let at = |seq: Option<Seq>| {
        seq.map_or(RowTarget::None, |seq| RowTarget::Entry { key: key.to_owned(), seq: seq.0 })
    };
    let mut rows: Vec<TuiRow> = Vec::new();
    for row in &pins {
        let (who, kind) = match row.pin.state {
            PinState::Active => ("active".to_owned(), LineKind::Good),
            PinState::Retired => ("retired".to_owned(), LineKind::Dim),
            PinState::SupersededBy(by) => (format!("now {}", by.0), LineKind::Dim),
        };
        rows.push(TuiRow {
            lead: format!("pin {}", row.pin.id.0),
            who,
            kind,
            text: text::one_line(&text::harmless(&row.pin.text), ROW_CHARS),
            target: at(row.pin.source),
            about: text_lines(LineKind::Plain, &cut(&row.pin.text)),
        });
    }
    for one in engine.proposed_pins(of.conversation)? {
        let mut about = text_lines(LineKind::Plain, &cut(&one.text));
        let accept = format!("unforget pins {} --accept {}", text::quoted(key), one.number);
        about.push(TuiLine::new(LineKind::Dim, accept));
        rows.push(TuiRow {
            lead: format!("prop {}", one.number),
            who: one.kind.name().to_owned(),
            kind: LineKind::Plain,
            text: text::one_line(&text::harmless(&one.text), ROW_CHARS),
            target: at(Some(one.seq)),
            about,
        });
    }
    let about = text::plural(pins.len() as u64, "pin");
    Ok((rows, about))
}

/// The newest prompts that were sent.
fn sent(engine: &Engine) -> Outcome<(Vec<TuiRow>, String)> {
    let clock = Clock::here();
    let mut all = Vec::new();
    for one in engine.recent(RECENT)? {
        let recipes = engine.recipes(one.id)?;
        all.extend(recipes.into_iter().map(|(number, recipe)| (one.key.0.clone(), number, recipe)));
    }
    all.sort_by_key(|(_, _, recipe)| Reverse(recipe.time));
    all.truncate(SENT);
    let row = |(key, number, recipe): (String, u64, Recipe)| {
        let share = text::percent(recipe.bound as f64 / recipe.window_now.max(1) as f64);
        let broken = recipe.broken.filter(|broken| broken.cause != Cause::First);
        let why = broken.map(|broken| format!(" · break: {}", broken.cause.name())).unwrap_or_default();
        let mut about = vec![
            TuiLine::new(LineKind::Head, &key),
            TuiLine::new(LineKind::Plain, format!("prompt r{number}, {}", clock.full(recipe.time))),
            TuiLine::new(
                LineKind::Plain,
                format!(
                    "{} tokens expected, {} at most of {}",
                    text::count(recipe.tokens.expected),
                    text::count(recipe.bound),
                    text::count(recipe.window_now)
                ),
            ),
            TuiLine::new(
                LineKind::Plain,
                format!(
                    "rung {}, {} so far",
                    recipe.rung.name(),
                    text::plural(u64::from(recipe.epoch), "break")
                ),
            ),
        ];
        if let Some(broken) = broken {
            let again = format!(
                "{}: {} tokens billed again, in the {}",
                broken.cause.words(),
                text::count(broken.rebilled),
                broken.region.name()
            );
            about.push(TuiLine::new(LineKind::Warn, again));
        }
        about.push(TuiLine::new(LineKind::Dim, "Enter shows the calls of the conversation"));
        TuiRow {
            lead: format!("r{number}"),
            who: clock.short(recipe.time),
            kind: if broken.is_some() { LineKind::Warn } else { LineKind::Plain },
            text: text::one_line(
                &text::harmless(&format!("{} · {share}{why} · {key}", text::short(recipe.tokens.expected))),
                ROW_CHARS,
            ),
            target: RowTarget::Sent { key, number },
            about,
        }
    };
    let rows: Vec<TuiRow> = all.into_iter().map(row).collect();
    let about = if rows.is_empty() {
        "none was sent through Unforget: unforget run -- claude"
    } else {
        "sent, the newest first"
    };
    Ok((rows, about.to_owned()))
}
