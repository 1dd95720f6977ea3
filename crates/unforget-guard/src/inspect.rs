//! Findings for people: the problem, its place, and its consequence.

use std::ops::Range;
use std::path::{Path, PathBuf};

use unforget_core::transcript::{Examination, Problem, Severity, Voice};
use unforget_wire::Format;

use super::GuardError;
use super::read::{Reading, read};
use super::walk::open_now;

/// A problem in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of problem.
    pub problem: Problem,
    /// Its severity.
    pub severity: Severity,
    /// The line, from 1.
    pub line: u64,
    /// The range of bytes with the problem.
    pub bytes: Range<u64>,
    /// The host's id of the record; `None` without one.
    pub entry: Option<String>,
    /// The call id, parent or record id with the problem.
    pub name: Option<String>,
    /// Whether `repair` removes the problem.
    pub is_mended: bool,
}

/// Result of an inspection.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Whether the rules of the host are known. Only then does an empty list mean that the file is sound.
    pub is_known: bool,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of records.
    pub records: usize,
    /// Findings in the order of lines.
    pub findings: Vec<Finding>,
}

impl Inspection {
    /// The worst severity; `None` without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Number of findings that a repair removes.
    pub fn mendable(&self) -> usize {
        self.findings.iter().filter(|finding| finding.is_mended).count()
    }
}

/// Inspects a transcript. Reads the file once from start to end and changes nothing.
///
/// # Errors
/// [`GuardError::File`], [`GuardError::Read`], [`GuardError::TooManyRecords`].
///
/// Memory: a few hundred bytes per record, and the largest record.
pub fn inspect(path: &Path) -> Result<Inspection, GuardError> {
    let file = open_now(path).map_err(GuardError::file("opening", path))?;
    let reading = read(&file, path)?;
    let examination = reading.examine();
    Ok(inspection(path, &reading, &examination))
}

/// The findings of a file that has been read.
pub(super) fn inspection(path: &Path, reading: &Reading, examination: &Examination) -> Inspection {
    let mut findings = if reading.has_lines() { of_lines(reading) } else { Vec::new() };
    findings.extend(examination.findings.iter().filter_map(|found| {
        let spot = reading.spots.get(found.record)?;
        Some(Finding {
            problem: found.problem,
            severity: found.severity,
            line: spot.line,
            bytes: spot.start..spot.end,
            entry: reading.facts.get(found.record).and_then(|fact| fact.id.as_deref().map(str::to_owned)),
            name: found.name.as_deref().map(str::to_owned),
            is_mended: found.is_mended,
        })
    }));
    findings.sort_by_key(|finding| (finding.line, finding.problem, finding.bytes.start));
    Inspection {
        path: path.to_path_buf(),
        format: reading.format,
        is_known: reading.customs.is_some(),
        bytes: reading.bytes,
        records: reading.spots.len(),
        findings,
    }
}

/// Problems of the lines themselves.
fn of_lines(reading: &Reading) -> Vec<Finding> {
    let is_mended = reading.customs.is_some_and(|customs| customs.is_mendable);
    let mut findings = Vec::new();
    let mut find = |problem: Problem, line: u64, bytes: Range<u64>, entry: Option<String>| {
        let severity = problem.severity(true);
        findings.push(Finding { problem, severity, line, bytes, entry, name: None, is_mended });
    };
    let mut before: Option<u64> = None;
    for (at, (spot, fact)) in reading.spots.iter().zip(&reading.facts).enumerate() {
        let entry = fact.id.as_deref().map(str::to_owned);
        if spot.nuls_before > 0 {
            let start = before.unwrap_or(0);
            find(Problem::NulBytes, spot.line, start..spot.start, entry.clone());
        }
        let is_broken = is_broken(reading, at);
        if is_broken {
            find(Problem::BrokenLine, spot.line, spot.start..spot.end, None);
        } else if at > 0 && reading.spots.get(at - 1).is_some_and(|before| !before.is_ended) {
            find(Problem::GluedLine, spot.line, spot.start..spot.end, entry);
        }
        before = Some(spot.end);
    }
    let Some(last) = reading.spots.last() else { return findings };
    if reading.tail.nuls > 0 {
        find(Problem::NulBytes, last.line + u64::from(last.is_ended), last.end..reading.bytes, None);
    }
    if let Some((byte, line)) = reading.tail.torn {
        find(Problem::TornLine, line, byte..reading.bytes, None);
    } else if !last.is_ended {
        find(Problem::NoNewline, last.line, reading.bytes..reading.bytes, None);
    }
    findings
}

/// Whether the bytes of a record are not a record.
pub(super) fn is_broken(reading: &Reading, at: usize) -> bool {
    let is_outside = reading.facts.get(at).is_some_and(|fact| fact.voice == Voice::Outside);
    // The header is outside of the path, too, but it parses.
    is_outside && reading.parsed.binary_search(&at).is_err()
}
