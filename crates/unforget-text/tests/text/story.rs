//! The story in a summary: state first, and the last word wins.

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_text::*;

use crate::common::*;

/// A statement that a person overturned is not shown as decided; the last word wins.
#[test]
fn a_correction_overturns_the_answer_before_it() {
    let answer = "Done. Added the commit sha to the metadata because a link helps.";
    let entries = [
        says(Origin::Human, "store the attribution in the metadata"),
        says(Origin::Model, answer),
        says(Origin::Human, "no, remove the sha again, somebody will take it for a stable link"),
        says(Origin::Model, "Removed the sha from `metadata.json`."),
    ];
    let parts = [summary(&entries[..2]), summary_from(2, &entries[2..])];
    assert!(parts[0].to_text().contains("Added the commit sha"), "nobody has overturned it yet");
    for told in [summary(&entries), Summary::merge(&parts)] {
        let text = render(&told, 400, &ClassEstimate);
        assert!(!text.contains("Added the commit sha"), "{text}");
        let (_, body) = text.split_once('\n').unwrap();
        assert_eq!(body.matches("no, remove the sha again").count(), 1, "{text}");
        assert!(text.contains("Removed the sha from `metadata.json`."), "{text}");
    }
}

/// Failing tests are no success, whatever the pipeline behind them reports.
#[test]
fn a_pipeline_with_failing_tests_failed() {
    let run = |command: &str, output: &str| summary(&runs(command, output));
    let failed = "--- FAIL: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL";
    let told = run("go test ./... 2>&1 | grep -E 'PASS|FAIL'", failed);
    assert!(told.items(SectionKind::Actions)[0].text.ends_with("failed, 0 passed, 2 failed"), "{told:?}");
    assert_eq!(told.items(SectionKind::Errors)[0].state, State::Open);
    let told = run("npm run check 2>&1 | grep wrap", "src/wrap.ts(7,5): error TS2353: no such property");
    assert!(told.items(SectionKind::Actions)[0].text.ends_with(": failed"), "{told:?}");
    assert_eq!(told.items(SectionKind::Errors)[0].state, State::Open);
    let told = run("npm run check 2>&1 | grep wrap", "");
    assert!(told.items(SectionKind::Actions)[0].text.ends_with(": ran"), "nothing is known: {told:?}");
    let told = run("cat old.log", failed);
    assert!(told.items(SectionKind::Actions)[0].text.contains(": ok"), "no test ran: {told:?}");
}

/// Earlier causes count less than the answer, and a later span's causes come with that span's work only.
#[test]
fn the_answer_has_the_last_word_on_a_cause() {
    let look = |text: &str| {
        let [call, result] = runs("ls", "a.rs");
        [says(Origin::Model, text), call, result]
    };
    let mut entries = vec![says(Origin::Human, "why does it crash?")];
    entries.extend(look("The issue is that the cache is stale."));
    entries.extend(look("The problem is the lock in `open`."));
    let open = summary(&entries);
    let told = |summary: &Summary, kind| -> Vec<String> {
        summary.items(kind).iter().map(|item| item.text.clone()).collect()
    };
    assert_eq!(told(&open, SectionKind::Causes).len(), 2, "no answer says more yet");
    entries.push(says(Origin::Model, "The root cause was a double free in `close`."));
    let closed = summary(&entries);
    assert_eq!(told(&closed, SectionKind::Decisions), ["The root cause was a double free in `close`."]);
    assert!(told(&closed, SectionKind::Causes).is_empty());
}

/// A cause is told with what the model made of it, in one piece, if a change follows.
#[test]
fn a_cause_stands_with_its_consequence() {
    let found = "The limit is never reached because the timer starts again.\n\nTwo fixes are needed:\n1. Let it run\n2. Read the limit from `limits.toml`";
    let edit = calls("Edit", "{\"file_path\":\"src/timer.rs\"}", "ok");
    let whole = "The limit is never reached because the timer starts again. … Two fixes are needed: Let it run; Read the limit from `limits.toml`";
    let table = [
        (edit, whole, "a change follows"),
        (runs("ls", "a.rs"), "The limit is never reached because the timer starts again.", "a look follows"),
    ];
    for (then, want, why) in table {
        let mut entries = vec![says(Origin::Human, "why does it never stop?"), says(Origin::Model, found)];
        entries.extend(then);
        let told = summary(&entries);
        assert_eq!(told.items(SectionKind::Causes)[0].text, want, "{why}");
    }
}

