//! The arrays of the last calls, in memory: the next call repeats their beginning, which is then not read again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use unforget_core::digest::Digest;
use unforget_engine::host::{Array, LaneKey};

/// Most bytes kept.
const BYTES: usize = 64 << 20;

/// Most arrays kept.
const ARRAYS: usize = 256;

/// The arrays, the most recently used one in front.
#[derive(Default)]
pub(super) struct ArrayCache(Mutex<VecDeque<KeptArray>>);

struct KeptArray {
    lane: LaneKey,
    /// Digest of its first message.
    first: Digest,
    array: Array,
    size: usize,
}

impl ArrayCache {
    /// The newest array whose first message has these bytes, which probably belongs to the call's lane. A wrong guess
    /// does no harm.
    pub(super) fn like(&self, first: &[u8]) -> Array {
        let first = Digest::of(first);
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|kept| kept.first == first).map(|kept| kept.array.clone()).unwrap_or_default()
    }

    /// Replaces the lane's array by that of its last call. Returns the least recently used lanes, whose state in memory
    /// can be dropped.
    pub(super) fn keep(&self, lane: &LaneKey, array: &Array) -> Vec<LaneKey> {
        let Some(first) = array.first() else { return Vec::new() };
        let size = array.size();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.lane != *lane);
        kept.push_front(KeptArray { lane: lane.clone(), first, array: array.clone(), size });
        let sizes = kept.iter().scan(0, |bytes, kept| {
            *bytes += kept.size;
            Some(*bytes)
        });
        let fitting = sizes.take_while(|bytes| *bytes <= BYTES).count();
        let fitting = fitting.clamp(1, ARRAYS).min(kept.len());
        kept.drain(fitting..).map(|kept| kept.lane).collect()
    }
}
