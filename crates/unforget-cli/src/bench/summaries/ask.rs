//! Questions about a stretch of a session, found by rules of the bench itself and not of the product.
//!
//! | kind | subject of the question |
//! |---|---|
//! | `file` | a file that a tool wrote or changed |
//! | `test` | a test that failed, and the file that was changed last before it passed |
//! | `decision` | a sentence of a turn's last answer that gives a cause or a choice |
//! | `rule` | a sentence in which a person says how to do things |
//! | `open` | an unfinished task of the newest list, or else a next step of the newest longer answer |
//! | `command` | a command that was run at least twice |

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use unforget_bench::Random;
use unforget_core::entry::{Entry, Origin, Part, ToolCall};

use super::tells::{Answer, content_words};

/// The subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    File,
    Test,
    Decision,
    Rule,
    Open,
    Command,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::File, Self::Test, Self::Decision, Self::Rule, Self::Open, Self::Command];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Test => "test",
            Self::Decision => "decision",
            Self::Rule => "rule",
            Self::Open => "open",
            Self::Command => "command",
        }
    }
}

/// A question with the required content of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) kind: Kind,
    pub(super) answer: Answer,
}

/// Most questions of a kind drawn from a stretch.
const DRAWN: usize = 4;

/// Longest text of a person that is searched for rules, in bytes: longer ones are pasted.
const SAID_BYTES: usize = 4_000;

/// Shortest text of a model that is searched for next steps, in bytes: shorter ones accompany a call.
const ANSWER_BYTES: usize = 200;

/// Least number of content words that identify a sentence.
const WORDS_MIN: usize = 5;

/// Draws questions about a stretch of a session, with a seed.
pub(super) fn questions(entries: &[&Entry], random: &mut Random) -> Vec<Question> {
    let found = Stretch::read(entries).finish();
    let mut drawn = Vec::new();
    for (kind, mut answers) in found {
        for _ in 0..DRAWN.min(answers.len()) {
            let answer = answers.swap_remove(random.below(answers.len()));
            drawn.push(Question { kind, answer });
        }
    }
    drawn
}

#[derive(Default)]
struct Stretch {
    files: BTreeSet<String>,
    rules: Vec<String>,
    decisions: Vec<String>,
    commands: BTreeMap<String, u64>,
    /// Unfinished tasks of the newest list. Tasks created one by one are numbered from 1 and empty when done.
    tasks: Option<Vec<String>>,
    made: Vec<String>,
    /// Failing tests, and the last file changed since.
    failing: BTreeMap<String, Option<String>>,
    mended: BTreeMap<String, String>,
    /// The model's newest text since a person spoke.
    last_answer: String,
    /// The model's newest longer text.
    newest: String,
}

impl Stretch {
    fn read(entries: &[&Entry]) -> Self {
        let mut stretch = Self::default();
        for entry in entries {
            for part in &entry.parts {
                match part {
                    Part::Text(text) if entry.origin == Origin::Human => stretch.said(text),
                    Part::Text(text) if entry.origin == Origin::Model => stretch.answered(text),
                    Part::ToolCall(call) => stretch.called(call),
                    Part::ToolResult(result) => {
                        let texts = result.content.iter().filter_map(|part| match part {
                            Part::Text(text) => Some(text.as_str()),
                            _ => None,
                        });
                        stretch.came(&texts.collect::<Vec<_>>().join("\n"));
                    }
                    _ => {}
                }
            }
        }
        stretch
    }

    fn said(&mut self, text: &str) {
        self.turn_ends();
        if text.len() > SAID_BYTES || text.trim_start().starts_with(['<', '[']) {
            return;
        }
        let marks =
            ["must ", "never ", "always ", "don't ", "do not ", "prefer ", "make sure", "should ", "only "];
        self.rules.extend(sentences(text).filter(|sentence| has_any(sentence, &marks)).map(str::to_owned));
    }

    fn answered(&mut self, text: &str) {
        text.clone_into(&mut self.last_answer);
        if text.len() > ANSWER_BYTES {
            text.clone_into(&mut self.newest);
        }
    }

    /// Ends a turn. Its last answer reports the findings.
    fn turn_ends(&mut self) {
        let answer = std::mem::take(&mut self.last_answer);
        let marks = [
            "because ",
            "root cause",
            "caused by",
            "due to ",
            "decided ",
            "instead of ",
            "the fix ",
            "the issue was",
        ];
        let found = sentences(&answer).filter(|sentence| has_any(sentence, &marks)).map(str::to_owned);
        self.decisions.extend(found);
    }

