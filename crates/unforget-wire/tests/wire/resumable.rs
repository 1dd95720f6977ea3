//! Transcripts that hosts resume are read by our own readers as the conversation that they were written from.
use std::sync::Arc;

use proptest::prelude::*;
use unforget_core::assemble::with_unique_ids;
use unforget_core::digest::Digest;
use unforget_core::entry::{Media, Origin, Part, ToolCall, ToolResult};
use unforget_core::group::{Group, Item, push};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::message::{Block, Message, Speaker};
use unforget_core::pair::{Detail, messages};
use unforget_wire::{Reader, ResumableTranscript, ResumingHost, SaidMessage, SessionParts, resumable};

const SUMMARY: &str = "[So far: the heron is \"grey\".]";

fn said(speaker: Speaker, origin: Origin, blocks: Vec<Block>) -> SaidMessage {
    let model = (speaker == Speaker::Assistant).then(|| "claude-sonnet-4-5".to_owned());
    let message = Message { speaker, blocks, model, seqs: Vec::new() };
    SaidMessage { message, origin, time: Some(Timestamp(1_772_442_000_000)) }
}

fn words(text: &str) -> Block {
    Block::Part(Part::Text(text.to_owned()))
}

fn call(id: &str, arguments: &str) -> Block {
    let (id, name, arguments) = (id.to_owned(), "read".to_owned(), arguments.to_owned());
    Block::Call(ToolCall { id, name, arguments, complete: true, raw: None })
}

fn result(id: &str, is_error: bool, content: Vec<Part>) -> Block {
    let (call_id, name) = (id.to_owned(), "read".to_owned());
    Block::Result(ToolResult { call_id, name, content, is_error, exit_code: None })
}

fn written(said: &[SaidMessage], summary: Option<&str>, host: ResumingHost) -> ResumableTranscript {
    let (folder, title) = ("/home/ann/x", "The \"heron\"");
    resumable(&SessionParts { folder, title, summary, ..parts(said) }, host).unwrap()
}

fn parts(said: &[SaidMessage]) -> SessionParts<'_> {
    let undated = Timestamp(1_772_442_000_000);
    SessionParts { seed: Digest::of(b"seed"), folder: "/", title: "", undated, summary: None, said }
}

/// What a model sees of messages: a line per block, without reasoning; calls with their results, wherever these stand.
fn seen(messages: &[Message], host: ResumingHost) -> Vec<String> {
    let blocks =
        || messages.iter().flat_map(|message| message.blocks.iter().map(move |block| (message, block)));
    let answer = |id: &str| {
        let result = blocks().find_map(|(_, block)| match block {
            Block::Result(result) if result.call_id == id => Some(result),
            _ => None,
        });
        let result = result.unwrap();
        let texts = result.content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let failed = result.is_error && host != ResumingHost::Codex;
        format!("{failed} {}", texts.collect::<Vec<_>>().join("\n"))
    };
    let told = blocks().filter_map(|(message, block)| match block {
        Block::Ours(text) | Block::Part(Part::Text(text)) => Some(format!("{:?}: {text}", message.speaker)),
        Block::Call(call) => {
            let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            Some(format!("{} {} {arguments} {}", call.id, call.name, answer(&call.id)))
        }
        Block::Result(_) | Block::Part(_) => None,
    });
    told.collect()
}

/// What our reader makes of a transcript: the host's summary, and the messages behind it.
fn read(transcript: &ResumableTranscript, host: ResumingHost) -> (Option<String>, Vec<Message>) {
    let mut reader = Reader::open(transcript.text.as_bytes()).unwrap();
    assert_eq!(reader.source().format, host.format());
    assert_eq!(reader.source().key.0, format!("{}:{}", host.format().name(), transcript.session));
    let (mut summary, mut groups, mut next) = (None, Vec::<Group>::new(), 0);
    while let Some(record) = reader.next_record().unwrap() {
        assert_ne!(record.entry.origin, Origin::Opaque, "{}", String::from_utf8_lossy(&record.body));
        if record.entry.origin == Origin::HostSummary {
            let Some(Part::Text(text)) = record.entry.parts.first() else {
                panic!("a summary without words")
            };
            summary = Some(text.clone());
        } else if record.entry.origin.is_visible() && !record.entry.parts.is_empty() {
            push(&mut groups, Item { seq: Seq(next), entry: Arc::new(record.entry) });
            next += 1;
        }
    }
    let all = groups.iter().flat_map(|group| messages(group, Detail::Full, &|_, _, _| None).messages);
    (summary, all.collect())
}

