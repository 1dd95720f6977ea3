//! Every relation between a transcript and the store, from file to store and back.
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Session, engine, exported};
use unforget_engine::import::{Found, Imported};
use unforget_engine::{Engine, EngineError};
use unforget_store::{Append, OpenOptions, Receipt, SqliteStore, Store, StoreError, StoreLayer};

/// Writes a file and imports it; checks that the export equals the file and that a second import finds no work.
fn import(engine: &Engine, folder: &Path, text: &str) -> Imported {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let file = folder.join(format!("{}.jsonl", NUMBER.fetch_add(1, Ordering::Relaxed)));
    fs::write(&file, text).unwrap();
    let done = engine.import_file(&file, &mut |_| ()).unwrap();
    let key = done.conversation.clone();
    assert_eq!(String::from_utf8(exported(engine, &key)).unwrap(), text);
    let before = engine.store().find(&key).unwrap().unwrap();
    let again = engine.import_file_anyway(&file, &mut |_| ()).unwrap();
    assert_eq!((again.plan.name(), again.added, again.snapshot), ("up-to-date", 0, done.snapshot));
    assert_eq!(engine.store().find(&key).unwrap().unwrap(), before, "a second import changes nothing");
    done
}

/// Earlier files, the current file, plan, number of entries added (the header is one), generation, reason.
type Row<'a> = (&'a [String], String, &'a str, u64, u64, &'a str);

#[test]
fn f034_f035_f036_f095_every_plan_end_to_end() {
    let said = |words: &str| Session::new("s1").says(words).text();
    let torn = |words: &str| said(words) + "{\"type\":\"message\",\"id\"";
    let table: &[Row<'_>] = &[
        (&[], said("ab"), "first-sight", 3, 0, "never seen"),
        (&[said("ab")], said("ab"), "up-to-date", 0, 0, "the same from elsewhere"),
        (&[said("ab")], said("abcd"), "append", 2, 0, "it grew"),
        (&[torn("ab")], said("abc"), "append", 1, 0, "a half-written line was finished"),
        (&[said("ab")], torn("ab"), "trailer", 0, 0, "a line is being written"),
        (&[torn("ab")], said("ab"), "trailer", 0, 0, "and was taken back"),
        (&[said("abcd")], said("ab"), "rewind", 0, 0, "rewritten shorter"),
        (&[said("abcd"), said("ab")], said("abcd"), "rewind", 0, 0, "and long again"),
        (&[said("abcd"), said("ab")], said("abx"), "branch", 1, 1, "went on differently"),
        (&[said("abc")], said("abx"), "branch", 1, 1, "the last message was edited"),
        (&[said("abc"), said("abx")], said("abc"), "switch", 0, 0, "an older save came back"),
        (&[said("abc"), said("abx")], said("abxy"), "append", 1, 1, "the fork goes on"),
        (&[said("abc"), said("abx")], said("ab"), "switch", 0, 0, "back before the fork"),
        (&[said("abc"), said("abx")], said("abcd"), "append", 1, 0, "the first line goes on"),
        (&[said("aaaa")], said("aaaaa"), "append", 1, 0, "equal content is not a duplicate"),
        (
            &[said("ab")],
            Session::rotated("s1").says("ab").text(),
            "rotation",
            3,
            1,
            "same name, another start",
        ),
        (&[said("ab")], Session::new("s2").says("ab").text(), "first-sight", 3, 0, "another name"),
    ];
    for (before, file, plan, added, generation, why) in table {
        let (engine, folder) = engine();
        for earlier in *before {
            import(&engine, folder.path(), earlier);
        }
        let done = import(&engine, folder.path(), file);
        let got = (done.plan.name(), done.added, done.generation.0);
        assert_eq!(got, (*plan, *added, *generation), "{why}");
    }
}

/// Another session may have got the id of a longer one: nothing is lost, and somebody should know.
#[test]
fn a_shorter_file_with_nothing_in_common_is_told() {
    let (engine, folder) = engine();
    let told = |done: &Imported| {
        done.warnings.first.iter().filter(|one| one.what.contains("this session's id")).count()
    };
    let first = import(&engine, folder.path(), &Session::new("s1").says("abcd").text());
    let shorter = import(&engine, folder.path(), &Session::rotated("s1").says("x").text());
    assert_eq!((shorter.plan.name(), told(&first), told(&shorter)), ("rotation", 0, 1));
    assert!(shorter.warnings.first[0].what.contains("had 5 entries"), "{:?}", shorter.warnings.first);
    let back = import(&engine, folder.path(), &Session::new("s1").says("abcd").text());
    assert_eq!((back.plan.name(), told(&back)), ("switch", 0), "it is back");
    let grown = import(&engine, folder.path(), &Session::new("s1").says("ab").text());
    assert_eq!((grown.plan.name(), told(&grown)), ("rewind", 0), "a shorter form of the same");
}

