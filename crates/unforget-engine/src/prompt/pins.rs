//! The pins of a session: a block right behind the system instructions.

use unforget_core::message::Request;
use unforget_core::pin::{PinId, Pins, PinsMissing};

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
        let pins = self.engine.pins(self.conversation)?;
        if pins == self.pinned.pins {
            return Ok(());
        }
        let print = |pinned: &Pinned| pinned.piece.as_ref().map(|piece| piece.print);
        let pinned = Pinned::new(pins, &self.shape);
        if print(&pinned) != print(&self.pinned) {
            self.cause = self.cause.or(Some(Cause::Pins));
        }
        self.pinned = pinned;
        Ok(())
    }
}
