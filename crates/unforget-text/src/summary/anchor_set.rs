//! The identifiers of a span, weighed.

use std::collections::BTreeMap;

use unforget_core::id::Seq;

use crate::anchors::{AnchorKind, anchors};
use crate::sections::Item;

/// Most identifiers that a summary keeps.
const KEPT_MAX: usize = 120;
/// Most identifiers that are weighed.
const SEEN_MAX: usize = 4096;

/// Identifiers with where they were seen and how much they matter.
#[derive(Default)]
pub(super) struct AnchorSet {
    seen: BTreeMap<String, Seen>,
}

struct Seen {
    weight: u32,
    first: Seq,
    last: Seq,
}

impl AnchorSet {
    /// Notes the identifiers of `text`; `weight` says how much its speaker counts.
    pub(super) fn read(&mut self, text: &str, seq: Seq, weight: u32) {
        for anchor in anchors(text) {
            let bonus = match anchor.kind {
                AnchorKind::Url | AnchorKind::Path | AnchorKind::Hash => 2,
                AnchorKind::Version | AnchorKind::Id => 1,
                AnchorKind::Quantity => 0,
            };
            if let Some(seen) = self.seen.get_mut(anchor.text) {
                seen.weight = seen.weight.saturating_add(weight).min(1000);
                seen.last = seq;
            } else if self.seen.len() < SEEN_MAX {
                self.seen
                    .insert(anchor.text.to_owned(), Seen { weight: weight + bonus, first: seq, last: seq });
            }
        }
    }

    /// The weightiest, least first, so that the newest and heaviest are the last to be dropped.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut all: Vec<(String, Seen)> = std::mem::take(&mut self.seen).into_iter().collect();
        all.sort_by(|(a, x), (b, y)| (x.weight, x.last, b).cmp(&(y.weight, y.last, a)));
        all.drain(..all.len().saturating_sub(KEPT_MAX));
        // `a.rs` says nothing beside `src/a.rs`.
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
}
