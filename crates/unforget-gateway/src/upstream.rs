//! Providers: selects one for a call, and the headers for it.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::Method;
use axum::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, REFERER, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use unforget_wire::exchange::Fault;

use super::api::Api;
use super::headers::API_KEY;
use super::{credential, trace};

/// A provider.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its name in logs and headers.
    pub name: String,
    /// Its address. Clients' paths are appended.
    pub url: Url,
    /// Its API.
    pub api: Api,
    /// Its models, with `*` at the end for any suffix; empty for all.
    pub models: Vec<String>,
    /// Paths outside the served APIs that are its own, with `*` at the end for any suffix.
    pub pass: Vec<String>,
    /// The key to send instead of the client's.
    pub key: Option<Key>,
}

/// Whether a pattern, with `*` at the end for any suffix, is of this name.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// A provider's key. Never printed.
#[derive(Clone)]
pub struct Key(HeaderValue);

impl Key {
    /// A key; `None` if it is illegal in a header.
    pub fn new(key: &str) -> Option<Self> {
        let mut value = HeaderValue::from_str(key.trim()).ok()?;
        value.set_sensitive(true);
        Some(Self(value))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Key(…)")
    }
}

impl Upstream {
    /// A provider for all models of an API.
    ///
    /// # Errors
    /// A description of the defect in the address.
    pub fn new(name: &str, url: &str, api: Api) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("{url:?} is no address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(format!("{url} is no http address"));
        }
        if url.query().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err("an address has no query and no password: name the key with key_env".to_owned());
        }
        Ok(Self { name: name.to_owned(), url, api, models: Vec::new(), pass: Vec::new(), key: None })
    }

    /// The providers' own addresses.
    pub fn defaults() -> Vec<Self> {
        let anthropic = Self::new("anthropic", "https://api.anthropic.com", Api::Anthropic);
        let openai = Self::new("openai", "https://api.openai.com", Api::OpenAi);
        anthropic.into_iter().chain(openai).collect()
    }

    /// Whether it serves this API.
    fn speaks(&self, api: Api) -> bool {
        self.api == Api::Any || api == Api::Any || self.api == api
    }

    /// Whether it serves calls of this kind.
    fn takes(&self, api: Api, model: Option<&str>) -> bool {
        let is_model = |pattern: &String| model.is_some_and(|model| matches(pattern, model));
        self.speaks(api) && (self.models.is_empty() || self.models.iter().any(is_model))
    }

    /// Whether its settings list this path.
    fn lists(&self, path: &str) -> bool {
        self.pass.iter().any(|pattern| matches(pattern, path))
    }

    /// The address of a client's path and query.
    ///
    /// The host is always this upstream's: a path cannot name another.
    pub(super) fn at(&self, path_and_query: &str) -> Url {
        let (path, query) = path_and_query
            .split_once('?')
            .map_or((path_and_query, None), |(path, query)| (path, Some(query)));
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url.set_query(query);
        url
    }

    /// The headers for the provider, made from a client's, without the credentials of other providers.
    pub(super) fn headers(&self, client: &HeaderMap, api: Api) -> HeaderMap {
        let own = client.iter().filter(|(name, value)| !credential::is_foreign(self.api, name, value));
        let own: HeaderMap = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.sent(&own, api)
    }

    /// The headers of a request whose path the settings list: with all that its client says.
    pub(super) fn listed_headers(&self, client: &HeaderMap) -> HeaderMap {
        self.sent(client, self.api)
    }

    fn sent(&self, client: &HeaderMap, api: Api) -> HeaderMap {
        let mut headers =
            forwarded(client, &[HOST, ACCEPT_ENCODING, CONTENT_LENGTH, COOKIE, EXPECT, ORIGIN, REFERER]);
        // Answers are read on the way, so no compression is requested.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(Key(key)) = &self.key {
            headers.remove(AUTHORIZATION);
            headers.remove(API_KEY);
            match api {
                Api::Anthropic => headers.insert(API_KEY, key.clone()),
                _ => bearer(key).and_then(|bearer| headers.insert(AUTHORIZATION, bearer)),
            };
        }
        trace::go_on(&mut headers);
        headers
    }
}

/// The providers and the connections to them.
#[derive(Clone)]
pub(super) struct Providers {
    upstreams: Vec<Upstream>,
    client: Client,
    /// Longest silence of a provider inside an answer.
    idle: Duration,
}

impl Providers {
    pub(super) fn new(upstreams: Vec<Upstream>, idle: Duration) -> reqwest::Result<Self> {
        Ok(Self { upstreams, client: client(idle)?, idle })
    }

