//! Access control. Pages of other sites are refused, under whatever name they reach this machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use unforget_core::digest::Digest;

use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use unforget_wire::exchange::Fault;

use super::tokens::{self, MayDecide, Token};
use crate::api::{self, CommandLine, Problem};

/// Paths that reveal nothing and need no token.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/web/login", "/web/logout"];

/// Style sheets and scripts of the page, which are the same for everyone.
const ASSETS: &str = "/web/assets/";

/// Further response headers that pages may read.
const TOLD: [&str; 14] = [
    "etag",
    "location",
    "mcp-session-id",
    "request-id",
    "retry-after",
    "x-request-id",
    "x-unforget-authority",
    "x-unforget-conversation",
    "x-unforget-left-out",
    "x-unforget-output-tokens",
    "x-unforget-overhead-ms",
    "x-unforget-prompt-tokens",
    "x-unforget-put-back",
    "x-unforget-standing-left-out",
];

/// The checks of a request before any other processing.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Names of this daemon, beside its address and `localhost`.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the daemon, such as `https://chat.example`. Its own pages always may.
    pub origins: Vec<String>,
    /// Tokens of permitted users; without any, everyone who reaches the daemon may use it.
    pub tokens: Vec<Token>,
    /// BLAKE3 of the token of the owner's command line: see [`super::beside`].
    pub own: Option<Digest>,
}

impl Guard {
    /// Puts the checks before all routes. A panic in any route becomes an error response.
    ///
    /// * `address` - the listener's address.
    pub(super) fn before(self, routes: Router, address: SocketAddr) -> Router {
        let cors = self.cors();
        let guard = Arc::new(self);
        let (of_where, of_whom) = (Arc::clone(&guard), guard);
        let checked = middleware::from_fn(move |request: Request, next: Next| {
            let checked = of_where.check(request.headers(), request.uri(), address.ip());
            async move {
                match checked {
                    Ok(()) => next.run(request).await,
                    Err(refused) => refused,
                }
            }
        });
        let known = middleware::from_fn(move |mut request: Request, next: Next| {
            let known = of_whom.let_in(&mut request);
            async move {
                match known {
                    Ok(()) => next.run(request).await,
                    Err(refused) => refused,
                }
            }
        });
        let mut routes = routes.layer(known);
        if let Some(cors) = cors {
            // Browsers ask in advance, and without a token, whether they may send one. Pages may read the reason of a
            // refusal.
            routes = routes.layer(cors);
        }
        routes.layer(checked).layer(CatchPanicLayer::new())
    }

    /// The rules that let pages of the configured origins read answers; `None` without such origins.
    fn cors(&self) -> Option<CorsLayer> {
        let known: Vec<String> = self.origins.iter().filter(|origin| is_origin(origin)).cloned().collect();
        let is_known = move |origin: &HeaderValue, _: &Parts| {
            known.iter().any(|known| known.as_bytes() == origin.as_bytes())
        };
        (!self.origins.is_empty()).then(|| {
            CorsLayer::new()
                .allow_origin(AllowOrigin::predicate(is_known))
                .allow_methods([
                    Method::GET,
                    Method::HEAD,
                    Method::POST,
                    Method::PUT,
                    Method::PATCH,
                    Method::DELETE,
                ])
                .allow_headers(AllowHeaders::mirror_request())
                .expose_headers(TOLD.map(HeaderName::from_static))
                .max_age(Duration::from_mins(10))
        })
    }

    /// Records the tenant of the request.
    #[allow(clippy::result_large_err, reason = "once per request")]
    fn let_in(&self, request: &mut Request) -> Result<(), Response> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        if OPEN.contains(&path.as_str()) || path.starts_with(ASSETS) {
            // Nothing behind these paths needs a token, and none may leave with the request.
            tokens::identify(&[], request.headers_mut(), &method, &path).ok();
            return Ok(());
        }
        if self.own.is_some_and(|own| tokens::is_of(request.headers(), &own)) {
            request.extensions_mut().insert(CommandLine);
        }
        let whole = request.uri().path_and_query().map_or(path.clone(), ToString::to_string);
        let may_decide = tokens::is_page(&path) && tokens::may_decide(&self.tokens, request.headers());
        let tenant =
            tokens::identify(&self.tokens, request.headers_mut(), &method, &path).map_err(|refused| {
                if method == Method::GET && tokens::is_page(&path) {
                    to_login(&whole, refused)
                } else {
                    told(&path, request.headers(), refused)
                }
            })?;
        if let Some(scope) = tokens::scope(&tenant) {
            request.extensions_mut().insert(scope);
        }
        if may_decide {
            request.extensions_mut().insert(MayDecide);
        }
        request.extensions_mut().insert(tenant);
        Ok(())
    }

    /// Checks Host and Origin, against DNS rebinding and requests forged by other sites.
    #[allow(clippy::result_large_err, reason = "once per request")]
    fn check(&self, headers: &HeaderMap, uri: &Uri, address: IpAddr) -> Result<(), Response> {
        // An address in the request line counts before the header, and each of them has to be ours.
        let in_line = uri.authority().map(Authority::as_str);
        let named = if headers.contains_key(HOST) { one(headers, &HOST) } else { in_line };
        let Some(named) = named else {
            return Err(refused("a request needs one Host header"));
        };
        let is_ours = |host| without_port(host).is_some_and(|host| self.is_ours(host, address));
        if !is_ours(named) || !in_line.is_none_or(is_ours) {
            return Err(refused(
                "this host name is not served: add it to serve.hosts if it is a name of this machine",
            ));
        }
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = one(headers, &ORIGIN).unwrap_or_default();
        let is_known = is_origin(origin) && self.origins.iter().any(|known| known == origin);
        let is_own = origin.split_once("://").is_some_and(|(_, own)| named == own);
        if is_known || is_own {
            return Ok(());
        }
        Err(refused("pages of this origin may not use this server: add it to serve.origins if they shall"))
    }

    fn is_ours(&self, host: &str, address: IpAddr) -> bool {
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let ip = match bracketed {
            Some(bare) => bare.parse().map(IpAddr::V6),
            None => host.parse().map(IpAddr::V4),
        };
        let of_machine = ip.is_ok_and(|ip| ip.is_loopback() || ip == address || address.is_unspecified());
        of_machine
            || host.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

/// Whether text is the origin of one site as browsers write it: no pattern, and not `null`, which any page can have.
pub fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.:[]".contains(c);
    !scheme.is_empty()
        && !host.is_empty()
        && text.chars().all(|c| c == '/' || is_plain(c))
        && !host.contains('/')
}

