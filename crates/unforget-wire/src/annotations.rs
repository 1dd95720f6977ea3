//! Annotations of messages that only concern the provider's cache.
//!
//! | key | where |
//! |---|---|
//! | `cache_control` | Anthropic: a block, and a block inside a result, a search result or a document; routers of OpenAI Chat: a part, or the message |
//! | `prompt_cache_breakpoint` | OpenAI: a part |
//!
//! A client moves these from call to call, so they are no content: a message is recognised [`without`] them, and they
//! are put back ([`place`]) into the sent messages. Only the places above are considered: a tool's arguments may have a
//! field of this name, and that is content.

use std::borrow::Cow;

use crate::edit::{add_field, cut_fields, edited};
use crate::json::{Object, Tape, Value};

/// Most marks that a provider accepts in one request, instructions and tools included.
///
/// Source: Anthropic refuses more; OpenAI writes no more.
pub const MARKS_MAX: usize = 4;

/// A substring of all annotation names: text without it has no annotation.
pub const IN_COMMON: &str = "cache_";

const CACHE_CONTROL: &str = "cache_control";

const KEYS: [&str; 2] = [CACHE_CONTROL, "prompt_cache_breakpoint"];

/// Blocks that can carry a mark in any place. Neither thinking nor empty text can.
const MARKABLE: [&str; 13] = [
    "text",
    "image",
    "document",
    "search_result",
    "tool_use",
    "tool_result",
    "server_tool_use",
    "web_search_tool_result",
    "image_url",
    "input_audio",
    "input_text",
    "input_image",
    "input_file",
];

/// A mark in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The marked block: index in the message, then in the block, and so on. Empty for the message itself.
    pub path: Vec<usize>,
    /// The field: `cache_control` or `prompt_cache_breakpoint`.
    pub key: &'static str,
    /// Its JSON value, unchanged.
    pub value: String,
}

/// A message without its annotations, otherwise byte for byte. Text that is no JSON object stays unchanged.
pub fn without(message: &str) -> Cow<'_, str> {
    // A key may be written with escapes.
    let may_have = |text: &str| memchr::memmem::find(message.as_bytes(), text.as_bytes()).is_some();
    if !KEYS.into_iter().chain([r"\u"]).any(may_have) {
        return Cow::Borrowed(message);
    }
    let mut edits = Vec::new();
    on_blocks(message, &mut |_, block| cut_fields(block, &is_key, &mut edits));
    if edits.is_empty() { Cow::Borrowed(message) } else { Cow::Owned(edited(message, &edits)) }
}

/// The marks of a message, in order. `null` is no mark.
pub fn marks(message: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    on_blocks(message, &mut |path, block| {
        let own = KEYS.into_iter().filter_map(|key| Some((key, block.get(key)?)));
        let own = own.filter(|(_, value)| !value.is_null());
        marks.extend(own.map(|(key, value)| Mark {
            path: path.to_vec(),
            key,
            value: value.raw().to_owned(),
        }));
    });
    marks
}

/// A message with exactly these marks. Marks for missing blocks are left out.
pub fn with(message: &str, marks: &[Mark]) -> String {
    let bare = without(message);
    let mut edits = Vec::new();
    on_blocks(&bare, &mut |path, block| {
        let own = marks.iter().filter(|mark| mark.path == path && is_key(mark.key));
        let fields = block.members().count()..;
        edits.extend(fields.zip(own).map(|(fields, mark)| add_field(block, fields, mark.key, &mark.value)));
    });
    edited(&bare, &edits)
}

/// Transfers the client's marks to the sent messages.
///
/// A mark says that the prompt up to this place will come again. So the last mark of the client's last message goes to
/// the last markable block of the last sent message, and marks of a message that is sent unchanged stay in it. All
/// other marks have no place in the sent messages. If there are too many, the newest are kept.
///
/// * `client` - all messages of the history as sent by the client.
/// * `sent` - the messages to send; their own marks are removed.
/// * `shown` - for a sent message, the index of the client's message that it shows whole, if any.
/// * `taken` - marks outside the history: [`crate::exchange::Call::marks`].
pub fn place(
    client: &[&str],
    sent: &[String],
    shown: &dyn Fn(usize) -> Option<usize>,
    taken: usize,
) -> Vec<String> {
    let last = client.len().checked_sub(1);
    let newest = last.and_then(|last| marks(client.get(last)?).pop());
    let mut left = MARKS_MAX.saturating_sub(taken);
    let mut placed: Vec<String> = Vec::with_capacity(sent.len());
    let mut is_newest_due = newest.is_some();
    for (index, message) in sent.iter().enumerate().rev() {
        let origin = shown(index);
        let mut own = origin.and_then(|at| client.get(at)).map_or_else(Vec::new, |message| marks(message));
        if origin == last {
            is_newest_due &= own.is_empty();
        }
        if let Some(mark) = newest.as_ref().filter(|_| is_newest_due)
            && let Some(path) = last_markable(message, mark.key)
        {
            own.retain(|mark| mark.path != path);
            own.push(Mark { path, ..mark.clone() });
            is_newest_due = false;
        }
        own.drain(..own.len().saturating_sub(left));
        left -= own.len();
        placed.push(with(message, &own));
    }
    placed.reverse();
    placed
}

