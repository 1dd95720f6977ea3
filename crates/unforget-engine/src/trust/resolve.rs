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
    /// Resolves a name: a key, a session id, or a unique prefix of either; each optionally followed by `@snapshot` and
    /// `#thread`, in any order.
    ///
    /// A complete key has precedence over a session id, and a session id over prefixes.
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
    let tests: [fn(&str, &str) -> bool; 5] = [
        |key, base| session(key) == base,
        // The name of a gateway's conversation, as reported to its clients.
        |key, base| key.rsplit('/').next() == Some(base),
        |key, base| key.starts_with(base),
        |key, base| session(key).starts_with(base),
        // The id of a sub-agent follows its parent's id.
        |key, base| key.rsplit('/').next().is_some_and(|last| last.starts_with(base)),
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
