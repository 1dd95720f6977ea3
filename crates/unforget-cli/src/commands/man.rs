//! `unforget man`.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::app::App;
use crate::args::{Cli, ManArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// One page with every command in it, or a page per command.
pub(crate) fn run(app: &mut App, args: &ManArgs) -> Outcome {
    if let Some(folder) = &args.folder {
        return pages(app, folder);
    }
    if app.out.json {
        return Err(Failure::usage(
            "a man page is not JSON",
            "leave out --json, or name a folder for the pages",
        ));
    }
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut app.out.bytes())?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        section(app, sub)?;
        for below in sub.get_subcommands().filter(|below| below.get_name() != "help") {
            section(app, below)?;
        }
    }
    Ok(Exit::Done)
}

/// Writes the pages, over those of an earlier version.
fn pages(app: &mut App, folder: &Path) -> Outcome {
    let failed = |error| Failure::file(folder, &error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    let count = fs::read_dir(folder).map_err(failed)?.count() as u64;
    if app.out.json {
        app.out.json(&serde_json::json!({ "folder": folder.display().to_string(), "files": count }))?;
    } else {
        app.out.note(format_args!("{} in {}", text::plural(count, "page"), folder.display()));
    }
    Ok(Exit::Done)
}

/// The version, as `--version` has it.
pub(crate) fn version(app: &mut App) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    if app.out.json {
        app.out.json(&serde_json::json!({ "version": version }))?;
    } else {
        writeln!(app.out, "unforget {version}")?;
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
