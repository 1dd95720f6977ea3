//! Both HTTP clients against every kind of answer or failure of a provider.
use crate::common;

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::common::{LETTERS, classify, endpoint, endpoint_at, request};
use unforget_llm::{Account, Answer, Anthropic, Cause, Endpoint, Fault, Model, OpenAi, Stop, Usage};
use unforget_testkit::Port;
use unforget_testkit::provider::{Act, Heard, Provider, Reply, anthropic, openai};

/// Long enough for every answering server.
const LONG: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
enum Client {
    OpenAi,
    Anthropic,
}

const BOTH: [Client; 2] = [Client::OpenAi, Client::Anthropic];

impl Client {
    fn model(self, provider: &Provider) -> Box<dyn Model> {
        self.model_at(endpoint(provider))
    }

    fn model_at(self, endpoint: Endpoint) -> Box<dyn Model> {
        match self {
            Self::OpenAi => Box::new(OpenAi::new(endpoint).unwrap()),
            Self::Anthropic => Box::new(Anthropic::new(endpoint).unwrap()),
        }
    }

    fn text(self, text: &str) -> Reply {
        let act = match self {
            Self::OpenAi => openai::text(text),
            Self::Anthropic => anthropic::text(text),
        };
        let Act::Reply(reply) = act else { unreachable!("a text is a reply") };
        reply
    }

    fn error(self, status: u16, kind: &str, message: &str) -> Reply {
        match self {
            Self::OpenAi => openai::error(status, kind, kind, message),
            Self::Anthropic => anthropic::error(status, kind, message),
        }
    }

    fn call(self, act: Act, within_ms: u64) -> (Result<Answer, Fault>, Heard) {
        let provider = Provider::start([act]);
        let result = self.model(&provider).call(&request(within_ms));
        let heard = provider.heard();
        assert!(heard.len() <= 1, "a client never retries");
        (result, heard.into_iter().next().unwrap_or_default())
    }

    fn cause(self, act: Act, within_ms: u64) -> Cause {
        self.call(act, within_ms).0.unwrap_err().cause
    }
}

