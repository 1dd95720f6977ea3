//! One POST request to a provider: limited in time and bytes, without redirects, with the key in one header only.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use unforget_core::id::Timestamp;
use ureq::http::{HeaderMap, HeaderValue, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::clock;
use crate::fault::{Account, Cause, Classify, Fault, Reply, detail};
use crate::secret::{Key, KeyError, Secret};

/// The address and settings of a provider's API.
#[derive(Clone)]
pub struct Endpoint {
    /// Address including the version, such as `https://api.openai.com/v1` or `https://api.anthropic.com/v1`.
    pub base: String,
    /// The provider's name of the model.
    pub model: String,
    /// The credential.
    pub key: Key,
    /// Classifies error replies: [`crate::by_status`], or better the engine's classification.
    pub classify: Classify,
    /// Further fields that the provider needs, such as `reasoning_effort`. Our own fields take precedence.
    pub extra: serde_json::Map<String, Value>,
    /// Whether a temperature may be sent; many newer models refuse it.
    pub takes_temperature: bool,
    /// The connection.
    pub network: Network,
}

impl Endpoint {
    /// An endpoint with the usual settings.
    pub fn new(base: impl Into<String>, model: impl Into<String>, key: Key, classify: Classify) -> Self {
        let (base, model) = (base.into(), model.into());
        let (extra, network) = (serde_json::Map::new(), Network::default());
        Self { base, model, key, classify, extra, takes_temperature: false, network }
    }
}

/// The network settings of a provider.
#[derive(Clone, Debug)]
pub struct Network {
    /// Time for the name look-up, and again for connecting, TLS included.
    pub connect: Duration,
    /// Longest silence. Answers are not streamed, so a long one is silent until it is complete.
    pub read: Duration,
    /// Most bytes of an answer.
    pub answer_bytes_max: u64,
    /// Address of a proxy, which may hold a password. The environment's proxies are not used.
    pub proxy: Option<Secret>,
    /// Certificates to trust instead of Mozilla's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Whether a credential may be sent without TLS to other machines.
    pub allows_plain: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_mins(5),
            answer_bytes_max: 4 << 20,
            proxy: None,
            ca_file: None,
            allows_plain: false,
        }
    }
}

/// Why a client cannot be created from its settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The key is unusable.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The address is not `http` or `https` with a host, or it contains a user, a query or a fragment.
    #[error("the address of {model} cannot be used")]
    Address {
        /// The model with that address. The address itself may contain a password.
        model: String,
    },
    /// A credential would be sent without TLS.
    #[error("the credential for {host} would travel without TLS")]
    Plain {
        /// The other machine.
        host: String,
    },
    /// The proxy's address is unusable.
    #[error("the proxy's address cannot be used")]
    Proxy,
    /// The file with certificates cannot be read or contains none.
    #[error("no certificates in {}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
    },
}

/// A reply: its status, and its body if it was successful.
pub(crate) struct Http {
    agent: ureq::Agent,
    url: String,
    pub(crate) account: Account,
    pub(crate) endpoint: Endpoint,
}

