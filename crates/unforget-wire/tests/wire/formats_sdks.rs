//! Messages that programs store with an SDK of their own.
//!
//! The shapes of messages that the real libraries wrote (`ai` 6.0.326, pydantic-ai 2.68.0), in words of our own.
use unforget_wire::{Format, Reader};

use crate::formats_table::check;

#[test]
fn ai_sdk() {
    check(
        Format::AiSdk,
        &[
            (
                r#"{"id":"u","role":"user","parts":[{"type":"text","text":"about owls"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,iVBORw=="}]}"#,
                "User/Human: about owls, media(image/png)",
                "said",
            ),
            (
                r#"{"id":"a","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","id":"r","text":"hm","state":"done"},{"type":"tool-heron","toolCallId":"c","state":"output-available","input":{"x":1},"output":{"colour":"grey"}},{"type":"step-start"},{"type":"text","text":"grey","state":"done"}]}"#,
                r#"Assistant/Model: thinking(hm raw), call(c heron {"x":1}), result(c [{"colour":"grey"}]), grey"#,
                "an answer with a call",
            ),
            (
                r#"{"id":"a","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"f","toolCallId":"c","state":"output-error","input":{},"errorText":"no"}]}"#,
                "Assistant/Model: call(c f {}), result(c [no] error)",
                "a call that failed",
            ),
            (
                r#"{"id":"a","role":"assistant","parts":[{"type":"tool-f","toolCallId":"c","state":"input-streaming","input":{"x":1}}]}"#,
                r#"Assistant/Model: call(c f {"x":1} cut)"#,
                "a call that was cut off",
            ),
            (
                r#"{"id":"a","role":"assistant","parts":[{"type":"data-weather","data":{}},{"type":"source-url","url":"u"}]}"#,
                "Assistant/Model: opaque(source-url)",
                "the program's own, and a source",
            ),
            (r#"{"id":"a","role":"assistant","parts":[]}"#, "None/Bookkeeping:", "nothing yet"),
        ],
    );
}

#[test]
fn pydantic_ai() {
    check(
        Format::PydanticAi,
        &[
            (
                r#"{"parts":[{"content":"sys","part_kind":"system-prompt"},{"content":["about owls",{"data":"iVBORw==","media_type":"image/png","kind":"binary"},{"url":"u","kind":"image-url"}],"part_kind":"user-prompt"}],"instructions":"be kind","kind":"request"}"#,
                "User/Human: opaque(system-prompt), about owls, media(image/png), opaque(image-url)",
                "said",
            ),
            (
                r#"{"parts":[{"content":"sys","part_kind":"system-prompt"}],"kind":"request"}"#,
                "System/Injected: sys",
                "instructions",
            ),
            (
                r#"{"parts":[{"content":"hm","signature":null,"part_kind":"thinking"},{"tool_name":"heron","args":{"x":0},"tool_call_id":"c","part_kind":"tool-call"}],"model_name":"m","kind":"response"}"#,
                r#"Assistant/Model: thinking(hm raw), call(c heron {"x":0})"#,
                "a call",
            ),
            (
                r#"{"parts":[{"tool_name":"f","args":"{\"x\"","tool_call_id":"c","part_kind":"tool-call"},{"tool_name":"g","args":null,"tool_call_id":"d","part_kind":"tool-call"}],"kind":"response"}"#,
                r#"Assistant/Model: call(c f {"x" cut), call(d g {})"#,
                "arguments as text, cut off, and none",
            ),
            (
                r#"{"parts":[{"tool_name":"heron","content":{"colour":"grey"},"tool_call_id":"c","outcome":"success","part_kind":"tool-return"}],"kind":"request"}"#,
                r#"Tool/Tool: result(c [{"colour":"grey"}])"#,
                "a result",
            ),
            (
                r#"{"parts":[{"content":"try again","tool_name":"heron","tool_call_id":"c","part_kind":"retry-prompt"}],"kind":"request"}"#,
                "Tool/Tool: result(c [try again] error)",
                "a call that failed",
            ),
            (
                r#"{"parts":[{"content":"no JSON","tool_name":null,"tool_call_id":"c","part_kind":"retry-prompt"}],"kind":"request"}"#,
                "User/Injected: no JSON",
                "an answer that was refused",
            ),
            (r#"{"parts":[],"kind":"response"}"#, "Assistant/Bookkeeping:", "nothing"),
        ],
    );
}

#[test]
fn files_are_recognised() {
    let table = [
        (r#"[{"id":"u","role":"user","parts":[{"type":"text","text":"x"}]}]"#, Format::AiSdk, "ai-sdk:"),
        (
            r#"{"id":"chat-1","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"x"}]}]}"#,
            Format::AiSdk,
            "ai-sdk:chat-1",
        ),
        (
            r#"[{"parts":[{"content":"x","part_kind":"user-prompt"}],"kind":"request","conversation_id":"c-1"}]"#,
            Format::PydanticAi,
            "pydantic-ai:c-1",
        ),
    ];
    for (text, format, key) in table {
        let reader = Reader::open(text.as_bytes()).unwrap();
        assert_eq!(reader.source().format, format, "{text}");
        assert!(reader.source().key.0.starts_with(key), "{:?}", reader.source().key);
    }
}
