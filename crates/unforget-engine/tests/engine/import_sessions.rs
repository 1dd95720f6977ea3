//! Sessions in the database of a host: read once, in every version, given back as they were read.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use unforget_engine::import::Imported;
use unforget_engine::recall::SearchQuery;
use unforget_engine::{Engine, EngineError};

/// The tables of opencode 1.18.33, as far as sessions go.
const SCHEMA: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, title TEXT NOT NULL,
      time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
      time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
      time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    PRAGMA journal_mode = WAL;";

/// A host that writes its database, and the engine that reads it.
struct World {
    engine: Engine,
    folder: tempfile::TempDir,
    host: Connection,
    clock: i64,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Connection::open(folder.path().join("opencode.db")).unwrap();
        host.execute_batch(SCHEMA).unwrap();
        let world = Self { engine: Engine::in_memory(), folder, host, clock: 1_795_000_000_000 };
        let sql = "INSERT INTO session VALUES ('ses_1', NULL, '/srv/x', 'Herons', 1, 1), ('ses_2', 'ses_1', '/srv/x', 'Child', 2, 2)";
        world.host.execute(sql, []).unwrap();
        world
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("opencode.db")
    }

    /// The host writes a message, or writes it again.
    fn say(&mut self, id: &str, role: &str, parts: &[Value]) {
        self.clock += 1_000;
        let data = json!({ "role": role, "time": { "created": self.clock } }).to_string();
        let sql = "INSERT INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)
            ON CONFLICT(id) DO UPDATE SET time_updated = ?2, data = excluded.data";
        self.host.execute(sql, (id, self.clock, data)).unwrap();
        for (at, part) in parts.iter().enumerate() {
            let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, 'ses_1', ?3, ?3, ?4)";
            self.host.execute(sql, (format!("{id}-{at}"), id, self.clock, part.to_string())).unwrap();
        }
    }

    fn text(&mut self, id: &str, role: &str, text: &str) {
        self.say(id, role, &[json!({ "type": "text", "text": text })]);
    }

    fn import(&self) -> Vec<Imported> {
        let mut all = Vec::new();
        self.engine.import_any(&self.path(), false, &mut |_| (), &mut |_, done| all.push(done.unwrap()));
        all
    }

    fn exported(&self) -> String {
        let of = self.engine.resolve("ses_1").unwrap().conversation;
        let mut out = Vec::new();
        self.engine.export(of.id, None, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// What the model would read, one line per message.
    fn prompt(&self) -> String {
        let of = self.engine.resolve("ses_1").unwrap().conversation;
        let page = self.engine.expand(Some(of.id), "s:0-99", 100_000, None).unwrap();
        let shown = page.items.iter().filter(|item| item.text.starts_with(char::is_alphabetic));
        shown.map(|item| item.text.as_str()).collect::<Vec<_>>().join(" | ")
    }

    fn found(&self, text: &str) -> usize {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        let results = self.engine.search(&query).unwrap().results;
        results.iter().filter(|hit| format!("{hit:?}").contains(text)).count()
    }
}

#[test]
fn sessions_are_read_once_and_in_every_version() {
    let mut world = World::new();
    world.text("msg_1", "user", "where do herons nest");
    world.text("msg_2", "assistant", "I look");
    let first = world.import();
    let added: Vec<(String, u64)> = first.iter().map(|one| (one.conversation.0.clone(), one.added)).collect();
    assert_eq!(added, [("opencode:ses_1".to_owned(), 3), ("opencode:ses_2".to_owned(), 1)]);
    assert_eq!(first[1].parent.as_ref().unwrap().0, "opencode:ses_1", "a sub-agent");
    assert_eq!(first[0].path.file_name().unwrap(), "opencode.db#ses_1");
    let before = world.exported();
    assert_eq!(before.lines().count(), 3);
    assert!(before.contains(r#""data":{"type":"text","text":"where do herons nest"}"#), "{before}");
    let again = world.import();
    assert!(again.iter().all(|one| one.added == 0), "nothing is new");

    // The answer goes on, and another message comes.
    world.text("msg_2", "assistant", "I look in the reeds");
    world.text("msg_3", "user", "thanks");
    assert_eq!(world.import()[0].added, 2);
    let after = world.exported();
    assert!(after.starts_with(before.trim_end()), "what was read stays");
    assert_eq!(world.found("reeds"), 1);
    assert!(world.prompt().ends_with("thanks"), "{}", world.prompt());
    assert_eq!(world.engine.verify(&mut |_, _| ()).unwrap().problems, []);
}

#[test]
fn what_the_host_takes_back_is_kept_and_marked() {
    let mut world = World::new();
    for (id, role, text) in [
        ("msg_1", "user", "one"),
        ("msg_2", "assistant", "two"),
        ("msg_3", "user", "three"),
        ("msg_4", "assistant", "four"),
    ] {
        world.text(id, role, text);
    }
    world.import();
    world.host.execute("DELETE FROM message WHERE id >= 'msg_3'", []).unwrap();
    assert_eq!(world.import()[0].added, 1);
    assert!(world.exported().ends_with("{\"opencode\":\"rewind\",\"to\":\"msg_3\"}\n"));
    assert_eq!(world.import()[0].added, 0, "told once");
    world.text("msg_5", "user", "five");
    world.import();
    assert!(world.exported().contains(r#""text":"four""#), "it is kept");
    assert_eq!(world.found("four"), 1);
    assert_eq!(world.engine.verify(&mut |_, _| ()).unwrap().problems, []);
}

#[test]
fn a_purged_row_does_not_come_back() {
    let mut world = World::new();
    world.text("msg_1", "user", "the password is swordfish");
    world.text("msg_2", "assistant", "noted");
    world.import();
    let of = world.engine.resolve("ses_1").unwrap().conversation;
    world.engine.purge(&of, 1..2).unwrap();
    world.text("msg_3", "user", "go on, heron");
    world.import();
    assert!(!world.exported().contains("swordfish"));
    assert_eq!((world.found("swordfish"), world.found("heron")), (0, 1));
}

#[test]
fn other_databases_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let engine = Engine::in_memory();
        let mut all = Vec::new();
        engine.import_any(&path, false, &mut |_| (), &mut |_: &Path, done| all.push(done));
        match all.as_slice() {
            [Err(EngineError::HostDatabase { source, .. })] => source.to_string(),
            other => format!("{other:?}"),
        }
    };
    let table = [
        (
            "a",
            "CREATE TABLE checkpoints (k); CREATE TABLE writes (k)",
            "a SQLite database of LangGraph, which is not supported yet",
        ),
        ("b", "CREATE TABLE birds (k)", "of no known host; its tables: birds"),
        (
            "c",
            "CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)",
            "a database of opencode, with schema 0, whose table session has no column time_created",
        ),
    ];
    for (name, sql, want) in table {
        let told = outcome(name, sql);
        assert!(told.contains(want), "{told}");
    }
}
