#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn tape(text: &str) -> Result<Tape, Broken> {
    let mut tape = Tape::default();
    let length = tape.read(text.as_bytes())?;
    assert_eq!(length, text.len(), "{text}");
    Ok(tape)
}

/// Runs `check` on the object in `text`.
fn with<T>(text: &str, check: impl FnOnce(Object<'_>) -> T) -> T {
    let tape = tape(text).unwrap();
    check(tape.value(text).unwrap().obj().unwrap())
}

#[test]
fn fields_table() {
    let table = [
        (r#"{"a":1,"a":2}"#, Some("2"), "the last of duplicate keys wins"),
        (r#"{"a":{"a":3}}"#, Some(r#"{"a":3}"#), "inner keys are not outer ones"),
        (r#"{"b":{"a":3},"c":["a",1]}"#, None, "nor are strings in arrays"),
        ("{\"\\u0061\" : true }", Some("true"), "an escaped key is the same key"),
        (r#"{"x":"a","a" : [ 1 , 2 ] }"#, Some("[ 1 , 2 ]"), "raw text is as it stands"),
        (r#"{"a":1e999999}"#, Some("1e999999"), "a number of any size"),
        ("{}", None, "nothing in it"),
    ];
    for (text, want, why) in table {
        assert_eq!(with(text, |object| object.raw("a").map(str::to_owned)).as_deref(), want, "{why}: {text}");
    }
}

#[test]
fn f062_text_table() {
    let table = [
        (r#""plain""#, "plain", "no escape"),
        (r#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{c}\n\r\tz", "every short escape"),
        (r#""\u00e9\u4E2D""#, "é中", "four hex digits in either case"),
        (r#""\ud83d\ude00!""#, "😀!", "a pair"),
        (r#""\ud83d""#, "\u{fffd}", "a lone high half at the end"),
        (r#""\ude00x""#, "\u{fffd}x", "a lone low half"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀", "a lone half before a pair"),
        (r#""\ud83d\n""#, "\u{fffd}\n", "a lone half before another escape"),
        (r#""\u0000""#, "\0", "NUL"),
    ];
    for (text, want, why) in table {
        let tape = tape(text).unwrap();
        assert_eq!(tape.value(text).unwrap().str().unwrap(), want, "{why}: {text}");
    }
}

#[test]
fn broken_table() {
    let table = [
        ("", Broken::Early, "nothing"),
        ("{", Broken::Early, "just begun"),
        (r#"{"a"#, Broken::Early, "in a key"),
        (r#"{"a":"\u12"#, Broken::Early, "in an escape"),
        (r#"{"a":tru"#, Broken::Early, "in a word"),
        (r#"{"a":1.}"#, Broken::At(7), "no digit behind the point"),
        (r#"{"a":01}"#, Broken::At(6), "leading zero"),
        (r#"{"a":1,}"#, Broken::At(7), "trailing comma"),
        (r#"{"a" 1}"#, Broken::At(5), "no colon"),
        (r"[1}", Broken::At(2), "wrong bracket"),
        ("[\"a\nb\"]", Broken::At(3), "line break in a string"),
        (r#"["\x"]"#, Broken::At(3), "no such escape"),
        ("nul ", Broken::At(3), "no such word"),
        ("\u{feff}{}", Broken::At(0), "a byte order mark is not JSON"),
    ];
    for (text, want, why) in table {
        assert_eq!(tape(text).err(), Some(want), "{why}: {text:?}");
    }
}

#[test]
fn depth_and_size_are_no_danger() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(tape(&deep).unwrap().value(&deep).unwrap().items().count(), 1, "a million levels");
    let wide = format!("[{}0]", "0,".repeat(7_000_000));
    assert_eq!(tape(&wide).err(), Some(Broken::TooLarge), "more values than a tape holds");
}

#[test]
fn times_table() {
    let table = [
        (r#"{"t":"1970-01-01T00:00:01.500Z"}"#, Some(1500), "ISO with zone"),
        (r#"{"t":"1970-01-01T02:00:01+02:00"}"#, Some(1000), "ISO with offset"),
        (r#"{"t":"2025-01-20T20:29:13.519638"}"#, Some(1_737_404_953_519), "without a zone it is UTC"),
        (r#"{"t":1763681581544}"#, Some(1_763_681_581_544), "milliseconds"),
        (r#"{"t":1763681581.25}"#, Some(1_763_681_581_250), "seconds with a fraction"),
        (r#"{"t":"yesterday"}"#, None, "not a time"),
        (r#"{"t":1e300}"#, None, "not a time either"),
        (r#"{"t":null}"#, None, "nothing"),
    ];
    for (text, want, why) in table {
        assert_eq!(with(text, |object| object.time("t")).map(|time| time.0), want, "{why}: {text}");
    }
}

/// JSON texts, and texts that are almost JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"a\""),
        Just("\"\\n\\u00e9\""),
        Just("\"\\ud800\""),
        Just("12"),
        Just("-0.5e+7"),
        Just("-"),
        Just("0"),
        Just("true"),
        Just("null"),
        Just(" "),
        Just("\n"),
        Just("\"long long long long text 中\""),
        Just("\""),
        Just("\\"),
        Just("\u{1}"),
    ];
    prop_oneof![
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
        any_json(4).prop_map(|value| value.to_string()),
    ]
}

/// Any JSON value of at most this depth.
fn any_json(depth: u32) -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(depth, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::vec((".{0,4}", inner), 0..5)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Rebuilds a value from its tape, to compare it with another parser's.
fn rebuild(value: Value<'_>) -> serde_json::Value {
    if let Some(object) = value.obj() {
        return serde_json::Value::Object(
            object.fields().map(|(key, value)| (key.into_owned(), rebuild(value))).collect(),
        );
    }
    if value.is_array() {
        return value.items().map(rebuild).collect();
    }
    match (value.str(), value.bool()) {
        (Some(text), _) => text.into_owned().into(),
        (_, Some(truth)) => truth.into(),
        _ => serde_json::from_str(value.raw()).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// This parser accepts exactly the texts that another JSON parser accepts.
    #[test]
    fn agrees_with_serde_json(text in nearly_json()) {
        let ours = is_value(&text);
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(ours, theirs, "{:?}", text);
    }

    /// Values read from the tape equal the written ones.
    #[test]
    fn reads_what_was_written(value in any_json(5)) {
        let text = value.to_string();
        let tape = tape(&text).unwrap();
        prop_assert_eq!(rebuild(tape.value(&text).unwrap()), value);
    }

    /// A cut value is unfinished or, for a number, still a value; it is never broken.
    #[test]
    fn a_cut_value_is_unfinished(value in any_json(4), cut in any::<proptest::sample::Index>()) {
        let text = value.to_string();
        let cut = cut.index(text.len() + 1);
        let read = Tape::default().read(&text.as_bytes()[..cut]);
        prop_assert!(matches!(read, Ok(_) | Err(Broken::Early)), "{:?}: {:?}", &text.as_bytes()[..cut], read);
    }

    /// Reading eight bytes at a time finds the length that one at a time finds.
    #[test]
    fn plain_len_is_exact(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x1eu8..0x24, Just(b'\\')], 0..40)) {
        let slow = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
        prop_assert_eq!(plain_len(&bytes), slow.unwrap_or(bytes.len()));
    }
}

#[test]
fn on_one_line_table() {
    let table = [
        ("{\n  \"a\": 1.0,\r\n\t\"a\": [ ]\n}\n", "{\"a\":1.0,\"a\":[]}", "keys and numbers stay"),
        ("{\"a b\": \"c  d\",\n\"e\":1}", "{\"a b\":\"c  d\",\"e\":1}", "strings stay"),
        ("[\n\"\\\"\\\\\", \" ]\"]", "[\"\\\"\\\\\",\" ]\"]", "quotes in strings"),
        ("{ \"a\": 1 }", "{ \"a\": 1 }", "no line break: as it stands"),
    ];
    for (json, want, why) in table {
        assert_eq!(on_one_line(json), want, "{why}");
    }
}