    fn called(&mut self, call: &ToolCall) {
        let Ok(given) = serde_json::from_str::<Value>(&call.arguments) else { return };
        let text = |keys: &[&str]| keys.iter().find_map(|key| given.get(key)?.as_str()).map(str::to_owned);
        match call.name.to_ascii_lowercase().as_str() {
            "edit" | "write" | "multiedit" | "notebookedit" | "str_replace_editor" | "create_file" => {
                if let Some(path) = text(&["file_path", "path", "notebook_path"]) {
                    self.wrote(&path);
                }
            }
            "bash" | "shell" | "exec_command" | "run" => {
                if let Some(command) = text(&["command", "cmd"]).as_deref().and_then(plain_command) {
                    *self.commands.entry(command).or_default() += 1;
                }
            }
            "todowrite" | "update_plan" => {
                let items = ["todos", "plan"].iter().find_map(|key| given.get(key)?.as_array());
                let open = items.into_iter().flatten().filter(|item| item["status"] != "completed");
                let words = open.filter_map(|item| item["content"].as_str().or(item["step"].as_str()));
                self.tasks = Some(words.map(str::to_owned).collect());
            }
            "taskcreate" => self.made.extend(text(&["subject"])),
            "taskupdate" if matches!(text(&["status"]).as_deref(), Some("completed" | "deleted")) => {
                let number = text(&["taskId"]).and_then(|id| id.parse::<usize>().ok());
                if let Some(task) = number.and_then(|number| self.made.get_mut(number.checked_sub(1)?)) {
                    task.clear();
                }
            }
            _ => {}
        }
    }

    fn wrote(&mut self, path: &str) {
        for last in self.failing.values_mut() {
            *last = Some(path.to_owned());
        }
        self.files.insert(path.to_owned());
    }

    /// Reads the tests in an output: those that fail now, and those that pass after failing.
    fn came(&mut self, output: &str) {
        for line in output.lines().filter(|line| line.len() < 400) {
            if let Some(name) = failed_test(line) {
                self.failing.entry(name).or_default();
            } else if let Some(name) = passed_test(line)
                && let Some(Some(file)) = self.failing.remove(&name)
            {
                self.mended.insert(name, file);
            }
        }
    }

    fn finish(mut self) -> Vec<(Kind, Vec<Answer>)> {
        let next = ["next step", "next, ", "remaining", "still need", "todo", "to do:"];
        let steps: Vec<String> =
            sentences(&self.newest).filter(|line| has_any(line, &next)).map(str::to_owned).collect();
        self.turn_ends();
        let mut open = self.tasks.unwrap_or_default();
        open.append(&mut self.made);
        if open.iter().all(String::is_empty) {
            open = steps;
        }
        let near = |texts: Vec<String>, least: usize| -> Vec<Answer> {
            let words: BTreeSet<Vec<String>> = texts.iter().map(|text| content_words(text)).collect();
            words.into_iter().filter(|words| (least..=24).contains(&words.len())).map(Answer::Near).collect()
        };
        let files = self.files.iter().filter_map(|path| named(path)).map(|name| Answer::All(vec![name]));
        let tests =
            self.mended.iter().filter_map(|(test, file)| Some(Answer::All(vec![test.clone(), named(file)?])));
        let commands = self.commands.iter().filter(|(_, runs)| **runs > 1);
        let commands = commands.map(|(command, _)| Answer::All(vec![command.clone()]));
        vec![
            (Kind::File, files.collect()),
            (Kind::Test, tests.collect()),
            (Kind::Decision, near(self.decisions, WORDS_MIN)),
            (Kind::Rule, near(self.rules, WORDS_MIN)),
            (Kind::Open, near(open, WORDS_MIN - 1)),
            (Kind::Command, commands.collect()),
        ]
    }
}

pub(in crate::bench) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with(['|', '`', '>']) && !line.ends_with(':'));
    let parts = lines.flat_map(|line| line.split_inclusive(". "));
    parts.map(str::trim).filter(|part| (24..400).contains(&part.len()))
}

pub(in crate::bench) fn has_any(sentence: &str, marks: &[&str]) -> bool {
    let small = sentence.to_lowercase();
    marks.iter().any(|mark| small.contains(mark))
}

