//! Tests with foreign clients from their registries: they need a network, and are therefore not part of `ci`.

use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::workspace;

/// Runs `tests/e2e/NAME/run`.
///
/// * `arguments` - passed on to it.
pub(crate) fn run(name: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let script = workspace::root().join("tests/e2e").join(name).join("run");
    ensure!(script.is_file(), "there is no {}", script.display());
    let status = Command::new(&script).args(arguments).current_dir(workspace::root()).status();
    ensure!(status.with_context(|| format!("starting {name}"))?.success(), "{name} failed");
    Ok(())
}
