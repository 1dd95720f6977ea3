//! Models of vectors behind an endpoint and behind a command: their protocols, and every kind of misbehaviour.
use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::common::{LETTERS, endpoint, endpoint_at};
use unforget_llm::embed::{Embedded, Embedder, HttpEmbedder, unit_vectors};
use unforget_llm::{Cause, Fault};
use unforget_testkit::Port;
use unforget_testkit::provider::{Act, Provider, Reply};

const LONG: Duration = Duration::from_mins(1);
const TEXTS: [&str; 2] = ["the cat", "le chat"];

fn reply(body: &str) -> Act {
    Act::Reply(Reply::new(200, body))
}

fn asked(act: Act, within: Duration) -> Result<Embedded, Fault> {
    let provider = Provider::start([act]);
    let embedder = HttpEmbedder::new(endpoint(&provider)).unwrap();
    let made = unit_vectors(&embedder, &TEXTS, Some(2), within);
    assert!(provider.heard().len() <= 1, "a client never retries");
    made
}

#[test]
fn the_request_is_the_protocols() {
    let body = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":7}}"#;
    let provider = Provider::start([reply(body)]);
    let mut settings = endpoint(&provider);
    settings.extra.insert("dimensions".into(), 2.into());
    let embedder = HttpEmbedder::new(settings).unwrap();
    let made = unit_vectors(&embedder, &TEXTS, None, LONG).unwrap();
    assert_eq!(made, Embedded { vectors: vec![vec![0.6, 0.8], vec![0.0, 1.0]], tokens: Some(7) });
    let heard = provider.heard().remove(0);
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/v1/embeddings"));
    assert_eq!(heard.header("authorization"), Some(format!("Bearer {LETTERS}").as_str()));
    let want = serde_json::json!({
        "model": "test-model", "input": TEXTS, "encoding_format": "float", "dimensions": 2,
    });
    assert_eq!(heard.json(), want);
    assert_eq!((embedder.name(), embedder.is_local()), ("test-model", false));
}

