//! Damage is found, a purge leaves nothing behind, and `doctor` names the command.
use std::fs;

use crate::common::host::{PI, answer, host, lane, turn, user};
use crate::common::{Session, engine};
use unforget_engine::recall::{GrepQuery, SearchQuery};
use unforget_store::{Segment, read_all};

#[test]
fn purge_takes_the_words_everywhere_and_verify_still_passes() {
    let (engine, _folder) = engine();
    let file = Session::new("s").says("abcd").text().replace("word b", "the secret password is swordfish");
    engine.import_reader(file.as_bytes(), "s").unwrap();
    let conversation = engine.resolve("s").unwrap().conversation;
    let plan = engine.purge_plan(&conversation, 2..3).unwrap();
    let done = engine.purge(&conversation, 2..3).unwrap();
    assert_eq!((plan.entries, done.entries), (1, 1));
    let search = SearchQuery { text: "swordfish".to_owned(), ..SearchQuery::default() };
    assert!(engine.search(&search).unwrap().results.is_empty());
    let grep = GrepQuery { pattern: "swordfish".to_owned(), ..GrepQuery::default() };
    assert!(engine.grep(&grep).unwrap().matches.is_empty());
    let mut left = Vec::new();
    assert_eq!(engine.export(conversation.id, None, &mut left).unwrap().purged, 1);
    assert!(String::from_utf8(left).unwrap().contains("word c"));
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
    let again = engine.import_reader(file.as_bytes(), "s").unwrap();
    assert_eq!(again.added, 0, "purged entries do not come back");
}

#[test]
fn f084_a_damaged_index_is_found_and_mended() {
    let (engine, _folder) = engine();
    engine.import_reader(Session::new("s").says("abcdef").text().as_bytes(), "s").unwrap();
    let id = engine.resolve("s").unwrap().conversation.id;
    let number = read_all(|page| engine.store().segments(id, page)).unwrap()[0].number;
    let broken = Segment { seqs: 0..7, header: vec![1, 6, 1], blocks: vec![vec![9; 9]] };
    engine.store().put_segment(id, &broken, &[number]).unwrap();
    let problems = engine.verify(&mut |_, _| ()).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.kind == "index"), "{problems:?}");
    let findings = engine.doctor().unwrap();
    assert!(findings.iter().any(|finding| finding.command == "unforget reindex pi:s"), "{findings:?}");
    engine.reindex(id).unwrap();
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
    assert_eq!(engine.doctor().unwrap(), []);
}

/// What a live host delivers never was a file that an import could have left unfinished.
#[test]
fn doctor_has_nothing_to_mend_in_a_live_hosts_lanes() {
    let host = host();
    for name in ["one", "two"] {
        let messages = [user("a question", 1), answer("an answer", 2)];
        host.commit_turn(&lane(name), PI, turn("t", &messages)).unwrap();
    }
    assert_eq!(host.engine().doctor().unwrap(), []);
}

/// A pipe that nobody writes to has nothing, and is not waited for.
#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_holds_nobody_up() {
    let (engine, folder) = engine();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(engine.import_file(&pipe, &mut |_| ()).is_err(), "it is no transcript");
    assert!(unforget_guard::inspect(&pipe).is_err());
}

#[test]
fn doctor_sees_a_file_that_went_on() {
    let (engine, folder) = engine();
    let file = folder.path().join("a session.jsonl");
    fs::write(&file, Session::new("s").says("ab").text()).unwrap();
    engine.import_file(&file, &mut |_| ()).unwrap();
    assert_eq!(engine.doctor().unwrap(), []);
    fs::write(&file, Session::new("s").says("abcd").text()).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
    let findings = engine.doctor().unwrap();
    assert!(findings[0].command.starts_with("unforget import '"), "{findings:?}");
    engine.import_file(&file, &mut |_| ()).unwrap();
    assert_eq!(engine.doctor().unwrap(), []);
}
