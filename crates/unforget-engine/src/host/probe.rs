//! Whether what is delivered can be stored.

use unforget_store::ContextRow;
use unforget_wire::Format;

use super::lane::{PROBED, STATE};
use super::register::PROBE;
use super::{Host, HostError, LaneKey};

impl Host {
    /// Writes something, over what was written here before, and reads it back.
    ///
    /// # Errors
    /// What kept it from being written or read.
    ///
    /// Cost: a page in the log of the database; they do not add up.
    pub fn probe(&self) -> Result<(), HostError> {
        self.with(&LaneKey(PROBE.to_owned()), Format::OpenAiChat, |lane, now| {
            let row = ContextRow { thread: STATE, budget: PROBED, state: now.0.to_le_bytes().to_vec() };
            let store = self.engine.store();
            store.put_summaries(lane.conversation, &[], Some(&row))?;
            let found = store.context(lane.conversation, STATE, PROBED)?;
            if found.is_some_and(|found| found.state == row.state) {
                return Ok(());
            }
            Err(HostError::Refused { what: "the database does not give what was written".to_owned() })
        })
    }
}
