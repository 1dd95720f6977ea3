//! Turns entries into passages for a model that is to describe them.

use std::collections::BTreeMap;

use unforget_core::entry::{Entry, Origin, Part, Status, ToolCall, ToolResult};
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;
use unforget_text::{Source, clean, excerpt, fence_passage, time_text, without_reasoning};

/// One text, call or result of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Seq of the entry.
    pub seq: Seq,
    /// Name of its wrapper: `entry`, `tool-call`, `tool-output`.
    tag: &'static str,
    /// Its known properties, by name.
    facts: Vec<(&'static str, String)>,
    /// Its text, without credentials.
    body: String,
}

impl Passage {
    /// Whether it is a program's output, which belongs to the preceding call.
    pub(crate) fn is_output(&self) -> bool {
        self.tag == "tool-output"
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    /// Its text in its wrapper.
    pub(crate) fn text(&self) -> String {
        self.wrap(&self.body, &[])
    }

    /// A part of its text in its wrapper, marked with the part's number, from 1, and whether others follow.
    pub(crate) fn part(&self, body: &str, number: usize, continues: bool) -> String {
        let facts = [("part", number.to_string()), ("continues", "yes".to_owned())];
        self.wrap(body, facts.get(..1 + usize::from(continues)).unwrap_or_default())
    }

    fn wrap(&self, body: &str, more: &[(&'static str, String)]) -> String {
        let facts: Vec<(&str, &str)> =
            self.facts.iter().chain(more).map(|(name, value)| (*name, value.as_str())).collect();
        fence_passage(self.tag, &facts, body)
    }
}

/// Entries as passages, in order.
///
/// Takes text of people and of the model, the host's summaries, calls and results. Never takes reasoning, media, opaque
/// blocks, blank text, or entries that the host injected, copied or wrote for itself (F030). Credentials and encoded
/// blobs are replaced.
///
/// * `output_tokens_max` - larger calls and tool outputs are shortened to head, tail and errors, with a line that
///   states how much is left out; at least 128.
///
/// Cost: linear.
pub fn passages(sources: &[Source<'_>], output_tokens_max: u64, ruler: &dyn Ruler) -> Vec<Passage> {
    let mut reader =
        Reader { passages: Vec::new(), tools: BTreeMap::new(), ruler, max: output_tokens_max.max(128) };
    for source in sources {
        reader.entry(source.seq, source.entry);
    }
    reader.passages
}

struct Reader<'a> {
    passages: Vec<Passage>,
    /// Names of tools by the ids of their calls, since many formats do not repeat them in results.
    tools: BTreeMap<&'a str, &'a str>,
    ruler: &'a dyn Ruler,
    max: u64,
}

impl<'a> Reader<'a> {
    fn entry(&mut self, seq: Seq, entry: &'a Entry) {
        let role = match entry.origin {
            Origin::Human => "user",
            Origin::Model => "assistant",
            Origin::Tool => "tool",
            Origin::HostSummary => "host-summary",
            Origin::Injected
            | Origin::Volatile
            | Origin::Copy
            | Origin::Bookkeeping
            | Origin::Opaque
            | Origin::Overtaken => {
                return;
            }
        };
        for part in &entry.parts {
            match part {
                Part::Text(text) if entry.origin == Origin::Model => {
                    let facts = vec![("role", role.to_owned())];
                    self.push(
                        entry,
                        Passage { seq, tag: "entry", facts, body: clean(&without_reasoning(text)) },
                    );
                }
                Part::Text(text) => {
                    let facts = vec![("role", role.to_owned())];
                    self.push(entry, Passage { seq, tag: "entry", facts, body: clean(text) });
                }
                Part::ToolCall(call) => self.call(seq, entry, call),
                Part::ToolResult(result) => self.result(seq, entry, result),
                Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => {}
            }
        }
    }

    /// Takes a passage, adding the properties of its entry.
    fn push(&mut self, entry: &Entry, mut passage: Passage) {
        if passage.body.trim().is_empty() {
            return;
        }
        let mut facts = vec![("seq", passage.seq.to_string())];
        facts.extend(entry.time.map(|time| ("time", time_text(time))));
        facts.append(&mut passage.facts);
        facts.extend(entry.author.clone().map(|author| ("author", author)));
        let status = match entry.status {
            Status::Complete => None,
            Status::Aborted => Some("stopped by a person"),
            Status::Error => Some("cut off by an error"),
        };
        facts.extend(status.map(|status| ("status", status.to_owned())));
        let body = passage.body.trim().to_owned();
        self.passages.push(Passage { facts, body, ..passage });
    }

    fn call(&mut self, seq: Seq, entry: &'a Entry, call: &'a ToolCall) {
        self.tools.insert(&call.id, &call.name);
        let mut facts = vec![("tool", clean(&call.name))];
        if !call.complete || entry.status != Status::Complete {
            facts.push(("run", "no".to_owned()));
        }
        let body = self.shortened(&clean(&call.arguments), seq);
        // A call without arguments is a fact too.
        let body = if body.trim().is_empty() { "{}".to_owned() } else { body };
        self.push(entry, Passage { seq, tag: "tool-call", facts, body });
    }

    fn result(&mut self, seq: Seq, entry: &Entry, result: &ToolResult) {
        let known = self.tools.get(result.call_id.as_str()).copied().unwrap_or_default();
        let tool = if result.name.is_empty() { known } else { &result.name };
        let mut facts = vec![("tool", clean(tool))];
        facts.extend(result.exit_code.map(|code| ("exit", code.to_string())));
        facts.extend(result.is_error.then(|| ("failed", "yes".to_owned())));
        let texts: Vec<&str> = result
            .content
            .iter()
            .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None })
            .collect();
        let body = self.shortened(&clean(&texts.join("\n")), seq);
        let body = if body.trim().is_empty() { "(no text)".to_owned() } else { body };
        self.push(entry, Passage { seq, tag: "tool-output", facts, body });
    }

    fn shortened(&self, text: &str, seq: Seq) -> String {
        excerpt(text, self.max, self.ruler, &format!("entry {seq}"))
    }
}
