//! Models in the settings, through the binary, against a scripted provider on this machine.

use crate::support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::models::{GOOD, KEY, LETTERS, place, settings};
use crate::support::{Place, text};
use serde_json::{Value, json};
use unforget_testkit::provider::{Act, Provider, openai};

/// Whatever was printed and stored, the key is only in the header.
fn no_letters(place: &Place, outputs: &[&Value]) {
    for output in outputs {
        assert!(!output.to_string().contains("hunter2"), "{output}");
    }
    for args in [&["jobs", KEY][..], &["decisions", KEY], &["config"], &["show", KEY], &["verify"]] {
        let output = place.run(args, 0);
        assert!(
            !text(&output.stdout).contains("hunter2") && !text(&output.stderr).contains("hunter2"),
            "{args:?}"
        );
    }
    for file in ["store.sqlite", "store.sqlite-wal"] {
        let bytes = std::fs::read(place.path(file)).unwrap_or_default();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{file}");
    }
}

#[test]
fn f108_models_write_summaries_and_their_key_shows_nowhere() {
    let provider = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD}"}}"#)));
    let place = place(&[&provider.address()]);
    let compacted = place.json(&["compact", KEY, "--window", "2k"], 0);
    assert!(
        compacted["leaves"].as_u64() > Some(3) && compacted["by_model"].as_u64() > Some(3),
        "{compacted}"
    );
    let heard = provider.heard();
    assert!(heard.iter().all(|heard| heard.header("authorization") == Some(&format!("Bearer {LETTERS}"))));
    let jobs = place.json(&["jobs", KEY], 0);
    let states: Vec<_> = jobs["jobs"].as_array().unwrap().iter().map(|job| &job["state"]).collect();
    let done = states.iter().filter(|state| **state == "done").count() as u64;
    assert_eq!(Some(done), compacted["by_model"].as_u64(), "{jobs}");
    assert_eq!(jobs["hour"]["calls"].as_u64(), Some(heard.len() as u64));
    let name = jobs["jobs"][0]["name"].as_str().unwrap();
    let described = place.json(&["describe", name, "--conversation", KEY], 0);
    assert_eq!(
        (&described["writer"]["kind"], &described["writer"]["model"]),
        (&json!("model"), &json!("test"))
    );
    assert!(described["preview"].as_str().unwrap().contains(GOOD), "{described}");
    let verified = place.json(&["verify"], 0);
    assert!(verified["ok"] == true && verified["rewrites"].as_u64() > Some(6), "{verified}");
    let again = place.json(&["compact", KEY, "--window", "2k"], 0);
    assert_eq!((provider.heard().len(), again["by_model"].as_u64()), (heard.len(), Some(0)), "nothing twice");
    no_letters(&place, &[&compacted, &jobs, &described]);
}

#[test]
fn f018_a_refused_key_writes_nothing_and_is_told() {
    let refusal = openai::error(
        401,
        "invalid_request_error",
        "invalid_api_key",
        &format!("Incorrect API key: {LETTERS}"),
    );
    let provider = Provider::always(Act::Reply(refusal));
    let place = place(&[&provider.address()]);
    let compacted = place.json(&["compact", KEY, "--window", "2k"], 0);
    assert!(
        compacted["changed"] == true && compacted["by_model"] == 0,
        "the break itself needs no model: {compacted}"
    );
    let ran = compacted["ran"].as_array().unwrap();
    assert_eq!((ran.len(), provider.heard().len()), (1, 1), "one call, and no other job");
    assert!(ran[0]["why"].as_str().unwrap().contains("the credential is refused"), "{compacted}");
    let again = place.json(&["compact", KEY, "--window", "2k"], 0);
    assert_eq!((&again["ran"], &again["held"]), (&json!([]), &json!("every credential is refused")));
    assert!(text(&place.run(&["compact", KEY, "--window", "2k"], 0).stdout).contains("summaries wait"));
    assert_eq!(provider.heard().len(), 1, "another process does not ask again");
    let said = text(&place.run(&["jobs", KEY], 0).stdout);
    assert!(said.contains("its credential was refused") && said.contains("file:key#"), "{said}");
    let forced = place.json(&["jobs", KEY, "--run"], 1);
    assert_eq!((forced["ran"].as_array().unwrap().len(), provider.heard().len()), (1, 2), "a person may");
    let name = forced["jobs"][0]["name"].as_str().unwrap();
    let described = place.json(&["describe", name, "--conversation", KEY], 0);
    assert_eq!(described["writer"]["kind"], "fallback", "{described}");
    assert!(text(&place.run(&["describe", name, "--conversation", KEY], 0).stdout).contains("a fallback"));
    no_letters(&place, &[&compacted, &forced, &described]);
    let dropped = place.json(&["jobs", KEY, "--clear"], 0);
    assert!(dropped["dropped"].as_u64() > Some(3) && dropped["jobs"] == json!([]), "{dropped}");
    let good = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD}"}}"#)));
    settings(&place, &[&good.address()]);
    assert_eq!(place.json(&["jobs", KEY, "--run"], 0)["ran"], json!([]), "nothing is wanted any more");
}

