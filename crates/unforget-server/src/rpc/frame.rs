//! Lines of limited length, and the envelope of a call.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::Range;

use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::protocol::{Code, Failure};

/// Most bytes of an id.
const ID_MAX: usize = 256;

/// A line, or the reason for a missing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// One line, without its line feed.
    Line(String),
    /// A line above the limit, which was skipped: its length in bytes.
    TooLong(u64),
    /// A line that is not UTF-8 from this byte on.
    NotUtf8(usize),
    /// The end of the input.
    End,
}

/// Lines of an input, in bounded memory.
pub(super) struct Lines<R> {
    input: R,
    max: usize,
}

impl<R: BufRead> Lines<R> {
    /// * `max` - most bytes of a line.
    pub(super) const fn new(input: R, max: usize) -> Self {
        Self { input, max }
    }

    /// The next line that is not blank. An unterminated last line counts.
    pub(super) fn next_frame(&mut self) -> io::Result<Frame> {
        loop {
            let (line, length, is_end) = self.line()?;
            if length > self.max as u64 {
                return Ok(Frame::TooLong(length));
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                if is_end {
                    return Ok(Frame::End);
                }
                continue;
            }
            return Ok(match String::from_utf8(line) {
                Ok(line) => Frame::Line(line),
                Err(error) => Frame::NotUtf8(error.utf8_error().valid_up_to()),
            });
        }
    }

    /// Bytes up to the next line feed, their number, and whether the input ended.
    fn line(&mut self) -> io::Result<(Vec<u8>, u64, bool)> {
        let (mut line, mut length) = (Vec::new(), 0);
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok((line, length, true));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            length += part.len() as u64;
            if length <= self.max as u64 {
                line.extend_from_slice(part);
            } else {
                line = Vec::new();
            }
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok((line, length, false));
            }
        }
    }
}

/// A call, read only as far as needed to queue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Its id, verbatim; `None` for a notification.
    pub(super) id: Option<Box<str>>,
    /// The method.
    pub(super) method: String,
    /// Range of its parameters in the line.
    pub(super) params: Option<Range<usize>>,
}

/// A host's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HostLine {
    /// A call.
    Call(Envelope),
    /// An answer to a call of ours.
    Answer {
        /// The id, verbatim.
        id: Box<str>,
        /// Range of the result or of the error in the line.
        outcome: Result<Range<usize>, Range<usize>>,
    },
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default, borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Parses the envelope of a line. Errors have the id of the call if it could be read.
pub(super) fn heard(line: &str) -> Result<HostLine, (Option<Box<str>>, Failure)> {
    let text = line.trim_start();
    if text.starts_with('[') {
        let hint = "send one call per line";
        return Err((None, Failure::new(Code::Invalid, "batches are not supported", hint)));
    }
    let raw: Raw<'_> = serde_json::from_str(line).map_err(|error| {
        let failure = match error.classify() {
            Category::Syntax | Category::Eof | Category::Io => {
                Failure::new(Code::Parse, format!("not JSON: {error}"), "send one JSON object per line")
            }
            Category::Data => Failure::new(
                Code::Invalid,
                format!("not a call: {error}"),
                "see docs/protocol.md for the form of a call",
            ),
        };
        (None, failure)
    })?;
    let id = raw.id.map(|id| Box::<str>::from(id.get()));
    let invalid = |what: &str| {
        let failure = Failure::new(Code::Invalid, what, "see docs/protocol.md for the form of a call");
        (id.clone().filter(|id| is_id(id)), failure)
    };
    if id.as_deref().is_some_and(|id| !is_id(id)) {
        return Err(invalid("an id is a number or a string of at most 250 bytes"));
    }
    if raw.jsonrpc.as_deref() != Some("2.0") {
        return Err(invalid(r#"`jsonrpc` has to be "2.0""#));
    }
    let place = |part: &RawValue| {
        let start = part.get().as_ptr() as usize - line.as_ptr() as usize;
        start..start + part.get().len()
    };
    let Some(method) = raw.method else {
        let outcome = match (raw.result, raw.error) {
            (Some(result), None) => Ok(place(result)),
            (None, Some(error)) => Err(place(error)),
            _ => return Err(invalid("there is no `method`")),
        };
        let Some(id) = id else { return Err(invalid("there is no `id`")) };
        return Ok(HostLine::Answer { id, outcome });
    };
    if raw.params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err((id, Failure::params("parameters are an object, by name")));
    }
    Ok(HostLine::Call(Envelope { id, method: method.into_owned(), params: raw.params.map(place) }))
}

