//! The stored form of a session's memory.

use unforget_core::id::{Seq, Timestamp};
use unforget_text::{MemoryItem, MemoryKind, NewestText, SessionMemory};

use super::FoldedMemory;
use crate::varint;

/// Version of the stored form. Another version is folded again.
const VERSION: u8 = 1;

pub(super) fn encode(folded: &FoldedMemory) -> Vec<u8> {
    let mut state = vec![VERSION];
    varint::put(&mut state, folded.entries);
    varint::put(&mut state, folded.head.map_or(0, |seq| seq.0 + 1));
    for items in [&folded.memory.items, &folded.items] {
        varint::put(&mut state, items.len() as u64);
        for item in items {
            varint::put(&mut state, item.kind as u64);
            put_place(&mut state, item.seq, item.time);
            put_text(&mut state, &item.text);
        }
    }
    varint::put(&mut state, u64::from(folded.memory.last.is_some()));
    if let Some(last) = &folded.memory.last {
        put_place(&mut state, last.seq, last.time);
        put_text(&mut state, &last.text);
    }
    state
}

fn put_text(state: &mut Vec<u8>, text: &str) {
    varint::put(state, text.len() as u64);
    state.extend_from_slice(text.as_bytes());
}

/// A time before 1970 is stored as none.
fn put_place(state: &mut Vec<u8>, seq: Seq, time: Option<Timestamp>) {
    varint::put(state, seq.0);
    varint::put(state, time.and_then(|time| u64::try_from(time.0).ok()).map_or(0, |ms| ms + 1));
}

/// Reads the stored form. `None` for any other bytes.
pub(super) fn decode(state: &[u8]) -> Option<FoldedMemory> {
    let mut rest = state.strip_prefix(&[VERSION])?;
    let entries = varint::take(&mut rest)?;
    let head = varint::take(&mut rest)?.checked_sub(1).map(Seq);
    let (kept, items) = (take_items(&mut rest)?, take_items(&mut rest)?);
    let last = match varint::take(&mut rest)? {
        0 => None,
        1 => {
            let ItemPlace { seq, time } = take_place(&mut rest)?;
            Some(NewestText { seq, time, text: take_text(&mut rest)? })
        }
        _ => return None,
    };
    let memory = SessionMemory { items: kept, last };
    rest.is_empty().then_some(FoldedMemory { memory, head, items, entries })
}

fn take_items(rest: &mut &[u8]) -> Option<Vec<MemoryItem>> {
    let count = varint::take(rest)?;
    // The count may be damaged, so nothing is reserved for it.
    let mut items = Vec::new();
    for _ in 0..count {
        let kind = *MemoryKind::ALL.get(usize::try_from(varint::take(rest)?).ok()?)?;
        let ItemPlace { seq, time } = take_place(rest)?;
        items.push(MemoryItem { kind, seq, time, text: take_text(rest)? });
    }
    Some(items)
}

struct ItemPlace {
    seq: Seq,
    time: Option<Timestamp>,
}

fn take_place(rest: &mut &[u8]) -> Option<ItemPlace> {
    let seq = Seq(varint::take(rest)?);
    let time = match varint::take(rest)?.checked_sub(1) {
        Some(ms) => Some(Timestamp(i64::try_from(ms).ok()?)),
        None => None,
    };
    Some(ItemPlace { seq, time })
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(varint::take(rest)?).ok()?;
    let (text, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_memory_reads_back_and_no_cut_of_it_does() {
        let item = |kind, seq, time: Option<i64>| MemoryItem {
            kind,
            text: format!("item {seq} ü"),
            seq: Seq(seq),
            time: time.map(Timestamp),
        };
        let items =
            vec![item(MemoryKind::Rule, 3, None), item(MemoryKind::Works, 900, Some(1_700_000_000_000))];
        let last = NewestText { text: "done".to_owned(), seq: Seq(901), time: Some(Timestamp(0)) };
        let memory = SessionMemory { items: items[..1].to_vec(), last: Some(last) };
        let whole = FoldedMemory { memory, head: Some(Seq(901)), items, entries: 905 };
        let bytes = encode(&whole);
        assert_eq!(decode(&bytes), Some(whole));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(decode(&encode(&FoldedMemory::default())), Some(FoldedMemory::default()));
    }
}
