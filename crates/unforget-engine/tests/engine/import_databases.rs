//! Sessions in the databases of hosts, each in the shape that its host gives them: read once, in every version, given back as
//! they were read.
//!
//! OpenClaw, Hermes and the OpenAI Agents SDK: the columns that the real programs made. The others after their source.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use unforget_engine::import::Imported;
use unforget_engine::recall::SearchQuery;
use unforget_engine::{Engine, EngineError};

/// The SQL statements of a host, and the records that Unforget stores after them.
struct HostCase {
    /// Key of the conversation.
    key: &'static str,
    schema: &'static str,
    /// The session `s`: a question about owls and an answer with the word heron.
    first: &'static str,
    /// Records of the first import.
    records: u64,
    /// The answer goes on: egret.
    change: &'static str,
    /// Records that this adds.
    changed: u64,
    /// The host deletes the answer.
    deletion: &'static str,
    /// Records that this adds, and the last of them.
    deleted: (u64, &'static str),
}

const OPENCLAW: HostCase = HostCase {
    key: "openclaw:s",
    schema: "
        CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT NOT NULL) STRICT;
        CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL, spawned_by TEXT,
          display_name TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
        CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
          created_at INTEGER NOT NULL, event_zstd BLOB, PRIMARY KEY (session_id, seq)) STRICT;
        CREATE TABLE transcript_event_identities (session_id TEXT NOT NULL, event_id TEXT NOT NULL, seq INTEGER NOT NULL,
          PRIMARY KEY (session_id, event_id)) STRICT;
        CREATE TABLE transcript_rewrite_watermarks (session_id TEXT PRIMARY KEY, updated_at INTEGER NOT NULL) STRICT;
        PRAGMA user_version = 23;",
    first: r#"
        INSERT INTO session_nodes VALUES ('agent:main:x', 's');
        INSERT INTO session_windows VALUES ('s', 'agent:main:x', NULL, 'birds', 1, 1), ('empty', 'agent:main:y', NULL, NULL, 1, 1);
        INSERT INTO transcript_events VALUES
          ('s', 0, '{"type":"session","version":4,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/home/ann/x"}', 1, NULL),
          ('s', 1, '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"about owls"}}', 2, NULL),
          ('s', 2, '{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"a heron"}]}}', 3, NULL);
        INSERT INTO transcript_event_identities VALUES ('s', 's', 0), ('s', 'a', 1), ('s', 'b', 2);"#,
    records: 4,
    change: "
        UPDATE session_windows SET updated_at = 4 WHERE session_id = 's';
        UPDATE transcript_events SET event_json = replace(event_json, 'a heron', 'an egret') WHERE seq = 2",
    changed: 2,
    deletion: "
        UPDATE session_windows SET updated_at = 5 WHERE session_id = 's';
        DELETE FROM transcript_events WHERE seq = 2",
    deleted: (2, r#"{"openclaw":"rewind","to":"b"}"#),
};

const CRUSH: HostCase = HostCase {
    key: "crush:s",
    schema: "
        CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, updated_at INTEGER NOT NULL,
          created_at INTEGER NOT NULL);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL DEFAULT '[]',
          model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, is_summary_message INTEGER DEFAULT 0 NOT NULL);
        CREATE TRIGGER touched AFTER UPDATE ON messages BEGIN UPDATE sessions SET updated_at = 9 WHERE id = new.session_id; END;",
    first: r#"
        INSERT INTO sessions VALUES ('s', NULL, 'birds', 2, 1);
        INSERT INTO messages VALUES
          ('z', 's', 'user', '[{"type":"text","data":{"text":"about owls"}}]', NULL, 1, 1, 0),
          ('b', 's', 'assistant', CAST('[{"type":"text","data":{"text":"a heron"}}]' AS BLOB), 'm', 1, 2, 0);"#,
    records: 3,
    change: "UPDATE messages SET parts = replace(parts, 'a heron', 'an egret') WHERE id = 'b'",
    changed: 2,
    deletion: "DELETE FROM messages WHERE id = 'b'",
    deleted: (1, r#"{"crush":"rewind","to":"b"}"#),
};

