//! The properties checked by the fuzz targets, one function each. A function panics if its property is broken.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Timestamp;
use unforget_core::tokens::Ruler;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_recall::filter;
use unforget_recall::grep::Pattern;
use unforget_recall::segment::{Segment, SegmentReader, merge};
use unforget_recall::terms::Term;
use unforget_server::rpc::{CallLimits, Ended, Server};
use unforget_wire::exchange::annotations::{marks, with, without};
use unforget_wire::exchange::sse::{Event, Splitter};
use unforget_wire::exchange::{Answer, Call, Join, Offer};
use unforget_wire::refusal::{self, Headers, Reply};
use unforget_wire::{Dialect, Format, Reader, decode};

/// Leads, bodies and trailer, joined, are the input; and any record decodes in any format.
///
/// # Panics
/// If a byte is lost, added or moved.
pub fn transcript(format: Format, bytes: &[u8]) {
    let _ = decode(format, bytes);
    let Ok(mut reader) = Reader::open(bytes) else { return };
    let mut again = Vec::with_capacity(bytes.len());
    while let Ok(Some(record)) = reader.next_record() {
        let _ = decode(format, &record.body);
        let mut last = 0;
        for large in &record.large {
            assert!(last <= large.start && large.start < large.end && large.end <= record.body.len());
            last = large.end;
        }
        again.extend_from_slice(&record.lead);
        again.extend_from_slice(&record.body);
    }
    again.extend_from_slice(reader.trailer());
    assert!(again == bytes, "{} bytes in, {} out", bytes.len(), again.len());
}

/// Any bytes as rows of a host's database, decoded as those of every host.
///
/// # Panics
/// As [`transcript`].
pub fn rows(bytes: &[u8]) {
    for format in [
        Format::OpenClaw,
        Format::Crush,
        Format::Goose,
        Format::Hermes,
        Format::Cursor,
        Format::Zed,
        Format::OpenAiAgents,
    ] {
        let _ = decode(format, bytes);
    }
    transcript(Format::Opencode, bytes);
}

/// Neither the filter nor the test of a run of entries excludes bytes with a match, and matches lie within the bytes.
///
/// The input is a pattern, a newline, and the bytes to search, each line of which is an entry of a run.
///
/// # Panics
/// If a match lies outside the bytes, or in bytes that a filter or a test excluded.
pub fn grep(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (pattern, body) = bytes.split_at(at);
    let Ok(pattern) = Pattern::new(&String::from_utf8_lossy(pattern)) else { return };
    let found = pattern.find(body, 40, 100);
    for hit in &found {
        assert!(hit.bytes.start <= hit.bytes.end && hit.bytes.end <= body.len());
        assert!(hit.snippet.get(hit.shown.clone()).is_some(), "the match is not a range of its snippet");
    }
    if !found.is_empty() {
        assert!(filter::matches(&filter::build(body), pattern.need()), "the filter denies a match");
    }
    let mut end = 0;
    let lines = body.split_inclusive(|byte| *byte == b'\n').map(|line| {
        end += line.len();
        end - line.len()..end
    });
    let lines: Vec<_> = lines.collect();
    if lines.iter().any(|line| pattern.is_match(&body[line.clone()])) {
        assert_eq!(pattern.may_match(body, Some(&lines)), Some(true), "the test of a run denies a match");
        assert_ne!(pattern.may_match(body, None), Some(false), "and must not without the places");
    }
}

/// Damaged segments give errors; readable content is in order, and merging reads and writes all of it.
///
/// The first two bytes are the length of the header; the rest is one block.
///
/// # Panics
/// If a list or the merged segment is inconsistent.
pub fn segment(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_at_checked(2) else { return };
    let length = usize::from(u16::from_le_bytes([length[0], length[1]])).min(rest.len());
    let (header, block) = rest.split_at(length);
    let Ok(reader) = SegmentReader::parse(header) else { return };
    for word in ["water", "noon", "zeppelin"] {
        let term = Term::exact(word.as_bytes());
        let mut found = Vec::new();
        for number in reader.blocks_for(term).take(4) {
            let _ = reader.postings(term, number, block, &mut found);
        }
        assert!(found.iter().all(|posting| posting.doc < reader.docs() && posting.count > 0));
    }
    for doc in 0..reader.docs().min(1000) {
        let _ = reader.length(doc);
        if let Some(seq) = reader.seq(doc) {
            assert_eq!(reader.doc(seq), Some(doc));
        }
    }
    let one = Segment { seqs: reader.seqs(), header: header.to_vec(), blocks: vec![block.to_vec()] };
    if let Ok(Some(merged)) = merge(&[one]) {
        let again = SegmentReader::parse(&merged.header).expect("what is written can be read");
        assert_eq!((again.docs(), again.seqs()), (reader.docs(), reader.seqs()));
        assert_eq!(merge(std::slice::from_ref(&merged)).as_ref(), Ok(&Some(merged)));
    }
}

