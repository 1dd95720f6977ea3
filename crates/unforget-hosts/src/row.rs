//! One row as one line of JSON.

use std::fmt::Write as _;
use std::io::Read as _;

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// Most bytes of one value, packed or not.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 20;

/// First bytes of every zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Beginning of an object that stands for bytes.
const HEX: &str = r#"{"$hex":"#;

/// A row of a host's database, or several that belong together, as one record of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRecord {
    /// The host's id of the record: a later record with this id takes its place.
    pub id: String,
    /// The record: one line of JSON without a line break.
    pub line: String,
}

/// A column of a statement that a record has.
pub(crate) struct RowColumn {
    /// Place among the columns of the statement, from 0.
    pub(crate) place: usize,
    pub(crate) name: String,
}

/// Writes a row as a JSON object: its columns in the order of the statement.
///
/// Numbers stand as they are, NULL as `null`, and text as a string. A text that is a JSON object or array in one line stands as this
/// value, byte for byte. Bytes that are such a text, or a text that is compressed with zstd, stand as this text: how a text is packed is
/// no part of it. Other bytes, and text that is no UTF-8, stand as `{"$hex":"…"}`.
///
/// Cost: O(bytes).
pub(crate) fn object(row: &Row<'_>, columns: &[RowColumn], out: &mut String) -> rusqlite::Result<()> {
    out.push('{');
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(&column.name, out);
        out.push(':');
        value(row.get_ref(column.place)?, out);
    }
    out.push('}');
    Ok(())
}

fn value(value: ValueRef<'_>, out: &mut String) {
    match value {
        ValueRef::Null => out.push_str("null"),
        // Writing to a string cannot fail.
        ValueRef::Integer(number) => _ = write!(out, "{number}"),
        ValueRef::Real(number) if number.is_finite() => _ = write!(out, "{number:?}"),
        ValueRef::Real(number) => string(&number.to_string(), out),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(found) => text(found, out),
            Err(_) => hex(bytes, out),
        },
        ValueRef::Blob(bytes) => match (unpacked(bytes), std::str::from_utf8(bytes)) {
            (Some(found), _) => text(&found, out),
            (None, Ok(found)) if is_json(found) => out.push_str(found),
            _ => hex(bytes, out),
        },
    }
}

fn text(text: &str, out: &mut String) {
    if is_json(text) { out.push_str(text) } else { string(text, out) }
}

/// Whether a text is a JSON object or array in one line, as programs write it. An object that would be taken for bytes is none.
fn is_json(text: &str) -> bool {
    let is_closed = (text.starts_with('{') && text.ends_with('}') && !text.starts_with(HEX))
        || (text.starts_with('[') && text.ends_with(']'));
    is_closed
        && !text.contains(['\n', '\r'])
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The text that is compressed with zstd in these bytes; `None` for other bytes, and for a text of more than [`VALUE_BYTES_MAX`].
pub(crate) fn unpacked(bytes: &[u8]) -> Option<String> {
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return None;
    }
    let mut text = String::new();
    let packed = zstd::stream::read::Decoder::new(bytes).ok()?;
    packed.take(VALUE_BYTES_MAX as u64 + 1).read_to_string(&mut text).ok()?;
    (text.len() <= VALUE_BYTES_MAX).then_some(text)
}

/// Writes a JSON string.
pub(crate) fn string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push_str(HEX);
    out.push('"');
    for byte in bytes {
        _ = write!(out, "{byte:02x}");
    }
    out.push_str(r#""}"#);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rusqlite::Connection;

    use super::*;

    #[test]
    fn rows_table() {
        let connection = Connection::open_in_memory().unwrap();
        let table = [
            ("NULL", "null"),
            ("-7", "-7"),
            ("0.1", "0.1"),
            ("2.0", "2.0"),
            ("9e999", r#""inf""#),
            ("'a \"b\"'", r#""a \"b\"""#),
            (r#"'{"a": 1}'"#, r#"{"a": 1}"#),
            (r#"'{"a":1'"#, r#""{\"a\":1""#),
            ("'{}' || char(10)", r#""{}\n""#),
            ("'[1, {\"a\":2}]'", r#"[1, {"a":2}]"#),
            ("'[1'", r#""[1""#),
            ("'[1 ' || char(13) || ']'", r#""[1 \r]""#),
            (r#"'{"$hex":"00"}'"#, r#""{\"$hex\":\"00\"}""#),
            ("x'7b7d'", "{}"),
            ("x'7b7b'", r#"{"$hex":"7b7b"}"#),
            ("x'00ff'", r#"{"$hex":"00ff"}"#),
            ("CAST(x'ff' AS TEXT)", r#"{"$hex":"ff"}"#),
        ];
        for (sql, want) in table {
            let mut out = String::new();
            let columns = [RowColumn { place: 0, name: "c\"".to_owned() }];
            connection
                .query_row(&format!("SELECT {sql}"), [], |row| object(row, &columns, &mut out))
                .unwrap();
            assert_eq!(out, format!(r#"{{"c\"":{want}}}"#), "{sql}");
        }
    }

    /// How a blob stands in a record.
    fn blob(bytes: &[u8]) -> String {
        let mut out = String::new();
        value(ValueRef::Blob(bytes), &mut out);
        out
    }

    #[test]
    fn packed_text_stands_as_text() {
        let packed = |text: &[u8]| zstd::encode_all(text, 3).unwrap();
        assert_eq!(blob(&packed(br#"{"a": 1}"#)), r#"{"a": 1}"#);
        assert_eq!(blob(&packed("so, eine Möwe".as_bytes())), r#""so, eine Möwe""#);
        let cut = packed(&[b'x'; 1_000]);
        let (cut, _) = cut.split_at(cut.len() - 2);
        for (bytes, why) in [
            (cut.to_vec(), "cut off"),
            (packed(&[0xff, 0xfe]), "no text"),
            (ZSTD_MAGIC.to_vec(), "no frame"),
            (packed(&vec![b' '; VALUE_BYTES_MAX + 1]), "too long"),
        ] {
            assert!(blob(&bytes).starts_with(r#"{"$hex":"28b52ffd"#), "{why}");
        }
    }
}
