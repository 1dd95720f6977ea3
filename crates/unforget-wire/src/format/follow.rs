//! The little that a record says only in the light of the records before it.

use std::collections::HashMap;

use unforget_core::entry::{Entry, Origin};

use crate::format::{Format, claude_code};
use crate::json::Object;

/// Most uuids that are remembered to find the root of an inline sidechain. Beyond it the oldest half is
/// forgotten; a sidechain that is still running has recent ones.
const UUIDS_MAX: usize = 100_000;

/// What was read so far, as far as later records depend on it. Bounded.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Number of records that parsed.
    parsed: u64,
    /// Root of the sidechain of each recent record in one.
    roots: HashMap<String, String>,
    older_roots: HashMap<String, String>,
    /// Whether the whole file is one sub-agent, so that its sidechain is the main lane.
    is_agent_file: bool,
}

impl Follow {
    /// Starts at the first record of a file.
    ///
    /// * `is_agent` - whether the file is a sub-agent's own.
    pub(crate) fn new(is_agent: bool) -> Self {
        Self { is_agent_file: is_agent, ..Self::default() }
    }

    /// Fills in what the order of records tells about this one.
    ///
    /// * `group` - number of the document or task in the file; every one but the first is a lane of its own.
    pub(crate) fn complete(&mut self, format: Format, record: Object<'_>, group: u32, entry: &mut Entry) {
        match format {
            // pi v1 names nothing; a record is its index among those that parsed, header included.
            Format::Pi | Format::Journal if entry.host_id.is_none() && !record.is("type", "session") => {
                entry.host_id = Some(format!("#{}", self.parsed));
            }
            Format::ClaudeCode => self.sidechain(record, entry),
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
