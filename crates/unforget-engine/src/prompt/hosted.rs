//! The host's own summary in a prompt: where it came in, its words stand in the conversation; when our summaries stand
//! for that place, the newest stands behind them.
//!
//! Nothing of it is stored: the summaries that stand in the prompt hold the words.

use unforget_core::assemble::ours;
use unforget_core::compact::{beside_host, host_tokens_max};
use unforget_core::entry::{Entry, Origin};
use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_core::message::Message;
use unforget_core::policy::Policy;
use unforget_text::{Item, SectionKind, fence_host, host_text, host_words};

use super::pieces::{Piece, fitted, weigh};
use super::{Session, Shape, Written};

/// Tokens that the wrapper of a host's summary takes at most.
const FENCE_TOKENS: u64 = 48;

/// The messages of a group that is a summary of the host; `None` for any other group, and for one without words.
pub(super) fn messages(group: &Group, shape: &Shape) -> Option<Vec<Message>> {
    let item = group.items.first().filter(|_| group.kind == Kind::Input)?;
    if item.entry.origin != Origin::HostSummary {
        return None;
    }
    let words = Words { seq: item.seq, is_branch: is_branch(&item.entry), text: &host_text(&item.entry) };
    words.messages(host_tokens_max(&shape.policy), shape)
}

fn is_branch(entry: &Entry) -> bool {
    entry.author.is_some()
}

/// What a host said about what came before an entry.
struct Words<'a> {
    seq: Seq,
    is_branch: bool,
    text: &'a str,
}

impl Words<'_> {
    /// As a message of at most `max` tokens; `None` if there are no words, or no room for them.
    fn messages(&self, max: u64, shape: &Shape) -> Option<Vec<Message>> {
        let words = |room| host_words(self.text, room, &shape.ruler);
        let render = |room| Some(words(room)).filter(|words| !words.is_empty());
        let wrap = |body: &str| {
            vec![Message { seqs: vec![self.seq], ..ours(&fence_host(self.seq, self.is_branch, body)) }]
        };
        let (_, piece) = fitted(max, FENCE_TOKENS, &render, &wrap, shape)?;
        Some(piece.messages.to_vec())
    }
}

impl Session {
    /// The host's words behind these summaries: its newest summary that they stand for. None while a newer one stands
    /// in the conversation.
    ///
    /// * `written` - what stands in the prompt, oldest first.
    /// * `from` - first group that is behind the summaries.
    /// * `as_of` - the newest entry at the break.
    pub(super) fn host_piece(&self, written: &[Written], from: usize, as_of: Seq) -> Option<Piece> {
        let mut behind = self.view.groups.iter().skip(from).flat_map(|group| &group.items);
        let is_newer = |entry: &Entry| entry.origin == Origin::HostSummary && !is_branch(entry);
        if behind.any(|item| item.seq <= as_of && is_newer(&item.entry)) {
            return None;
        }
        let items = written.iter().flat_map(|written| written.summary.items(SectionKind::HostSummary));
        let items: Vec<&Item> = items.collect();
        let main = items.iter().rposition(|item| item.author.is_none()).unwrap_or(0);
        let shown: Vec<&Item> = items.into_iter().skip(main).collect();
        let mut left = host_tokens_max(&self.shape.policy);
        let mut messages = Vec::new();
        for item in shown {
            let (seq, is_branch) = (item.seqs.last().copied().unwrap_or_default(), item.author.is_some());
            let Some(made) = (Words { seq, is_branch, text: &item.text }).messages(left, &self.shape) else {
                break;
            };
            let weight = weigh(made.clone(), Vec::new(), false, &self.shape).tokens.upper;
            left = left.saturating_sub(weight);
            // What the summaries stand for is counted with them.
            messages.extend(made.into_iter().map(|message| Message { seqs: Vec::new(), ..message }));
        }
        (!messages.is_empty()).then(|| weigh(messages, Vec::new(), false, &self.shape))
    }

    /// Tokens that the next break may need for the host's words: of those that are shown, or of the longest in the
    /// conversation.
    pub(super) fn host_tokens(&self) -> u64 {
        let shown = self.hosted.iter().map(|piece| piece.tokens.upper);
        let is_host = |group: &Group| group.items.iter().any(|item| item.entry.origin == Origin::HostSummary);
        let behind = self.view.groups.iter().zip(&self.sizes).filter(|(group, _)| is_host(group));
        shown.chain(behind.map(|(_, sizes)| sizes.full.upper)).max().unwrap_or(0)
    }

    /// A policy for our summaries beside the host's words.
    pub(super) fn beside_host(&self, policy: &Policy) -> Policy {
        beside_host(policy, self.host_tokens())
    }
}
