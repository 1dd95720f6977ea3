//! The commands that a line runs: which of them hides the end of another, and by which one the line fails.

use unforget_core::ledger::{CommandPurpose, ShownOutput, SimpleCommand};

use super::super::simple::{quotes, simple};
use super::steps::{NextStep, Step};
use super::{DISPLAYS, IDLE, SILENT, base};

/// Most simple commands kept of a line: the last ones.
const PARTS_MAX: usize = 64;

/// The commands of a line that do or look at something, in order.
#[derive(Default)]
pub(super) struct Ran<'a> {
    commands: Vec<RanCommand<'a>>,
    /// Number of commands before the last chain: up to there the line goes on after a failure.
    before: usize,
    /// Whether the line goes on after the newest command.
    goes_on: bool,
    /// The command whose exit code the line keeps in a variable.
    kept: Option<usize>,
    /// Whether the line ends with the kept code.
    tells_kept: bool,
    /// Whether a pipeline fails by each of its commands.
    is_strict: bool,
}

struct RanCommand<'a> {
    words: &'a [(String, bool)],
    /// Whether its output goes into another command.
    piped: bool,
    /// Whether it does so with the other commands of a group.
    grouped: bool,
    /// The files into which its output goes.
    into: &'a [(String, bool)],
    /// What the line shows of its output.
    shown: ShownOutput,
    /// Whether a filter chose lines that report faults.
    is_of_faults: bool,
}

impl<'a> Ran<'a> {
    /// Before the first step of a line.
    pub(super) fn of(steps: &[Step]) -> Self {
        let sets = |step: &Step| {
            let words = || step.words.iter().map(|(word, _)| word.as_str());
            words().next() == Some("set") && words().any(|word| word == "pipefail")
        };
        Self { is_strict: steps.iter().any(sets), ..Self::default() }
    }

    /// Takes the next step.
    ///
    /// * `words` - from the program on.
    /// * `piped` - whether it reads the output of the step before.
    pub(super) fn take(&mut self, step: &'a Step, words: &'a [(String, bool)], piped: bool) {
        let name = words.first().map_or("", |(word, _)| base(word));
        let args = words.get(1..).unwrap_or_default();
        let displays = DISPLAYS.contains(&name);
        let is_idle = SILENT.contains(&name) || IDLE.contains(&name);
        if self.goes_on {
            self.before = self.commands.len();
        }
        if step.words.iter().any(|(word, _)| word.ends_with("=$?")) {
            self.kept = self.commands.len().checked_sub(1);
        }
        self.tells_kept |= name == "exit" && words.get(1).is_some_and(|(code, _)| code.starts_with('$'));
        if displays && piped {
            self.source().for_each(|command| command.filter(name, args));
        } else if let Some(at) = self.writer(args).filter(|_| displays && step.into.is_empty()) {
            // The output of a command before, from the file into which it went.
            if let Some(command) = self.commands.get_mut(at) {
                command.shown = ShownOutput::Whole;
                command.filter(name, args);
            }
        } else if !is_idle {
            if piped {
                self.source().for_each(|command| command.shown = ShownOutput::Chosen);
            }
            let is_away = step.muted || !step.into.is_empty();
            let shown = if is_away { ShownOutput::Chosen } else { ShownOutput::Whole };
            self.commands.push(RanCommand {
                words,
                piped: step.next == NextStep::Reads || step.grouped,
                grouped: step.grouped,
                into: &step.into,
                shown,
                is_of_faults: false,
            });
        }
        // A change of folder hides nothing.
        self.goes_on = step.next == NextStep::Anyway && (!SILENT.contains(&name) || self.goes_on);
    }

    /// The commands whose output the next step of the pipeline reads.
    fn source(&mut self) -> impl Iterator<Item = &mut RanCommand<'a>> {
        let newest = self.commands.len().saturating_sub(1);
        let group = self.commands.iter().rev().take_while(|command| command.grouped).count();
        self.commands.iter_mut().skip(newest.min((newest + 1).saturating_sub(group)))
    }

    /// The command before whose output went into one of these files.
    fn writer(&self, args: &[(String, bool)]) -> Option<usize> {
        let is_named = |path: &String| args.iter().any(|(word, _)| word == path);
        self.commands.iter().rposition(|command| command.into.iter().any(|(path, _)| is_named(path)))
    }

    /// The commands, and the index of the one by which the line fails.
    pub(super) fn parts(self, folder: Option<&str>) -> (Vec<SimpleCommand>, Option<u64>) {
        let first = self.commands.len().saturating_sub(PARTS_MAX);
        let read = |(at, command): (usize, &RanCommand<'_>)| {
            let part = simple(command.words, folder);
            let hides = at < self.before || (command.piped && !self.is_strict);
            let is_look = part.purpose == CommandPurpose::Looks;
            let writes = !command.into.is_empty();
            let purpose = if is_look && writes { CommandPurpose::Work } else { part.purpose };
            SimpleCommand { hides, purpose, shown: command.shown, ..part }
        };
        let mut parts: Vec<SimpleCommand> = self.commands.iter().enumerate().skip(first).map(read).collect();
        if self.commands.iter().any(RanCommand::quotes) {
            let hidden = parts.iter_mut().filter(|part| part.hides);
            hidden.for_each(|part| part.shown = ShownOutput::Mixed);
        }
        let before = self.before.saturating_sub(first);
        let chain = if before < parts.len() { before } else { 0 };
        let kept = self.kept.filter(|_| self.tells_kept).and_then(|at| at.checked_sub(first));
        let last = || {
            parts
                .iter()
                .skip(chain)
                .rposition(|part| part.purpose != CommandPurpose::Looks)
                .map(|at| at + chain)
        };
        let fails = kept.or_else(last).and_then(|at| u64::try_from(at).ok());
        (parts, fails)
    }
}

impl RanCommand<'_> {
    /// Whether it shows the text of files or pages as it is.
    fn quotes(&self) -> bool {
        let name = self.words.first().map_or("", |(word, _)| base(word));
        self.into.is_empty() && quotes(name, self.words.get(1..).unwrap_or_default())
    }

    /// Its output goes through a command that only displays.
    fn filter(&mut self, name: &str, args: &[(String, bool)]) {
        let has = |options: &[&str]| args.iter().any(|(word, _)| options.contains(&word.as_str()));
        let is_flag = |flag: char| {
            args.iter().any(|(word, _)| {
                word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
            })
        };
        let shown = match name {
            "head" => ShownOutput::Start,
            "tail" => ShownOutput::End,
            "grep" | "egrep" | "rg" => {
                let inverts = is_flag('v') || has(&["--invert-match"]);
                self.is_of_faults = !inverts && args.iter().any(|(word, _)| names_faults(word));
                let counts = is_flag('c') || has(&["--count"]);
                if counts && self.is_of_faults { ShownOutput::FaultCount } else { ShownOutput::Chosen }
            }
            "wc" if self.is_of_faults => ShownOutput::FaultCount,
            "awk" | "wc" => ShownOutput::Chosen,
            "sed" if is_flag('n') => ShownOutput::Chosen,
            _ => ShownOutput::Whole,
        };
        self.shown = self.shown.max(shown);
    }
}

/// Whether a pattern chooses lines that report faults, and not warnings too.
fn names_faults(pattern: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    !pattern.starts_with('-')
        && !pattern.contains("warn")
        && ["error", "fail", "undefined", "panic"].iter().any(|word| pattern.contains(word))
}
