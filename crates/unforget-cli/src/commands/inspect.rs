//! `unforget doctor FILE|DIR`: problems of hosts' own transcripts.

use std::path::{Path, PathBuf};
use std::time::Instant;

use unforget_guard::{Finding, GuardError, Inspection, Severity};
use unforget_wire::ReadError;

use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{FailedJson, InspectionJson, SurveySum, SurveySumJson};
use crate::output::paint;
use crate::text;

/// Most lines of a file shown for one kind of finding. `--json` has all.
const LINES_MAX: usize = 8;

/// Inspects transcripts.
pub(crate) fn run(app: &mut App, paths: &[PathBuf]) -> Outcome {
    let start = Instant::now();
    let mut round = Round { sum: SurveySum::default(), worst: Exit::Done, output: None, found: Vec::new() };
    for path in paths {
        let (files, unreadable) = unforget_guard::transcripts(path);
        for (path, error) in unreadable {
            round.fail(app, &path, &Failure::file(&path, &error));
        }
        let bar = app.progress(files.len() as u64, "{msg} {bar:24.cyan} {pos} of {len}  {eta} left");
        unforget_guard::survey(&files, &mut |file, outcome| {
            bar.suspend(|| round.add(app, file, file == path, outcome));
            bar.inc(1);
        });
        bar.finish_and_clear();
    }
    let elapsed = start.elapsed();
    round.sum.elapsed_ms = elapsed.as_millis() as u64;
    round.sum.mb_per_s = round.sum.bytes as f64 / elapsed.as_micros().max(1) as f64;
    round.finish(app)
}

/// The findings so far.
struct Round {
    sum: SurveySum,
    worst: Exit,
    /// The first failure of stdout.
    output: Option<Failure>,
    /// What is shown to people when everything was looked at, behind the verdict.
    found: Vec<InspectedFile>,
}

/// A file that was looked at.
struct InspectedFile {
    inspection: Inspection,
    /// Whether a person named it.
    is_asked: bool,
}

impl Round {
    fn add(&mut self, app: &mut App, path: &Path, is_asked: bool, outcome: Result<Inspection, GuardError>) {
        let inspection = match outcome {
            Ok(inspection) => inspection,
            Err(GuardError::Read { source: ReadError::NotATranscript { .. }, .. }) if !is_asked => {
                self.sum.skipped += 1;
                return;
            }
            Err(error) => return self.fail(app, path, &super::repair::failure(&error)),
        };
        self.sum.files += 1;
        self.sum.bytes += inspection.bytes;
        self.sum.findings += inspection.findings.len() as u64;
        if inspection.worst().is_some_and(|worst| worst > Severity::Note) {
            self.sum.unsound += 1;
            self.worst = self.worst.max(Exit::Problems);
        }
        self.sum.mendable += inspection.mendable() as u64;
        if app.out.json {
            let shown = app.out.json(&InspectionJson::from(&inspection));
            self.output = self.output.take().or(shown.err());
        } else {
            self.found.push(InspectedFile { inspection, is_asked });
        }
    }

    fn fail(&mut self, app: &mut App, path: &Path, failure: &Failure) {
        self.sum.failed += 1;
        app.out.complain(failure);
        let shown = if app.out.json { app.out.json(&FailedJson::new(path, failure)) } else { Ok(()) };
        self.output = self.output.take().or(shown.err());
        self.worst = self.worst.max(failure.exit);
    }

    fn finish(self, app: &mut App) -> Outcome {
        if let Some(failure) = self.output {
            return Err(failure);
        }
        let sum = self.sum;
        if app.out.json {
            app.out.json(&SurveySumJson { sum })?;
            return Ok(self.worst);
        }
        if sum.files + sum.skipped > 0 {
            verdict(app, sum)?;
        }
        for InspectedFile { inspection, is_asked } in &self.found {
            say(app, inspection, *is_asked)?;
        }
        Ok(self.worst)
    }
}

