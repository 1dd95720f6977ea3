//! Decides when a watched file is inspected: after a quiet period, and not too often.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of waiting files. Changes of further files are left to the next walk of the folders.
const WAITING_MAX: usize = 100_000;

/// Decides when a file is due. Has no clock: times are durations since any fixed moment.
#[derive(Clone, Debug)]
pub struct Pace {
    quiet_for: Duration,
    apart: Duration,
    longest: Duration,
    /// Changed files.
    changed: BTreeMap<PathBuf, Changed>,
    /// Mended files with the time of their last repair.
    mended: BTreeMap<PathBuf, Duration>,
}

/// When a file changed since it was last due.
#[derive(Clone, Copy, Debug)]
struct Changed {
    first: Duration,
    last: Duration,
}

impl Pace {
    /// * `quiet_for` - time without writes to a file before it is inspected.
    /// * `apart` - minimum time between two repairs of one file.
    pub fn new(quiet_for: Duration, apart: Duration) -> Self {
        Self { quiet_for, apart, longest: Duration::MAX, changed: BTreeMap::new(), mended: BTreeMap::new() }
    }

    /// Lets no file wait longer than this after its first change, however often it is written to.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// When a changed file is due.
    fn due_at(&self, changed: &Changed) -> Duration {
        changed.last.saturating_add(self.quiet_for).min(changed.first.saturating_add(self.longest))
    }

    /// Reports a change of a file.
    pub fn changed(&mut self, path: &Path, now: Duration) {
        if self.changed.len() >= WAITING_MAX && !self.changed.contains_key(path) {
            return;
        }
        let changed = self.changed.entry(path.to_path_buf()).or_insert(Changed { first: now, last: now });
        changed.last = now;
    }

    /// Files that have been quiet for long enough, each once.
    pub fn due(&mut self, now: Duration) -> Vec<PathBuf> {
        let due = self.changed.iter().filter(|(_, changed)| now >= self.due_at(changed));
        let due: Vec<_> = due.map(|(path, _)| path.clone()).collect();
        for path in &due {
            self.changed.remove(path);
        }
        due
    }

    /// Time until a file may be due; `None` if no file is waiting.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        self.changed.values().map(|changed| self.due_at(changed).saturating_sub(now)).min()
    }

    /// Whether a file may be mended now. A positive answer counts as a repair.
    pub fn may_mend(&mut self, path: &Path, now: Duration) -> bool {
        self.mended.retain(|_, at| now.saturating_sub(*at) < self.apart);
        if self.mended.contains_key(path) {
            return false;
        }
        self.mended.insert(path.to_path_buf(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_file_is_due_once_it_is_quiet() {
        let mut pace = Pace::new(seconds(10), seconds(60));
        let path = Path::new("a.jsonl");
        let table = [
            // at, changed, due, why
            (0, true, false, "just written"),
            (9, true, false, "written again"),
            (12, false, false, "quiet for 3 seconds only"),
            (19, false, true, "quiet for 10 seconds"),
            (40, false, false, "looked at already"),
            (41, true, false, "written anew"),
            (51, false, true, "and quiet anew"),
        ];
        for (at, changed, want, why) in table {
            if changed {
                pace.changed(path, seconds(at));
            }
            assert_eq!(pace.due(seconds(at)).len(), usize::from(want), "{why}: at {at}");
        }
        assert_eq!(pace.next(seconds(60)), None, "nothing is waited for");
    }

    #[test]
    fn a_file_that_is_never_quiet_is_due_all_the_same() {
        let mut pace = Pace::new(seconds(10), seconds(60)).at_most(seconds(30));
        let path = Path::new("a.jsonl");
        let due: Vec<u64> = (0..100)
            .filter(|at| {
                pace.changed(path, seconds(*at));
                !pace.due(seconds(*at)).is_empty()
            })
            .collect();
        assert_eq!(due, [30, 61, 92], "half a minute after the first change since then");
        assert_eq!(pace.next(seconds(99)), Some(seconds(10)));
    }

    #[test]
    fn a_file_is_not_mended_twice_in_a_row() {
        let mut pace = Pace::new(seconds(10), seconds(60));
        let (a, b) = (Path::new("a"), Path::new("b"));
        assert!(pace.may_mend(a, seconds(0)));
        assert!(!pace.may_mend(a, seconds(59)), "too early");
        assert!(pace.may_mend(b, seconds(59)), "another file");
        assert!(pace.may_mend(a, seconds(60)));
    }
}
