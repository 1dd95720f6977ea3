//! Credentials in what is shared, replaced by their kinds.

use std::borrow::Cow;

use unforget_engine::reading::{Block, ReadTurn};
use unforget_text::redact;

/// Replaces credentials, or nothing.
pub(crate) struct Mask {
    is_on: bool,
    texts: u64,
}

impl Mask {
    pub(crate) const fn new(is_on: bool) -> Self {
        Self { is_on, texts: 0 }
    }

    /// Number of texts that were changed so far.
    pub(crate) const fn texts(&self) -> u64 {
        self.texts
    }

    /// A text without its credentials.
    pub(crate) fn text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if !self.is_on {
            return Cow::Borrowed(text);
        }
        let masked = redact(text);
        self.texts += u64::from(*masked != *text);
        masked
    }

    /// A turn without credentials in its words, thoughts, arguments and results.
    pub(crate) fn turn(&mut self, mut turn: ReadTurn) -> ReadTurn {
        for block in &mut turn.blocks {
            match block {
                Block::Said(_, text) | Block::Thought(text) => self.change(text),
                Block::Tool(tool) => {
                    let texts = [&mut tool.what, &mut tool.arguments, &mut tool.result];
                    texts.into_iter().chain(&mut tool.error).for_each(|text| self.change(text));
                }
            }
        }
        turn
    }

    fn change(&mut self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }
}
