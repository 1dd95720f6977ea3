//! Classifies a provider's refusal.
//!
//! [`classify`] judges the *error envelope* only: the status, the error's type, code and parameter, and the envelope's
//! own message where a provider gives nothing else. A message counts only if the whole of it, from the first word on,
//! has a known form with its numbers. The body is never searched, and the text of an answer or of an echoed input is
//! never read (F005). Unknown forms give [`Refusal::Unknown`], for which `unforget_core::recover` decides what to do.
//!
//! * `envelope` - finds the envelope: JSON documents, error events of streams, wrapped errors of proxies,
//!   plain text and HTML.
//! * `forms` - the forms of messages, and the matcher.
//! * `tokens` - error types and codes.
//!
//! Total on any bytes. A document of more than 1 MiB is judged by its status, only the last 64 KiB of a stream are
//! read, and at most four wrappers are opened.

mod envelope;
mod forms;
mod image;
mod tokens;

use std::time::Duration;

use unforget_core::recover::{Refused, Unit};

use envelope::{Body, Envelope};
use forms::{Class, Figures};

/// A provider's reply, perhaps in place of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reply<'a> {
    /// The HTTP status; `None` if there was no response at all.
    pub status: Option<u16>,
    /// The relevant headers.
    pub headers: Headers<'a>,
    /// The decompressed body. For a stream, all of it or its end, beginning at an event.
    pub body: &'a [u8],
    /// The answering provider, if known. Its only effect is that a refusal without a body may become a suspected
    /// overflow.
    pub provider: Option<Provider>,
}

/// The response headers that describe a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// `retry-after` in seconds. A date is not read, since that would take a clock.
    pub retry_after: Option<&'a str>,
    /// `retry-after-ms`: milliseconds; preferred.
    pub retry_after_ms: Option<&'a str>,
    /// `x-amzn-errortype`, or `:exception-type` of an AWS event stream.
    pub error_type: Option<&'a str>,
}

/// Providers whose refusals can only be explained by knowing the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Answers an overlong prompt with a bare 400 or 413.
    Cerebras,
    /// As [`Provider::Cerebras`], in earlier versions.
    Mistral,
    /// Any other provider.
    Other,
}

impl Provider {
    /// The provider of this name, in any case.
    pub fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "cerebras" => Self::Cerebras,
            "mistral" => Self::Mistral,
            _ => Self::Other,
        }
    }
}

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request is too large.
    Overflow(Overflow),
    /// A refusal without a reason from a provider that is known to refuse overlong prompts this way.
    SuspectedOverflow,
    /// The requested answer alone exceeds the model's limit; the input is not at fault (F011).
    Output {
        /// The longest answer that may be requested, in tokens.
        limit: Option<u64>,
        /// The requested length, in tokens.
        asked: Option<u64>,
    },
    /// Too many requests or tokens per time. Never an overflow, whatever the message says about tokens.
    RateLimited {
        /// How long to wait.
        retry_after: Option<Duration>,
        /// The limit in tokens, set if this request alone exceeds it, so that waiting cannot help.
        largest: Option<u64>,
    },
    /// The provider has no capacity now.
    Overloaded {
        /// How long to wait.
        retry_after: Option<Duration>,
    },
    /// The key is missing, wrong, or lacks permission.
    Auth,
    /// Credit, quota or subscription is exhausted; waiting a minute does not help.
    Quota,
    /// An image or document is damaged, of the wrong kind or too large (F064).
    BadImage {
        /// Index of its message in the request.
        message: Option<u32>,
        /// Index of its block in the message.
        block: Option<u32>,
    },
    /// Calls and results do not pair up (F046, F047, F049).
    ToolPairing,
    /// Another rule for requests is broken.
    Invalid(Breach),
    /// There is no such model or endpoint.
    NotFound,
    /// The content is not allowed.
    Policy,
    /// The provider failed.
    Server {
        /// How long to wait.
        retry_after: Option<Duration>,
    },
    /// No response.
    Network,
    /// An error of an unknown form.
    Unknown {
        /// The status of the response or in the error itself.
        status: Option<u16>,
    },
}

/// The figures of an overflow, as far as the provider named them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The thing that is too large.
    pub what: What,
    /// The limit on it.
    pub limit: Option<u64>,
    /// The size of the request, counted by the provider in the unit of the limit.
    pub sent: Option<u64>,
    /// The part of `sent` reserved for the answer; only for [`What::InputPlusOutput`].
    pub output: Option<u64>,
}

