//! By what a person recognises a conversation: its title, where it ran, how long it is.
//!
//! The facts are derived. An import folds them while it reads the file and stores them with its snapshot; for a conversation that grew
//! in another way they are folded from its first entries and its new rows when somebody asks, and stored if this engine
//! may write. A purge drops them with every other state of the conversation.

mod listed;

use std::iter::once;

use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::id::Thread;
use unforget_store::{ContextRow, Conversation};
use unforget_text::{title, title_of_message};
use unforget_wire::{Format, SessionFacts, decode};

use crate::journal::STATE;
use crate::rows::{stored_portions, stored_raw, stored_rows};
use crate::{Engine, EngineError, varint};

pub use listed::{RecognisedConversation, is_host_called};

/// Key of the facts under [`STATE`].
const FACTS: u64 = 16;

/// Version of the stored form.
const VERSION: u8 = 2;

/// First records of which the session's facts are read where no import read all of them.
const HEAD: u64 = 16;

/// Messages of a person that are decoded in search of a title, per reading.
const LOOKED_AT: u64 = 8;

/// What wrote a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// A person, in the conversation's label.
    Label,
    /// The host, or a person through it.
    Host,
    /// The first words that a person typed.
    Words,
    /// What was done first: nobody typed a word.
    Work,
}

impl TitleSource {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Host => "host",
            Self::Words => "words",
            Self::Work => "work",
        }
    }
}

/// A title and what wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationTitle<'a> {
    /// One line.
    pub text: &'a str,
    /// What wrote it.
    pub source: TitleSource,
}

/// By what a person recognises a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationFacts {
    /// The host's title.
    host_title: Option<String>,
    /// The first words of a person.
    words: Option<String>,
    /// The first thing that was done.
    work: Option<String>,
    /// The folder in which it began.
    pub folder: Option<String>,
    /// The newest branch that it worked on.
    pub branch: Option<String>,
    /// The address of the repository, if the host tells it.
    pub repository: Option<String>,
    /// Number of messages of a person in the main lane.
    pub turns: u64,
    /// Number of stored entries that the facts are of.
    entries: u64,
}

impl ConversationFacts {
    /// The title: the host's, else the first words that a person typed, else what was done.
    pub fn title(&self) -> Option<ConversationTitle<'_>> {
        let kinds = [
            (&self.host_title, TitleSource::Host),
            (&self.words, TitleSource::Words),
            (&self.work, TitleSource::Work),
        ];
        kinds
            .into_iter()
            .find_map(|(text, source)| Some(ConversationTitle { text: text.as_deref()?, source }))
    }

    /// The name of the project: the last part of the repository's address, else of the folder.
    pub fn project(&self) -> Option<&str> {
        let repository = self.repository.as_deref().and_then(last_part);
        repository.map(|name| name.strip_suffix(".git").unwrap_or(name)).or_else(|| {
            let folder = self.folder.as_deref()?;
            last_part(folder).or(Some(folder))
        })
    }

    /// The facts before the first entry.
    ///
    /// * `given` - the title at the start of the transcript.
    pub(crate) fn titled(given: Option<&str>) -> Self {
        Self { host_title: given.and_then(title), ..Self::default() }
    }

    /// Takes the next entry of the transcript.
    pub(crate) fn take(&mut self, entry: &Entry, thread: Thread) {
        if thread != Thread(0) || entry.parts.is_empty() {
            return;
        }
        match entry.origin {
            Origin::Human if entry.role == Role::User => {
                self.turns += u64::from(entry.parts.iter().any(is_content));
                self.name_by(entry);
            }
            Origin::Model if self.words.is_none() && self.work.is_none() => {
                self.work = entry.parts.iter().find_map(done);
            }
            _ => {}
        }
    }

    /// Takes the title from a message, if there is none yet.
    fn name_by(&mut self, entry: &Entry) {
        if self.words.is_none() {
            let mut texts = entry.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            self.words = texts.find_map(title_of_message);
        }
    }

    /// Takes what the transcript says about its session.
    pub(crate) fn of_session(&mut self, session: &SessionFacts) {
        self.host_title = session.title.as_deref().and_then(title).or_else(|| self.host_title.take());
        self.folder.clone_from(&session.folder);
        self.branch.clone_from(&session.branch);
        self.repository.clone_from(&session.repository);
    }

    /// The stored form.
    ///
    /// * `entries` - number of stored entries of the conversation.
    pub(crate) fn row(&self, entries: u64) -> ContextRow {
        let mut state = vec![VERSION];
        varint::put(&mut state, entries);
        varint::put(&mut state, self.turns);
        let texts = [&self.host_title, &self.words, &self.work, &self.folder, &self.branch, &self.repository];
        for text in texts {
            varint::put(&mut state, text.as_ref().map_or(0, |text| text.len() as u64 + 1));
            state.extend_from_slice(text.as_deref().unwrap_or_default().as_bytes());
        }
        ContextRow { thread: STATE, budget: FACTS, state }
    }

    /// Reads the stored form. `None` for any other bytes.
    fn read(state: &[u8]) -> Option<Self> {
        let mut rest = state.strip_prefix(&[VERSION])?;
        let mut facts =
            Self { entries: varint::take(&mut rest)?, turns: varint::take(&mut rest)?, ..Self::default() };
        let texts = [
            &mut facts.host_title,
            &mut facts.words,
            &mut facts.work,
            &mut facts.folder,
            &mut facts.branch,
            &mut facts.repository,
        ];
        for text in texts {
            if let Some(length) = varint::take(&mut rest)?.checked_sub(1) {
                let (read, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                *text = Some(String::from_utf8(read.to_vec()).ok()?);
                rest = behind;
            }
        }
        rest.is_empty().then_some(facts)
    }
}

