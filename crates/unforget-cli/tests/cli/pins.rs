//! Pins, through the binary.

use crate::support::{Place, text};

#[test]
fn what_is_pinned_stands_in_every_prompt_until_it_is_taken_back() {
    let place = Place::imported();
    let pinned = place.json(&["pin", "pi:", "Never touch the \"boathouse\"."], 0);
    assert_eq!((pinned["pin"].as_u64(), pinned["state"].as_str()), (Some(1), Some("active")), "{pinned}");
    let again = place.json(&["pin", "pi:", "Never touch the \"boathouse\"."], 0);
    assert_eq!(again, pinned, "twice is one pin");
    for dialect in ["anthropic", "openai-chat", "openai-responses", "pi", "gemini", "bedrock-converse"] {
        let prompt = place.json(&["prompt", "pi:", "--dialect", dialect, "--window", "2k"], 0);
        let request = prompt["request"].to_string();
        assert!(request.contains(r#"Never touch the \"boathouse\"."#), "{dialect}: {request}");
        assert_eq!(prompt["certificate"]["pins"], serde_json::json!([1]));
        assert!(prompt["certificate"]["sections"]["pins"]["upper"].as_u64() > Some(0));
    }
    assert!(text(&place.run(&["prompt", "pi:"], 0).stderr).contains("1 active pin, verbatim"));
    let by = place.json(&["pin", "pi:", "Ask first.", "--supersedes", "1", "--entry", "s:1"], 0);
    assert_eq!((by["pin"].as_u64(), by["seq"].as_u64()), (Some(2), Some(1)), "{by}");
    let list = place.json(&["pins", "pi:"], 0);
    assert_eq!(
        (&list["pins"][0]["state"], &list["pins"][0]["superseded_by"]),
        (&"superseded".into(), &2.into())
    );
    assert_eq!(place.json(&["unpin", "pi:", "2"], 0)["state"], "retired");
    let prompt = place.json(&["prompt", "pi:"], 0);
    assert!(!prompt["request"].to_string().contains("Ask first."), "{prompt}");
    assert!(text(&place.run(&["pins", "pi:"], 0).stdout).contains("superseded by 2"));
}

#[test]
fn entries_can_be_pinned_and_proposals_accepted() {
    let place = Place::imported();
    let pinned = place.json(&["pin", "pi:", "--entry", "s:5"], 0);
    assert_eq!((pinned["text"].as_str(), pinned["seq"].as_u64()), (Some("Thank you."), Some(5)), "{pinned}");
    let list = place.json(&["pins", "pi:", "--proposals"], 0);
    let proposal = &list["proposals"][0];
    assert_eq!(proposal["text"], "Never touch the boathouse.", "{list}");
    assert_eq!((proposal["number"].as_u64(), proposal["kind"].as_str()), (Some(1), Some("prohibition")));
    let list = place.json(&["pins", "pi:", "--accept", "1", "--proposals"], 0);
    assert_eq!(list["pins"][1]["text"], "Never touch the boathouse.");
    assert_eq!(list["proposals"].as_array().unwrap().len(), 0, "{list}");
}

#[test]
fn unusable_pins_are_wrong_usage_and_change_nothing() {
    let place = Place::imported();
    let long = "x".repeat(5_000);
    let table: &[&[&str]] = &[
        &["pin", "pi:"],
        &["pin", "pi:", "  "],
        &["pin", "pi:", &long],
        &["pin", "pi:", "--entry", "s:99"],
        &["pin", "pi:", "--entry", "s:1-2"],
        &["pin", "pi:", "x", "--supersedes", "7"],
        &["unpin", "pi:", "7"],
        &["pins", "pi:", "--accept", "9"],
        &["pins", "nobody"],
    ];
    for args in table {
        place.run(args, 2);
    }
    assert_eq!(place.json(&["pins", "pi:"], 0)["pins"].as_array().unwrap().len(), 0);
}

#[test]
fn pins_that_leave_no_room_are_named() {
    let place = Place::imported();
    place.json(&["pin", "pi:", &"never touch it ".repeat(260)], 0);
    let error = place.json(&["prompt", "pi:", "--window", "1k"], 3);
    assert_eq!(error["error"]["kind"], "irreducible");
    assert!(error["error"]["message"].as_str().unwrap().contains("1 pins"), "{error}");
}

#[test]
fn a_file_is_pinned_and_what_is_wrong_with_it_is_told() {
    let place = Place::imported();
    place.write("CLAUDE.md", "Paint the \"lock gate\" green.\n");
    let pinned = place.json(&["pin", "pi:", "--file", "CLAUDE.md"], 0);
    let path = std::fs::canonicalize(place.path("CLAUDE.md")).unwrap().display().to_string();
    let file = &pinned["file"];
    assert_eq!(
        (file["path"].as_str(), &file["trouble"]),
        (Some(path.as_str()), &serde_json::Value::Null),
        "{pinned}"
    );
    assert!(file["digest"].as_str().unwrap().len() == 64 && file["read"].is_string(), "{pinned}");
    assert_eq!(place.json(&["pin", "pi:", "--file", &path], 0)["pin"], 1, "the same file is the same pin");
    let said = |words: &str| text(&place.run(&["prompt", "pi:"], 0).stdout).matches(words).count();
    assert_eq!(said("Paint the"), 1);
    place.write("CLAUDE.md", "Paint the sluice.\n");
    assert_eq!((said("the sluice"), said("lock gate")), (1, 0), "a prompt that is opened reads it");
    let list = place.json(&["pins", "pi:"], 0);
    assert_eq!(
        (&list["pins"][0]["state"], &list["pins"][1]["file"]["pin"]),
        (&"superseded".into(), &2.into())
    );
    assert_eq!(list["pins"][0]["file"], serde_json::Value::Null, "{list}");
    std::fs::remove_file(place.path("CLAUDE.md")).unwrap();
    assert_eq!(said("the sluice"), 1, "what was read last stays");
    let status = place.json(&["status", "pi:"], 0);
    assert_eq!(status["pinned_files"][0]["trouble"], "gone", "{status}");
    assert!(text(&place.run(&["pins", "pi:"], 0).stderr).contains("CLAUDE.md is not there"));
    let shown = text(&place.run(&["status", "pi:"], 0).stdout);
    assert!(shown.contains("CLAUDE.md is not there: its last text stays pinned; check the path"), "{shown}");
    place.write("CLAUDE.md", "Paint the sluice.\n");
    assert_eq!(said("the sluice"), 1);
    assert_eq!(place.json(&["status", "pi:"], 0)["pinned_files"][0]["trouble"], serde_json::Value::Null);
    assert_eq!(place.json(&["unpin", "pi:", "2"], 0)["state"], "retired");
    assert_eq!(
        place.json(&["status", "pi:"], 0)["pinned_files"],
        serde_json::json!([]),
        "not followed any more"
    );
}

#[test]
fn what_is_no_text_of_a_regular_file_is_refused() {
    let place = Place::imported();
    place.write("empty", "");
    place.write("large", &"x".repeat(32 * 1024 + 1));
    std::fs::write(place.path("bytes"), b"\xff\xfe").unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    let refused = |name: &str, exit: i32, words: &str| {
        let error = place.json(&["pin", "pi:", "--file", name], exit)["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(words), "{name}: {error}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{name}: {error}");
    };
    refused("nobody", 3, "is not there");
    refused("nowhere/nobody", 3, "nowhere");
    refused("folder", 3, "is a folder");
    refused("large", 3, "larger than the 32 KiB");
    refused("bytes", 3, "not UTF-8");
    refused("empty", 2, "has no words");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.path("bytes"), place.path("link")).unwrap();
        refused("link", 3, "symbolic link");
        let made = std::process::Command::new("mkfifo").arg(place.path("fifo")).status().unwrap();
        assert!(made.success());
        refused("fifo", 3, "a pipe");
    }
    for arguments in
        [&["pin", "pi:", "words", "--file", "empty"][..], &["pin", "pi:", "--file", "x", "--entry", "s:1"]]
    {
        place.run(arguments, 2);
    }
    assert_eq!(place.json(&["pins", "pi:"], 0)["pins"], serde_json::json!([]), "nothing was pinned");
}

#[test]
fn a_file_that_does_not_fit_whole_says_so() {
    let place = Place::imported();
    place.write("LONG.md", &"Keep every rule short and simple.\n".repeat(600));
    place.json(&["pin", "pi:", "--file", "LONG.md"], 0);
    let short = place.json(&["prompt", "pi:", "--window", "16k"], 0)["certificate"]["short_pins"][0].clone();
    assert_eq!((short["pin"].as_u64(), short["bytes"].as_u64()), (Some(1), Some(20_400)), "{short}");
    assert!(short["shown_bytes"].as_u64().unwrap() > 2_000, "{short}");
    assert!(text(&place.run(&["prompt", "pi:", "--window", "16k"], 0).stderr).contains("SHORTENED"));
    let whole = place.json(&["prompt", "pi:", "--window", "200k"], 0);
    assert_eq!(whole["certificate"]["short_pins"], serde_json::json!([]));
}
