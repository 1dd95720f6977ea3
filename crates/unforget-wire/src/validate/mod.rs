//! A strict acceptor per dialect, offline: rejects what the provider rejects. Written from the providers'
//! rules and from reported rejections, not from the renderer.
//!
//! Where providers of one dialect differ, the strictest rule known is taken. Rules on what the host adds (tools,
//! thinking switched on) apply where the body has it. All rules with their sources are in one table, [`wire_rules`],
//! which is `docs/wire-rules.md`; a check that reports what the table does not list for its dialect is silent.

mod anthropic;
mod bedrock;
mod found;
mod gemini;
mod media;
mod openai_chat;
mod openai_responses;
mod pairs;
mod pi;
mod rules;
mod schema;
mod signer;
mod tools;
mod walk;

use serde_json::Value;

use crate::dialect::Dialect;
use crate::target::Target;
use found::Found;

pub use rules::{Rule, rules, wire_rules};
pub use signer::{Bound, FakeSigner};

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule, from [`wire_rules`].
    pub rule: &'static str,
    /// JSON pointer (RFC 6901) to the place.
    pub place: String,
    /// What is wrong, for a person: lower case, no full stop.
    pub what: String,
}

/// What a body is held against.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The form, and the model if it is known: some rules are a model's.
    pub target: Target,
    /// Whether the host's part is in the body, so that what is missing is missing.
    pub whole: bool,
    /// Stands for the provider's own check of its signatures, which nobody else can make.
    pub signer: Option<FakeSigner>,
}

impl<T: Into<Target>> From<T> for Checks {
    fn from(target: T) -> Self {
        Self { target: target.into(), whole: false, signer: None }
    }
}

/// Whether the provider takes `body`: the text that [`crate::render()`] makes, or a client's.
///
/// * `checks` - a [`Dialect`], a [`Target`], or all of it.
///
/// # Errors
/// Every violation found, in the order of the body; only a body that is no JSON ends the search.
///
/// Cost: O(bytes), one parse.
pub fn validate(body: &str, checks: impl Into<Checks>) -> Result<(), Vec<Violation>> {
    let checks = checks.into();
    let mut found = Found::new(checks);
    found.body_size(body.len());
    match serde_json::from_str::<Value>(body) {
        Err(error) => found.no_json(&error.to_string()),
        Ok(body) => {
            match checks.target.dialect {
                Dialect::Anthropic => anthropic::check(&body, &mut found),
                Dialect::OpenAiChat => openai_chat::check(&body, &mut found),
                Dialect::OpenAiResponses => openai_responses::check(&body, &mut found),
                Dialect::Pi => pi::check(&body, &mut found),
                Dialect::Gemini => gemini::check(&body, &mut found),
                Dialect::BedrockConverse => bedrock::check(&body, &mut found),
            }
            tools::check(&body, &mut found);
            found.media_together();
            if let Some(signer) = checks.signer {
                signer::check(&body, signer, &mut found);
            }
        }
    }
    found.finish()
}

fn field<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The elements of a list, none if it is no list.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn blank(text: &str) -> bool {
    let seen = |c: &char| {
        !c.is_whitespace()
            && !['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{180e}'].contains(c)
    };
    text.chars().find(seen).is_none()
}

fn name_char(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-')
}
