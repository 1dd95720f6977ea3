//! Answers to hosts.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use unforget_core::admit::Certificate;
use unforget_engine::host;

use super::params::Base;
use crate::json::{CoverJson, SectionsJson, TokensJson};

/// Answer of `initialize`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// Version of the protocol.
    pub protocol: u32,
    /// Name and version of the program.
    pub server: String,
    /// Every method.
    pub verbs: Vec<&'static str>,
    /// Forms of messages.
    pub forms: Vec<super::Form>,
    /// Forms of answers.
    pub dialects: Vec<super::Target>,
    /// Most bytes of a line.
    pub frame_bytes_max: u64,
    /// Whether the host's offered model may be asked.
    pub asks_model: bool,
    /// Most waiting calls.
    pub queued_max: u64,
    /// Most bytes of waiting calls.
    pub queued_bytes_max: u64,
}

/// How much history there is. It can neither block nor shrink nor reset anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Debt {
    /// Expected tokens of all entries stored.
    pub stored_tokens: u64,
    /// Expected tokens of the entries behind the summaries.
    pub raw_tail_tokens: u64,
}

impl From<host::Debt> for Debt {
    fn from(debt: host::Debt) -> Self {
        Self { stored_tokens: debt.stored, raw_tail_tokens: debt.raw_tail }
    }
}

/// Answer of `open`, and of `status` for a lane.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneStatus {
    /// Version of the protocol.
    pub protocol: u32,
    /// Key of its conversation in the store.
    pub conversation: String,
    /// Form of its messages.
    pub form: &'static str,
    /// Entries stored, of every kind.
    pub entries: u64,
    /// Messages on the active path.
    pub path: u64,
    /// Number of beginnings so far: a changed number means a changed path.
    pub generation: u64,
    /// The host's most recent cursor.
    pub cursor: Option<String>,
    /// Key of the open turn.
    pub turn: Option<String>,
    /// How much history there is.
    pub debt: Debt,
}

impl From<host::Status> for LaneStatus {
    fn from(status: host::Status) -> Self {
        Self {
            protocol: super::PROTOCOL,
            conversation: status.conversation,
            form: status.form.name(),
            entries: status.entries,
            path: status.path,
            generation: status.generation,
            cursor: status.cursor,
            turn: status.turn,
            debt: status.debt.into(),
        }
    }
}

/// Answer of `status` without a lane.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Version of the protocol.
    pub protocol: u32,
    /// Number of lanes opened on this server.
    pub lanes: u64,
    /// Number of waiting calls.
    pub queued: u64,
    /// Bytes of waiting and running calls.
    pub queued_bytes: u64,
    /// Number of running calls.
    pub running: u64,
}

/// The result of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// `up-to-date`, `append`, `rewind`, `branch`, `unreconciled`.
    pub why: &'static str,
    /// Number of added entries that a prompt shows.
    pub added: u64,
    /// Number of added entries that no prompt shows: rewritten copies, possible replays.
    pub aside: u64,
    /// Number of beginnings of the lane so far.
    pub generation: u64,
    /// The newest entry of the path.
    pub head: Option<u64>,
}

impl From<host::Receipt> for Receipt {
    fn from(receipt: host::Receipt) -> Self {
        Self {
            why: receipt.why.name(),
            added: receipt.added,
            aside: receipt.off_path,
            generation: receipt.generation,
            head: receipt.head.map(|seq| seq.0),
        }
    }
}

/// Answer of calls that deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    /// What was stored.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// For an array: the `base` that the next call may name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Base>,
    /// For a file: the extent of reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileRead>,
}

impl From<host::Receipt> for Delivered {
    fn from(receipt: host::Receipt) -> Self {
        Self { receipt: receipt.into(), array: None, file: None }
    }
}

/// The extent of reading a transcript. `unforget import` keeps all of a file, byte for byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRead {
    /// Number of records in the file.
    pub records: u64,
    /// Number of delivered messages.
    pub delivered: u64,
    /// Number of undelivered messages on abandoned branches.
    pub off_path: u64,
    /// Number of undelivered messages before the transcript's last reset.
    pub before_reset: u64,
    /// Number of records other than messages.
    pub other: u64,
}

/// Answer of `commitTurn`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Committed {
    /// `committed` or `duplicate`.
    pub status: &'static str,
    /// What was stored.
    #[serde(flatten)]
    pub receipt: Receipt,
}

