//! `cargo xtask ci --flaky N`: runs the tests of changed crates repeatedly, to find those that pass only most of the
//! time.
//!
//! Each test binary is built once and run N times: with 1, 2 and 8 threads in turn, every second time while all cores
//! are busy with other work. The output of each failed run is kept in `target/flaky`.

mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::workspace;
use run::{Binary, Ended, Load};

/// Numbers of threads of a test binary, in turn.
const THREADS: [usize; 3] = [1, 2, 8];

/// The conditions of one run of a test binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    threads: usize,
    /// Whether all cores are busy with other work meanwhile.
    is_loaded: bool,
}

/// The runs of each test binary. Six of them cover every combination once.
fn turns(runs: usize) -> Vec<Turn> {
    let threads = THREADS.into_iter().cycle();
    threads.take(runs).enumerate().map(|(n, threads)| Turn { threads, is_loaded: n % 2 == 1 }).collect()
}

/// The crates affected by changed files.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Changed {
    /// Every crate.
    All,
    /// These packages.
    Some(BTreeSet<String>),
}

/// The crates with changed files; all crates if no file changed, or one that every crate is built from.
///
/// * `paths` - relative to the root, with `/`.
fn changed<'a>(paths: impl IntoIterator<Item = &'a str>) -> Changed {
    let mut packages = BTreeSet::new();
    for path in paths {
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["crates", package, _, ..] => {
                packages.insert((*package).to_owned());
            }
            ["xtask", _, ..] => {
                packages.insert("xtask".to_owned());
            }
            ["Cargo.toml" | "Cargo.lock"] | [".cargo", ..] => return Changed::All,
            _ => {}
        }
    }
    if packages.is_empty() { Changed::All } else { Changed::Some(packages) }
}

/// Failed tests, from the list at the end of a test binary's output. Empty for a binary that was killed before its
/// list.
fn failed(output: &str) -> Vec<String> {
    let list = output.rsplit_once("\nfailures:\n").map_or("", |(_, list)| list);
    let names = list.lines().map_while(|line| line.strip_prefix("    "));
    names.map(str::to_owned).collect()
}

/// Failures of one test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Failures {
    times: usize,
    /// Number of failures under load.
    loaded: usize,
}

/// Failures by binary and test.
type Found = BTreeMap<(String, String), Failures>;

/// Records the result of a run. A binary that fails without naming a test is recorded itself.
fn note(found: &mut Found, binary: &str, turn: Turn, ended: &Ended) {
    let mut names = match ended {
        Ended::Well => return,
        Ended::Badly(output) => failed(output),
        Ended::Never(_) => vec!["(does not end)".to_owned()],
    };
    if names.is_empty() {
        names.push("(ends without a result)".to_owned());
    }
    for name in names {
        let failures = found.entry((binary.to_owned(), name)).or_default();
        failures.times += 1;
        failures.loaded += usize::from(turn.is_loaded);
    }
}

/// The failures as a table.
fn table(found: &Found, runs: usize) -> String {
    let row = |((binary, test), failures): (&(String, String), &Failures)| {
        format!("| `{test}` | {binary} | {} of {runs} | {} |\n", failures.times, failures.loaded)
    };
    let rows: String = found.iter().map(row).collect();
    format!("| test | binary | failed | under load |\n|---|---|---|---|\n{rows}")
}

/// Runs the tests of changed crates this many times each.
///
/// # Errors
/// If any test failed once.
pub(crate) fn run(runs: &str) -> anyhow::Result<()> {
    let runs: usize = runs.parse().with_context(|| format!("{runs:?} is no number of runs"))?;
    ensure!(runs > 0, "no run is no test");
    let paths = changed_files()?;
    let changed = changed(paths.iter().map(String::as_str));
    let binaries = run::build(&packages(changed))?;
    ensure!(!binaries.is_empty(), "there are no tests");
    let found = run_all(&binaries, &turns(runs))?;
    if found.is_empty() {
        println!("== flaky: {} test binaries passed {runs} times each", binaries.len());
        return Ok(());
    }
    println!("\n{}", table(&found, runs));
    println!("What failed runs printed is in target/flaky.");
    bail!("tests that do not pass every time: {}", found.len());
}