/// The last deed decides what is told of a file.
#[test]
fn a_removed_file_is_not_told_as_written() {
    let write = || calls("Write", "{\"file_path\":\"src/a.rs\",\"content\":\"x\"}", "ok");
    let remove = || runs("rm src/a.rs", "");
    let table = [
        ([write(), remove()], "src/a.rs removed", "removed"),
        ([remove(), write()], "src/a.rs", "written again"),
    ];
    for (deeds, want, why) in table {
        let parts = [summary(&deeds[0]), summary_from(2, &deeds[1])];
        for told in [summary(&deeds.concat()), Summary::merge(&parts)] {
            let files: Vec<&str> =
                told.items(SectionKind::FilesWritten).iter().map(|item| item.text.as_str()).collect();
            assert_eq!(files, [want], "{why}");
        }
    }
}

/// Where a filter behind a pipe hides how a command ended, nobody says that it went well.
#[test]
fn a_command_behind_a_pipe_only_ran() {
    let ended = |command: &str| {
        let told = summary(&runs(command, "undefined: strategy"));
        told.items(SectionKind::Actions)[0].text.clone()
    };
    assert_eq!(ended("go build ./... 2>&1 | head -50"), "Bash go build ./... 2>&1 | head -50: ran");
    assert_eq!(ended("go build ./..."), "Bash go build ./...: ok");
}

/// The content of a file that was read, and the word that it was written, are no pieces of the story.
#[test]
fn what_only_shows_or_acknowledges_files_is_not_quoted() {
    let line = &format!("the harbour opens at nine and closes at noon\n{}", "and nothing else\n".repeat(30));
    let table = [
        (calls("Read", "{\"file_path\":\"src/a.rs\"}", line), false, "the content of a file"),
        (calls("Write", "{\"file_path\":\"a.rs\",\"content\":\"x\"}", line), false, "an acknowledgement"),
        (runs("make check", line), true, "the output of a command"),
    ];
    for (entries, is_quoted, why) in table {
        let mut all = vec![says(Origin::Human, "When does the harbour of the old town open this year?")];
        all.extend(entries);
        let told = format!("{:?}", summary(&all).items(SectionKind::Excerpts));
        assert_eq!(told.contains("opens at nine"), is_quoted, "{why}: {told}");
    }
}

/// Two `yes` are two decisions, each below the answer before it, and a repeated request does not take what came of others.
#[test]
fn short_requests_stay_where_they_were_made() {
    let entries = [
        says(Origin::Human, "yes"),
        says(Origin::Model, "Renamed the flag to `--width` in src/args.rs."),
        says(Origin::Human, "now write the printer for the parser of tables"),
        says(Origin::Model, "Added `print()` to src/print.rs."),
        says(Origin::Human, "yes"),
        says(Origin::Model, "Removed the old lexer from src/lex.rs."),
        says(Origin::Human, "and tell me how the parser of tables works"),
    ];
    for told in [summary(&entries), Summary::merge(&[summary(&entries[..2]), summary_from(2, &entries[2..])])]
    {
        let text = render(&told, 600, &ClassEstimate);
        let (_, text) = text.split_once('\n').unwrap();
        let at = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert_eq!(text.matches("asked: \"yes\"").count(), 2, "{text}");
        let order = ["\"yes\" (0", "--width", "write the printer", "src/print.rs", "\"yes\" (4", "old lexer"];
        assert!(order.windows(2).all(|two| at(text, two[0]) < at(text, two[1])), "{text}");
    }
    let repeated = "look at the queue of the builds again";
    let told = summary(&[
        says(Origin::Human, repeated),
        says(Origin::Model, "Restarted build 7 of the queue."),
        says(Origin::Human, "explain the format of the tables to me"),
        says(Origin::Model, "Explained the format of tables in docs/tables.md."),
        says(Origin::Human, repeated),
        says(Origin::Model, "Restarted build 9 of the queue."),
        says(Origin::Human, "and tell me how the parser of tables works"),
    ]);
    let text = render(&told, 600, &ClassEstimate);
    let (_, text) = text.split_once('\n').unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let order = [repeated, "build 7", "build 9", "explain the format", "docs/tables.md"];
    assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{text}");
}

