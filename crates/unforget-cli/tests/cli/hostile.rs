//! A transcript whose every name tries to steer the terminal, through every command that shows them.

use crate::support::{Place, text};

/// Writes the clipboard, clears the screen by C0 and by C1, and turns the direction of a line.
const ATTACK: &str = r"\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b2J\u202e\u2066";

/// A transcript of pi: session id, folder, title, tool and text are attacks.
fn transcript() -> String {
    let lines = [
        format!(
            r#"{{"type":"session","version":3,"id":"s{ATTACK}","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w{ATTACK}"}}"#
        ),
        format!(
            r#"{{"type":"session_info","id":"n","parentId":null,"timestamp":"2026-01-05T09:00:00.500Z","name":"named {ATTACK}"}}"#
        ),
        format!(
            r#"{{"type":"message","id":"a{ATTACK}","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{{"role":"user","content":[{{"type":"text","text":"heron {ATTACK}"}}]}}}}"#
        ),
        format!(
            r#"{{"type":"message","id":"b","parentId":"a{ATTACK}","timestamp":"2026-01-05T09:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c1","name":"run{ATTACK}","arguments":{{"command":"x{ATTACK}"}}}}]}}}}"#
        ),
        format!(
            r#"{{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-05T09:00:03.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"run{ATTACK}","isError":true,"content":[{{"type":"text","text":"heron out {ATTACK}"}}]}}}}"#
        ),
    ];
    lines.join("\n") + "\n"
}

/// Whether a text could steer a terminal.
fn steers(text: &str) -> bool {
    text.chars().any(|one| {
        (one.is_control() && !matches!(one, '\n' | '\t'))
            || matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

#[test]
fn nothing_stored_steers_the_terminal_from_any_command() {
    let place = Place::new();
    place.write("bad.jsonl", &transcript());
    let commands: [&[&str]; 19] = [
        &["import", "bad.jsonl"],
        &["list"],
        &["show", "pi:"],
        &["stats", "pi:"],
        &["search", "heron"],
        &["grep", "heron"],
        &["expand", "e:pi:s:0-4"],
        &["describe", "e:pi:s:2"],
        &["compact", "pi:"],
        &["prompt", "pi:"],
        &["jobs", "pi:"],
        &["ledger", "pi:"],
        &["pins", "pi:"],
        &["status", "pi:"],
        &["why", "pi:s", "e:pi:s:2"],
        &["answer", "where is the heron?", "--no-model"],
        &["doctor", "bad.jsonl"],
        &["verify"],
        &["purge", "pi:", "--yes"],
    ];
    for args in commands {
        for json in [&["-q"][..], &["--json"]] {
            let output = place.command().args(args).args(json).output().unwrap();
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            assert!(!steers(&out), "{args:?}: {out:?}");
            assert!(!steers(&err), "{args:?}: {err:?}");
        }
    }
}

#[test]
fn an_export_is_still_byte_for_byte() {
    let place = Place::new();
    place.write("bad.jsonl", &transcript());
    place.run(&["import", "bad.jsonl"], 0);
    assert_eq!(text(&place.run(&["export", "pi:"], 0).stdout), transcript());
}
