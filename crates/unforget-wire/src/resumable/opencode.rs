//! The document that `opencode import` takes: a session, its messages, their parts.
//!
//! A call and its result are one part. Ids ascend with time, as opencode's own do: it compares them.
//!
//! Source: opencode 1.18.33, `session/message-v2.ts` and `cli/cmd/import.ts`, which changes no message that is there already;
//! the program imports and resumes what is written here.

use std::collections::BTreeMap;

use serde::Deserialize;
use unforget_core::entry::{Part, ToolCall, ToolResult};
use unforget_core::id::Timestamp;
use unforget_core::message::{Block, Message, Speaker};

use super::pi::place_of;
use super::{ReadyMessage, ReadySession, ResumingHost, ids};
use crate::json;
use crate::render::{Json, is_proof, render_message};
use crate::target::Family;

/// Fields of an assistant's message that tell its cost.
const NO_COST: &str =
    r#""cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;

/// Stands for the model where nothing names it.
const UNKNOWN: &str = "unknown";

/// A rendered message: pi spells content as plain as opencode.
#[derive(Deserialize)]
struct RenderedInput {
    content: Vec<RenderedBlock>,
}

/// A rendered block of input.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum RenderedBlock {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: String,
    },
    #[serde(other)]
    Other,
}

/// A document in progress.
struct SessionDocument<'a> {
    session: &'a ReadySession<'a>,
    id: String,
    json: Json,
    /// Number of the newest id.
    count: u64,
    /// Id of the newest message of a user.
    asked: String,
    /// The model that wrote the newest answer of the session.
    model: &'a str,
}

/// The results that answer a message, by call, and their time.
struct Answers<'a> {
    results: BTreeMap<&'a str, &'a ToolResult>,
    time: Timestamp,
}

/// The session's id and its document.
pub(super) fn write(session: &ReadySession<'_>) -> (String, String) {
    let id = ids::ascending("ses", session.seed, 0, session.newest);
    let model = session.said.iter().rev().find_map(|ready| ready.message.model.as_deref());
    let model = model.unwrap_or(UNKNOWN);
    let mut document =
        SessionDocument { session, id, json: Json::default(), count: 0, asked: String::new(), model };
    document.head();
    document.summary();
    let mut said = session.said.iter().peekable();
    while let Some(ready) = said.next() {
        if ready.message.speaker == Speaker::Assistant {
            let answers = Answers::of(said.peek().copied(), ready.time);
            document.answer(ready, &answers);
        } else {
            document.input(ready);
        }
    }
    document.json.lit("]}\n");
    (document.id, document.json.finish())
}

impl<'a> Answers<'a> {
    /// * `next` - the message behind the answer.
    /// * `time` - of the answer.
    fn of(next: Option<&'a ReadyMessage>, time: Timestamp) -> Self {
        let blocks = next.iter().flat_map(|next| &next.message.blocks);
        let results = blocks.filter_map(|block| match block {
            Block::Result(result) => Some((result.call_id.as_str(), result)),
            _ => None,
        });
        Self { results: results.collect(), time: next.map_or(time, |next| next.time) }
    }
}