#[test]
fn summaries_that_fail_alike_are_told_once() {
    let down = Provider::always(Act::Reply(openai::error(500, "server_error", "server_error", "down")));
    let place = place(&[&down.address()]);
    let told = text(&place.run(&["compact", KEY, "--window", "2k"], 0).stdout);
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("not written (")).collect();
    let reasons: std::collections::BTreeSet<&str> =
        lines.iter().filter_map(|line| line.split_once(" not written (")).map(|(_, why)| why).collect();
    assert_eq!(lines.len(), reasons.len(), "{told}");
    assert!(lines.iter().any(|line| line.contains(" more not written (")), "{told}");
}

#[test]
fn f032_a_chain_goes_on_to_the_next_model() {
    let down =
        Provider::always(Act::Reply(openai::error(402, "insufficient_quota", "insufficient_quota", "pay")));
    let good = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD}"}}"#)));
    let place = place(&[&down.address(), &good.address()]);
    let config = text(&place.run(&["config"], 0).stdout);
    assert!(config.contains("openai test, then openai test"), "{config}");
    let compacted = place.json(&["compact", KEY, "--window", "2k"], 0);
    assert!(compacted["by_model"].as_u64() > Some(3), "{compacted}");
    assert_eq!(down.heard().len(), 1, "its breaker opened");
    let accounts = place.json(&["jobs", KEY], 0)["accounts"].clone();
    let states: Vec<_> =
        accounts.as_array().unwrap().iter().map(|account| account["state"].as_str().unwrap()).collect();
    assert!(
        states.iter().any(|state| state.starts_with("open")) && states.contains(&"closed 0"),
        "{states:?}"
    );
}

#[test]
fn settings_that_cannot_be_used_are_told_without_their_letters() {
    let place = place(&[]);
    let table = [
        ("[summariser]\nkey = \"sk-hunter2\"\n", "line 2", "a key has no place in the file"),
        (
            "[[summariser.models]]\nkind = \"openai\"\nmodel = \"m\"\nkey_env = \"NOT_SET\"\n",
            "NOT_SET",
            "no key",
        ),
        ("[[summariser.models]]\nkind = \"magic\"\n", "magic", "no such kind"),
        ("summariser = 7\n", "line 1", "no table"),
    ];
    for (settings, want, why) in table {
        place.write(".config/unforget/config.toml", settings);
        let failed = place.json(&["compact", KEY, "--window", "2k"], 3);
        let told = failed["error"]["message"].as_str().unwrap();
        assert!(failed["error"]["kind"] == "config" && told.contains(want), "{why}: {failed}");
        assert!(!told.contains("hunter2"), "{why}: {told}");
    }
    place.write(".config/unforget/config.toml", "");
    place.run(&["jobs", KEY, "--run"], 2);
}

#[test]
fn a_question_is_answered_with_passages_and_under_a_grant() {
    let provider = Provider::start([openai::text("It was the loop in src/part_7.rs [1], not [99].")]);
    let place = place(&[]);
    let question = "what was wrong with part_7";
    let none = place.json(&["answer", question, KEY], 0);
    assert_eq!(
        (&none["ended"], &none["text"], &none["grant"]),
        (&json!("no-model"), &Value::Null, &Value::Null)
    );
    let found = none["passages"].as_array().unwrap();
    assert!(found[0]["text"].as_str().unwrap().contains("part_7"), "{none}");
    assert!(text(&place.run(&["answer", question, KEY], 0).stdout).contains("no model was asked"));

    settings(&place, &[&provider.address()]);
    let answered = place.json(&["answer", question, KEY, "--tokens", "2k"], 0);
    assert_eq!((&answered["ended"], &answered["grant"]), (&json!("answered"), &json!(1)), "{answered}");
    assert_eq!((&answered["invented"], &answered["passages"][0]["cited"]), (&json!([99]), &json!(true)));
    let id = answered["passages"][0]["id"].as_str().unwrap();
    let page = place.json(&["expand", id], 0);
    assert!(page["items"][0]["text"].as_str().unwrap().contains("part_"), "receipts expand: {page}");
    provider.then(Act::Hang);
    let late = place.json(&["answer", question, KEY, "--within", "1"], 0);
    assert_eq!((&late["ended"], &late["grant"]), (&json!("partial"), &json!(2)), "{late}");
    assert!(!late["passages"].as_array().unwrap().is_empty());
    let conn = rusqlite::Connection::open(place.path("store.sqlite")).unwrap();
    let mut rows = conn
        .prepare("SELECT how, used_calls, used_tokens <= tokens FROM answer_grant ORDER BY number")
        .unwrap();
    let rows: Vec<(String, i64, bool)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows, [("answered".to_owned(), 1, true), ("partial".to_owned(), 1, true)]);
    let nested = place.command().args(["answer", question]).env("UNFORGET_ASKED", "1").output().unwrap();
    assert_eq!(nested.status.code(), Some(2), "an answer never asks for another");
    let nothing = place.json(&["answer", "zebra", KEY], 0);
    assert_eq!((&nothing["ended"], nothing["calls"].as_u64()), (&json!("nothing-found"), Some(0)));
    no_letters(&place, &[&answered, &late]);
}