    /// One upstream for everything, over these connections.
    pub(super) fn only(&self, upstream: Upstream) -> Self {
        Self { upstreams: vec![upstream], ..self.clone() }
    }

    /// The upstream for a call, or for a request of its API without a model: the first suitable one, otherwise the
    /// first of the API, whatever its models.
    pub(super) fn upstream(&self, api: Api, model: Option<&str>) -> Result<&Upstream, Fault> {
        let all = &self.upstreams;
        let any = || all.iter().find(|upstream| model.is_none() && upstream.speaks(api));
        all.iter().find(|upstream| upstream.takes(api, model)).or_else(any).ok_or_else(|| Fault::NotFound {
            what: format!("an upstream that takes {}", model.unwrap_or("this path")),
        })
    }

    /// The first upstream whose settings list this path.
    pub(super) fn listing(&self, path: &str) -> Option<&Upstream> {
        self.upstreams.iter().find(|upstream| upstream.lists(path))
    }

    /// Begins a request to an upstream.
    ///
    /// * `path` - with the query.
    pub(super) fn request(&self, method: Method, upstream: &Upstream, path: &str) -> RequestBuilder {
        self.client.request(method, upstream.at(path))
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &self,
        upstream: &Upstream,
        request: RequestBuilder,
    ) -> Result<reqwest::Response, Fault> {
        request.send().await.map_err(|error| self.unreached(upstream, error))
    }

    /// The next chunk of an answer; `None` at its end.
    pub(super) async fn chunk(
        &self,
        upstream: &Upstream,
        answer: &mut reqwest::Response,
    ) -> Result<Option<Bytes>, Fault> {
        answer.chunk().await.map_err(|error| self.unreached(upstream, error))
    }

    fn unreached(&self, upstream: &Upstream, error: reqwest::Error) -> Fault {
        unreached(&upstream.name, error, self.idle)
    }
}

/// Why a provider gave no answer. The address is omitted: some clients put their key into its query.
fn unreached(upstream: &str, error: reqwest::Error, idle: Duration) -> Fault {
    let error = error.without_url();
    tracing::warn!(upstream, %error, "no answer");
    let upstream = upstream.to_owned();
    if error.is_timeout() && !error.is_connect() {
        return Fault::Timeout { upstream, seconds: idle.as_secs() };
    }
    Fault::Unreachable { upstream }
}

/// Prefix of our own headers, which are not passed on.
pub(super) const OURS: &str = "x-unforget-";

/// Prefix of the headers that tell which pages may read an answer. A provider's values are not valid for us.
const CORS: &str = "access-control-";

fn bearer(key: &HeaderValue) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(&[b"Bearer ", key.as_bytes()].concat()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The headers for the client, made from a provider's. They include the body's compression, since the body is passed on
/// unchanged.
pub(super) fn returned(provider: &HeaderMap) -> HeaderMap {
    let mut headers = forwarded(provider, &[CONTENT_LENGTH, SET_COOKIE]);
    // Copies, since even a short value keeps the whole receive buffer of the connection alive.
    for value in headers.values_mut() {
        *value = HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone());
    }
    headers
}

/// Whether a path leads out of its start. Addresses are built from it, and must not contain such steps.
pub(super) fn has_steps(path: &str) -> bool {
    let plain = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    plain.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."))
}

