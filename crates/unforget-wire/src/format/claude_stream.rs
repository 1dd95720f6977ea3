//! What `claude --print --output-format stream-json` prints, kept by a script or a program of its own.
//!
//! | record | entry |
//! |---|---|
//! | `user`, `assistant` | their `message`, as in Anthropic's API |
//! | the same with a `parent_tool_use_id` | a side lane named by the call: a sub-agent's |
//! | `system`, `result`, `stream_event` and others | bookkeeping: settings, totals, and pieces of messages that follow whole |

use unforget_core::entry::{Entry, HostParent, Origin};

use crate::format::{Head, Identity, Layout, anthropic};
use crate::json::Object;

/// Whether a transcript with this head has this format. Claude Code's own transcripts write `sessionId`.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_own = |record: &Object<'_>| {
        let is_opening = record.is("type", "system") && record.is("subtype", "init");
        let is_message = message(*record).is_some();
        record.has("session_id") && !record.has("sessionId") && (is_opening || is_message)
    };
    head.layout == Layout::Lines && head.records.iter().any(is_own)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.string("session_id"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let time = record.time("timestamp");
    let Some(message) = message(record) else {
        return Entry { time, ..Entry::bare(Origin::Bookkeeping) };
    };
    let mut entry = anthropic::decode(message);
    entry.time = time;
    // One answer comes in several records with the same message id.
    entry.host_id = record.string("uuid").filter(|id| !id.is_empty());
    entry.parent = HostParent::Previous;
    entry.thread = record.string("parent_tool_use_id").filter(|id| !id.is_empty());
    entry
}

fn message(record: Object<'_>) -> Option<Object<'_>> {
    let is_spoken = record.is("type", "user") || record.is("type", "assistant");
    record.obj("message").filter(|_| is_spoken)
}
