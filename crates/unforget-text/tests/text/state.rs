//! The state of the work: the newest request with what it needs, and what still holds.

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_text::*;

use crate::common::*;

/// A summary begins with the state, and the state of several is the newest one's.
#[test]
fn the_state_stands_first() {
    let first = [
        says(Origin::Human, "Please write the parser. Never touch the lexer."),
        says(Origin::Model, "Added `parse()` to src/parse.rs."),
    ];
    let second = [
        says(Origin::Human, "now write the printer for it"),
        says(Origin::Model, "Added `print()` to src/print.rs. Which width should it use?"),
    ];
    let parts = [summary(&first), summary_from(2, &second)];
    let merged = render(&Summary::merge(&parts), 600, &ClassEstimate);
    let (_, body) = merged.split_once('\n').unwrap();
    let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text}: {merged}"));
    let order = [
        "Asked last:",
        "now write the printer",
        "Where things stood",
        "src/print.rs",
        "Open at the end",
        "Which width",
        "Never touch the lexer.",
        "Before that",
        "Please write the parser",
        "src/parse.rs",
    ];
    assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{merged}");
    let state = render_state(&state_of(&parts), 300, &ClassEstimate);
    assert!(state.starts_with("How things stood at entry 3; what came later follows below"), "{state}");
    for (text, is_in) in [
        ("src/print.rs", true),
        ("Which width", true),
        ("Never touch the lexer.", true),
        ("src/parse.rs", false),
    ] {
        assert_eq!(state.contains(text), is_in, "{text}: {state}");
    }
    assert_eq!(state_of::<Summary>(&[]), Summary::default(), "nothing has no state");
}

/// A cause found on the way tells how things stand until a file is written: it may be mended then.
#[test]
fn a_cause_holds_until_a_file_is_written() {
    let look = |text: &str| {
        let [call, result] = runs("ls", "a.rs");
        [says(Origin::Model, text), call, result]
    };
    let mut entries = vec![says(Origin::Human, "why does it crash at the start?")];
    entries.extend(look("The crash happens because the cache of `open` is stale."));
    let standing = |entries: &[Entry]| {
        let text = render_state(&state_of(&[summary(entries)]), 400, &ClassEstimate);
        text.contains("the cache of `open` is stale")
    };
    assert!(standing(&entries));
    entries.extend(calls("Edit", "{\"file_path\":\"src/open.rs\"}", "ok"));
    assert!(!standing(&entries));
    let text = render(&summary(&entries), 400, &ClassEstimate);
    assert!(text.contains("Decided or found, and why:\n- The crash happens"), "{text}");
}

/// A request that means little alone stands with the text that it replies to, until it is answered.
#[test]
fn a_reply_stands_with_what_it_replies_to() {
    let offer = "Three ways:\n\n1. Drop the lock file\n2. Keep it: `lock.keep()`\n3. Ask the owner";
    let entries = [
        says(Origin::Human, "how do we get rid of the lock?"),
        says(Origin::Model, offer),
        says(Origin::Human, "I think the second one of the ways"),
        says(Origin::Model, "Kept the lock file in src/lock.rs."),
    ];
    let whole = |entries: &[Entry]| vec![summary(entries)];
    let cut = |entries: &[Entry]| vec![summary(&entries[..2]), summary_from(2, &entries[2..])];
    for parts in [whole, cut] {
        let open = render_state(&state_of(&parts(&entries[..3])), 400, &ClassEstimate);
        assert!(open.contains("words:\n- (1) Three ways:\n  \n  1. Drop the lock file"), "{open}");
        assert!(open.contains("`lock.keep()`"), "{open}");
        let done = render_state(&state_of(&parts(&entries)), 400, &ClassEstimate);
        assert!(!done.contains("Three ways"), "{done}");
    }
    let before = [summary(&entries[..2])];
    for (asked, is_told) in [
        (Some("take the second"), true),
        (Some("please write documentation about parsers"), false),
        (None, false),
    ] {
        let text = render_state(&state_before(&before, asked), 400, &ClassEstimate);
        assert_eq!(text.contains("Three ways"), is_told, "{asked:?}: {text}");
    }
    let mut other = entries[..3].to_vec();
    other[2] = says(Origin::Human, "please write documentation about parsers");
    let text = render_state(&state_of(&whole(&other)), 400, &ClassEstimate);
    assert!(!text.contains("Three ways"), "it says what it asks for: {text}");
}

