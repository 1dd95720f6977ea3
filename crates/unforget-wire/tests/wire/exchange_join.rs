//! Answers with our calls, joined into one answer for the client, for any behaviour of model and provider.
use proptest::prelude::*;
use serde_json::{Value, json};
use unforget_wire::Dialect::{self, Anthropic, OpenAiChat, OpenAiResponses};
use unforget_wire::exchange::{Answer, Answered, Call, Ended, Join, Offer, Outcome, Round};
use unforget_wire::{Target, validate};

mod odd;

const OURS: [&str; 2] = ["unforget_search", "unforget_expand"];

fn stream(events: &[Value], dialect: Dialect) -> String {
    let event = |event: &Value| match event["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let end = if dialect == OpenAiChat { "data: [DONE]\n\n" } else { "" };
    events.iter().map(event).collect::<String>() + end
}

/// Chunks of Chat.
fn chunks(id: &str, deltas: &[Value], finish: &str) -> String {
    let chunk = |delta: &Value, finish: Value| json!({"id": id, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut all: Vec<Value> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    all.push(chunk(&json!({}), json!(finish)));
    all.push(json!({"id": id, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}));
    stream(&all, OpenAiChat)
}

fn call(index: Option<usize>, id: &str, name: &str, arguments: &str) -> Value {
    let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    if let Some(index) = index {
        call["index"] = json!(index);
    }
    call
}

/// The bytes that the client gets for these answers, fed in pieces of this many bytes.
fn joined(dialect: Dialect, answers: &[String], piece: usize) -> (Vec<Round>, String, Answered) {
    let mut join = Join::new(dialect, &OURS);
    let (mut out, mut rounds) = (Vec::new(), Vec::new());
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            join.go_on();
        }
        for bytes in answer.as_bytes().chunks(piece) {
            out.extend(join.push(bytes));
        }
        let (round, rest) = join.round();
        out.extend(rest);
        rounds.push(round);
    }
    out.extend(join.close(true));
    let text = String::from_utf8(out).unwrap();
    let mut answer = Answer::new(dialect);
    for event in text.split("\n\n").filter(|event| !event.is_empty()) {
        let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        answer.event("", &data.join("\n"));
    }
    (rounds, text, answer.finish())
}

#[test]
fn calls_of_chat_table() {
    let role = json!({"role": "assistant", "content": null});
    let text = |text: &str| json!({"content": text});
    let calls = |calls: &[Value]| json!({"tool_calls": calls});
    let more =
        |index: usize, text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
    let long = "x".repeat(1 << 20);
    let own = |arguments: &str| call(Some(0), "a", OURS[0], arguments);
    // Deltas of two answers, names and indices of the client's calls in the last, what is left.
    let table: Vec<(Vec<Vec<Value>>, &str, &str)> = vec![
        (
            vec![
                vec![role.clone(), text("Let me."), calls(&[own("{}")])],
                vec![role.clone(), text("It was.")],
            ],
            "Let me.\n\nIt was.",
            "text of both",
        ),
        (
            vec![
                vec![role.clone(), calls(&[own("")]), more(0, "{\"que"), more(0, "ry\":1}")],
                vec![role.clone(), text("So.")],
            ],
            "So.",
            "arguments in pieces",
        ),
        (vec![vec![calls(&[own(&long)])], vec![text("So.")]], "So.", "a megabyte"),
        (vec![vec![calls(&[own("{broken")])], vec![text("So.")]], "So.", "broken"),
        (
            vec![vec![role.clone(), calls(&[own("{}"), call(Some(1), "b", "read", "{}")])]],
            " 0:read",
            "beside another",
        ),
        (
            vec![vec![
                calls(&[call(Some(0), "b", "read", "{")]),
                calls(&[call(Some(1), "a", OURS[1], "")]),
                more(1, "{}"),
                more(0, "}"),
                calls(&[call(Some(2), "c", "write", "{}")]),
            ]],
            " 0:read 1:write",
            "between others",
        ),
        (
            vec![vec![
                calls(&[call(Some(0), "a", OURS[0], "{}")]),
                calls(&[call(Some(0), "b", "read", "{}")]),
            ]],
            " 0:read",
            "all have the index 0",
        ),
        (
            vec![vec![calls(&[call(None, "a", OURS[0], "{}"), call(None, "b", "read", "{}")])]],
            " -:read",
            "none has one",
        ),
        (
            vec![
                vec![
                    calls(&[call(Some(0), "a", "unforget_", "")]),
                    calls(&[json!({"index": 0, "function": {"name": "search", "arguments": "{}"}})]),
                ],
                vec![text("So.")],
            ],
            "So.",
            "a name in pieces",
        ),
        (
            vec![vec![calls(&[call(Some(0), "b", "unforget", "{}")])]],
            " 0:unforget",
            "a name that only begins like ours",
        ),
        (
            vec![
                vec![
                    calls(&[call(Some(0), "a", "unforget_", "")]),
                    calls(&[call(Some(0), "a", "unforget_", "")]),
                    calls(&[json!({"index": 0, "function": {"name": "search", "arguments": "{}"}})]),
                ],
                vec![text("So.")],
            ],
            "So.",
            "a piece of a name that is said twice is one, as for a client",
        ),
        (
            vec![vec![
                calls(&[call(Some(0), "a", "unforget_", "{")]),
                calls(&[json!({"index": 0, "function": {"name": "other", "arguments": "}"}})]),
            ]],
            " 0:unforget_other",
            "another's name in pieces",
        ),
        (
            vec![vec![calls(&[
                json!({"index": 0, "id": "a", "type": "custom", "custom": {"name": OURS[0], "input": "x"}}),
            ])]],
            " 0:unforget_search",
            "a custom tool is not ours",
        ),
    ];
    for (answers, want, why) in &table {
        let answers: Vec<String> = answers
            .iter()
            .enumerate()
            .map(|(at, deltas)| chunks(&format!("id{at}"), deltas, "tool_calls"))
            .collect();
        for piece in [1, 7, 1 << 21] {
            if piece == 1 && answers[0].len() > 1 << 20 {
                continue;
            }
            let (rounds, text, answered) = joined(OpenAiChat, &answers, piece);
            assert_eq!(answered.ended, Ended::Complete, "{why}");
            let message: Value =
                serde_json::from_str(answered.messages.last().map_or("{}", String::as_str)).unwrap();
            let mut got = message["content"].as_str().unwrap_or_default().to_owned();
            let mut places = Vec::new();
            for event in text.lines().filter_map(|line| line.strip_prefix("data: {")) {
                let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
                for entry in event["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
                    let name = entry["function"]["name"].as_str().or(entry["custom"]["name"].as_str());
                    places.extend(name.map(|_| entry["index"].clone()));
                }
            }
            for (call, place) in message["tool_calls"].as_array().into_iter().flatten().zip(&places) {
                let name = call["function"]["name"].as_str().or(call["custom"]["name"].as_str()).unwrap();
                let place = place.as_u64().map_or("-".to_owned(), |place| place.to_string());
                got.push_str(&format!(" {place}:{name}"));
            }
            assert_eq!(got, *want, "{why}: {text}");
            let stop = if want.contains(':') { "tool_calls" } else { "stop" };
            assert_eq!(answered.stop.as_deref(), Some(stop), "{why}");
            assert_eq!(
                text.matches("\"role\"").count(),
                answers[0].matches("\"role\"").count(),
                "{why}: said once"
            );
            assert!(!text.contains("id1"), "{why}: one answer has one id");
            assert_eq!(rounds.len(), answers.len());
            assert_eq!(answered.usage.unwrap().output, 4 * answers.len() as u64, "{why}");
        }
    }
}

#[test]
fn blocks_of_anthropic_are_numbered_as_if_ours_were_not_there() {
    let start = |input: &str| json!({"type": "message_start", "message": {"id": format!("msg_{input}"), "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}});
    let block = |index: i64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: i64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: i64| json!({"type": "content_block_stop", "index": index});
    let tool =
        |name: &str| json!({"type": "tool_use", "id": format!("toolu_{name}"), "name": name, "input": {}});
    let end = |reason: &str| {
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
            json!({"type": "message_stop"}),
        ]
    };
    let first = [
        vec![
            start("1"),
            json!({"type": "ping"}),
            block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, json!({"type": "signature_delta", "signature": "s1"})),
            stop(0),
            block(1, tool(OURS[0])),
            delta(1, json!({"type": "input_json_delta", "partial_json": "{\"query\": \"a"})),
            stop(1),
        ],
        end("tool_use"),
    ]
    .concat();
    let second = [
        vec![
            start("2"),
            block(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "So."})),
            stop(0),
            block(1, tool(OURS[1])),
            stop(1),
            block(2, tool("read")),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{}"})),
            stop(2),
        ],
        end("tool_use"),
    ]
    .concat();
    for piece in [1, 3, 100_000] {
        let (rounds, text, answered) =
            joined(Anthropic, &[stream(&first, Anthropic), stream(&second, Anthropic)], piece);
        let message: Value = serde_json::from_str(&answered.messages[0]).unwrap();
        let kinds: Vec<&str> = message["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use"]);
        assert!(
            !text.contains("unforget_")
                && text.matches("message_start").count() == 2
                && text.contains("msg_1")
                && !text.contains("msg_2")
        );
        assert_eq!((answered.usage.unwrap().output, answered.stop.as_deref()), (14, Some("tool_use")));
        assert_eq!(
            (rounds[0].ours.len(), rounds[0].others, rounds[1].ours.len(), rounds[1].others),
            (1, 0, 1, 1)
        );
        assert!(!rounds[0].ours[0].complete, "its arguments were cut");
    }
}

