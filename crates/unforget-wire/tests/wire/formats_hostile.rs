//! No record, however broken, stops a decoder.
use proptest::prelude::*;
use unforget_core::entry::Origin;
use unforget_wire::{Format, decode};

const SEEDS: [&str; 26] = [
    r#"{"id":"a","role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"tool-f","toolCallId":"c","state":"output-available","input":{"x":1},"output":{"a":1}},{"type":"file","mediaType":"a/b","url":"u"}]}"#,
    r#"{"parts":[{"content":["x",{"data":"AA==","media_type":"a/b","kind":"binary"}],"part_kind":"user-prompt"},{"tool_name":"f","args":{"x":0},"tool_call_id":"c","part_kind":"tool-call"},{"tool_name":"f","content":"x","tool_call_id":"c","part_kind":"tool-return"}],"kind":"request"}"#,
    r#"{"crush":"message","row":{"id":"m","role":"assistant","parts":[{"type":"tool_call","data":{"id":"c","name":"f","input":"{}"}},{"type":"tool_result","data":{"tool_call_id":"c","content":"x","data":"AA==","mime_type":"a/b"}},{"type":"finish","data":{"reason":"error"}}],"is_summary_message":0}}"#,
    r#"{"goose":"message","row":{"id":7,"role":"user","content_json":[{"type":"toolRequest","id":"c","toolCall":{"value":{"name":"f","arguments":{}}}},{"type":"toolResponse","id":"c","toolResult":{"value":{"content":[{"type":"text","text":"x"}]}}}],"metadata_json":{"userVisible":false}}}"#,
    r#"{"hermes":"message","row":{"id":1,"role":"user","content":"\u0000json:[{\"type\":\"text\",\"text\":\"a\"}]","reasoning":"hm","active":0}}"#,
    r#"{"zed":"message","row":{"key":1,"value":{"Agent":{"content":[{"Thinking":{"text":"hm"}},{"ToolUse":{"id":"c","name":"f","input":{}}}],"tool_results":{"c":{"tool_use_id":"c","content":[{"Text":"x"},{"Image":{"source":"AA=="}}]}}}}}}"#,
    r#"{"cursor":"message","row":{"key":"bubbleId:s:b","value":{"type":2,"text":"x","thinking":{"text":"hm"},"toolFormerData":{"toolCallId":"c","name":"f","rawArgs":"{}","result":{"a":1}}}}}"#,
    r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"c","run":{"status":"error","error":{"message":"m"},"result":{"output":"o","exitCode":1,"success":false}}}],"usage":{"model":"m","timestamp":"x"}}"#,
    r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"parent_tool_use_id":"t","session_id":"s","uuid":"u"}"#,
    r#"{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"result":{"content":[{"type":"text","text":"x"}]},"error":{"message":"m"},"status":"failed"}}"#,
    r#"{"message":{"role":"assistant","content":"x","toolCalls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"toolCallStates":[{"toolCallId":"c","status":"errored","output":[{"content":"o"}]}]}"#,
    r#"{"uuid":"u","parentUuid":"p","sessionId":"s","type":"assistant","isSidechain":true,"agentId":"a","message":{"parts":[{"text":"x","thought":true},{"functionCall":{"id":"c","name":"f","args":{}}},{"functionResponse":{"id":"c","response":{"error":"bad"}}}]}}"#,
    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Exit code: 3\nOutput:\nx"}}"#,
    r#"{"type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}}"#,
    r#"{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}"}}"#,
    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}"#,
    r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}],"function_call":{"name":"f","arguments":"{}"}}"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1"},{"type":"image","source":{"media_type":"image/png","data":"iVBO"}}],"is_error":true}]}"#,
    r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{"format":"wav"}},"x",7,null]}"#,
    r#"{"id":"m","type":"gemini","content":[{"text":"x"},{"inlineData":{"mimeType":"a/b"}}],"thoughts":[{"subject":"S"}],"toolCalls":[{"name":"f","args":{"a":1},"status":"error","result":[{"functionResponse":{"response":{"error":"bad"}}}]}]}"#,
    r#"{"type":"assistant.message","data":{"messageId":"m","content":"x","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{"command":"ls"}}]},"id":"1","timestamp":"x"}"#,
    r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"result":{"content":"1"},"error":{"message":"m"}},"id":"1"}"#,
    r#"{"role":"tool","content":"o","agent":"primary","message_type":"observation","tool_call_ids":["c"],"is_demo":true}"#,
    r#"{"id":5,"source":"agent","action":"run","args":{"command":"ls","thought":"look","image_urls":["data:;","x"]},"tool_call_metadata":{"tool_call_id":"c","model_response":{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"arguments":"{}"}}]}}]}}}"#,
    r#"{"id":6,"source":"agent","observation":"run","content":"o","cause":3,"extras":{"metadata":{"exit_code":2e400}}}"#,
    r#"{"action":"ls","observation":"o","response":"r","state":"{}","thought":"t"}"#,
];

