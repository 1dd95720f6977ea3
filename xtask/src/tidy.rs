//! Rules of this repository that no other tool checks. Every rule is also a test.

mod absent;
mod circles;
mod files;
mod layers;
mod links;
mod migrations;
mod names;
mod sentences;
mod source;
mod states;
mod vocabulary;

use anyhow::bail;

use crate::picture;
use crate::workspace::{self, File};

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
    problems.extend(links::book(&files));
    problems.extend(migrations::check(&files));
    problems.extend(picture::check());
    problems.extend(language(&files));
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

/// Checks names, sentences and signatures, and what must be absent.
fn language(files: &[File]) -> Vec<Problem> {
    let (sources, mut problems) = source::parse(files);
    problems.extend(absent::check(files, &sources));
    problems.extend(circles::check(&sources));
    problems.extend(states::check(files));
    problems.extend(sentences::check(files));
    problems.extend(vocabulary::twice(files));
    problems.extend(names::shared(&sources));
    problems.extend(names::tupled(&sources));
    problems.extend(sentences::same(files));
    problems.extend(vocabulary::unknown(files, &sources));
    problems.extend(files::module_style(files));
    problems
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_language_is_tidy() {
        assert_eq!(language(&workspace::files().unwrap()), Vec::<Problem>::new());
    }
}
