//! `unforget doctor`.

use unforget_engine::trust::Finding;

use crate::app::App;
use crate::args::DoctorArgs;
use crate::failure::{Exit, Outcome};
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
    let findings = engine.doctor()?;
    if app.out.json {
        app.out.json(&DoctorJson::from(findings.as_slice()))?;
    } else {
        say(app, &findings)?;
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Problems })
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