/// The thing that is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// Unspecified.
    #[default]
    Unspecified,
    /// The input, in tokens.
    Input,
    /// The input and the requested answer together, in tokens.
    InputPlusOutput,
    /// The request, in bytes.
    RequestBytes,
    /// The number of images or documents.
    Media,
    /// One text of the request, in characters.
    OneText,
    /// The number of messages.
    Messages,
}

/// A rule for requests that is broken according to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Roles in the wrong order, or the wrong one last (F060, F061).
    RoleOrder,
    /// A message or block without text (F059).
    EmptyText,
    /// Reasoning altered, missing, or without its item or signature (F053-F058).
    Reasoning,
    /// Too many cache breakpoints (F065).
    CacheMarks,
    /// A call id or tool name that is too long or has illegal characters (F063).
    CallId,
}

/// Classifies the refusal in a reply; `None` if the reply is no error.
///
/// A reply with a success status is an error only if its document, or an event of its stream, is an error
/// envelope at the top.
///
/// Cost: O(body), within the limits of the module documentation.
pub fn classify(reply: &Reply<'_>) -> Option<Refusal> {
    let failed = reply.status.is_some_and(|status| status >= 400) || reply.headers.error_type.is_some();
    match envelope::read(reply.body, failed) {
        Body::Envelope(envelope) => Some(judge(&envelope, reply)),
        Body::Html if reply.status == Some(413) => Some(overflow(What::RequestBytes, &Figures::default())),
        _ if failed => Some(by_status(reply.status, reply)),
        _ => match reply.status {
            None => Some(Refusal::Network),
            Some(200..300) => None,
            status => Some(Refusal::Unknown { status }),
        },
    }
}

/// Classifies an envelope by its codes, then by the form of its message, then by its status.
fn judge(envelope: &Envelope, reply: &Reply<'_>) -> Refusal {
    let status = reply.status.filter(|status| *status >= 400).or(envelope.status);
    let header = reply.headers.error_type.map(tokens::squeeze);
    let mut codes = envelope.tokens.iter().map(String::as_str).chain(header.as_deref());
    // A stream has no status; only the code can take its place.
    let status = status.or_else(|| codes.clone().any(tokens::is_invalid).then_some(400));
    let form = envelope.message.as_deref().and_then(forms::find);
    let strong = codes.clone().find_map(tokens::strong);
    if let Some(refusal) = strong.and_then(|class| settle(class, form, envelope, reply)) {
        return refusal;
    }
    if envelope.flagged {
        return Refusal::Policy;
    }
    // A message never turns a rate limit, a bad key or a billing problem into an overflow.
    let may_overflow = matches!(status, None | Some(400 | 413 | 422 | 500));
    let shaped = form.filter(|(class, _)| may_overflow || !class.is_size());
    if let Some(refusal) = shaped.and_then(|(class, _)| settle(class, shaped, envelope, reply)) {
        return refusal;
    }
    let place = envelope.message.as_deref().and_then(image::place);
    if let Some((message, block)) = place {
        return Refusal::BadImage { message: Some(message), block: Some(block) };
    }
    let weak = codes.find_map(tokens::weak).and_then(|class| settle(class, None, envelope, reply));
    match weak {
        // Proxies report any failure behind them as a server error, so a more specific status takes precedence.
        Some(refusal) if matches!(status, None | Some(500)) => refusal,
        _ => by_status(status, reply),
    }
}

/// The refusal of a class, with the figures of message and envelope.
fn settle(
    class: Class,
    form: Option<(Class, Figures)>,
    envelope: &Envelope,
    reply: &Reply<'_>,
) -> Option<Refusal> {
    let retry_after = wait(&reply.headers).or(envelope.retry_after);
    let mut figures = form.map(|(_, figures)| figures).unwrap_or_default();
    figures.limit = figures.limit.or(envelope.limit);
    figures.sent = figures.sent.or(envelope.sent);
    Some(match class {
        Class::Overflow(what) => match form {
            Some((Class::Overflow(told), _)) if what == What::Unspecified => overflow(told, &figures),
            _ => overflow(what, &figures),
        },
        Class::Output => Refusal::Output { limit: figures.limit, asked: figures.output.or(figures.sent) },
        Class::RateLimited => {
            // A limit per minute that this request alone exceeds.
            let never = figures.limit.is_some() && figures.sent > figures.limit;
            match form {
                Some((Class::Quota, _)) => Refusal::Quota,
                _ => Refusal::RateLimited { retry_after, largest: figures.limit.filter(|_| never) },
            }
        }
        Class::Overloaded => Refusal::Overloaded { retry_after },
        Class::Auth => Refusal::Auth,
        Class::Quota => Refusal::Quota,
        Class::BadImage => {
            let place = envelope.message.as_deref().and_then(image::place);
            let place = place.or_else(|| envelope.param.as_deref().and_then(image::param_place));
            let (message, block) = place.unzip();
            Refusal::BadImage { message, block }
        }
        Class::ToolPairing => Refusal::ToolPairing,
        Class::Invalid(breach) => Refusal::Invalid(breach),
        Class::NotFound => Refusal::NotFound,
        Class::Policy => Refusal::Policy,
        Class::Server => Refusal::Server { retry_after },
        Class::TooLong => return too_long(&figures, envelope.param.as_deref()),
        Class::TooMany => return too_many(&figures, envelope.param.as_deref()),
    })
}

