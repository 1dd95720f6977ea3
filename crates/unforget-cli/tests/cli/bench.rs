//! The benches over recorded sessions: on a generated one, and on real ones if available.
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::support::Place;
use serde_json::Value;

fn generated(place: &Place) -> PathBuf {
    let path = place.path("generated.jsonl");
    unforget_bench::write_workload(&mut File::create(&path).unwrap(), 700, 7).unwrap();
    path
}

/// A large and an average session of the data folder; none, with a message, if it is missing.
fn recorded() -> Vec<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("UNFORGET_DATA").map_or(usual, PathBuf::from);
    let files = ["claude-code-entire-cli/bc-cb77bb88fa-1.jsonl", "codex-agentv/00-34f597b72d-1.jsonl"];
    let files: Vec<_> = files.iter().map(|file| folder.join(file)).filter(|file| file.is_file()).collect();
    if files.is_empty() {
        eprintln!("skipped: no recorded sessions in {}", folder.display());
    }
    files
}

fn ran(place: &Place, bench: &str, window: &str, files: &[PathBuf]) -> Value {
    let mut command = place.command();
    command.args(["bench", bench, "--window", window, "--json"]).args(files);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn policies_add_up_and_looking_at_the_cache_costs_no_more() {
    let place = Place::new();
    let mut sets = vec![(vec![generated(&place)], "8k")];
    sets.extend(Some((recorded(), "32k")).filter(|(files, _)| !files.is_empty()));
    for (files, window) in sets {
        let json = ran(&place, "policies", window, &files);
        assert_eq!(
            (json["sessions"].as_u64(), json["skipped"].as_u64()),
            (Some(files.len() as u64), Some(0))
        );
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 24, "six policies by four price tables");
        let cost = |prices: &str, policy: &str| {
            let row = rows.iter().find(|row| row["prices"] == prices && row["policy"] == policy).unwrap();
            let (sent, cached) = (row["sent"].as_u64().unwrap(), row["cached"].as_u64().unwrap());
            assert!(cached < sent, "{row}");
            assert_eq!(
                row["refused"].as_u64().unwrap() * u64::from(policy.starts_with("unforget")),
                0,
                "{row}"
            );
            row["cost"].as_f64().unwrap()
        };
        for prices in ["anthropic", "anthropic-1h", "openai", "gemini"] {
            let ours = cost(prices, "unforget");
            assert!(ours <= cost(prices, "unforget-blind") * 1.02, "{prices}");
            assert!(ours < cost(prices, "sliding-window"), "{prices}");
        }
    }
}

#[test]
fn pins_are_always_there_and_no_writer_invents_an_identifier() {
    let place = Place::new();
    let mut sets = vec![(vec![generated(&place)], "8k")];
    sets.extend(Some((recorded(), "32k")).filter(|(files, _)| !files.is_empty()));
    for (files, window) in sets {
        let json = ran(&place, "needles", window, &files);
        let again = ran(&place, "needles", window, &files);
        assert_eq!(json["writers"][0], again["writers"][0], "seeded");
        for writer in json["writers"].as_array().unwrap() {
            assert_eq!(writer["pins"]["wanted"], writer["pins"]["present"], "{}", writer["writer"]);
            // Generated words are rarely identifiers.
            let least = if window == "32k" { 50 } else { 0 };
            assert!(writer["identifiers"]["shown"].as_u64() >= Some(least), "{}", writer["identifiers"]);
            assert_eq!(writer["identifiers"]["invented"], 0, "{}", writer["identifiers"]);
            assert_eq!(writer["too_deep"], 0);
            let all = writer["rows"].as_array().unwrap();
            let all: Vec<_> = all.iter().filter(|row| row["kind"] == "all" && row["from"] == "all").collect();
            assert_eq!(all.len(), 3, "after 1, 3 and 6 breaks");
            assert!(all.iter().all(|row| row["any"].as_f64() > Some(0.6)), "{all:?}");
        }
        let inventing = &json["writers"][2];
        let refused = |job: &&Value| job["why"] == "invented";
        assert!(
            inventing["jobs"].as_array().unwrap().iter().any(|job| refused(&job)),
            "{}",
            inventing["jobs"]
        );
    }
}

