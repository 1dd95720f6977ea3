//! Pins of a lane.

use unforget_core::id::Seq;
use unforget_core::pin::PinId;
use unforget_store::{PinFileRow, PinRow};
use unforget_wire::Format;

use super::Host;
use crate::journal::{HostError, LaneKey};
use crate::{PinText, Proposed};

impl Host {
    /// Pins words: they stand verbatim in every prompt from the next one on. Doing it twice changes nothing.
    ///
    /// * `source` - the entry of the words.
    pub fn pin(
        &self,
        key: &LaneKey,
        form: Format,
        text: &str,
        source: Option<Seq>,
    ) -> Result<PinId, HostError> {
        self.with(key, form, |lane, now| lane.change_said(|engine, id| engine.pin(id, text, source, now)))
    }

    /// Takes a pin back.
    pub fn unpin(&self, key: &LaneKey, form: Format, pin: PinId) -> Result<(), HostError> {
        self.with(key, form, |lane, now| lane.change_said(|engine, id| engine.unpin(id, pin, now)))
    }

    /// Replaces a pin by other words.
    pub fn supersede_pin(
        &self,
        key: &LaneKey,
        form: Format,
        pin: PinId,
        words: PinText<'_>,
    ) -> Result<PinId, HostError> {
        self.with(key, form, |lane, now| {
            lane.change_said(|engine, id| engine.supersede_pin(id, pin, words, now))
        })
    }

    /// All pins of a lane by number, inactive ones included.
    pub fn pins(&self, key: &LaneKey, form: Format) -> Result<Vec<PinRow>, HostError> {
        self.with(key, form, |lane, _| Ok(lane.said()?.pins.clone()))
    }

    /// Files that pins of a lane follow or followed, by place.
    pub fn pin_files(&self, key: &LaneKey, form: Format) -> Result<Vec<PinFileRow>, HostError> {
        self.with(key, form, |lane, _| Ok(lane.said()?.files.clone()))
    }

    /// Sentences that a person may want to pin. O(history).
    pub fn proposed_pins(&self, key: &LaneKey, form: Format) -> Result<Vec<Proposed>, HostError> {
        self.with(key, form, |lane, _| {
            Ok(lane.journal().engine().proposed_pins(lane.journal().conversation())?)
        })
    }
}
