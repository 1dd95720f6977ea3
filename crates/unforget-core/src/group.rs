//! Exchange groups: the units that are never split.
//!
//! A group is one input, or one assistant message (perhaps in several records) with all its calls and all their
//! results. Groups are the units of cutting, stubbing and leaving out.

use std::sync::Arc;

use crate::entry::{Entry, Origin, Part, Role, Status};
use crate::id::Seq;

/// A visible entry in its view.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its place in the order of arrival.
    pub seq: Seq,
    /// Its content.
    pub entry: Arc<Entry>,
}

/// What kind of group it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One entry that no model wrote and that answers no call.
    Input,
    /// An assistant message with the results of its calls.
    Exchange,
    /// A result whose call is missing from the view. It cannot be sent as a result.
    Orphan,
}

/// An exchange group.
#[derive(Clone, Debug)]
pub struct Group {
    /// What kind.
    pub kind: Kind,
    /// Its entries: the assistant's records, then results, each in order of arrival.
    pub items: Vec<Item>,
    /// Number of calls without a result.
    pub unanswered: usize,
}

impl Group {
    /// Whether a person wrote it.
    pub fn is_human(&self) -> bool {
        self.kind == Kind::Input && self.items.iter().any(|item| item.entry.origin == Origin::Human)
    }

    /// Seq of the first entry by arrival.
    pub fn first_seq(&self) -> Seq {
        self.items.iter().map(|item| item.seq).min().unwrap_or_default()
    }

    /// Seq of the last entry by arrival.
    pub fn last_seq(&self) -> Seq {
        self.items.iter().map(|item| item.seq).max().unwrap_or_default()
    }
}

/// Where [`push`] put an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// A new last group.
    New,
    /// Into the last group.
    Last,
    /// Into an earlier group with this index. A prompt that showed the group has changed.
    Earlier(usize),
    /// In place of an entry of this group with the same host id.
    Rewrote(usize),
}

/// How many groups back a late result may find its call. Limits the work per entry.
const LATE_GROUPS: usize = 64;

/// Adds the next visible entry to the groups of a view.
///
/// A result goes to the newest group that has an unanswered call of its id, records of one API message go together, and
/// anything else starts a group.
///
/// Cost: O(1) amortised, at most `LATE_GROUPS` groups are looked at. Source: F047, F048, F049.
pub fn push(groups: &mut Vec<Group>, item: Item) -> Placed {
    if let Some(at) = known(groups, &item) {
        return replace(groups, at, item);
    }
    if item.entry.role == Role::Assistant {
        return push_assistant(groups, item);
    }
    if item.entry.results().next().is_some() {
        return push_results(groups, item);
    }
    groups.push(Group { kind: Kind::Input, items: vec![item], unanswered: 0 });
    Placed::New
}

/// The group that holds an entry with the same host id, which the host has now rewritten.
fn known(groups: &[Group], item: &Item) -> Option<usize> {
    let id = item.entry.host_id.as_ref()?;
    let same = |group: &Group| group.items.iter().any(|other| other.entry.host_id.as_ref() == Some(id));
    let back = groups.iter().rev().take(LATE_GROUPS).position(same)?;
    Some(groups.len() - 1 - back)
}

/// Puts the newer record in the place of the older one.
fn replace(groups: &mut [Group], at: usize, item: Item) -> Placed {
    let Some(group) = groups.get_mut(at) else { return Placed::New };
    if let Some(held) = group.items.iter_mut().find(|other| other.entry.host_id == item.entry.host_id) {
        let answered = open_calls(&held.entry).saturating_sub(group.unanswered);
        group.unanswered = open_calls(&item.entry).saturating_sub(answered);
        *held = item;
    }
    Placed::Rewrote(at)
}

fn push_assistant(groups: &mut Vec<Group>, item: Item) -> Placed {
    let delta = open_calls(&item.entry);
    let is_open = |group: &Group| group.items.iter().all(|other| other.entry.is_nameless_piece());
    let neighbours = groups.last().filter(|group| item.entry.is_nameless_piece() && is_open(group));
    let neighbours = neighbours.map(|_| groups.len() - 1);
    let named = item.entry.message_id.as_ref().filter(|id| !id.is_empty());
    let found = named.and_then(|id| {
        let back = groups.iter().rev().take(LATE_GROUPS).position(|group| is_of_message(group, id))?;
        Some(groups.len() - 1 - back)
    });
    let found = found.or(neighbours);
    let Some((at, group)) = found.and_then(|at| groups.get_mut(at).map(|group| (at, group))) else {
        groups.push(Group { kind: Kind::Exchange, items: vec![item], unanswered: delta });
        return Placed::New;
    };
    group.unanswered += delta;
    let results_from = group.items.iter().position(|other| other.entry.role != Role::Assistant);
    group.items.insert(results_from.unwrap_or(group.items.len()), item);
    placed(groups.len(), at)
}

