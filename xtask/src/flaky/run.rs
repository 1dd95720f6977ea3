//! Test binaries, and load in the background.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::workspace;

/// Longest time of one run of a test binary.
const LONGEST: Duration = Duration::from_mins(30);

/// Interval between checks for the end of a run.
const LOOK: Duration = Duration::from_millis(20);

/// A test binary.
pub(super) struct Binary {
    /// The package and the target.
    pub(super) name: String,
    path: PathBuf,
    /// The package's folder, in which its tests run.
    folder: PathBuf,
}

/// The result of a run, with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All passed.
    Well,
    /// Something failed.
    Badly(String),
    /// It exceeded the time limit and was killed.
    Never(String),
}

/// Builds the tests of packages.
///
/// * `packages` - arguments that select them.
pub(super) fn build(packages: &[String]) -> anyhow::Result<Vec<Binary>> {
    let output = Command::new("cargo")
        .args(["test", "--no-run", "--message-format=json-render-diagnostics"])
        .args(packages)
        .current_dir(workspace::root())
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "the tests do not build");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut binaries: Vec<Binary> = text.lines().filter_map(binary).collect();
    binaries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(binaries)
}

/// The test binary in a line of cargo's output.
fn binary(line: &str) -> Option<Binary> {
    let told: Value = serde_json::from_str(line).ok()?;
    let path = told.get("executable")?.as_str()?;
    told.pointer("/profile/test")?.as_bool().filter(|is_test| *is_test)?;
    let manifest = PathBuf::from(told.get("manifest_path")?.as_str()?);
    let folder = manifest.parent()?.to_owned();
    let (package, target) = (folder.file_name()?.to_string_lossy(), told.pointer("/target/name")?.as_str()?);
    Some(Binary { name: format!("{package} {target}"), path: path.into(), folder: folder.clone() })
}

impl Binary {
    /// Runs all tests of the binary.
    pub(super) fn run(&self, threads: usize) -> anyhow::Result<Ended> {
        let place = kept().join("running.txt");
        fs::create_dir_all(kept())?;
        let (out, err) = {
            let file = fs::File::create(&place)?;
            (file.try_clone()?, file)
        };
        let mut child = Command::new(&self.path)
            .args(["--test-threads", &threads.to_string()])
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .with_context(|| format!("starting {}", self.path.display()))?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if begun.elapsed() > LONGEST {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(LOOK);
        };
        let output = String::from_utf8_lossy(&fs::read(&place)?).into_owned();
        Ok(match status {
            Some(status) if status.success() => Ended::Well,
            Some(_) => Ended::Badly(output),
            None => Ended::Never(output),
        })
    }

    /// Keeps the output of a failed run.
    pub(super) fn keep(&self, number: usize, output: &str) -> anyhow::Result<()> {
        let path = kept().join(format!("{}-{number}.txt", self.name.replace(' ', "-")));
        fs::write(&path, output).with_context(|| format!("writing {}", path.display()))
    }
}

fn kept() -> PathBuf {
    workspace::root().join("target/flaky")
}

/// Keeps all cores busy as long as the value lives.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts a busy thread per core.
    pub(super) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let busy = |is_over: Arc<AtomicBool>| {
            let mut count = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                count = black_box(count.wrapping_add(1));
            }
        };
        let threads = (0..cores).map(|_| {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || busy(is_over))
        });
        let threads = threads.collect();
        Self { is_over, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_binaries_are_run() {
        let line = |executable: &str, is_test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{{"name":"t"}},"profile":{{"test":{is_test}}},"executable":{executable}}}"#
            )
        };
        let table = [
            (line(r#""/w/target/t-1""#, true), Some("a t"), "a test binary"),
            (line(r#""/w/target/t""#, false), None, "a program that tests use"),
            (line("null", true), None, "a library"),
            (r#"{"reason":"build-finished","success":true}"#.to_owned(), None, "another message"),
            ("nothing".to_owned(), None, "no message"),
        ];
        for (line, want, why) in table {
            let found = binary(&line);
            assert_eq!(found.as_ref().map(|binary| &*binary.name), want, "{why}");
            assert!(found.is_none_or(|binary| binary.folder.ends_with("crates/a")), "{why}");
        }
    }
}
