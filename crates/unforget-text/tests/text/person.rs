//! What a person decides by a word, by way of a tool, or by saying a request twice.

use unforget_core::entry::{Entry, Origin};
use unforget_core::estimate::ClassEstimate;
use unforget_text::*;

use crate::common::*;

fn texts(summary: &Summary, kind: SectionKind) -> Vec<&str> {
    summary.items(kind).iter().map(|item| item.text.as_str()).collect()
}

/// A refusal with words is a request; an answer to a question of a tool is a decision.
#[test]
fn what_is_said_by_way_of_a_tool_is_a_persons() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to \
         proceed, the user said:\nNever write to the old store. Move the hooks in two steps.";
    let asked = "User has answered your questions: \"Which store?\"=\"SQLite\". You can now continue.";
    let mut entries = vec![says(Origin::Human, "please move the hooks over to the store")];
    entries.extend(calls("Edit", r#"{"file_path":"/srv/a.rs","old_string":"a","new_string":"b"}"#, refused));
    entries.extend(calls("AskUserQuestion", "{}", asked));
    let told = summary(&entries);
    assert_eq!(texts(&told, SectionKind::Decisions), ["chosen by a person: SQLite (asked: Which store?)"]);
    assert_eq!(texts(&told, SectionKind::Constraints), ["Never write to the old store."]);
    assert!(texts(&told, SectionKind::Goal)[1].ends_with("Move the hooks in two steps."), "{told:?}");
    assert!(texts(&told, SectionKind::FilesWritten).is_empty(), "{told:?}");
    let text = render(&told, 600, &ClassEstimate);
    assert!(text.contains("chosen by a person: SQLite") && text.contains("Move the hooks in two"), "{text}");
}

/// `b` says what it chose, also where the answer stands in the span before, and beside the request.
#[test]
fn a_choice_stands_beside_its_request() {
    let entries = [
        says(Origin::Human, "where should the header of the page stand?"),
        says(
            Origin::Model,
            "Two ways:\n\na) **Inline header** on its own line\nb) A box around the page\n\nWhich?",
        ),
        says(Origin::Human, "b"),
    ];
    let apart = Summary::merge(&[summary(&entries[..2]), summary_from(2, &entries[2..])]);
    for told in [summary(&entries), apart] {
        assert_eq!(texts(&told, SectionKind::Decisions), ["chosen by a person: A box around the page"]);
        let text = render(&told, 300, &ClassEstimate);
        let (_, asked) = text.split_once("Asked last:").unwrap();
        let (choice, reply) = (asked.find("A box around the page"), asked.find("\"b\""));
        assert!(choice.is_some() && choice < reply, "{text}");
        assert_eq!(text.matches("chosen by a person").count(), 1, "{text}");
    }
}

/// A request that was stopped, mended and sent again is one request; another person's is another.
#[test]
fn a_request_sent_again_stands_once() {
    let first = "please mend the reader of the log and run the tests";
    let again = "please mend the reader of the log and run all the tests";
    let entries = [says(Origin::Human, first), says(Origin::Human, again)];
    let apart = Summary::merge(&[summary(&entries[..1]), summary_from(1, &entries[1..])]);
    for told in [summary(&entries), apart] {
        assert_eq!(texts(&told, SectionKind::Goal), [again]);
        assert_eq!(told.items(SectionKind::Goal)[0].seqs.len(), 2, "{told:?}");
    }
    let other = Entry { author: Some("bob".into()), ..says(Origin::Human, again) };
    assert_eq!(summary(&[entries[0].clone(), other]).items(SectionKind::Goal).len(), 2);
    let answered = [entries[0].clone(), says(Origin::Model, "Mended it."), entries[1].clone()];
    assert_eq!(summary(&answered).items(SectionKind::Goal).len(), 2, "the first has its answer");
}

const PLAN: &str = "# The plan\n\nThe reader should keep its place in the log.\n\n## Steps\n\n- Read the header of each \
    file first.\n- Then read the body of it in order.\n- Write the place down at the end.\n- Tell how far it came then.\n";

/// The first document behind a request is the one to follow, unless the request names a later one, or it is written.
#[test]
fn the_document_of_a_request_is_kept_table() {
    let other = PLAN.replace("The plan", "The readme");
    let read = |path: &str, text: &str| calls("Read", &format!("{{\"file_path\":\"{path}\"}}"), text);
    let wrote = |path: &str| calls("Write", &format!("{{\"file_path\":\"{path}\",\"content\":\"x\"}}"), "ok");
    let rows = format!("src/a.rs:12: {}", PLAN.trim_end().replace('\n', "\nsrc/a.rs:12: "));
    let (plan, readme) = (read("/srv/plan.md", PLAN), read("/srv/README.md", &other));
    let table = [
        ("do what the plan asks for", vec![plan.clone(), readme.clone()], Some("# The plan"), "the first"),
        (
            "do what README.md asks for",
            vec![plan.clone(), readme.clone()],
            Some("# The readme"),
            "the named one",
        ),
        ("do what the plan asks for", vec![wrote("/srv/a.rs"), readme], None, "material of the work"),
        ("write the plan", vec![plan.clone(), wrote("/srv/plan.md")], None, "work of the model"),
        ("do what the plan asks for", vec![runs("grep -n plan src/a.rs", &rows)], None, "rows of a search"),
    ];
    for (request, work, want, why) in table {
        let entries: Vec<Entry> =
            [says(Origin::Human, request)].into_iter().chain(work.into_iter().flatten()).collect();
        let told = summary(&entries);
        let kept = told.items(SectionKind::Specs).first().map(|item| item.text.as_str());
        assert_eq!(kept.and_then(|text| text.lines().next()), want, "{why}");
        let apart: Vec<Summary> =
            entries.chunks(3).enumerate().map(|(at, part)| summary_from(at as u64 * 3, part)).collect();
        let merged = Summary::merge(&apart);
        let kept = merged.items(SectionKind::Specs).first().map(|item| item.text.as_str());
        if want == Some("# The plan") {
            assert_eq!(kept.and_then(|text| text.lines().next()), want, "{why}, over two spans");
        }
    }
}

/// A summary before others tells its entries as they came: first what came of the request before them.
#[test]
fn a_followed_summary_is_told_in_order() {
    let entries = [
        says(Origin::Model, "Fixed the lock in `open`."),
        says(Origin::Human, "now write the printer, and make sure that it keeps the width"),
        says(Origin::Model, "Added `print()` to src/print.rs."),
    ];
    let told = summary(&entries);
    let text = render_among(&told, Surroundings::Followed, 600, &ClassEstimate);
    let (_, text) = text.split_once('\n').unwrap();
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    let order = [
        "What came of the request before",
        "Fixed the lock",
        "Then asked:",
        "write the printer",
        "`print()`",
    ];
    assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{text}");
    assert!(!text.contains("Rules that people gave"), "the wish ended with its request: {text}");
    let lasting =
        summary(&[says(Origin::Human, "mend it now, but no console logs!"), says(Origin::Model, "Done it.")]);
    let text = render_among(&lasting, Surroundings::Followed, 600, &ClassEstimate);
    assert!(text.contains("no console logs!"), "a prohibition lasts: {text}");
}

/// A title that a file or a call gave says nothing beside its line.
#[test]
fn a_title_made_of_a_file_is_not_shown() {
    let told = summary(&calls("Write", r#"{"file_path":"/srv/deep/a.rs","content":"x"}"#, "ok"));
    assert_eq!(told.title, "work on /srv/deep/a.rs");
    let text = render_among(&told, Surroundings::Followed, 600, &ClassEstimate);
    assert_eq!(text.matches("/srv/deep/a.rs").count(), 1, "{text}");
}
