//! Pins: rules that stand verbatim in every prompt, outside what compaction may touch.
//!
//! A pin is a person's words, letter by letter, with the entry that they come from, or those of a file that a person named
//! and that the pin follows: see [`PinFile`]. It holds until it is taken back or a newer one takes its place. A pin
//! that is not active keeps its row.
//!
//! Source: design §4 Assemble (layout); field notes §0.6: compaction deletes rules, pinning brings violations back to none.

mod file;
mod shown;

use std::fmt;

use crate::id::Seq;

pub use file::{Followed, PinFile, Reading, Trouble};
pub use shown::{Show, ShownPins, beside};

/// Name of a pin within its conversation: dense, from 1, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinId(pub u64);

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pin:{}", self.0)
    }
}

/// Whether a pin holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinState {
    /// It stands in every prompt.
    Active,
    /// It was taken back.
    Retired,
    /// Another one stands for it.
    SupersededBy(PinId),
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its name.
    pub id: PinId,
    /// The words, verbatim.
    pub text: String,
    /// The entry that they come from; `None` if they were typed as a pin.
    pub source: Option<Seq>,
    /// Whether it holds.
    pub state: PinState,
    /// Position in the block. A pin that supersedes another one takes over its position.
    pub order: u64,
}

/// Why pins were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// There are no words to pin.
    #[error("the pin has no words")]
    Blank,
    /// The words are longer than a rule.
    #[error(
        "the pin has {bytes} bytes; typed words may have {}, a pinned file {}",
        Pins::TEXT_BYTES_MAX,
        Pins::FILE_BYTES_MAX
    )]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// The limit of active pins is reached.
    #[error(
        "the conversation has {} active pins already, the most that are allowed; take one back first",
        Pins::ACTIVE_MAX
    )]
    TooMany,
    /// There is no pin of that name.
    #[error("the conversation has no {id}")]
    Unknown {
        /// The name.
        id: PinId,
    },
    /// The file is pinned already, and cannot stand in another place too.
    #[error("the file is pinned already, as {pin}")]
    Elsewhere {
        /// The pin of it.
        pin: PinId,
    },
    /// The pin does not hold any more, so nothing can take its place.
    #[error("{id} is not active any more: it was taken back or replaced")]
    NotActive {
        /// The name.
        id: PinId,
    },
    /// The stored pins cannot come from [`Pins`]: numbers have gaps, or a successor does not exist.
    #[error("the stored pins are damaged at {id}")]
    Damaged {
        /// Where.
        id: PinId,
    },
}

/// Active pins that a request does not have where they belong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request lacks {} active pins, the first is {}", missing.len(), missing.first().copied().unwrap_or(PinId(0)))]
pub struct PinsMissing {
    /// The pins whose words are missing; all pins if the words are there but not as one block.
    pub missing: Vec<PinId>,
}

/// First words of the block.
pub const PINS_HEAD: &str =
    "Rules that people pinned for this conversation. They hold until they are taken back:";

/// The pins of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    pins: Vec<Pin>,
    files: Vec<PinFile>,
}

impl Pins {
    /// Longest words of one pin, in bytes; a file may have [`Pins::FILE_BYTES_MAX`].
    pub const TEXT_BYTES_MAX: usize = 4_096;
    /// Most active pins.
    pub const ACTIVE_MAX: usize = 64;

    /// Pins as they were stored, by name, and the files that they follow, by place.
    ///
    /// # Errors
    /// [`PinError::Damaged`] if these cannot have come from the operations below.
    pub fn restore(pins: Vec<Pin>, files: Vec<PinFile>) -> Result<Self, PinError> {
        let len = pins.len() as u64;
        for (at, pin) in (1_u64..).zip(&pins) {
            let successor = match pin.state {
                PinState::SupersededBy(id) => (1..=len).contains(&id.0) && id != pin.id,
                PinState::Active | PinState::Retired => true,
            };
            if pin.id != PinId(at)
                || !successor
                || !(1..=at).contains(&pin.order)
                || check(&pin.text, Self::FILE_BYTES_MAX).is_err()
            {
                return Err(PinError::Damaged { id: pin.id });
            }
        }
        match file::damaged(&pins, &files) {
            Some(id) => Err(PinError::Damaged { id }),
            None => Ok(Self { pins, files }),
        }
    }

    /// Every pin by name, active or not.
    pub fn all(&self) -> &[Pin] {
        &self.pins
    }

    /// The active pins in the order of the block: oldest first, a successor in the place of its predecessor.
    pub fn active(&self) -> Vec<&Pin> {
        let mut active: Vec<&Pin> = self.pins.iter().filter(|pin| pin.state == PinState::Active).collect();
        active.sort_by_key(|pin| (pin.order, pin.id));
        active
    }

