//! Import, export and store maintenance, through the binary.

use crate::support::{CHAT, PI, PI_KEY, Place, text};

#[test]
fn import_prints_one_object_per_file_and_adds_nothing_twice() {
    let place = Place::new();
    place.write("pi.jsonl", PI);
    place.write("chat.json", CHAT);
    let first = place.json_lines(&["import", "pi.jsonl", "chat.json"], 0);
    assert_eq!(first.len(), 2);
    for (line, (path, format)) in first.iter().zip([("pi.jsonl", "pi"), ("chat.json", "openai-chat")]) {
        assert_eq!((line["path"].as_str(), line["format"].as_str()), (Some(path), Some(format)));
        assert_eq!(line["entries"], line["added"]);
    }
    assert_eq!(first[0]["conversation"], PI_KEY);
    assert_eq!(first[0]["warnings"].as_array().unwrap().len(), 1, "the half-written line is reported");
    for again in place.json_lines(&["import", "pi.jsonl", "chat.json", "--force"], 0) {
        assert_eq!(again["added"], 0, "{again}");
    }
}

#[test]
fn import_goes_on_after_a_bad_file_and_says_so() {
    let place = Place::new();
    place.write("pi.jsonl", PI);
    let lines = place.json_lines(&["import", "nowhere.jsonl", "pi.jsonl"], 3);
    assert_eq!(lines[0]["error"]["kind"], "file");
    assert_eq!(lines[1]["conversation"], PI_KEY);
    place.write("image.png", "\u{89}PNG");
    let error = place.run(&["import", "image.png"], 3);
    assert!(text(&error.stderr).contains("hint:"), "{}", text(&error.stderr));
    assert_eq!(text(&error.stderr).matches("not a transcript").count(), 1, "said once");
}

#[test]
fn discover_asks_and_takes_nothing_without_an_answer() {
    let place = Place::new();
    let folder = place.path(".claude/projects/-srv-x");
    std::fs::create_dir_all(&folder).unwrap();
    let line = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5e55","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hello"}}"#;
    std::fs::write(folder.join("5e55.jsonl"), format!("{line}\n")).unwrap();
    place.run(&["import", "--discover"], 2);
    assert!(!place.path("store.sqlite").exists());
    let lines = place.json_lines(&["import", "--discover", "--yes"], 0);
    assert_eq!(lines[0]["format"], "claude-code");
}

#[test]
fn export_is_the_file_byte_for_byte() {
    let place = Place::imported();
    assert_eq!(text(&place.run(&["export", PI_KEY], 0).stdout), PI);
    assert_eq!(text(&place.run(&["export", "openai-chat"], 0).stdout), CHAT);
    let done = place.json(&["export", "pi:", "-o", "copy.jsonl"], 0);
    assert_eq!(done["bytes"], PI.len());
    assert_eq!(std::fs::read_to_string(place.path("copy.jsonl")).unwrap(), PI);
    place.run(&["export", "pi:", "-o", "copy.jsonl"], 3);
    place.run(&["export", "pi:", "--json"], 2);
    assert_eq!(text(&place.run(&["export", "pi:", "-o", "-"], 0).stdout), PI, "- is stdout");
    place.run(&["export", "pi:", "--json", "-o", "-"], 2);
    assert!(!place.path("-").exists());
}

/// A number that no save has is a slip of a person, and no damage.
#[test]
fn a_save_that_is_not_there_is_wrong_usage() {
    let place = Place::imported();
    let said = text(&place.run(&["export", PI_KEY, "--snapshot", "99", "-o", "copy.jsonl"], 2).stderr);
    assert!(
        said.contains("has no save 99") && said.contains("number 1") && !said.contains("verify"),
        "{said}"
    );
    assert!(!place.path("copy.jsonl").exists(), "no empty file is left");
}

