//! The pins of a session: a block right behind the system instructions.

use std::collections::BTreeSet;

use unforget_core::entry::Entry;
use unforget_core::id::Seq;
use unforget_core::message::Request;
use unforget_core::pin::{PinId, Pins, PinsMissing};
use unforget_text::proposals;

use super::pieces::{Piece, weigh};
use super::{Cause, Session, Shape};
use crate::EngineError;

/// The pins that prompts of a session have.
#[derive(Clone, Debug, Default)]
pub(super) struct Pinned {
    pins: Pins,
    /// Their block; `None` without active pins.
    pub(super) piece: Option<Piece>,
}

impl Pinned {
    pub(super) fn new(pins: Pins, shape: &Shape) -> Self {
        let piece = pins.block().map(|block| weigh(vec![block], Vec::new(), false, shape));
        Self { pins, piece }
    }

    /// Proves that a request has them, and names them.
    pub(super) fn prove(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
        self.pins.prove(request)?;
        Ok(self.pins.active().iter().map(|pin| pin.id).collect())
    }
}

impl Session {
    /// Reads the pins of the conversation as they are now. Another block than before breaks the prompt.
    ///
    /// Cost: one read of a small table.
    pub(super) fn load_pins(&mut self) -> Result<(), EngineError> {
        self.accept_pins()?;
        let pins = self.engine.pins(self.conversation)?;
        if pins == self.pinned.pins {
            return Ok(());
        }
        let print = |pinned: &Pinned| pinned.piece.as_ref().map(|piece| piece.print);
        let pinned = Pinned::new(pins, &self.shape);
        if print(&pinned) != print(&self.pinned) {
            self.cause = self.cause.or(Some(Cause::Pins));
            self.counts.broke();
        }
        self.pinned = pinned;
        Ok(())
    }

    /// Pins what the entries propose that came since, if the engine is to do that by itself.
    fn accept_pins(&mut self) -> Result<(), EngineError> {
        let unread = std::mem::take(&mut self.unread);
        if unread.is_empty() {
            return Ok(());
        }
        let pins = self.engine.pins(self.conversation)?;
        let mut known: BTreeSet<String> = pins.all().iter().map(|pin| pin.text.clone()).collect();
        for (seq, text) in unread {
            if known.contains(&text) {
                continue;
            }
            match self.engine.pin(self.conversation, &text, Some(seq), self.now) {
                // What there is no room for stays a proposal.
                Ok(_) | Err(EngineError::Pin(_)) => {}
                Err(error) => return Err(error),
            }
            known.insert(text);
        }
        Ok(())
    }

    /// Keeps what an entry proposes until the next prompt, if proposals are to be accepted.
    pub(super) fn note_proposals(&mut self, seq: Seq, entry: &Entry) {
        if self.persist && self.engine.pins_by_itself() {
            self.unread.extend(proposals(entry).into_iter().map(|found| (seq, found.text.to_owned())));
        }
    }
}