    /// Pins words, verbatim. Words that are pinned already stay one pin, so doing it twice changes nothing.
    ///
    /// # Errors
    /// [`PinError::Blank`], [`PinError::TooLong`], [`PinError::TooMany`]; then nothing changed.
    pub fn pin(&mut self, text: &str, source: Option<Seq>) -> Result<PinId, PinError> {
        check(text, Self::TEXT_BYTES_MAX)?;
        match self.held(text) {
            Some(id) => Ok(id),
            None if self.active().len() >= Self::ACTIVE_MAX => Err(PinError::TooMany),
            None => Ok(self.add(text, source, None)),
        }
    }

    /// Takes a pin back. One that does not hold any more stays as it is.
    ///
    /// # Errors
    /// [`PinError::Unknown`].
    pub fn unpin(&mut self, id: PinId) -> Result<(), PinError> {
        let pin = self.find(id)?;
        if pin.state == PinState::Active {
            pin.state = PinState::Retired;
        }
        Ok(())
    }

    /// Puts other words in the place of a pin. Doing it twice changes nothing.
    ///
    /// # Errors
    /// [`PinError::Blank`], [`PinError::TooLong`], [`PinError::Unknown`]; [`PinError::NotActive`] if the pin does not
    /// hold and something else, or nothing, stands for it. Then nothing changed.
    pub fn supersede(&mut self, id: PinId, text: &str, source: Option<Seq>) -> Result<PinId, PinError> {
        check(text, Self::TEXT_BYTES_MAX)?;
        let held = self.held(text);
        let pin = self.find(id)?;
        match (pin.state, held) {
            (PinState::Active, Some(held)) if held == id => return Ok(id),
            (PinState::SupersededBy(by), Some(held)) if held == by => return Ok(by),
            (PinState::Active, _) => {}
            (PinState::Retired | PinState::SupersededBy(_), _) => return Err(PinError::NotActive { id }),
        }
        let order = pin.order;
        let by = held.unwrap_or_else(|| self.add(text, source, Some(order)));
        self.find(id)?.state = PinState::SupersededBy(by);
        Ok(by)
    }

    /// The active pin with these words. Pins of files do not count, since their words may change.
    fn held(&self, text: &str) -> Option<PinId> {
        let is_it = |pin: &&Pin| pin.state == PinState::Active && pin.text == text;
        self.pins.iter().filter(is_it).map(|pin| pin.id).find(|id| self.file_of(*id).is_none())
    }

    fn find(&mut self, id: PinId) -> Result<&mut Pin, PinError> {
        self.pins.iter_mut().find(|pin| pin.id == id).ok_or(PinError::Unknown { id })
    }

    fn add(&mut self, text: &str, source: Option<Seq>, order: Option<u64>) -> PinId {
        let id = PinId(self.pins.len() as u64 + 1);
        let order = order.unwrap_or(id.0);
        self.pins.push(Pin { id, text: text.to_owned(), source, state: PinState::Active, order });
        id
    }
}

