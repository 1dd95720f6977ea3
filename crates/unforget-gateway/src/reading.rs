//! Reads an answer on its way, streamed or whole, compressed or not.

use std::io::{Read, Write};

use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, HeaderMap};
use unforget_wire::Dialect;
use unforget_wire::exchange::sse::{EVENT_MAX, Event, Splitter};
use unforget_wire::exchange::{ANSWER_MAX, Answer, Answered, Ended, Why};

/// Whether a status means something other than a model's answer.
pub(super) fn is_refusal(status: StatusCode) -> bool {
    !status.is_success()
}

/// The reader of one answer.
pub(super) struct AnswerReader {
    packing: Compression,
    form: Form,
}

enum Form {
    Streamed { splitter: Splitter, answer: Box<Answer> },
    Whole { dialect: Dialect, body: Vec<u8>, is_too_large: bool },
}

/// The compression of a body. Providers are asked for none, but proxies in between compress nevertheless.
pub(super) enum Compression {
    None,
    Gzip(Box<flate2::write::MultiGzDecoder<Unpacked>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Unpacked>>),
    /// An unreadable or broken one.
    Unread(String),
}

/// Most bytes that one received piece of an answer may unpack to. A piece has some ten kilobytes, and no answer is a
/// thousand times denser than its packing.
const PIECE_MAX: usize = 16 << 20;

/// Bytes of a stored answer that are unpacked at once.
const RECEIVED: usize = 64 * 1024;

/// Unpacked bytes, no more than [`PIECE_MAX`]: what has more is refused before it is in memory.
#[derive(Default)]
pub(super) struct Unpacked(Vec<u8>);

impl Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > PIECE_MAX {
            return Err(std::io::Error::other(format!(
                "a piece of it unpacks to more than {PIECE_MAX} bytes"
            )));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Compression {
    pub(super) fn of(encoding: Option<&str>) -> Self {
        match encoding {
            None | Some("" | "identity") => Self::None,
            Some("gzip" | "x-gzip") => {
                Self::Gzip(Box::new(flate2::write::MultiGzDecoder::new(Unpacked::default())))
            }
            Some("zstd") => match zstd::stream::write::Decoder::new(Unpacked::default()) {
                Ok(decoder) => Self::Zstd(Box::new(decoder)),
                Err(error) => Self::Unread(error.to_string()),
            },
            Some(other) => Self::Unread(format!("content-encoding {other} is not read")),
        }
    }

    /// The decompressed bytes.
    pub(super) fn unpacked(&mut self, bytes: &[u8]) -> Vec<u8> {
        let done = match self {
            Self::None => return bytes.to_vec(),
            Self::Unread(_) => return Vec::new(),
            Self::Gzip(decoder) => decoder
                .write_all(bytes)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(&mut decoder.get_mut().0)),
            Self::Zstd(decoder) => decoder
                .write_all(bytes)
                .and_then(|()| decoder.flush())
                .map(|()| std::mem::take(&mut decoder.get_mut().0)),
        };
        done.unwrap_or_else(|error| {
            *self = Self::Unread(format!("its packing is broken: {error}"));
            Vec::new()
        })
    }
}

impl AnswerReader {
    /// * `encoding` - the answer's `content-encoding`.
    pub(super) fn new(dialect: Dialect, is_streamed: bool, encoding: Option<&str>) -> Self {
        let form = if is_streamed {
            Form::Streamed { splitter: Splitter::new(EVENT_MAX), answer: Box::new(Answer::new(dialect)) }
        } else {
            Form::Whole { dialect, body: Vec::new(), is_too_large: false }
        };
        Self { packing: Compression::of(encoding), form }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Compression::None = self.packing {
            self.form.push(bytes);
        } else {
            // A stored answer comes as one piece.
            for piece in bytes.chunks(RECEIVED) {
                let bytes = self.packing.unpacked(piece);
                self.form.push(&bytes);
            }
        }
    }

    /// Whether the provider announced the end of its answer. For other bodies than streams only their end shows it.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(&self.form, Form::Streamed { answer, .. } if answer.has_ended())
    }

    /// Whether the received part may be complete. Bodies other than streams show that by their framing.
    pub(super) const fn is_all(&self) -> bool {
        match &self.form {
            Form::Streamed { answer, .. } => answer.has_ended(),
            Form::Whole { .. } => true,
        }
    }

    /// Approximate number of bytes in memory.
    pub(super) const fn kept(&self) -> usize {
        match &self.form {
            Form::Streamed { answer, .. } => answer.kept(),
            Form::Whole { body, .. } => body.len(),
        }
    }

    /// Whether an event may be inserted into the client's stream: it consists of whole events so far.
    pub(super) fn is_between(&self) -> bool {
        matches!((&self.packing, &self.form), (Compression::None, Form::Streamed { splitter, .. }) if splitter.is_between())
    }

    /// The answer, and whether all received bytes were readable.
    pub(super) fn finish(self) -> (Answered, bool) {
        let is_whole_and_some =
            matches!(&self.form, Form::Whole { body, is_too_large, .. } if *is_too_large || !body.is_empty());
        let mut answered = self.form.finish();
        let mut is_read =
            !is_whole_and_some || !answered.messages.is_empty() || answered.ended == Ended::Complete;
        if let Compression::Unread(why) = self.packing {
            answered.ended = Ended::Interrupted(Why::Told(why));
            is_read = false;
        }
        (answered, is_read)
    }
}

