//! Sentences of comments: nouns instead of pronouns.

use super::Problem;
use crate::workspace::File;

/// Sentences shorter than this are not judged.
const WORDS_MIN: usize = 10;
/// Share of pronouns and function words from which a sentence is dense, in percent.
const DENSE_PERCENT: usize = 40;
/// One sentence in so many may be dense.
const DENSE_ONE_IN: usize = 100;
/// Sentences that a failure lists.
const LISTED_MAX: usize = 40;

/// Words that stand for a noun, or join clauses.
const FUNCTION_WORDS: [&str; 26] = [
    "are", "be", "has", "is", "it", "its", "of", "one", "other", "others", "same", "such", "that", "them",
    "there", "these", "they", "this", "those", "was", "what", "which", "who", "whom", "whose", "it's",
];

/// A sentence of a comment.
struct Sentence<'a> {
    path: &'a str,
    /// Line on which its comment begins.
    line: usize,
    text: String,
    /// Share of function words, in percent.
    percent: usize,
}

/// Checks that few sentences are dense, and lists the densest otherwise.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut judged: Vec<Sentence<'_>> = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        judged.extend(sentences(file));
    }
    let all = judged.len();
    judged.retain(|sentence| sentence.percent >= DENSE_PERCENT);
    let dense = judged.len();
    if dense * DENSE_ONE_IN < all || dense == 0 {
        return Vec::new();
    }
    judged.sort_by_key(|sentence| std::cmp::Reverse(sentence.percent));
    let headline = format!(
        "{dense} of {all} sentences in comments are dense, fewer than 1 in {DENSE_ONE_IN} may be; \
         name things instead of it, that, which, what"
    );
    let worst = judged.iter().take(LISTED_MAX).map(|sentence| {
        format!("{}:{}: {} %: {}", sentence.path, sentence.line, sentence.percent, sentence.text)
    });
    std::iter::once(headline).chain(worst).collect()
}

fn sentences(file: &File) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let (mut comment, mut begin) = (String::new(), 0);
    for (number, line) in file.text.lines().chain([""]).enumerate() {
        if let Some(words) = comment_of(line) {
            if comment.is_empty() {
                begin = number + 1;
            }
            comment.push(' ');
            comment.push_str(words);
            continue;
        }
        found.extend(split(&comment).filter_map(|text| judge(&file.path, begin, text)));
        comment.clear();
    }
    found
}

/// What a line says if it is a comment.
fn comment_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.strip_prefix(['/', '!']).unwrap_or(rest).trim())
}

fn split(comment: &str) -> impl Iterator<Item = &str> {
    comment
        .split_inclusive([' '])
        .scan(0, |end, word| {
            *end += word.len();
            Some((*end, word.trim_end().ends_with(['.', '!', '?'])))
        })
        .filter_map(|(end, ends)| ends.then_some(end))
        .chain([comment.len()])
        .scan(0, |begin, end| {
            let sentence = comment.get(*begin..end);
            *begin = end;
            sentence
        })
}

fn judge<'a>(path: &'a str, line: usize, text: &str) -> Option<Sentence<'a>> {
    let words = text.split_whitespace().count();
    if words < WORDS_MIN || text.contains('|') || text.contains("```") {
        return None;
    }
    let plain = |word: &str| word.trim_matches(['.', ',', ';', ':']).to_ascii_lowercase();
    let dense = text.split_whitespace().filter(|word| FUNCTION_WORDS.contains(&plain(word).as_str())).count();
    Some(Sentence { path, line, text: text.trim().to_string(), percent: dense * 100 / words })
}

/// Doc comments that open with "The same": alone, as an editor shows them, they say nothing.
pub(super) fn same(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let mut inside = false;
        for (number, line) in file.text.lines().enumerate() {
            let code = line.trim_start();
            let doc = code.strip_prefix("///").or_else(|| code.strip_prefix("//!"));
            if !inside && doc.is_some_and(|doc| doc.trim_start().starts_with("The same")) {
                let problem = format!(
                    "{}:{}: the doc comment opens with \"The same\"; say what it is without its neighbour",
                    file.path,
                    number + 1
                );
                problems.push(problem);
            }
            inside = doc.is_some();
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "crates/a/src/lib.rs".to_string(), text: text.to_string() }
    }

    #[test]
    fn sentences_are_judged_one_by_one() {
        let table = [
            ("/// Of each, the one that the other which it is of has is what it is.", 1, "a riddle"),
            (
                "/// For each item, the entry of the next matched item after it, in order of delivery.",
                0,
                "plain",
            ),
            ("/// It is what it is.", 0, "too short to judge"),
            (
                "/// Plain words stand here.\n/// That it is what those are of which it is one\n/// is what it was.",
                1,
                "two lines",
            ),
            ("let a = \"it is what it is that it was which it is of\";", 0, "no comment"),
            ("/// | it | is | what | it | is | that | it | was | of |", 0, "a table"),
        ];
        for (text, want, why) in table {
            let file = file(text);
            let found = sentences(&file);
            let dense = found.iter().filter(|sentence| sentence.percent >= DENSE_PERCENT).count();
            assert_eq!(dense, want, "{why}");
        }
    }

    #[test]
    fn one_dense_sentence_in_a_hundred_is_one_too_many() {
        let riddle = "/// Of each, the one that the other which it is of has is what it is.\n\n";
        let plain = "/// Walks back from the newest entry until the tail holds enough tokens of text.\n\n";
        assert_eq!(check(&[file(&format!("{riddle}{}", plain.repeat(99)))]).len(), 2);
        assert_eq!(check(&[file(&format!("{riddle}{}", plain.repeat(100)))]), Vec::<Problem>::new());
    }

    #[test]
    fn a_doc_comment_speaks_for_itself() {
        let table = [
            ("/// The same for one lane.", 1),
            ("//! The same.", 1),
            ("/// Reads a lane.\n/// The same lane again.", 0),
            ("// The same.", 0),
        ];
        for (text, want) in table {
            assert_eq!(same(&[file(text)]).len(), want, "{text}");
        }
    }
}
