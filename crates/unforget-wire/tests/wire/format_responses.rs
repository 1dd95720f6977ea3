//! Items of OpenAI Responses: their content, their unchanged form, and the provider's acceptance.
use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_wire::{Checks, Dialect, Format, Reader, Target, decode, pair_items, validate, whole_item};

const FORM: Format = Format::OpenAiResponses;

fn item(json: &str) -> Entry {
    decode(FORM, json.as_bytes())
}

fn said(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking { text, .. } => format!("thinking({text})"),
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
            format!("result({} {})", result.call_id, result.content.iter().map(said).collect::<String>())
        }
        Part::Media(media) => format!("media({})", media.mime),
        Part::Opaque { kind, .. } => format!("opaque({kind})"),
    }
}

#[test]
fn items_table() {
    use Origin::{Bookkeeping, Human, Injected, Model, Tool};
    let table = [
        (r#"{"role":"user","content":"hi"}"#, Role::User, Human, "hi", "no type"),
        (
            r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]}"#,
            Role::System,
            Injected,
            "s",
            "instructions",
        ),
        (
            r#"{"role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}"#,
            Role::User,
            Injected,
            "<environment_context>x</environment_context>",
            "Codex wrote it",
        ),
        (
            r#"{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_file","file_data":"data:application/pdf;base64,AA=="}]}"#,
            Role::User,
            Human,
            "media(image/png)media(application/pdf)",
            "media",
        ),
        (
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}"#,
            Role::Assistant,
            Model,
            "ano",
            "an answer",
        ),
        (
            r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#,
            Role::Assistant,
            Model,
            "thinking(s)",
            "reasoning",
        ),
        (
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
            Role::Assistant,
            Model,
            "call(c f {})",
            "a call",
        ),
        (
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a","status":"incomplete"}"#,
            Role::Assistant,
            Model,
            "call(c f {\"a cut)",
            "a call that was cut off",
        ),
        (
            r#"{"type":"custom_tool_call","call_id":"c","name":"p","input":"*\"x"}"#,
            Role::Assistant,
            Model,
            r#"call(c p {"input":"*\"x"})"#,
            "a custom tool",
        ),
        (
            r#"{"type":"local_shell_call","call_id":"c","action":{"type":"exec"}}"#,
            Role::Assistant,
            Model,
            r#"call(c local_shell {"type":"exec"})"#,
            "the shell",
        ),
        (
            r#"{"type":"function_call_output","call_id":"c","output":"1"}"#,
            Role::Tool,
            Tool,
            "result(c 1)",
            "an output",
        ),
        (
            r#"{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"1"}]}"#,
            Role::Tool,
            Tool,
            "result(c 1)",
            "an output in parts",
        ),
        (
            r#"{"type":"shell_call_output","call_id":"c","output":[{"stdout":"1","outcome":{"exit_code":0}}]}"#,
            Role::Tool,
            Tool,
            r#"result(c {"stdout":"1","outcome":{"exit_code":0}})"#,
            "an output of objects",
        ),
        (
            r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"x"}}"#,
            Role::Tool,
            Tool,
            "result(c opaque(computer_screenshot))",
            "a picture of a screen",
        ),
        (
            r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#,
            Role::Assistant,
            Model,
            "opaque(web_search_call)",
            "the provider's tool",
        ),
        (
            r#"{"type":"item_reference","id":"msg_1"}"#,
            Role::Assistant,
            Model,
            "opaque(item_reference)",
            "an item that the provider has",
        ),
        (
            r#"{"type":"mcp_approval_response","approval_request_id":"x","approve":true}"#,
            Role::User,
            Injected,
            "opaque(mcp_approval_response)",
            "an answer of the client's",
        ),
        (
            r#"{"type":"news","x":1}"#,
            Role::Assistant,
            Model,
            "opaque(news)",
            "a type that is not known is kept",
        ),
        (r#"{"x":1}"#, Role::None, Bookkeeping, "", "no item"),
    ];
    for (json, role, origin, want, why) in table {
        let entry = item(json);
        let parts: String = entry.parts.iter().map(said).collect();
        assert_eq!((entry.role, entry.origin, parts.as_str()), (role, origin, want), "{why}: {json}");
        assert_eq!(entry.host_id, None, "an id is the provider's: {json}");
    }
}

