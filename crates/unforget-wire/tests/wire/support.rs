//! Turns histories into requests like core: grouped, paired, assembled.
use std::sync::Arc;

use unforget_core::assemble::assemble;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::group::{Group, Item, push};
use unforget_core::id::Seq;
use unforget_core::message::{Message, Request};
use unforget_core::pair::{Detail, OmissionReason, messages};

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(crate) fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: arguments.into(),
        complete: true,
        raw: None,
    })
}

/// A result as stored by hosts that do not repeat the name.
pub(crate) fn result(id: &str, is_error: bool, content: Vec<Part>) -> Part {
    let name = String::new();
    Part::ToolResult(ToolResult { call_id: id.into(), name, content, is_error, exit_code: None })
}

pub(crate) fn entry(role: Role, parts: Vec<Part>) -> Entry {
    let origin = match role {
        Role::Assistant => Origin::Model,
        Role::Tool => Origin::Tool,
        _ => Origin::Human,
    };
    Entry { role, parts, ..Entry::bare(origin) }
}

/// A growing history, with our summaries at places in it.
#[derive(Default)]
pub(crate) struct History {
    groups: Vec<Group>,
    next: u64,
    /// Each summary, with the number of groups before it.
    summaries: Vec<(usize, Message)>,
}

impl History {
    /// Adds the next entry.
    pub(crate) fn entry(&mut self, entry: Entry) {
        push(&mut self.groups, Item { seq: Seq(self.next), entry: Arc::new(entry) });
        self.next += 1;
    }

    /// Adds a summary here.
    pub(crate) fn summary(&mut self, text: &str) {
        self.summaries.push((self.groups.len(), unforget_core::assemble::ours(text)));
        self.next += 1;
    }

    /// The request, and the parts of the history missing from it.
    pub(crate) fn request(&self) -> (Request, Vec<(Seq, OmissionReason)>) {
        let mut sent = Vec::new();
        let mut omitted = Vec::new();
        for index in 0..=self.groups.len() {
            let here = self.summaries.iter().filter(|(at, _)| *at == index);
            sent.extend(here.map(|(_, message)| message.clone()));
            if let Some(group) = self.groups.get(index) {
                let paired = messages(group, Detail::Full, &|_, _, _| None);
                sent.extend(paired.messages);
                omitted.extend(paired.omitted);
            }
        }
        (assemble(&["be brief".to_owned()], &sent), omitted)
    }
}