/// The header's value, if it occurs exactly once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// A host without its port; `None` if it is no host as a URL has it: an address with colons stands in brackets.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at_checked(end)?;
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

/// A refusal in the form of the requested API.
fn told(path: &str, headers: &HeaderMap, why: tokens::Refused) -> Response {
    let (status, kind) = match why {
        tokens::Refused::Missing | tokens::Refused::Unknown => (StatusCode::UNAUTHORIZED, "no-token"),
        tokens::Refused::Scope => (StatusCode::FORBIDDEN, "forbidden"),
    };
    if path.starts_with(api::ROOT) {
        let problem = Problem::new(status.as_u16(), kind, why.to_string(), "ask the owner of the daemon");
        return problem.into_response();
    }
    let fault = match why {
        tokens::Refused::Missing | tokens::Refused::Unknown => Fault::Unauthorized,
        tokens::Refused::Scope => Fault::Forbidden { what: format!("requests to {path}") },
    };
    unforget_gateway::refusal(path, headers, &fault)
}

/// Leads a browser to the page where a person gives a token.
fn to_login(from: &str, why: tokens::Refused) -> Response {
    let why = match why {
        tokens::Refused::Missing => "token",
        tokens::Refused::Unknown => "wrong",
        tokens::Refused::Scope => "scope",
    };
    let from = utf8_percent_encode(from, NON_ALPHANUMERIC);
    let to = format!("{}/login?why={why}&next={from}", tokens::PAGE);
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
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
            (Some("[::1]"), None, true, "without a port"),
            (Some("[::1"), None, false, "half a bracket"),
            (Some("::1"), None, false, "no bracket"),
            (Some("[127.0.0.1]"), None, false, "brackets around what has no colons"),
            (Some("[::1]x:80"), None, false, "more behind the bracket"),
            (Some("127.0.0.1:80:80"), None, false, "two ports"),
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
    fn origins_table() {
        let table = [
            ("https://chat.example", true),
            ("http://localhost:3000", true),
            ("http://[::1]:3000", true),
            ("chrome-extension://abcdefghijklmnop", true),
            ("null", false),
            ("*", false),
            ("https://*.example", false),
            ("https://chat.example/", false),
            ("https://chat.example/page", false),
            ("HTTPS://chat.example", false),
            ("https://Chat.example", false),
            ("https://", false),
            ("chat.example", false),
            ("", false),
        ];
        for (text, is_one) in table {
            assert_eq!(is_origin(text), is_one, "{text:?}");
        }
    }

    #[test]
    fn an_address_in_the_request_line_is_checked_too() {
        let guard = Guard::default();
        let table = [
            ("http://127.0.0.1:8787/v1/messages", Some("127.0.0.1:8787"), true, "a proxy's form"),
            ("http://127.0.0.1:8787/v1/messages", None, true, "HTTP/2 has no header"),
            ("http://evil.example/v1/messages", Some("127.0.0.1:8787"), false, "another site's name"),
            ("http://127.0.0.1:8787/v1/messages", Some("evil.example"), false, "in the header"),
        ];
        for (uri, host, is_let_in, why) in table {
            let headers: HeaderMap =
                host.into_iter().map(|host| (HOST, HeaderValue::from_str(host).unwrap())).collect();
            let checked = guard.check(&headers, &uri.parse().unwrap(), "127.0.0.1".parse().unwrap());
            assert_eq!(checked.is_ok(), is_let_in, "{uri} {host:?}: {why}");
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
