#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use unforget_text::Span;

use super::*;

/// An item: kind, text, seqs, state, author.
type Row<'a> = (SectionKind, &'a str, &'a [u64], State, Option<&'a str>);

fn record(rows: &[Row<'_>]) -> Summary {
    let mut summary = Summary {
        title: "as it was".into(),
        span: Some(Span { first: Seq(1), last: Seq(20), from: None, to: None }),
        sections: Vec::new(),
    };
    for kind in SectionKind::ALL {
        let rows = rows.iter().filter(|row| row.0 == kind);
        let items: Vec<Item> = rows
            .map(|(_, text, seqs, state, author)| Item {
                text: (*text).to_owned(),
                seqs: seqs.iter().copied().map(Seq).collect(),
                state: *state,
                author: author.map(str::to_owned),
            })
            .collect();
        if !items.is_empty() {
            summary.sections.push(Section { kind, items });
        }
    }
    summary
}

fn texts(summary: &Summary, kind: SectionKind) -> Vec<&str> {
    summary.items(kind).iter().map(|item| item.text.as_str()).collect()
}

use SectionKind::{
    Actions, Anchors, Constraints, Decisions, Errors, FilesRead, FilesWritten, Goal, OpenAsks,
};
use State::{Cancelled, Done, Fact, Open};

fn base() -> Summary {
    record(&[
        (Goal, "build it", &[1, 4], Done, Some("alice")),
        (Goal, "and test it", &[5], Open, Some("bob")),
        (Constraints, "Never push to main.", &[1], Fact, Some("alice")),
        (Decisions, "use ureq", &[2], Fact, None),
        (Decisions, "ureq it is", &[6], Fact, None),
        (Decisions, "stop", &[8], Cancelled, None),
        (Actions, "bash cargo build: exit 0", &[3], Fact, None),
        (Actions, "bash cargo test: exit 101", &[7], Fact, None),
        (FilesRead, "src/a.rs", &[3], Fact, None),
        (FilesWritten, "src/b.rs", &[3], Fact, None),
        (Errors, "bash: E0308", &[3], Done, None),
        (Errors, "bash: 1 failed", &[7], Open, None),
        (OpenAsks, "and test it", &[5], Open, Some("bob")),
        (Anchors, "E0308", &[3], Fact, None),
    ])
}

#[test]
fn what_is_no_form_is_an_error_with_its_place() {
    let table = [
        ("", (1, 0), "nothing"),
        ("Sure! Here is the record.", (1, 1), "words"),
        ("{\"title\":\"a\"} Done.", (1, 15), "words behind it"),
        ("{\"title\":\"a\",\n\"goal\":[{\"text\":\"b", (2, 18), "cut off"),
        ("{\"title\":\"a\",\"next\":[]}", (1, 19), "an unknown section"),
        ("{\"title\":\"a\",\"goal\":[\"b\"]}", (1, 24), "an item of another type"),
        ("{\"title\":\"a\",\"goal\":[{\"text\":\"b\",\"seqs\":[-1]}]}", (1, 43), "no number of an entry"),
        ("{\"title\":\"a\",\"goal\":[{\"text\":\"b\",\"state\":\"soon\"}]}", (1, 47), "an unknown state"),
        ("{\"goal\":[]}", (1, 11), "no title"),
        ("[]", (1, 2), "a list"),
        ("```json\n{\"title\": }\n```", (2, 11), "places count from the text's start"),
        ("{\"error\":{\"message\":\"overloaded\"}}", (1, 8), "an error instead of a record"),
    ];
    for (text, (line, column), why) in table {
        let error = Draft::parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{why}: {error}");
    }
    for text in [
        "{\"title\":\"a\"}",
        " {\"title\":\"a\"}\n",
        "```json\n{\"title\":\"a\"}\n```",
        "```\n{\"title\":\"a\"}\n```\n",
    ] {
        assert_eq!(Draft::parse(text).unwrap().title, "a", "{text}");
    }
    assert!(Patch::parse("{\"goal\":[]}").is_err(), "a patch has no sections");
}

#[test]
fn a_draft_stands_in_for_what_came_from_the_same_entries() {
    let draft = Draft::parse(
        r#"{
            "title": "the build",
            "goal": [{"text": "alice asked for a build", "seqs": [1], "state": "open", "author": "alice"}],
            "constraints": [{"text": "Never push to main.", "seqs": [1], "author": "alice"},
                            {"text": "Ask first.", "seqs": [5], "author": "bob"}],
            "decisions": [{"text": "ureq was chosen because it blocks", "seqs": [2, 6]}],
            "actions": [{"text": "bash cargo build: exit 0", "seqs": [3]}],
            "errors": [{"text": "the linker was missing", "seqs": [9], "state": "done"}]
        }"#,
    )
    .unwrap();
    let (summary, refused) = draft.apply(&base());
    assert_eq!(refused, []);
    assert_eq!(summary.title, "the build");
    assert_eq!(texts(&summary, Goal), ["alice asked for a build", "and test it"], "what it forgot stays");
    assert_eq!(summary.items(Goal)[0].state, Done, "what the base knows to be done is not open again");
    assert_eq!(texts(&summary, Constraints), ["Never push to main.", "Ask first."]);
    assert_eq!(texts(&summary, Decisions), ["ureq was chosen because it blocks", "stop"]);
    assert_eq!(texts(&summary, Actions), ["bash cargo build: exit 0", "bash cargo test: exit 101"]);
    assert_eq!(texts(&summary, Errors), ["bash: E0308", "bash: 1 failed", "the linker was missing"]);
    for kind in [FilesRead, FilesWritten, OpenAsks, Anchors] {
        assert_eq!(summary.items(kind), base().items(kind), "{kind:?} stays");
    }
    assert_eq!(Summary::parse(&summary.to_text()), Ok(summary.clone()), "it can be stored");
}

