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
    let mut of_kinds: Vec<_> =
        MemoryKind::ALL.into_iter().map(|kind| of_kind(sessions, kind).into_iter()).collect();
    let mut left = bounds.bytes;
    let mut shown = Vec::new();
    for _ in 0..bounds.of_kind {
        let before = shown.len();
        for of_kind in &mut of_kinds {
            if let Some(next) = of_kind.find(|one| one.item.text.len() <= left) {
                left -= next.item.text.len();
                shown.push(next);
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

/// All items of a kind, newest first, equal words once.
fn of_kind(sessions: &[Vec<MemoryItem>], kind: MemoryKind) -> Vec<ShownMemory> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<ShownMemory> = Vec::new();
    for (session, items) in sessions.iter().enumerate() {
        if kind == MemoryKind::Open && !found.is_empty() {
            break;
        }
        for item in items.iter().rev().filter(|item| item.kind == kind) {
            if seen.insert(item.text.to_lowercase()) {
                found.push(ShownMemory { session, item: item.clone() });
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
}
