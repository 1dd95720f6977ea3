//! `unforget doctor`.

use unforget_engine::trust::Finding;

use crate::app::App;
use crate::args::DoctorArgs;
use crate::failure::{Exit, Outcome};
use crate::json::DoctorJson;
use crate::output::paint;
use crate::text;

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
    for finding in findings {
        writeln!(app.out, "{} {}", paint(p.bad, "!"), text::harmless(&finding.what))?;
        writeln!(app.out, "  where  {}", text::harmless(&finding.place))?;
        writeln!(app.out, "  do     {}", paint(p.strong, text::harmless(&finding.command)))?;
    }
    Ok(writeln!(app.out, "{}", text::plural(findings.len() as u64, "finding"))?)
}
