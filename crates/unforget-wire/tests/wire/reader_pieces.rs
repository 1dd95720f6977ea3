//! How files are cut: lines, glued values, broken lines, documents, unfinished ends.
use unforget_core::entry::Origin;
use unforget_wire::{Format, ReadError, Reader};

/// Cuts a file and writes the pieces: `lead|body` per record, `~` in front of unparsable bodies, `=` and the trailer at
/// the end, `?` behind a trailer with a warning.
fn cut(file: &[u8]) -> String {
    let mut reader = match Reader::open(file) {
        Ok(reader) => reader,
        Err(ReadError::NotATranscript { what, .. }) => return format!("none: {what}"),
        Err(error) => panic!("{error}"),
    };
    let mut shown = String::new();
    let mut again = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        again.extend_from_slice(&record.lead);
        again.extend_from_slice(&record.body);
        let lead = String::from_utf8_lossy(&record.lead);
        let is_object =
            serde_json::from_slice::<serde_json::Value>(&record.body).is_ok_and(|value| value.is_object());
        let mark = if is_object { "" } else { "~" };
        let body = String::from_utf8_lossy(&record.body);
        shown.extend([&lead.escape_debug().to_string(), "|", mark, &body.escape_debug().to_string(), " "]);
    }
    again.extend_from_slice(reader.trailer());
    assert_eq!(again, file, "{shown}");
    let odd = if reader.trailer_warning().is_some() { "?" } else { "" };
    let trailer = String::from_utf8_lossy(reader.trailer()).into_owned();
    format!("{shown}={}{odd}", trailer.escape_debug()).replace("\\\"", "\"")
}

