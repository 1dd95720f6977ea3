//! A prompt as a person reads it, and as its bytes.

use maud::{Markup, html};
use serde_json::Value;
use unforget_core::digest::Digest;
use unforget_engine::calls::{CallPoint, ShownCall, segments};
use unforget_text::numbers::{bytes, count, one_line, plural};

use crate::frame::Kept;
use crate::visit::{Found, Visit};
use crate::words::{cut, shown};

/// Most characters of a message on the page.
const MESSAGE_CHARS: usize = 12_000;

/// Most characters of the body on the page.
const BODY_CHARS: usize = 60_000;

/// Newest messages that are open.
const OPEN: usize = 2;

/// The role of a message in a request.
fn role(message: &Value) -> String {
    let named = message.get("role").or_else(|| message.get("type")).and_then(Value::as_str);
    named.unwrap_or("message").to_owned()
}

/// The prompt of a call.
pub(super) fn prompt(visit: &Visit, found: &Found, point: &CallPoint, call: &ShownCall) -> Markup {
    let raw = format!("{}/prompt{}", found.address(), Kept::with(visit, &[("at", Some(&point.label))]));
    let (body, is_cut) = cut(&call.body, BODY_CHARS);
    let all = call.messages.len();
    html! {
        section class="prompt" aria-labelledby="prompt-head" {
            h3 id="prompt-head" { "The prompt" }
            p class="dim" {
                (plural(all as u64, "message")) ", " (bytes(call.body.len() as u64)) ", BLAKE3 " code title=(Digest::of(call.body.as_bytes()).hex()) { (Digest::of(call.body.as_bytes()).hex().chars().take(16).collect::<String>()) } " · "
                a href=(raw) download={ "call-" (point.label) ".json" } { "Its exact bytes" }
            }
            @for text in &call.system {
                details class="message system" { summary { span class="role" { "system" } " " span dir="auto" { (shown(&one_line(text, 100))) } } pre class="plain" dir="auto" tabindex="0" { (cut(text, MESSAGE_CHARS).0) } }
            }
            @for (at, message) in call.messages.iter().enumerate() { (one(message, at + OPEN >= all)) }
            details class="raw" {
                summary { "The body, as its bytes" }
                pre class="plain" tabindex="0" { (body) }
                @if is_cut { p class="dim" { "The beginning of it: " a href=(raw) { "all " (count(call.body.len() as u64)) " bytes" } } }
            }
        }
    }
}

fn one(message: &str, is_open: bool) -> Markup {
    let value: Value = serde_json::from_str(message).unwrap_or_default();
    let inner = value.get("message").filter(|inner| inner.is_object()).unwrap_or(&value);
    let segments = segments(message);
    let first = segments.iter().map(|segment| segment.text.as_str()).find(|text| !text.trim().is_empty());
    html! {
        details class={ "message " (class(&role(inner))) } open[is_open] {
            summary { span class="role" { (shown(&role(inner))) } " " span dir="auto" { (shown(&one_line(first.unwrap_or(""), 100))) } }
            @for segment in &segments {
                @let (text, is_cut) = cut(&segment.text, MESSAGE_CHARS);
                @if segment.kind != "text" { p class="kind dim" { (segment.kind) } }
                pre class={ "plain " (segment.kind) } dir="auto" tabindex="0" { (text) }
                @if is_cut { p class="dim" { "Cut here; the bytes have all of it." } }
            }
        }
    }
}

/// A class of ours for a role.
fn class(role: &str) -> &'static str {
    match role {
        "user" => "user",
        "assistant" | "model" => "model",
        "system" | "developer" => "system",
        _ => "tool",
    }
}
