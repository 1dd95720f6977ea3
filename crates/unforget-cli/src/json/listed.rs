//! Conversations as a person recognises them.

use serde::Serialize;
use unforget_engine::recognise::RecognisedConversation;

use super::ConversationJson;

/// A conversation in a list.
#[derive(Debug, Serialize)]
pub(crate) struct ListedJson {
    #[serde(flatten)]
    conversation: ConversationJson,
    name: String,
    titled_by: Option<&'static str>,
    starred: bool,
    tags: Vec<String>,
    host: String,
    project: Option<String>,
    folder: Option<String>,
    branch: Option<String>,
    repository: Option<String>,
    turns: u64,
    /// Whether its file was not read to its end: an import was interrupted.
    unfinished: bool,
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
    /// The conversation with the models that its transcript records, and their cost in dollars.
    pub(crate) fn with_use(self, models: Vec<String>, dollars: f64) -> Self {
        Self { models: Some(models), dollars: Some(dollars), ..self }
    }

    /// The conversation as a person recognises it.
    ///
    /// * `unfinished` - whether its file was not read to its end.
    pub(crate) fn new(one: &RecognisedConversation, unfinished: bool) -> Self {
        let (facts, title) = (&one.facts, one.known_title());
        Self {
            conversation: ConversationJson::from(&one.stored)
                .titled(title.map(|title| title.text.to_owned())),
            name: one.name.clone(),
            titled_by: title.map(|title| title.source.name()),
            starred: one.label.is_starred,
            tags: one.label.tags.iter().cloned().collect(),
            host: one.host().to_owned(),
            project: facts.project().map(str::to_owned),
            folder: facts.folder.clone(),
            branch: facts.branch.clone(),
            repository: facts.repository.clone(),
            turns: facts.turns,
            unfinished,
            transcript: one.transcript.as_ref().map(|key| key.0.clone()),
            models: None,
            dollars: None,
        }
    }
}
