//! Translates the records of each format into facts.

use std::collections::HashMap;

use unforget_core::entry::{Entry, HostParent, Origin, Part, Role};
use unforget_core::transcript::{CallFact, Customs, Kept, Link, RecordFact, ResultFact, Voice};
use unforget_wire::{Format, Record, Source};

use super::{json, marks};

/// Maximum length of an unchanged id. Longer ids are replaced by their digest.
const NAME_MAX: usize = 256;

/// The habits of the host of a transcript; `None` if they are unknown.
pub(super) fn customs(source: &Source) -> Option<Customs> {
    Some(match source.format {
        Format::Pi => Customs {
            is_tree: true,
            sends_in_place: true,
            drops_blank: true,
            is_mendable: true,
            joins_files: false,
        },
        Format::ClaudeCode | Format::Codex => Customs {
            is_tree: false,
            sends_in_place: false,
            drops_blank: false,
            is_mendable: true,
            // A sub-agent's file begins with a record of the session that started it.
            joins_files: source.parent.is_some(),
        },
        Format::OpenAiChat | Format::OpenAiResponses | Format::AnthropicMessages => Customs {
            is_tree: false,
            sends_in_place: true,
            drops_blank: false,
            is_mendable: false,
            joins_files: false,
        },
        _ => return None,
    })
}

/// Makes the facts of one file, record by record.
pub(super) struct Facts {
    format: Format,
    /// The host's id of the session, used by some hosts as a parent.
    session: String,
    lanes: HashMap<String, u32>,
    /// True once a record of a pi session had an id: version 2 or later.
    is_tree: bool,
    /// Number of runs of model records so far, used as message ids because Codex has none.
    runs: u32,
    was_model: bool,
    /// Indexes of the records that parse. The position in this list is the host's own count (pi v1).
    parsed: Vec<usize>,
    made: usize,
}

impl Facts {
    /// Starts at the first record.
    pub(super) fn new(source: &Source) -> Self {
        let session = source.key.0.split_once(':').map_or("", |(_, session)| session).to_owned();
        Self {
            format: source.format,
            session,
            lanes: HashMap::new(),
            is_tree: false,
            runs: 0,
            was_model: false,
            parsed: Vec::new(),
            made: 0,
        }
    }

    /// Makes the fact of the next record.
    ///
    /// * `is_broken` - the bytes are not a record.
    pub(super) fn of(&mut self, record: &Record, is_broken: bool) -> RecordFact {
        let at = self.made;
        self.made += 1;
        if is_broken {
            return RecordFact { voice: Voice::Outside, ..RecordFact::default() };
        }
        self.parsed.push(at);
        let entry = &record.entry;
        let mut fact = plain(entry);
        fact.lane = match &entry.thread {
            None => 0,
            Some(thread) => {
                let next = self.lanes.len() as u32 + 1;
                *self.lanes.entry(thread.clone()).or_insert(next)
            }
        };
        match self.format {
            Format::Pi => self.pi(record, &mut fact),
            Format::ClaudeCode => claude_code(record, &mut fact),
            Format::Codex => self.codex(&mut fact),
            _ => {}
        }
        fact
    }

    /// For each record that parses: its index in the list of facts.
    pub(super) fn parsed(&self) -> &[usize] {
        &self.parsed
    }

