//! Reads command lines: the files that they read and write, and whether they test, commit or ask.
//!
//! Only plain words count. A word with a variable, a substitution or a glob is unknown.

mod ran;
mod steps;

use unforget_core::ledger::{Deed, FileChange, Lines, SimpleCommand, Tells};

use super::calls::plain_path;
use super::words::{Token, tokens};
use crate::clip::head;
use crate::secret::redact;
use ran::Ran;
use steps::{NextStep, Step, program, steps};

/// The effects of a command line.
#[derive(Default)]
pub(super) struct Shell {
    /// Files and addresses, in order.
    pub(super) deeds: Vec<Deed>,
    /// The work without its presentation: without `cd`, redirections, and the display commands of pipelines.
    pub(super) work: String,
    /// Whether it runs tests.
    pub(super) tests: bool,
    /// Whether it makes commits.
    pub(super) commits: bool,
    /// The meaning of the whole line's exit code.
    pub(super) tells: Tells,
    /// Whether it shows lines of files and does nothing else.
    pub(super) shows: bool,
    /// Its simple commands, without those that only display.
    pub(super) parts: Vec<SimpleCommand>,
    /// Index in `parts` of the command whose failure a failure of the line is.
    pub(super) fails: Option<u64>,
}

/// Longest command line read, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Reads a command line. Scripts behind `bash -c` are read as their commands. Cost: linear.
pub(super) fn read(line: &str) -> Shell {
    let steps = steps(head(line, LINE_BYTES_MAX));
    let mut shell = Shell { shows: true, ..Shell::default() };
    let mut ran = Ran::of(&steps);
    let mut piped = false;
    for (at, step) in
        steps.iter().enumerate().filter(|(_, step)| !step.words.is_empty() || !step.into.is_empty())
    {
        let words = program(&step.words);
        let name = words.first().map_or("", |(word, _)| base(word));
        let args = words.get(1..).unwrap_or_default();
        let read = reads(name, args, steps.get(at + 1).filter(|_| step.next == NextStep::Reads));
        let shown = !read.is_empty() && read.iter().all(|(_, lines)| *lines != Lines::SOME);
        let silent = SILENT.contains(&name);
        let displays = piped && DISPLAYS.contains(&name);
        shell.shows &= (shown || silent || displays) && step.into.is_empty();
        shell.deeds.extend(read.into_iter().map(|(path, lines)| Deed::Read { path, lines }));
        shell.deeds.extend(writes(name, args, &step.into));
        shell.deeds.extend(fetches(name, args));
        shell.tests |= is_test(name, args);
        shell.commits |= is_commit(name, args);
        shell.tells.asks = is_question(name, args);
        ran.take(step, words, piped);
        if !displays && !silent {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            shell.work.push_str(&words.join(" "));
            shell.work.push('\n');
        }
        piped = step.next == NextStep::Reads;
    }
    shell.shows &= shell.deeds.iter().any(|deed| matches!(deed, Deed::Read { .. }));
    if shell.work.is_empty() {
        line.trim().clone_into(&mut shell.work);
    }
    (shell.parts, shell.fails) = ran.parts(folder(line, &steps));
    shell.tells.hides = shell.parts.iter().any(|part| part.hides);
    shell
}

/// The folder in which a line works: the plain name behind a `cd` that begins it and is its only one.
fn folder<'a>(line: &str, steps: &'a [Step]) -> Option<&'a str> {
    let is_change =
        |step: &&Step| step.words.first().is_some_and(|(word, _)| word == "cd" || word == "pushd");
    let mut changes = steps.iter().filter(is_change);
    let (first, None) = (changes.next()?, changes.next()) else { return None };
    let [_, (folder, true)] = first.words.as_slice() else { return None };
    let is_start = line.trim_start().starts_with("cd ");
    let is_name = !folder.starts_with(['-', '~']) && !folder.split('/').any(|part| part == "..");
    let folder = folder.trim_end_matches('/');
    (is_start && is_name && !folder.is_empty() && folder != ".").then_some(folder)
}

