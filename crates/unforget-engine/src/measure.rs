//! Tokens of entries, by the estimator that fits every model.

use unforget_core::entry::{Entry, Media, Origin, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::{Ruler, Tokens};

/// What a stub of a large tool result costs at most.
pub(crate) const STUB_TOKENS: u64 = 160;

/// What providers charge for an image at most, and one of unknown size.
const IMAGE_TOKENS: u64 = 1600;

/// Pixels per token of an image.
const IMAGE_PIXELS: u64 = 750;

/// Tokens of what a model sees of an entry: as it is, and with every tool result that is larger than a
/// stub replaced by one. Nothing for entries that no model sees.
///
/// Cost: O(text).
pub(crate) fn tokens(entry: &Entry) -> (Tokens, Tokens) {
    if !entry.origin.is_visible() && entry.origin != Origin::HostSummary {
        return (Tokens::default(), Tokens::default());
    }
    let (mut whole, mut stubbed) = (Tokens::default(), Tokens::default());
    for part in &entry.parts {
        let tokens = part_tokens(part);
        whole += tokens;
        stubbed += match part {
            Part::ToolResult(_) => {
                Tokens { expected: tokens.expected.min(STUB_TOKENS), upper: tokens.upper.min(STUB_TOKENS) }
            }
            _ => tokens,
        };
    }
    (whole, stubbed)
}

fn part_tokens(part: &Part) -> Tokens {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } => ClassEstimate.count(text),
        Part::ToolCall(call) => ClassEstimate.count(&call.name) + ClassEstimate.count(&call.arguments),
        // Content of a result has no results in it.
        Part::ToolResult(result) => result.content.iter().map(flat_tokens).sum(),
        Part::Media(_) | Part::Opaque { .. } => flat_tokens(part),
    }
}

fn flat_tokens(part: &Part) -> Tokens {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } => ClassEstimate.count(text),
        Part::Media(media) => media_tokens(media),
        Part::Opaque { raw, .. } => ClassEstimate.count(raw),
        Part::ToolCall(_) | Part::ToolResult(_) => Tokens::default(),
    }
}

fn media_tokens(media: &Media) -> Tokens {
    let expected = media.size.map_or(IMAGE_TOKENS, |(width, height)| {
        (u64::from(width) * u64::from(height)).div_ceil(IMAGE_PIXELS).min(IMAGE_TOKENS)
    });
    Tokens { expected, upper: IMAGE_TOKENS }
}