impl Http {
    /// A client for `base` followed by `path`.
    pub(crate) fn new(endpoint: Endpoint, path: &str) -> Result<Self, SettingError> {
        let (provider, host) = provider(&endpoint)?;
        let network = &endpoint.network;
        if provider.starts_with("http:")
            && endpoint.key.secret.is_some()
            && !network.allows_plain
            && !is_this_machine(&host)
        {
            return Err(SettingError::Plain { host });
        }
        let proxy = network.proxy.as_ref().map(|proxy| ureq::Proxy::new(proxy.expose())).transpose();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy.map_err(|_| SettingError::Proxy)?)
            .tls_config(TlsConfig::builder().root_certs(roots(network)?).build())
            .timeout_per_read(Some(network.read))
            .user_agent(concat!("unforget/", env!("CARGO_PKG_VERSION")))
            // Calls are seconds apart or more, so a kept connection is usually dead.
            .max_idle_connections(0)
            .build();
        let url = format!("{}{path}", endpoint.base.trim_end_matches('/'));
        let account = Account { provider, credential: endpoint.key.name.clone() };
        Ok(Self { agent: config.new_agent(), url, account, endpoint })
    }

    /// Sends `body` with the endpoint's other fields, and reads the answer as JSON.
    ///
    /// * `headers` - further headers, such as the one with the credential.
    pub(crate) fn post(
        &self,
        headers: &[(&'static str, String)],
        body: Value,
        within: Duration,
    ) -> Result<Value, Fault> {
        let body = self.post_for_bytes(headers, body, within)?;
        serde_json::from_slice(&body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            self.fault(Cause::BadAnswer { place }, &body)
        })
    }

    /// Sends `body` with the endpoint's other fields; the answer's body as it came.
    pub(crate) fn post_for_bytes(
        &self,
        headers: &[(&'static str, String)],
        body: Value,
        within: Duration,
    ) -> Result<Vec<u8>, Fault> {
        let body = serde_json::to_vec(&self.with_extra(body)).map_err(|_| self.fault(Cause::Invalid, b""))?;
        let network = &self.endpoint.network;
        let mut call = self
            .agent
            .post(&self.url)
            .config()
            .timeout_global(Some(within))
            .timeout_resolve(Some(network.connect.min(within)))
            .timeout_connect(Some(network.connect.min(within)))
            .build()
            .header("content-type", "application/json")
            .header("accept", "application/json");
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value).map_err(|_| self.fault(Cause::Invalid, b""))?;
            value.set_sensitive(true);
            call = call.header(*name, value);
        }
        let reply = call.send(&body[..]).map_err(|error| self.failed(&error))?;
        let (head, mut reply) = reply.into_parts();
        let limit = network.answer_bytes_max;
        let read = reply.with_config().limit(limit).read_to_vec();
        let (status, headers) = (head.status.as_u16(), &head.headers);
        let body = match read {
            Ok(body) => body,
            // The text of an error reply matters less than its status.
            Err(_) if status >= 300 => Vec::new(),
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                return Err(self.fault(Cause::AnswerTooLarge { bytes_max: limit }, b""));
            }
            Err(error) => return Err(self.failed(&error)),
        };
        let told = Reply {
            status,
            retry_after: text(headers, "retry-after"),
            retry_after_ms: text(headers, "retry-after-ms"),
            body: &body,
        };
        if let Some(cause) = (self.endpoint.classify)(&told) {
            let cause = if (300..400).contains(&status) { Cause::Redirect } else { cause };
            return Err(self.fault(cause.with_retry_after(wait(headers, clock::now())), &body));
        }
        Ok(body)
    }

    fn with_extra(&self, body: Value) -> Value {
        match body {
            Value::Object(ours) => {
                let mut fields = self.endpoint.extra.clone();
                fields.extend(ours);
                Value::Object(fields)
            }
            other => other,
        }
    }

    /// A fault of this account, with a message.
    pub(crate) fn fault(&self, cause: Cause, said: &[u8]) -> Fault {
        let detail = detail(said, self.endpoint.key.secret.as_ref());
        Fault { cause, account: Box::new(self.account.clone()), model: self.endpoint.model.clone(), detail }
    }

    fn failed(&self, error: &ureq::Error) -> Fault {
        self.fault(cause(error), error.to_string().as_bytes())
    }
}

/// The letters of the key, if there is one.
pub(crate) fn letters(key: &Key) -> Option<&str> {
    key.secret.as_ref().map(Secret::expose)
}

/// Scheme, host and port, and the host alone.
fn provider(endpoint: &Endpoint) -> Result<(String, String), SettingError> {
    let refused = || SettingError::Address { model: endpoint.model.clone() };
    let address: Uri = endpoint.base.parse().map_err(|_| refused())?;
    let scheme =
        address.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(refused)?;
    let authority = address.authority().map_or("", |authority| authority.as_str());
    let host = address.host().unwrap_or_default();
    if host.is_empty() || authority.contains('@') || endpoint.base.contains(['?', '#']) {
        return Err(refused());
    }
    Ok((format!("{scheme}://{}", authority.to_ascii_lowercase()), host.to_owned()))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn roots(network: &Network) -> Result<RootCerts, SettingError> {
    let Some(path) = &network.ca_file else { return Ok(RootCerts::WebPki) };
    let refused = || SettingError::Certificates { path: path.clone() };
    let pem = std::fs::read(path).map_err(|_| refused())?;
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| refused())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() { Err(refused()) } else { Ok(RootCerts::new_with_certs(&certificates)) }
}

fn cause(error: &ureq::Error) -> Cause {
    use std::io::ErrorKind;
    use ureq::{Error, Timeout};
    match error {
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => Cause::ConnectTimeout,
        Error::Timeout(_) => Cause::Timeout,
        Error::HostNotFound | Error::ConnectionFailed | Error::ConnectProxyFailed(_) => Cause::Connect,
        Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) | Error::TlsRequired => Cause::Tls,
        Error::Protocol(_) => Cause::BadAnswer { place: "the HTTP head or framing".to_owned() },
        Error::LargeResponseHeader(..) => {
            Cause::BadAnswer { place: "the HTTP head, which is too large".to_owned() }
        }
        Error::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::AddrNotAvailable => Cause::Connect,
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Cause::Timeout,
            ErrorKind::InvalidData => Cause::Tls,
            _ => Cause::Broken,
        },
        Error::TooManyRedirects | Error::RedirectFailed => Cause::Redirect,
        Error::Http(_) | Error::BadUri(_) | Error::RequireHttpsOnly(_) | Error::InvalidProxyUrl => {
            Cause::Invalid
        }
        _ => Cause::Broken,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The delay requested by a reply, a week at most: in milliseconds, in seconds, or as a date, relative to the reply's
