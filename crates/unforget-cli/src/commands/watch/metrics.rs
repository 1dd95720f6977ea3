//! Counters of a watch, as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unforget_guard::{Inspection, Problem, Severity};

use crate::failure::{Failure, Outcome};

/// The counters of a watch since its start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Transcripts in the folders.
    pub(super) files: u64,
    /// Completed repairs.
    pub(super) repairs: u64,
    /// Refused repairs: the host was working, or the file changed.
    pub(super) refused: u64,
    /// Unreadable files.
    pub(super) failures: u64,
    inspections: u64,
    bytes: u64,
    /// The present problems of each file.
    open: BTreeMap<PathBuf, Vec<(Problem, Severity)>>,
}

impl Metrics {
    /// Takes an inspection of a file.
    pub(super) fn inspected(&mut self, path: &Path, inspection: &Inspection) {
        self.inspections += 1;
        self.bytes += inspection.bytes;
        let found = inspection.findings.iter().filter(|finding| finding.severity > Severity::Note);
        let found: Vec<_> = found.map(|finding| (finding.problem, finding.severity)).collect();
        if found.is_empty() {
            self.open.remove(path);
        } else {
            self.open.insert(path.to_path_buf(), found);
        }
    }

    /// Forgets a removed file.
    pub(super) fn forget(&mut self, path: &Path) {
        self.open.remove(path);
    }

    /// Writes the whole file, if one is configured.
    pub(super) fn beat(&self, path: Option<&Path>) -> Outcome<()> {
        let Some(path) = path else { return Ok(()) };
        let failed = |error: std::io::Error| Failure::file(path, &error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".unforget-").tempfile_in(folder).map_err(failed)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        file.write_all(self.text(now).as_bytes()).map_err(failed)?;
        readable(file.as_file()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The text format of Prometheus, version 0.0.4.
    ///
    /// * `now` - seconds since 1970.
    fn text(&self, now: u64) -> String {
        let mut text = String::new();
        let figures = [
            ("files", "gauge", "Transcripts in the watched folders.", self.files),
            (
                "unsound_files",
                "gauge",
                "Transcripts with findings that are more than unusual.",
                self.open.len() as u64,
            ),
            ("inspections_total", "counter", "Inspections of a file.", self.inspections),
            ("inspected_bytes_total", "counter", "Bytes read by inspections.", self.bytes),
            ("repairs_total", "counter", "Files mended.", self.repairs),
            (
                "refused_repairs_total",
                "counter",
                "Repairs not done: in use, changed, not possible.",
                self.refused,
            ),
            ("failures_total", "counter", "Files that could not be read.", self.failures),
            ("last_look_timestamp_seconds", "gauge", "When files were looked at last.", now),
        ];
        for (name, kind, help, figure) in figures {
            writeln!(text, "# HELP unforget_guard_{name} {help}\n# TYPE unforget_guard_{name} {kind}").ok();
            writeln!(text, "unforget_guard_{name} {figure}").ok();
        }
        let mut open: BTreeMap<(Problem, Severity), u64> = BTreeMap::new();
        for found in self.open.values().flatten() {
            *open.entry(*found).or_default() += 1;
        }
        text += "# HELP unforget_guard_findings What is wrong now.\n# TYPE unforget_guard_findings gauge\n";
        for ((problem, severity), count) in open {
            let labels = format!("problem=\"{}\",severity=\"{}\"", problem.name(), severity.name());
            writeln!(text, "unforget_guard_findings{{{labels}}} {count}").ok();
        }
        text
    }
}

/// Makes the file readable for the collector, which runs as another user.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}
