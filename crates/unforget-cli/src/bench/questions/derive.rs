//! Questions about a recorded session, with their answers, made from its structure. The rules are of the bench.
//!
//! | kind | question | answer | evidence |
//! |---|---|---|---|
//! | `fixed` | what fixed a failing test | the file that was changed last before it passed | that change, or the output in which it passes |
//! | `why` | why something is so: a sentence up to its *because*, *due to* or *so that* | most of the words behind it | the answer of the turn |
//! | `never` | what a person said never to do with two words of that sentence | most of its words | the message |
//! | `files` | which files a commit changed | all of their names, at most four | a change of one of them, or the commit |
//! | `open` | what is open of the session's first request | most of the words of an open task or next step | where that stands |

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::ledger::{Deed, Fact};

use crate::bench::hints::recorded::RecordedSession;
use crate::bench::summaries::ask::{failed_test, has_any, named, passed_test, sentences};
use crate::bench::summaries::tells::{Answer, content_words};

/// The subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OwnKind {
    Fixed,
    Why,
    Never,
    Files,
    Open,
}

impl OwnKind {
    pub(super) const ALL: [Self; 5] = [Self::Fixed, Self::Why, Self::Never, Self::Files, Self::Open];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Why => "why",
            Self::Never => "never",
            Self::Files => "files",
            Self::Open => "open",
        }
    }
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnQuestion {
    pub(super) kind: OwnKind,
    pub(super) text: String,
    pub(super) answer: Answer,
    /// Records of which any one is the evidence.
    pub(super) evidence: Vec<usize>,
}

/// Longest message of a person that is read for rules, in bytes: longer ones are pasted.
const SAID_BYTES: usize = 4_000;

/// Shortest answer of a model that is read for next steps, in bytes.
const ANSWER_BYTES: usize = 200;

/// Content words that an answer in words has.
const WORDS: std::ops::RangeInclusive<usize> = 4..=24;

/// Most files of a commit that is asked about.
const FILES_MAX: usize = 4;

/// Words of the first request that a question about open work names.
const TOPIC_WORDS: usize = 10;

/// All questions about a session.
pub(super) fn questions(session: &RecordedSession) -> Vec<OwnQuestion> {
    let mut making = Making::default();
    for (at, step) in session.steps.iter().enumerate() {
        making.take(at, &step.entry, &step.facts);
    }
    making.end_turn();
    making.open();
    making.made
}

/// A text and its record.
#[derive(Clone, Debug, Default)]
struct SaidText {
    at: usize,
    text: String,
}

/// A change of a file.
#[derive(Clone, Debug)]
struct Change {
    at: usize,
    path: String,
}

#[derive(Default)]
struct Making {
    made: Vec<OwnQuestion>,
    first: String,
    /// The model's newest text since a person spoke.
    last: Option<SaidText>,
    /// The model's newest longer text.
    newest: SaidText,
    /// Changes since the last commit.
    changes: Vec<Change>,
    /// Failing tests, and the newest change since each failed.
    failing: BTreeMap<String, Option<Change>>,
    /// Records of calls, by their ids.
    calls: BTreeMap<String, usize>,
}

impl Making {
    fn take(&mut self, at: usize, entry: &Entry, facts: &[Fact]) {
        for part in &entry.parts {
            match part {
                Part::Text(text) if entry.origin == Origin::Human => self.said(at, text),
                Part::Text(text) if entry.origin == Origin::Model && !text.trim().is_empty() => {
                    let said = SaidText { at, text: text.clone() };
                    if text.len() > ANSWER_BYTES {
                        self.newest = said.clone();
                    }
                    self.last = Some(said);
                }
                Part::ToolResult(result) => {
                    for part in &result.content {
                        if let Part::Text(text) = part {
                            self.came(at, text);
                        }
                    }
                }
                _ => {}
            }
        }
        for fact in facts {
            match fact {
                Fact::Asked => {}
                Fact::Called(called) => {
                    self.calls.insert(called.id.clone(), at);
                    for deed in &called.deeds {
                        if let Deed::Wrote { path, .. } = deed {
                            self.changed(Change { at, path: path.clone() });
                        }
                    }
                }
                Fact::Answered(answered) => {
                    let call = self.calls.get(&answered.call_id).copied();
                    for commit in &answered.commits {
                        self.committed(&commit.subject, call.into_iter().chain([at]));
                    }
                }
            }
        }
    }