fn is_id(id: &str) -> bool {
    id.len() <= ID_MAX && id.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn envelope(line: &str) -> Result<Envelope, (Option<Box<str>>, Failure)> {
        match heard(line)? {
            HostLine::Call(envelope) => Ok(envelope),
            HostLine::Answer { id, .. } => Err((Some(id), Failure::new(Code::Refused, "an answer", ""))),
        }
    }

    fn frames(bytes: &[u8], max: usize, buffer: usize) -> Vec<Frame> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, bytes), max);
        let mut all = Vec::new();
        loop {
            match lines.next_frame().unwrap() {
                Frame::End => return all,
                frame => all.push(frame),
            }
        }
    }

    #[test]
    fn frames_table() {
        let line = |text: &str| Frame::Line(text.to_owned());
        let table: [(&[u8], Vec<Frame>, &str); 6] = [
            (b"{}\n{}\n", vec![line("{}"), line("{}")], "lines"),
            (b"\n\r\n  \n{}", vec![line("{}")], "blank lines are nothing; the last needs no end"),
            (b"{}\r\n", vec![line("{}\r")], "white space is JSON's own"),
            (b"123456789\n{}\n", vec![Frame::TooLong(9), line("{}")], "the line behind a long one is read"),
            (b"ab\xff\n{}\n", vec![Frame::NotUtf8(2), line("{}")], "and behind one that is not UTF-8"),
            (b"", vec![], "nothing"),
        ];
        for (bytes, want, why) in table {
            for buffer in [1, 2, 3, 64] {
                assert_eq!(frames(bytes, 8, buffer), want, "{why}");
            }
        }
    }

    #[test]
    fn envelopes_table() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
            "[".repeat(90_000),
            "]".repeat(90_000)
        );
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, Ok(Some("1")), "a call"),
            (
                r#" {"id":"a","params":{"x":[1]},"method":"m","jsonrpc":"2.0"} "#,
                Ok(Some("\"a\"")),
                "in any order",
            ),
            (r#"{"jsonrpc":"2.0","method":"$/cancel","params":{}}"#, Ok(None), "a notification"),
            ("{", Err((Code::Parse, None)), "half a frame"),
            ("[]", Err((Code::Invalid, None)), "a batch"),
            ("3", Err((Code::Invalid, None)), "not an object"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Err((Code::Invalid, None)), "a method is a string"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, Err((Code::Invalid, None)), "two ids"),
            (r#"{"id":1,"method":"m"}"#, Err((Code::Invalid, Some("1"))), "no version"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Err((Code::Refused, Some("1"))), "an answer"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, Err((Code::Invalid, Some("1"))), "both"),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Err((Code::Invalid, None)), "an answer to nothing"),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
                Err((Code::Invalid, None)),
                "an id of another kind",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
                Err((Code::Params, Some("1"))),
                "by place",
            ),
            (deep.as_str(), Err((Code::Params, Some("1"))), "deep nesting overflows nothing"),
        ];
        for (line, want, why) in table {
            let got = envelope(line).map(|found| found.id).map_err(|(id, failure)| (failure.code, id));
            let want =
                want.map(|id| id.map(Into::into)).map_err(|(code, id)| (code.number(), id.map(Into::into)));
            assert_eq!(got, want, "{why}");
        }
    }

    #[test]
    fn parameters_are_where_they_stand() {
        let line = r#" {"jsonrpc":"2.0","id":1,"method":"m","params": {"a" : "é"} }"#;
        let found = envelope(line).unwrap();
        assert_eq!(line.get(found.params.unwrap()), Some(r#"{"a" : "é"}"#));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(prop::sample::select(b"{}[]\"\n:,12ae\\\xff ".to_vec()), 0..200)) {
            for frame in frames(&bytes, 64, 7) {
                if let Frame::Line(line) = frame {
                    heard(&line).ok();
                }
            }
        }
    }
}