/// Whether a group holds a piece of the assistant message with this id.
fn is_of_message(group: &Group, id: &str) -> bool {
    let mut answers = group.items.iter().filter(|other| other.entry.role == Role::Assistant);
    answers.any(|other| other.entry.message_id.as_deref() == Some(id))
}

/// Whether a group holds a call that an entry answers.
fn is_answered_by(group: &Group, entry: &Entry) -> bool {
    let mut answers = group.items.iter().filter(|other| other.entry.role == Role::Assistant);
    group.kind == Kind::Exchange
        && answers
            .any(|other| calls(&other.entry).any(|id| entry.results().any(|result| result.call_id == id)))
}

fn push_results(groups: &mut Vec<Group>, item: Item) -> Placed {
    let newest = groups.iter().rev().take(LATE_GROUPS);
    let open = newest.clone().position(|group| group.unanswered > 0 && is_answered_by(group, &item.entry));
    let back = open.or_else(|| newest.clone().position(|group| is_answered_by(group, &item.entry)));
    let at = back.map(|back| groups.len() - 1 - back);
    let Some((at, group)) = at.and_then(|at| groups.get_mut(at).map(|group| (at, group))) else {
        groups.push(Group { kind: Kind::Orphan, items: vec![item], unanswered: 0 });
        return Placed::New;
    };
    group.unanswered = group.unanswered.saturating_sub(item.entry.results().count());
    group.items.push(item);
    placed(groups.len(), at)
}

fn placed(len: usize, at: usize) -> Placed {
    if at + 1 == len { Placed::Last } else { Placed::Earlier(at) }
}

/// Ids of all calls of an entry, whole or cut off: a result of a cut-off call belongs to the entry too.
fn calls(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

/// Number of calls that still need a result. A record with its own results (Gemini) needs none.
fn open_calls(entry: &Entry) -> usize {
    if entry.status != Status::Complete {
        return 0;
    }
    entry.live_calls().count().saturating_sub(entry.results().count())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::entry::{ToolCall, ToolResult};

    /// `u` input, `a` assistant, `a:x,y` with calls, `r:x` result, `m1/a:x` a piece of message m1.
    fn groups(text: &str) -> String {
        let mut groups = Vec::new();
        for (seq, word) in text.split(' ').enumerate() {
            let (message_id, word) = word.split_once('/').map_or((None, word), |(id, rest)| (Some(id), rest));
            let (kind, ids) = word.split_once(':').unwrap_or((word, ""));
            let mut entry = Entry::bare(Origin::Human);
            entry.message_id = message_id.map(str::to_owned);
            entry.role = Role::User;
            for id in ids.split(',').filter(|id| !id.is_empty()) {
                entry.parts.push(if kind == "a" {
                    Part::ToolCall(ToolCall {
                        id: id.into(),
                        name: "t".into(),
                        arguments: "{}".into(),
                        complete: true,
                        raw: None,
                    })
                } else {
                    Part::ToolResult(ToolResult {
                        call_id: id.into(),
                        name: String::new(),
                        content: vec![],
                        is_error: false,
                        exit_code: None,
                    })
                });
            }
            match kind {
                "a" => (entry.role, entry.origin) = (Role::Assistant, Origin::Model),
                "r" => (entry.role, entry.origin) = (Role::Tool, Origin::Tool),
                _ => {}
            }
            push(&mut groups, Item { seq: Seq(seq as u64), entry: Arc::new(entry) });
        }
        let show = |group: &Group| {
            let items: Vec<_> = group.items.iter().map(|item| item.seq.0.to_string()).collect();
            format!("{}{}", items.join("+"), "?".repeat(group.unanswered))
        };
        groups.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn push_table() {
        let table = [
            ("u a", "0 1", "one turn without calls"),
            ("u a:x r:x a", "0 1+2 3", "a call and its result"),
            ("u a:x,y r:y r:x a", "0 1+2+3 4", "parallel calls, results out of order"),
            ("a:x u r:x", "0+2 1", "f048: a late result finds its call"),
            ("u r:x", "0 1", "an orphan stands alone"),
            ("a:x r:x a:x r:x", "0+1 2+3", "f049: a reused id pairs with the newest open call"),
            ("m1/a:x r:x m1/a:y r:y", "0+2+1+3", "one API message over many lines"),
            ("a:x,y r:x u", "0+1? 2", "a missing result is counted"),
            ("a:x r:x r:x", "0+1+2", "a second result stays with its call"),
            ("a a", "0 1", "two answers in a row are two groups"),
            (
                "u /a /a:x /a:y r:x r:y /a u /a",
                "0 1+2+3+4+5 6 7 8",
                "pieces without a name: neighbours are one answer",
            ),
            ("/a a /a", "0 1 2", "others are not pieces of it"),
        ];
        for (history, want, why) in table {
            assert_eq!(groups(history), want, "{why}: {history}");
        }
    }
}