#[test]
fn every_snapshot_stays_exportable() {
    let (engine, folder) = engine();
    let saves: Vec<String> = ["ab", "abcd", "abx", "ab", "abxyz"]
        .iter()
        .map(|words| Session::new("s").says(words).text())
        .collect();
    let mut numbers = Vec::new();
    for save in &saves {
        numbers.push(import(&engine, folder.path(), save).snapshot);
    }
    let id = engine.resolve("pi:s").unwrap().conversation.id;
    for (number, save) in numbers.iter().zip(&saves) {
        let mut bytes = Vec::new();
        let exported = engine.export(id, Some(*number), &mut bytes).unwrap();
        assert_eq!((String::from_utf8(bytes).unwrap(), exported.purged), (save.clone(), 0));
    }
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
    assert!(engine.export(id, Some(99), &mut Vec::new()).is_err());
}

#[test]
fn parents_and_lanes_are_those_of_the_file_in_every_order() {
    let saves: Vec<String> =
        ["abcdef", "abc", "abxy", "abcdz"].iter().map(|words| Session::new("s").says(words).text()).collect();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let (engine, folder) = engine();
        for index in order {
            let done = import(&engine, folder.path(), &saves[index]);
            let id = engine.resolve("pi:s").unwrap().conversation.id;
            let path = engine.store().path(id, done.generation, done.entries).unwrap();
            let seqs: Vec<u64> = path.into_iter().flatten().collect();
            let mut before = None;
            for (position, seq) in seqs.iter().enumerate() {
                let row = engine.store().rows(id, *seq..seq + 1).unwrap().remove(0);
                let want = if position <= 1 { None } else { before };
                assert_eq!(row.parent, want, "entry {position} of save {index} in order {order:?}");
                before = Some(row.seq);
            }
        }
    }
}

#[test]
fn an_untouched_file_is_not_read_again() {
    let (engine, folder) = engine();
    let file = folder.path().join("a.jsonl");
    fs::write(&file, Session::new("s").says("ab").text()).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    assert!(!engine.import_file(&file, &mut |_| ()).unwrap().skipped_unchanged);
    let again = engine.import_file(&file, &mut |_| ()).unwrap();
    assert!(again.skipped_unchanged);
    assert_eq!((again.entries, again.added, again.plan.name()), (3, 0, "up-to-date"));
    // Another file of the session was read since. An untouched file has nothing to add to it, however often both are read.
    let other = folder.path().join("b.jsonl");
    fs::write(&other, Session::new("s").says("abc").text()).unwrap();
    let other_done = engine.import_file(&other, &mut |_| ()).unwrap();
    let back = engine.import_file(&file, &mut |_| ()).unwrap();
    assert_eq!((back.skipped_unchanged, back.plan.name(), back.snapshot), (true, "up-to-date", 1));
    let stored = engine.store().find(&back.conversation).unwrap().unwrap();
    assert_eq!((stored.length, other_done.snapshot), (4, 2), "the longer file is the one that is shown");
    let asked = engine.import_file_anyway(&file, &mut |_| ()).unwrap();
    assert_eq!(
        (asked.skipped_unchanged, asked.plan.name()),
        (false, "rewind"),
        "unless somebody asks for it"
    );
}

#[test]
fn f094_damaged_lines_are_kept_and_reported() {
    let good = Session::new("s").says("abc").text();
    let lines: Vec<&str> = good.lines().collect();
    let table = [
        (format!("{}\nnot json\n{}\n", lines[0], lines[1]), "a line of something else"),
        (format!("{}\n{}\0\0\0\n{}\n", lines[0], lines[1], lines[2]), "zeros behind a line"),
        (format!("{}\n{}{}\n", lines[0], lines[1], lines[2]), "two values on a line"),
        (format!("{}\n{}\n{}", lines[0], &lines[1][..40], lines[2]), "a torn line in the middle"),
        (good.replace('\n', "\r\n"), "other line ends"),
        (format!("\u{feff}{good}\n\n  \n"), "a mark in front, blank lines behind"),
    ];
    for (text, why) in table {
        let (engine, folder) = engine();
        let done = import(&engine, folder.path(), &text);
        assert!(done.entries >= 2, "{why}");
        assert!(done.warnings.first.len() as u64 <= done.warnings.count, "{why}");
    }
}

#[test]
fn folders_go_on_after_errors() {
    let (engine, folder) = engine();
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(files.path().join("deep")).unwrap();
    fs::write(files.path().join("a.jsonl"), Session::new("a").says("ab").text()).unwrap();
    fs::write(files.path().join("b.txt"), "hello").unwrap();
    let inside = Engine::open(&files.path().join("deep/unforget.db")).unwrap();
    inside.import_reader(Session::new("z").says("ab").text().as_bytes(), "z").unwrap();
    fs::write(files.path().join("deep/c.jsonl"), Session::new("c").says("ab").text()).unwrap();
    let missing = folder.path().join("missing.jsonl");
    let mut seen = Vec::new();
    engine.import_paths(&[missing, files.path().into()], false, &mut |_| (), &mut |path, found| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        seen.push((
            name,
            match found {
                Found::Imported(done) => done.added.to_string(),
                Found::Skipped(_) => "skipped".to_owned(),
                Found::Failed(EngineError::File { .. }) => "no file".to_owned(),
                Found::Failed(error) => error.to_string(),
            },
        ));
    });
    let databases = seen.iter().filter(|(name, _)| name.starts_with("unforget.db"));
    assert!(
        databases.clone().count() >= 3 && databases.clone().all(|(_, what)| what == "skipped"),
        "F082: {seen:?}"
    );
    seen.retain(|(name, _)| !name.starts_with("unforget.db"));
    let want = [("missing.jsonl", "no file"), ("a.jsonl", "3"), ("b.txt", "skipped"), ("c.jsonl", "3")];
    assert_eq!(seen, want.map(|(name, what)| (name.to_owned(), what.to_owned())));
}