#[test]
fn what_cannot_be_taken_is_refused_by_name() {
    let long = "ab ".repeat(TEXT_CHARS_MAX / 3 + 1);
    let table = [
        (r#"{"text":"a","seqs":[21]}"#.to_owned(), Why::Source, "an entry outside"),
        (r#"{"text":"a","seqs":[1,99]}"#.to_owned(), Why::Source, "one of them outside"),
        (r#"{"text":"a"}"#.to_owned(), Why::Source, "no entry"),
        (r#"{"text":" \n ","seqs":[1]}"#.to_owned(), Why::Blank, "no words"),
        (format!(r#"{{"text":"{long}","seqs":[1]}}"#), Why::Long, "too many words"),
    ];
    for (item, why, case) in table {
        let text = format!(r#"{{"title":"t","goal":[{item}]}}"#);
        let (summary, refused) = Draft::parse(&text).unwrap().apply(&base());
        assert_eq!(refused, [Refused { item: "goal".into(), why }], "{case}");
        assert_eq!(summary.sections, base().sections, "{case}: nothing else changes");
    }
}

#[test]
fn f108_a_draft_holds_no_secret() {
    let text =
        format!(r#"{{"title":"t","goal":[{{"text":"the key was sk-{}","seqs":[1]}}]}}"#, "A1b2".repeat(8));
    let (summary, _) = Draft::parse(&text).unwrap().apply(&base());
    assert!(!summary.to_text().contains("A1b2A1b2"), "{}", summary.to_text());
}

fn patched(text: &str) -> (Summary, Vec<(String, Why)>) {
    let (summary, refused) = Patch::parse(text).unwrap().apply(&base(), &|_, _| true);
    (summary, refused.into_iter().map(|refused| (refused.item, refused.why)).collect())
}

#[test]
fn a_patch_changes_what_it_names_and_nothing_else() {
    let (summary, refused) = patched(
        r#"{"title": "all of it", "merge": [{"items": ["decisions.1", "decisions.2"], "text": "ureq was chosen"}],
            "drop": ["actions.1", "errors.1", "files-read.1"]}"#,
    );
    assert_eq!(refused, []);
    assert_eq!(summary.title, "all of it");
    assert_eq!(texts(&summary, Decisions), ["ureq was chosen", "stop"]);
    assert_eq!(summary.items(Decisions)[0].seqs, [Seq(2), Seq(6)], "it keeps the sources of both");
    assert_eq!(texts(&summary, Actions), ["bash cargo test: exit 101"]);
    assert_eq!(texts(&summary, Errors), ["bash: 1 failed"]);
    assert_eq!(summary.items(FilesRead), []);
    for kind in [Goal, Constraints, FilesWritten, OpenAsks, Anchors] {
        assert_eq!(summary.items(kind), base().items(kind), "{kind:?} stays");
    }
    assert_eq!(patched("{}").0, base(), "nothing named, nothing changed");
}

#[test]
fn f027_f033_what_a_patch_may_not_do_changes_nothing() {
    let drop = |name: &str| format!(r#"{{"drop":["{name}"]}}"#);
    let merge = |items: &str| format!(r#"{{"merge":[{{"items":{items},"text":"both"}}]}}"#);
    let table = [
        (drop("constraints.1"), Why::Protected, "rules stay"),
        (drop("goal.1"), Why::Protected, "requests stay"),
        (drop("open-asks.1"), Why::Protected, "open asks stay"),
        (drop("anchors.1"), Why::Protected, "identifiers stay"),
        (drop("files-written.1"), Why::Protected, "written files stay"),
        (drop("errors.2"), Why::Protected, "an open failure stays"),
        (drop("errors.9"), Why::NoItem, "no such item"),
        (drop("errors.0"), Why::NoItem, "counted from 1"),
        (drop("plans.1"), Why::NoItem, "no such kind"),
        (drop("errors"), Why::NoItem, "no number"),
        (merge(r#"["goal.1","goal.2"]"#), Why::Apart, "done and open"),
        (merge(r#"["decisions.2","decisions.3"]"#), Why::Apart, "a fact and a cancelled one"),
        (merge(r#"["decisions.1","actions.1"]"#), Why::Apart, "two kinds"),
        (merge(r#"["decisions.1"]"#), Why::Apart, "one item is not several"),
        (merge(r#"["decisions.1","decisions.1"]"#), Why::Apart, "nor is one item twice"),
        (merge("[]"), Why::Apart, "nor none"),
        (merge(r#"["decisions.1","decisions.7"]"#), Why::NoItem, "one of them is not there"),
        (r#"{"merge":[{"items":["decisions.1","decisions.2"],"text":" "}]}"#.into(), Why::Blank, "no words"),
    ];
    for (text, why, case) in table {
        let (summary, refused) = patched(&text);
        assert_eq!(refused.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [why], "{case}");
        assert_eq!(summary, base(), "{case}");
    }
    let twice = patched(
        r#"{"merge":[{"items":["decisions.1","decisions.2"],"text":"a"}],"drop":["actions.1","actions.1"]}"#,
    );
    assert_eq!(twice.1, [("actions.1".to_owned(), Why::Twice)]);
    let hidden = Patch::parse(&drop("actions.1")).unwrap().apply(&base(), &|_, _| false);
    assert_eq!((hidden.0, hidden.1[0].why), (base(), Why::NoItem), "what was not shown is not there");
}

fn any_name() -> impl Strategy<Value = String> {
    ((0usize..9), 0u32..4).prop_map(|(kind, number)| format!("{}.{number}", SectionKind::ALL[kind].name()))
}

proptest! {
    /// Parsing any text gives a record or a typed error.
    #[test]
    fn parsing_is_total(text in "\\PC{0,60}") {
        drop(Draft::parse(&text));
        drop(Patch::parse(&format!("```json\n{text}```")));
    }

    /// For any patch, protected sections stay, and a merged item still names every entry of its members, up to the
    /// limit of named entries.
    #[test]
    fn no_patch_loses_what_is_protected(
        drops in proptest::collection::vec(any_name(), 0..6),
        merges in proptest::collection::vec(proptest::collection::vec(any_name(), 0..4), 0..4),
    ) {
        let merges: Vec<_> = merges.iter().map(|items| serde_json::json!({"items": items, "text": "m"})).collect();
        let text = serde_json::json!({"merge": merges, "drop": drops}).to_string();
        let ((summary, _), base) = (patched(&text), base());
        for kind in [Constraints, FilesWritten, Anchors] {
            prop_assert_eq!(summary.items(kind), base.items(kind));
        }
        for kind in [Goal, Decisions, OpenAsks] {
            let seqs = |summary: &Summary| {
                let mut seqs: Vec<Seq> = summary.items(kind).iter().flat_map(|item| item.seqs.clone()).collect();
                seqs.sort_unstable();
                seqs
            };
            prop_assert_eq!(seqs(&summary), seqs(&base));
            let open = |summary: &Summary| summary.items(kind).iter().filter(|item| item.state == Open).count();
            prop_assert_eq!(open(&summary), open(&base), "no open item is closed by words");
        }
    }
}
