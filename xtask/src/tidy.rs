//! Checks rules of this repository that other tools cannot check. Every rule is also a test.

mod files;
mod layers;
mod links;
mod migrations;

use anyhow::bail;

use crate::{picture, workspace};

/// A broken rule: the place, and advice.
pub(crate) type Problem = String;

/// Checks every rule and prints every problem.
///
/// # Errors
/// If there is a problem.
pub(crate) fn run() -> anyhow::Result<()> {
    let files = workspace::files()?;
    let mut problems = layers::check()?;
    problems.extend(layers::lock(&files));
    problems.extend(layers::reasons(&files));
    problems.extend(files::check(&files));
    problems.extend(links::check(&files));
    problems.extend(migrations::check(&files));
    problems.extend(picture::check());
    for problem in &problems {
        println!("{problem}");
    }
    for (path, lines) in files::long(&files) {
        println!("note: {path} has {lines} lines; consider a split");
    }
    match problems.len() {
        0 => Ok(()),
        count => bail!("tidy found {count} problems"),
    }
}
