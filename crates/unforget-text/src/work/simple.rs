//! Reads the simple commands of a line: program and verb, targets, and whether a command only looks.

use std::collections::BTreeSet;

use unforget_core::digest::Digest;
use unforget_core::ledger::{CommandPurpose, CommandTarget, SimpleCommand};

use super::shell::{base, is_commit, is_test};

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
        kin: Digest::of(b"git commit"),
        compiles: None,
        folder: folder.map(|folder| target(plain_name(folder))),
        targets: Vec::new(),
        purpose: CommandPurpose::Work,
        hides: false,
    };
    if is_commit(name, args) {
        // A message is no target, and a commit ends a merge.
        return command;
    }
    let verb = verb(args);
    let word = |at: usize| args.get(at).map_or("", |(word, _)| word.as_str());
    let mut kin = name.to_owned();
    if let Some(at) = verb {
        kin = format!("{kin} {}", word(at));
        if RUNNING.contains(&word(at)) && is_name(word(at + 1)) {
            // `test:unit` and `test:all` are tasks of one kind.
            kin = format!("{kin} {}", word(at + 1).split(':').next().unwrap_or_default());
        }
        let compiles = COMPILING.iter().any(|(program, verbs)| *program == name && verbs.contains(&word(at)));
        command.compiles = compiles.then(|| Digest::of(name.as_bytes()));
    }
    command.kin = Digest::of(kin.as_bytes());
    command.targets = targets(args, verb, folder);
    command.purpose = match name {
        _ if is_test(name, args) => CommandPurpose::Tests,
        _ if looks(name, args) => CommandPurpose::Looks,
        _ if TASKS.contains(&name) => CommandPurpose::Task,
        _ => CommandPurpose::Work,
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
