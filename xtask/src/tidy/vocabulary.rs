//! Words of public type names: in the glossary, or plain.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::source::Source;
use crate::workspace::File;

const GLOSSARY: &str = "docs/glossary.md";
/// Crates of generated workloads and tests, which have words of their own.
const TOOLS: [&str; 3] = ["unforget-bench", "unforget-sim", "unforget-testkit"];
/// Words that mean in a type name what they mean to every programmer, one per line.
const PLAIN: &str = "xtask/plain-words.txt";

/// Checks that no word stands twice in the glossary, and that no plain word stands in it too.
pub(super) fn twice(files: &[File]) -> Vec<Problem> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for (line, word) in rows(text(files, GLOSSARY)) {
        if let Some(other) = first.get(&word) {
            problems.push(format!("{GLOSSARY}:{line}: `{word}` has a row at line {other}; keep one"));
        } else {
            first.insert(word, line);
        }
    }
    let plain = text(files, PLAIN).lines().enumerate();
    let both = plain.filter(|(_, word)| first.contains_key(*word));
    problems.extend(both.map(|(number, word)| {
        format!("{PLAIN}:{}: `{word}` is in the glossary; delete the line", number + 1)
    }));
    problems
}

/// Words of public type names that neither the glossary nor the list of plain words has.
pub(super) fn unknown(files: &[File], sources: &[Source<'_>]) -> Vec<Problem> {
    let mut known: BTreeSet<String> = text(files, PLAIN).lines().map(str::to_string).collect();
    for (_, row) in rows(text(files, GLOSSARY)) {
        known.extend(row.split([' ', '-']).map(str::to_string));
    }
    let mut problems = Vec::new();
    let spoken = sources.iter().filter(|source| !TOOLS.contains(&source.owner));
    for source in spoken {
        for declared in source.types.iter().filter(|declared| declared.public) {
            for word in words(&declared.name) {
                if known.contains(&word) || known.contains(&singular(&word)) {
                    continue;
                }
                let problem = format!(
                    "{}:{}: `{word}` of type `{}` has no row in {GLOSSARY}; add one, take a word of the glossary, or \
                     add the word to {PLAIN} if it means what it means to every programmer",
                    source.path, declared.line, declared.name
                );
                problems.push(problem);
            }
        }
    }
    problems
}

/// The singular of a regular plural, and any other word as it is.
fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_string(),
        (None, None) => word.to_string(),
    }
}

fn text<'a>(files: &'a [File], path: &str) -> &'a str {
    files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str())
}

/// Words of the first column, with their lines. A row may hold several, parted by commas; what stands in brackets
/// tells two meanings apart, so it belongs to the word.
fn rows(glossary: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in glossary.lines().enumerate() {
        let Some(cell) = line.strip_prefix("| ").and_then(|line| line.split('|').next()) else { continue };
        if cell.trim() == "word" {
            continue;
        }
        found.extend(cell.split(',').map(|word| (number + 1, word.trim().to_ascii_lowercase())));
    }
    found
}

/// Words of a type name: `ToolCallId` has three.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_lowercase().collect()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::parse;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn a_word_has_one_row() {
        let table = [
            ("| word | meaning |\n|---|---|\n| lane | a |\n| leaf, root | b |\n", "error\n", 0, "once each"),
            ("| lane | a |\n| leaf, lane | b |\n", "error\n", 1, "twice"),
            ("| state (of summaries) | a |\n| state | b |\n", "", 0, "told apart by what stands in brackets"),
            ("| lane | a |\n", "error\nlane\n", 1, "plain and of the domain"),
        ];
        for (glossary, plain, want, why) in table {
            let files = [file(GLOSSARY, glossary), file(PLAIN, plain)];
            assert_eq!(twice(&files).len(), want, "{why}");
        }
    }

    #[test]
    fn a_public_type_has_known_words() {
        let glossary = "| tool call, leaf, summary | a |\n";
        let table = [
            ("pub struct ToolCallError;", 0, "glossary, glossary, plain"),
            ("pub struct Leaves;", 1, "no such word"),
            ("pub struct Calls;", 0, "plural"),
            ("pub struct Summaries;", 0, "plural of a word with y"),
            ("struct Foo;", 0, "private"),
            ("pub struct FooBar;", 2, "two words"),
        ];
        for (text, want, why) in table {
            let files = [file(GLOSSARY, glossary), file(PLAIN, "error\n"), file("crates/a/src/lib.rs", text)];
            assert_eq!(unknown(&files, &parse(&files).0).len(), want, "{why}");
        }
    }
}
