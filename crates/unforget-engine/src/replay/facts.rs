//! Facts that leave the verbatim context, collected while they are seen and asked for at the end.

use std::collections::BTreeSet;

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::id::Seq;
use unforget_text::anchors;

/// Something that an entry says and that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// Where it stands.
    pub(super) seq: Seq,
    /// The identifier.
    pub(super) answer: String,
    /// The words around it, without it.
    pub(super) question: String,
}

/// Collects facts: at most one of each entry, and each identifier once in the whole history, so that
/// there is one right entry.
#[derive(Default)]
pub(super) struct Facts {
    found: Vec<Fact>,
    seen: BTreeSet<u64>,
}

/// Bytes of a text that are looked at.
const READ_BYTES: usize = 4 << 10;

/// Words of a question.
const WORDS: std::ops::Range<usize> = 4..14;

/// Facts kept while collecting; beyond that every second one is dropped, evenly over the history.
const KEPT: usize = 4_096;

impl Facts {
    /// Looks for a fact in what a person or the model said.
    pub(super) fn collect(&mut self, seq: Seq, entry: &Entry) {
        if !matches!(entry.origin, Origin::Human | Origin::Model) {
            return;
        }
        for part in &entry.parts {
            let Part::Text(text) = part else { continue };
            let Some(head) = text.get(..floor(text, READ_BYTES)) else { continue };
            if let Some(fact) = self.first(seq, head) {
                self.found.push(fact);
                break;
            }
        }
        if self.found.len() > KEPT {
            let mut index = 0;
            self.found.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
    }

    fn first(&mut self, seq: Seq, text: &str) -> Option<Fact> {
        for line in text.lines() {
            for anchor in anchors(line) {
                let print = unforget_core::digest::Digest::of(anchor.text.as_bytes()).short() as u64;
                if anchor.text.len() < 6 || !self.seen.insert(print) {
                    continue;
                }
                let question = line.replace(anchor.text, " ");
                let words: Vec<_> = question.split_whitespace().take(WORDS.end).collect();
                if words.len() >= WORDS.start {
                    return Some(Fact { seq, answer: anchor.text.to_owned(), question: words.join(" ") });
                }
            }
        }
        None
    }

    /// At most `count` facts of entries before `before`, evenly spread.
    pub(super) fn spread(&self, before: Seq, count: usize) -> Vec<&Fact> {
        let old: Vec<_> = self.found.iter().filter(|fact| fact.seq < before).collect();
        let step = old.len().div_ceil(count.max(1)).max(1);
        old.into_iter().step_by(step).collect()
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
