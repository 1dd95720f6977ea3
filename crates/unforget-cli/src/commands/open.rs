//! `unforget open`: the transcript in an editor.

use std::process::Command;

use serde::Serialize;

use super::resume::transcript_of;
use crate::app::App;
use crate::args::OpenArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::recognised::one;

/// Where a transcript is.
#[derive(Debug, Serialize)]
struct OpenedJson {
    conversation: String,
    path: String,
}

/// Starts the editor, or prints the path.
pub(crate) fn run(app: &mut App, args: &OpenArgs) -> Outcome {
    let engine = app.read()?;
    let found = one(&engine, super::resolve(&engine, &args.conversation)?.conversation)?;
    let path = transcript_of(&engine, &found)?;
    if app.out.json {
        app.out.json(&OpenedJson { conversation: found.stored.key.0, path: path.display().to_string() })?;
        return Ok(Exit::Done);
    }
    if args.print {
        writeln!(app.out, "{}", path.display())?;
        return Ok(Exit::Done);
    }
    let EditorCommand { program, words } = editor()?;
    let status = Command::new(&program).args(words).arg(&path).status().map_err(|error| {
        Failure::usage(format!("{program} cannot be started: {error}"), "set EDITOR to an editor")
    })?;
    Ok(if status.success() { Exit::Done } else { Exit::Problems })
}

/// The editor of a person.
pub(super) struct EditorCommand {
    /// The program.
    pub(super) program: String,
    /// Its options.
    pub(super) words: Vec<String>,
}

/// The editor that `VISUAL` or `EDITOR` names. The variable may hold options, as everywhere: `code --wait`.
pub(super) fn editor() -> Outcome<EditorCommand> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let all = named.filter_map(|named| {
        let mut words = named.split_whitespace().map(str::to_owned);
        Some(EditorCommand { program: words.next()?, words: words.collect() })
    });
    all.into_iter().next().ok_or_else(|| {
        let hint = "set EDITOR, or print the path: unforget open --print";
        Failure::usage("neither VISUAL nor EDITOR names an editor", hint)
    })
}
