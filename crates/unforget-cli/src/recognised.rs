//! Conversations as a person recognises them, and the filters by which they are chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unforget_core::id::ConversationKey;
use unforget_engine::Engine;
use unforget_engine::host::is_internal;
use unforget_engine::recognise::{ConversationFacts, is_host_called};
use unforget_store::Conversation;
use unforget_wire::Format;

use crate::failure::{Failure, Outcome};

pub(crate) use unforget_engine::recognise::RecognisedConversation;

/// Every conversation that belongs to people, in order of arrival.
pub(crate) fn everything(engine: &Engine) -> Outcome<Vec<RecognisedConversation>> {
    Ok(engine.recognised(&|stored| !is_internal(&stored.key))?)
}

/// One conversation.
pub(crate) fn one(engine: &Engine, stored: Conversation) -> Outcome<RecognisedConversation> {
    let found = some(engine, &BTreeSet::from([&stored.key]))?.pop();
    let name = stored.key.0.clone();
    let agent = engine.agent_of(&stored)?;
    let (facts, label) = (ConversationFacts::default(), engine.label(stored.id)?);
    let unknown = RecognisedConversation { facts, label, stored, agent, name, transcript: None };
    Ok(found.unwrap_or(unknown))
}

/// Some conversations, by their keys; unknown keys are left out.
pub(crate) fn some(
    engine: &Engine,
    keys: &BTreeSet<&ConversationKey>,
) -> Outcome<Vec<RecognisedConversation>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    Ok(engine.recognised(&|stored| keys.contains(&stored.key))?)
}

/// The conversations at a place, as a filter.
pub(crate) struct PlaceFilter {
    project: Option<Project>,
    host: Option<String>,
    branch: Option<String>,
}

enum Project {
    /// A folder, and all below it.
    Folder(PathBuf),
    /// A part of the project's name, in lower case.
    Name(String),
}

impl PlaceFilter {
    /// * `project` - its name or a part of that, its folder, or `.` for the one of the current folder.
    /// * `host` - its name as `list` shows it, or the words at its beginning: `claude` is `claude-code`.
    ///
    /// # Errors
    /// If the folder cannot be told.
    pub(crate) fn new(project: Option<&str>, host: Option<&str>, branch: Option<&str>) -> Outcome<Self> {
        Ok(Self {
            project: project.map(project_of).transpose()?,
            host: host.map(str::to_lowercase),
            branch: branch.map(str::to_owned),
        })
    }

    /// The conversations of a project.
    ///
    /// # Errors
    /// If the folder cannot be told.
    pub(crate) fn of_project(project: &str) -> Outcome<Self> {
        Self::new(Some(project), None, None)
    }

    /// Whether it takes every conversation.
    pub(crate) const fn is_open(&self) -> bool {
        self.project.is_none() && self.host.is_none() && self.branch.is_none()
    }

    /// Whether a conversation is at the place.
    pub(crate) fn takes(&self, one: &RecognisedConversation) -> bool {
        let is_branch = self.branch.as_ref().is_none_or(|branch| one.facts.branch.as_ref() == Some(branch));
        let is_host = self.host.as_ref().is_none_or(|host| one.is_of_host(host));
        is_host && is_branch && self.project.as_ref().is_none_or(|project| project.has(one))
    }

    /// Fails if no conversation is of the project, the host or the branch of this name: it is a slip of the person who typed it.
    /// A folder in which nothing ran is none.
    ///
    /// * `all` - every conversation.
    pub(crate) fn must_be_known(&self, all: &[RecognisedConversation]) -> Outcome<()> {
        // That none of a known agent's sessions is stored is an answer.
        let is_known = |host: &str| {
            all.iter().any(|one| one.is_of_host(host))
                || Format::ALL.iter().any(|format| is_host_called(format.name(), host))
        };
        if let Some(host) = self.host.as_ref().filter(|host| !is_known(host)) {
            let known = names(all.iter().map(|one| one.host().to_owned()));
            return Err(Failure::usage(format!("no conversation is of a host called {host}"), known));
        }
        let is_on = |branch: &String| all.iter().any(|one| one.facts.branch.as_ref() == Some(branch));
        if let Some(branch) = self.branch.as_ref().filter(|branch| !is_on(branch)) {
            let known = names(all.iter().filter_map(|one| one.facts.branch.clone()));
            return Err(Failure::usage(format!("no conversation is on a branch called {branch}"), known));
        }
        match &self.project {
            Some(project @ Project::Name(name)) if !all.iter().any(|one| project.has(one)) => {
                let known = names(all.iter().map(RecognisedConversation::project));
                Err(Failure::usage(format!("no project is called {name}"), known))
            }
            _ => Ok(()),
        }
    }

