//! Stands in for a provider and counts the tokens of prompts.

use std::collections::HashMap;

use unforget_core::digest::Digest;
use unforget_core::media;
use unforget_core::message::{Message, Request};
use unforget_core::policy::IMAGE_TOKENS;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_wire::{Target, render_message};

use crate::prompt::without_media;
use crate::ruler::ModelRuler;

/// Tokens between two messages.
const BETWEEN: u64 = 3;

/// Number of messages whose count is remembered.
const REMEMBERED: usize = 1 << 16;

/// Counts requests with the tokeniser of a model. Each message is counted once, because most of a prompt repeats the
/// previous call.
pub(super) struct Counter {
    ruler: ModelRuler,
    target: Target,
    known: HashMap<i64, u64>,
}

impl Counter {
    pub(super) fn new(ruler: ModelRuler, target: Target) -> Self {
        Self { ruler, target, known: HashMap::new() }
    }

    /// Tokens of a request.
    pub(super) fn count(&mut self, request: &Request) -> u64 {
        if self.known.len() > REMEMBERED {
            self.known.clear();
        }
        let system: Tokens = request.system.iter().map(|text| self.ruler.count(text)).sum();
        system.expected + request.messages.iter().map(|message| self.message(message) + BETWEEN).sum::<u64>()
    }

    fn message(&mut self, message: &Message) -> u64 {
        let text = render_message(message, self.target);
        let (ruler, target) = (self.ruler, self.target);
        let known = self.known.entry(Digest::of(text.as_bytes()).short());
        *known.or_insert_with(|| match media::count(message) {
            0 => ruler.count(&text).expected,
            // Images and documents are counted by formula, not by their encoding.
            media => {
                let words = render_message(&without_media(message), target);
                ruler.count(&words).expected + media * IMAGE_TOKENS
            }
        })
    }
}
