//! Our own errors in each dialect.
use unforget_wire::Dialect::{Anthropic, OpenAiChat, OpenAiResponses};
use unforget_wire::exchange::sse::{Event, Splitter};
use unforget_wire::exchange::{Answer, Call, Ended, Fault};
use unforget_wire::refusal::{Refusal, Reply, classify};

fn all() -> Vec<Fault> {
    let what = || "a \"quoted\"\nthing".to_owned();
    vec![
        Fault::Call(Call::read(Anthropic, b"{").unwrap_err()),
        Fault::BadRequest { what: what() },
        Fault::TooLarge { max: 1_000 },
        Fault::Unauthorized,
        Fault::Forbidden { what: what() },
        Fault::NotFound { what: what() },
        Fault::Conflict { what: what() },
        Fault::Unreachable { upstream: "main".to_owned() },
        Fault::Timeout { upstream: "main".to_owned(), seconds: 600 },
        Fault::TooMany { retry_after: 7 },
        Fault::Overloaded { retry_after: 7 },
        Fault::Irreducible { needed: 9_000, budget: 8_000, fixed: 7_000 },
        Fault::Internal,
    ]
}

#[test]
fn statuses_and_shapes() {
    let statuses = |dialect| all().iter().map(|fault| fault.status(dialect)).collect::<Vec<_>>();
    assert_eq!(statuses(Anthropic), [400, 400, 413, 401, 403, 404, 409, 502, 504, 429, 529, 400, 500]);
    assert_eq!(statuses(OpenAiChat), [400, 400, 413, 401, 403, 404, 409, 502, 504, 429, 503, 400, 500]);
    for fault in all() {
        let body: serde_json::Value = serde_json::from_str(&fault.body(Anthropic, "req_1")).unwrap();
        assert_eq!((&body["type"], &body["request_id"]), (&"error".into(), &"req_1".into()));
        assert_eq!(body["error"]["message"], fault.to_string());
        for dialect in [OpenAiChat, OpenAiResponses] {
            let body: serde_json::Value = serde_json::from_str(&fault.body(dialect, "req_1")).unwrap();
            assert_eq!(body["error"]["message"], fault.to_string());
            assert!(body["error"].as_object().unwrap().contains_key("param"));
        }
    }
    let bad = Fault::Call(Call::read(Anthropic, b"{\"a\":}").unwrap_err());
    assert_eq!(bad.to_string(), "the body is not JSON (at byte 5)");
    assert_eq!(Fault::Overloaded { retry_after: 7 }.retry_after(), Some(7));
    assert_eq!(Fault::TooMany { retry_after: 7 }.retry_after(), Some(7));
}

#[test]
fn events_end_a_stream_that_has_begun() {
    for fault in all() {
        for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
            let mut answer = Answer::new(dialect);
            Splitter::default().push(fault.event(dialect, "r").as_bytes(), &mut |event| match event {
                Event::Message { name, data } => answer.event(name, data),
                Event::TooLarge => answer.lost(),
            });
            let Ended::Error(what) = answer.finish().ended else { unreachable!("{dialect:?} {fault:?}") };
            let what: serde_json::Value = serde_json::from_str(&what).unwrap();
            assert_eq!(what["message"], fault.to_string(), "{dialect:?}");
        }
    }
}

#[test]
fn a_gateway_in_front_of_another_understands_it() {
    let classes = |fault: &Fault, dialect| {
        let body = fault.body(dialect, "r");
        let status = Some(fault.status(dialect));
        classify(&Reply { status, body: body.as_bytes(), ..Reply::default() }).unwrap()
    };
    for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
        let irreducible = Fault::Irreducible { needed: 9_000, budget: 8_000, fixed: 7_000 };
        assert!(matches!(classes(&irreducible, dialect), Refusal::Overflow(_)), "{dialect:?}");
        assert_eq!(classes(&Fault::Unauthorized, dialect), Refusal::Auth, "{dialect:?}");
        let large = Fault::TooLarge { max: 10 };
        assert!(matches!(classes(&large, dialect), Refusal::Overflow(_)), "{dialect:?}");
    }
}
