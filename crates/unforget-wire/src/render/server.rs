//! Tools run at the provider: both halves of a pair are sent, or neither.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unforget_core::entry::Part;
use unforget_core::message::{Block, Message};

use super::head::BodyHead;
use super::json::without_cache_control;
use crate::dialect::Dialect;
use crate::target::Target;

/// Traces of provider-run tools in a message.
pub(super) enum Servers<'a> {
    /// The dialect has none.
    None,
    /// Anthropic: ids with only one half in the message, with halves out of order, or with two open calls.
    Broken(BTreeSet<Cow<'a, str>>),
    /// Gemini: ascending indices of code and outcome, where they are neighbours.
    Code(Vec<usize>),
}

impl<'a> Servers<'a> {
    /// Examines a message. Free of cost for dialects without such blocks.
    pub(super) fn of(message: &'a Message, target: Target) -> Self {
        match target.dialect {
            Dialect::Anthropic => Self::Broken(broken(message)),
            Dialect::Gemini => Self::Code(code(message)),
            _ => Self::None,
        }
    }

    /// Whether the block is half of a complete pair.
    ///
    /// * `block` - its index in the message.
    pub(super) fn are_whole(&self, head: &BodyHead<'_>, block: usize) -> bool {
        match self {
            Self::None => false,
            Self::Broken(broken) => is_server_tool(head) && !touches(head, broken),
            Self::Code(code) => code.binary_search(&block).is_ok(),
        }
    }
}

/// Whether a block looks like one half of a provider-run tool, complete or not.
pub(super) fn is_of_server_tool(head: &BodyHead<'_>) -> bool {
    matches!(&*head.kind, "server_tool_use" | "mcp_tool_use") || head.kind.ends_with("_tool_result")
}

/// Whether the block is one half of a provider-run tool. Their names follow a pattern, so that a new tool survives too
/// (F050).
fn is_server_tool(head: &BodyHead<'_>) -> bool {
    is_server_call(head) || (head.kind.ends_with("_tool_result") && head.tool_use_id.is_some())
}

fn is_server_call(head: &BodyHead<'_>) -> bool {
    let prefix = match &*head.kind {
        "server_tool_use" => "srvtoolu_",
        "mcp_tool_use" => "mcptoolu_",
        _ => return false,
    };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let rest = head.id.as_deref().and_then(|id| id.strip_prefix(prefix));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(legal))
}

fn touches(head: &BodyHead<'_>, ids: &BTreeSet<Cow<'_, str>>) -> bool {
    [&head.id, &head.tool_use_id].into_iter().flatten().any(|id| ids.contains(id))
}

fn opaque(block: &Block) -> Option<&str> {
    match block {
        Block::Part(Part::Opaque { raw, .. }) => Some(raw),
        _ => None,
    }
}

fn broken(message: &Message) -> BTreeSet<Cow<'_, str>> {
    let mut open: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    let mut broken = BTreeSet::new();
    for raw in message.blocks.iter().filter_map(opaque) {
        // An unsendable half does not complete the other one.
        let sent =
            BodyHead::of(raw).filter(|head| is_server_tool(head) && without_cache_control(raw).is_some());
        let Some(head) = sent else { continue };
        if is_server_call(&head) {
            let Some(id) = head.id else { continue };
            if open.contains(&id) {
                broken.insert(id);
            } else {
                open.insert(id);
            }
        } else if let Some(id) = head.tool_use_id
            && !open.remove(&id)
        {
            broken.insert(id);
        }
    }
    broken.append(&mut open);
    broken
}

fn code(message: &Message) -> Vec<usize> {
    let mut pairs = Vec::new();
    let mut before = None;
    for (index, block) in message.blocks.iter().enumerate() {
        let Some(head) = opaque(block).and_then(BodyHead::of).filter(|head| head.kind.is_empty()) else {
            before = None;
            continue;
        };
        if let Some(code) = before.filter(|_| head.code_execution_result.is_some()) {
            pairs.extend([code, index]);
        }
        before = (head.executable_code.is_some() && head.code_execution_result.is_none()).then_some(index);
    }
    pairs
}