    /// An engine that sees only the conversations at the place.
    ///
    /// # Errors
    /// As [`PlaceFilter::must_be_known`].
    pub(crate) fn confine(&self, engine: Engine) -> Outcome<Engine> {
        if self.is_open() {
            return Ok(engine);
        }
        let here = everything(&engine)?;
        self.must_be_known(&here)?;
        let ids = here.iter().filter(|one| self.takes(one)).map(|one| one.stored.id).collect();
        Ok(engine.confined(ids))
    }
}

impl Project {
    fn has(&self, one: &RecognisedConversation) -> bool {
        match self {
            Self::Folder(wanted) => {
                one.facts.folder.as_ref().is_some_and(|folder| Path::new(folder).starts_with(wanted))
            }
            Self::Name(name) => {
                one.facts.project().is_some_and(|project| project.to_lowercase().contains(name))
            }
        }
    }
}

/// Names from which a person can choose, as a hint.
fn names(all: impl Iterator<Item = String>) -> String {
    let known: BTreeSet<String> = all.filter(|name| !name.is_empty()).collect();
    let more = known.len().saturating_sub(NAMES);
    let shown: Vec<_> = known.into_iter().take(NAMES).collect();
    match (shown.as_slice(), more) {
        ([], _) => "unforget list shows what is stored".to_owned(),
        (_, 0) => format!("there is {}", shown.join(", ")),
        (_, more) => format!("there is {}, and {more} more; see unforget list", shown.join(", ")),
    }
}

/// Most names of a hint.
const NAMES: usize = 12;

/// A project as it is typed: `.`, a folder, or a name.
fn project_of(text: &str) -> Outcome<Project> {
    let is_folder = text.starts_with('.') || text.contains(['/', '\\']);
    if !is_folder {
        return Ok(Project::Name(text.to_lowercase()));
    }
    let folder = std::path::absolute(text).map_err(|error| Failure::file(Path::new(text), &error))?;
    let folder: PathBuf = folder.components().collect();
    Ok(Project::Folder(if text == "." { root_of(&folder) } else { folder }))
}

/// The folder of the repository that a folder belongs to; the folder itself outside of one.
fn root_of(folder: &Path) -> PathBuf {
    let is_root = |folder: &&Path| folder.join(".git").exists();
    folder.ancestors().find(is_root).unwrap_or(folder).to_path_buf()
}

/// Conversations by key, for results that are shown under them.
pub(crate) struct Grouped(BTreeMap<ConversationKey, RecognisedConversation>);

impl Grouped {
    /// * `found` - the conversations of the results.
    pub(crate) fn new(found: Vec<RecognisedConversation>) -> Self {
        Self(found.into_iter().map(|one| (one.stored.key.clone(), one)).collect())
    }

    /// A conversation.
    pub(crate) fn get(&self, key: &ConversationKey) -> Option<&RecognisedConversation> {
        self.0.get(key)
    }
}

/// Results of one conversation.
pub(crate) struct ResultGroup<'a, T> {
    /// The conversation.
    pub(crate) key: &'a ConversationKey,
    /// Its results, in their order.
    pub(crate) results: Vec<&'a T>,
}

/// Results by conversation, in the order of each conversation's first one.
pub(crate) fn groups<'a, T>(
    results: &'a [T],
    key_of: impl Fn(&'a T) -> &'a ConversationKey,
) -> Vec<ResultGroup<'a, T>> {
    let mut groups: Vec<ResultGroup<'a, T>> = Vec::new();
    for one in results {
        let key = key_of(one);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.results.push(one),
            None => groups.push(ResultGroup { key, results: vec![one] }),
        }
    }
    groups
}
