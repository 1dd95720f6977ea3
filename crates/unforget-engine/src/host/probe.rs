//! Checks that the store can be written.

use unforget_store::ContextRow;
use unforget_wire::Format;

use super::Host;
use super::lane::PROBED;
use crate::internal::PROBE;
use crate::journal::{HostError, LaneKey, STATE};

impl Host {
    /// Overwrites a small state in the store, and reads it back.
    ///
    /// # Errors
    /// The error of the write or the read.
    ///
    /// Cost: one page in the log of the database, whatever the number of probes.
    pub fn probe(&self) -> Result<(), HostError> {
        self.with(&LaneKey(PROBE.to_owned()), Format::OpenAiChat, |lane, now| {
            let row = ContextRow { thread: STATE, budget: PROBED, state: now.0.to_le_bytes().to_vec() };
            let store = self.engine.store();
            store.put_summaries(lane.journal().conversation(), &[], Some(&row))?;
            let found = store.context(lane.journal().conversation(), STATE, PROBED)?;
            if found.is_some_and(|found| found.state == row.state) {
                return Ok(());
            }
            Err(HostError::Refused { what: "the database does not give what was written".to_owned() })
        })
    }
}
