//! The guardian on transcripts written for these tests.

use std::fs;

use crate::guard_common::{Place, claude, codex, damage, findings, lines, pi, pi_v1};
use proptest::prelude::*;
use unforget_guard::{GuardError, Outcome, Severity, Step, inspect, plan, repair, repair_with, undo};

/// Findings and the mended text of a transcript.
fn mended(text: &str) -> (String, String) {
    let place = Place::new(text);
    let found = findings(&place.path);
    repair(&place.path).unwrap();
    (found, place.text())
}

#[test]
fn f046_the_pattern_of_the_seed() {
    let text = pi("u A:1 k:x s:x u");
    let place = Place::new(&text);
    let worst = inspect(&place.path).unwrap().worst();
    assert_eq!(worst, Some(Severity::Fatal));
    let (found, after) = mended(&text);
    assert_eq!(found, "4:cut-off-call 5:result-of-cut-off-call");
    let (before, after) = (lines(&text), lines(&after));
    assert_eq!(after[..3], before[..3], "lines before it are the same bytes");
    assert_eq!(after.len(), 4, "the aborted message and its result went");
    assert_eq!(
        after[3],
        before[5].replace(r#""parentId":"e4""#, r#""parentId":"e2""#),
        "only its parent changed"
    );
}

#[test]
fn f046_words_of_an_aborted_answer_stay() {
    let text = pi("u K:x s:x u");
    let (_, after) = mended(&text);
    let (before, after) = (lines(&text), lines(&after));
    assert!(after[2].contains(r#""content":[{"type":"text","text":"words 2"}]"#), "{}", after[2]);
    assert_eq!(after[2].replace(r#"{"type":"text","text":"words 2"}"#, ""), {
        let cut = before[2].find(",{\"type\":\"toolCall\"").unwrap();
        let end = before[2][cut..].find("}]").unwrap() + cut + 1;
        format!("{}{}", &before[2][..cut], &before[2][end..])
            .replace(r#"{"type":"text","text":"words 2"}"#, "")
    });
}

#[test]
fn f046_f047_f048_f049_f051_patterns_table() {
    let table = [
        ("u A:x r:x u", "", "sound"),
        ("u p:x s:x u", "3:cut-off-call 4:result-of-cut-off-call", "f046: half-written arguments look whole"),
        ("u r:q A", "3:orphan-result", "f047: a result without a call"),
        ("u A:x u A", "3:orphan-call", "f047: a call without a result"),
        ("u A:x s:x r:x u", "4:second-result", "f048: the real one stays"),
        ("u A:x u r:x A", "5:displaced-result", "f048: moved behind its call"),
        ("u r:x A:x u", "3:displaced-result", "f048: before its call"),
        ("u A:x r:x u A:x r:x u", "6:repeated-call-id", "f049: a repeated id"),
        ("u A:x,x r:x r:x u", "3:repeated-call-id", "f049: twice in one message"),
        ("u A:x r:x A c3 u", "6:split-pair", "f051: a compaction keeps an orphan"),
        ("u A u^? A", "4:lost-parent", "a parent that is not there"),
        ("u A b A", "4:blank", "nothing said"),
    ];
    for (words, want, why) in table {
        let place = Place::new(&pi(words));
        assert_eq!(findings(&place.path), want, "{why}: {words}");
        let outcome = repair(&place.path).unwrap().outcome;
        assert_eq!(outcome == Outcome::Sound, want.is_empty(), "{why}: {words}");
        assert_eq!(findings(&place.path), "", "{why}: {words} is sound afterwards\n{}", place.text());
    }
}

#[test]
fn f048_a_real_result_is_moved_whole() {
    let text = pi("u A:x u r:x A");
    let (_, after) = mended(&text);
    let (before, after) = (lines(&text), lines(&after));
    assert_eq!(after[3], before[4].replace(r#""parentId":"e3""#, r#""parentId":"e2""#));
    assert_eq!(after[4], before[3].replace(r#""parentId":"e2""#, r#""parentId":"e4""#));
    assert_eq!(after[5], before[5].replace(r#""parentId":"e4""#, r#""parentId":"e3""#));
}

#[test]
fn v1_counts_its_records_anew() {
    let text = pi_v1("u r:q A u A c3 u");
    let place = Place::new(&text);
    assert_eq!(findings(&place.path), "3:orphan-result");
    repair(&place.path).unwrap();
    let (before, after) = (lines(&text), lines(&place.text()));
    assert_eq!(after.len(), before.len() - 1);
    assert!(
        before[6].contains(r#""firstKeptEntryIndex":3"#) && after[5].contains(r#""firstKeptEntryIndex":2"#)
    );
    let rest: Vec<_> =
        before.iter().enumerate().filter(|(at, _)| ![2, 6].contains(at)).map(|(_, line)| line).collect();
    let kept: Vec<_> = after.iter().enumerate().filter(|(at, _)| *at != 5).map(|(_, line)| line).collect();
    assert_eq!(kept, rest, "everything else is the same bytes");
}

#[test]
fn f094_lines_table() {
    let sound = pi("u A:x r:x A");
    let torn = format!("{sound}{}", r#"{"type":"message","id":"e9","par"#);
    let nuls = sound.replacen(
        "\n{\"type\":\"message\",\"id\":\"e3\"",
        "\n\0\0\0{\"type\":\"message\",\"id\":\"e3\"",
        1,
    );
    let glued =
        sound.replacen("\n{\"type\":\"message\",\"id\":\"e3\"", "{\"type\":\"message\",\"id\":\"e3\"", 1);
    let broken = sound.replacen(
        "\n{\"type\":\"message\",\"id\":\"e3\"",
        "\n{\"type\":\"mess\n{\"type\":\"message\",\"id\":\"e3\"",
        1,
    );
    let table = [
        (torn, "6:torn-line", "the last line was cut off"),
        (nuls, "4:nul-bytes", "zeros of a crash"),
        (glued, "3:glued-line", "an append without a newline before it"),
        (broken, "4:broken-line", "a fragment in the middle"),
        (sound.trim_end().to_owned(), "5:no-newline", "the next append would be glued on"),
        (format!("{sound}\0\0\0\0"), "6:nul-bytes", "zeros at the end"),
        (sound.replacen('\n', "\nnull\n", 1), "2:broken-line", "JSON that is no record stops the host"),
    ];
    for (text, want, why) in table {
        let (found, after) = mended(&text);
        assert_eq!(found, want, "{why}");
        assert_eq!(after, sound, "{why}: what is left is the sound file, byte for byte");
    }
}

#[test]
fn bytes_that_are_not_text_are_kept() {
    let mut bytes = pi("u r:q u A").into_bytes();
    let at = bytes.windows(7).position(|window| window == b"words 3").unwrap();
    bytes[at] = 0xFF;
    let place = Place::of_bytes(&bytes);
    repair(&place.path).unwrap();
    assert_eq!(findings(&place.path), "");
    assert!(fs::read(&place.path).unwrap().contains(&0xFF), "its parent changed, its words did not");
}

#[test]
fn f047_other_hosts_table() {
    let table = [
        (claude("u a:x r:x a"), "", 0, "Claude Code, sound"),
        (claude("r:x u a"), "1:orphan-result", 1, "Claude Code, a file that starts in the middle"),
        (claude("u a:x u a"), "2:orphan-call", 1, "Claude Code, a call that a crash left open"),
        (claude("u a:x"), "2:running-call*", 0, "Claude Code, at work"),
        (codex("u a:x r:x a"), "", 0, "Codex, sound"),
        (codex("u a:x a:y r:x"), "4:running-call*", 0, "Codex, one of two calls is still running"),
        (codex("u r:q a"), "3:orphan-result", 1, "Codex, an output without a call"),
    ];
    for (text, want, gone, why) in table {
        let place = Place::new(&text);
        assert_eq!(findings(&place.path), want, "{why}");
        repair(&place.path).unwrap();
        assert_eq!(lines(&place.text()).len(), lines(&text).len() - gone, "{why}");
        assert!(inspect(&place.path).unwrap().findings.iter().all(|finding| !finding.is_mended), "{why}");
    }
}

#[test]
fn undo_gives_the_original_back_and_only_once() {
    let text = pi("u k:x s:x u");
    let place = Place::new(&text);
    repair(&place.path).unwrap();
    assert_eq!(place.names().len(), 2, "the file and its backup: {:?}", place.names());
    undo(&place.path).unwrap();
    assert_eq!(place.text(), text);
    assert_eq!(place.names().len(), 1, "no litter: {:?}", place.names());
    assert!(matches!(undo(&place.path), Err(GuardError::NothingToUndo { has_others: false, .. })));
    repair(&place.path).unwrap();
    place.append("{\"type\":\"custom\",\"id\":\"new\",\"parentId\":null}\n");
    let now = place.text();
    assert!(matches!(undo(&place.path), Err(GuardError::NothingToUndo { has_others: true, .. })));
    assert_eq!(place.text(), now, "what was written since is not thrown away");
}

#[test]
fn undo_goes_back_step_by_step() {
    let place = Place::new(&pi("u k:x s:x u"));
    let first = place.text();
    repair(&place.path).unwrap();
    place.append(&lines(&pi("u r:q^e0 u")).split_off(2).join("\n").replace("e2", "e9").replace("e3", "e8"));
    let second = place.text();
    repair(&place.path).unwrap();
    undo(&place.path).unwrap();
    assert_eq!(place.text(), second);
    assert!(undo(&place.path).is_err(), "the host wrote between the repairs");
    assert_ne!(first, second);
}

#[test]
fn a_sound_file_is_not_touched() {
    let place = Place::new(&pi("u A:x r:x A"));
    let before = fs::metadata(&place.path).unwrap().modified().unwrap();
    assert_eq!(repair(&place.path).unwrap().outcome, Outcome::Sound);
    assert_eq!(fs::metadata(&place.path).unwrap().modified().unwrap(), before);
    assert_eq!(place.names().len(), 1);
}

#[test]
fn a_plan_writes_nothing() {
    let place = Place::new(&pi("u k:x s:x u"));
    let before = place.text();
    let repair = plan(&place.path).unwrap();
    assert_eq!(repair.outcome, Outcome::Planned);
    assert!(!repair.actions.is_empty());
    assert_eq!((place.text(), place.names().len()), (before, 1));
}

#[test]
fn a_file_that_changes_meanwhile_is_refused() {
    for step in [Step::Locked, Step::Written, Step::BackedUp] {
        let place = Place::new(&pi("u k:x s:x u"));
        let late = "{\"type\":\"custom\",\"id\":\"late\",\"parentId\":\"e4\"}\n";
        let outcome = repair_with(&place.path, &mut |now| {
            if now == step {
                place.append(late);
            }
        });
        assert!(place.text().contains("late"), "{step:?}: what the host wrote is there");
        if step == Step::Locked {
            assert!(outcome.is_ok(), "written before it was read");
            continue;
        }
        assert!(matches!(outcome, Err(GuardError::Changed { .. })), "{step:?}: {outcome:?}");
        assert!(place.text().starts_with(&pi("u k:x s:x u")), "{step:?}: as it was");
        assert_eq!(place.names().len(), 1, "{step:?}: no litter: {:?}", place.names());
    }
}

#[test]
fn a_change_of_the_same_length_and_time_is_refused() {
    let place = Place::new(&pi("u k:x s:x u"));
    let time = fs::metadata(&place.path).unwrap().modified().unwrap();
    let outcome = repair_with(&place.path, &mut |now| {
        if now == Step::BackedUp {
            place.overwrite(&place.text().replace("words 1", "WORDS 1"), time);
        }
    });
    assert!(matches!(outcome, Err(GuardError::Changed { .. })), "{outcome:?}");
    assert!(place.text().contains("WORDS 1"));
}

#[test]
fn what_is_appended_in_the_last_moment_is_carried_over() {
    let place = Place::new(&pi("u k:x s:x u"));
    let late = "{\"type\":\"custom\",\"id\":\"late\",\"parentId\":\"e4\"}\n";
    let outcome = repair_with(&place.path, &mut |now| {
        if now == Step::Checked {
            place.append(late);
        }
    });
    let Outcome::Mended { carried, .. } = outcome.unwrap().outcome else { panic!("not mended") };
    assert_eq!(carried, late.len() as u64);
    assert!(place.text().ends_with(late));
    assert_eq!(findings(&place.path), "");
}

#[test]
fn a_host_at_work_is_respected() {
    let place = Place::new(&pi("u k:x s:x u"));
    let lock = place.path.with_file_name("session.jsonl.lock");
    fs::write(&lock, format!(r#"{{"pid":{},"createdAt":"2026-01-01T00:00:00Z"}}"#, std::process::id()))
        .unwrap();
    assert!(matches!(repair(&place.path), Err(GuardError::Busy { .. })));
    assert!(lock.exists(), "its lock stays");
    fs::remove_file(&lock).unwrap();
    let held = fs::File::open(&place.path).unwrap();
    held.lock().unwrap();
    assert!(matches!(repair(&place.path), Err(GuardError::Busy { .. })));
    held.unlock().unwrap();
    assert!(repair(&place.path).is_ok());
}

#[cfg(unix)]
#[test]
fn links_are_refused_and_rights_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&pi("u k:x s:x u"));
    let (soft, hard) = (place.path.with_file_name("soft.jsonl"), place.path.with_file_name("hard.jsonl"));
    std::os::unix::fs::symlink(&place.path, &soft).unwrap();
    assert!(matches!(repair(&soft), Err(GuardError::Link { .. })));
    fs::hard_link(&place.path, &hard).unwrap();
    assert!(matches!(repair(&place.path), Err(GuardError::Names { names: 2, .. })));
    fs::remove_file(&hard).unwrap();
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o640)).unwrap();
    let Outcome::Mended { backup, .. } = repair(&place.path).unwrap().outcome else { panic!("not mended") };
    for path in [&place.path, &backup] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn f052_what_is_mended_stays_mended_after_a_restart() {
    let place = Place::new(&pi("u k:x s:x u"));
    repair(&place.path).unwrap();
    let first = place.text();
    for _ in 0..3 {
        assert_eq!(repair(&place.path).unwrap().outcome, Outcome::Sound, "reading it again changes nothing");
        assert_eq!(place.text(), first);
    }
}

/// Tangles found by the property test below.
#[test]
fn f052_tangled_trees_settle() {
    let table = [
        "r:x^3 A:x,y^0",
        "u^0 u^0 A:y^0 u^3 K:x^4 K:x s:x=e1 r:y^0 r:y^1",
        "s:x^0 r:y^0 A:x,y^2",
        "A:y^0 k:x^0 k:x^0 p:x^0 c2^2 s:y^4 u^0",
        "u^0 u^0 u^0 A:x^0 r:y^4 s:x u^5 s:x^?",
        "u^0 A:x^0 c0^2 s:x^? u^2 s:x^?",
        "A:x^0 K:x=e6 A:y^2 u^2 s:x^2 u=e0 r:x=e0 u^0",
        "A:y^0 u^0 u^0 u u^0 u^0 u^0 c9^0 s:y^2 u^0 A:x^0",
    ];
    for words in table {
        let place = Place::new(&pi(words));
        let before = place.text();
        repair(&place.path).unwrap();
        assert_eq!(inspect(&place.path).unwrap().mendable(), 0, "{words}");
        undo(&place.path).unwrap();
        assert_eq!(place.text(), before, "{words}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// However a transcript was damaged: mending terminates, changes only the reported places, and can be undone.
    #[test]
    fn mending_settles_keeps_other_lines_and_can_be_undone(
        words in proptest::collection::vec(
            "(u|b|A|-|A:[xy]|A:x,y|K:[xy]|k:[xy]|p:[xy]|r:[xyz]|s:[xy]|c[0-9])(\\^[0-9]|\\^\\?|=e[0-9]|)", 1..14),
        hurt in proptest::collection::vec((0..6_u8, any::<proptest::sample::Index>()), 0..3),
        is_v1 in any::<bool>(),
    ) {
        let words = words.join(" ");
        let text = if is_v1 { pi_v1(&words) } else { pi(&words) };
        let place = Place::of_bytes(&damage(text.as_bytes(), &hurt));
        let original = fs::read(&place.path).unwrap();
        let Ok(planned) = plan(&place.path) else { return Ok(()) };
        let done = match repair(&place.path) {
            Ok(done) => done,
            // A refusal is better than a half mended file.
            Err(GuardError::Unsettled { .. }) => {
                prop_assert_eq!((fs::read(&place.path).unwrap(), place.names().len()), (original, 1));
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(format!("{words}: {error}\n{}", place.text()))),
        };
        prop_assert_eq!(&planned.edits, &done.edits);
        let after = inspect(&place.path).unwrap();
        prop_assert_eq!(after.mendable(), 0, "{}: {:?}", &words, after.findings);
        // Bytes outside of edits stay, in their order.
        let now = fs::read(&place.path).unwrap();
        let mut at = (0_usize, 0_usize);
        for edit in &done.edits {
            let length = edit.range.start as usize - at.0;
            prop_assert_eq!(&original[at.0..at.0 + length], &now[at.1..at.1 + length]);
            at = (edit.range.end as usize, at.1 + length + edit.with.len());
        }
        prop_assert_eq!(&original[at.0..], &now[at.1..]);
        if done.outcome != Outcome::Sound {
            undo(&place.path).unwrap();
            prop_assert_eq!(fs::read(&place.path).unwrap(), original);
        }
    }
}
