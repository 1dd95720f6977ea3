//! Reads the results of calls: their outcome, and what a person says by way of them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use unforget_core::entry::{Entry, ToolResult};
use unforget_core::id::Seq;
use unforget_core::ledger::{Answered, Deed, Outcome};

use super::anchor_set::Weight;
use super::{Builder, CallTarget, ERROR_CHARS, Pending, start_of};
use crate::clean::clean;
use crate::clip::{clip, one_line, pattern};
use crate::lines::ending_lines;
use crate::relayed::{ChosenAnswer, Relayed, relayed};
use crate::sections::{CHOSEN, Item, SectionKind, State};
use crate::sentences::is_document;
use crate::typed::without_reminder;
use crate::work::{is_frame, safe_ends_of};

/// Most characters of a person's answer to a tool's question, and of the question.
const ANSWER_CHARS: usize = 200;
/// Most bytes kept of a document that a tool returned.
const DOCUMENT_BYTES: usize = 3_200;
/// Most lines looked at for rows of a search, and their share in percent of the lines of its output.
const ROWS_LOOK: usize = 200;
const ROWS_PERCENT: usize = 50;

/// A row of a search: a file and a line's number before its text.
static ROW: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\S+[:-]\d+[:-]"));

impl Builder {
    /// Takes the result of a call, and a person's words in it. Returns whether it only shows or acknowledges files and tasks
    /// that the lists tell of.
    pub(super) fn result(&mut self, seq: Seq, entry: &Entry, result: &ToolResult) -> bool {
        let text = crate::preview::result_text(result);
        let ends = clean(&safe_ends_of(&text));
        let pending = self.calls.remove(&result.call_id);
        let answered = crate::work::answered(result);
        let deeds = pending.as_ref().map(|call| call.deeds.as_slice()).unwrap_or_default();
        // Commands behind a pipe hide the outcome of the checks before it.
        let failing = crate::work::fails(deeds, &answered);
        let outcome = outcome(result, &answered, failing, deeds, &ends);
        let is_told = answered.outcome == Outcome::Done && is_of_files(deeds);
        if answered.outcome == Outcome::Done && !writes(deeds) {
            self.document(seq, pending.as_ref(), &text);
        }
        let failed = failing || (answered.outcome == Outcome::Failed && !is_no(&answered, pending.as_ref()));
        let told = failed.then(|| answered.error.clone().unwrap_or_else(|| outcome.clone()));
        let (name, target) = pending.as_ref().map_or_else(
            || (one_line(&result.name), String::new()),
            |call| (call.name.clone(), call.target.clone()),
        );
        if let Some(call) = pending {
            let item = self.items.entry(SectionKind::Actions).or_default().get_mut(call.action);
            if let Some(item) = item {
                item.text = format!("{name} {target}: {outcome}");
                item.absorb(&Item::new("", seq));
            }
            if answered.outcome == Outcome::Done {
                self.files(seq, &call.deeds);
            }
        }
        self.anchors.read(&ends, seq, Weight::Shown);
        if let Some(told) = &told {
            self.anchors.read(told, seq, Weight::Failed);
        }
        if answered.outcome != Outcome::NotRun {
            self.note_failure(seq, CallTarget { name, target }, told);
        }
        self.relayed(seq, entry, &text);
        is_told
    }

    /// Takes what a person says by way of a tool: in place of a refused call a request, to a question a decision.
    fn relayed(&mut self, seq: Seq, entry: &Entry, text: &str) {
        match relayed(text) {
            None => {}
            Some(Relayed::Instead(words)) => self.human(seq, entry, &words),
            Some(Relayed::Chosen(answers)) => {
                for ChosenAnswer { question, answer } in answers {
                    let [question, answer] = [question, answer]
                        .map(|text| clip(&one_line(&clean(&text)), ANSWER_CHARS).into_owned());
                    self.rules(seq, entry, &answer);
                    let text = format!("{CHOSEN}{answer} (asked: {question})");
                    self.anchors.read(&text, seq, Weight::Decided);
                    self.push(
                        SectionKind::Decisions,
                        Item { author: entry.author.clone(), ..Item::new(text, seq) },
                    );
                }
            }
        }
    }

    /// Keeps a result that is a document and that the request at hand may follow: the first one behind the request, or a
    /// later one that the request names. What is read once files have changed is material.
    fn document(&mut self, seq: Seq, call: Option<&Pending>, text: &str) {
        let text = crate::work::unnumbered(&clean(&start_of(without_frame(without_reminder(text)))));
        if is_of_rows(&text) || !is_document(&text) {
            return;
        }
        let newest = |kind: SectionKind| self.items.get(&kind).and_then(|items| items.last());
        let request = newest(SectionKind::Goal);
        let asked = request.and_then(|ask| ask.seqs.last());
        let since = |kind: SectionKind| newest(kind).and_then(|item| item.seqs.last()) > asked;
        let target = call.map_or("", |call| &call.target);
        let is_named = request.is_some_and(|ask| names(&ask.text, target));
        if is_named || !(since(SectionKind::Specs) || since(SectionKind::FilesWritten)) {
            let read = |deed: &Deed| match deed {
                Deed::Read { path, .. } => Some(path.clone()),
                _ => None,
            };
            self.document_path = call.and_then(|call| call.deeds.iter().find_map(read));
            self.items.insert(SectionKind::Specs, vec![Item::new(clip(&text, DOCUMENT_BYTES), seq)]);
        }
    }