/// Headers except those of the connection, ours, those for pages, and `but`.
fn forwarded(headers: &HeaderMap, but: &[HeaderName]) -> HeaderMap {
    const OF_CONNECTION: [HeaderName; 8] = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        KEEP_ALIVE,
    ];
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let goes = |name: &HeaderName| {
        !OF_CONNECTION.contains(name)
            && !but.contains(name)
            && !name.as_str().starts_with(OURS)
            && !name.as_str().starts_with(CORS)
            && !named.iter().any(|other| other == name.as_str())
    };
    headers.iter().filter(|(name, _)| goes(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Installs the process's cryptography for all TLS connections. Further calls have no effect.
pub fn install_crypto() {
    // Fails only if one is installed already, which is then used.
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// The client for all providers.
fn client(idle: Duration) -> reqwest::Result<Client> {
    install_crypto();
    Client::builder()
        .redirect(Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(idle)
        .tcp_nodelay(true)
        .build()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Seek;
    use std::sync::Arc;

    use super::*;

    fn upstream(url: &str) -> Upstream {
        Upstream {
            name: "a".into(),
            url: Url::parse(url).unwrap(),
            api: Api::Any,
            models: Vec::new(),
            pass: Vec::new(),
            key: None,
        }
    }

    #[test]
    fn a_path_names_no_other_host() {
        let table = [
            (
                "http://127.0.0.1:9/base/",
                "/v1/messages?beta=true",
                "http://127.0.0.1:9/base/v1/messages?beta=true",
            ),
            ("http://127.0.0.1:9", "//evil.example/v1", "http://127.0.0.1:9//evil.example/v1"),
            ("http://127.0.0.1:9", "/@evil.example", "http://127.0.0.1:9/@evil.example"),
            ("http://127.0.0.1:9/base", "/v1/..%2f..", "http://127.0.0.1:9/base/v1/..%2f.."),
        ];
        for (base, path, want) in table {
            assert_eq!(upstream(base).at(path).as_str(), want);
        }
    }

    #[test]
    fn paths_with_steps_table() {
        let table = [
            ("/v1/messages", false),
            ("/v1//messages", false),
            ("/v1/a..b/...", false),
            ("/v1/messages/../responses", true),
            ("/v1/./messages", true),
            ("/..", true),
            ("/v1/%2e%2E/x", true),
            ("/v1/.%2e/x", true),
            ("/v1/..%2f..%2Fx", true),
            ("/v1/..\\x", true),
            ("/v1/%2e%2e%5cx", true),
        ];
        for (path, has) in table {
            assert_eq!(has_steps(path), has, "{path}");
        }
    }

    #[test]
    fn headers_of_the_connection_and_of_ours_stay() {
        let mut client = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("x-unforget-conversation", "c"),
            ("access-control-allow-origin", "*"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer client"),
            ("anthropic-version", "2023-06-01"),
            ("host", "gateway"),
        ] {
            client.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let kept = upstream("http://127.0.0.1:9").headers(&client, Api::Anthropic);
        let mut names: Vec<_> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "anthropic-version", "authorization"]);
        let own = Upstream { key: Key::new("ours"), ..upstream("http://127.0.0.1:9") };
        let kept = own.headers(&client, Api::Anthropic);
        assert_eq!(
            (kept.get(API_KEY).unwrap(), kept.get(AUTHORIZATION)),
            (&HeaderValue::from_static("ours"), None)
        );
        let kept = own.headers(&client, Api::OpenAi);
        assert_eq!(kept.get(AUTHORIZATION).unwrap(), "Bearer ours");
        assert!(!format!("{kept:?} {own:?}").contains("ours"), "keys are never printed");
    }

    /// Kept headers of an answer do not keep the connection's receive buffer.
    #[test]
    fn returned_headers_hold_no_buffer() {
        let read = axum::body::Bytes::from(vec![b'a'; 8 * 1024]);
        let value = HeaderValue::from_maybe_shared(read.slice(..4)).unwrap();
        let headers = HeaderMap::from_iter([(HeaderName::from_static("x-id"), value)]);
        let kept = returned(&headers);
        assert_eq!(kept["x-id"], "aaaa");
        drop(headers);
        assert!(read.is_unique(), "nobody else has it");
    }

    #[test]
    fn models_choose_the_upstream() {
        let only = Upstream {
            models: vec!["claude-*".into(), "x".into()],
            api: Api::Anthropic,
            ..upstream("http://a")
        };
        assert!(only.takes(Api::Anthropic, Some("claude-1")));
        assert!(only.takes(Api::Anthropic, Some("x")));
        assert!(!only.takes(Api::Anthropic, Some("xy")));
        assert!(!only.takes(Api::OpenAi, Some("x")));
        assert!(!only.takes(Api::Anthropic, None));
        assert!(upstream("http://a").takes(Api::OpenAi, None));
    }

    #[tokio::test]
    async fn no_query_is_logged() {
        install_crypto();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let error = client.get("http://127.0.0.1:1/v1/models?key=sk-secret").send().await.unwrap_err();
        assert!(error.to_string().contains("sk-secret"), "{error}");
        let mut log = Arc::new(tempfile::tempfile().unwrap());
        let subscriber = tracing_subscriber::fmt().with_writer(Arc::clone(&log)).finish();
        let fault =
            tracing::subscriber::with_default(subscriber, || unreached("a", error, Duration::from_secs(1)));
        log.rewind().unwrap();
        let log = std::io::read_to_string(log).unwrap();
        assert!(log.contains("no answer") && !format!("{log}{fault}").contains("sk-secret"), "{log}");
    }
}
