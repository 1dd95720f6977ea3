//! The ledger, through the binary.

use crate::support::{Place, example, text};

#[test]
fn the_ledger_says_what_was_done_and_where() {
    let place = Place::imported();
    let ledger = place.json(&["ledger", "pi:"], 0);
    let rows = ledger["rows"].as_array().unwrap();
    let command = rows.iter().find(|row| row["kind"] == "command").unwrap();
    assert_eq!(command["what"], "ls reeds", "{ledger}");
    assert_eq!((command["call"].as_u64(), command["last"].as_u64()), (Some(2), Some(3)), "linked to entries");
    assert_eq!((command["state"].as_str(), command["times"].as_u64()), (Some("done"), Some(1)));
    let what = place.json(&["describe", "s:3", "--conversation", "pi:"], 0);
    assert_eq!(what["kind"], "entry", "an entry that is named can be looked up");
    assert_eq!(place.json(&["ledger", "pi:", "--kind", "url"], 0)["rows"].as_array().unwrap().len(), 0);
    assert!(text(&place.run(&["ledger", "pi:"], 0).stdout).contains("ls reeds"));
    assert_eq!(place.json(&["ledger", "openai-chat"], 0)["rows"].as_array().unwrap().len(), 0, "no tools");
    place.run(&["ledger", "nobody"], 2);
    place.run(&["ledger", "pi:", "--kind", "dream"], 2);
}

#[test]
fn a_long_session_has_files_and_commands_in_order() {
    let place = Place::new();
    place.run(&["import", "-q", &example("long-session.jsonl")], 0);
    let ledger = place.json(&["ledger", "pi:"], 0);
    let rows = ledger["rows"].as_array().unwrap();
    assert!(rows.len() > 3, "{ledger}");
    for pair in rows.windows(2).filter(|pair| pair[0]["kind"] == pair[1]["kind"]) {
        assert!(pair[0]["last"].as_u64() <= pair[1]["last"].as_u64(), "{pair:?}");
    }
    assert!(rows.iter().all(|row| row["call"].as_u64() <= row["last"].as_u64()));
}
