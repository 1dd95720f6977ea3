//! Automation of this repository: `cargo xtask <task>`.
//!
//! * `ci` - everything that must pass: format, tidy, clippy, tests, docs, licences.
//! * `ci --flaky N` - runs the tests of changed crates N times each, half of them beside busy cores, to find unreliable
//!   ones.
//! * `tidy` - the rules of this repository that no other tool checks.
//! * `failures` - brings the tests of `docs/failures.md` up to date; `--check` only compares.
//! * `e2e NAME [long]` - runs `tests/e2e/NAME/run`: foreign clients from their registries.
//! * `dist [--program PATH] [--url URL]` - packages for this machine: archive, deb, npm, wheel, installer, formula.
//! * `torture [--minutes N]` - kills, lost logs and damage with other random numbers in every round; one minute if not said.
//! * `example` - writes `examples/long-session.jsonl`.
//! * `picture [PROGRAM]` - makes `docs/replay.png` and the report of `docs/replay.md` from the current program.
//! * `record [PROGRAM]` - makes `docs/recording.svg` and `docs/tui.svg` from the current program, or from the one that is named; needs
//!   tmux.

mod ci;
mod dist;
mod e2e;
mod example;
mod failures;
mod flaky;
mod picture;
mod record;
mod tidy;
mod torture;
mod workspace;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["ci"] => ci::run(),
        ["ci", "--flaky", runs] => flaky::run(runs),
        ["tidy"] => tidy::run(),
        ["failures"] => failures::write(),
        ["failures", "--check"] => failures::check(),
        ["e2e", name] => e2e::run(name, &[]),
        ["e2e", name, "long"] => e2e::run(name, &["long"]),
        ["dist", options @ ..] => dist::run(options),
        ["torture"] => torture::run("1"),
        ["torture", "--minutes", minutes] => torture::run(minutes),
        ["example"] => example::write(),
        ["picture"] => picture::write(None),
        ["picture", program] => picture::write(Some(program)),
        ["record"] => record::write(None),
        ["record", program] => record::write(Some(program)),
        _ => {
            bail!(
                "usage: cargo xtask ci [--flaky N] | tidy | failures [--check] | e2e NAME [long] \
                 | dist [--program PATH] [--url URL] | example | picture | record [PROGRAM] | torture [--minutes N]"
            )
        }
    }
}
