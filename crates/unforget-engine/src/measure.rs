//! Tokens of entries, estimated for every model.

use unforget_core::entry::{Entry, Media, Origin, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::{Ruler, Tokens};

/// Maximum tokens of the stub of a large tool result.
pub(crate) const STUB_TOKENS: u64 = 160;

/// Maximum tokens that providers charge for an image; also the charge for an image of unknown size.
const IMAGE_TOKENS: u64 = 1600;

/// Pixels per token of an image.
const IMAGE_PIXELS: u64 = 750;

/// Tokens of the visible part of an entry: first as it is, then with every tool result larger than a stub replaced by a
/// stub. Zero for entries invisible to models.
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
        // A tool result never contains another one.
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
