//! What a project shows of its sessions.

use std::collections::BTreeSet;

use super::{MemoryItem, MemoryKind};

/// Bounds of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBounds {
    /// Most items of one kind.
    pub of_kind: usize,
    /// Most bytes of all texts together.
    pub bytes: usize,
}

/// An item that is shown, and the session that left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownMemory {
    /// Index of the session, as it was given.
    pub session: usize,
    /// The item.
    pub item: MemoryItem,
}

/// Chooses what a project shows: within a kind the newest first, equal words once. Open items come from the newest
/// session that left any: what an older one left open, a newer one may have done.
///
/// Each kind is given its turn before a kind has its second item, so that no kind fills the room alone.
///
/// * `sessions` - items of each session, the newest session first; oldest first within a session.
pub fn chosen(sessions: &[Vec<MemoryItem>], bounds: MemoryBounds) -> Vec<ShownMemory> {
    let sessions: Vec<Vec<&MemoryItem>> = sessions.iter().map(|items| items.iter().collect()).collect();
    chosen_if(&sessions, bounds, &mut |_, _| true)
}

/// Like [`chosen`], without the items that a test does not take. They leave no room behind: the next item has their turn.
///
/// * `is_taken` - asked with the index of the session, only for items that have room, until the bounds are filled.
pub(super) fn chosen_if<'a>(
    sessions: &[Vec<&'a MemoryItem>],
    bounds: MemoryBounds,
    is_taken: &mut dyn FnMut(usize, &'a MemoryItem) -> bool,
) -> Vec<ShownMemory> {
    let mut of_kinds: Vec<_> =
        MemoryKind::ALL.into_iter().map(|kind| of_kind(sessions, kind).into_iter()).collect();
    let mut left = bounds.bytes;
    let mut shown = Vec::new();
    for _ in 0..bounds.of_kind {
        let before = shown.len();
        for of_kind in &mut of_kinds {
            let mut fits = |session, item: &'a MemoryItem| item.text.len() <= left && is_taken(session, item);
            if let Some((session, item)) = of_kind.find(|(session, item)| fits(*session, item)) {
                left -= item.text.len();
                shown.push(ShownMemory { session, item: item.clone() });
            }
        }
        if shown.len() == before {
            break;
        }
    }
    // Stable: the order within a kind stays.
    shown.sort_by_key(|one| one.item.kind);
    shown
}

/// All items of a kind with their sessions, newest first, equal words once.
fn of_kind<'a>(sessions: &[Vec<&'a MemoryItem>], kind: MemoryKind) -> Vec<(usize, &'a MemoryItem)> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (session, items) in sessions.iter().enumerate() {
        if kind == MemoryKind::Open && !found.is_empty() {
            break;
        }
        for item in items.iter().rev().filter(|item| item.kind == kind) {
            if seen.insert(item.text.to_lowercase()) {
                found.push((session, *item));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use unforget_core::id::Seq;

    use super::*;

    fn items(of: &[(MemoryKind, &str)]) -> Vec<MemoryItem> {
        let item = |(at, (kind, text)): (usize, &(MemoryKind, &str))| MemoryItem {
            kind: *kind,
            text: (*text).to_owned(),
            seq: Some(Seq(at as u64)),
            time: None,
        };
        of.iter().enumerate().map(item).collect()
    }

    fn texts(sessions: &[Vec<MemoryItem>], of_kind: usize, bytes: usize) -> Vec<String> {
        let shown = chosen(sessions, MemoryBounds { of_kind, bytes });
        shown.into_iter().map(|one| format!("{} {}", one.session, one.item.text)).collect()
    }

    #[test]
    fn chosen_table() {
        use MemoryKind::{Decision, Open, Rule};
        let newest = items(&[(Rule, "a"), (Rule, "b"), (Decision, "d"), (Open, "o")]);
        let older = items(&[(Rule, "B"), (Rule, "c"), (Open, "p")]);
        let both = [newest, older];
        let table: [(usize, usize, &[&str], &str); 4] = [
            (9, 99, &["0 b", "0 a", "1 c", "0 o", "0 d"], "newest first, once, open items of the newest"),
            (1, 99, &["0 b", "0 o", "0 d"], "one of each"),
            (9, 3, &["0 b", "0 o", "0 d"], "each kind has its turn before a second item"),
            (usize::MAX, 0, &[], "no room"),
        ];
        for (of_kind, bytes, want, why) in table {
            assert_eq!(texts(&both, of_kind, bytes), want, "{why}");
        }
    }

    #[test]
    fn items_are_tested_until_the_bounds_are_filled() {
        let all: Vec<String> = (0..500).map(|at| format!("rule {at}")).collect();
        let all: Vec<(MemoryKind, &str)> = all.iter().map(|text| (MemoryKind::Rule, text.as_str())).collect();
        let all = items(&all);
        let sessions = [all.iter().collect::<Vec<_>>()];
        let mut tested = 0;
        let shown = chosen_if(&sessions, MemoryBounds { of_kind: 2, bytes: 99 }, &mut |_, item| {
            tested += 1;
            item.text != "rule 499" && item.text != "rule 497"
        });
        let texts: Vec<&str> = shown.iter().map(|one| one.item.text.as_str()).collect();
        assert_eq!(
            (texts, tested),
            (vec!["rule 498", "rule 496"], 4),
            "the next one has the turn of one that is not taken"
        );
    }
}
