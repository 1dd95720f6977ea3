use proptest::prelude::*;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler as _;

use super::words::words;
use super::{GAP, OutlineLine, Outlined, outline};

fn entry(role: Role, parts: Vec<Part>) -> Entry {
    Entry { role, parts, ..Entry::bare(Origin::Model) }
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
    let outlined = entries.iter().zip(0..).map(|(entry, seq)| Outlined { seq: Seq(seq), entry });
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
    let long: String = (0..4_000).map(|number| format!("src/part_{number}.rs ")).collect();
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
    let got = words(&calls, str::to_owned);
    assert_eq!(got, want);
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
        let tokens: u64 = shown.iter().map(|line| ClassEstimate.count(&line.text).expected).sum();
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
