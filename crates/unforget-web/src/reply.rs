//! Answers of views, and the headers that every answer has.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use crate::frame::{Frame, Here, frame};
pub(crate) use crate::trouble::Trouble;
use crate::visit::Visit;
use crate::words::shown;

/// What a page may load: its own files, and nothing inline.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// An answer.
pub(crate) enum Reply {
    /// A page.
    Page(StatusCode, Markup),
    /// Bytes for a person to keep.
    File {
        /// Their type.
        mime: &'static str,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Reply {
    /// A page that is as it should be.
    pub(crate) const fn page(page: Markup) -> Self {
        Self::Page(StatusCode::OK, page)
    }
}

/// What a view made.
pub(crate) type Viewed = Result<Reply, Trouble>;

/// The page that tells why a view cannot be shown.
pub(crate) fn trouble_page(trouble: &Trouble, visit: &Visit) -> Reply {
    let status = StatusCode::from_u16(trouble.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = html! {
        section class="empty" {
            h1 { (status.as_u16()) " " (status.canonical_reason().unwrap_or("")) }
            p { (shown(&trouble.what)) }
            @if !trouble.next.is_empty() { p class="next" { "Next: " (shown(&trouble.next)) } }
        }
    };
    Reply::Page(status, frame(visit, &Frame { title: "Not shown", here: Here::Nowhere, of: None }, &body))
}

/// The response of an answer.
pub(crate) fn answer(viewed: Viewed) -> Response {
    let mut response = match viewed {
        Ok(Reply::Page(status, page)) => {
            (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string()).into_response()
        }
        Ok(Reply::File { mime, bytes }) => ([(CONTENT_TYPE, mime)], Body::from(bytes)).into_response(),
        Err(trouble) => {
            let status = StatusCode::from_u16(trouble.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], trouble.what + "\n").into_response()
        }
    };
    guard(response.headers_mut());
    response
}

/// Adds the headers of every answer.
pub(crate) fn guard(headers: &mut HeaderMap) {
    let always: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
}
