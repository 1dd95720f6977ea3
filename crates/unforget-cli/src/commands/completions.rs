//! `unforget completions`.

use std::io::Write;

use clap_complete::env::Shells;

use crate::app::App;
use crate::args::CompletionsArgs;
use crate::failure::{Exit, Failure, Outcome};

/// The variable by which a shell asks this program for words.
pub(crate) const VARIABLE: &str = "UNFORGET_COMPLETE";

/// The completion script of a shell. The script asks this program for the words, so that names of conversations complete too.
pub(crate) fn run(app: &mut App, args: &CompletionsArgs) -> Outcome {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| {
        Failure::usage(
            format!("there is no completion script for {name}"),
            "bash, elvish, fish, powershell and zsh have one",
        )
    })?;
    // Into memory first: a pipe may be closed.
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "unforget", "unforget", "unforget", &mut script)?;
    if app.out.json {
        app.out.json(&serde_json::json!({ "shell": name, "script": String::from_utf8_lossy(&script) }))?;
        return Ok(Exit::Done);
    }
    app.out.bytes().write_all(&script)?;
    Ok(Exit::Done)
}