fn packages(changed: Changed) -> Vec<String> {
    match changed {
        Changed::All => {
            println!("== flaky: all crates");
            vec!["--workspace".to_owned()]
        }
        Changed::Some(names) => {
            println!("== flaky: {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
            names.into_iter().map(|name| format!("--package={name}")).collect()
        }
    }
}

fn run_all(binaries: &[Binary], turns: &[Turn]) -> anyhow::Result<Found> {
    let mut found = Found::new();
    for binary in binaries {
        let mut failures = 0;
        for (n, turn) in turns.iter().enumerate() {
            let load = turn.is_loaded.then(Load::start);
            let ended = binary.run(turn.threads)?;
            drop(load);
            if let Ended::Badly(output) | Ended::Never(output) = &ended {
                failures += 1;
                binary.keep(n + 1, output)?;
            }
            note(&mut found, &binary.name, *turn, &ended);
        }
        println!("{}: {failures} of {} runs failed", binary.name, turns.len());
    }
    Ok(found)
}

/// Files that differ from the branch's origin, and new ones. Empty if the origin is unknown.
fn changed_files() -> anyhow::Result<Vec<String>> {
    let main = ["origin/main", "main"].into_iter().find_map(|main| git(&["merge-base", "HEAD", main]).ok());
    let Some(base) = main else { return Ok(Vec::new()) };
    let mut paths = git(&["diff", "--name-only", base.trim()])?;
    paths.push_str(&git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(paths.lines().map(str::to_owned).collect())
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(arguments).current_dir(workspace::root()).output();
    let output = output.context("starting git")?;
    ensure!(output.status.success(), "git {} failed", arguments.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_visit_every_combination() {
        let turn = |threads, is_loaded| Turn { threads, is_loaded };
        let six =
            [turn(1, false), turn(2, true), turn(8, false), turn(1, true), turn(2, false), turn(8, true)];
        assert_eq!(turns(6), six);
        assert_eq!(turns(8).get(6..), six.get(..2));
        for runs in [2, 10, 50] {
            let loaded = turns(runs).iter().filter(|turn| turn.is_loaded).count();
            assert_eq!((turns(runs).len(), loaded), (runs, runs / 2), "half of them under load");
        }
        assert_eq!(turns(1), six[..1]);
    }

    #[test]
    fn changed_table() {
        let some = |names: &[&str]| Changed::Some(names.iter().map(|name| (*name).to_owned()).collect());
        let table = [
            (&[][..], Changed::All, "nothing changed: on the main branch everything is tried"),
            (&["README.md", "docs/json.md"], Changed::All, "no crate changed"),
            (&["crates/unforget-core/src/lib.rs", "README.md"], some(&["unforget-core"]), "one crate"),
            (
                &["crates/unforget-llm/tests/http.rs", "crates/unforget-llm/Cargo.toml", "xtask/src/ci.rs"],
                some(&["unforget-llm", "xtask"]),
                "each once",
            ),
            (&["Cargo.lock", "crates/unforget-core/src/lib.rs"], Changed::All, "what all are built from"),
            (&[".cargo/config.toml"], Changed::All, "the same"),
            (&["fuzz/Cargo.toml", "crates/README.md"], Changed::All, "no package of this workspace"),
        ];
        for (paths, want, why) in table {
            assert_eq!(changed(paths.iter().copied()), want, "{why}: {paths:?}");
        }
    }

    #[test]
    fn failures_are_counted_by_test() {
        let output = "running 3 tests\ntest b::one ... FAILED\ntest two ... ok\ntest a ... words of a child\nFAILED\n\n\
                      failures:\n\n---- b::one stdout ----\n    assertion failed\n\n\
                      failures:\n    a\n    b::one\n\ntest result: FAILED. 1 passed; 2 failed\n";
        assert_eq!(failed(output), ["a", "b::one"]);
        assert!(failed("running 1 test\ntest a ... ").is_empty());
        let mut found = Found::new();
        let [idle, loaded] = [false, true].map(|is_loaded| Turn { threads: 1, is_loaded });
        note(&mut found, "x", idle, &Ended::Well);
        assert!(found.is_empty());
        note(&mut found, "x", idle, &Ended::Badly(output.to_owned()));
        note(&mut found, "x", loaded, &Ended::Badly(output.to_owned()));
        note(&mut found, "x", loaded, &Ended::Badly("thread overflowed its stack".to_owned()));
        note(&mut found, "y", idle, &Ended::Never("running 1 test".to_owned()));
        assert_eq!(
            table(&found, 4),
            "| test | binary | failed | under load |\n\
             |---|---|---|---|\n\
             | `(ends without a result)` | x | 1 of 4 | 1 |\n\
             | `a` | x | 2 of 4 | 1 |\n\
             | `b::one` | x | 2 of 4 | 1 |\n\
             | `(does not end)` | y | 1 of 4 | 0 |\n"
        );
    }
}
