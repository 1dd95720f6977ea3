//! Lines of a Codex rollout: items for the model, and beside them the events that Codex shows.
//!
//! Source: `codex-rs/rollout`, `codex-rs/core/src/session/rollout_reconstruction.rs`: of the newest `compacted` record with a
//! `replacement_history`, these items and what follows the record are the history. Seen: 0.169.0 resumes what is written here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use unforget_core::id::Timestamp;
use unforget_core::message::{Block, Message, Speaker};

use super::{ReadyMessage, ReadySession, ResumingHost, ids, plain_text};
use crate::format::codex::SUMMARY_START;
use crate::json::on_one_line;
use crate::render::{Json, pair_items, render_message, without_id};

/// The rest of the words before a summary.
const SUMMARY_MORE: &str = " and produced a summary of its thinking process. You also have access to the state of the tools \
    that were used by that language model. Use this to build on the work that has already been done and avoid duplicating \
    work. Here is the summary produced by the other language model, use the information in this summary to assist with your \
    own analysis:";

/// Texts that a host put in; in a rollout they are the user's.
const UNMARKED: &str = "the mark of texts that a host put in: Codex shows them as the user's";

/// Failed calls; an item does not tell.
const FAILED: &str = "the mark of calls that failed: what they printed is there";

/// The type of an item.
#[derive(Deserialize)]
struct ItemHead<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<std::borrow::Cow<'a, str>>,
}

/// The session's id and its lines.
pub(super) fn write(
    session: &ReadySession<'_>,
    counts: &mut BTreeMap<&'static str, u64>,
) -> (String, String) {
    let id = ids::timed_uuid(session.seed, 0, session.newest);
    let mut text = String::new();
    head(session, &id, &mut text);
    let mut items: Vec<Vec<String>> = session.said.iter().map(|ready| items_of(&ready.message)).collect();
    pair_items(&mut items);
    for (ready, items) in session.said.iter().zip(&items) {
        event(ready, &mut text);
        for item in items {
            line("response_item", item, ready.time, &mut text);
        }
    }
    let unmarked = session.said.iter().filter(|ready| ready.is_injected && !is_answer(ready)).count() as u64;
    let blocks = session.said.iter().flat_map(|ready| &ready.message.blocks);
    let failed =
        blocks.filter(|block| matches!(block, Block::Result(result) if result.is_error)).count() as u64;
    let lost = [(UNMARKED, unmarked), (FAILED, failed)];
    counts.extend(lost.into_iter().filter(|(_, count)| *count > 0));
    (id, text)
}

/// Whether a message holds results only.
fn is_answer(ready: &ReadyMessage) -> bool {
    ready.message.blocks.iter().all(|block| matches!(block, Block::Result(_)))
}

/// The session's facts, and its compaction.
fn head(session: &ReadySession<'_>, id: &str, text: &mut String) {
    let mut meta = Json::default();
    meta.lit(r#"{"id":"#).string(id).lit(r#","timestamp":"#).string(&ids::iso(session.newest));
    meta.lit(r#","cwd":"#).string(session.parts.folder);
    meta.lit(r#","originator":"unforget","cli_version":"0.0.0","source":"cli"}"#);
    line("session_meta", &meta.finish(), session.newest, text);
    let Some(summary) = session.parts.summary else { return };
    let words = format!("{SUMMARY_START}{SUMMARY_MORE}\n{summary}");
    let mut json = Json::default();
    json.lit(r#"{"message":"#).string(&words);
    json.lit(
        r#","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
    );
    json.string(&words).lit("}]}]}");
    line("compacted", &json.finish(), session.first, text);
}

/// The event that Codex shows for a message of texts.
fn event(ready: &ReadyMessage, text: &mut String) {
    let Some(words) = plain_text(&ready.message).filter(|_| !ready.is_injected) else { return };
    let mut json = Json::default();
    match ready.message.speaker {
        Speaker::Assistant => json.lit(r#"{"type":"agent_message","message":"#).string(&words).lit("}"),
        _ => json
            .lit(r#"{"type":"user_message","message":"#)
            .string(&words)
            .lit(r#","images":[],"local_images":[],"text_elements":[]}"#),
    };
    line("event_msg", &json.finish(), ready.time, text);
}

/// The items of a message. Calls of custom tools stay as they are: their input is no JSON.
fn items_of(message: &Message) -> Vec<String> {
    let mut items = Vec::new();
    let mut rest: Vec<Block> = Vec::new();
    for block in &message.blocks {
        match custom_call(block) {
            Some(item) => {
                items.extend(rendered(message, std::mem::take(&mut rest)));
                items.push(item);
            }
            None => rest.push(block.clone()),
        }
    }
    items.extend(rendered(message, rest));
    items
}

/// The item of a call of a custom tool.
fn custom_call(block: &Block) -> Option<String> {
    let Block::Call(call) = block else { return None };
    let raw = call.raw.as_deref()?;
    let head: ItemHead<'_> = serde_json::from_str(raw).ok()?;
    let item = (head.kind.as_deref() == Some("custom_tool_call")).then(|| without_id(raw)).flatten()?;
    Some(on_one_line(&item).into_owned())
}

fn rendered(message: &Message, blocks: Vec<Block>) -> Vec<String> {
    if blocks.is_empty() {
        return Vec::new();
    }
    let part = Message { blocks, ..message.clone() };
    let text = format!("[{}]", render_message(&part, ResumingHost::Codex.target()));
    let items: Vec<&RawValue> = serde_json::from_str(&text).unwrap_or_default();
    items.into_iter().map(|item| item.get().to_owned()).collect()
}

fn line(kind: &str, payload: &str, time: Timestamp, text: &mut String) {
    let mut json = Json::default();
    json.lit(r#"{"timestamp":"#).string(&ids::iso(time)).lit(r#","type":""#).lit(kind);
    json.lit(r#"","payload":"#).lit(payload).lit("}");
    text.push_str(&json.finish());
    text.push('\n');
}
