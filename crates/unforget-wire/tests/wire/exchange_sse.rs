//! Streams of server-sent events: any bytes in any pieces.
use proptest::prelude::*;
use unforget_wire::exchange::sse::{Event, Splitter};

/// The events as `name|data`; `!` for one that is too large.
fn events(max: usize, pieces: &[&[u8]]) -> Vec<String> {
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

#[test]
fn streams_table() {
    let table: [(&str, &[&str], &str); 15] = [
        ("data: a\n\ndata: b\n\n", &["|a", "|b"], "LF"),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"], "CR LF"),
        ("data: a\r\rdata: b\r\r", &["|a", "|b"], "CR"),
        ("data: a\r\n\ndata: b\n\r\n", &["|a", "|b"], "mixed"),
        ("\u{feff}data: a\n\n", &["|a"], "a BOM"),
        ("data: \u{feff}a\n\n", &["|\u{feff}a"], "one that is content"),
        (
            "event: ping\ndata: {}\n\ndata:x\n\n",
            &["ping|{}", "|x"],
            "a name is of one event; no space needed",
        ),
        ("data: a\ndata: b\ndata\n\n", &["|a\nb\n"], "lines are joined"),
        (": keep-alive\n\n:\ndata: a\n\n", &["|a"], "comments"),
        ("event: x\n\ndata: a\n\n", &["|a"], "an event without data is none"),
        ("id: 7\nretry: 10\nnonsense\ndata:  a\n\n", &["| a"], "other fields; one space goes"),
        ("data: a\n\ndata: b\n", &["|a", "|b"], "no empty line at the end"),
        ("data: a\n\ndata: {\"cut", &["|a", "|{\"cut"], "cut in a line"),
        ("data\n\n", &["|"], "empty data is data"),
        ("", &[], "nothing"),
    ];
    for (stream, want, why) in table {
        assert_eq!(events(1_000, &[stream.as_bytes()]), want, "{why}");
    }
    assert_eq!(events(1_000, &[b"data: \xff\n\n"]), ["|\u{fffd}"], "no UTF-8");
}

#[test]
fn large_events_are_told_and_the_stream_goes_on() {
    let long = "x".repeat(40);
    let table = [
        (format!("data: {long}\n\ndata: a\n\n"), "one line"),
        (format!("data: {}\ndata: {}\ndata: y\n\ndata: a\n\n", &long[..12], &long[..12]), "many lines"),
        (format!("event: {long}\ndata: y\n\ndata: a\n\n"), "a long name"),
        (format!("data: y\nother: {long}\n\ndata: a\n\n"), "a field that means nothing"),
    ];
    for (stream, why) in &table {
        assert_eq!(events(30, &[stream.as_bytes()]), ["!", "|a"], "{why}");
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(events(30, &bytes), ["!", "|a"], "{why}, byte by byte");
    }
    // Kept text counts, three bytes for each of these bytes, wherever a piece ends.
    let no_utf8 = [b"data: ".as_slice(), &[0xff; 14], b"\n: cut"].concat();
    for size in 1..=no_utf8.len() {
        let pieces: Vec<_> = no_utf8.chunks(size).collect();
        assert_eq!(events(30, &pieces), ["!"], "no UTF-8, in pieces of {size}");
    }
    let comment = format!(": {long}\ndata: a\n\n");
    assert_eq!(events(30, &[comment.as_bytes()]), ["|a"], "a comment is not kept");
    assert_eq!(events(30, &[format!("data: {long}").as_bytes()]), ["!"], "at the end");
}

#[test]
fn the_places_between_events_are_known() {
    let lines: [(&[u8], bool); 7] = [
        (b"event: a\n", false),
        (b"data: b\n", false),
        (b"\n", true),
        (b": comment\n", true),
        (b"da", false),
        (b"ta: c\n", false),
        (b"\n", true),
    ];
    let mut splitter = Splitter::default();
    assert!(splitter.is_between(), "at the start");
    for (bytes, want) in lines {
        splitter.push(bytes, &mut |_| {});
        assert_eq!(splitter.is_between(), want, "{}", String::from_utf8_lossy(bytes));
    }
}

proptest! {
    /// The cutting of a stream into pieces changes nothing.
    #[test]
    fn any_chunking_gives_the_same_events(
        parts in proptest::collection::vec("data: |event: |: |x|\u{feff}|é|\r|\n|\r\n|\n\n|[a-z]{0,12}", 0..30),
        sizes in proptest::collection::vec(0..7_usize, 0..60),
        max in prop_oneof![Just(1_000_usize), 0..30_usize],
        raw in proptest::collection::vec(any::<u8>(), 0..20),
        at in any::<proptest::sample::Index>(),
    ) {
        let mut stream = parts.concat().into_bytes();
        let at = at.index(stream.len() + 1);
        stream.splice(at..at, raw);
        let whole = events(max, &[&stream]);
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for size in sizes {
            let (piece, behind) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        prop_assert_eq!(events(max, &pieces), whole);
    }
}
