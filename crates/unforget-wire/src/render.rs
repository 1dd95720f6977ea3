//! Renders admitted messages to a request of a dialect: same input, same bytes.
//!
//! A message is first brought into a [`form`]: the parts that the dialect accepts, in the order that it requires, with
//! ids and names spelled for it. Omitted parts are listed by [`losses`]. Then the form is written as JSON.
//! [`visible_text`] walks the same form, so the counted text is the sent text.
//!
//! The treatment of each kind of block:
//!
//! | block | anthropic | openai-chat | openai-responses | pi | gemini | bedrock-converse |
//! |---|---|---|---|---|---|---|
//! | blank text | dropped | dropped | dropped | dropped | dropped | dropped |
//! | thinking, signed by Anthropic | byte for byte | dropped | dropped | kept | dropped | `reasoningContent` |
//! | reasoning item with encrypted content | dropped | dropped | byte for byte, if an item follows | kept | dropped | dropped |
//! | thought or call signed by Gemini | dropped | dropped | dropped | kept | kept | dropped |
//! | other thinking | dropped | `reasoning_content` for models that want it | dropped | kept | dropped | dropped |
//! | call whose arguments are no object | `{"_raw":text}` | as left | as left | as left | as left | as left |
//! | image (png, jpeg, gif, webp within limits) | `image` | `image_url` (a tool's: in a user message) | `input_image` | `image` | `inlineData` (a tool's: beside its result; no gif) | `image` |
//! | other media | a note | a note | a note | a note | a note | a note |
//! | opaque block | known types, byte for byte | dropped | items of known types | in assistant messages | code and its outcome, byte for byte | dropped |
//!
//! A field that must not be empty gets `(empty)`. Where the [`Target`] names the model's family, reasoning and tools of
//! another family are dropped, never turned into text. If media are too many or too large together, the oldest become
//! notes.

mod anthropic;
mod bedrock;
mod form;
mod gemini;
mod head;
mod item;
mod json;
mod media;
mod openai_chat;
mod openai_responses;
mod pi;
mod reasoning;
mod server;

use unforget_core::entry::Part;
use unforget_core::message::{Block, Message, Request};

use crate::dialect::Dialect;
use crate::target::Target;
use form::{Form, Piece};
use media::Keep;

pub(crate) use item::without_id;
pub(crate) use json::Json;
pub(crate) use reasoning::is_proof;

pub use item::{pair_items, whole_item};
pub use media::is_sendable;

/// The only filler, for places where a provider requires text and there is none.
pub const PLACEHOLDER: &str = "(empty)";

/// The end of every request. See [`render_head`].
pub const TAIL: &str = "]}";

/// A part of a message that a dialect cannot accept and that is therefore not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Index of the message in the request.
    pub message: usize,
    /// Index of the block in the message.
    pub block: usize,
    /// The omission or change and its reason: lower case, no full stop.
    pub what: &'static str,
}

/// The amount of structure in a rendered message, for the token ruler's overheads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Message objects or items.
    pub messages: usize,
    /// Content blocks, calls and results.
    pub blocks: usize,
    /// Images: their bytes are not part of the visible text.
    pub images: usize,
}

/// The request's content as JSON text: `render_head`, the messages joined by `,`, and [`TAIL`].
///
/// * `target` - a [`Dialect`], or a [`Target`] that names the receiving model.
///
/// Differs from the joined pieces only if the media of all messages together exceed the provider's limits: then the
/// oldest become notes.
///
/// Cost: O(bytes), one buffer.
pub fn render(request: &Request, target: impl Into<Target>) -> String {
    let target = target.into();
    let size = request.messages.iter().map(size_of).sum::<usize>()
        + request.system.iter().map(String::len).sum::<usize>();
    let mut json = Json::with_room(size);
    head(&request.system, target.dialect, &mut json);
    let mut keep = Keep::of(request, target.dialect);
    let mut ignored = Vec::new();
    for message in &request.messages {
        write(&form::form(message, target, &mut keep, &mut ignored), &mut json);
    }
    json.lit(TAIL);
    json.finish()
}

/// The part before the first message: the system text and the opening of the message list.
///
/// For `openai-chat` the system text itself consists of messages. The head then ends in a comma if any message follows,
/// which `any_message` says.
pub fn render_head(system: &[String], dialect: Dialect, any_message: bool) -> String {
    let mut json = Json::default();
    head(system, dialect, &mut json);
    if any_message {
        json.comma();
    }
    json.finish()
}

