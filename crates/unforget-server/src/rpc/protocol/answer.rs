//! What hosts get.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use unforget_core::admit::{Certificate, Sections};
use unforget_core::tokens;
use unforget_engine::host;

use super::params::Base;

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
    /// Bytes of a line at most.
    pub frame_bytes_max: u64,
    /// Whether the host's model, which it offered, may be asked.
    pub asks_model: bool,
    /// Calls that may wait at once.
    pub queued_max: u64,
    /// Bytes of calls that may wait at once.
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
    /// Beginnings so far: another number than before means that the path is another one.
    pub generation: u64,
    /// The host's cursor that was kept last.
    pub cursor: Option<String>,
    /// Key of the turn that is open.
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
    /// Lanes that were opened on this server.
    pub lanes: u64,
    /// Calls that wait.
    pub queued: u64,
    /// Bytes of calls that wait or run.
    pub queued_bytes: u64,
    /// Calls that run.
    pub running: u64,
}

/// What a delivery did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// `up-to-date`, `append`, `rewind`, `branch`, `unreconciled`.
    pub why: &'static str,
    /// Entries added that a prompt shows.
    pub added: u64,
    /// Entries added that none does: rewritten copies, possible replays.
    pub aside: u64,
    /// Beginnings of the lane so far.
    pub generation: u64,
    /// The newest entry of the path.
    pub head: Option<u64>,
}

impl From<host::Receipt> for Receipt {
    fn from(receipt: host::Receipt) -> Self {
        Self {
            why: receipt.why.name(),
            added: receipt.added,
            aside: receipt.aside,
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
    /// Of an array: what the next call may name as its `base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Base>,
    /// Of a file: what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileRead>,
}

impl From<host::Receipt> for Delivered {
    fn from(receipt: host::Receipt) -> Self {
        Self { receipt: receipt.into(), array: None, file: None }
    }
}

/// What was read of a transcript. `unforget import` keeps all of a file, byte for byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRead {
    /// Records in the file.
    pub records: u64,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that were not: they stand on abandoned branches.
    pub off_path: u64,
    /// Messages that were not: they stand before the transcript's last reset.
    pub before_reset: u64,
    /// Records that are no messages.
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

/// A number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Best guess.
    pub expected: u64,
    /// A bound that the true number does not exceed.
    pub upper: u64,
}

impl From<tokens::Tokens> for Tokens {
    fn from(tokens: tokens::Tokens) -> Self {
        Self { expected: tokens.expected, upper: tokens.upper }
    }
}

/// Sizes of the sections of a prompt. They sum to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionTokens {
    /// System instructions and tools that the history records.
    pub system: Tokens,
    /// Pinned rules.
    pub pins: Tokens,
    /// Summaries and stubs.
    pub summaries: Tokens,
    /// What was done with tools, as far as the summaries go.
    pub ledger: Tokens,
    /// The newest message of a person, carried out of a summary.
    pub carried: Tokens,
    /// Entries sent as they are or stubbed.
    pub tail: Tokens,
    /// What joins the pieces.
    pub frame: Tokens,
}

impl From<Sections> for SectionTokens {
    fn from(sections: Sections) -> Self {
        Self {
            system: sections.system.into(),
            pins: sections.pins.into(),
            summaries: sections.summaries.into(),
            ledger: sections.ledger.into(),
            carried: sections.carried.into(),
            tail: sections.tail.into(),
            frame: sections.frame.into(),
        }
    }
}

/// How the entries of the path are represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoverCounts {
    /// As they are.
    pub verbatim: u64,
    /// With large results stubbed or shortened.
    pub stubbed: u64,
    /// By a summary.
    pub summarised: u64,
    /// By one stub for a whole run.
    pub elided: u64,
}

/// What admission guarantees, in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Sizes per section.
    pub sections: SectionTokens,
    /// What the messages might have had.
    pub budget: u64,
    /// What counted the tokens.
    pub ruler: &'static str,
    /// On which rung of the ladder it fits; `assembled` is the top.
    pub rung: &'static str,
    /// How the entries are represented.
    pub cover: CoverCounts,
    /// Whether every entry is represented exactly once.
    pub is_exact: bool,
    /// Entries of which something is not sent.
    pub omitted: u64,
}

impl From<&Certificate> for Proof {
    fn from(certificate: &Certificate) -> Self {
        let cover = certificate.cover;
        Self {
            sections: certificate.sections.into(),
            budget: certificate.window.saturating_sub(certificate.reserve),
            ruler: certificate.ruler,
            rung: certificate.rung.name(),
            cover: CoverCounts {
                verbatim: cover.verbatim,
                stubbed: cover.stubbed,
                summarised: cover.summarised,
                elided: cover.elided,
            },
            is_exact: certificate.proof.is_ok(),
            omitted: certificate.omitted.len() as u64,
        }
    }
}

/// Where a prompt came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Why the prompt of the call before was not given again: `nothing-kept`, `new-generation`, `source-shrunk`,
    /// `source-grown`, `source-edited`, `other-budget`, `other-model`, `error`; none if it was.
    pub remade: Option<&'static str>,
    /// Why the beginning is not that of the prompt before: `first`, `compaction`, `ladder`, `late-entry`, `rewind`, `live-input`.
    pub broken: Option<&'static str>,
    /// What delivering the live array did.
    pub delivery: Option<Receipt>,
}

/// Answer of `assemble`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assembled {
    /// The messages, in order. First, since the server puts them in behind what it has written of the answer.
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub messages: Vec<Box<RawValue>>,
    /// System instructions that the history records, in order.
    pub system: Vec<String>,
    /// Tokens of the messages.
    pub tokens: Tokens,
    /// `assembled`, `degraded` or `emergency`.
    pub authority: &'static str,
    /// What admission guarantees.
    pub certificate: Proof,
    /// Where it came from.
    pub report: Report,
    /// How much history there is.
    pub debt: Debt,
    /// Of a live array: what the next call may name as its `base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Base>,
    /// Messages at the beginning that are not among `messages`: the host has them in the prompt that it `holds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<u64>,
    /// What the next call may name as `holds`, if this one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Base>,
}

/// Answer of `refused`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovered {
    /// What the refusal means.
    pub refusal: super::Classified,
    /// What to send instead: smaller, and other bytes. None: hand the refusal on.
    pub retry: Option<Retry>,
    /// Why there is no retry: `not-size` (sending less does not help), `tried` (it was sent again already),
    /// `nothing-left`.
    pub reason: Option<&'static str>,
}

/// A prompt to send instead of one that was refused.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The prompt.
    #[schemars(with = "Assembled")]
    pub prompt: Box<RawValue>,
    /// Tokens to ask for as an answer at most.
    pub output: u64,
    /// Why it is as small as it is: `told`, `guessed`, `suspected`, `media`.
    pub why: &'static str,
}

/// Answer of `answered`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Set if the provider counted far less than was sent: then it has cut the prompt.
    pub suspected_truncation: Option<Truncation>,
}

/// A prompt that the provider has cut, by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// What the provider counted.
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
    /// And after.
    pub tokens_after: u64,
    /// Why nothing was done: `already under target`, or `nothing to compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// `unused`: the deterministic summariser follows no instructions. Absent if there were none.
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
pub struct Done {
    /// Always true.
    pub done: bool,
}
