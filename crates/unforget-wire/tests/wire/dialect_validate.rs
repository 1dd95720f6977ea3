//! Bodies that providers accept, and bodies whose rejection was reported.
use unforget_wire::{Dialect, rules, validate};

/// Bodies that every rule of the dialect accepts.
fn accepted(dialect: Dialect) -> Vec<&'static str> {
    match dialect {
        Dialect::Anthropic => vec![
            r#"{"messages":[{"role":"user","content":"hi"}]}"#,
            r#"{"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}},{"type":"document","source":{}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"ok"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"tool_use","id":"t-1","name":"read","input":{"cache_control":1}},{"type":"tool_use","id":"t-2","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-2","content":"b","is_error":true},{"type":"tool_result","tool_use_id":"t-1","content":[{"type":"text","text":"a"}]},{"type":"text","text":"go on"}]}]}"#,
        ],
        Dialect::OpenAiChat => vec![
            r#"{"messages":[{"role":"user","content":"hi"}]}"#,
            r#"{"messages":[{"role":"system","content":"be brief"},{"role":"developer","content":[{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}},{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"1"}]},{"role":"tool","tool_call_id":"a","content":""},{"role":"assistant","content":"done"},{"role":"user","content":"more"}]}"#,
        ],
        Dialect::OpenAiResponses => vec![
            r#"{"input":[{"role":"user","content":"hi"}]}"#,
            r#"{"instructions":"be brief","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/webp;base64,UklGRgAA"}]},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"}]},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":"2"}]}"#,
        ],
        Dialect::Pi => vec![
            r#"{"messages":[{"role":"user","content":"hi","timestamp":0}]}"#,
            r#"{"systemPrompt":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"/9j/4AAQ","mimeType":"image/jpeg"}],"timestamp":0},{"role":"assistant","content":[{"type":"toolCall","id":"dead","name":"f","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"aborted","timestamp":0},{"role":"user","content":"again","timestamp":1},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"ok"},{"type":"newBlock"},{"type":"toolCall","id":"a|b","name":"f","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"toolUse","timestamp":0},{"role":"toolResult","toolCallId":"a|b","toolName":"f","content":[{"type":"text","text":"1"}],"isError":false,"timestamp":0}]}"#,
        ],
        Dialect::Gemini => vec![
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
            r#"{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/webp","data":"UklGRgAA"}}]},{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"},{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"text":"ok"},{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"b","name":"g","args":{"x":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"b","name":"g","response":{"output":""}}},{"functionResponse":{"id":"a","name":"f","response":{"error":"1"}}},{"text":"go on"}]}]}"#,
        ],
        Dialect::BedrockConverse => vec![
            r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#,
            r#"{"system":[{"text":"be brief"},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"look"},{"image":{"format":"gif","source":{"bytes":"R0lGODlh"}}},{"document":{"format":"pdf","name":"My report (2)","source":{"bytes":"AA=="}}}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"reasoningContent":{"redactedContent":"ZGF0YQ=="}},{"text":"ok"},{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"toolUse":{"toolUseId":"b","name":"f","input":{"x":1}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"b","content":[{"json":{}}]}},{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"error"}},{"text":"go on"}]}]}"#,
        ],
    }
}

#[test]
fn good_bodies_are_accepted() {
    for dialect in Dialect::ALL {
        for body in accepted(dialect) {
            assert_eq!(validate(body, dialect), Ok(()), "{}: {body}", dialect.name());
        }
    }
}

/// Checks that each body is rejected by its rule. `wire_rules.rs` has a fixture of every rule.
fn check(dialect: Dialect, table: &[(&str, String)]) {
    for (rule, body) in table {
        let Err(found) = validate(body, dialect) else {
            panic!("{} {rule}: accepted {body:.300}", dialect.name());
        };
        assert!(
            found.iter().any(|violation| violation.rule == *rule),
            "{} {rule}: {found:?}",
            dialect.name()
        );
        for violation in &found {
            assert!(
                rules(dialect).any(|known| known.id == violation.rule),
                "{} is not in the table",
                violation.rule
            );
        }
    }
}

const USER: &str = r#"{"role":"user","content":"hi"}"#;

