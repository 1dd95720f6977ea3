//! The `unforget` command: arguments in, result out. The rules are in `unforget-core`, the order of
//! effects in `unforget-engine`.
//!
//! | module | holds |
//! |---|---|
//! | [`args`] | the command line as types |
//! | [`config`], [`overrides`] | settings and their sources; options that override settings |
//! | [`value`] | values with their own notation |
//! | [`app`] | the common state of all commands |
//! | [`commands`] | one module per command |
//! | [`remote`] | a daemon that owns the database |
//! | [`json`] | the output of `--json` |
//! | [`chart`], [`html`] | the replay report for people |
//! | [`mod@bench`] | `unforget bench` |
//! | [`recognised`], [`reading`], [`found`], [`when`] | conversations as a person recognises them, reads them and dates them |
//! | [`completed`] | words for a shell's completion |
//! | [`picker`] | the list in which a person picks a conversation |
//! | [`mod@tui`] | the terminal interface |
//! | [`output`], [`text`], [`columns`], [`broken_lines`], [`failure`] | colours, tables, lines that fit the terminal, errors |

// `print!` too: see `output`.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod app;
mod args;
mod bench;
mod broken_lines;
mod chart;
mod columns;
mod commands;
mod completed;
mod config;
mod database;
mod environment;
mod failure;
mod found;
mod html;
mod json;
mod output;
mod overrides;
mod picker;
mod reading;
mod recognised;
mod remote;
mod text;
mod tui;
mod value;
mod when;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;

use app::App;
use args::{Cli, Command, ConfigArgs, grouped, is_hook};
use commands::completions::VARIABLE;
use config::Settings;
use failure::{Exit, Failure, Outcome};
use output::{Color, Output};

/// glibc's allocator keeps growing in a daemon with many threads and requests of all sizes (ADR 0014).
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
    let exit = answered();
    // The host of a hook takes some exit codes for orders, such as to stop a call.
    if is_hook(std::env::args_os().skip(1)) { Exit::Done.into() } else { exit.into() }
}

/// Reads the command line, runs the command, and reports how it ended.
fn answered() -> Exit {
    let parsed =
        grouped(Cli::command()).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let global = cli.global;
    let settings = Settings::new(&global, &config::process_env);
    let color = settings.as_ref().map_or(Color::Auto, |settings| settings.color.value);
    let out = Output::new(global.json, global.quiet, color);
    let settings = match settings {
        Ok(settings) => settings,
        Err(failure) => {
            let mut out = out;
            let outcome = match cli.command {
                Some(Command::Config(ConfigArgs { command: Some(_) })) => {
                    commands::config::broken(&mut out, &failure)
                }
                _ => Err(failure),
            };
            return end(out, outcome);
        }
    };
    let mut app = App { settings, is_db_named: global.db.is_some(), out };
    let misread = app.settings.serve.misread().cloned();
    let outcome = match (cli.command, misread) {
        (Some(Command::Config(ConfigArgs { command: Some(_) })), Some(misread)) => {
            commands::config::broken(&mut app.out, &misread)
        }
        (command, misread) => {
            if let Some(misread) = misread.filter(|_| !command.as_ref().is_some_and(needs_daemon_settings)) {
                let Failure { message, hint, .. } = misread;
                app.out
                    .note(format_args!("warning: {message}; {hint} (only the daemon needs the table serve)"));
            }
            match command {
                Some(command) => run(&mut app, command),
                None => unasked(&mut app),
            }
        }
    };
    end(app.out, outcome)
}

/// Whether a command fails itself if the settings of the daemon cannot be read.
const fn needs_daemon_settings(command: &Command) -> bool {
    matches!(command, Command::Serve(_) | Command::Web(_) | Command::Run(_))
}

/// What happens without a command: a person picks a conversation, a program gets the help text.
fn unasked(app: &mut App) -> Outcome {
    if app.out.json {
        return Err(Failure::usage("no command is given", "see unforget --help"));
    }
    let is_person = app.out.is_terminal() && std::io::stdin().is_terminal();
    if is_person && app.settings.db.value.may_exist() {
        return commands::pick::run(app);
    }
    write!(app.out, "{}", grouped(Cli::command()).render_help())?;
    Ok(Exit::Done)
}

