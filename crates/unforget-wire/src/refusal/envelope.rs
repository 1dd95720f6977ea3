//! Finds the error envelope in a body.

use std::time::Duration;

use super::tokens::squeeze;
use crate::json::{Object, Tape, Value, is_value};

/// Longest document read; a longer one is judged by its status.
pub(super) const DOCUMENT_MAX: usize = 1 << 20;
/// Length of the end of a stream that is read: an error ends a stream.
const STREAM_MAX: usize = 1 << 16;
/// Longest message kept; all known forms are shorter.
const MESSAGE_MAX: usize = 4 << 10;
/// Most nested envelopes.
const WRAPS_MAX: u8 = 4;

/// The classification of a body.
#[derive(Debug)]
pub(super) enum Body {
    /// An error.
    Envelope(Box<Envelope>),
    /// A page of a server between us and the provider.
    Html,
    /// A body without an error description.
    Other,
}

/// An error's description of itself.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    /// A status inside the envelope.
    pub(super) status: Option<u16>,
    /// Types and codes in token form, the most specific first.
    pub(super) tokens: Vec<String>,
    /// The parameter concerned.
    pub(super) param: Option<String>,
    /// Its message without the wrappers of proxies, [`MESSAGE_MAX`] bytes at most.
    pub(super) message: Option<String>,
    /// A limit in a field of its own.
    pub(super) limit: Option<u64>,
    /// The size of the request, in a field of its own.
    pub(super) sent: Option<u64>,
    /// A delay in a field of its own.
    pub(super) retry_after: Option<Duration>,
    /// Whether it lists reasons of moderation.
    pub(super) flagged: bool,
}

/// Reads a body.
///
/// * `failed` - whether status or headers indicate an error; then messages without an envelope count too.
pub(super) fn read(body: &[u8], failed: bool) -> Body {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    if failed && body.first() == Some(&b'<') {
        return Body::Html;
    }
    let text = body.get(..body.len().min(DOCUMENT_MAX)).map(String::from_utf8_lossy).unwrap_or_default();
    let found = if body.len() <= DOCUMENT_MAX && is_value(&text) {
        document(&text, failed, WRAPS_MAX)
    } else {
        stream(&text, body).or_else(|| if failed { plain(body) } else { None })
    };
    found.map_or(Body::Other, |envelope| Body::Envelope(Box::new(envelope)))
}

/// The envelope of the JSON document at the start of a text, or of the first element of an array.
///
/// * `loose` - whether a document without `error` may be an envelope.
fn document(text: &str, loose: bool, wraps: u8) -> Option<Envelope> {
    let mut tape = Tape::default();
    tape.read(text.as_bytes()).ok()?;
    let value = tape.value(text)?;
    let top = if value.is_array() { value.items().next()?.obj()? } else { value.obj()? };
    strict(top, wraps).or_else(|| if loose { bare(top, wraps) } else { None })
}

/// An object that declares itself an error.
fn strict(top: Object<'_>, wraps: u8) -> Option<Envelope> {
    let top = if top.is("type", "response.failed") { top.obj("response")? } else { top };
    match top.get("error") {
        Some(error) if error.obj().is_some() => {
            let mut envelope = inner(error.obj()?, wraps);
            add_codes(&mut envelope, top);
            Some(envelope)
        }
        Some(error) if error.str().is_some_and(|text| !text.trim().is_empty()) => {
            let mut envelope = Envelope::default();
            add_codes(&mut envelope, top);
            Some(with_message(envelope, Some(error), wraps))
        }
        _ if top.is("type", "error") || top.is("object", "error") => Some(inner(top, wraps)),
        _ => {
            let result = top.obj("base_resp").filter(|result| result.i64("status_code") != Some(0))?;
            result
                .has("status_code")
                .then(|| with_message(Envelope::default(), result.get("status_msg"), wraps))
        }
    }
}

/// An object that counts as an error because the reply is one.
fn bare(top: Object<'_>, wraps: u8) -> Option<Envelope> {
    if let Some(detail) = top.obj("detail") {
        return Some(inner(detail, wraps));
    }
    let keys = ["message", "Message", "detail", "errorMessage", "msg"];
    let is_error = keys.iter().chain(&["code", "__type", "type"]).any(|key| top.has(key));
    is_error.then(|| inner(top, wraps))
}

/// The fields of the object that holds the error.
fn inner(error: Object<'_>, wraps: u8) -> Envelope {
    let mut envelope = Envelope::default();
    for key in ["innererror", "inner_error"] {
        if let Some(cause) = error.obj(key) {
            add_codes(&mut envelope, cause);
        }
    }
    add_codes(&mut envelope, error);
    for detail in error.items("details").take(8).filter_map(Value::obj) {
        push(&mut envelope, detail.get("reason"));
        let delay = detail.str("retryDelay").and_then(|text| text.strip_suffix('s')?.parse().ok());
        envelope.retry_after = envelope.retry_after.or_else(|| duration(delay?));
    }
    envelope.param = error.str("param").map(|param| cut(&param, 256).to_owned());
    envelope.limit = count(error, "n_ctx");
    envelope.sent = count(error, "n_prompt_tokens");
    let metadata = error.obj("metadata");
    envelope.flagged = metadata.is_some_and(|metadata| metadata.has("flagged_input"));
    let keys = ["message", "Message", "detail", "errorMessage", "msg"];
    let message = keys.iter().filter_map(|key| error.get(key)).find(|value| value.is_str());
    let is_empty_word = message.and_then(Value::str).is_some_and(|text| text == "Provider returned error");
    let raw = metadata.and_then(|metadata| metadata.get("raw")).filter(|raw| is_empty_word && raw.is_str());
    with_message(envelope, raw.or(message), wraps)
}

