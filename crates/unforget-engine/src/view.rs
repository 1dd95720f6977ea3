//! The entries of one lane visible to a model, in groups, along the active path.

use std::collections::VecDeque;
use std::sync::Arc;

use unforget_core::compact::Context;
use unforget_core::digest::{Digest, content_digest};
use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::group::{self, Group, Item, Placed};
use unforget_core::id::Seq;

/// Where the view placed an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nowhere: bookkeeping and copies are not for models.
    Hidden,
    /// System instructions at the start.
    System,
    /// In a group.
    Group(Placed),
}

/// One lane in groups. Holds only the entries behind the summaries.
#[derive(Clone, Debug)]
pub struct View {
    /// System instructions, in order.
    pub system: Vec<(Seq, String)>,
    /// Groups behind the summaries, oldest first.
    pub groups: Vec<Group>,
    /// The view's content chain after each group; later additions to a group are included.
    pub ends: Vec<Digest>,
    /// Number of visible entries, summarised ones included.
    pub visible: u64,
    /// The view's content chain at its end.
    pub end: Digest,
    /// Newest entry of the active path, visible or not.
    pub head: Option<Seq>,
    /// Newest visible entry.
    pub shown: Option<Seq>,
}

impl Default for View {
    fn default() -> Self {
        Self::new()
    }
}

impl View {
    /// An empty lane.
    pub fn new() -> Self {
        Self::behind(&Context::default())
    }

    /// A lane whose first entries are summarised; the caller pushes the entries behind them next.
    pub fn behind(context: &Context) -> Self {
        Self {
            system: Vec::new(),
            groups: Vec::new(),
            ends: Vec::new(),
            visible: context.covered,
            end: context.end,
            head: context.roots.last().map(|root| root.span.1),
            shown: context.roots.last().map(|root| root.span.1),
        }
    }

    /// Adds the next entry of the active path.
    pub fn push(&mut self, seq: Seq, entry: &Arc<Entry>) -> Shown {
        self.head = Some(seq);
        if !Self::shows(entry) {
            return Shown::Hidden;
        }
        self.shown = Some(seq);
        self.end = chain(self.end, entry);
        if entry.role == Role::System && self.visible == 0 {
            self.system.extend(entry.parts.iter().filter_map(|part| match part {
                Part::Text(text) if !text.trim().is_empty() => Some((seq, text.clone())),
                _ => None,
            }));
            return Shown::System;
        }
        let placed = group::push(&mut self.groups, Item { seq, entry: Arc::clone(entry) });
        self.visible += u64::from(!matches!(placed, Placed::Rewrote(..)));
        match placed {
            Placed::New => self.ends.push(self.end),
            // The chain follows arrival order: a late item counts where it arrived.
            Placed::Last | Placed::Earlier(_) | Placed::Rewrote(..) => {
                if let Some(end) = self.ends.last_mut() {
                    *end = self.end;
                }
            }
        }
        Shown::Group(placed)
    }

    /// Whether the entry is visible to a model.
    fn shows(entry: &Entry) -> bool {
        !entry.parts.is_empty() && (entry.origin.is_visible() || entry.origin == Origin::HostSummary)
    }

    /// Removes the first groups after summaries replaced them.
    pub fn drop_groups(&mut self, count: usize) -> Vec<Group> {
        let count = count.min(self.groups.len());
        self.ends.drain(..count);
        self.groups.drain(..count).collect()
    }
}

/// Tells the first record of each answer from further records of the same answer.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    recent: VecDeque<String>,
    /// Whether the newest entry shown to the model is an unnamed piece of an answer, which further pieces continue.
    is_open: bool,
}

/// Number of recent answers that may still receive records, interleaved with others.
const INTERLEAVED: usize = 8;

impl Answers {
    /// Whether the entry begins an answer, so that a prompt was due before it. Entries come in order, once each.
    pub fn is_call(&mut self, entry: &Entry) -> bool {
        if !View::shows(entry) {
            return false;
        }
        let was_open = std::mem::replace(&mut self.is_open, entry.is_nameless_piece());
        if entry.role != Role::Assistant || (self.is_open && was_open) {
            return false;
        }
        let Some(id) = entry.message_id.as_ref().filter(|id| !id.is_empty()) else { return true };
        if self.recent.contains(id) {
            return false;
        }
        if self.recent.len() == INTERLEAVED {
            self.recent.pop_front();
        }
        self.recent.push_back(id.clone());
        true
    }
}

/// The content chain of a view extended by one entry.
pub fn chain(before: Digest, entry: &Entry) -> Digest {
    let mut bytes = [0; 64];
    for (to, from) in bytes.iter_mut().zip(before.0.iter().chain(content_digest(entry).0.iter())) {
        *to = *from;
    }
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(role: Role, origin: Origin, message: Option<&str>) -> Entry {
        let parts = vec![Part::Text("words".to_owned())];
        Entry { role, parts, message_id: message.map(str::to_owned), ..Entry::bare(origin) }
    }

    /// Codex names no answer: its items up to a result or an input are one call.
    #[test]
    fn the_pieces_of_an_answer_are_one_call() {
        let piece = |message| entry(Role::Assistant, Origin::Model, message);
        let result = || entry(Role::Tool, Origin::Tool, None);
        let human = || entry(Role::User, Origin::Human, None);
        let copy = || Entry::bare(Origin::Copy);
        let table = [
            (vec![human(), piece(Some("")), piece(Some(""))], vec![false, true, false], "two items"),
            (vec![piece(Some("")), copy(), piece(Some(""))], vec![true, false, false], "a copy between them"),
            (
                vec![piece(Some("")), result(), piece(Some(""))],
                vec![true, false, true],
                "a result between them",
            ),
            (
                vec![piece(Some("")), human(), piece(Some(""))],
                vec![true, false, true],
                "an input between them",
            ),
            (vec![piece(None), piece(None)], vec![true, true], "records that are whole messages"),
            (
                vec![piece(Some("a")), piece(Some("b")), piece(Some("a"))],
                vec![true, true, false],
                "named ones",
            ),
        ];
        for (entries, want, why) in table {
            let mut answers = Answers::default();
            let calls: Vec<bool> = entries.iter().map(|entry| answers.is_call(entry)).collect();
            assert_eq!(calls, want, "{why}");
        }
    }
}