#[test]
fn the_request_is_the_protocols() {
    let (answer, heard) = Client::OpenAi.call(openai::text("fine"), LONG);
    let want = Usage { input: Some(120), output: Some(7), cached: Some(100) };
    let model = Some("gpt-test-2026".to_owned());
    assert_eq!(answer.unwrap(), Answer { text: "fine".into(), stop: Stop::End, usage: want, model });
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(heard.header("authorization"), Some(format!("Bearer {LETTERS}").as_str()));
    let body = serde_json::json!({
        "model": "test-model", "stream": false, "max_tokens": 256,
        "messages": [
            {"role": "system", "content": "You record."}, {"role": "user", "content": "What happened?"},
        ],
    });
    assert_eq!(heard.json(), body);

    let (answer, heard) = Client::Anthropic.call(anthropic::text("fine"), LONG);
    let want = Usage { input: Some(120), output: Some(7), cached: Some(90) };
    let model = Some("claude-test-1".to_owned());
    assert_eq!(answer.unwrap(), Answer { text: "fine".into(), stop: Stop::End, usage: want, model });
    assert_eq!((heard.method.as_str(), heard.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(heard.header("x-api-key"), Some(LETTERS));
    assert_eq!(heard.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(heard.header("authorization"), None);
    let body = serde_json::json!({
        "model": "test-model", "stream": false, "max_tokens": 256, "system": "You record.",
        "messages": [{"role": "user", "content": "What happened?"}],
    });
    assert_eq!(heard.json(), body);
}

#[test]
fn settings_shape_the_request() {
    let provider = Provider::start([openai::text("a"), openai::text("b"), anthropic::text("c")]);
    let mut settings = endpoint(&provider);
    settings.extra.insert("reasoning_effort".into(), "low".into());
    settings.extra.insert("stream".into(), true.into());
    settings.takes_temperature = true;
    let warm = unforget_llm::Request { temperature: Some(0.5), system: "", ..request(LONG) };
    OpenAi::new(settings.clone()).unwrap().with_completion_limit(true).call(&warm).unwrap();
    OpenAi::new(endpoint(&provider)).unwrap().call(&warm).unwrap();
    Anthropic::new(settings).unwrap().call(&warm).unwrap();
    let heard = provider.heard();
    let body = heard[0].json();
    assert_eq!(body["max_completion_tokens"], 256);
    assert_eq!(body.get("max_tokens"), None);
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(body["stream"], false, "ours win");
    assert_eq!(body["messages"].as_array().unwrap().len(), 1, "an empty system text is left out");
    assert_eq!(heard[1].json().get("temperature"), None, "not unless it may be sent");
    assert_eq!(heard[2].json()["temperature"], 0.5);
    assert_eq!(heard[2].json().get("system"), None);
}

#[test]
fn f024_every_shape_of_an_answer_has_its_stop() {
    let message = |message: serde_json::Value, reason| Act::Reply(openai::completion(&message, reason));
    let wrapped = serde_json::json!({"role": "assistant", "content": "<think>hm</think>"});
    let both = serde_json::json!({"role": "assistant", "content": "kept", "reasoning_content": "hm"});
    let openrouter = serde_json::json!({"role": "assistant", "content": null, "reasoning": "hm"});
    let blocks = serde_json::json!({"role": "assistant", "content": [
        {"type": "text", "text": "ke"}, {"type": "other"}, {"type": "text", "text": "pt"},
    ]});
    let calls = serde_json::json!({"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]});
    let plain = serde_json::json!({"role": "assistant", "content": "kept"});
    let content = |blocks: serde_json::Value, reason| Act::Reply(anthropic::message(&blocks, reason));
    let thought = serde_json::json!([
        {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "kept"},
    ]);
    let text = serde_json::json!([{"type": "text", "text": "kept"}]);
    let unknown = |word: &str| Stop::Unknown(word.to_owned());
    let table = [
        (Client::OpenAi, openai::echo(), "What happened?", Stop::End, "echo"),
        (Client::OpenAi, openai::text(""), "", Stop::End, "empty"),
        (Client::OpenAi, openai::cut_off("ke"), "ke", Stop::MaxTokens, "cut off"),
        (Client::OpenAi, openai::refusal("I can't"), "I can't", Stop::Refusal, "refusal"),
        (Client::OpenAi, message(plain.clone(), "content_filter"), "kept", Stop::Refusal, "filter"),
        (Client::OpenAi, openai::tool_call(), "", Stop::ToolCall, "tool call only"),
        (Client::OpenAi, message(calls, "stop"), "", Stop::ToolCall, "tool call that ends with stop"),
        (Client::OpenAi, openai::thinking_only(), "", Stop::ThinkingOnly, "thinking only"),
        (Client::OpenAi, message(openrouter, "stop"), "", Stop::ThinkingOnly, "thinking only, another name"),
        (Client::OpenAi, message(wrapped, "stop"), "", Stop::ThinkingOnly, "thinking in the text"),
        (Client::OpenAi, message(both, "stop"), "kept", Stop::End, "text and thinking"),
        (Client::OpenAi, message(blocks, "eos"), "kept", Stop::End, "blocks, and a word of vLLM's"),
        (Client::OpenAi, message(plain, "guardrail"), "kept", unknown("guardrail"), "a new word"),
        (Client::Anthropic, anthropic::echo(), "What happened?", Stop::End, "echo"),
        (Client::Anthropic, anthropic::text(""), "", Stop::End, "empty"),
        (Client::Anthropic, anthropic::cut_off("ke"), "ke", Stop::MaxTokens, "cut off"),
        (Client::Anthropic, anthropic::refusal(), "", Stop::Refusal, "refusal"),
        (Client::Anthropic, anthropic::tool_call(), "", Stop::ToolCall, "tool call only"),
        (Client::Anthropic, anthropic::thinking_only(), "", Stop::ThinkingOnly, "thinking only"),
        (Client::Anthropic, content(thought, "end_turn"), "kept", Stop::End, "text and thinking"),
        (Client::Anthropic, content(text, "pause_turn"), "kept", unknown("pause_turn"), "another word"),
    ];
    for (client, act, text, stop, why) in table {
        let answer = client.call(act, LONG).0.unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), (text, stop), "{client:?}: {why}");
    }
}

#[test]
fn f017_f018_every_failure_has_its_cause() {
    let secs = |seconds| Some(Duration::from_secs(seconds));
    let html = || Reply::new(502, "<html><body>Bad Gateway</body></html>");
    for client in BOTH {
        let error = |status, kind, message| client.error(status, kind, message);
        let limited = || error(429, "rate_limit_error", "Rate limit reached");
        let dated = limited()
            .with("retry-after", "Mon, 07 Nov 2016 08:50:07 GMT")
            .with("date", "Mon, 07 Nov 2016 08:50:00 GMT");
        let long = "prompt is too long: 210000 tokens > 200000 maximum";
        let too_long = Cause::TooLong { limit: Some(200_000), sent: Some(210_000) };
        let bad = |place: &str| Cause::BadAnswer { place: place.to_owned() };
        let first = match client {
            Client::OpenAi => "/choices/0",
            Client::Anthropic => "/content",
        };
        let elsewhere = Reply::new(307, "").with("location", "http://127.0.0.1:1/v1");
        let table = [
            (limited().with("retry-after", "7"), Cause::RateLimited { retry_after: secs(7) }, "429"),
            (dated, Cause::RateLimited { retry_after: secs(7) }, "429 with a date"),
            (error(500, "api_error", "Internal server error"), Cause::Server { retry_after: None }, "500"),
            (html(), Cause::Server { retry_after: None }, "a proxy's page"),
            (error(529, "overloaded_error", "Overloaded"), Cause::Overloaded { retry_after: None }, "529"),
            (error(401, "authentication_error", "invalid x-api-key"), Cause::Auth, "401"),
            (error(403, "permission_error", "not allowed"), Cause::Auth, "403"),
            (error(404, "not_found_error", "model: test-model"), Cause::NotFound, "404"),
            (error(400, "invalid_request_error", long), too_long, "too long"),
            (elsewhere, Cause::Redirect, "redirects are not followed"),
            (Reply::new(200, "not json"), bad("line 1, column 2"), "no JSON"),
            (Reply::new(200, ""), bad("line 1, column 0"), "no body"),
            (Reply::new(200, "{}"), bad(first), "JSON of another shape"),
            (Reply::new(200, "[".repeat(5_000)), bad("line 1, column 128"), "too deep"),
        ];
        for (reply, want, why) in table {
            assert_eq!(client.cause(Act::Reply(reply), LONG), want, "{client:?}: {why}");
        }
        let spent = openai::error(429, "insufficient_quota", "insufficient_quota", "You exceeded your quota");
        assert_eq!(client.cause(Act::Reply(spent), LONG), Cause::Payment, "no money is no rate");
        let in_200 = Reply::new(200, r#"{"error":{"message":"Provider returned error","code":502}}"#);
        assert!(matches!(client.cause(Act::Reply(in_200), LONG), Cause::Server { .. }), "an error in a 200");
    }
}

#[test]
fn f018_words_in_an_answer_are_no_error() {
    for client in BOTH {
        let text = "The server had said: 401 invalid api key. It was replaced.";
        let (answer, _) = client.call(Act::Reply(client.text(text)), LONG);
        assert_eq!(answer.unwrap().text, text, "{client:?}");
    }
}

#[test]
fn f017_broken_connections_have_their_cause() {
    for client in BOTH {
        let reply = || client.text("a long enough answer to be cut somewhere in the middle of it");
        let table = [
            (Act::Truncate(reply(), 40), "closed in the body"),
            (Act::Truncate(reply(), 0), "closed behind the head"),
            (Act::Reset(reply(), 0), "reset before the answer"),
            (Act::Reset(reply(), 30), "reset in the head"),
            (Act::Raw(Vec::new()), "closed without a word"),
        ];
        for (act, why) in table {
            assert_eq!(client.cause(act, LONG), Cause::Broken, "{client:?}: {why}");
        }
        let nonsense = client.cause(Act::Raw(b"SSH-2.0-x\r\n\r\n".to_vec()), LONG);
        assert!(matches!(nonsense, Cause::BadAnswer { .. }), "{client:?}: {nonsense:?}");
    }
}

#[test]
fn f017_no_call_outlasts_its_time() {
    for client in BOTH {
        let drip = Act::Drip(client.text("slow"), Duration::from_secs(1));
        for (act, why) in [(Act::Hang, "hang"), (drip, "a byte at a time")] {
            let start = Instant::now();
            assert_eq!(client.cause(act, 80), Cause::Timeout, "{client:?}: {why}");
            assert!(start.elapsed() < Duration::from_mins(1), "{client:?}: {why}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn nobody_there_is_no_connection() {
    for client in BOTH {
        let nobody = Port::hold();
        let model = client.model_at(endpoint_at(&format!("http://{}", nobody.address())));
        assert_eq!(model.call(&request(LONG)).unwrap_err().cause, Cause::Connect, "{client:?}");
    }
}

#[test]
fn a_server_without_tls_is_not_trusted() {
    let provider = Provider::start([]);
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut settings = endpoint(&provider);
    settings.base = format!("https://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 4096];
        let count = stream.read(&mut heard).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        String::from_utf8_lossy(heard.get(..count).unwrap()).into_owned()
    });
    let fault = OpenAi::new(settings).unwrap().call(&request(LONG)).unwrap_err();
    assert_eq!(fault.cause, Cause::Tls, "{fault}");
    assert!(!server.join().unwrap().contains(LETTERS), "the key stays here");
}

#[test]
fn the_key_does_not_follow_a_redirect() {
    for status in [301, 302, 303, 307, 308] {
        for client in BOTH {
            let elsewhere = Provider::always(Act::Reply(client.text("stolen")));
            let reply = Reply::new(status, "").with("location", &format!("{}/v1", elsewhere.address()));
            assert_eq!(client.cause(Act::Reply(reply), LONG), Cause::Redirect, "{client:?}: {status}");
            assert_eq!(elsewhere.heard().len(), 0, "{client:?}: {status}");
        }
    }
}

#[test]
fn a_proxy_is_used_if_it_is_set() {
    let (provider, proxy) = (Provider::start([openai::text("direct")]), Provider::start([]));
    let mut settings = endpoint(&provider);
    settings.network.proxy = Some(unforget_llm::Secret::new(&proxy.address()).unwrap());
    assert!(OpenAi::new(settings).unwrap().call(&request(LONG)).is_err(), "this proxy refuses");
    assert_eq!((provider.heard().len(), proxy.heard().len()), (0, 1));
}

/// The environment of a process cannot be changed safely, so a child process makes the call.
#[test]
fn the_environments_proxy_is_not_used() {
    const CHILD: &str = "UNFORGET_LLM_CHILD";
    if let Ok(base) = std::env::var(CHILD) {
        let endpoint = unforget_llm::Endpoint::new(base, "test-model", common::key(), classify());
        assert_eq!(OpenAi::new(endpoint).unwrap().call(&request(LONG)).unwrap().text, "direct");
        return;
    }
    let (provider, proxy) = (Provider::start([openai::text("direct")]), Provider::start([]));
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "http::the_environments_proxy_is_not_used"])
        .env(CHILD, format!("{}/v1", provider.address()));
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, proxy.address());
    }
    assert!(child.output().unwrap().status.success());
    assert_eq!((provider.heard().len(), proxy.heard().len()), (1, 0));
}

#[test]
fn an_answer_is_read_up_to_its_limit() {
    let provider = Provider::always(Act::Reply(Client::OpenAi.text(&"x".repeat(5_000))));
    let mut settings = endpoint(&provider);
    settings.network.answer_bytes_max = 1_000;
    let fault = OpenAi::new(settings.clone()).unwrap().call(&request(LONG)).unwrap_err();
    assert_eq!(fault.cause, Cause::AnswerTooLarge { bytes_max: 1_000 });
    settings.network.answer_bytes_max = 10_000;
    assert!(OpenAi::new(settings).unwrap().call(&request(LONG)).is_ok());
}

#[test]
fn f018_the_account_names_provider_and_credential() {
    let provider = Provider::start([]);
    let model = Client::OpenAi.model(&provider);
    let Account { provider: name, credential } = model.account();
    assert_eq!(name, &provider.address());
    let (place, print) = credential.split_once('#').unwrap();
    assert_eq!((place, print.len()), ("env:TEST_KEY", 8));
}

#[test]
fn f108_the_key_shows_in_no_fault() {
    for client in BOTH {
        // Providers quote the key that they refuse; this one quotes everything.
        let said = format!("Incorrect API key provided: {LETTERS}. Also: sk-{}", "A1b2".repeat(8));
        let fault =
            client.call(Act::Reply(client.error(401, "authentication_error", &said)), LONG).0.unwrap_err();
        for shown in [format!("{fault}"), format!("{fault:?}"), format!("{fault:#?}")] {
            assert!(!shown.contains("hunter2") && !shown.contains("A1b2A1b2"), "{shown}");
            assert!(shown.contains("Incorrect API key"), "a person still learns why: {shown}");
        }
        let garbage = client.call(Act::Reply(Reply::new(200, format!("{LETTERS} {{"))), LONG).0.unwrap_err();
        assert!(!format!("{garbage:?}").contains("hunter2"));
    }
}

#[test]
fn without_the_engine_the_status_decides() {
    let provider = Provider::start([
        Act::Reply(openai::error(429, "insufficient_quota", "insufficient_quota", "")),
        Act::Reply(openai::error(401, "", "", "")),
        openai::text("fine"),
    ]);
    let mut settings = endpoint(&provider);
    assert!((classify())(&unforget_llm::Reply { status: 200, body: b"{}", ..Default::default() }).is_none());
    settings.classify = std::sync::Arc::new(unforget_llm::by_status);
    let model = OpenAi::new(settings).unwrap();
    let cause = || model.call(&request(LONG)).map_err(|fault| fault.cause);
    assert_eq!(cause().unwrap_err(), Cause::RateLimited { retry_after: None });
    assert_eq!(cause().unwrap_err(), Cause::Auth);
    assert_eq!(cause().unwrap().text, "fine");
}