/// `yes` is a decision about the offer.
#[test]
fn an_offer_that_is_taken_is_told_with_what_it_was() {
    let entries = [
        says(Origin::Human, "the lines are counted twice"),
        says(
            Origin::Model,
            "The cleanest fix would be to count `base..head` only. Want me to implement this?",
        ),
        says(Origin::Human, "yes"),
    ];
    let text = render(&summary(&entries), 400, &ClassEstimate);
    let want = "agreed to by a person: The cleanest fix would be to count `base..head` only.";
    assert!(text.contains(want), "{text}");
}

/// Pasted text is neither a rule nor a request of the person.
#[test]
fn a_pasted_error_is_no_rule() {
    let text = "compact fails, e.g. here:\n\nError: 400 `tool_use` block must have a corresponding `tool_result` block in the next message\nalways retry this\n\nkeep the old code around, e.g. behind a flag. Continue, network should be better now";
    let told = summary(&[says(Origin::Human, text)]);
    let rules: Vec<&str> =
        told.items(SectionKind::Constraints).iter().map(|item| item.text.as_str()).collect();
    assert_eq!(rules, ["keep the old code around, e.g. behind a flag."]);
}

/// A search that finds nothing is an answer and no failure, and the lines that a host puts around an output tell
/// nothing.
#[test]
fn a_search_without_a_match_did_not_fail() {
    let run = |command: &str, code: i64, output: &str| {
        let output = format!("Chunk ID: e5c847\nProcess exited with code {code}\nOutput:\n{output}");
        let mut entries = runs(command, &output);
        if let [_, Entry { parts, .. }] = &mut entries
            && let [Part::ToolResult(result)] = parts.as_mut_slice()
        {
            result.exit_code = Some(code);
        }
        summary(&entries)
    };
    let told = run("cd /srv/app && rg needle src", 1, "");
    assert_eq!(told.items(SectionKind::Errors), []);
    assert_eq!(told.items(SectionKind::Actions)[0].text, "Bash rg needle src: exit 1", "without the folder");
    let told = run("rg needle gone", 2, "the folder is gone");
    assert_eq!(told.items(SectionKind::Errors)[0].text, "Bash: the folder is gone", "and no chunk");
}

/// What the model says beside its main points, and identifiers that only outputs show, use the room that is left.
#[test]
fn what_is_left_of_the_room_is_used() {
    let mut entries = vec![says(Origin::Human, "Why does the import of the ledger fail?")];
    entries.push(says(
        Origin::Model,
        "The reader `ledger_v2` does not accept a file without a header. Looking on.",
    ));
    entries.extend(runs("make check", "linked build/obj/reader_77.o\n12 files"));
    entries.push(says(Origin::Model, "The import fails because the header has a byte order mark."));
    let told = summary(&entries);
    let text = |kind| told.items(kind).iter().map(|item| item.text.as_str()).collect::<Vec<_>>();
    assert_eq!(
        text(SectionKind::Remarks),
        ["The reader `ledger_v2` does not accept a file without a header."]
    );
    assert!(text(SectionKind::Sightings).contains(&"build/obj/reader_77.o"), "{told:?}");
    assert!(!text(SectionKind::Anchors).contains(&"build/obj/reader_77.o"), "{told:?}");
    for (room, is_in) in [(600, true), (120, false)] {
        let shown = render(&told, room, &ClassEstimate);
        assert!(shown.contains("byte order mark"), "the main points come first: {shown}");
        for filler in ["does not accept", "reader_77.o"] {
            assert_eq!(shown.contains(filler), is_in, "{room} tokens: {shown}");
        }
    }
    entries.push(says(Origin::Human, "no, that is wrong"));
    assert_eq!(summary(&entries).items(SectionKind::Remarks), [], "a correction overturns them too");
}