/// Counts are ordered, and the count of a whole exceeds the sum of its pieces' bounds by no more than the seam.
///
/// # Panics
/// If the expected value exceeds the bound, or non-empty text counts nothing.
pub fn estimate(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let ruler = ClassEstimate;
    let whole = ruler.count(&text);
    assert!(whole.expected <= whole.upper, "{whole:?}");
    assert!(whole.upper > 0 || text.is_empty());
    assert!(whole.upper <= 4 * text.len() as u64 + 16, "{whole:?} for {} bytes", text.len());
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let (head, tail) = text.split_at(middle);
    let pieces = ruler.count(head) + ruler.count(tail);
    assert!(whole.expected <= pieces.upper + 16, "whole {whole:?}, pieces {pieces:?}");
}

/// For any input of a host, every line gets one answer, every answer is a line of JSON, and none is a defect of ours.
///
/// # Panics
/// If an answer is missing, superfluous, not JSON, or says `internal`; if the connection breaks.
pub fn protocol(bytes: &[u8]) {
    let limits = CallLimits { frame_bytes: 1 << 16, workers: 2, lanes: 2, ..CallLimits::default() };
    let server = Server::new(Host::new(Engine::in_memory(), || Timestamp(1_795_000_000_000)), limits);
    let output = Output::default();
    let ended = server.serve(bytes, output.clone());
    server.end();
    assert_ne!(ended, Ended::Broken, "the connection broke");
    let text = output.0.lock().map(|bytes| bytes.clone()).unwrap_or_default();
    let text = String::from_utf8(text).expect("answers are UTF-8");
    for line in text.lines() {
        // Ids and messages come back verbatim: their numbers may exceed every type.
        let answer: BTreeMap<String, Box<RawValue>> = serde_json::from_str(line).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"].get(), r#""2.0""#, "{line}");
        assert!(answer.contains_key("id"), "{line}");
        assert_ne!(answer.contains_key("result"), answer.contains_key("error"), "one of them: {line}");
        let is_internal =
            answer.get("error").is_some_and(|error| error.get().contains(r#""kind":"internal""#));
        assert!(!is_internal, "a defect of ours: {line}");
    }
    let frames =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count();
    let answers = text.lines().count();
    assert!(answers <= frames, "{answers} answers to {frames} lines");
    // A notification has no answer, and nothing is read after the server's end. Escapes may spell either method.
    let is_quiet = [&b"cancel"[..], b"shutdown", b"\\u"].iter().any(|word| has(bytes, word));
    assert!(is_quiet || answers == frames, "{answers} answers to {frames} lines");
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// The output of a server.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut all) = self.0.lock() {
            all.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The dialects of a gateway.
const SERVED: [Dialect; 3] = [Dialect::Anthropic, Dialect::OpenAiChat, Dialect::OpenAiResponses];

/// A request with its own messages in their places is unchanged, and other messages are found in it. Marks are outside
/// the content of every message.
///
/// # Panics
/// If a byte is lost, added or moved.
pub fn call(bytes: &[u8]) {
    for dialect in SERVED {
        let Ok(call) = Call::read(dialect, bytes) else { continue };
        let _ = call.kept();
        let own: Vec<String> = call.history().map(String::from).collect();
        let spliced = call.with_messages(&own);
        let again = Call::read(dialect, &spliced).expect("what was spliced is a call");
        assert!(again.history().eq(own.iter().map(String::as_str)), "the messages are others");
        let is_exact = call.shape == unforget_wire::exchange::Shape::List;
        assert!(!is_exact || spliced == bytes, "the body is another");
        let new = vec![r#"{"n":1}"#.to_owned(), r#"{"n":2}"#.to_owned()];
        let spliced = call.with_messages(&new);
        let again = Call::read(dialect, &spliced).expect("what was spliced is a call");
        assert!(again.history().eq(new.iter().map(String::as_str)), "the messages are others");
        call.fixed_text(&mut |_| {});
        for message in &own {
            let bare = without(message).into_owned();
            assert!(marks(&bare).is_empty(), "a mark is left");
            assert_eq!(without(&with(message, &marks(message))), bare, "the content is another");
        }
        if call.takes_offers(OWN).is_ok() {
            let schema = r#"{"type":"object"}"#.to_owned();
            let offer = Offer { name: OWN.to_owned(), about: r#"Looks "up"."#, schema };
            let offered = call.with_edits(&call.offer_edits(&[offer]));
            let again = Call::read(dialect, &offered).expect("with a tool of ours it is a call");
            assert!(again.history().eq(own.iter().map(String::as_str)), "the messages are others");
            assert!(again.takes_offers(OWN).is_err(), "the tool is not in it");
        }
    }
}

/// One of the gateway's own tools.
const OWN: &str = "unforget_search";

/// The cutting of an answer into pieces does not change the client's view of it, which has no call of ours.
///
/// The first byte is the size of the pieces.
///
/// # Panics
/// If the view changes, or has a call of ours.
pub fn join(bytes: &[u8]) {
    let Some((size, stream)) = bytes.split_first() else { return };
    for dialect in SERVED {
        let whole = joined(dialect, std::iter::once(stream));
        let pieces = joined(dialect, stream.chunks(usize::from(*size).max(1)));
        assert_eq!(whole, pieces);
        let mut again = Join::new(dialect, &[OWN]);
        again.push(whole.as_bytes());
        assert_eq!(again.round().0.ours, [], "the client gets a call of ours: {whole}");
        again.whole(stream);
        let body = again.close(false);
        assert_eq!(again.whole(&body).ours, [], "the client gets a call of ours: {body:?}");
    }
}

fn joined<'a>(dialect: Dialect, pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let mut join = Join::new(dialect, &[OWN]);
    let mut out: Vec<u8> = pieces.flat_map(|piece| join.push(piece)).collect();
    out.extend(join.round().1);
    out.extend(join.close(true));
    String::from_utf8(out).expect("what a client gets is UTF-8")
}

/// For any reply of a provider, the classification is unique and found in bounded time.
///
/// The first two bytes are the status.
///
/// # Panics
/// If a success without an error document counts as a refusal, or a failure as none.
pub fn refusal(bytes: &[u8]) {
    let Some((status, body)) = bytes.split_at_checked(2) else { return };
    let status = 100 + u16::from_le_bytes([status[0], status[1]]) % 500;
    let found =
        refusal::classify(&Reply { status: Some(status), headers: Headers::default(), body, provider: None });
    assert!(found.is_some() || status < 400, "{status} is no answer");
    if !has(body, b"error") && !has(body, b"Error") && !has(body, b"\\u") {
        assert!(found.is_none() || !(200..300).contains(&status), "{status}: {found:?}");
    }
}

/// The cutting of a stream into pieces changes nothing.
///
/// The first byte is the size of the pieces.
///
/// # Panics
/// If the events differ.
pub fn sse(bytes: &[u8]) {
    let Some((size, stream)) = bytes.split_first() else { return };
    for max in [40, 1_000] {
        let whole = events(max, std::iter::once(stream));
        let pieces = events(max, stream.chunks(usize::from(*size).max(1)));
        assert_eq!(whole, pieces);
    }
}

fn events<'a>(max: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut found = Vec::new();
    let mut each = |event: Event<'_>| {
        found.push(match event {
            Event::Message { name, data } => format!("{name}|{data}"),
            Event::TooLarge => "!".to_owned(),
        });
    };
    let mut splitter = Splitter::new(max);
    for piece in pieces {
        splitter.push(piece, &mut each);
    }
    splitter.finish(&mut each);
    found
}

/// Any stream, and any body, gives messages in JSON.
///
/// # Panics
/// If a message is no JSON.
pub fn answer(bytes: &[u8]) {
    for dialect in SERVED {
        let mut answer = Answer::new(dialect);
        Splitter::default().push(bytes, &mut |event| match event {
            Event::Message { name, data } => answer.event(name, data),
            Event::TooLarge => answer.lost(),
        });
        for message in answer.finish().messages.iter().chain(&Answer::whole(dialect, bytes).messages) {
            let parsed: Result<&RawValue, _> = serde_json::from_str(message);
            assert!(parsed.is_ok(), "{message}");
        }
    }
}
