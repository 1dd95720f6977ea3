//! The reasons why a call gave no answer.

use std::fmt;
use std::time::Duration;

use unforget_text::clean;

use crate::secret::Secret;

/// A provider with a credential: the key of breakers and of the limit of concurrent calls (F018).
///
/// Both fields are names for reports and storage. Neither holds a secret: the credential is named by its source and a
/// short fingerprint, so that a changed key is another account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// The provider: scheme, host and port of the address, or the command, or the host.
    pub provider: String,
    /// The credential: `env:NAME#1a2b3c4d`, `file:PATH#1a2b3c4d`, `none`.
    pub credential: String,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.provider, self.credential)
    }
}

/// Why a call gave no answer, and the account of the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{model} at {account}: {cause}{}", Detail(detail))]
pub struct Fault {
    /// The kind of the fault.
    pub cause: Cause,
    /// The account whose breaker counts it.
    pub account: Box<Account>,
    /// The requested model.
    pub model: String,
    /// The message of the provider or the system, on one line, clipped, without credentials; perhaps empty. For a
    /// person: no decision depends on it.
    pub detail: String,
}

impl Fault {
    /// A fault with a message: on one line, clipped, without credentials.
    pub fn told(cause: Cause, account: &Account, model: &str, said: &str) -> Self {
        let detail = detail(said.as_bytes(), None);
        Self { cause, account: Box::new(account.clone()), model: model.to_owned(), detail }
    }
}

struct Detail<'a>(&'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The key is missing, wrong, or lacks permission.
    #[error("the credential is refused")]
    Auth,
    /// Credit, quota or subscription is exhausted.
    #[error("the account's credit or quota is used up")]
    Payment,
    /// Too many requests or tokens per time.
    #[error("the rate is limited")]
    RateLimited {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider has no capacity now.
    #[error("the provider is overloaded")]
    Overloaded {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider failed.
    #[error("the provider failed")]
    Server {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// There was no connection in time.
    #[error("no connection in time")]
    ConnectTimeout,
    /// The answer was not complete in time.
    #[error("no whole answer in time")]
    Timeout,
    /// There is no connection: nothing listens, or the name is unknown.
    #[error("no connection")]
    Connect,
    /// The connection is not trusted: certificates, protocol versions.
    #[error("the connection cannot be trusted")]
    Tls,
    /// The connection was reset or closed before the answer was complete.
    #[error("the connection broke off")]
    Broken,
    /// The request is above the model's window.
    #[error("the request is too long")]
    TooLong {
        /// The limit, in tokens, if the provider told it.
        limit: Option<u64>,
        /// The size of the request by the provider's count.
        sent: Option<u64>,
    },
    /// The requested answer exceeds the model's limit.
    #[error("the requested answer is too long")]
    OutputTooLong {
        /// The longest answer that may be requested, in tokens.
        limit: Option<u64>,
    },
    /// There is no such model or endpoint.
    #[error("no such model or endpoint")]
    NotFound,
    /// The content is not allowed.
    #[error("the content is refused")]
    Policy,
    /// The request breaks another rule of the provider.
    #[error("the request is refused")]
    Invalid,
    /// The provider redirects the call. Redirects are not followed, since they would carry the credential along.
    #[error("the address redirects")]
    Redirect,
    /// The answer violates the protocol.
    #[error("the answer is not understood at {place}")]
    BadAnswer {
        /// Where: a field, or line and column of the JSON.
        place: String,
    },
    /// The answer exceeds the read limit.
    #[error("the answer has more than {bytes_max} bytes")]
    AnswerTooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// The command ended without an answer.
    #[error("the command ended with {}", exit.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}")))]
    Command {
        /// Its exit code; `None` if a signal ended it.
        exit: Option<i32>,
    },
    /// The command cannot be started.
    #[error("the command cannot be started")]
    NotStarted,
    /// The call was cancelled on our side.
    #[error("the call was cancelled")]
    Cancelled,
    /// The call was not made: the account's breaker is open.
    #[error("not called, the breaker is open")]
    BreakerOpen {
        /// Opened by a refused credential: it stays open until the credential changes or a person resets it.
        blocked: bool,
    },
    /// The call was not made: no place among the concurrent calls became free in time.
    #[error("not called, too many calls are under way")]
    Busy,
    /// The call was not made: no model is available to answer.
    #[error("not called, no model is available")]
    Absent,
    /// An error of an unknown form.
    #[error("an unknown error{}", status.map_or_else(String::new, |status| format!(", status {status}")))]
    Unknown {
        /// The HTTP status.
        status: Option<u16>,
    },
}

impl Cause {
    /// The cause with a name that commands and hosts may give; [`Cause::Unknown`] for any other name.
    pub fn told(name: &str, retry_after: Option<Duration>) -> Self {
        match name {
            "auth" => Self::Auth,
            "payment" => Self::Payment,
            "rate-limited" => Self::RateLimited { retry_after },
            "overloaded" => Self::Overloaded { retry_after },
            "server" => Self::Server { retry_after },
            "too-long" => Self::TooLong { limit: None, sent: None },
            "not-found" => Self::NotFound,
            "policy" => Self::Policy,
            "invalid" => Self::Invalid,
            _ => Self::Unknown { status: None },
        }
    }

    /// Whether an equal call may succeed a moment later.
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::Server { .. }
                | Self::ConnectTimeout
                | Self::Timeout
                | Self::Connect
                | Self::Broken
                | Self::BadAnswer { .. }
                | Self::Command { .. }
        )
    }

    /// Whether anything was sent: breakers, full places and absence end a call before that.
    pub const fn was_made(&self) -> bool {
        !matches!(self, Self::BreakerOpen { .. } | Self::Busy | Self::Absent)
    }

    /// How long the provider asks to wait.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after }
            | Self::Overloaded { retry_after }
            | Self::Server { retry_after } => *retry_after,
            _ => None,
        }
    }

    /// Adds the delay requested by the provider, unless one is known already.
    pub(crate) fn with_retry_after(mut self, told: Option<Duration>) -> Self {
        if let Self::RateLimited { retry_after }
        | Self::Overloaded { retry_after }
        | Self::Server { retry_after } = &mut self
        {
            *retry_after = retry_after.or(told);
        }
        self
    }

    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Payment => "payment",
            Self::RateLimited { .. } => "rate-limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Server { .. } => "server",
            Self::ConnectTimeout => "connect-timeout",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Broken => "broken",
            Self::TooLong { .. } => "too-long",
            Self::OutputTooLong { .. } => "output-too-long",
            Self::NotFound => "not-found",
            Self::Policy => "policy",
            Self::Invalid => "invalid",
            Self::Redirect => "redirect",
            Self::BadAnswer { .. } => "bad-answer",
            Self::AnswerTooLarge { .. } => "answer-too-large",
            Self::Command { .. } => "command",
            Self::NotStarted => "not-started",
            Self::Cancelled => "cancelled",
            Self::BreakerOpen { .. } => "breaker-open",
            Self::Busy => "busy",
            Self::Absent => "absent",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// An error reply, for classification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply<'a> {
    /// The HTTP status.
    pub status: u16,
    /// `retry-after`, as received.
    pub retry_after: Option<&'a str>,
    /// `retry-after-ms`, as received.
    pub retry_after_ms: Option<&'a str>,
    /// The body as received.
    pub body: &'a [u8],
}

