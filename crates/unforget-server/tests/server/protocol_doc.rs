//! Checks `docs/protocol.md`: its examples run, its schema matches the types, its tables are complete.
#![cfg(unix)]
use std::path::Path;

use crate::support::{Client, server_with_models};
use serde_json::Value;
use unforget_server::rpc::CallLimits;
use unforget_server::rpc::protocol::{Code, HOST_VERBS, VERBS, schema};

fn doc(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name))
        .unwrap_or_default()
}

/// Whether an answer has everything wanted. `…` matches anything.
fn has(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::String(wanted), found) if wanted == "…" => !found.is_null(),
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| has(wanted, found)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(wanted, found)| has(wanted, found))
        }
        _ => wanted == found,
    }
}

#[test]
fn the_examples_are_what_happens() {
    let text = doc("protocol.md");
    let mut client = Client::of(&server_with_models(CallLimits::default()));
    let mut done = 0;
    for line in text.lines() {
        if let Some(call) = line.strip_prefix("→ ") {
            client.send(call);
        } else if let Some(wanted) = line.strip_prefix("← ") {
            let found = client.answer();
            let wanted: Value = serde_json::from_str(wanted).unwrap();
            assert!(has(&wanted, &found), "the page says\n{wanted}\nand the answer is\n{found}");
            done += 1;
        }
    }
    assert!(done > 40, "{done} examples");
    assert!(client.is_at_end(), "everything that was answered stands on the page");
    for (verb, _) in VERBS.into_iter().chain(HOST_VERBS) {
        assert!(text.contains(&format!(r#""method":"{verb}""#)), "no example of {verb}");
    }
}

#[test]
fn the_codes_are_all_on_the_page() {
    let text = doc("protocol.md");
    for code in Code::ALL {
        let row = format!("| {} | `{}` |", code.number(), code.kind());
        assert!(text.contains(&row), "no row {row}");
    }
}

/// To rewrite the file: `UNFORGET_WRITE=1 cargo test -p unforget-server --test server protocol_doc`.
#[test]
fn the_schema_is_that_of_the_types() {
    let made = format!("{:#}\n", schema());
    if std::env::var_os("UNFORGET_WRITE").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.schema.json"), &made)
            .unwrap();
    }
    assert!(made == doc("protocol.schema.json"), "out of date: run this test with UNFORGET_WRITE=1");
    let schema: Value = serde_json::from_str(&made).unwrap();
    for (verb, _) in VERBS {
        assert!(schema["methods"][verb]["params"].is_object(), "{verb}");
    }
    let text = schema.to_string();
    for reference in text.split(r##""$ref":"#/$defs/"##).skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(schema["$defs"].get(reference).is_some(), "{reference} is not defined");
    }
}
