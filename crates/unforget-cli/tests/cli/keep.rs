//! `unforget keep`: every session of a machine is kept, and what its agent deletes before is told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::{Place, binary, text};

/// The session that sorts behind all others: `keep` takes it last.
const LAST: &str = ".pi/agent/sessions/--zz--/last.jsonl";

/// How often a test looks whether everything is kept.
const LOOKS: usize = 400;

/// Number of sessions of the day, and of its hours.
const SESSIONS: usize = 24;
const HOURS: usize = 24;

/// `unforget keep --foreground` in the background. It is killed when it is dropped.
struct Keeper {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Keeper {
    fn start(place: &Place) -> Self {
        Self::of(place, "store.sqlite")
    }

    fn of(place: &Place, database: &str) -> Self {
        let mut command = Command::new(binary());
        command.args(["keep", "--foreground", "--quiet-for", "0", "--json"]);
        command.env("HOME", place.path("")).env("UNFORGET_DB", place.path(database));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut keeper = Self { child, said };
        keeper.until("keeping", "");
        keeper
    }

    /// Waits for an event.
    fn until(&mut self, event: &str, path: &str) -> Value {
        loop {
            let line: Value = serde_json::from_str(&self.said.next().unwrap().unwrap()).unwrap();
            if line["event"] == event && line["path"].as_str().unwrap_or_default().ends_with(path) {
                return line;
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A line of Claude Code.
fn line(session: &str, number: usize) -> String {
    format!(
        "{{\"uuid\":\"{session}-{number}\",\"parentUuid\":null,\"sessionId\":\"{session}\",\"type\":\"user\",\"timestamp\":\"2026-04-01T10:00:00Z\",\"message\":{{\"role\":\"user\",\"content\":\"word {number} of {session}\"}}}}\n"
    )
}

/// A machine with sessions.
struct Day {
    place: Place,
    /// Text of each session, by its id.
    texts: BTreeMap<String, String>,
    /// Where each session is; `None` after it was deleted.
    files: BTreeMap<String, Option<PathBuf>>,
    beats: usize,
}

impl Day {
    fn new() -> Self {
        let place = Place::new();
        for folder in [".claude/projects/-w", ".claude/projects/-moved", ".pi/agent/sessions/--zz--"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        Self { place, texts: BTreeMap::new(), files: BTreeMap::new(), beats: 0 }
    }

    fn append(&mut self, session: &str, number: usize) {
        let path = self.place.path(&format!(".claude/projects/-w/{session}.jsonl"));
        let path = self.files.entry(session.to_owned()).or_insert(Some(path));
        let Some(path) = path else { return };
        let text = self.texts.entry(session.to_owned()).or_default();
        text.push_str(&line(session, number));
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        file.write_all(line(session, number).as_bytes()).unwrap();
    }

    /// Another file takes the place of a session's, with the same text and more.
    fn replace(&mut self, session: &str, number: usize) {
        let (Some(Some(path)), Some(text)) = (self.files.get(session), self.texts.get_mut(session)) else {
            return;
        };
        text.push_str(&line(session, number));
        let fresh = self.place.path("fresh");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, path).unwrap();
    }

    /// The file gets another name.
    fn rename(&mut self, session: &str) {
        if let Some(Some(path)) = self.files.get_mut(session) {
            let to = self.place.path(&format!(".claude/projects/-moved/{session}.jsonl"));
            fs::rename(&*path, &to).unwrap();
            *path = to;
        }
    }

    /// The clock jumps: the time of a file has nothing to do with that of the others.
    fn jump(&self, session: &str, by: i64) {
        if let Some(Some(path)) = self.files.get(session) {
            let by_seconds = Duration::from_secs(by.unsigned_abs());
            let now = SystemTime::now();
            let time = if by < 0 { now - by_seconds } else { now + by_seconds };
            File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
        }
    }

    fn delete(&mut self, session: &str) {
        if let Some(path) = self.files.get_mut(session).and_then(Option::take) {
            fs::remove_file(path).unwrap();
        }
    }

    /// Writes to the last session, and waits until that and everything before it is kept. A file that changes again and again
    /// has its next turn later.
    fn wait(&mut self, keeper: &mut Keeper) {
        self.beats += 1;
        let header =
            r#"{"type":"session","version":3,"id":"last","timestamp":"2026-04-01T10:00:00.000Z","cwd":"/w"}"#;
        let said = |n: usize| {
            format!(
                r#"{{"type":"message","id":"{n:08}","parentId":null,"timestamp":"2026-04-01T10:00:00.000Z","message":{{"role":"user","content":"beat {n}"}}}}"#
            )
        };
        let lines: Vec<String> =
            std::iter::once(header.to_owned()).chain((0..self.beats).map(said)).collect();
        fs::write(self.place.path("fresh"), lines.join("\n") + "\n").unwrap();
        fs::rename(self.place.path("fresh"), self.place.path(LAST)).unwrap();
        keeper.until("kept", LAST);
        let open = |_| self.place.json(&["keep"], 0)["not_kept"].clone();
        let kept = (0..LOOKS).map(open).find(|open| open.as_array().is_some_and(Vec::is_empty));
        assert!(kept.is_some(), "not kept: {}", open(0));
    }
}

#[test]
fn a_day_of_sessions_is_kept_whatever_happens() {
    let mut day = Day::new();
    let mut keeper = Keeper::start(&day.place);
    let mut number = 0;
    for hour in 0..HOURS {
        for at in 0..SESSIONS / 3 {
            number += 1;
            let session = format!("s{:02}", (hour * 7 + at * 5) % SESSIONS);
            match (hour + at) % 9 {
                0 => day.replace(&session, number),
                1 => day.rename(&session),
                2 => day.jump(&session, if at % 2 == 0 { -400_000 } else { 400_000 }),
                _ => day.append(&session, number),
            }
        }
        if hour % 8 == 5 {
            // In the middle of its work.
            drop(keeper);
            day.append("s00", 1_000 + hour);
            keeper = Keeper::start(&day.place);
        }
        if hour % 6 == 3 {
            day.wait(&mut keeper);
            day.delete(&format!("s{hour:02}"));
        }
    }
    day.wait(&mut keeper);
    let told = day.place.json(&["keep"], 0);
    assert_eq!((&told["running"], told["not_kept"].as_array().unwrap().len()), (&true.into(), 0), "{told}");
    assert_eq!(told["pid"], keeper.child.id());
    let deleted = day.files.values().filter(|path| path.is_none()).count();
    assert!(deleted > 1, "{deleted} of {}", day.files.len());
    for (session, want) in &day.texts {
        let kept = day.place.run(&["export", &format!("claude-code:{session}")], 0).stdout;
        assert_eq!(&text(&kept), want, "{session}");
    }
    let refused = text(&day.place.run(&["keep", "--foreground"], 3).stderr);
    assert!(refused.contains(&format!("process {}", keeper.child.id())), "{refused}");
    drop(keeper);
    day.place.run(&["verify"], 0);
    assert_eq!(day.place.json(&["keep"], 0)["running"], false);
}

#[test]
fn a_folder_that_comes_later_is_kept_at_the_next_start() {
    let day = Day::new();
    fs::remove_dir_all(day.place.path(".pi")).unwrap();
    let keeper = Keeper::start(&day.place);
    fs::create_dir_all(day.place.path(".codex/sessions/2026")).unwrap();
    let meta = r#"{"timestamp":"2026-04-01T10:00:00.000Z","type":"session_meta","payload":{"id":"019c","timestamp":"2026-04-01T10:00:00.000Z","cwd":"/w"}}"#;
    fs::write(day.place.path(".codex/sessions/2026/r.jsonl"), format!("{meta}\n")).unwrap();
    drop(keeper);
    let mut keeper = Keeper::start(&day.place);
    keeper.until("kept", "r.jsonl");
}

fn aged(path: &Path, days: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, line("old", 1)).unwrap();
    let time = SystemTime::now() - Duration::from_secs(days * 86_400);
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_an_agent_deletes_before_it_is_kept_is_told() {
    let place = Place::new();
    let old = place.path(".claude/projects/-w/old.jsonl");
    for (days, settings, exit, why) in [
        (10, "", 0, "there is time"),
        (27, "", 1, "three days are left"),
        (40, "", 1, "it may be deleted now"),
        (40, r#"{"cleanupPeriodDays":365}"#, 0, "this person keeps them longer"),
        (10, r#"{"cleanupPeriodDays":14}"#, 1, "or not as long"),
    ] {
        aged(&old, days);
        place.write(".claude/settings.json", settings);
        let told = place.json(&["keep"], exit);
        assert_eq!(told["at_risk"].as_array().unwrap().len() as i32, exit, "{why}: {told}");
        assert_eq!(told["not_kept"].as_array().unwrap().len(), 1, "{why}: {told}");
    }
    let shown = text(&place.run(&["keep"], 1).stdout);
    assert!(shown.contains("Claude Code") && shown.contains("old.jsonl"), "{shown}");
    place.run(&["import", "--discover", "--yes", "-q"], 0);
    let told = place.json(&["keep"], 0);
    assert_eq!((&told["hosts"][0]["kept"], &told["running"]), (&1.into(), &false.into()), "{told}");
    // A file that is no transcript is nothing to keep.
    aged(&place.path(".claude/projects/-w/other.jsonl"), 40);
    fs::write(place.path(".claude/projects/-w/other.jsonl"), "not JSON\n").unwrap();
    place.run(&["keep"], 0);
}

#[test]
fn a_file_that_is_not_stored_is_not_kept() {
    let place = Place::new();
    let path = place.path(".claude/projects/-w/begun.jsonl");
    aged(&path, 35);
    let begun = line("old", 1);
    fs::write(&path, &begun[..begun.len() / 2]).unwrap();
    let old = SystemTime::now() - Duration::from_hours(35 * 24);
    File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    place.run(&["import", "--discover", "--yes", "-q"], 3);
    let told = place.json(&["keep"], 1);
    let counts = |name: &str| told[name].as_array().unwrap().len();
    assert_eq!(
        (&told["hosts"][0]["kept"], counts("not_kept"), counts("at_risk")),
        (&0.into(), 1, 1),
        "{told}"
    );
    // What holds no record, and an empty file, is nothing to keep.
    for nothing in ["", "words\n"] {
        fs::write(&path, nothing).unwrap();
        place.run(&["keep"], 0);
    }
}

#[test]
fn each_database_has_a_keeper_of_its_own() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    let other = place.path("other.sqlite").display().to_string();
    assert_eq!(place.json(&["keep"], 0)["pid"], keeper.child.id());
    let told = place.json(&["keep", "--db", &other], 0);
    assert_eq!((&told["running"], &told["pid"]), (&false.into(), &Value::Null), "{told}");
    let second = Keeper::of(&place, "other.sqlite");
    assert_eq!(place.json(&["keep", "--db", &other], 0)["pid"], second.child.id());
    place.run(&["keep", "--foreground"], 3);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let folder = place.path(".claude/projects/-w");
    aged(&folder.join("old.jsonl"), 1);
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o000);
    // Root reads everything.
    let is_readable = fs::read_dir(&folder).is_ok();
    let told = place.json(&["keep"], 0);
    mode(0o755);
    let unreadable = told["unreadable"].as_array().unwrap().len();
    assert_eq!(unreadable, usize::from(!is_readable), "{told}");
}
