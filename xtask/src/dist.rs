//! Packages of the program for this machine.
//!
//! One build, then one package per way to install: an archive, a `.deb`, a Python wheel, two npm packages (the program
//! of this platform, and the launcher that picks the platform), and with a download address an installer script and a
//! Homebrew formula. Each format is made by its own tool; a package whose tool is missing is left out, and the report
//! says so.

mod formats;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::workspace;
use stage::{Stage, Target};

/// What is asked for on the command line.
struct DistOptions {
    /// The program to pack; without it one is built with the profile `dist`.
    program: Option<PathBuf>,
    /// Where packages will be downloaded from; without it there is no installer script and no formula.
    url: Option<String>,
}

/// A made package, or the reason for its absence.
pub(super) enum Made {
    /// Files below the output folder.
    Files(Vec<PathBuf>),
    /// The missing tool.
    Left(String),
}

/// Builds the program and packs it into `target/dist-packages`.
///
/// * `arguments` - `--program PATH`, `--url URL`.
///
/// # Errors
/// If the build or a tool fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let options = DistOptions::parse(arguments)?;
    let root = workspace::root();
    let target_folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = if let Some(program) = options.program {
        program
    } else {
        let build = ["build", "--locked", "--profile", "dist", "-p", "unforget-cli"];
        call(Command::new("cargo").args(build).current_dir(&root))?;
        target_folder.join("dist").join(format!("unforget{}", std::env::consts::EXE_SUFFIX))
    };
    let out = target_folder.join("dist-packages");
    if out.exists() {
        std::fs::remove_dir_all(&out).with_context(|| format!("emptying {}", out.display()))?;
    }
    let stage = Stage::fill(&program, Target::of_this_machine()?, &out)?;
    let steps: [(&str, Made); 4] = [
        ("archive", formats::archive(&stage)?),
        ("deb", formats::deb(&stage)?),
        ("npm", formats::npm(&stage)?),
        ("wheel", formats::wheel(&stage)?),
    ];
    let sums = formats::sums(&stage)?;
    for (name, made) in steps {
        match made {
            Made::Files(files) => {
                for file in files {
                    let bytes = std::fs::metadata(&file)?.len();
                    println!("{name:8} {:>6.1} MB  {}", bytes as f64 / 1e6, file.display());
                }
            }
            Made::Left(tool) => println!("{name:8} left out: {tool}"),
        }
    }
    match &options.url {
        Some(url) => formats::by_download(&stage, url, &sums)?,
        None => println!("install  left out: no --url says where packages are downloaded from"),
    }
    Ok(())
}

impl DistOptions {
    fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self { program: None, url: None };
        let mut rest = arguments;
        while let [name, value, more @ ..] = rest {
            match *name {
                "--program" => options.program = Some(PathBuf::from(value)),
                "--url" => options.url = Some(value.trim_end_matches('/').to_owned()),
                other => bail!("dist takes --program PATH and --url URL, not {other}"),
            }
            rest = more;
        }
        ensure!(rest.is_empty(), "dist takes --program PATH and --url URL, each with a value");
        Ok(options)
    }
}

/// Runs a tool to its end.
pub(super) fn call(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("starting {name}"))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}

/// The output of a tool.
pub(super) fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("starting {name}"))?;
    ensure!(output.status.success(), "{name} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a tool is on the path.
pub(super) fn is_there(tool: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|folder| folder.join(tool).is_file()))
}

/// Copies a template, with `@NAME@` replaced by its value. Every name has to be known.
pub(super) fn template(from: &Path, to: &Path, values: &[TemplateValue<'_>]) -> anyhow::Result<()> {
    let mut text = std::fs::read_to_string(from).with_context(|| format!("reading {}", from.display()))?;
    for value in values {
        text = text.replace(&format!("@{}@", value.name), value.text);
    }
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    let open = text.split('@').find(|word| word.len() > 2 && word.chars().all(capital));
    ensure!(open.is_none(), "{} has a name without a value: {}", from.display(), open.unwrap_or_default());
    std::fs::write(to, text).with_context(|| format!("writing {}", to.display()))
}

/// A name in a template and its value.
pub(super) struct TemplateValue<'a> {
    /// The name between the two `@`.
    pub(super) name: &'a str,
    /// Its text.
    pub(super) text: &'a str,
}
