//! Encodes the memory of a session as stored bytes. Bytes that are not a valid memory are refused as a whole; the memory is
//! then folded again from the log.

use unforget_text::{MemoryItem, MemoryKind, NewestText, SessionMemory};

use super::FoldedMemory;
use crate::stored_form::{StoredForm, fields, words};

/// Version of the encoding and of the rules behind it; other versions are not read.
const VERSION: u64 = 5;

/// Encodes a memory.
pub(super) fn encode(folded: &FoldedMemory) -> Vec<u8> {
    let mut bytes = Vec::new();
    VERSION.put(&mut bytes);
    folded.put(&mut bytes);
    bytes
}

/// Decodes the output of [`encode`]; `None` for all other bytes.
pub(super) fn decode(mut bytes: &[u8]) -> Option<FoldedMemory> {
    let from = &mut bytes;
    if u64::take(from)? != VERSION {
        return None;
    }
    let folded = FoldedMemory::take(from)?;
    from.is_empty().then_some(folded)
}

fields! {
    FoldedMemory { memory, head, items, entries }
    SessionMemory { items, last }
    MemoryItem { kind, text, seq, time }
    NewestText { text, seq, time }
}

words! {
    MemoryKind: Rule, Open, Decision, Fixed, Works;
}

#[cfg(test)]
mod tests {
    use unforget_core::id::{Seq, Timestamp};

    use super::*;

    #[test]
    fn a_stored_memory_reads_back_and_no_cut_of_it_does() {
        let item = |kind, seq, time: Option<i64>| MemoryItem {
            kind,
            text: format!("item {seq} ü"),
            seq: Some(Seq(seq)),
            time: time.map(Timestamp),
        };
        let items =
            vec![item(MemoryKind::Rule, 3, None), item(MemoryKind::Works, 900, Some(1_700_000_000_000))];
        let last = NewestText { text: "done".to_owned(), seq: Seq(901), time: Some(Timestamp(-1)) };
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
