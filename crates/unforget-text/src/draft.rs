//! Inspects a model's draft of a summary beside its source.
//!
//! Collects findings for [`unforget_core::gate`], which decides. Nothing here depends on a model. The rate of invented
//! identifiers in committed summaries is zero by construction: an identifier that the source lacks is a finding, and
//! one finding refuses the draft.

mod known;
mod shape;
mod windows;

use unforget_core::gate::{Ending, Findings, Flaw};
use unforget_core::tokens::{Ruler, Tokens};

use crate::clean::without_reasoning;
use crate::secret::redact;
use crate::sections::{SectionKind, Summary};
use known::{Known, identifiers};
pub(crate) use shape::unquoted;

/// The order for a draft.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The text that the summariser was asked to summarise.
    pub source: &'a str,
    /// The summariser's instructions.
    pub instructions: &'a str,
    /// Size of the content that the summary would stand for.
    pub size: Tokens,
    /// Identifiers that the draft must contain. See [`must_keep`].
    pub must_keep: &'a [String],
}

/// A draft in its stored form, with the findings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The draft without a closed block of reasoning before it, with credentials redacted and the missing identifiers
    /// in a last line.
    pub text: String,
    /// Findings for [`unforget_core::gate::judge`].
    pub findings: Findings,
}

/// Heading of the line of missing identifiers.
const ANCHORS: &str = "Identifiers: ";

/// Inspects a draft.
///
/// * `draft` - the visible text of the answer, as received; no reasoning blocks, no calls.
/// * `ending` - how the answer ended, according to the provider.
///
/// An identifier (path, quantity, hash, version, URL, error code, function name, quoted code) counts as part of the
/// source if it stands there as a whole word, or as whole steps of a path or scoped name. The following make no
/// difference: the case of hex digits, a shortened hash, `./`, a trailing slash, quotes, punctuation, a `v` before a
/// version, digit groups, and a blank before a unit. `path:line`, `name/arity` and `owner.member` count if both halves
/// stand there. A word that ends in `…` counts if a word of the source begins with it.
///
/// Cost: O(source log draft), two token counts.
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

/// The identifiers of a draft that its source lacks, in order, without duplicates.
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

/// The identifiers that a model's summary must keep: the weightiest of the deterministic summary of that source,
/// weightiest first.
///
/// * `max` - maximum number. All of them are in the deterministic summary, so all are attainable.
pub fn must_keep(summary: &Summary, max: usize) -> Vec<String> {
    let anchors = summary.items(SectionKind::Anchors);
    anchors.iter().rev().take(max).map(|item| item.text.clone()).collect()
}

/// Some servers put closed reasoning before the answer. It is removed here; reasoning anywhere else stays and becomes a
/// finding.
fn without_thoughts_before(draft: &str) -> std::borrow::Cow<'_, str> {
    let start = draft.trim_start();
    let opens = ["<think>", "<thinking>", "<reasoning>"].iter().any(|tag| start.starts_with(tag));
    let closes = ["</think>", "</thinking>", "</reasoning>"].iter().any(|tag| start.contains(tag));
    if opens && closes { without_reasoning(draft) } else { draft.into() }
}