#[test]
fn summaries_of_hosts_answer_and_those_of_others_do_not() {
    let place = Place::new();
    let (path, other) = (place.path("compacted.jsonl"), place.path("other.jsonl"));
    for (path, part) in [(&path, "lexer"), (&other, "zoo")] {
        compacted(path, part);
    }
    let json = ran(&place, "summaries", "8k", &[path, other]);
    assert_eq!((json["sessions"].as_u64(), json["points"].as_u64()), (Some(2), Some(2)), "{json}");
    let arm =
        |name: &str| json["arms"].as_array().unwrap().iter().find(|arm| arm["arm"] == name).unwrap().clone();
    let kinds: Vec<_> =
        arm("host")["kinds"].as_array().unwrap().iter().map(|kind| kind["questions"].clone()).collect();
    assert_eq!(kinds, [8, 2, 2, 2, 2, 2], "every kind is asked");
    let answered = |name: &str| arm(name)["answered"].as_u64().unwrap();
    assert!(answered("host") >= 12, "{json}");
    assert!(answered("ours+host") >= answered("host"), "{json}");
    assert_eq!(answered("other host"), 0, "{json}");
    let again = ran(&place, "summaries", "8k", &[place.path("compacted.jsonl"), place.path("other.jsonl")]);
    assert_eq!(json, again, "seeded");
}

