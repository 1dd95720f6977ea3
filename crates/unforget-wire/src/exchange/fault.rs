//! Our own errors in the dialect's form, so that a client's SDK treats them like the provider's errors.
//!
//! | fault | status | Anthropic type | OpenAI type | OpenAI code |
//! |---|---|---|---|---|
//! | bad request | 400 | `invalid_request_error` | `invalid_request_error` | |
//! | too large | 413 | `request_too_large` | `invalid_request_error` | `request_too_large` |
//! | unauthorized | 401 | `authentication_error` | `invalid_request_error` | `invalid_api_key` |
//! | forbidden | 403 | `permission_error` | `invalid_request_error` | `permission_denied` |
//! | not found | 404 | `not_found_error` | `invalid_request_error` | `not_found` |
//! | conflict | 409 | `conflict_error` | `invalid_request_error` | `conflict` |
//! | irreducible | 400 | `invalid_request_error` | `invalid_request_error` | `context_length_exceeded` |
//! | too many | 429 | `rate_limit_error` | `requests` | `rate_limit_exceeded` |
//! | overloaded | 529, 503 | `overloaded_error` | `server_error` | `overloaded` |
//! | upstream unreachable | 502 | `api_error` | `server_error` | `upstream_unreachable` |
//! | upstream timeout | 504 | `timeout_error` | `server_error` | `upstream_timeout` |
//! | not stored | 503 | `api_error` | `server_error` | `not_stored` |
//! | internal | 500 | `api_error` | `server_error` | `internal_error` |

use super::call::CallFault;
use super::quoted;
use crate::Dialect;

/// A failure of the gateway.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The body is not a call.
    #[error("{0}")]
    Call(#[from] CallFault),
    /// Another part of the request is wrong: a header, a path, an encoding.
    #[error("{what}")]
    BadRequest {
        /// The defect, for a person.
        what: String,
    },
    /// The body exceeds the accepted size.
    #[error("the request has more than the {max} bytes that the gateway accepts")]
    TooLarge {
        /// Largest accepted body, in bytes.
        max: u64,
    },
    /// The body has more objects and lists than are accepted.
    #[error(
        "the request has {found} objects and lists, and the gateway accepts {max}; send fewer messages, or raise serve.pieces_max"
    )]
    TooManyPieces {
        /// Number found.
        found: usize,
        /// Most that are accepted.
        max: usize,
    },
    /// The key is missing or unknown.
    #[error("the key is missing or unknown; send a key that the gateway's settings name")]
    Unauthorized,
    /// The key lacks permission.
    #[error("this key does not allow {what}; ask the owner of the gateway")]
    Forbidden {
        /// The requested operation.
        what: String,
    },
    /// There is no such thing.
    #[error("{what} does not exist")]
    NotFound {
        /// The requested thing.
        what: String,
    },
    /// The path belongs to no served API, and the settings send it nowhere.
    #[error("{what} is not served here, and was sent nowhere; {next}")]
    Unserved {
        /// Method and path.
        what: String,
        /// What to do.
        next: String,
    },
    /// The state does not allow it: another call of the conversation is under way.
    #[error("{what}")]
    Conflict {
        /// The obstacle.
        what: String,
    },
    /// The provider is unreachable.
    #[error(
        "the provider `{upstream}` cannot be reached; check the network and the address in the gateway's settings"
    )]
    Unreachable {
        /// The upstream's name in the config.
        upstream: String,
    },
    /// The provider did not answer in time.
    #[error("the provider `{upstream}` did not answer within {seconds} s; try again")]
    Timeout {
        /// The upstream's name in the config.
        upstream: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// Too many requests are under way.
    #[error("the gateway has too many calls under way; try again in {retry_after} s")]
    Overloaded {
        /// Seconds until a retry makes sense.
        retry_after: u64,
    },
    /// Too many calls of one conversation wait.
    #[error("this conversation has too many calls under way; try again in {retry_after} s")]
    TooMany {
        /// Seconds until a retry makes sense.
        retry_after: u64,
    },
    /// The parts that cannot be left out do not fit. All figures in tokens.
    #[error(
        "prompt is too long: {needed} tokens > {budget} maximum ({fixed} of them instructions and tools)"
    )]
    Irreducible {
        /// Upper bound of the smallest request.
        needed: u64,
        /// The budget for it.
        budget: u64,
        /// Upper bound of instructions and tools.
        fixed: u64,
    },
    /// New messages could not be stored, and unstored messages are not sent on. The disk may be full.
    #[error("the gateway could not store the conversation and sent nothing; its disk may be full")]
    NotStored,
    /// A defect of ours; the log has the details.
    #[error("the gateway failed; its log has the details")]
    Internal,
}