#[test]
fn f046_f047_f049_f053_f055_f059_f060_f061_f062_f063_f064_f065_anthropic_rejects() {
    let body = |messages: &str| format!(r#"{{"messages":[{messages}]}}"#);
    let user = |blocks: &str| body(&format!(r#"{{"role":"user","content":[{blocks}]}}"#));
    let turn = |blocks: &str, after: &str| {
        body(&format!(
            r#"{USER},{{"role":"assistant","content":[{blocks}]}},{{"role":"user","content":[{after}]}}"#
        ))
    };
    let call = r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#;
    let result = r#"{"type":"tool_result","tool_use_id":"a","content":"1"}"#;
    let text = r#"{"type":"text","text":"x"}"#;
    let image = |mime: &str, data: &str| {
        user(&format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"{mime}","data":"{data}"}}}}"#
        ))
    };
    let marked = r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},"#.repeat(5);
    check(
        Dialect::Anthropic,
        &[
            ("surrogate", body(r#"{"role":"user","content":"\ud800"}"#)),
            (
                "depth",
                body(&format!(r#"{{"role":"user","content":{}{}}}"#, "[".repeat(200), "]".repeat(200))),
            ),
            ("shape", r#"{"message":[]}"#.into()),
            ("not-empty", body("")),
            ("instructions", format!(r#"{{"system":" ","messages":[{USER}]}}"#)),
            ("role", body(r#"{"role":"tool","content":"x"}"#)),
            ("system-place", body(r#"{"role":"system","content":"x"}"#)),
            ("extra-field", body(r#"{"role":"user","content":"x","id":"1"}"#)),
            ("first-user", body(r#"{"role":"assistant","content":"x"}"#)),
            ("last-not-assistant", body(&format!(r#"{USER},{{"role":"assistant","content":"x"}}"#))),
            ("alternate", body(&format!("{USER},{USER}"))),
            ("content-shape", body(r#"{"role":"user","content":null}"#)),
            ("content-not-empty", user("")),
            ("text-not-blank", user(r#"{"type":"text","text":"\u200b \u00a0"}"#)),
            ("block-type", user(r#"{"type":"toolCall"}"#)),
            ("block-type", user(call)),
            ("call-id", turn(&call.replace(r#""a""#, r#""a|b""#), &result.replace(r#""a""#, r#""a|b""#))),
            ("call-id", turn(&call.replace(r#""a""#, &format!("\"{}\"", "a".repeat(65))), text)),
            ("call-id-unique", turn(&format!("{call},{call}"), result)),
            ("tool-name", turn(&call.replace(r#""f""#, r#""f.g""#), result)),
            ("arguments", turn(&call.replace("{}", "\"{}\""), result)),
            ("call-answered", turn(call, text)),
            ("result-orphan", user(result)),
            ("result-once", turn(call, &format!("{result},{result}"))),
            ("results-first", turn(call, &format!("{text},{result}"))),
            (
                "result-content",
                turn(call, r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"thinking"}]}"#),
            ),
            (
                "thinking-signature",
                turn(&format!(r#"{{"type":"thinking","thinking":"x","signature":""}},{text}"#), text),
            ),
            ("thinking-not-last", turn(r#"{"type":"thinking","thinking":"x","signature":"c2ln"}"#, text)),
            ("cache-control", user(marked.trim_end_matches(','))),
            (
                "cache-place",
                turn(
                    &format!(
                        r#"{{"type":"thinking","thinking":"x","signature":"c2ln","cache_control":{{}}}},{text}"#
                    ),
                    text,
                ),
            ),
            (
                "server-tool-pair",
                turn(r#"{"type":"server_tool_use","id":"srvtoolu_s","name":"w","input":{}}"#, text),
            ),
            ("image-shape", image("image/png", "iVBORw0KGgo\\n=")),
            ("image-type", image("image/png", "/9j/4AAQ")),
            ("image-type", image("image/bmp", "Qk0=")),
            ("image-size", image("image/png", &format!("iVBORw0KGgo{}A", "A".repeat(5 * 1024 * 1024)))),
        ],
    );
}

#[test]
fn f046_f047_f049_f059_f060_f061_f063_f064_openai_chat_rejects() {
    let body = |messages: &str| format!(r#"{{"messages":[{messages}]}}"#);
    let user = |parts: &str| body(&format!(r#"{{"role":"user","content":[{parts}]}}"#));
    let turn = |calls: &str, after: &str| {
        body(&format!(r#"{USER},{{"role":"assistant","content":null,"tool_calls":[{calls}]}},{after}"#))
    };
    let call = r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    let tool = r#"{"role":"tool","tool_call_id":"a","content":"1"}"#;
    let image = |url: &str| user(&format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#));
    check(
        Dialect::OpenAiChat,
        &[
            ("json", "{".into()),
            ("shape", "[]".into()),
            ("not-empty", body("")),
            ("instructions", body(&format!(r#"{{"role":"system","content":""}},{USER}"#))),
            ("role", body(r#"{"role":"human","content":"x"}"#)),
            ("first-user", body(r#"{"role":"system","content":"x"}"#)),
            ("first-user", body(&format!(r#"{{"role":"assistant","content":"x"}},{USER}"#))),
            ("last-not-assistant", body(&format!(r#"{USER},{{"role":"assistant","content":"x"}}"#))),
            ("content-shape", body(r#"{"role":"user","content":1}"#)),
            ("content-not-empty", body(&format!(r#"{USER},{{"role":"assistant","content":null}},{USER}"#))),
            ("text-not-blank", body(r#"{"role":"user","content":"\n"}"#)),
            ("block-type", user(r#"{"type":"tool_use"}"#)),
            ("call-shape", turn("", USER)),
            (
                "call-shape",
                turn(r#"{"id":"a","type":"custom","function":{"name":"f","arguments":"{}"}}"#, tool),
            ),
            ("call-id", turn(&call.replace(r#""a""#, &format!("\"{}\"", "a".repeat(41))), USER)),
            ("call-id-unique", turn(&format!("{call},{call}"), tool)),
            ("tool-name", turn(&call.replace(r#""f""#, r#""""#), tool)),
            ("arguments", turn(&call.replace("{}", "{"), tool)),
            ("call-answered", turn(call, USER)),
            ("call-answered", turn(call, &format!("{USER},{tool}"))),
            ("result-orphan", body(&format!("{USER},{tool}"))),
            ("result-once", turn(call, &format!("{tool},{tool}"))),
            (
                "result-content",
                turn(
                    call,
                    r#"{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}"#,
                ),
            ),
            ("image-shape", image("file:///etc/passwd")),
            ("image-type", image("data:image/bmp;base64,Qk0=")),
            (
                "image-size",
                image(&format!("data:image/png;base64,iVBORw0KGgo{}A", "A".repeat(20 * 1024 * 1024))),
            ),
        ],
    );
}

#[test]
fn f047_f049_f058_f059_f060_f063_openai_responses_rejects() {
    let body = |items: &str| format!(r#"{{"input":[{items}]}}"#);
    let after_user = |items: &str| body(&format!("{USER},{items}"));
    let user = |parts: &str| body(&format!(r#"{{"role":"user","content":[{parts}]}}"#));
    let call = r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}"#;
    let output = r#"{"type":"function_call_output","call_id":"a","output":"1"}"#;
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#;
    check(
        Dialect::OpenAiResponses,
        &[
            ("json", "nul".into()),
            ("shape", r#"{"messages":[]}"#.into()),
            ("not-empty", body("")),
            ("instructions", format!(r#"{{"instructions":["x"],"input":[{USER}]}}"#)),
            ("role", body(r#"{"role":"tool","content":"x"}"#)),
            ("first-user", body(&format!(r#"{{"role":"assistant","content":"x"}},{USER}"#))),
            ("last-not-assistant", after_user(r#"{"role":"assistant","content":"x"}"#)),
            ("content-shape", body(r#"{"role":"user"}"#)),
            ("content-not-empty", user("")),
            ("text-not-blank", user(r#"{"type":"input_text","text":""}"#)),
            ("block-type", user(r#"{"type":"output_text","text":"x"}"#)),
            ("block-type", after_user(r#"{"type":"thinking"}"#)),
            ("call-shape", after_user(r#"{"type":"function_call","id":"fc_1","name":"f","arguments":"{}"}"#)),
            (
                "call-id",
                after_user(&format!(
                    "{},{}",
                    call.replace(r#""a""#, r#""a b""#),
                    output.replace(r#""a""#, r#""a b""#)
                )),
            ),
            ("call-id-unique", after_user(&format!("{call},{output},{call},{output}"))),
            ("tool-name", after_user(&format!("{},{output}", call.replace(r#""f""#, r#""f/g""#)))),
            ("arguments", after_user(&format!("{},{output}", call.replace("{}", "[]")))),
            ("call-answered", after_user(call)),
            ("call-answered", after_user(&format!("{call},{USER},{output}"))),
            ("result-orphan", after_user(output)),
            ("result-once", after_user(&format!("{call},{output},{output}"))),
            (
                "result-content",
                after_user(&format!(
                    r#"{call},{{"type":"function_call_output","call_id":"a","output":null}}"#
                )),
            ),
            (
                "thinking-signature",
                after_user(&format!(r#"{{"type":"reasoning","summary":[]}},{call},{output}"#)),
            ),
            ("thinking-alone", after_user(&format!("{reasoning},{USER}"))),
            (
                "item-id",
                after_user(&format!(
                    "{},{output}",
                    call.replace(r#""call_id""#, r#""id":"call_1","call_id""#)
                )),
            ),
            ("image-shape", user(r#"{"type":"input_image"}"#)),
            ("image-type", user(r#"{"type":"input_image","image_url":"data:image/png;base64,R0lGODlh"}"#)),
            (
                "image-size",
                user(&format!(
                    r#"{{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo{}A"}}"#,
                    "A".repeat(20 * 1024 * 1024)
                )),
            ),
        ],
    );
}

#[test]
fn f046_f047_f049_f059_f060_pi_rejects() {
    let body = |messages: &str| format!(r#"{{"messages":[{messages}]}}"#);
    let user = |blocks: &str| body(&format!(r#"{{"role":"user","content":[{blocks}],"timestamp":0}}"#));
    let assistant = |blocks: &str, stop: &str| {
        format!(
            r#"{{"role":"assistant","content":[{blocks}],"api":"a","provider":"p","model":"m","usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}},"stopReason":"{stop}","timestamp":0}}"#
        )
    };
    let turn = |blocks: &str, after: &str| body(&format!("{USER},{},{after}", assistant(blocks, "toolUse")));
    let call = r#"{"type":"toolCall","id":"a","name":"f","arguments":{}}"#;
    let result = r#"{"role":"toolResult","toolCallId":"a","toolName":"f","content":[{"type":"text","text":"1"}],"isError":false,"timestamp":0}"#;
    let image =
        |mime: &str, data: &str| user(&format!(r#"{{"type":"image","mimeType":"{mime}","data":"{data}"}}"#));
    check(
        Dialect::Pi,
        &[
            ("json", String::new()),
            ("shape", "{}".into()),
            ("not-empty", body("")),
            ("instructions", format!(r#"{{"systemPrompt":"","messages":[{USER}]}}"#)),
            ("role", body(r#"{"role":"tool","content":[]}"#)),
            ("first-user", body(&format!("{},{USER}", assistant(r#"{"type":"text","text":"x"}"#, "stop")))),
            (
                "last-not-assistant",
                body(&format!("{USER},{}", assistant(r#"{"type":"text","text":"x"}"#, "stop"))),
            ),
            ("content-shape", turn(call, &result.replace(r#"[{"type":"text","text":"1"}]"#, "\"1\""))),
            ("content-not-empty", user("")),
            ("text-not-blank", user(r#"{"type":"text","text":"\t"}"#)),
            ("block-type", user(r#"{"type":"toolCall"}"#)),
            ("call-shape", turn(r#"{"type":"toolCall","id":"a","name":"f"}"#, result)),
            ("call-id", turn(&call.replace(r#""a""#, r#""""#), USER)),
            ("call-id-unique", turn(&format!("{call},{call}"), result)),
            ("tool-name", turn(&call.replace(r#""f""#, r#""""#), result)),
            ("arguments", turn(&call.replace("{}", "\"{}\""), result)),
            ("call-answered", turn(call, USER)),
            ("result-orphan", body(&format!("{USER},{result}"))),
            ("result-once", turn(call, &format!("{result},{result}"))),
            (
                "result-content",
                turn(call, &result.replace(r#""type":"text","text":"1""#, r#""type":"json""#)),
            ),
            ("result-fields", turn(call, &result.replace(r#""isError":false,"#, ""))),
            (
                "assistant-fields",
                body(&format!(
                    r#"{USER},{{"role":"assistant","content":[{{"type":"text","text":"x"}}]}},{USER}"#
                )),
            ),
            ("dead-call", body(&format!("{USER},{},{result}", assistant(call, "error")))),
            ("thinking-signature", turn(r#"{"type":"thinking","thinking":"x","thinkingSignature":1}"#, USER)),
            ("image-shape", image("image/png", "iVBORw0KGgo")),
            ("image-type", image("image/png", "Qk0=")),
            ("image-size", image("image/png", &format!("iVBORw0KGgo{}A", "A".repeat(5 * 1024 * 1024)))),
        ],
    );
}
