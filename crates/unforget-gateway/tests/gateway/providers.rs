//! Misbehaving providers: the client learns of it in its dialect, and no message is lost.

use crate::support::daemon;
use crate::support::talk;

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, user};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use unforget_engine::host::LaneKey;
use unforget_gateway::Settings;
use unforget_testkit::Port;

/// The provider's behaviour on every connection after reading a request.
#[derive(Clone)]
enum Deed {
    /// Closes before reading.
    Close,
    /// Sends these bytes and closes.
    Say(Vec<u8>),
    /// Sends these bytes and nothing more.
    Hang(Vec<u8>),
}

async fn provider(deed: Deed) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let deed = deed.clone();
            tokio::spawn(async move {
                if let Deed::Close = deed {
                    // With unread input and no linger time, the connection is reset.
                    stream.set_zero_linger().ok();
                    return;
                }
                // Reads everything: the system resets a connection that is closed with unread input.
                read_request(&mut stream).await;
                match deed {
                    Deed::Say(bytes) => {
                        stream.write_all(&bytes).await.ok();
                        stream.shutdown().await.ok();
                    }
                    Deed::Hang(bytes) => {
                        stream.write_all(&bytes).await.ok();
                        std::future::pending::<()>().await;
                    }
                    Deed::Close => {}
                }
            });
        }
    });
    address
}

