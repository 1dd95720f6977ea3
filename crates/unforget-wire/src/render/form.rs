//! What of a message a dialect takes, before it is written.

use std::borrow::Cow;

use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Speaker};

use super::json::{Head, is_object, without_cache_control};
use super::{Dropped, PLACEHOLDER, media};
use crate::dialect::Dialect;

/// A message as the dialect takes it.
pub(super) struct Form<'a> {
    /// Who speaks.
    pub(super) speaker: Speaker,
    /// Model that wrote it.
    pub(super) model: Option<&'a str>,
    /// Results of calls, first. Empty for an assistant.
    pub(super) answers: Vec<Answer<'a>>,
    /// Everything else, in order. Empty only if there are answers.
    pub(super) pieces: Vec<Piece<'a>>,
}

/// The result of a call.
pub(super) struct Answer<'a> {
    /// Id of the call, spelled for the dialect.
    pub(super) id: Cow<'a, str>,
    /// Name of the tool, spelled for the dialect.
    pub(super) name: Cow<'a, str>,
    /// Whether the tool failed.
    pub(super) is_error: bool,
    /// What it returned, never empty.
    pub(super) content: Vec<Piece<'a>>,
}

/// One block that the dialect takes.
pub(super) enum Piece<'a> {
    /// Text with something to see in it.
    Text(Cow<'a, str>),
    /// A JSON object that is written as it is.
    Raw(Cow<'a, str>),
    /// The same, for a block that is reasoning.
    RawThinking(Cow<'a, str>),
    /// Reasoning in the dialect's own form.
    Thinking {
        /// The readable text, may be empty.
        text: &'a str,
        /// Proof by the provider.
        signature: Option<&'a str>,
    },
    /// A call; `arguments` is the text of a JSON object.
    Call {
        /// Spelled for the dialect.
        id: Cow<'a, str>,
        /// Spelled for the dialect.
        name: Cow<'a, str>,
        /// Text of a JSON object.
        arguments: Cow<'a, str>,
    },
    /// An image with its bytes; both fields need no escaping.
    Image {
        /// One of the four types that every provider takes.
        mime: &'static str,
        /// Checked base64.
        data: Cow<'a, str>,
    },
    /// The address of an image.
    ImageUrl(Cow<'a, str>),
}

/// Whether there is nothing to see: white space, zero-width characters, or nothing at all.
///
/// Source: F059.
pub(super) fn is_blank(text: &str) -> bool {
    let unseen = |c: char| {
        c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{180e}')
    };
    text.chars().all(unseen)
}

/// Brings a message into the dialect's form. What is left out is added to `dropped`, with message 0.
pub(super) fn form<'a>(message: &'a Message, dialect: Dialect, dropped: &mut Vec<Dropped>) -> Form<'a> {
    let mut former = Former {
        dialect,
        speaker: message.speaker,
        model: message.model.as_deref(),
        answers: Vec::new(),
        pieces: Vec::with_capacity(message.blocks.len()),
        pictures: Vec::new(),
        block: 0,
        dropped,
    };
    let open_server_calls = server_calls(message, dialect);
    for (index, block) in message.blocks.iter().enumerate() {
        former.block = index;
        match block {
            Block::Ours(text) | Block::Part(Part::Text(text)) => former.text(text),
            Block::Call(call) | Block::Part(Part::ToolCall(call)) => former.call(call),
            Block::Result(result) | Block::Part(Part::ToolResult(result)) => former.result(result),
            Block::Part(Part::Thinking { text, signature, raw }) => {
                former.thinking(text, signature.as_deref(), raw.as_deref());
            }
            Block::Part(Part::Media(media)) => former.media(media),
            Block::Part(Part::Opaque { raw, .. }) => former.opaque(raw, &open_server_calls),
        }
    }
    former.finish()
}

struct Former<'a, 'd> {
    dialect: Dialect,
    speaker: Speaker,
    model: Option<&'a str>,
    answers: Vec<Answer<'a>>,
    pieces: Vec<Piece<'a>>,
    /// Images of results that this dialect can only send outside of them.
    pictures: Vec<Piece<'a>>,
    block: usize,
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
        if self.speaker == Speaker::User {
            return self.lose("a call outside an assistant message is not sent");
        }
        let name = self.dialect.tool_name(&call.name);
        if name != call.name {
            self.lose("the tool's name is spelled for the provider");
        }
        let arguments = if is_object(&call.arguments) {
            Cow::Borrowed(call.arguments.as_str())
        } else {
            self.lose("arguments that are no json object are sent as the member _raw");
            Cow::Owned(serde_json::json!({ "_raw": call.arguments }).to_string())
        };
        self.pieces.push(Piece::Call { id: self.dialect.call_id(&call.id), name, arguments });
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
                Part::Opaque { raw, .. } => match in_result(raw, self.dialect) {
                    Some(piece) => content.push(piece),
                    None => self.lose("a block of a type that the provider does not take here is not sent"),
                },
                _ => self.lose("a block that cannot be inside a result is not sent"),
            }
        }
        if content.is_empty() {
            content.push(Piece::Text(Cow::Borrowed(PLACEHOLDER)));
        }
        self.answers.push(Answer {
            id: self.dialect.call_id(&result.call_id),
            name: self.dialect.tool_name(&result.name),
            is_error: result.is_error,
            content,
        });
    }

    fn media_of_result(&mut self, media: &'a Media, content: &mut Vec<Piece<'a>>) {
        let image = media::image(media, self.dialect);
        if self.dialect == Dialect::OpenAiChat || image.is_none() {
            content.push(Piece::Text(Cow::Owned(media::note(media))));
        }
        match (image, self.dialect) {
            (Some(image), Dialect::OpenAiChat) => self.pictures.push(image),
            (Some(image), _) => content.push(image),
            (None, _) => self.lose("media that the provider does not take is sent as a note"),
        }
    }

    fn media(&mut self, media: &'a Media) {
        if self.speaker == Speaker::User {
            if let Some(image) = media::image(media, self.dialect) {
                return self.pieces.push(image);
            }
            if let Some(document) = document(media, self.dialect) {
                return self.pieces.push(document);
            }
        }
        self.lose("media that the provider does not take is sent as a note");
        self.pieces.push(Piece::Text(Cow::Owned(media::note(media))));
    }

    fn thinking(&mut self, text: &'a str, signature: Option<&'a str>, raw: Option<&'a str>) {
        let kept = match (self.speaker, self.dialect) {
            (Speaker::User, _) | (_, Dialect::OpenAiChat) => None,
            (_, Dialect::Anthropic) => anthropic_thinking(text, signature, raw, self.model),
            (_, Dialect::OpenAiResponses) => reasoning_item(raw).or_else(|| reasoning_item(signature)),
            (_, Dialect::Pi) => pi_thinking(text, signature, raw),
        };
        match kept {
            Some(piece) => self.pieces.push(piece),
            None => self.lose("thinking that the provider cannot verify is not sent"),
        }
    }

    fn opaque(&mut self, raw: &'a str, open_server_calls: &[Cow<'a, str>]) {
        let kept = Head::of(raw).filter(|head| match (self.dialect, self.speaker) {
            (Dialect::Anthropic, Speaker::User) => {
                matches!(&*head.kind, "document" | "search_result" | "container_upload")
            }
            (Dialect::Anthropic, Speaker::Assistant) => {
                is_server_tool(head) && !touches(head, open_server_calls)
            }
            (Dialect::Pi, Speaker::Assistant) => {
                !is_blank(&head.kind) && !matches!(&*head.kind, "text" | "thinking" | "toolCall" | "image")
            }
            _ => false,
        });
        match kept.and_then(|_| without_cache_control(raw)) {
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
        let ends_in_thinking =
            matches!(self.pieces.last(), Some(Piece::Thinking { .. } | Piece::RawThinking(_)));
        let is_empty = self.pieces.is_empty() && self.answers.is_empty();
        if is_empty || (self.dialect == Dialect::Anthropic && ends_in_thinking) {
            self.pieces.push(Piece::Text(Cow::Borrowed(PLACEHOLDER)));
        }
        Form { speaker: self.speaker, model: self.model, answers: self.answers, pieces: self.pieces }
    }
}