/// The dialect's message objects for one message, joined by `,`. Never empty. Depends on the message alone, so it can
/// be cached and joined with others.
pub fn render_message(message: &Message, target: impl Into<Target>) -> String {
    let mut json = Json::with_room(size_of(message));
    write(&form::form(message, target.into(), &mut Keep::all(), &mut Vec::new()), &mut json);
    json.finish()
}

/// Everything that [`render`] omits or changes, in order. Costs as much as rendering.
pub fn losses(request: &Request, target: impl Into<Target>) -> Vec<Dropped> {
    let target = target.into();
    let mut keep = Keep::of(request, target.dialect);
    let mut all = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let before = all.len();
        form::form(message, target, &mut keep, &mut all);
        for dropped in all.iter_mut().skip(before) {
            dropped.message = index;
        }
    }
    all
}

/// Passes to `each` every text of a message that the provider will count: text, sent reasoning, names, ids and
/// arguments of calls, results. Blocks that are sent byte for byte are passed whole.
pub fn visible_text(message: &Message, target: impl Into<Target>, each: &mut dyn FnMut(&str)) -> Units {
    let form = form::form(message, target.into(), &mut Keep::all(), &mut Vec::new());
    let dialect = form.target.dialect;
    let mut units = Units::default();
    let apart = !matches!(dialect, Dialect::Anthropic | Dialect::Gemini | Dialect::BedrockConverse);
    units.messages = if apart { form.answers.len() + usize::from(!form.pieces.is_empty()) } else { 1 };
    for answer in &form.answers {
        units.blocks += 1;
        each(&answer.id);
        if matches!(dialect, Dialect::Pi | Dialect::Gemini) {
            each(&answer.name);
        }
        for piece in &answer.content {
            visible_piece(piece, &mut units, each);
        }
    }
    for piece in &form.pieces {
        visible_piece(piece, &mut units, each);
    }
    units
}

fn visible_piece(piece: &Piece<'_>, units: &mut Units, each: &mut dyn FnMut(&str)) {
    units.blocks += 1;
    match piece {
        Piece::Text(text) | Piece::Raw(text) | Piece::RawThinking(text) => each(text),
        Piece::Thinking { text, signature } => {
            each(text);
            each(signature.unwrap_or_default());
        }
        Piece::Call { id, name, arguments, proof } => {
            each(id);
            each(name);
            each(arguments);
            each(proof.as_deref().unwrap_or_default());
        }
        Piece::Image { .. } => units.images += 1,
        Piece::ImageUrl(url) => {
            each(url);
            units.images += 1;
        }
    }
}

/// Writes the head without a trailing comma.
fn head(system: &[String], dialect: Dialect, json: &mut Json) {
    let texts = system.iter().map(String::as_str).filter(|text| !form::is_blank(text));
    match dialect {
        Dialect::Anthropic => anthropic::head(texts, json),
        Dialect::OpenAiChat => openai_chat::head(texts, json),
        Dialect::OpenAiResponses => openai_responses::head(texts, json),
        Dialect::Pi => pi::head(texts, json),
        Dialect::Gemini => gemini::head(texts, json),
        Dialect::BedrockConverse => bedrock::head(texts, json),
    }
}

/// Writes the form's message objects, each after a comma where one is needed.
fn write(form: &Form<'_>, json: &mut Json) {
    match form.target.dialect {
        Dialect::Anthropic => anthropic::message(form, json),
        Dialect::OpenAiChat => openai_chat::messages(form, json),
        Dialect::OpenAiResponses => openai_responses::items(form, json),
        Dialect::Pi => pi::messages(form, json),
        Dialect::Gemini => gemini::content(form, json),
        Dialect::BedrockConverse => bedrock::message(form, json),
    }
}

/// Bytes of content, for the size of the buffer.
fn size_of(message: &Message) -> usize {
    message.blocks.iter().map(block_size).map(|bytes: usize| bytes + 96).sum::<usize>() + 64
}

/// Approximate bytes of a block.
fn block_size(block: &Block) -> usize {
    match block {
        Block::Part(part) => part_size(part),
        Block::Call(call) => call.arguments.len() + call.name.len(),
        Block::Result(result) => result.content.iter().map(part_size).sum(),
        Block::Ours(text) => text.len(),
    }
}

fn part_size(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Thinking { text, raw, .. } => raw.as_ref().map_or(text.len(), |raw| raw.len()),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult(result) => result.content.iter().map(part_size).sum(),
        Part::Media(media) => media.raw.len(),
        Part::Opaque { raw, .. } => raw.len(),
    }
}
