//! What clients write into messages for the provider's cache alone.
//!
//! | key | where |
//! |---|---|
//! | `cache_control` | Anthropic: a block, and a block inside a result, a search result or a document; routers of OpenAI Chat: a part, or the message |
//! | `prompt_cache_breakpoint` | OpenAI: a part |
//!
//! A client moves these from call to call, so they are no content: a message is recognised [`without`] them, and they are
//! put back ([`place`]) into what is sent. Only the places above are looked at: a tool's arguments may have a field of
//! the same name, and that is content.

use std::borrow::Cow;

use super::edit::{add_field, cut_fields, edited};
use crate::json::{Object, Tape, Value};

/// Most marks that a provider takes in one request, instructions and tools included.
///
/// Source: Anthropic refuses more; OpenAI writes no more.
pub const MARKS_MAX: usize = 4;

/// What the names of all annotations have in common: text without it has none.
pub const IN_COMMON: &str = "cache_";

const CACHE_CONTROL: &str = "cache_control";

const KEYS: [&str; 2] = [CACHE_CONTROL, "prompt_cache_breakpoint"];

/// Blocks that can carry a mark wherever they stand. Not thinking, and no text that is empty.
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
    /// Which block: index in the message, then in the block, and so on. Empty for the message itself.
    pub path: Vec<usize>,
    /// The field: `cache_control` or `prompt_cache_breakpoint`.
    pub key: &'static str,
    /// Its value as it stands.
    pub value: String,
}

/// A message without its annotations, otherwise byte for byte. Text that is no JSON object stays as it is.
pub fn without(message: &str) -> Cow<'_, str> {
    // A key may be written in escapes.
    let may_have = |text: &str| memchr::memmem::find(message.as_bytes(), text.as_bytes()).is_some();
    if !KEYS.into_iter().chain([r"\u"]).any(may_have) {
        return Cow::Borrowed(message);
    }
    let mut edits = Vec::new();
    on_blocks(message, &mut |_, block| cut_fields(block, &is_key, &mut edits));
    if edits.is_empty() { Cow::Borrowed(message) } else { Cow::Owned(edited(message, &edits)) }
}

/// The marks of a message, in order. `null` is none.
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

/// A message with these marks and no others. Marks for blocks that are not there are left out.
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

/// Gives messages that are sent the marks of the client's.
///
/// A mark says: the prompt up to here comes again. So the last mark of the client's last message goes to the last
/// block of the last message that can carry one, and marks of a message that is sent as it is stay in it. Others
/// have no place in what is sent. Where there are too many, the newest are kept.
///
/// * `client` - all messages of the history as the client sent them.
/// * `sent` - the messages that are sent; their own marks go.
/// * `shown` - index of the client's message that a sent one is, if it is a whole one.
/// * `taken` - marks outside the history: [`super::Call::marks`].
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

/// Puts one more mark behind the first blocks of what is sent, if there is room for it and the client's own mark stands
/// further behind: when the prompt changes behind them, the provider still has it up to there.
///
/// * `sent` - messages that [`place`] gave.
/// * `blocks` - how many blocks of the first message these are.
/// * `taken` - marks outside the history, as for [`place`].
///
/// Cost: reads the messages that have marks. Source: Anthropic, prompt caching, which looks back 20 blocks from a mark: of a
/// long turn the newest mark alone is not found again.
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

/// Path of the last block at the top of a message that can carry a mark. OpenAI takes none in what the model wrote.
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

/// Marks of a body outside its history: its own, those of `system`, of the tools and of the messages that are instructions.
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
    // The output of a Responses item is a list of parts as content is.
    let list = holder.get("content").or_else(|| holder.get("output"));
    list.into_iter().flat_map(Value::items).enumerate().filter_map(|(index, item)| Some((index, item.obj()?)))
}

/// Blocks in a block: of a result, of a search result, of a document that is a list of blocks.
fn inside(block: Object<'_>) -> impl Iterator<Item = (usize, Object<'_>)> {
    let kind = block.str("type").unwrap_or_default();
    let holder = match &*kind {
        "tool_result" | "search_result" => Some(block),
        "document" => block.obj("source").filter(|source| source.is("type", "content")),
        _ => None,
    };
    holder.into_iter().flat_map(blocks)
}
