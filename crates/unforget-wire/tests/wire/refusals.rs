//! Classification of providers' errors by fixtures (`refusals/*.txt`), and of everything else as no error.
//!
//! A fixture begins with `== name`. One field per line follows: `from` (the provider, and the status or `-`), `want`
//! (the class and its figures, as [`told`] writes them), `source` (where the wording is documented or was reported;
//! `own` if we made it), `why`, and optionally `retry` (the header `retry-after`) and `error` (`x-amzn-errortype`).
//! Lines of `body` are the lines of the body. We wrote the bodies after their sources, with shortened ids.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use unforget_core::recover::{Recovery, Refused, Sent, Unit, plan};
use unforget_wire::refusal::{Breach, Headers, Overflow, Provider, Refusal, Reply, What, classify};

#[derive(Default)]
struct Fixture {
    name: String,
    file: String,
    fields: BTreeMap<String, String>,
    body: Vec<String>,
}

impl Fixture {
    fn field(&self, key: &str) -> &str {
        self.fields.get(key).unwrap_or_else(|| panic!("{}: no {key}", self.name))
    }

    fn provider(&self) -> &str {
        self.field("from").split(' ').next().unwrap()
    }

    fn status(&self) -> Option<u16> {
        let status = self.field("from").split(' ').nth(1).unwrap();
        (status != "-").then(|| status.parse().unwrap())
    }

    fn hint(&self) -> Provider {
        match self.provider() {
            "mistral" => Provider::Mistral,
            "cerebras" => Provider::Cerebras,
            _ => Provider::Other,
        }
    }

    fn body(&self) -> String {
        self.body.join("\n")
    }

    fn headers(&self) -> Headers<'_> {
        let get = |key: &str| self.fields.get(key).map(String::as_str);
        Headers { retry_after: get("retry"), retry_after_ms: None, error_type: get("error") }
    }
}

fn fixtures() -> Vec<Fixture> {
    let mut all: Vec<Fixture> = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for path in files {
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            if let Some(name) = line.strip_prefix("== ") {
                all.push(Fixture { name: name.to_owned(), file: file.clone(), ..Fixture::default() });
            } else if let Some(fixture) =
                all.last_mut().filter(|_| !line.is_empty() && !line.starts_with('#'))
            {
                let (key, value) = line.split_at(line.len().min(7));
                match key.trim_end() {
                    "body" => fixture.body.push(value.to_owned()),
                    key => {
                        fixture.fields.insert(key.to_owned(), value.to_owned());
                    }
                }
            }
        }
    }
    all
}

/// A class and its figures in one line, without unset fields.
fn told(refusal: Option<&Refusal>) -> String {
    let Some(refusal) = refusal else { return "none".to_owned() };
    let mut text = refusal.name().to_owned();
    let mut add = |key: &str, figure: Option<u64>| {
        if let Some(figure) = figure {
            write!(text, " {key}={figure}").unwrap();
        }
    };
    match refusal {
        Refusal::Overflow(Overflow { what, limit, sent, output }) => {
            let mut figures = String::new();
            for (key, figure) in [("limit", limit), ("sent", sent), ("output", output)] {
                if let Some(figure) = figure {
                    write!(figures, " {key}={figure}").unwrap();
                }
            }
            return format!("overflow {}{figures}", what_name(*what));
        }
        Refusal::Output { limit, asked } => {
            add("limit", *limit);
            add("asked", *asked);
        }
        Refusal::RateLimited { retry_after, largest } => {
            add("retry", retry_after.map(|time| u64::try_from(time.as_millis()).unwrap()));
            add("largest", *largest);
        }
        Refusal::Overloaded { retry_after } | Refusal::Server { retry_after } => {
            add("retry", retry_after.map(|time| u64::try_from(time.as_millis()).unwrap()));
        }
        Refusal::BadImage { message: Some(message), block: Some(block) } => {
            write!(text, " {message}/{block}").unwrap();
        }
        Refusal::Invalid(breach) => write!(text, " {}", breach_name(*breach)).unwrap(),
        Refusal::Unknown { status } => {
            write!(text, " {}", status.map_or("-".to_owned(), |status| status.to_string())).unwrap();
        }
        _ => {}
    }
    text
}

