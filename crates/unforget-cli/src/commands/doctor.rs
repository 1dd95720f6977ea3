//! `unforget doctor`.

use std::path::Path;

use unforget_engine::trust::Finding;
use unforget_gateway::unread_answers;

use super::serve::spool_folders;
use crate::app::App;
use crate::args::DoctorArgs;
use crate::config::host_folders;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::DoctorJson;
use crate::output::paint;
use crate::text;

/// Most places shown of one kind of finding.
const PLACES: usize = 5;

/// Reports problems of the database or of named transcripts, with the command that mends them.
pub(crate) fn run(app: &mut App, args: &DoctorArgs) -> Outcome {
    if !args.paths.is_empty() {
        return super::inspect::run(app, &args.paths);
    }
    let engine = app.read()?;
    let mut findings = engine.doctor()?;
    findings.extend(unread(app)?);
    name_files(&mut findings);
    if app.out.json {
        app.out.json(&DoctorJson::from(findings.as_slice()))?;
    } else {
        say(app, &findings)?;
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Problems })
}

/// Names the file in the advice of an interrupted import, if a known agent has it where it keeps its sessions: the name of such a
/// file holds the id of its session.
fn name_files(findings: &mut [Finding]) {
    const UNNAMED: &str = "unforget import FILE";
    if !findings.iter().any(|finding| finding.command == UNNAMED) {
        return;
    }
    let found = host_folders().map(|folders| folders.discover().transcripts).unwrap_or_default();
    for finding in findings.iter_mut().filter(|finding| finding.command == UNNAMED) {
        let id = finding.place.rsplit([':', '/']).next().unwrap_or_default();
        let has_id = |path: &Path| {
            !id.is_empty() && path.file_name().is_some_and(|name| name.to_string_lossy().contains(id))
        };
        if let Some(file) = found.iter().find(|transcript| has_id(&transcript.path)) {
            let path = text::quoted(&file.path.display().to_string());
            finding.command = format!("unforget import {path}");
        }
    }
}

/// Answers in the folders of gateways that could not be read to their ends.
fn unread(app: &App) -> Outcome<Vec<Finding>> {
    // A server on another machine has its folders there.
    let Ok(db) = app.settings.db.value.local_path() else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    for folder in spool_folders(&db) {
        let found = unread_answers(&folder).map_err(|error| Failure::file(&folder, &error))?;
        let command = format!("ls {}", text::quoted(&folder.display().to_string()));
        findings.extend(found.into_iter().map(|path| Finding {
            what: "an answer could not be read to its end: what was read is stored, and its bytes are kept until you delete the file".to_owned(),
            place: path.display().to_string(),
            command: command.clone(),
        }));
    }
    Ok(findings)
}

fn say(app: &mut App, findings: &[Finding]) -> Outcome<()> {
    let p = app.out.palette;
    if findings.is_empty() {
        let line = "nothing to mend; unforget verify also reads every byte back";
        return Ok(writeln!(app.out, "{} {line}", paint(p.good, "✓"))?);
    }
    let folded = folded(findings);
    let verdict = format!(
        "{}, {}",
        text::plural(findings.len() as u64, "finding"),
        text::plural(folded.len() as u64, "kind")
    );
    writeln!(app.out, "{}", paint(p.bad, verdict))?;
    for FoldedFinding { first, places } in folded {
        writeln!(app.out, "{} {}", paint(p.bad, "!"), text::harmless(&first.what))?;
        let more = places.len().saturating_sub(PLACES);
        let places = places.iter().take(PLACES).map(|place| text::key(place)).collect::<Vec<_>>().join(", ");
        let more = if more > 0 {
            format!(" and {} more; --json lists them", text::count(more as u64))
        } else {
            String::new()
        };
        writeln!(app.out, "  where  {places}{more}")?;
        writeln!(app.out, "  do     {}", paint(p.strong, text::harmless(&first.command)))?;
    }
    Ok(())
}

/// Findings of one kind.
struct FoldedFinding<'a> {
    first: &'a Finding,
    places: Vec<&'a str>,
}

/// Findings with the same words and the same command are one for a person, in the order of the first ones.
fn folded(findings: &[Finding]) -> Vec<FoldedFinding<'_>> {
    let mut folded: Vec<FoldedFinding<'_>> = Vec::new();
    for finding in findings {
        let is_same = |one: &&mut FoldedFinding<'_>| {
            one.first.what == finding.what && one.first.command == finding.command
        };
        match folded.iter_mut().find(is_same) {
            Some(one) => one.places.push(&finding.place),
            None => folded.push(FoldedFinding { first: finding, places: vec![&finding.place] }),
        }
    }
    folded
}
