//! Images and documents of a request: counted, identified, and left out where a provider rejects them.

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::entry::{Media, Part};
use crate::message::{Block, Message};

/// Which images and documents may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Maximum number; the newest are sent.
    pub newest: u32,
    /// Images and documents that may not be sent, by [`print()`].
    pub without: BTreeSet<Digest>,
}

impl Default for Limit {
    /// No limit.
    fn default() -> Self {
        Self { newest: u32::MAX, without: BTreeSet::new() }
    }
}

impl Limit {
    /// Whether the limit lets everything pass.
    pub fn is_all(&self) -> bool {
        self.newest == u32::MAX && self.without.is_empty()
    }
}

/// The place of an image or document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the message.
    pub message: u32,
    /// Index of the block in the message.
    pub block: u32,
    /// Digest of its block. See [`print()`].
    pub print: Digest,
}

/// Identifies an image or document: a digest of its block as received.
pub fn print(media: &Media) -> Digest {
    Digest::of(media.raw.as_bytes())
}

/// Number of images and documents in a message.
pub fn count(message: &Message) -> u64 {
    let media = message.blocks.iter().flat_map(parts).filter_map(as_media);
    media.count() as u64
}

/// Every image and document of the messages, in order. O(their bytes).
pub fn places(messages: &[Message]) -> Vec<Place> {
    let mut found = Vec::new();
    for (message, index) in messages.iter().zip(0..) {
        for (block, at) in message.blocks.iter().zip(0..) {
            let media = parts(block).iter().filter_map(as_media);
            found.extend(media.map(|media| Place { message: index, block: at, print: print(media) }));
        }
    }
    found
}

/// The images and documents that a refusal blames, by the place that the provider named.
///
/// If the named block holds none, the message was rendered in another way, and all of the message is blamed. If the
/// named message holds none, nothing is known, and all of the request is blamed, since one of them is at fault.
pub fn at(places: &[Place], message: u32, block: u32) -> BTreeSet<Digest> {
    let is_near = |place: &&Place| place.message == message;
    let is_there = |place: &&Place| is_near(place) && place.block == block;
    let prints = |found: &dyn Fn(&&Place) -> bool| -> BTreeSet<Digest> {
        places.iter().filter(found).map(|place| place.print).collect()
    };
    let nearest = [prints(&is_there), prints(&is_near)].into_iter().find(|found| !found.is_empty());
    nearest.unwrap_or_else(|| prints(&|_| true))
}

/// Applies a limit to messages, from the newest to the oldest.
#[derive(Clone, Debug)]
pub struct Pick<'a> {
    limit: &'a Limit,
    left: u32,
}

impl<'a> Pick<'a> {
    /// Starts behind the newest message.
    pub const fn new(limit: &'a Limit) -> Self {
        Self { limit, left: limit.newest }
    }

    /// Limits the next older parts, with `stub` in place of media that may not be sent. `None` if all may be sent.
    pub fn parts(&mut self, parts: &[Part], stub: &dyn Fn(&Media) -> String) -> Option<Vec<Part>> {
        let mut picked: Option<Vec<Part>> = None;
        for (at, part) in parts.iter().enumerate().rev() {
            let replaced = match part {
                Part::Media(media) => (!self.takes(media)).then(|| Part::Text(stub(media))),
                Part::ToolResult(result) => self.parts(&result.content, stub).map(|content| {
                    let mut result = result.clone();
                    result.content = content;
                    Part::ToolResult(result)
                }),
                _ => None,
            };
            let Some(replaced) = replaced else { continue };
            if let Some(slot) = picked.get_or_insert_with(|| parts.to_vec()).get_mut(at) {
                *slot = replaced;
            }
        }
        picked
    }

    /// Limits the next older message, with `stub` in place of media that may not be sent. `None` if all may be sent.
    pub fn message(&mut self, message: &Message, stub: &dyn Fn(&Media) -> String) -> Option<Message> {
        let mut picked: Option<Message> = None;
        for (at, block) in message.blocks.iter().enumerate().rev() {
            let replaced = match block {
                Block::Part(part) => {
                    let picked = self.parts(std::slice::from_ref(part), stub);
                    picked.and_then(|mut parts| parts.pop()).map(Block::Part)
                }
                Block::Result(result) => self.parts(&result.content, stub).map(|content| {
                    let mut result = result.clone();
                    result.content = content;
                    Block::Result(result)
                }),
                Block::Call(_) | Block::Ours(_) => None,
            };
            let Some(replaced) = replaced else { continue };
            if let Some(slot) = picked.get_or_insert_with(|| message.clone()).blocks.get_mut(at) {
                *slot = replaced;
            }
        }
        picked
    }

