//! Groups as messages of a dialect, weighed and fingerprinted once and kept.

use std::sync::Arc;

use unforget_core::compact::Sizes;
use unforget_core::digest::Digest;
use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_core::media::{self, Limit, Pick};
use unforget_core::message::{Block, Message};
use unforget_core::pair::{self, Detail, Reason};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_text::{STUB_TOKENS, StubReason, media_stub, stub};
use unforget_wire::render_message;

use super::shorten::{Caps, shorten};
use super::{Shape, hosted};

/// What an image counts as: the most that a provider charges for one.
///
/// Source: Anthropic's formula, width × height / 750 with 1,568 pixels at most on the long edge.
pub(crate) const IMAGE_TOKENS: u64 = 1_600;

/// What a line in place of a result takes, about.
const LINE_BYTES: usize = 120;

/// Smallest room that a text of our own is rendered into, in tokens.
const ROOM_MIN: u64 = 24;

/// Tokens that joining two messages may add to their sum.
const SEAM: u64 = 3;

/// Messages with their weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    /// In order; shared, since every prompt takes them.
    pub(super) messages: Arc<Vec<Message>>,
    /// As the dialect writes them.
    pub(super) tokens: Tokens,
    /// Digest of that text: equal prints are equal bytes.
    pub(super) print: u64,
    /// What of the group is not sent.
    pub(super) omitted: Vec<(Seq, Reason)>,
    /// Whether a part is replaced by a stub or an excerpt.
    pub(super) replaced: bool,
}

/// A group behind the summaries, in the forms in which it is sent. Those that no prompt has needed yet are
/// not made: most groups go from full to summarised at once.
#[derive(Clone, Debug)]
pub(super) struct GroupPieces {
    /// Expected tokens with nothing shortened.
    whole: u64,
    /// Tokens that each result may have: larger ones are shortened in every form.
    result_cap: u64,
    /// With reasoning.
    pub(super) full: Piece,
    /// Without reasoning; `None` if that is the same, or not made.
    settled: Option<Piece>,
    /// Large results stubbed; `None` if that is the same, or not made.
    stubbed: Option<Piece>,
}

