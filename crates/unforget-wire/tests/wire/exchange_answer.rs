//! Answers of the three dialects, streamed and whole, as the client sends them back.
use proptest::prelude::*;
use unforget_core::entry::Part;
use unforget_wire::Dialect::{self, Anthropic, OpenAiChat, OpenAiResponses};
use unforget_wire::exchange::{Answer, Answered, Ended, Usage, Why};
use unforget_wire::{Format, decode};

const CLAUDE: [&str; 22] = [
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-opus-4-5","stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/="}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v"}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Caf\u00e9 \"x\""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"a"}}}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"a  b\"}"}}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[ {"type":"web_search_result","url":"https://x.invalid"} ]}}"#,
    r#"{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}"#,
    r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"ls"}}"#,
    r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":" \\\"-l\\\"\", \"n\" : 1}"}}"#,
    r#"{"type":"content_block_start","index":6,"content_block":{"type":"compaction","content":null}}"#,
    r#"{"type":"content_block_delta","index":6,"delta":{"type":"compaction_delta","content":"short"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}"#,
    r#"{"type":"message_stop"}"#,
];

const CLAUDE_MESSAGE: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Let me look.","signature":"EqQB+/="},{"type":"redacted_thinking","data":"Zm9v"},{"type":"text","text":"Café \"x\"","citations":[{"type":"char_location","cited_text":"a"}]},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a  b"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[ {"type":"web_search_result","url":"https://x.invalid"} ]},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls \"-l\"","n":1}},{"type":"compaction","content":"short"}]}"#;

const CHAT: [&str; 10] = [
    r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5.5","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}"#,
    r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#,
    r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Hi"}},{"index":1,"delta":{"content":"No"}}]}"#,
    r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" you"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": "}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}},{"index":1,"id":"call_2","type":"custom","custom":{"name":"patch","input":"*"},"extra_content":{"google":{"thought_signature":"s"}}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":500,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":400,"cache_write_tokens":50}}}"#,
    "[DONE]",
];

const CHAT_MESSAGE: &str = r#"{"role":"assistant","content":"Hi you","reasoning_content":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"}},{"id":"call_2","type":"custom","custom":{"name":"patch","input":"*"},"extra_content":{"google":{"thought_signature":"s"}}}]}"#;

const RESPONSES: [&str; 12] = [
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt-5.5-codex","status":"in_progress","output":[]}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"plan"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"plan"}]}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I \"look"}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I \"look\"","annotations":[]}]}}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_1","name":"shell","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"cmd\":"}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"shell","arguments":"{\"cmd\":1}"}}"#,
    r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":900,"input_tokens_details":{"cached_tokens":800},"output_tokens":30}}}"#,
];

fn stream(dialect: Dialect, events: &[&str]) -> Answered {
    let mut answer = Answer::new(dialect);
    for data in events {
        answer.event("", data);
    }
    answer.finish()
}

#[test]
fn a_stream_of_anthropic() {
    let answer = stream(Anthropic, &CLAUDE);
    assert_eq!(answer.messages, [CLAUDE_MESSAGE]);
    assert_eq!(answer.ended, Ended::Complete);
    assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("msg_1"), Some("claude-opus-4-5")));
    assert_eq!(answer.stop.as_deref(), Some("tool_use"));
    let usage = Usage { input: 3_210, cached: 3_000, cache_written: 200, output: 89 };
    assert_eq!(answer.usage, Some(usage), "f071: cached input is beside input_tokens");
}

#[test]
fn a_stream_of_chat() {
    let answer = stream(OpenAiChat, &CHAT);
    assert_eq!(answer.messages, [CHAT_MESSAGE]);
    assert_eq!((answer.ended, answer.choices), (Ended::Complete, 2));
    assert_eq!(answer.stop.as_deref(), Some("tool_calls"));
    let usage = Usage { input: 500, cached: 400, cache_written: 50, output: 20 };
    assert_eq!(answer.usage, Some(usage), "f071: cached input is within prompt_tokens");
}

#[test]
fn a_stream_of_responses() {
    let answer = stream(OpenAiResponses, &RESPONSES);
    assert_eq!(answer.messages.len(), 3);
    let done = |line: &str| line.split_once("\"item\":").unwrap().1.strip_suffix('}').unwrap().to_owned();
    assert_eq!(answer.messages, [done(RESPONSES[3]), done(RESPONSES[7]), done(RESPONSES[10])]);
    assert_eq!((answer.ended, answer.id.as_deref()), (Ended::Complete, Some("resp_1")));
    assert_eq!(answer.usage, Some(Usage { input: 900, cached: 800, cache_written: 0, output: 30 }));
}

#[test]
fn whole_bodies_say_the_same() {
    let body = format!(
        r#"{{"id":"m","type":"message","role":"assistant","model":"x","content":{},"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":2}}}}"#,
        CLAUDE_MESSAGE.split_once("\"content\":").unwrap().1.strip_suffix('}').unwrap()
    );
    let answer = Answer::whole(Anthropic, body.as_bytes());
    assert_eq!((answer.messages, answer.ended), (vec![CLAUDE_MESSAGE.to_owned()], Ended::Complete));

    let body = format!(
        r#"{{"id":"c","model":"x","choices":[{{"index":0,"message":{CHAT_MESSAGE},"finish_reason":"stop"}},{{"index":1,"message":{{}}}}]}}"#
    );
    let answer = Answer::whole(OpenAiChat, body.as_bytes());
    assert_eq!((answer.messages, answer.choices), (vec![CHAT_MESSAGE.to_owned()], 2));

    let body = r#"{"id":"r","status":"completed","error":null,"output":[{"type":"message","role":"assistant","content":[]},{"type":"function_call"}]}"#;
    let answer = Answer::whole(OpenAiResponses, body.as_bytes());
    assert_eq!((answer.messages.len(), answer.ended), (2, Ended::Complete));
}

