//! Tables of answers, asides and replies.

use proptest::prelude::*;

use super::*;

fn texts(answer: &TextPoints) -> Vec<(Class, &str)> {
    answer.points.iter().map(|point| (point.class, point.text.as_str())).collect()
}

/// A text, its statements, and why.
type Row<'a> = (&'a str, &'a [(Class, &'a str)], &'a str);

#[test]
fn answer_table() {
    use Class::{Cause, Choice, Deed, Next, Other};
    let table: [Row<'_>; 14] = [
        (
            "The hash names the line, so the link of the commit remains valid.",
            &[(Cause, "The hash names the line, so the link of the commit remains valid.")],
            "what stays is not left to do",
        ),
        (
            "Each of them returns `errors.New(\"not yet implemented\")` to its caller.",
            &[(Deed, "Each of them returns `errors.New(\"not yet implemented\")` to its caller.")],
            "code does not speak of remaining work",
        ),
        (
            "Perfect!\n\n## Root Cause\n\nThe lock file of a crashed run was never removed.",
            &[(Cause, "Root Cause: The lock file of a crashed run was never removed.")],
            "what follows a heading is told with it",
        ),
        (
            "The issue is:\n- `open` reads the old path\n- nobody closes it",
            &[(Cause, "The issue is: `open` reads the old path; nobody closes it")],
            "what follows a colon is told with it",
        ),
        (
            "The cache keys did not hold the branch. This is the actual root cause.",
            &[(Cause, "The cache keys did not hold the branch.")],
            "a pointer says what the sentence before it is",
        ),
        ("I'll keep monitoring at the same cadence.", &[], "narration"),
        ("Let me check the logs. Now I will run the tests again.", &[], "narration"),
        ("**Summary of the changes**", &[], "a bare heading"),
        (
            "Done. I made two changes:\n1. Added `fetch()` in a.rs\n2. Removed the old flag",
            &[(Deed, "Added `fetch()` in a.rs; Removed the old flag")],
            "a list of deeds",
        ),
        (
            "Fixed. I used a mutex instead of a channel because the reader is sync.",
            &[(Cause, "I used a mutex instead of a channel because the reader is sync.")],
            "a decision with its reason",
        ),
        (
            "Kept the old parser rather than a new one.\n\nRemaining:\n- the docs",
            &[(Choice, "Kept the old parser rather than a new one."), (Next, "Remaining: the docs")],
            "what is left",
        ),
        ("```\nthe root cause is here\n```", &[], "code is not prose"),
        (
            "The colours come out of the terminal.\n\nAdded `a.rs`. Removed `b.rs`. Changed `c.rs`.",
            &[
                (Other, "The colours come out of the terminal."),
                (Deed, "Added `a.rs`."),
                (Deed, "Removed `b.rs`."),
                (Deed, "Changed `c.rs`."),
            ],
            "a direct answer stands first",
        ),
        (
            "Added the field. This will help to diagnose scenarios like:\n- a corrupt branch\n- git calls that fail",
            &[(Deed, "Added the field.")],
            "examples are no findings",
        ),
    ];
    for (text, want, why) in table {
        let answer = answer(text);
        assert_eq!(texts(&answer), want, "{why}");
    }
}

#[test]
fn question_table() {
    let table = [
        ("All tests pass.", None, "no question"),
        ("Which port should it use?", Some("Which port should it use?"), "a question of its own"),
        (
            "The cleanest fix would be to read the header twice. Want me to implement this?",
            Some("The cleanest fix would be to read the header twice. Want me to implement this?"),
            "with what it is about",
        ),
        ("Does it work? Yes, it does now.", None, "an answered question"),
    ];
    for (text, want, why) in table {
        assert_eq!(answer(text).question.as_deref(), want, "{why}");
    }
}

#[test]
fn finding_table() {
    let table: [(&str, &[&str], &str); 6] = [
        (
            "Found it. The root cause is the stale lock. Let me fix it.",
            &["The root cause is the stale lock."],
            "a cause",
        ),
        ("It is probably because of the cache.", &[], "a guess"),
        ("I'll use a mutex instead of a channel.", &[], "an intention"),
        ("All green. Now commit and push.", &[], "no cause"),
        (
            "Now I understand the problem. `PostCommit` handles all sessions.",
            &["`PostCommit` handles all sessions."],
            "what it is comes next, in the author's words",
        ),
        (
            "Let me check what's happening. The list of sessions is still empty.",
            &[],
            "a look announces no cause",
        ),
    ];
    for (text, want, why) in table {
        let found = findings(text).points;
        let found: Vec<&str> = found.iter().map(|point| point.text.as_str()).collect();
        assert_eq!(found, want, "{why}");
    }
}

#[test]
fn plan_table() {
    let table = [
        (
            "The lock is stale. I'll write its age into the file.",
            Some("I'll write its age into the file."),
            "the last sentence",
        ),
        (
            "The lock is stale.\n\nTwo fixes are needed:\n1. **Write** its age.\n   - as a number\n2. Read it",
            Some("Two fixes are needed: Write its age; Read it"),
            "a list with the words above it",
        ),
        ("The lock is stale. Let me fix this:", None, "a few words"),
        ("The lock is stale. Should the file hold its age, or the folder?", None, "a question"),
        ("", None, "nothing"),
    ];
    for (text, want, why) in table {
        assert_eq!(plan(text).as_deref(), want, "{why}");
    }
}

#[test]
fn reply_table() {
    use Reply::{Agrees, Corrects, Drops, Goes};
    let table = [
        ("no remove this again, it is too risky", Corrects, "no"),
        ("wait, wtf this doesn't look right", Corrects, "wait"),
        ("Checks still failing on the PR", Corrects, "what was said to be mended is not"),
        ("that's not it, both use the dark theme", Corrects, "not it"),
        ("actually use tabs", Corrects, "actually"),
        ("wait, do we only have one color?", Goes, "a question"),
        ("now fix the tests", Goes, "the next request"),
        ("no problem, go on", Goes, "a saying"),
        ("yes please", Agrees, "yes"),
        ("ok, let's do that", Agrees, "let's"),
        ("never mind", Drops, "taken back"),
        ("forget it, I did it myself", Drops, "taken back"),
        ("", Goes, "nothing"),
    ];
    for (text, want, why) in table {
        assert_eq!(reply(text), want, "{why}: {text}");
    }
}

#[test]
fn a_correction_overturns_what_it_speaks_of() {
    let said = ["Added the commit sha to the metadata", "Renamed the parser"];
    assert_eq!(overturns("no, remove the sha from metadata", &said), [true, false]);
    assert_eq!(overturns("no, wrong", &said), [true, true], "no shared word: all of it");
}

proptest! {
    /// Any text is read, twice with an equal result, and nothing exceeds its limits.
    #[test]
    fn any_text_is_read(text in "(?s)([#>*`:.?!\\-0-9 \n]|\\*\\*|because |the issue is|[a-zé ]{1,9}|\\PC){0,80}") {
        let read = answer(&text);
        prop_assert_eq!(&read, &answer(&text));
        for point in read.points.iter().chain(&read.remarks).chain(&findings(&text).remarks) {
            prop_assert!(point.text.chars().count() <= POINT_CHARS);
        }
        reply(&text);
    }
}