/// A session answers the questions that rules make of it, and not those about another one.
#[test]
fn questions_of_each_kind_are_made_and_answered() {
    let place = Place::new();
    let files = ["lexer", "zoo"].map(|part| {
        let path = place.path(&format!("{part}.jsonl"));
        worked(&path, part);
        path
    });
    let ask = |more: &[&str]| {
        let mut command = place.command();
        command.args(["bench", "questions", "--json"]).args(more).args(&files);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let json = ask(&[]);
    let row =
        |kind: &str| json["rows"].as_array().unwrap().iter().find(|row| row["kind"] == kind).unwrap().clone();
    for kind in ["fixed", "why", "never", "files", "open"] {
        assert_eq!(row(kind)["questions"], 2, "one of each session: {json}");
    }
    // The hits of so small a store show most of it, so only the answer's few lines are held against chance.
    let all = row("all");
    assert!(all["r10"].as_f64() > Some(0.8) && all["search"]["answered"].as_f64() > Some(0.7), "{all}");
    assert!(all["answer"]["answered"].as_f64() > Some(0.3), "{all}");
    assert_eq!(all["answer"]["chance"].as_f64(), Some(0.0), "{all}");
    assert_eq!(ask(&[])["rows"], json["rows"], "seeded");
    let half = ask(&["--half", "dev", "--questions", "5"]);
    assert_eq!(
        (half["sessions"].as_u64(), half["rows"][5]["questions"].as_u64()),
        (Some(2), Some(5)),
        "{half}"
    );
}

/// A session of Claude Code about one part: a rule, a test that fails and passes, a commit, a reason and a next step.
fn worked(path: &Path, part: &str) {
    let [rule, commit, reason, next] = match part {
        "lexer" => [
            "Please mend brackets, but never rename published grammar tokens.",
            "Count nested brackets once",
            "Brackets were counted twice because comments opened another nesting level.",
            "Next step: describe escape sequences within manual chapter seven.",
        ],
        _ => [
            "Penguins vanish, and never feed giraffes before visitors arrive.",
            "Lock northern fence overnight",
            "Penguins wandered outside the pond because somebody left the northern fence unlocked.",
            "Remaining work: order winter blankets for elderly tortoises.",
        ],
    };
    let text = |words: &str| serde_json::json!([{"type": "text", "text": words}]);
    let call = |id: &str, name: &str, input: Value| serde_json::json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let result = |id: &str, output: &str| serde_json::json!([{"type": "tool_result", "tool_use_id": id, "content": output}]);
    let file = format!("/home/ann/{part}/{part}_rules.go");
    let test = format!("go test ./{part}");
    let said = [
        ("user", serde_json::json!(rule)),
        ("assistant", call("a", "Bash", serde_json::json!({"command": test}))),
        ("user", result("a", &format!("--- FAIL: Test{part}Nesting (0.00s)"))),
        (
            "assistant",
            call("b", "Edit", serde_json::json!({"file_path": file, "old_string": "a", "new_string": part})),
        ),
        ("user", result("b", "done")),
        ("assistant", call("c", "Bash", serde_json::json!({"command": test}))),
        ("user", result("c", &format!("--- PASS: Test{part}Nesting (0.00s)"))),
        (
            "assistant",
            call("d", "Bash", serde_json::json!({"command": format!("git commit -am \"{commit}\"")})),
        ),
        ("user", result("d", &format!("[main 1234abc] {commit}\n 1 file changed"))),
        (
            "assistant",
            text(&format!(
                "{reason}\n\nThe change is committed, all tests of this part pass now, and nothing else in the folder was touched \
                 on the way there, as was asked for in the first place.\n\n{next}"
            )),
        ),
    ];
    let lines: Vec<String> = said
        .iter()
        .enumerate()
        .map(|(at, (role, content))| {
            let parent = at.checked_sub(1).map(|before| format!("u{before}"));
            serde_json::json!({
                "type": role, "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": part, "cwd": format!("/home/ann/{part}"),
                "timestamp": format!("2026-01-01T00:00:{at:02}Z"),
                "message": {"id": format!("m{at}"), "role": role, "content": content},
            })
            .to_string()
                + "\n"
        })
        .collect();
    std::fs::write(path, lines.concat()).unwrap();
}

/// A session of Claude Code about one part, which its host compacts.
fn compacted(path: &Path, part: &str) {
    let mut lines = Vec::new();
    let mut line = |kind: &str, fields: Value| {
        let mut line = serde_json::json!({ "type": kind, "uuid": format!("u{}", lines.len()), "sessionId": part,
            "timestamp": "2026-01-01T00:00:01.000Z" });
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        lines.push(line);
    };
    let mut said = |kind: &str, content: Value| {
        line(
            kind,
            serde_json::json!({ "message": { "id": uuid(&content), "role": kind, "model": "m", "content": content } }),
        );
    };
    let text = |words: String| serde_json::json!([{ "type": "text", "text": words }]);
    let [rule, reason, next] = match part {
        "lexer" => [
            "You must never rename the tokens of published grammars.",
            "It failed because nested brackets were counted twice inside comments.",
            "Document escape sequences in manual chapter seven",
        ],
        _ => [
            "Always feed giraffes before visitors reach their enclosure.",
            "Penguins vanished because somebody left the northern fence unlocked.",
            "Order winter blankets for elderly tortoises",
        ],
    };
    said("user", text(format!("Please mend the {part}. {rule}")));
    let mut calls = 0;
    let mut run = |name: &str, input: Value, output: &str| {
        calls += 1;
        let id = format!("{part}{calls}");
        said(
            "assistant",
            serde_json::json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]),
        );
        said("user", serde_json::json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]));
    };
    for n in 0..12 {
        run("Bash", serde_json::json!({ "command": format!("{part}-check --strict all") }), "running");
        if n == 2 {
            run(
                "Bash",
                serde_json::json!({ "command": "x" }),
                &format!("--- FAIL: Test{part}Brackets (0.0s)"),
            );
        }
        run("Edit", serde_json::json!({ "file_path": format!("/w/src/{part}_rules_{}.go", n % 4) }), "done");
    }
    run("Bash", serde_json::json!({ "command": "x" }), &format!("--- PASS: Test{part}Brackets (0.0s)"));
    let todos = serde_json::json!([{ "content": next, "status": "pending" }]);
    run("TodoWrite", serde_json::json!({ "todos": todos }), "ok");
    said("assistant", text(reason.to_owned()));
    let files = (0..4).map(|n| format!("{part}_rules_{n}.go")).collect::<Vec<_>>().join(", ");
    let summary = format!(
        "1. Intent:\n   {rule}\n2. Files:\n   {files}; Test{part}Brackets was mended in {part}_rules_3.go\n3. Why:\n   {reason}\n\
         4. Run:\n   {part}-check --strict all\n5. Next:\n   {next}\n"
    );
    line(
        "user",
        serde_json::json!({ "isCompactSummary": true, "message": { "role": "user", "content": summary } }),
    );
    let lines: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    std::fs::write(path, lines).unwrap();
}

fn uuid(content: &Value) -> String {
    format!(
        "m{:x}",
        content.to_string().bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte))
    )
}

#[cfg(unix)]
#[test]
fn an_interrupted_bench_leaves_no_folder() {
    let place = Place::new();
    let mut command = std::process::Command::new(crate::support::binary());
    command.args(["bench", "growth", "--sizes", "500000"]).env("TMPDIR", place.path(""));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut bench = command.spawn().unwrap();
    let count = || std::fs::read_dir(place.path("")).unwrap().count();
    while count() == 0 {
        assert!(bench.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::yield_now();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&bench), rustix::process::Signal::INT)
        .unwrap();
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    assert_eq!(count(), 0);
}