impl Form {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Streamed { splitter, answer } => splitter.push(bytes, &mut |event| take(answer, event)),
            Self::Whole { body, is_too_large, .. } => {
                *is_too_large |= body.len() + bytes.len() > ANSWER_MAX;
                if !*is_too_large {
                    body.extend_from_slice(bytes);
                }
            }
        }
    }

    fn finish(self) -> Answered {
        match self {
            Self::Streamed { splitter, mut answer } => {
                splitter.finish(&mut |event| take(&mut answer, event));
                answer.finish()
            }
            Self::Whole { dialect, body, is_too_large } => {
                let mut answered = Answer::whole(dialect, &body);
                if is_too_large {
                    answered.ended = Ended::Interrupted(Why::TooLarge);
                }
                answered
            }
        }
    }
}

fn take(answer: &mut Answer, event: Event<'_>) {
    match event {
        Event::Message { name, data } => answer.event(name, data),
        Event::TooLarge => answer.lost(),
    }
}

/// Whether an answer is uncompressed or has a readable compression.
pub(super) fn is_read(headers: &HeaderMap) -> bool {
    !matches!(Compression::of(encoding(headers).as_deref()), Compression::Unread(_))
}

/// The `content-encoding` of an answer.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    headers
        .get(CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.trim().to_ascii_lowercase())
}

/// A short body, decompressed; unchanged if that fails.
pub(super) fn plain(headers: &HeaderMap, body: &[u8], limit: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match encoding(headers).as_deref() {
        Some("gzip" | "x-gzip") => {
            flate2::read::MultiGzDecoder::new(body).take(limit as u64).read_to_end(&mut plain).is_ok()
        }
        Some("zstd") => zstd::Decoder::new(body)
            .is_ok_and(|decoder| decoder.take(limit as u64).read_to_end(&mut plain).is_ok()),
        _ => false,
    };
    if read { plain } else { body.to_vec() }
}

/// Why an answer is incomplete, for the log; `None` if it is complete.
pub(super) fn interrupted(answered: &Answered) -> Option<String> {
    match &answered.ended {
        Ended::Complete => None,
        Ended::Interrupted(Why::Cut) => Some("cut off".to_owned()),
        Ended::Interrupted(Why::TooLarge) => Some("too large".to_owned()),
        Ended::Interrupted(Why::Told(why)) => Some(why.clone()),
        Ended::Error(error) => Some(error.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const BODY: &[u8] = br#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}"#;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    /// 96 kB of zstd that would be two gigabytes.
    #[test]
    fn a_bomb_is_refused_before_it_is_in_memory() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        let part = vec![b' '; 1 << 20];
        for _ in 0..256 {
            encoder.write_all(&part).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let mut packing = Compression::of(Some("zstd"));
        assert_eq!(packing.unpacked(&bomb).len(), 0);
        assert!(matches!(&packing, Compression::Unread(why) if why.contains("16777216")));
        assert_eq!(packing.unpacked(b"more").len(), 0);
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    #[test]
    fn packed_answers_are_read() {
        let table: [(Option<&str>, Vec<u8>, bool, &str); 7] = [
            (None, BODY.to_vec(), true, "as it is"),
            (Some("identity"), BODY.to_vec(), true, "said so"),
            (Some("gzip"), gzip(BODY), true, "gzip"),
            (Some("zstd"), zstd(BODY), true, "zstd"),
            (Some("gzip"), BODY.to_vec(), false, "not what it says"),
            (Some("gzip"), gzip(BODY).split_at(40).0.to_vec(), false, "cut"),
            (Some("br"), BODY.to_vec(), false, "not known"),
        ];
        for (encoding, body, is_read, why) in table {
            for piece in [1, 7, 4_096] {
                let mut reading = AnswerReader::new(Dialect::OpenAiChat, false, encoding);
                body.chunks(piece).for_each(|piece| reading.push(piece));
                let (told, _) = reading.finish();
                assert_eq!(
                    told.ended == Ended::Complete && told.messages.len() == 1,
                    is_read,
                    "{why}: {told:?}"
                );
                assert_eq!(interrupted(&told).is_none(), is_read, "{why}");
            }
        }
    }
}