impl SessionDocument<'_> {
    fn head(&mut self) {
        let parts = self.session.parts;
        let (first, newest) = (self.session.first.0, self.session.newest.0);
        self.json.lit(r#"{"info":{"id":"#).string(&self.id);
        self.json.lit(r#","slug":"#).string(&ids::short(self.session.seed, 0));
        self.json.lit(r#","projectID":"global","directory":"#).string(parts.folder);
        self.json.lit(r#","title":"#).string(parts.title).lit(r#","version":"0.0.0","#);
        self.json.lit(&format!(r#""time":{{"created":{first},"updated":{newest}}}}},"messages":["#));
    }

    /// A request for a compaction, and the answer.
    fn summary(&mut self) {
        let Some(summary) = self.session.parts.summary else { return };
        let time = self.session.first;
        self.user(time, &[r#""type":"compaction","auto":false"#.to_owned()]);
        let more = r#""summary":true,"mode":"compaction","agent":"compaction","finish":"stop""#;
        self.assistant(time, self.model, more, &[text(summary)]);
    }

    /// A message of the user role without its results.
    fn input(&mut self, ready: &ReadyMessage) {
        let blocks = ready.message.blocks.iter().filter(|block| !matches!(block, Block::Result(_)));
        let blocks: Vec<Block> = blocks.cloned().collect();
        if blocks.is_empty() {
            return;
        }
        let message = Message { blocks, ..ready.message.clone() };
        let mark = if ready.is_injected { r#","synthetic":true"# } else { "" };
        let parts = rendered(&message).into_iter().filter_map(|block| match block {
            RenderedBlock::Text { text: words } => Some(format!("{}{mark}", text(&words))),
            RenderedBlock::Image { data, mime } => Some(file(&mime, &data)),
            RenderedBlock::Other => None,
        });
        let parts: Vec<String> = parts.collect();
        self.user(ready.time, &parts);
    }

    fn answer(&mut self, ready: &ReadyMessage, answers: &Answers<'_>) {
        let model = ready.message.model.as_deref().unwrap_or(self.model);
        let mut parts = Vec::new();
        for block in &ready.message.blocks {
            parts.extend(match block {
                Block::Call(call) => Some(self.tool(call, ready.time, answers)),
                Block::Part(Part::Thinking { text, .. }) => {
                    let metadata = metadata(block, model).unwrap_or_default();
                    Some(reasoning(text, ready.time, &metadata))
                }
                Block::Ours(words) | Block::Part(Part::Text(words)) => {
                    Some(text(words)).filter(|_| !words.trim().is_empty())
                }
                Block::Part(_) | Block::Result(_) => None,
            });
        }
        let has_call = ready.message.blocks.iter().any(|block| matches!(block, Block::Call(_)));
        let finish = if has_call { "tool-calls" } else { "stop" };
        let more = format!(r#""mode":"build","agent":"build","finish":"{finish}""#);
        self.assistant(ready.time, model, &more, &parts);
    }

    /// A call, and its result. A call without one was interrupted.
    fn tool(&self, call: &ToolCall, begun: Timestamp, answers: &Answers<'_>) -> String {
        let mut json = Json::default();
        json.lit(r#""type":"tool","callID":"#).string(&call.id).lit(r#","tool":"#).string(&call.name);
        json.lit(r#","state":{"input":"#).lit(&arguments(call));
        let result = answers.results.get(call.id.as_str());
        let (words, files) = result.map(|result| content(result)).unwrap_or_default();
        if result.is_none_or(|result| result.is_error) {
            json.lit(r#","status":"error","error":"#).string(&words);
        } else {
            json.lit(r#","status":"completed","title":"","output":"#).string(&words);
            json.lit(r#","attachments":["#);
            for (at, file) in files.iter().enumerate() {
                let id = ids::short(self.session.seed, self.count);
                json.comma().lit(r#"{"id":"#).string(&format!("prt_{id}{}{at}", call.id));
                json.lit(r#","sessionID":"#).string(&self.id).lit(r#","messageID":"#);
                json.string(&self.next_message(begun)).lit(",").lit(file).lit("}");
            }
            json.lit("]");
        }
        let (begun, ended) = (begun.0, answers.time.0);
        json.lit(&format!(r#","metadata":{{}},"time":{{"start":{begun},"end":{ended}}}}}"#));
        json.finish()
    }

    fn user(&mut self, time: Timestamp, parts: &[String]) {
        let mut fields = Json::default();
        fields.lit(r#""role":"user","agent":"build","model":{"providerID":""#);
        fields.lit(place_of(self.model).provider).lit(r#"","modelID":"#).string(self.model);
        fields.lit(&format!(r#"}},"time":{{"created":{}}}"#, time.0));
        self.asked = self.message(time, &fields.finish(), parts);
    }

    /// * `more` - fields of the message.
    fn assistant(&mut self, time: Timestamp, model: &str, more: &str, parts: &[String]) {
        let folder = self.session.parts.folder;
        let mut fields = Json::default();
        fields.lit(r#""role":"assistant","parentID":"#).string(&self.asked).lit(",").lit(more);
        fields.lit(r#","providerID":""#).lit(place_of(model).provider).lit(r#"","modelID":"#).string(model);
        fields.lit(r#","path":{"cwd":"#).string(folder).lit(r#","root":"#).string(folder).lit("},");
        fields.lit(NO_COST).lit(&format!(r#","time":{{"created":{0},"completed":{0}}}"#, time.0));
        self.message(time, &fields.finish(), parts);
    }

    /// Id of the message that is written next.
    fn next_message(&self, time: Timestamp) -> String {
        ids::ascending("msg", self.session.seed, self.count + 1, time)
    }

    /// Writes a message with its parts. Returns its id.
    fn message(&mut self, time: Timestamp, fields: &str, parts: &[String]) -> String {
        let seed = self.session.seed;
        let message = self.next_message(time);
        self.count += 1;
        self.json.comma().lit(r#"{"info":{"id":"#).string(&message);
        self.json.lit(r#","sessionID":"#).string(&self.id).lit(",").lit(fields).lit(r#"},"parts":["#);
        for part in parts {
            self.count += 1;
            self.json.comma().lit(r#"{"id":"#).string(&ids::ascending("prt", seed, self.count, time));
            self.json.lit(r#","sessionID":"#).string(&self.id).lit(r#","messageID":"#).string(&message);
            self.json.lit(",").lit(part).lit("}");
        }
        self.json.lit("]}");
        message
    }
}

/// A part of text.
fn text(words: &str) -> String {
    let mut json = Json::default();
    json.lit(r#""type":"text","text":"#).string(words);
    json.finish()
}

/// A part with a file in it.
fn file(mime: &str, data: &str) -> String {
    let mut json = Json::default();
    json.lit(r#""type":"file","mime":"#).string(mime).lit(r#","url":"#);
    json.string(&format!("data:{mime};base64,{data}"));
    json.finish()
}

fn reasoning(words: &str, time: Timestamp, metadata: &str) -> String {
    let mut json = Json::default();
    json.lit(r#""type":"reasoning","text":"#).string(words).lit(metadata);
    json.lit(&format!(r#","time":{{"start":{0},"end":{0}}}"#, time.0));
    json.finish()
}

/// The provider's proof of a thought, where opencode keeps it. `None` without one.
fn metadata(block: &Block, model: &str) -> Option<String> {
    let Block::Part(Part::Thinking { signature, .. }) = block else { return None };
    let signature = signature.as_deref().filter(|proof| is_proof(proof))?;
    let is_claude = Family::of(model) == Family::Claude;
    is_claude.then(|| {
        let mut json = Json::default();
        json.lit(r#","metadata":{"anthropic":{"signature":"#).string(signature).lit("}}");
        json.finish()
    })
}

/// Arguments as an object.
fn arguments(call: &ToolCall) -> String {
    let arguments = json::trim(&call.arguments);
    if arguments.starts_with('{') && json::is_value(arguments) {
        return arguments.to_owned();
    }
    let mut wrapped = Json::default();
    wrapped.lit(r#"{"_raw":"#).string(arguments).lit("}");
    wrapped.finish()
}

/// The text of a result, and its files as parts.
fn content(result: &ToolResult) -> (String, Vec<String>) {
    if result.content.is_empty() {
        return (String::new(), Vec::new());
    }
    let blocks = result.content.iter().cloned().map(Block::Part).collect();
    let message = Message { speaker: Speaker::User, blocks, model: None, seqs: Vec::new() };
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for block in rendered(&message) {
        match block {
            RenderedBlock::Text { text } => words.push(text),
            RenderedBlock::Image { data, mime } => files.push(file(&mime, &data)),
            RenderedBlock::Other => {}
        }
    }
    (words.join("\n"), files)
}

/// The blocks of a message of the user role.
fn rendered(message: &Message) -> Vec<RenderedBlock> {
    let text = render_message(message, ResumingHost::Opencode.target());
    serde_json::from_str(&text).map(|read: RenderedInput| read.content).unwrap_or_default()
}