    /// Whether the next older image or document may be sent.
    fn takes(&mut self, media: &Media) -> bool {
        let is_refused = !self.limit.without.is_empty() && self.limit.without.contains(&print(media));
        if is_refused || self.left == 0 {
            return false;
        }
        self.left -= 1;
        true
    }
}

fn parts(block: &Block) -> &[Part] {
    match block {
        Block::Part(Part::ToolResult(result)) | Block::Result(result) => &result.content,
        Block::Part(part) => std::slice::from_ref(part),
        Block::Call(_) | Block::Ours(_) => &[],
    }
}

const fn as_media(part: &Part) -> Option<&Media> {
    match part {
        Part::Media(media) => Some(media),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::entry::ToolResult;
    use crate::message::Speaker;

    /// A letter is an image, `(ab)` a result with two, a dot a text.
    fn message(text: &str) -> Message {
        let image =
            |name: char| Part::Media(Media { mime: String::new(), size: None, raw: name.to_string().into() });
        let mut blocks = Vec::new();
        let mut result: Option<Vec<Part>> = None;
        for letter in text.chars() {
            match (letter, &mut result) {
                ('(', _) => result = Some(Vec::new()),
                (')', open) => blocks.push(Block::Result(ToolResult {
                    call_id: String::new(),
                    name: String::new(),
                    content: open.take().unwrap(),
                    is_error: false,
                    exit_code: None,
                })),
                ('.', _) => blocks.push(Block::Part(Part::Text(".".to_owned()))),
                (name, Some(open)) => open.push(image(name)),
                (name, None) => blocks.push(Block::Part(image(name))),
            }
        }
        Message { speaker: Speaker::User, blocks, model: None, seqs: Vec::new() }
    }

    /// A picked message in the same notation, left-out media as `-`.
    fn shown(message: &Message) -> String {
        let part = |part: &Part| match part {
            Part::Media(media) => media.raw.to_string(),
            Part::Text(text) => text.clone(),
            _ => "?".to_owned(),
        };
        let block = |block: &Block| match block {
            Block::Part(only) => part(only),
            Block::Result(result) => format!("({})", result.content.iter().map(part).collect::<String>()),
            _ => "?".to_owned(),
        };
        message.blocks.iter().map(block).collect()
    }

    #[test]
    fn f064_pick_table() {
        let table = [
            // messages  newest  without  picked  why
            ("ab .c", 9, "", "ab .c", "all may go"),
            ("ab .c", 2, "", "-b .c", "the oldest goes"),
            ("(ab). (c)d", 2, "", "(--). (c)d", "in results too, and older in a message means earlier"),
            ("a b", 0, "", "- -", "none"),
            ("ab cb", 9, "b", "a- c-", "the same image again is the same image"),
            ("ab cb", 1, "b", "-- c-", "what is refused takes no place"),
        ];
        for (messages, newest, without, want, why) in table {
            let without = without.chars().map(|name| Digest::of(name.to_string().as_bytes())).collect();
            let limit = Limit { newest, without };
            let mut pick = Pick::new(&limit);
            let mut picked: Vec<String> = Vec::new();
            for text in messages.split(' ').rev() {
                let message = message(text);
                let changed = pick.message(&message, &|_| "-".to_owned());
                assert_eq!(
                    changed.is_some(),
                    want.split(' ').rev().nth(picked.len()).unwrap() != text,
                    "{why}"
                );
                picked.push(shown(&changed.unwrap_or(message)));
            }
            picked.reverse();
            assert_eq!(picked.join(" "), want, "{why}: {messages}");
        }
    }

    #[test]
    fn f064_places_table() {
        let messages = [message("."), message(".a(bc)"), message("d")];
        let found = places(&messages);
        assert_eq!(
            found.iter().map(|place| (place.message, place.block)).collect::<Vec<_>>(),
            [(1, 1), (1, 2), (1, 2), (2, 0)]
        );
        let table = [
            ((1, 1), "a", "an image of its own"),
            ((1, 2), "bc", "one of a result"),
            ((1, 0), "abc", "a block that is none: its message"),
            ((7, 0), "abcd", "a message that has none: all"),
        ];
        for ((message, block), want, why) in table {
            let want: BTreeSet<Digest> =
                want.chars().map(|name| Digest::of(name.to_string().as_bytes())).collect();
            assert_eq!(at(&found, message, block), want, "{why}");
        }
    }
}
