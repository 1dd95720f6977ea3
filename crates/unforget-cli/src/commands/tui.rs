//! `unforget tui`: the terminal interface.

use std::fs;
use std::io::{IsTerminal, stdin};
use std::process::Command;
use std::sync::Arc;

use super::open::{EditorCommand, editor};
use crate::app::App;
use crate::args::{ResumeArgs, TuiArgs};
use crate::config::{process_env, state_folder};
use crate::database::Database;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::ScreenShape;
use crate::remote::Writer;
use crate::text;
use crate::tui::{CallTarget, LabelWriter, TuiEnd, TuiOptions, TuiSession};

/// Shows the interface, and does what a person leaves it for.
pub(crate) fn run(app: &mut App, args: &TuiArgs) -> Outcome {
    if app.out.json || !app.out.is_terminal() || !stdin().is_terminal() {
        let hint = "list, search, show, prompts and ledger answer programs, with --json";
        return Err(Failure::usage("the terminal interface needs a terminal", hint));
    }
    let engine = app.read()?;
    let open = args.conversation.as_deref().map(|name| super::resolve(&engine, name)).transpose()?;
    let settings = app.shape(&args.shape);
    let is_plain = app.out.palette.strong.is_plain();
    let saved = state_folder(&process_env).filter(|_| !args.fresh);
    let options = TuiOptions {
        shape: ScreenShape { lines: args.inline, mouse: !args.no_mouse && args.inline.is_none() },
        target: CallTarget {
            window: settings.window.value,
            model: settings.model.value,
            dialect: settings.dialect.value.map(|dialect| dialect.0),
        },
        db: app.settings.db.value.clone(),
        label: label_writer(&app.settings.db.value),
        saved: saved.map(|folder| folder.join("unforget").join("tui.json")),
        open: open.map(|found| found.conversation.key.0),
        theme: args.theme,
        is_plain,
    };
    let mut session = TuiSession::new(&|| app.read(), options)?;
    loop {
        match session.run()? {
            TuiEnd::Quit => return Ok(Exit::Done),
            TuiEnd::Resume(key) => {
                let resume = ResumeArgs { conversation: Some(key), print: false };
                match super::resume::run(app, &resume) {
                    Ok(exit) => return Ok(exit),
                    Err(failure) => session.remark(said(&failure)),
                }
            }
            TuiEnd::Edit(text) => {
                if let Err(failure) = edit(&text) {
                    session.remark(said(&failure));
                }
            }
        }
    }
}

/// Changes labels here, or through the daemon that owns the database.
fn label_writer(db: &Database) -> LabelWriter {
    let db = db.clone();
    Arc::new(move |key, change| {
        let writer = Writer::of(&db)?;
        let engine = match &writer {
            Writer::Here(engine) => engine.clone(),
            Writer::There(_) => db.open_reader()?,
        };
        let found = super::resolve(&engine, key)?.conversation;
        super::label::put(&writer, &found, change)
    })
}

/// A failure on one line.
fn said(failure: &Failure) -> String {
    text::one_line(&text::harmless(&format!("{}; {}", failure.message, failure.hint)), 300)
}

/// Shows a text in the editor: a copy, which is gone afterwards.
fn edit(text: &str) -> Outcome<()> {
    let EditorCommand { program, words } = editor()?;
    let folder = tempfile::tempdir().map_err(|error| Failure::file(&std::env::temp_dir(), &error))?;
    let path = folder.path().join("entry.txt");
    fs::write(&path, text).map_err(|error| Failure::file(&path, &error))?;
    Command::new(&program).args(words).arg(&path).status().map_err(|error| {
        Failure::usage(format!("{program} cannot be started: {error}"), "set EDITOR to an editor")
    })?;
    Ok(())
}
