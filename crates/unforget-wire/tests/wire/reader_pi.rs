//! The content of pi and OpenClaw records.
use unforget_core::entry::{Entry, HostParent, Origin, Part, Role, Status};
use unforget_core::id::Timestamp;
use unforget_wire::{Format, Reader, decode};

fn pi(record: &str) -> Entry {
    decode(Format::Pi, record.as_bytes())
}

fn message(inside: &str) -> Entry {
    pi(&format!(
        r#"{{"type":"message","id":"m1","parentId":"m0","timestamp":"2025-11-20T23:33:01.550Z","message":{inside}}}"#
    ))
}

/// The parts in one line each: `text`, `(thinking)`, `call name args`, `cut call`, `result id: …`, `?kind`.
fn parts(entry: &Entry) -> String {
    entry.parts.iter().map(part).collect::<Vec<_>>().join(" | ")
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking { text, signature, .. } => format!("({text}{})", signature.as_deref().unwrap_or("")),
        Part::ToolCall(call) => {
            format!("{}call {} {}", if call.complete { "" } else { "cut " }, call.name, call.arguments)
        }
        Part::ToolResult(result) => {
            let inside: Vec<_> = result.content.iter().map(self::part).collect();
            let code = result.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
            let failed = if result.is_error { " failed" } else { "" };
            format!("result {}{failed}{code}: {}", result.call_id, inside.join(" "))
        }
        Part::Media(media) => format!("[{}]", media.mime),
        Part::Opaque { kind, .. } => format!("?{kind}"),
    }
}

#[test]
fn records_table() {
    use Origin::{Bookkeeping as B, HostSummary as S, Human as H, Injected as I, Opaque as O};
    use Role::{None as N, User as U};
    let table = [
        (r#"{"type":"session","id":"s","timestamp":"2025-11-20T23:33:50.805Z"}"#, N, B, "", "header"),
        (
            r#"{"type":"compaction","summary":"all","firstKeptEntryId":"x"}"#,
            U,
            S,
            "all",
            "the host's summary",
        ),
        (
            r#"{"type":"branch_summary","fromId":"x","summary":"left"}"#,
            U,
            S,
            "left",
            "the host's summary of an abandoned branch",
        ),
        (
            r#"{"type":"custom_message","customType":"c","content":"hi","display":true}"#,
            U,
            I,
            "hi",
            "of an extension",
        ),
        (r#"{"type":"custom_message","content":[{"type":"text","text":"hi"}]}"#, U, I, "hi", "as blocks"),
        (r#"{"type":"custom","customType":"c","data":{"text":"hi"}}"#, N, B, "", "state of an extension"),
        (r#"{"type":"leaf","appendMode":"side"}"#, N, B, "", "leaf"),
        (r#"{"type":"reset"}"#, N, B, "", "reset"),
        (r#"{"type":"label","targetId":"x","label":"l"}"#, N, B, "", "label"),
        (r#"{"type":"from_the_future","text":"x"}"#, N, O, "", "a type that we do not know"),
        (r#"{"type":"message","message":{"role":"user","content":"x"}}"#, U, H, "x", "content as a string"),
        (r#"{"type":"message","message":"x"}"#, N, O, "", "a message that is none"),
        (r#"{"type":"message","message":{"role":"hookMessage","content":"x"}}"#, U, I, "x", "version 2"),
        (r#"{"type":"message","message":{"role":"custom","content":"x"}}"#, U, I, "x", "version 3"),
        (
            r#"{"type":"message","message":{"role":"compactionSummary","summary":"x"}}"#,
            U,
            S,
            "x",
            "as a message",
        ),
        (
            r#"{"type":"message","message":{"role":"robot","content":"x"}}"#,
            N,
            O,
            "",
            "a role that we do not know",
        ),
    ];
    for (record, role, origin, text, why) in table {
        let entry = pi(record);
        assert_eq!(
            (entry.role, entry.origin, parts(&entry).as_str()),
            (role, origin, text),
            "{why}: {record}"
        );
    }
}

#[test]
fn messages_table() {
    let table = [
        (
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"S"},{"type":"text","text":"ok"},{"type":"toolCall","id":"c","name":"read","arguments":{"p": 1}}],"model":"m","stopReason":"toolUse"}"#,
            Status::Complete,
            r#"(hmS) | ok | call read {"p": 1}"#,
            "arguments as they stand",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"path":"/Us"},"partialJson":"{\"path\":\"/Us"}],"stopReason":"aborted"}"#,
            Status::Aborted,
            r#"cut call read {"path":"/Us"}"#,
            "looks valid, but is the part that had arrived",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"a":1},"partialJson":"{\"a\":1}"}],"stopReason":"toolUse"}"#,
            Status::Complete,
            r#"call read {"a":1}"#,
            "partialJson left on a whole call",
        ),
        (
            r#"{"role":"assistant","content":[],"stopReason":"error"}"#,
            Status::Error,
            "",
            "an error without content",
        ),
        (
            r#"{"role":"toolResult","toolCallId":"c","toolName":"exec","content":[{"type":"text","text":"out"},{"type":"image","data":"AA","mimeType":"image/png"}],"details":{"exitCode":3},"isError":true}"#,
            Status::Complete,
            "result c failed exit 3: out [image/png]",
            "a result",
        ),
        (
            r#"{"role":"user","content":"see","__openclaw":{"media":[{"url":"media://inbound/1.png","contentType":"image/png","kind":"image"},{"kind":"audio"},7]}}"#,
            Status::Complete,
            "see | [image/png] | [audio]",
            "attachments that OpenClaw keeps elsewhere",
        ),
        (
            r#"{"role":"user","content":[{"type":"image","data":"AA","mimeType":"image/png"}],"__openclaw":{"media":[{"kind":"image"}]}}"#,
            Status::Complete,
            "[image/png]",
            "an attachment that the message shows",
        ),
        (
            r#"{"role":"bashExecution","command":"ls","output":"a\nb","exitCode":2,"cancelled":false}"#,
            Status::Complete,
            "$ ls\na\nb\n[exit code 2]",
            "a command of the person",
        ),
        (
            r#"{"role":"user","content":[{"type":"widget","x":1},{"type":"text","text":"a\ud800b"}]}"#,
            Status::Complete,
            "?widget | a\u{fffd}b",
            "f050, f062: unknown blocks are kept, lone surrogates replaced",
        ),
    ];
    for (inside, status, want, why) in table {
        let entry = message(inside);
        assert_eq!((entry.status, parts(&entry).as_str()), (status, want), "{why}");
        assert_eq!(entry.host_id.as_deref(), Some("m1"), "{why}");
        assert_eq!(entry.parent, HostParent::Id("m0".to_owned()), "{why}");
        assert_eq!(entry.time, Some(Timestamp(1_763_681_581_550)), "{why}");
    }
}