const GOOSE: HostCase = HostCase {
    key: "goose:s",
    schema: "
        CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
          content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);",
    first: r#"
        INSERT INTO sessions VALUES ('s', 'birds', '/home/ann/x', '2026-01-01 00:00:00', '2026-01-01 00:00:01');
        INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES
          ('s', 'user', '[{"type":"text","text":"about owls"}]', 1767225600),
          ('s', 'assistant', '[{"type":"text","text":"a heron"}]', 1767225601);"#,
    records: 3,
    change: "UPDATE messages SET content_json = replace(content_json, 'a heron', 'an egret') WHERE id = 2",
    changed: 1,
    deletion: "DELETE FROM messages WHERE id = 2",
    deleted: (1, r##"{"goose":"rewind","to":"#2"}"##),
};

const HERMES: HostCase = HostCase {
    key: "hermes:s",
    schema: "
        CREATE TABLE schema_version (version INTEGER NOT NULL);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, parent_session_id TEXT, system_prompt TEXT, cwd TEXT,
          title TEXT, started_at REAL NOT NULL, ended_at REAL);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
          tool_call_id TEXT, tool_calls TEXT, timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1,
          compacted INTEGER NOT NULL DEFAULT 0);",
    first: "
        INSERT INTO sessions VALUES ('s', 'cli', NULL, 'be kind', '/home/ann/x', 'birds', 1.5, NULL);
        INSERT INTO messages (session_id, role, content, timestamp) VALUES
          ('s', 'user', 'about owls', 2.5), ('s', 'assistant', 'a heron', 3.5);",
    records: 4,
    change: "UPDATE messages SET content = 'an egret' WHERE id = 2",
    changed: 1,
    deletion: "DELETE FROM messages WHERE id = 2",
    deleted: (1, r##"{"hermes":"rewind","to":"#2"}"##),
};

const AGENTS: HostCase = HostCase {
    key: "openai-agents:s",
    schema: "
        CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
          updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
        CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL,
          created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);",
    first: r#"
        INSERT INTO agent_sessions VALUES ('s', '2026-01-01 00:00:00', '2026-01-01 00:00:00');
        INSERT INTO agent_messages VALUES
          (1, 's', '{"content": "about owls", "role": "user"}', '2026-01-01 00:00:00'),
          (2, 's', '{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a heron"}]}', '2026-01-01 00:00:00');"#,
    records: 3,
    change: "
        UPDATE agent_sessions SET updated_at = '2026-01-01 00:00:09';
        UPDATE agent_messages SET message_data = replace(message_data, 'a heron', 'an egret') WHERE id = 2",
    changed: 2,
    deletion: "DELETE FROM agent_messages WHERE id = 2",
    deleted: (1, r##"{"openai-agents":"rewind","to":"#2"}"##),
};