    /// Forgets the document if it is a file that the model writes: then it is work, not an order.
    pub(super) fn wrote(&mut self, path: &str) {
        if self.document_path.take_if(|document| document == path).is_some() {
            self.items.remove(&SectionKind::Specs);
        }
    }

    /// Notes a failure, in the tool's words; `None` is a success, which mends earlier failures of the call.
    fn note_failure(&mut self, seq: Seq, key: CallTarget, told: Option<String>) {
        let Some(told) = told else {
            for index in self.failing.remove(&key).unwrap_or_default() {
                if let Some(item) = self.items.entry(SectionKind::Errors).or_default().get_mut(index) {
                    item.state = State::Done;
                    item.absorb(&Item { state: State::Done, ..Item::new("", seq) });
                }
            }
            return;
        };
        let words = format!("{}: {}", clip(&key.name, 60), clip(&told, ERROR_CHARS));
        let index = self.push(SectionKind::Errors, Item { state: State::Open, ..Item::new(words, seq) });
        self.failing.entry(key).or_default().push(index);
    }
}

/// A text without the lines that a host puts before an output.
fn without_frame(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('\n').filter(|(line, _)| is_frame(line)) {
        rest = behind;
    }
    rest
}

/// Whether a text is the output of a search over files.
fn is_of_rows(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(ROWS_LOOK).collect();
    let is_row = |line: &&&str| ROW.as_ref().is_some_and(|row| row.is_match(line));
    lines.iter().filter(is_row).count() * 100 > lines.len() * ROWS_PERCENT
}

/// Whether a request names what a call is aimed at: a file, a number, an id.
fn names(request: &str, target: &str) -> bool {
    let words = |text: &'_ str| -> BTreeSet<String> {
        let is_gap = |c: char| c.is_whitespace() || matches!(c, '/' | '#' | '=' | ',');
        let words = text.split(is_gap).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_name = |word: &&str| word.chars().any(|c| !c.is_alphabetic());
        words.filter(is_name).map(str::to_owned).collect()
    };
    !words(request).is_disjoint(&words(target))
}

/// Whether a failure is only the answer `no` to a question, as of a search without a match.
fn is_no(answered: &Answered, call: Option<&Pending>) -> bool {
    let asks = |deed: &Deed| matches!(deed, Deed::Ran(command) if command.tells.asks);
    answered.exit == Some(1) && call.is_some_and(|call| call.deeds.iter().any(asks))
}

/// Whether a call does nothing but read or write files or keep a list of tasks.
fn is_of_files(deeds: &[Deed]) -> bool {
    let is_one = |deed: &Deed| matches!(deed, Deed::Read { .. } | Deed::Wrote { .. } | Deed::Tasks(_));
    !deeds.is_empty() && deeds.iter().all(is_one)
}

/// Whether a call changes files.
pub(super) fn writes(deeds: &[Deed]) -> bool {
    deeds.iter().any(|deed| matches!(deed, Deed::Wrote { .. }))
}

/// The outcome of a call in a few words.
///
/// * `failing` - whether it ran tests or a check that failed.
/// * `ends` - the start and the end of its output.
fn outcome(result: &ToolResult, answered: &Answered, failing: bool, deeds: &[Deed], ends: &str) -> String {
    let hides = deeds.iter().any(|deed| matches!(deed, Deed::Ran(command) if command.tells.hides));
    let word = match answered.exit {
        _ if answered.outcome == Outcome::NotRun => return "not run".to_owned(),
        Some(0) | None if failing => "failed".to_owned(),
        Some(code) => format!("exit {code}"),
        None if answered.outcome == Outcome::Failed => "error".to_owned(),
        // A filter behind a pipe ended well; how the command before it ended, nobody said.
        None if hides => "ran".to_owned(),
        None => "ok".to_owned(),
    };
    if let Some(counts) = answered.tests.map(crate::preview::counts_text) {
        return format!("{word}, {counts}");
    }
    match ending_lines(ends, 1).first() {
        Some(line) if result.exit_code.is_none() => format!("{word}, {}", clip(&one_line(line), 60)),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_table() {
        let table = [
            ("follow docs/plan.md", "Read /srv/docs/plan.md", true, "a file"),
            ("work on #12, please", "gh issue view 12", true, "a number"),
            ("do spot-4te.6", "bd show spot-4te.6", true, "an id"),
            ("read the plan", "Read /srv/plan.md", false, "a word is no name"),
            ("work on 12", "gh issue view 13", false, "another number"),
        ];
        for (request, target, want, why) in table {
            assert_eq!(names(request, target), want, "{why}");
        }
    }

    #[test]
    fn rows_table() {
        let table = [
            ("a.rs:12: // The lock is kept.\na.rs-13-// It is dropped.\n\n", true, "rows of a search"),
            ("The lock is kept.\nSee a.rs:12: there.", false, "prose that names a place"),
            ("", false, "nothing"),
        ];
        for (text, want, why) in table {
            assert_eq!(is_of_rows(text), want, "{why}");
        }
        assert_eq!(without_frame("Chunk ID: 7\nWall time: 1s\nOutput:\n# Plan\n"), "# Plan\n");
    }
}
