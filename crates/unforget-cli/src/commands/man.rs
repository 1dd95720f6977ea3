//! `unforget man`.

use clap::CommandFactory;

use crate::app::App;
use crate::args::Cli;
use crate::failure::{Exit, Outcome};

/// One page with every command in it.
pub(crate) fn run(app: &mut App) -> Outcome {
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut app.out.bytes())?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(app, sub)?;
        for below in sub.get_subcommands().filter(|below| below.get_name() != "help") {
            section(app, below)?;
        }
    }
    Ok(Exit::Done)
}

/// The synopsis, description and options of one command.
fn section(app: &mut App, command: &clap::Command) -> Outcome<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    writeln!(app.out, ".SH \"{name}\"")?;
    let man = clap_mangen::Man::new(command.clone());
    let mut body = Vec::new();
    man.render_synopsis_section(&mut body)?;
    man.render_description_section(&mut body)?;
    man.render_options_section(&mut body)?;
    // The command's own headings become sub-headings.
    let body = String::from_utf8_lossy(&body).replace(".SH ", ".SS ");
    write!(app.out, "{body}")?;
    Ok(())
}
