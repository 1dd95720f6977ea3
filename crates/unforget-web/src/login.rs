//! The way in with a token. A form brings it, a cookie keeps it, and the guard of the daemon checks it with every request: nothing
//! here knows which tokens are right.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, html};
use unforget_server::serve::COOKIE_NAME;

use crate::frame::head;
use crate::reply::guard;
use crate::visit::Query;

/// Longest form, in bytes.
pub(crate) const FORM_MAX: usize = 16 << 10;

/// Seconds for which a browser keeps the cookie: thirty days.
const KEPT_SECONDS: u32 = 30 * 24 * 60 * 60;

/// The form.
pub(crate) async fn show(request: Request) -> Response {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let next = local(query.get("next"));
    let why = match query.get("why") {
        Some("scope") => {
            "This token does not permit reading. Its entry in the settings needs the scope read."
        }
        Some("wrong") => "No such token is known to this daemon.",
        _ => "This daemon asks for a token.",
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head("Sign in"))
            body class="alone" {
                main id="main" {
                    h1 { "Unforget" }
                    p { (why) }
                    form method="post" action="/web/login" {
                        input type="hidden" name="next" value=(next);
                        label for="token" { "Token" }
                        input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                        button type="submit" { "Sign in" }
                    }
                    p class="dim" { "A token is made by " code { "unforget serve --new-token NAME" } ". A token with the scope admin may also decide what stands in prompts." }
                }
            }
        }
    };
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], page.into_string()).into_response();
    guard(response.headers_mut());
    response
}

/// Takes a token: keeps it in a cookie that no script sees and no other site sends.
pub(crate) async fn enter(request: Request, is_secure: bool) -> Response {
    let body = axum::body::to_bytes(request.into_body(), FORM_MAX).await.unwrap_or_default();
    let form = Query::parse(&String::from_utf8_lossy(&body));
    let token = form.get("token").unwrap_or_default();
    let is_plain =
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_plain {
        return moved("/web/login?why=wrong", None);
    }
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KEPT_SECONDS}{secure}");
    moved(&local(form.get("next")), Some(cookie))
}

/// Forgets the token.
pub(crate) async fn leave() -> Response {
    let cookie = format!("{COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    moved("/web/login", Some(cookie))
}

/// A place of this page; the first view in place of any other.
pub(crate) fn local(place: Option<&str>) -> String {
    let is_local = |place: &&str| {
        *place == "/"
            || (place.starts_with("/web/") && place.bytes().all(|byte| (0x21..0x7f).contains(&byte)))
    };
    place.filter(is_local).unwrap_or("/").to_owned()
}

pub(crate) fn moved(to: &str, cookie: Option<String>) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to.to_owned())]).into_response();
    if let Some(cookie) = cookie.and_then(|cookie| cookie.parse().ok()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    guard(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_table() {
        let table = [
            (None, "/", "none"),
            (Some("/web/c/pi%3A1?at=3"), "/web/c/pi%3A1?at=3", "a view"),
            (Some("//evil.example"), "/", "another site"),
            (Some("https://evil.example"), "/", "another site"),
            (Some("/api/v1/config"), "/", "no view"),
            (Some("/web/\r\nset-cookie: a=b"), "/", "two lines"),
        ];
        for (place, want, why) in table {
            assert_eq!(local(place), want, "{why}");
        }
    }
}
