//! Style sheet and scripts, which are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::reply::guard;

const FILES: [(&str, &str, &str); 5] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../assets/page.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../assets/page.js")),
    ("context.js", "text/javascript; charset=utf-8", include_str!("../assets/context.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("../assets/live.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

/// Serves a file. Files of another version of the program have other content under the same name, so a browser asks again.
pub(crate) async fn serve(Path(file): Path<String>) -> Response {
    let found = FILES.iter().find(|(name, ..)| *name == file);
    let mut response = match found {
        Some((_, kind, text)) => {
            ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache")], *text).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    };
    guard(response.headers_mut());
    response
}