    fn pi(&mut self, record: &Record, fact: &mut RecordFact) {
        let host_id = record.entry.host_id.as_deref();
        if host_id.is_none() {
            fact.voice = Voice::Outside;
            return;
        }
        let is_numbered = host_id.is_some_and(|id| id == format!("#{}", self.parsed.len() - 1));
        if is_numbered {
            fact.id = None;
            if self.is_tree {
                // No path leads to this record: a second header, or an event without an id.
                fact.voice = Voice::Outside;
                return;
            }
        } else {
            self.is_tree = true;
            if fact.link == Link::Previous {
                fact.link = Link::Missing;
            }
        }
        if matches!(&fact.link, Link::Id(id) if **id == *self.session) {
            fact.link = Link::Root;
        }
        if record.entry.origin != Origin::HostSummary {
            return;
        }
        let text = json::text_of(&record.body);
        if json::string(&text, &["type"]).as_deref() != Some("compaction") {
            return;
        }
        fact.voice = Voice::Compaction;
        fact.kept = Some(if let Some(id) = json::string(&text, &["firstKeptEntryId"]) {
            Kept::Id(name(&id))
        } else if let Some(index) = json::number(&text, &["firstKeptEntryIndex"]) {
            self.parsed.get(index as usize).map_or(Kept::Lost, |record| Kept::Record(*record))
        } else {
            Kept::Lost
        });
    }

    /// Consecutive model records are one answer, so all their calls may still be running.
    fn codex(&mut self, fact: &mut RecordFact) {
        let is_model = fact.voice == Voice::Model;
        if is_model && !self.was_model {
            self.runs += 1;
        }
        if fact.voice != Voice::Silent {
            self.was_model = is_model;
        }
        if is_model {
            fact.message = Some(self.runs.to_string().into());
        }
        if fact.voice == Voice::Compaction {
            // Its replacement history lists the kept messages; no position in the file is cut.
            fact.voice = Voice::Input;
        }
    }
}

fn plain(entry: &Entry) -> RecordFact {
    let is_visible = entry.origin.is_visible();
    let voice = match (entry.role, entry.origin) {
        (Role::Assistant, _) if is_visible => Voice::Model,
        (Role::Tool, _) if is_visible => Voice::Results,
        (_, Origin::HostSummary) => Voice::Input,
        (Role::User | Role::System, _) if is_visible => Voice::Input,
        _ => Voice::Silent,
    };
    let link = match &entry.parent {
        HostParent::Previous => Link::Previous,
        HostParent::Root => Link::Root,
        HostParent::Id(id) => Link::Id(name(id)),
    };
    let mut fact = RecordFact {
        id: entry.host_id.as_deref().map(name),
        link,
        message: entry.message_id.as_deref().filter(|id| !id.is_empty()).map(name),
        voice,
        status: entry.status,
        ..RecordFact::default()
    };
    if voice == Voice::Silent {
        return fact;
    }
    let mut is_blank = true;
    for (block, part) in entry.parts.iter().enumerate() {
        match part {
            Part::ToolCall(call) => fact.calls.push(CallFact {
                block,
                id: name(&call.id),
                is_whole: call.complete && !call.id.is_empty() && !call.name.is_empty(),
            }),
            Part::ToolResult(result) => fact.results.push(ResultFact {
                block,
                call_id: name(&result.call_id),
                is_synthetic: marks::is_synthetic(result),
            }),
            Part::Text(text) if text.trim().is_empty() => continue,
            Part::Thinking { .. } => {}
            Part::Text(_) | Part::Media(_) | Part::Opaque { .. } => fact.has_words = true,
        }
        is_blank = false;
    }
    // Single pieces of a message may be blank.
    fact.is_blank = is_blank && fact.message.is_none();
    fact
}

fn claude_code(record: &Record, fact: &mut RecordFact) {
    if record.entry.origin == Origin::HostSummary {
        fact.voice = Voice::Compaction;
        fact.kept = Some(Kept::Nothing);
    }
    if fact.id.is_none() {
        return;
    }
    let text = json::text_of(&record.body);
    let parent = json::at(&text, &["parentUuid"]).and_then(|range| text.get(range));
    fact.link = match parent.map(serde_json::from_str::<Option<String>>) {
        None => Link::Previous,
        Some(Ok(Some(id))) => Link::Id(name(&id)),
        Some(_) => Link::Root,
    };
}

/// A name of bounded length.
fn name(id: &str) -> Box<str> {
    if id.len() <= NAME_MAX {
        return id.into();
    }
    format!("digest:{}", unforget_core::digest::Digest::of(id.as_bytes()).hex()).into()
}
