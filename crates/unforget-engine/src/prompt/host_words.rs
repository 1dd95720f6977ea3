//! The host's own summary in a prompt. It stands in the conversation where it arrived. Once our summaries cover that
//! place, the newest one stands beside the summary that does: what our later summaries tell came after it.
//!
//! Nothing of it is stored separately: the summaries in the prompt hold its words.

use std::borrow::Cow;
use std::sync::Arc;

use unforget_core::assemble::ours;
use unforget_core::compact::{Root, host_tokens_max};
use unforget_core::entry::Origin;
use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_core::message::Message;
use unforget_core::policy::SUMMARY_FENCE;
use unforget_text::{Item, SectionKind, State, Summary, fence_host, host_text, host_words, without_outlook};

use super::Shape;
use super::pieces::{PromptPiece, fitted, weigh};

/// The messages of a group that is a summary of the host. `None` for all other groups, and for a summary without words.
pub(super) fn messages(group: &Group, shape: &Shape) -> Option<Vec<Message>> {
    let item = group.items.first().filter(|_| group.kind == Kind::Input)?;
    if item.entry.origin != Origin::HostSummary {
        return None;
    }
    let text = host_text(&item.entry);
    let words = HostWords { seq: item.seq, is_branch: item.entry.author.is_some(), text: &text };
    words.messages(host_tokens_max(&shape.policy), shape)
}

/// The host's newest summary among our summaries.
#[derive(Clone)]
pub(super) struct HostedPiece {
    /// Number of our summaries before it.
    pub(super) behind: usize,
    pub(super) piece: PromptPiece,
}

/// The newest summary of the host among the entries that our summaries cover, and those of later branches.
///
/// It stands before the summary that covers it, if that one goes on with later entries: the newest words come last.
///
/// * `told` - our summaries in the prompt, oldest first.
/// * `roots` - their roots.
pub(super) fn among(told: &[Arc<Summary>], roots: &[Root], shape: &Shape) -> Option<HostedPiece> {
    let numbered = told.iter().enumerate();
    let items: Vec<(usize, &Item)> = numbered
        .flat_map(|(index, told)| told.items(SectionKind::HostSummary).iter().map(move |item| (index, item)))
        .collect();
    let main = items.iter().rposition(|(_, item)| item.author.is_none()).unwrap_or(0);
    let (at, hosted) = items.get(main)?;
    let ends_there = roots.get(*at).is_none_or(|root| hosted.seqs.last() >= Some(&root.span.1));
    let mut left = host_tokens_max(&shape.policy);
    let mut messages = Vec::new();
    for (_, item) in items.iter().skip(main) {
        let seq = item.seqs.last().copied().unwrap_or_default();
        let text =
            if went_on(told, seq) { without_outlook(&item.text) } else { Cow::Borrowed(item.text.as_str()) };
        let words = HostWords { seq, is_branch: item.author.is_some(), text: &text };
        let Some(made) = words.messages(left, shape) else { break };
        let weight = weigh(made.clone(), Vec::new(), false, shape).tokens.upper;
        left = left.saturating_sub(weight);
        // Their entries are counted with our summaries.
        messages.extend(made.into_iter().map(|message| Message { seqs: Vec::new(), ..message }));
    }
    if messages.is_empty() {
        return None;
    }
    Some(HostedPiece {
        behind: at + usize::from(ends_there),
        piece: weigh(messages, Vec::new(), false, shape),
    })
}

/// Whether a request behind an entry was answered: what was to be done there is no news.
fn went_on(told: &[Arc<Summary>], seq: Seq) -> bool {
    let mut asks = told.iter().flat_map(|told| told.items(SectionKind::Goal));
    asks.any(|ask| ask.state == State::Done && ask.seqs.last().is_some_and(|answered| *answered > seq))
}

/// A host's words about the entries before one.
struct HostWords<'a> {
    seq: Seq,
    is_branch: bool,
    text: &'a str,
}

impl HostWords<'_> {
    /// As a message of at most `max` tokens. `None` without words, or without room for them.
    fn messages(&self, max: u64, shape: &Shape) -> Option<Vec<Message>> {
        let render = |room| Some(host_words(self.text, room, &shape.ruler)).filter(|words| !words.is_empty());
        let wrap = |body: &str| {
            vec![Message { seqs: vec![self.seq], ..ours(&fence_host(self.seq, self.is_branch, body)) }]
        };
        let shown = fitted(max, SUMMARY_FENCE, &render, &wrap, shape)?;
        Some(shown.piece.messages.to_vec())
    }
}
