//! Parses requests and citations in a model's reply.

use std::collections::BTreeSet;

/// A model's request for more passages.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum More {
    /// A search with these words.
    Search(String),
    /// The entries around the passage with this number.
    Around(u32),
}

/// The requests in a reply; empty if the reply is an answer.
pub(super) fn requests(reply: &str) -> Vec<More> {
    let lines: Vec<&str> = reply.lines().filter(|line| !line.trim().is_empty()).collect();
    let asked: Vec<More> = lines.iter().filter_map(|line| wish(line)).collect();
    // A reply with other lines is an answer that quotes a request.
    if asked.len() == lines.len() { asked } else { Vec::new() }
}

/// What a line asks for.
fn wish(line: &str) -> Option<More> {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    if let Some(words) = line.strip_prefix("SEARCH:") {
        return Some(More::Search(words.trim().to_owned()));
    }
    let number = line.strip_prefix("AROUND:")?.trim().trim_matches(['[', ']', '.']);
    number.parse().ok().map(More::Around)
}

/// Numbers in square brackets, ascending.
pub(super) fn citations(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for part in text.split('[').skip(1) {
        let Some((inside, _)) = part.split_once(']') else { continue };
        let numbers: Option<Vec<u32>> = inside.split(',').map(|number| number.trim().parse().ok()).collect();
        found.extend(numbers.into_iter().flatten());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_table() {
        let table = [
            ("SEARCH: the port", vec![More::Search("the port".to_owned())], "one"),
            ("- SEARCH: a\n\nAROUND: [3]", vec![More::Search("a".to_owned()), More::Around(3)], "a list"),
            ("It is 80 [1].\nSEARCH: more", vec![], "an answer that goes on"),
            ("AROUND: three", vec![], "no number"),
            ("", vec![], "nothing"),
        ];
        for (reply, want, why) in table {
            assert_eq!(requests(reply), want, "{why}");
        }
    }

    #[test]
    fn citations_table() {
        let table: [(&str, &[u32], &str); 6] = [
            ("80 [1]", &[1], "one"),
            ("[2][1], [2, 3]", &[1, 2, 3], "several"),
            ("a[i] = x[0]", &[0], "an index of code is a number that no passage has"),
            ("[not closed 3", &[], "not closed"),
            ("[1 and 2]", &[], "words"),
            ("[99999999999]", &[], "too large"),
        ];
        for (text, want, why) in table {
            assert_eq!(citations(text).into_iter().collect::<Vec<_>>(), want, "{why}");
        }
    }
}
