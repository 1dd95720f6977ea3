//! tau-bench results: a list of `{task_id, trial, reward, info, traj: [OpenAI messages]}`.
//!
//! Each task is a side lane (thread) of its own; the reader takes it from the task that contains the message. The
//! messages are OpenAI Chat's; `reward` and `info` are bookkeeping.

use unforget_core::entry::Entry;

use crate::format::{Head, Identity, Layout, TASK_KEY, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_task =
        |record: &Object<'_>| record.has("task_id") && record.get(TASK_KEY).is_some_and(Value::is_array);
    head.layout == Layout::Under(TASK_KEY) || head.records.first().is_some_and(is_task)
}

/// No identity: the file has no session.
pub(crate) fn identity(_: &Head<'_>) -> Identity {
    Identity::default()
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    openai_chat::decode(record)
}
