//! Why a call got no answer from a provider, as clients of its dialect expect it.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use unforget_engine::EngineError;
use unforget_engine::host::HostError;
use unforget_wire::Dialect;
use unforget_wire::exchange::CallFault;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Fault {
    status: StatusCode,
    message: String,
    /// Seconds after which trying again makes sense.
    retry_after: Option<u32>,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// The client's request cannot be read or contradicts what is stored.
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the request has more than {limit} bytes: raise serve.body-max"))
    }

    /// The same key with another request.
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn upstream(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, message)
    }

    pub(super) fn overloaded() -> Self {
        let fault = Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many calls wait: try again");
        Self { retry_after: Some(1), ..fault }
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// The engine could not do it. What no prompt can hold is the client's to mend; the rest is ours.
    pub(super) fn engine(error: &HostError) -> Self {
        match error {
            HostError::Engine(EngineError::Irreducible(_)) => Self::request(error.to_string()),
            _ => Self::internal(format!("the store failed: {error}")),
        }
    }

    /// The response, in the shape of the dialect.
    pub(super) fn response(&self, dialect: Dialect) -> Response {
        let kind = match (self.status.as_u16(), dialect) {
            (400, _) => "invalid_request_error",
            (404, _) => "not_found_error",
            (409, _) => "conflict_error",
            (413, _) => "request_too_large",
            (503, Dialect::Anthropic) => "overloaded_error",
            _ => "api_error",
        };
        let message = &self.message;
        let body = if dialect == Dialect::Anthropic {
            serde_json::json!({"type": "error", "error": {"type": kind, "message": message}})
        } else {
            serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        };
        let mut response = (self.status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<CallFault> for Fault {
    fn from(fault: CallFault) -> Self {
        Self::request(fault.to_string())
    }
}
