//! Entity tags: `If-None-Match` for reading, `If-Match` for changes.

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use unforget_core::digest::Digest;

use super::problem::{Done, Problem};

/// Digits of a tag.
const DIGITS: usize = 32;

/// A representation and its tag.
///
/// The tag is a digest of the representation's bytes, which contain the conversation's revision: it changes with the
/// revision, and with any other shown value.
pub(super) struct Shown {
    body: Bytes,
    tag: String,
}

impl Shown {
    /// * `what` - one of the types of [`crate::json`].
    pub(super) fn new(what: &impl Serialize) -> Done<Self> {
        let body = serde_json::to_vec(what).map_err(|error| Problem::ours("writing the answer", &error))?;
        let digest = Digest::of(&body).hex();
        Ok(Self { tag: format!("\"{}\"", digest.get(..DIGITS).unwrap_or(&digest)), body: body.into() })
    }

    /// The representation, or 304 if the client has it already.
    pub(super) fn answer(self, asked: &HeaderMap) -> Response {
        let has = names(asked, &IF_NONE_MATCH, |tag| tag.trim_start_matches("W/") == self.tag);
        let body = if has == Some(true) { Body::empty() } else { Body::from(self.body) };
        let status = if has == Some(true) { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(ETAG, tag);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if status == StatusCode::OK {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        response
    }

    /// Fails if the client last saw another representation.
    pub(super) fn must_match(&self, asked: &HeaderMap) -> Done<()> {
        match names(asked, &IF_MATCH, |tag| tag == self.tag) {
            Some(false) => {
                let what = "it is not any more what you saw";
                Err(Problem::new(412, "changed", what, "GET it again, and look before you change it"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a header names a tag; `None` without the header. A star names all tags.
fn names(headers: &HeaderMap, header: &HeaderName, is: impl Fn(&str) -> bool) -> Option<bool> {
    let mut values = headers.get_all(header).iter().peekable();
    values.peek()?;
    let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    Some(tags.any(|tag| tag.trim() == "*" || is(tag.trim())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn tags_table() {
        let shown = |what: &str| Shown::new(&what).unwrap();
        let (ours, other) = (shown("a").tag, shown("b").tag);
        let table = [
            (None, StatusCode::OK, true, "no condition"),
            (Some(ours.clone()), StatusCode::NOT_MODIFIED, true, "the same"),
            (Some(other.clone()), StatusCode::OK, false, "another"),
            (Some(format!("{other}, {ours}")), StatusCode::NOT_MODIFIED, true, "one of several"),
            (Some("*".to_owned()), StatusCode::NOT_MODIFIED, true, "any"),
            (Some(String::new()), StatusCode::OK, false, "none"),
            (Some(format!("W/{ours}")), StatusCode::NOT_MODIFIED, false, "a weak tag does for reading only"),
        ];
        for (tag, status, may_change, why) in table {
            let mut headers = HeaderMap::new();
            if let Some(tag) = tag {
                headers.insert(IF_NONE_MATCH, tag.parse().unwrap());
                headers.insert(IF_MATCH, tag.parse().unwrap());
            }
            assert_eq!(shown("a").answer(&headers).status(), status, "{why}");
            assert_eq!(shown("a").must_match(&headers).is_ok(), may_change, "{why}");
        }
    }
}
