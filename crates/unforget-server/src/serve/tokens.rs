//! Tokens: who may use the daemon, for what, and with which conversations.

use std::str::FromStr;
use std::sync::Arc;

use axum::http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName};
use axum::http::{HeaderValue, Method};
use unforget_core::digest::Digest;
use unforget_gateway::{OWNER, Tenant};

use crate::mcp;

/// Header for a token beside the provider's key.
pub const TOKEN: HeaderName = HeaderName::from_static("x-unforget-token");

/// Header for keys of Anthropic's API.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Prefix of our tokens, by which they are recognised in the place of a provider's key.
pub const PREFIX: &str = "uft_";

/// Cookie of the page with a token. It permits reading, and the forms of [`DECISIONS`], which carry a token of their own: nothing that
/// a browser sends by itself changes anything.
pub const COOKIE_NAME: &str = "unforget-token";

/// Where the page is. Its first view is also at `/`.
pub const PAGE: &str = "/web";

/// End of the addresses of the page's forms.
pub const DECISIONS: &str = "/decisions";

/// Whether a request sends a form of the page.
fn is_form(method: &Method, path: &str) -> bool {
    method == Method::POST && is_page(path) && path.ends_with(DECISIONS)
}

/// In a request for the page: its sender may also send the page's forms.
#[derive(Clone, Copy, Debug)]
pub struct MayDecide;

/// Whether the sender of a request may send the forms of the page.
pub(super) fn may_decide(tokens: &[Token], headers: &HeaderMap) -> bool {
    let path = format!("{PAGE}{DECISIONS}");
    identify(tokens, &mut headers.clone(), &Method::POST, &path).is_ok()
}

/// Whether a path belongs to the page.
pub(super) fn is_page(path: &str) -> bool {
    path == "/" || path.strip_prefix(PAGE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The permission of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Model calls.
    Gateway,
    /// Reading stored data.
    Read,
    /// Everything else.
    Admin,
}

impl Scope {
    /// Name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    /// The permission that a request needs.
    fn of(method: &Method, path: &str) -> Self {
        let is_ours = is_page(path)
            || ["/api/", "/mcp", "/metrics", "/daemon"].iter().any(|start| path.starts_with(start));
        match (is_ours, method) {
            (false, _) => Self::Gateway,
            (true, &(Method::GET | Method::HEAD)) => Self::Read,
            // Its calls are searches.
            (true, &Method::POST) if path.starts_with("/mcp") => Self::Read,
            // A question, sent in a body because it is long.
            (true, &Method::POST) if path == "/api/v1/answer" => Self::Read,
            (true, _) => Self::Admin,
        }
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Gateway, Self::Read, Self::Admin];
        let known = all.into_iter().find(|scope| scope.name() == name);
        known.ok_or_else(|| format!("{name:?} is none of gateway, read, admin"))
    }
}

/// A configured token, as a digest only.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its tenant.
    pub tenant: Arc<str>,
    /// Its permissions.
    pub scopes: Vec<Scope>,
    /// BLAKE3 of the token.
    pub digest: Digest,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// No token came.
    #[error("a token is needed: send it as x-unforget-token, or as the API key")]
    Missing,
    /// No such token is configured.
    #[error("this token is not known here: send one of this daemon as x-unforget-token, or as the API key")]
    Unknown,
    /// The token lacks the permission.
    #[error("this token does not permit that")]
    Scope,
}

/// Identifies the tenant of a request. Removes our token from the headers, so that it is never sent on.
pub(super) fn identify(
    tokens: &[Token],
    headers: &mut HeaderMap,
    method: &Method,
    path: &str,
) -> Result<Tenant, Refused> {
    let cookie = take_cookie(headers);
    let is_read = method == Method::GET || method == Method::HEAD;
    let is_for_page = is_read && Scope::of(method, path) == Scope::Read || is_form(method, path);
    let sent = take(headers).or_else(|| cookie.filter(|_| is_for_page));
    if tokens.is_empty() {
        return Ok(Tenant(Arc::from(OWNER)));
    }
    let digest = Digest::of(sent.as_ref().map(HeaderValue::as_bytes).unwrap_or_default());
    // All tokens are compared, whichever matches, and each in constant time.
    let is_it = |token: &&Token| is_equal(&token.digest, &digest);
    let known: Vec<&Token> = tokens.iter().filter(is_it).collect();
    if sent.is_none() {
        return Err(Refused::Missing);
    }
    let known = known.first().ok_or(Refused::Unknown)?;
    let wanted = Scope::of(method, path);
    if known.scopes.contains(&wanted) || known.scopes.contains(&Scope::Admin) && wanted == Scope::Read {
        return Ok(Tenant(Arc::clone(&known.tenant)));
    }
    Err(Refused::Scope)
}

/// Whether the token header of a request carries this token.
///
/// * `own` - BLAKE3 of the token.
pub(super) fn is_of(headers: &HeaderMap, own: &Digest) -> bool {
    let sent = headers.get(TOKEN).map(|value| Digest::of(value.as_bytes()));
    sent.is_some_and(|sent| is_equal(&sent, own))
}

