//! Lines of a pi session, version 3.
//!
//! Source: pi 1.6.0, `docs/session-format.md` and `docs/message-types.md`; the program resumes what is written here.

use serde::Deserialize;
use serde_json::value::RawValue;
use unforget_core::id::Timestamp;
use unforget_core::message::{Block, Message, Speaker};

use super::{ReadyMessage, ReadySession, ResumingHost, ids};
use crate::journal::OWN;
use crate::render::{Json, render_message};
use crate::target::Family;

/// A rendered message object, of any role.
#[derive(Deserialize)]
struct PiMessage<'a> {
    #[serde(borrow)]
    role: &'a RawValue,
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, rename = "toolCallId")]
    call: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolName")]
    tool: Option<&'a RawValue>,
    #[serde(borrow, rename = "isError")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, rename = "stopReason")]
    stop: Option<&'a RawValue>,
}

/// The lines of a session.
struct PiLines<'a> {
    session: &'a ReadySession<'a>,
    text: String,
    parent: Option<String>,
    count: u64,
}

/// The session's id and its lines.
pub(super) fn write(session: &ReadySession<'_>) -> (String, String) {
    let id = ids::timed_uuid(session.seed, 0, session.newest);
    let mut json = Json::default();
    json.lit(r#"{"type":"session","version":3,"id":"#).string(&id).lit(r#","timestamp":"#);
    json.string(&ids::iso(session.newest)).lit(r#","cwd":"#).string(session.parts.folder).lit("}\n");
    let mut lines = PiLines { session, text: json.finish(), parent: None, count: 0 };
    lines.title();
    lines.summary();
    for ready in &session.said {
        lines.message(ready);
    }
    (id, lines.text)
}

impl PiLines<'_> {
    fn title(&mut self) {
        let mut json = Json::default();
        json.lit(r#""name":"#).string(self.session.parts.title);
        self.line("session_info", &json.finish(), self.session.first);
    }

    /// A compaction that keeps no entry before it: it names itself.
    fn summary(&mut self) {
        let Some(summary) = self.session.parts.summary else { return };
        let own = ids::short(self.session.seed, self.count + 1);
        let mut json = Json::default();
        json.lit(r#""summary":"#).string(summary).lit(r#","firstKeptEntryId":"#).string(&own);
        json.lit(r#","tokensBefore":0"#);
        self.line("compaction", &json.finish(), self.session.first);
    }

    fn message(&mut self, ready: &ReadyMessage) {
        let is_result = |block: &Block| matches!(block, Block::Result(_));
        let (results, rest): (Vec<Block>, Vec<Block>) =
            ready.message.blocks.iter().cloned().partition(is_result);
        for blocks in [results, rest] {
            if !blocks.is_empty() {
                self.rendered(&Message { blocks, ..ready.message.clone() }, ready);
            }
        }
    }

    fn rendered(&mut self, message: &Message, ready: &ReadyMessage) {
        let text = format!("[{}]", render_message(message, ResumingHost::Pi.target()));
        let parts: Vec<PiMessage<'_>> = serde_json::from_str(&text).unwrap_or_default();
        for part in parts {
            let is_input = message.speaker == Speaker::User && part.call.is_none();
            if is_input && ready.is_injected {
                let fields =
                    format!(r#""customType":"{OWN}","content":{},"display":false"#, part.content.get());
                self.line("custom_message", &fields, ready.time);
            } else {
                let fields = format!(r#""message":{}"#, with_facts(&part, message, ready.time));
                self.line("message", &fields, ready.time);
            }
        }
    }

    /// A line with its place in the chain.
    fn line(&mut self, kind: &str, fields: &str, time: Timestamp) {
        self.count += 1;
        let id = ids::short(self.session.seed, self.count);
        let mut json = Json::default();
        json.lit(r#"{"type":""#).lit(kind).lit(r#"","id":"#).string(&id).lit(r#","parentId":"#);
        match &self.parent {
            Some(parent) => json.string(parent),
            None => json.lit("null"),
        };
        json.lit(r#","timestamp":"#).string(&ids::iso(time)).lit(",").lit(fields).lit("}\n");
        self.text.push_str(&json.finish());
        self.parent = Some(id);
    }
}

/// A message with the facts that a request does not hold: its time, and whose model wrote it.
fn with_facts(part: &PiMessage<'_>, message: &Message, time: Timestamp) -> String {
    let mut json = Json::default();
    json.lit(r#"{"role":"#).lit(part.role.get());
    for (name, value) in [("toolCallId", part.call), ("toolName", part.tool)] {
        if let Some(value) = value {
            json.lit(r#",""#).lit(name).lit(r#"":"#).lit(value.get());
        }
    }
    json.lit(r#","content":"#).lit(part.content.get());
    if message.speaker == Speaker::Assistant {
        let model = message.model.as_deref().unwrap_or("unknown");
        let ModelPlace { api, provider } = place_of(model);
        json.lit(r#","api":""#).lit(api).lit(r#"","provider":""#).lit(provider).lit(r#"","model":"#);
        json.string(model);
    }
    for (name, value) in [("isError", part.is_error), ("usage", part.usage), ("stopReason", part.stop)] {
        if let Some(value) = value {
            json.lit(r#",""#).lit(name).lit(r#"":"#).lit(value.get());
        }
    }
    json.lit(&format!(r#","timestamp":{}}}"#, time.0));
    json.finish()
}

/// Where a model is called, in the words of pi and opencode.
pub(super) struct ModelPlace {
    /// The form of its requests.
    pub(super) api: &'static str,
    /// Who serves it.
    pub(super) provider: &'static str,
}

/// The provider that made a model. A host replays reasoning only to the model that wrote it, at the same provider.
pub(super) fn place_of(model: &str) -> ModelPlace {
    let (api, provider) = match Family::of(model) {
        Family::Claude => ("anthropic-messages", "anthropic"),
        Family::OpenAi => ("openai-responses", "openai"),
        Family::Gemini => ("google-generative-ai", "google"),
        _ => ("openai-completions", "unknown"),
    };
    ModelPlace { api, provider }
}