/// Reads a request with its body, by its given length.
async fn read_request(stream: &mut TcpStream) {
    let (mut got, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let length = |head: &str| {
        let told = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        told.map_or(0, |length| length.parse().unwrap())
    };
    let is_whole = |got: &[u8]| {
        let got = String::from_utf8_lossy(got);
        got.split_once("\r\n\r\n").is_some_and(|(head, body)| body.len() >= length(head))
    };
    while !is_whole(&got) {
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => got.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
}

fn chunk(said: &str) -> String {
    let delta = json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": said}}]});
    format!("data: {delta}\n\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    [format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n").as_bytes(), body]
        .concat()
}

struct Seen {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Vec<u8>,
    /// Whether the answer was complete.
    is_whole: bool,
    /// The path behind the question.
    stored: Vec<Value>,
}

/// Longest accepted silence of a provider: generous for one that never falls silent, even on a busy machine; just long
/// enough for one that does after its answer has begun.
fn idle(deed: &Deed) -> Duration {
    match deed {
        Deed::Hang(bytes) if bytes.ends_with(b"\r\n\r\n") || bytes.len() < 40 => Duration::from_millis(200),
        Deed::Hang(_) => Duration::from_secs(3),
        Deed::Close | Deed::Say(_) => Settings::default().idle,
    }
}

/// One call before such a provider.
async fn one(deed: Deed, (api, dialect): (&str, unforget_wire::Dialect)) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { idle: idle(&deed), ..Settings::default() };
    let address = provider(deed).await;
    let db = folder.path().join("a.db");
    let running = Running::start_with(&db, &format!("http://{address}"), 100_000, settings).await;
    let client = Client::new(&running.url(), Some("c"));
    let question = user("Hello");
    let mut response = client.send(api, &body(dialect, std::slice::from_ref(&question), true)).await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let (mut body, mut is_whole) = (Vec::new(), false);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => {
                is_whole = true;
                break;
            }
            Err(_) => break,
        }
    }
    running.quiet().await;
    let path = running.host.path(&LaneKey("gateway/default/c".into()), daemon::form(dialect)).unwrap();
    let mut path: Vec<Value> = path.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(path.remove(0), question, "f044: the question is stored");
    let verified = running.host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    let left = daemon::spooled(&db);
    assert_eq!(left, 0, "no answer is left behind");
    running.end().await;
    Seen { status, headers, body, is_whole, stored: path }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_table() {
    let sse = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let huge = format!("200 OK\r\nx-huge: {}", "a".repeat(2_000_000));
    let table: Vec<(Deed, u16, &str)> = vec![
        (Deed::Close, 502, "reset"),
        (Deed::Say(Vec::new()), 502, "closed"),
        (Deed::Say(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()), 502, "no HTTP"),
        (Deed::Say(b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n".to_vec()), 502, "a broken head"),
        (Deed::Say(with_body(&huge, b"{}")), 502, "a huge head"),
        (
            Deed::Say(format!("{sse}transfer-encoding: chunked\r\n\r\nzz\r\nno size\r\n").into_bytes()),
            502,
            "broken chunks",
        ),
        (Deed::Say(format!("{sse}content-length: 9\r\n\r\n").into_bytes()), 502, "a head without its body"),
        (Deed::Hang(format!("{sse}content-length: 9\r\n\r\n").into_bytes()), 504, "silence behind the head"),
        (Deed::Hang(Vec::new()), 504, "silence"),
        (Deed::Hang(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()), 504, "silence in the head"),
    ];
    for api in APIS {
        for (deed, status, why) in &table {
            let seen = one(deed.clone(), api).await;
            assert_eq!(seen.status, *status, "{why}");
            let told: Value = serde_json::from_slice(&seen.body).unwrap();
            assert!(told["error"]["message"].as_str().unwrap().contains("provider `scripted`"), "{told}");
            assert!(seen.stored.is_empty(), "{why}: {:?}", seen.stored);
        }
    }
    // Nobody listens here.
    let folder = tempfile::tempdir().unwrap();
    let nobody = Port::hold();
    let url = format!("http://{}", nobody.address());
    let running = Running::start(&folder.path().join("a.db"), &url, 100_000).await;
    let got = Client::new(&running.url(), None)
        .ask("messages", &body(APIS[0].1, &[user("Hi")], false))
        .await
        .unwrap();
    assert_eq!(got.status, 502);
}

const CHAT: (&str, unforget_wire::Dialect) = APIS[1];

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_break_table() {
    let sse = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let open = |body: &str| format!("{sse}connection: close\r\n\r\n{body}").into_bytes();
    let sized = |size: usize, body: &str| format!("{sse}content-length: {size}\r\n\r\n{body}").into_bytes();
    let half = chunk("One. ") + &chunk("Two. ")[..20];
    let failed =
        chunk("One. ") + "data: {\"error\":{\"message\":\"out of luck\",\"type\":\"server_error\"}}\n\n";
    let table: Vec<(Deed, bool, &str, &str)> = vec![
        (Deed::Say(open(&half)), true, "One. ", "half an event, and the end"),
        (Deed::Say(sized(100_000, &half)), false, "One. ", "less than it said"),
        (Deed::Hang(open(&half)), false, "One. ", "silence"),
        (Deed::Say(open(&failed)), true, "One. ", "an error in the middle"),
        (Deed::Say(open("\u{0}\u{1}garbage\n\n: comment\n\nid: 3\n\n")), true, "", "garbage"),
    ];
    for (deed, is_whole, words, why) in table {
        let seen = one(deed, CHAT).await;
        assert_eq!((seen.status, seen.is_whole), (200, is_whole), "{why}");
        let (text, _) = talk::said(&seen.stored);
        assert_eq!(text, words, "{why}");
        let got = String::from_utf8_lossy(&seen.body).into_owned();
        assert_eq!(got.contains("One. "), words == "One. ", "{why}: {got}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_go_on_as_they_came() {
    let whole =
        json!({"id": "c", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Yes."}}]})
        .to_string();
    let packed = gzip(whole.as_bytes());
    let seen = one(
        Deed::Say(with_body("200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip", &packed)),
        CHAT,
    )
    .await;
    assert_eq!((seen.status, seen.headers["content-encoding"].to_str().unwrap()), (200, "gzip"));
    assert_eq!(seen.body, packed, "byte for byte");
    assert_eq!(talk::said(&seen.stored).0, "Yes.");
    let stream = gzip(format!("{}{}data: [DONE]\n\n", chunk("A"), chunk("B")).as_bytes());
    let seen = one(
        Deed::Say(with_body("200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip", &stream)),
        CHAT,
    )
    .await;
    assert_eq!((seen.body == stream, talk::said(&seen.stored).0), (true, "AB".to_owned()));
    let seen = one(Deed::Say(with_body("302 Found\r\nlocation: http://127.0.0.1:1/", b"")), CHAT).await;
    assert_eq!(
        (seen.status, seen.headers["location"].to_str().unwrap()),
        (302, "http://127.0.0.1:1/"),
        "not followed"
    );
    let forged = "200 OK\r\nx-unforget-conversation: other\r\nset-cookie: a=b\r\nconnection: x-hop\r\nx-hop: 1\r\nx-split: a\tb";
    let seen = one(Deed::Say(with_body(forged, whole.as_bytes())), CHAT).await;
    assert_eq!(seen.headers["x-unforget-conversation"], "c");
    assert!(["set-cookie", "x-hop"].iter().all(|name| !seen.headers.contains_key(*name)));
    let busy = json!({"error": {"message": "slow down", "type": "rate_limit"}}).to_string();
    let seen =
        one(Deed::Say(with_body("429 Too Many Requests\r\nretry-after: 7", busy.as_bytes())), CHAT).await;
    assert_eq!(
        (seen.status, seen.headers["retry-after"].to_str().unwrap(), seen.body),
        (429, "7", busy.into_bytes())
    );
    let seen = one(Deed::Say(with_body("500 Oops\r\ncontent-encoding: gzip", &gzip(b"oops"))), CHAT).await;
    assert_eq!((seen.status, seen.body), (500, gzip(b"oops")), "what its headers say it is");
}
