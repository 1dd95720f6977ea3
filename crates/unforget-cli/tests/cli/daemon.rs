//! The command line while a daemon owns the database, and the page about its API.
#![cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::daemon::Daemon;
use crate::support::{CHAT, PI, PI_KEY, Place};
use serde_json::Value;

#[test]
fn the_command_line_goes_through_the_daemon() {
    let place = Place::imported();
    let daemon = Daemon::start(&place);
    let beside = place.path("store.sqlite.daemon");
    assert_eq!(std::fs::metadata(&beside).unwrap().permissions().mode() & 0o777, 0o600);
    // Reading commands.
    for arguments in [
        &["list"][..],
        &["stats", "pi"],
        &["search", "heron"],
        &["grep", "nest-7741"],
        &["describe", "s:2", "--conversation", "pi"],
        &["expand", "s:2", "--conversation", "pi"],
        &["stats"],
        &["pins", "pi"],
        &["status", "pi"],
    ] {
        place.json(arguments, 0);
    }
    assert_eq!(place.json(&["status"], 0)["live"]["cache"]["calls"], 0, "only the daemon knows");
    // Writing commands.
    let pinned = place.json(&["pin", "pi", "Never touch the boathouse."], 0);
    assert_eq!((pinned["pin"].as_u64(), pinned["conversation"].as_str()), (Some(1), Some(PI_KEY)));
    let other = place.json(&["pin", "pi", "Nor the weir.", "--supersedes", "1"], 0);
    assert_eq!(other["pin"], 2);
    assert_eq!(place.json(&["unpin", "pi", "2"], 0)["state"], "retired");
    place.write("CLAUDE.md", "Nor the mill.");
    let pinned = place.json(&["pin", "pi", "--file", "CLAUDE.md"], 0);
    let path = std::fs::canonicalize(place.path("CLAUDE.md")).unwrap();
    assert_eq!(
        (pinned["pin"].as_u64(), pinned["file"]["path"].as_str()),
        (Some(3), path.to_str()),
        "{pinned}"
    );
    let refused = place.json(&["pin", "pi", "--file", "nobody"], 3);
    assert_eq!(refused["error"]["kind"], "file", "{refused}");
    place.write("new.jsonl", &PI.replace("aaaa1111", "bbbb2222"));
    let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let file = std::fs::File::options().append(true).open(place.path("new.jsonl")).unwrap();
    file.set_modified(an_hour_ago).unwrap();
    place.write("notes.txt", "these are notes");
    let imported = place.json(&["import", "new.jsonl"], 0);
    assert_eq!(
        (imported["added"].as_u64(), imported["path"].as_str().unwrap().ends_with("new.jsonl")),
        (Some(6), true)
    );
    assert_eq!(imported["unchanged"], false);
    let again = place.json(&["import", "new.jsonl"], 0);
    assert_eq!((&again["unchanged"], &again["path"]), (&true.into(), &"new.jsonl".into()), "it is not sent");
    let sent = place.json(&["import", "new.jsonl", "--force"], 0);
    assert_eq!((&sent["unchanged"], &sent["added"]), (&false.into(), &0.into()), "{sent}");
    place.run(&["import", "notes.txt"], 3);
    place.run(&["reindex", "-q"], 0);
    place.run(&["purge", "bbbb2222", "--entries", "3-3", "--yes"], 0);
    assert_eq!(
        place.json(&["grep", "eggs", "--conversation", "bbbb2222"], 0)["results"],
        Value::Array(vec![])
    );
    // Missing things are reported.
    assert_eq!(place.json(&["compact", "aaaa1111"], 0)["conversation"], PI_KEY);
    assert_eq!(place.json(&["unpin", "aaaa1111", "7"], 2)["error"]["kind"], "no-pin");
    daemon.end();
    assert!(!beside.exists());
    place.run(&["verify"], 0);
    place.run(&["compact", "aaaa1111", "-q"], 0);
}

/// A killed daemon leaves its file, but no daemon is asked for a database without an owner.
/// The command says the same of a file whoever imports it.
#[test]
fn an_import_by_the_daemon_warns_and_takes_every_name() {
    let place = Place::imported();
    let _daemon = Daemon::start(&place);
    let (first, rest) = PI.split_once('\n').unwrap();
    let odd = "a\nb\u{1b}[31m.jsonl";
    place.write(odd, &format!("{}\nno json\n{rest}", first.replace("\"id\":\"", "\"id\":\"odd")));
    let told = place.run(&["import", odd], 0);
    let (out, err) = (String::from_utf8(told.stdout).unwrap(), String::from_utf8(told.stderr).unwrap());
    assert!(out.contains("by the daemon"), "{out}{err}");
    assert!(err.contains("line 2: not JSON"), "{out}{err}");
    assert!(!out.contains('\u{1b}') && !err.contains('\u{1b}'), "{out:?}{err:?}");
}

#[test]
fn what_a_killed_daemon_leaves_is_no_daemon() {
    let place = Place::imported();
    let mut daemon = Daemon::start(&place);
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    assert!(place.path("store.sqlite.daemon").exists());
    place.run(&["pin", "pi", "Keep to the path."], 0);
}

#[test]
fn the_examples_of_the_page_are_what_happens() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/http-api.md")).unwrap();
    let place = Place::new();
    place.write("chat.json", CHAT);
    place.run(&["import", "chat.json", "-q"], 0);
    std::fs::copy(root.join("examples/long-session.jsonl"), place.path("long-session.jsonl")).unwrap();
    let daemon = Daemon::start(&place);
    let api = format!("API={}/api/v1", daemon.url);
    let sh = |script: &str| {
        let output = Command::new("sh").args(["-ec", script]).current_dir(place.path("")).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}\n{out}{err}");
        out.into_owned()
    };
    let (mut block, mut done) = (None::<String>, 0);
    for line in page.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => block = None,
            (Some(variables), line) if line.starts_with("TOKEN=") => variables.extend([line, "\n"]),
            (Some(variables), line) if line.starts_with("curl ") => {
                sh(&format!("{api}\n{variables}{line}"));
                done += 1;
                while sh(&format!("{api}\ncurl -sf \"$API/tasks\"")).contains(r#""state":"running""#) {}
            }
            _ => {}
        }
    }
    assert!(done >= 15, "{done} examples");
    assert_eq!(
        std::fs::read(place.path("exported.jsonl")).unwrap(),
        std::fs::read(place.path("long-session.jsonl")).unwrap()
    );
    daemon.end();
}

#[test]
fn the_document_is_printed() {
    let place = Place::new();
    let printed = place.run(&["serve", "--openapi"], 0);
    let kept = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")).unwrap();
    assert!(printed.stdout == kept);
}
