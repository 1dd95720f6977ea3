//! What a draft of a summary, written by a model, looks like beside its source.
//!
//! Finds facts for [`unforget_core::gate`], which decides. Nothing here depends on a model, so the rate of
//! identifiers that a committed summary has and its source lacks is zero by construction: one is a finding, and
//! one finding refuses the draft.

mod known;
mod shape;
mod windows;

use unforget_core::gate::{Ending, Findings, Flaw};
use unforget_core::tokens::{Ruler, Tokens};

use crate::secret::redact;
use crate::sections::{SectionKind, Summary};
use crate::summary::without_reasoning;
use known::{Known, identifiers};
pub(crate) use shape::unquoted;

/// What a draft was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The text that the summariser was given to summarise.
    pub source: &'a str,
    /// The instructions that it was given with it.
    pub instructions: &'a str,
    /// Size of what the summary would stand for.
    pub size: Tokens,
    /// Identifiers that must come through; see [`must_keep`].
    pub must_keep: &'a [String],
}

/// A draft as it would be stored, with what was found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Without a closed block of reasoning before it, credentials redacted, and with the missing identifiers
    /// in a last line.
    pub text: String,
    /// For [`unforget_core::gate::judge`].
    pub findings: Findings,
}

/// Heading of the line of missing identifiers.
const ANCHORS: &str = "Identifiers: ";

/// Looks at a draft.
///
/// * `draft` - the visible text of the answer, as received; no reasoning blocks, no calls.
/// * `ending` - how the answer ended, as the provider said.
///
/// An identifier (path, quantity, hash, version, URL, error code, name of a function, quoted code) is in the
/// source if it stands there as a whole word, or as whole steps of a path or scoped name; the case of hex
/// digits, a shortened hash, `./`, a trailing slash, quotes, punctuation, a `v` before a version, digit groups and a
/// blank before a unit make no difference. `path:line`, `name/arity` and `owner.member` count if both halves stand there; a word that ends in
/// `…` counts if one begins with it.
///
/// Cost: O(source log draft), two rulings.
pub fn inspect(draft: &str, ending: Ending, asked: &Assignment<'_>, ruler: &dyn Ruler) -> Inspected {
    let text = without_thoughts_before(draft);
    let text = redact(text.trim()).into_owned();
    let mut flaws = shape::flaws(&text, asked.source);
    if !text.chars().any(char::is_alphanumeric) {
        flaws = vec![Flaw::Blank];
    }
    if windows::is_echo(&text, asked.source, asked.instructions) {
        flaws.push(Flaw::Echo);
    }
    if windows::repeats(&text) {
        flaws.push(Flaw::Repeats);
    }
    if let Some(known) = shape::is_error_text(&text) {
        let mine = Known::of(asked.source);
        if known || !identifiers(&text).iter().any(|id| mine.has(id)) {
            flaws.push(Flaw::ProviderError);
        }
    }
    flaws.sort_unstable();
    flaws.dedup();
    let invented = invented(&text, asked.source);
    let kept = Known::of(&text);
    let missing: Vec<String> = asked.must_keep.iter().filter(|id| !kept.has(id)).cloned().collect();
    let text = if missing.is_empty() { text } else { format!("{text}\n\n{ANCHORS}{}", missing.join(", ")) };
    let draft = ruler.count(&text);
    Inspected { findings: Findings { draft, source: asked.size, ending, flaws, invented, missing }, text }
}

/// The identifiers of a draft that its source lacks, in order, each once.
///
/// Cost: O(source log source).
pub fn invented(draft: &str, source: &str) -> Vec<String> {
    let known = Known::of(source);
    let mut invented: Vec<String> = Vec::new();
    for id in identifiers(draft) {
        if !known.has(&id) && !invented.contains(&id) {
            invented.push(id);
        }
    }
    invented
}

/// The identifiers that a summary by a model must keep: the weightiest of the deterministic summary of the
/// same source, weightiest first.
///
/// * `max` - how many at most. All of them are in the deterministic summary, so none is out of reach.
pub fn must_keep(summary: &Summary, max: usize) -> Vec<String> {
    let anchors = summary.items(SectionKind::Anchors);
    anchors.iter().rev().take(max).map(|item| item.text.clone()).collect()
}

/// Some servers put closed reasoning before the answer. That is taken off; reasoning anywhere else stays and is found.
fn without_thoughts_before(draft: &str) -> std::borrow::Cow<'_, str> {
    let start = draft.trim_start();
    let opens = ["<think>", "<thinking>", "<reasoning>"].iter().any(|tag| start.starts_with(tag));
    let closes = ["</think>", "</thinking>", "</reasoning>"].iter().any(|tag| start.contains(tag));
    if opens && closes { without_reasoning(draft) } else { draft.into() }
}
