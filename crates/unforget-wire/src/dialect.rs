//! The request forms of the providers.

use std::borrow::Cow;

use unforget_core::cache::Ratios;
use unforget_core::digest::Digest;

use crate::Format;

/// The form in which a provider accepts a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// The message array of pi and OpenClaw (pi-ai's `Context`).
    Pi,
    /// Gemini `generateContent`.
    Gemini,
    /// Amazon Bedrock Converse.
    BedrockConverse,
}

/// Prefix of every call id that we made. A host's id with this prefix is mapped too, so that no mapped id collides with
/// an unmapped one.
const MAPPED: &str = "uf_";

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Pi,
        Self::Gemini,
        Self::BedrockConverse,
    ];

    /// The name used on the command line and in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::BedrockConverse => "bedrock-converse",
        }
    }

    /// How long the provider caches the beginning of a prompt after its last use, in milliseconds. Where the documents
    /// give a range, the longest time: a break would throw away a cache that may still exist.
    ///
    /// Source: Anthropic and Bedrock 5 minutes by default; OpenAI 5 to 10 minutes, at most an hour; Gemini an hour. For
    /// pi the provider is unknown; most of its sessions use Anthropic.
    pub const fn cache_ttl_ms(self) -> u64 {
        match self {
            Self::Anthropic | Self::Pi | Self::BedrockConverse => 300_000,
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini => 3_600_000,
        }
    }

    /// Whether the signature of reasoning may cover the prompt before it, so that it is invalid behind any other
    /// prompt.
    ///
    /// OpenAI's encrypted reasoning and Gemini's signatures are verified on their own. For pi the provider is unknown.
    ///
    /// Source: F054 (Anthropic and Bedrock since 2026-08).
    pub const fn binds_reasoning(self) -> bool {
        match self {
            Self::Anthropic | Self::Pi | Self::BedrockConverse => true,
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini => false,
        }
    }

    /// Price ratios of input written to the provider's cache and of input read from it.
    ///
    /// Source: the providers' list prices, 2026-11: Anthropic 1.25 and 0.1, OpenAI and Gemini 1 and 0.1.
    pub const fn cache_ratios(self) -> Ratios {
        match self {
            Self::Anthropic | Self::Pi | Self::BedrockConverse => {
                Ratios { write_permille: 1_250, read_permille: 100 }
            }
            Self::OpenAiChat | Self::OpenAiResponses | Self::Gemini => {
                Ratios { write_permille: 1_000, read_permille: 100 }
            }
        }
    }

    /// The dialect with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Spells a call id so that the provider accepts it: the id itself where it is legal, otherwise `uf_` and 32 hex
    /// digits of its digest. Injective (up to a 128-bit collision) and equal on every call.
    ///
    /// Source: F063; Anthropic and Bedrock `^[a-zA-Z0-9_-]{1,64}$`, OpenAI Chat 40 characters, Responses 64.
    pub fn call_id(self, id: &str) -> Cow<'_, str> {
        let longest = match self {
            Self::Anthropic | Self::OpenAiResponses | Self::Gemini | Self::BedrockConverse => 64,
            Self::OpenAiChat => 40,
            Self::Pi => usize::MAX,
        };
        let legal = self == Self::Pi || id.bytes().all(is_name_byte);
        if !id.is_empty() && id.len() <= longest && legal && !id.starts_with(MAPPED) {
            return Cow::Borrowed(id);
        }
        let hex = Digest::of(id.as_bytes()).hex();
        Cow::Owned(format!("{MAPPED}{}", hex.get(..32).unwrap_or_default()))
    }

    /// The default dialect for a transcript of this format: that of its host.
    pub const fn usual(format: Format) -> Self {
        match format {
            Format::Pi
            | Format::ClaudeCode
            | Format::AnthropicMessages
            | Format::Journal
            | Format::Unknown => Self::Anthropic,
            Format::Codex | Format::OpenAiResponses => Self::OpenAiResponses,
            _ => Self::OpenAiChat,
        }
    }

    /// The form in which a client of this API sends its messages and gets answers; `None` for dialects without such
    /// clients.
    pub const fn form(self) -> Option<Format> {
        match self {
            Self::Anthropic => Some(Format::AnthropicMessages),
            Self::OpenAiChat => Some(Format::OpenAiChat),
            Self::OpenAiResponses => Some(Format::OpenAiResponses),
            Self::Pi | Self::Gemini | Self::BedrockConverse => None,
        }
    }

    /// Spells a tool name so that the provider accepts it: illegal characters become `_`, the length is limited to 64,
    /// and an empty name becomes `unknown_tool`. pi accepts any non-empty name; Gemini's names begin with a letter or
    /// `_` and may contain `.` and `:`.
    pub fn tool_name(self, name: &str) -> Cow<'_, str> {
        if name.is_empty() {
            return Cow::Borrowed("unknown_tool");
        }
        let is_gemini = self == Self::Gemini;
        let begins = !is_gemini || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_legal = |byte: u8| is_name_byte(byte) || (is_gemini && matches!(byte, b'.' | b':'));
        if self == Self::Pi || (begins && name.len() <= 64 && name.bytes().all(is_legal)) {
            return Cow::Borrowed(name);
        }
        let legal = |c: char| if u8::try_from(c).is_ok_and(is_legal) { c } else { '_' };
        let start = if begins { "" } else { "_" };
        Cow::Owned(start.chars().chain(name.chars().map(legal)).take(64).collect())
    }
}

/// A letter, a digit, `_` or `-`.
const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
