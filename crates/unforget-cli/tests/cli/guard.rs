//! Looking after hosts' own transcripts, through the binary.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{PI, Place, binary, text};
use serde_json::Value;

/// An aborted call that was filled in: the pattern of seed 004.
const TOXIC: &str = concat!(
    r#"{"type":"session","version":3,"id":"bbbb","timestamp":"2026-03-02T08:30:00.000Z","cwd":"/srv/x"}"#,
    "\n",
    r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-03-02T08:31:00.000Z","message":{"role":"user","content":"Write it.","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-03-02T08:31:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"write","arguments":{"path":"/srv"},"partialJson":"{\"path\": \"/srv"}],"api":"x","model":"m","stopReason":"aborted","timestamp":2}}"#,
    "\n",
    r#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-03-02T08:31:06.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"write","content":[{"type":"text","text":"[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."}],"isError":true,"timestamp":3}}"#,
    "\n",
    r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-03-02T08:32:00.000Z","message":{"role":"user","content":"And now?","timestamp":4}}"#,
    "\n",
);

#[test]
fn f046_doctor_says_what_where_and_what_it_leads_to() {
    let place = Place::new();
    place.write("toxic.jsonl", TOXIC);
    let lines = place.json_lines(&["doctor", "toxic.jsonl"], 1);
    assert_eq!((lines[0]["worst"].as_str(), lines[0]["records"].as_u64()), (Some("fatal"), Some(5)));
    let finding = &lines[0]["findings"][1];
    assert_eq!(
        (finding["problem"].as_str(), finding["line"].as_u64()),
        (Some("result-of-cut-off-call"), Some(4))
    );
    assert_eq!((finding["entry"].as_str(), finding["name"].as_str()), (Some("00000003"), Some("call_1")));
    assert_eq!(finding["mended"], true);
    let (start, end) =
        (finding["bytes"]["start"].as_u64().unwrap(), finding["bytes"]["end"].as_u64().unwrap());
    assert!(TOXIC[start as usize..end as usize].starts_with(r#"{"type":"message","id":"00000003""#));
    assert_eq!(lines[1]["sum"]["unsound"], 1);
    let said = text(&place.run(&["doctor", "toxic.jsonl"], 1).stdout);
    for part in ["line 4", "unexpected tool_use_id", "unforget repair", "call_1"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn doctor_goes_through_folders_and_passes_over_other_files() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("sessions/old")).unwrap();
    place.write("sessions/a.jsonl", TOXIC);
    place.write(
        "sessions/old/b.jsonl",
        &TOXIC.replace("aborted", "toolUse").replace(r#" \"/srv""#, r#" \"/srv\"}""#),
    );
    place.write("sessions/notes.jsonl", "no transcript\n");
    place.write("sessions/a.jsonl.unforget-backup-1-00", TOXIC);
    let lines = place.json_lines(&["doctor", "sessions"], 1);
    let worst: Vec<_> = lines.iter().filter_map(|line| line.get("worst")).collect();
    assert_eq!(worst, [&Value::from("fatal"), &Value::from("note")]);
    let sum = &lines.last().unwrap()["sum"];
    assert_eq!(
        (&sum["files"], &sum["skipped"], &sum["failed"]),
        (&Value::from(2), &Value::from(1), &Value::from(0))
    );
    place.run(&["doctor", "nowhere.jsonl"], 3);
    place.run(&["doctor", "sessions/notes.jsonl"], 3);
    place.run(&["doctor"], 3);
}

#[test]
fn the_mended_form_of_a_transcript_is_the_one_that_is_seen() {
    let place = Place::new();
    place.write("toxic.jsonl", TOXIC);
    place.run(&["import", "-q", "toxic.jsonl"], 0);
    place.run(&["reject", "e:pi:bbbb:4", "--why", "asked in jest"], 0);
    let turns = place.json(&["list"], 0)[0]["turns"].clone();
    place.run(&["repair", "toxic.jsonl", "--write"], 0);
    place.run(&["import", "-q", "toxic.jsonl"], 0);
    assert_eq!(place.json(&["list"], 0)[0]["turns"], turns, "nothing counts twice");
    let found = place.json(&["search", "And now"], 0);
    let results = found["results"].as_array().unwrap();
    let said: Vec<&Value> = results.iter().filter(|one| one["text"] == "And now?").collect();
    assert_eq!((said.len(), found["matched"].as_u64()), (1, Some(1)), "it counts once: {found}");
    assert!(said[0]["seq"].as_u64() > Some(4), "of the mended form: {found}");
    assert_eq!((&said[0]["also"], &said[0]["earlier"]), (&Value::Array(vec![]), &false.into()), "{found}");
    assert_eq!(said[0]["verdict"]["why"], "asked in jest", "what was said of it holds: {found}");
    let found = place.json(&["grep", "And now"], 0);
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{found}");
    let whole = text(&place.run(&["expand", "bbbb", "--page", "100000"], 0).stdout);
    assert_eq!(whole.matches("And now?").count(), 1, "{whole}");
    let all = text(&place.run(&["expand", "bbbb", "--page", "100000", "--all"], 0).stdout);
    assert_eq!(all.matches("And now?").count(), 2, "on request: {all}");
    // What mending took away is still found, and said to be of before.
    let found = place.json(&["grep", "inserted synthetic error"], 0);
    assert_eq!(found["results"][0]["earlier"], true, "{found}");
    let said = text(&place.run(&["grep", "inserted synthetic error"], 0).stdout);
    assert!(said.contains("earlier form"), "{said}");
    place.run(&["verify"], 0);
}

#[test]
fn repair_shows_writes_and_takes_back() {
    let place = Place::new();
    place.write("toxic.jsonl", TOXIC);
    let read = || std::fs::read_to_string(place.path("toxic.jsonl")).unwrap();
    let planned = place.json(&["repair", "toxic.jsonl"], 1);
    assert_eq!(planned["outcome"], "planned");
    assert_eq!(read(), TOXIC, "a plan writes nothing");
    let said = text(&place.run(&["repair", "toxic.jsonl"], 1).stdout);
    assert!(
        said.contains("--write") && said.contains("- \"00000003\"") && said.contains("+ \"00000001\""),
        "{said}"
    );
    let done = place.json(&["repair", "toxic.jsonl", "--write"], 0);
    assert_eq!(done["outcome"], "mended");
    assert!(std::path::Path::new(&place.path(done["backup"].as_str().unwrap())).exists());
    place.run(&["doctor", "toxic.jsonl"], 0);
    assert_eq!(place.json(&["repair", "toxic.jsonl", "--write"], 0)["outcome"], "sound");
    assert_eq!(place.json(&["repair", "toxic.jsonl", "--undo"], 0)["outcome"], "undone");
    assert_eq!(read(), TOXIC);
    let error = place.json(&["repair", "toxic.jsonl", "--undo"], 3);
    assert_eq!(error["error"]["kind"], "nothing-to-undo");
    place.run(&["repair", "toxic.jsonl", "--undo", "--write"], 2);
    place.run(&["repair"], 2);
}

#[test]
fn f094_a_half_written_last_line_is_mended() {
    let place = Place::new();
    place.write("pi.jsonl", PI);
    place.run(&["repair", "pi.jsonl", "--write"], 0);
    let after = std::fs::read_to_string(place.path("pi.jsonl")).unwrap();
    assert_eq!(after, &PI[..=PI.rfind('\n').unwrap()]);
}

#[test]
fn a_host_at_work_is_left_alone() {
    let place = Place::new();
    place.write("toxic.jsonl", TOXIC);
    place.write("toxic.jsonl.lock", &format!(r#"{{"pid":{}}}"#, std::process::id()));
    let error = place.json(&["repair", "toxic.jsonl", "--write"], 3);
    assert_eq!(error["error"]["kind"], "in-use");
    assert!(error["error"]["message"].as_str().unwrap().contains(&std::process::id().to_string()));
}

#[test]
fn watch_once_is_for_cron() {
    let place = Place::new();
    std::fs::create_dir(place.path("sessions")).unwrap();
    place.write("sessions/a.jsonl", TOXIC);
    place.json_lines(&["watch", "sessions", "--once"], 0);
    assert_eq!(
        place.json_lines(&["watch", "sessions", "--once", "--quiet-for", "0"], 1)[0]["event"],
        "found"
    );
    let args = ["watch", "sessions", "--once", "--quiet-for", "0", "--repair", "--metrics", "guard.prom"];
    let lines = place.json_lines(&args, 0);
    assert_eq!(lines.last().unwrap()["event"], "mended");
    let metrics = std::fs::read_to_string(place.path("guard.prom")).unwrap();
    for line in ["unforget_guard_files 1", "unforget_guard_repairs_total 1", "unforget_guard_unsound_files 0"]
    {
        assert!(metrics.lines().any(|have| have == line), "{line}: {metrics}");
    }
    assert_eq!(place.json_lines(&args, 0), Vec::<Value>::new(), "nothing to say the second time");
}

/// A watch in the background that ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn watch_mends_what_appears_and_is_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("sessions")).unwrap();
    let mut command = Command::new(binary());
    command.args(["watch", "sessions", "--repair", "--quiet-for", "0", "--json"]);
    command.current_dir(place.path("")).env("UNFORGET_DB", place.path("store.sqlite"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = Background(command.spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
    let mut next = |event: &str| loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if line["event"] == event {
            return line;
        }
    };
    assert_eq!(next("watching")["files"], "0");
    let error = place.json(&["watch", "sessions"], 3);
    assert_eq!(error["error"]["kind"], "in-use");
    // As hosts do, the whole file appears at once.
    place.write("fresh", TOXIC);
    std::fs::rename(place.path("fresh"), place.path("sessions/a.jsonl")).unwrap();
    assert!(next("mended")["path"].as_str().unwrap().ends_with("a.jsonl"));
    place.run(&["doctor", "sessions"], 0);
}

/// A number that was corrected later is found in the form that says it.
#[test]
fn the_form_with_the_searched_word_is_shown() {
    let place = Place::new();
    let said = |port: u16| {
        format!(
            r#"{{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"5e55","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"staging listens on port {port}"}}}}
"#
        )
    };
    for port in [6432, 5432] {
        place.write("5e55.jsonl", &said(port));
        place.run(&["import", "-q", "5e55.jsonl"], 0);
    }
    for (port, is_earlier) in [("6432", true), ("5432", false)] {
        let found = place.json(&["search", "port", port], 0);
        let first = &found["results"][0];
        assert_eq!(first["text"], format!("staging listens on port {port}"), "{found}");
        assert_eq!((&first["earlier"], &found["held"]), (&is_earlier.into(), &100.into()), "{found}");
    }
}
