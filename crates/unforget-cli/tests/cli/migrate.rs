//! Whole databases go from a file to PostgreSQL and back. Skipped where PostgreSQL is not installed.
#![cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use unforget_testkit::Postgres;
use unforget_testkit::upstream::Upstream;

use crate::nodes::{Node, Talk, hold, is_done, script};
use crate::support::equal_bodies::{compare, within_a_minute};
use crate::support::{CHAT, PI, PI_KEY, Place, binary, example, text};

/// Commands whose output has to be equal on both databases.
const LOOKS: [&[&str]; 8] = [
    &["list", "--json"],
    &["export", PI_KEY],
    &["export", "openai-chat"],
    &["prompt", PI_KEY, "--json"],
    &["prompt", "openai-chat", "--json"],
    &["pins", PI_KEY, "--json"],
    &["search", "otters", "--json"],
    &["grep", "Riverbend", "--json"],
];

/// What every command says of a database.
fn said(place: &Place, db: &str) -> Vec<String> {
    place.run(&["verify", "--db", db], 0);
    let say = |args: &&[&str]| text(&place.run(&[*args, &["--db", db]].concat(), 0).stdout);
    LOOKS.iter().map(|args| of_any_store(&say(args))).collect()
}

/// Without numbers that are a matter of the store: how often it was written to, and how it packs entries.
fn of_any_store(said: &str) -> String {
    let mut said = said.to_owned();
    for key in ["\"revision\":", "\"chunks_scanned\":", "\"chunks_total\":"] {
        let mut parts = said.split(key);
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
        said = parts.fold(first, |text, part| text + &rest(part));
    }
    said
}

/// A database with an import, decisions of people, a purge, and a session of a live host.
fn filled() -> Place {
    let place = Place::imported();
    for args in [
        &["pin", PI_KEY, "never touch the lock file"][..],
        &["label", "openai-chat", "--title", "Otters", "--star"],
        &["compact", PI_KEY],
        &["purge", "openai-chat", "--entries", "1-1", "--yes"],
        &[
            "replay",
            &example("long-session.jsonl"),
            "--window",
            "16k",
            "--no-validate",
            "--db",
            "store.sqlite",
        ],
    ] {
        place.run(args, 0);
    }
    place
}

fn migrated(place: &Place, from: &str, to: &str) -> Value {
    place.json(&["migrate", from, to], 0)
}

/// There and back: every conversation is equal, and a second run adds nothing.
#[test]
fn a_database_goes_to_a_server_and_back() {
    let Some(server) = Postgres::new() else { return };
    let (place, address) = (filled(), server.database());
    let unmade = place.command().args(["migrate", "store.sqlite", &address, "--check"]).output().unwrap();
    assert!(!unmade.status.success(), "a check makes no tables");
    let done = migrated(&place, "store.sqlite", &address);
    let all = done["conversations"].as_array().unwrap();
    assert!(all.len() >= 3 && done["equal"] == all.len() && done["only_there"] == 0, "{done}");
    assert!(done["added"].as_u64().unwrap() > 50, "{done}");
    assert!(!done.to_string().contains("only%20for"), "no password: {done}");
    assert_eq!(migrated(&place, "store.sqlite", &address)["added"], 0, "nothing is new");
    let checked = place.json(&["migrate", "store.sqlite", &address, "--check"], 0);
    assert_eq!(checked["equal"], all.len(), "{checked}");
    assert_eq!(said(&place, "store.sqlite"), said(&place, &address));
    let back = migrated(&place, &address, "back.sqlite");
    assert_eq!(back["added"], done["added"]);
    // Prompts were made on the server meanwhile, so that their states came back too.
    assert_eq!(back["equal"], all.len(), "there and back: {back}");
    assert_eq!(said(&place, "back.sqlite"), said(&place, &address));
    // The source goes on: only what is new is carried.
    let rest = r#"05","timestamp":"2026-03-02T09:01:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Good night."}],"timestamp":6}}"#;
    place.write("pi.jsonl", &format!("{PI}{rest}\n"));
    place.run(&["import", "pi.jsonl", "-q"], 0);
    let grown = migrated(&place, "store.sqlite", &address);
    assert!(grown["added"].as_u64().unwrap() > 0 && grown["equal"] == all.len(), "{grown}");
}

