//! The transcript of a host's session and its lanes in the gateway are shown as one conversation.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::daemon::Daemon;
use crate::support::{Place, text};

const SESSION: &str = "4a36bbbb-1111-4222-8333-444455556666";
const ASKED: &str = "Where does the zebra cross the boulevard at midnight?";
const ANSWERED: &str = "The zebra crosses the boulevard behind the lighthouse, as the harbour master wrote.";

/// A provider that answers every call with one text, until the test ends.
fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next()?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            let answer =
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
                "content": [{"type": "text", "text": ANSWERED}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 10}})
                .to_string();
            let said = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
            stream.write_all(said.as_bytes()).unwrap();
        }
    });
    url
}

/// Claude Code asks through the gateway.
fn ask_through_the_gateway(place: &Place) {
    let upstream = provider();
    let daemon = Daemon::with(place, &["--upstream", &upstream]);
    let user = json!({"device_id": "x", "session_id": SESSION}).to_string();
    let call = json!({"model": "claude-opus-4-5", "max_tokens": 100, "metadata": {"user_id": user},
        "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": ASKED}]});
    let agent = ureq::Agent::config_builder().proxy(None).build().new_agent();
    let answer = agent
        .post(&format!("{}/v1/messages", daemon.url))
        .header("content-type", "application/json")
        .header("anthropic-version", "2023-06-01")
        .header("x-api-key", "k")
        .send(call.to_string())
        .unwrap();
    assert_eq!(answer.status(), 200);
    daemon.end();
}

/// The transcript that Claude Code wrote of the same session.
fn import_the_transcript(place: &Place) {
    let line = |id: &str, parent: &Value, kind: &str, message: Value| {
        json!({"uuid": id, "parentUuid": parent, "sessionId": SESSION, "cwd": "/w/tool", "type": kind,
            "timestamp": "2026-04-01T10:00:00Z", "message": message})
        .to_string()
    };
    let answer = json!({"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": ANSWERED}]});
    let lines = [
        line("u1", &Value::Null, "user", json!({"role": "user", "content": ASKED})),
        line("u2", &"u1".into(), "assistant", answer),
    ];
    place.write("session.jsonl", &(lines.join("\n") + "\n"));
    place.run(&["import", "-q", "session.jsonl"], 0);
}

#[test]
fn a_session_through_the_gateway_and_its_transcript_are_one_in_both_orders() {
    for is_gateway_first in [true, false] {
        let place = Place::new();
        if is_gateway_first {
            ask_through_the_gateway(&place);
            import_the_transcript(&place);
        } else {
            import_the_transcript(&place);
            ask_through_the_gateway(&place);
        }
        let (lane, transcript) =
            (format!("journal:gateway/default/{SESSION}"), format!("claude-code:{SESSION}"));
        let list = place.json(&["list"], 0);
        let lane_of =
            list.as_array().unwrap().iter().find(|one| one["conversation"] == lane.as_str()).unwrap();
        assert_eq!(lane_of["transcript"], transcript.as_str(), "{list}");
        let shown = text(&place.run(&["list"], 0).stdout);
        assert_eq!(shown.lines().count(), 1, "once in the list: {shown}");
        assert_eq!(text(&place.run(&["list", "--tree"], 0).stdout).lines().count(), 2, "the lane under it");
        for query in [ASKED, ANSWERED] {
            let found = place.json(&["search", query], 0);
            let results = found["results"].as_array().unwrap();
            assert!(
                results.iter().all(|one| one["conversation"] == transcript.as_str()),
                "found once: {found}"
            );
            assert!(results[0]["also"][0]["id"].as_str().unwrap().contains(&lane), "{found}");
            assert!(text(&place.run(&["search", query], 0).stdout).contains("also in"));
        }
        place.run(&["export", &transcript, "-o", "out.jsonl", "-q"], 0);
        assert_eq!(
            std::fs::read(place.path("out.jsonl")).unwrap(),
            std::fs::read(place.path("session.jsonl")).unwrap()
        );
        place.run(&["export", &lane, "-o", "lane.jsonl", "-q"], 0);
        assert!(std::fs::read_to_string(place.path("lane.jsonl")).unwrap().contains("zebra"));
        assert_eq!(
            place.json(&["stats", "4a36"], 0)["conversation"],
            transcript.as_str(),
            "the name means the transcript"
        );
    }
}

#[test]
fn a_record_that_is_written_again_counts_once() {
    let place = Place::new();
    let line = |id: &str, parent: &str, kind: &str, text: &str| {
        json!({"uuid": id, "parentUuid": if parent.is_empty() { Value::Null } else { parent.into() }, "sessionId": "4a36",
            "type": kind, "timestamp": "2026-04-01T10:00:00Z", "message": {"role": kind, "content": text}})
        .to_string()
    };
    let first = [line("u1", "", "user", "watch the zebra"), line("u2", "u1", "assistant", "It sleeps.")];
    // Again behind a compaction, the first one with another parent; then the session goes on.
    let again = [line("u1", "u9", "user", "watch the zebra"), line("u2", "u1", "assistant", "It sleeps.")];
    let rest = [line("u3", "u2", "user", "and now?")];
    let lines: Vec<String> = first.into_iter().chain(again).chain(rest).collect();
    place.write("s.jsonl", &(lines.join("\n") + "\n"));
    let imported = place.json(&["import", "s.jsonl"], 0);
    assert_eq!(imported["added"], 5, "every record is stored: {imported}");
    assert_eq!(place.json(&["list"], 0)[0]["turns"], 2);
    let found = place.json(&["search", "zebra"], 0);
    assert_eq!(found["total"], 3, "of five records: {found}");
    assert_eq!(found["results"].to_string().matches("watch the zebra").count(), 1, "{found}");
    let shown = text(&place.run(&["show", "4a36"], 0).stdout);
    assert_eq!(shown.matches("watch the zebra").count(), 2, "as title and as turn: {shown}");
    place.run(&["reindex"], 0);
    assert_eq!(place.json(&["search", "zebra"], 0)["total"], 3, "the index again");
    let prompt = place.json(&["prompt", "4a36"], 0).to_string();
    assert_eq!(prompt.matches("watch the zebra").count(), 1, "in a prompt too: {prompt}");
    place.run(&["export", "4a36", "-o", "out.jsonl", "-q"], 0);
    assert_eq!(
        std::fs::read(place.path("out.jsonl")).unwrap(),
        std::fs::read(place.path("s.jsonl")).unwrap()
    );
    place.run(&["verify"], 0);
    // The rest of a file that grows knows the copies before it.
    let more = line("u2", "u1", "assistant", "It sleeps.");
    place.write("s.jsonl", &(lines.join("\n") + "\n" + &more + "\n"));
    place.run(&["import", "-q", "s.jsonl"], 0);
    assert_eq!(place.json(&["search", "sleeps"], 0)["total"], 3);
}