#[test]
fn ends_table() {
    let told = |why: &str| Ended::Interrupted(Why::Told(why.to_owned()));
    let table = [
        (
            Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            Ended::Error(r#"{"type":"overloaded_error","message":"m"}"#.to_owned()),
            "an error event",
        ),
        (
            OpenAiChat,
            r#"{"error":{"message":"m","code":429}}"#,
            Ended::Error(r#"{"message":"m","code":429}"#.to_owned()),
            "an error chunk",
        ),
        (
            OpenAiResponses,
            r#"{"type":"error","code":"x","message":"m"}"#,
            Ended::Error(r#"{"type":"error","code":"x","message":"m"}"#.to_owned()),
            "an error event",
        ),
        (
            OpenAiResponses,
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"},"output":[]}}"#,
            Ended::Error(r#"{"code":"server_error"}"#.to_owned()),
            "a response that failed",
        ),
        (
            OpenAiResponses,
            r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
            told("max_output_tokens"),
            "an incomplete one",
        ),
        (
            OpenAiResponses,
            r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            Ended::Complete,
            "an end without a start",
        ),
        (OpenAiChat, "not json", Ended::Interrupted(Why::Cut), "half an event"),
        (Anthropic, r#"{"type":"news"}"#, Ended::Interrupted(Why::Cut), "an event that is not known"),
    ];
    for (dialect, data, want, why) in table {
        let answer = stream(dialect, &[data]);
        assert_eq!(answer.ended, want, "{why}");
        assert!(answer.messages.is_empty(), "{why}");
    }
    for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
        let html = Answer::whole(dialect, b"<html>502</html>");
        assert_eq!((html.ended, html.unread), (Ended::Interrupted(Why::Cut), 1), "{dialect:?}");
    }
    let mut large = Answer::new(Anthropic);
    large.lost();
    assert_eq!(large.finish().ended, Ended::Interrupted(Why::TooLarge));
}

#[test]
fn f043_what_came_of_an_interrupted_answer_is_kept() {
    let cut = stream(Anthropic, &CLAUDE[..17]);
    assert_eq!(cut.ended, Ended::Interrupted(Why::Cut));
    assert!(
        cut.messages[0].ends_with(r#""input":{},"partial_json":"{\"command\": \"ls"}]}"#),
        "{:?}",
        cut.messages
    );
    let entry = decode(Format::AnthropicMessages, cut.messages[0].as_bytes());
    let call = entry.parts.iter().rev().find_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    assert!(!call.unwrap().complete, "a call that was cut off was not made");

    let cut = stream(OpenAiResponses, &RESPONSES[..10]);
    assert_eq!(cut.messages.len(), 3);
    assert_eq!(
        cut.messages[2],
        r#"{"id":"fc_1","type":"function_call","status":"incomplete","call_id":"call_1","name":"shell","arguments":"{\"cmd\":"}"#
    );
    let cut = stream(OpenAiResponses, &RESPONSES[..7]);
    assert_eq!(
        cut.messages[1],
        r#"{"id":"msg_1","type":"message","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"I \"look"}]}"#
    );

    let cut = stream(OpenAiChat, &CHAT[..6]);
    assert_eq!(cut.ended, Ended::Interrupted(Why::Cut));
    assert!(cut.messages[0].contains(r#""arguments":"{\"path\": ""#));
}

#[test]
fn f049_calls_of_one_index_with_other_ids_are_other_calls() {
    let call = |id: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}]}}}}]}}"#
        )
    };
    let (a, b) = (call("a"), call("b"));
    let answer = stream(OpenAiChat, &[&a, &b]);
    assert_eq!(answer.messages[0].matches(r#""name":"f""#).count(), 2, "{:?}", answer.messages);
}

proptest! {
    /// Events repeated, out of order, split differently or missing: never a panic, always JSON, at most the received
    /// content.
    #[test]
    fn any_events_in_any_order(
        picks in proptest::collection::vec((0..3_usize, any::<proptest::sample::Index>(), 0..200_usize), 0..40),
        names in "[a-z._]{0,8}",
    ) {
        for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
            let mut answer = Answer::new(dialect);
            for (which, index, cut) in &picks {
                let all: &[&str] = [&CLAUDE[..], &CHAT, &RESPONSES][*which];
                let data = all[index.index(all.len())];
                let data = if *cut < 20 { data.get(..*cut).unwrap_or(data) } else { data };
                answer.event(&names, data);
            }
            for message in answer.finish().messages {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&message).is_ok(), "{}", message);
            }
        }
    }

    /// A cut stream gives the start of the whole answer.
    #[test]
    fn a_cut_stream_is_a_start(at in 0..22_usize) {
        for (dialect, events) in [(Anthropic, &CLAUDE[..]), (OpenAiChat, &CHAT), (OpenAiResponses, &RESPONSES)] {
            let at = at.min(events.len() - 1);
            let cut = stream(dialect, &events[..at]);
            let whole = stream(dialect, events);
            prop_assert!(cut.messages.len() <= whole.messages.len());
            let is_told = dialect == OpenAiChat && at >= 8 || dialect == Anthropic && at >= 21;
            prop_assert_eq!(cut.ended == Ended::Complete, is_told, "{:?} {}", dialect, at);
        }
    }

    /// Any bytes: never a panic.
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..80)) {
        for dialect in Dialect::ALL {
            drop(Answer::whole(dialect, &body));
        }
    }
}