/// The MCP scope of a tenant; `None` for the owner, who may recall everything.
pub(super) fn scope(tenant: &Tenant) -> Option<mcp::RecallScope> {
    (&*tenant.0 != OWNER).then(|| mcp::RecallScope::Under(format!("journal:gateway/{}/", tenant.0)))
}

/// Takes the token of a request from any header, and removes it from all headers.
fn take(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let own = headers.remove(TOKEN);
    let is_ours = |value: &HeaderValue| bare(value).starts_with(PREFIX.as_bytes());
    let first = |name: HeaderName| headers.get_all(name).iter().find(|value| is_ours(value)).cloned();
    let key = first(AUTHORIZATION).or_else(|| first(API_KEY));
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names {
        let all = headers.get_all(&name);
        if all.iter().any(is_ours) {
            let others: Vec<HeaderValue> = all.iter().filter(|value| !is_ours(value)).cloned().collect();
            headers.remove(&name);
            for other in others {
                headers.append(name.clone(), other);
            }
        }
    }
    own.or_else(|| key.and_then(|key| HeaderValue::from_bytes(bare(&key)).ok()))
}

/// Takes the token of the page's cookie, and removes that cookie from all headers.
fn take_cookie(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let all: Vec<HeaderValue> = headers.get_all(COOKIE).iter().cloned().collect();
    let mut found = None;
    let is_ours = |pair: &str| pair.trim().split_once('=').is_some_and(|(name, _)| name == COOKIE_NAME);
    let has_ours = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.split(';').any(is_ours));
    if !all.iter().any(has_ours) {
        return None;
    }
    headers.remove(COOKIE);
    for value in all {
        let Ok(text) = value.to_str() else {
            headers.append(COOKIE, value);
            continue;
        };
        let (ours, others): (Vec<&str>, Vec<&str>) = text.split(';').partition(|pair| is_ours(pair));
        let token = ours.first().and_then(|pair| pair.split_once('=')).map(|(_, token)| token.trim());
        found = found.or_else(|| HeaderValue::from_str(token?).ok());
        let others = others.join(";");
        if let Ok(others) = HeaderValue::from_str(others.trim())
            && !others.is_empty()
        {
            headers.append(COOKIE, others);
        }
    }
    found
}

/// A value without its prefix `Bearer`.
fn bare(value: &HeaderValue) -> &[u8] {
    let bytes = value.as_bytes();
    let is_bearer = bytes.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer "));
    if is_bearer { bytes.get(7..).unwrap_or_default().trim_ascii() } else { bytes.trim_ascii() }
}