/// One exchange: what a person says, what a host says, an answer, perhaps with calls and their results.
fn exchange() -> impl Strategy<Value = Vec<SaidMessage>> {
    let text = || "[a-z\"\\\\\n\u{e9}\u{4e2d}<>]{0,12}[a-z]";
    let calls = proptest::collection::vec(("[ab]", text(), any::<bool>()), 0..3);
    (text(), proptest::option::of(text()), text(), calls).prop_map(|(asked, noted, answered, calls)| {
        let mut all = vec![said(Speaker::User, Origin::Human, vec![words(&asked)])];
        all.extend(noted.map(|noted| said(Speaker::User, Origin::Injected, vec![words(&noted)])));
        let mut blocks = vec![words(&answered)];
        let arguments = |value: &str| serde_json::json!({ "path": value }).to_string();
        blocks.extend(calls.iter().map(|(id, value, _)| call(id, &arguments(value))));
        all.push(said(Speaker::Assistant, Origin::Model, blocks));
        let answers =
            calls.iter().map(|(id, value, failed)| result(id, *failed, vec![Part::Text(value.clone())]));
        let answers: Vec<Block> = answers.collect();
        if !answers.is_empty() {
            all.push(said(Speaker::User, Origin::Tool, answers));
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever was said, every host's transcript is read as the same conversation, and is the same every time.
    #[test]
    fn what_is_written_is_read_as_the_same_conversation(
        exchanges in proptest::collection::vec(exchange(), 1..6),
        is_small in any::<bool>(),
    ) {
        let said = exchanges.concat();
        let summary = is_small.then_some(SUMMARY);
        let whole = with_unique_ids(said.iter().map(|said| &said.message));
        for host in ResumingHost::ALL {
            let transcript = written(&said, summary, host);
            prop_assert_eq!(&transcript, &written(&said, summary, host));
            let (told, messages) = read(&transcript, host);
            prop_assert_eq!(told.is_some(), is_small, "{}", host.name());
            prop_assert!(told.is_none_or(|told| told.ends_with(SUMMARY)), "{}", host.name());
            prop_assert_eq!(seen(&messages, host), seen(&whole, host), "{}\n{}", host.name(), transcript.text);
        }
    }
}

#[test]
fn what_a_host_cannot_take_is_counted() {
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"AAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#;
    let thinking = Block::Part(Part::Thinking {
        text: "hm".into(),
        signature: Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAA".into()),
        raw: Some(thought.into()),
    });
    let media =
        |raw: &str| Block::Part(Part::Media(Media { mime: "image/png".into(), size: None, raw: raw.into() }));
    let environment = "<environment_context>\n<cwd>/home/ann</cwd>\n</environment_context>";
    let png = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
    let all = [
        said(Speaker::User, Origin::Injected, vec![words(environment)]),
        said(Speaker::System, Origin::Injected, vec![words("be brief")]),
        said(Speaker::User, Origin::Human, vec![words("look"), media(r#"{"url":"media://1"}"#), media(png)]),
        said(Speaker::Assistant, Origin::Model, vec![thinking, words("ok"), call("a", "{}")]),
        said(Speaker::User, Origin::Tool, vec![result("a", true, vec![Part::Text("gone".into())])]),
    ];
    let table = [
        (ResumingHost::ClaudeCode, [0, 1, 0, 2], "the signature is valid there"),
        (ResumingHost::Codex, [1, 1, 1, 2], "neither reasoning of others, nor failures"),
        (ResumingHost::Opencode, [0, 1, 0, 2], "it keeps all reasoning"),
        (ResumingHost::Pi, [0, 1, 0, 2], "it keeps all reasoning"),
    ];
    for (host, want, why) in table {
        let transcript = written(&all, None, host);
        let count = |word: &str| {
            let found = transcript.not_carried.iter().filter(|lost| lost.what.contains(word));
            found.map(|lost| lost.count).sum::<u64>()
        };
        let found = [count("thinking"), count("media"), count("failed"), count("instructions")];
        assert_eq!(found, want, "{}, {why}: {:?}", host.name(), transcript.not_carried);
        assert!(!transcript.text.contains("environment_context"), "{}", host.name());
        assert_eq!(
            transcript.text.contains("AAAAAAAAAAAAAAAA"),
            host != ResumingHost::Codex,
            "{}",
            host.name()
        );
        assert!(transcript.text.contains("iVBORw0KGgo="), "{}: {}", host.name(), transcript.text);
    }
}

#[test]
fn records_have_the_shapes_of_their_hosts() {
    let all = [
        said(Speaker::User, Origin::Human, vec![words("hi")]),
        said(Speaker::Assistant, Origin::Model, vec![words("ok"), call("a", r#"{"p":1}"#)]),
        said(Speaker::User, Origin::Tool, vec![result("a", false, vec![Part::Text("1".into())])]),
    ];
    for host in ResumingHost::ALL {
        let golden = format!("{}/tests/wire/resumable/{}.golden", env!("CARGO_MANIFEST_DIR"), host.name());
        let text = written(&all, Some(SUMMARY), host).text;
        if std::env::var_os("UNFORGET_WRITE").is_some() {
            std::fs::create_dir_all(std::path::Path::new(&golden).parent().unwrap()).unwrap();
            std::fs::write(&golden, &text).unwrap();
        }
        let want = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(text, want, "UNFORGET_WRITE=1 writes {golden}");
    }
}

#[test]
fn ids_tell_sessions_apart_that_differ_in_any_record() {
    let one = |text: &str| vec![said(Speaker::User, Origin::Human, vec![words(text)])];
    let (hi, ho) = (one("hi"), one("ho"));
    for host in ResumingHost::ALL {
        let id = |parts: &SessionParts<'_>| resumable(parts, host).unwrap().session;
        let first = id(&parts(&hi));
        assert_eq!(id(&parts(&hi)), first, "{}", host.name());
        let others = [
            SessionParts { folder: "/home/ann", ..parts(&hi) },
            SessionParts { said: &ho, ..parts(&hi) },
            SessionParts { seed: Digest::of(b"another"), ..parts(&hi) },
        ];
        for other in &others {
            assert_ne!(id(other), first, "{} {other:?}", host.name());
        }
    }
}

#[test]
fn messages_without_a_time_have_that_of_their_neighbours() {
    let untimed =
        |text: &str| SaidMessage { time: None, ..said(Speaker::User, Origin::Human, vec![words(text)]) };
    let timed = said(Speaker::Assistant, Origin::Model, vec![words("b")]);
    for (all, why) in
        [(vec![untimed("a")], "none has one"), (vec![untimed("a"), timed], "the second has one")]
    {
        for host in ResumingHost::ALL {
            let transcript = written(&all, Some(SUMMARY), host);
            assert_eq!(transcript.begun, Timestamp(1_772_442_000_000), "{why}");
            assert!(!transcript.text.contains("1970-01-01"), "{why}: {}", transcript.text);
        }
    }
}

/// A JSON value as some author spells it, with white space between all tokens, and numbers that a float cannot hold.
fn spaced_json() -> impl Strategy<Value = String> {
    let space = || "[ \t\n\r]{0,3}";
    let text = || prop_oneof![Just(r#""a b""#), Just(r#""{ \"k\" : [\\] }""#), Just(r#""\n\u00e9\\""#)];
    let number = prop_oneof![Just("1"), Just("-0.10"), Just("1e400"), Just("123456789012345678901234567890")];
    let leaf = prop_oneof![number, text(), Just("true"), Just("null")].prop_map(str::to_owned);
    let leaf = (space(), leaf, space()).prop_map(|(before, leaf, after)| format!("{before}{leaf}{after}"));
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let member = (space(), text(), space(), inner.clone())
            .prop_map(|(before, key, after, value)| format!("{before}{key}{after}:{value}"));
        let objects = (space(), proptest::collection::vec(member, 1..4), space());
        let arrays = (space(), proptest::collection::vec(inner, 1..4), space());
        prop_oneof![
            objects.prop_map(|(before, members, after)| format!("{before}{{{}}}{after}", members.join(","))),
            arrays.prop_map(|(before, items, after)| format!("{before}[{}]{after}", items.join(","))),
        ]
    })
}

/// The tokens of a JSON value.
fn tokens(json: &str) -> String {
    let mut text = String::new();
    let mut rest = json;
    while let Some(from) = rest.find('"') {
        text.extend(rest[..from].split_whitespace());
        let mut end = from + 1;
        while rest.as_bytes()[end] != b'"' {
            end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        text.push_str(&rest[from..=end]);
        rest = &rest[end + 1..];
    }
    text.extend(rest.split_whitespace());
    text
}

/// Arguments, results and unknown blocks: whatever a model or a host wrote.
fn hostile_arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        spaced_json(),
        spaced_json().prop_map(|json| format!("{{\n \"a\" :{json}}}\r\n")),
        Just("{\n \"a\": 1\n}".to_owned()),
        Just("{\"a\":\n".to_owned()),
        Just("\n\u{2028}{}".to_owned()),
        Just("{} {}\n{}".to_owned()),
        Just("{\"a\" : 1,\n\"a\":2}".to_owned()),
        Just(format!("{}\n{}", "[".repeat(300), "]".repeat(300))),
        Just(format!("{{\"a\":\n{}1{}}}", "[".repeat(300), "]".repeat(300))),
        "[\\PC\n\r\"\\\\{}]{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Whatever the arguments of a call are, each record stands on a line, no call is lost, and arguments that are an object keep
    /// their tokens.
    #[test]
    fn arguments_stand_on_one_line(all in proptest::collection::vec(hostile_arguments(), 1..4)) {
        let calls = all.iter().enumerate().map(|(at, arguments)| call(&format!("c{at}"), arguments));
        let results = (0..all.len()).map(|at| result(&format!("c{at}"), false, vec![Part::Text("1".into())]));
        let unknown = Block::Part(Part::Opaque { kind: "note".into(), raw: "{\"type\":\n\"note\" }".into() });
        let said = [
            said(Speaker::User, Origin::Human, vec![words("go")]),
            said(Speaker::Assistant, Origin::Model, calls.chain([unknown]).collect()),
            said(Speaker::User, Origin::Tool, results.collect()),
        ];
        for host in ResumingHost::ALL {
            let transcript = written(&said, None, host);
            // opencode takes a document.
            let is_document = host == ResumingHost::Opencode;
            let records: Vec<&str> =
                if is_document { vec![&transcript.text] } else { transcript.text.lines().collect() };
            for record in records {
                let read = serde_json::from_str::<&serde_json::value::RawValue>(record);
                prop_assert!(read.is_ok(), "{} {record}", host.name());
            }
            let (_, messages) = read(&transcript, host);
            let blocks = messages.iter().flat_map(|message| &message.blocks);
            let found: Vec<&str> = blocks
                .filter_map(|block| match block {
                    Block::Call(call) => Some(call.arguments.as_str()),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(found.len(), all.len(), "{}", host.name());
            for (found, arguments) in found.iter().zip(&all) {
                let is_object = arguments.trim_start().starts_with('{')
                    && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments).is_ok();
                if is_object {
                    prop_assert_eq!(tokens(found), tokens(arguments), "{}", host.name());
                }
            }
        }
    }
}
