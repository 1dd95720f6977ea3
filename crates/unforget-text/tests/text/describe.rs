//! Stubs, excerpts and summaries through the public functions.
use proptest::prelude::*;
use unforget_core::entry::{Entry, Media, Origin, Part, Role, Status, ToolCall, ToolResult};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::tokens::Ruler;
use unforget_text::*;

fn entry(origin: Origin, parts: Vec<Part>) -> Entry {
    let role = match origin {
        Origin::Human | Origin::Injected => Role::User,
        Origin::Model => Role::Assistant,
        Origin::Tool => Role::Tool,
        _ => Role::None,
    };
    Entry { role, parts, time: Some(Timestamp(1_700_000_000_000)), ..Entry::bare(origin) }
}

fn says(origin: Origin, text: &str) -> Entry {
    entry(origin, vec![Part::Text(text.into())])
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), complete: true, raw: None }
}

fn result(id: &str, text: &str, exit_code: Option<i64>) -> ToolResult {
    let is_error = exit_code.is_some_and(|code| code != 0);
    ToolResult {
        call_id: id.into(),
        name: String::new(),
        content: vec![Part::Text(text.into())],
        is_error,
        exit_code,
    }
}

fn summary(entries: &[Entry]) -> Summary {
    let sources: Vec<Source<'_>> =
        entries.iter().enumerate().map(|(at, entry)| Source { seq: Seq(at as u64), entry }).collect();
    summarise(&sources)
}

