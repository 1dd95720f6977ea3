//! Damaged derived rows: every reader gives the answer that the log gives, and `verify` names them.

use std::path::Path;

use unforget_core::id::Thread;
use unforget_engine::Engine;
use unforget_engine::prompt::{Session, Shape, ThreadRef, Until};
use unforget_engine::recall::{GrepQuery, SearchQuery};
use unforget_store::read_all;
use unforget_wire::Dialect;

use crate::common;

/// Everything that is read with the help of derived rows.
fn answers(path: &Path, writes: bool) -> [String; 3] {
    let engine = if writes { Engine::open(path) } else { Engine::open_reader(path) }.unwrap();
    let id = read_all(|page| engine.store().conversations(page)).unwrap()[0].id;
    let lane = ThreadRef { conversation: id, thread: Thread(0) };
    let shape = Shape::new(4_096, None, Dialect::Anthropic);
    let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    let prompt = session.prompt().unwrap();
    assert!(prompt.epoch > 0, "summaries stand in the prompt");
    let grep = GrepQuery { pattern: "word b".to_owned(), ..GrepQuery::default() };
    let search = SearchQuery { text: "word q".to_owned(), ..SearchQuery::default() };
    let hits: Vec<_> = engine.search(&search).unwrap().results.iter().map(|hit| hit.seq).collect();
    let matches: Vec<_> = engine.grep(&grep).unwrap().matches.iter().map(|one| one.seq).collect();
    [format!("{:?}", prompt.admitted.request()), format!("{hits:?}"), format!("{matches:?}")]
}

#[test]
fn damaged_derived_rows_are_made_again_from_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.db");
    let engine = Engine::open(&whole).unwrap();
    let letters = "abcdefghijklmnopqrstuvwxyz".repeat(16);
    let text = common::Session::new("s").says(&letters).text();
    let text = text.replace("word b", &format!("word b {}", "of the lighthouse ".repeat(60)));
    engine.import_reader(text.as_bytes(), "s").unwrap();
    drop(engine);
    let sound = answers(&whole, true);
    assert_eq!(answers(&whole, true), sound, "the same again");
    let table = [
        ("UPDATE summary SET body = CAST(replace(CAST(body AS TEXT), 'a', 'b') AS BLOB)", "summary"),
        ("UPDATE summary SET end = zeroblob(32) WHERE id = 1", "summary"),
        ("UPDATE summary SET count = count + 1, level = level + 1", "summary"),
        ("UPDATE context SET state = zeroblob(length(state))", "context"),
        ("UPDATE context SET state = CAST('x' || substr(state, 2) AS BLOB)", "context"),
        ("UPDATE chunk_filter SET data = zeroblob(length(data))", "filter"),
        ("UPDATE segment SET header = zeroblob(length(header))", "index"),
        ("UPDATE segment_block SET data = zeroblob(length(data))", "index"),
        ("UPDATE segment SET first_seq = 0, end_seq = 9", "index"),
    ];
    for (number, (sql, kind)) in table.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        std::fs::copy(&whole, &path).unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let reader = Engine::open_reader(&path).unwrap();
        let problems = reader.verify(&mut |_, _| ()).unwrap().problems;
        assert!(problems.iter().any(|problem| problem.kind == kind), "{sql}: {problems:?}");
        assert!(problems.iter().all(unforget_store::Problem::is_derived), "{sql}: {problems:?}");
        drop(reader);
        for writes in [false, true, true] {
            assert!(answers(&path, writes) == sound, "{sql}: {writes}");
        }
    }
}
