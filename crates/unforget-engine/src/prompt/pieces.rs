//! Groups as messages of a dialect, weighed and fingerprinted once and kept.

use std::sync::Arc;

use unforget_core::compact::Sizes;
use unforget_core::digest::Digest;
use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_core::ladder::{PartCaps, smaller_room};
use unforget_core::media::{self, Limit, Pick};
use unforget_core::message::{Block, Message};
use unforget_core::pair::{self, Detail, OmissionReason};
use unforget_core::policy::{IMAGE_TOKENS, SEAM, SUPERSEDED_LINE_BYTES, TEXT_ROOM_MIN, without_bytes};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_text::{StubReason, media_stub, stub};
use unforget_wire::render_message;

use super::shorten::shorten;
use super::{Shape, host_words};

/// Messages with their weight.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptPiece {
    /// In order; shared with every prompt.
    pub(super) messages: Arc<Vec<Message>>,
    /// Size in the dialect.
    pub(super) tokens: Tokens,
    /// Digest of the rendered text: equal digests mean equal bytes.
    pub(super) print: u64,
    /// Entries of the group that are sent only in part or not at all.
    pub(super) omitted: Vec<(Seq, OmissionReason)>,
    /// Whether a part is replaced by a stub or an excerpt.
    pub(super) replaced: bool,
}

/// A group behind the summaries in its forms. A form is made when a prompt first needs it: most groups go from full to
/// summarised at once.
#[derive(Clone, Debug)]
pub(super) struct GroupPieces {
    /// Expected tokens with nothing shortened.
    whole: u64,
    /// Tokens that each result may have: larger ones are shortened in every form.
    result_cap: u64,
    /// With reasoning.
    pub(super) full: PromptPiece,
    /// Without reasoning; `None` if equal to the full form, or not made.
    settled: Option<PromptPiece>,
    /// With stubs of large results; `None` if equal to the settled form, or not made.
    stubbed: Option<PromptPiece>,
}

impl GroupPieces {
    /// The form of a detail, or the nearest fuller form.
    pub(super) fn at(&self, detail: Detail) -> &PromptPiece {
        let settled = || self.settled.as_ref().unwrap_or(&self.full);
        match detail {
            Detail::Full => &self.full,
            Detail::Settled => settled(),
            Detail::Stubbed => self.stubbed.as_ref().unwrap_or_else(settled),
        }
    }
}

/// Weighs messages as the dialect writes them.
pub(super) fn weigh(
    messages: Vec<Message>,
    omitted: Vec<(Seq, OmissionReason)>,
    replaced: bool,
    shape: &Shape,
) -> PromptPiece {
    let mut tokens = Tokens::default();
    let mut hash = Vec::with_capacity(messages.len() * 32);
    for message in &messages {
        let text = render_message(message, shape.target());
        tokens += message_tokens(message, &text, shape);
        hash.extend_from_slice(&Digest::of(text.as_bytes()).0);
    }
    let print = Digest::of(&hash).short() as u64;
    PromptPiece { messages: Arc::new(messages), tokens, print, omitted, replaced }
}

/// A text of our own as it is shown.
pub(super) struct OwnText {
    /// Without its wrapper.
    pub(super) text: String,
    pub(super) piece: PromptPiece,
}

/// A text of our own in its wrapper, as a piece of at most `max` tokens. A dialect may need more tokens for a message
/// than for its text alone: then the text is rendered into less room until the message fits.
///
/// * `wrapper` - maximum tokens of the wrapper.
/// * `render` - the text for so many tokens; `None` if it would be empty.
/// * `wrap` - the text's messages.
///
/// Returns `None` if no text fits.
///
/// Cost: O(log max) renderings.
pub(super) fn fitted(
    max: u64,
    wrapper: u64,
    render: &dyn Fn(u64) -> Option<String>,
    wrap: &dyn Fn(&str) -> Vec<Message>,
    shape: &Shape,
) -> Option<OwnText> {
    let mut room = max.checked_sub(wrapper).filter(|room| *room >= TEXT_ROOM_MIN)?;
    loop {
        let text = render(room)?;
        let piece = weigh(wrap(&text), Vec::new(), false, shape);
        let over = piece.tokens.upper.saturating_sub(max);
        if over == 0 {
            return Some(OwnText { text, piece });
        }
        room = smaller_room(room, over)?;
    }
}

/// Media count by formula, not by their encoding (F069).
fn message_tokens(message: &Message, text: &str, shape: &Shape) -> Tokens {
    let media = media::count(message);
    if media == 0 {
        return shape.ruler.count(text) + Tokens::exact(SEAM);
    }
    let plain = without_media(message);
    let text = render_message(&plain, shape.target());
    shape.ruler.count(&text) + Tokens::exact(SEAM + media * IMAGE_TOKENS)
}