/// Whether two digests are equal, in time independent of the place of their difference.
fn is_equal(one: &Digest, other: &Digest) -> bool {
    one.0.iter().zip(&other.0).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn headers(values: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(name.clone(), value.parse().unwrap());
        }
        headers
    }

    /// A header in which some services expect keys.
    const OTHER: HeaderName = HeaderName::from_static("api-key");

    /// Headers, method, path, tenant, and why.
    type Row<'a> = (&'a [(HeaderName, &'a str)], &'a Method, &'a str, Result<&'a str, Refused>, &'a str);

    fn check(table: &[Row<'_>]) {
        let token = |tenant: &str, secret: &str, scopes: &[Scope]| Token {
            tenant: tenant.into(),
            scopes: scopes.to_vec(),
            digest: Digest::of(secret.as_bytes()),
        };
        let tokens = [
            token("ann", "uft_ann", &[Scope::Gateway, Scope::Read]),
            token("bob", "uft_bob", &[Scope::Gateway]),
            token("root", "uft_root", &[Scope::Admin]),
        ];
        for (sent, method, path, want, why) in table {
            let mut headers = headers(sent);
            let tenant = identify(&tokens, &mut headers, method, path);
            assert_eq!(tenant.as_ref().map(|tenant| &*tenant.0).map_err(|refused| *refused), *want, "{why}");
            let is_left = headers.values().any(|value| value.to_str().unwrap().contains("uft_"));
            assert!(!is_left, "a token of ours is never sent on: {why}");
            let keys = sent.iter().filter(|(name, value)| name != TOKEN && value.contains("sk-")).count();
            let left = headers.values().filter(|value| value.to_str().unwrap().contains("sk-")).count();
            assert_eq!(left, keys, "a provider's key is: {why}");
        }
    }

    #[test]
    fn tokens_table() {
        let (get, post) = (Method::GET, Method::POST);
        check(&[
            (&[], &post, "/v1/messages", Err(Refused::Missing), "none"),
            (&[(TOKEN, "uft_ann")], &post, "/v1/messages", Ok("ann"), "beside a key"),
            (&[(AUTHORIZATION, "Bearer uft_ann")], &post, "/v1/messages", Ok("ann"), "as a key"),
            (&[(AUTHORIZATION, "bearer  uft_bob")], &post, "/v1/messages", Ok("bob"), "as people write it"),
            (&[(API_KEY, "uft_bob")], &post, "/v1/messages", Ok("bob"), "as a key of the other API"),
            (
                &[(AUTHORIZATION, "Bearer sk-ann")],
                &post,
                "/v1/messages",
                Err(Refused::Missing),
                "a provider's key",
            ),
            (&[(TOKEN, "uft_an")], &post, "/v1/messages", Err(Refused::Unknown), "cut off"),
            (&[(TOKEN, "")], &post, "/v1/messages", Err(Refused::Unknown), "empty"),
            (&[(TOKEN, "uft_bob")], &get, "/api/v1/conversations", Err(Refused::Scope), "not for reading"),
            (&[(TOKEN, "uft_ann")], &get, "/api/v1/conversations", Ok("ann"), "for reading"),
            (&[(TOKEN, "uft_ann")], &post, "/api/v1/imports", Err(Refused::Scope), "not for changes"),
            (
                &[(TOKEN, "uft_ann")],
                &post,
                "/api/v1/conversations/x/compact",
                Err(Refused::Scope),
                "summaries change what is sent",
            ),
            (
                &[(TOKEN, "uft_ann")],
                &post,
                "/api/v1/conversations/x/jobs/run",
                Err(Refused::Scope),
                "models cost money",
            ),
            (
                &[(TOKEN, "uft_ann")],
                &Method::DELETE,
                "/api/v1/conversations/x/jobs",
                Err(Refused::Scope),
                "dropped for good",
            ),
            (
                &[(TOKEN, "uft_ann")],
                &post,
                "/api/v1/answer/",
                Err(Refused::Scope),
                "only the question itself is one",
            ),
            (&[(TOKEN, "uft_ann")], &post, "/mcp", Ok("ann"), "calls of MCP are searches"),
            (&[(TOKEN, "uft_ann")], &post, "/api/v1/answer", Ok("ann"), "a question"),
            (&[(TOKEN, "uft_root")], &get, "/metrics", Ok("root"), "who may change may read"),
            (&[(TOKEN, "uft_root")], &post, "/v1/messages", Err(Refused::Scope), "but not call models"),
        ]);
        assert_eq!(&*identify(&[], &mut HeaderMap::new(), &post, "/v1/messages").unwrap().0, "default");
    }

    #[test]
    fn cookies_table() {
        let (get, post) = (Method::GET, Method::POST);
        let cookie = |text: &'static str| [(COOKIE, text)];
        let ours = cookie("a=1; unforget-token=uft_ann; b=2");
        let other = cookie("a=uft; b=2");
        check(&[
            (&ours, &get, "/", Ok("ann"), "the page reads"),
            (&ours, &get, "/web/conversations", Ok("ann"), "in every view"),
            (&ours, &get, "/api/v1/events", Ok("ann"), "and listens"),
            (&ours, &post, "/api/v1/imports", Err(Refused::Missing), "a cookie changes nothing"),
            (&ours, &post, "/api/v1/answer", Err(Refused::Missing), "and asks no model"),
            (&ours, &post, "/v1/messages", Err(Refused::Missing), "nor calls one"),
            (&ours, &get, "/v1/models", Err(Refused::Missing), "at any provider"),
            (&other, &get, "/web", Err(Refused::Missing), "other cookies are no token"),
            (&ours, &post, "/web/c/x/decisions", Err(Refused::Scope), "a reader decides nothing"),
            (
                &cookie("unforget-token=uft_root"),
                &post,
                "/web/c/x/decisions",
                Ok("root"),
                "its owner does, by a form",
            ),
            (
                &cookie("unforget-token=uft_root"),
                &post,
                "/api/v1/decisions",
                Err(Refused::Missing),
                "not elsewhere",
            ),
        ]);
        let mut headers = headers(&ours);
        identify(&[], &mut headers, &get, "/v1/models").unwrap();
        assert_eq!(headers.get(COOKIE).unwrap(), "a=1; b=2", "other cookies go on");
    }

    #[test]
    fn tokens_in_several_headers_table() {
        let post = Method::POST;
        let to = "/v1/messages";
        check(&[
            (
                &[(AUTHORIZATION, "Bearer uft_ann"), (API_KEY, "uft_ann")],
                &post,
                to,
                Ok("ann"),
                "as both keys",
            ),
            (&[(TOKEN, "uft_ann"), (API_KEY, "uft_bob")], &post, to, Ok("ann"), "ours counts first"),
            (
                &[(API_KEY, "sk-ann"), (API_KEY, "uft_ann"), (API_KEY, "uft_bob")],
                &post,
                to,
                Ok("ann"),
                "beside a key in the same header",
            ),
            (&[(TOKEN, "uft_ann"), (OTHER, "Bearer uft_ann")], &post, to, Ok("ann"), "elsewhere"),
            (&[(OTHER, "uft_ann")], &post, to, Err(Refused::Missing), "elsewhere it is no token"),
        ]);
    }
}
