//! Checks that the store can be written.

use std::sync::atomic::{AtomicU64, Ordering};

use unforget_store::ContextRow;
use unforget_wire::Format;

use super::Host;
use super::lane::PROBED;
use crate::internal::PROBE;
use crate::journal::{HostError, LaneKey, STATE};

/// Number of probes of this process: each writes something new.
static PROBES: AtomicU64 = AtomicU64::new(0);

impl Host {
    /// Overwrites a small state in the store, and reads it back.
    ///
    /// # Errors
    /// The error of the write or the read.
    ///
    /// Cost: one page in the log of the database, whatever the number of probes.
    pub fn probe(&self) -> Result<(), HostError> {
        self.with_again(&LaneKey(PROBE.to_owned()), Format::OpenAiChat, |lane, now| {
            let (store, id) = (self.engine.store(), lane.journal().conversation());
            let found = || Ok::<_, HostError>(store.context(id, STATE, PROBED)?.map(|row| row.state));
            let state = [now.0.to_le_bytes(), PROBES.fetch_add(1, Ordering::Relaxed).to_le_bytes()].concat();
            let before = found()?;
            let row = ContextRow { thread: STATE, budget: PROBED, state };
            store.put_summaries(id, &[], Some(&row))?;
            let after = found()?;
            // The row is from this process, or from a faster process.
            if after.is_some() && after != before {
                return Ok(());
            }
            Err(HostError::Refused { what: "the database does not give what was written".to_owned() })
        })
    }
}
