//! Rendered requests are accepted by the provider and reproducible.
use proptest::prelude::*;
use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_wire::{
    Dialect, TAIL, Target, losses, render, render_head, render_message, validate, visible_text,
};

fn message(speaker: Speaker, blocks: Vec<Block>) -> Message {
    Message {
        speaker,
        blocks,
        model: (speaker == Speaker::Assistant).then(|| "claude-x".to_owned()),
        seqs: Vec::new(),
    }
}

fn user(blocks: Vec<Block>) -> Message {
    message(Speaker::User, blocks)
}

fn assistant(blocks: Vec<Block>) -> Message {
    message(Speaker::Assistant, blocks)
}

fn text(text: &str) -> Block {
    Block::Part(Part::Text(text.to_owned()))
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        complete: true,
        raw: None,
    })
}

fn result(id: &str, content: Vec<Part>) -> Block {
    result_of(id, "read", content)
}

fn result_of(id: &str, name: &str, content: Vec<Part>) -> Block {
    Block::Result(ToolResult {
        call_id: id.into(),
        name: name.into(),
        content,
        is_error: false,
        exit_code: None,
    })
}

fn thinking(text: &str, signature: Option<&str>, raw: Option<&str>) -> Block {
    Block::Part(Part::Thinking {
        text: text.into(),
        signature: signature.map(Into::into),
        raw: raw.map(Into::into),
    })
}

fn media(mime: &str, raw: &str) -> Part {
    Part::Media(Media { mime: mime.into(), size: Some((4, 3)), raw: raw.into() })
}

fn opaque(raw: &str) -> Block {
    Block::Part(Part::Opaque { kind: String::new(), raw: raw.into() })
}

fn request(messages: Vec<Message>) -> Request {
    Request { system: vec!["be \"brief\"".into(), " \n".into()], messages }
}

const PNG: &str = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="},"cache_control":{}}"#;