#[test]
fn f096_batches_of_many_transactions_are_one_file() {
    let words: String = (0..400).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let filler = "lorem ipsum dolor sit amet ".repeat(1200);
    let text = Session::new("big").says(&words).text().replace("\"word a\"", &format!("\"word a {filler}\""));
    let text = text.replace("\"word b\"", &format!("\"{}\"", "x".repeat(9_000_000)));
    let text = text.lines().take(60).collect::<Vec<_>>().join("\n") + "\n";
    assert!(text.len() > 20_000_000);
    let (engine, folder) = engine();
    let done = import(&engine, folder.path(), &text);
    assert_eq!(done.added, 60);
    assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
}

/// A killed import is repeated. The child is this test binary; see `child_imports`.
#[test]
fn i21_kill_9_at_any_moment_changes_nothing_in_the_end() {
    let kills: u32 = std::env::var("UNFORGET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(30);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big.jsonl");
    let filler = "the quick brown fox jumps over the lazy dog ".repeat(400);
    let text = Session::new("big").says(&"abcdefghij".repeat(130)).text().replace("word c", &filler);
    let text = text.replace("word f", &filler.replace("fox", "cat"));
    fs::write(&file, text.replace("word h", &filler.to_uppercase())).unwrap();
    let (whole, _folder) = engine();
    whole.import_file(&file, &mut |_| ()).unwrap();
    let want = whole.digest().unwrap();
    let mut died = 0;
    for kill in 0..kills {
        let db = folder.path().join(format!("{}.db", kill / 3));
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "import_plans::child_imports", "--nocapture"])
            .env("UNFORGET_CHILD", format!("{}\n{}", db.display(), file.display()))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        kill_after(&mut child, kill);
        died += u32::from(!child.wait().unwrap().success());
        let engine = Engine::open(&db).unwrap();
        assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, [], "after kill {kill}");
        if kill % 3 == 2 {
            let done = engine.import_file(&file, &mut |_| ()).unwrap();
            assert_eq!(engine.digest().unwrap(), want, "after kill {kill}");
            assert!(exported(&engine, &done.conversation) == fs::read(&file).unwrap());
            assert_eq!(engine.verify(&mut |_, _| ()).unwrap().problems, []);
        }
    }
    assert!(died > kills / 3, "only {died} of {kills} died while they worked");
}

/// Kills the child after a number of reported steps that depends on `kill`: moments spread over its work without a
/// clock.
fn kill_after(child: &mut std::process::Child, kill: u32) {
    use std::io::BufRead;
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok).filter(|line| line.contains("step")).take(kill as usize % 27) {
        drop(line);
    }
    child.kill().ok();
}

/// Not a test of its own: the process that `i21_kill_9_at_any_moment_changes_nothing_in_the_end` kills.
#[test]
fn child_imports() {
    let Ok(task) = std::env::var("UNFORGET_CHILD") else { return };
    let (db, file) = task.split_once('\n').unwrap();
    let options = OpenOptions { relaxed_durability: true, ..OpenOptions::default() };
    let engine = Engine::on(Arc::new(SqliteStore::open(Path::new(db), &options).unwrap()));
    println!("\nstep open");
    engine.import_file(Path::new(file), &mut |progress| println!("\nstep {}", progress.bytes)).unwrap();
    println!("\nstep done");
}

/// A store to which another process writes before some appends.
struct Overtaken {
    inner: Engine,
    times: AtomicU64,
}

impl StoreLayer for Overtaken {
    fn inner(&self) -> &dyn Store {
        self.inner.store()
    }

    fn append(&self, append: Append) -> unforget_store::Result<Receipt> {
        let left = self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if left.is_ok() {
            let (id, expected) = (append.conversation, append.entries);
            return Err(StoreError::Overtaken { id, expected, found: expected + 1 });
        }
        self.inner().append(append)
    }
}

#[test]
fn an_import_that_was_overtaken_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.jsonl");
    fs::write(&file, Session::new("s1").says("abcd").text()).unwrap();
    for (times, is_done) in [(0, true), (1, true), (4, true), (99, false)] {
        let store = Overtaken { inner: Engine::in_memory(), times: AtomicU64::new(times) };
        let engine = Engine::on(Arc::new(store));
        let done = engine.import_file(&file, &mut |_| ());
        assert_eq!(done.is_ok(), is_done, "{times}: {done:?}");
        if let Ok(done) = done {
            let exported = exported(&engine, &done.conversation);
            assert_eq!(String::from_utf8(exported).unwrap(), fs::read_to_string(&file).unwrap());
        }
    }
}
