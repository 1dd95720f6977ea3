//! The active pins in a prompt: their block, and the proof that a request contains the block.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::{Block, Message, Request, Speaker};

use super::{PINS_HEAD, PinId, Pins, PinsMissing};

/// How a prompt shows a pin that is not shown verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// With this text, since the file is too long for its share.
    Short(String),
    /// Not at all: the caller sends the same text beside the prompt.
    Beside,
}

/// The pins that a prompt shows, in the order of the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownPins {
    pins: Vec<(PinId, String)>,
}

impl Pins {
    /// The active pins as a prompt shows them: verbatim, except for the pins in `how`.
    pub fn shown(&self, how: &BTreeMap<PinId, Show>) -> ShownPins {
        let shown = self.active().into_iter().filter_map(|pin| match how.get(&pin.id) {
            None => Some((pin.id, pin.text.clone())),
            Some(Show::Short(text)) => Some((pin.id, text.clone())),
            Some(Show::Beside) => None,
        });
        ShownPins { pins: shown.collect() }
    }
}

impl ShownPins {
    /// Their names.
    pub fn ids(&self) -> Vec<PinId> {
        self.pins.iter().map(|(id, _)| *id).collect()
    }

    /// The block in every prompt: a head, then one block for each pin, so that its text stands alone and verbatim. A text of
    /// several pins stands once. `None` without pins.
    pub fn block(&self) -> Option<Message> {
        let mut said = BTreeSet::new();
        let words = self.pins.iter().map(|(_, text)| text.as_str()).filter(|text| said.insert(*text));
        let blocks: Vec<Block> =
            std::iter::once(PINS_HEAD).chain(words).map(|text| Block::Ours(text.to_owned())).collect();
        (!self.pins.is_empty()).then_some(Message {
            speaker: Speaker::User,
            blocks,
            model: None,
            seqs: Vec::new(),
        })
    }

    /// Proves that a request contains the pins in order: one message contains the whole block, perhaps among other blocks.
    ///
    /// # Errors
    /// [`PinsMissing`] with the pins whose text is in none of our blocks of the request.
    ///
    /// Cost: O(blocks). Compares blocks as they are and looks into none.
    pub fn prove(&self, request: &Request) -> Result<(), PinsMissing> {
        let Some(block) = self.block() else { return Ok(()) };
        let holds = |message: &Message| {
            message.blocks.windows(block.blocks.len()).any(|blocks| blocks == block.blocks.as_slice())
        };
        if request.messages.iter().any(holds) {
            return Ok(());
        }
        let all = request.messages.iter().flat_map(|message| &message.blocks);
        let said: BTreeSet<&str> = all
            .filter_map(|block| match block {
                Block::Ours(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let absent: Vec<PinId> =
            self.pins.iter().filter(|(_, text)| !said.contains(text.as_str())).map(|(id, _)| *id).collect();
        Err(PinsMissing { missing: if absent.is_empty() { self.ids() } else { absent } })
    }
}

/// The pins that a prompt leaves out because the caller sends their text beside the prompt.
///
/// Between breaks no pin is added to them: a text that arrives beside the prompt stands twice until the next break, and the
/// beginning of the prompt keeps its bytes. A pin is shown at once when its text is not beside the prompt any more.
///
/// * `now` - pins whose text is beside this prompt.
/// * `before` - the result for the previous prompt.
/// * `breaks` - whether the beginning of the prompt changes anyway.
pub fn beside(now: &BTreeSet<PinId>, before: &BTreeSet<PinId>, breaks: bool) -> BTreeSet<PinId> {
    if breaks { now.clone() } else { before.intersection(now).copied().collect() }
}
