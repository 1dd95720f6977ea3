//! Malformed and excessive requests: limited, refused in their dialect, and never fatal to the daemon.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, Got, body, user};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use unforget_gateway::Settings;
use unforget_server::serve::Limits;
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Dialect;

/// Largest body in bytes.
const BODY: usize = 1 << 20;

struct Place {
    running: Running,
    upstream: Upstream,
    _folder: tempfile::TempDir,
}

async fn place() -> Place {
    place_with(Limits::default(), Settings::default()).await
}

async fn place_with(limits: Limits, settings: Settings) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|_, _| Say::text("Yes."));
    let upstream = Upstream::start(1_000_000, script).await;
    let settings = Settings { body_max: BODY, ..settings };
    let db = folder.path().join("a.db");
    let running = Running::start_within(&db, &upstream.url(), 1_000_000, (settings, limits)).await;
    Place { running, upstream, _folder: folder }
}

/// Sends bytes and returns the answer, or everything up to the end of the connection.
async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A refusing server may hang up before it has read everything.
    stream.write_all(bytes).await.ok();
    answer(&mut stream).await
}

/// Reads an answer to its end, or to the end of the connection.
async fn answer(stream: &mut TcpStream) -> String {
    let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_whole(&String::from_utf8_lossy(&got)) {
        let read = tokio::time::timeout(Duration::from_mins(1), stream.read(&mut buffer)).await;
        match read.expect("it says nothing more, and the connection stays open") {
            Ok(read @ 1..) => got.extend_from_slice(&buffer[..read]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&got).into_owned()
}

/// Whether an answer is complete according to its head. Informational responses before it do not count.
fn is_whole(got: &str) -> bool {
    let Some((head, body)) = got.split_once("\r\n\r\n") else { return false };
    if head.starts_with("HTTP/1.1 100 ") {
        return is_whole(body);
    }
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    match (field("content-length"), field("transfer-encoding")) {
        (Some(length), _) => body.len() >= length.parse::<usize>().unwrap(),
        (None, Some("chunked")) => body.ends_with("0\r\n\r\n"),
        _ => false,
    }
}

fn call() -> String {
    body(Dialect::OpenAiChat, &[user("Hello")], false).to_string()
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

/// Checks that the daemon still serves.
async fn is_alive(place: &Place) {
    let got = alive(place).await.unwrap();
    assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.bytes));
}

async fn alive(place: &Place) -> reqwest::Result<Got> {
    let client = Client::new(&place.running.url(), None);
    client.ask("chat/completions", &body(Dialect::OpenAiChat, &[user("Alive?")], false)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_table() {
    let place = place().await;
    let call = call();
    let chat = "/v1/chat/completions";
    let many: Vec<String> = (0..150).map(|n| format!("x-h{n}: 1\r\n")).collect();
    let many = many.concat();
    let long = format!("x-long: {}\r\n", "a".repeat(400_000));
    let named = |name: &str| format!("x-unforget-conversation: {name}\r\n");
    let table: Vec<(Vec<u8>, &str, &str)> = vec![
        (post(chat, "", &call), "HTTP/1.1 200", "a call"),
        (post("/v1/chat/../messages", "", &call), "HTTP/1.1 400", "steps"),
        (post("/v1/%2e%2e/%2E./x", "", &call), "HTTP/1.1 400", "packed steps"),
        (post("/v1//chat/completions", "", &call), "HTTP/1.1 404", "the provider says so"),
        (post("//evil.example/v1/messages", "", &call), "HTTP/1.1 404", "never another host"),
        (
            post("http://evil.example/v1/messages", "", &call),
            "HTTP/1.1 ",
            "absolute form: the Host header counts",
        ),
        (b"POST /v1/messages HTTP/1.1\r\n\r\n".to_vec(), "HTTP/1.1 403", "no host"),
        (post(chat, "host: evil.example\r\n", &call), "HTTP/1.1 4", "two hosts"),
        (post(chat, &many, &call), "HTTP/1.1 431", "too many headers"),
        (post(chat, &long, &call), "HTTP/1.1 431", "a long header"),
        (post(chat, "content-length: 3\r\n", &call), "HTTP/1.1 400", "two lengths"),
        (post(chat, "transfer-encoding: chunked, identity\r\n", &call), "HTTP/1.1 400", "an odd encoding"),
        (post(chat, " folded: 1\r\n", &call), "HTTP/1.1 400", "a folded header"),
        (post(chat, "x y: 1\r\n", &call), "HTTP/1.1 400", "a space in a name"),
        (post(chat, &named(&"n".repeat(201)), &call), "HTTP/1.1 400", "a long name"),
        (post(chat, &named("caf\u{e9}"), &call), "HTTP/1.1 400", "a name that is not ASCII"),
        (post(chat, &named(""), &call), "HTTP/1.1 400", "an empty name"),
        (post(chat, "content-encoding: br\r\n", &call), "HTTP/1.1 400", "another packing"),
        (post(chat, "expect: 100-continue\r\n", &call), "HTTP/1.1 100", "asked first"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), "HTTP/1.1 400", "another version"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "", "TLS to a plain port"),
        (b"\0\0\0\0\r\n\r\n".to_vec(), "", "no HTTP"),
    ];
    for (request, want, why) in &table {
        let got = raw(place.running.address, request).await;
        assert!(got.starts_with(want), "{why}: {got:?}");
        if got.contains(" 400 ") && got.contains("content-type: application/json") {
            let (_, body) = got.split_once("\r\n\r\n").unwrap();
            assert!(body.contains("invalid_request_error"), "{why}: {got}");
        }
    }
    let expect = raw(place.running.address, &post(chat, "expect: 100-continue\r\n", &call)).await;
    assert!(expect.contains("HTTP/1.1 200"), "{expect}");
    is_alive(&place).await;
}

/// A body of less than a kilobyte was three hundred thousand messages once: half a gigabyte in memory, and 52 MB in the
/// database for good.
#[tokio::test(flavor = "multi_thread")]
async fn many_empty_messages_are_refused_by_number() {
    let settings = Settings { pieces_max: 5_000, ..Settings::default() };
    let place = place_with(Limits::default(), settings).await;
    let of = |count: usize| {
        let messages = vec![r#"{"role":"user","content":""}"#; count].join(",");
        format!(r#"{{"model":"m","messages":[{messages}]}}"#)
    };
    let many = of(30_000);
    let bomb = zstd::encode_all(many.as_bytes(), 19).unwrap();
    assert!(bomb.len() < 2_000, "{}", bomb.len());
    for (encoding, bytes) in [(Some("zstd"), bomb), (None, of(5_000).into_bytes())] {
        let (status, said) = packed(&place, encoding, bytes, false).await;
        assert_eq!(status, 413, "{said}");
        assert!(said.contains("serve.pieces_max") && said.contains("request_too_large"), "{said}");
    }
    assert_eq!(place.upstream.came().len(), 0, "nothing went on");
    is_alive(&place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn framing_table() {
    let place = place().await;
    let call = call();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
    let size = call.len();
    // With trailers, and a chunk extension.
    let chunked = format!(
        "{head}transfer-encoding: chunked\r\n\r\n{size:x};a=b\r\n{call}\r\n0\r\nx-unforget-conversation: t\r\n\r\n"
    );
    let got = raw(place.running.address, chunked.as_bytes()).await;
    assert!(got.starts_with("HTTP/1.1 200"), "{got}");
    // With both framings, one of them wins, and the provider gets one well-formed call.
    let came = place.upstream.came().len();
    let both = format!(
        "{head}content-length: 6\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{call}\r\n0\r\n\r\n"
    );
    let mut stream = TcpStream::connect(place.running.address).await.unwrap();
    stream.write_all(both.as_bytes()).await.unwrap();
    let mut got = answer(&mut stream).await;
    // No further request follows: the connection ends without another answer.
    stream.shutdown().await.ok();
    stream.read_to_string(&mut got).await.ok();
    assert_eq!(got.matches("HTTP/1.1").count(), 1, "{got}");
    assert!(place.upstream.came().len() <= came + 1);
    // Two requests in one write: answered in order.
    let two = [post("/v1/chat/completions", "", &call), post("/v1/nothing", "", "")].concat();
    let mut stream = TcpStream::connect(place.running.address).await.unwrap();
    stream.write_all(&two).await.unwrap();
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    while String::from_utf8_lossy(&got).matches("HTTP/1.1").count() < 2 {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&buffer[..read]);
    }
    let got = String::from_utf8_lossy(&got).into_owned();
    assert!(got.starts_with("HTTP/1.1 200") && got.contains("HTTP/1.1 404"), "{got}");
    // An old client: no chunks, and the connection ends.
    let old = format!(
        "POST /v1/chat/completions HTTP/1.0\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n{call}"
    );
    let got = raw(place.running.address, old.as_bytes()).await;
    assert!(got.starts_with("HTTP/1.0 200") && !got.contains("chunked"), "{got}");
    is_alive(&place).await;
    assert!(place.upstream.came().iter().all(|came| came.violations.is_empty()));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

async fn packed(place: &Place, encoding: Option<&str>, bytes: Vec<u8>, is_chunked: bool) -> (u16, String) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.post(format!("{}/v1/chat/completions", place.running.url()));
    if let Some(encoding) = encoding {
        request = request.header("content-encoding", encoding);
    }
    let stream = futures_util::stream::iter(
        bytes.chunks(60_000).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>(),
    );
    let request =
        if is_chunked { request.body(reqwest::Body::wrap_stream(stream)) } else { request.body(bytes) };
    let Ok(response) = request.send().await else { return (0, String::new()) };
    (response.status().as_u16(), response.text().await.unwrap_or_default())
}

#[allow(clippy::type_complexity, reason = "a table")]
#[tokio::test(flavor = "multi_thread")]
async fn bodies_table() {
    let place = place().await;
    let call = call();
    let of = |text: &str| call.replace("Hello", text).into_bytes();
    let zeros = vec![b' '; 64 << 20];
    let deep = |open: &str, close: &str, depth: usize| {
        format!("{{\"model\":\"m\",\"messages\":{}1{}}}", open.repeat(depth), close.repeat(depth))
            .into_bytes()
    };
    let in_message = |depth: usize| {
        let inner = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        call.replace("\"Hello\"", &format!("\"Hello\",\"x\":{inner}")).into_bytes()
    };
    let mut invalid = of("X");
    let at = invalid.iter().position(|byte| *byte == b'X').unwrap();
    invalid[at] = 0xff;
    let many = format!("{{\"model\":\"m\",\"messages\":[{}]}}", "1,".repeat(300_000)).into_bytes();
    let table: Vec<(Option<&str>, Vec<u8>, &[u16], &str)> = vec![
        (None, of("as it is"), &[200], "a call"),
        (Some("identity"), of("identity"), &[200], "said so"),
        (
            Some("gzip"),
            gzip(&of("gzip")),
            &[400, 200],
            "the scripted provider reads no gzip, but it came there",
        ),
        (Some("zstd"), zstd::encode_all(&of("zstd")[..], 3).unwrap(), &[200], "zstd"),
        (Some("gzip"), gzip(&zeros), &[413], "a bomb"),
        (Some("zstd"), zstd::encode_all(&zeros[..], 3).unwrap(), &[413], "a bomb"),
        (Some("gzip"), gzip(&gzip(&zeros)), &[400], "a bomb in a bomb is no JSON"),
        (Some("gzip"), gzip(&of("cut")).split_at(50).0.to_vec(), &[400], "cut"),
        (Some("zstd"), b"nonsense".to_vec(), &[400], "not packed"),
        (None, vec![b'a'; BODY + 1], &[413, 0], "too large"),
        (None, invalid, &[400], "not UTF-8"),
        (None, b"{".to_vec(), &[400], "cut"),
        (None, b"".to_vec(), &[400], "nothing"),
        (None, b"null".to_vec(), &[400], "no object"),
        (None, b"{\"messages\":7}".to_vec(), &[400], "no messages"),
        (None, deep("[", "]", 200_000), &[400], "deep lists"),
        (None, deep("[", "]", 400_000), &[413], "more lists than are accepted"),
        (None, deep("{\"a\":", "}", 150_000), &[400], "deep objects"),
        (None, in_message(200_000), &[200, 400], "deep in a message"),
        (None, many, &[400], "many values"),
    ];
    for (encoding, bytes, want, why) in &table {
        for is_chunked in [false, true] {
            let (status, text) = packed(&place, *encoding, bytes.clone(), is_chunked).await;
            assert!(want.contains(&status), "{why}: {status} {text}");
            if status >= 400 && *encoding != Some("gzip") {
                let told: Value = serde_json::from_str(&text).unwrap();
                assert!(told["error"]["message"].is_string(), "{why}: {text}");
            }
        }
    }
    is_alive(&place).await;
}

/// Faults have the form of each dialect.
#[tokio::test(flavor = "multi_thread")]
async fn faults_are_in_the_dialect() {
    let place = place().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (api, dialect) in APIS {
        let sent = http.post(format!("{}/v1/{api}", place.running.url())).body("{}").send().await.unwrap();
        assert_eq!(sent.status(), 400);
        let told: Value = serde_json::from_str(&sent.text().await.unwrap()).unwrap();
        assert_eq!(told["type"] == "error", dialect == Dialect::Anthropic, "{told}");
        assert_eq!(told["error"]["type"], "invalid_request_error");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_is_left() {
    let short = Duration::from_millis(300);
    let limits = Limits { head: short, ..Limits::default() };
    let place = place_with(limits, Settings { silence: short, ..Settings::default() }).await;
    let slow: [&[&[u8]]; 4] = [
        &[],
        &[b"POST /v1/messages HT"],
        &[b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n"],
        &[b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{"],
    ];
    for pieces in slow {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(place.running.address).await.unwrap();
        for piece in pieces {
            stream.write_all(piece).await.unwrap();
        }
        let mut got = Vec::new();
        let read = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut got)).await;
        let got = String::from_utf8_lossy(&got).into_owned();
        assert!(read.is_ok(), "{pieces:?}: still open after {:?}: {got}", begun.elapsed());
        assert!(got.is_empty() || got.starts_with("HTTP/1.1 4"), "{got}");
    }
    // A busy machine may delay this client beyond the limit of silence, and it is disconnected too; then it tries
    // again.
    while !alive(&place).await.is_ok_and(|got| got.status == 200) {}
}

/// A client that takes nothing of a long answer delays nobody, and is disconnected in the end.
#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|_, _| Say::text("word ".repeat(2_000_000)));
    let upstream = Upstream::start(100_000_000, script).await;
    let limits = Limits { taken: Duration::from_millis(500), ..Limits::default() };
    let db = folder.path().join("a.db");
    let running = Running::start_within(&db, &upstream.url(), 1_000_000, (Settings::default(), limits)).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(&post("/v1/chat/completions", "", &call())).await.unwrap();
    let mut some = [0; 100];
    stream.read_exact(&mut some).await.unwrap();
    // The answer arrives first; then the daemon disconnects the client.
    let begun = Instant::now();
    while running.gateway.running() > 0 || running.gateway.readers() > 0 {
        assert!(begun.elapsed() < Duration::from_mins(2), "it is not left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "the connection was left");
    assert!(rest.len() < 10_000_000, "not all of it was sent: {}", rest.len());
}
