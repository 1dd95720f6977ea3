//! `unforget ledger`.

use unforget_engine::Folded;

use crate::app::App;
use crate::args::LedgerArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{LedgerJson, LedgerKind, LedgerRow, ledger_rows};
use crate::output::paint;
use crate::text;

/// Columns for text on a terminal.
const WIDTH: usize = 90;

/// Lists the work done with tools.
pub(crate) fn run(app: &mut App, args: &LedgerArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let found = super::resolve(&engine, &args.conversation)?;
    let mut folded = Folded::default();
    engine.fold_ledger(found.conversation.id, found.thread, &mut folded)?;
    let wanted = |row: &LedgerRow| args.kind.is_empty() || args.kind.contains(&row.kind);
    let rows: Vec<LedgerRow> = ledger_rows(&folded.ledger).into_iter().filter(wanted).collect();
    let (key, dropped) = (found.conversation.key.0, folded.ledger.dropped());
    if app.out.json {
        app.out.json(&LedgerJson { conversation: key, rows, dropped })?;
        return Ok(Exit::Done);
    }
    let strong = app.out.palette.strong;
    for kind in LedgerKind::ALL {
        let of_kind: Vec<_> = rows.iter().filter(|row| row.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        writeln!(app.out, "{}", paint(strong, heading(kind)))?;
        let cells = of_kind.iter().map(|row| {
            let seqs = format!("s:{}", row.last);
            vec![seqs, row.state.to_owned(), row.times.to_string(), text::one_line(&row.what, WIDTH)]
        });
        write!(app.out, "{}", text::table(&["entry", "state", "times", "what"], cells.collect(), &[2]))?;
    }
    if dropped > 0 {
        app.out.note(format!(
            "{} were dropped: there are too many of a kind",
            text::plural(dropped, "older row")
        ));
    }
    Ok(Exit::Done)
}

const fn heading(kind: LedgerKind) -> &'static str {
    match kind {
        LedgerKind::File => "files",
        LedgerKind::Command => "commands",
        LedgerKind::Failure => "failures",
        LedgerKind::Url => "addresses",
        LedgerKind::Commit => "commits",
        LedgerKind::Task => "tasks",
    }
}
