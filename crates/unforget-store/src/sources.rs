//! The sources of a summary as bytes.

use unforget_core::id::Thread;

use crate::codes::digest;
use crate::port::SummaryKey;

/// Bytes of one source: thread u64, grain u32, level u8 (little endian), end.
const SOURCE: usize = 8 + 4 + 1 + 32;

/// The stored form of the sources of a summary: 45 bytes each.
pub fn encode_sources(sources: &[SummaryKey]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sources.len() * SOURCE);
    for key in sources {
        bytes.extend_from_slice(&key.thread.0.to_le_bytes());
        bytes.extend_from_slice(&key.grain.to_le_bytes());
        bytes.push(key.level);
        bytes.extend_from_slice(&key.end.0);
    }
    bytes
}

/// The sources of a summary from their stored form; `None` for an impossible length.
pub fn decode_sources(bytes: &[u8]) -> Option<Vec<SummaryKey>> {
    if !bytes.len().is_multiple_of(SOURCE) {
        return None;
    }
    bytes
        .chunks_exact(SOURCE)
        .map(|source| {
            let (thread, rest) = source.split_first_chunk::<8>()?;
            let (grain, rest) = rest.split_first_chunk::<4>()?;
            let (level, end) = rest.split_first()?;
            let (thread, grain) = (Thread(u64::from_le_bytes(*thread)), u32::from_le_bytes(*grain));
            Some(SummaryKey { thread, grain, level: *level, end: digest(end)? })
        })
        .collect()
}
