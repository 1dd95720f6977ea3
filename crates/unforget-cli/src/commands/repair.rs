//! `unforget repair`.

use std::path::Path;

use unforget_guard::{Action, GuardError, Repair};
use unforget_wire::ReadError;

use crate::app::App;
use crate::args::RepairArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{FailedJson, RepairJson, UndoneJson};
use crate::output::paint;
use crate::text;

/// Mends transcripts, shows the changes, or restores originals.
pub(crate) fn run(app: &mut App, args: &RepairArgs) -> Outcome {
    let mut worst = Exit::Done;
    for path in &args.files {
        let exit = match one(app, path, args) {
            Ok(exit) => exit,
            Err(failure) if args.files.len() == 1 => return Err(failure),
            Err(failure) => {
                app.out.complain(&failure);
                if app.out.json {
                    app.out.json(&FailedJson::new(path, &failure))?;
                }
                failure.exit
            }
        };
        worst = worst.max(exit);
    }
    Ok(worst)
}

fn one(app: &mut App, path: &Path, args: &RepairArgs) -> Outcome {
    if args.undo {
        let backup = unforget_guard::undo(path).map_err(|error| failure(&error))?;
        if app.out.json {
            app.out.json(&UndoneJson::new(path, &backup))?;
        } else {
            let good = app.out.palette.good;
            writeln!(app.out, "{} {}  the original is back", paint(good, "✓"), shown(path))?;
        }
        return Ok(Exit::Done);
    }
    let done = if args.write { unforget_guard::repair(path) } else { unforget_guard::plan(path) };
    let repair = done.map_err(|error| failure(&error))?;
    if app.out.json {
        app.out.json(&RepairJson::from(&repair))?;
    } else {
        say(app, path, &repair)?;
    }
    Ok(if repair.outcome == unforget_guard::Outcome::Planned { Exit::Problems } else { Exit::Done })
}

fn say(app: &mut App, path: &Path, repair: &Repair) -> Outcome<()> {
    let p = app.out.palette;
    if repair.outcome == unforget_guard::Outcome::Sound {
        let line = match repair.inspection.findings.len() {
            0 => "nothing to mend".to_owned(),
            left => format!("nothing to mend; {} left alone", text::plural(left as u64, "finding")),
        };
        return Ok(writeln!(app.out, "{} {}  {line}", paint(p.good, "✓"), shown(path))?);
    }
    writeln!(app.out, "{}", paint(p.strong, shown(path)))?;
    for action in &repair.actions {
        say_action(app, action)?;
    }
    let changes = text::plural(repair.actions.len() as u64, "change");
    match &repair.outcome {
        unforget_guard::Outcome::Mended { backup, carried } => {
            writeln!(app.out, "{} {changes}; the original is {}", paint(p.good, "✓"), shown(backup))?;
            if *carried > 0 {
                app.out.note(format_args!("{carried} bytes that the host wrote meanwhile were carried over"));
            }
        }
        _ => writeln!(app.out, "{changes}; nothing was written. Add --write to do it")?,
    }
    Ok(())
}

fn say_action(app: &mut App, action: &Action) -> Outcome<()> {
    let p = app.out.palette;
    let width = app.out.width().saturating_sub(6);
    writeln!(app.out, "  line {}  {}: {}", action.line, action.problem.name(), text::harmless(&action.what))?;
    for (sign, style, side) in [("-", p.bad, &action.old), ("+", p.good, &action.new)] {
        if let Some(side) = side {
            let line = format!("{sign} {}", text::one_line(side, width));
            writeln!(app.out, "    {}", paint(style, line))?;
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    text::harmless(&path.display().to_string())
}

/// Why a transcript was not inspected or mended, for people and scripts.
pub(crate) fn failure(error: &GuardError) -> Failure {
    let mut message = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        message = format!("{message}: {source}");
    }
    let (kind, hint) = match error {
        GuardError::Read { source: ReadError::NotATranscript { .. }, .. } => {
            ("not-a-transcript", "give a JSON-lines history of an agent host".to_owned())
        }
        GuardError::Link { target, .. } => {
            let target = target.as_deref().map_or_else(String::new, shown);
            ("link", format!("name the file itself: {target}"))
        }
        GuardError::Names { .. } => {
            ("link", "copy the file to a name of its own and mend the copy".to_owned())
        }
        GuardError::Busy { .. } => {
            ("in-use", "end the session in the host, or wait, and run it again".to_owned())
        }
        GuardError::Changed { .. } => ("changed", "nothing was changed by us; run it again".to_owned()),
        GuardError::Unsettled { .. } | GuardError::Unmendable { .. } => (
            "unmendable",
            "nothing was changed; please report it with the findings of doctor --json".to_owned(),
        ),
        GuardError::TooManyRecords { .. } => ("too-large", String::new()),
        GuardError::NothingToUndo { has_others: true, .. } => {
            let hint = "the file was written to after the repair; its backups are beside it";
            ("nothing-to-undo", hint.to_owned())
        }
        GuardError::NothingToUndo { .. } => ("nothing-to-undo", "it was not mended here".to_owned()),
        _ => ("file", "check the path, the permissions and the disk".to_owned()),
    };
    Failure { kind, message, hint, exit: Exit::Input }
}
