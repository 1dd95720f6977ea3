//! Running sums over the groups behind the summaries, so that a played entry costs the same in any window.

use unforget_core::compact::{self, Context, Sizes};
use unforget_core::id::Seq;
use unforget_core::message::{Message, Speaker};
use unforget_core::policy::{FRAME, PLACEHOLDER_TOKENS};
use unforget_core::tokens::Tokens;

use super::pieces::GroupPieces;

/// The sums up to each group, for one context.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Where the forms of the groups change.
    forms: GroupForms,
    /// Sums after each group.
    marks: Vec<Mark>,
}

/// The parts of a context that decide in which form a group is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GroupForms {
    stub_below: Seq,
    settled_below: Seq,
}

impl GroupForms {
    const fn of(context: &Context) -> Self {
        Self { stub_below: context.stub_below, settled_below: context.settled_below }
    }
}

/// Sums of the groups up to and including one.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Sizes as the context sends them.
    sent: Tokens,
    /// Number of placeholders between consecutive answers.
    placeholders: u64,
    /// Speaker of the last message.
    last: Speaker,
}

/// Before the first group: a request begins with a user.
const BEGINNING: Mark = Mark { sent: Tokens::exact(0), placeholders: 0, last: Speaker::User };

impl Tally {
    /// The sums of all groups.
    ///
    /// Cost: O(groups).
    pub(super) fn of(context: &Context, sizes: &[Sizes], pieces: &[GroupPieces]) -> Self {
        let mut tally = Self::default();
        for (sizes, pieces) in sizes.iter().zip(pieces) {
            tally.push(context, sizes, pieces);
        }
        tally
    }

    /// Adds the next group. The context of the first group is that of all: after a break, the sums are made again.
    pub(super) fn push(&mut self, context: &Context, sizes: &Sizes, pieces: &GroupPieces) {
        if self.marks.is_empty() {
            self.forms = GroupForms::of(context);
        }
        let mut mark = self.mark();
        mark.sent += compact::sent(context, sizes);
        mark.add(&pieces.full.messages);
        self.marks.push(mark);
    }

    /// Takes away the groups behind the first `groups`.
    pub(super) fn truncate(&mut self, groups: usize) {
        self.marks.truncate(groups);
    }

    fn mark(&self) -> Mark {
        self.marks.last().copied().unwrap_or(BEGINNING)
    }

    /// Size of the groups as the context sends them; `None` if the sums are those of another context.
    pub(super) fn sent(&self, context: &Context) -> Option<Tokens> {
        let is_same = self.marks.is_empty() || self.forms == GroupForms::of(context);
        is_same.then(|| self.mark().sent)
    }

    /// Size of everything around and between the groups: brackets, and placeholders between consecutive answers.
    pub(super) fn frame(&self) -> Tokens {
        let mark = self.mark();
        let placeholders = mark.placeholders + u64::from(mark.last == Speaker::Assistant);
        FRAME + Tokens::exact(placeholders * PLACEHOLDER_TOKENS)
    }
}

