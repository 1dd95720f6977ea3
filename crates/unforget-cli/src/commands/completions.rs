//! `unforget completions`.

use std::io::Write;

use clap::CommandFactory;

use crate::app::App;
use crate::args::{Cli, CompletionsArgs};
use crate::failure::{Exit, Outcome};

/// The completion script of a shell.
pub(crate) fn run(app: &mut App, args: &CompletionsArgs) -> Outcome {
    // Into memory first: the generator panics if it cannot write, and a pipe may be closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "unforget", &mut script);
    app.out.bytes().write_all(&script)?;
    Ok(Exit::Done)
}
