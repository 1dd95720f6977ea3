//! Resolves the names of conversations that people type.

use unforget_core::id::{ConversationKey, Thread};
use unforget_store::{Conversation, read_all};

use crate::{Engine, EngineError};

/// Maximum number of candidates in an error.
const CANDIDATES: usize = 10;

/// Maximum number of similar names in an error.
const NEAR: usize = 5;

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The conversation.
    pub conversation: Conversation,
    /// The lane, from `#thread`; 0 is the main lane.
    pub thread: Thread,
    /// The snapshot, from `@snapshot`; `None` for the latest.
    pub snapshot: Option<u64>,
}

impl Engine {
    /// Resolves a name: a key, a session id, a unique prefix of either, or a unique end of at least 6 characters; each
    /// optionally followed by `@snapshot` and `#thread`, in any order.
    ///
    /// A complete key has precedence over a session id, a session id over prefixes, and prefixes over ends.
    ///
    /// # Errors
    /// [`EngineError::NoConversation`], [`EngineError::Ambiguous`].
    pub fn resolve(&self, name: &str) -> Result<Resolved, EngineError> {
        if let Some(conversation) = self.store().find(&ConversationKey(name.to_owned()))? {
            return Ok(Resolved { conversation, thread: Thread(0), snapshot: None });
        }
        let (base, thread, snapshot) = split(name);
        let found = self.store().find(&ConversationKey(base.to_owned()))?;
        let conversation = match found {
            Some(conversation) => conversation,
            None => pick(base, name, &read_all(|page| self.store().conversations(page))?)?,
        };
        Ok(Resolved { conversation, thread: thread.unwrap_or_default(), snapshot })
    }
}

/// The shortest name of each conversation that [`Engine::resolve`] takes for no other one: the beginning of its id, or the end
/// where ids begin alike for long; its key if there is neither.
///
/// * `all` - every conversation of the store.
///
/// Cost: O(n log n).
pub fn short_names(all: &[Conversation]) -> Vec<String> {
    let mut known = NamedKeys {
        names: all.iter().map(|one| own_part(&one.key.0)).collect(),
        keys: all.iter().flat_map(|one| [one.key.0.as_str(), session(&one.key.0)]).collect(),
        ends: all.iter().map(|one| one.key.0.chars().rev().collect()).collect(),
    };
    known.names.sort_unstable();
    known.keys.sort_unstable();
    known.ends.sort_unstable();
    all.iter().map(|one| known.short_name(&one.key.0)).collect()
}

/// Fewest characters of a short name, and of one whose beginning says what it is: `agent-…`.
const SHORT_CHARS: usize = 6;
const SHORT_AGENT_CHARS: usize = 12;

/// A beginning that needs more characters gives way to an end that needs fewer.
const BEGINNING_CHARS: usize = 12;

/// The keys of all conversations, each list sorted.
struct NamedKeys<'a> {
    /// Their own parts.
    names: Vec<&'a str>,
    /// The keys, and those without their formats.
    keys: Vec<&'a str>,
    /// The keys, from their last character to their first.
    ends: Vec<String>,
}

impl NamedKeys<'_> {
    fn short_name(&self, key: &str) -> String {
        let beginning = self.beginning(key);
        let is_short = |name: &&str| name.chars().count() <= BEGINNING_CHARS;
        let end = if beginning.as_ref().is_some_and(is_short) { None } else { self.end(key) };
        let names = [beginning, end].into_iter().flatten();
        names.min_by_key(|name| name.chars().count()).unwrap_or(key).to_owned()
    }

    /// The shortest beginning of a key's own part that begins no other name.
    fn beginning<'k>(&self, key: &'k str) -> Option<&'k str> {
        let own = own_part(key);
        let at = self.names.partition_point(|name| *name < own);
        let is_shared = self.names.get(at + 1).is_some_and(|next| *next == own);
        let before = at.checked_sub(1).and_then(|at| self.names.get(at)).map_or(0, |name| shared(own, name));
        let behind = self.names.get(at + 1).map_or(0, |name| shared(own, name));
        let least = if key.contains('/') { SHORT_AGENT_CHARS } else { SHORT_CHARS };
        let length = least.max(before.max(behind) + 1);
        let ends = own.char_indices().filter(|(_, one)| one.is_alphanumeric());
        let mut ends = ends.map(|(at, one)| at + one.len_utf8());
        let end = match own.char_indices().nth(length - 1) {
            Some((last, _)) => ends.find(|end| *end > last)?,
            None => own.len(),
        };
        let short = own.get(..end).filter(|short| is_word(short))?;
        let family = format!("{key}/");
        let is_ours = |other: &&str| {
            [key, session(key)].contains(other)
                || other.starts_with(&family)
                || other.starts_with(&format!("{}/", session(key)))
        };
        let from = self.keys.partition_point(|other| *other < short);
        let mut rivals = self.keys.iter().skip(from).take_while(|other| other.starts_with(short));
        let is_taken = is_shared || short.contains(['@', '#']) || rivals.any(|other| !is_ours(other));
        (!is_taken).then_some(short)
    }

    /// The shortest end of a key's own part that ends no other key and begins no name.
    fn end<'k>(&self, key: &'k str) -> Option<&'k str> {
        let own = own_part(key);
        let turned: String = key.chars().rev().collect();
        let at = self.ends.partition_point(|end| *end < turned);
        let before = at.checked_sub(1).and_then(|at| self.ends.get(at)).map_or(0, |end| shared(&turned, end));
        let behind = self.ends.get(at + 1).map_or(0, |end| shared(&turned, end));
        let length = SHORT_CHARS.max(before.max(behind) + 1);
        let mut starts = own.char_indices().rev().skip(length - 1);
        let (from, _) = starts.find(|(_, one)| one.is_alphanumeric())?;
        let short = own.get(from..).filter(|short| is_word(short))?;
        let begins = |names: &[&str]| {
            let from = names.partition_point(|other| *other < short);
            names.get(from).is_some_and(|other| other.starts_with(short))
        };
        let is_taken = short.contains(['@', '#']) || begins(&self.keys) || begins(&self.names);
        (!is_taken).then_some(short)
    }
}

