//! Tests with clients that other people made: installed by name, at the versions of one file, into a cache folder.
//!
//! `tests/e2e/clients/versions.json` names packages and versions. What is installed stays under the target folder and is
//! installed again only when that file changes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

use crate::workspace;

const FOLDER: &str = "tests/e2e/clients";

/// What is run: SDKs (turns, tokens of a result), agents (turns).
struct Variant {
    sdks: &'static [&'static [&'static str]],
    agents: &'static str,
}

/// Under three minutes on two cores once all is built and installed.
const SHORT: Variant = Variant { sdks: &[&["20", "2000"]], agents: "4" };

/// 400 turns and some 3M tokens in one conversation of each kind, 40 turns in the others; 60 turns of the agents.
const LONG: Variant =
    Variant { sdks: &[&["400", "7500", "python:messages", "python:chained"], &["40", "7500"]], agents: "60" };

/// Runs them all.
pub(crate) fn clients(is_long: bool) -> anyhow::Result<()> {
    let variant = if is_long { LONG } else { SHORT };
    let root = workspace::root();
    let target = target(&root);
    let profile: &[&str] = if is_long { &["--release"] } else { &[] };
    let built =
        Command::new("cargo").args(["build", "-p", "unforget-cli", "-p", "unforget-testkit"]).args(profile);
    run("build", built.current_dir(&root))?;
    let cache = target.join("e2e-clients");
    install(&root.join(FOLDER).join("versions.json"), &cache)?;
    let bin = target.join(if is_long { "release" } else { "debug" });
    let python = cache.join("py/bin/python");
    let script = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(root.join(FOLDER).join(name)).args(arguments);
        command.env("UNFORGET_BIN", &bin).env("UNFORGET_CLIENTS", &cache);
        run(&format!("{name} {}", arguments.join(" ")), &mut command)
    };
    for arguments in variant.sdks {
        script("sdks.py", arguments)?;
    }
    script("agents.py", &[variant.agents])?;
    script("running.py", &[])
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Installs the packages, unless they are there at these versions.
fn install(versions: &Path, cache: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(versions).with_context(|| format!("reading {}", versions.display()))?;
    let done = cache.join("versions.json");
    if fs::read_to_string(&done).is_ok_and(|known| known == text) {
        return Ok(());
    }
    let wanted: Value = serde_json::from_str(&text)?;
    let list = |key: &str| wanted.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    fs::create_dir_all(cache)?;
    let package = json!({"private": true, "type": "module", "dependencies": Map::from(list("npm"))});
    fs::write(cache.join("package.json"), package.to_string())?;
    run(
        "npm",
        Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(cache),
    )?;
    run("venv", Command::new("python3").args(["-m", "venv", "py"]).current_dir(cache))?;
    let pinned = list("pypi")
        .into_iter()
        .map(|(name, version)| format!("{name}=={}", version.as_str().unwrap_or_default()));
    let mut pip = Command::new(cache.join("py/bin/python"));
    run("pip", pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]).args(pinned))?;
    fs::write(done, text).context("noting what is installed")
}

fn run(name: &str, command: &mut Command) -> anyhow::Result<()> {
    println!("== {name}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("starting {name}"))?;
    ensure!(status.success(), "{name} failed");
    println!("== {name}: passed in {} s", start.elapsed().as_secs());
    Ok(())
}