/// Adds a mark behind the first blocks of the sent messages, if the limit allows and the client's own mark stands
/// further behind. If the prompt changes behind these blocks, the provider still has them in its cache.
///
/// * `sent` - messages after [`place`].
/// * `blocks` - number of these blocks in the first message.
/// * `taken` - marks outside the history, as for [`place`].
///
/// Cost: reads the messages with marks. Source: Anthropic, prompt caching: the provider looks back 20 blocks from a
/// mark, so in a long turn the newest mark alone does not find the cached prompt.
pub fn place_behind(sent: &mut [String], blocks: usize, taken: usize) {
    let Some(at) = blocks.checked_sub(1) else { return };
    let has_any = |message: &&String| KEYS.iter().any(|key| message.contains(key));
    let placed: Vec<Mark> = sent.iter().filter(has_any).flat_map(|message| marks(message)).collect();
    let Some(newest) = placed.last().filter(|_| placed.len() + taken < MARKS_MAX) else { return };
    let Some(first) = sent.first_mut() else { return };
    let mut own = marks(first);
    if newest.key != CACHE_CONTROL || own.iter().any(|mark| mark.path.first().is_none_or(|own| *own <= at)) {
        return;
    }
    let mut is_markable_there = false;
    on_blocks(first, &mut |path, block| is_markable_there |= path == [at] && is_markable(block));
    if is_markable_there {
        own.insert(0, Mark { path: vec![at], ..newest.clone() });
        *first = with(first, &own);
    }
}

/// Path of the last markable block at the top level of a message. OpenAI accepts no mark in the model's output.
fn last_markable(message: &str, key: &str) -> Option<Vec<usize>> {
    let mut found = None;
    let mut is_open = true;
    on_blocks(message, &mut |path, block| match path {
        [] => is_open = key == CACHE_CONTROL || !block.is("role", "assistant"),
        [_] if is_open && is_markable(block) => found = Some(path.to_vec()),
        _ => {}
    });
    found
}

fn is_markable(block: Object<'_>) -> bool {
    let kind = block.str("type").unwrap_or_default();
    let is_empty = || block.str("text").is_none_or(|text| text.trim().is_empty());
    MARKABLE.contains(&&*kind) && !(matches!(&*kind, "text" | "input_text") && is_empty())
}

/// Number of marks outside the history: in the body itself, `system`, the tools and the leading instructions.
pub(super) fn count_outside<'t>(body: Object<'_>, leading: impl IntoIterator<Item = &'t Value<'t>>) -> usize {
    let count = |object: Object<'_>| KEYS.iter().filter(|key| object.has(key)).count();
    let listed = body.items("system").chain(body.items("tools")).filter_map(Value::obj);
    let listed: usize = listed.map(|item| count(item) + item.obj("function").map_or(0, count)).sum();
    let leading: usize = leading.into_iter().map(|message| marks(message.raw()).len()).sum();
    count(body) + listed + leading
}

fn is_key(key: &str) -> bool {
    KEYS.contains(&key)
}

/// Visits the message and every block that may carry an annotation, in the order of the text.
fn on_blocks(message: &str, each: &mut dyn FnMut(&[usize], Object<'_>)) {
    let mut tape = Tape::default();
    if tape.read(message.as_bytes()).is_err() {
        return;
    }
    let Some(message) = tape.value(message).and_then(Value::obj) else { return };
    each(&[], message);
    for (index, block) in blocks(message) {
        each(&[index], block);
        for (inner_index, inner) in inside(block) {
            each(&[index, inner_index], inner);
            for (deep_index, deep) in inside(inner) {
                each(&[index, inner_index, deep_index], deep);
            }
        }
    }
}

fn blocks(holder: Object<'_>) -> impl Iterator<Item = (usize, Object<'_>)> {
    // A Responses item's output is a list of parts, like content.
    let list = holder.get("content").or_else(|| holder.get("output"));
    list.into_iter().flat_map(Value::items).enumerate().filter_map(|(index, item)| Some((index, item.obj()?)))
}

/// Blocks inside a block: of a result, a search result, or a document given as a list of blocks.
fn inside(block: Object<'_>) -> impl Iterator<Item = (usize, Object<'_>)> {
    let kind = block.str("type").unwrap_or_default();
    let holder = match &*kind {
        "tool_result" | "search_result" => Some(block),
        "document" => block.obj("source").filter(|source| source.is("type", "content")),
        _ => None,
    };
    holder.into_iter().flat_map(blocks)
}
