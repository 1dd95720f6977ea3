//! Headers that several modules read or write.

use axum::http::header::{HeaderMap, HeaderName, HeaderValue};

/// Anthropic's header for keys.
pub(super) const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The header by which clients mark a repeated request.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A header's text, if it is valid text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|text| !text.is_empty())
}

/// Our header values for a call.
pub(super) fn ours(headers: &mut HeaderMap, values: &[(&'static str, String)]) {
    for (name, value) in values {
        // A value that is illegal in a header is omitted: the rest of the answer matters more.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(*name, value);
        }
    }
}
