use proptest::prelude::*;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler as _;

use super::words::words;
use super::{GAP, Outline, OutlineEntry, OutlineLine, outline};

fn entry(role: Role, parts: Vec<Part>) -> Entry {
    let origin = match role {
        Role::User => Origin::Human,
        Role::Tool => Origin::Tool,
        _ => Origin::Model,
    };
    Entry { role, parts, ..Entry::bare(origin) }
}

fn said(role: Role, text: &str) -> Entry {
    entry(role, vec![Part::Text(text.to_owned())])
}

fn returned(text: &str) -> Entry {
    let content = vec![Part::Text(text.to_owned())];
    let result = ToolResult {
        call_id: "c1".to_owned(),
        name: String::new(),
        content,
        is_error: false,
        exit_code: None,
    };
    entry(Role::Tool, vec![Part::ToolResult(result)])
}

fn lines(entries: &[Entry], told: &str, budget: u64) -> Vec<OutlineLine> {
    outlined(entries, told, budget).lines
}

fn outlined(entries: &[Entry], told: &str, budget: u64) -> Outline {
    let outlined = entries.iter().zip(0..).map(|(entry, seq)| OutlineEntry { seq: Seq(seq), entry });
    outline(&outlined.collect::<Vec<_>>(), told, budget)
}

#[test]
fn the_most_telling_pieces_come_first() {
    let filler =
        "Some words about this and that, of which nobody will ever ask again in any session. ".repeat(12);
    let table: &[(Role, &str, &str, &str)] = &[
        (
            Role::User,
            "Never push to the main branch of origin.",
            "Never push to the main branch of origin.",
            "a rule",
        ),
        (
            Role::Assistant,
            "I use a set instead of a list since order is lost anyway.",
            "a set instead of a list",
            "a decision",
        ),
        (
            Role::Assistant,
            "The reader does not check the length of its last block.",
            "does not check the length",
            "a denial",
        ),
        (
            Role::Tool,
            "thread 'main' panicked at src/reader/block.rs:417",
            "src/reader/block.rs:417",
            "a place",
        ),
        (Role::Tool, "compiled 48213 lines", "48213", "a number"),
    ];
    for (role, text, want, why) in table {
        let text = format!("{filler}\n{text}\n{filler}");
        let entry = if *role == Role::Tool { returned(&text) } else { said(*role, &text) };
        let shown = lines(&[entry], "", 80);
        assert!(shown.iter().any(|line| line.text.contains(want)), "{why}: {shown:?}");
    }
}

#[test]
fn identifiers_that_were_shown_are_not_repeated() {
    let both =
        [returned("see src/first.rs and src/second.rs"), returned("again src/first.rs with src/third.rs")];
    let shown = lines(&both, "The summary names src/second.rs already", 34);
    let text: String = shown.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    assert_eq!(text.matches("src/first.rs").count(), 1, "{text}");
    assert!(text.contains("src/third.rs") && !text.contains("src/second.rs"), "{text}");
}

#[test]
fn a_long_entry_takes_no_room_from_short_ones() {
    let long = (0..4_000).map(|number| format!("src/part_{number}.rs")).collect::<Vec<_>>().join(" ");
    let shown =
        lines(&[returned(&long), said(Role::User, "Rename it to harbour, please"), returned(&long)], "", 200);
    assert!(shown.iter().any(|line| line.text == "Rename it to harbour, please"), "{shown:?}");
}

#[test]
fn arguments_of_calls_are_read_without_escapes() {
    let call = ToolCall {
        name: "edit".to_owned(),
        arguments: r#"{"all":true,"at":[1,2],"file_path":"/home/ann/a.rs","text":"one\n\"two\""}"#.to_owned(),
        id: "c1".to_owned(),
        complete: true,
        raw: None,
    };
    let torn = ToolCall { arguments: r#"{"file_path":"/ho"#.to_owned(), ..call.clone() };
    let calls = entry(Role::Assistant, vec![Part::ToolCall(call), Part::ToolCall(torn)]);
    let want = "edit [1,2]\n/home/ann/a.rs\none\n\"two\"\nedit\n{\"file_path\":\"/ho\n";
    let got = words(&calls.parts, str::to_owned);
    assert_eq!(got, want);
}

#[test]
fn a_span_of_more_entries_than_lines_is_told_to_its_end() {
    let many: Vec<Entry> =
        (0..3_000).map(|n| said(Role::Assistant, &format!("step {n} of the work is done"))).collect();
    let Outline { lines, left_out } = outlined(&many, "", 1_000);
    assert_eq!(lines.len() as u64 + left_out, 3_000);
    let tenths = lines.iter().map(|line| line.seq.0 / 300).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(tenths.len(), 10, "every tenth of the span has a line: {tenths:?}");
}

#[test]
fn credentials_are_left_out_before_pieces_are_cut() {
    let call = ToolCall {
        name: "login".to_owned(),
        arguments: r#"{"user":"ann","password":"hunter2Zebra99x"}"#.to_owned(),
        id: "c1".to_owned(),
        complete: true,
        raw: None,
    };
    let entries = [
        returned("db_password: hunter2Zebra99x\nport: 5432"),
        said(Role::Assistant, "It fails because password=hunter2Zebra99x is not known there."),
        entry(Role::Assistant, vec![Part::ToolCall(call)]),
    ];
    let shown = lines(&entries, "", 400);
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(!shown.iter().any(|line| line.text.contains("hunter2")), "{shown:?}");
}

proptest! {
    /// Every piece stands in its entry, and all lines together keep the budget.
    #[test]
    fn pieces_are_verbatim_and_within_the_budget(
        texts in prop::collection::vec("[\\PC\n]{0,400}", 1..12),
        budget in 0_u64..600,
    ) {
        let entries: Vec<Entry> = texts.iter().map(|text| said(Role::Assistant, text)).collect();
        let shown = lines(&entries, "", budget);
        let tokens: u64 = shown.iter().map(|line| ClassEstimate.count(&format!("{} user: {}\n", line.seq, line.text)).expected).sum();
        prop_assert!(tokens <= budget, "{tokens} of {budget}");
        prop_assert!(shown.windows(2).all(|pair| pair[0].seq < pair[1].seq));
        for line in shown {
            let source = crate::clip::one_line(&texts[line.seq.0 as usize]);
            let spelled = |text: &str| text.split_whitespace().collect::<String>();
            for piece in line.text.split(GAP) {
                prop_assert!(spelled(&source).contains(&spelled(piece)), "{piece:?}");
            }
        }
    }
}
