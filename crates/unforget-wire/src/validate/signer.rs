//! Imitates a provider's check of its own signatures, with a key of ours.

use serde_json::Value;
use unforget_core::digest::Digest;

use super::found::FoundViolations;
use super::{field, items};
use crate::dialect::Dialect;

/// The scope of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The reasoning is unchanged. Source: F053.
    Content,
    /// The reasoning is unchanged, and so are the instructions, tools and all messages before it. Source: F054.
    Prefix,
}

/// Signs and checks reasoning like a provider, for tests of rendered requests. Proves nothing to a real provider.
#[derive(Clone, Copy, Debug)]
pub struct FakeSigner {
    /// The scope of its signatures.
    pub bound: Bound,
    /// Signers with different keys refuse each other's signatures.
    pub key: u64,
}

impl FakeSigner {
    /// The signature that the provider would add to reasoning in its answer to `body`.
    ///
    /// * `content` - the readable text; for `openai-responses` the JSON text of the `summary`, for a Gemini call its
    ///   name.
    ///
    /// Cache marks do not count as part of the request.
    pub fn sign(self, content: &str, body: &str, dialect: Dialect) -> String {
        let body = serde_json::from_str(body).unwrap_or_default();
        let mut prefix = self.start(&body);
        for message in items(&body, list(dialect)) {
            self.extend(&mut prefix, message);
        }
        seal(content, &prefix)
    }

    fn start(self, body: &Value) -> Digest {
        let mut prefix = Digest::of(&self.key.to_le_bytes());
        for key in ["system", "systemInstruction", "instructions", "systemPrompt", "tools", "toolConfig"] {
            body.get(key).inspect(|value| self.extend(&mut prefix, value));
        }
        prefix
    }

    fn extend(self, prefix: &mut Digest, value: &Value) {
        if self.bound == Bound::Prefix {
            let mut bytes = prefix.0.to_vec();
            absorb(value, &mut bytes);
            *prefix = Digest::of(&bytes);
        }
    }
}

/// 64 hex digits: legal base64 for every provider. The key is in the prefix.
fn seal(content: &str, prefix: &Digest) -> String {
    let mut bytes = prefix.0.to_vec();
    bytes.extend_from_slice(content.as_bytes());
    Digest::of(&bytes).hex()
}

/// Writes a value without cache marks. The parser limits the depth.
fn absorb(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Array(list) => {
            bytes.push(b'[');
            for each in list.iter().filter(|each| each.get("cachePoint").is_none()) {
                absorb(each, bytes);
            }
            bytes.push(b']');
        }
        Value::Object(members) => {
            bytes.push(b'{');
            for (key, each) in members.iter().filter(|(key, _)| *key != "cache_control") {
                bytes.extend_from_slice(key.as_bytes());
                bytes.push(b':');
                absorb(each, bytes);
            }
            bytes.push(b'}');
        }
        other => {
            bytes.extend_from_slice(other.to_string().as_bytes());
            bytes.push(b',');
        }
    }
}

const fn list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiResponses => "input",
        Dialect::Gemini => "contents",
        _ => "messages",
    }
}

/// Checks every signature of the body.
pub(super) fn check(body: &Value, signer: FakeSigner, found: &mut FoundViolations) {
    let (dialect, key) = (found.dialect(), list(found.dialect()));
    let rule = match signer.bound {
        Bound::Content => "signature-content",
        Bound::Prefix => "signature-prefix",
    };
    let mut prefix = signer.start(body);
    // The question to the model: items of one answer do not stand before each other.
    let mut asked = prefix;
    for (index, message) in items(body, key).iter().enumerate() {
        let before = if dialect == Dialect::OpenAiResponses { &asked } else { &prefix };
        for (content, signature) in proofs(message, dialect) {
            let good = signature == seal(&content, before);
            found.want(good, rule, &format!("/{key}/{index}"), "signature is of other content");
        }
        signer.extend(&mut prefix, message);
        let kind = field(message, "type").unwrap_or_default();
        if field(message, "role").is_some_and(|role| role != "assistant") || kind == "function_call_output" {
            asked = prefix;
        }
    }
}

/// The signed contents of a message, with their signatures.
fn proofs(message: &Value, dialect: Dialect) -> Vec<(String, &str)> {
    let each: fn(&Value) -> Option<(String, &str)> = match dialect {
        Dialect::Anthropic => |block| signed(field(block, "thinking"), field(block, "signature")),
        Dialect::Pi => |block| signed(field(block, "thinking"), field(block, "thinkingSignature")),
        Dialect::BedrockConverse => |block| {
            let text = block.get("reasoningContent")?.get("reasoningText")?;
            signed(field(text, "text"), field(text, "signature"))
        },
        Dialect::Gemini => |part| {
            let call = part.get("functionCall").and_then(|call| field(call, "name"));
            let signature = field(part, "thoughtSignature").filter(|text| *text != super::gemini::UNSIGNED);
            signed(call.or_else(|| field(part, "text")), signature)
        },
        Dialect::OpenAiResponses => {
            let summary = message.get("summary").map(Value::to_string);
            return signed(summary.as_deref(), field(message, "encrypted_content")).into_iter().collect();
        }
        Dialect::OpenAiChat => return Vec::new(),
    };
    let list = if dialect == Dialect::Gemini { "parts" } else { "content" };
    items(message, list).iter().filter_map(each).collect()
}

fn signed<'a>(content: Option<&str>, signature: Option<&'a str>) -> Option<(String, &'a str)> {
    Some((content?.to_owned(), signature?))
}