impl Mark {
    fn add(&mut self, messages: &[Message]) {
        for message in messages.iter().filter(|message| message.speaker != Speaker::System) {
            let is_answer = message.speaker == Speaker::Assistant;
            self.placeholders += u64::from(is_answer && self.last == Speaker::Assistant);
            self.last = message.speaker;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use proptest::prelude::*;
    use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
    use unforget_core::id::{ConversationId, Thread};
    use unforget_wire::{Dialect, Reader};

    use super::*;
    use crate::Engine;
    use crate::prompt::{Session, Shape, ThreadRef};
    use crate::replay::RecordedHost;

    /// The sums as a walk over all groups finds them.
    fn walked(session: &Session) -> (Tokens, Tokens) {
        let window = &session.window;
        let mut before = Speaker::User;
        let mut placeholders = 0;
        let messages = window.pieces().iter().flat_map(|pieces| pieces.full.messages.iter());
        for message in messages.filter(|message| message.speaker != Speaker::System) {
            let is_answer = message.speaker == Speaker::Assistant;
            placeholders += u64::from(is_answer && before == Speaker::Assistant);
            before = message.speaker;
        }
        placeholders += u64::from(before == Speaker::Assistant);
        let frame = FRAME + Tokens::exact(placeholders * PLACEHOLDER_TOKENS);
        (compact::sent_all(session.context(), window.sizes()), frame)
    }

    /// An agent that writes into a session.
    struct Agent {
        session: Session,
        seq: u64,
        /// Calls without a result.
        waiting: Vec<String>,
        /// The entry to follow instead of the newest one.
        back: Option<Seq>,
    }

    impl Agent {
        fn new() -> Self {
            let engine = Engine::in_memory();
            let text = r#"{"type":"session","version":3,"id":"tally","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/ann"}"#;
            let reader = Reader::open(text.as_bytes()).unwrap();
            let conversation: ConversationId =
                RecordedHost::begin(&engine, reader.source(), None).open().unwrap();
            let lane = ThreadRef { conversation, thread: Thread(0) };
            let session = Session::new(&engine, lane, Shape::new(8_192, None, Dialect::Anthropic), false);
            Self { session, seq: 0, waiting: Vec::new(), back: None }
        }

        fn push(&mut self, role: Role, origin: Origin, part: Part) -> bool {
            let entry = Entry { role, parts: vec![part], ..Entry::bare(origin) };
            let parent = self.back.take().or(self.seq.checked_sub(1).map(Seq));
            let pushed = self.session.push(Seq(self.seq), parent, &Arc::new(entry), 300);
            self.seq += 1;
            pushed.is_ok()
        }

        /// Returns false once the history leads to entries that no store has.
        fn step(&mut self, kind: u8, size: usize) -> bool {
            let words = format!("{} of {}. ", "the lamp burns ".repeat(size), self.seq);
            match kind {
                0 | 1 => self.push(Role::User, Origin::Human, Part::Text(words)),
                2 | 3 => self.push(Role::Assistant, Origin::Model, Part::Text(words)),
                4..=6 => {
                    let id = format!("call_{}", self.seq);
                    let arguments = r#"{"command":"ls"}"#.to_owned();
                    let call = ToolCall {
                        id: id.clone(),
                        name: "bash".to_owned(),
                        arguments,
                        complete: true,
                        raw: None,
                    };
                    self.waiting.push(id);
                    self.push(Role::Assistant, Origin::Model, Part::ToolCall(call))
                }
                7..=9 => {
                    let Some(call_id) = self.waiting.pop() else { return true };
                    let content = vec![Part::Text(words)];
                    let name = "bash".to_owned();
                    let result = ToolResult { call_id, name, content, is_error: false, exit_code: Some(0) };
                    self.push(Role::User, Origin::Tool, Part::ToolResult(result))
                }
                10 => self.session.prompt().is_ok(),
                11 => self.session.compact().is_ok(),
                _ => {
                    self.back = self.seq.checked_sub(2 + size as u64 % 4).map(Seq);
                    true
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whatever is added, changed, taken back or summarised, the running sums are the sums of what is there.
        #[test]
        fn the_sums_are_those_of_a_walk(steps in prop::collection::vec((0_u8..13, 1_usize..400), 1..60)) {
            let mut agent = Agent::new();
            for (kind, size) in steps {
                if !agent.step(kind, size) {
                    break;
                }
                agent.session.measure();
                let (sent, frame) = walked(&agent.session);
                let window = &agent.session.window;
                prop_assert_eq!(window.tally_of(agent.session.context()), Some(sent));
                prop_assert_eq!(window.frame(), frame);
            }
        }
    }

    #[test]
    fn a_context_with_other_forms_has_other_sums() {
        let mut agent = Agent::new();
        assert!(agent.step(4, 1) && agent.step(7, 300));
        agent.session.measure();
        let other = Context { stub_below: Seq(9), ..agent.session.context().clone() };
        let window = &agent.session.window;
        assert_eq!(window.tally_of(&other), None);
        assert_eq!(window.sent(&other), compact::sent_all(&other, window.sizes()));
        assert_ne!(window.sent(&other), window.sent(agent.session.context()));
    }
}