/// The first line for a person: how many are unsound, and what repair would mend.
fn verdict(app: &mut App, sum: SurveySum) -> Outcome<()> {
    let p = app.out.palette;
    let files = text::plural(sum.files, "transcript");
    let what = match sum.unsound {
        0 => paint(p.good, format!("✓ {files}: sound")),
        unsound => paint(p.bad, format!("! {unsound} of {files} unsound")),
    };
    let skipped = if sum.skipped > 0 { format!(", {} passed over", sum.skipped) } else { String::new() };
    let findings = match (sum.findings, sum.mendable) {
        (0, _) => String::new(),
        (all, 0) => format!("; {}, none for repair", text::plural(all, "finding")),
        (all, mendable) => {
            format!("; {}, repair mends {}", text::plural(all, "finding"), text::count(mendable))
        }
    };
    let pace = format!("{} at {:.0} MB/s", text::bytes(sum.bytes), sum.mb_per_s);
    Ok(writeln!(app.out, "{what}{skipped}{findings}  {}", paint(p.dim, pace))?)
}

/// Findings of one kind in a file.
struct FoldedProblem<'a> {
    first: &'a Finding,
    more: Vec<&'a Finding>,
}

/// Findings of one problem are one for a person, in the order of the first ones.
fn folded<'a>(findings: &[&'a Finding]) -> Vec<FoldedProblem<'a>> {
    let mut folded: Vec<FoldedProblem<'a>> = Vec::new();
    for finding in findings {
        let is_same = |one: &&mut FoldedProblem<'_>| {
            let first = one.first;
            (first.problem, first.severity, first.is_mended)
                == (finding.problem, finding.severity, finding.is_mended)
        };
        match folded.iter_mut().find(is_same) {
            Some(one) => one.more.push(finding),
            None => folded.push(FoldedProblem { first: finding, more: Vec::new() }),
        }
    }
    folded
}

fn say(app: &mut App, inspection: &Inspection, is_asked: bool) -> Outcome<()> {
    let p = app.out.palette;
    let path = text::harmless(&inspection.path.display().to_string());
    let is_worse = |finding: &&Finding| finding.severity > Severity::Note || is_asked;
    let findings: Vec<_> = inspection.findings.iter().filter(is_worse).collect();
    if findings.is_empty() {
        return if is_asked && inspection.is_known {
            Ok(writeln!(app.out, "{} {path}  nothing to mend", paint(p.good, "✓"))?)
        } else if is_asked {
            let format = inspection.format.name();
            Ok(writeln!(app.out, "{path}  is {format}; there are no rules for its host")?)
        } else {
            Ok(())
        };
    }
    writeln!(app.out, "{}  {}", paint(p.strong, &path), inspection.format.name())?;
    for problem in &folded(&findings) {
        say_finding(app, problem.first)?;
        let lines: Vec<_> = problem.more.iter().take(LINES_MAX).map(|more| more.line.to_string()).collect();
        let rest = problem.more.len().saturating_sub(LINES_MAX);
        let rest = if rest > 0 { format!(" and {} more", text::count(rest as u64)) } else { String::new() };
        if !lines.is_empty() {
            let again = format!("         the same in line {}{rest}; --json has all", lines.join(", "));
            writeln!(app.out, "{}", paint(p.dim, again))?;
        }
    }
    if inspection.mendable() > 0 {
        let command = format!("unforget repair {}", text::quoted(&inspection.path.display().to_string()));
        writeln!(app.out, "  do  {}", paint(p.strong, text::harmless(&command)))?;
    }
    Ok(())
}

fn say_finding(app: &mut App, finding: &Finding) -> Outcome<()> {
    let p = app.out.palette;
    let style = if finding.severity >= Severity::Loss { p.bad } else { p.dim };
    let about =
        finding.name.as_deref().map_or_else(String::new, |name| format!(" ({})", text::one_line(name, 60)));
    writeln!(
        app.out,
        "  {} line {}: {}{about}",
        paint(style, format!("{:<6}", finding.severity.name())),
        finding.line,
        finding.problem.what(),
    )?;
    let entry = finding
        .entry
        .as_deref()
        .map_or_else(String::new, |entry| format!("entry {}, ", text::one_line(entry, 60)));
    let left = if finding.is_mended { "" } else { "; repair leaves it" };
    let place = format!("{entry}bytes {} to {}{left}", finding.bytes.start, finding.bytes.end);
    writeln!(app.out, "         {}", finding.problem.consequence())?;
    Ok(writeln!(app.out, "         {}", paint(p.dim, place))?)
}
