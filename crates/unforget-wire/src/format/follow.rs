//! Completes records with the facts that depend on earlier records.

use std::collections::HashMap;

use unforget_core::entry::{Entry, HostParent, Origin};

use crate::format::{Format, claude_code, rows};
use crate::json::Object;

/// Most uuids kept for finding the root of an inline sidechain. Beyond that the oldest half is forgotten; a running
/// sidechain has recent ones.
const UUIDS_MAX: usize = 100_000;

/// Most messages of a session kept for following a rewind. Beyond that the oldest half is forgotten.
const MESSAGES_MAX: usize = 100_000;

/// The state of the records so far, as far as later records depend on it. Bounded.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Number of records parsed.
    parsed: u64,
    /// Root of the sidechain for each recent record of a sidechain.
    roots: HashMap<String, String>,
    older_roots: HashMap<String, String>,
    /// Whether the whole file is one sub-agent's, so that its sidechain is the main lane.
    is_agent_file: bool,
    rewinds: Rewinds,
}

/// The messages of a session that remain after every rewind so far.
#[derive(Debug, Default)]
struct Rewinds {
    /// In order of first arrival.
    ids: Vec<String>,
    places: HashMap<String, usize>,
    has_forgotten: bool,
    /// The predecessor of the next message, from a rewind until a model sees the message.
    back: Option<HostParent>,
}

impl Rewinds {
    /// A rewind takes back the message with that id and all behind it; an unknown id takes back all.
    ///
    /// Source: `loadConversationRecord` in gemini-cli's `chatRecordingService.ts`.
    ///
    /// * `to` - the id of a rewind, if the record is one.
    fn complete(&mut self, to: Option<&str>, entry: &mut Entry) {
        if let Some(id) = to {
            match self.places.get(id) {
                Some(place) => self.cut(*place),
                None if !self.has_forgotten => self.cut(0),
                None => {}
            }
            return;
        }
        let Some(id) = &entry.host_id else { return };
        if let Some(back) = &self.back {
            entry.parent = back.clone();
            if entry.origin.is_visible() {
                self.back = None;
            }
        }
        // A rewritten message keeps its place.
        if !self.places.contains_key(id) {
            self.forget();
            self.places.insert(id.clone(), self.ids.len());
            self.ids.push(id.clone());
        }
    }

    fn cut(&mut self, place: usize) {
        for id in self.ids.drain(place.min(self.ids.len())..) {
            self.places.remove(&id);
        }
        self.back = Some(self.ids.last().map_or(HostParent::Root, |id| HostParent::Id(id.clone())));
    }

    fn forget(&mut self) {
        if self.ids.len() >= MESSAGES_MAX {
            self.ids.drain(..MESSAGES_MAX / 2);
            self.places = self.ids.iter().cloned().zip(0..).collect();
            self.has_forgotten = true;
        }
    }
}

impl Follow {
    /// Starts at the first record of a file.
    ///
    /// * `is_agent` - whether the file is a sub-agent's own.
    pub(crate) fn new(is_agent: bool) -> Self {
        Self { is_agent_file: is_agent, ..Self::default() }
    }

    /// Completes an entry with the facts that the order of records provides.
    ///
    /// * `group` - number of the document or task in the file; each but the first is a lane of its own.
    pub(crate) fn complete(&mut self, format: Format, record: Object<'_>, group: u32, entry: &mut Entry) {
        match format {
            // pi v1 has no ids. A record is named by its index among the parsed ones, header included.
            Format::Pi | Format::Journal if entry.host_id.is_none() && !record.is("type", "session") => {
                entry.host_id = Some(format!("#{}", self.parsed));
            }
            Format::ClaudeCode => self.sidechain(record, entry),
            Format::GeminiCli => self.rewinds.complete(record.str("$rewindTo").as_deref(), entry),
            format if format.is_rows() => {
                self.rewinds.complete(rows::rewind(record, format.name()).as_deref(), entry);
            }
            _ => {}
        }
        if group > 0 && entry.thread.is_none() {
            entry.thread = Some(format!("#{group}"));
        }
        self.parsed += 1;
    }

    fn sidechain(&mut self, record: Object<'_>, entry: &mut Entry) {
        entry.thread = None;
        if self.is_agent_file || record.bool("isSidechain") != Some(true) || entry.origin == Origin::Opaque {
            return;
        }
        if let Some(agent) = claude_code::agent_id(record) {
            entry.thread = Some(format!("agent-{agent}"));
            return;
        }
        let own = record.string("uuid");
        let parent = record.str("parentUuid");
        let known = parent
            .as_deref()
            .and_then(|parent| self.roots.get(parent).or_else(|| self.older_roots.get(parent)));
        let root =
            known.cloned().or_else(|| own.clone()).or_else(|| parent.map(std::borrow::Cow::into_owned));
        if let (Some(own), Some(root)) = (own, &root) {
            if self.roots.len() >= UUIDS_MAX / 2 {
                self.older_roots = std::mem::take(&mut self.roots);
            }
            self.roots.insert(own, root.clone());
        }
        entry.thread = root;
    }
}