/// For any output of the model, a provider accepts the messages that follow.
#[test]
fn what_follows_is_valid_whatever_the_model_wrote() {
    let outcome = |text: &str| Outcome { text: text.into(), is_error: false };
    for arguments in ["{}", "{\"query\":\"a\"}", "{", "", "7", "\"{}\"", "[1]", "{\"a\":1}}", "null"] {
        for id in ["call_1", "", "an id with spaces", &"i".repeat(200)] {
            let input: Value = serde_json::from_str(arguments).unwrap_or(json!("text"));
            let bodies = [
                (
                    OpenAiChat,
                    json!({"choices": [{"message": {"role": "assistant", "content": " ", "refusal": null, "annotations": [], "tool_calls": [call(None, id, OURS[0], arguments)]}, "finish_reason": "tool_calls"}]}),
                ),
                (
                    Anthropic,
                    json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "tool_use", "id": id, "name": OURS[0], "input": input}], "stop_reason": "tool_use"}),
                ),
                (
                    OpenAiResponses,
                    json!({"status": "completed", "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, {"type": "function_call", "id": "fc_1", "call_id": id, "name": OURS[0], "arguments": arguments, "status": "completed"}]}),
                ),
            ];
            for (dialect, body) in bodies {
                let mut join = Join::new(dialect, &OURS);
                let round = join.whole(body.to_string().as_bytes());
                assert_eq!((round.ours.len(), round.others), (1, 0), "{dialect:?} {arguments:?}");
                let next = round.next(&[outcome("found")], Target { is_own: true, ..dialect.into() });
                let (key, user) = if dialect == OpenAiResponses {
                    ("input", r#"{"role":"user","content":"q"}"#)
                } else {
                    ("messages", r#"{"role":"user","content":"q"}"#)
                };
                let request = format!(r#"{{"{key}":[{user},{}]}}"#, next.join(","));
                validate(&request, dialect)
                    .unwrap_or_else(|found| panic!("{dialect:?} {arguments:?} {id:?}: {found:?}: {request}"));
            }
        }
    }
}

#[test]
fn offers_table() {
    let tool = json!([{"type": "function", "name": "read"}]);
    let body = |fields: Value| {
        let mut body = json!({"model": "m", "tools": tool, "store": false});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    let table = [
        (json!({}), None, "the usual"),
        (json!({"tool_choice": "auto"}), None, "free"),
        (json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}), None, "free"),
        (json!({"tool_choice": null}), None, "null is nothing"),
        (json!({"tool_choice": "required"}), Some("which tools"), "some tool"),
        (json!({"tool_choice": "none"}), Some("which tools"), "none"),
        (json!({"tool_choice": {"type": "function", "name": "read"}}), Some("which tools"), "one"),
        (json!({"tool_choice": {"type": "allowed_tools", "mode": "auto"}}), Some("which tools"), "some"),
        (json!({"tools": []}), Some("no tools"), "none of its own"),
        (json!({"tools": "x"}), Some("no tools"), "no list"),
        (json!({"tools": [{"function": {"name": "unforget"}}]}), Some("these names"), "what ours begin with"),
        (json!({"tools": [{"function": {"name": "unforget_x"}}]}), Some("these names"), "Chat's own"),
        (json!({"tools": [{"name": "unforget_search"}]}), Some("these names"), "its own"),
        (
            json!({"input": [{"type": "additional_tools", "tools": [{"name": "unforget_search"}]}]}),
            Some("these names"),
            "in an item",
        ),
    ];
    let offer = Offer {
        name: "unforget_search".into(),
        about: "Finds \"it\"",
        schema: r#"{"type":"object"}"#.into(),
    };
    for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
        for (fields, want, why) in &table {
            let mut body = body(fields.clone());
            if dialect != OpenAiResponses && body.get("input").is_some() {
                continue;
            }
            body.as_object_mut().unwrap().entry("messages").or_insert(json!([]));
            let text = body.to_string();
            let call = Call::read(dialect, text.as_bytes()).unwrap();
            let told = call.takes_offers("unforget_").err();
            assert_eq!(told.is_some(), want.is_some(), "{dialect:?} {why}: {told:?}");
            assert!(told.unwrap_or_default().contains(want.unwrap_or_default()), "{why}: {told:?}");
            let with: Value =
                serde_json::from_slice(&call.with_edits(&call.offer_edits(std::slice::from_ref(&offer))))
                    .unwrap();
            if let Some(tools) = body["tools"].as_array() {
                assert_eq!(with["tools"].as_array().unwrap().len(), tools.len() + 1, "{why}");
                assert!(with["tools"].to_string().contains("Finds"), "{why}");
            }
        }
    }
    // Codex sends the tools for newer models in an item before the messages.
    let item = json!({"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec"}]});
    let user = json!({"role": "user", "content": "Go"});
    for (input, want, why) in [
        (json!([item, user]), true, "before the messages"),
        (json!([{"role": "developer", "content": "Rules"}, item, user]), true, "behind instructions"),
        (json!([user, item]), false, "among the messages: those are put in anew"),
        (json!([{"type": "additional_tools", "tools": []}, user]), false, "an item without tools"),
    ] {
        let text = json!({"model": "m", "store": false, "input": input}).to_string();
        let call = Call::read(OpenAiResponses, text.as_bytes()).unwrap();
        assert_eq!(call.takes_offers("unforget_").is_ok(), want, "{why}");
        let edits = call.offer_edits(std::slice::from_ref(&offer));
        let with: Value = serde_json::from_slice(&call.with_edits(&edits)).unwrap();
        assert_eq!(with.to_string().contains("Finds"), want, "{why}: {with}");
        let items = with["input"].as_array().unwrap().iter().filter_map(|item| item["tools"].as_array());
        assert_eq!(
            items.map(Vec::len).sum::<usize>(),
            usize::from(want) + usize::from(why != "an item without tools"),
            "{why}"
        );
    }
    let kept = body(json!({"store": true, "input": []})).to_string();
    assert!(Call::read(OpenAiResponses, kept.as_bytes()).unwrap().takes_offers("u").is_err());
    let many = body(json!({"n": 2, "messages": []})).to_string();
    assert!(Call::read(OpenAiChat, many.as_bytes()).unwrap().takes_offers("u").is_err());
}

