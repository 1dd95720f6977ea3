//! Entries that people put back into the prompts of a lane.

use unforget_store::RaisedRow;
use unforget_wire::Format;

use super::Host;
use crate::journal::{HostError, LaneKey};
use crate::{NewRaised, RaisedWeight};

impl Host {
    /// Puts a span of entries back: from the next prompt on they stand behind the summaries that cover them.
    pub fn raise(&self, key: &LaneKey, form: Format, new: &NewRaised<'_>) -> Result<u64, HostError> {
        self.with(key, form, |lane, now| lane.change_said(|engine, id| engine.raise(id, new, now)))
    }

    /// Takes a span away again.
    pub fn lower(&self, key: &LaneKey, form: Format, number: u64) -> Result<(), HostError> {
        self.with(key, form, |lane, now| lane.change_said(|engine, id| engine.lower(id, number, now)))
    }

    /// All spans of a lane that people put back, by number, those that were taken away again included.
    pub fn raised(&self, key: &LaneKey, form: Format) -> Result<Vec<(RaisedRow, RaisedWeight)>, HostError> {
        self.with(key, form, |lane, _| {
            Ok(lane.journal().engine().raised_with_weights(lane.journal().conversation())?)
        })
    }
}
