//! Records of a part as bytes: for each its two lengths, the bytes before it, and the record.
//!
//! The lengths tell where records begin, so that the chain is checked without knowing the transcript's format.

use std::collections::BTreeSet;

use unforget_core::digest::Chain;
use unforget_store::Raw;

/// Appends a record.
pub(crate) fn push(frames: &mut Vec<u8>, raw: &Raw) {
    for length in [raw.lead.len(), raw.body.len()] {
        frames.extend_from_slice(&(length as u64).to_le_bytes());
    }
    frames.extend_from_slice(&raw.lead);
    frames.extend_from_slice(&raw.body);
}

/// Records of a part that were checked.
pub(crate) struct CheckedRecords {
    /// Their bytes, as in the transcript.
    pub(crate) bytes: Vec<u8>,
    /// How many.
    pub(crate) count: u64,
    /// Head of the chain behind them.
    pub(crate) chain: Chain,
}

/// Why framed records were not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// The bytes are no whole records.
    Cut,
    /// One of them was purged somewhere.
    Purged,
}

/// Follows the chain over framed records.
///
/// * `purged` - heads at entries that nobody takes any more.
pub(crate) fn follow(
    mut chain: Chain,
    mut frames: &[u8],
    purged: &BTreeSet<Chain>,
) -> Result<CheckedRecords, FrameError> {
    let (mut bytes, mut count) = (Vec::with_capacity(frames.len()), 0);
    while !frames.is_empty() {
        let (lead, body) = next(&mut frames).ok_or(FrameError::Cut)?;
        chain = chain.next(lead, body);
        if purged.contains(&chain) {
            return Err(FrameError::Purged);
        }
        bytes.extend_from_slice(lead);
        bytes.extend_from_slice(body);
        count += 1;
    }
    Ok(CheckedRecords { bytes, count, chain })
}

/// The bytes before the next record, and the record.
fn next<'a>(frames: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let lead_length = length(frames)?;
    let body_length = length(frames)?;
    Some((frames.split_off(..lead_length)?, frames.split_off(..body_length)?))
}

fn length(frames: &mut &[u8]) -> Option<usize> {
    let bytes = frames.split_off(..size_of::<u64>())?;
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use unforget_core::id::Seq;

    use super::*;

    fn raw(lead: &[u8], body: &[u8]) -> Raw {
        Raw { seq: Seq(0), lead: lead.to_vec(), body: body.to_vec() }
    }

    proptest! {
        #[test]
        fn frames_are_read_as_written(records in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<u8>(), 0..40)), 0..9)) {
            let (mut frames, mut bytes, mut chain) = (Vec::new(), Vec::new(), Chain::root());
            for (lead, body) in &records {
                push(&mut frames, &raw(lead, body));
                chain = chain.next(lead, body);
                bytes.extend_from_slice(lead);
                bytes.extend_from_slice(body);
            }
            let checked = follow(Chain::root(), &frames, &BTreeSet::new()).unwrap();
            prop_assert_eq!((checked.bytes, checked.count, checked.chain), (bytes, records.len() as u64, chain));
        }

        #[test]
        fn other_bytes_have_another_chain_or_none(at in 0_usize..60, bit in 0_u8..8) {
            let mut frames = Vec::new();
            push(&mut frames, &raw(b"\n", br#"{"role":"user"}"#));
            push(&mut frames, &raw(b"", br"{}"));
            let sound = follow(Chain::root(), &frames, &BTreeSet::new()).unwrap().chain;
            if let Some(byte) = frames.get_mut(at) {
                *byte ^= 1 << bit;
                let is_refused = follow(Chain::root(), &frames, &BTreeSet::new()).map_or(true, |checked| checked.chain != sound);
                prop_assert!(is_refused);
            }
        }
    }

    #[test]
    fn what_was_purged_is_not_taken() {
        let mut frames = Vec::new();
        push(&mut frames, &raw(b"", b"{}"));
        let chain = follow(Chain::root(), &frames, &BTreeSet::new()).unwrap().chain;
        assert_eq!(follow(Chain::root(), &frames, &[chain].into()).err(), Some(FrameError::Purged));
    }

    #[test]
    fn no_length_is_believed() {
        let table: [(&[u8], &str); 3] = [
            (&[0xff; 16], "more than there can be"),
            (&[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, b'x'], "more than there is"),
            (&[0; 15], "half a length"),
        ];
        for (frames, why) in table {
            assert_eq!(follow(Chain::root(), frames, &BTreeSet::new()).err(), Some(FrameError::Cut), "{why}");
        }
    }
}
