//! Brings pins and context up to date before a prompt.

use unforget_core::prefix::Cause;

use super::Session;
use super::raised::RaisedBlock;
use crate::error::EngineError;

impl Session {
    /// Brings pins and context up to date.
    pub(super) fn update(&mut self, budget: Option<u64>) -> Result<(), EngineError> {
        self.load_said()?;
        self.load_raised()?;
        self.compact_within(budget)?;
        if self.follow_files()? {
            // The new texts may need more room.
            self.compact_within(budget)?;
        }
        Ok(())
    }

    /// Looks at what people said, and shows pins and verdicts of now.
    ///
    /// Cost: see [`Source::look`](super::source::Source::look).
    pub(super) fn load_said(&mut self) -> Result<(), EngineError> {
        self.source.look()?;
        self.show_pins()?;
        self.show_verdicts()
    }

    /// Shows the pins of the conversation, accepted proposals included. Another block than before breaks the prompt.
    fn show_pins(&mut self) -> Result<(), EngineError> {
        let proposals = self.fixed.take_proposals();
        if !proposals.is_empty() {
            self.source.accept(proposals)?;
        }
        let pins = self.source.pins()?;
        if self.fixed.update_pins(pins, self.source.shape()) {
            self.account.changes(Cause::Pins);
        }
        Ok(())
    }

    /// Takes out what readers rejected. A summary that lost a statement breaks the prompt: a person's word is not told a break later.
    fn show_verdicts(&mut self) -> Result<(), EngineError> {
        if self.strike()? {
            self.fixed.drop_headline();
            self.account.changes(Cause::Verdict);
        }
        Ok(())
    }

    /// Shows those entries of the spans that people put back, as of the last look, that the summaries cover. A decision breaks
    /// the prompt.
    ///
    /// Cost: see [`RaisedBlock::new`] if the decisions or the summaries changed.
    pub(super) fn load_raised(&mut self) -> Result<(), EngineError> {
        let spans = self.source.raised();
        if self.fixed.raised().is_of(&spans, &self.cover) {
            return Ok(());
        }
        let is_decided = self.fixed.raised().spans() != spans;
        let block = RaisedBlock::new(spans, &self.cover, &self.source)?;
        if self.fixed.show_raised(block) && is_decided {
            self.account.changes(Cause::Raised);
        }
        Ok(())
    }

    /// Takes out of the summaries what was rejected since the last look. Returns whether a prompt shows it.
    fn strike(&mut self) -> Result<bool, EngineError> {
        if !self.source.take_verdicts() {
            return Ok(false);
        }
        let is_shown = self.cover.strike(&self.source);
        // The host's words come out of the summaries.
        if self.cover.shows_host() {
            self.render_cover(&[])?;
        }
        Ok(is_shown)
    }

    /// Reads the followed files again if the beginning of the prompt changes anyway. Returns whether the block of pins
    /// changed.
    fn follow_files(&mut self) -> Result<bool, EngineError> {
        if !self.account.reads_files() {
            return Ok(false);
        }
        let time = self.source.stamp(self.window.newest_time());
        self.fixed.note_followed(self.source.follow_pins(time)?);
        let is_other = self.fixed.renew_pins(self.source.pins()?, self.source.shape());
        if is_other {
            self.account.changes(Cause::Pins);
        }
        Ok(is_other)
    }
}
