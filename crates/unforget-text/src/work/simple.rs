//! Reads the simple commands of a line: program and verb, targets, and whether a command only looks.

use std::collections::BTreeSet;

use unforget_core::digest::Digest;
use unforget_core::ledger::{CommandPurpose, CommandReach, CommandTarget, ShownOutput, SimpleCommand};

use super::shell::{base, is_commit, is_runner, is_test};

/// Words of a command, each with whether it is plain.
type Words = [(String, bool)];

/// Most targets of a command, and most folders above one.
const TARGETS_MAX: usize = 32;
const ABOVE_MAX: usize = 16;

/// Programs that only look, wait or compute, unless an option in [`acts`] makes them act.
const LOOKS: &[&str] = &[
    "-v",
    "ack",
    "ag",
    "awk",
    "basename",
    "bat",
    "cat",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dig",
    "dirname",
    "du",
    "egrep",
    "env",
    "fd",
    "fgrep",
    "file",
    "find",
    "grep",
    "head",
    "host",
    "hostname",
    "id",
    "jq",
    "less",
    "ls",
    "lsof",
    "man",
    "md5sum",
    "more",
    "netstat",
    "nl",
    "nslookup",
    "od",
    "pgrep",
    "ping",
    "printenv",
    "ps",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha256sum",
    "shasum",
    "sort",
    "ss",
    "stat",
    "strings",
    "tail",
    "tr",
    "tree",
    "type",
    "uname",
    "uniq",
    "wc",
    "whereis",
    "which",
    "whoami",
    "xxd",
    "yq",
];

/// Verbs by which programs with many verbs look.
const LOOKING: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "checks",
    "describe",
    "diff",
    "for-each-ref",
    "get",
    "grep",
    "help",
    "images",
    "info",
    "inspect",
    "list",
    "log",
    "logs",
    "ls",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "metadata",
    "outdated",
    "ps",
    "ready",
    "reflog",
    "rev-list",
    "rev-parse",
    "search",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "symbolic-ref",
    "tree",
    "version",
    "view",
    "whoami",
    "why",
];

/// Verbs of `git` that look unless they get a name.
const LOOKING_BARE: &[&str] = &["branch", "remote", "tag"];

/// Verbs behind which the name of a task or a program stands.
const RUNNING: &[&str] = &["exec", "run", "run-script", "tool", "x"];

/// Verbs of programs that compile their targets first.
const COMPILING: &[(&str, &[&str])] = &[
    ("go", &["build", "install", "run", "test", "vet"]),
    ("cargo", &["b", "bench", "build", "c", "check", "clippy", "nextest", "r", "run", "t", "test"]),
    ("mix", &["compile", "dialyzer", "test"]),
    ("dotnet", &["build", "publish", "run", "test"]),
    ("swift", &["build", "run", "test"]),
    ("zig", &["build", "test"]),
];

/// Programs that run tasks of a project by their names.
const TASKS: &[&str] = &[
    "bun", "deno", "gradle", "gradlew", "just", "make", "mise", "mvn", "npm", "pnpm", "rake", "task", "yarn",
];

/// First words of the names of tasks that run until they are stopped: their output tells of no check.
const SERVING: &[&str] = &["dev", "preview", "serve", "start", "storybook", "watch"];

/// First words of the names of tasks that check all of the project.
const CHECKING: &[&str] =
    &["all", "build", "check", "ci", "compile", "lint", "test", "tests", "typecheck", "validate", "verify"];

/// Those of the project's own check of everything.
const CHECKING_ALL: &[&str] = &["all", "check", "ci", "typecheck", "validate", "verify"];

/// Second words of the names of tasks that do all of what the first word says: `test:ci`.
const ALL: &[&str] = &["all", "ci", "full"];

/// Options by which a program works on what it leaves out otherwise.
const SELECTING: &[&str] = &["all-features", "config", "env", "features", "project", "tags"];

/// Compilers and linters.
const CHECKERS: &[&str] = &[
    "actionlint",
    "biome",
    "clang",
    "clang++",
    "eslint",
    "flake8",
    "g++",
    "gcc",
    "golangci-lint",
    "hadolint",
    "javac",
    "ktlint",
    "mypy",
    "oxlint",
    "pylint",
    "pyright",
    "rubocop",
    "ruff",
    "rustc",
    "shellcheck",
    "staticcheck",
    "stylelint",
    "swiftlint",
    "tsc",
    "tsgo",
    "vue-tsc",
    "yamllint",
];