/// The distinguishing part of a file's path: its name, with its folder where the name is common.
pub(in crate::bench) fn named(path: &str) -> Option<String> {
    let mut steps = path.rsplit(['/', '\\']).filter(|step| !step.is_empty());
    let name = steps.next()?;
    let (stem, _) = name.split_once('.').unwrap_or((name, ""));
    let is_common = stem.len() < 6
        || ["README", "package", "index", "config", "settings", "CHANGELOG", "helpers", "utils"]
            .contains(&stem);
    if is_common { Some(format!("{}/{name}", steps.next()?)) } else { Some(name.to_owned()) }
}

/// The first words of the first command with an effect.
fn plain_command(line: &str) -> Option<String> {
    const LOOKING: [&str; 20] = [
        "cd", "ls", "cat", "grep", "rg", "find", "sed", "head", "tail", "echo", "pwd", "which", "wc",
        "sleep", "for", "export", "mkdir", "rm", "cp", "mv",
    ];
    let parts =
        line.lines().next()?.split("&&").map(|part| part.split(['|', ';', '>']).next().unwrap_or_default());
    let mut parts = parts.map(|part| part.split_whitespace().take(3).collect::<Vec<_>>());
    let words = parts.find(|words| words.first().is_some_and(|first| !LOOKING.contains(first)))?;
    let is_looking =
        words.first() == Some(&"git") && ["status", "diff", "log", "show"].contains(words.get(1)?);
    let text = words.join(" ");
    (words.len() > 1 && !is_looking && text.len() >= 8 && !text.contains(['"', '\'', '$', '=']))
        .then_some(text)
}

/// The name of a test that a line of output reports as failed.
pub(in crate::bench) fn failed_test(line: &str) -> Option<String> {
    let line = line.trim();
    let name = line
        .strip_prefix("--- FAIL: ")
        .or_else(|| line.strip_prefix("FAILED "))
        .or_else(|| line.strip_prefix("test ").filter(|line| line.ends_with("... FAILED")))
        .or_else(|| line.strip_prefix("✗ "))
        .or_else(|| line.strip_prefix("× "))?;
    test_name(name)
}

/// The name of a test that a line of output reports as passed.
pub(in crate::bench) fn passed_test(line: &str) -> Option<String> {
    let line = line.trim();
    let name = line
        .strip_prefix("--- PASS: ")
        .or_else(|| line.strip_suffix(" PASSED"))
        .or_else(|| line.strip_prefix("test ").filter(|line| line.ends_with("... ok")))
        .or_else(|| line.strip_prefix("✓ "))
        .or_else(|| line.strip_prefix("✔ "))?;
    test_name(name)
}

/// The last part of a test's name.
fn test_name(text: &str) -> Option<String> {
    let word = text.split([' ', '(']).next()?;
    let name = word.rsplit("::").next()?;
    let is_name = name.len() >= 8 && name.chars().all(|c| c.is_alphanumeric() || "_-/".contains(c));
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_table() {
        let table = [
            (
                "cd /srv && mise run test:unit 2>&1 | tail",
                Some("mise run test:unit"),
                "what is done in the folder",
            ),
            ("go test ./cmd/...", Some("go test ./cmd/..."), "alone"),
            ("git status --short", None, "looking"),
            ("git commit -m \"x\"", Some("git commit -m"), "words of its own are left out"),
            ("ls -la", None, "looking"),
            ("make", None, "one word tells nothing"),
        ];
        for (line, want, why) in table {
            assert_eq!(plain_command(line).as_deref(), want, "{why}: {line}");
        }
    }

    #[test]
    fn name_table() {
        let table = [
            ("/srv/app/strategy.go", Some("strategy.go"), "a name of its own"),
            ("/srv/app/src/mod.rs", Some("src/mod.rs"), "a common name, with its folder"),
            ("README.md", None, "a common name without a folder"),
        ];
        for (path, want, why) in table {
            assert_eq!(named(path).as_deref(), want, "{why}: {path}");
        }
        assert_eq!(
            failed_test("    --- FAIL: TestShadow_Commit (0.01s)").as_deref(),
            Some("TestShadow_Commit")
        );
        assert_eq!(failed_test("test store::tests::it_opens ... FAILED").as_deref(), Some("it_opens"));
        assert_eq!(passed_test("--- PASS: TestShadow_Commit (0.01s)").as_deref(), Some("TestShadow_Commit"));
        assert_eq!(failed_test("ok"), None);
    }
}