/// Another conversation under a key is named and left alone, and the others go.
#[test]
fn a_conversation_that_went_on_elsewhere_is_refused() {
    let (place, other) = (Place::imported(), Place::new());
    other.write("chat.json", &CHAT.replace("Riverbend", "Holt"));
    let there = other.path("other.sqlite").display().to_string();
    other.run(&["import", "chat.json", "-q", "--db", &there], 0);
    let done = place.json(&["migrate", "store.sqlite", &there], 1);
    let of = |state: &str| {
        let all = done["conversations"].as_array().unwrap().clone();
        all.into_iter().filter(move |one| one["state"] == state).collect::<Vec<_>>()
    };
    assert_eq!((of("equal").len(), of("refused").len()), (1, 1), "{done}");
    assert!(of("refused")[0]["why"].as_str().unwrap().contains("is another one there"), "{done}");
    let told = text(&place.run(&["migrate", "store.sqlite", &there], 1).stdout);
    assert!(told.contains("refused: entry") && told.contains("1 equal in both"), "{told}");
    let kept = text(&other.run(&["export", "openai-chat", "--db", &there], 0).stdout);
    assert!(kept.contains("Holt"), "nothing was written over");
}

#[test]
fn a_migration_into_itself_is_refused() {
    let place = Place::imported();
    let failed = text(&place.run(&["migrate", "store.sqlite", "./store.sqlite"], 2).stderr);
    assert!(failed.contains("one database"), "{failed}");
    place.run(&["migrate", "missing.sqlite", "new.sqlite"], 3);
    assert!(!place.path("new.sqlite").exists(), "nothing is made for a source that is not there");
}

/// Kills at moments of every part of the run: the last run goes on and ends with equal databases.
#[test]
fn f044_a_killed_migration_goes_on() {
    let Some(server) = Postgres::new() else { return };
    let place = filled();
    let run = |to: &str| {
        let mut command = Command::new(binary());
        command.current_dir(place.path(".")).env_clear().env("HOME", place.path("."));
        command.args(["migrate", "store.sqlite", to]).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begun = Instant::now();
    assert!(run("whole.sqlite").status().unwrap().success());
    let length = begun.elapsed();
    for to in ["killed.sqlite".to_owned(), server.database()] {
        let mut killed = 0;
        for n in 1..=8_u32 {
            let mut child = run(&to).spawn().unwrap();
            let until = Instant::now() + length.mul_f64(f64::from(n) / 8.0);
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            killed += u64::from(child.kill().is_ok() && !child.wait().unwrap().success());
        }
        assert!(killed > 0, "nothing was killed");
        let done = migrated(&place, "store.sqlite", &to);
        assert_eq!(done["equal"], done["conversations"].as_array().unwrap().len(), "{done}");
        assert_eq!(said(&place, "store.sqlite"), said(&place, &to));
    }
}

/// A client whose daemon moves to a server and back to a file in the middle of a conversation: the provider gets what it gets
/// from a daemon that never moved.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_with_the_same_prompts() {
    within_a_minute(moved).await;
}

async fn moved() -> Result<(), String> {
    let Some(server) = Postgres::new() else { return Ok(()) };
    let place = Place::new();
    let (turns, path) = (18, |name: &str| place.path(name).display().to_string());
    let alone = Upstream::start(8_000, script()).await;
    let daemon = Node::new(&path("alone.sqlite"), &alone.url());
    let want = hold(&daemon.url(), Talk::Chat, turns, async |_| is_done(&daemon.url()).await).await;
    let moving = Upstream::start(8_000, script()).await;
    let mut node = Node::new(&path("first.sqlite"), &moving.url());
    let (url, address) = (node.url(), server.database());
    let got = hold(&url, Talk::Chat, turns, async |turn| {
        is_done(&url).await;
        let to = match turn {
            6 => address.clone(),
            12 => path("back.sqlite"),
            _ => return,
        };
        node.kill();
        place.run(&["migrate", &node.db, &to], 0);
        node.db = to;
        node.start();
    })
    .await;
    assert_eq!(got, want);
    compare(&alone.came(), &moving.came())
}
