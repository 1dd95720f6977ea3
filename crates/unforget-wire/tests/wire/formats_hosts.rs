//! Records of hosts whose transcripts are close to an API's messages, and how their files are recognised.
//!
//! Qwen Code, Continue and Cline: the shapes of files that the real programs wrote (0.24.4, `cn` 1.5.47, 3.0.65), in words of our
//! own. Amp, and Claude Code's and Codex's streams: not seen.
use unforget_core::entry::HostParent;
use unforget_wire::{Format, Reader, decode};

use crate::formats_table::check;

#[test]
fn amp() {
    check(
        Format::Amp,
        &[
            (
                r#"{"role":"user","messageId":0,"content":[{"type":"text","text":"hi"}]}"#,
                "User/Human: hi",
                "said",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"c","run":{"status":"done","result":{"output":"o","exitCode":3}}}]}"#,
                "Tool/Tool: result(c [o] exit 3)",
                "a command",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"c","run":{"status":"error","error":{"message":"no file"}}}]}"#,
                "Tool/Tool: result(c [no file] error)",
                "an error",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"c","run":{"status":"cancelled"}},{"type":"text","text":"stop"}]}"#,
                "User/Human: result(c [cancelled] error), stop",
                "taken back by the person",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","toolUseID":"c","run":{"status":"done","result":[{"a":1}]}}]}"#,
                r#"Tool/Tool: result(c [[{"a":1}]])"#,
                "a result of another kind",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}"#,
                "Tool/Tool: result(c [x])",
                "older threads",
            ),
            (r#"{"role":"note","content":"x"}"#, "None/Bookkeeping:", "another role"),
        ],
    );
}

#[test]
fn claude_stream() {
    check(
        Format::ClaudeStream,
        &[
            (
                r#"{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#,
                "Assistant/Model: ok",
                "an answer",
            ),
            (
                r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1","is_error":true}]},"session_id":"s"}"#,
                "Tool/Tool: result(c [1] error)",
                "a result",
            ),
            (
                r#"{"type":"result","subtype":"success","result":"ok","session_id":"s"}"#,
                "None/Bookkeeping:",
                "said before",
            ),
            (
                r#"{"type":"stream_event","event":{"type":"message_start","message":{}},"session_id":"s"}"#,
                "None/Bookkeeping:",
                "a piece",
            ),
            (r#"{"type":"system","subtype":"init","session_id":"s"}"#, "None/Bookkeeping:", "settings"),
        ],
    );
    let line = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}]},"parent_tool_use_id":"t1","session_id":"s","uuid":"u"}"#;
    let entry = decode(Format::ClaudeStream, line.as_bytes());
    assert_eq!((entry.thread.as_deref(), entry.host_id.as_deref()), (Some("t1"), Some("u")));
}

#[test]
fn codex_exec() {
    check(
        Format::CodexExec,
        &[
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"ok"}}"#,
                "Assistant/Model: ok",
                "an answer",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"reasoning","text":"hm"}}"#,
                "Assistant/Model: thinking(hm)",
                "thinking",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":2,"status":"failed"}}"#,
                r#"Assistant/Model: call(i shell {"command":"ls"}), result(i [a] error exit 2)"#,
                "a command",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}"#,
                r#"Assistant/Model: call(i apply_patch {"changes":[{"path":"a","kind":"add"}]}), result(i [completed])"#,
                "a patch",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"result":{"content":[{"type":"text","text":"1"}]},"status":"completed"}}"#,
                r#"Assistant/Model: call(i mcp__s__t {"a":1}), result(i [1])"#,
                "a tool of a server",
            ),
            (
                r#"{"type":"item.completed","item":{"id":"i","type":"web_search","query":"q"}}"#,
                r#"Assistant/Model: call(i web_search {"query":"q"}), result(i [])"#,
                "a search",
            ),
            (
                r#"{"type":"item.started","item":{"id":"i","type":"command_execution","command":"ls"}}"#,
                "None/Bookkeeping:",
                "not ended",
            ),
            (r#"{"type":"turn.failed","error":{"message":"m"}}"#, "None/Bookkeeping:", "for the person only"),
        ],
    );
}

