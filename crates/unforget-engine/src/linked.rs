//! Conversations that are one session of a host: its transcript, and the lanes in which the gateway keeps its calls.
//!
//! A client names its session in its calls, and the transcript that it writes has the same id. Both are stored, each with its bytes
//! and its own export; a person sees one conversation. The link is told by the keys alone, so that it holds whichever came first.

use std::collections::HashMap;

use unforget_core::id::ConversationKey;
use unforget_store::Conversation;
use unforget_wire::Format;

/// Beginning of the keys of the gateway's lanes.
const LANES: &str = "journal:gateway/";

/// The transcripts of the sessions whose lanes are stored.
///
/// * `all` - every conversation of the store.
///
/// Returns for each lane of the gateway the key of its session's transcript. A session of which several formats have a transcript has
/// none: it is not known which is meant. Cost: O(n).
pub fn transcripts_of_lanes(all: &[Conversation]) -> HashMap<&ConversationKey, &ConversationKey> {
    let mut transcripts: HashMap<&str, Option<&ConversationKey>> = HashMap::new();
    let own = all.iter().filter(|one| one.parent.is_none() && one.format != Format::Journal.name());
    for one in own {
        if let Some((_, session)) = one.key.0.split_once(':') {
            let is_alone = !transcripts.contains_key(session);
            transcripts.insert(session, is_alone.then_some(&one.key));
        }
    }
    let lanes = all.iter().filter_map(|one| Some((&one.key, session_of_lane(&one.key)?)));
    lanes.filter_map(|(lane, session)| Some((lane, (*transcripts.get(session)?)?))).collect()
}

/// The session that the client of a lane named, or the name that it has for a session without one. Side requests and sub-agents
/// of a session have lanes below the name.
fn session_of_lane(key: &ConversationKey) -> Option<&str> {
    let (_tenant, name) = key.0.strip_prefix(LANES)?.split_once('/')?;
    name.split('/').next().filter(|session| !session.is_empty())
}

#[cfg(test)]
mod tests {
    use unforget_store::NewConversation;

    use super::*;
    use crate::Engine;

    #[test]
    fn lanes_are_linked_to_the_transcript_of_their_session() {
        let engine = Engine::in_memory();
        let table = [
            ("journal:gateway/default/4a36", "journal", Some("claude-code:4a36"), "before its transcript"),
            ("claude-code:4a36", "claude-code", None, "a transcript"),
            (
                "journal:gateway/a%2fb/4a36/side",
                "journal",
                Some("claude-code:4a36"),
                "a side request, behind it",
            ),
            ("codex:77", "codex", None, "a transcript"),
            ("pi:77", "pi", None, "a session of the same name at another host"),
            ("journal:gateway/default/77", "journal", None, "not known which is meant"),
            ("journal:gateway/default/mend-it-4", "journal", None, "a call without a session"),
            ("journal:openclaw/4a36", "journal", None, "a live host"),
        ];
        for (key, format, _, _) in table {
            let (key, format) = (ConversationKey(key.to_owned()), format.to_owned());
            let new = NewConversation { key, format, title: None, parent: None };
            assert!(engine.store().ensure(&new).is_ok());
        }
        let all = unforget_store::read_all(|page| engine.store().conversations(page)).unwrap_or_default();
        let links = transcripts_of_lanes(&all);
        for (key, _, want, why) in table {
            let found = links.get(&ConversationKey(key.to_owned())).map(|key| key.0.as_str());
            assert_eq!(found, want, "{why}: {key}");
        }
    }
}
