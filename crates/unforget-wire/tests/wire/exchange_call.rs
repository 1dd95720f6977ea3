//! Request bodies of the three dialects: their content, and the same bodies with other messages.
use proptest::prelude::*;
use unforget_core::digest::Digest;
use unforget_wire::Dialect::{self, Anthropic, OpenAiChat, OpenAiResponses};
use unforget_wire::exchange::{Call, Edit, Shape, Wrong, edited};

const CLAUDE: &str = r#"{
  "model": "claude-opus-4-5", "max_tokens": 32000, "stream": true,
  "thinking": {"type": "enabled", "budget_tokens": 31999},
  "system": [{"type":"text","text":"You are an agent.\n","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Tools."}],
  "tools": [{"name":"Write","input_schema":{"type":"object"}},{"name":"Bash","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],
  "metadata": {"user_id": "{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"5e55-10\"}"},
  "messages": [ {"role":"user","content":[{"type":"text","text":"hi"}]},
    {"role":"assistant","content":"hello"} ,{"role":"user","content":"more"} ]
}
"#;

const CHAT: &str = r#"{"model":"gpt-5.5","messages":[{"role":"developer","content":[{"type":"text","text":"Be brief."}]},{"role":"system","content":"Caf\u00e9."},{"role":"user","content":"a"},{"role":"system","content":"late"},{"role":"assistant","content":null,"tool_calls":[]}],"tools":[{"type":"function","function":{"name":"read"}},{"type":"web_search"}],"response_format":{"type":"json_object"},"max_tokens":5,"max_completion_tokens":99,"user":"u","prompt_cache_key":"k","store":true,"safety_identifier":"s"}"#;

const RESPONSES: &str = r#"{"model":"gpt-5.5-codex","instructions":"Be Codex.","input":[{"type":"message","role":"developer","id":"msg_1","content":[{"type":"input_text","text":"perms"}]},{"role":"user","content":"env"},{"type":"function_call","call_id":"c","name":"shell","arguments":"{}"}],"tools":[{"type":"function","name":"shell"},{"type":"custom","name":"apply_patch"},{"type":"mcp","server_label":"docs"}],"text":{"format":{"type":"json_schema","name":"x","schema":{}}},"store":false,"stream":true,"max_output_tokens":7,"prompt_cache_key":"t-1","conversation":{"id":"conv_1"},"previous_response_id":"resp_0"}"#;

fn call(dialect: Dialect, body: &str) -> Call<'_> {
    Call::read(dialect, body.as_bytes()).unwrap()
}

fn texts<'a>(body: &'a str, places: &[std::ops::Range<usize>]) -> Vec<&'a str> {
    places.iter().map(|place| &body[place.clone()]).collect()
}

fn fixed(call: &Call<'_>) -> Vec<String> {
    let mut all = Vec::new();
    call.fixed_text(&mut |text| all.push(text.to_owned()));
    all
}

fn digests(texts: &[&str]) -> Vec<Digest> {
    texts.iter().map(|text| Digest::of(text.as_bytes())).collect()
}

