//! One call of a client: a lane that it compared with the store is not compared again.
//!
//! A call touches its lane and the register several times. Each touch begins with a comparison, since another process may
//! have written; but a comparison is no lock, and whoever is overtaken behind it fails in the commit and does the step again.
//! So one comparison per call is as safe as five, and on a distant database four delays shorter. The register and the lane that the
//! register in memory names are compared in one read.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Host;

/// Number of the last call of this process.
static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The call that this thread carries out; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A call of a client, as the lanes that it compared know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall(u64);

impl HostCall {
    /// A call that has compared nothing yet.
    pub fn begin() -> Self {
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The call that this thread carries out.
    pub(super) fn current() -> Option<Self> {
        Some(CURRENT.get()).filter(|call| *call != 0).map(Self)
    }
}

/// Ends a part of a call, also after a panic.
struct CallPart {
    before: u64,
}

impl Drop for CallPart {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

impl Host {
    /// Carries out a part of a call on this thread.
    pub fn within<T>(&self, call: HostCall, act: impl FnOnce() -> T) -> T {
        let _part = CallPart { before: CURRENT.replace(call.0) };
        act()
    }
}