fn check(text: &str, bytes_max: usize) -> Result<(), PinError> {
    if text.chars().all(char::is_whitespace) {
        return Err(PinError::Blank);
    }
    if text.len() > bytes_max {
        return Err(PinError::TooLong { bytes: text.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::assemble::assemble;
    use crate::message::{Block, Message, Speaker};
    use proptest::prelude::*;

    /// `+a` pins a, `-1` unpins, `1>b` puts b in the place of 1. Errors are left aside.
    fn pins(script: &str) -> Pins {
        let mut pins = Pins::default();
        for word in script.split_whitespace() {
            _ = step(&mut pins, word);
        }
        pins
    }

    fn step(pins: &mut Pins, word: &str) -> Result<(), PinError> {
        let id = |text: &str| PinId(text.parse().unwrap());
        match (word.strip_prefix('+'), word.strip_prefix('-'), word.split_once('>')) {
            (Some(text), ..) => pins.pin(text, Some(Seq(7))).map(|_| ()),
            (_, Some(text), _) => pins.unpin(id(text)),
            (.., Some((old, new))) => pins.supersede(id(old), new, None).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn shown(pins: &Pins) -> ShownPins {
        pins.shown(&BTreeMap::new())
    }

    fn show(pins: &Pins) -> String {
        pins.active().iter().map(|pin| pin.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pins_table() {
        let table = [
            ("+a +b", "a b", "oldest first"),
            ("+a +b +a", "a b", "pinned twice is one pin"),
            ("+a +b -1", "b", "taken back"),
            ("+a -1 -1", "", "taken back twice"),
            ("+a -1 +a", "a", "pinned again: a new pin"),
            ("+a +b +c 2>d", "a d c", "a successor takes the place"),
            ("+a +b 1>c 1>c", "c b", "twice changes nothing"),
            ("+a +b 1>c 3>d", "d b", "a line of successors keeps its place"),
            ("+a +b 1>b", "b", "succeeded by a pin that is there"),
            ("+a 1>a", "a", "by itself: nothing to do"),
            ("+a -1 1>b", "", "what was taken back has no successor"),
            ("+a 9>b -9", "a", "unknown names"),
        ];
        for (script, want, why) in table {
            let pins = pins(script);
            assert_eq!(show(&pins), want, "{why}: {script}");
            assert_eq!(
                Pins::restore(pins.all().to_vec(), pins.files().to_vec()).unwrap(),
                pins,
                "{why}: stored and read"
            );
        }
    }

    #[test]
    fn error_table() {
        let mut pins = pins("+a -1");
        assert_eq!(pins.pin(" \n\u{3000}", None), Err(PinError::Blank));
        assert_eq!(pins.pin(&"x".repeat(4_097), None), Err(PinError::TooLong { bytes: 4_097 }));
        assert_eq!(pins.unpin(PinId(5)), Err(PinError::Unknown { id: PinId(5) }));
        assert_eq!(pins.supersede(PinId(1), "b", None), Err(PinError::NotActive { id: PinId(1) }));
        for n in 0..Pins::ACTIVE_MAX {
            pins.pin(&format!("rule {n}"), None).unwrap();
        }
        assert_eq!(pins.pin("one more", None), Err(PinError::TooMany));
        assert!(pins.pin("rule 3", None).is_ok(), "what is there needs no room");
        assert!(pins.supersede(PinId(3), "one more", None).is_ok(), "a successor needs no room");
        let mut damaged = pins.all().to_vec();
        damaged.remove(0);
        assert_eq!(Pins::restore(damaged, vec![]), Err(PinError::Damaged { id: PinId(2) }));
        let mut damaged = pins.all().to_vec();
        damaged[1].state = PinState::SupersededBy(PinId(999));
        assert_eq!(Pins::restore(damaged, vec![]), Err(PinError::Damaged { id: PinId(2) }));
    }

    fn words(text: &str) -> Message {
        Message { speaker: Speaker::User, blocks: vec![Block::Ours(text.into())], model: None, seqs: vec![] }
    }

    #[test]
    fn a_request_without_every_pin_is_found_out() {
        let pins = pins("+a +b");
        let block = shown(&pins).block().unwrap();
        let request = |messages: Vec<Message>| assemble(&[], &messages);
        assert_eq!(
            shown(&pins).prove(&request(vec![block.clone(), words("summary")])),
            Ok(()),
            "joined with a summary"
        );
        let missing = |ids: &[u64]| Err(PinsMissing { missing: ids.iter().copied().map(PinId).collect() });
        assert_eq!(shown(&pins).prove(&request(vec![words("summary")])), missing(&[1, 2]), "none");
        let mut short = block.clone();
        short.blocks.pop();
        assert_eq!(shown(&pins).prove(&request(vec![short])), missing(&[2]), "one dropped");
        let mut changed = block.clone();
        changed.blocks[1] = Block::Ours("a ".into());
        assert_eq!(shown(&pins).prove(&request(vec![changed])), missing(&[1]), "not verbatim");
        let mut turned = block;
        turned.blocks.swap(1, 2);
        assert_eq!(shown(&pins).prove(&request(vec![turned])), missing(&[1, 2]), "out of order");
        assert_eq!(shown(&Pins::default()).prove(&request(vec![])), Ok(()), "nothing to prove");
    }

    proptest! {
        /// Whatever was done, the block has exactly the active pins and proves itself; doing a step again changes nothing.
        #[test]
        fn pins_hold(steps in prop::collection::vec("(\\+[a-d]|-[1-6]|[1-6]>[a-d])", 0..20)) {
            let mut pins = Pins::default();
            for word in &steps {
                if step(&mut pins, word).is_ok() {
                    let before = pins.clone();
                    prop_assert!(step(&mut pins, word).is_ok(), "{}", word);
                    prop_assert_eq!(&pins, &before, "{}", word);
                }
            }
            prop_assert_eq!(Pins::restore(pins.all().to_vec(), pins.files().to_vec()).unwrap(), pins.clone());
            let request = assemble(&[], &shown(&pins).block().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(shown(&pins).prove(&request), Ok(()));
            let texts: BTreeSet<_> = pins.active().iter().map(|pin| pin.text.clone()).collect();
            prop_assert_eq!(texts.len(), pins.active().len(), "no rule stands twice");
        }
    }
}
