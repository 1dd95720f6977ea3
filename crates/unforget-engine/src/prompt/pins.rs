//! The block of pins behind the system instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unforget_core::message::Request;
use unforget_core::pin::{PinId, Pins, PinsMissing, Show, ShownPins, beside};
use unforget_core::tokens::{Ruler, Tokens, fair_share};
use unforget_text::{beginning, stands_in};

use super::Shape;
use super::pieces::{PromptPiece, weigh};

/// A pinned file that is shown in part, because it is longer than its share.
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

/// The pins of a session's prompts.
#[derive(Clone, Debug, Default)]
pub(super) struct PinBlock {
    pins: Pins,
    /// Pins left out because the caller sends their text beside the prompt.
    beside: BTreeSet<PinId>,
    shown: ShownPins,
    short: Vec<ShortPin>,
    /// `None` without active pins.
    piece: Option<PromptPiece>,
}

impl PinBlock {
    /// * `beside` - pins to leave out, because the caller sends their text beside the prompt.
    pub(super) fn new(pins: Pins, beside: BTreeSet<PinId>, shape: &Shape) -> Self {
        let mut how: BTreeMap<PinId, Show> = beside.iter().map(|id| (*id, Show::Beside)).collect();
        let short = shorten(&pins, &mut how, shape);
        let shown = pins.shown(&how);
        let piece = shown.block().map(|block| weigh(vec![block], Vec::new(), false, shape));
        Self { pins, beside, shown, short, piece }
    }

    /// The block in the prompt; `None` without active pins.
    pub(super) const fn piece(&self) -> Option<&PromptPiece> {
        self.piece.as_ref()
    }

    /// Size of the block.
    pub(super) fn tokens(&self) -> Tokens {
        self.piece.as_ref().map(|piece| piece.tokens).unwrap_or_default()
    }

    /// Files shown in part.
    pub(super) fn short(&self) -> &[ShortPin] {
        &self.short
    }

    /// Proves that a request has the pins, and names them.
    pub(super) fn prove(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
        self.shown.prove(request)?;
        Ok(self.shown.ids())
    }

    /// Whether these pins are the shown ones but for the texts of files. Changed files wait for a break.
    pub(super) fn differs_in_files_only(&self, pins: &Pins) -> bool {
        *pins == self.pins || pins.is_same_but_files(&self.pins)
    }

    /// The block for other pins or other texts beside the prompt; `None` if neither changed.
    ///
    /// * `pins` - `None` keeps the shown pins.
    /// * `breaks` - whether the beginning of the prompt changes anyway.
    pub(super) fn changed(
        &self,
        pins: Option<Pins>,
        texts_beside: &[Arc<str>],
        breaks: bool,
        shape: &Shape,
    ) -> Option<Self> {
        let now = pins_among(pins.as_ref().unwrap_or(&self.pins), texts_beside);
        let beside = beside(&now, &self.beside, breaks);
        let pins = pins.filter(|pins| *pins != self.pins);
        if pins.is_none() && beside == self.beside {
            return None;
        }
        Some(Self::new(pins.unwrap_or_else(|| self.pins.clone()), beside, shape))
    }

    /// Whether another block has the same bytes.
    pub(super) fn is_same_text(&self, other: &Self) -> bool {
        self.piece.as_ref().map(|piece| piece.print) == other.piece.as_ref().map(|piece| piece.print)
    }
}

/// Pins of files whose text stands in one of these texts.
fn pins_among(pins: &Pins, texts: &[Arc<str>]) -> BTreeSet<PinId> {
    let followed = pins.active().into_iter().filter(|pin| pins.file_of(pin.id).is_some());
    let is_there = |text: &str| texts.iter().any(|whole| stands_in(text, whole));
    followed.filter(|pin| is_there(&pin.text)).map(|pin| pin.id).collect()
}

/// Shortens files if all files together exceed their room.
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
