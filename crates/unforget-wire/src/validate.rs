//! A strict offline validator per dialect: rejects whatever the provider rejects. Written from the providers' rules and
//! from reported rejections, not from the renderer.
//!
//! Where providers of one dialect differ, the strictest known rule applies. Rules on the host's additions (tools,
//! thinking switched on) apply where the body has them. All rules with their sources are in one table, [`wire_rules`],
//! published as `docs/wire-rules.md`; a check is silent for dialects for which the table does not list its rule.

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
use found::FoundViolations;

pub use rules::{Rule, rules, wire_rules};
pub use signer::{Bound, FakeSigner};

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule, from [`wire_rules`].
    pub rule: &'static str,
    /// JSON pointer (RFC 6901) to the place.
    pub place: String,
    /// The defect, for a person: lower case, no full stop.
    pub what: String,
}

/// The rules for a body.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The dialect and, if known, the model: some rules depend on the model.
    pub target: Target,
    /// Whether the body includes the host's part, so that a missing field is a defect.
    pub whole: bool,
    /// Replaces the provider's own check of its signatures, which only the provider can make.
    pub signer: Option<FakeSigner>,
}

impl<T: Into<Target>> From<T> for Checks {
    fn from(target: T) -> Self {
        Self { target: target.into(), whole: false, signer: None }
    }
}

/// Checks whether the provider accepts `body`: the output of [`crate::render()`], or a client's body.
///
/// * `checks` - a [`Dialect`], a [`Target`], or complete [`Checks`].
///
/// # Errors
/// All violations, in the order of the body. Only a body that is no JSON ends the search early.
///
/// Cost: O(bytes), one parse.
pub fn validate(body: &str, checks: impl Into<Checks>) -> Result<(), Vec<Violation>> {
    let checks = checks.into();
    let mut found = FoundViolations::new(checks);
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

/// The elements of a list; empty if the field is no list.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn blank(text: &str) -> bool {
    !text.chars().any(is_visible)
}

/// Whether a character shows.
fn is_visible(c: char) -> bool {
    !c.is_whitespace()
        && !['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{180e}'].contains(&c)
}

fn name_char(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-')
}
