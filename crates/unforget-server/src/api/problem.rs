//! Errors as problem+json (RFC 9457).

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use unforget_engine::EngineError;
use unforget_store::StoreError;
use utoipa::ToSchema;

use crate::failed::{Failed, FailureKind};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:unforget:problem:` and the kind.
    #[serde(rename = "type")]
    kind_uri: String,
    /// The kind, in kebab-case, as in `--json` on the command line.
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// The event and its place.
    detail: String,
    /// The advised next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    next: String,
    /// Whether the same request may succeed later, without a change to it.
    retryable: bool,
}

/// Result of a route.
pub(super) type Done<T> = Result<T, Problem>;

impl Problem {
    /// * `kind` - in kebab-case.
    /// * `next` - the advised next step; may be empty.
    pub(crate) fn new(
        status: u16,
        kind: &'static str,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        let title = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        Self {
            kind_uri: format!("urn:unforget:problem:{kind}"),
            kind,
            title: title.unwrap_or_default(),
            status,
            detail: detail.into(),
            next: next.into(),
            retryable: matches!(status, 429 | 503),
        }
    }

    /// A malformed request.
    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(400, "usage", detail, "GET /api/v1/openapi.json describes the parameters of this route")
    }

    /// A named thing does not exist.
    pub(super) fn absent(kind: &'static str, detail: impl Into<String>, next: &str) -> Self {
        Self::new(404, kind, detail, next)
    }

    /// A defect of ours.
    pub(super) fn ours(what: &'static str, error: &dyn std::fmt::Display) -> Self {
        tracing::error!(what, %error, "a request failed");
        Self::new(
            500,
            "defect",
            format!("{what} failed"),
            "see the log of the daemon for the cause, and please report it",
        )
    }
}

impl From<Failed> for Problem {
    fn from(failed: Failed) -> Self {
        let status = failed.kind.status();
        if status == 500 {
            tracing::error!(kind = failed.kind.name(), message = failed.message, "a request failed");
        }
        // The command line shows this advice too, where a daemon answers for it.
        let next = match failed.kind {
            FailureKind::NoPin => {
                "list the pins: GET /api/v1/conversations/{name}/pins, or unforget pins CONVERSATION"
                    .to_owned()
            }
            _ => failed.hint,
        };
        let problem = Self::new(status, failed.kind.name(), failed.message, next);
        Self { retryable: failed.kind.is_retryable(), ..problem }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        if matches!(error, EngineError::Stopped) {
            return Self::new(503, "stopped", error.to_string(), "send the request again");
        }
        Failed::from(error).into()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Failed::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        metrics::counter!("unforget_api_problems_total", "kind" => self.kind).increment(1);
        let mut response = (status, axum::Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(self.status, 429 | 503) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Any error, for the description of a route.
#[derive(utoipa::IntoResponses)]
#[response(
    status = "default",
    description = "Why it was not done",
    content_type = "application/problem+json"
)]
#[allow(dead_code, reason = "its shape is described, its values are problems")]
pub(super) struct Problems(Problem);

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use unforget_core::pin::PinError;

    use super::*;

    #[test]
    fn statuses_table() {
        let path = PathBuf::from("x");
        let table: [(EngineError, u16, &str); 7] = [
            (EngineError::NoConversation { name: "x".into(), near: vec![] }, 404, "a name that nothing has"),
            (EngineError::Ambiguous { name: "x".into(), candidates: vec![] }, 409, "a name that two have"),
            (EngineError::Usage { what: "x".into(), hint: "y".into() }, 400, "a wrong pattern"),
            (StoreError::OutOfScope { operation: "sizes" }.into(), 403, "another tenant's"),
            (StoreError::Full { path: path.clone() }.into(), 507, "no room"),
            (StoreError::Busy { path, pid: 7 }.into(), 503, "later, perhaps"),
            (PinError::Unknown { id: unforget_core::pin::PinId(9) }.into(), 404, "a pin that is not there"),
        ];
        for (error, want, why) in table {
            assert_eq!(Problem::from(error).status, want, "{why}");
        }
    }
}