#[test]
fn a_body_of_claude_code() {
    let call = call(Anthropic, CLAUDE);
    assert_eq!(call.model.as_deref(), Some("claude-opus-4-5"));
    assert!(call.is_streamed);
    assert_eq!(call.output, Some(32_000), "thinking is within it");
    assert_eq!(call.shape, Shape::List);
    assert_eq!(texts(CLAUDE, &call.messages).len(), 3);
    assert_eq!(texts(CLAUDE, &call.messages)[1], r#"{"role":"assistant","content":"hello"}"#);
    assert!(call.head.is_empty(), "system is a field of its own");
    assert_eq!(call.system, digests(&["You are an agent.\n", "Tools."]));
    assert_eq!(call.hints.session_id.as_deref(), Some("5e55-10"));
    assert!(call.hints.user_id.as_deref().unwrap().starts_with("{\"device_id\""));
    assert_eq!(call.marks, 2, "one in system, one in the tools");
    let fixed = fixed(&call);
    assert_eq!(fixed[..2], ["You are an agent.\n", "Tools."]);
    assert!(fixed[2].starts_with("[{\"name\":\"Write\""), "{}", fixed[2]);
}

#[test]
fn a_body_of_chat() {
    let call = call(OpenAiChat, CHAT);
    assert!(!call.is_streamed);
    assert_eq!(call.output, Some(99), "the newer name counts");
    assert_eq!(call.head.len(), 2, "leading instructions are head");
    assert_eq!(texts(CHAT, &call.messages)[0], r#"{"role":"user","content":"a"}"#);
    assert_eq!(
        texts(CHAT, &call.standing),
        [r#"{"role":"system","content":"late"}"#],
        "before the first answer"
    );
    assert_eq!(call.messages.len(), 2);
    assert_eq!(call.system, digests(&["Be brief.", "Café."]));
    assert_eq!(fixed(&call)[1], "Café.");
    assert_eq!(fixed(&call)[3], r#"{"type":"json_object"}"#);
    let hints = &call.hints;
    assert_eq!(hints.user.as_deref(), Some("u"));
    assert_eq!(hints.prompt_cache_key.as_deref(), Some("k"));
    assert_eq!(hints.safety_identifier.as_deref(), Some("s"));
    assert_eq!(hints.store, Some(true));
}

#[test]
fn a_body_of_codex() {
    let call = call(OpenAiResponses, RESPONSES);
    assert!(call.is_streamed);
    assert_eq!(call.output, Some(7));
    assert_eq!((call.head.len(), call.messages.len()), (1, 2));
    assert_eq!(call.message(0).unwrap(), r#"{"role":"user","content":"env"}"#);
    assert_eq!(call.system, digests(&["Be Codex.", "perms"]));
    assert_eq!(fixed(&call).last().unwrap(), r#"{"type":"json_schema","name":"x","schema":{}}"#);
    let hints = &call.hints;
    assert_eq!(hints.prompt_cache_key.as_deref(), Some("t-1"));
    assert_eq!(hints.conversation.as_deref(), Some("conv_1"));
    assert_eq!(hints.previous_response_id.as_deref(), Some("resp_0"));
    assert_eq!(hints.store, Some(false));
}

/// Instructions behind the first input are fixed; later ones are history.
#[test]
fn instructions_that_stand_in_the_list_table() {
    let (u, s, a) = (
        r#"{"role":"user","content":"u"}"#,
        r#"{"role":"system","content":"s"}"#,
        r#"{"role":"assistant","content":"a"}"#,
    );
    let long = format!(r#"{{"role":"system","content":"{}"}}"#, "x".repeat(40_000));
    let made = |text: &str| text.split(' ').map(|word| format!(r#"{{"role":"{word}"}}"#)).collect::<Vec<_>>();
    let table = [
        (vec![u, s, a, u], "user assistant", vec!["user", "s", "assistant"], "where it was"),
        (
            vec![u, s, u, s, a, u],
            "user assistant user",
            vec!["user", "s", "s", "assistant", "user"],
            "both behind the first input",
        ),
        (
            vec![u, s],
            "user user assistant",
            vec!["user", "user", "s", "assistant"],
            "before the first answer",
        ),
        (vec![u, s, a], "assistant", vec!["s", "assistant"], "without input"),
        (vec![s, u, s, a], "user", vec!["s", "user", "s"], "the head too"),
        (vec![u, a, s, u], "user", vec!["user"], "later ones are history"),
        (vec![u, &long, a], "user", vec!["user"], "and what is long"),
    ];
    for dialect in [Anthropic, OpenAiChat, OpenAiResponses] {
        for (list, new, want, why) in &table {
            let key = if dialect == OpenAiResponses { "input" } else { "messages" };
            let body = format!(r#"{{"model":"m","{key}": [ {} ],"x":1}}"#, list.join(" , "));
            let call = call(dialect, &body);
            let all = call.head.len() + call.standing.len() + call.messages.len();
            assert_eq!(all, list.len(), "{why}");
            let sent = String::from_utf8(call.with_messages(&made(new))).unwrap();
            let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
            let name = |message: &serde_json::Value| match message["content"].as_str() {
                Some(own) => own.to_owned(),
                None => message["role"].as_str().unwrap().to_owned(),
            };
            let got: Vec<String> = sent[key].as_array().unwrap().iter().map(name).collect();
            let joined = ["user", "system", "assistant", "user"].map(str::to_owned).to_vec();
            if dialect == Anthropic && why.starts_with("both") {
                assert_eq!(got, joined, "{why}: it takes one message of them at a place");
            } else {
                assert_eq!(&got, want, "{why}: {body}");
            }
            let kept: serde_json::Value = serde_json::from_str(&call.without_messages()).unwrap();
            assert_eq!(kept[key].as_array().unwrap().len(), all - call.messages.len(), "{why}");
        }
    }
    let partial = r#"{"previous_response_id":"r","input":[{"role":"user"},{"role":"developer"}]}"#;
    assert!(call(OpenAiResponses, partial).standing.is_empty(), "the rest of a conversation is history");
}

#[test]
fn input_may_be_a_string_or_nothing() {
    let body = r#"{"input": "say \"hi\"", "model": "m"}"#;
    let text = call(OpenAiResponses, body);
    assert_eq!(text.shape, Shape::Text);
    assert_eq!(text.history().collect::<Vec<_>>(), [r#"{"role":"user","content":"say \"hi\""}"#]);
    let spliced = text.with_messages(&["{}".to_owned(), "{}".to_owned()]);
    assert_eq!(String::from_utf8(spliced).unwrap(), r#"{"input": [{},{}], "model": "m"}"#);

    for (body, want) in [
        (r#"{"prompt":{"id":"p"}}"#, r#"{"prompt":{"id":"p"},"input":[{}]}"#),
        (r#"{"input":null,"model":"m"}"#, r#"{"input":[{}],"model":"m"}"#),
        ("{}", r#"{"input":[{}]}"#),
    ] {
        let absent = call(OpenAiResponses, body);
        assert_eq!((absent.shape, absent.messages.len()), (Shape::Absent, 0));
        assert_eq!(String::from_utf8(absent.with_messages(&["{}".to_owned()])).unwrap(), want);
    }
}

#[test]
fn tools_are_known_by_their_names() {
    let digest = |dialect, tools: &str| {
        let body = format!(r#"{{"messages":[],"input":[],"tools":{tools}}}"#);
        Call::read(dialect, body.as_bytes()).unwrap().tools
    };
    let (two, turned) = (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"b","x":1},{"name":"a"}]"#);
    assert_eq!(digest(Anthropic, two), digest(Anthropic, turned), "order does not matter");
    assert_ne!(digest(Anthropic, two), digest(Anthropic, r#"[{"name":"ab"}]"#), "names do not run together");
    assert_eq!(digest(Anthropic, "[]"), None);
    let (chat, responses) = (
        r#"[{"type":"function","function":{"name":"a"}},{"type":"web_search"}]"#,
        r#"[{"type":"web_search"},{"type":"function","name":"a"}]"#,
    );
    assert_eq!(digest(OpenAiChat, chat), digest(OpenAiResponses, responses), "a provider's tool is its kind");
}

#[test]
fn sessions_of_claude_code() {
    let table = [
        (r#""{\"session_id\":\"a-1\"}""#, Some("a-1"), "JSON in a string"),
        (r#""{\"session_id\":7}""#, None, "a number is no name"),
        (r#""user_0f_account_1b__session_2c-3d""#, Some("2c-3d"), "the older form"),
        (r#""user_0f_account_1b_session_""#, None, "no name"),
        (r#""me@example.org""#, None, "somebody else's"),
        ("7", None, "no string"),
    ];
    for (user_id, want, why) in table {
        let body = format!(r#"{{"metadata":{{"user_id":{user_id}}},"messages":[]}}"#);
        assert_eq!(call(Anthropic, &body).hints.session_id.as_deref(), want, "{why}");
    }
}

#[test]
fn faults_table() {
    let deep = format!(r#"{{"messages":[{{"content":{}"#, "[".repeat(100_000));
    let table: [(Dialect, &[u8], Wrong, usize, &str); 12] = [
        (Anthropic, b"{\"messages\":[]} x", Wrong::NotJson, 16, "something behind"),
        (Anthropic, b"{\"messages\":[\xff]}", Wrong::NotText, 13, "no UTF-8"),
        (Anthropic, b"\xef\xbb\xbf{}", Wrong::NotJson, 0, "a mark of byte order"),
        (Anthropic, b"", Wrong::CutOff, 0, "empty"),
        (Anthropic, b"{\"messages\":[", Wrong::CutOff, 13, "cut off"),
        (Anthropic, b"{'messages':[]}", Wrong::NotJson, 1, "not JSON"),
        (Anthropic, b"[]", Wrong::NotAnObject, 0, "a list"),
        (Anthropic, b"{}", Wrong::Missing("messages"), 1, "no history"),
        (OpenAiChat, b"{\"messages\":\"hi\"}", Wrong::NotMessages("messages"), 12, "words alone"),
        (OpenAiChat, b"{\"messages\":[{},1]}", Wrong::NotMessages("messages"), 16, "not a message"),
        (OpenAiResponses, b"{\"input\":7}", Wrong::NotMessages("input"), 9, "a number"),
        (OpenAiChat, deep.as_bytes(), Wrong::CutOff, deep.len(), "depth costs nothing"),
    ];
    for (dialect, body, what, byte, why) in table {
        let fault = Call::read(dialect, body).unwrap_err();
        assert_eq!((fault.what, fault.byte), (what, byte), "{why}");
    }
    assert_eq!(Call::read(Dialect::Gemini, b"{}").unwrap_err().what, Wrong::Dialect);
    let deep = format!(
        r#"{{"messages":[{{"role":"user","content":{}1{}}}]}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(call(OpenAiChat, &deep).messages.len(), 1);
}

#[test]
fn the_last_of_equal_keys_counts() {
    let body = r#"{"messages":[{"a":1}],"model":"x","messages":[{"b":2},{"c":3}],"m\u006fdel":"y"}"#;
    let call = call(OpenAiChat, body);
    assert_eq!(call.model.as_deref(), Some("y"));
    assert_eq!(texts(body, &call.messages), [r#"{"b":2}"#, r#"{"c":3}"#]);
    let spliced = String::from_utf8(call.with_messages(&["{}".to_owned()])).unwrap();
    assert_eq!(spliced, r#"{"messages":[{"a":1}],"model":"x","messages":[{}],"m\u006fdel":"y"}"#);
}

#[test]
fn splices_table() {
    let table = [
        (r#"{"messages": [ ]}"#, 0, r#"{"messages": [ ]}"#, "nothing for nothing"),
        (r#"{"messages": [ ]}"#, 2, r#"{"messages": [0,1 ]}"#, "into an empty list"),
        (r#"{"messages": [ {} , {} ]}"#, 1, r#"{"messages": [ 0 ]}"#, "fewer"),
        (r#"{"messages": [ {} , {} ]}"#, 2, r#"{"messages": [ 0 , 1 ]}"#, "as many"),
        (r#"{"messages": [ {} , {} ]}"#, 3, r#"{"messages": [ 0 , 1,2 ]}"#, "more"),
        (r#"{"messages":[{"role":"system"}, {}]}"#, 0, r#"{"messages":[{"role":"system"}]}"#, "head stays"),
        (
            r#"{"messages":[{"role":"system"}]}"#,
            1,
            r#"{"messages":[{"role":"system"},0]}"#,
            "behind the head",
        ),
        (r#"{"messages":[{},{}]}"#, 0, r#"{"messages":[]}"#, "none"),
    ];
    for (body, count, want, why) in table {
        let messages: Vec<String> = (0..count).map(|index: usize| index.to_string()).collect();
        let spliced = call(OpenAiChat, body).with_messages(&messages);
        assert_eq!(String::from_utf8(spliced).unwrap(), want, "{why}");
    }
}

#[test]
fn fields_table() {
    let table = [
        (r#"{"input":"x", "a":1}"#, "a", None, r#"{"input":"x"}"#, "the last"),
        (r#"{"a":1 , "input":"x"}"#, "a", None, r#"{"input":"x"}"#, "the first"),
        (r#"{"a":1,"a":2,"input":"x","a":3}"#, "a", None, r#"{"input":"x"}"#, "every one of its name"),
        (r#"{ "a":1 }"#, "a", None, r"{  }", "the only one"),
        (r#"{"a":1,"b":2,"a":3,"c":4}"#, "a", None, r#"{"b":2,"c":4}"#, "around another"),
        (r#"{"a":1}"#, "a", Some("false"), r#"{"a":false}"#, "another value"),
        (r#"{"a":1}"#, "b", Some("[2]"), r#"{"a":1,"b":[2]}"#, "a new one"),
        (r"{}", "b", Some("2"), r#"{"b":2}"#, "into nothing"),
        (r#"{"a":1}"#, "b", None, r#"{"a":1}"#, "not there"),
    ];
    for (body, name, value, want, why) in table {
        let call = call(OpenAiResponses, body);
        let changed = call.with_edits(&call.field_edits(name, value));
        assert_eq!(String::from_utf8(changed).unwrap(), want, "{why}");
    }
    let codex = call(OpenAiResponses, RESPONSES);
    let mut edits = codex.message_edits(&["{}".to_owned()]);
    edits.extend(codex.field_edits("previous_response_id", None));
    let both = String::from_utf8(codex.with_edits(&edits)).unwrap();
    let again = call(OpenAiResponses, &both);
    assert_eq!((again.head.len(), again.messages.len()), (1, 1), "two changes at once: {both}");
    assert_eq!(again.hints.previous_response_id, None);
}

/// Any JSON.
fn json() -> impl Strategy<Value = String> {
    let word = "system|developer|user|[a-zé\u{4e2d}]{0,3}".prop_map(|word| format!("{word:?}"));
    let leaf = prop_oneof![word, Just("null".to_owned()), Just("-1.5e3".to_owned())];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![object(inner), list.prop_map(|items| format!("[{}]", items.join(" ,")))]
    })
}

/// An object with the relevant keys.
fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let key = "role|content|type|text|model|[a-z]{0,2}";
    proptest::collection::vec((key, inner, " {0,2}"), 0..5).prop_map(|fields| {
        let fields: Vec<String> =
            fields.into_iter().map(|(key, value, space)| format!("{space}{key:?}:{value}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

/// A message with a role, or any object.
fn message() -> impl Strategy<Value = String> {
    let role = proptest::sample::select(vec!["system", "developer", "user", "assistant"]);
    let known =
        (role, json()).prop_map(|(role, content)| format!(r#"{{"role":"{role}","content":{content}}}"#));
    prop_oneof![known, object(json())]
}

proptest! {
    /// A body with its own messages in their places is unchanged; with other messages, a parser finds these, and the
    /// rest stays. Instructions among the messages stay too, though not at their old places.
    #[test]
    fn splicing_is_exact(
        items in proptest::collection::vec(message(), 0..6),
        other in json(),
        count in 0..8_usize,
        space in "[ \n]{0,2}",
    ) {
        let list = items.join(&format!("{space},"));
        let body = format!("{space}{{\"x\":{other},\"messages\":[{space}{list}{space}],\"y\":{other}}}{space}");
        for dialect in [Anthropic, OpenAiChat] {
            let call = Call::read(dialect, body.as_bytes()).unwrap();
            prop_assert_eq!(call.head.len() + call.standing.len() + call.messages.len(), items.len());
            let new: Vec<String> = (0..count).map(|index| format!("{{\"n\":{index}}}")).collect();
            let spliced = String::from_utf8(call.with_messages(&new)).unwrap();
            let again = Call::read(dialect, spliced.as_bytes()).unwrap();
            prop_assert_eq!(again.history().collect::<Vec<_>>(), new);
            prop_assert_eq!(fixed(&again), fixed(&call));
            let end = format!("{space}],\"y\":{other}}}{space}");
            prop_assert!(spliced.ends_with(&end));
            if call.standing.is_empty() {
                let own: Vec<String> = call.history().map(String::from).collect();
                prop_assert_eq!(call.with_messages(&own), body.as_bytes());
                prop_assert_eq!(texts(&spliced, &again.head), texts(&body, &call.head));
            }
        }
    }

    /// No bytes cause a panic, and every returned range lies within the body.
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..60), text in json()) {
        for dialect in Dialect::ALL {
            drop(Call::read(dialect, &body));
            for text in [text.clone(), format!("{{\"messages\":{text},\"input\":{text},\"tools\":{text},\"system\":{text}}}")] {
                if let Ok(call) = Call::read(dialect, text.as_bytes()) {
                    prop_assert_eq!(call.history().count(), call.messages.len());
                    drop(call.with_messages(&["{}".to_owned()]));
                    call.fixed_text(&mut |_| {});
                }
            }
        }
    }

    /// Edits of any kind leave text.
    #[test]
    fn any_edits(text in "[a-é]{0,8}", places in proptest::collection::vec((0..12_usize, 0..12_usize), 0..5)) {
        let edits: Vec<Edit> =
            places.into_iter().map(|(start, end)| Edit { range: start..end, text: "+".to_owned() }).collect();
        prop_assert!(edited(&text, &edits).chars().filter(|c| *c == '+').count() <= edits.len());
        prop_assert_eq!(edited(&text, &[]), text);
    }
}

/// References that a provider would look up, and values that only look like references.
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn kept_table() {
    let table: [(Dialect, &str, Option<&str>); 40] = [
        (OpenAiResponses, r#""input":[{"type":"item_reference","id":"msg_1"}]"#, Some("msg_1")),
        (OpenAiResponses, r#""input":[{"id":"msg_1"}]"#, Some("msg_1")),
        (OpenAiResponses, r#""input":[{"type":null,"id":"msg_1"}]"#, Some("msg_1")),
        (OpenAiResponses, r#""input":[{"role":"user","content":"a","id":"msg_1"}]"#, None),
        (
            OpenAiResponses,
            r#""type":"tool_use","input":[{"type":"item_reference","id":"msg_1"}]"#,
            Some("msg_1"),
        ),
        (
            OpenAiResponses,
            r#""input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]"#,
            Some("f"),
        ),
        (
            OpenAiResponses,
            r#""input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]"#,
            Some("f"),
        ),
        (
            OpenAiResponses,
            r#""input":[{"role":"user","content":[{"type":"input_image","file_id":null}]}]"#,
            None,
        ),
        (
            OpenAiResponses,
            r#""input":[{"type":"function_call_output","output":[{"type":"input_file","file_id":"f"}]}]"#,
            Some("f"),
        ),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"file_search","vector_store_ids":["vs","w"]}]"#,
            Some("vs"),
        ),
        (OpenAiResponses, r#""input":[],"tools":[{"type":"code_interpreter","container":"c"}]"#, Some("c")),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]"#,
            Some("f"),
        ),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]"#,
            None,
        ),
        (OpenAiResponses, r#""prompt":{"id":"pmpt_1","variables":{}}"#, Some("pmpt_1")),
        (
            OpenAiResponses,
            r#""input":[{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[{"type":"file_citation","file_id":"f"}]}]}]"#,
            None,
        ),
        (
            OpenAiResponses,
            r#""input":[{"type":"code_interpreter_call","id":"ci","container_id":"c"}]"#,
            Some("c"),
        ),
        (OpenAiResponses, r#""input":[{"type":"code_interpreter_call","id":"ci"}]"#, None),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"c"}}]"#,
            Some("c"),
        ),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"image_generation","input_image_mask":{"file_id":"f"}}]"#,
            Some("f"),
        ),
        (OpenAiResponses, r#""input":[{"type":"image_generation_call","id":"ig"}]"#, Some("ig")),
        (OpenAiResponses, r#""input":[{"type":"image_generation_call","id":"ig","result":"aGk="}]"#, None),
        (OpenAiResponses, r#""input":[{"type":"what_comes_next","id":"w"}]"#, Some("w")),
        (OpenAiResponses, r#""input":[],"tools":[{"type":"what_comes_next","store_ids":["w"]}]"#, Some("w")),
        (OpenAiResponses, r#""input":[],"tools":[{"type":"mcp","connector_id":"connector_mail"}]"#, None),
        (
            OpenAiResponses,
            r#""input":[{"type":"reasoning","id":"rs","summary":[]},{"type":"function_call","id":"fc","call_id":"c"},
                {"type":"function_call_output","call_id":"c","output":"x"},{"type":"message","id":"msg","role":"assistant",
                "content":[]},{"role":"assistant","id":"msg","content":"a"}],"previous_response_id":"r","conversation":{"id":"c"}"#,
            None,
        ),
        (OpenAiChat, r#""messages":[{"role":"assistant","audio":{"id":"a"}}]"#, Some("a")),
        (
            OpenAiChat,
            r#""messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f",
                "arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]"#,
            None,
        ),
        (Anthropic, r#""messages":[],"container":{"skills":[{"type":"custom","skill_id":"s"}]}"#, Some("s")),
        (Anthropic, r#""messages":[],"container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}"#, None),
        (
            Anthropic,
            r#""messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image",
                "source":{"type":"file","file_id":"f"}}]}]}]"#,
            Some("f"),
        ),
        (
            OpenAiResponses,
            r#""input":[],"tools":[{"type":"function","name":"f","parameters":{"default":{"type":"file","file_id":"f"}}}]"#,
            None,
        ),
        (OpenAiResponses, r#""input":"item_reference","metadata":{"type":"file","file_id":"f"}"#, None),
        (
            OpenAiChat,
            r#""messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]"#,
            Some("f"),
        ),
        (
            OpenAiChat,
            r#""messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:"}}]}]"#,
            None,
        ),
        (
            Anthropic,
            r#""messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]"#,
            Some("f"),
        ),
        (
            Anthropic,
            r#""messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]"#,
            Some("f"),
        ),
        (Anthropic, r#""messages":[],"container":"c""#, Some("c")),
        (Anthropic, r#""messages":[],"container":{"id":"c","skills":[]}"#, Some("c")),
        (Anthropic, r#""messages":[],"container":null"#, None),
        (
            Anthropic,
            r#""messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"type":"file","file_id":"f"}}]}]"#,
            None,
        ),
    ];
    for (dialect, fields, want) in table {
        let body = format!(r#"{{"model":"m",{fields}}}"#);
        assert_eq!(call(dialect, &body).kept().as_deref(), want, "{body}");
    }
    let deep = format!(r#"{{"messages":[],"x":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(call(Anthropic, &deep).kept(), None);
}
