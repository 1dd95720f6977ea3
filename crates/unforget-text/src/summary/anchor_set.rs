//! Collects the identifiers of a span that a later reader needs.

use std::collections::BTreeMap;

use unforget_core::id::Seq;

use crate::anchors::{AnchorKind, anchors};
use crate::sections::Item;

/// Most identifiers kept in a summary.
const KEPT_MAX: usize = 60;
/// Most of the others.
const SIGHTINGS_MAX: usize = 40;
/// Most identifiers weighed.
const SEEN_MAX: usize = 4096;

/// The context of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Output of a tool, or pasted text.
    Shown,
    /// The model's words, or a call's arguments.
    Spoken,
    /// A failure.
    Failed,
    /// The name of a written file.
    Written,
    /// Completed work, a finding or a decision.
    Decided,
    /// A person's own words.
    Asked,
}

impl Weight {
    const fn value(self) -> u32 {
        match self {
            Self::Shown => 1,
            Self::Spoken => 2,
            Self::Failed => 4,
            Self::Written => 5,
            Self::Decided => 6,
            Self::Asked => 8,
        }
    }

    /// Whether this context alone makes an identifier count, even if it occurs once.
    const fn carries(self) -> bool {
        !matches!(self, Self::Shown | Self::Spoken)
    }
}

/// Identifiers with their places and weights.
#[derive(Default)]
pub(super) struct AnchorSet {
    seen: BTreeMap<String, Seen>,
}

struct Seen {
    weight: u32,
    first: Seq,
    last: Seq,
    /// Whether it occurs in a request, a decision, a failure or a written file's name.
    carries: bool,
    /// Whether somebody named it, beside its occurrence in output.
    named: bool,
}

impl AnchorSet {
    /// Notes the identifiers of `text`.
    pub(super) fn read(&mut self, text: &str, seq: Seq, weight: Weight) {
        for anchor in anchors(text) {
            let bonus = match anchor.kind {
                AnchorKind::Url | AnchorKind::Path | AnchorKind::Hash => 2,
                AnchorKind::Version | AnchorKind::Id => 1,
                AnchorKind::Quantity => 0,
            };
            if !self.seen.contains_key(anchor.text) {
                if self.seen.len() >= SEEN_MAX {
                    continue;
                }
                let new = Seen { weight: bonus, first: seq, last: seq, carries: false, named: false };
                self.seen.insert(anchor.text.to_owned(), new);
            }
            if let Some(seen) = self.seen.get_mut(anchor.text) {
                seen.weight = seen.weight.saturating_add(weight.value()).min(1000);
                seen.first = seen.first.min(seq);
                seen.last = seen.last.max(seq);
                seen.carries |= weight.carries();
                seen.named |= weight != Weight::Shown;
            }
        }
    }

    /// The identifiers that were used again or count by their context, and all others; of both the weightiest last, so
    /// that they are dropped last. A bare number counts only by its context.
    pub(super) fn items(&mut self) -> (Vec<Item>, Vec<Item>) {
        let all = std::mem::take(&mut self.seen).into_iter();
        let (telling, others) = all
            .filter(|(text, seen)| seen.carries || !is_nameless(text))
            .partition(|(_, seen)| seen.carries || (seen.named && seen.last != seen.first));
        (weightiest(telling, KEPT_MAX), weightiest(others, SIGHTINGS_MAX))
    }
}

/// Whether an identifier is a number without a unit or a currency: it says nothing without the words beside it, which
/// excerpts have.
fn is_nameless(text: &str) -> bool {
    text.trim_start_matches(['~', '#']).bytes().all(|byte| byte.is_ascii_digit() || b"._".contains(&byte))
        && text.matches('.').count() < 2
}

/// * `max` - maximum number; the others are dropped.
fn weightiest(mut all: Vec<(String, Seen)>, max: usize) -> Vec<Item> {
    all.sort_by(|(a, x), (b, y)| (x.carries, x.weight, x.last, b).cmp(&(y.carries, y.weight, y.last, a)));
    all.drain(..all.len().saturating_sub(max));
    // `a.rs` adds nothing to `src/a.rs`.
    let whole: Vec<String> = all.iter().map(|(text, _)| text.clone()).collect();
    all.retain(|(text, _)| {
        !whole
            .iter()
            .any(|longer| longer.strip_suffix(text.as_str()).is_some_and(|start| start.ends_with('/')))
    });
    all.into_iter()
        .map(|(text, seen)| {
            let mut item = Item::new(text, seen.first);
            if seen.last != seen.first {
                item.seqs.push(seen.last);
            }
            item
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameless_table() {
        let table = [
            ("2585", true, "a bare number"),
            ("#2585", true, "behind a mark of numbers"),
            ("12000.5", true, "a fraction"),
            ("1.2.3", false, "a version"),
            ("250ms", false, "with a unit"),
            ("$4000", false, "money"),
            ("7ad0db9", false, "a digest"),
            ("E0308", false, "a code"),
        ];
        for (text, want, why) in table {
            assert_eq!(is_nameless(text), want, "{why}");
        }
        let mut set = AnchorSet::default();
        set.read("took 48213 of src/a.rs", Seq(1), Weight::Shown);
        set.read("use port 48999", Seq(2), Weight::Asked);
        let (kept, others) = set.items();
        let texts = |items: Vec<Item>| items.into_iter().map(|item| item.text).collect::<Vec<_>>();
        assert_eq!((texts(kept), texts(others)), (vec!["48999".to_owned()], vec!["src/a.rs".to_owned()]));
    }
}
