//! Decides which reasoning a target gets, and in what form: its own, byte for byte where signed, or none.

use std::borrow::Cow;

use super::form::{Piece, is_blank};
use super::head::BodyHead;
use super::json::without_cache_control;
use crate::dialect::Dialect;
use crate::target::{Family, Target};

/// Reasoning as stored in an entry.
#[derive(Clone, Copy)]
pub(super) struct Thinking<'a> {
    /// The readable text.
    pub(super) text: &'a str,
    /// The provider's proof.
    pub(super) signature: Option<&'a str>,
    /// The block as received.
    pub(super) raw: Option<&'a str>,
    /// The model that wrote the reasoning.
    pub(super) model: Option<&'a str>,
}

impl<'a> Thinking<'a> {
    /// The block for the target; `None` if the target cannot verify it or it belongs to another family.
    ///
    /// Source: F053, F055, F056, F057.
    pub(super) fn piece(self, target: Target) -> Option<Piece<'a>> {
        let head = self.raw.and_then(BodyHead::of).unwrap_or_default();
        if target.is_foreign(self.model, home(&head)) {
            return None;
        }
        match target.dialect {
            Dialect::Anthropic => self.anthropic(head),
            Dialect::OpenAiChat => self.chat(target),
            Dialect::OpenAiResponses => reasoning_item(self.raw).or_else(|| reasoning_item(self.signature)),
            Dialect::Pi => self.pi(head),
            Dialect::Gemini => self.gemini(&head),
            Dialect::BedrockConverse => self.bedrock(&head),
        }
    }

    fn family(self) -> Option<Family> {
        self.model.map(Family::of)
    }

    /// Anthropic accepts its own reasoning byte for byte and refuses foreign signatures.
    ///
    /// A block in Anthropic's own form is Anthropic's. In other forms the model's name has to prove it.
    fn anthropic(self, head: BodyHead<'a>) -> Option<Piece<'a>> {
        let own = match &*head.kind {
            "thinking" => head.signature.is_some_and(|signature| !is_blank(&signature)),
            "redacted_thinking" => head.data.is_some_and(|data| !is_blank(&data)),
            _ => false,
        };
        if own {
            return self.raw.and_then(without_cache_control).map(Piece::RawThinking);
        }
        let signature = self
            .signature
            .filter(|signature| is_proof(signature) && self.family() == Some(Family::Claude))?;
        if head.redacted == Some(true) {
            let block = format!(r#"{{"type":"redacted_thinking","data":"{signature}"}}"#);
            return Some(Piece::RawThinking(Cow::Owned(block)));
        }
        Some(Piece::Thinking { text: self.text, signature: Some(signature) })
    }

    /// Only models that are known to want their reasoning get it back, as text.
    fn chat(self, target: Target) -> Option<Piece<'a>> {
        let wanted = target.family.is_some_and(Family::replays_reasoning) && !is_blank(self.text);
        wanted.then_some(Piece::Thinking { text: self.text, signature: None })
    }

    /// pi keeps all reasoning. Other forms are converted to pi's; OpenAI's item becomes pi's signature.
    fn pi(self, head: BodyHead<'a>) -> Option<Piece<'a>> {
        let Self { text, signature, .. } = self;
        match (&*head.kind, self.raw) {
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

    /// Gemini's thought with its signature. The API ignores a thought without one.
    fn gemini(self, head: &BodyHead<'a>) -> Option<Piece<'a>> {
        let whole = head.thought == Some(true) && head.text.is_some();
        if whole && head.proof.as_deref().is_some_and(is_base64) {
            return self.raw.map(|raw| Piece::RawThinking(Cow::Borrowed(raw)));
        }
        let signature = self
            .signature
            .filter(|signature| is_base64(signature) && self.family() == Some(Family::Gemini))?;
        Some(Piece::Thinking { text: self.text, signature: Some(signature) })
    }

    /// Claude's reasoning: its signatures are valid on all platforms.
    fn bedrock(self, head: &BodyHead<'a>) -> Option<Piece<'a>> {
        if let Some(reasoning) = &head.reasoning_content
            && reasoning.proof().is_some_and(|proof| !is_blank(proof))
        {
            return self.raw.map(|raw| Piece::RawThinking(Cow::Borrowed(raw)));
        }
        let own = head.kind == "thinking" && head.signature.is_some();
        let signature = self.signature.filter(|signature| !is_blank(signature))?;
        let theirs = self.family() == Some(Family::Claude) && is_proof(signature) && head.redacted.is_none();
        (own || theirs).then_some(Piece::Thinking { text: self.text, signature: Some(signature) })
    }
}

/// The family to which the block's form belongs.
fn home(head: &BodyHead<'_>) -> Option<Family> {
    match &*head.kind {
        "thinking" if head.signature.is_some() => Some(Family::Claude),
        "redacted_thinking" => Some(Family::Claude),
        "reasoning" if head.encrypted_content.is_some() => Some(Family::OpenAi),
        "" if head.thought.is_some() => Some(Family::Gemini),
        _ => None,
    }
}

/// Whether text is base64 as in Anthropic's signatures: long, no JSON (OpenAI's are), no field name (pi writes those).
pub(crate) fn is_proof(signature: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    signature.len() >= 24 && signature.bytes().all(legal)
}

/// Whether text is base64 in whole groups of four, as Gemini reads its signatures.
pub(super) fn is_base64(signature: &str) -> bool {
    let body = signature.trim_end_matches('=');
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    !body.is_empty()
        && signature.len().is_multiple_of(4)
        && signature.len() - body.len() <= 2
        && body.bytes().all(legal)
}

/// A reasoning item of OpenAI that carries its own content, so that it depends on nothing stored at the provider.
fn reasoning_item(raw: Option<&str>) -> Option<Piece<'_>> {
    let raw = raw?;
    let head = BodyHead::of(raw)?;
    let whole = head.encrypted_content.is_some_and(|content| !is_blank(&content)) && head.summary.is_some();
    (head.kind == "reasoning" && whole).then_some(Piece::RawThinking(Cow::Borrowed(raw)))
}