#[test]
fn hostile_answers_are_refused_with_their_place() {
    let two = |vectors: &str| format!(r#"{{"data":[{vectors}]}}"#);
    let one = r#"{"embedding":[1,0]}"#;
    let table = [
        (two(&format!("{one},{one}")), None, "no numbers of places"),
        (two(r#"{"index":0,"embedding":[1,0]},{"index":0,"embedding":[0,1]}"#), None, "both the first"),
        (two(one), Some("/data"), "fewer vectors than texts"),
        (two(&format!("{one},{one},{one}")), Some("/data"), "more of them"),
        (two(&format!(r#"{one},{{"embedding":[1,0,0]}}"#)), Some("vector 1"), "another length"),
        (two(&format!(r#"{one},{{"embedding":[]}}"#)), Some("vector 1"), "empty"),
        (two(&format!(r#"{one},{{"embedding":[0,0]}}"#)), Some("vector 1"), "no direction"),
        (two(&format!(r#"{one},{{"embedding":[1e39,0]}}"#)), Some("vector 1"), "beyond a number"),
        (two(&format!(r#"{one},{{"embedding":[1,"x"]}}"#)), Some("/data/1/embedding"), "letters"),
        (
            two(&format!(r#"{one},{{"embedding":[1,null]}}"#)),
            Some("/data/1/embedding"),
            "NaN, as JSON has it",
        ),
        (two(&format!(r#"{one},{{"embedding":"AAAA"}}"#)), Some("/data/1/embedding"), "base64"),
        ("[NaN]".to_owned(), Some("line 1"), "no JSON"),
        (String::new(), Some("line 1"), "nothing"),
        ("[".repeat(100_000), Some("line 1"), "deeply nested"),
        (
            two(&format!(r#"{{"embedding":[{}0]}},{one}"#, "1,".repeat(8192))),
            Some("more than 8192"),
            "too many numbers",
        ),
        (two(&"{\"embedding\":[]},".repeat(1000)), Some("more than 2 vectors"), "too many vectors"),
        (
            format!(r#"{{"more":{}1{},"data":[{one},{one}]}}"#, "[".repeat(90), "]".repeat(90)),
            None,
            "passed over",
        ),
    ];
    for (body, want, why) in table {
        let told = asked(reply(&body), LONG).map_err(|fault| fault.cause);
        match (want, told) {
            (None, Ok(made)) => assert_eq!(made.vectors.len(), 2, "{why}"),
            (Some(want), Err(Cause::BadAnswer { place })) => assert!(place.contains(want), "{why}: {place}"),
            (_, told) => panic!("{why}: {told:?}"),
        }
    }
}

#[test]
fn failures_are_causes() {
    let port = Port::hold();
    let nobody = HttpEmbedder::new(endpoint_at(&format!("http://{}", port.address()))).unwrap();
    assert_eq!(unit_vectors(&nobody, &TEXTS, None, LONG).unwrap_err().cause, Cause::Connect);
    let busy = Act::Reply(Reply::new(429, "{}").with("retry-after", "7"));
    let wait = Some(Duration::from_secs(7));
    assert_eq!(asked(busy, LONG).unwrap_err().cause, Cause::RateLimited { retry_after: wait });
    assert_eq!(asked(Act::Reply(Reply::new(401, "{}")), LONG).unwrap_err().cause, Cause::Auth);
    let huge = vec![b' '; (16 << 20) + 1];
    let told = asked(Act::Reply(Reply::new(200, huge)), LONG).unwrap_err().cause;
    assert_eq!(told, Cause::AnswerTooLarge { bytes_max: 16 << 20 });
    let started = Instant::now();
    assert_eq!(asked(Act::Hang, Duration::from_millis(50)).unwrap_err().cause, Cause::Timeout);
    let drip = Act::Drip(Reply::new(200, "{}".repeat(1000)), Duration::from_millis(20));
    assert_eq!(asked(drip, Duration::from_millis(50)).unwrap_err().cause, Cause::Timeout);
    assert!(started.elapsed() < LONG, "the time is a bound");
    let well = reply(r#"{"error":{"message":"no"}}"#);
    assert_eq!(
        asked(well, LONG).unwrap_err().cause,
        Cause::Unknown { status: None },
        "an error that says it is fine"
    );
    let fault = asked(Act::Reply(Reply::new(400, format!("bad key {LETTERS}"))), LONG).unwrap_err();
    assert!(!fault.to_string().contains(LETTERS), "{fault}");
}

#[cfg(unix)]
mod command {
    use super::*;
    use unforget_llm::embed::CommandEmbedder;

    fn shell(script: &str) -> CommandEmbedder {
        CommandEmbedder::new("/bin/sh", ["-c", script].map(OsString::from).to_vec(), "script")
    }

    const GOOD: &str = r#"echo '{"vectors":[[3,4],[0,1]],"tokens":5}'"#;

    #[test]
    fn lines_go_in_and_out_of_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heard");
        let path = path.display();
        let script = format!(
            r#"echo start >> "{path}"; while read -r line; do printf '%s\n' "$line" >> "{path}"; {GOOD}; done"#
        );
        let embedder = shell(&script);
        for _ in 0..2 {
            let made = unit_vectors(&embedder, &["a\n\"b\"", "$(c) \u{2028}"], None, LONG).unwrap();
            assert_eq!(made, Embedded { vectors: vec![vec![0.6, 0.8], vec![0.0, 1.0]], tokens: Some(5) });
        }
        let heard = std::fs::read_to_string(folder.path().join("heard")).unwrap();
        let lines: Vec<&str> = heard.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "start"), "it is started once");
        let want = serde_json::json!({"version": 1, "texts": ["a\n\"b\"", "$(c) \u{2028}"]});
        assert_eq!(serde_json::from_str::<serde_json::Value>(lines[2]).unwrap(), want);
    }

    #[test]
    fn misbehaviour_is_a_cause_and_ends_the_process() {
        let ask = |script: &str, within: Duration| {
            let embedder = shell(&format!("read -r line; {script}"));
            unit_vectors(&embedder, &TEXTS, Some(2), within).map_err(|fault| fault.cause)
        };
        let bad = |place: &str| Cause::BadAnswer { place: place.to_owned() };
        // A place of ours is followed by that in the JSON.
        let told = |cause: Cause| match cause {
            Cause::BadAnswer { place } => {
                let ours = place.split(": invalid").next().and_then(|place| place.split(" at line").next());
                bad(ours.unwrap_or_default())
            }
            cause => cause,
        };
        let table = [
            (GOOD, Ok(2), "well"),
            ("exit 3", Err(Cause::Command { exit: Some(3) }), "it ends"),
            ("echo words", Err(bad("expected value")), "no JSON"),
            (r#"echo '{"tokens":7}'"#, Err(bad("/vectors")), "no list"),
            (
                r#"echo '{"vectors":[[1,0],["x"]]}'"#,
                Err(bad("/vectors/1, which is no list of numbers")),
                "letters",
            ),
            (r#"echo '{"vectors":[[1,0]]}'"#, Err(bad("its vectors: 1 for 2 texts")), "fewer"),
            (
                r#"echo '{"vectors":[[1,0],[1,0,0]]}'"#,
                Err(bad("vector 1, which has 3 numbers instead of 2")),
                "another length",
            ),
            (r#"echo '{"error":{"cause":"policy","message":"no"}}'"#, Err(Cause::Policy), "its own cause"),
            (
                "head -c 16777300 /dev/zero",
                Err(Cause::AnswerTooLarge { bytes_max: 16 << 20 }),
                "without an end",
            ),
        ];
        for (script, want, why) in table {
            assert_eq!(ask(script, LONG).map(|made| made.vectors.len()).map_err(told), want, "{why}");
        }
        assert_eq!(ask("sleep 60", Duration::from_millis(50)).unwrap_err(), Cause::Timeout);
        let missing = CommandEmbedder::new("/nowhere/at/all", Vec::new(), "m");
        assert_eq!(unit_vectors(&missing, &TEXTS, None, LONG).unwrap_err().cause, Cause::NotStarted);
    }

    #[test]
    fn after_a_failure_it_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let mark = mark.display();
        let script = format!(
            r#"read -r line; if [ -e "{mark}" ]; then {GOOD}; else touch "{mark}"; echo no; fi; read -r line"#
        );
        let embedder = shell(&script);
        assert!(matches!(
            unit_vectors(&embedder, &TEXTS, None, LONG).unwrap_err().cause,
            Cause::BadAnswer { .. }
        ));
        assert_eq!(unit_vectors(&embedder, &TEXTS, None, LONG).unwrap().vectors.len(), 2);
    }
}
