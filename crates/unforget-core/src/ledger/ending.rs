//! Decides how the commands of a line ended, by exit code and output.

use super::{
    Answered, Command, CommandPurpose, CommandReach, Failure, FailureKind, Outcome, RunEvidence, ShownOutput,
    SimpleCommand,
};

/// The conclusion from a command line's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnding<'a> {
    /// By which of its commands.
    Failed(&'a SimpleCommand),
    /// Each of its commands that is not hidden succeeded; see [`SimpleCommand::is_proven`] for the others.
    Proven,
    /// Unknown.
    Unproven,
}

impl Command {
    /// How the line ended.
    ///
    /// Counts of tests decide first, then the exit code. If a later command hides the end of a check, the output decides:
    /// a reported failure is a failure of the last hidden check. Other commands are never at fault for what an output
    /// says.
    pub fn ending(&self, answered: &Answered) -> WorkEnding<'_> {
        let failed = answered.outcome == Outcome::Failed;
        let tests = self.parts.iter().rfind(|part| part.purpose == CommandPurpose::Tests);
        let failing = tests.filter(|_| answered.tests.is_some_and(|tests| tests.failed > 0));
        if let Some(tests) = failing.filter(|tests| failed || tests.hides) {
            return WorkEnding::Failed(tests);
        }
        if answered.kind == FailureKind::Stopped {
            return if failed { WorkEnding::Unproven } else { WorkEnding::Proven };
        }
        let is_answer = self.tells.asks && answered.exit == Some(1);
        let blamed = self.fails.and_then(|at| self.parts.get(usize::try_from(at).ok()?));
        if let Some(part) = blamed.filter(|_| failed && !is_answer) {
            return WorkEnding::Failed(part);
        }
        let hidden = self.parts.iter().rfind(|part| part.hides && part.is_check());
        match hidden.filter(|part| part.is_at_fault(answered.evidence)) {
            Some(part) => WorkEnding::Failed(part),
            None if failed => WorkEnding::Unproven,
            None => WorkEnding::Proven,
        }
    }
}

impl SimpleCommand {
    /// Whether an output shows that this hidden check failed.
    fn is_at_fault(&self, evidence: RunEvidence) -> bool {
        match evidence {
            RunEvidence::Fault => self.shown != ShownOutput::Mixed,
            RunEvidence::Number => self.shown == ShownOutput::FaultCount,
            RunEvidence::Nothing | RunEvidence::Words | RunEvidence::Doubt | RunEvidence::Success => false,
        }
    }

    /// Whether this command succeeded in a line that did not fail.
    ///
    /// A hidden command did so if its output says so. Words without a failure prove something only where the end of the
    /// output is shown. No words prove something only of compilers and linters, which are silent if all is well, unless
    /// lines were chosen; and of work whose output is shown whole.
    pub fn is_proven(&self, evidence: RunEvidence) -> bool {
        let is_work = self.purpose == CommandPurpose::Work;
        match (self.hides, evidence) {
            (false, _) => true,
            (_, RunEvidence::Success) => self.shown != ShownOutput::Mixed,
            (_, RunEvidence::Words) => match self.shown {
                ShownOutput::Whole | ShownOutput::End => true,
                ShownOutput::Mixed => is_work,
                ShownOutput::Start | ShownOutput::Chosen | ShownOutput::FaultCount => false,
            },
            (_, RunEvidence::Nothing) => match self.shown {
                ShownOutput::Whole => is_work || self.purpose == CommandPurpose::Check,
                ShownOutput::End | ShownOutput::Start => self.purpose == CommandPurpose::Check,
                ShownOutput::Chosen | ShownOutput::FaultCount | ShownOutput::Mixed => false,
            },
            (_, RunEvidence::Doubt | RunEvidence::Number | RunEvidence::Fault) => false,
        }
    }

    /// Whether a success of this command, by its result, also ends a failure of a command of another kin.
    ///
    /// Only runs of all tests, and tasks, of the folder of the other command do so, and only for what a plain run works
    /// on. If the runner names the packages that passed, failures in those are over; otherwise failures at a line of a file
    /// that was edited since, if the end of the run is known. What does not compile may be mended in another file: the
    /// project's own check tells.
    ///
    /// * `is_edited` - whether the file at fault was changed since the failure.
    pub(super) fn verifies(&self, failure: &Failure, answered: &Answered, is_edited: bool) -> bool {
        let Some(failed) = &failure.part else { return false };
        let is_all = matches!(self.reach, CommandReach::Whole | CommandReach::Checked | CommandReach::More);
        let is_plain = !matches!(failed.reach, CommandReach::Special | CommandReach::More);
        let is_run = matches!(self.purpose, CommandPurpose::Tests | CommandPurpose::Task);
        let in_folder = match (&self.folder, &failed.folder) {
            (None, _) => true,
            (Some(own), Some(others)) => own.holds(others),
            (Some(_), None) => false,
        };
        let sees_end = !self.hides || matches!(self.shown, ShownOutput::Whole | ShownOutput::End);
        let is_line = matches!(failure.kind, FailureKind::Line(_));
        let compiles = failed.purpose == CommandPurpose::Check || failed.compiles.is_some();
        let is_mended = is_edited || (compiles && self.reach == CommandReach::Checked);
        let is_seen = match failure.kind {
            FailureKind::Line(_) | FailureKind::Test(_) if failure.is_among(&answered.passed) => {
                is_edited || !failure.place.package.is_empty()
            }
            _ => is_line && is_mended && sees_end && answered.passed.is_empty(),
        };
        is_all && is_plain && is_run && in_folder && is_seen
    }
}