/// Whether a name can be typed and copied as one word: it begins and ends with a letter or digit, so that no shell and no command
/// takes it for an option, and a double click takes all of it.
fn is_word(name: &str) -> bool {
    let is_plain = |one: char| one.is_alphanumeric() || ['-', '_', '.', ':'].contains(&one);
    name.starts_with(char::is_alphanumeric)
        && name.ends_with(char::is_alphanumeric)
        && name.chars().all(is_plain)
}

/// The part of a key that no parent and no prefix shares: what is behind its last slash.
fn own_part(key: &str) -> &str {
    key.rsplit('/').next().filter(|_| key.contains('/')).unwrap_or_else(|| session(key))
}

/// Number of characters that two texts begin with.
fn shared(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// Splits `@number` and `#number` off the end, each at most once.
fn split(name: &str) -> (&str, Option<Thread>, Option<u64>) {
    let (mut base, mut thread, mut snapshot) = (name, None, None);
    while let Some(at) = base.rfind(['@', '#']) {
        let (before, sign, number) = (base.get(..at), base.get(at..=at), base.get(at + 1..));
        let Some(number) = number.and_then(|number| number.parse().ok()) else { break };
        match sign {
            Some("@") if snapshot.is_none() => snapshot = Some(number),
            Some("#") if thread.is_none() => thread = Some(Thread(number)),
            _ => break,
        }
        base = before.unwrap_or_default();
    }
    (base, thread, snapshot)
}

/// The one conversation matched by `base`.
fn pick(base: &str, name: &str, all: &[Conversation]) -> Result<Conversation, EngineError> {
    let tests: [fn(&str, &str) -> bool; 7] = [
        |key, base| session(key) == base,
        // The name of a gateway's conversation, as reported to its clients.
        |key, base| key.rsplit('/').next() == Some(base),
        |key, base| key.starts_with(base),
        |key, base| session(key).starts_with(base),
        // The id of a sub-agent follows its parent's id.
        |key, base| key.rsplit('/').next().is_some_and(|last| last.starts_with(base)),
        // Ids that begin alike are told apart by their ends.
        |key, base| base.chars().count() >= SHORT_CHARS && key.ends_with(base),
        // Long names are shown without their middles.
        |key, base| {
            base.split_once('…').is_some_and(|(head, tail)| {
                let is_it = |name: &str| name.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail));
                [key, session(key), own_part(key)].into_iter().any(is_it)
            })
        },
    ];
    if !base.is_empty() {
        for test in tests {
            let mut fitting = all.iter().filter(|one| test(&one.key.0, base));
            let (first, second) = (fitting.next(), fitting.next());
            match (first, second) {
                (Some(one), None) => return Ok(one.clone()),
                // The prefix of a sub-agent's key is its parent's key: the parent is meant.
                (Some(_), Some(_)) => return several(base, name, all, test),
                (None, _) => (),
            }
        }
    }
    Err(EngineError::NoConversation { name: name.to_owned(), near: near(base, all) })
}

/// Resolves several matches: the main conversation, if all others are its sub-agents.
fn several(
    base: &str,
    name: &str,
    all: &[Conversation],
    test: fn(&str, &str) -> bool,
) -> Result<Conversation, EngineError> {
    let fitting: Vec<&Conversation> = all.iter().filter(|one| test(&one.key.0, base)).collect();
    let main = fitting.iter().min_by_key(|one| one.key.0.len());
    if let Some(main) = main {
        let prefix = format!("{}/", main.key.0);
        let is_main = |one: &&Conversation| one.key == main.key || one.key.0.starts_with(&prefix);
        if fitting.iter().all(is_main) {
            return Ok((**main).clone());
        }
    }
    let mut candidates: Vec<String> = fitting.iter().map(|one| one.key.0.clone()).collect();
    candidates.sort();
    candidates.truncate(CANDIDATES);
    Err(EngineError::Ambiguous { name: name.to_owned(), candidates })
}

/// The part of a key behind its format.
fn session(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, session)| session)
}

