//! Tasks of Cline and of its relatives Roo Code and Kilo Code, and sessions of Cline's command line.
//!
//! Messages in Anthropic's form with a time `ts` each: `api_conversation_history.json` is an array of them, and
//! `….messages.json` an object that names its session.

use unforget_core::entry::Entry;

use crate::format::{Head, Identity, anthropic};
use crate::json::Object;

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_message = |record: &Object<'_>| {
        (record.is("role", "user") || record.is("role", "assistant"))
            && record.has("content")
            && record.get("ts").is_some_and(|time| time.i64().is_some())
    };
    !head.records.is_empty() && head.records.iter().all(is_message)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.header.and_then(|header| header.string("sessionId"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let mut entry = anthropic::decode(record);
    entry.time = record.time("ts");
    entry.model = entry.model.or_else(|| record.obj("modelInfo").and_then(|model| model.string("id")));
    entry
}
