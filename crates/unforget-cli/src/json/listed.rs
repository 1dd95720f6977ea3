//! Conversations as a person recognises them.

use serde::Serialize;
use unforget_engine::recognise::ConversationFacts;
use unforget_store::Conversation;

use super::ConversationJson;

/// A conversation in a list.
#[derive(Debug, Serialize)]
pub(crate) struct ListedJson {
    #[serde(flatten)]
    conversation: ConversationJson,
    name: String,
    titled_by: Option<&'static str>,
    host: String,
    project: Option<String>,
    folder: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
    turns: u64,
    /// Of a lane of the gateway: the transcript of the same session.
    transcript: Option<String>,
    /// Models that the transcript records, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<String>>,
    /// Dollars of its recorded calls, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars: Option<f64>,
}

impl ListedJson {
    /// The conversation with the transcript of the same session.
    pub(crate) fn same_session(self, transcript: Option<String>) -> Self {
        Self { transcript, ..self }
    }

    /// The conversation with the models that its transcript records, and their cost in dollars.
    pub(crate) fn with_use(self, models: Vec<String>, dollars: f64) -> Self {
        Self { models: Some(models), dollars: Some(dollars), ..self }
    }

    /// * `name` - the shortest name of the conversation.
    pub(crate) fn new(stored: &Conversation, facts: &ConversationFacts, host: &str, name: &str) -> Self {
        let title = facts.title();
        Self {
            conversation: ConversationJson::from(stored).titled(title.map(|title| title.text.to_owned())),
            name: name.to_owned(),
            titled_by: title.map(|title| title.source.name()),
            host: host.to_owned(),
            project: facts.project().map(str::to_owned),
            folder: facts.folder.clone(),
            branch: facts.branch.clone(),
            repository: facts.repository.clone(),
            turns: facts.turns,
            transcript: None,
            models: None,
            dollars: None,
        }
    }
}