/// A small session: a rule, a failing test, a fix, an answer.
fn session() -> Vec<Entry> {
    vec![
        says(
            Origin::Human,
            "Please fix the build of crates/store. You must never touch migrations/001.sql. Use SQLite 3.46.1.",
        ),
        entry(
            Origin::Model,
            vec![
                Part::Thinking { text: "hidden reasoning about zebras".into(), signature: None, raw: None },
                Part::Text("I'll run the tests first.".into()),
                Part::ToolCall(call("c1", "bash", r#"{"command":"cargo test -p store"}"#)),
            ],
        ),
        entry(
            Origin::Tool,
            vec![Part::ToolResult(result(
                "c1",
                "error[E0308]: mismatched types\n --> crates/store/src/open.rs:42\ntest result: FAILED. 11 passed; 1 failed; 0 ignored",
                Some(101),
            ))],
        ),
        says(Origin::Injected, "<system-reminder>remember the giraffe</system-reminder>"),
        entry(
            Origin::Model,
            vec![Part::ToolCall(call(
                "c2",
                "Edit",
                r#"{"file_path":"crates/store/src/open.rs","old_string":"a","new_string":"b"}"#,
            ))],
        ),
        entry(Origin::Tool, vec![Part::ToolResult(result("c2", "done", None))]),
        entry(
            Origin::Model,
            vec![Part::ToolCall(call("c3", "bash", r#"{"command":"cargo test -p store"}"#))],
        ),
        entry(
            Origin::Tool,
            vec![Part::ToolResult(result("c3", "test result: ok. 12 passed; 0 failed; 0 ignored", Some(0)))],
        ),
        says(
            Origin::Model,
            "The root cause was a wrong type in `open`. I went with u64 instead of i64. All tests pass.",
        ),
    ]
}

#[test]
fn summary_has_typed_sections_with_their_sources() {
    let summary = summary(&session());
    let text = |kind| {
        summary
            .items(kind)
            .iter()
            .map(|item| format!("{} {:?} {:?}", item.text, item.seqs, item.state))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let goal = text(SectionKind::Goal);
    assert!(goal.contains("fix the build") && goal.contains("Done"), "{goal}");
    assert!(text(SectionKind::Constraints).contains("You must never touch migrations/001.sql."), "verbatim");
    assert!(text(SectionKind::Decisions).contains("The root cause was a wrong type in `open`."));
    let actions = text(SectionKind::Actions);
    assert!(actions.contains("bash cargo test -p store: exit 101, 11 passed, 1 failed"), "{actions}");
    assert!(actions.contains("bash cargo test -p store: exit 0, 12 passed, 0 failed"), "{actions}");
    assert!(text(SectionKind::FilesWritten).starts_with("crates/store/src/open.rs"));
    let errors = text(SectionKind::Errors);
    assert!(
        errors.contains("error[E0308]: mismatched types") && errors.contains("Done"),
        "mended by the second run: {errors}"
    );
    assert_eq!(summary.items(SectionKind::OpenAsks), [], "f027: nothing is open");
    let anchors = text(SectionKind::Anchors);
    for anchor in ["3.46.1", "migrations/001.sql", "E0308"] {
        assert!(anchors.contains(anchor), "{anchor}: {anchors}");
    }
}

#[test]
fn the_newest_summary_of_the_host_is_kept_in_its_words() {
    let words = |n: u32| format!("## Goal\nShip part {n}.\n\n## Next\nRun `cargo test -p part{n}`.");
    let spoken = |n: u32| summary(&[says(Origin::Human, "go on"), says(Origin::HostSummary, &words(n))]);
    let one = spoken(1);
    let kept = |summary: &Summary| -> Vec<String> {
        summary.items(SectionKind::HostSummary).iter().map(|item| item.text.clone()).collect()
    };
    assert_eq!(kept(&one), [words(1)], "letter by letter");
    assert!(one.items(SectionKind::Decisions).is_empty(), "it decides nothing");
    assert_eq!(Summary::parse(&one.to_text()).unwrap(), one, "the stored form has its lines");
    assert_eq!(
        one.to_text(),
        "unforget-summary 1\ntitle\tgo on\nspan\t0\t1\t1700000000000\t1700000000000\ngoal\n-\t0\topen\t-\tgo on\nopen-asks\n\
         -\t0\topen\t-\tgo on\nhost-summary\n-\t1\tfact\t-\t## Goal\\nShip part 1.\\n\\n## Next\\nRun `cargo \
         test -p part1`.\n"
    );
    let mut two = spoken(2);
    for section in &mut two.sections {
        section.items.iter_mut().for_each(|item| item.seqs = vec![Seq(9)]);
    }
    assert_eq!(
        kept(&Summary::merge(&[one.clone(), two])),
        [words(2)],
        "the newer one tells what the older one told"
    );
    let plain = summary(&[says(Origin::Human, "and more")]);
    assert_eq!(kept(&Summary::merge(&[one.clone(), plain])), [words(1)], "a span without one keeps it");
    let text = render(&one, 1_000, &ClassEstimate);
    assert!(!text.contains("Ship part 1."), "it stands beside the summaries, once: {text}");
}

#[test]
fn f024_f030_reasoning_injected_text_and_media_stay_out() {
    let mut entries = session();
    let blob = "iVBORw0KGgo".repeat(40);
    entries.push(entry(
        Origin::Human,
        vec![
            Part::Text(format!("see data:image/png;base64,{blob} here")),
            Part::Media(Media { mime: "image/png".into(), size: None, raw: blob.clone().into() }),
        ],
    ));
    entries.push(says(Origin::Model, "<think>secret elephant plan</think>It is a logo."));
    let text = summary(&entries).to_text();
    for absent in ["zebra", "giraffe", "elephant", "iVBORw0KGgo"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(text.contains("[blob]"), "{text}");
    let without: Vec<Entry> = entries
        .into_iter()
        .map(|entry| if entry.origin == Origin::Injected { says(Origin::Injected, "other") } else { entry })
        .collect();
    assert_eq!(summary(&without).to_text(), text, "injected text changes nothing");
}

#[test]
fn f020_blank_entries_give_a_blank_summary() {
    for entries in [
        vec![],
        vec![says(Origin::Human, " \n\t ")],
        vec![entry(Origin::Model, vec![Part::Thinking { text: "hm".into(), signature: None, raw: None }])],
    ] {
        let summary = summary(&entries);
        assert!(summary.is_blank(), "{summary:?}");
    }
}

#[test]
fn f027_a_finished_or_cancelled_request_is_marked() {
    let ask = |text: &str| says(Origin::Human, text);
    let table: [(&str, Vec<Entry>, State, usize); 6] = [
        ("answered", vec![ask("do it"), says(Origin::Model, "done")], State::Done, 0),
        (
            "open",
            vec![
                ask("do it"),
                says(Origin::Model, "let me look"),
                entry(Origin::Model, vec![Part::ToolCall(call("a", "ls", "{}"))]),
            ],
            State::Open,
            1,
        ),
        (
            "aborted, which takes nothing back",
            vec![ask("do it"), Entry { status: Status::Aborted, ..says(Origin::Model, "I will") }],
            State::Open,
            1,
        ),
        ("interrupted", vec![ask("do it"), ask("[Request interrupted by user]")], State::Open, 1),
        ("taken back", vec![ask("do it"), ask("never mind")], State::Cancelled, 0),
        (
            "interrupted and gone on with",
            vec![
                ask("do it"),
                ask("[Request interrupted by user for tool use]"),
                ask("do it with tabs"),
                says(Origin::Model, "Wrote a.rs with tabs."),
            ],
            State::Fact,
            0,
        ),
    ];
    for (why, entries, state, open) in table {
        let summary = summary(&entries);
        assert_eq!(summary.items(SectionKind::Goal)[0].state, state, "{why}");
        assert_eq!(summary.items(SectionKind::OpenAsks).len(), open, "{why}");
    }
    // Answered in the next span, as the merge shows.
    let first = summary(&[ask("do it")]);
    let second = summary(&[says(Origin::Model, "done")]);
    let merged = Summary::merge(&[first.clone(), second]);
    assert_eq!(
        (merged.items(SectionKind::Goal)[0].state, merged.items(SectionKind::OpenAsks).len()),
        (State::Done, 0)
    );
    let newer = Summary::merge(&[first, summary(&[ask("something else")])]);
    assert_eq!(newer.items(SectionKind::Goal)[0].state, State::Fact, "left behind, not open");
    assert_eq!(newer.items(SectionKind::OpenAsks)[0].text, "something else");
}

#[test]
fn f033_authors_are_kept_apart() {
    let by =
        |author: &str| Entry { author: Some(author.into()), ..says(Origin::Human, "please keep it short") };
    let summary = summary(&[by("ann"), by("bob")]);
    let authors: Vec<_> =
        summary.items(SectionKind::Constraints).iter().map(|item| item.author.as_deref()).collect();
    assert_eq!(authors, [Some("ann"), Some("bob")]);
    let text = render(&summary, 400, &ClassEstimate);
    assert!(text.contains("(ann, 0") && text.contains("(bob, 1"), "{text}");
}

#[test]
fn f108_summaries_and_stubs_hold_no_secret() {
    let key = ["AKIA", "IOSFODNN7EXAMPLE"].concat();
    let text = format!("You must always use {key} here. password=hunter2hunter2");
    let entries = [
        says(Origin::Human, &text),
        entry(
            Origin::Model,
            vec![Part::ToolCall(call("a", "bash", &format!(r#"{{"command":"curl -H 'x: {key}'"}}"#)))],
        ),
        entry(Origin::Tool, vec![Part::ToolResult(result("a", &format!("error: bad key {key}"), Some(1)))]),
    ];
    let stub = stub(&result("a", &format!("error: bad key {key}"), Some(1)), None, "s:1", StubReason::Old);
    for text in [summary(&entries).to_text(), stub] {
        assert!(!text.contains(&key) && !text.contains("hunter2"), "{text}");
        assert!(text.contains("[secret: aws-key]"), "{text}");
    }
}

#[test]
fn rendered_identifiers_are_in_the_source() {
    let entries = session();
    let source = format!("{entries:?}");
    let summary = summary(&entries);
    for room in [40, 80, 200, 1000] {
        let text = render(&summary, room, &ClassEstimate);
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        for anchor in anchors(body).filter(|anchor| anchor.kind != AnchorKind::Quantity) {
            assert!(source.contains(anchor.text), "{anchor:?} at {room}: {text}");
        }
        assert!(text.starts_with("Entries 0-8"), "{text}");
    }
}

#[test]
fn preview_table() {
    let csv = "name,age,city\nann,31,Rome\nbob,25,Oslo\ncid,44,Bonn\n";
    let log = "2026 INFO start\n2026 INFO go\n2026 ERROR disk full\n2026 WARN slow\n";
    let code = "use std::fmt;\n\npub struct Point { x: i32 }\n\nimpl Point {\n    pub fn new() -> Self { todo!() }\n}\n\nfn main() {}\n";
    let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n";
    let table = [
        ("", Kind::Empty, "empty", "nothing"),
        (
            r#"{"users":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"total":2}"#,
            Kind::Json,
            "{users: [2 × {id, name}], total}",
            "shape and counts",
        ),
        ("{\"a\":1}\n{\"a\":2}\n", Kind::JsonLines, "2 records with a", "a value per line"),
        (csv, Kind::Table, "CSV: 3 rows, 3 columns: name, age, city", "header and rows"),
        (log, Kind::Log, "1 error, 1 warn, 2 info; first: 2026 ERROR disk full", "levels and first error"),
        (code, Kind::Code, "Rust code: struct Point, impl Point, fn new, fn main", "outline"),
        (
            "     1→def f(x):\n     2→    return self.x\n     3→class A:\n     4→    pass\n",
            Kind::Code,
            "Python code: def f, class A",
            "numbered by a tool",
        ),
        (diff, Kind::Diff, "1 file, +2 -1: x.rs", "files and lines"),
        (
            "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
            Kind::Tests,
            "1 passed, 1 failed; failed: b",
            "cargo",
        ),
        ("===== 2 failed, 10 passed in 1.20s =====", Kind::Tests, "10 passed, 2 failed", "pytest"),
        ("Tests:       1 failed, 2 passed, 3 total", Kind::Tests, "2 passed, 1 failed", "jest"),
        ("Ran 12 tests in 0.1s\n\nFAILED (failures=1)", Kind::Tests, "11 passed, 1 failed", "unittest"),
        (
            "src/a.rs:1:fn a\nsrc/a.rs:9:fn b\nsrc/b.rs:3:fn c\n",
            Kind::Listing,
            "3 hits in 2 files: src/a.rs (2), src/b.rs (1)",
            "grep",
        ),
        (
            "src/a.rs\nsrc/b.rs\nCargo.toml\n",
            Kind::Listing,
            "listing of 3: src/a.rs, src/b.rs, Cargo.toml",
            "find",
        ),
        (
            "Dear all,\nthe meeting moves.\nYours, Ann\n",
            Kind::Text,
            "text: \"Dear all,\" … \"Yours, Ann\" (3 lines, 40 bytes)",
            "prose",
        ),
    ];
    for (text, kind, want, why) in table {
        let found = preview(text);
        assert_eq!(found.kind, kind, "{why}: {}", found.text);
        assert!(found.text.contains(want), "{why}: {}", found.text);
    }
}

#[test]
fn stub_keeps_ending_errors_and_handle() {
    let failed = result("a", "compiling\nerror: no such crate `x`\n", Some(101));
    let asked = call("a", "bash", r#"{"command":"cargo build"}"#);
    let text = stub(&failed, Some(&asked), "s:123", StubReason::Superseded { by: "s:130".into() });
    assert_eq!(text, "[result superseded by s:130 of bash cargo build: exit 101; expand s:123]");
    let text = stub(&failed, Some(&asked), "s:123", StubReason::Old);
    assert!(text.starts_with("[older result of bash cargo build: exit 101]"), "{text}");
    assert!(
        text.contains("error: no such crate `x`") && text.ends_with("[stored whole: expand s:123]"),
        "{text}"
    );
}

#[test]
fn excerpt_keeps_head_tail_and_errors() {
    let lines: Vec<String> = (0..2000)
        .map(|at| {
            if at == 1000 { "error: lost the middle".to_owned() } else { format!("line {at} of the report") }
        })
        .collect();
    let text = lines.join("\n");
    let short = excerpt(&text, 400, &ClassEstimate, "s:9");
    assert!(
        short.starts_with("line 0 of the report\n") && short.ends_with("line 1999 of the report"),
        "{short}"
    );
    assert!(short.contains(" bytes left out: expand s:9 …]\n"), "{short}");
    assert!(short.contains("error: lost the middle"), "{short}");
    let count = ClassEstimate.count(&short).upper;
    assert!((280..=400).contains(&count), "uses its room: {count}");
    assert_eq!(excerpt("short", 64, &ClassEstimate, "s:9"), "short");
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,200}",
        "[ -~\n]{0,400}",
        ("\\PC{1,8}", 1usize..400).prop_map(|(text, times)| text.repeat(times)),
        (
            prop::sample::select(vec![
                "[",
                "{\"a\":",
                "<think>",
                "</history-summary>",
                "👩\u{200d}👧",
                "\u{0}",
                "error: ",
                "/a/b.rs:1:",
                "a,b\n",
                "@@ -1 +1 @@\n"
            ]),
            1usize..600
        )
            .prop_map(|(text, times)| text.repeat(times)),
        prop::collection::vec(any::<u8>(), 0..400)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

proptest! {
    #[test]
    fn stubs_keep_their_cap(text in hostile(), name in "\\PC{0,80}", arguments in hostile(), handle in "\\PC{0,60}", code in any::<Option<i64>>()) {
        let asked = call("a", &name, &arguments);
        let made = stub(&result("a", &text, code), Some(&asked), &handle, StubReason::TooLarge);
        prop_assert!(made.chars().count() <= STUB_CHARS, "{made}");
        prop_assert!(ClassEstimate.count(&made).upper <= STUB_TOKENS, "{made}");
        prop_assert!(made.contains("[stored whole: expand "));
        prop_assert_eq!(stub(&result("a", &text, code), Some(&asked), &handle, StubReason::TooLarge), made);
    }

    #[test]
    fn excerpts_keep_their_cap(text in hostile(), times in 1usize..20, max in 64u64..400, handle in "\\PC{0,60}") {
        let text = text.repeat(times);
        let made = excerpt(&text, max, &ClassEstimate, &handle);
        prop_assert!(ClassEstimate.count(&made).upper <= max, "{made}");
    }

    #[test]
    fn summaries_are_total_deterministic_and_round_trip(texts in prop::collection::vec((hostile(), 0usize..5), 0..8), room in 0u64..600) {
        let entries: Vec<Entry> = texts.iter().map(|(text, kind)| match kind {
            0 => Entry { author: Some(text.chars().take(9).collect()), ..says(Origin::Human, text) },
            1 => says(Origin::Model, text),
            2 => entry(Origin::Model, vec![Part::ToolCall(call("c", text, text))]),
            3 => entry(Origin::Tool, vec![Part::ToolResult(result("c", text, Some(1)))]),
            _ => says(Origin::HostSummary, text),
        }).collect();
        let made = summary(&entries);
        prop_assert_eq!(&summary(&entries), &made);
        let text = made.to_text();
        prop_assert_eq!(&Summary::parse(&text).unwrap(), &made);
        let rendered = render(&made, room, &ClassEstimate);
        prop_assert!(ClassEstimate.count(&rendered).upper <= room, "{rendered}");
        let merged = Summary::merge(&[made.clone(), made.clone()]);
        prop_assert_eq!(Summary::parse(&merged.to_text()).unwrap(), merged);
    }

    #[test]
    fn any_item_round_trips(title in "\\PC{0,20}[\n\t\\\\\r]{0,3}", text in "[\\\\\n\t\r a-z,-]{0,20}", author in proptest::option::of("[-=\\\\\n\ta]{0,4}"), seqs in prop::collection::vec(any::<u64>().prop_map(Seq), 0..4)) {
        let item = Item { text, seqs, state: State::Cancelled, author };
        let made = Summary { title, span: Some(Span { first: Seq(0), last: Seq(u64::MAX), from: Some(Timestamp(i64::MIN)), to: None }), sections: vec![Section { kind: SectionKind::Goal, items: vec![item] }] };
        prop_assert_eq!(Summary::parse(&made.to_text()).unwrap(), made);
    }

    #[test]
    fn parse_is_total(text in "unforget-summary 1\n(title|span|-|goal|\t|\n|\\\\|[0-9,]|=|open){0,30}") {
        drop(Summary::parse(&text));
    }
}

/// Only the ends of a long output are read. A word cut there is no identifier: nobody wrote `ata.json`.
#[test]
fn f026_a_word_that_is_cut_where_reading_ends_is_no_identifier() {
    for pad in 0..24 {
        let output = format!("{}{}", "x ".repeat(pad), "src/metadata.json ".repeat(2_000));
        let entries = [
            entry(Origin::Model, vec![Part::ToolCall(call("c", "bash", r#"{"command":"ls"}"#))]),
            entry(Origin::Tool, vec![Part::ToolResult(result("c", &output, Some(0)))]),
            says(Origin::Model, "I see src/metadata.json and ata.json"),
        ];
        let summary = summary(&entries);
        let anchors: Vec<&str> =
            summary.items(SectionKind::Anchors).iter().map(|item| item.text.as_str()).collect();
        assert_eq!(anchors, ["src/metadata.json"], "{pad}");
    }
}
