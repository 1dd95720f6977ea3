//! The files that every package holds.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::{call, output};
use crate::workspace;

/// A platform, by the names that the package formats use.
pub(super) struct Target {
    /// `x86_64-unknown-linux-gnu`
    pub(super) triple: String,
    /// Node's names: `linux`, `x64`.
    pub(super) node_os: &'static str,
    pub(super) node_cpu: &'static str,
    /// Debian's name of the machine: `amd64`.
    pub(super) debian: &'static str,
}

impl Target {
    pub(super) fn of_this_machine() -> anyhow::Result<Self> {
        let told = output(Command::new("rustc").arg("-vV"))?;
        let triple = told.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = triple.context("rustc does not say which machine this is")?.to_owned();
        let node_os = match std::env::consts::OS {
            "linux" => "linux",
            "macos" => "darwin",
            "windows" => "win32",
            other => bail!("there is no package for {other}"),
        };
        let (node_cpu, debian) = match std::env::consts::ARCH {
            "x86_64" => ("x64", "amd64"),
            "aarch64" => ("arm64", "arm64"),
            other => bail!("there is no package for {other}"),
        };
        Ok(Self { triple, node_os, node_cpu, debian })
    }
}

/// The program with its documents, man pages and completions, in one folder.
pub(super) struct Stage {
    pub(super) version: String,
    pub(super) target: Target,
    /// Where packages go.
    pub(super) out: PathBuf,
    /// `unforget-VERSION-TRIPLE` below `out`.
    pub(super) folder: PathBuf,
}

impl Stage {
    /// Fills the folder with the program and what the program itself writes.
    pub(super) fn fill(program: &Path, target: Target, out: &Path) -> anyhow::Result<Self> {
        let told = output(Command::new(program).arg("--version"))?;
        let version =
            told.trim().strip_prefix("unforget ").context("the program does not say its version")?;
        let version = version.to_owned();
        let folder = out.join(format!("unforget-{version}-{}", target.triple));
        let stage = Self { version, target, out: out.to_owned(), folder };
        for below in ["man", "completions"] {
            std::fs::create_dir_all(stage.folder.join(below))?;
        }
        let root = workspace::root();
        copy(program, &stage.program())?;
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "CHANGELOG.md"] {
            copy(&root.join(file), &stage.folder.join(file))?;
        }
        call(Command::new(program).args(["-q", "man"]).arg(stage.folder.join("man")))?;
        for (shell, file) in [("bash", "unforget.bash"), ("zsh", "_unforget"), ("fish", "unforget.fish")] {
            let script = output(Command::new(program).args(["completions", shell]))?;
            ensure!(!script.is_empty(), "there are no completions for {shell}");
            std::fs::write(stage.folder.join("completions").join(file), script)?;
        }
        Ok(stage)
    }

    /// The program in the folder.
    pub(super) fn program(&self) -> PathBuf {
        self.folder.join(format!("unforget{}", std::env::consts::EXE_SUFFIX))
    }
}

/// Copies a file with its mode.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    std::fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(())
}
