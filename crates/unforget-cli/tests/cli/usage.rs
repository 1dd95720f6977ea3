//! `unforget usage`: recorded tokens and their cost.

use crate::support::{Place, text};

/// A session of Claude Code with two calls; the first one comes as two lines.
fn session(id: &str) -> String {
    let call = |uuid: &str, message: &str, time: &str, output: u64| {
        format!(
            r#"{{"type":"assistant","uuid":"{uuid}","sessionId":"{id}","cwd":"/home/ann/reeds","timestamp":"{time}","message":{{"id":"{message}","role":"assistant","model":"claude-opus-4-5-20251101","content":[{{"type":"text","text":"{uuid}"}}],"usage":{{"input_tokens":1000,"cache_creation_input_tokens":2000,"cache_read_input_tokens":30000,"output_tokens":{output}}}}}}}"#
        ) + "\n"
    };
    let asked = format!(
        r#"{{"type":"user","uuid":"u1","sessionId":"{id}","cwd":"/home/ann/reeds","timestamp":"2026-03-02T08:00:00Z","message":{{"role":"user","content":"where does the heron nest?"}}}}"#
    );
    format!(
        "{asked}\n{}{}{}",
        call("a1", "m1", "2026-03-02T08:00:05Z", 1),
        call("a2", "m1", "2026-03-02T08:00:06Z", 400),
        call("a3", "m2", "2026-03-03T09:00:00Z", 600),
    )
}

#[test]
fn a_call_counts_once_however_often_it_is_stored() {
    let place = Place::new();
    place.write("one.jsonl", &session("11111111-1111-4111-8111-111111111111"));
    // A fork: the records of the first session under an id of its own.
    place.write("two.jsonl", &session("22222222-2222-4222-8222-222222222222"));
    place.run(&["import", "-q", "one.jsonl", "two.jsonl"], 0);
    let usage = place.json(&["usage", "--by", "model"], 0);
    assert_eq!(usage["rows"].as_array().unwrap().len(), 1, "{usage}");
    let row = &usage["rows"][0];
    assert_eq!(row["name"], "claude-opus-4-5-20251101");
    assert_eq!(
        [&row["calls"], &row["input"], &row["cache_write"], &row["cache_read"], &row["output"]]
            .map(|number| number.as_u64().unwrap()),
        [2, 2_000, 4_000, 60_000, 1_000]
    );
    // 2,000 at $5, 4,000 at $6.25, 60,000 at $0.50 and 1,000 at $25 per million.
    assert_eq!(format!("{:.4}", row["dollars"].as_f64().unwrap()), "0.0900");
    assert_eq!(usage["total"]["calls"], 2);
    let names = |by: &str| -> Vec<String> {
        let usage = place.json(&["usage", "--by", by], 0);
        usage["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("project"), ["/home/ann/reeds"]);
    assert_eq!(names("host"), ["claude-code"]);
    assert_eq!(names("day").len(), 2);
    let later = place.json(&["usage", "--since", "2026-03-03"], 0);
    assert_eq!(later["total"]["output"], 600);
    let earlier = place.json(&["usage", "--until", "2026-03-03"], 0);
    assert_eq!(earlier["total"]["output"], 400);
    let shown = text(&place.run(&["usage"], 0).stdout);
    assert!(shown.contains("total") && shown.contains("$0.09"), "{shown}");
}

#[test]
fn nothing_recorded_is_said() {
    let place = Place::imported();
    place.run(&["usage", "--since", "tomorrow or so"], 2);
    let output = place.run(&["usage", "--since", "2100-01-01"], 0);
    assert!(text(&output.stderr).contains("records usage"), "{}", text(&output.stderr));
}