#[test]
fn lines_table() {
    let table: [(&[u8], &str, &str); 17] = [
        (b"{\"a\":1}\n{\"b\":2}\n", r#"|{"a":1} \n|{"b":2} =\n"#, "two lines"),
        (b"{\"a\":1}\n{\"b\":2}", r#"|{"a":1} \n|{"b":2} ="#, "no final newline, but complete"),
        (b"{\"a\":1}\r\n{\"b\":2}\r\n", r#"|{"a":1} \r\n|{"b":2} =\r\n"#, "CR LF"),
        (b"\xEF\xBB\xBF{\"a\":1}\n", r#"\u{feff}|{"a":1} =\n"#, "byte order mark"),
        (b"{\"a\":1}\n\n  \n{\"b\":2}\n", r#"|{"a":1} \n\n  \n|{"b":2} =\n"#, "blank lines"),
        (b"{\"a\":1}{\"b\":2}\n", r#"|{"a":1} |{"b":2} =\n"#, "two values glued together"),
        (b"{\"a\":1} {\"b\":2} \n", r#"|{"a":1}  |{"b":2} = \n"#, "two values with a space between"),
        (b"{\"a\":1}garbage\n{\"b\":2}\n", r#"|{"a":1} |~garbage \n|{"b":2} =\n"#, "a value and garbage"),
        (b"{\"a\":1}\ngarbage\r\n{\"b\":2}\n", r#"|{"a":1} \n|~garbage \r\n|{"b":2} =\n"#, "a broken line"),
        (b"garbage\n{\"b\":2}\n", r#"|~garbage \n|{"b":2} =\n"#, "the first line is broken"),
        (b"{\"a\":\n{\"b\":2}\n{}\n", r#"|~{"a": \n|{"b":2} \n|{} =\n"#, "the first line is torn"),
        (b"{\"a\":1}\n{\"b\":2,\"c", r#"|{"a":1} =\n{"b":2,"c?"#, "half written"),
        (b"{\"a\":1}{\"b\":2,\"c", r#"|{"a":1} ={"b":2,"c?"#, "the glued one is half written"),
        (b"{\"a\":1}\n12", r#"|{"a":1} =\n12?"#, "a number may still grow"),
        (
            b"{\"a\":1}\n12\n[1]\n\"x\"\n",
            r#"|{"a":1} \n|~12 \n|~[1] \n|~"x" =\n"#,
            "values that are no objects",
        ),
        (
            b"{\"a\":1}\n\0\0\0\0{\"b\":2}\n\0\0",
            r#"|{"a":1} \n\0\0\0\0|{"b":2} =\n\0\0"#,
            "f094: NUL padding",
        ),
        (b"{\"a\":\"\xFF\xFE\"}\n", "|~{\"a\":\"\u{fffd}\u{fffd}\"} =\\n", "broken UTF-8 is kept"),
    ];
    for (file, want, why) in table {
        assert_eq!(cut(file), want, "{why}: {:?}", String::from_utf8_lossy(file));
    }
}

#[test]
fn f094_torn_line_is_kept() {
    let table = [
        (
            "{\"type\":1}\n{\"type\":2,\"text\":\"hel{\"type\":3}\n{\"type\":4}\n",
            r#"|{"type":1} \n|~{"type":2,"text":"hel |{"type":3} \n|{"type":4} =\n"#,
            "an append that was glued to a torn line is not lost with it",
        ),
        (
            "{\"type\":1}\n{\"type\":2,\"in\":{\"x\":3}\n{\"type\":4}\n",
            r#"|{"type":1} \n|~{"type":2,"in":{"x":3} \n|{"type":4} =\n"#,
            "an inner object of a torn line is not a record",
        ),
        (
            "{\"type\":1}\n{\"type\":2,\"te\0\0\0\0\0\n{\"type\":4}\n",
            r#"|{"type":1} \n|~{"type":2,"te\0\0\0\0\0 \n|{"type":4} =\n"#,
            "zeros where the disk did not write",
        ),
    ];
    for (file, want, why) in table {
        assert_eq!(cut(file.as_bytes()), want, "{why}");
    }
}

#[test]
fn documents_table() {
    let table = [
        (r#"[{"a":1}, {"b":[{}]}]"#, r#"[|{"a":1} , |{"b":[{}]} =]"#, "an array"),
        ("[\n {\"a\":1},\n {\"b\":2}\n]\n", r#"[\n |{"a":1} ,\n |{"b":2} =\n]\n"#, "an array over lines"),
        (r#"[{"a":1}, 7, "x", {"b":2}]"#, r#"[|{"a":1} , 7, |~"x" , |{"b":2} =]"#, "other elements"),
        (
            r#"{"sessionId":"s","messages":[{"a":1},{"b":2}],"z":{"messages":[{}]}}"#,
            r#"{"sessionId":"s","messages":[|{"a":1} ,|{"b":2} =],"z":{"messages":[{}]}}"#,
            "an object with messages; deeper ones are none",
        ),
        (
            "{\n \"id\": 1,\n \"messages\": [\n  {\"a\": \"]}\\\"[\"}\n ]\n}",
            r#"{\n "id": 1,\n "messages": [\n  |{"a": "]}\\"["} =\n ]\n}"#,
            "brackets and quotes in strings are text",
        ),
        (
            r#"{"trajectory":[{"a":1}],"history":[{"b":2}]}"#,
            r#"{"trajectory":[|{"a":1} ],"history":[|{"b":2} =]}"#,
            "two arrays of records",
        ),
        (
            r#"[{"task":0,"traj":[{"a":1},{"b":2}],"n":[1]},{"task":1,"traj":[{"c":3}]},{"d":4}]"#,
            r#"[{"task":0,"traj":[|{"a":1} ,|{"b":2} ],"n":[1]},{"task":1,"traj":[|{"c":3} ]},|{"d":4} =]"#,
            "tasks with messages",
        ),
        ("{\n \"a\": 1\n}\n", r#"|{\n "a": 1\n} =\n"#, "an object over lines is one record"),
        (
            "{\"messages\":[{\"a\":1}]}\n{\"messages\":[{\"b\":2}]}\n{\"c\":3}\nx\n{\"d\":4}\n",
            r#"{"messages":[|{"a":1} ]}\n{"messages":[|{"b":2} ]}\n|{"c":3} \n|~x \n|{"d":4} =\n"#,
            "documents one per line, and lines that are none",
        ),
        (r#"[{"a":1},{"b":2"#, r#"[|{"a":1} =,{"b":2?"#, "cut inside an element"),
        (r#"{"messages":[{"a":1}"#, r#"{"messages":[|{"a":1} =?"#, "cut behind an element"),
        (r#"[{"a":1},{"b":x},{"c":3}]"#, r#"[|{"a":1} ,|~{"b":x} ,|{"c":3} =]"#, "one damaged element"),
        (
            "[\n{\"a\":\"x},\n{\"b\":2},\n{\"c\":3}\n]",
            r#"[\n|~{"a":"x}, \n|{"b":2} ,\n|{"c":3} =\n]"#,
            "f094: a lost quote costs one line, not the rest",
        ),
    ];
    for (file, want, why) in table {
        assert_eq!(cut(file.as_bytes()), want, "{why}: {file}");
    }
}

#[test]
fn not_a_transcript_table() {
    let table: [(&[u8], &str, &str); 7] = [
        (b"", "empty file", "empty"),
        (b"\n \n", "no JSON in it", "blank"),
        (b"hello\nworld\n", "no JSON object at its start", "text"),
        (b"\x7fELF\x02\x01\x01", "no JSON in it", "a program"),
        (b"{\"type\":\"session\",\"id\":\"x", "no complete record yet", "just being created"),
        (b"[1,2,3]\n", "no JSON object at its start", "JSON, but no objects"),
        (b"[2025-01-01] [INFO] started\n", "no JSON object at its start", "a log"),
    ];
    for (file, want, why) in table {
        assert_eq!(cut(file), format!("none: {want}"), "{why}");
    }
}

#[test]
fn warnings_say_where() {
    let file = b"{\"a\":1}\n\nbad line\n{\"b\":2}\n{\"c\":";
    let mut reader = Reader::open(file.as_slice()).unwrap();
    let mut warnings = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        warnings.extend(record.warning.map(|found| (found.place.line, found.place.byte, found.bytes)));
    }
    assert_eq!(warnings, [(3, 9, 8)], "line from 1, byte from 0");
    let trailer = reader.trailer_warning().unwrap();
    assert_eq!((trailer.place.line, trailer.place.byte, trailer.bytes), (5, 26, 5), "the half-written line");
}

#[test]
fn unknown_formats_are_opaque_and_named_by_content() {
    let mut reader = Reader::open(b"{\"kind\":\"x\"}\n{\"kind\":\"y\"}\n".as_slice()).unwrap();
    assert_eq!(reader.source().format, Format::Unknown);
    let digest = unforget_core::digest::Digest::of(b"{\"kind\":\"x\"}").hex();
    assert_eq!(reader.source().key.0, format!("unknown:{}", &digest[..16]));
    while let Some(record) = reader.next_record().unwrap() {
        assert_eq!((record.entry.origin, record.warning), (Origin::Opaque, None));
    }
}

#[test]
fn groups_are_lanes() {
    let file = br#"[{"task_id":0,"traj":[{"role":"user","content":"a"}]},
        {"task_id":1,"traj":[{"role":"user","content":"b"},{"role":"assistant","content":"c"}]}]"#;
    let mut reader = Reader::open(file.as_slice()).unwrap();
    let mut lanes = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        lanes.push(record.entry.thread);
    }
    assert_eq!(
        lanes,
        [None, Some("#1".to_owned()), Some("#1".to_owned())],
        "one per task, the first is the main lane"
    );
}

#[test]
fn f093_large_strings_are_reported_and_nothing_else() {
    let long = "x\\n".repeat(10_000);
    let file = format!("{{\"short\":\"y\",\"long\":\"{long}\"}}\n");
    let mut reader = Reader::open(file.as_bytes()).unwrap();
    let record = reader.next_record().unwrap().unwrap();
    assert_eq!(record.large.len(), 1);
    for range in record.large {
        assert_eq!(record.body.get(range), Some(long.as_bytes()), "the escaped bytes between the quotes");
    }
}