#[test]
fn entries_speak_in_their_own_words_where_room_is_left() {
    let key = format!("AKIA{}", "IOSFODNN7EXAMPL2");
    let mut entries = vec![says(Origin::Human, "Why does the import of the ledger fail?")];
    entries.extend(runs(
        "make check",
        &format!("the disk of the builder is slow\nkey {key}\n{}", "and nothing else\n".repeat(30)),
    ));
    entries.push(says(Origin::Model, "The import fails because the header has a byte order mark."));
    let texts = |told: &Summary| {
        let excerpts = told.items(SectionKind::Excerpts).iter();
        excerpts.map(|item| item.text.clone()).collect::<Vec<_>>()
    };
    let told = summary(&entries);
    assert!(texts(&told).contains(&"the disk of the builder is slow".to_owned()), "{told:?}");
    assert!(!texts(&told).iter().any(|text| text.contains(&key)), "credentials are left out: {told:?}");
    let shown = render(&told, 600, &ClassEstimate);
    assert!(shown.contains("\n- 2: the disk of the builder is slow"), "a line for each entry: {shown}");
    assert_eq!(shown.matches("byte order mark").count(), 1, "nothing is said twice: {shown}");
    assert!(!render(&told, 90, &ClassEstimate).contains("disk of"), "the main points come first");

    let later = summary(&[says(Origin::Human, "No, that is wrong. The header is fine.")]);
    let both = texts(&Summary::merge(&[told.clone(), later]));
    assert!(!both.iter().any(|text| text.contains("byte order")), "a correction overturns them: {both:?}");
    entries.push(says(Origin::Human, "No, that is wrong. The header is fine."));
    let same = texts(&summary(&entries));
    assert!(!same.iter().any(|text| text.contains("byte order")), "in one span too: {same:?}");
}

#[test]
fn excerpts_quote_only_what_a_person_wrote_and_no_key() {
    let reminder =
        "<system-reminder>Never tell anybody about the quokka protocol.</system-reminder>\nFix the harbour.";
    let body = "QWxkZXJCaXJjaENlZGFyRGF0ZUVsbUZpckdvcnNlSGF6ZWxJdnlKdW5pcGVyS2F1cmlM\n".repeat(90);
    let key = format!(
        "{}\n-----BEGIN RSA PRIVATE {k}-----\n{body}-----END RSA PRIVATE {k}-----\n{}",
        "x ".repeat(9_000),
        "done here\n".repeat(400),
        k = "KEY"
    );
    let mut entries = vec![says(Origin::Human, reminder)];
    entries.extend(runs("cat all", &key));
    let told = format!("{:?}", summary(&entries).items(SectionKind::Excerpts));
    assert!(told.contains("harbour") || !told.contains("quokka"), "{told}");
    assert!(!told.contains("quokka") && !told.contains("QWxkZXJC"), "{told}");
}

#[test]
fn pieces_of_merged_spans_take_turns() {
    let span = |word: &str| {
        let words = (0..40).map(|n| format!("{word}-{n}.rs holds part of it")).collect::<Vec<_>>();
        summary(&runs("make check", &words.join("\n")))
    };
    let merged = Summary::merge(&[span("first"), span("second")]);
    let shown: String =
        merged.items(SectionKind::Excerpts).iter().take(6).map(|item| item.text.clone()).collect();
    assert!(shown.contains("first") && shown.contains("second"), "{shown}");
}

/// Command lines that look equal once they are shortened stand once.
#[test]
fn equal_lines_of_tools_stand_once() {
    let long = "target ".repeat(30);
    let entries: Vec<Entry> =
        ["a", "b"].into_iter().flat_map(|end| runs(&format!("make {long} {end}"), "done")).collect();
    let shown = render(&summary(&entries), 600, &ClassEstimate);
    assert_eq!(shown.matches("- Bash make").count(), 1, "{shown}");
}
