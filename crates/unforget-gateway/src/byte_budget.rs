//! The memory budget for bytes held for clients: a limit for all of them, and a limit of the wait for a share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::figures;

/// A memory budget in bytes.
#[derive(Clone, Debug)]
pub(super) struct ByteBudget {
    free: Arc<Semaphore>,
    all: usize,
    patience: Duration,
    /// The kind of bytes held, for `/metrics`.
    of: &'static str,
}

impl ByteBudget {
    /// * `all` - the budget in bytes.
    /// * `patience` - longest wait for a share.
    pub(super) fn new(of: &'static str, all: usize, patience: Duration) -> Self {
        let all = all.clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(all)), all, patience, of }
    }

    /// Number of bytes held.
    pub(super) fn held(&self) -> usize {
        self.all - self.free.available_permits().min(self.all)
    }

    /// Waits for a share, in order of requests; `None` if the wait is too long. A request above the budget gets all of
    /// it.
    pub(super) async fn take(&self, bytes: usize) -> Option<BudgetShare> {
        let free = Arc::clone(&self.free).acquire_many_owned(self.part(bytes));
        let permit = timeout(self.patience, free).await.ok()?.ok()?;
        Some(self.hold(permit))
    }

    /// Takes a share if at least half of the budget then remains.
    pub(super) fn spare(&self, bytes: usize) -> Option<BudgetShare> {
        if self.free.available_permits() < bytes.saturating_add(self.all / 2) {
            return None;
        }
        let permit = Arc::clone(&self.free).try_acquire_many_owned(self.part(bytes)).ok()?;
        Some(self.hold(permit))
    }

    fn part(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.min(self.all)).unwrap_or(u32::MAX)
    }

    fn hold(&self, permit: OwnedSemaphorePermit) -> BudgetShare {
        figures::held(self.of, permit.num_permits() as f64);
        BudgetShare { permit, of: self.of }
    }
}

/// A share of a budget, returned when dropped.
#[derive(Debug)]
pub(super) struct BudgetShare {
    permit: OwnedSemaphorePermit,
    of: &'static str,
}

impl BudgetShare {
    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.permit.num_permits()
    }

    /// Joins two shares of one budget.
    pub(super) fn join(&mut self, mut other: Self) {
        if let Some(all) = other.permit.split(other.bytes()) {
            self.permit.merge(all);
        }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        figures::held(self.of, -(self.bytes() as f64));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn room_is_waited_for_and_given_back() {
        let room = ByteBudget::new("test", 100, Duration::from_millis(300));
        let mut one = room.take(40).await.unwrap();
        one.join(room.take(20).await.unwrap());
        assert_eq!((one.bytes(), room.held()), (60, 60));
        assert!(room.spare(1).is_none(), "half of it is not for what can be done without");
        assert!(room.take(41).await.is_none(), "not within the patience");
        assert_eq!(room.held(), 60, "who gave up holds nothing");
        let (other, ()) = tokio::join!(room.take(41), async {
            // It waits, and then there is room.
            tokio::task::yield_now().await;
            drop(one);
        });
        let other = other.unwrap();
        assert_eq!((other.bytes(), room.held()), (41, 41));
        drop(other);
        assert_eq!(room.held(), 0);
        let spare = room.spare(50).unwrap();
        assert!(room.spare(1).is_none());
        drop(spare);
        assert_eq!(room.take(1_000).await.unwrap().bytes(), 100, "more than all is all");
    }
}
