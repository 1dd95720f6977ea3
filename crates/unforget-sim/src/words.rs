//! Messages in a host's form. Most carry a marker with lane, generation and number, so that a prompt's text shows which
//! messages it contains.

use std::sync::Arc;

use serde_json::{Value, json};
use unforget_bench::Random;
use unforget_wire::Format;

/// Text that no summary and no prompt may contain.
pub(crate) const POISON: [&str; 3] = ["/etc/invented/passwd.rs", "PWNED", "sorry, but I cannot"];

/// The speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    User,
    /// The host: an announcement, an event, a retry. Not in its transcript.
    Volatile,
    /// The model, whole.
    Assistant,
    /// The model, cut off.
    Aborted,
    /// A tool.
    Result,
}

/// A message of the model host.
#[derive(Clone, Debug)]
pub struct Msg {
    /// Its identity, however it changes on its way.
    pub uid: u64,
    /// Its bytes.
    pub text: Arc<str>,
    /// The host's id of the message.
    pub id: Option<Arc<str>>,
    /// Its unique text.
    pub marker: Option<Arc<str>>,
    /// The speaker.
    pub kind: Kind,
}

/// Writes messages of one lane.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Their form.
    pub form: Format,
    /// Whether they carry their time.
    pub is_timed: bool,
    /// Whether the host gives ids.
    pub has_ids: bool,
    /// The lane's number, for markers.
    pub lane: usize,
    /// The lane's generation, for markers.
    pub generation: u32,
    /// Number of messages so far.
    pub count: u64,
    /// Number of ids in this generation's transcript.
    pub ids: u64,
}

/// The text of an empty result.
const BLANK: &str = "";

const WORDS: [&str; 12] = [
    "the",
    "parser",
    "fails",
    "on",
    "src/lib.rs",
    "line",
    "because",
    "of",
    "a",
    "missing",
    "brace",
    "ünïcode",
];

impl Writer {
    /// A person's message; without a marker it equals others.
    pub fn user(&mut self, random: &mut Random, time: i64) -> Msg {
        let marker = (!random.chance(0.2)).then(|| self.mark());
        let text = match &marker {
            Some(marker) => format!("{marker} {}", prose(random, 3, 40)),
            None => random.pick(&["ok", "ok", "yes", "go on"]).to_owned(),
        };
        let value = match (self.form, random.chance(0.3)) {
            (Format::Pi, true) => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            _ => json!({"role": "user", "content": text}),
        };
        self.finish(value, Kind::User, marker, time)
    }

    /// Volatile input.
    pub fn volatile(&mut self, random: &mut Random, time: i64) -> Msg {
        let marker = Some(self.mark());
        let text = format!("[System Message] {} {}", marker.as_deref().unwrap_or(""), prose(random, 3, 12));
        let mut message = self.finish(json!({"role": "user", "content": text}), Kind::Volatile, marker, time);
        message.id = None;
        message
    }

