//! Shortens a text that is too long for its place to head and tail.

use unforget_core::tokens::Ruler;

use crate::clip::{clip, grouped, head, one_line, tail};
use crate::lines::{ending_lines, error_lines};

/// Shortens `text` to at most `max_tokens` by `ruler`'s upper bound. The result consists of the head (60 %), a line
/// with the number of left-out bytes and the way to expand them, errors and exit codes from the left-out middle if
/// there is room, and the tail (40 %).
///
/// * `max_tokens` - at least 64 for the marker to fit in any case; below that, the result may be empty.
/// * `handle` - such as `s:123`; at most 48 of its characters are shown.
///
/// A text that fits is returned unchanged. Cuts fall between lines where a line end is near, never inside a character.
/// Credentials are not redacted, since this is the text itself. Cost: linear, with a few token counts of the result.
pub fn excerpt(text: &str, max_tokens: u64, ruler: &dyn Ruler, handle: &str) -> String {
    let whole = ruler.count(text).upper;
    if whole <= max_tokens {
        return text.to_owned();
    }
    let handle = clip(&one_line(handle), 48).into_owned();
    let mut bytes = (text.len() as u64).saturating_mul(max_tokens) / whole.max(1);
    let mut with_errors = max_tokens >= 128;
    while bytes > 0 {
        let shortened = cut(text, usize::try_from(bytes).unwrap_or(usize::MAX), &handle, with_errors);
        let count = ruler.count(&shortened).upper;
        if count <= max_tokens {
            return shortened;
        }
        // Aims a little lower, so that the next attempt fits.
        let next = bytes.saturating_mul(max_tokens) / count.max(1) * 31 / 32;
        bytes = next.min(bytes - bytes.div_ceil(64));
        with_errors &= bytes >= 256;
    }
    let marker = marker(text.len(), &handle);
    if ruler.count(&marker).upper <= max_tokens { marker } else { String::new() }
}

fn marker(left_out: usize, handle: &str) -> String {
    format!("[… {} bytes left out: expand {handle} …]", grouped(left_out))
}

/// The excerpt in about `bytes` bytes, marker included.
fn cut(text: &str, bytes: usize, handle: &str, with_errors: bool) -> String {
    let room = bytes.saturating_sub(marker(text.len(), handle).len() + 2);
    let report = if with_errors { room / 8 } else { 0 };
    let (first, last) = ((room - report) * 3 / 5, (room - report) * 2 / 5);
    let start = to_line_end(head(text, first));
    let rest = text.get(start.len()..).unwrap_or_default();
    let end = from_line_start(tail(rest, last));
    let middle = rest.get(..rest.len() - end.len()).unwrap_or_default();
    let mut shortened = String::with_capacity(bytes + 64);
    shortened.push_str(start);
    if !start.is_empty() && !start.ends_with('\n') {
        shortened.push('\n');
    }
    shortened.push_str(&marker(middle.len(), handle));
    shortened.push('\n');
    if report >= 24 {
        let told = error_lines(middle, 3).into_iter().chain(ending_lines(middle, 1));
        let told: Vec<&str> = told.take(3).collect();
        let each = report / told.len().max(1);
        for line in told {
            let line = one_line(head(line, 4096));
            shortened.push_str("[… in it:] ");
            shortened.push_str(head(&line, each.saturating_sub(12)));
            shortened.push('\n');
        }
    }
    shortened.push_str(end);
    shortened
}

/// `text` without its incomplete last line, if that costs less than a quarter.
fn to_line_end(text: &str) -> &str {
    match memchr::memrchr(b'\n', text.as_bytes()) {
        Some(at) if at * 4 >= text.len() * 3 => text.get(..=at).unwrap_or(text),
        _ => text,
    }
}

/// `text` without its incomplete first line, if that costs less than a quarter.
fn from_line_start(text: &str) -> &str {
    match memchr::memchr(b'\n', text.as_bytes()) {
        Some(at) if at * 4 <= text.len() => text.get(at + 1..).unwrap_or(text),
        _ => text,
    }
}
