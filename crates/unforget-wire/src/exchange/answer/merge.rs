//! Merges streamed text into the JSON that announced it.

use super::{ANSWER_MAX, BLOCKS_MAX};
use crate::exchange::quoted;
use crate::json::{Object, Tape, Value};

/// The room left for an answer.
#[derive(Debug)]
pub(super) struct Room {
    bytes: usize,
    blocks: usize,
    /// Whether anything was left out.
    pub(super) is_full: bool,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: ANSWER_MAX, blocks: BLOCKS_MAX, is_full: false }
    }
}

impl Room {
    /// Number of bytes kept.
    pub(super) const fn kept(&self) -> usize {
        ANSWER_MAX - self.bytes
    }

    /// Adds text, if the room allows it.
    pub(super) fn add(&mut self, text: &mut String, more: &str) {
        if self.takes(more.len()) {
            text.push_str(more);
        }
    }

    /// A copy, if the room allows it.
    pub(super) fn copy(&mut self, text: &str) -> String {
        if self.takes(text.len()) { text.to_owned() } else { String::new() }
    }

    /// Whether one more block may be kept.
    pub(super) fn takes_block(&mut self) -> bool {
        let is_free = self.blocks > 0;
        self.blocks = self.blocks.saturating_sub(1);
        self.is_full |= !is_free;
        is_free
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let is_free = bytes <= self.bytes;
        if is_free {
            self.bytes -= bytes;
        }
        self.is_full |= !is_free;
        is_free
    }
}

/// Texts by name, in order of their first piece.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<(String, String)>);

impl Texts {
    /// Appends to a text. At most 64 names are kept.
    pub(super) fn add(&mut self, name: &str, more: &str, room: &mut Room) {
        if let Some((_, text)) = self.0.iter_mut().find(|(known, _)| known == name) {
            room.add(text, more);
        } else if self.0.len() < 64 {
            let mut text = String::new();
            room.add(&mut text, more);
            self.0.push((room.copy(name), text));
        } else {
            room.is_full = true;
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }
}

/// New values for fields of an object, in order; all other fields stay unchanged.
#[derive(Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Sets a field to JSON text.
    pub(super) fn set(&mut self, name: &str, json: String) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), json));
    }

    /// The object with these fields.
    ///
    /// * `start` - its JSON; text of any other kind counts as an empty object.
    pub(super) fn over(self, start: &str) -> String {
        let mut tape = Tape::default();
        tape.read(start.as_bytes()).ok();
        let old = tape.value(start).and_then(Value::obj);
        let mut left = self.0;
        let mut members = Vec::new();
        for (key, value) in old.into_iter().flat_map(Object::members) {
            let name = key.str().unwrap_or_default();
            let at = left.iter().position(|(known, _)| *known == name);
            let json = at.map_or_else(|| value.raw().to_owned(), |at| left.remove(at).1);
            members.push(format!("{}:{json}", key.raw()));
        }
        members.extend(left.into_iter().map(|(name, json)| format!("{}:{json}", quoted(&name))));
        format!("{{{}}}", members.join(","))
    }
}
