//! Errors: each says whether anything was stored, and what to do.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_engine::EngineError;
use unforget_engine::host::HostError;
use unforget_store::StoreError;

use crate::failed::{Blame, Failed, FailureKind};

/// Kinds of errors, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The line is not JSON.
    Parse,
    /// The line is not one call.
    Invalid,
    /// There is no such method.
    Method,
    /// The parameters are not those of the method.
    Params,
    /// A defect of ours.
    Internal,
    /// The call was cancelled before it began.
    Cancelled,
    /// Bodies are needed: `need` has their indices.
    Need,
    /// The base is unknown: send the array without it.
    NeedWhole,
    /// The lane is not open on this server, and the call does not give its form.
    NotOpen,
    /// A message is unreadable: `index` has its place.
    BadMessage,
    /// The request contradicts the stored state.
    Refused,
    /// The deadline passed before the call began.
    Deadline,
    /// Too many calls wait already.
    Busy,
    /// The server is ending.
    ShuttingDown,
    /// The store failed.
    Store,
    /// The prompt cannot be made to fit.
    Irreducible,
    /// A query, pattern or name is unusable.
    Usage,
    /// The host uses another version.
    Protocol,
    /// A file is unreadable.
    File,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 19] = [
        Self::Parse,
        Self::Invalid,
        Self::Method,
        Self::Params,
        Self::Internal,
        Self::Cancelled,
        Self::Need,
        Self::NeedWhole,
        Self::NotOpen,
        Self::BadMessage,
        Self::Refused,
        Self::Deadline,
        Self::Busy,
        Self::ShuttingDown,
        Self::Store,
        Self::Irreducible,
        Self::Usage,
        Self::Protocol,
        Self::File,
    ];

    /// The number in `error.code`.
    pub const fn number(self) -> i32 {
        match self {
            Self::Parse => -32_700,
            Self::Invalid => -32_600,
            Self::Method => -32_601,
            Self::Params => -32_602,
            Self::Internal => -32_603,
            Self::Cancelled => -32_800,
            Self::Need => 1_001,
            Self::NeedWhole => 1_002,
            Self::NotOpen => 1_003,
            Self::BadMessage => 1_004,
            Self::Refused => 1_005,
            Self::Deadline => 1_006,
            Self::Busy => 1_007,
            Self::ShuttingDown => 1_008,
            Self::Store => 1_009,
            Self::Irreducible => 1_010,
            Self::Usage => 1_011,
            Self::Protocol => 1_012,
            Self::File => 1_013,
        }
    }

    /// The name in `error.data.kind`.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Invalid => "invalid",
            Self::Method => "method",
            Self::Params => "params",
            Self::Internal => "internal",
            Self::Cancelled => "cancelled",
            Self::Need => "need",
            Self::NeedWhole => "needWhole",
            Self::NotOpen => "notOpen",
            Self::BadMessage => "badMessage",
            Self::Refused => "refused",
            Self::Deadline => "deadline",
            Self::Busy => "busy",
            Self::ShuttingDown => "shuttingDown",
            Self::Store => "store",
            Self::Irreducible => "irreducible",
            Self::Usage => "usage",
            Self::Protocol => "protocol",
            Self::File => "file",
        }
    }
}

/// `error.data` of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The kind of error.
    pub kind: &'static str,
    /// Whether anything was stored; null if unknown. Every call may be sent again.
    pub stored: Option<bool>,
    /// Advice.
    pub hint: String,
    /// Indices of the messages whose bodies are needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub need: Vec<usize>,
    /// Index of the unreadable message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// `cancelled` or `deadline`: the call had begun before its cancellation or its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<&'static str>,
    /// `irreducible`: tokens by which the smallest prompt exceeds the budget. With a budget that is larger by them, the
    /// call gives that prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
}

/// `error` of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// The number of its code. See [`Code::number`].
    pub code: i32,
    /// What happened.
    pub message: String,
    /// Details for programs.
    pub data: Box<Detail>,
}

impl Failure {
    /// An error before anything was stored.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let data = Detail {
            kind: code.kind(),
            stored: Some(false),
            hint: hint.into(),
            need: Vec::new(),
            index: None,
            late: None,
            missing: None,
        };
        Self { code: code.number(), message: message.into(), data: Box::new(data) }
    }

    /// Wrong parameters for the method.
    pub fn params(what: impl Into<String>) -> Self {
        Self::new(
            Code::Params,
            what,
            "see docs/protocol.md or docs/protocol.schema.json for the parameters of the method",
        )
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let message = error.to_string();
        match error {
            HostError::Need { indices } => {
                let mut failure =
                    Self::new(Code::Need, message, "send the call again with the bodies of `need`");
                failure.data.need = indices;
                failure
            }
            HostError::BadMessage { index, .. } => {
                let mut failure =
                    Self::new(Code::BadMessage, message, "send it in the lane's form, as one JSON object");
                failure.data.index = Some(index);
                failure
            }
            HostError::Engine(error) => error.into(),
            _ => Self::new(Code::Refused, message, "call status to see the state of the lane"),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let missing = match &error {
            EngineError::Irreducible(smallest) => {
                Some(smallest.sections.total().upper.saturating_sub(smallest.budget))
            }
            _ => None,
        };
        let mut failure = Self::from(Failed::from(error));
        failure.data.missing = missing;
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failed::from(error).into()
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        let code = code_of(failed.kind);
        let hint = match failed.kind {
            FailureKind::NoConversation | FailureKind::Ambiguous => {
                "give the whole key of a conversation".to_owned()
            }
            FailureKind::NoPin => "call pins to list the pins".to_owned(),
            FailureKind::Irreducible => "give a larger budget".to_owned(),
            FailureKind::File if failed.hint.is_empty() => "check the path".to_owned(),
            FailureKind::Full => {
                "free some space on the disk and send the call again; what was acknowledged is safe"
                    .to_owned()
            }
            FailureKind::Moved => "send the call again".to_owned(),
            FailureKind::Store => {
                "it is safe to send the call again; if that fails too, run unforget doctor".to_owned()
            }
            _ => failed.hint,
        };
        let mut failure = Self::new(code, failed.message, hint);
        if failed.kind == FailureKind::Store {
            failure.data.stored = None;
        }
        failure
    }
}

const fn code_of(kind: FailureKind) -> Code {
    match kind {
        FailureKind::File | FailureKind::NotATranscript => Code::File,
        FailureKind::Irreducible => Code::Irreducible,
        FailureKind::Forbidden => Code::Refused,
        _ => match kind.blame() {
            Blame::Asker => Code::Usage,
            Blame::Input => Code::File,
            Blame::Store => Code::Store,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct() {
        for (at, one) in Code::ALL.iter().enumerate() {
            for other in &Code::ALL[at + 1..] {
                assert!(one.number() != other.number() && one.kind() != other.kind(), "{one:?} {other:?}");
            }
        }
    }
}