/// Whether a part says or shows something.
fn is_content(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.trim().is_empty(),
        _ => true,
    }
}

/// A model's words or call as a title.
fn done(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => title(text),
        Part::ToolCall(call) => title(&format!("{} {}", call.name, call.arguments)),
        _ => None,
    }
}

/// The last part of a path or an address, which is not empty.
fn last_part(text: &str) -> Option<&str> {
    text.rsplit(['/', '\\', ':']).find(|part| !part.is_empty())
}

impl Engine {
    /// The facts by which a person recognises a conversation.
    ///
    /// Cost: one row where an import stored them, or an earlier call of an engine that may write. Otherwise the first records, and the rows behind
    /// the entries that are known; at most 8 messages are decoded.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn facts_of(&self, conversation: &Conversation) -> Result<ConversationFacts, EngineError> {
        let (store, id) = (self.store(), conversation.id);
        let stored = store.context(id, STATE, FACTS)?.and_then(|row| ConversationFacts::read(&row.state));
        if let Some(facts) = stored.as_ref().filter(|facts| facts.entries >= conversation.entries) {
            return Ok(facts.clone());
        }
        let mut facts = match stored {
            Some(facts) => facts,
            None => self.first_facts(conversation)?,
        };
        let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
        let mut decoded = 0;
        for row in stored_rows(store, id, once(facts.entries..conversation.entries)) {
            let row = row?;
            let is_person = row.origin == Origin::Human && row.role == Role::User;
            if !is_person || row.thread != Thread(0) || row.tokens.expected == 0 {
                continue;
            }
            facts.turns += 1;
            if facts.words.is_none() && decoded < LOOKED_AT && !row.purged {
                decoded += 1;
                let raw = stored_raw(store, id, row.seq)?;
                if let Some(raw) = raw {
                    facts.name_by(&decode(format, &raw.body));
                }
            }
        }
        facts.entries = conversation.entries;
        if self.is_writer() {
            store.put_summaries(id, &[], Some(&facts.row(conversation.entries)))?;
        }
        Ok(facts)
    }

    /// The facts in the first records of a conversation.
    fn first_facts(&self, conversation: &Conversation) -> Result<ConversationFacts, EngineError> {
        let (store, id) = (self.store(), conversation.id);
        let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
        let mut session = SessionFacts::default();
        let mut facts = ConversationFacts::titled(conversation.title.as_deref());
        if let Some(portion) = stored_portions(store, id, once(0..conversation.entries.min(HEAD))).next() {
            for raw in portion?.raw(store, id)? {
                session.read(format, &raw.body);
                if facts.work.is_none() {
                    let entry = decode(format, &raw.body);
                    let is_model = entry.origin == Origin::Model && entry.thread.is_none();
                    facts.work = entry.parts.iter().filter(|_| is_model).find_map(done);
                }
            }
        }
        facts.of_session(&session);
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const CLAUDE: &str = concat!(
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5e55","cwd":"/w/tool","gitBranch":"main","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"<command-name>/clear</command-name>"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"5e55","cwd":"/w/tool","gitBranch":"fix","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Cleared."}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"5e55","cwd":"/w/tool","gitBranch":"fix","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":"<system-reminder>be good</system-reminder>\nmend the parser"}}"#,
        "\n",
    );

    fn facts(engine: &Engine) -> ConversationFacts {
        let id = engine.store().find(&unforget_core::id::ConversationKey("claude-code:5e55".into()));
        engine.facts_of(&id.unwrap().unwrap()).unwrap()
    }

    #[test]
    fn an_import_names_a_conversation_by_what_was_typed_and_later_by_the_host() {
        let engine = Engine::in_memory();
        engine.import_reader(CLAUDE.as_bytes(), "a").unwrap();
        let first = facts(&engine);
        let title = first.title().unwrap();
        assert_eq!((title.text, title.source), ("mend the parser", TitleSource::Words));
        assert_eq!((first.folder.as_deref(), first.branch.as_deref()), (Some("/w/tool"), Some("fix")));
        assert_eq!((first.project(), first.turns), (Some("tool"), 2));
        let named =
            format!("{CLAUDE}{}\n", r#"{"type":"custom-title","customTitle":"Parser","sessionId":"5e55"}"#);
        engine.import_reader(named.as_bytes(), "a").unwrap();
        assert_eq!(facts(&engine).title().unwrap().text, "Parser");
        assert_eq!(facts(&engine).turns, 2, "counted once");
    }

    #[test]
    fn facts_that_no_import_stored_are_made_from_the_first_entries() {
        let engine = Engine::in_memory();
        engine.import_reader(CLAUDE.as_bytes(), "a").unwrap();
        let (store, want) = (engine.store(), facts(&engine));
        let id =
            store.find(&unforget_core::id::ConversationKey("claude-code:5e55".into())).unwrap().unwrap().id;
        for state in [Vec::new(), vec![VERSION, 1], vec![9]] {
            let row = ContextRow { thread: STATE, budget: FACTS, state };
            store.put_summaries(id, &[], Some(&row)).unwrap();
            assert_eq!(facts(&engine), ConversationFacts { work: Some("Cleared.".into()), ..want.clone() });
        }
    }

    #[test]
    fn a_purge_takes_the_title_with_the_words() {
        let engine = Engine::in_memory();
        engine.import_reader(CLAUDE.as_bytes(), "a").unwrap();
        let id = engine.store().find(&unforget_core::id::ConversationKey("claude-code:5e55".into()));
        engine.store().purge(id.unwrap().unwrap().id, 2..3).unwrap();
        assert_eq!(facts(&engine).title().unwrap().source, TitleSource::Work);
    }

    #[test]
    fn projects_table() {
        let table = [
            (Some("git@github.com:me/tool.git"), Some("/w/copy"), Some("tool"), "the repository"),
            (None, Some("/w/tool/"), Some("tool"), "the folder"),
            (None, Some(r"C:\w\tool"), Some("tool"), "a folder of Windows"),
            (None, Some("/"), Some("/"), "the root"),
            (None, None, None, "nothing is told"),
        ];
        for (repository, folder, want, why) in table {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let facts = ConversationFacts {
                repository: owned(repository),
                folder: owned(folder),
                ..ConversationFacts::default()
            };
            assert_eq!(facts.project(), want, "{why}");
        }
    }
}
