//! The external command: its protocol, and every kind of misbehaviour.
#![cfg(unix)]
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use unforget_llm::{Answer, Cause, Command, Fault, Model, Request, Stop, Usage};

const LONG: u64 = 60_000;

fn shell(script: &str) -> Command {
    let arguments = ["-c", script].map(OsString::from).to_vec();
    Command::new("/bin/sh", arguments, "script").with_answer_bytes_max(1_000)
}

fn ask(user: &str, within_ms: u64) -> Request<'_> {
    let within = Duration::from_millis(within_ms);
    Request { system: "You record.", user, output_tokens_max: 256, within, temperature: None }
}

fn call(script: &str, within_ms: u64) -> Result<Answer, Fault> {
    shell(script).call(&ask("What happened?", within_ms))
}

#[test]
fn the_request_is_on_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let script = format!(r#"cat > "{}"; echo '{{"text":"fine"}}'"#, path.display());
    let request = Request { temperature: Some(0.5), ..ask("a\n\"b\" \u{2028} $(c)", LONG) };
    assert_eq!(shell(&script).call(&request).unwrap().text, "fine");
    let heard: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let want = serde_json::json!({
        "version": 1, "system": "You record.", "user": "a\n\"b\" \u{2028} $(c)", "max_output_tokens": 256,
        "within_ms": LONG, "temperature": 0.5,
    });
    assert_eq!(heard, want);
}

#[test]
fn the_answer_is_on_its_output() {
    let whole = r#"echo '{"text":" fine ","stop":"max-tokens","usage":{"input":9,"output":2},"model":"m"}'"#;
    let usage = Usage { input: Some(9), output: Some(2), cached: None };
    let want = Answer { text: "fine".into(), stop: Stop::MaxTokens, usage, model: Some("m".into()) };
    assert_eq!(call(whole, LONG).unwrap(), want);
    let table = [
        (r#"echo '{"text":"a"}'"#, "a", Stop::End, "the shortest answer"),
        (r#"echo '{"text":""}'"#, "", Stop::End, "empty"),
        (r#"echo '{"text":"<think>b</think>"}'"#, "", Stop::ThinkingOnly, "thinking only"),
        (r#"echo '{"text":"","stop":"tool-call"}'"#, "", Stop::ToolCall, "a tool call"),
        (r#"echo '{"text":"","stop":"odd"}'"#, "", Stop::Unknown("odd".into()), "an unknown stop"),
        (r#"exec 0<&-; echo '{"text":"c"}'"#, "c", Stop::End, "input that is not read"),
        (r#"echo noise >&2; echo '{"text":"d"}'"#, "d", Stop::End, "words on the standard error"),
    ];
    for (script, text, stop, why) in table {
        let answer = call(script, LONG).unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), (text, stop), "{why}");
    }
}

#[test]
fn f017_every_failure_has_its_cause() {
    let bad = |place: &str| Cause::BadAnswer { place: place.to_owned() };
    let told =
        |cause: &str| format!(r#"echo '{{"error":{{"cause":"{cause}","retry_after_ms":1500}}}}'; exit 1"#);
    let retry_after = Some(Duration::from_millis(1_500));
    let table = [
        ("exit 3".to_owned(), Cause::Command { exit: Some(3) }, "a failure"),
        ("kill -9 $$".to_owned(), Cause::Command { exit: None }, "a signal"),
        ("true".to_owned(), bad("line 1, column 0"), "no answer"),
        ("echo hello".to_owned(), bad("line 1, column 1"), "no JSON"),
        ("echo '[]'".to_owned(), bad("/text"), "JSON of another shape"),
        (r#"printf '{"text":"a'"#.to_owned(), bad("line 1, column 10"), "cut off"),
        ("head -c 5000 /dev/zero".to_owned(), Cause::AnswerTooLarge { bytes_max: 1_000 }, "too much"),
        ("yes".to_owned(), Cause::AnswerTooLarge { bytes_max: 1_000 }, "without end"),
        (told("auth"), Cause::Auth, "told: auth"),
        (told("payment"), Cause::Payment, "told: payment"),
        (told("rate-limited"), Cause::RateLimited { retry_after }, "told: rate"),
        (told("overloaded"), Cause::Overloaded { retry_after }, "told: overloaded"),
        (told("server"), Cause::Server { retry_after }, "told: server"),
        (told("too-long"), Cause::TooLong { limit: None, sent: None }, "told: too long"),
        (told("odd"), Cause::Unknown { status: None }, "told: something else"),
    ];
    for (script, want, why) in table {
        assert_eq!(call(&script, LONG).unwrap_err().cause, want, "{why}");
    }
    let missing = Command::new("/no/such/program", Vec::new(), "x").call(&ask("a", LONG)).unwrap_err();
    assert_eq!(missing.cause, Cause::NotStarted);
    let words = call("echo 'no disk, password=hunter2x' >&2; exit 1", LONG).unwrap_err();
    assert!(words.detail.starts_with("no disk") && !words.detail.contains("hunter2x"), "{words}");
}

/// Waits, without a fixed sleep, until a process has ended.
fn is_gone(pid: &Path) -> bool {
    let pid = std::fs::read_to_string(pid).unwrap();
    let alive = || {
        // An unreaped zombie counts as ended too.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        stat.is_ok_and(|stat| !stat.contains(") Z"))
    };
    let start = Instant::now();
    while alive() {
        if start.elapsed() > Duration::from_mins(1) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn f017_a_command_that_hangs_dies_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let hang = format!(r#"sleep 600 & echo $! > "{}"; wait"#, pid.display());
    let drip = "while true; do printf x; sleep 0.01; done".to_owned();
    let deaf = "exec 1>&- 2>&-; sleep 600".to_owned();
    let ends = |script: &str, within_ms, why| {
        let start = Instant::now();
        let cause = call(script, within_ms).unwrap_err().cause;
        assert!(matches!(cause, Cause::Timeout), "{why}: {cause:?}");
        assert!(start.elapsed() < Duration::from_mins(1), "{why}");
    };
    // On a busy machine the time may be over before the command has started anything: then it gets more.
    let started = [150, 1_500, 15_000].into_iter().any(|within_ms| {
        ends(&hang, within_ms, "hangs");
        std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))
    });
    assert!(started && is_gone(&pid), "the grandchild is killed with the group");
    ends(&drip, 150, "drips");
    ends(&deaf, 150, "closes its output and goes on");
}

#[test]
fn what_a_command_leaves_behind_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // The process left behind holds the output open: only its end lets the call return.
    let script = format!(r#"sleep 600 & echo $! > "{}"; echo '{{"text":"fine"}}'"#, pid.display());
    assert_eq!(call(&script, LONG).unwrap().text, "fine");
    assert!(is_gone(&pid));
}

#[test]
fn a_large_request_and_a_chatty_command_do_not_block_each_other() {
    let user = "x".repeat(1 << 20);
    let script = r#"head -c 300000 /dev/zero >&2; cat > /dev/null; echo '{"text":"fine"}'"#;
    assert_eq!(shell(script).call(&ask(&user, LONG)).unwrap().text, "fine");
}
