//! A minimal provider and client on loopback, so that only the path between them is measured.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Start of this process: provider and client measure time from here.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since the process began.
pub(super) fn now() -> u64 {
    START.elapsed().as_micros() as u64
}

/// The pace of a provider's stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Number of events per answer.
    pub(super) events: usize,
    /// Pause between events.
    pub(super) pause: Duration,
}

/// Answers every call with events that contain their time of sending.
pub(super) async fn provide(listener: TcpListener, pace: Pace) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            // A client that goes away ends only its own connection.
            answer(stream, pace).await.ok();
        });
    }
}

async fn answer(mut stream: TcpStream, pace: Pace) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    while let Some(head) = message(&mut stream, &mut read).await? {
        let is_items = head.starts_with("POST /v1/responses");
        let start =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(start.as_bytes()).await?;
        let id = now();
        for _ in 0..pace.events {
            tokio::time::sleep(pace.pause).await;
            let text = format!("at={} ", now());
            let event = if is_items {
                format!(
                    "data: {{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}\n\n"
                )
            } else {
                format!(
                    "data: {{\"id\":\"c{id}\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
                )
            };
            stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
        }
        let end = if is_items {
            let item = r#"{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Done.","annotations":[]}]}"#;
            format!(
                "data: {{\"type\":\"response.completed\",\"response\":{{\"id\":\"r{id}\",\"status\":\"completed\",\"output\":[{item}]}}}}\n\n"
            )
        } else {
            format!(
                "data: {{\"id\":\"c{id}\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
            )
        };
        stream.write_all(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes()).await?;
    }
    Ok(())
}

/// Reads a request with its body; returns its head.
async fn message(stream: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<Option<String>> {
    loop {
        if let Some(at) = find(read, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(read.get(..at).unwrap_or_default()).into_owned();
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
            });
            let whole = at + 4 + length.unwrap_or(0);
            if read.len() >= whole {
                read.drain(..whole);
                return Ok(Some(head));
            }
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The duration of a call, in microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Took {
    /// From the first byte sent to the first event received.
    pub(super) first: u64,
    /// For each event, from the provider to the client.
    pub(super) events: Vec<u64>,
    /// The text of the answer's events, as chat streams it.
    pub(super) said: String,
}

/// A client with one connection.
pub(super) struct HttpClient(TcpStream);

impl HttpClient {
    pub(super) async fn connect(address: std::net::SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Sends a call and reads its whole answer.
    ///
    /// # Errors
    /// The received bytes, if they are not a properly ended stream.
    pub(super) async fn call(&mut self, path: &str, headers: &str, body: &str) -> std::io::Result<Took> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        let begun = now();
        self.0.write_all(request.as_bytes()).await?;
        let (mut read, mut took, mut seen) = (Vec::new(), Took::default(), 0);
        loop {
            let size = self.0.read_buf(&mut read).await?;
            let came = now();
            let bad = |read: &[u8]| std::io::Error::other(String::from_utf8_lossy(read).into_owned());
            if size == 0 || !read.starts_with(b"HTTP/1.1 200") {
                return Err(bad(&read));
            }
            while let Some(at) = find(read.get(seen..).unwrap_or_default(), b"at=") {
                let rest = read.get(seen + at + 3..).unwrap_or_default();
                let Some(end) = rest.iter().position(|byte| !byte.is_ascii_digit()) else { break };
                let sent = String::from_utf8_lossy(rest.get(..end).unwrap_or_default());
                took.said.extend(["at=", &sent, " "]);
                let sent = sent.parse::<u64>();
                if took.events.is_empty() {
                    took.first = came - begun;
                }
                took.events.push(came.saturating_sub(sent.map_err(|_| bad(&read))?));
                seen += at + 3 + end;
            }
            if read.ends_with(b"\r\n0\r\n\r\n") {
                return Ok(took);
            }
        }
    }
}