/// Keys similar to `base`, best first.
fn near(base: &str, all: &[Conversation]) -> Vec<String> {
    let wanted = base.to_lowercase();
    let mut scored: Vec<(usize, &str)> = all
        .iter()
        .map(|one| (common(&wanted, &one.key.0.to_lowercase()), one.key.0.as_str()))
        .filter(|(score, _)| *score >= 3)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(NEAR).map(|(_, key)| key.to_owned()).collect()
}

/// Length of the longest prefix of `wanted`, or of its session, that occurs in `key`.
fn common(wanted: &str, key: &str) -> usize {
    let longest = |text: &str| {
        let ends = text.char_indices().map(|(at, one)| at + one.len_utf8());
        ends.take(64).take_while(|end| text.get(..*end).is_some_and(|start| key.contains(start))).last()
    };
    longest(session(wanted)).max(longest(wanted)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_conversations(keys: &[&str]) -> Engine {
        let engine = Engine::in_memory();
        for key in keys {
            let new = unforget_store::NewConversation {
                key: ConversationKey((*key).to_owned()),
                format: "pi".to_owned(),
                title: None,
                parent: None,
            };
            assert!(engine.store().ensure(&new).is_ok());
        }
        engine
    }

    #[test]
    fn short_names_are_words_and_resolve_to_their_conversation() {
        let keys = [
            "claude-code:4a36aaaa-1",
            "claude-code:4a36aaaa-1/agent-77aabb",
            "claude-code:4a36aabb-2",
            "codex:4a36aabb-3",
            "codex:codexy",
            "journal:gateway/default/0597aaaa",
            "pi:0597aaaa",
            "pi:x",
            "pi:odd#2name",
            "claude-code:11111111-0000-4000-8000-000000000001",
            "claude-code:11111111-0000-4000-8000-000000000002",
            "claude-code:11111111-0000-4000-8000-000000001002",
            "claude-code:11111111-0000-4000-8000-000000000002/agent-00000000000000002",
            "pi:000000001002",
            "pi:a-long-name-000000x",
            "pi:a-long-name-000000#1",
            "pi:-x-begins-like-an-option",
            "pi:abcde-----------fghi",
            "pi:ends-with-signs---",
            "pi:two words here",
            "claude-code:22222222-0000-4000-8000-0000000-00001",
            "claude-code:22222222-0000-4000-8000-0000000-00002",
            "claude-code:22222222-0000-4000-8000-0000001-00001",
        ];
        let engine = with_conversations(&keys);
        let all = read_all(|page| engine.store().conversations(page)).unwrap_or_default();
        assert_eq!(all.len(), keys.len());
        let names = short_names(&all);
        for (name, one) in names.iter().zip(&all) {
            let found = engine.resolve(name).map(|found| found.conversation.key);
            assert_eq!(found.ok().as_ref(), Some(&one.key), "{name}");
            assert!(is_word(name) || *name == one.key.0, "{name}");
        }
        assert_eq!(names.first().map(String::as_str), Some("4a36aaa"));
        assert_eq!(names.get(1).map(String::as_str), Some("agent-77aabb"));
        let longest = names.iter().skip(9).take(7).map(|name| name.chars().count()).max();
        assert!(
            longest.is_some_and(|longest| longest <= 23),
            "ids that begin alike end differently: {names:?}"
        );
        let ends: Vec<&str> = names.iter().skip(9).map(String::as_str).collect();
        assert_eq!(ends.first(), Some(&"000001"));
    }

    #[test]
    fn a_name_that_is_shown_without_its_middle_resolves() {
        let engine = with_conversations(&[
            "pi:a-very-long-name-of-one-session",
            "pi:a-very-long-name-of-two-sessions",
        ]);
        let key = |name: &str| engine.resolve(name).map(|found| found.conversation.key.0).ok();
        let table = [
            ("a-very-lo…one-session", Some("pi:a-very-long-name-of-one-session"), "the id"),
            ("pi:a-very-lo…two-sessions", Some("pi:a-very-long-name-of-two-sessions"), "the key"),
            ("a-very-lo…s", Some("pi:a-very-long-name-of-two-sessions"), "one end"),
            ("a-very…", None, "both"),
            ("a-very…x", None, "neither"),
        ];
        for (name, want, why) in table {
            assert_eq!(key(name).as_deref(), want, "{why}: {name}");
        }
    }

    #[test]
    fn split_table() {
        let table = [
            ("pi:1", ("pi:1", None, None), "a plain key"),
            ("pi:1@3", ("pi:1", None, Some(3)), "a snapshot"),
            ("pi:1#2", ("pi:1", Some(Thread(2)), None), "a lane"),
            ("pi:1#2@3", ("pi:1", Some(Thread(2)), Some(3)), "both"),
            ("pi:1@3#2", ("pi:1", Some(Thread(2)), Some(3)), "in the other order"),
            ("pi:me@home", ("pi:me@home", None, None), "no number behind it"),
            ("pi:1@2@3", ("pi:1@2", None, Some(3)), "each once"),
            ("@", ("@", None, None), "nothing"),
        ];
        for (name, want, why) in table {
            assert_eq!(split(name), want, "{why}");
        }
    }
}