#[test]
fn excluded_commands_are_not_shown() {
    let entry =
        message(r#"{"role":"bashExecution","command":"env","output":"SECRET","excludeFromContext":true}"#);
    assert_eq!(entry.origin, Origin::Bookkeeping);
    assert_eq!(message(r#"{"role":"bashExecution","command":"ls","output":""}"#).origin, Origin::Tool);
}

#[test]
fn excluded_messages_of_extensions_are_not_shown() {
    let custom = r#"{"role":"custom","customType":"tool-display","content":"SECRET""#;
    assert_eq!(message(&format!(r#"{custom},"excludeFromContext":true}}"#)).origin, Origin::Bookkeeping);
    assert_eq!(message(&format!(r"{custom}}}")).origin, Origin::Injected);
}

#[test]
fn f050_unknown_blocks_survive_byte_for_byte() {
    let block = r#"{ "type" : "srvtoolu", "x":[1, 2 ,{"y":"\u00e9"}] }"#;
    let entry = message(&format!(r#"{{"role":"assistant","content":[{block}]}}"#));
    assert_eq!(entry.parts, [Part::Opaque { kind: "srvtoolu".to_owned(), raw: block.into() }]);
}

#[test]
fn a_session_names_itself() {
    let file = concat!(
        r#"{"type":"session","version":3,"id":"u-1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/x"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-11-20T23:33:50.805Z","message":{"role":"user","content":"hi"}}"#,
        "\n",
        r#"{"type":"session_info","id":"b","parentId":"a","name":"First"}"#,
        "\n",
        r#"{"type":"session_info","id":"c","parentId":"b","name":"Second"}"#,
        "\n",
    );
    let mut reader = Reader::open(file.as_bytes()).unwrap();
    assert_eq!(reader.source().key.0, "pi:u-1");
    assert_eq!(reader.source().title.as_deref(), Some("Second"), "the newest name counts");
    let mut parents = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        parents.push((record.entry.host_id, record.entry.parent));
    }
    assert_eq!(parents[0], (None, HostParent::Previous), "the header is not in the tree");
    assert_eq!(parents[1], (Some("a".to_owned()), HostParent::Root));
    assert_eq!(parents[2], (Some("b".to_owned()), HostParent::Id("a".to_owned())));
}

#[test]
fn version_1_entries_are_named_by_their_index() {
    let file = concat!(
        r#"{"type":"session","id":"u-1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/x","provider":"p"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-11-20T23:33:01Z","message":{"role":"user","content":"hi"}}"#,
        "\n",
        "broken\n",
        r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":1}"#,
        "\n",
    );
    let mut reader = Reader::open(file.as_bytes()).unwrap();
    let mut ids = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        assert_eq!(record.entry.parent, HostParent::Previous, "a list");
        ids.push(record.entry.host_id);
    }
    let names = [None, Some("#1".to_owned()), None, Some("#2".to_owned())];
    assert_eq!(ids, names, "the header is index 0; a line that does not parse has none, as in pi");
}