/// One mutation of a record: bytes, or a whole value in place of another.
fn mutate(seed: &str, changes: &[(usize, u8, u8)]) -> Vec<u8> {
    const SPLICES: [&str; 12] = [
        "null",
        "[]",
        "{}",
        "\"\"",
        "-1",
        "true",
        "\"\\ud800\"",
        "1e999",
        "[[[[",
        "}}",
        "\"content\":",
        "\u{0}",
    ];
    let mut bytes = seed.as_bytes().to_vec();
    for &(at, how, with) in changes {
        let at = at % (bytes.len() + 1);
        match how % 5 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, with),
            2 if at < bytes.len() => bytes[at] = with,
            3 if at < bytes.len() => drop(bytes.remove(at)),
            _ => {
                // Puts a value where one starts, so that the record often stays JSON.
                let start =
                    bytes.iter().skip(at).position(|byte| *byte == b':').map_or(at, |colon| at + colon + 1);
                let end = bytes
                    .iter()
                    .skip(start)
                    .position(|byte| matches!(byte, b',' | b'}'))
                    .map_or(start, |end| start + end);
                let splice = SPLICES[usize::from(with) % SPLICES.len()];
                drop(bytes.splice(start.min(end)..end, splice.bytes()));
            }
        }
    }
    bytes
}

const FORMATS: [Format; 21] = [
    Format::AiSdk,
    Format::PydanticAi,
    Format::Crush,
    Format::Goose,
    Format::Hermes,
    Format::Zed,
    Format::Amp,
    Format::ClaudeStream,
    Format::Cline,
    Format::CodexExec,
    Format::ContinueDev,
    Format::QwenCode,
    Format::Codex,
    Format::OpenAiChat,
    Format::AnthropicMessages,
    Format::GeminiCli,
    Format::CopilotCli,
    Format::Opencode,
    Format::SweAgent,
    Format::OpenHands,
    Format::TauBench,
];

/// Formats whose rows can hold something that is no record.
const WRAPPED: [Format; 3] = [Format::OpenClaw, Format::Cursor, Format::OpenAiAgents];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, ..ProptestConfig::default() })]

    /// Decoding never panics, and handles every JSON object.
    #[test]
    fn decode_is_total(seed in 0..SEEDS.len(), changes in proptest::collection::vec(any::<(usize, u8, u8)>(), 0..5)) {
        let bytes = mutate(SEEDS[seed], &changes);
        // A reader cuts records without the surrounding space.
        let is_cut = bytes.starts_with(b"{") && bytes.ends_with(b"}");
        let object = is_cut && serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
        for format in WRAPPED {
            decode(format, &bytes);
        }
        for format in FORMATS {
            let entry = decode(format, &bytes);
            if object {
                prop_assert_ne!(entry.origin, Origin::Opaque, "{}", format.name());
            }
        }
    }
}
