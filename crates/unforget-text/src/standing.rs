//! Which of many texts stand in a prompt: one pass over the prompt, however many there are.

use aho_corasick::AhoCorasick;

/// For each text, whether it stands in the words of a prompt. White space is that of one line, and of a text that was cut and
/// ends in `…` its beginning counts.
///
/// Cost: O(words + texts), and what overlapping finds take.
pub fn standing<'a>(words: &str, texts: impl IntoIterator<Item = &'a str>) -> Vec<bool> {
    let texts: Vec<&str> = texts.into_iter().map(|text| text.strip_suffix('…').unwrap_or(text)).collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = vec![false; texts.len()];
    match AhoCorasick::new(&texts) {
        Ok(all) => {
            for hit in all.find_overlapping_iter(&words) {
                if let Some(one) = found.get_mut(hit.pattern().as_usize()) {
                    *one = true;
                }
            }
        }
        // More texts than an automaton holds.
        Err(_) => found.iter_mut().zip(&texts).for_each(|(one, text)| *one = words.contains(text)),
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_table() {
        let words = "the port is 8080, in src/main.rs 修复";
        let texts = ["8080", "80", "src/main.rs", "main", "9090", "修复", "", "the port is 8080, in", "8080"];
        let want: Vec<bool> = texts.iter().map(|text| words.contains(text)).collect();
        assert_eq!(standing(words, texts), want);
        assert!(standing(words, []).is_empty());
        assert_eq!(standing("", ["a", ""]), [false, true]);
        assert_eq!(
            standing("a b\n  c d", ["b c d", "b c…", "b d…"]),
            [true, true, false],
            "lines, and cut texts"
        );
    }
}
