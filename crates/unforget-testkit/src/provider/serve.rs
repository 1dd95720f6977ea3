//! One connection: a request read, an act carried out.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::{Act, Heard, Reply, SharedProvider};

/// Largest request read.
const REQUEST_BYTES_MAX: u64 = 64 << 20;

/// Reads one request, carries out the next act, and closes.
pub(super) fn connection(stream: &TcpStream, shared: &SharedProvider) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // A client that never finishes its request must not block a test.
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let heard = request(stream)?;
    let newest = newest(&heard);
    let act = shared.next(heard);
    carry_out(stream, shared, &act, &newest)
}

fn carry_out(mut stream: &TcpStream, shared: &SharedProvider, act: &Act, newest: &str) -> io::Result<()> {
    match act {
        Act::Reply(reply) => {
            stream.write_all(&head(reply))?;
            stream.write_all(&reply.body)?;
            stream.flush()
        }
        Act::Hang => {
            while !shared.pause(Duration::from_mins(1)) {}
            Ok(())
        }
        Act::Drip(reply, pause) => {
            stream.write_all(&head(reply))?;
            for byte in &reply.body {
                stream.write_all(&[*byte])?;
                if shared.pause(*pause) {
                    break;
                }
            }
            Ok(())
        }
        Act::Truncate(reply, bytes) => {
            stream.write_all(&head(reply))?;
            stream.write_all(reply.body.get(..*bytes).unwrap_or(&reply.body))?;
            stream.shutdown(Shutdown::Both)
        }
        Act::Reset(reply, bytes) => {
            let whole: Vec<u8> = head(reply).into_iter().chain(reply.body.iter().copied()).collect();
            stream.write_all(whole.get(..*bytes).unwrap_or(&whole))?;
            reset(stream)
        }
        Act::Raw(bytes) => {
            stream.write_all(bytes)?;
            stream.shutdown(Shutdown::Both)
        }
        Act::Echo(form) => match form(newest) {
            Act::Echo(_) => Ok(()),
            act => carry_out(stream, shared, &act, newest),
        },
    }
}

/// Turns the following close into a reset.
#[cfg(unix)]
fn reset(stream: &TcpStream) -> io::Result<()> {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
    Ok(())
}

/// On other systems a plain close has to do.
#[cfg(not(unix))]
fn reset(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Both)
}

fn head(reply: &Reply) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        if reply.status < 400 { "OK" } else { "Error" },
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn request(stream: &TcpStream) -> io::Result<Heard> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let mut reader = BufReader::new(stream.take(REQUEST_BYTES_MAX));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().ok_or_else(broken)?, words.next().ok_or_else(broken)?);
    let mut heard = Heard { method, path, ..Heard::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        heard.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = heard.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_end(&mut heard.body)?;
    Ok(heard)
}

/// The text of the newest message.
fn newest(heard: &Heard) -> String {
    let body = heard.json();
    let newest =
        body.get("messages").and_then(|messages| messages.as_array()).and_then(|messages| messages.last());
    newest.and_then(|message| message.get("content")?.as_str()).unwrap_or_default().to_owned()
}
