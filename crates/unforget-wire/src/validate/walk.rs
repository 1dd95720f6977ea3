//! Common checks of the message lists of all dialects.

use serde_json::Value;

use super::field;
use super::found::FoundViolations;
use super::pairs::Pairs;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Instructions: not part of the conversation.
    System,
    /// A person, or the host.
    User,
    /// The model.
    Model,
    /// A tool, or a speaker unknown to the dialect.
    Other,
}

/// A message and its place.
pub(super) struct Turn<'a, 'p> {
    /// The message.
    pub(super) value: &'a Value,
    /// Its role, empty if it has none.
    pub(super) role: &'a str,
    /// JSON pointer to it.
    pub(super) place: &'p str,
    /// The message before it.
    pub(super) before: Option<&'a Value>,
    /// The message behind it.
    pub(super) next: Option<&'a Value>,
}

impl Turn<'_, '_> {
    /// Checks that roles alternate.
    pub(super) fn alternates(&self, found: &mut FoundViolations) {
        let same = self.before.and_then(|before| field(before, "role")) == Some(self.role);
        found.want(!same, "alternate", self.place, "two messages in a row have one role");
    }
}

/// Walks the list at `key`: it exists and is not empty, a user comes first, and the model is not last.
///
/// * `each` - checks a message and returns its speaker.
pub(super) fn walk<'a>(
    body: &'a Value,
    key: &str,
    found: &mut FoundViolations,
    mut each: impl FnMut(&Turn<'a, '_>, &mut FoundViolations) -> Who,
) {
    let Some(list) = body.get(key).and_then(Value::as_array) else {
        return found.add("shape", String::new(), format!("no list {key}"));
    };
    let all = format!("/{key}");
    found.want(!list.is_empty(), "not-empty", &all, "no messages");
    let (mut started, mut last) = (false, Who::Other);
    for (index, value) in list.iter().enumerate() {
        let place = format!("{all}/{index}");
        let before = index.checked_sub(1).and_then(|before| list.get(before));
        let role = field(value, "role").unwrap_or_default();
        last = each(&Turn { value, role, place: &place, before, next: list.get(index + 1) }, found);
        if last != Who::System {
            found.want(started || last == Who::User, "first-user", &place, "first message is not the user's");
            started = true;
        }
    }
    found.want(started || list.is_empty(), "first-user", &all, "no message of the user");
    found.want(last != Who::Model, "last-not-assistant", &all, "last message is the assistant's");
}

/// Walks the list `messages` of a dialect with users and assistants only, with results in users' messages.
///
/// * `instructions` - checks a message of role `system`, in dialects that accept one between the others.
/// * `content` - checks a message's content and pairs its calls with results.
pub(super) fn dialogue<'a>(
    body: &'a Value,
    found: &mut FoundViolations,
    instructions: Option<fn(&Turn<'_, '_>, &mut FoundViolations)>,
    mut content: impl FnMut(&Turn<'a, '_>, &mut Pairs<'a>, &mut FoundViolations),
) {
    let mut pairs = Pairs::default();
    walk(body, "messages", found, |turn, found| {
        if let Some(check) = instructions.filter(|_| turn.role == "system") {
            check(turn, found);
            return Who::System;
        }
        found.fields(turn.value, &["role", "content"], turn.place);
        turn.alternates(found);
        let who = match turn.role {
            "user" => Who::User,
            "assistant" => Who::Model,
            _ => Who::Other,
        };
        found.want(who != Who::Other, "role", turn.place, "role is neither user nor assistant");
        if who == Who::Model {
            pairs.close(turn.place, found);
        }
        content(turn, &mut pairs, found);
        if who == Who::User {
            pairs.close(turn.place, found);
        }
        who
    });
    pairs.close("/messages", found);
}
