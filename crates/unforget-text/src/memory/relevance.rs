//! How much of what a person's message names an item names too.

use std::collections::{BTreeMap, BTreeSet};

use super::MemoryItem;
use crate::anchors::{AnchorKind, anchors};

/// Shortest name that says anything, in bytes.
const NAME_MIN: usize = 5;

/// The relevance of items for a person's message, in their order: the rarity of the names that both hold, added up.
/// Names are files, identifiers of code, ids and addresses; 0 without a common one. Plain words do not count: what
/// only sounds alike is not told.
///
/// A name that one of `n` items holds counts ln(1 + n), one that all hold counts ln 2.
///
/// Cost: linear in the texts.
pub fn relevance(message: &str, items: &[&MemoryItem]) -> Vec<f64> {
    let asked = names(message);
    if asked.is_empty() {
        return vec![0.0; items.len()];
    }
    let common: Vec<BTreeSet<String>> =
        items.iter().map(|item| names(&item.text).intersection(&asked).cloned().collect()).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for name in common.iter().flatten() {
        *holders.entry(name).or_default() += 1;
    }
    let rarity = |name: &String| {
        let holders = holders.get(name.as_str()).copied().unwrap_or(1).max(1);
        (1.0 + items.len() as f64 / holders as f64).ln()
    };
    // An empty sum of floats is -0.
    common.iter().map(|names| names.iter().map(rarity).fold(0.0, |sum, one| sum + one)).collect()
}

/// Whether a text names anything.
pub(super) fn has_name(text: &str) -> bool {
    !names(text).is_empty()
}

/// The names in a text, in lower case: of a path its last part without a line number.
fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for anchor in anchors(text) {
        match anchor.kind {
            AnchorKind::Path => {
                let last = anchor.text.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
                found.insert(last.split(':').next().unwrap_or_default().to_lowercase());
            }
            AnchorKind::Url | AnchorKind::Hash | AnchorKind::Id => {
                found.insert(anchor.text.to_lowercase());
            }
            AnchorKind::Version | AnchorKind::Quantity => {}
        }
    }
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    found.extend(words.filter(|word| is_code(word)).map(str::to_lowercase));
    found.retain(|name| name.len() >= NAME_MIN);
    found
}

/// Whether a word is written as only code is: `camelCase`, `TypeName`, `snake_case`.
fn is_code(word: &str) -> bool {
    let mut before = None;
    let mut is_camel = false;
    for c in word.chars() {
        is_camel |= c.is_uppercase() && before.is_some_and(char::is_lowercase);
        before = Some(c);
    }
    is_camel || word.trim_matches('_').contains('_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryKind;

    #[test]
    fn relevance_table() {
        let item = |text: &str| MemoryItem {
            kind: MemoryKind::Decision,
            text: text.to_owned(),
            seq: None,
            time: None,
        };
        let items = [
            item("The buffer in src/parse.rs is fixed, since readChunk grew it."),
            item("parse.rs has two passes."),
            item("The printer wraps at 80 columns."),
        ];
        let items: Vec<&MemoryItem> = items.iter().collect();
        let (rare, common) = (4.0_f64.ln(), 2.5_f64.ln());
        let table = [
            ("why does parse.rs:12 fail?", [common, common, 0.0], "the name of a file"),
            ("look at lib/parse.rs and readChunk()", [common + rare, common, 0.0], "two names, one rarer"),
            ("the printer is too wide at 80 columns", [0.0; 3], "plain words and numbers are no names"),
            ("", [0.0; 3], "nothing"),
        ];
        for (message, want, why) in table {
            let found = relevance(message, &items);
            assert!(
                found.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-9),
                "{why}: {found:?} in place of {want:?}"
            );
        }
    }
}