/// Classifies a reply; `None` if it is no error. Called for every reply, whatever its status.
///
/// `unforget-wire` knows the providers' error bodies, but this crate may not depend on it: the engine passes its
/// classification in. [`by_status`] is a fallback.
pub type Classify = std::sync::Arc<dyn Fn(&Reply<'_>) -> Option<Cause> + Send + Sync>;

/// Judges a reply by its status alone.
pub const fn by_status(reply: &Reply<'_>) -> Option<Cause> {
    let retry_after = None;
    Some(match reply.status {
        200..300 => return None,
        300..400 => Cause::Redirect,
        401 | 403 | 407 => Cause::Auth,
        402 => Cause::Payment,
        404 | 410 => Cause::NotFound,
        413 => Cause::TooLong { limit: None, sent: None },
        429 => Cause::RateLimited { retry_after },
        451 => Cause::Policy,
        400 | 422 => Cause::Invalid,
        503 | 529 => Cause::Overloaded { retry_after },
        408 | 500..600 => Cause::Server { retry_after },
        status => Cause::Unknown { status: Some(status) },
    })
}

/// Most characters of a detail.
const DETAIL_CHARS: usize = 300;
/// Bytes of a reply read for its detail.
const DETAIL_BYTES: usize = 4 << 10;

/// A message for a person: on one line, clipped, without credentials. Our key is recognised by its letters, others by
/// their form.
pub(crate) fn detail(said: &[u8], key: Option<&Secret>) -> String {
    let said = said.get(..DETAIL_BYTES.min(said.len())).unwrap_or_default();
    let mut said = String::from_utf8_lossy(said).into_owned();
    if let Some(key) = key {
        said = said.replace(key.expose(), "[secret]");
    }
    let mut line = String::new();
    for word in
        clean(&said).split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(DETAIL_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