#[test]
fn a_question_may_name_what_it_is_about() {
    let provider = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD} [1]"}}"#)));
    let place = place(&[&provider.address()]);
    place.run(&["compact", KEY, "--window", "2k"], 0);
    let summary = place.json(&["jobs", KEY], 0)["jobs"][0]["name"].as_str().unwrap().to_owned();
    let question = "what was wrong with part_7";
    let first = format!("e:{KEY}:8");
    let args = ["answer", question, KEY, "--from", &first, "--from", &summary, "--from", "s:3"];
    let read = place.json(&[&args[..], &["--no-model"]].concat(), 0);
    assert_eq!((&read["passages"][0]["id"], &read["from"][0]["id"]), (&json!(first), &json!(first)));
    assert_eq!((&read["from"][1]["id"], &read["from"][2]["read"]), (&json!(summary), &json!(1)), "{read}");
    assert!(read["from"][1]["read"].as_u64() > Some(1), "{read}");
    let seqs: Vec<_> = read["passages"].as_array().unwrap().iter().map(|one| one["seq"].as_u64()).collect();
    let once: std::collections::BTreeSet<_> = seqs.iter().collect();
    assert_eq!(once.len(), seqs.len(), "{seqs:?}");
    let small = place.run(&["answer", question, KEY, "--from", &summary, "--tokens", "90", "--no-model"], 0);
    let told = text(&small.stdout);
    assert!(told.contains(&format!("{summary}: ")) && told.contains("read whole"), "{told}");

    let answered = place.json(&args, 0);
    assert_eq!((&answered["ended"], &answered["passages"][0]["cited"]), (&json!("answered"), &json!(true)));
    let many: Vec<&str> = ["--from", "s:1"].repeat(70);
    for (bad, what) in [
        (vec!["--from", "e:pi:others:1"], "nothing is called e:pi:others:1 in pi:models"),
        (vec!["--from", "sum:1.0.abc"], "sum:1.0.abc"),
        (vec!["--from", ""], "nothing is called"),
        (many, "70 names"),
    ] {
        let failed = place.run(&[&["answer", question, KEY][..], &bad].concat(), 2);
        assert!(text(&failed.stderr).contains(what), "{what}: {}", text(&failed.stderr));
    }
}

/// A host's engine works on waiting jobs while it serves, and ends when its input does.
#[test]
fn an_engine_has_models_write_behind_its_calls() {
    let refuses = Provider::always(Act::Reply(openai::error(401, "auth", "invalid_api_key", "no")));
    let place = place(&[&refuses.address()]);
    place.run(&["compact", KEY, "--window", "2k"], 0);
    let good = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD}"}}"#)));
    settings(&place, &[&good.address()]);
    let mut engine = std::process::Command::new(support::binary());
    engine
        .args(["engine", "--stdio"])
        .env("HOME", place.path(""))
        .env("UNFORGET_DB", place.path("store.sqlite"));
    engine.current_dir(place.path("")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut engine = engine.spawn().unwrap();
    let (mut input, mut output) =
        (engine.stdin.take().unwrap(), BufReader::new(engine.stdout.take().unwrap()));
    let begun = Instant::now();
    while good.heard().len() < 3 {
        input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains("\"lanes\":0"), "calls are answered meanwhile: {line}");
        assert!(begun.elapsed() < Duration::from_mins(1), "nobody works");
    }
    drop(input);
    let ended = engine.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
    let jobs = place.json(&["jobs", KEY], 0);
    let done = jobs["jobs"].as_array().unwrap().iter().filter(|job| job["state"] == "done").count();
    assert!(done >= 2, "{jobs}");
    no_letters(&place, &[&jobs]);
}
