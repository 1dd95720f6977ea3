//! Selects the parts of a message that a dialect accepts, before they are written.

use std::borrow::Cow;

use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Speaker};

use super::head::{BodyHead, CallHead};
use super::item;
use super::json::{is_object, without_cache_control};
use super::media::{self, Keep, MediaPlace};
use super::reasoning::{Thinking, is_base64};
use super::server::{Servers, is_of_server_tool};
use super::{Dropped, PLACEHOLDER};
use crate::dialect::Dialect;
use crate::json::on_one_line;
use crate::target::{Family, Target};

/// Replaces the signature of a call that Gemini did not sign: documented by Google for calls of other models. Source:
/// F057.
pub(super) const UNSIGNED: &str = "skip_thought_signature_validator";

/// A message as the dialect accepts it.
pub(super) struct Form<'a> {
    /// Its target.
    pub(super) target: Target,
    /// Who speaks.
    pub(super) speaker: Speaker,
    /// Model that wrote it.
    pub(super) model: Option<&'a str>,
    /// Results of calls, first. Empty for an assistant.
    pub(super) answers: Vec<ResultForm<'a>>,
    /// Everything else, in order. Empty only if there are answers.
    pub(super) pieces: Vec<Piece<'a>>,
}

/// The result of a call.
pub(super) struct ResultForm<'a> {
    /// Id of the call, spelled for the dialect.
    pub(super) id: Cow<'a, str>,
    /// Name of the tool, spelled for the dialect.
    pub(super) name: Cow<'a, str>,
    /// Whether the tool failed.
    pub(super) is_error: bool,
    /// The tool's output, never empty.
    pub(super) content: Vec<Piece<'a>>,
}

/// One block that the dialect accepts.
pub(super) enum Piece<'a> {
    /// Text with visible characters.
    Text(Cow<'a, str>),
    /// A JSON object on one line, written unchanged.
    Raw(Cow<'a, str>),
    /// A block of reasoning as a JSON object on one line, written unchanged.
    RawThinking(Cow<'a, str>),
    /// Reasoning in the dialect's own form.
    Thinking {
        /// The readable text; may be empty.
        text: &'a str,
        /// The provider's proof.
        signature: Option<&'a str>,
    },
    /// A call.
    Call {
        /// Id, spelled for the dialect.
        id: Cow<'a, str>,
        /// Name, spelled for the dialect.
        name: Cow<'a, str>,
        /// Text of a JSON object; on one line where the dialect writes it as an object.
        arguments: Cow<'a, str>,
        /// Gemini's signature of the call, base64.
        proof: Option<Cow<'a, str>>,
    },
    /// An image with its bytes; both fields need no escaping.
    Image {
        /// One of the four types that every provider accepts.
        mime: &'static str,
        /// Valid base64.
        data: Cow<'a, str>,
    },
    /// The address of an image.
    ImageUrl(Cow<'a, str>),
}

impl Piece<'_> {
    /// Transcripts are lines: what stood on several elsewhere would break one here.
    fn put_on_one_line(&mut self) {
        let (Self::Raw(raw) | Self::RawThinking(raw)) = self else { return };
        let line = match on_one_line(raw) {
            Cow::Owned(line) => line,
            Cow::Borrowed(_) => return,
        };
        *raw = Cow::Owned(line);
    }
}

/// Whether a text shows nothing: white space, zero-width characters, or no characters.
///
/// Source: F059.
pub(super) fn is_blank(text: &str) -> bool {
    let unseen = |c: char| {
        c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{180e}')
    };
    text.chars().all(unseen)
}

/// Brings a message into the target's form. Left-out blocks are added to `dropped`, with message 0.
///
/// * `keep` - which of the remaining media are sent; advanced past the media of this message.
pub(super) fn form<'a>(
    message: &'a Message,
    target: Target,
    keep: &mut Keep,
    dropped: &mut Vec<Dropped>,
) -> Form<'a> {
    let mut former = Former {
        target,
        dialect: target.dialect,
        speaker: message.speaker,
        model: message.model.as_deref(),
        answers: Vec::new(),
        pieces: Vec::with_capacity(message.blocks.len()),
        pictures: Vec::new(),
        block: 0,
        keep,
        dropped,
    };
    let servers = Servers::of(message, target);
    for (index, block) in message.blocks.iter().enumerate() {
        former.block = index;
        match block {
            Block::Ours(text) | Block::Part(Part::Text(text)) => former.text(text),
            Block::Call(call) | Block::Part(Part::ToolCall(call)) => former.call(call),
            Block::Result(result) | Block::Part(Part::ToolResult(result)) => former.result(result),
            Block::Part(Part::Thinking { text, signature, raw }) => {
                let (signature, raw) = (signature.as_deref(), raw.as_deref());
                former.thinking(Thinking { text, signature, raw, model: message.model.as_deref() });
            }
            Block::Part(Part::Media(media)) => former.media(media),
            Block::Part(Part::Opaque { raw, .. }) => former.opaque(raw, &servers),
        }
    }
    former.finish()
}