/// A conversation whose row is damaged leaves all other conversations readable.
#[test]
fn a_conversation_with_a_damaged_key_is_named_and_passed_over() {
    let place = Place::imported();
    let store = rusqlite::Connection::open(place.path("store.sqlite")).unwrap();
    let statement = "UPDATE conversation SET key = CAST(x'70693aff31' AS TEXT) WHERE key LIKE 'pi:%'";
    assert_eq!(store.execute(statement, []).unwrap(), 1);
    drop(store);
    for args in [&["list"][..], &["stats"], &["stats", "openai-chat"], &["show", "openai-chat", "--no-pager"]]
    {
        let told = place.run(args, 0);
        let (out, err) = (text(&told.stdout), text(&told.stderr));
        assert!(
            !out.contains('\u{fffd}') && err.contains("1 damaged row in the database"),
            "{args:?}: {out}{err}"
        );
    }
    assert_eq!(text(&place.run(&["export", "openai-chat"], 0).stdout), CHAT);
    let doctor = text(&place.run(&["doctor"], 1).stdout);
    assert!(doctor.contains("conversations whose own row is damaged"), "{doctor}");
    let verified = place.json(&["verify"], 1);
    let problem = &verified["problems"][0];
    assert_eq!(
        (&problem["kind"], &problem["conversation"]),
        (&"conversation".into(), &"pi:\u{fffd}1".into())
    );
    assert_eq!(
        (verified["conversations"].as_u64(), verified["problems"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    let said = text(&place.run(&["backup", "copy.sqlite"], 4).stderr);
    assert!(said.contains("does not verify") && !place.path("copy.sqlite").exists(), "{said}");
}

#[test]
fn list_show_and_stats_tell_what_there_is() {
    let place = Place::imported();
    let list = place.json(&["list"], 0);
    assert_eq!(list.as_array().unwrap().len(), 2);
    let shown = place.json(&["stats", "pi:", "--entries", "1-2"], 0);
    assert_eq!(shown["snapshots"].as_array().unwrap().len(), 1);
    assert_eq!(shown["rows"][0]["host_id"], "00000001");
    assert_eq!(shown["rows"].as_array().unwrap().len(), 2);
    let stats = place.json(&["stats"], 0);
    assert_eq!(stats["conversations"], 2);
    assert_eq!(stats["raw_bytes"].as_u64().unwrap() as usize, PI.len() + CHAT.len() - trailers());
    for command in ["list", "stats"] {
        assert!(!place.run(&[command], 0).stdout.is_empty());
    }
    assert!(text(&place.run(&["stats", "pi:"], 0).stdout).contains("pi.jsonl"));
}

/// Bytes behind the last records belong to the save, not to an entry.
fn trailers() -> usize {
    let half = PI.len() - PI.rfind('\n').unwrap();
    let list = CHAT.len() - CHAT.rfind('}').unwrap() - 1;
    half + list
}

#[test]
fn verify_and_doctor_are_content_with_a_fresh_store() {
    let place = Place::imported();
    let verified = place.json(&["verify"], 0);
    assert_eq!((verified["ok"].as_bool(), verified["problems"].as_array().unwrap().len()), (Some(true), 0));
    place.run(&["verify"], 0);
    let doctor = place.json(&["doctor"], 0);
    assert_eq!(doctor["ok"], true, "{doctor}");
}

/// A damaged derived row is named, and the advice is not to restore a backup for it.
#[test]
fn damaged_derived_rows_need_no_backup() {
    let place = Place::imported();
    let store = rusqlite::Connection::open(place.path("store.sqlite")).unwrap();
    let damaged = store
        .execute(
            "UPDATE segment SET first_seq = first_seq + 1 WHERE rowid = (SELECT min(rowid) FROM segment)",
            [],
        )
        .unwrap();
    assert_eq!(damaged, 1);
    drop(store);
    let told = place.run(&["verify"], 1);
    assert!(text(&told.stdout).contains("damaged rows: 1; pieces of the search index"), "{told:?}");
    let advice = text(&told.stderr);
    assert!(advice.contains("made again from the log") && !advice.contains("backup"), "{advice}");
}

#[test]
fn backup_and_restore_bring_everything_back() {
    let place = Place::imported();
    place.json(&["backup", "copy.sqlite"], 0);
    place.run(&["backup", "copy.sqlite"], 3);
    let nowhere = text(&place.run(&["backup", "nosuch/copy.sqlite"], 3).stderr);
    assert!(nowhere.contains("nosuch/copy.sqlite") && !nowhere.contains("doctor"), "{nowhere}");
    place.run(&["purge", "pi:", "--yes"], 0);
    place.run(&["restore", "copy.sqlite"], 2);
    let done = place.json(&["restore", "copy.sqlite", "--yes"], 0);
    assert!(done["kept"].as_str().unwrap().contains("before-restore"));
    assert_eq!(text(&place.run(&["export", "pi:"], 0).stdout), PI);
    place.run(&["restore", "nowhere.sqlite", "--yes"], 3);
    place.run(&["restore", "store.sqlite", "--yes"], 2);
}

/// The names of the files of the place.
fn names(place: &Place) -> Vec<String> {
    let files = std::fs::read_dir(place.path(".")).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_refused_restore_leaves_nothing_behind() {
    let place = Place::imported();
    place.json(&["backup", "copy.sqlite"], 0);
    let owner = unforget_engine::Engine::open(&place.path("store.sqlite")).unwrap();
    let before = names(&place);
    let refused = place.json(&["restore", "copy.sqlite", "--yes"], 4);
    assert_eq!(refused["error"]["kind"], "busy", "{refused}");
    assert_eq!(names(&place), before);
    drop(owner);
    place.write("half.sqlite", "SQLite format 3\0 and then nothing");
    let before = names(&place);
    place.json(&["restore", "half.sqlite", "--yes"], 4);
    assert_eq!(names(&place), before);
    place.json(&["restore", "copy.sqlite", "--yes"], 0);
}

#[test]
fn purge_asks_takes_exactly_what_it_says_and_leaves_the_rest_provable() {
    let place = Place::imported();
    place.run(&["purge", "pi:", "--entries", "3-3"], 2);
    assert_eq!(text(&place.run(&["export", "pi:"], 0).stdout), PI, "nothing went without a yes");
    let purged = place.json(&["purge", "pi:", "--entries", "3-3", "--yes"], 0);
    assert_eq!((purged["entries"].as_u64(), purged["purged"].as_bool()), (Some(1), Some(true)));
    place.run(&["verify"], 0);
    let exported = text(&place.run(&["export", "pi:"], 0).stdout);
    assert!(!exported.contains("\\neggs") && exported.contains("heron"));
    place.run(&["purge", "pi:", "--entries", "90-99", "--yes"], 2);
}

#[test]
fn purge_names_the_pins_that_repeat_what_goes() {
    let place = Place::imported();
    place.run(&["pin", "pi:", "feed the heron"], 0);
    place.run(&["pin", "pi:", "nest-7741 eggs"], 0);
    let asked = text(&place.run(&["purge", "pi:", "--entries", "3-3"], 2).stdout);
    assert!(asked.contains("Not removed: pin:2, which repeats words"), "{asked}");
    assert!(asked.contains("unpin pi:"), "{asked}");
    assert_eq!(place.json(&["purge", "pi:", "--entries", "3-3", "--yes"], 0)["pins"], serde_json::json!([2]));
    assert_eq!(place.json(&["purge", "pi:", "--entries", "2-2", "--yes"], 0)["pins"], serde_json::json!([]));
}

#[test]
fn reindex_gives_the_same_answers() {
    let place = Place::imported();
    let before = place.json(&["search", "heron"], 0);
    place.json(&["reindex"], 0);
    assert_eq!(place.json(&["search", "heron"], 0)["results"], before["results"]);
}

#[test]
fn errors_have_codes_of_their_own() {
    let place = Place::new();
    place.run(&["list"], 3);
    place.run(&["frobnicate"], 2);
    place.write("store.sqlite", "this is no database, and long enough to have a header of its own, surely");
    let error = place.json(&["list"], 4);
    assert!(error["error"]["message"].as_str().unwrap().contains("store.sqlite"), "{error}");
    let place = Place::imported();
    let error = place.json(&["show", "nobody"], 2);
    assert_eq!(error["error"]["kind"], "no-conversation");
    let wrong = place.json(&["show"], 2);
    assert_eq!(wrong["error"]["kind"], "usage");
}

/// A name with a line end looks like a line of ours.
#[cfg(unix)]
#[test]
fn line_ends_in_file_names_are_escaped() {
    let place = Place::new();
    let name = "pi\n3 files: all new.jsonl";
    place.write(name, PI);
    place.write("notes\nhint: delete it.jsonl", "no transcript\n");
    let said = text(&place.run(&["import", name], 0).stdout);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("pi␊3 files"), "{said}");
    let told = text(&place.run(&["import", "notes\nhint: delete it.jsonl"], 3).stderr);
    assert!(!told.contains("\nhint: delete it"), "{told}");
}

#[test]
fn an_answer_that_cannot_be_read_is_a_finding() {
    let place = Place::imported();
    place.run(&["doctor"], 0);
    std::fs::create_dir(place.path("store.sqlite.spool")).unwrap();
    place.write("store.sqlite.spool/3.unread", "torn");
    let told = place.json(&["doctor"], 1);
    let finding = &told["findings"][0];
    assert!(finding["place"].as_str().unwrap().ends_with("3.unread"), "{told}");
    assert!(finding["command"].as_str().unwrap().starts_with("ls "), "{told}");
}