/// Adds the values of the fields for types and codes.
fn add_codes(envelope: &mut Envelope, object: Object<'_>) {
    for key in ["code", "type", "status", "__type", "errorType"] {
        push(envelope, object.get(key));
    }
}

fn push(envelope: &mut Envelope, code: Option<Value<'_>>) {
    let Some(code) = code else { return };
    let text = code.str();
    let text = text.as_deref().unwrap_or_else(|| code.raw());
    if let Ok(number @ 400..600) = text.trim().parse() {
        envelope.status = envelope.status.or(Some(number));
        return;
    }
    let token = squeeze(cut(text, 256));
    if code.is_str() && !token.is_empty() && token != "error" && envelope.tokens.len() < 8 {
        envelope.tokens.push(token);
    }
}

fn count(object: Object<'_>, key: &str) -> Option<u64> {
    object.i64(key).and_then(|number| u64::try_from(number).ok())
}

/// The envelope with a message, or with the envelope inside the message.
fn with_message(mut outer: Envelope, message: Option<Value<'_>>, wraps: u8) -> Envelope {
    let Some(text) = message.and_then(Value::str) else { return outer };
    let (text, is_overflow) = unwrap(text.trim());
    if is_overflow {
        outer.tokens.insert(0, "contextwindowexceedederror".to_owned());
    }
    let text = text.trim_start();
    if let Some(mut nested) = text.starts_with(['{', '[']).then(|| nested(text, wraps)).flatten() {
        nested.tokens.append(&mut outer.tokens);
        nested.status = nested.status.or(outer.status);
        nested.param = nested.param.or(outer.param);
        nested.retry_after = nested.retry_after.or(outer.retry_after);
        return nested;
    }
    outer.message = Some(cut(text, MESSAGE_MAX).to_owned());
    outer
}

fn nested(text: &str, wraps: u8) -> Option<Envelope> {
    if wraps == 0 || text.len() > DOCUMENT_MAX {
        return None;
    }
    document(text, true, wraps - 1)
}

/// Removes the words that proxies put before a message. Returns whether one of them names an overflow.
fn unwrap(mut text: &str) -> (&str, bool) {
    let mut is_overflow = false;
    for _ in 0..8 {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let dashed = rest.strip_prefix("- ").filter(|_| word.ends_with("Exception"));
        let named = word.strip_suffix("Error:").or_else(|| word.strip_suffix("Exception:"));
        let phrases = [
            "The model returned the following errors: ",
            "Error from provider: ",
            "<400> InternalError.Algo.InvalidParameter: ",
        ];
        let phrase = phrases.iter().find_map(|phrase| text.strip_prefix(phrase));
        text = match (phrase, dashed, named) {
            (Some(rest), ..) => rest,
            (_, Some(rest), _) => rest.strip_prefix("b'").unwrap_or(rest),
            (.., Some(name)) => {
                is_overflow |= name.ends_with("ContextWindowExceeded");
                rest
            }
            _ => break,
        };
    }
    (text, is_overflow)
}

/// The last error event in the end of a stream of server-sent events or of JSON lines.
///
/// Only a separate event or line counts, whatever the text in between looks like.
fn stream(text: &str, body: &[u8]) -> Option<Envelope> {
    let first = text.lines().next()?;
    let is_lines = first.starts_with('{') && is_value(first);
    if !is_lines && !["data:", "event:", "id:", "retry:", ":"].iter().any(|field| first.starts_with(field)) {
        return None;
    }
    let start = body.len().saturating_sub(STREAM_MAX);
    let mut end = body.get(start..)?;
    if start > 0 {
        end = end.get(memchr::memchr(b'\n', end)? + 1..)?;
    }
    let end = String::from_utf8_lossy(end);
    let mut is_error = false;
    let mut found = None;
    for line in end.lines() {
        if let Some(name) = line.strip_prefix("event:") {
            is_error = name.trim() == "error";
        }
        let data = if is_lines { Some(line) } else { line.strip_prefix("data:").map(str::trim_start) };
        match data {
            Some(data) if data.starts_with(['{', '[']) => {
                found = document(data, is_error, WRAPS_MAX).or(found);
            }
            Some(data) if is_error => {
                let message = Some(cut(data, MESSAGE_MAX).to_owned());
                found = Some(Envelope { message, ..Envelope::default() });
            }
            _ => {}
        }
        is_error &= !line.is_empty();
    }
    found
}

/// A message in plain text.
fn plain(body: &[u8]) -> Option<Envelope> {
    let text = str::from_utf8(body).ok()?;
    let is_message = !text.is_empty() && text.len() <= MESSAGE_MAX && !text.starts_with(['{', '[']);
    is_message.then(|| Envelope { message: Some(unwrap(text).0.to_owned()), ..Envelope::default() })
}

/// Seconds as a duration, a week at most; `None` for an invalid time.
pub(super) fn duration(seconds: f64) -> Option<Duration> {
    const WEEK: f64 = 7.0 * 86_400.0;
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds.min(WEEK)).ok()).flatten()
}

/// The first `length` bytes of a text, without a trailing partial character.
fn cut(text: &str, length: usize) -> &str {
    text.get(..text.floor_char_boundary(length)).unwrap_or_default()
}