    /// An answer, with tool calls.
    pub fn assistant(&mut self, random: &mut Random, calls: &[String], time: i64) -> Msg {
        let marker = (calls.is_empty() || random.chance(0.5)).then(|| self.mark());
        let text = marker.as_ref().map(|marker| format!("{marker} {}", prose(random, 3, 60)));
        let value = if self.form == Format::Pi {
            let mut blocks: Vec<Value> =
                text.iter().map(|text| json!({"type": "text", "text": text})).collect();
            if random.chance(0.1) {
                blocks.insert(0, json!({"type": "text", "text": " "}));
            }
            blocks.extend(calls.iter().map(|id| {
                    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "src/lib.rs"}})
                }));
            pi_assistant(&blocks, if calls.is_empty() { "stop" } else { "toolUse" })
        } else {
            let mut value = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                let calls: Vec<Value> = calls.iter().map(|id| {
                        json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}})
                    }).collect();
                put(&mut value, "tool_calls", Value::from(calls));
            }
            value
        };
        self.finish(value, Kind::Assistant, marker, time)
    }

    /// An answer cut off in the middle of a call.
    pub fn aborted(&mut self, random: &mut Random, call: &str, time: i64) -> Msg {
        let marker = Some(self.mark());
        let text = format!("{} {}", marker.as_deref().unwrap_or(""), prose(random, 1, 9));
        let blocks = [
            json!({"type": "text", "text": text}),
            json!({"type": "toolCall", "id": call, "name": "read", "arguments": {}, "partialJson": "{\"pa"}),
        ];
        let value = match self.form {
            Format::Pi => pi_assistant(&blocks, random.pick(&["aborted", "error"])),
            _ => json!({"role": "assistant", "content": text}),
        };
        self.finish(value, Kind::Aborted, marker, time)
    }

    /// A tool's result: often equal to others, sometimes large.
    pub fn result(&mut self, random: &mut Random, call: &str, time: i64) -> Msg {
        let marker = (!random.chance(0.4)).then(|| self.mark());
        let text = match &marker {
            Some(marker) if random.chance(0.15) => format!("{marker} {}", prose(random, 200, 900)),
            Some(marker) => format!("{marker} {}", prose(random, 1, 50)),
            None => random.pick(&[BLANK, "(no output)"]).to_owned(),
        };
        let value = match self.form {
            Format::Pi => json!({
                "role": "toolResult", "toolCallId": call, "toolName": "read",
                "content": [{"type": "text", "text": text}], "isError": random.chance(0.1),
                "details": {"lines": 3},
            }),
            _ => json!({"role": "tool", "tool_call_id": call, "content": text}),
        };
        self.finish(value, Kind::Result, marker, time)
    }

    /// A message with other text under its old names.
    pub fn edited(&mut self, old: &Msg) -> Msg {
        let marker = self.mark();
        let mut value: Value = serde_json::from_str(&old.text).unwrap_or_default();
        let text = format!("{marker} edited");
        let old_content = value.get("content").cloned().unwrap_or_default();
        let content =
            if old_content.is_array() { json!([{"type": "text", "text": text}]) } else { json!(text) };
        put(&mut value, "content", content);
        self.count += 1;
        // Without names, nothing distinguishes it from a new message.
        let uid = if self.is_timed { old.uid } else { self.count << 8 | self.lane as u64 };
        Msg { uid, text: value.to_string().into(), marker: Some(marker.into()), ..old.clone() }
    }

    /// A new host id.
    pub fn next_id(&mut self) -> Option<Arc<str>> {
        self.ids += 1;
        self.has_ids.then(|| format!("e{}", self.ids).into())
    }

    fn mark(&mut self) -> String {
        self.count += 1;
        format!("zq{}g{}n{}z", self.lane, self.generation, self.count)
    }

    fn finish(&mut self, mut value: Value, kind: Kind, marker: Option<String>, time: i64) -> Msg {
        if self.is_timed {
            put(&mut value, "timestamp", Value::from(time));
        }
        self.count += 1;
        let uid = self.count << 8 | self.lane as u64;
        Msg { uid, text: value.to_string().into(), id: self.next_id(), marker: marker.map(Into::into), kind }
    }
}

fn pi_assistant(blocks: &[Value], stop: &str) -> Value {
    json!({
        "role": "assistant", "content": blocks, "api": "openai-completions", "provider": "stub",
        "model": "stub-1", "stopReason": stop,
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
    })
}

fn prose(random: &mut Random, low: u64, high: u64) -> String {
    let count = random.between(low, high);
    let words: Vec<&str> = (0..count).map(|_| random.pick(&WORDS)).collect();
    words.join(" ")
}

pub(crate) fn put(value: &mut Value, key: &str, to: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), to);
    }
}

/// Rewrites messages like hosts do for an array: ids without punctuation, no details, merged neighbours. Only messages
/// accepted by `may` are rewritten. Returns bytes with the messages behind them.
pub fn rewritten(messages: &[Msg], may: &dyn Fn(&Msg) -> bool) -> Vec<(Msg, String)> {
    let mut out: Vec<(Msg, Value)> = Vec::new();
    for message in messages {
        let mut value: Value = serde_json::from_str(&message.text).unwrap_or_default();
        if !may(message) {
            out.push((message.clone(), value));
            continue;
        }
        for key in ["toolCallId", "id"] {
            plain(&mut value, key);
        }
        if let Some(object) = value.as_object_mut() {
            object.remove("details");
        }
        for block in value.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            plain(block, "id");
        }
        match out.last_mut() {
            Some((before, into))
                if before.kind == Kind::Assistant && message.kind == Kind::Assistant && may(before) =>
            {
                let more = value.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
                if let Some(blocks) = into.get_mut("content").and_then(Value::as_array_mut) {
                    blocks.extend(more);
                }
            }
            _ => out.push((message.clone(), value)),
        }
    }
    out.into_iter().map(|(message, value)| (message, value.to_string())).collect()
}

fn plain(value: &mut Value, key: &str) {
    if let Some(id) = value.get(key).and_then(Value::as_str) {
        let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        put(value, key, Value::from(id));
    }
}

/// All markers in a text, in order.
pub fn markers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("zq") {
        rest = rest.get(at..).unwrap_or_default();
        let end = rest.char_indices().skip(2).find(|(_, c)| !c.is_ascii_digit() && !matches!(c, 'g' | 'n'));
        match end {
            Some((end, 'z')) => {
                found.push(rest.get(..=end).unwrap_or_default());
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            _ => rest = rest.get(2..).unwrap_or_default(),
        }
    }
    found
}