/// Runs a command.
fn run(app: &mut App, command: Command) -> Outcome {
    match command {
        Command::Replay(args) => commands::replay::run(app, &args),
        Command::Import(args) => commands::import::run(app, &args),
        Command::Keep(args) => commands::keep::run(app, &args),
        Command::List(args) => commands::list::run(app, &args),
        Command::Show(args) => commands::show::run(app, &args),
        Command::Resume(args) => commands::resume::run(app, &args),
        Command::GiveBack(args) => commands::give_back::run(app, &args),
        Command::Open(args) => commands::open::run(app, &args),
        Command::Stats(args) => commands::stats::run(app, &args),
        Command::Search(args) => commands::search::run(app, &args),
        Command::Grep(args) => commands::grep::run(app, &args),
        Command::Describe(args) => commands::describe::run(app, &args),
        Command::Expand(args) => commands::expand::run(app, &args),
        Command::Prompt(args) => commands::prompt::run(app, &args),
        Command::Compact(args) => commands::compact::run(app, &args),
        Command::Pin(args) => commands::pins::pin(app, &args),
        Command::Pack(args) => commands::pack::run(app, &args),
        Command::Handoff(args) => commands::handoff::run(app, &args),
        Command::Memory(args) => commands::memory::run(app, &args),
        Command::Hook(args) => commands::hook::run(app, &args),
        Command::Reject(args) => commands::reject::run(app, &args),
        Command::Label(args) => commands::label::run(app, &args),
        Command::Uncompact(args) => commands::uncompact::run(app, &args),
        Command::Left(args) => commands::left::run(app, &args),
        Command::Unpin(args) => commands::pins::unpin(app, &args),
        Command::Pins(args) => commands::pins::list(app, &args),
        Command::Ledger(args) => commands::ledger::run(app, &args),
        Command::Usage(args) => commands::usage::run(app, &args),
        Command::Prompts(args) => commands::travel::prompts(app, &args),
        Command::Status(args) => commands::status::run(app, &args),
        Command::Diff(args) => commands::travel::diff(app, &args),
        Command::Why(args) => commands::travel::why(app, &args),
        Command::Answer(args) => commands::answer::run(app, &args),
        Command::Jobs(args) => commands::jobs::run(app, &args),
        Command::Decisions(args) => commands::jobs::decisions(app, &args),
        Command::Export(args) => commands::export::run(app, &args),
        Command::Verify(args) => commands::verify::run(app, &args),
        Command::Doctor(args) => commands::doctor::run(app, &args),
        Command::Repair(args) => commands::repair::run(app, &args),
        Command::Watch(args) => commands::watch::run(app, &args),
        Command::Migrate(args) => commands::migrate::run(app, &args),
        Command::Backup(args) => commands::backup::run(app, &args),
        Command::Restore(args) => commands::restore::run(app, &args),
        Command::Purge(args) => commands::purge::run(app, &args),
        Command::Sync(args) => commands::sync::run(app, &args),
        Command::Reindex(args) => commands::reindex::run(app, &args),
        Command::Embed(args) => commands::embed::run(app, &args),
        Command::Setup(args) => commands::setup::run(app, &args),
        Command::Config(args) => commands::config::run(app, &args),
        Command::Engine(args) => commands::engine::run(app, &args),
        Command::Mcp(args) => commands::mcp::run(app, &args),
        Command::Serve(args) => commands::serve::run(app, &args),
        Command::Tui(args) => commands::tui::run(app, &args),
        Command::Web(args) => commands::web::run(app, &args),
        Command::Run(args) => commands::run::run(app, &args),
        Command::Stop(args) => commands::stop::run(app, &args),
        Command::Logs(args) => commands::logs::run(app, &args),
        Command::Bench(args) => bench::run(app, &args.command),
        Command::Completions(args) => commands::completions::run(app, &args),
        Command::Man(args) => commands::man::run(app, &args),
        Command::Version => commands::man::version(app),
    }
}

/// Writes the output, and reports a failure.
fn end(mut out: Output, outcome: Outcome) -> Exit {
    let outcome = outcome.and_then(|exit| out.finish().map(|()| exit));
    match outcome {
        Ok(exit) => exit,
        Err(failure) if failure.is_closed_pipe() => Exit::Done,
        Err(failure) => {
            out.failure(&failure);
            out.finish().ok();
            failure.exit
        }
    }
}

/// Handles clap's early exits: help, version, or wrong usage.
fn not_understood(error: &clap::Error) -> Exit {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // Writing help to a closed pipe is not an error.
    error.print().ok();
    if is_answer {
        return Exit::Done;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let mut out = Output::new(true, true, Color::Never);
        out.json(&json::ErrorJson::of(&Failure::usage(first, "see unforget --help"))).ok();
        out.finish().ok();
    }
    Exit::Usage
}
