//! Collects facts that later leave the verbatim context, for questions at the end.

use std::collections::BTreeSet;

use unforget_core::entry::{Origin, Part};
use unforget_core::id::Seq;
use unforget_text::anchors;

use super::recorded_host::RecordedEntry;

/// A fact stated by an entry, with a question for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// Index of the record with the fact.
    pub(super) record: u64,
    /// The thread of its entry.
    pub(super) thread: Option<String>,
    /// Its entry.
    pub(super) seq: Seq,
    /// The identifier.
    pub(super) answer: String,
    /// The words around it, without it.
    pub(super) question: String,
}

/// Collects at most one fact per entry, and each identifier only once in the whole history, so that there is exactly
/// one right entry.
#[derive(Default)]
pub(super) struct Facts {
    found: Vec<Fact>,
    seen: BTreeSet<u64>,
}

/// Number of bytes of a text that are examined.
const READ_BYTES: usize = 4 << 10;

/// Number of words in a question.
const WORDS: std::ops::Range<usize> = 4..14;

/// Number of facts kept during collection; beyond this number every second fact is dropped, evenly over the history.
const KEPT: usize = 4_096;

impl Facts {
    /// Looks for a fact in the words of a person or the model.
    pub(super) fn collect(&mut self, delivered: &RecordedEntry) {
        let entry = &delivered.entry;
        if !matches!(entry.origin, Origin::Human | Origin::Model) {
            return;
        }
        for part in &entry.parts {
            let Part::Text(text) = part else { continue };
            let Some(head) = text.get(..floor(text, READ_BYTES)) else { continue };
            if let Some(fact) = self.first(delivered, head) {
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

    fn first(&mut self, delivered: &RecordedEntry, text: &str) -> Option<Fact> {
        for line in text.lines() {
            for anchor in anchors(line) {
                let print = unforget_core::digest::Digest::of(anchor.text.as_bytes()).short() as u64;
                if anchor.text.len() < 6 || !self.seen.insert(print) {
                    continue;
                }
                let question = line.replace(anchor.text, " ");
                let words: Vec<_> = question.split_whitespace().take(WORDS.end).collect();
                if words.len() >= WORDS.start {
                    return Some(Fact {
                        record: delivered.record,
                        thread: delivered.thread.clone(),
                        seq: delivered.seq,
                        answer: anchor.text.to_owned(),
                        question: words.join(" "),
                    });
                }
            }
        }
        None
    }

    /// At most `count` facts from records before this one, evenly spread.
    pub(super) fn spread(&self, before: u64, count: usize) -> Vec<&Fact> {
        let old: Vec<_> = self.found.iter().filter(|fact| fact.record < before).collect();
        let step = old.len().div_ceil(count.max(1)).max(1);
        old.into_iter().step_by(step).collect()
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