#[test]
fn a_file_of_items_is_known() {
    let format = |text: &str| Reader::open(text.as_bytes()).unwrap().source().format;
    let user = r#"{"role":"user","content":"hi"}"#;
    let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    let output = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;
    assert_eq!(format(&format!("[{user},{call},{output}]")), FORM);
    assert_eq!(format(&format!("{user}\n{call}\n{output}\n")), Format::Codex, "lines are an old rollout");
    assert_eq!(format(&format!("[{user}]")), Format::OpenAiChat, "words alone are the same in both");
}

#[test]
fn f058_what_is_sent_again() {
    let openai = Target::of(Dialect::OpenAiResponses, Some("gpt-5.5"));
    let table = [
        (
            r#"{"id":"msg_1","type":"message","role":"assistant","phase":"x","content":[{"type":"output_text","text":"a"}]}"#,
            Some(
                r#"{"type":"message","role":"assistant","phase":"x","content":[{"type":"output_text","text":"a"}]}"#,
            ),
            "its id implies reasoning",
        ),
        (
            r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}"#,
            Some(r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}"#),
            "byte for byte",
        ),
        (r#"{"type":"reasoning","id":"rs_1","summary":[]}"#, None, "reasoning that the provider has stored"),
        (
            r#"{"type":"custom_tool_call","call_id":"c","name":"p","input":"*"}"#,
            Some(r#"{"type":"custom_tool_call","call_id":"c","name":"p","input":"*"}"#),
            "a custom tool",
        ),
        (
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"nonsense"}"#,
            None,
            "arguments that are refused",
        ),
        (
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","status":"incomplete"}"#,
            None,
            "cut off",
        ),
        (
            r#"{"type":"function_call","call_id":"c 1","name":"f","arguments":"{}"}"#,
            None,
            "an id that has to be spelled",
        ),
        (
            r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#,
            Some(r#"{"type":"web_search_call","status":"completed"}"#),
            "its id implies reasoning",
        ),
        (
            r#"{"type":"item_reference","id":"msg_1"}"#,
            Some(r#"{"type":"item_reference","id":"msg_1"}"#),
            "its id is all it says",
        ),
        (r#"{"type":"news"}"#, None, "a type that is not known"),
        (
            r#"{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#,
            Some(r#"{"role":"user","content":[{"type":"input_text","text":"a"}]}"#),
            "marks are placed again",
        ),
        (
            r#"{"role":"user","content":[{"type":"input_image","image_url":"https://x.invalid/a"}]}"#,
            None,
            "images are counted",
        ),
        (r#"{"role":"user","content":"\ud800"}"#, None, "a lone surrogate"),
    ];
    for (json, want, why) in table {
        assert_eq!(whole_item(json, &item(json), openai, None).as_deref(), want, "{why}: {json}");
    }
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"e"}"#;
    let other = Target::of(Dialect::OpenAiResponses, Some("grok-5"));
    assert_eq!(whole_item(reasoning, &item(reasoning), other, None), None, "f055: another family's");
    assert_eq!(whole_item(reasoning, &item(reasoning), Dialect::Anthropic.into(), None), None);
}

#[test]
fn f047_outputs_have_the_type_that_their_call_wants() {
    let call =
        |kind: &str, id: &str| format!(r#"{{"type":"{kind}","call_id":"{id}","name":"f","input":"x"}}"#);
    let output = |kind: &str, id: &str| format!(r#"{{"type":"{kind}","call_id":"{id}","output":"1"}}"#);
    let (custom, function) = ("custom_tool_call_output", "function_call_output");
    let mut items = vec![
        vec![call("custom_tool_call", "a"), r#"{"type":"function_call","call_id":"b"}"#.to_owned()],
        vec![output(function, "a"), output(custom, "b")],
    ];
    pair_items(&mut items);
    assert_eq!(items[1], [output(custom, "a"), output(function, "b")]);

    let body = |answer: &str| {
        format!(
            r#"{{"input":[{{"role":"user","content":"x"}},{},{}]}}"#,
            call("custom_tool_call", "a"),
            output(answer, "a")
        )
    };
    let check = |body: &str| validate(body, Checks::from(Dialect::OpenAiResponses));
    check(&body(custom)).unwrap();
    assert_eq!(check(&body(function)).unwrap_err()[0].rule, "result-orphan");
    let no_input = r#"{"input":[{"role":"user","content":"x"},{"type":"custom_tool_call","call_id":"a","name":"f"},{"type":"custom_tool_call_output","call_id":"a","output":"1"}]}"#;
    assert!(check(no_input).unwrap_err().iter().any(|found| found.rule == "call-shape"));
}