/// The message with a stub in place of every image and document.
pub(crate) fn without_media(message: &Message) -> Message {
    let none = Limit { newest: 0, ..Limit::default() };
    pick(message, &mut Pick::new(&none)).unwrap_or_else(|| message.clone())
}

/// Limits the media of the next older message of a request; `None` if all may be sent.
pub(crate) fn pick(message: &Message, pick: &mut Pick<'_>) -> Option<Message> {
    let at = match (message.seqs.first(), message.seqs.last()) {
        (Some(first), Some(last)) => handle(*first, *last),
        _ => String::from("s:?"),
    };
    pick.message(message, &|media: &Media| media_stub(media, &at))
}

/// Limits the media of the next older piece of a request; `None` if all may be sent.
pub(super) fn pick_piece(piece: &PromptPiece, limit: &mut Pick<'_>, shape: &Shape) -> Option<PromptPiece> {
    if piece.messages.iter().all(|message| media::count(message) == 0) {
        return None;
    }
    let mut is_changed = false;
    let picked = piece.messages.iter().rev().map(|message| {
        let picked = pick(message, limit);
        is_changed |= picked.is_some();
        picked.unwrap_or_else(|| message.clone())
    });
    let mut messages: Vec<_> = picked.collect();
    messages.reverse();
    is_changed.then(|| weigh(messages, piece.omitted.clone(), true, shape))
}

impl GroupPieces {
    /// A group in its full form: results above their share are shortened, once and for all.
    pub(super) fn new(group: &Group, shape: &Shape) -> Self {
        if let Some(messages) = host_words::messages(group, shape) {
            let full = weigh(messages, Vec::new(), false, shape);
            let (whole, result_cap) = (full.tokens.expected, result_cap(group, shape));
            return Self { whole, result_cap, full, settled: None, stubbed: None };
        }
        let whole = pair::messages(group, Detail::Full, &|_, _, _| None);
        let result_cap = result_cap(group, shape);
        let whole = weigh(whole.messages, whole.omitted, false, shape);
        let tokens = whole.tokens.expected;
        let full = short_results(whole, result_cap, shape);
        Self { whole: tokens, result_cap, full, settled: None, stubbed: None }
    }

    /// Expected tokens with nothing shortened.
    pub(super) const fn whole(&self) -> u64 {
        self.whole
    }

    /// Makes the form of a detail if a shorter one than the present forms is needed.
    ///
    /// * `superseded` - the later result that supersedes the result of a call.
    pub(super) fn make(&mut self, group: &Group, detail: Detail, superseded: &Later<'_>, shape: &Shape) {
        let results =
            group.items.iter().flat_map(|item| item.entry.results().map(|result| (item.seq, result)));
        let is_worthless =
            results.into_iter().any(|(seq, result)| superseded(seq, &result.call_id).is_some());
        if detail == Detail::Stubbed && (is_worthless || is_stubbable(group, &self.full, shape)) {
            // An existing stub may need another text now.
            if self.stubbed.is_none() || is_worthless {
                self.stubbed = Some(stubbed(group, superseded, shape));
            }
        } else if detail >= Detail::Settled
            && (is_worthless || (self.settled.is_none() && has_thinking(group)))
        {
            let line = |seq, result: &_, call: Option<&_>| line(seq, result, call, superseded);
            let paired = pair::messages(group, Detail::Settled, &line);
            let settled = weigh(paired.messages, paired.omitted, is_worthless, shape);
            self.settled = Some(short_results(settled, self.result_cap, shape));
        }
    }
}

/// Tokens that each result of a group may have: see [`Policy::result_cap`].
pub(super) fn result_cap(group: &Group, shape: &Shape) -> u64 {
    let policy = &shape.policy;
    let results = group.items.iter().flat_map(|item| item.entry.results());
    // A result with fewer bytes than the least share has tokens needs no count.
    let sizes = results.map(|result| match text_bytes(&result.content) as u64 {
        bytes if bytes <= policy.result_share_min() => bytes,
        _ => result_tokens(result, shape),
    });
    policy.result_cap(sizes.collect())
}

fn result_tokens(result: &ToolResult, shape: &Shape) -> u64 {
    let parts = result.content.iter().map(|part| match part {
        Part::Text(text) => shape.ruler.count(text).upper,
        Part::Opaque { raw, .. } => shape.ruler.count(raw).upper,
        _ => 0,
    });
    parts.sum()
}

/// Shortens every result to at most `cap` tokens.
fn short_results(piece: PromptPiece, cap: u64, shape: &Shape) -> PromptPiece {
    let is_long = |block: &Block| match block {
        Block::Result(result) => text_bytes(&result.content) as u64 > cap,
        _ => false,
    };
    if !piece.messages.iter().any(|message| message.blocks.iter().any(is_long)) {
        return piece;
    }
    let caps = PartCaps::results(cap);
    let messages: Vec<_> = piece.messages.iter().map(|message| shorten(message, caps, shape)).collect();
    if messages == *piece.messages { piece } else { weigh(messages, piece.omitted, true, shape) }
}

