//! TLS of the daemon's own listener.

use crate::support::daemon;

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::talk::{body, user};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use unforget_engine::Engine;
use unforget_gateway::{Api, Gateway, Settings, Upstream as To, Windows};
use unforget_server::mcp::ConversationTools;
use unforget_server::serve::{Daemon, Guard, Limits, Tls};
use unforget_testkit::upstream::{Say, Upstream};
use unforget_wire::Dialect;

/// Self-signed certificates and their keys, made for these tests only:
/// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -addext subjectAltName=DNS:localhost`.
fn certificate(name: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unforget-server/tests/data");
    (folder.join(format!("tls-{name}.pem")), folder.join(format!("tls-{name}.key")))
}

struct Place {
    address: SocketAddr,
    local: SocketAddr,
    cert: PathBuf,
    ending: CancellationToken,
    _folder: tempfile::TempDir,
}

async fn place(limits: Limits) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate("one");
    let upstream = Upstream::start(1_000_000, Arc::new(|_, _| Say::text("Yes, over TLS."))).await;
    let settings = Settings {
        upstreams: vec![To::new("scripted", &upstream.url(), Api::Any).unwrap()],
        windows: Windows { patterns: vec![("*".into(), 1_000_000)], cap: None },
        ..Settings::default()
    };
    let host = daemon::host(Engine::open(&folder.path().join("a.db")).unwrap());
    let gateway =
        Gateway::open(host, Arc::new(ConversationTools), settings, folder.path().join("spool")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, near) = (listener.local_addr().unwrap(), local.local_addr().unwrap());
    let tls = Some(Tls::load(&cert, &key).unwrap());
    let (guard, more) = (Guard::default(), axum::Router::new());
    let daemon = Daemon { gateway, guard, limits, tls, local: Some(local), until_unused: None, more };
    let ending = CancellationToken::new();
    tokio::spawn(daemon.serve(listener, ending.clone(), Duration::from_secs(1)));
    Place { address, local: near, cert, ending, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_over_tls() {
    let place = place(Limits::default()).await;
    let known = reqwest::Certificate::from_pem(&fs::read(&place.cert).unwrap()).unwrap();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([known]).build().unwrap();
    let url = format!("https://localhost:{}/v1/chat/completions", place.address.port());
    for is_streamed in [false, true] {
        let question = body(Dialect::OpenAiChat, &[user("Hello")], is_streamed);
        let answer = http.post(&url).json(&question).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_2));
        assert!(answer.text().await.unwrap().contains("TLS"));
    }
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(stranger.get(&url).send().await.is_err(), "nobody vouches for it");
    let plain = format!("http://{}/healthz", place.address);
    assert!(stranger.get(&plain).send().await.is_err(), "no plain HTTP there");
    let near = stranger.get(format!("http://{}/healthz", place.local)).send().await.unwrap();
    assert_eq!(near.status(), 200, "but beside it, for this machine");
    place.ending.cancel();
}

#[test]
fn files_table() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate("one");
    let (_, other) = certificate("two");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let secret = fs::read_to_string(&key).unwrap();
    let broken = write("broken", &secret.replace("\n-----END", "!!\n-----END"));
    let (empty, absent) = (write("empty", ""), folder.path().join("absent"));
    assert!(Tls::load(&cert, &key).is_ok());
    let table = [
        (&absent, &key, "absent", "no certificate file"),
        (&cert, &absent, "absent", "no key file"),
        (&cert, &other, "two.key", "the key of another certificate"),
        (&key, &key, "no certificate", "a key for a certificate"),
        (&cert, &cert, "no private key", "a certificate for a key"),
        (&empty, &key, "no certificate", "nothing in it"),
        (&cert, &broken, "not sound PEM", "a broken key"),
    ];
    let word = secret.lines().nth(1).unwrap();
    for (cert, key, want, why) in table {
        let told = Tls::load(cert, key).unwrap_err().to_string();
        assert!(told.contains(want), "{why}: {told}");
        assert!(!told.contains(word), "the key is not told: {told}");
    }
}

/// Reads until the peer ends the connection.
async fn is_left(mut stream: impl tokio::io::AsyncRead + Unpin) {
    let (begun, mut got) = (Instant::now(), Vec::new());
    let ended = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut got)).await;
    assert!(ended.is_ok(), "still open after {:?}", begun.elapsed());
    assert!(got.is_empty(), "{got:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_end_its_handshake_is_left() {
    let place = place(Limits { head: Duration::from_millis(300), ..Limits::default() }).await;
    // Nothing, the beginning of a hello, and a hello that never continues.
    for sent in
        [&b""[..], b"\x16\x03\x01\x02\x00\x01", &[&b"\x16\x03\x01\x02\x00\x01\x00"[..], &[1; 200]].concat()]
    {
        let mut stream = TcpStream::connect(place.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        is_left(stream).await;
    }
    // The handshake is done, and then the client is silent.
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&place.cert).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    // If this client is delayed beyond the limit of silence, it connects again.
    let stream = loop {
        let stream = TcpStream::connect(place.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        match connector.connect(name, stream).await {
            Ok(stream) => break stream,
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset),
                    "{error}"
                );
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_mins(1), async {
        let mut stream = stream;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).await.map(|_| got.len())
    });
    assert!(ended.await.is_ok(), "a silent client is left after its handshake too");
}
