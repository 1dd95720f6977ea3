//! One row as one line of JSON.

use std::fmt::Write as _;

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// A row of a host's database, or several that belong together, as one record of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRecord {
    /// The host's id of the record: a later record with this id takes its place.
    pub id: String,
    /// The record: one line of JSON without a line break.
    pub line: String,
}

/// Writes a row as a JSON object: its columns in the order of the statement.
///
/// Numbers stand as they are, NULL as `null`, and text as a string. A text that is a JSON object in one line stands as this object, byte
/// for byte. Bytes that are no UTF-8 stand as `{"$hex":"…"}`.
///
/// Cost: O(bytes).
pub(crate) fn object(row: &Row<'_>, columns: &[String], out: &mut String) -> rusqlite::Result<()> {
    out.push('{');
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(column, out);
        out.push(':');
        value(row.get_ref(at)?, out);
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
            Ok(text) if is_object(text) => out.push_str(text),
            Ok(text) => string(text, out),
            Err(_) => hex(bytes, out),
        },
        ValueRef::Blob(bytes) => hex(bytes, out),
    }
}

/// Whether a text is a JSON object in one line, as programs write it.
fn is_object(text: &str) -> bool {
    text.starts_with('{')
        && text.ends_with('}')
        && !text.contains(['\n', '\r'])
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// Writes a JSON string.
pub(crate) fn string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push_str(r#"{"$hex":""#);
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
            ("'[1]'", r#""[1]""#),
            ("x'00ff'", r#"{"$hex":"00ff"}"#),
            ("CAST(x'ff' AS TEXT)", r#"{"$hex":"ff"}"#),
        ];
        for (sql, want) in table {
            let mut out = String::new();
            let columns = ["c\"".to_owned()];
            connection
                .query_row(&format!("SELECT {sql}"), [], |row| object(row, &columns, &mut out))
                .unwrap();
            assert_eq!(out, format!(r#"{{"c\"":{want}}}"#), "{sql}");
        }
    }
}
