//! A store with injected failures: before or after a write takes effect, with an error or a panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use unforget_store::{Store, StoreError, StoreLayer};

type Result<T> = std::result::Result<T, StoreError>;

/// The payload of a simulated process death. Thrown without the panic hook, so that nothing is printed.
pub struct Died;

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An error, without writing.
    ErrorBefore,
    /// An error, after writing.
    ErrorAfter,
    /// The process dies without writing.
    DieBefore,
    /// The process dies after writing.
    DieAfter,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ErrorBefore, Self::ErrorAfter, Self::DieBefore, Self::DieAfter];
}

/// A store over another one.
pub struct FaultStore {
    inner: Arc<dyn Store>,
    /// Number of writes until the failing one; 0 for none.
    left: AtomicU64,
    mode: AtomicU8,
    hits: AtomicU64,
}

impl FaultStore {
    /// A store that passes everything on to `inner`.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, left: AtomicU64::new(0), mode: AtomicU8::new(0), hits: AtomicU64::new(0) }
    }

    /// Lets the `nth` write from now on fail, counted from 1.
    pub fn arm(&self, nth: u64, mode: Mode) {
        self.mode.store(Mode::ALL.iter().position(|one| *one == mode).unwrap_or(0) as u8, Ordering::SeqCst);
        self.left.store(nth, Ordering::SeqCst);
    }

    /// Cancels the failure. Returns whether a write has failed since arming.
    pub fn disarm(&self) -> bool {
        self.left.store(0, Ordering::SeqCst);
        self.hits.swap(0, Ordering::SeqCst) > 0
    }

    /// Whether a failure is pending.
    pub fn is_armed(&self) -> bool {
        self.left.load(Ordering::SeqCst) > 0
    }
}

impl StoreLayer for FaultStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn write<T>(&self, operation: &'static str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let left = self.left.load(Ordering::SeqCst);
        self.left.store(left.saturating_sub(1), Ordering::SeqCst);
        if left != 1 {
            return act();
        }
        self.hits.fetch_add(1, Ordering::SeqCst);
        let failed = || StoreError::Backend { operation, source: "injected".into() };
        match Mode::ALL.get(usize::from(self.mode.load(Ordering::SeqCst))) {
            Some(Mode::ErrorBefore) => Err(failed()),
            Some(Mode::ErrorAfter) => act().and_then(|_| Err(failed())),
            Some(Mode::DieBefore) => std::panic::resume_unwind(Box::new(Died)),
            _ => {
                let _done = act();
                std::panic::resume_unwind(Box::new(Died))
            }
        }
    }
}