/// Verbs by which programs with many verbs compile or check.
const CHECKS: &[&str] =
    &["build", "check", "clippy", "compile", "credo", "dialyzer", "lint", "typecheck", "vet"];

/// Programs that run other programs, and the verbs behind which the other program stands; an empty list needs none.
const LAUNCHERS: &[(&str, &[&str])] = &[
    ("bunx", &[]),
    ("npx", &[]),
    ("uvx", &[]),
    ("bundle", &["exec"]),
    ("npm", &["exec"]),
    ("pnpm", &["dlx", "exec"]),
    ("poetry", &["run"]),
    ("python", &["-m"]),
    ("python3", &["-m"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Looks that show the text of files or pages as it is, line by line.
const QUOTING: &[&str] = &[
    "ack", "ag", "awk", "bat", "cat", "curl", "egrep", "fgrep", "grep", "head", "jq", "less", "more", "nl",
    "rg", "sed", "strings", "tail", "yq",
];

/// Programs whose looks show logs.
const LOGGING: &[&str] = &["docker", "gh", "journalctl", "kubectl", "podman"];

/// Whether a look shows text that may report faults of other runs.
pub(super) fn quotes(name: &str, args: &Words) -> bool {
    QUOTING.contains(&name) || (LOGGING.contains(&name) && looks(name, args))
}

/// Whether a command compiles or lints.
fn checks(name: &str, args: &Words) -> bool {
    let word = |at: usize| args.get(at).map_or("", |(word, _)| word.as_str());
    let launched = LAUNCHERS.iter().find(|(launcher, _)| *launcher == name).and_then(|(_, verbs)| {
        let at = if verbs.is_empty() { 0 } else { usize::from(verbs.contains(&word(0))) };
        let rest = args.get(at..).filter(|_| verbs.is_empty() || at > 0)?;
        rest.iter().map(|(word, _)| word).find(|word| !word.starts_with('-')).map(|word| base(word))
    });
    let verb = verb(args).map_or("", word);
    launched.is_some_and(|launched| CHECKERS.contains(&launched))
        || CHECKERS.contains(&name)
        || CHECKS.contains(&verb)
}

/// Options that make a looking program act.
fn acts(name: &str, args: &Words) -> bool {
    let has =
        |options: &[&str]| args.iter().any(|(word, _)| options.iter().any(|option| word.starts_with(option)));
    match name {
        "sed" => has(&["-i", "--in-place"]),
        "find" => has(&["-delete", "-exec", "-ok"]),
        "sort" => has(&["-o", "--output"]),
        "awk" | "yq" => has(&["-i"]),
        _ => false,
    }
}

/// Whether a command only looks at things or waits for them: its failure leaves no work undone.
fn looks(name: &str, args: &Words) -> bool {
    let mut words = args.iter().map(|(word, _)| word.as_str());
    if LOOKS.contains(&name) {
        return !acts(name, args);
    }
    if matches!(name, "curl" | "wget") {
        let sends = [
            "-X",
            "--request",
            "-d",
            "--data",
            "-F",
            "--form",
            "-T",
            "--upload",
            "-o",
            "-O",
            "--json",
            "--post",
        ];
        return name == "curl" && !words.any(|word| sends.iter().any(|option| word.starts_with(option)));
    }
    if words.clone().take(2).any(|word| matches!(word, "--version" | "--help" | "--list")) {
        return true;
    }
    let verb = verb(args);
    let Some(at) = verb else { return false };
    let rest = args.get(at + 1..).unwrap_or_default();
    let word = args.get(at).map_or("", |(word, _)| word.as_str());
    let next = rest.first().map_or("", |(word, _)| word.as_str());
    let is_bare =
        name == "git" && LOOKING_BARE.contains(&word) && rest.iter().all(|(word, _)| word.starts_with('-'));
    is_bare || LOOKING.contains(&word) || (!RUNNING.contains(&word) && LOOKING.contains(&next))
}

/// Index of the verb: the first argument other than an option, if it is a bare word. A folder behind an option is its
/// value (`git -C /srv/app commit`).
fn verb(args: &Words) -> Option<usize> {
    let mut is_value = false;
    for (at, (word, _)) in args.iter().enumerate() {
        let is_option = word.starts_with('-');
        if !(is_option || is_value && word.contains('/')) {
            return is_name(word).then_some(at);
        }
        is_value = is_option && !word.contains('=');
    }
    None
}

/// Whether a word can be a verb or the name of a task.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

/// Reads a simple command.
///
/// * `words` - from the program on; not empty.
/// * `folder` - the folder in which the line works, if it names one.
///
/// Cost: linear.
pub(super) fn simple(words: &Words, folder: Option<&str>) -> SimpleCommand {
    let name = words.first().map_or("", |(word, _)| base(word));
    let args = words.get(1..).unwrap_or_default();
    let mut command = SimpleCommand {
        program: Digest::of(name.as_bytes()),
        kin: Digest::of(b"git commit"),
        compiles: None,
        folder: folder.map(|folder| target(plain_name(folder))),
        targets: Vec::new(),
        purpose: CommandPurpose::Work,
        reach: CommandReach::Part,
        hides: false,
        shown: ShownOutput::Whole,
    };
    if is_commit(name, args) {
        // A message is no target, and a commit ends a merge.
        return command;
    }
    let verb = verb(args);
    let word = |at: usize| args.get(at).map_or("", |(word, _)| word.as_str());
    let mut kin = name.to_owned();
    // The name of the task, or else the verb.
    let mut task = verb;
    if let Some(at) = verb {
        kin = format!("{kin} {}", word(at));
        if RUNNING.contains(&word(at)) && is_name(word(at + 1)) {
            // `test:unit` and `test:all` are tasks of one kind.
            kin = format!("{kin} {}", word(at + 1).split(':').next().unwrap_or_default());
            task = Some(at + 1);
        }
        let compiles = COMPILING.iter().any(|(program, verbs)| *program == name && verbs.contains(&word(at)));
        command.compiles = compiles.then(|| Digest::of(name.as_bytes()));
    }
    command.kin = Digest::of(kin.as_bytes());
    command.targets = targets(args, verb, folder);
    let (first, second) = task.map_or(("", ""), |at| word(at).split_once(':').unwrap_or((word(at), "")));
    command.purpose = match name {
        _ if is_test(name, args) => CommandPurpose::Tests,
        _ if looks(name, args) => CommandPurpose::Looks,
        _ if TASKS.contains(&name) && SERVING.contains(&first) => CommandPurpose::Work,
        _ if TASKS.contains(&name) => CommandPurpose::Task,
        _ if checks(name, args) => CommandPurpose::Check,
        _ => CommandPurpose::Work,
    };
    let is_all = match command.purpose {
        CommandPurpose::Task => CHECKING.contains(&first) && (second.is_empty() || ALL.contains(&second)),
        // The words behind a runner without verbs are all targets.
        CommandPurpose::Tests if is_runner(name) => {
            args.iter().all(|(word, _)| word.starts_with('-') || word == "run")
        }
        CommandPurpose::Tests => second.is_empty() || ALL.contains(&second),
        CommandPurpose::Work | CommandPurpose::Looks | CommandPurpose::Check => false,
    };
    // The name of a task is a target too.
    let name_of_task = task.filter(|at| Some(*at) != verb).map(|at| target(plain_name(word(at))).name);
    let is_own = |target: &CommandTarget| target.is_root || Some(target.name) == name_of_task;
    let selects = |word: &str| {
        let option = word.trim_start_matches('-');
        option.len() < word.len() && SELECTING.iter().any(|name| option.starts_with(name))
    };
    let is_special = !second.is_empty() || args.iter().any(|(word, _)| selects(word));
    let is_whole = is_all && command.targets.iter().all(is_own);
    command.reach = match (is_whole, is_special) {
        (true, true) => CommandReach::More,
        (true, false) if CHECKING_ALL.contains(&first) => CommandReach::Checked,
        (true, false) => CommandReach::Whole,
        (false, true) => CommandReach::Special,
        (false, false) => CommandReach::Part,
    };
    command
}

/// The arguments other than the verb, flags, and options that set a number. Paths are those below the folder.
fn targets(args: &Words, verb: Option<usize>, folder: Option<&str>) -> Vec<CommandTarget> {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut is_value = false;
    let mut seen = BTreeSet::new();
    for (at, (word, _)) in args.iter().enumerate() {
        let is_option = word.starts_with('-');
        let counts = match word.split_once('=').filter(|_| is_option) {
            Some((_, value)) => !is_number(value),
            None => !(is_option || is_value && is_number(word)),
        };
        is_value = is_option && !word.contains('=');
        if counts && Some(at) != verb && seen.len() < TARGETS_MAX {
            let name = plain_name(word);
            let is_path =
                !is_option && !name.is_empty() && word.contains('/') && !word.starts_with(['/', '~', '$']);
            seen.insert(match folder.filter(|_| is_path) {
                Some(folder) => format!("{}/{name}", plain_name(folder)),
                None => name.to_owned(),
            });
        }
    }
    seen.iter().map(|name| target(name)).collect()
}

/// A folder's name without its start and end: `./src/...` is `src`, the working folder is empty.
fn plain_name(word: &str) -> &str {
    let mut name = word.trim_end_matches("...");
    if name.len() > 1 {
        name = name.trim_end_matches('/');
    }
    while let Some(rest) = name.strip_prefix("./") {
        name = rest;
    }
    if name == "." { "" } else { name }
}

/// A target with the folders that hold it. Of a name from the root on, folders may be named without their start, by two
/// words or more: `/srv/shop/src/cart` lies in `shop/src`.
fn target(name: &str) -> CommandTarget {
    let digest = |name: &str| Digest::of(name.as_bytes());
    let cuts: Vec<usize> = name.match_indices('/').map(|(at, _)| at).take(ABOVE_MAX).collect();
    let ends = || cuts.iter().copied().filter(|at| *at > 0);
    let mut above: Vec<Digest> = ends().filter_map(|end| name.get(..end)).map(digest).collect();
    if name.starts_with('/') {
        for start in cuts.iter().map(|at| at + 1) {
            let named = ends().chain([name.len()]).filter_map(|end| name.get(start..end));
            above.extend(named.filter(|part| part.contains('/')).map(digest));
        }
    }
    CommandTarget { name: digest(name), above, is_root: name.is_empty() }
}

#[cfg(test)]
mod tests {
    use super::super::shell;
    use super::*;

    #[test]
    fn purpose_and_reach_table() {
        use CommandPurpose::{Check, Looks, Task, Tests, Work};
        use CommandReach::{Checked, More, Part, Special, Whole};
        let table = [
            ("go test ./...", Tests, Whole, "all packages"),
            ("go test ./pool", Tests, Part, "a package"),
            ("go test ./... -run TestA", Tests, Part, "one test"),
            ("go test -tags=e2e ./...", Tests, Special, "what a plain run leaves out"),
            ("cargo test --workspace", Tests, Whole, "flags"),
            ("cargo test pool", Tests, Part, "by name"),
            ("pytest -q", Tests, Whole, "a runner"),
            ("pytest tests", Tests, Part, "a runner's words are targets"),
            ("vitest run cart", Tests, Part, "also behind its verb"),
            ("npm test", Tests, Whole, "npm"),
            ("mise run test", Tests, Whole, "a task"),
            ("mise run test:ci", Tests, More, "a task with more"),
            ("mise run test:e2e", Tests, Special, "another one"),
            ("mise run test -- ./pool", Tests, Part, "a task of a part"),
            ("npm run check", Task, Checked, "the project's own check"),
            ("npm run build", Task, Whole, "a build"),
            ("npm run fmt", Task, Part, "a task that checks nothing"),
            ("npm run dev", Work, Part, "a server"),
            ("make lint", Task, Whole, "make"),
            ("npx tsc --noEmit", Check, Part, "a launched compiler"),
            ("uv run mypy src", Check, Part, "a launched checker"),
            ("python -m mypy src", Check, Part, "by its module"),
            ("mix compile", Check, Part, "a verb"),
            ("golangci-lint run ./...", Check, Part, "a linter"),
            ("cargo run", Work, Part, "a program that runs"),
            ("npx create-app", Work, Part, "another one"),
            ("git log", Looks, Part, "a look"),
        ];
        for (line, purpose, reach, why) in table {
            let parts = shell::read(line).parts;
            let found: Vec<_> = parts.iter().map(|part| (part.purpose, part.reach)).collect();
            assert_eq!(found, [(purpose, reach)], "{why}: {line}");
        }
    }
}