impl GroupPieces {
    /// The piece of a detail, or the nearest fuller one that is made.
    pub(super) fn at(&self, detail: Detail) -> &Piece {
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
    omitted: Vec<(Seq, Reason)>,
    replaced: bool,
    shape: &Shape,
) -> Piece {
    let mut tokens = Tokens::default();
    let mut hash = Vec::with_capacity(messages.len() * 32);
    for message in &messages {
        let text = render_message(message, shape.target());
        tokens += message_tokens(message, &text, shape);
        hash.extend_from_slice(&Digest::of(text.as_bytes()).0);
    }
    let print = Digest::of(&hash).short() as u64;
    Piece { messages: Arc::new(messages), tokens, print, omitted, replaced }
}

/// A text of our own in its wrapper, as a piece of at most `max` tokens. A dialect may take more for a text than the text
/// alone does: then the text is rendered into less room, by a quarter at least, until the piece fits.
///
/// * `wrapper` - tokens that the wrapper takes at most.
/// * `render` - the text for so many tokens; `None` if there is nothing to say, or no room to say it in.
/// * `wrap` - its messages.
///
/// Gives the text and the piece; `None` if no text fits.
///
/// Cost: a rendering per round, of O(log max) rounds.
pub(super) fn fitted(
    max: u64,
    wrapper: u64,
    render: &dyn Fn(u64) -> Option<String>,
    wrap: &dyn Fn(&str) -> Vec<Message>,
    shape: &Shape,
) -> Option<(String, Piece)> {
    let mut room = max.checked_sub(wrapper)?;
    while room >= ROOM_MIN {
        let text = render(room)?;
        let piece = weigh(wrap(&text), Vec::new(), false, shape);
        let over = piece.tokens.upper.saturating_sub(max);
        if over == 0 {
            return Some((text, piece));
        }
        room = room.saturating_sub(over + over / 4).clamp(room / 2, room - room / 4);
    }
    None
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

/// The message with stubs for what may not be sent of it, the next older one of a request; `None` if all may.
pub(crate) fn pick(message: &Message, pick: &mut Pick<'_>) -> Option<Message> {
    let at = match (message.seqs.first(), message.seqs.last()) {
        (Some(first), Some(last)) => handle(*first, *last),
        _ => String::from("s:?"),
    };
    pick.message(message, &|media: &Media| media_stub(media, &at))
}

/// The same for a piece.
pub(super) fn pick_piece(piece: &Piece, limit: &mut Pick<'_>, shape: &Shape) -> Option<Piece> {
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
        if let Some(messages) = hosted::messages(group, shape) {
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

    /// Makes the form of a detail if it differs from what is made.
    ///
    /// * `superseded` - for the result of a call, the later one that makes it worthless.
    pub(super) fn make(&mut self, group: &Group, detail: Detail, superseded: &Later<'_>, shape: &Shape) {
        let results =
            group.items.iter().flat_map(|item| item.entry.results().map(|result| (item.seq, result)));
        let is_worthless =
            results.into_iter().any(|(seq, result)| superseded(seq, &result.call_id).is_some());
        if detail == Detail::Stubbed && (is_worthless || is_stubbable(group, &self.full, shape)) {
            // A stub that is made may have to say something else now.
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
fn result_cap(group: &Group, shape: &Shape) -> u64 {
    let policy = &shape.policy;
    let results = group.items.iter().flat_map(|item| item.entry.results());
    // What has fewer bytes than the least share has tokens needs no counting.
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

/// The piece with every result of at most so many tokens.
fn short_results(piece: Piece, cap: u64, shape: &Shape) -> Piece {
    let is_long = |block: &Block| match block {
        Block::Result(result) => text_bytes(&result.content) as u64 > cap,
        _ => false,
    };
    if !piece.messages.iter().any(|message| message.blocks.iter().any(is_long)) {
        return piece;
    }
    let caps = Caps { result: Some(cap), text: None, arguments: None };
    let messages: Vec<_> = piece.messages.iter().map(|message| shorten(message, caps, shape)).collect();
    if messages == *piece.messages { piece } else { weigh(messages, piece.omitted, true, shape) }
}

/// The later result that makes the one of this entry and call worthless.
pub(super) type Later<'a> = dyn Fn(Seq, &str) -> Option<Seq> + 'a;

/// One line for a result that a later one makes worthless, unless it is as short.
fn line(seq: Seq, result: &ToolResult, call: Option<&ToolCall>, superseded: &Later<'_>) -> Option<String> {
    let by = superseded(seq, &result.call_id)?;
    let line = stub(result, call, &handle(seq, seq), StubReason::Superseded { by: handle(by, by) });
    (text_bytes(&result.content) > line.len()).then_some(line)
}

fn stubbed(group: &Group, superseded: &Later<'_>, shape: &Shape) -> Piece {
    let paired = pair::messages(group, Detail::Stubbed, &|seq, result, call| {
        let old = || is_large(result, shape).then(|| stub(result, call, &handle(seq, seq), StubReason::Old));
        line(seq, result, call, superseded).or_else(old)
    });
    let messages = paired.messages.iter().map(without_media).collect();
    weigh(messages, paired.omitted, true, shape)
}

fn is_large(result: &ToolResult, shape: &Shape) -> bool {
    text_bytes(&result.content) as u64 > shape.policy.stub_over * 4
}

/// Whether a stubbed form differs from the settled one.
fn is_stubbable(group: &Group, full: &Piece, shape: &Shape) -> bool {
    let mut results = group.items.iter().flat_map(|item| item.entry.results());
    results.any(|result| is_large(result, shape))
        || full.messages.iter().any(|message| media::count(message) > 0)
}

/// Sizes of a prepared group, for planning. Forms that are not made are estimated; admission weighs what is sent.
pub(super) fn sizes(group: &Group, pieces: &GroupPieces, source: u64, end: Digest, shape: &Shape) -> Sizes {
    // A message without anything that can be sent is nobody's request.
    let human = (group.is_human() && !pieces.full.messages.is_empty()).then(|| group.first_seq());
    let full = pieces.full.tokens;
    let settled =
        pieces.settled.as_ref().map_or_else(|| less(full, thinking_bytes(group)), |piece| piece.tokens);
    let stubbed =
        pieces.stubbed.as_ref().map_or_else(|| less(settled, stubbable_bytes(group, shape)), |p| p.tokens);
    Sizes {
        full,
        settled,
        stubbed,
        source,
        span: (group.first_seq(), group.last_seq()),
        count: group.items.len() as u64,
        human,
        open: group.kind == Kind::Exchange && group.unanswered > 0,
        end,
    }
}

/// Sizes of a group when results become lines, because later ones make them worthless.
pub(super) fn without(
    group: &Group,
    sizes: Sizes,
    is_worthless: &dyn Fn(Seq, &str) -> bool,
    shape: &Shape,
) -> Sizes {
    let (mut all, mut small) = (0, 0);
    for (seq, result) in group.items.iter().flat_map(|item| item.entry.results().map(|one| (item.seq, one))) {
        let gone = text_bytes(&result.content).saturating_sub(LINE_BYTES);
        if gone > 0 && is_worthless(seq, &result.call_id) {
            all += gone;
            // Large ones are gone from stubs already.
            small += if is_large(result, shape) { 0 } else { gone };
        }
    }
    Sizes { settled: less(sizes.settled, all), stubbed: less(sizes.stubbed, small), ..sizes }
}

/// What is left of a size without so many bytes of text: at four bytes a token, never below a stub.
fn less(size: Tokens, bytes: usize) -> Tokens {
    let gone = bytes as u64 / 4;
    let left = |tokens: u64| {
        if gone == 0 { tokens } else { tokens.saturating_sub(gone).max(STUB_TOKENS.min(tokens)) }
    };
    Tokens { expected: left(size.expected), upper: left(size.upper) }
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

/// How a person or a model asks for these entries again.
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