/// A command line without the change of folder at its start, which most lines of a session share.
pub(crate) fn without_folder(line: &str) -> &str {
    let Some((change, rest)) = line.split_once("&&") else { return line };
    let is_change = match tokens(change).as_slice() {
        [Token::Word(name, true), Token::Word(_, _)] => name == "cd",
        _ => false,
    };
    // A quotation that the cut leaves open goes on in the rest.
    let is_whole = change.matches('"').count() % 2 == 0 && change.matches('\'').count() % 2 == 0;
    if is_change && is_whole { rest.trim_start() } else { line }
}

/// Commands without relevant effect.
const SILENT: [&str; 8] = ["", "cd", "pwd", "echo", "printf", "true", "set", "export"];
/// Further commands that do no work: ends, waits, and the words of loops and branches.
const IDLE: [&str; 16] = [
    "exit", "return", "wait", "sleep", "false", ":", "local", "unset", "shift", "for", "done", "fi", "case",
    "esac", "function", "}",
];
/// Commands that, behind a pipe, only display their input.
const DISPLAYS: [&str; 18] = [
    "head", "tail", "tee", "cat", "less", "more", "nl", "grep", "egrep", "rg", "sed", "awk", "sort", "uniq",
    "wc", "cut", "tr", "column",
];

pub(super) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The words other than options, as far as they are plain paths.
fn files(args: &[(String, bool)]) -> impl Iterator<Item = String> + '_ {
    let plain = args.iter().filter(|(word, plain)| *plain && !word.starts_with('-'));
    plain.filter_map(|(word, _)| plain_path(word)).filter(|path| !path.starts_with("/dev/"))
}