fn what_name(what: What) -> &'static str {
    match what {
        What::Unspecified => "unspecified",
        What::Input => "input",
        What::InputPlusOutput => "input-plus-output",
        What::RequestBytes => "request-bytes",
        What::Media => "media",
        What::OneText => "one-text",
        What::Messages => "messages",
    }
}

fn breach_name(breach: Breach) -> &'static str {
    match breach {
        Breach::RoleOrder => "role-order",
        Breach::EmptyText => "empty-text",
        Breach::Reasoning => "reasoning",
        Breach::CacheMarks => "cache-marks",
        Breach::CallId => "call-id",
    }
}

fn is_overflow(refusal: Option<&Refusal>) -> bool {
    matches!(refusal, Some(Refusal::Overflow(_) | Refusal::SuspectedOverflow))
}

#[test]
fn f005_every_fixture_has_its_class() {
    let mut wrong = Vec::new();
    for fixture in fixtures() {
        let body = fixture.body();
        let reply = Reply {
            status: fixture.status(),
            headers: fixture.headers(),
            body: body.as_bytes(),
            provider: Some(fixture.hint()),
        };
        let found = told(classify(&reply).as_ref());
        if found != fixture.field("want") {
            wrong.push(format!(
                "{}: found {found:?}, want {:?}: {}",
                fixture.name,
                fixture.field("want"),
                fixture.field("why")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn f005_the_name_of_the_provider_only_makes_bare_refusals_suspected() {
    for fixture in fixtures() {
        let body = fixture.body();
        for provider in [None, Some(Provider::Other), Some(Provider::Mistral), Some(Provider::Cerebras)] {
            let headers = fixture.headers();
            let reply = Reply { status: fixture.status(), headers, body: body.as_bytes(), provider };
            let found = told(classify(&reply).as_ref());
            if !body.is_empty() {
                assert_eq!(found, fixture.field("want"), "{} as {provider:?}", fixture.name);
            }
        }
    }
}

#[test]
fn f005_the_fixtures_cover_every_provider_both_ways() {
    let all = fixtures();
    let names: BTreeSet<_> = all.iter().map(|fixture| &fixture.name).collect();
    assert_eq!(names.len(), all.len(), "names are unique");
    assert!(all.iter().all(|fixture| !fixture.field("source").is_empty()), "every wording has a source");
    assert!(all.len() >= 120, "{} fixtures", all.len());
    let near = all.iter().filter(|fixture| fixture.file == "near-misses");
    assert!(near.clone().count() >= 30);
    assert!(near.clone().all(|fixture| !fixture.field("want").starts_with("overflow")));
    let providers = [
        "anthropic",
        "openai-chat",
        "openai-responses",
        "azure",
        "bedrock",
        "gemini",
        "vertex",
        "ollama",
        "vllm",
        "openrouter",
        "llama.cpp",
        "lmstudio",
        "mistral",
        "groq",
        "xai",
        "deepseek",
        "cohere",
    ];
    for provider in providers {
        let of = all.iter().filter(|fixture| fixture.provider() == provider && fixture.file != "near-misses");
        let (over, other): (Vec<_>, Vec<_>) =
            of.partition(|fixture| fixture.field("want").starts_with("overflow"));
        assert!(!over.is_empty() && !other.is_empty(), "{provider}: {} and {}", over.len(), other.len());
    }
}

/// The messages of all fixtures, as text.
fn messages() -> Vec<String> {
    let mut all = Vec::new();
    for fixture in fixtures() {
        let body = fixture.body();
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&body) {
            let message = value["error"]["message"].as_str().or(value["message"].as_str());
            all.extend(message.or(value["error"].as_str()).map(str::to_owned));
        }
        all.push(body);
    }
    all
}

/// Bodies that are no errors, and errors that only echo `text` as somebody's words.
fn innocent(text: &str) -> Vec<(Option<u16>, String)> {
    let quoted = serde_json::to_string(text).unwrap();
    let is_form = ["{", "[", "data:", "event:", "id:", "retry:", ":"]
        .iter()
        .any(|start| text.trim_start_matches('\u{feff}').trim().starts_with(start));
    vec![
        (Some(200), if is_form { format!("It says: {text}") } else { text.to_owned() }),
        (None, format!("said: {text}")),
        (Some(200), format!(r#"{{"choices":[{{"message":{{"content":{quoted}}}}}]}}"#)),
        (Some(200), format!(r#"{{"type":"message","content":[{{"type":"text","text":{quoted}}}]}}"#)),
        (
            Some(200),
            format!(
                r#"{{"error":null,"status":"completed","output":[{{"content":[{{"text":{quoted}}}]}}]}}"#
            ),
        ),
        (
            Some(200),
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{quoted}}}}}]}}\n\ndata: [DONE]\n\n"),
        ),
        (Some(200), format!("event: content_block_delta\ndata: {{\"delta\":{{\"text\":{quoted}}}}}\n\n")),
        (Some(200), format!("{{\"message\":{{\"content\":{quoted}}}}}\n{{\"done\":true}}")),
        (
            Some(400),
            format!(
                r#"{{"error":{{"message":"Invalid value","type":"invalid_request_error","param":{quoted}}}}}"#
            ),
        ),
        (Some(400), format!(r#"{{"error":{{"message":"Invalid value","input":{quoted}}}}}"#)),
        (Some(422), format!(r#"{{"detail":[{{"msg":{quoted},"input":{quoted}}}]}}"#)),
        (Some(400), format!("bad request: {text}")),
        (Some(400), format!("<html>{text}</html>")),
    ]
}

fn check_innocent(text: &str) {
    for (status, body) in innocent(text) {
        let reply = Reply { status, body: body.as_bytes(), ..Reply::default() };
        let found = classify(&reply);
        assert!(!is_overflow(found.as_ref()), "{} in {status:?} {body}", told(found.as_ref()));
        if status == Some(200) {
            assert_eq!(found, None, "{body}");
        }
    }
}

#[test]
fn f005_what_anybody_says_is_no_error() {
    for message in messages() {
        check_innocent(&message);
    }
}

#[test]
fn f005_no_words_make_a_rate_a_key_or_a_bill_an_overflow() {
    let words = messages();
    for message in
        words.iter().filter(|text| !text.starts_with(['{', '[']) && !text.contains("ContextWindowExceeded"))
    {
        let body = format!(r#"{{"error":{{"message":{}}}}}"#, serde_json::to_string(message).unwrap());
        for status in [401, 402, 403, 404, 429, 451, 503, 529] {
            let reply = Reply { status: Some(status), body: body.as_bytes(), ..Reply::default() };
            let found = classify(&reply);
            assert!(found.is_some() && !is_overflow(found.as_ref()), "{status} {body}");
        }
    }
}

#[test]
fn f005_hostile_bodies_are_bounded() {
    let deep = "[".repeat(900_000);
    let objects = r#"{"error":"#.repeat(100_000);
    let closed = format!("{}1{}", r#"{"error":"#.repeat(80_000), "}".repeat(80_000));
    let huge = format!(r#"{{"error":{{"message":"{}"}}}}"#, "prompt is too long ".repeat(40_000));
    let beyond = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(3 << 20));
    let stream =
        "data: {\"a\":1}\n\n".repeat(200_000) + "data: {\"error\":{\"message\":\"prompt is too long\"}}\n";
    let digits = format!("prompt is too long: {} tokens > 3 maximum", "9".repeat(3_000));
    let table: [(&[u8], &str, &str); 12] = [
        (deep.as_bytes(), "unknown 400", "deep and cut"),
        (objects.as_bytes(), "unknown 400", "deep objects"),
        (closed.as_bytes(), "unknown 400", "deep and whole"),
        (huge.as_bytes(), "unknown 400", "a long message has no known form"),
        (beyond.as_bytes(), "unknown 400", "longer than what is read"),
        (stream.as_bytes(), "overflow input", "of a long stream the end is read"),
        (digits.as_bytes(), "unknown 400", "no number is that long"),
        (
            b"prompt is too long: 18446744073709551616 tokens > 5 maximum",
            "overflow input limit=5",
            "too large for a number: not told",
        ),
        (
            b"{\"error\":{\"message\":\"prompt is too long\xff\"}}",
            "unknown 400",
            "broken UTF-8 is no part of a form",
        ),
        (
            b"{\"error\":{\"message\":\"Prompt\\u0020is too long\",\"x\":\"\xff\"}}",
            "overflow input",
            "broken UTF-8 elsewhere",
        ),
        (
            b"{\"error\":{\"message\":\"\\ud800\",\"code\":\"context_length_exceeded\"}}",
            "overflow unspecified",
            "half a surrogate",
        ),
        (b"\x00\x00\x00", "unknown 400", "no text at all"),
    ];
    for (body, want, why) in table {
        let reply = Reply { status: Some(400), body, ..Reply::default() };
        assert_eq!(told(classify(&reply).as_ref()), want, "{why}");
    }
}

#[test]
fn f003_f005_f011_f064_what_recovery_is_told() {
    let sent = Sent {
        input: 170_000,
        output: 16_000,
        window: 200_000,
        bytes: 680_000,
        media: 1,
        digest: unforget_core::digest::Digest::of(b"refused"),
    };
    let over = |what| Refusal::Overflow(Overflow { what, limit: Some(9), sent: Some(10), output: None });
    let unit = |unit| Refused::Overflow { unit, limit: Some(9), sent: Some(10), output: None };
    let table = [
        (over(What::Input), unit(Unit::Input)),
        (over(What::Unspecified), unit(Unit::Input)),
        (over(What::InputPlusOutput), unit(Unit::InputAndOutput)),
        (over(What::RequestBytes), unit(Unit::Bytes)),
        (over(What::Media), unit(Unit::Media)),
        (over(What::OneText), unit(Unit::Other)),
        (Refusal::SuspectedOverflow, Refused::Suspected),
        (Refusal::Output { limit: Some(9), asked: None }, Refused::Output { limit: Some(9) }),
        (Refusal::BadImage { message: None, block: None }, Refused::Media { place: None }),
        (Refusal::BadImage { message: Some(7), block: Some(2) }, Refused::Media { place: Some((7, 2)) }),
        (Refusal::Unknown { status: Some(400) }, Refused::Unrecognised),
        (Refusal::Unknown { status: Some(418) }, Refused::Other),
        (Refusal::ToolPairing, Refused::Other),
        (Refusal::RateLimited { retry_after: None, largest: Some(9) }, Refused::Other),
    ];
    for (refusal, want) in table {
        assert_eq!(refusal.refused(), want, "{refusal:?}");
    }
    // For no fixture does recovery ask for more than the refused request.
    for fixture in fixtures() {
        let body = fixture.body();
        let reply = Reply {
            status: fixture.status(),
            headers: fixture.headers(),
            body: body.as_bytes(),
            provider: None,
        };
        let Some(refusal) = classify(&reply) else { continue };
        match plan(0, refusal.refused(), &sent) {
            Recovery::Retry(retry) => assert!(retry.input <= sent.input && retry.output <= sent.output),
            Recovery::Surface(_) => assert!(!is_overflow(Some(&refusal)), "{}", fixture.name),
        }
    }
}

thread_local! {
    static BODIES: Vec<String> = fixtures().iter().map(Fixture::body).collect();
}

fn status() -> impl Strategy<Value = Option<u16>> {
    proptest::option::of(prop_oneof![
        any::<u16>(),
        prop::sample::select(vec![200, 400, 401, 402, 403, 404, 413, 422, 429, 500, 502, 503, 529])
    ])
}

proptest! {
    /// Any bytes with any status: no panic.
    #[test]
    fn f005_any_body(body in prop::collection::vec(any::<u8>(), 0..400), status in status()) {
        classify(&Reply { status, body: &body, ..Reply::default() });
    }

    /// Fixtures cut or damaged anywhere: no panic.
    #[test]
    fn f005_damaged_bodies(
        pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        cut in any::<bool>(), status in status(),
    ) {
        let mut body = BODIES.with(|bodies| pick.get(bodies).clone()).into_bytes();
        if !body.is_empty() {
            let at = at.index(body.len());
            if cut { body.truncate(at) } else { body[at] = byte }
        }
        classify(&Reply { status, body: &body, ..Reply::default() });
    }

    /// No spoken text is taken for an error.
    #[test]
    fn f005_any_text_is_innocent(text in "\\PC{0,80}") {
        check_innocent(&text);
    }
}