/// The guarantees of an admission, in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Sizes per section.
    pub sections: SectionsJson,
    /// Token budget of the messages.
    pub budget: u64,
    /// Name of the ruler.
    pub ruler: &'static str,
    /// The rung of the ladder on which it fits; `assembled` is the top.
    pub rung: &'static str,
    /// How the entries are represented.
    pub cover: CoverJson,
    /// Whether every entry is represented exactly once.
    pub is_exact: bool,
    /// Number of summarised entries whose summaries are provisional: better ones are made in the background and shown at a
    /// later break.
    pub provisional: u64,
    /// Number of entries that are sent only in part or not at all.
    pub omitted: u64,
    /// Number of entries that people put back and that have no room.
    pub raised_left_out: u64,
}

impl From<&Certificate> for Proof {
    fn from(certificate: &Certificate) -> Self {
        Self {
            sections: certificate.sections.into(),
            budget: certificate.window.saturating_sub(certificate.reserve),
            ruler: certificate.ruler,
            rung: certificate.rung.name(),
            cover: certificate.cover.into(),
            is_exact: certificate.proof.is_ok(),
            provisional: certificate.provisional.total(),
            omitted: certificate.omitted.len() as u64,
            raised_left_out: certificate.raised.left_out,
        }
    }
}

/// How a prompt came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptReport {
    /// Why the previous prompt was not returned again: `nothing-kept`, `new-generation`, `source-shrunk`,
    /// `source-grown`, `source-edited`, `other-budget`, `other-model`, `error`; none if it was.
    pub remade: Option<&'static str>,
    /// Why the beginning differs from the previous prompt's: `first`, `compaction`, `ladder`, `late-entry`, `rewind`,
    /// `live-input`, `pins`, `verdict`, `put-back`.
    pub broken: Option<&'static str>,
    /// The result of delivering the live array.
    pub delivery: Option<Receipt>,
}

/// Answer of `assemble`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assembled {
    /// The messages, in order. First, since the server inserts them behind the start of the answer that it has written.
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub messages: Vec<Box<RawValue>>,
    /// Recorded system instructions, in order.
    pub system: Vec<String>,
    /// Tokens of the messages.
    pub tokens: TokensJson,
    /// `assembled`, `degraded` or `emergency`.
    pub authority: &'static str,
    /// The guarantees of its admission.
    pub certificate: Proof,
    /// How it came about.
    pub report: PromptReport,
    /// How much history there is.
    pub debt: Debt,
    /// For a live array: the `base` that the next call may name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Base>,
    /// Number of leading messages missing from `messages`: the host has them in the prompt that it `holds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<u64>,
    /// The `holds` that the next call may name, if this one named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Base>,
}

/// Answer of `refused`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovered {
    /// The classification of the refusal.
    pub refusal: super::Classified,
    /// The request to send instead: smaller, and with other bytes. None: hand the refusal on.
    pub retry: Option<Retry>,
    /// Why there is no retry: `not-size` (sending less does not help), `tried` (it was sent again already),
    /// `nothing-left`.
    pub reason: Option<&'static str>,
}

/// A prompt to replace a refused one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The prompt.
    #[schemars(with = "Assembled")]
    pub prompt: Box<RawValue>,
    /// Most tokens to request as an answer.
    pub output: u64,
    /// The reason for its size: `told`, `guessed`, `suspected`, `media`.
    pub why: &'static str,
}

/// Answer of `answered`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Set if the provider counted far less than was sent: it has then cut the prompt.
    pub suspected_truncation: Option<Truncation>,
}

/// A prompt that the provider has cut, judged by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// The provider's count.
    pub reported_tokens: u64,
}

/// Answer of `compact`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// Whether the prompt became smaller.
    pub is_compacted: bool,
    /// Expected tokens of the prompt before.
    pub tokens_before: u64,
    /// Expected tokens of the prompt after.
    pub tokens_after: u64,
    /// Why nothing was done: `already under target`, or `nothing to compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// `unused`: the deterministic summariser follows no instructions. Absent without instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<&'static str>,
}

/// Answer of `maintain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintained {
    /// Whether the search index of a lane was completed too.
    pub is_indexed: bool,
}

/// Answer of calls that only say that they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallDone {
    /// Always true.
    pub done: bool,
}