/// Finds the later result that supersedes the result of an entry and call.
pub(super) type Later<'a> = dyn Fn(Seq, &str) -> Option<Seq> + 'a;

/// One line for a superseded result, unless the result is as short.
fn line(seq: Seq, result: &ToolResult, call: Option<&ToolCall>, superseded: &Later<'_>) -> Option<String> {
    let by = superseded(seq, &result.call_id)?;
    let line = stub(result, call, &handle(seq, seq), StubReason::Superseded { by: handle(by, by) });
    (text_bytes(&result.content) > line.len()).then_some(line)
}

fn stubbed(group: &Group, superseded: &Later<'_>, shape: &Shape) -> PromptPiece {
    let paired = pair::messages(group, Detail::Stubbed, &|seq, result, call| {
        let old = || is_large(result, shape).then(|| stub(result, call, &handle(seq, seq), StubReason::Old));
        line(seq, result, call, superseded).or_else(old)
    });
    let messages = paired.messages.iter().map(without_media).collect();
    weigh(messages, paired.omitted, true, shape)
}

fn is_large(result: &ToolResult, shape: &Shape) -> bool {
    shape.policy.is_stubbed(text_bytes(&result.content))
}

/// Whether a stubbed form differs from the settled one.
fn is_stubbable(group: &Group, full: &PromptPiece, shape: &Shape) -> bool {
    let mut results = group.items.iter().flat_map(|item| item.entry.results());
    results.any(|result| is_large(result, shape))
        || full.messages.iter().any(|message| media::count(message) > 0)
}

/// The place of a group in its view.
#[derive(Clone, Copy)]
pub(super) struct GroupEnd {
    /// Source tokens of the group.
    pub(super) source: u64,
    /// The view's content chain after the group.
    pub(super) end: Digest,
}

/// Sizes of a prepared group, for planning. Missing forms are estimated; admission weighs the real ones.
pub(super) fn sizes(group: &Group, pieces: &GroupPieces, end: GroupEnd, shape: &Shape) -> Sizes {
    // A message without anything that can be sent is nobody's request.
    let human = (group.is_human() && !pieces.full.messages.is_empty()).then(|| group.first_seq());
    let full = pieces.full.tokens;
    let settled = pieces
        .settled
        .as_ref()
        .map_or_else(|| without_bytes(full, thinking_bytes(group)), |piece| piece.tokens);
    let stubbed = pieces
        .stubbed
        .as_ref()
        .map_or_else(|| without_bytes(settled, stubbable_bytes(group, shape)), |p| p.tokens);
    Sizes {
        full,
        settled,
        stubbed,
        source: end.source,
        span: (group.first_seq(), group.last_seq()),
        count: group.items.len() as u64,
        human,
        open: group.kind == Kind::Exchange && group.unanswered > 0,
        end: end.end,
    }
}

/// Sizes of a group when its superseded results become lines.
pub(super) fn without(
    group: &Group,
    sizes: Sizes,
    is_worthless: &dyn Fn(Seq, &str) -> bool,
    shape: &Shape,
) -> Sizes {
    let (mut all, mut small) = (0, 0);
    for (seq, result) in group.items.iter().flat_map(|item| item.entry.results().map(|one| (item.seq, one))) {
        let gone = text_bytes(&result.content).saturating_sub(SUPERSEDED_LINE_BYTES);
        if gone > 0 && is_worthless(seq, &result.call_id) {
            all += gone;
            // Stubs already lack the large ones.
            small += if is_large(result, shape) { 0 } else { gone };
        }
    }
    Sizes {
        settled: without_bytes(sizes.settled, all),
        stubbed: without_bytes(sizes.stubbed, small),
        ..sizes
    }
}

fn thinking_bytes(group: &Group) -> usize {
    let bytes = |part: &Part| match part {
        Part::Thinking { text, signature, .. } => text.len() + signature.as_ref().map_or(0, String::len),
        _ => 0,
    };
    group.items.iter().flat_map(|item| &item.entry.parts).map(bytes).sum()
}

fn stubbable_bytes(group: &Group, shape: &Shape) -> usize {
    let results = group.items.iter().flat_map(|item| item.entry.results());
    results.filter(|result| is_large(result, shape)).map(|result| text_bytes(&result.content)).sum()
}

/// The name with which a person or a model asks for these entries.
pub(super) fn handle(first: Seq, last: Seq) -> String {
    if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") }
}

fn has_thinking(group: &Group) -> bool {
    let thinks = |part: &Part| matches!(part, Part::Thinking { .. });
    group.items.iter().any(|item| item.entry.parts.iter().any(thinks))
}

/// Bytes of text in parts.
pub(super) fn text_bytes(parts: &[Part]) -> usize {
    let bytes = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Opaque { raw, .. } => raw.len(),
        _ => 0,
    };
    parts.iter().map(bytes).sum()
}