/// The files that a command shows, with the shown lines.
///
/// * `next` - the command into which its output is piped.
fn reads(name: &str, args: &[(String, bool)], next: Option<&Step>) -> Vec<(String, Lines)> {
    let (lines, paths): (Lines, Vec<String>) = match name {
        "cat" | "bat" | "nl" | "less" | "more" => (Lines::WHOLE, files(args).collect()),
        "head" | "tail" => (ends(name, args), files(without_counts(args)).collect()),
        "sed" => match sed_range(args) {
            Some((lines, rest)) => (lines, files(rest).collect()),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let lines = next.map_or(lines, |next| piped(lines, next));
    paths.into_iter().map(|path| (path, lines)).collect()
}

/// The lines that remain behind a pipe.
fn piped(lines: Lines, next: &Step) -> Lines {
    let words = program(&next.words);
    let name = words.first().map_or("", |(word, _)| base(word));
    let args = words.get(1..).unwrap_or_default();
    match name {
        "cat" | "nl" => lines,
        "head" | "tail" if lines == Lines::WHOLE && next.next != NextStep::Reads => ends(name, args),
        "sed" if lines == Lines::WHOLE && next.next != NextStep::Reads => {
            sed_range(args).map_or(Lines::SOME, |(lines, _)| lines)
        }
        _ => Lines::SOME,
    }
}

/// `head -n 5`, `head -5`, `tail -n +5`, `tail -5`; ten without a number.
fn ends(name: &str, args: &[(String, bool)]) -> Lines {
    if args.iter().any(|(word, _)| word.starts_with("-c") || word.starts_with("--bytes")) {
        return Lines::SOME;
    }
    let told = args.iter().enumerate().find_map(|(at, (word, _))| {
        let count = word
            .strip_prefix("-n")
            .or_else(|| word.strip_prefix("--lines="))
            .or_else(|| word.strip_prefix('-'))?;
        let count = if count.is_empty() { args.get(at + 1)?.0.as_str() } else { count };
        let from = count.starts_with('+');
        Some((from, count.trim_start_matches('+').parse::<u64>().ok()?))
    });
    match (name, told.unwrap_or((false, 10))) {
        ("head", (_, count)) => Lines { first: 1, last: Some(count) },
        (_, (true, from)) => Lines { first: from.max(1), last: None },
        (_, (false, count)) => Lines::ending(count),
    }
}

/// Arguments without the number behind a bare `-n`.
fn without_counts(args: &[(String, bool)]) -> &[(String, bool)] {
    match args {
        [(option, _), (_, _), rest @ ..]
            if matches!(option.as_str(), "-n" | "-c" | "--lines" | "--bytes") =>
        {
            rest
        }
        _ => args,
    }
}

/// `sed -n 5,9p file`: its lines, and the arguments behind the script. Several ranges give unknown lines.
fn sed_range(args: &[(String, bool)]) -> Option<(Lines, &[(String, bool)])> {
    let at = args.iter().position(|(word, _)| word == "-n" || word == "-ne")?;
    let script = args.get(at + 1)?.0.trim_end_matches(';');
    let rest = args.get(at + 2..)?;
    if args.iter().any(|(word, _)| word.starts_with("-i")) {
        return None;
    }
    let range = script.strip_suffix('p').and_then(|range| {
        let (first, last) = range.split_once(',').unwrap_or((range, range));
        let last = if last == "$" { None } else { Some(last.parse().ok()?) };
        Some(Lines { first: first.parse().ok()?, last })
    });
    Some((range.unwrap_or(Lines::SOME), rest))
}

/// The files that a command changes.
fn writes(name: &str, args: &[(String, bool)], into: &[(String, bool)]) -> Vec<Deed> {
    let wrote = |path: String, change| Deed::Wrote { path, change, content: None };
    let has = |option: &str| args.iter().any(|(word, _)| word.starts_with(option));
    let mut deeds: Vec<Deed> = match name {
        "tee" => {
            let change = if has("-a") { FileChange::Part } else { FileChange::Whole };
            files(args).map(|path| wrote(path, change)).collect()
        }
        "sed" | "perl" if has("-i") || has("-pi") => {
            // The first word other than options is the script, unless an option brought it.
            let skip = usize::from(!args.iter().any(|(word, _)| word == "-e"));
            let named = files(args).filter(|path| !path.is_empty()).skip(skip);
            let looks = |path: &String| path.contains(['/', '.']) && !path.contains([' ', '|', ';']);
            named.filter(looks).map(|path| wrote(path, FileChange::Part)).collect()
        }
        "rm" | "unlink" => files(args).map(|path| wrote(path, FileChange::Gone)).collect(),
        "mv" | "cp" => match files(args).collect::<Vec<_>>().as_slice() {
            [from, to] if name == "mv" => {
                vec![wrote(from.clone(), FileChange::Gone), wrote(to.clone(), FileChange::Whole)]
            }
            [_, to] => vec![wrote(to.clone(), FileChange::Whole)],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let into = into.iter().filter(|(path, _)| !path.starts_with("/dev/") && !path.starts_with('&'));
    deeds.extend(into.filter_map(|(path, append)| {
        Some(wrote(plain_path(path)?, if *append { FileChange::Part } else { FileChange::Whole }))
    }));
    deeds
}

/// The addresses that a command fetches.
fn fetches(name: &str, args: &[(String, bool)]) -> Vec<Deed> {
    let fetches = matches!(name, "curl" | "wget" | "http" | "lynx")
        || (name == "git" && args.first().is_some_and(|(word, _)| word == "clone"));
    let web = |word: &str| word.starts_with("http://") || word.starts_with("https://");
    let urls = args.iter().filter(|(word, plain)| fetches && *plain && web(word));
    urls.map(|(url, _)| Deed::Fetched(redact(head(url, 1_024)).into_owned())).collect()
}

/// Test runners, and the arguments that make them run tests; an empty list needs none.
const RUNNERS: &[(&str, &[&str])] = &[
    ("pytest", &[]),
    ("py.test", &[]),
    ("jest", &[]),
    ("vitest", &[]),
    ("mocha", &[]),
    ("rspec", &[]),
    ("phpunit", &[]),
    ("ctest", &[]),
    ("tox", &[]),
    ("nox", &[]),
    ("gotestsum", &[]),
    ("cargo", &["test", "nextest", "t"]),
    ("go", &["test"]),
    ("npm", &["test", "t", "run test", "run test:"]),
    ("pnpm", &["test", "run test", "run test:"]),
    ("yarn", &["test", "run test", "run test:"]),
    ("bun", &["test", "run test", "run test:"]),
    ("npx", &["jest", "vitest", "mocha", "playwright test"]),
    ("uv", &["run pytest"]),
    ("poetry", &["run pytest"]),
    ("python", &["-m pytest", "-m unittest"]),
    ("python3", &["-m pytest", "-m unittest"]),
    ("node", &["--test"]),
    ("deno", &["test"]),
    ("dotnet", &["test"]),
    ("mix", &["test"]),
    ("make", &["test", "check"]),
    ("just", &["test"]),
    ("mise", &["run test", "test"]),
    ("gradle", &["test"]),
    ("gradlew", &["test"]),
    ("mvn", &["test", "verify"]),
];

pub(super) fn is_test(name: &str, args: &[(String, bool)]) -> bool {
    let told: Vec<&str> = args.iter().map(|(word, _)| word.as_str()).take(3).collect();
    let line = told.join(" ");
    RUNNERS.iter().filter(|(runner, _)| *runner == name).any(|(_, orders)| {
        let begins = |order: &&str| {
            line.strip_prefix(*order)
                .is_some_and(|rest| rest.is_empty() || order.ends_with(':') || rest.starts_with([' ', ':']))
        };
        orders.is_empty() || orders.iter().any(begins)
    })
}

/// Whether a program does nothing but run tests.
pub(super) fn is_runner(name: &str) -> bool {
    RUNNERS.iter().any(|(runner, orders)| *runner == name && orders.is_empty())
}

pub(super) fn is_commit(name: &str, args: &[(String, bool)]) -> bool {
    let mut words = args.iter().map(|(word, _)| word.as_str());
    let verb = words.find(|word| !word.starts_with('-') && !word.contains('/'));
    name == "git"
        && verb.is_some_and(|verb| {
            matches!(verb, "commit" | "merge" | "cherry-pick" | "revert" | "am" | "rebase")
        })
}

/// Whether a line does nothing but prepare and make commits, and shows what they report.
pub(super) fn only_commits(line: &str) -> bool {
    let is_add = |args: &[(String, bool)]| args.first().is_some_and(|(word, _)| word == "add");
    let is_own = |step: &Step| {
        let words = program(&step.words);
        let name = words.first().map_or("", |(word, _)| base(word));
        let args = words.get(1..).unwrap_or_default();
        SILENT.contains(&name)
            || DISPLAYS.contains(&name)
            || is_commit(name, args)
            || (name == "git" && is_add(args))
    };
    steps(head(line, LINE_BYTES_MAX)).iter().all(is_own)
}

fn is_question(name: &str, args: &[(String, bool)]) -> bool {
    let first = args.first().map(|(word, _)| word.as_str());
    matches!(
        name,
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "diff" | "cmp" | "test" | "[" | "which" | "pgrep" | "type"
    ) || (name == "git" && matches!(first, Some("grep" | "diff")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_table() {
        let table = [
            ("cd /srv/app && make check", "make check", "the folder is left out"),
            ("cd '/srv/my app'  &&make", "make", "a quoted one too"),
            ("cd \"/srv/a && b\" && make", "cd \"/srv/a && b\" && make", "a name with the sign in it stays"),
            ("cd /srv; make && ls", "cd /srv; make && ls", "more than a change of folder"),
            ("cd $HOME && make", "make", "a variable"),
            ("make && cd out", "make && cd out", "not at the start"),
            ("cd /srv", "cd /srv", "nothing else"),
        ];
        for (line, want, why) in table {
            assert_eq!(without_folder(line), want, "{why}");
        }
    }
}
