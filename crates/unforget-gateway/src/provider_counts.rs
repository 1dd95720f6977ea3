//! Token counts that providers reported, by lane.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use unforget_core::digest::Digest;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{Array, LaneKey};

use super::prepared::PreparedCall;

/// Number of lanes whose provider counts are remembered.
const LANES: usize = 4_096;

/// A provider's count of a call that was sent unchanged.
pub(super) struct MeasuredCall {
    /// Its messages: their number, and the digest of their bytes.
    pub(super) of: (usize, Digest),
    /// Its instructions and tools, by our ruler.
    pub(super) fixed: Tokens,
    /// The provider's count of its whole input.
    pub(super) input: u64,
}

impl MeasuredCall {
    /// Tokens of an array of this lane, without its call's instructions and tools: the provider's count for the common
    /// beginning, our estimate for the rest. With equal instructions and tools the common beginning is exact; the
    /// excess charged for them is subtracted.
    fn of(&self, array: &Array, fixed: Tokens) -> Tokens {
        let (count, digest) = self.of;
        if array.beginning(count) != Some(digest) {
            return array.tokens();
        }
        let rest = array.tokens_from(count);
        let expected = self.input.saturating_sub(self.fixed.expected.min(self.input / 2));
        let upper = if fixed == self.fixed { self.input.saturating_sub(fixed.upper) } else { expected };
        let whole = Tokens { expected: expected + rest.expected, upper: upper + rest.upper };
        // Our estimate is an upper bound too: use the lower one.
        if whole.upper < array.tokens().upper { whole } else { array.tokens() }
    }
}

/// What providers' counts tell about lanes.
#[derive(Default)]
pub(super) struct ProviderCounts {
    /// The count of the last call of each lane that was sent unchanged.
    measured: Mutex<HashMap<LaneKey, MeasuredCall>>,
    /// Lanes of conversations kept by providers that are completely stored here.
    whole: Mutex<HashSet<LaneKey>>,
}

impl ProviderCounts {
    /// Tokens of a call's messages: the provider's count for messages that it has read, ours for the rest.
    pub(super) fn tokens(&self, prepared: &PreparedCall) -> Tokens {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured
            .get(&prepared.who.lane.lane)
            .map_or(prepared.array.tokens(), |known| known.of(&prepared.array, prepared.fixed()))
    }

    /// Takes the count of a call that was sent unchanged.
    pub(super) fn take(&self, lane: &LaneKey, call: MeasuredCall) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.len() >= LANES {
            measured.clear();
        }
        measured.insert(lane.clone(), call);
    }

    /// Whether all of a conversation kept by the provider is stored here, judged by the count of its last call.
    pub(super) fn has_all(&self, lane: &LaneKey) -> bool {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).contains(lane)
    }

    pub(super) fn note_all(&self, lane: &LaneKey, has_all: bool) {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_all {
            whole.remove(lane);
        } else if whole.len() < LANES || whole.contains(lane) {
            whole.insert(lane.clone());
        }
    }
}
