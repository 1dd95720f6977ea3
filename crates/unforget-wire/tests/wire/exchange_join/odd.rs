//! Streams that no provider should send: a call runs as ours only if the client did not get it.

use serde_json::{Value, json};
use unforget_wire::Dialect::{Anthropic, OpenAiChat};

use super::{OURS, call, joined, stream};

/// The examined part of a Chat answer is the part that the client gets, in odd chunks too.
#[test]
fn odd_chunks_of_chat_table() {
    let chunk = |choices: Value| json!({"id": "c", "choices": choices});
    let calls = |name: &str| json!({"tool_calls": [call(Some(0), "a", name, "{}")]});
    let end = chunk(json!([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]));
    let first = |delta: Value| chunk(json!([{"index": 0, "delta": delta}]));
    // Our calls, other calls, names in the client's calls.
    let table = [
        (
            vec![first(calls("unforget_")), end.clone(), first(calls("search"))],
            (0, 1),
            vec!["unforget_"],
            "a name behind the end",
        ),
        (
            vec![chunk(json!([{"index": 0, "message": calls(OURS[0]), "finish_reason": "tool_calls"}]))],
            (1, 0),
            vec![],
            "a message in a chunk",
        ),
        (
            vec![
                chunk(
                    json!([{"index": 0, "delta": {"content": "So."}}, {"index": 0, "delta": calls(OURS[0])}]),
                ),
                end.clone(),
            ],
            (0, 0),
            vec![],
            "the same choice twice",
        ),
        (
            vec![first(json!({"function_call": {"name": OURS[0], "arguments": "{}"}})), end],
            (0, 1),
            vec![],
            "the older form",
        ),
    ];
    for (events, want, names, why) in table {
        let (rounds, text, answered) = joined(OpenAiChat, &[stream(&events, OpenAiChat)], 9);
        assert_eq!((rounds[0].ours.len(), rounds[0].others), want, "{why}");
        let message: Value =
            answered.messages.first().map_or(Value::Null, |one| serde_json::from_str(one).unwrap());
        let shown = message["tool_calls"].as_array().into_iter().flatten();
        let shown: Vec<_> = shown.map(|call| call["function"]["name"].as_str().unwrap()).collect();
        assert_eq!(shown, names, "{why}: {text}");
    }
}

/// Deltas add to a block and never name it; a message may begin with blocks.
#[test]
fn a_call_is_ours_if_what_announces_it_says_so() {
    let named = |kind: &str, text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, "id": "t", "name": text}});
    let arguments = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}});
    let block = |name: &str| json!({"type": "tool_use", "id": "t", "name": name, "input": {}});
    let started =
        |name: &str| json!({"type": "content_block_start", "index": 0, "content_block": block(name)});
    let begun = |content: Value| json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": content}});
    let text = json!({"type": "text", "text": "So."});
    let end = json!({"type": "message_stop"});
    // Our calls, other calls, the client's blocks.
    let table = [
        (
            vec![begun(json!([])), named("x_delta", OURS[0]), arguments.clone()],
            (0, 1),
            1,
            "announced by nothing",
        ),
        (
            vec![begun(json!([])), started("unforget_"), named("x_delta", "search")],
            (0, 1),
            1,
            "named by pieces",
        ),
        (
            vec![begun(json!([])), started(OURS[0]), named("x_delta", "x"), arguments.clone()],
            (1, 0),
            0,
            "ours",
        ),
        (vec![begun(json!([block(OURS[0]), text])), arguments.clone()], (1, 0), 1, "there from the start"),
        (vec![begun(json!([text, block("read")]))], (0, 1), 2, "none of ours"),
    ];
    for (events, want, blocks, why) in table {
        let events = [events, vec![end.clone()]].concat();
        let (rounds, _, answered) = joined(Anthropic, &[stream(&events, Anthropic)], 7);
        assert_eq!((rounds[0].ours.len(), rounds[0].others), want, "{why}");
        let shown: Vec<Value> =
            answered.messages.iter().map(|one| serde_json::from_str(one).unwrap()).collect();
        let shown = shown.iter().flat_map(|one| one["content"].as_array().unwrap());
        let names: Vec<_> = shown.map(|block| block["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names.len(), blocks, "{why}");
        assert!(!names.contains(&OURS[0]), "{why}: {names:?}");
    }
}
