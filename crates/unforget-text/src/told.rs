//! What an entry tells that somebody may miss when it leaves a prompt: requests, rules, decisions, commands, numbers, paths.

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::ledger::Fact;

use crate::numbers::one_line;
use crate::spoken::spoken;
use crate::{AnchorKind, QuoteKind, anchors, facts, proposals, quotes, typed};

/// Most characters of what is told; longer texts end in `…`.
pub const TOLD_CHARS: usize = 240;

/// Kind of a told thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToldKind {
    /// A person asked for something.
    Request,
    /// A person laid down a rule.
    Rule,
    /// A choice, or the reason for something.
    Decision,
    /// A call of a tool.
    Command,
    /// A quantity, a version or a name.
    Number,
    /// A file or an address.
    Path,
}

impl ToldKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Request, Self::Rule, Self::Decision, Self::Command, Self::Number, Self::Path];

    /// Name for reports and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Command => "command",
            Self::Number => "number",
            Self::Path => "path",
        }
    }

    /// Heading of a list of them.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Request => "Requests",
            Self::Rule => "Rules",
            Self::Decision => "Decisions",
            Self::Command => "Commands",
            Self::Number => "Numbers",
            Self::Path => "Paths",
        }
    }

    /// What they are, for people.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Request => "what people asked for",
            Self::Rule => "what people asked to hold",
            Self::Decision => "what was chosen, and why",
            Self::Command => "what was run or done with tools",
            Self::Number => "quantities, versions, names",
            Self::Path => "files and addresses",
        }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A thing that an entry tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldThing {
    /// Its kind.
    pub kind: ToldKind,
    /// Its words on one line, at most [`TOLD_CHARS`] characters.
    pub text: String,
    /// Whether the entry's text has these words, with single blanks for white space.
    pub is_said: bool,
}

/// What an entry tells, in the order of the kinds' readers: a thing may come twice.
///
/// Cost: linear.
pub fn told(entry: &Entry) -> Vec<ToldThing> {
    let words = words_of(entry);
    let mut found = Vec::new();
    let mut add = |kind, text: &str| {
        let text = one_line(text, TOLD_CHARS);
        let is_said = words.contains(&text);
        if !text.is_empty() {
            found.push(ToldThing { kind, text, is_said });
        }
    };
    for proposal in proposals(entry) {
        add(ToldKind::Rule, proposal.text);
    }
    for quote in quotes(entry).iter().filter(|quote| quote.kind == QuoteKind::Decided) {
        add(ToldKind::Decision, &quote.text);
    }
    for fact in facts(entry) {
        if let Fact::Called(called) = fact {
            add(ToldKind::Command, &called.what);
        }
    }
    let is_request = entry.origin == Origin::Human && entry.role == Role::User;
    for text in texts(entry) {
        if is_request {
            add(ToldKind::Request, &spoken(&typed(text)).join(" "));
        }
        for anchor in anchors(text) {
            match anchor.kind {
                AnchorKind::Path | AnchorKind::Url => add(ToldKind::Path, anchor.text),
                AnchorKind::Quantity | AnchorKind::Version | AnchorKind::Id => {
                    add(ToldKind::Number, anchor.text);
                }
                AnchorKind::Hash => {}
            }
        }
    }
    found
}

fn texts(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// What an entry says, with single blanks for all white space.
fn words_of(entry: &Entry) -> String {
    texts(entry).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, reason = "tables")]

    use super::*;

    fn entry(origin: Origin, role: Role, text: &str) -> Entry {
        Entry { role, parts: vec![Part::Text(text.to_owned())], ..Entry::bare(origin) }
    }

    #[test]
    fn told_table() {
        use ToldKind::{Decision, Number, Path, Request, Rule};
        let person = (Origin::Human, Role::User);
        let model = (Origin::Model, Role::Assistant);
        let table: [((Origin, Role), &str, &[(ToldKind, &str)], &str); 5] = [
            (
                person,
                "Never push to main.",
                &[(Rule, "Never push to main."), (Request, "Never push to main.")],
                "a rule is asked for too",
            ),
            (
                person,
                "read src/main.rs\nplease",
                &[(Request, "read src/main.rs please"), (Path, "src/main.rs")],
                "a request and its path",
            ),
            (
                model,
                "The tests failed because the fixture had no newline.",
                &[(Decision, "The tests failed because the fixture had no newline.")],
                "the reason for something",
            ),
            (model, "it took 4096 bytes", &[(Number, "4096")], "a quantity"),
            ((Origin::Human, Role::User), "```\nls\n```", &[], "code is nobody's request"),
        ];
        for ((origin, role), text, want, why) in table {
            let found = told(&entry(origin, role, text));
            let found: Vec<_> = found.iter().map(|one| (one.kind, one.text.as_str())).collect();
            assert_eq!(found, want, "{why}");
        }
        for kind in ToldKind::ALL {
            assert_eq!(ToldKind::by_name(kind.name()), Some(kind));
        }
        assert_eq!(ToldKind::by_name("paths"), None);
    }

    #[test]
    fn a_long_request_is_cut_and_is_not_said_so() {
        let found = told(&entry(Origin::Human, Role::User, &"word ".repeat(100)));
        assert!(found.iter().all(|one| one.text.chars().count() <= TOLD_CHARS));
        assert!(found.iter().any(|one| one.kind == ToldKind::Request && !one.is_said), "{found:?}");
    }
}