#[test]
fn continue_dev() {
    check(
        Format::ContinueDev,
        &[
            (
                r#"{"message":{"role":"user","content":"hi"},"contextItems":[{"content":"x"}],"editorState":"hi"}"#,
                "User/Human: hi",
                "said",
            ),
            (
                r#"{"message":{"role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"Read","arguments":"{\"p\":1}"}}]},"toolCallStates":[{"toolCallId":"c","status":"done","output":[{"name":"n","content":"o"}]}]}"#,
                r#"Assistant/Model: call(c Read {"p":1}), result(c [o])"#,
                "the result is in the state of the call",
            ),
            (
                r#"{"message":{"role":"assistant","content":"x","toolCalls":[{"id":"c","function":{"name":"f","arguments":""}}]},"toolCallStates":[{"toolCallId":"c","status":"generated"}]}"#,
                "Assistant/Model: x, call(c f {})",
                "a call that was not made",
            ),
            (
                r#"{"message":{"role":"assistant","content":"","toolCalls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"toolCallStates":[{"toolCallId":"c","status":"canceled"}]}"#,
                "Assistant/Model: call(c f {}), result(c [] error)",
                "a call that the person refused",
            ),
            (
                r#"{"message":{"role":"tool","content":"1","toolCallId":"c"}}"#,
                "Tool/Tool: result(c [1])",
                "an answer of its own",
            ),
            (
                r#"{"message":{"role":"thinking","content":"hm"}}"#,
                "Assistant/Model: thinking(hm)",
                "thinking",
            ),
        ],
    );
}

#[test]
fn qwen_code() {
    check(
        Format::QwenCode,
        &[
            (
                r#"{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":""}}]}}"#,
                "User/Human: hi, media(image/png)",
                "said",
            ),
            (
                r#"{"uuid":"a","type":"user","subtype":"notification","message":{"parts":[{"text":"ended"}]}}"#,
                "User/Injected: ended",
                "said by the host",
            ),
            (
                r#"{"uuid":"a","type":"assistant","message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"ok"},{"functionCall":{"id":"c","name":"f","args":{"a":1}}}]}}"#,
                r#"Assistant/Model: thinking(hm raw), ok, call(c f {"a":1})"#,
                "an answer",
            ),
            (
                r#"{"uuid":"a","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"error":"bad"}}}]}}"#,
                "Tool/Tool: result(c [bad] error)",
                "a result",
            ),
            (
                r#"{"uuid":"a","type":"system","subtype":"ui_telemetry","systemPayload":{}}"#,
                "None/Bookkeeping:",
                "figures",
            ),
        ],
    );
    let line = r#"{"uuid":"b","parentUuid":"a","type":"assistant","model":"m","message":{"parts":[]}}"#;
    let entry = decode(Format::QwenCode, line.as_bytes());
    assert_eq!((entry.parent, entry.model.as_deref()), (HostParent::Id("a".to_owned()), Some("m")));
}

#[test]
fn files_are_told_by_content_and_named_by_their_sessions() {
    let table = [
        (
            r#"{"v":1,"id":"T-1","created":1767225600000,"title":"boats","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#,
            "amp:T-1",
            Some("boats"),
        ),
        (
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n{\"type\":\"result\",\"session_id\":\"s1\"}\n",
            "claude-stream:s1",
            None,
        ),
        (
            r#"{"version":1,"sessionId":"1_a","messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"ts":1767225600000}]}"#,
            "cline:1_a",
            None,
        ),
        (
            "{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n{\"type\":\"turn.started\"}\n",
            "codex-exec:t1",
            None,
        ),
        (
            r#"{"sessionId":"s1","title":"boats","history":[{"message":{"role":"user","content":"hi"},"contextItems":[]}]}"#,
            "continue:s1",
            Some("boats"),
        ),
        (
            "{\"uuid\":\"a\",\"parentUuid\":null,\"sessionId\":\"s1\",\"type\":\"user\",\"message\":{\"parts\":[{\"text\":\"hi\"}]}}\n",
            "qwen-code:s1",
            None,
        ),
        (
            "{\"uuid\":\"a\",\"parentUuid\":null,\"sessionId\":\"s1\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
            "claude-code:s1",
            None,
        ),
    ];
    for (file, key, title) in table {
        let reader = Reader::open(file.as_bytes()).unwrap();
        let source = reader.source();
        assert_eq!((source.key.0.as_str(), source.title.as_deref()), (key, title), "{file}");
    }
    // A task of Cline has no session id: its first message names it.
    let task = r#"[{"role":"user","content":[{"type":"text","text":"hi"}],"ts":1767225600000}]"#;
    assert!(Reader::open(task.as_bytes()).unwrap().source().key.0.starts_with("cline:"));
}
