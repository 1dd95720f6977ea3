//! The content of each format's records, by hand-written examples.
use unforget_core::entry::{Entry, Part, Status};
use unforget_wire::{Format, decode};

/// `role/origin: part, part` with text, ids and other relevant fields, short enough for a table.
fn told(entry: &Entry) -> String {
    let parts: Vec<String> = entry.parts.iter().map(part).collect();
    let status = if entry.status == Status::Complete { "" } else { "!" };
    format!("{:?}/{:?}{status}: {}", entry.role, entry.origin, parts.join(", ")).trim_end().to_owned()
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking { text, raw, .. } => {
            format!("thinking({text}{})", if raw.is_some() { " raw" } else { "" })
        }
        Part::ToolCall(call) => {
            format!(
                "call({} {} {}{})",
                call.id,
                call.name,
                call.arguments,
                if call.complete { "" } else { " cut" }
            )
        }
        Part::ToolResult(result) => {
            let content: Vec<String> = result.content.iter().map(self::part).collect();
            let code = result.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
            let error = if result.is_error { " error" } else { "" };
            format!("result({} [{}]{error}{code})", result.call_id, content.join(", "))
        }
        Part::Media(media) => format!("media({})", media.mime),
        Part::Opaque { kind, .. } => format!("opaque({kind})"),
    }
}

pub(crate) fn check(format: Format, table: &[(&str, &str, &str)]) {
    for (record, want, why) in table {
        let entry = decode(format, record.as_bytes());
        assert_eq!(told(&entry), *want, "{}: {why}: {record}", format.name());
    }
}

#[test]
fn openai_chat() {
    check(
        Format::OpenAiChat,
        &[
            (r#"{"role":"system","content":"s"}"#, "System/Injected: s", "instructions are the host's"),
            (
                r#"{"role":"developer","content":[{"type":"text","text":"s"}]}"#,
                "System/Injected: s",
                "newer name of the same",
            ),
            (r#"{"role":"user","content":"hi"}"#, "User/Human: hi", "plain"),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}"#,
                "User/Human: a, media(image/png), media(audio/wav)",
                "parts",
            ),
            (
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
                r#"Assistant/Model: call(c f {"a":1})"#,
                "content is null beside calls",
            ),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\""}}]}"#,
                r#"Assistant/Model: call(c f {"a" cut)"#,
                "arguments that stop in the middle",
            ),
            (
                r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":""}}"#,
                "Assistant/Model: call(function:f f {})",
                "before tool_calls existed",
            ),
            (
                r#"{"role":"function","name":"f","content":"1"}"#,
                "Tool/Tool: result(function:f [1])",
                "its answer",
            ),
            (
                r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"1"}]}"#,
                "Tool/Tool: result(c [1])",
                "answer in parts",
            ),
            (
                r#"{"role":"assistant","content":null,"refusal":"no"}"#,
                "Assistant/Model: no",
                "a refusal is what the model said",
            ),
            (
                r#"{"role":"assistant","reasoning_content":"hm","content":"x"}"#,
                "Assistant/Model: thinking(hm), x",
                "reasoning of other servers",
            ),
            (
                r#"{"role":"user","content":[{"type":"new_thing","x":1}, 7]}"#,
                "User/Human: opaque(new_thing), opaque()",
                "unknown parts are kept",
            ),
            (r#"{"total":3}"#, "None/Bookkeeping:", "no role"),
            (r"[1]", "None/Opaque:", "not an object"),
        ],
    );
    let entry =
        decode(Format::OpenAiChat, br#"{"role":"user","name":"Ann","content":"x","timestamp":1700000000}"#);
    assert_eq!(entry.author.as_deref(), Some("Ann"));
    assert_eq!(entry.time.unwrap().0, 1_700_000_000_000);
}

