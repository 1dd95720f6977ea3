//! Pins of a lane.

use unforget_core::id::Seq;
use unforget_core::pin::PinId;
use unforget_store::{PinFileRow, PinRow, read_all};
use unforget_wire::Format;

use super::Host;
use super::types::{HostError, LaneKey};
use crate::Proposed;

impl Host {
    /// Pins words, verbatim: they stand in every prompt from the next one on. Doing it twice changes nothing.
    ///
    /// * `source` - the entry that they come from.
    pub fn pin(
        &self,
        key: &LaneKey,
        form: Format,
        text: &str,
        source: Option<Seq>,
    ) -> Result<PinId, HostError> {
        self.with(key, form, |lane, now| Ok(lane.engine.pin(lane.conversation, text, source, now)?))
    }

    /// Takes a pin back.
    pub fn unpin(&self, key: &LaneKey, form: Format, pin: PinId) -> Result<(), HostError> {
        self.with(key, form, |lane, now| Ok(lane.engine.unpin(lane.conversation, pin, now)?))
    }

    /// Puts other words in the place of a pin.
    pub fn supersede_pin(
        &self,
        key: &LaneKey,
        form: Format,
        pin: PinId,
        words: (&str, Option<Seq>),
    ) -> Result<PinId, HostError> {
        self.with(key, form, |lane, now| Ok(lane.engine.supersede_pin(lane.conversation, pin, words, now)?))
    }

    /// All pins of a lane by number, those that do not hold any more too.
    pub fn pins(&self, key: &LaneKey, form: Format) -> Result<Vec<PinRow>, HostError> {
        self.with(key, form, |lane, _| {
            Ok(read_all(|page| lane.engine.store().pins(lane.conversation, page))?)
        })
    }

    /// Files that pins of a lane follow, or followed, by place.
    pub fn pin_files(&self, key: &LaneKey, form: Format) -> Result<Vec<PinFileRow>, HostError> {
        self.with(key, form, |lane, _| {
            Ok(read_all(|page| lane.engine.store().pin_files(lane.conversation, page))?)
        })
    }

    /// Sentences that a person may want to pin. O(history).
    pub fn proposed_pins(&self, key: &LaneKey, form: Format) -> Result<Vec<Proposed>, HostError> {
        self.with(key, form, |lane, _| Ok(lane.engine.proposed_pins(lane.conversation)?))
    }
}
