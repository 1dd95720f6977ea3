//! `unforget setup`: hooks, the MCP server and a skill for agents, a service that imports.
//!
//! | module | holds |
//! |---|---|
//! | `agents`, `service` | what is added to which file |
//! | `addition`, `json_text`, `toml_text` | how it is put into a text and taken out |
//! | `plan`, `record` | what would change, the change, and what is remembered for undo |

mod addition;
mod agents;
mod json_text;
mod plan;
mod record;
mod service;
mod toml_text;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::app::App;
use crate::args::{SetupAgent, SetupArgs};
use crate::config::{From, process_env};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{agrees, how_to_agree, paint};
use agents::SetupPlace;
use plan::{FileChange, carry_out, save, setting_up, undoing};
use record::SetupRecord;

/// Owner of the service's files in the record.
const SERVICE: &str = "service";

/// Most lines of a change that are shown.
const LINES_MAX: usize = 60;

/// The result, with `--json`.
#[derive(Debug, Serialize)]
struct SetupJson<'a> {
    /// Whether the changes were carried out; they are only shown without `--yes`.
    done: bool,
    changes: Vec<FileChangeJson<'a>>,
    remarks: Vec<&'a str>,
}

/// A change of a file.
#[derive(Debug, Serialize)]
struct FileChangeJson<'a> {
    owner: &'a str,
    path: String,
    what: &'a str,
    /// `create`, `edit`, `remove` or `none`.
    change: &'static str,
    /// Whether an entry of another author was left in the place of ours.
    kept: bool,
    after: Option<&'a str>,
}

/// Shows what would change, asks, and does it.
pub(crate) fn run(app: &mut App, args: &SetupArgs) -> Outcome {
    let place = SetupPlace { hints: args.hints, margin: args.margin, ..place(app)? };
    if args.hints && !args.agents.contains(&SetupAgent::Claude) {
        let hint = "unforget setup claude --hints; other agents have no such hooks yet";
        return Err(Failure::usage("--hints is for Claude Code", hint));
    }
    let recorded_at = recorded_at(app);
    let mut record = SetupRecord::read(&recorded_at)?;
    let changes = changes(&place, args, &record)?;
    let remarks = remarks(args);
    let is_needed = changes.iter().any(FileChange::is_needed);
    let told = |done: bool| SetupJson {
        done,
        changes: changes.iter().map(json).collect(),
        remarks: remarks.clone(),
    };
    if app.out.json && !args.yes {
        app.out.json(&told(false))?;
        return Ok(Exit::Done);
    }
    if !app.out.json {
        for change in &changes {
            say(app, change)?;
        }
        app.out.finish()?;
    }
    if is_needed && !args.yes && !agrees("Do it? [y/N]") {
        return Err(Failure::usage("nothing was changed", how_to_agree("y")));
    }
    for change in &changes {
        let done = carry_out(change, &mut record);
        // What was done before a failure can be undone.
        save(&record, &recorded_at)?;
        done?;
    }
    if app.out.json {
        app.out.json(&told(true))?;
        return Ok(Exit::Done);
    }
    if !is_needed {
        app.out.note("nothing to change");
    }
    for remark in remarks {
        app.out.note(paint(app.out.notes.dim, remark));
    }
    Ok(Exit::Done)
}

/// The changes, in the order in which they are made.
fn changes(place: &SetupPlace<'_>, args: &SetupArgs, record: &SetupRecord) -> Outcome<Vec<FileChange>> {
    let mut owners: Vec<(&str, Vec<agents::WantedFile>)> =
        args.agents.iter().map(|agent| (agent.key(), place.files(*agent))).collect();
    if args.service {
        owners.push((SERVICE, vec![service::file(place)?]));
    }
    let mut changes = Vec::new();
    for (owner, wanted) in owners {
        if args.undo {
            let recorded = record.files.iter().filter(|file| file.owner == owner);
            changes.extend(recorded.map(undoing).collect::<Outcome<Vec<_>>>()?);
        } else {
            let files = wanted.into_iter().map(|file| setting_up(owner, file, record));
            changes.extend(files.collect::<Outcome<Vec<_>>>()?);
        }
    }
    Ok(changes)
}

fn remarks(args: &SetupArgs) -> Vec<&'static str> {
    let mut remarks: Vec<&str> = Vec::new();
    if !args.undo {
        for agent in &args.agents {
            remarks.extend(SetupPlace::remarks(*agent));
        }
        if !args.agents.is_empty() {
            remarks.push("start the agent again; unforget import --discover takes in what is there already");
        }
    }
    remarks.extend(args.service.then(|| service::next(args.undo)));
    remarks
}