/// Status and error words of both API families.
struct Words {
    status: u16,
    anthropic: &'static str,
    openai: &'static str,
    code: Option<&'static str>,
}

const fn words(status: u16, anthropic: &'static str, openai: &'static str, code: &'static str) -> Words {
    Words { status, anthropic, openai, code: Some(code) }
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

impl Fault {
    fn words(&self) -> Words {
        match self {
            Self::Call(_) | Self::BadRequest { .. } => {
                Words { status: 400, anthropic: INVALID, openai: INVALID, code: None }
            }
            Self::TooLarge { .. } | Self::TooManyPieces { .. } => {
                words(413, "request_too_large", INVALID, "request_too_large")
            }
            Self::Unauthorized => words(401, "authentication_error", INVALID, "invalid_api_key"),
            Self::Forbidden { .. } => words(403, "permission_error", INVALID, "permission_denied"),
            Self::NotFound { .. } => words(404, "not_found_error", INVALID, "not_found"),
            Self::Unserved { .. } => words(404, "not_found_error", INVALID, "unknown_url"),
            Self::Conflict { .. } => words(409, "conflict_error", INVALID, "conflict"),
            Self::Unreachable { .. } => words(502, "api_error", SERVER, "upstream_unreachable"),
            Self::Timeout { .. } => words(504, "timeout_error", SERVER, "upstream_timeout"),
            Self::TooMany { .. } => words(429, "rate_limit_error", "requests", "rate_limit_exceeded"),
            Self::Overloaded { .. } => words(503, "overloaded_error", SERVER, "overloaded"),
            Self::Irreducible { .. } => words(400, INVALID, INVALID, "context_length_exceeded"),
            Self::NotStored => words(503, "api_error", SERVER, "not_stored"),
            Self::Internal => words(500, "api_error", SERVER, "internal_error"),
        }
    }

    /// The HTTP status.
    pub fn status(&self, dialect: Dialect) -> u16 {
        match (self, dialect) {
            (Self::Overloaded { .. }, Dialect::Anthropic) => 529,
            _ => self.words().status,
        }
    }

    /// Value of the `retry-after` header in seconds, if the response should have one.
    pub const fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Overloaded { retry_after } | Self::TooMany { retry_after } => Some(*retry_after),
            _ => None,
        }
    }

    /// The body of the error response.
    ///
    /// * `request` - our id of the request, for the log.
    pub fn body(&self, dialect: Dialect, request: &str) -> String {
        let (words, message, request) = (self.words(), quoted(&self.to_string()), quoted(request));
        if dialect == Dialect::Anthropic {
            let kind = words.anthropic;
            return format!(
                r#"{{"type":"error","error":{{"type":"{kind}","message":{message}}},"request_id":{request}}}"#
            );
        }
        let (kind, code) = (words.openai, words.code.map_or_else(|| "null".to_owned(), quoted));
        format!(r#"{{"error":{{"type":"{kind}","message":{message},"param":null,"code":{code}}}}}"#)
    }

    /// The event that ends a stream after it has begun, including the empty line behind it. It must stand between two
    /// events.
    pub fn event(&self, dialect: Dialect, request: &str) -> String {
        match dialect {
            Dialect::Anthropic => format!("event: error\ndata: {}\n\n", self.body(dialect, request)),
            Dialect::OpenAiResponses => {
                let code = self.words().code.map_or_else(|| quoted(INVALID), quoted);
                let message = quoted(&self.to_string());
                let data = format!(r#"{{"type":"error","code":{code},"message":{message},"param":null}}"#);
                format!("event: error\ndata: {data}\n\n")
            }
            _ => format!("data: {}\n\n", self.body(dialect, request)),
        }
    }
}