/// Classifies a string above its limit. Ids and names have small limits, so only long texts are an overflow.
fn too_long(figures: &Figures, param: Option<&str>) -> Option<Refusal> {
    const LONG: u64 = 100_000;
    match (figures.limit?, param) {
        (LONG.., _) => Some(overflow(What::OneText, figures)),
        (_, Some(param)) if param.ends_with("id") || param.ends_with("name") => {
            Some(Refusal::Invalid(Breach::CallId))
        }
        _ => None,
    }
}

/// Classifies an array above its limit: too many messages are an overflow, too many tools are not.
fn too_many(figures: &Figures, param: Option<&str>) -> Option<Refusal> {
    matches!(param, Some("messages" | "input")).then(|| overflow(What::Messages, figures))
}

fn overflow(what: What, figures: &Figures) -> Refusal {
    let sum = figures.input.zip(figures.output).map(|(input, output)| input.saturating_add(output));
    let excess = figures.limit.zip(figures.over).map(|(limit, over)| limit.saturating_add(over));
    Refusal::Overflow(Overflow {
        what,
        limit: figures.limit,
        sent: figures.sent.or(sum).or(excess),
        output: figures.output,
    })
}

fn by_status(status: Option<u16>, reply: &Reply<'_>) -> Refusal {
    let retry_after = wait(&reply.headers);
    let is_bare = reply.body.trim_ascii().is_empty();
    let is_known = matches!(reply.provider, Some(Provider::Cerebras | Provider::Mistral));
    match status {
        Some(400 | 422) if is_bare && is_known => Refusal::SuspectedOverflow,
        Some(401 | 403 | 407) => Refusal::Auth,
        Some(402) => Refusal::Quota,
        Some(404 | 410) => Refusal::NotFound,
        Some(413) => overflow(What::Unspecified, &Figures::default()),
        Some(429) => Refusal::RateLimited { retry_after, largest: None },
        Some(451) => Refusal::Policy,
        Some(503 | 529) => Refusal::Overloaded { retry_after },
        Some(408 | 500 | 502 | 504 | 520..=527) => Refusal::Server { retry_after },
        status => Refusal::Unknown { status },
    }
}

/// The delay from the headers, a week at most.
fn wait(headers: &Headers<'_>) -> Option<Duration> {
    let milliseconds = headers.retry_after_ms.and_then(|text| text.trim().parse::<f64>().ok());
    let seconds = headers.retry_after.and_then(|text| text.trim().parse::<f64>().ok());
    envelope::duration(milliseconds.map(|number| number / 1_000.0).or(seconds)?)
}

impl Refusal {
    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Overflow(_) => "overflow",
            Self::SuspectedOverflow => "suspected-overflow",
            Self::Output { .. } => "output",
            Self::RateLimited { .. } => "rate-limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::BadImage { .. } => "bad-image",
            Self::ToolPairing => "tool-pairing",
            Self::Invalid(_) => "invalid",
            Self::NotFound => "not-found",
            Self::Policy => "policy",
            Self::Server { .. } => "server",
            Self::Network => "network",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The refusal in the terms of the recovery rules.
    pub fn refused(&self) -> Refused {
        match *self {
            Self::Overflow(Overflow { what, limit, sent, output }) => {
                let unit = match what {
                    What::Input | What::Unspecified => Unit::Input,
                    What::InputPlusOutput => Unit::InputAndOutput,
                    What::RequestBytes => Unit::Bytes,
                    What::Media => Unit::Media,
                    What::OneText | What::Messages => Unit::Other,
                };
                Refused::Overflow { unit, limit, sent, output }
            }
            Self::SuspectedOverflow => Refused::Suspected,
            Self::Output { limit, .. } => Refused::Output { limit },
            Self::BadImage { message, block } => Refused::Media { place: message.zip(block) },
            Self::Unknown { status: Some(400 | 413 | 422) } => Refused::Unrecognised,
            _ => Refused::Other,
        }
    }
}
