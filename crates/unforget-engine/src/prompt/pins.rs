//! The pins of a session: a block right behind the system instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unforget_core::entry::Entry;
use unforget_core::id::Seq;
use unforget_core::message::Request;
use unforget_core::pin::{Followed, PinId, Pins, PinsMissing, Show, ShownPins, beside};
use unforget_core::tokens::{Ruler, fair_share};
use unforget_text::{beginning, proposals, stands_in};

use super::pieces::{Piece, weigh};
use super::{Cause, Session, Shape};
use crate::EngineError;

/// A pinned file that a prompt shows in part, since it is too long for its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortPin {
    /// Its pin.
    pub pin: PinId,
    /// The file.
    pub path: String,
    /// Number of bytes shown.
    pub shown: usize,
    /// Size of the file, in bytes.
    pub bytes: usize,
}

/// The pins that prompts of a session have.
#[derive(Clone, Debug, Default)]
pub(super) struct Pinned {
    pins: Pins,
    /// Pins left out because the caller sends their text beside the prompt.
    beside: BTreeSet<PinId>,
    shown: ShownPins,
    /// Files shown in part.
    pub(super) short: Vec<ShortPin>,
    /// Their block; `None` without active pins.
    pub(super) piece: Option<Piece>,
}

/// Input and news of a session's pins.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Texts that the caller sends beside prompts, whole.
    texts: Vec<Arc<str>>,
    /// Changes of pinned files that were not taken yet.
    followed: Vec<Followed>,
}

impl Pinned {
    /// * `beside` - pins to leave out, since the caller sends their text beside the prompt.
    pub(super) fn new(pins: Pins, beside: BTreeSet<PinId>, shape: &Shape) -> Self {
        let mut how: BTreeMap<PinId, Show> = beside.iter().map(|id| (*id, Show::Beside)).collect();
        let short = shorten(&pins, &mut how, shape);
        let shown = pins.shown(&how);
        let piece = shown.block().map(|block| weigh(vec![block], Vec::new(), false, shape));
        Self { pins, beside, shown, short, piece }
    }

    /// Proves that a request has them, and names them.
    pub(super) fn prove(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
        self.shown.prove(request)?;
        Ok(self.shown.ids())
    }

    /// Pins of files whose text stands in one of these texts.
    fn among(pins: &Pins, texts: &[Arc<str>]) -> BTreeSet<PinId> {
        let is_there = |text: &str| texts.iter().any(|whole| stands_in(text, whole));
        let followed = pins.active().into_iter().filter(|pin| pins.file_of(pin.id).is_some());
        followed.filter(|pin| is_there(&pin.text)).map(|pin| pin.id).collect()
    }
}

/// Shortens files if all of them together exceed their room.
fn shorten(pins: &Pins, how: &mut BTreeMap<PinId, Show>, shape: &Shape) -> Vec<ShortPin> {
    let active = pins.active();
    let files = active.iter().filter(|pin| !how.contains_key(&pin.id));
    let files: Vec<_> = files.filter_map(|pin| Some((*pin, pins.origin(pin)?.path.as_str()))).collect();
    let sizes: Vec<u64> = files.iter().map(|(pin, _)| shape.ruler.count(&pin.text).upper).collect();
    let Some(share) = fair_share(sizes.clone(), shape.policy.pin_files) else { return Vec::new() };
    let mut short = Vec::new();
    for ((pin, path), _) in files.into_iter().zip(sizes).filter(|(_, size)| *size > share) {
        let begun = beginning(&pin.text, path, share, &shape.ruler);
        let (path, shown, bytes) = (path.to_owned(), begun.bytes, pin.text.len());
        short.push(ShortPin { pin: pin.id, path, shown, bytes });
        how.insert(pin.id, Show::Short(begun.text));
    }
    short
}

impl Session {
    /// Brings pins and context up to date.
    pub(super) fn settle_pinned(&mut self) -> Result<(), EngineError> {
        self.load_pins()?;
        self.settle()?;
        if self.follow_files()? {
            // The new texts may need more room.
            self.settle()?;
        }
        Ok(())
    }

    /// Reads the pins of the conversation as they are now. Another block than before breaks the prompt. Changed files
    /// wait for a break: see [`Session::follow_files`].
    ///
    /// Cost: one read of a small table.
    pub(super) fn load_pins(&mut self) -> Result<(), EngineError> {
        self.accept_pins()?;
        let pins = self.engine.pins(self.conversation)?;
        let is_kept = pins == self.pinned.pins || pins.is_same_but_files(&self.pinned.pins);
        self.show_pins((!is_kept).then_some(pins), false);
        Ok(())
    }

    /// Reads the followed files again if the beginning of the prompt changes anyway, and shows their current text. Returns
    /// whether the block changed.
    fn follow_files(&mut self) -> Result<bool, EngineError> {
        if !self.cause.is_some_and(Cause::reads_files) {
            return Ok(false);
        }
        if self.persist {
            self.around.followed.extend(self.engine.follow_pins(self.conversation, self.stamp())?);
        }
        let pins = self.engine.pins(self.conversation)?;
        Ok(self.show_pins(Some(pins), true))
    }

    /// Sets the texts that the caller sends beside prompts: a pinned file in one of them is not shown again.
    pub(crate) fn bring_beside(&mut self, texts: &[Arc<str>]) {
        self.around.texts = texts.to_vec();
    }

    /// Changes of pinned files since the last call.
    pub(crate) fn take_followed(&mut self) -> Vec<Followed> {
        std::mem::take(&mut self.around.followed)
    }

    /// Shows these pins from now on; `None` keeps the shown pins. Returns whether the block changed.
    fn show_pins(&mut self, pins: Option<Pins>, breaks: bool) -> bool {
        let now = Pinned::among(pins.as_ref().unwrap_or(&self.pinned.pins), &self.around.texts);
        let beside = beside(&now, &self.pinned.beside, breaks);
        let pins = pins.filter(|pins| *pins != self.pinned.pins);
        if pins.is_none() && beside == self.pinned.beside {
            return false;
        }
        let pins = pins.unwrap_or_else(|| self.pinned.pins.clone());
        let print = |pinned: &Pinned| pinned.piece.as_ref().map(|piece| piece.print);
        let pinned = Pinned::new(pins, beside, &self.shape);
        let is_other = print(&pinned) != print(&self.pinned);
        if is_other {
            self.cause = self.cause.or(Some(Cause::Pins));
            self.counts.broke();
        }
        self.pinned = pinned;
        is_other
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
