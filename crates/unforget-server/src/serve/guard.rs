//! Who may ask. A page of another site may not, whatever name it reaches this machine by.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use tower_http::catch_panic::CatchPanicLayer;

use super::tokens::{self, Token};
use crate::api::{self, Problem};

/// Paths that tell nothing and need no token.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// What is asked of a request before anything else looks at it.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Names under which this daemon is reached, beside its address and `localhost`.
    pub hosts: Vec<String>,
    /// Origins whose pages may use it, such as `https://chat.example`. Its own pages always may.
    pub origins: Vec<String>,
    /// Who may use it; everyone who reaches it if there is none.
    pub tokens: Vec<Token>,
}

impl Guard {
    /// Puts the check before all routes. A panic in any is an answer.
    ///
    /// * `address` - of the listener.
    pub(super) fn before(self, routes: Router, address: SocketAddr) -> Router {
        let guard = Arc::new(self);
        let checked = middleware::from_fn(move |mut request: Request, next: Next| {
            let checked = guard.let_in(&mut request, address.ip());
            async move {
                match checked {
                    Ok(()) => next.run(request).await,
                    Err(refused) => refused,
                }
            }
        });
        routes.layer(checked).layer(CatchPanicLayer::new())
    }

    /// All checks. Notes whose the request is.
    #[allow(clippy::result_large_err, reason = "once per request")]
    fn let_in(&self, request: &mut Request, address: IpAddr) -> Result<(), Response> {
        self.check(request.headers(), request.uri(), address)?;
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        if OPEN.contains(&path.as_str()) {
            return Ok(());
        }
        let tenant =
            tokens::identify(&self.tokens, request.headers_mut(), &method, &path).map_err(|refused| {
                let status = match refused {
                    tokens::Refused::Unknown => StatusCode::UNAUTHORIZED,
                    tokens::Refused::Scope => StatusCode::FORBIDDEN,
                };
                told(&path, status, &refused.to_string())
            })?;
        if let Some(scope) = tokens::scope(&tenant) {
            request.extensions_mut().insert(scope);
        }
        request.extensions_mut().insert(tenant);
        Ok(())
    }

    /// Host and Origin, against DNS rebinding and forged requests of other sites.
    #[allow(clippy::result_large_err, reason = "once per request")]
    fn check(&self, headers: &HeaderMap, uri: &Uri, address: IpAddr) -> Result<(), Response> {
        let named = one(headers, &HOST).or_else(|| uri.authority().map(Authority::as_str));
        let Some(host) = named.map(without_port) else {
            return Err(refused("a request needs one Host header"));
        };
        if !self.is_ours(host, address) {
            return Err(refused(
                "this host name is not served: add it to serve.hosts if it is a name of this machine",
            ));
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = one(headers, &ORIGIN).unwrap_or_default();
        let is_known = self.origins.iter().any(|known| known == origin);
        let is_own = origin.split_once("://").is_some_and(|(_, own)| named == Some(own));
        if is_known || is_own {
            return Ok(());
        }
        Err(refused("pages of this origin may not use this server: add it to serve.origins if they shall"))
    }

    fn is_ours(&self, host: &str, address: IpAddr) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let of_machine = bare
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip == address || address.is_unspecified());
        of_machine
            || host.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

/// The header's value, if it is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// A refusal in the form of what was asked for.
fn told(path: &str, status: StatusCode, why: &str) -> Response {
    if path.starts_with(api::ROOT) {
        let kind = if status == StatusCode::UNAUTHORIZED { "no-token" } else { "forbidden" };
        return Problem::new(status.as_u16(), kind, why, "ask the owner of the daemon").into_response();
    }
    (status, format!("{why}\n")).into_response()
}

fn refused(why: &'static str) -> Response {
    (StatusCode::FORBIDDEN, format!("{why}\n")).into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn hosts_and_origins_table() {
        let guard = Guard {
            hosts: vec!["box.lan".into()],
            origins: vec!["https://chat.example".into()],
            ..Guard::default()
        };
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        let table = [
            (Some("127.0.0.1:8787"), None, true, "its address"),
            (Some("localhost:8787"), None, true, "its name"),
            (Some("LOCALHOST"), None, true, "in capitals"),
            (Some("[::1]:8787"), None, true, "loopback of the other kind"),
            (Some("box.lan:8787"), None, true, "a name of the settings"),
            (Some("evil.example:8787"), None, false, "another site that resolves to this machine"),
            (Some("127.0.0.1.evil.example"), None, false, "a name that begins alike"),
            (Some("localhost.evil.example"), None, false, "a name that begins alike"),
            (None, None, false, "none"),
            (Some("localhost:8787"), Some("http://localhost:8787"), true, "its own page"),
            (Some("localhost:8787"), Some("http://localhost:9999"), false, "another port is another site"),
            (Some("localhost:8787"), Some("https://chat.example"), true, "a page of the settings"),
            (Some("localhost:8787"), Some("https://evil.example"), false, "another site's page"),
            (Some("localhost:8787"), Some("null"), false, "a page without an origin"),
            (Some("localhost:8787"), Some(""), false, "an empty origin"),
        ];
        for (host, origin, is_let_in, why) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            let checked = guard.check(&headers, &Uri::from_static("/v1/messages"), local);
            assert_eq!(checked.is_ok(), is_let_in, "{host:?} {origin:?}: {why}");
        }
    }

    #[test]
    fn two_hosts_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "evil.example".parse().unwrap());
        assert!(
            Guard::default().check(&headers, &Uri::from_static("/"), "127.0.0.1".parse().unwrap()).is_err()
        );
    }
}
