//! Splits a command line into the commands of its pipelines and chains.

use super::super::words::{Token, tokens};
use super::base;

/// When and how the next step runs.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum NextStep {
    /// If this one succeeds.
    #[default]
    IfDone,
    /// Even if this one fails.
    Anyway,
    /// Beside this one: it reads the output.
    Reads,
}

/// One command of a pipeline.
#[derive(Default)]
pub(super) struct Step {
    pub(super) words: Vec<(String, bool)>,
    /// Target files of redirections, each with whether output is appended.
    pub(super) into: Vec<(String, bool)>,
    pub(super) next: NextStep,
    /// Whether it stands in a group whose output is piped as a whole.
    pub(super) grouped: bool,
    /// Whether a stream of it goes to `/dev/null`.
    pub(super) muted: bool,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.into.is_empty()
    }
}

/// Shells whose scripts are read.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// How many scripts stand in each other at most.
const DEPTH_MAX: usize = 3;

/// The steps of a line, in order.
pub(super) fn steps(line: &str) -> Vec<Step> {
    within(line, DEPTH_MAX)
}

fn within(line: &str, depth: usize) -> Vec<Step> {
    let mut steps = split(tokens(line));
    if depth == 0 || !steps.iter().any(|step| script(&step.words).is_some()) {
        return steps;
    }
    let mut all = Vec::with_capacity(steps.len());
    for step in steps.drain(..) {
        match script(&step.words) {
            Some(script) => all.extend(inside(script, &step, depth - 1)),
            None => all.push(step),
        }
    }
    all
}

/// The steps of a script, in place of the step that runs it.
fn inside(script: &str, outer: &Step, depth: usize) -> Vec<Step> {
    let mut steps = within(script, depth);
    while steps.len() > 1 && steps.last().is_some_and(Step::is_empty) {
        steps.pop();
    }
    let is_grouped = outer.next == NextStep::Reads || outer.grouped;
    for step in &mut steps {
        step.grouped |= is_grouped;
        step.muted |= outer.muted;
    }
    if let Some(last) = steps.last_mut() {
        last.next = outer.next;
        last.into.extend(outer.into.iter().cloned());
    }
    steps
}

/// The script behind `bash -c` and `sh -lc`.
fn script(words: &[(String, bool)]) -> Option<&str> {
    let [(shell, _), rest @ ..] = program(words) else { return None };
    let is_run = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = rest.iter().take_while(|(word, _)| word.starts_with('-')).position(|(word, _)| is_run(word))?;
    let (script, _) = rest.get(at + 1)?;
    SHELLS.contains(&base(shell)).then_some(script)
}

fn split(tokens: Vec<Token>) -> Vec<Step> {
    let mut steps = vec![Step::default()];
    let mut into = None;
    // Starts of open groups, and the start of the newest closed one.
    let (mut open, mut closed) = (Vec::new(), None);
    for token in tokens {
        let at = steps.len() - 1;
        let Some(step) = steps.last_mut() else { break };
        match token {
            Token::Word(word, plain) => match into.take() {
                Some(Some(append)) if plain => {
                    step.muted |= word == "/dev/null";
                    step.into.push((word, append));
                }
                Some(_) => step.muted |= word == "/dev/null",
                None => step.words.push((word, plain)),
            },
            Token::Into(append) => into = Some(Some(append)),
            Token::Aside => into = Some(None),
            // Behind a group: its last command stands before the empty step.
            Token::Pipe | Token::Next(true) if step.is_empty() && closed.is_some() => {
                let group = steps.get_mut(closed.take().unwrap_or(at)..).unwrap_or_default();
                for step in group.iter_mut() {
                    step.grouped |= token == Token::Pipe;
                }
                if let Some(last) = group.iter_mut().rev().find(|step| !step.is_empty()) {
                    last.next = next(&token);
                }
            }
            Token::Pipe | Token::Next(_) | Token::Open | Token::Close => {
                match token {
                    Token::Open => open.push(at + 1),
                    Token::Close => closed = open.pop(),
                    _ => closed = None,
                }
                step.next = next(&token);
                steps.push(Step::default());
            }
        }
    }
    steps
}

fn next(token: &Token) -> NextStep {
    match token {
        Token::Pipe => NextStep::Reads,
        Token::Next(true) => NextStep::Anyway,
        _ => NextStep::IfDone,
    }
}

/// The words from the program on: without assignments, wrappers and shell keywords.
pub(super) fn program(words: &[(String, bool)]) -> &[(String, bool)] {
    let mut rest = words;
    while let [(first, _), more @ ..] = rest {
        let assigns = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        let wraps = matches!(
            first.as_str(),
            "sudo"
                | "time"
                | "nohup"
                | "env"
                | "command"
                | "exec"
                | "do"
                | "then"
                | "else"
                | "if"
                | "while"
                | "!"
                | "{"
        );
        rest = match (first.as_str(), more) {
            ("timeout" | "gtimeout", [(option, _), _, more @ ..]) if option.starts_with('-') => more,
            ("timeout" | "gtimeout", [_, more @ ..]) => more,
            // The script is the program.
            (shell, [(script, true), ..])
                if SHELLS.contains(&base(shell))
                    && !script.starts_with('-')
                    && script.contains(['/', '.']) =>
            {
                more
            }
            _ if assigns || wraps => more,
            _ => return rest,
        };
    }
    rest
}