/// Anthropic replays its own reasoning byte for byte; of others' it refuses the signature.
///
/// A block in Anthropic's own form is its own. In other forms the model's name has to say so.
fn anthropic_thinking<'a>(
    text: &'a str,
    signature: Option<&'a str>,
    raw: Option<&'a str>,
    model: Option<&str>,
) -> Option<Piece<'a>> {
    let head = raw.and_then(Head::of).unwrap_or_default();
    let own = match &*head.kind {
        "thinking" => head.signature.is_some_and(|signature| !is_blank(&signature)),
        "redacted_thinking" => head.data.is_some_and(|data| !is_blank(&data)),
        _ => false,
    };
    if own {
        return raw.and_then(without_cache_control).map(Piece::RawThinking);
    }
    let signature = signature
        .filter(|signature| is_proof(signature) && model.is_some_and(|model| model.contains("claude")))?;
    if head.redacted == Some(true) {
        let block = format!(r#"{{"type":"redacted_thinking","data":"{signature}"}}"#);
        return Some(Piece::RawThinking(Cow::Owned(block)));
    }
    Some(Piece::Thinking { text, signature: Some(signature) })
}

/// Base64 as Anthropic's signatures are: long, no JSON (OpenAI's are), no field name (pi writes those).
fn is_proof(signature: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    signature.len() >= 24 && signature.bytes().all(legal)
}

