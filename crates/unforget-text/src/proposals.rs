//! Finds sentences by which a person lays down a rule: for the summaries, and as proposals for pins.
//!
//! Conservative, since a proposal costs a person's attention, and an accepted one stands in every prompt. Only people's
//! own words count, and of them only sentences that lay down a rule, state a preference or give leave. Text that is
//! quoted, pasted, shown as code, asked, reported about others, guessed ("it must be"), or meant for now only, is no
//! rule. A request in the form of a question ("can we not …") is one.

mod cues;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;
use unforget_core::entry::{Entry, Origin, Part};

use crate::clip::{head, one_line};
use crate::draft::unquoted;
use crate::lines::error_lines;
use crate::sentences::{is_code_fence, sentences};
use crate::spoken::spoken;
use cues::{
    APPROVAL, ASKED, DEMAND, LASTING, NO_WISH, OTHER, PREFERRED, PROHIBITION, SPOKEN_TO, TOLD, UNWANTED,
    WANTED,
};

/// The reason for a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProposalKind {
    /// It forbids something: never, do not, must not.
    Prohibition,
    /// It demands something: always, must, only.
    Demand,
    /// It gives leave: you may, I approve.
    Approval,
    /// It is a rule of a file that the host inserts (`AGENTS.md`, `CLAUDE.md` and similar).
    RuleFile,
}

impl ProposalKind {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prohibition => "prohibition",
            Self::Demand => "demand",
            Self::Approval => "approval",
            Self::RuleFile => "rule-file",
        }
    }
}

/// A sentence to pin, verbatim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// The reason.
    pub kind: ProposalKind,
    /// The words, as in the entry.
    pub text: &'a str,
}

/// Most bytes of a text that are read.
const READ_BYTES: usize = 64 << 10;
/// Length in bytes beyond which a text is unlikely to be typed.
const LONG_BYTES: usize = 2_400;
/// Shortest and longest proposed sentence, in characters.
const CHARS_MIN: usize = 8;
const CHARS_MAX: usize = 300;
/// Most proposals from one entry.
const PROPOSALS_MAX: usize = 32;

/// First words of texts that hosts insert from rule files.
const RULE_FILES: [&str; 4] =
    ["# AGENTS.md instructions", "<user_instructions>", "Contents of ", "# claudeMd"];

/// The sentences of an entry that a person may want to pin, in order, without duplicates.
///
/// Every text of a person's entry counts; of the host's insertions, only the text of rule files. Tool output, the
/// model's words and summaries yield no proposals.
///
/// Cost: linear in the first 64 kilobytes of each text.
pub fn proposals(entry: &Entry) -> Vec<Proposal<'_>> {
    let file = match entry.origin {
        Origin::Human => false,
        Origin::Injected => true,
        _ => return Vec::new(),
    };
    let mut found: Vec<Proposal<'_>> = Vec::new();
    for part in &entry.parts {
        let Part::Text(text) = part else { continue };
        if file && !RULE_FILES.iter().any(|start| text.trim_start().starts_with(start)) {
            continue;
        }
        let told = if file { file_rules(head(text, READ_BYTES)) } else { rules(head(text, READ_BYTES)) };
        for Rule { kind, text, .. } in told {
            let kind = if file { ProposalKind::RuleFile } else { kind };
            if found.len() < PROPOSALS_MAX && !found.iter().any(|known| known.text == text) {
                found.push(Proposal { kind, text });
            }
        }
    }
    found
}

/// A rule in a person's words.
pub(crate) struct Rule<'a> {
    kind: ProposalKind,
    pub(crate) text: &'a str,
    /// Whether its form says that it outlasts the work at hand. Any other rule may be a wish about the request beside it.
    pub(crate) lasts: bool,
}

impl<'a> Rule<'a> {
    fn of(sentence: &'a str) -> Option<Self> {
        let kind = kind(sentence)?;
        Some(Self { kind, text: sentence, lasts: is_lasting(sentence) })
    }
}

/// The rules in a person's message, in order. Cost: linear.
pub(crate) fn rules(text: &str) -> Vec<Rule<'_>> {
    let own = spoken(text);
    // A long text is an article or a plan, and its rules are its own unless it addresses somebody.
    let is_long = own.iter().map(|line| line.len()).sum::<usize>() > LONG_BYTES;
    let speaks = |sentence: &&str| {
        !is_long
            || sentence.ends_with(['.', '!']) && SPOKEN_TO.as_ref().is_some_and(|cue| cue.is_match(sentence))
    };
    let told = own.into_iter().flat_map(sentences).filter(speaks);
    told.filter_map(Rule::of).collect()
}

/// Rules in a rule file, outside code and quoted lines.
fn file_rules(text: &str) -> Vec<Rule<'_>> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let start = line.trim_start();
        if is_code_fence(start) {
            in_code = !in_code;
        } else if !in_code && !start.starts_with(['>', '[', '\u{1b}']) && error_lines(line, 1).is_empty() {
            found.extend(sentences(line).into_iter().filter_map(Rule::of));
        }
    }
    found
}

/// Whether a rule speaks of more than the work at hand.
fn is_lasting(sentence: &str) -> bool {
    let plain = one_line(&unquoted(sentence));
    LASTING.as_ref().is_some_and(|cue| cue.is_match(&plain))
}

/// The kind of rule in a sentence, if any.
fn kind(sentence: &str) -> Option<ProposalKind> {
    // Scripts without blanks need fewer characters for the same content.
    let least = if sentence.is_ascii() { CHARS_MIN } else { CHARS_MIN / 2 };
    let length = sentence.chars().count();
    if !(least..=CHARS_MAX).contains(&length) || sentence.ends_with(':') {
        return None;
    }
    // Quoted words are somebody else's.
    let plain = one_line(&unquoted(sentence));
    let plain = plain.trim_matches(['*', '_']);
    let is = |wanted: &LazyLock<Option<Regex>>| wanted.as_ref().is_some_and(|wanted| wanted.is_match(plain));
    let few = plain.is_ascii() && plain.split_whitespace().count() < 3;
    if few {
        return None;
    }
    if plain.trim_end_matches(['"', ')', ' ', '…']).ends_with(['?', '？']) {
        return (is(&ASKED) && !is(&NO_WISH)).then_some(ProposalKind::Demand);
    }
    let (speaks, orders) = (!is(&NO_WISH), !is(&OTHER));
    let wishes = speaks && !is(&TOLD);
    if wishes && is(&UNWANTED) || orders && is(&PROHIBITION) {
        Some(ProposalKind::Prohibition)
    } else if speaks && is(&PREFERRED) || wishes && is(&WANTED) || orders && is(&DEMAND) {
        Some(ProposalKind::Demand)
    } else {
        (orders && is(&APPROVAL)).then_some(ProposalKind::Approval)
    }
}