    fn said(&mut self, at: usize, text: &str) {
        self.end_turn();
        if text.len() > SAID_BYTES || text.trim_start().starts_with(['<', '[']) {
            return;
        }
        if self.first.is_empty() {
            self.first = text.split_whitespace().take(TOPIC_WORDS).collect::<Vec<_>>().join(" ");
        }
        let marks = ["never ", "don't ", "do not ", "must not ", "not to "];
        for sentence in sentences(text).filter(|sentence| has_any(sentence, &marks)) {
            let mut words: Vec<&str> = sentence
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.len() >= 5 && !has_any(word, &["never", "should", "please"]))
                .collect();
            // Stable: of words with one length the first.
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
            words.dedup();
            if let [one, two, ..] = words.as_slice() {
                let asked = format!("What did I say never to do with {one} {two}?");
                self.ask_words(OwnKind::Never, asked, sentence, at);
            }
        }
    }

    /// Ends a turn. The last answer in it reports the findings.
    fn end_turn(&mut self) {
        let Some(SaidText { at, text }) = self.last.take() else { return };
        for sentence in sentences(&text) {
            let marks = [" because ", " due to ", " so that "];
            let Some((so, because)) = marks.iter().find_map(|mark| sentence.split_once(mark)) else {
                continue;
            };
            let so = so.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`').trim();
            if content_words(so).len() >= 3 {
                let asked = format!("Why is it that {}?", so.replace("**", ""));
                self.ask_words(OwnKind::Why, asked, because, at);
            }
        }
    }

    fn ask_words(&mut self, kind: OwnKind, text: String, answer: &str, at: usize) {
        let words = content_words(answer);
        if WORDS.contains(&words.len()) {
            self.made.push(OwnQuestion { kind, text, answer: Answer::Near(words), evidence: vec![at] });
        }
    }

    fn changed(&mut self, change: Change) {
        for newest in self.failing.values_mut() {
            *newest = Some(change.clone());
        }
        self.changes.push(change);
    }

    fn came(&mut self, at: usize, output: &str) {
        for line in output.lines().filter(|line| line.len() < 400) {
            if let Some(name) = failed_test(line) {
                // A part of a test is mended with it.
                if !name.contains('/') {
                    self.failing.entry(name).or_default();
                }
            } else if let Some(name) = passed_test(line)
                && let Some(Some(change)) = self.failing.remove(&name)
                && let Some(file) = named(&change.path)
            {
                self.made.push(OwnQuestion {
                    kind: OwnKind::Fixed,
                    text: format!("What fixed the failing test {name}?"),
                    answer: Answer::All(vec![file]),
                    evidence: vec![change.at, at],
                });
            }
        }
    }

    fn committed(&mut self, subject: &str, commit: impl Iterator<Item = usize>) {
        let changes = std::mem::take(&mut self.changes);
        let names: Option<BTreeSet<String>> = changes.iter().map(|change| named(&change.path)).collect();
        let Some(names) = names.filter(|names| (1..=FILES_MAX).contains(&names.len())) else { return };
        if content_words(subject).len() >= 2 {
            self.made.push(OwnQuestion {
                kind: OwnKind::Files,
                text: format!("Which files did the commit \"{subject}\" change?"),
                answer: Answer::All(names.into_iter().collect()),
                evidence: changes.iter().map(|change| change.at).chain(commit).collect(),
            });
        }
    }

    fn open(&mut self) {
        let next = [
            "next step",
            "remaining",
            "still need",
            "still missing",
            "not yet",
            "todo",
            "to do:",
            "follow-up",
            "want me to",
            "should i ",
            "left to ",
        ];
        let SaidText { at, text } = std::mem::take(&mut self.newest);
        let asked = format!("What is still open of {}?", self.first.trim_end_matches(['.', '?', '!']));
        let steps: Vec<&str> = sentences(&text).filter(|sentence| has_any(sentence, &next)).collect();
        if !self.first.is_empty() {
            for step in steps {
                self.ask_words(OwnKind::Open, asked.clone(), step, at);
            }
        }
    }
}
