//! The parameters of a request. Unreadable parameters give a problem in the form of all others.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use unforget_core::id::Timestamp;
use utoipa::IntoParams;

use super::problem::Problem;

/// Largest JSON body.
const BODY_MAX: usize = 1 << 20;

/// The query of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(asked)| Self(asked)).map_err(|rejected| Problem::bad(rejected.body_text()))
    }
}

/// The path of a request.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(at)| Self(at)).map_err(|rejected| Problem::bad(rejected.body_text()))
    }
}

/// A JSON body.
pub(super) struct Sent<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    /// Requires a JSON content type: a page of another site can send any other type without asking the browser's
    /// permission.
    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/json") {
            let what = "the content type of the body is not JSON";
            return Err(Problem::new(415, "content-type", what, "send content-type: application/json"));
        }
        let body = axum::body::to_bytes(request.into_body(), BODY_MAX).await.map_err(|error| {
            Problem::new(
                413,
                "too-large",
                format!("the body: {error}"),
                format!("send {BODY_MAX} bytes at most"),
            )
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|error| Problem::bad(format!("the body: {error}")))
    }
}

/// A conversation, by its key or a unique part of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct Named {
    /// Its key, percent-encoded, or enough of it.
    #[param(example = "claude-code:6f1c2a90")]
    pub(super) name: String,
}

/// A time in a request.
pub(super) fn time(text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let time = crate::json::time(text);
    let wrong = || {
        let next = "write 2026-03-02, 2026-03-02T09:00 or 2026-03-02T09:00:00Z";
        Problem::new(400, "usage", format!("{text} is not a time"), next)
    };
    time.map(Some).ok_or_else(wrong)
}
