//! The content of Claude Code records.
use unforget_core::entry::{Entry, HostParent, Origin, Part, Role, Status};
use unforget_wire::{Format, Reader, decode};

fn claude(record: &str) -> Entry {
    decode(Format::ClaudeCode, record.as_bytes())
}

fn read(lines: &[&str]) -> (Reader<std::io::Cursor<String>>, Vec<Entry>) {
    let mut reader = Reader::open(std::io::Cursor::new(lines.join("\n"))).unwrap();
    let mut entries = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        entries.push(record.entry);
    }
    (reader, entries)
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn who_speaks_table() {
    use Origin::{
        Bookkeeping as B, Copy as C, HostSummary as S, Human as H, Injected as I, Model as M, Opaque as O,
        Tool as T,
    };
    use Role::{Assistant as A, None as N, Tool as R, User as U};
    let table = [
        (r#"{"type":"user","message":{"role":"user","content":"hi"}}"#, U, H, "a person"),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#,
            U,
            H,
            "as blocks",
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":"[Request interrupted by user]"}}"#,
            U,
            H,
            "interrupt",
        ),
        (r#"{"type":"user","isMeta":true,"message":{"role":"user","content":"<caveat>"}}"#, U, I, "meta"),
        (
            r#"{"type":"user","origin":{"kind":"task-notification"},"message":{"content":"x"}}"#,
            U,
            I,
            "other origin",
        ),
        (r#"{"type":"user","origin":{"kind":"human"},"message":{"content":"x"}}"#, U, H, "human origin"),
        (
            r#"{"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"x"}}"#,
            U,
            S,
            "summary",
        ),
        (
            r#"{"type":"user","isVisibleInTranscriptOnly":true,"message":{"content":"x"}}"#,
            U,
            B,
            "for the screen",
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#,
            R,
            T,
            "result",
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"and"}]}}"#,
            R,
            T,
            "result and words",
        ),
        (
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]}}"#,
            A,
            M,
            "model",
        ),
        (
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[]}}"#,
            A,
            B,
            "API error",
        ),
        (r#"{"type":"assistant","message":{"model":"<synthetic>","content":[]}}"#, A, B, "placeholder"),
        (
            r#"{"type":"progress","data":{"type":"agent_progress","message":{"message":{"content":"x"}}}}"#,
            N,
            C,
            "progress",
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"stop"}}"#,
            U,
            H,
            "typed while it worked",
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"x","commandMode":"task-notification"}}"#,
            U,
            I,
            "queued by the host",
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"hook_additional_context","content":["x"]}}"#,
            U,
            I,
            "hook context",
        ),
        (r#"{"type":"attachment","attachment":{"type":"hook_success","content":"x"}}"#, N, B, "hook log"),
        (r#"{"type":"attachment"}"#, N, B, "attachment of nothing"),
        (r#"{"type":"system","subtype":"compact_boundary","content":"x"}"#, N, B, "boundary"),
        (r#"{"type":"file-history-snapshot","messageId":"x"}"#, N, B, "snapshot"),
        (r#"{"type":"queue-operation","content":"x"}"#, N, B, "queue"),
        (r#"{"type":"summary","summary":"x","leafUuid":"y"}"#, N, B, "title"),
        (r#"{"type":"from-the-future","message":{"content":"x"}}"#, N, O, "a type that we do not know"),
        (r#"{"type":"user","message":null}"#, N, O, "no message"),
        ("not json", N, O, "not JSON"),
        ("[]", N, O, "not an object"),
    ];
    for (record, role, origin, why) in table {
        let entry = claude(record);
        assert_eq!((entry.role, entry.origin), (role, origin), "{why}: {record}");
    }
}

#[test]
fn blocks_are_read() {
    let entry = claude(
        r#"{"type":"assistant","uuid":"u","parentUuid":"p","timestamp":"1970-01-01T00:00:01Z","requestId":"r","message":{"id":"msg_1","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"redacted_thinking","data":"D"},{"type":"tool_use","id":"t","name":"Bash","input":{"command": "ls"}},{"type":"server_tool_use","id":"srvtoolu_1","input":{}}]}}"#,
    );
    assert_eq!(entry.message_id.as_deref(), Some("msg_1"), "the pieces of one API message share it");
    assert_eq!((entry.host_id.as_deref(), entry.parent), (Some("u"), HostParent::Previous));
    assert_eq!((entry.time.unwrap().0, entry.model.as_deref()), (1000, Some("claude-x")));
    let [
        Part::Thinking { signature, .. },
        Part::Thinking { text, .. },
        Part::ToolCall(call),
        Part::Opaque { kind, raw },
    ] = entry.parts.as_slice()
    else {
        panic!("{:?}", entry.parts)
    };
    assert_eq!((signature.as_deref(), text.as_str()), (Some("S"), ""));
    assert_eq!((call.arguments.as_str(), call.complete), (r#"{"command": "ls"}"#, true));
    assert_eq!(kind, "server_tool_use", "f050");
    assert_eq!(&**raw, r#"{"type":"server_tool_use","id":"srvtoolu_1","input":{}}"#, "f050: byte for byte");
}

#[test]
fn results_are_read_once() {
    let entry = claude(
        r#"{"type":"user","toolUseResult":{"stdout":"a huge copy","exitCode":7},"message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"out"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}},{"type":"tool_reference","tool_name":"x"},{"type":"tool_result","content":[]}]}]}}"#,
    );
    let result = entry.results().next().unwrap();
    assert_eq!((result.call_id.as_str(), result.is_error, result.exit_code), ("t", true, Some(7)));
    let [Part::Text(text), Part::Media(media), Part::Opaque { .. }, Part::Opaque { .. }] =
        result.content.as_slice()
    else {
        panic!("{:?}", result.content)
    };
    assert_eq!(
        (text.as_str(), media.mime.as_str()),
        ("out", "image/png"),
        "a result inside a result is opaque"
    );
}

#[test]
fn api_errors_are_errors() {
    let entry = claude(
        r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[]}}"#,
    );
    assert_eq!(entry.status, Status::Error);
}

#[test]
fn identity_table() {
    let user = |fields: &str| format!(r#"{{"type":"user",{fields},"message":{{"content":"x"}}}}"#);
    let main = user(r#""sessionId":"s","isSidechain":false"#);
    let inline = user(r#""sessionId":"s","isSidechain":true,"uuid":"r","parentUuid":null"#);
    let agent = user(r#""sessionId":"s","isSidechain":true,"agentId":"a1""#);
    let table = [
        (vec![main.as_str()], "claude-code:s", None, None, "a main file"),
        (
            vec![agent.as_str(), agent.as_str()],
            "claude-code:s/agent-a1",
            Some("claude-code:s"),
            None,
            "a sub-agent's file",
        ),
        (vec![main.as_str(), agent.as_str()], "claude-code:s", None, None, "an agent inside a main file"),
        (vec![inline.as_str(), main.as_str()], "claude-code:s", None, None, "begins with a sidechain"),
        (
            vec![r#"{"type":"summary","summary":"Old","leafUuid":"l"}"#, main.as_str()],
            "claude-code:s",
            None,
            Some("Old"),
            "the session id comes later",
        ),
        (
            vec![
                r#"{"type":"summary","summary":"Old","leafUuid":"l"}"#,
                main.as_str(),
                r#"{"type":"custom-title","customTitle":"Mine","sessionId":"s"}"#,
            ],
            "claude-code:s",
            None,
            Some("Mine"),
            "a title that the person chose counts more",
        ),
    ];
    for (lines, key, parent, title, why) in table {
        let (reader, _) = read(&lines);
        let source = reader.source();
        assert_eq!(source.format, Format::ClaudeCode, "{why}");
        assert_eq!(source.key.0, key, "{why}");
        assert_eq!(source.parent.as_ref().map(|parent| parent.0.as_str()), parent, "{why}");
        assert_eq!(source.title.as_deref(), title, "{why}");
    }
}

/// Files without a usable id once were one conversation, each hiding the one before.
#[test]
fn files_without_a_usable_id_are_conversations_of_their_own() {
    let key = |session: &str, words: &str| {
        let line = format!(r#"{{"type":"user","sessionId":"{session}","message":{{"content":"{words}"}}}}"#);
        read(&[line.as_str()]).0.source().key.0.clone()
    };
    let (long, page) = ("s".repeat(512), "s".repeat(100_000));
    assert_eq!(key(&long, "x"), format!("claude-code:{long}"), "the longest id");
    for id in ["", &page] {
        let one = key(id, "x");
        assert_eq!((one.len(), one == key(id, "x"), one == key(id, "y")), (28, true, false), "{one}");
    }
}

#[test]
fn inline_sidechains_are_lanes_of_their_own() {
    let line = |uuid: &str, parent: &str, side: bool| {
        format!(
            r#"{{"type":"user","sessionId":"s","uuid":"{uuid}","parentUuid":{parent},"isSidechain":{side},"message":{{"content":"x"}}}}"#
        )
    };
    let lines = [
        line("m1", "null", false),
        line("a1", "null", true),
        line("b1", "null", true),
        line("a2", "\"a1\"", true),
        line("m2", "\"m1\"", false),
        line("a3", "\"a2\"", true),
        line("b2", "\"b1\"", true),
        line("c2", "\"unseen\"", true),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let (_, entries) = read(&lines);
    let lanes: Vec<_> = entries.iter().map(|entry| entry.thread.as_deref().unwrap_or("-")).collect();
    assert_eq!(lanes, ["-", "a1", "b1", "a1", "-", "a1", "b1", "c2"]);
    assert_eq!(entries[1].author.as_deref(), Some("parent agent"), "its task is not a person's");
}

#[test]
fn a_sub_agents_file_is_one_main_lane() {
    let line =
        r#"{"type":"user","sessionId":"s","isSidechain":true,"agentId":"a1","message":{"content":"x"}}"#;
    let (_, entries) = read(&[line, line]);
    assert!(entries.iter().all(|entry| entry.thread.is_none()));
}

#[test]
fn f094_two_values_on_one_line_are_two_entries() {
    let user = r#"{"type":"user","sessionId":"s","message":{"content":"x"}}"#;
    let glued = format!("{user}{user}");
    let (_, entries) = read(&[user, &glued, user]);
    assert_eq!(entries.iter().filter(|entry| entry.origin == Origin::Human).count(), 4);
}