/// Where files are, and how agents call this program.
fn place(app: &App) -> Outcome<SetupPlace<'static>> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let home =
        process_env(variable).map(PathBuf::from).filter(|home| home.is_absolute()).ok_or_else(|| {
            Failure::usage("there is no home folder with settings of agents", format!("set {variable}"))
        })?;
    let program = std::env::current_exe().map_err(|error| Failure::file(Path::new("unforget"), &error))?;
    let program = on_path(&program).unwrap_or(program);
    let mut words = vec![program.display().to_string()];
    if app.settings.db.from != From::Default {
        let db = std::path::absolute(app.settings.db.value.file_for("setup")?)?;
        words.extend(["--db".to_owned(), db.display().to_string()]);
    }
    Ok(SetupPlace { home, env: &process_env, program: words, hints: false, margin: None })
}

/// Where the search path finds this program: that place stays when the program is replaced by a newer one.
fn on_path(program: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(program).ok()?;
    let folders = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("unforget"));
    found.find(|found| std::fs::canonicalize(found).is_ok_and(|found| found == real))
}

/// The record stands beside the settings file.
fn recorded_at(app: &App) -> PathBuf {
    let settings = app.settings.file.as_deref().and_then(Path::parent);
    settings.or_else(|| app.settings.db.value.file()?.parent()).unwrap_or(Path::new(".")).join("setup.json")
}

const fn name_of(change: &FileChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, Some(_)) => "create",
        (Some(_), None) => "remove",
        (None, None) => "none",
        (Some(_), Some(_)) => "edit",
    }
}

fn json(change: &FileChange) -> FileChangeJson<'_> {
    FileChangeJson {
        owner: &change.owner,
        path: change.path.display().to_string(),
        what: &change.what,
        change: if change.is_needed() { name_of(change) } else { "none" },
        kept: change.is_kept,
        after: change.after.as_deref().filter(|_| change.is_needed()),
    }
}

fn say(app: &mut App, change: &FileChange) -> Outcome<()> {
    let p = app.out.palette;
    let verb = if change.is_needed() { name_of(change) } else { "as it is" };
    writeln!(app.out, "{}  {verb}: {}", paint(p.strong, change.path.display()), change.what)?;
    if change.is_kept {
        let what = "something else is in its place, and stays: set it up by hand, or move it away first";
        writeln!(app.out, "  {} {what}", paint(p.bad, "!"))?;
    }
    if !change.is_needed() {
        return Ok(());
    }
    let lines = changed_lines(
        change.before.as_deref().unwrap_or_default(),
        change.after.as_deref().unwrap_or_default(),
    );
    for line in lines.iter().take(LINES_MAX) {
        let ink = if line.starts_with('+') { p.good } else { p.bad };
        writeln!(app.out, "  {}", paint(ink, line))?;
    }
    if lines.len() > LINES_MAX {
        writeln!(app.out, "  {}", paint(p.dim, format_args!("and {} more lines", lines.len() - LINES_MAX)))?;
    }
    Ok(())
}

/// The lines that come and go. A line that only gets or loses a comma is no change for a person.
fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let bare = |line: &str| line.trim_end().trim_end_matches(',').to_owned();
    let (old, new): (Vec<_>, Vec<_>) =
        (before.lines().map(bare).collect(), after.lines().map(bare).collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let old = old.get(..old.len() - end).unwrap_or_default();
    let new = new.get(..new.len() - end).unwrap_or_default();
    // Additions at several places: what stands between them stays.
    let mut lines = Vec::new();
    let mut rest = old.iter().peekable();
    for line in new {
        if rest.peek().is_some_and(|old| *old == line) {
            rest.next();
        } else {
            lines.push(format!("+ {line}"));
        }
    }
    let gone = rest.map(|line| format!("- {line}"));
    gone.chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_table() {
        let table = [
            ("{\n  a\n}", "{\n  a,\n  b\n}", vec!["+   b"], "a comma is no change"),
            ("{\n  a\n}", "{\n  x,\n  a,\n  y\n}", vec!["+   x", "+   y"], "at two places"),
            ("{\n  a,\n  b\n}", "{\n  a\n}", vec!["-   b"], "taken out"),
            ("", "a\nb", vec!["+ a", "+ b"], "a new file"),
        ];
        for (before, after, want, why) in table {
            assert_eq!(changed_lines(before, after), want, "{why}");
        }
    }
}