/// A reasoning item of OpenAI that carries its own content, so that it needs nothing stored at the provider.
fn reasoning_item(raw: Option<&str>) -> Option<Piece<'_>> {
    let raw = raw?;
    let head = Head::of(raw)?;
    let whole = head.kind == "reasoning" && head.encrypted_content.is_some_and(|content| !is_blank(&content));
    whole.then_some(Piece::RawThinking(Cow::Borrowed(raw)))
}

/// pi keeps all reasoning. That of another form is brought into pi's; OpenAI's item is pi's signature.
fn pi_thinking<'a>(text: &'a str, signature: Option<&'a str>, raw: Option<&'a str>) -> Option<Piece<'a>> {
    let head = raw.and_then(Head::of).unwrap_or_default();
    match (&*head.kind, raw) {
        ("thinking", Some(raw)) if head.signature.is_none() => Some(Piece::Raw(Cow::Borrowed(raw))),
        ("redacted_thinking", _) => {
            let data = head.data.filter(|data| is_proof(data))?;
            let block = format!(
                r#"{{"type":"thinking","thinking":"","thinkingSignature":"{data}","redacted":true}}"#
            );
            Some(Piece::Raw(Cow::Owned(block)))
        }
        ("reasoning", Some(raw)) => Some(Piece::Thinking { text, signature: Some(raw) }),
        _ if is_blank(text) && signature.is_none() => None,
        _ => Some(Piece::Thinking { text, signature }),
    }
}

/// An opaque block inside a result, where Anthropic knows it.
fn in_result(raw: &str, dialect: Dialect) -> Option<Piece<'_>> {
    let head = Head::of(raw)?;
    let known = matches!(&*head.kind, "document" | "search_result" | "tool_reference");
    if dialect != Dialect::Anthropic || !known {
        return None;
    }
    without_cache_control(raw).map(Piece::Raw)
}

/// A document that came from Anthropic's own form.
fn document(media: &Media, dialect: Dialect) -> Option<Piece<'_>> {
    let head = Head::of(&media.raw)?;
    let taken = dialect == Dialect::Anthropic && head.kind == "document";
    taken.then(|| without_cache_control(&media.raw).map(Piece::Raw)).flatten()
}

/// Whether the block is one half of a tool run at the provider. Their names follow a pattern, so that a
/// new one survives too (F050).
fn is_server_tool(head: &Head<'_>) -> bool {
    is_server_call(head) || (head.kind.ends_with("_tool_result") && head.tool_use_id.is_some())
}

fn is_server_call(head: &Head<'_>) -> bool {
    matches!(&*head.kind, "server_tool_use" | "mcp_tool_use") && head.id.is_some()
}

fn touches(head: &Head<'_>, ids: &[Cow<'_, str>]) -> bool {
    [&head.id, &head.tool_use_id].into_iter().flatten().any(|id| ids.contains(id))
}

/// Ids of tools run at the provider of which the message holds only one half, or not in order.
fn server_calls<'a>(message: &'a Message, dialect: Dialect) -> Vec<Cow<'a, str>> {
    let mut open: Vec<Cow<'a, str>> = Vec::new();
    let mut broken = Vec::new();
    if dialect != Dialect::Anthropic {
        return broken;
    }
    for block in &message.blocks {
        let Block::Part(Part::Opaque { raw, .. }) = block else { continue };
        // A half that will not be sent does not complete the other.
        let sent = Head::of(raw).filter(|head| is_server_tool(head) && without_cache_control(raw).is_some());
        let Some(head) = sent else { continue };
        if is_server_call(&head) {
            open.extend(head.id);
        } else if let Some(id) = head.tool_use_id {
            match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.swap_remove(at)),
                None => broken.push(id),
            }
        }
    }
    broken.append(&mut open);
    broken
}
