//! Text without what no summary and no model may see again: credentials, encoded blobs, reasoning.

use crate::secret::redact;

/// `text` without credentials and encoded blobs, in the form that a model may see again. Cost: linear.
pub fn clean(text: &str) -> String {
    without_blobs(&redact(text))
}

/// Longest unbroken run of base64 letters that may be ordinary words, in bytes.
const RUN_MAX: usize = 80;

/// `text` with encoded blobs (long runs of base64 or hex letters) as `[blob]`. Cost: linear.
pub(crate) fn without_blobs(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut copied, mut start) = (0, 0);
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if is_base64(byte) {
            continue;
        }
        if at - start > RUN_MAX && is_blob(text.get(start..at).unwrap_or_default()) {
            kept.push_str(text.get(copied..start).unwrap_or_default());
            kept.push_str("[blob]");
            copied = at;
        }
        start = at + 1;
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    kept
}

/// A long path has a slash every few letters; base64 has one in 64.
fn is_blob(run: &str) -> bool {
    run.bytes().filter(|&byte| byte == b'/').count() * 20 < run.len()
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A model's text without `<think>…</think>`, which some providers leave in it (an open one runs to the end). Only for
/// the model's words: other people may write about the tag.
pub fn without_reasoning(text: &str) -> std::borrow::Cow<'_, str> {
    if !["<think", "</think", "<reasoning"]
        .iter()
        .any(|tag| memchr::memmem::find(text.as_bytes(), tag.as_bytes()).is_some())
    {
        return text.into();
    }
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<think").or_else(|| rest.split_once("<reasoning")) {
        kept.push_str(before);
        rest = ["</thinking>", "</think>", "</reasoning>"]
            .iter()
            .filter_map(|tag| after.find(tag).and_then(|at| after.get(at + tag.len()..)))
            .max_by_key(|rest| rest.len())
            .unwrap_or("");
    }
    // A lone closing tag: the text before it was reasoning.
    if let Some((_, after)) = rest.rsplit_once("</think>") {
        kept.clear();
        rest = after;
    }
    kept.push_str(rest);
    kept.into()
}