proptest! {
    /// No stream, however broken, causes a panic or shows one of our calls.
    #[test]
    fn any_stream(seed in prop::collection::vec((0_usize..15, any::<u8>()), 0..40), dialect in 0_usize..3, piece in 1_usize..60) {
        let dialect = [Anthropic, OpenAiChat, OpenAiResponses][dialect];
        let piece_of = |(kind, n): &(usize, u8)| -> String {
            let n = i64::from(*n % 5) - 1;
            let event = match kind {
                0 => json!({"type": "content_block_start", "index": n, "content_block": {"type": "tool_use", "id": "t", "name": OURS[0], "input": {}}}),
                1 => json!({"type": "content_block_start", "index": n, "content_block": {"type": "text", "text": "x"}}),
                2 => json!({"type": "content_block_delta", "index": n, "delta": {"type": "input_json_delta", "partial_json": "{"}}),
                3 => json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": n}}),
                4 => json!({"type": "message_stop"}),
                5 => json!({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": n, "id": "a", "function": {"name": OURS[1], "arguments": ""}}]}, "finish_reason": null}]}),
                6 => json!({"id": "d", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": n, "function": {"arguments": "{"}}], "content": "x"}, "finish_reason": "stop"}]}),
                7 => json!({"id": n, "choices": [{"delta": 7}, 8], "usage": {"completion_tokens": n}}),
                8 => json!({"type": "response.output_item.added", "sequence_number": n, "output_index": n, "item": {"type": "function_call", "name": OURS[0]}}),
                9 => json!({"type": "response.output_text.delta", "sequence_number": n, "output_index": n, "delta": "x"}),
                10 => json!({"type": "response.completed", "response": {"id": "r", "output": [{"type": "function_call", "call_id": "c", "name": OURS[0], "arguments": "{"}, 7], "status": "completed"}}),
                13 => json!({"type": "response.paused", "response": {"id": "r", "output": [{"type": "function_call", "call_id": "c", "name": OURS[0]}, 7]}}),
                11 => return "data: {\n\n".to_owned(),
                12 => return "data: [DONE]\n\n".to_owned(),
                _ => return ":\r\rdata".to_owned(),
            };
            format!("data: {event}\n\n")
        };
        let text: String = seed.iter().map(piece_of).collect();
        let (rounds, shown, _) = joined(dialect, &[text.clone(), text], piece);
        let target = Target { is_own: true, ..dialect.into() };
        for round in &rounds {
            let outcomes = vec![Outcome { text: "x".into(), is_error: true }; round.ours.len()];
            round.next(&outcomes, target);
        }
        // Events of another dialect pass through unchanged.
        let is_named = |line: &str| match dialect {
            Anthropic => line.contains("content_block_start"),
            OpenAiChat => line.contains("choices"),
            _ => line.contains("response."),
        };
        for line in shown.lines().filter(|line| is_named(line)) {
            prop_assert!(!line.contains("unforget_"), "{}", line);
        }
    }
}