/// own date or else to `now`.
fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    const WEEK: f64 = 7.0 * 86_400.0;
    let number = |name, unit: f64| Some(text(headers, name)?.trim().parse::<f64>().ok()? * unit);
    let seconds = number("retry-after-ms", 1e-3).or_else(|| number("retry-after", 1.0)).or_else(|| {
        let until = date(text(headers, "retry-after")?)?;
        let now = text(headers, "date").and_then(date).unwrap_or(now);
        Some(until.0.saturating_sub(now.0) as f64 * 1e-3)
    })?;
    // A comparison with NaN is false.
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(WEEK)))
}

/// Parses a date in HTTP's format.
fn date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new().parse_zoned(text.trim()).ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::secret::KeySource;

    fn headers(rows: &[(&'static str, &str)]) -> HeaderMap {
        rows.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn retry_after_table() {
        let now = Timestamp(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT
        let ms = Duration::from_millis;
        let table: [(&[(&'static str, &str)], _, &str); 9] = [
            (&[("retry-after", "30")], Some(ms(30_000)), "seconds"),
            (&[("retry-after", " 1.5 ")], Some(ms(1_500)), "part of a second"),
            (&[("retry-after", "9"), ("retry-after-ms", "250")], Some(ms(250)), "milliseconds are preferred"),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(ms(30_000)), "a date, by our clock"),
            (
                &[
                    ("retry-after", "Mon, 07 Nov 2016 08:50:07 GMT"),
                    ("date", "Mon, 07 Nov 2016 08:50:00 GMT"),
                ],
                Some(ms(7_000)),
                "a date, by theirs",
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], None, "a date that is over"),
            (&[("retry-after", "-3")], None, "nonsense"),
            (&[("retry-after", "soon")], None, "words"),
            (&[("retry-after", "1e30")], Some(ms(604_800_000)), "a week at most"),
        ];
        for (rows, want, why) in table {
            assert_eq!(wait(&headers(rows), now), want, "{why}");
        }
    }

    #[test]
    fn address_table() {
        let key = || KeySource::Env("K".into()).load(&|_| Some("abcdef".into())).unwrap();
        let keyless = || KeySource::None.load(&|_| None).unwrap();
        let make = |base: &str, key| {
            let endpoint = Endpoint::new(base, "m", key, std::sync::Arc::new(crate::by_status));
            Http::new(endpoint, "/x").map(|http| (http.account.provider, http.url))
        };
        let refused = Err(SettingError::Address { model: "m".into() });
        let is = |provider: &str, url: &str| Ok((provider.to_owned(), url.to_owned()));
        let table = [
            ("https://API.test/v1/", key(), is("https://api.test", "https://API.test/v1/x"), "one slash"),
            ("http://127.0.0.1:1/v1", key(), is("http://127.0.0.1:1", "http://127.0.0.1:1/v1/x"), "here"),
            ("http://[::1]:1", key(), is("http://[::1]:1", "http://[::1]:1/x"), "here, version 6"),
            (
                "http://box.test/v1",
                keyless(),
                is("http://box.test", "http://box.test/v1/x"),
                "no key to lose",
            ),
            (
                "http://box.test/v1",
                key(),
                Err(SettingError::Plain { host: "box.test".into() }),
                "a key to lose",
            ),
            ("https://me:pass@api.test", key(), refused.clone(), "a password in the address"),
            ("https://api.test?a=b", key(), refused.clone(), "a query"),
            ("ftp://api.test", key(), refused.clone(), "another scheme"),
            ("api.test", key(), refused, "no scheme"),
        ];
        for (base, key, want, why) in table {
            assert_eq!(make(base, key), want, "{why}");
        }
    }

    #[test]
    fn certificates_come_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let network = Network { ca_file: Some(path.clone()), ..Network::default() };
        assert!(matches!(roots(&network), Err(SettingError::Certificates { .. })), "no file");
        std::fs::write(&path, "not a certificate").unwrap();
        assert!(matches!(roots(&network), Err(SettingError::Certificates { .. })), "no certificate in it");
    }
}