#[test]
fn anthropic() {
    check(
        Format::AnthropicMessages,
        &[
            (r#"{"role":"user","content":"hi"}"#, "User/Human: hi", "plain"),
            (
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1","is_error":true}]}"#,
                "Tool/Tool: result(c [1] error)",
                "results alone are a tool's",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}},{"type":"tool_reference"}]},{"type":"text","text":"and"}]}"#,
                "User/Human: result(c [1, media(image/png), opaque(tool_reference)]), and",
                "a person spoke too",
            ),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"c","name":"f","input":{"a": 1}}]}"#,
                r#"Assistant/Model: thinking(t raw), thinking( raw), call(c f {"a": 1})"#,
                "blocks",
            ),
            (
                r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}"#,
                "Assistant/Model: opaque(server_tool_use)",
                "F050",
            ),
            (
                r#"{"role":"user","content":[{"type":"document","source":{"media_type":"application/pdf"}}]}"#,
                "User/Human: media(application/pdf)",
                "a file",
            ),
            (r#"{"role":"user","content":[]}"#, "User/Human:", "nothing"),
        ],
    );
}

#[test]
fn codex() {
    let wrap = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"{kind}","payload":{payload}}}"#)
    };
    let table = [
        ("session_meta", r#"{"id":"x"}"#, "None/Bookkeeping:", "header"),
        ("event_msg", r#"{"type":"user_message","message":"hi"}"#, "None/Copy:", "for the screen"),
        (
            "compacted",
            r#"{"message":"","replacement_history":[{"type":"message"}]}"#,
            "None/Bookkeeping:",
            "repeats earlier items",
        ),
        ("compacted", r#"{"message":"so far"}"#, "User/HostSummary: so far", "the host's own summary"),
        (
            "compacted",
            r#"{"message":"so far","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}]}"#,
            "User/HostSummary: so far",
            "what the summary replaces is no second history",
        ),
        (
            "compacted",
            r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Another language model started to solve this problem and left: tests are red"}]}]}"#,
            "User/HostSummary: Another language model started to solve this problem and left: tests are red",
            "the summary stands only among the items that replace the history",
        ),
        (
            "compacted",
            r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"compaction","encrypted_content":"x"}]}"#,
            "None/Bookkeeping:",
            "a summary that only the provider can read has no words",
        ),
        (
            "response_item",
            r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]}"#,
            "System/Injected: s",
            "instructions",
        ),
        (
            "response_item",
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}"#,
            "User/Injected: <environment_context>\n</environment_context>",
            "Codex wrote it",
        ),
        (
            "response_item",
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"what is <environment_context>?"}]}"#,
            "User/Human: what is <environment_context>?",
            "a person may say the word",
        ),
        (
            "response_item",
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}],"phase":"x"}"#,
            "Assistant/Model: ok",
            "answer",
        ),
        ("response_item", r#"{"role":"user","content":"hi"}"#, "User/Human: hi", "item without a type"),
        (
            "response_item",
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#,
            "Assistant/Model: thinking(s raw)",
            "kept whole",
        ),
        (
            "response_item",
            r#"{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}"#,
            "Assistant/Model: call(c f {})",
            "call",
        ),
        (
            "response_item",
            r#"{"type":"function_call","name":"f","arguments":"[REDACTED]","call_id":"c"}"#,
            "Assistant/Model: call(c f [REDACTED])",
            "a recorded call was whole, whatever its arguments",
        ),
        (
            "response_item",
            r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** \"x\"","call_id":"c","status":"completed"}"#,
            r#"Assistant/Model: call(c apply_patch {"input":"*** \"x\""})"#,
            "plain text input",
        ),
        (
            "response_item",
            r#"{"type":"local_shell_call","call_id":"c","status":"incomplete","action":{"type":"exec"}}"#,
            r#"Assistant/Model: call(c local_shell {"type":"exec"} cut)"#,
            "cut off",
        ),
        (
            "response_item",
            r#"{"type":"web_search_call","status":"completed","action":{}}"#,
            "Assistant/Model: opaque(web_search_call)",
            "no id, no output",
        ),
        (
            "response_item",
            r#"{"type":"function_call_output","call_id":"c","output":"Exit code: 3\nWall time: 0 seconds\nOutput:\nExit code: 9"}"#,
            "Tool/Tool: result(c [Exit code: 3\nWall time: 0 seconds\nOutput:\nExit code: 9] exit 3)",
            "header of Codex",
        ),
        (
            "response_item",
            r#"{"type":"function_call_output","call_id":"c","output":"see Exit code: 3"}"#,
            "Tool/Tool: result(c [see Exit code: 3])",
            "not a header",
        ),
        (
            "response_item",
            r#"{"type":"custom_tool_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}"}"#,
            "Tool/Tool: result(c [{\"output\":\"x\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}] exit 1)",
            "whole output is json",
        ),
        (
            "response_item",
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}"#,
            "Tool/Tool: result(c [a, media(image/png)])",
            "output in parts",
        ),
        (
            "response_item",
            r#"{"type":"function_call_output","call_id":"c","output":{"content":"a","success":false}}"#,
            "Tool/Tool: result(c [a] error)",
            "output as an object",
        ),
        ("response_item", r#"{"type":"ghost_snapshot"}"#, "None/Bookkeeping:", "unknown"),
        ("world_state", r#"{"type":"message","role":"user"}"#, "None/Bookkeeping:", "unknown wrapper"),
    ];
    for (kind, payload, want, why) in table {
        let entry = decode(Format::Codex, wrap(kind, payload).as_bytes());
        assert_eq!(told(&entry), want, "{why}: {payload}");
        assert_eq!(entry.time.unwrap().0, 1_767_225_600_000);
    }
    check(
        Format::Codex,
        &[
            (
                r#"{"id":"x","timestamp":"2025-09-01T00:00:00Z","instructions":null}"#,
                "None/Bookkeeping:",
                "old header",
            ),
            (r#"{"record_type":"state"}"#, "None/Bookkeeping:", "old state"),
            (
                r#"{"type":"function_call_output","call_id":"c","output":"1"}"#,
                "Tool/Tool: result(c [1])",
                "old bare item",
            ),
            (
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
                "User/Human: hi",
                "old bare item",
            ),
        ],
    );
}

#[test]
fn opencode() {
    let message = |data: &str, parts: &str| {
        format!(
            r#"{{"opencode":"message","row":{{"id":"msg_1","session_id":"ses_1","data":{data}}},"parts":[{parts}]}}"#
        )
    };
    let part = |data: &str| format!(r#"{{"id":"prt_1","message_id":"msg_1","data":{data}}}"#);
    let said = message(r#"{"role":"user"}"#, &part(r#"{"type":"text","text":"hi"}"#));
    let injected = message(r#"{"role":"user"}"#, &part(r#"{"type":"text","text":"hi","synthetic":true}"#));
    let file = message(
        r#"{"role":"user"}"#,
        &[
            part(r#"{"type":"text","text":"see"}"#),
            part(r#"{"type":"text","text":"called Read","synthetic":true}"#),
            part(r#"{"type":"file","mime":"image/png","url":"data:image/png;base64,AA=="}"#),
        ]
        .join(","),
    );
    let steps = [
        part(r#"{"type":"step-start","snapshot":"a"}"#),
        part(r#"{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"sig"}}}"#),
        part(r#"{"type":"text","text":"I look."}"#),
        part(
            r#"{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","metadata":{"exit":2}}}"#,
        ),
        part(
            r#"{"type":"tool","callID":"c2","tool":"read","state":{"status":"error","input":{},"error":"no file"}}"#,
        ),
        part(r#"{"type":"tool","callID":"c3","tool":"edit","state":{"status":"running","input":{"a":1}}}"#),
        part(
            r#"{"type":"tool","callID":"c4","tool":"edit","state":{"status":"pending","input":{},"raw":""}}"#,
        ),
        part(r#"{"type":"hologram","x":1}"#),
    ];
    let answer = message(r#"{"role":"assistant","modelID":"m"}"#, &steps.join(","));
    let summary = message(
        r#"{"role":"assistant","summary":true,"mode":"compaction"}"#,
        &part(r#"{"type":"text","text":"So far."}"#),
    );
    let request = message(r#"{"role":"user"}"#, &part(r#"{"type":"compaction","auto":true}"#));
    let refused =
        message(r#"{"role":"assistant","error":{"name":"APIError","data":{"message":"overloaded"}}}"#, "");
    let stopped = message(
        r#"{"role":"assistant","error":{"name":"MessageAbortedError","data":{"message":"x"}}}"#,
        &part(r#"{"type":"text","text":"half"}"#),
    );
    check(
        Format::Opencode,
        &[
            (
                r#"{"opencode":"session","row":{"id":"ses_1","title":"t"}}"#,
                "None/Bookkeeping:",
                "the session",
            ),
            (&said, "User/Human: hi", "plain"),
            (&injected, "User/Injected: hi", "nobody typed it"),
            (&file, "User/Human: see, called Read, media(image/png)", "a file beside what was typed"),
            (
                &answer,
                "Assistant/Model: thinking(hm raw), I look., call(c1 bash {\"command\":\"ls\"}), result(c1 [a] error exit 2), call(c2 read {}), result(c2 [no file] error), call(c3 edit {\"a\":1}), call(c4 edit {} cut), opaque(hologram)",
                "call and result share a part",
            ),
            (&summary, "User/HostSummary: So far.", "its own compaction"),
            (&request, "None/Bookkeeping:", "the request for it"),
            (&refused, "None/Bookkeeping!: overloaded", "an error without an answer"),
            (&stopped, "Assistant/Model!: half", "stopped by a person"),
            (r#"{"opencode":"gone","id":"msg_1"}"#, "None/Bookkeeping:", "a deleted row"),
            (
                r#"{"info":{"id":"msg_1","sessionID":"ses_1","role":"user"},"parts":[{"type":"text","text":"hi"}]}"#,
                "User/Human: hi",
                "exported by opencode",
            ),
        ],
    );
}

#[test]
fn gemini_cli() {
    check(
        Format::GeminiCli,
        &[
            (r#"{"sessionId":"s","kind":"main"}"#, "None/Bookkeeping:", "header line"),
            (r#"{"$set":{"lastUpdated":"x"}}"#, "None/Bookkeeping:", "patch line"),
            (
                r#"{"id":"1","type":"user","content":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":""}}]}"#,
                "User/Human: hi, media(image/png)",
                "parts without a type",
            ),
            (
                r#"{"id":"1","type":"user","content":[{"functionResponse":{"id":"c","response":{"output":"1"}}}]}"#,
                "User/Copy: opaque(functionResponse)",
                "the result lives in its call",
            ),
            (r#"{"id":"1","type":"info","content":"x"}"#, "None/Bookkeeping:", "for the person only"),
            (r#"{"id":"1","type":"error","content":"x"}"#, "None/Bookkeeping:", "for the person only"),
            (
                r#"{"id":"m","type":"gemini","content":"ok","thoughts":[{"subject":"S","description":"D"}],"toolCalls":[{"id":"c","name":"f","args":{"a":1},"status":"success","result":[{"functionResponse":{"id":"c","response":{"output":"1"}}}]},{"name":"g","args":{},"status":"error","result":[{"functionResponse":{"response":{"error":"bad"}}}]},{"id":"d","name":"h","args":{}}]}"#,
                "Assistant/Model: thinking(S\nD raw), ok, call(c f {\"a\":1}), result(c [1]), call(m-1 g {}), result(m-1 [bad] error), call(d h {})",
                "call and result live together",
            ),
        ],
    );
}

#[test]
fn copilot_cli() {
    check(
        Format::CopilotCli,
        &[
            (
                r#"{"type":"user.message","data":{"content":"hi","transformedContent":"<now>hi"},"id":"1"}"#,
                "User/Human: hi",
                "the person's words",
            ),
            (
                r#"{"type":"assistant.message","data":{"messageId":"m","content":"","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{"command":"ls"}}]},"id":"1"}"#,
                r#"Assistant/Model: call(c bash {"command":"ls"})"#,
                "requests",
            ),
            (
                r#"{"type":"tool.execution_start","data":{"toolCallId":"c"},"id":"1"}"#,
                "None/Copy:",
                "repeats the request",
            ),
            (
                r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"result":{"content":"1"}},"id":"1"}"#,
                "Tool/Tool: result(c [1])",
                "result",
            ),
            (
                r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"error":{"message":"bad"}},"id":"1"}"#,
                "Tool/Tool: result(c [bad] error)",
                "failure",
            ),
            (
                r#"{"type":"system.message","data":{"role":"system","content":"s"},"id":"1"}"#,
                "System/Injected: s",
                "instructions",
            ),
            (r#"{"type":"hook.start","data":{"input":"x"},"id":"1"}"#, "None/Bookkeeping:", "noise"),
        ],
    );
    let entry = decode(
        Format::CopilotCli,
        br#"{"type":"assistant.message","data":{"content":"x","parentToolCallId":"t"},"id":"1"}"#,
    );
    assert_eq!(entry.thread.as_deref(), Some("t"));
}

#[test]
fn swe_agent() {
    check(
        Format::SweAgent,
        &[
            (r#"{"role":"system","content":"s","agent":"primary"}"#, "System/Injected: s", "instructions"),
            (
                r#"{"role":"user","content":"demo","agent":"primary","is_demo":true}"#,
                "User/Injected: demo",
                "the host's demonstration",
            ),
            (r#"{"role":"user","content":"issue","agent":"primary"}"#, "User/Human: issue", "task"),
            (
                r#"{"role":"assistant","content":"t\n```\nls\n```","thought":"t","action":"ls","agent":"primary"}"#,
                "Assistant/Model: t\n```\nls\n```",
                "thought and action repeat it",
            ),
            (
                r#"{"role":"assistant","content":"t","agent":"primary","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]}"#,
                "Assistant/Model: t, call(c bash {})",
                "native calls",
            ),
            (
                r#"{"role":"tool","content":[{"type":"text","text":"o"}],"agent":"primary","tool_call_ids":["c"]}"#,
                "Tool/Tool: result(c [o])",
                "and results",
            ),
            (
                r#"{"action":"ls","observation":"o","response":"r","state":"{}","thought":"t"}"#,
                "None/Copy:",
                "history says the same",
            ),
        ],
    );
}

#[test]
fn openhands() {
    check(
        Format::OpenHands,
        &[
            (
                r#"{"id":0,"source":"user","action":"message","args":{"content":"hi","image_urls":["data:image/png;base64,AA=="]}}"#,
                "User/Human: hi, media(image/png)",
                "task",
            ),
            (
                r#"{"id":1,"source":"environment","observation":"agent_state_changed","content":""}"#,
                "None/Bookkeeping:",
                "noise",
            ),
            (
                r#"{"id":2,"source":"user","observation":"null","content":"","cause":0}"#,
                "None/Bookkeeping:",
                "noise",
            ),
            (
                r#"{"id":3,"source":"agent","action":"run","args":{"command":"ls","thought":"look"}}"#,
                r#"Assistant/Model: look, call(event-3 run {"command":"ls","thought":"look"})"#,
                "without metadata the event names the call",
            ),
            (
                r#"{"id":4,"source":"agent","observation":"run","content":"o","cause":3,"extras":{"metadata":{"exit_code":2}}}"#,
                "Tool/Tool: result(event-3 [o] exit 2)",
                "its result",
            ),
            (
                r#"{"id":5,"source":"agent","action":"run","args":{"command":"ls","thought":"look"},"tool_call_metadata":{"function_name":"bash","tool_call_id":"c","model_response":{"id":"r","model":"m","choices":[{"message":{"content":"look","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]}}]}}}"#,
                r#"Assistant/Model: look, call(c bash {"command": "ls"})"#,
                "the model's own call",
            ),
            (
                r#"{"id":6,"source":"agent","observation":"error","content":"bad","cause":5,"tool_call_metadata":{"function_name":"bash","tool_call_id":"c"}}"#,
                "Tool/Tool: result(c [bad] error)",
                "failed",
            ),
            (
                r#"{"id":7,"source":"agent","action":"finish","args":{"final_thought":"done"},"message":"All done!"}"#,
                "Assistant/Model: done",
                "last words",
            ),
            (
                r#"{"id":8,"source":"agent","action":"condensation","args":{"summary":"so far"}}"#,
                "User/HostSummary: so far",
                "the host's summary",
            ),
            (
                r#"{"content":"fix it","wait_for_response":false,"action":"message"}"#,
                "User/Human: fix it",
                "flat events of 2024: the task",
            ),
            (
                r#"{"content":"which?","wait_for_response":true,"action":"message"}"#,
                "Assistant/Model: which?",
                "flat: the agent waits for a response",
            ),
            (
                r#"{"command":"ls","thought":"look","action":"run"}"#,
                r#"Assistant/Model: look, call(did-5ce84f562af301aa run {"command":"ls","thought":"look","action":"run"})"#,
                "flat: named by its command",
            ),
            (
                r#"{"content":"o","command":"ls","exit_code":0,"observation":"run"}"#,
                "Tool/Tool: result(did-5ce84f562af301aa [o] exit 0)",
                "flat: which its result repeats",
            ),
            (r#"{"issue":{},"git_patch":""}"#, "None/Bookkeeping:", "neither action nor observation"),
        ],
    );
}
