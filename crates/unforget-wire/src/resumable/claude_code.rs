//! Lines of Claude Code: one per message, and one per result.
//!
//! Seen: 2.1.39 (a recorded compaction), 2.1.330 (the program resumes what is written here).

use serde::Deserialize;
use serde_json::value::RawValue;
use unforget_core::id::Timestamp;
use unforget_core::message::{Block, Message, Speaker};

use super::{ReadyMessage, ReadySession, ResumingHost, ids, plain_text};
use crate::render::{Json, render_message};

/// The words with which Claude Code begins a summary.
const SUMMARY_START: &str = "This session is being continued from a previous conversation that ran out of context. \
                             The summary below covers the earlier portion of the conversation.\n\n";

/// A rendered message.
#[derive(Deserialize)]
struct RenderedMessage<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The session and its lines.
struct ClaudeLines<'a> {
    session: &'a ReadySession<'a>,
    id: String,
    json: String,
    /// Id of the line before.
    parent: Option<String>,
    count: u64,
}

/// The session's id and its lines.
pub(super) fn write(session: &ReadySession<'_>) -> (String, String) {
    let id = ids::uuid(session.seed, 0);
    let mut lines = ClaudeLines { session, id, json: String::new(), parent: None, count: 0 };
    lines.summary();
    for ready in &session.said {
        lines.message(ready);
    }
    lines.title();
    (lines.id, lines.json)
}

impl ClaudeLines<'_> {
    /// The host's record of a compaction, and its summary.
    fn summary(&mut self) {
        let Some(summary) = self.session.parts.summary else { return };
        let boundary = r#""subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{"trigger":"manual","preTokens":0}"#;
        self.line("system", boundary, self.session.first);
        let mut fields = Json::default();
        fields.lit(
            r#""isVisibleInTranscriptOnly":true,"isCompactSummary":true,"message":{"role":"user","content":"#,
        );
        fields.string(&format!("{SUMMARY_START}{summary}")).lit("}");
        self.line("user", &fields.finish(), self.session.first);
    }

    fn message(&mut self, ready: &ReadyMessage) {
        if ready.message.speaker == Speaker::Assistant {
            return self.answer(ready);
        }
        let is_result = |block: &Block| matches!(block, Block::Result(_));
        let (results, rest): (Vec<Block>, Vec<Block>) =
            ready.message.blocks.iter().cloned().partition(is_result);
        for result in results {
            let message = Message { blocks: vec![result], ..ready.message.clone() };
            let fields = user(&message);
            self.line("user", &fields, ready.time);
        }
        if rest.is_empty() {
            return;
        }
        let message = Message { blocks: rest, ..ready.message.clone() };
        let mark = if ready.is_injected { r#""isMeta":true,"# } else { "" };
        let fields = format!("{mark}{}", user(&message));
        self.line("user", &fields, ready.time);
    }

    fn answer(&mut self, ready: &ReadyMessage) {
        let message = &ready.message;
        let has_call = message.blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let mut json = Json::default();
        json.lit(r#""message":{"id":"#).string(&format!("msg_{}", ids::short(self.session.seed, self.count)));
        json.lit(r#","type":"message","role":"assistant","model":"#);
        json.string(message.model.as_deref().unwrap_or("unknown"));
        json.lit(r#","content":"#).lit(&content(message)).lit(r#","stop_reason":""#);
        json.lit(if has_call { "tool_use" } else { "end_turn" });
        json.lit(r#"","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}"#);
        self.line("assistant", &json.finish(), ready.time);
    }

    /// The title as a person would have given it, by which the host's list shows the session.
    fn title(&mut self) {
        let mut json = Json::default();
        json.lit(r#"{"type":"custom-title","customTitle":"#).string(self.session.parts.title);
        json.lit(r#","sessionId":"#).string(&self.id).lit("}");
        self.json.push_str(&json.finish());
        self.json.push('\n');
    }

    /// A line with its place in the chain.
    ///
    /// * `fields` - of the line, behind those that every line has.
    fn line(&mut self, kind: &str, fields: &str, time: Timestamp) {
        self.count += 1;
        let uuid = ids::uuid(self.session.seed, self.count);
        let mut json = Json::default();
        json.lit(r#"{"parentUuid":"#);
        match &self.parent {
            Some(parent) => json.string(parent),
            None => json.lit("null"),
        };
        json.lit(r#","isSidechain":false,"userType":"external","cwd":"#).string(self.session.parts.folder);
        json.lit(r#","sessionId":"#).string(&self.id).lit(r#","type":""#).lit(kind).lit(r#"","#);
        json.lit(fields).lit(r#","uuid":"#).string(&uuid);
        json.lit(r#","timestamp":"#).string(&ids::iso(time)).lit("}");
        self.json.push_str(&json.finish());
        self.json.push('\n');
        self.parent = Some(uuid);
    }
}

/// The field `message` of a user's line.
fn user(message: &Message) -> String {
    let mut json = Json::default();
    json.lit(r#""message":{"role":"user","content":"#);
    match plain_text(message) {
        Some(text) if message.blocks.len() == 1 => json.string(&text),
        _ => json.lit(&content(message)),
    };
    json.lit("}");
    json.finish()
}

/// The blocks of a message as Anthropic's API spells them.
fn content(message: &Message) -> String {
    let rendered = render_message(message, ResumingHost::ClaudeCode.target());
    let content =
        serde_json::from_str(&rendered).map(|read: RenderedMessage<'_>| read.content.get().to_owned());
    content.unwrap_or_else(|_| "[]".to_owned())
}
