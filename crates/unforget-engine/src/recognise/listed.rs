//! Conversations as a person recognises them, in lists.

use std::collections::BTreeMap;

use unforget_core::id::{ConversationId, ConversationKey, Timestamp};
use unforget_store::{Conversation, LabelRow, read_all};
use unforget_text::numbers::one_line;
use unforget_text::visible;
use unforget_wire::Format;

use super::{ConversationFacts, ConversationTitle, TitleSource};
use crate::discover::{OPENCLAW, host_of_path};
use crate::linked::transcripts_of_lanes;
use crate::trust::short_names;
use crate::{Engine, EngineError};

/// Most characters of a title that are kept.
const TITLE_CHARS: usize = 200;

/// A conversation as a person recognises it.
#[derive(Clone, Debug)]
pub struct RecognisedConversation {
    /// Its row.
    pub stored: Conversation,
    /// The agent that had it: see [`Engine::agent_of`].
    pub agent: String,
    /// Title, project, turns.
    pub facts: ConversationFacts,
    /// What a person says of it.
    pub label: LabelRow,
    /// The shortest name that `resolve` takes for it alone.
    pub name: String,
    /// Of a lane of the gateway: the transcript of the same session, if it is stored. A person sees that one.
    pub transcript: Option<ConversationKey>,
}

/// Whether a host's name is `wanted`, or begins with the words of `wanted`.
pub fn is_host_called(host: &str, wanted: &str) -> bool {
    host.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl RecognisedConversation {
    /// The agent that had it: see [`Engine::agent_of`].
    pub fn host(&self) -> &str {
        &self.agent
    }

    /// Whether a person who names the host `wanted` means its agent: by all words of the name or the first ones, so `codex` is
    /// also `codex-exec`, and `pi` is not `copilot-cli`.
    pub fn is_of_host(&self, wanted: &str) -> bool {
        is_host_called(&self.agent, wanted)
    }

    /// The conversation under which it stands in a list: the one that started it, or the transcript of its session.
    pub fn above(&self) -> Option<&ConversationKey> {
        self.stored.parent.as_ref().or(self.transcript.as_ref())
    }

    /// The person's own title of the conversation; without one, the title of its facts.
    pub fn known_title(&self) -> Option<ConversationTitle<'_>> {
        let own = self.label.title.as_deref();
        let own = own.map(|text| ConversationTitle { text, source: TitleSource::Label });
        own.or_else(|| self.facts.title())
    }

    /// Its title on one line; a dash without one.
    pub fn title(&self) -> String {
        let title = self.known_title().map_or("–", |title| title.text);
        one_line(&visible(title), TITLE_CHARS)
    }

    /// Its star and tags on one line, before a title; empty without any.
    pub fn marks(&self) -> String {
        let star = self.label.is_starred.then(|| "★".to_owned());
        let tags = self.label.tags.iter().map(|tag| format!("#{}", visible(tag)));
        one_line(&star.into_iter().chain(tags).collect::<Vec<_>>().join(" "), TITLE_CHARS)
    }

    /// The name of its project, on one line; empty if nothing tells it.
    pub fn project(&self) -> String {
        one_line(&visible(self.facts.project().unwrap_or_default()), TITLE_CHARS)
    }

    /// Text with paths below its folder as paths from there.
    pub fn relative(&self, text: &str) -> String {
        match self.facts.folder.as_deref().map(|folder| folder.trim_end_matches('/')) {
            Some(folder) if !folder.is_empty() => text.replace(&format!("{folder}/"), ""),
            _ => text.to_owned(),
        }
    }

    /// Time of its newest entry.
    pub fn last(&self) -> Option<Timestamp> {
        self.stored.time.map(|(_, last)| last)
    }

    /// Whether a word stands in what a person recognises it by; `word` is in lower case.
    pub fn has(&self, word: &str) -> bool {
        let facts = &self.facts;
        let texts = [
            self.label.title.as_deref(),
            facts.title().map(|title| title.text),
            facts.folder.as_deref(),
            facts.branch.as_deref(),
            facts.repository.as_deref(),
            Some(self.stored.key.0.as_str()),
        ];
        let texts = texts.into_iter().flatten().chain(self.label.tags.iter().map(String::as_str));
        texts.map(str::to_lowercase).any(|text| text.contains(word))
    }
}

impl Engine {
    /// The agent that had a conversation: the name of its format, or of the way on which its messages came. OpenClaw writes
    /// the format of pi, and is told by the folder of its transcript.
    ///
    /// Cost: for sessions of pi the newest snapshot, else nothing.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn agent_of(&self, stored: &Conversation) -> Result<String, EngineError> {
        let name = match Format::by_name(&stored.format) {
            Some(Format::Journal) if stored.key.0.starts_with("journal:gateway/") => "gateway",
            Some(Format::Journal) => "live",
            Some(Format::Pi) => {
                let snapshot = self.store().latest_snapshot(stored.id)?;
                let folder = snapshot.and_then(|snapshot| host_of_path(&snapshot.path));
                if folder == Some(OPENCLAW) { "openclaw" } else { "pi" }
            }
            _ => &stored.format,
        };
        Ok(name.to_owned())
    }

    /// The wanted conversations as a person recognises them, in order of arrival.
    ///
    /// Cost: O(conversations), and [`Engine::facts_of`] for each wanted one.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn recognised(
        &self,
        is_wanted: &dyn Fn(&Conversation) -> bool,
    ) -> Result<Vec<RecognisedConversation>, EngineError> {
        let all = read_all(|page| self.store().conversations(page))?;
        let (names, links) = (short_names(&all), transcripts_of_lanes(&all));
        let labels = read_all(|page| self.store().labels(page))?;
        let labels: BTreeMap<ConversationId, LabelRow> =
            labels.into_iter().map(|label| (label.conversation, label)).collect();
        let wanted = all.iter().zip(names).filter(|(stored, _)| is_wanted(stored));
        let one = |(stored, name): (&Conversation, String)| {
            let transcript = links.get(&stored.key).map(|key| (*key).clone());
            Ok(RecognisedConversation {
                agent: self.agent_of(stored)?,
                facts: self.facts_of(stored)?,
                label: labels.get(&stored.id).cloned().unwrap_or(LabelRow::blank(stored.id)),
                stored: stored.clone(),
                name,
                transcript,
            })
        };
        wanted.map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::is_host_called;

    #[test]
    fn hosts_table() {
        let table = [
            ("pi", "pi", true, "its name"),
            ("copilot-cli", "pi", false, "letters in the middle"),
            ("copilot-cli", "copilot", true, "the first word"),
            ("claude-code", "claude", true, "the first word"),
            ("claude-code", "claude-code", true, "its name"),
            ("claude-code", "code", false, "another word"),
            ("openclaw", "open", false, "a part of a word"),
            ("codex", "", false, "no name"),
        ];
        for (host, wanted, want, why) in table {
            assert_eq!(is_host_called(host, wanted), want, "{why}: {host}, {wanted}");
        }
    }
}
