//! An entry's facts as bytes: all that no statement looks for.
//!
//! A version, the seal (u32, little endian), then the facts in the order of [`encode`]: numbers of seven bits per byte,
//! lowest first; texts and bytes behind their lengths; options behind a 0 or 1. Chain and chunk are columns, and the
//! seal covers them too.

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::tokens::Tokens;
use unforget_store::EntryRow;
use unforget_store::backend::{
    CONTENT_BYTES, Stored, join_content, origin, origin_code, role, role_code, status, status_code,
};

/// Version of the form.
const VERSION: u8 = 1;

/// The facts of an entry, sealed.
pub(crate) fn encode(id: ConversationId, stored: &Stored) -> Vec<u8> {
    let row = &stored.row;
    let mut bytes = Vec::with_capacity(64);
    bytes.push(VERSION);
    bytes.extend_from_slice(&stored.seal(id).to_le_bytes());
    for code in [role_code(row.role), origin_code(row.origin), status_code(row.status)] {
        bytes.push(code as u8);
    }
    let numbers = [
        row.generation.0,
        row.position.0,
        row.thread.0,
        row.tokens.expected,
        row.tokens.upper,
        row.stubbed.expected,
        row.stubbed.upper,
        row.bytes.start,
        row.bytes.end,
        stored.offset,
        stored.lead_len,
        stored.body_len,
        stored.holes,
    ];
    for number in numbers {
        put(&mut bytes, number);
    }
    put_if(&mut bytes, row.parent.map(|parent| parent.0));
    put_if(&mut bytes, row.time.map(|time| time.0 as u64));
    bytes.extend(row.content.0.iter().take(CONTENT_BYTES));
    put_if(&mut bytes, row.host_id.as_ref().map(|text| text.len() as u64));
    bytes.extend_from_slice(row.host_id.as_deref().unwrap_or_default().as_bytes());
    bytes
}

/// The columns of an entry.
pub(crate) struct EntryColumns<'a> {
    pub(crate) seq: u64,
    pub(crate) chunk: Option<u64>,
    pub(crate) chain: Chain,
    pub(crate) facts: &'a [u8],
}

/// The entry; `None` if a column is not what was written.
pub(crate) fn decode(id: ConversationId, columns: &EntryColumns<'_>) -> Option<Stored> {
    let mut rest = columns.facts;
    if byte(&mut rest)? != VERSION {
        return None;
    }
    let seal = u32::from_le_bytes(*taken::<4>(&mut rest)?);
    let codes = [byte(&mut rest)?, byte(&mut rest)?, byte(&mut rest)?].map(i64::from);
    let [role_of, origin_of, status_of] = codes;
    let mut numbers = [0; 13];
    for number in &mut numbers {
        *number = get(&mut rest)?;
    }
    let [
        generation,
        position,
        thread,
        expected,
        upper,
        stubbed,
        stubbed_upper,
        start,
        end,
        offset,
        lead_len,
        body_len,
        holes,
    ] = numbers;
    let parent = get_if(&mut rest)?.map(Seq);
    let time = get_if(&mut rest)?.map(|time| Timestamp(time as i64));
    let content = join_content(taken::<CONTENT_BYTES>(&mut rest)?)?;
    let host_id = match get_if(&mut rest)? {
        Some(length) if length == rest.len() as u64 => Some(String::from_utf8(rest.to_vec()).ok()?),
        None if rest.is_empty() => None,
        _ => return None,
    };
    let row = EntryRow {
        seq: Seq(columns.seq),
        generation: Generation(generation),
        position: Position(position),
        parent,
        thread: Thread(thread),
        role: role(role_of)?,
        origin: origin(origin_of)?,
        status: status(status_of)?,
        host_id,
        time,
        tokens: Tokens { expected, upper },
        stubbed: Tokens { expected: stubbed, upper: stubbed_upper },
        chain: columns.chain,
        content,
        bytes: start..end,
        purged: columns.chunk.is_none(),
    };
    let stored = Stored { row, chunk: columns.chunk, offset, lead_len, body_len, holes };
    (stored.seal(id) == seal).then_some(stored)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_if(bytes: &mut Vec<u8>, number: Option<u64>) {
    bytes.push(u8::from(number.is_some()));
    if let Some(number) = number {
        put(bytes, number);
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn taken<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(first)
}

fn get(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let next = byte(rest)?;
        let part = u64::from(next & 0x7F);
        // The tenth byte has room for one bit.
        if shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        if next < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The outer `None` for damage.
#[allow(clippy::option_option, reason = "a fact that may be absent, of bytes that may be damaged")]
fn get_if(rest: &mut &[u8]) -> Option<Option<u64>> {
    match byte(rest)? {
        0 => Some(None),
        1 => get(rest).map(Some),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use proptest::prelude::*;
    use unforget_store::conformance::entry;

    use super::*;

    fn stored(body: &[u8], seq: u64, chunk: Option<u64>) -> Stored {
        let mut row = entry(body, &mut Chain::root()).row;
        (row.seq, row.purged, row.thread) = (Seq(seq), chunk.is_none(), Thread(u64::MAX - seq));
        Stored { row, chunk, offset: 300, lead_len: 1, body_len: seq, holes: 2 }
    }

    fn columns<'a>(stored: &Stored, facts: &'a [u8]) -> EntryColumns<'a> {
        EntryColumns { seq: stored.row.seq.0, chunk: stored.chunk, chain: stored.row.chain, facts }
    }

    proptest! {
        #[test]
        fn facts_go_there_and_back(body in prop::collection::vec(any::<u8>(), 0..30), seq in any::<u64>(), chunk in any::<Option<u64>>()) {
            let id = ConversationId(7);
            let stored = stored(&body, seq, chunk);
            let facts = encode(id, &stored);
            prop_assert_eq!(decode(id, &columns(&stored, &facts)), Some(stored.clone()));
            prop_assert_eq!(decode(ConversationId(8), &columns(&stored, &facts)), None, "of another conversation");
        }

        /// A changed byte, a cut and an appended byte are noticed.
        #[test]
        fn damage_is_noticed(body in prop::collection::vec(any::<u8>(), 0..30), at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let id = ConversationId(7);
            let stored = stored(&body, 9, Some(1));
            let whole = encode(id, &stored);
            let at = at.index(whole.len());
            let mut bad = whole.clone();
            bad[at] ^= flip;
            prop_assert_ne!(decode(id, &columns(&stored, &bad)), Some(stored.clone()));
            prop_assert_eq!(decode(id, &columns(&stored, &whole[..at])), None);
            prop_assert_eq!(decode(id, &columns(&stored, &[whole, vec![0]].concat())), None);
        }
    }
}
