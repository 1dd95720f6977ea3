//! `unforget ledger`.

mod across;
mod wanted;

use unforget_engine::Folded;

use crate::app::App;
use crate::args::LedgerArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{LedgerJson, LedgerKind, LedgerRow, ledger_rows};
use crate::output::paint;
use crate::recognised::one;
use crate::text;
use wanted::WantedRows;

/// Columns for text on a terminal.
const WIDTH: usize = 90;

/// Lists the work done with tools: of one conversation, or of all.
pub(crate) fn run(app: &mut App, args: &LedgerArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let wanted = WantedRows::of(args)?;
    let Some(name) = &args.conversation else { return across::run(app, args, &engine, &wanted) };
    let found = super::resolve(&engine, name)?;
    let mut folded = Folded::default();
    engine.fold_ledger(found.conversation.id, found.thread, &mut folded)?;
    let rows = ledger_rows(&folded.ledger).into_iter().filter(|row| wanted.takes(row));
    let mut rows: Vec<LedgerRow> = rows.collect();
    if wanted.is_timed() {
        let of =
            unforget_engine::prompt::ThreadRef { conversation: found.conversation.id, thread: found.thread };
        let times = engine.asked_for(of, &across::entries(&rows))?;
        rows.retain(|row| wanted.takes_time(across::time(&times, row)));
    }
    wanted::newest(&mut rows, args.limit);
    let (key, dropped) = (found.conversation.key.0.clone(), folded.ledger.dropped());
    if app.out.json {
        app.out.json(&LedgerJson { conversation: key, rows, dropped })?;
        return Ok(Exit::Done);
    }
    let recognised = one(&engine, found.conversation)?;
    let strong = app.out.palette.strong;
    for kind in LedgerKind::ALL {
        let of_kind: Vec<_> = rows.iter().filter(|row| row.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        writeln!(app.out, "{}", paint(strong, heading(kind)))?;
        let cells = of_kind.iter().map(|row| {
            let seqs = format!("s:{}", row.last);
            let what = text::one_line(&recognised.relative(&row.what), WIDTH);
            vec![seqs, row.state.to_owned(), row.times.to_string(), what]
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
