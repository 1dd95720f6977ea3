//! Records made of the rows of hosts' databases.
//!
//! OpenClaw and Hermes: the shapes of rows that the real programs wrote (2026.9.6, 0.19.0), in words of our own; the OpenAI Agents
//! SDK: rows that the real library wrote (0.24.0). Crush, Goose, Zed and Cursor: not seen, written after their source or the code of
//! others.
use unforget_core::entry::HostParent;
use unforget_wire::{Format, Reader, decode};

use crate::formats_table::check;

#[test]
fn openclaw() {
    check(
        Format::OpenClaw,
        &[
            (
                r#"{"openclaw":"event","row":{"session_id":"s","seq":4,"event_id":"e","event_json":{"type":"message","id":"e","parentId":"d","message":{"role":"user","content":"hi"}},"created_at":1}}"#,
                "User/Human: hi",
                "a line of pi's",
            ),
            (
                r#"{"openclaw":"event","row":{"session_id":"s","seq":4,"event_id":"e","event_json":{"type":"reset","id":"e"},"created_at":1}}"#,
                "None/Bookkeeping:",
                "the host's own",
            ),
            (
                r#"{"openclaw":"event","row":{"session_id":"s","seq":4,"event_id":"e","event_json":{"$hex":"28b52ffd"},"created_at":1}}"#,
                "None/Opaque:",
                "bytes that could not be unpacked",
            ),
            (r#"{"openclaw":"session","row":{"session_id":"s"}}"#, "None/Bookkeeping:", "the session"),
            (r#"{"openclaw":"gone","id":"e"}"#, "None/Bookkeeping:", "deleted"),
        ],
    );
    let event = |id: &str, seq: u32| {
        let line = format!(
            r#"{{"openclaw":"event","row":{{"session_id":"s","seq":{seq},"event_id":{id},"event_json":{{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"hi"}}}}}}}}"#
        );
        decode(Format::OpenClaw, line.as_bytes())
    };
    let entry = event(r#""e""#, 4);
    assert_eq!((entry.host_id.as_deref(), entry.parent), (Some("e"), HostParent::Id("d".to_owned())));
    assert_eq!(entry.time.unwrap().0, 1_767_225_600_000);
    assert_eq!(event(r#""s""#, 0).host_id.as_deref(), Some("#0"), "the header has the session's id");
    assert_eq!(event("null", 7).host_id.as_deref(), Some("#7"), "not named yet");
}

#[test]
fn crush() {
    let message = |role: &str, parts: &str, more: &str| {
        format!(r#"{{"crush":"message","row":{{"id":"m","role":"{role}","parts":[{parts}]{more}}}}}"#)
    };
    let table = [
        (
            message(
                "user",
                r#"{"type":"text","data":{"text":"hi"}},{"type":"finish","data":{"reason":"stop"}}"#,
                "",
            ),
            "User/Human: hi",
            "said",
        ),
        (
            message("user", r#"{"type":"text","data":{"text":"go on","hidden":true}}"#, ""),
            "User/Injected: go on",
            "the host's",
        ),
        (
            message(
                "user",
                r#"{"type":"binary","data":{"Path":"a","MIMEType":"image/png","Data":"iVBO"}}"#,
                "",
            ),
            "User/Human: media(image/png)",
            "an attachment",
        ),
        (
            message(
                "assistant",
                r#"{"type":"reasoning","data":{"thinking":"hm","signature":""}},{"type":"tool_call","data":{"id":"c","name":"ls","input":"{\"a\":1}","finished":true}}"#,
                "",
            ),
            r#"Assistant/Model: thinking(hm raw), call(c ls {"a":1})"#,
            "a call",
        ),
        (
            message(
                "assistant",
                r#"{"type":"tool_call","data":{"id":"c","name":"ls","input":"{\"a\"","finished":false}}"#,
                "",
            ),
            r#"Assistant/Model: call(c ls {"a" cut)"#,
            "a call that was cut off",
        ),
        (
            message(
                "tool",
                r#"{"type":"tool_result","data":{"tool_call_id":"c","name":"ls","content":"x","is_error":true}}"#,
                "",
            ),
            "Tool/Tool: result(c [x] error)",
            "its result",
        ),
        (
            message("assistant", r#"{"type":"finish","data":{"reason":"error","message":"no credit"}}"#, ""),
            "None/Bookkeeping!: no credit",
            "an error without an answer",
        ),
        (
            message(
                "assistant",
                r#"{"type":"text","data":{"text":"so"}},{"type":"finish","data":{"reason":"canceled"}}"#,
                "",
            ),
            "Assistant/Model!: so",
            "stopped by the person",
        ),
        (
            message("assistant", r#"{"type":"text","data":{"text":"so far"}}"#, r#","is_summary_message":1"#),
            "User/HostSummary: so far",
            "a summary",
        ),
        (
            message(
                "user",
                r#"{"type":"shell_command","data":{"command":"ls","output":"a","exit_code":2}}"#,
                "",
            ),
            "User/Human: $ ls\na\n[exit code 2]",
            "a command of the person",
        ),
        (message("user", r#"{"type":"new","data":{}}"#, ""), "User/Human: opaque(new)", "an unknown part"),
        (message("assistant", "", ""), "None/Bookkeeping:", "nothing yet"),
        (
            r#"{"crush":"session","row":{"id":"s","title":"t"}}"#.to_owned(),
            "None/Bookkeeping:",
            "the session",
        ),
    ];
    for (record, want, why) in &table {
        check(Format::Crush, &[(record, want, why)]);
    }
}

#[test]
fn goose() {
    let message = |role: &str, content: &str, more: &str| {
        format!(
            r#"{{"goose":"message","row":{{"id":7,"role":"{role}","content_json":[{content}],"created_timestamp":1772442000{more}}}}}"#
        )
    };
    let table = [
        (message("user", r#"{"type":"text","text":"hi"}"#, ""), "User/Human: hi", "said"),
        (
            message("user", r#"{"type":"image","data":"iVBO","mimeType":"image/png"}"#, ""),
            "User/Human: media(image/png)",
            "an image",
        ),
        (
            message(
                "assistant",
                r#"{"type":"thinking","thinking":"hm","signature":"s"},{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"shell","arguments":{"a":1}}}}"#,
                "",
            ),
            r#"Assistant/Model: thinking(hm raw), call(c shell {"a":1})"#,
            "a call",
        ),
        (
            message(
                "assistant",
                r#"{"type":"toolRequest","id":"c","toolCall":{"status":"error","error":"bad"}}"#,
                "",
            ),
            "Assistant/Model: call(c  {} cut)",
            "a call that the host could not read",
        ),
        (
            message(
                "user",
                r#"{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"x"}],"isError":true}}}"#,
                "",
            ),
            "Tool/Tool: result(c [x] error)",
            "a result",
        ),
        (
            message(
                "user",
                r#"{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"x"}]}}"#,
                "",
            ),
            "Tool/Tool: result(c [x])",
            "an older result",
        ),
        (
            message(
                "user",
                r#"{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"no"}}"#,
                "",
            ),
            "Tool/Tool: result(c [no] error)",
            "an error",
        ),
        (
            message(
                "user",
                r#"{"type":"text","text":"sum"}"#,
                r#","metadata_json":{"userVisible":false,"agentVisible":true}"#,
            ),
            "User/Injected: sum",
            "only for the model",
        ),
        (
            message(
                "user",
                r#"{"type":"text","text":"a"}"#,
                r#","metadata_json":{"userVisible":false,"agentVisible":false}"#,
            ),
            "User/Bookkeeping: a",
            "for nobody",
        ),
        (
            message("user", r#"{"type":"systemNotification","msg":"m"}"#, ""),
            "User/Bookkeeping:",
            "the host's note",
        ),
        (
            r#"{"role":"assistant","created":1772442000,"content":[{"type":"text","text":"ok"}]}"#.to_owned(),
            "Assistant/Model: ok",
            "a line of an older file",
        ),
        (
            r#"{"working_dir":"/w","description":"d","message_count":1}"#.to_owned(),
            "None/Bookkeeping:",
            "its first line",
        ),
    ];
    for (record, want, why) in &table {
        check(Format::Goose, &[(record, want, why)]);
    }
    let entry = decode(Format::Goose, table[0].0.as_bytes());
    assert_eq!((entry.host_id.as_deref(), entry.time.unwrap().0), (Some("#7"), 1_772_442_000_000));
}

#[test]
fn hermes() {
    check(
        Format::Hermes,
        &[
            (
                r#"{"hermes":"message","row":{"id":1,"role":"user","content":"hi","timestamp":1.5,"active":1}}"#,
                "User/Human: hi",
                "said",
            ),
            (
                r#"{"hermes":"message","row":{"id":1,"role":"user","content":"\u0000json:[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AA==\"}}]"}}"#,
                "User/Human: a, media(image/png)",
                "a content of parts",
            ),
            (
                r#"{"hermes":"message","row":{"id":1,"role":"user","content":"\u0000json:[{"}}"#,
                "User/Human: \0json:[{",
                "broken parts",
            ),
            (
                r#"{"hermes":"message","row":{"id":2,"role":"assistant","content":"","reasoning":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}}"#,
                r#"Assistant/Model: thinking(hm), call(c f {"a":1})"#,
                "a call",
            ),
            (
                r#"{"hermes":"message","row":{"id":3,"role":"tool","content":"x","tool_call_id":"c","tool_name":"f"}}"#,
                "Tool/Tool: result(c [x])",
                "its result",
            ),
            (
                r#"{"hermes":"message","row":{"id":1,"role":"user","content":"hi","active":0,"compacted":1}}"#,
                "User/Human: hi",
                "said before the host's summary",
            ),
            (
                r#"{"hermes":"message","row":{"id":1,"role":"user","content":"hi","active":0,"compacted":0}}"#,
                "User/Bookkeeping: hi",
                "taken back by the person",
            ),
            (
                r#"{"hermes":"instructions","row":{"id":"s","system_prompt":"be kind"}}"#,
                "System/Injected: be kind",
                "instructions",
            ),
        ],
    );
}

#[test]
fn openai_agents() {
    check(
        Format::OpenAiAgents,
        &[
            (
                r#"{"openai-agents":"message","row":{"id":1,"message_data":{"content": "hi", "role": "user"}}}"#,
                "User/Human: hi",
                "said",
            ),
            (
                r#"{"openai-agents":"message","row":{"id":2,"message_data":{"arguments": "{}", "call_id": "c", "name": "f", "type": "function_call", "id": "i", "status": "completed"}}}"#,
                "Assistant/Model: call(c f {})",
                "a call",
            ),
            (
                r#"{"openai-agents":"message","row":{"id":3,"message_data":{"call_id": "c", "output": "x", "type": "function_call_output"}}}"#,
                "Tool/Tool: result(c [x])",
                "its result",
            ),
            (
                r#"{"openai-agents":"message","row":{"id":3,"message_data":"no JSON"}}"#,
                "None/Opaque:",
                "damage",
            ),
        ],
    );
}

#[test]
fn zed() {
    check(
        Format::Zed,
        &[
            (
                r#"{"zed":"message","row":{"key":0,"value":{"User":{"id":"u","content":[{"Text":"see "},{"Mention":{"uri":{"File":{"abs_path":"/w/a"}},"content":"owl"}},{"Image":{"source":"iVBO"}}]}}}}"#,
                "User/Human: see , owl, media(image/png)",
                "said",
            ),
            (
                r#"{"zed":"message","row":{"key":1,"value":{"Agent":{"content":[{"Thinking":{"text":"hm","signature":"s"}},{"Text":"I look"},{"ToolUse":{"id":"c","name":"f","raw_input":"{}","input":{"a":1},"is_input_complete":true}}],"tool_results":{"c":{"tool_use_id":"c","tool_name":"f","is_error":false,"content":[{"Text":"x"}],"output":null}}}}}}"#,
                r#"Assistant/Model: thinking(hm raw), I look, call(c f {"a":1}), result(c [x])"#,
                "a call and its result",
            ),
            (
                r#"{"zed":"message","row":{"key":1,"value":{"Agent":{"content":[{"ToolUse":{"id":"c","name":"f","input":{},"is_input_complete":false}}],"tool_results":{"c":{"tool_use_id":"c","is_error":true,"content":"no"}}}}}}"#,
                "Assistant/Model: call(c f {} cut), result(c [no] error)",
                "a call that was cut off",
            ),
            (
                r#"{"zed":"message","row":{"key":2,"value":"Resume"}}"#,
                "None/Bookkeeping:",
                "the person said: go on",
            ),
            (
                r#"{"zed":"message","row":{"key":0,"value":{"id":1,"role":"assistant","segments":[{"type":"text","text":"ok"}],"tool_uses":[{"id":"c","name":"f","input":{"a":1}}],"tool_results":[{"tool_use_id":"c","is_error":false,"content":{"Text":"x"}}]}}}"#,
                r#"Assistant/Model: ok, call(c f {"a":1}), result(c [x])"#,
                "an older thread",
            ),
            (
                r#"{"zed":"message","row":{"key":1,"value":{"Agent":{"content":[{"New":1},"x",7]}}}}"#,
                "Assistant/Model: opaque(New)",
                "unknown parts",
            ),
        ],
    );
}

#[test]
fn cursor() {
    check(
        Format::Cursor,
        &[
            (
                r#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":1,"bubbleId":"b","text":"hi","images":[{"uuid":"i"}]}}}"#,
                "User/Human: hi, media()",
                "said",
            ),
            (
                r#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":2,"thinking":{"text":"hm","signature":""},"text":"","toolFormerData":{"toolCallId":"c","name":"read_file","rawArgs":"{\"a\":1}","status":"completed","result":"{\"contents\":\"x\"}"}}}}"#,
                r#"Assistant/Model: thinking(hm raw), call(c read_file {"a":1}), result(c [{"contents":"x"}])"#,
                "a call and its result",
            ),
            (
                r#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":2,"toolFormerData":{"toolCallId":"c","name":"f","rawArgs":"{\"a\"","status":"error","error":"no"}}}}"#,
                r#"Assistant/Model: call(c f {"a" cut), result(c [no] error)"#,
                "a call that failed",
            ),
            (
                r#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":2,"text":"","capabilityType":30}}}"#,
                "None/Bookkeeping:",
                "a bubble without words",
            ),
            (r#"{"cursor":"message","row":{"key":"b","value":{"type":9}}}"#, "None/Opaque:", "another type"),
        ],
    );
    let entry = decode(
        Format::Cursor,
        br#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":2,"text":"x","createdAt":"2026-01-01T00:00:00.000Z","modelInfo":{"modelName":"m"}}}}"#,
    );
    assert_eq!((entry.host_id.as_deref(), entry.model.as_deref()), (Some("b"), Some("m")));
}

#[test]
fn rows_are_recognised_and_named() {
    let table = [
        (
            r#"{"openclaw":"session","row":{"session_id":"s","parent_session_id":"p","display_name":"t"}}"#,
            "openclaw:s",
            Some("openclaw:p"),
            Some("t"),
        ),
        (
            r#"{"crush":"session","row":{"id":"m$$c","parent_session_id":"s","title":"t"}}"#,
            "crush:m$$c",
            Some("crush:s"),
            Some("t"),
        ),
        (r#"{"goose":"session","row":{"id":"20260301_1","name":"t"}}"#, "goose:20260301_1", None, Some("t")),
        (
            r#"{"hermes":"session","row":{"id":"s","parent_session_id":"p","title":""}}"#,
            "hermes:s",
            None,
            None,
        ),
        (
            r#"{"cursor":"session","row":{"key":"composerData:s","value":{"name":"t"}}}"#,
            "cursor:s",
            None,
            Some("t"),
        ),
        (
            r#"{"zed":"session","row":{"id":"s","summary":"t","parent_id":"p"}}"#,
            "zed:s",
            Some("zed:p"),
            Some("t"),
        ),
        (r#"{"openai-agents":"session","row":{"session_id":"s"}}"#, "openai-agents:s", None, None),
    ];
    for (line, key, parent, title) in table {
        let text = format!("{line}\n");
        let reader = Reader::open(text.as_bytes()).unwrap();
        let source = reader.source();
        assert_eq!(source.key.0, key);
        assert_eq!(source.parent.as_ref().map(|parent| parent.0.as_str()), parent, "{key}");
        assert_eq!(source.title.as_deref(), title, "{key}");
    }
    let goose = "{\"working_dir\":\"/w\",\"description\":\"d\",\"message_count\":1}\n{\"role\":\"user\",\"created\":1,\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}\n";
    assert_eq!(Reader::open(goose.as_bytes()).unwrap().source().format, Format::Goose);
    let other = "{\"row\":{\"id\":\"s\"},\"crush\":\"session\"}\n";
    assert_eq!(Reader::open(other.as_bytes()).unwrap().source().format, Format::Unknown, "the first key");
}
