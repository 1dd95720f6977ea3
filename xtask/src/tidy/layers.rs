//! The allowed dependencies.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Problem;
use crate::workspace::{self, File};

/// The allowed dependencies of each crate on our other crates, outside tests.
const LAYERS: &[(&str, &[&str])] = &[
    ("unforget-core", &[]),
    ("unforget-wire", &["unforget-core"]),
    ("unforget-text", &["unforget-core"]),
    ("unforget-llm", &["unforget-core", "unforget-text"]),
    ("unforget-recall", &["unforget-core"]),
    ("unforget-guard", &["unforget-core", "unforget-wire"]),
    ("unforget-hosts", &[]),
    ("unforget-store", &["unforget-core"]),
    ("unforget-store-pg", &["unforget-core", "unforget-store"]),
    (
        "unforget-engine",
        &[
            "unforget-core",
            "unforget-guard",
            "unforget-hosts",
            "unforget-llm",
            "unforget-recall",
            "unforget-store",
            "unforget-text",
            "unforget-wire",
        ],
    ),
    ("unforget-gateway", &["unforget-core", "unforget-wire", "unforget-engine"]),
    (
        "unforget-server",
        &[
            "unforget-core",
            "unforget-wire",
            "unforget-store",
            "unforget-text",
            "unforget-engine",
            "unforget-gateway",
        ],
    ),
    ("unforget-sync", &["unforget-core", "unforget-engine", "unforget-store", "unforget-wire"]),
    (
        "unforget-web",
        &[
            "unforget-core",
            "unforget-engine",
            "unforget-gateway",
            "unforget-server",
            "unforget-store",
            "unforget-text",
            "unforget-wire",
        ],
    ),
    (
        "unforget-cli",
        &[
            "unforget-bench",
            "unforget-core",
            "unforget-engine",
            "unforget-eval",
            "unforget-gateway",
            "unforget-guard",
            "unforget-llm",
            "unforget-recall",
            "unforget-server",
            "unforget-store",
            "unforget-store-pg",
            "unforget-sync",
            "unforget-text",
            "unforget-web",
            "unforget-wire",
        ],
    ),
    ("unforget-bench", &[]),
    ("unforget-eval", &["unforget-bench", "unforget-core", "unforget-recall", "unforget-wire"]),
    ("unforget-testkit", &["unforget-bench", "unforget-core", "unforget-wire"]),
    (
        "unforget-sim",
        &[
            "unforget-bench",
            "unforget-core",
            "unforget-engine",
            "unforget-llm",
            "unforget-store",
            "unforget-wire",
        ],
    ),
    ("xtask", &["unforget-bench"]),
];
/// Most packages in the lock file. Raise it in the commit that needs it, with the reason.
const PACKAGES_MAX: usize = 461;
const DEPENDENCIES_PAGE: &str = "docs/adr/0009-dependencies.md";

/// Checks the dependencies of every crate of the workspace.
///
/// # Errors
/// If `cargo metadata` fails.
pub(super) fn check() -> anyhow::Result<Vec<Problem>> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace::root())
        .output()
        .context("starting cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
    let packages = list(&metadata, "packages");
    Ok(packages.iter().flat_map(of_package).collect())
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn of_package(package: &Value) -> Vec<Problem> {
    let name = text(package, "name");
    let Some((_, allowed)) = LAYERS.iter().find(|(listed, _)| *listed == name) else {
        return vec![format!("{name}: not in the table of layers (xtask/src/tidy/layers.rs)")];
    };
    let used: BTreeSet<&str> = list(package, "dependencies")
        .iter()
        .filter(|dependency| text(dependency, "kind") != "dev")
        .map(|dependency| text(dependency, "name"))
        .filter(|used| used.starts_with("unforget-") || *used == "xtask")
        .collect();
    used.iter()
        .filter(|used| !allowed.contains(*used))
        .map(|used| format!("{name}: depends on {used}, which its layer may not"))
        .collect()
}

/// Checks that the page on dependencies gives a reason for every crate of the root manifest.
pub(super) fn reasons(files: &[File]) -> Vec<Problem> {
    let text = |path| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let page = text(DEPENDENCIES_PAGE);
    let names = text("Cargo.toml")
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| !name.starts_with("unforget-"));
    let words: BTreeSet<&str> =
        page.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).collect();
    names
        .filter(|name| !words.contains(name))
        .map(|name| format!("{DEPENDENCIES_PAGE}: no reason for {name}"))
        .collect()
}

/// Checks the number of packages that a build pulls in.
pub(super) fn lock(files: &[File]) -> Vec<Problem> {
    let Some(lock) = files.iter().find(|file| file.path == "Cargo.lock") else {
        return vec!["Cargo.lock: missing".to_string()];
    };
    let count = lock.text.lines().filter(|line| *line == "[[package]]").count();
    if count > PACKAGES_MAX {
        return vec![format!("Cargo.lock: {count} packages, at most {PACKAGES_MAX} are allowed")];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_layers_hold() {
        assert_eq!(check().unwrap(), Vec::<Problem>::new());
        let files = workspace::files().unwrap();
        assert_eq!(lock(&files), Vec::<Problem>::new());
        assert_eq!(reasons(&files), Vec::<Problem>::new());
    }

    #[test]
    fn a_wrong_arrow_is_a_problem() {
        let table = [
            (
                json!({"name": "unforget-core", "dependencies": [{"name": "unforget-wire", "kind": null}]}),
                1,
                "up",
            ),
            (
                json!({"name": "unforget-store", "dependencies": [{"name": "unforget-wire", "kind": null}]}),
                1,
                "across",
            ),
            (
                json!({"name": "unforget-wire", "dependencies": [{"name": "unforget-testkit", "kind": "dev"}]}),
                0,
                "tests",
            ),
            (
                json!({"name": "unforget-wire", "dependencies": [{"name": "serde", "kind": null}]}),
                0,
                "not ours",
            ),
            (json!({"name": "unforget-new", "dependencies": []}), 1, "not in the table"),
        ];
        for (package, want, why) in table {
            assert_eq!(of_package(&package).len(), want, "{why}");
        }
    }
}