fn small() -> Request {
    request(vec![
        user(vec![text("hi")]),
        assistant(vec![text("ok"), call("a", "read", r#"{"path": "x"}"#)]),
        user(vec![result("a", vec![Part::Text("1".into())]), Block::Ours("[stub]".into())]),
    ])
}

#[test]
fn golden() {
    let table = [
        (
            Dialect::Anthropic,
            r#"{"system":[{"type":"text","text":"be \"brief\""}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"read","input":{"path": "x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},{"type":"text","text":"[stub]"}]}]}"#,
        ),
        (
            Dialect::OpenAiChat,
            r#"{"messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"hi"},{"role":"assistant","content":"ok","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\": \"x\"}"}}]},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"[stub]"}]}"#,
        ),
        (
            Dialect::OpenAiResponses,
            r#"{"instructions":"be \"brief\"","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call","call_id":"a","name":"read","arguments":"{\"path\": \"x\"}"},{"type":"function_call_output","call_id":"a","output":"1"},{"type":"message","role":"user","content":[{"type":"input_text","text":"[stub]"}]}]}"#,
        ),
        (
            Dialect::Pi,
            r#"{"systemPrompt":"be \"brief\"","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":0},{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"toolCall","id":"a","name":"read","arguments":{"path": "x"}}],"api":"unknown","provider":"unknown","model":"claude-x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":0},{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"1"}],"isError":false,"timestamp":0},{"role":"user","content":[{"type":"text","text":"[stub]"}],"timestamp":0}]}"#,
        ),
        (
            Dialect::Gemini,
            r#"{"systemInstruction":{"parts":[{"text":"be \"brief\""}]},"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"ok"},{"functionCall":{"id":"a","name":"read","args":{"path": "x"}},"thoughtSignature":"skip_thought_signature_validator"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"output":"1"}}},{"text":"[stub]"}]}]}"#,
        ),
        (
            Dialect::BedrockConverse,
            r#"{"system":[{"text":"be \"brief\""}],"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"ok"},{"toolUse":{"toolUseId":"a","name":"read","input":{"path": "x"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}]}},{"text":"[stub]"}]}]}"#,
        ),
    ];
    for (dialect, want) in table {
        assert_eq!(render(&small(), dialect), want);
        assert_eq!(validate(want, dialect), Ok(()), "{}", dialect.name());
        assert_eq!(losses(&small(), dialect), vec![], "{}", dialect.name());
    }
}

/// The rendered form of one block per dialect; `-` where it is dropped.
#[test]
fn f050_f053_f055_f058_f059_f064_blocks_table() {
    let signed = r#"{"type":"thinking", "thinking":"t","signature":"AAAA"}"#;
    let item = r#"{"type":"reasoning","summary":[],"encrypted_content":"e"}"#;
    let server = r#"{"type":"server_tool_use","id":"srvtoolu_s","name":"web","input":{}}"#;
    let long = "A".repeat(40);
    let table: Vec<(&str, Block, [&str; 6])> = vec![
        (
            "signed by anthropic: byte for byte",
            thinking("t", Some("AAAA"), Some(signed)),
            [signed, "-", "-", r#""thinkingSignature":"AAAA""#, "-", r#""signature":"AAAA"}}}"#],
        ),
        (
            "redacted stays hidden",
            thinking("", None, Some(r#"{"type":"redacted_thinking","data":"x"}"#)),
            [r#"{"type":"redacted_thinking","data":"x"}"#, "-", "-", "-", "-", "-"],
        ),
        (
            "pi's copy of an anthropic block",
            thinking("t", Some(&long), Some(r#"{"type":"thinking","thinking":"t"}"#)),
            [
                r#"{"type":"thinking","thinking":"t","signature":"A"#,
                "-",
                "-",
                r#"{"type":"thinking","thinking":"t"}"#,
                "-",
                r#"{"reasoningContent":{"reasoningText":{"text":"t","signature":"A"#,
            ],
        ),
        (
            "unsigned",
            thinking("secret", None, None),
            ["-", "-", "-", r#"{"type":"thinking","thinking":"secret"}"#, "-", "-"],
        ),
        ("openai's item", thinking("s", None, Some(item)), ["-", "-", item, "thinkingSignature", "-", "-"]),
        ("blank", text(" \u{200b}\u{a0}"), ["-"; 6]),
        ("half of a server tool", opaque(server), ["-", "-", "-", server, "-", "-"]),
        (
            "an item of a tool of OpenAI's",
            opaque(r#"{"type":"web_search_call"}"#),
            ["-", "-", r#"{"type":"web_search_call"}"#, r#"{"type":"web_search_call"}"#, "-", "-"],
        ),
        ("opaque that is no object", opaque("[1]"), ["-"; 6]),
        ("opaque with a lone surrogate", opaque(r#"{"type":"x_tool_result","a":"\ud800"}"#), ["-"; 6]),
        (
            "a thought that gemini signed: byte for byte",
            thinking("t", None, Some(r#"{"text":"t", "thought":true,"thoughtSignature":"AAAA"}"#)),
            [
                "-",
                "-",
                "-",
                r#"{"type":"thinking","thinking":"t"}"#,
                r#"{"text":"t", "thought":true,"thoughtSignature":"AAAA"}"#,
                "-",
            ],
        ),
        (
            "bedrock's own form: byte for byte",
            thinking("t", None, Some(r#"{"reasoningContent":{"redactedContent":"AAAA"}}"#)),
            [
                "-",
                "-",
                "-",
                r#"{"type":"thinking","thinking":"t"}"#,
                "-",
                r#"{"reasoningContent":{"redactedContent":"AAAA"}}"#,
            ],
        ),
        (
            "an unknown block whose fields have other types than ours",
            opaque(r#"{"type":"newBlock","text":{},"data":[1],"id":7,"thought":"x"}"#),
            ["-", "-", "-", r#"{"type":"newBlock","text":{},"data":[1],"id":7,"thought":"x"}"#, "-", "-"],
        ),
        ("code without its outcome", opaque(r#"{"executableCode":{"code":"1"}}"#), ["-"; 6]),
    ];
    for (why, block, wants) in table {
        for (dialect, want) in Dialect::ALL.into_iter().zip(wants) {
            let messages = vec![
                user(vec![text("hi")]),
                assistant(vec![block.clone(), text("visible")]),
                user(vec![text("go")]),
            ];
            let request = request(messages);
            let body = render(&request, dialect);
            assert_eq!(validate(&body, dialect), Ok(()), "{why}, {}: {body}", dialect.name());
            assert_eq!(
                losses(&request, dialect).len(),
                usize::from(want == "-"),
                "{why}, {}: {body}",
                dialect.name()
            );
            if want == "-" {
                let without =
                    vec![user(vec![text("hi")]), assistant(vec![text("visible")]), user(vec![text("go")])];
                assert_eq!(body, render(&self::request(without), dialect), "{why}, {}", dialect.name());
            } else {
                assert!(body.contains(want), "{why}, {}: {body}", dialect.name());
            }
        }
    }
}

#[test]
fn f050_server_tool_pairs_stay_together_byte_for_byte() {
    let first = r#"{"type":"server_tool_use","id":"srvtoolu_s" ,"name":"web","input":{}}"#;
    let second = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_s","content":[],"new":1}"#;
    let body = render(
        &request(vec![
            user(vec![text("hi")]),
            assistant(vec![opaque(first), opaque(second), text("x")]),
            user(vec![text("go")]),
        ]),
        Dialect::Anthropic,
    );
    assert!(body.contains(&format!("{first},{second}")), "{body}");
    assert_eq!(validate(&body, Dialect::Anthropic), Ok(()));
}

#[test]
fn f050_a_server_tool_whose_other_half_is_not_sent_is_not_sent() {
    let call = r#"{"type":"server_tool_use","id":"srvtoolu_s","name":"web","input":{}}"#;
    let others = [
        r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_s","content":[{"cache_control":1}]}"#,
        r#"{"type":"other","tool_use_id":"srvtoolu_s"}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"t","content":[]}"#,
    ];
    for other in others {
        let messages = vec![
            user(vec![text("hi")]),
            assistant(vec![opaque(call), opaque(other), text("x")]),
            user(vec![text("go")]),
        ];
        let request = request(messages);
        let body = render(&request, Dialect::Anthropic);
        assert!(!body.contains("server_tool_use"), "{body}");
        assert_eq!(losses(&request, Dialect::Anthropic).len(), 2);
        assert_eq!(validate(&body, Dialect::Anthropic), Ok(()));
    }
}

#[test]
fn f059_mandatory_slots_get_the_placeholder() {
    for dialect in Dialect::ALL {
        let request = request(vec![
            user(vec![text("")]),
            assistant(vec![thinking(
                "t",
                Some("AAAA"),
                Some(r#"{"type":"thinking","thinking":"t","signature":"AAAA"}"#),
            )]),
            user(vec![text("x")]),
            assistant(vec![call("", "", "")]),
            user(vec![result_of("", "", vec![Part::Text("\n".into())])]),
        ]);
        let body = render(&request, dialect);
        assert_eq!(validate(&body, dialect), Ok(()), "{}: {body}", dialect.name());
        let pi_keeps = usize::from(dialect == Dialect::Pi);
        assert_eq!(body.matches("(empty)").count(), 3 - pi_keeps, "{}: {body}", dialect.name());
    }
}

#[test]
fn f064_images_of_every_host_reach_every_provider() {
    let forms = [
        PNG,
        r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/wrong"}"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}"#,
    ];
    for raw in forms {
        for dialect in Dialect::ALL {
            let request = request(vec![
                user(vec![text("look"), Block::Part(media("image/png", raw))]),
                assistant(vec![call("a", "read", "{}")]),
                user(vec![result("a", vec![media("image/png", raw)])]),
            ]);
            let body = render(&request, dialect);
            assert_eq!(validate(&body, dialect), Ok(()), "{}: {body}", dialect.name());
            assert_eq!(body.matches("iVBORw0KGgo=").count(), 2, "{}: {body}", dialect.name());
            assert!(body.matches("png").count() >= 2, "{}: {body}", dialect.name());
            assert!(!body.contains("cache_control"), "{body}");
            let units = visible_text(&request.messages[0], dialect, &mut |_| {});
            assert_eq!(units.images, 1);
        }
    }
    let large =
        format!(r#"{{"type":"image","data":"iVBORw0KGgo{}A","mimeType":"image/png"}}"#, "A".repeat(5 << 20));
    let table = [
        (r#"{"type":"image","blob":"gone"}"#, "[image: image/png 4x3]"),
        (&large, "[image: image/png 4x3]"),
        (
            r#"{"fileName":"owl.png","url":"media://inbound/1.png"}"#,
            "[image: image/png 4x3, owl.png, media://inbound/1.png]",
        ),
        (r#"{"fileName":"a]\n[b","url":"data:image/png;base64,AA"}"#, "[image: image/png 4x3]"),
    ];
    for (raw, note) in table {
        let request = request(vec![user(vec![Block::Part(media("image/png", raw))])]);
        let body = render(&request, Dialect::Anthropic);
        assert!(body.contains(note), "{body:.300}");
        assert_eq!(losses(&request, Dialect::Anthropic).len(), 1);
        assert_eq!(validate(&body, Dialect::Anthropic), Ok(()));
    }
}

#[test]
fn f063_call_ids_are_legal_injective_and_stable() {
    let ids = ["a", "", "a|b", "a b", &"x".repeat(41), &"x".repeat(65), "uf_", "ünï", "call_0"];
    for dialect in Dialect::ALL {
        let mut seen = std::collections::BTreeSet::new();
        for id in ids {
            let mapped = dialect.call_id(id);
            assert_eq!(mapped, dialect.call_id(id));
            assert!(seen.insert(mapped.to_string()), "{id:?} collides in {}", dialect.name());
            let again = dialect.call_id(&mapped).into_owned();
            assert!(again == mapped || !ids.contains(&again.as_str()));
        }
    }
    assert_eq!(Dialect::Anthropic.call_id("toolu_01-A"), "toolu_01-A");
}

#[test]
fn names_round_trip() {
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::by_name(dialect.name()), Some(dialect));
    }
    assert_eq!(Dialect::by_name("klingon"), None);
}

/// Text as hosts write it, with characters that break renderers.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z \"\\\\{}\\[\\]]{0,12}",
        1 => any::<String>(),
        1 => Just(" \n\u{200b}".to_owned()),
        1 => Just("\u{0}\u{1f}\u{7f}\u{2028}日本".to_owned()),
    ]
}

fn any_raw() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(PNG.to_owned()),
        Just(r#"{"type":"thinking","thinking":"x","signature":"c2ln"}"#.to_owned()),
        Just(r#"{"type":"redacted_thinking","data":"x","cache_control":{"type":"ephemeral"}}"#.to_owned()),
        Just(r#"{"type":"reasoning","summary":[],"encrypted_content":"e"}"#.to_owned()),
        Just(r#"{"type":"server_tool_use","id":"srvtoolu_s","name":"w","input":{}}"#.to_owned()),
        Just(
            r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_s","content":[{"cache_control":1}]}"#
                .to_owned()
        ),
        Just(r#"{"type":"document","source":{"type":"text","data":"x"},"cache_control":{}}"#.to_owned()),
        Just(r#"{"type":"image_url","image_url":{"url":"https://a.example/x.png"}}"#.to_owned()),
        Just(r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_s","content":[]}"#.to_owned()),
        Just(r#"{"type":"other","tool_use_id":"srvtoolu_s"}"#.to_owned()),
        Just(r#"{"type":null}"#.to_owned()),
        Just(r#"{"text":"x","thought":true,"thoughtSignature":"c2ln"}"#.to_owned()),
        Just(r#"{"text":"","thought":true,"thoughtSignature":"c2ln"}"#.to_owned()),
        Just(r#"{"thought":true,"thoughtSignature":"c2ln"}"#.to_owned()),
        Just(r#"{"thought":true,"text":1,"thoughtSignature":"c2ln"}"#.to_owned()),
        Just(r#"{"reasoningContent":{}}"#.to_owned()),
        Just(r#"{"reasoningContent":{"reasoningText":{"signature":"c2ln"}}}"#.to_owned()),
        Just(r#"{"reasoningContent":{"redactedContent":" "}}"#.to_owned()),
        Just(r#"{"type":"reasoning","encrypted_content":"e"}"#.to_owned()),
        Just(r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#.to_owned()),
        Just(r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}"#.to_owned()),
        Just(r#"{"reasoningContent":{"reasoningText":{"text":"x","signature":"c2ln"}}}"#.to_owned()),
        Just(r#"{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}"#.to_owned()),
        Just(format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100))),
        Just("[".repeat(300)),
        any_text(),
    ]
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => any_text().prop_map(Part::Text),
        1 => (any_text(), proptest::option::of(any_text()), proptest::option::of(any_raw()))
            .prop_map(|(text, signature, raw)| Part::Thinking { text, signature, raw: raw.map(Into::into) }),
        1 => (any_text(), any_raw()).prop_map(|(mime, raw)| Part::Media(Media { mime, size: None, raw: raw.into() })),
        1 => (any_text(), any_raw()).prop_map(|(kind, raw)| Part::Opaque { kind, raw: raw.into() }),
    ]
}

/// Input, answer, and calls with name, arguments and result.
type Turn = (Vec<Part>, Vec<Part>, Vec<(String, String, Vec<Part>)>);

/// A turn: text, then calls and their results as core guarantees them.
fn any_turn() -> impl Strategy<Value = Turn> {
    let parts = || proptest::collection::vec(any_part(), 1..4);
    let calls = proptest::collection::vec(
        (any_text(), any_text(), proptest::collection::vec(any_part(), 0..3)),
        0..3,
    );
    (parts(), parts(), calls)
}

fn build(turns: Vec<Turn>) -> Request {
    let mut messages = Vec::new();
    let mut results = Vec::new();
    for (turn, (asked, said, calls)) in turns.into_iter().enumerate() {
        let mut blocks = std::mem::take(&mut results);
        blocks.extend(asked.into_iter().map(Block::Part));
        messages.push(user(blocks));
        let mut blocks: Vec<Block> = said.into_iter().map(Block::Part).collect();
        for (index, (name, arguments, content)) in calls.into_iter().enumerate() {
            let id = format!("{turn}|{index}|{name}");
            blocks.push(call(&id, &name, &arguments));
            results.push(result_of(&id, &name, content));
        }
        messages.push(assistant(blocks));
    }
    results.push(text("last"));
    messages.push(user(results));
    request(messages)
}

/// Every dialect, and models whose requests need more or less than the dialect's form.
fn targets() -> Vec<Target> {
    let models = [
        (Dialect::Anthropic, "gpt-5.5"),
        (Dialect::OpenAiChat, "mistral-large"),
        (Dialect::OpenAiChat, "kimi-k2"),
        (Dialect::OpenAiResponses, "o3"),
        (Dialect::Gemini, "gemini-3-pro"),
        (Dialect::BedrockConverse, "claude-opus-4-5"),
    ];
    let told = models.map(|(dialect, model)| Target::of(dialect, Some(model)));
    Dialect::ALL.map(Target::from).into_iter().chain(told).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// For any input of a host, every dialect accepts our request (I9), and the pieces make up the whole.
    #[test]
    fn f055_f059_f060_f061_f062_rendered_requests_are_valid(turns in proptest::collection::vec(any_turn(), 1..4)) {
        let request = build(turns);
        for target in targets() {
            let body = render(&request, target);
            prop_assert_eq!(validate(&body, target), Ok(()), "{:?} {}", target, body);
            let pieces: Vec<String> = request.messages.iter().map(|message| render_message(message, target)).collect();
            let joined = format!("{}{}{TAIL}", render_head(&request.system, target.dialect, true), pieces.join(","));
            prop_assert_eq!(&body, &joined);
            for (message, piece) in request.messages.iter().zip(&pieces) {
                let mut bytes = 0;
                let units = visible_text(message, target, &mut |text| bytes += text.len());
                prop_assert!(units.messages > 0 && units.blocks > 0);
                prop_assert!(bytes <= piece.len(), "{} {}", bytes, piece);
            }
        }
    }

    /// Ids of any form become legal, and different ids stay different (F063).
    #[test]
    fn f063_any_id(a in any::<String>(), b in any::<String>()) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(a == b, dialect.call_id(&a) == dialect.call_id(&b));
        }
    }

    /// The acceptor is total.
    #[test]
    fn validate_never_panics(body in any_raw()) {
        for dialect in Dialect::ALL {
            drop(validate(&body, dialect));
            drop(validate(&format!(r#"{{"messages":[{body}],"input":[{body}]}}"#), dialect));
        }
    }
}