struct Former<'a, 'd> {
    target: Target,
    dialect: Dialect,
    speaker: Speaker,
    model: Option<&'a str>,
    answers: Vec<ResultForm<'a>>,
    pieces: Vec<Piece<'a>>,
    /// Images of results, in dialects that can only send them outside of results.
    pictures: Vec<Piece<'a>>,
    block: usize,
    keep: &'d mut Keep,
    dropped: &'d mut Vec<Dropped>,
}

impl<'a> Former<'a, '_> {
    fn lose(&mut self, what: &'static str) {
        self.dropped.push(Dropped { message: 0, block: self.block, what });
    }

    fn text(&mut self, text: &'a str) {
        if is_blank(text) {
            self.lose("blank text is not sent");
        } else {
            self.pieces.push(Piece::Text(Cow::Borrowed(text)));
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        if self.speaker != Speaker::Assistant {
            return self.lose("a call outside an assistant message is not sent");
        }
        let name = self.dialect.tool_name(&call.name);
        if name != call.name {
            self.lose("the tool's name is spelled for the provider");
        }
        let is_text = matches!(self.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
        let arguments = if !is_object(&call.arguments) {
            self.lose("arguments that are no json object are sent as the member _raw");
            Cow::Owned(serde_json::json!({ "_raw": call.arguments }).to_string())
        } else if is_text {
            Cow::Borrowed(call.arguments.as_str())
        } else {
            on_one_line(&call.arguments)
        };
        let proof = (self.dialect == Dialect::Gemini).then(|| self.proof(call)).flatten();
        self.pieces.push(Piece::Call { id: self.target.call_id(&call.id), name, arguments, proof });
    }

    /// Gemini's signature of a call by Gemini.
    fn proof(&self, call: &'a ToolCall) -> Option<Cow<'a, str>> {
        let signature = CallHead::of(call.raw.as_deref()?)?.proof()?;
        let other = self.model.is_some_and(|model| Family::of(model) != Family::Gemini);
        (is_base64(&signature) && !other).then_some(signature)
    }

    fn result(&mut self, result: &'a ToolResult) {
        if self.speaker == Speaker::Assistant {
            return self.lose("a result outside a user message is not sent");
        }
        let mut content = Vec::with_capacity(result.content.len());
        for part in &result.content {
            match part {
                Part::Text(text) if is_blank(text) => self.lose("blank text is not sent"),
                Part::Text(text) => content.push(Piece::Text(Cow::Borrowed(text))),
                Part::Media(media) => self.media_of_result(media, &mut content),
                Part::Opaque { raw, .. } => match in_result(raw, self.dialect).or_else(|| self.own(raw)) {
                    Some(piece) => content.push(piece),
                    None => self.lose("a block of a type that the provider does not take here is not sent"),
                },
                _ => self.lose("a block that cannot be inside a result is not sent"),
            }
        }
        if content.is_empty() {
            content.push(Piece::Text(Cow::Borrowed(PLACEHOLDER)));
        }
        self.answers.push(ResultForm {
            id: self.target.call_id(&result.call_id),
            name: self.dialect.tool_name(&result.name),
            is_error: result.is_error,
            content,
        });
    }

    /// Whether images of results stand beside them, in a user's content.
    fn pictures_apart(&self) -> bool {
        matches!(self.dialect, Dialect::OpenAiChat | Dialect::Gemini)
    }

    /// An unreadable block, if its client sent it to this very API.
    fn own(&self, raw: &'a str) -> Option<Piece<'a>> {
        self.target.is_own.then(|| without_cache_control(raw).map(Piece::Raw)).flatten()
    }

    fn media_of_result(&mut self, media: &'a Media, content: &mut Vec<Piece<'a>>) {
        let image = media::piece(media, MediaPlace::InResult, self.dialect);
        if image.is_none()
            && let Some(own) = self.own(&media.raw)
        {
            return content.push(own);
        }
        let image = image.filter(|image| self.keep.takes(image, media));
        if self.pictures_apart() || image.is_none() {
            content.push(Piece::Text(Cow::Owned(media::note(media))));
        }
        match image {
            Some(image) if self.pictures_apart() => self.pictures.push(image),
            Some(image) => content.push(image),
            None => self.lose("media that the provider does not take is sent as a note"),
        }
    }

    fn media(&mut self, media: &'a Media) {
        if self.speaker == Speaker::User {
            let piece = media::piece(media, MediaPlace::Beside, self.dialect);
            let piece = match piece {
                Some(piece) => self.keep.takes(&piece, media).then_some(piece),
                None => self.own(&media.raw),
            };
            if let Some(piece) = piece {
                return self.pieces.push(piece);
            }
        }
        self.lose("media that the provider does not take is sent as a note");
        self.pieces.push(Piece::Text(Cow::Owned(media::note(media))));
    }

    fn thinking(&mut self, thinking: Thinking<'a>) {
        let kept = (self.speaker == Speaker::Assistant).then(|| thinking.piece(self.target)).flatten();
        match kept {
            Some(piece) => self.pieces.push(piece),
            None => self.lose("thinking that the provider cannot verify is not sent"),
        }
    }

    fn opaque(&mut self, raw: &'a str, servers: &Servers<'a>) {
        let (block, foreign) = (self.block, self.target.is_foreign(self.model, None) && self.model.is_some());
        let kept = BodyHead::of(raw).filter(|head| match (self.dialect, self.speaker) {
            (Dialect::Anthropic, Speaker::User) => {
                self.target.is_own || matches!(&*head.kind, "document" | "search_result" | "container_upload")
            }
            (Dialect::Anthropic | Dialect::Gemini, Speaker::Assistant) => {
                let is_other = self.target.is_own && !is_of_server_tool(head);
                !foreign && (servers.are_whole(head, block) || is_other)
            }
            (Dialect::OpenAiChat, _) => self.target.is_own,
            (Dialect::Pi, Speaker::Assistant) => {
                !is_blank(&head.kind) && !matches!(&*head.kind, "text" | "thinking" | "toolCall" | "image")
            }
            (Dialect::OpenAiResponses, _) => {
                self.target.is_own || (!foreign && item::stands_alone(&head.kind))
            }
            _ => false,
        });
        let kept = kept.and_then(|_| match self.dialect {
            Dialect::OpenAiResponses => item::without_id(raw).map(Cow::Owned),
            _ => without_cache_control(raw),
        });
        match kept {
            Some(raw) => self.pieces.push(Piece::Raw(raw)),
            None => self.lose("a block of a type that the provider does not take here is not sent"),
        }
    }

    fn finish(mut self) -> Form<'a> {
        while self.dialect == Dialect::OpenAiResponses
            && matches!(self.pieces.last(), Some(Piece::RawThinking(_)))
        {
            self.pieces.pop();
            self.lose("reasoning without the item that it led to is not sent");
        }
        if !self.pictures.is_empty() {
            self.pictures.append(&mut self.pieces);
            self.pieces = self.pictures;
        }
        if self.dialect == Dialect::BedrockConverse {
            // Source: F066: text behind a call is refused.
            self.pieces.sort_by_key(|piece| matches!(piece, Piece::Call { .. }));
        }
        if self.dialect == Dialect::Gemini {
            sign_first_call(&mut self.pieces);
        }
        let is_thinking = |piece: &Piece<'_>| matches!(piece, Piece::Thinking { .. } | Piece::RawThinking(_));
        let is_short = match self.dialect {
            Dialect::Anthropic | Dialect::BedrockConverse | Dialect::Gemini => {
                self.pieces.last().is_some_and(is_thinking)
            }
            Dialect::OpenAiChat => !self.pieces.is_empty() && self.pieces.iter().all(is_thinking),
            Dialect::OpenAiResponses | Dialect::Pi => false,
        };
        if is_short || (self.pieces.is_empty() && self.answers.is_empty()) {
            self.pieces.push(Piece::Text(Cow::Borrowed(PLACEHOLDER)));
        }
        let Self { target, speaker, model, mut answers, mut pieces, .. } = self;
        let in_answers = answers.iter_mut().flat_map(|answer| &mut answer.content);
        pieces.iter_mut().chain(in_answers).for_each(Piece::put_on_one_line);
        Form { target, speaker, model, answers, pieces }
    }
}

/// Signs the first call of a step, which Gemini checks; the calls beside it need no signature.
fn sign_first_call(pieces: &mut [Piece<'_>]) {
    let first = pieces.iter_mut().find_map(|piece| match piece {
        Piece::Call { proof, .. } => Some(proof),
        _ => None,
    });
    if let Some(proof) = first {
        proof.get_or_insert(Cow::Borrowed(UNSIGNED));
    }
}

/// An opaque block inside a result, if Anthropic knows its type.
fn in_result(raw: &str, dialect: Dialect) -> Option<Piece<'_>> {
    let head = BodyHead::of(raw)?;
    let known = matches!(&*head.kind, "document" | "search_result" | "tool_reference");
    if dialect != Dialect::Anthropic || !known {
        return None;
    }
    without_cache_control(raw).map(Piece::Raw)
}
