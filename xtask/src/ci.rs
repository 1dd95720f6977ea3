//! The checks that must pass before a change is done. `.ci/run` calls this, so a pass here is a pass there.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use crate::workspace;

/// Name, arguments for cargo, environment.
type Step = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const STEPS: &[Step] = &[
    ("format", &["fmt", "--all", "--check"], &[]),
    ("tidy", &["xtask", "tidy"], &[]),
    // Before the lint, which else waits at its end for C code that one core compiles.
    ("build", &["test", "--workspace", "--no-run"], &[]),
    ("lint", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[]),
    ("test", &["test", "--workspace"], &[]),
    // A workspace of its own with the lint's libraries. Running its targets needs nightly, checking them does not.
    ("fuzz targets", &["check", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target"], &[]),
    ("docs", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]),
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    for (name, arguments, environment) in STEPS {
        step(name, arguments, environment)?;
    }
    let deny = Command::new("cargo").args(["deny", "--version"]).output();
    if deny.is_ok_and(|output| output.status.success()) {
        step("licences", &["deny", "check", "licenses", "bans", "sources"], &[])?;
    } else {
        println!("== licences: skipped, cargo-deny is not installed");
    }
    println!("== all passed");
    Ok(())
}

fn step(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    println!("== {name}: cargo {}", arguments.join(" "));
    let start = Instant::now();
    let mut cargo = Command::new("cargo");
    // Variables set by cargo for this program; build scripts that read them would run again.
    std::env::vars()
        .filter(|(name, _)| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        .for_each(|(name, _)| {
            cargo.env_remove(name);
        });
    let status = cargo
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(workspace::root())
        .status()
        .with_context(|| format!("starting cargo for {name}"))?;
    ensure!(status.success(), "{name} failed");
    println!("== {name}: passed in {} s", start.elapsed().as_secs());
    Ok(())
}