const CURSOR: HostCase = HostCase {
    key: "cursor:s",
    schema: "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);",
    first: r#"
        INSERT INTO cursorDiskKV VALUES
          ('composerData:s', '{"_v":3,"composerId":"s","name":"birds","createdAt":1,"lastUpdatedAt":2,"fullConversationHeadersOnly":[{"bubbleId":"z","type":1},{"bubbleId":"b","type":2}]}'),
          ('composerData:empty', '{"composerId":"empty","fullConversationHeadersOnly":[]}'),
          ('composerData:broken', '{'), ('composerData:null', NULL),
          ('bubbleId:s:b', '{"type":2,"bubbleId":"b","text":"a heron"}'),
          ('bubbleId:s:z', '{"type":1,"bubbleId":"z","text":"about owls"}');"#,
    records: 3,
    change: r"UPDATE cursorDiskKV SET value = replace(value, 'a heron', 'an egret') WHERE key = 'bubbleId:s:b'",
    changed: 1,
    deletion: "DELETE FROM cursorDiskKV WHERE key = 'bubbleId:s:b'",
    deleted: (1, r#"{"cursor":"rewind","to":"b"}"#),
};

const ZED: HostCase = HostCase {
    key: "zed:s",
    schema: "
        CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL,
          data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT);",
    first: r#"
        INSERT INTO threads VALUES ('s', 'birds', '2026-01-01T00:00:00.5+00:00', 'zstd', packed(
          '{"title":"birds","messages":[{"User":{"id":"u","content":[{"Text":"about owls"}]}},{"Agent":{"content":[{"Text":"a heron"}],"tool_results":{}}}],"version":"0.3.0"}'),
          NULL, '/home/ann/x');"#,
    records: 3,
    change: r#"
        UPDATE threads SET updated_at = '2026-01-01T00:00:01+00:00', data = packed(
          '{"title":"birds","messages":[{"User":{"id":"u","content":[{"Text":"about owls"}]}},{"Agent":{"content":[{"Text":"an egret"}],"tool_results":{}}}],"version":"0.3.0"}')"#,
    changed: 2,
    deletion: r#"
        UPDATE threads SET updated_at = '2026-01-01T00:00:02+00:00', data = packed(
          '{"title":"birds","messages":[{"User":{"id":"u","content":[{"Text":"about owls"}]}}],"version":"0.3.0"}')"#,
    deleted: (2, r##"{"zed":"rewind","to":"#1"}"##),
};

/// A host that writes its database, and the engine that reads it.
struct HostWorld {
    engine: Engine,
    folder: tempfile::TempDir,
    host: Connection,
}

impl HostWorld {
    fn new(schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Connection::open(folder.path().join("host.db")).unwrap();
        host.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        host.execute_batch(schema).unwrap();
        Self { engine: Engine::in_memory(), folder, host }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("host.db")
    }

    /// The host runs statements, in which `packed('TEXT')` stands for the compressed text.
    fn write(&self, sql: &str) {
        let mut all = String::new();
        let mut rest = sql;
        while let Some((before, after)) = rest.split_once("packed(") {
            let (_, text) = after.split_once('\'').unwrap();
            let (text, after) = text.split_once("')").unwrap();
            let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
            all.extend([before, "x'"]);
            for byte in packed {
                write!(all, "{byte:02x}").unwrap();
            }
            all.push('\'');
            rest = after;
        }
        all.push_str(rest);
        self.host.execute_batch(&all).unwrap();
    }

    fn outcomes(&self, is_anyway: bool) -> Vec<Result<Imported, EngineError>> {
        let mut all = Vec::new();
        self.engine.import_any(&self.path(), is_anyway, &mut |_| (), &mut |_: &Path, done| all.push(done));
        all
    }

    /// Records that an import of the only session adds.
    fn import(&self, is_anyway: bool) -> u64 {
        let all = self.outcomes(is_anyway);
        let [Ok(one)] = all.as_slice() else { panic!("{all:?}") };
        one.added
    }

    fn exported(&self) -> String {
        let of = self.engine.resolve("s").unwrap().conversation;
        let mut out = Vec::new();
        self.engine.export(of.id, None, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn found(&self, text: &str) -> usize {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        let results = self.engine.search(&query).unwrap().results;
        results.iter().filter(|hit| format!("{hit:?}").contains(text)).count()
    }
}

#[test]
fn every_host_is_read_once_and_in_every_version() {
    for case in [OPENCLAW, CRUSH, GOOSE, HERMES, AGENTS, CURSOR, ZED] {
        let HostCase { key, .. } = case;
        let world = HostWorld::new(case.schema);
        world.write(case.first);
        assert_eq!(world.import(false), case.records, "{key}");
        let of = world.engine.resolve("s").unwrap().conversation;
        assert_eq!(of.key.0, key);
        let format = key.split_once(':').unwrap().0;
        let first = world.exported();
        assert_eq!(first.lines().count() as u64, case.records, "{key}");
        for line in first.lines() {
            assert!(line.starts_with(&format!("{{\"{format}\":\"")), "{key}: {line}");
        }
        assert_eq!((world.found("owls"), world.found("heron")), (1, 1), "{key}");
        assert_eq!(world.import(false), 0, "{key}: again");
        assert_eq!(world.import(true), 0, "{key}: again, from the beginning");

        world.write(case.change);
        assert_eq!(world.import(false), case.changed, "{key}: a change");
        let second = world.exported();
        assert!(second.starts_with(first.trim_end()), "{key}: what was read stays");
        assert_eq!(world.found("egret"), 1, "{key}");

        world.write(case.deletion);
        let (deleted, mark) = case.deleted;
        assert_eq!(world.import(false), deleted, "{key}: a deletion");
        let third = world.exported();
        assert!(third.contains(&format!("\n{mark}\n")), "{key}: {third}");
        assert!(third.contains("egret") && third.contains("heron"), "{key}: it is kept");
        assert_eq!(world.import(true), 0, "{key}: told once");
        assert_eq!(world.engine.verify(&mut |_, _| ()).unwrap().problems, [], "{key}");
    }
}

#[test]
fn an_event_that_the_host_packs_later_is_the_same() {
    let world = HostWorld::new(OPENCLAW.schema);
    world.write(OPENCLAW.first);
    world.import(false);
    let sql = "SELECT event_json FROM transcript_events WHERE seq = 2";
    let text: String = world.host.query_row(sql, [], |row| row.get(0)).unwrap();
    let sql = format!(
        "UPDATE transcript_events SET event_json = NULL, event_zstd = packed('{text}') WHERE seq = 2"
    );
    world.write(&sql);
    assert_eq!(world.import(true), 0);
}

#[test]
fn a_sub_agent_names_its_session() {
    let world = HostWorld::new(OPENCLAW.schema);
    world.write(OPENCLAW.first);
    world.write(
        r#"INSERT INTO session_windows VALUES ('child', 'agent:main:subagent:1', 'agent:main:x', NULL, 2, 2);
        INSERT INTO transcript_events VALUES ('child', 0, '{"type":"session","version":4,"id":"child","timestamp":"2026-01-01T00:00:00Z"}', 1, NULL);"#,
    );
    let all = world.outcomes(false);
    let parents: Vec<_> =
        all.iter().map(|one| one.as_ref().unwrap().parent.as_ref().map(|parent| parent.0.as_str())).collect();
    assert_eq!(parents, [None, Some("openclaw:s")]);
}

/// The outcome of the only session, or of the database, in words.
fn told(outcomes: &[Result<Imported, EngineError>]) -> String {
    let [outcome] = outcomes else { return format!("{outcomes:?}") };
    match outcome {
        Ok(imported) => format!("{} records", imported.added),
        Err(EngineError::HostDatabase { source, .. }) => source.to_string(),
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn hostile_databases_are_named_with_their_place() {
    const SESSIONS: &str = "CREATE TABLE sessions (id, parent_session_id, title, updated_at, created_at);
        CREATE TABLE messages (id, session_id, role, parts, created_at, updated_at);";
    let one = "INSERT INTO sessions VALUES ('s', NULL, 't', 1, 1);";
    let message =
        |id: &str, parts: &str| format!("INSERT INTO messages VALUES ({id}, 's', 'user', {parts}, 1, 1);");
    let text = r#"'[{"type":"text","data":{"text":"owls"}}]'"#;
    let table = [
        (format!("{SESSIONS}{one}{}", message("'a'", text)), "2 records", "the same, and healthy"),
        (
            format!("{SESSIONS}INSERT INTO sessions VALUES (NULL, NULL, 't', 1, 1);"),
            "its session 1 cannot be read: Invalid column type Null at index: 0, name: id",
            "no id",
        ),
        (
            format!("{SESSIONS}{one}INSERT INTO sessions VALUES (x'00', NULL, 't', 1, 1);"),
            "its session 2 cannot be read: Invalid column type Blob",
            "bytes for an id",
        ),
        (
            format!("{SESSIONS}{one}{}{}", message("'a'", text), message("CAST(x'ff' AS TEXT)", text)),
            "its message 2 cannot be read",
            "an id that is no text",
        ),
        (
            format!("{SESSIONS}{one}{}{}", message("'a'", text), message("'a'", "'[]'")),
            "its message 2 has the id of an earlier one: \"a\"",
            "an id twice",
        ),
        (
            format!("{SESSIONS}{one}{}", message("'a'", "zeroblob(70000000)")),
            "its message 1 cannot be read: string or blob too big",
            "a huge value",
        ),
        (format!("{SESSIONS}{one}{}", message("'a'", "x'28b52ffd00'")), "2 records", "bytes that cannot be unpacked"),
        (format!("{SESSIONS}{one}{}", message("'a'", "CAST(x'ff00' AS TEXT)")), "2 records", "no UTF-8, and a NUL"),
        (format!("{SESSIONS}{one}{}", message("'a'", "7")), "2 records", "a number for parts"),
        (
            format!("{SESSIONS}{one}{}", message("'a'", "replace(hex(zeroblob(200000)), '0', '[')")),
            "2 records",
            "deep JSON",
        ),
        (
            "CREATE TABLE t (a); CREATE VIEW sessions AS SELECT a AS id FROM t; CREATE VIEW messages AS SELECT a AS id FROM t"
                .to_owned(),
            "of no known host; its tables: t",
            "views in place of tables",
        ),
        (
            "CREATE TABLE goose_db_version (version_id); INSERT INTO goose_db_version VALUES (20991231);
             CREATE TABLE sessions (id, parent_session_id, title, updated_at, created_at);
             CREATE TABLE messages (id, session_id, role, pieces, created_at, updated_at);"
                .to_owned(),
            "a database of Crush, with schema 20991231, whose table messages has no column parts: this version is not supported yet",
            "a newer schema",
        ),
    ];
    for (sql, want, why) in &table {
        let world = HostWorld::new(sql);
        let said = told(&world.outcomes(false));
        assert!(said.contains(want), "{why}: {said}");
        assert_eq!(world.engine.verify(&mut |_, _| ()).unwrap().problems, [], "{why}");
    }
}

#[test]
fn one_session_that_cannot_be_read_stops_no_other() {
    let world = HostWorld::new(GOOSE.schema);
    world.write(GOOSE.first);
    world.write(
        "INSERT INTO sessions VALUES ('bad', 'b', '/', '2025-01-01', '2025-01-01');
         INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('bad', 'user', zeroblob(70000000), 1);",
    );
    let all = world.outcomes(false);
    assert!(matches!(all.as_slice(), [Err(_), Ok(good)] if good.added == GOOSE.records), "{all:?}");
}

#[test]
fn damaged_pages_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.db");
    let host = Connection::open(&path).unwrap();
    host.execute_batch(CRUSH.schema).unwrap();
    host.execute_batch(CRUSH.first).unwrap();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO messages SELECT 'm' || i, 's', 'user', '[{\"type\":\"text\",\"data\":{\"text\":\"' || hex(zeroblob(100)) || '\"}}]', NULL, i, i, 0 FROM n";
    host.execute_batch(sql).unwrap();
    drop(host);
    let whole = std::fs::read(&path).unwrap();
    let outcome = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (engine, mut all) = (Engine::in_memory(), Vec::new());
        engine.import_any(&path, false, &mut |_| (), &mut |_: &Path, done| all.push(done));
        told(&all)
    };
    assert_eq!(outcome(&whole), "2003 records");
    let mut garbled = whole.clone();
    let middle = garbled.len() / 2;
    garbled[middle..middle + 40_000].fill(0xa5);
    let (half, _) = whole.split_at(middle);
    for (bytes, why) in
        [(garbled.as_slice(), "garbled"), (half, "cut off"), (&whole[..100], "a header alone")]
    {
        let said = outcome(bytes);
        assert!(
            said.contains("malformed") || said.contains("damaged") || said.contains("no known host"),
            "{why}: {said}"
        );
    }
}