/// A document that a tool returned stands in the state while the work that may follow it goes on.
#[test]
fn the_document_of_the_work_at_hand_stands_in_the_state() {
    let issue = "# Spans in the decoder\\n\\nThe decoder has no spans yet.\\n\\n## What to do\\n- Wrap each call of the reader\\n- Name every span after its file\\n- Leave the tests as they are";
    let mut entries = vec![says(Origin::Human, "work through the issues, please")];
    entries.extend(runs("show issue 1", &issue.replace("\\n", "\n")));
    entries.extend(calls("Edit", "{\"file_path\":\"src/decoder.rs\"}", "ok"));
    let state = |entries: &[Entry]| {
        let parts = [summary(&entries[..2]), summary_from(2, &entries[2..])];
        render_state(&state_of(&parts), 400, &ClassEstimate)
    };
    let open = state(&entries);
    assert!(open.contains("which the work may follow:\n- (2) # Spans in the decoder"), "{open}");
    assert!(open.contains("- Name every span after its file"), "{open}");
    entries.push(says(Origin::Model, "Wrapped each call in src/decoder.rs."));
    let done = state(&entries);
    assert!(!done.contains("Name every span"), "{done}");
}

/// What a person types while a tool runs stands beside its result, and is a request.
#[test]
fn words_beside_a_result_are_a_request() {
    let [call, mut result] = runs("make check", "ok");
    let words = "let's not leave all the tests to the very end";
    result.parts.push(Part::Text(words.into()));
    result.parts.push(Part::Text("<system-reminder>\nbe good\n</system-reminder>".into()));
    let told = summary(&[says(Origin::Human, "write the parser, then its tests"), call, result]);
    let asked: Vec<&str> = told.items(SectionKind::Goal).iter().map(|ask| ask.text.as_str()).collect();
    assert_eq!(asked, ["write the parser, then its tests", words]);
    let state = render_state(&state_of(&[told]), 400, &ClassEstimate);
    assert!(state.contains("write the parser") && state.contains(words), "both are open: {state}");
}

/// A wish about the work at hand ends with the answer; a rule stays.
#[test]
fn a_wish_ends_with_its_answer() {
    let entries = [
        says(Origin::Human, "Write the docs. Make sure there are no redundant parts. Never push to main."),
        says(Origin::Model, "Wrote docs/parser.md."),
        says(Origin::Human, "now the tests of the parser"),
    ];
    let rules = |entries: &[Entry]| -> Vec<String> {
        let told = summary(entries);
        told.items(SectionKind::Constraints).iter().map(|rule| rule.text.clone()).collect()
    };
    let (wish, rule) = ("Make sure there are no redundant parts.", "Never push to main.");
    assert_eq!(rules(&entries[..1]), [wish, rule]);
    assert_eq!(rules(&entries), [rule]);
    let parts = [summary(&entries[..1]), summary_from(1, &entries[1..])];
    let merged = Summary::merge(&parts);
    assert_eq!(merged.items(SectionKind::Constraints).len(), 1, "answered in a later span");
    assert_eq!(state_before(&parts, None).sections.len(), 1, "nothing but rules");
}

/// Among other summaries nothing is called open that later entries may have closed, and nothing is told twice.
#[test]
fn a_summary_fits_its_surroundings() {
    let entries = [
        says(Origin::Human, "Mend the parser of tables, please. Never touch the lexer."),
        says(Origin::Model, "Mended `parse()` in src/parse.rs. Which width should the printer use?"),
        says(Origin::Human, "now write the printer of the tables"),
    ];
    let told = summary(&entries);
    let at = |around| render_among(&told, around, 400, &ClassEstimate);
    assert!(at(Surroundings::Alone).contains("not answered in these entries"));
    assert!(!at(Surroundings::Followed).contains("not answered"), "{}", at(Surroundings::Followed));
    let state = render_state(&state_of(&[&told]), 400, &ClassEstimate);
    let last = at(Surroundings::Last(&state));
    let (_, body) = last.split_once('\n').unwrap();
    assert!(!body.contains("now write the printer"), "{last}");
    assert!(state.contains("Never touch") && !body.contains("Rules that people gave"), "{last}");
    assert!(body.contains("src/parse.rs"), "{last}");
}

/// What was said before the newest request is no state of its work.
#[test]
fn an_answer_before_the_newest_request_is_no_state() {
    let mut entries = vec![
        says(Origin::Human, "Review the cache of the proxy, please."),
        says(Origin::Model, "Verdict: `Cache::drop` has to change because it leaks."),
        says(Origin::Human, "Now write the tests of the parser instead."),
    ];
    entries.extend(calls("Edit", "{\"file_path\":\"tests/parser.rs\"}", "ok"));
    let told = [summary(&entries)];
    let text = render(&told[0], 600, &ClassEstimate);
    let (asked, said) = (text.find("write the tests"), text.find("Cache::drop"));
    assert!(asked.is_some() && asked < said, "it is told behind the request: {text}");
    let state = render_state(&state_of(&told), 600, &ClassEstimate);
    assert!(!state.contains("Cache::drop"), "{state}");
    assert!(!format!("{text}{state}").contains("Where things stood"), "{text}{state}");
    entries.push(says(Origin::Model, "Added `tests/parser.rs` with nine cases."));
    let text = render(&summary(&entries), 600, &ClassEstimate);
    let (stood, added) = (text.find("Where things stood"), text.find("nine cases"));
    assert!(stood.is_some() && stood < added, "{text}");
}
