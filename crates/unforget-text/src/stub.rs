//! A short stand-in for a tool result whose text is left out of the prompt.

use unforget_core::entry::{Media, ToolCall, ToolResult};
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler;

use crate::clean::without_blobs;
use crate::clip::{clip, head, one_line};
use crate::lines::error_lines;
use crate::preview::{preview, result_text};
use crate::secret::redact;
use crate::work::target;

/// Most tokens of a stub, by the upper bound of [`ClassEstimate`].
pub const STUB_TOKENS: u64 = 160;
/// Most characters of a stub.
pub const STUB_CHARS: usize = 480;
/// Most characters of a call's aim in one line.
const AIM_CHARS: usize = 80;
/// Most characters of a handle.
const HANDLE_CHARS: usize = 48;

/// The reason for a stub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StubReason {
    /// The result is old, and newer results need the room.
    Old,
    /// A later call made the result obsolete.
    Superseded {
        /// Handle of the later result.
        by: String,
    },
    /// The result is larger than a prompt can hold.
    TooLarge,
}

/// Writes the stub for `result`.
///
/// * `call` - the answered call, if known: its name and aim are shown.
/// * `handle` - the handle for expanding the whole, such as `s:123`; it ends the stub.
///
/// Keeps the exit code, the fact of a failure, the first error lines, and a preview by type; of a superseded result
/// only the exit code, in one line. Never more than [`STUB_TOKENS`] and [`STUB_CHARS`]; credentials are redacted, blobs
/// left out. Cost: linear in the text, of which at most the first and last megabyte are read closely.
pub fn stub(result: &ToolResult, call: Option<&ToolCall>, handle: &str, reason: StubReason) -> String {
    let name = call.map_or(result.name.as_str(), |call| call.name.as_str());
    let aim = call.map(|call| target(call).text).unwrap_or_default();
    let (name, aim) = (one_line(name), one_line(&without_blobs(&redact(&aim))));
    let name = if name.is_empty() && aim.is_empty() { "a tool".to_owned() } else { name };
    let failed = result.is_error || result.exit_code.is_some_and(|code| code != 0);
    let ending = match result.exit_code {
        Some(code) => format!("exit {code}"),
        None if result.is_error => "error".to_owned(),
        None => "ok".to_owned(),
    };
    let handle = clip(&one_line(handle), HANDLE_CHARS).into_owned();
    let why = match reason {
        StubReason::Old => "older result",
        StubReason::Superseded { by } => {
            let by = clip(&one_line(&by), HANDLE_CHARS).into_owned();
            let line = |room: usize| {
                let (name, aim) = (clip(&name, room / 2), clip(&aim, room));
                let gap = if name.is_empty() || aim.is_empty() { "" } else { " " };
                format!("[result superseded by {by} of {name}{gap}{aim}: {ending}; expand {handle}]")
            };
            let long = line(AIM_CHARS);
            return if ClassEstimate.count(&long).upper <= STUB_TOKENS { long } else { line(8) };
        }
        StubReason::TooLarge => "large result",
    };
    let text = result_text(result);
    let errors = if failed { error_lines(&text, 2) } else { Vec::new() };
    let errors: Vec<String> =
        errors.into_iter().map(|line| without_blobs(&redact(&one_line(head(line, 4096))))).collect();
    let described = preview(&text).text;
    let closing = format!("[stored whole: expand {handle}]");
    let mut room = STUB_CHARS;
    loop {
        let (name, aim) = (clip(&name, 40), clip(&aim, room / 4));
        let gap = if name.is_empty() || aim.is_empty() { "" } else { " " };
        let mut words = format!("[{why} of {name}{gap}{aim}: {ending}]");
        for error in &errors {
            words.push('\n');
            words.push_str(&clip(error, room / 4));
        }
        words.push('\n');
        words.push_str(&described);
        let left = room.saturating_sub(closing.chars().count() + 1);
        let short = format!("{}\n{closing}", clip(&words, left).trim_end());
        if room < 40 || ClassEstimate.count(&short).upper <= STUB_TOKENS {
            return if room < 40 { closing } else { short };
        }
        room = room * 4 / 5;
    }
}

/// Writes the stub for an image or document, with its type and its handle for expanding, such as `[image/png 640x480
/// left out, stored whole: expand s:12]`.
pub fn media_stub(media: &Media, handle: &str) -> String {
    let mime = one_line(&media.mime);
    let mime = if mime.is_empty() { "media".into() } else { clip(&mime, HANDLE_CHARS) };
    let size = media.size.map(|(width, height)| format!(" {width}x{height}")).unwrap_or_default();
    format!("[{mime}{size} left out, stored whole: expand {}]", clip(&one_line(handle), HANDLE_CHARS))
}
