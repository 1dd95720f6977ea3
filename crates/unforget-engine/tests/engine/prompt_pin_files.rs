//! Pins that follow files: what a file says is in the prompt from the next break on, and not before.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::host::{PI, answer, call, host, lane, result, turn, user};
use tempfile::TempDir;
use unforget_core::id::{ConversationId, ConversationKey, Timestamp};
use unforget_core::pin::{Followed, PinId, PinState, Trouble};
use unforget_engine::EngineError;
use unforget_engine::host::{Ask, Assembled, Event, Host, LaneKey};
use unforget_wire::Dialect;

const NOW: Timestamp = Timestamp(7);

/// A lane of a host, and a folder with files.
struct Place {
    host: Host,
    lane: LaneKey,
    folder: TempDir,
    turns: i64,
    ask: Ask,
}

impl Place {
    fn new(window: u64) -> Self {
        let (host, lane) = (host(), lane("filed"));
        host.open(&lane, PI).unwrap();
        let ask = Ask::new(window, Dialect::Pi);
        Self { host, lane, folder: tempfile::tempdir().unwrap(), turns: 0, ask }
    }

    fn id(&self) -> ConversationId {
        let key = ConversationKey(self.host.status(&self.lane, PI).unwrap().conversation);
        self.host.engine().store().find(&key).unwrap().unwrap().id
    }

    /// Writes a file; its path.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = fs::canonicalize(self.folder.path()).unwrap().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn pin(&self, path: &std::path::Path) -> Result<PinId, EngineError> {
        self.host.engine().pin_file(self.id(), path, None, NOW)
    }

    /// A turn with one prompt, made before its answer.
    fn turn(&mut self) -> Assembled {
        self.turns += 1;
        let n = self.turns;
        let (key, id) = (n.to_string(), format!("c{n}"));
        let output = "a line of output that says something\n".repeat(60);
        let mut messages = vec![
            user(&format!("question {n}"), n * 10),
            call(&id, n * 10 + 1),
            result(&id, &output, n * 10 + 2),
        ];
        self.host.begin_turn(&self.lane, PI, turn(&key, &messages)).unwrap();
        let made = self.host.assemble(&self.lane, PI, &self.ask).unwrap();
        messages.push(answer(&format!("answer {n}"), n * 10 + 3));
        self.host.commit_turn(&self.lane, PI, turn(&key, &messages)).unwrap();
        made
    }

    /// Turns until a prompt breaks; the prompts before that one, and that one.
    fn until_break(&mut self) -> (Vec<Assembled>, Assembled) {
        let mut before = Vec::new();
        for _ in 0..60 {
            let made = self.turn();
            if made.broken.is_some() {
                return (before, made);
            }
            before.push(made);
        }
        panic!("no break in 60 turns");
    }
}

fn says(made: &Assembled, words: &str) -> usize {
    made.messages.concat().matches(words).count()
}

#[test]
fn a_change_of_a_file_is_in_the_prompt_after_the_next_break_and_not_before() {
    let mut place = Place::new(12_000);
    let path = place.write("CLAUDE.md", "Never touch the weir.\n");
    let first = place.pin(&path).unwrap();
    let made = place.turn();
    assert_eq!((says(&made, "Never touch the weir."), made.certificate.pins.clone()), (1, vec![first]));
    let mut sent = vec![made];
    place.write("CLAUDE.md", "Never touch the boathouse.\n");
    let (before, broken) = place.until_break();
    assert!(before.len() > 1, "calls that keep their prefix: {}", before.len());
    sent.extend(before);
    for two in sent.windows(2) {
        let (old, new) = (&two[0].messages, &two[1].messages);
        assert_eq!(old[..], new[..old.len()], "the prompt before is the beginning of the next");
        assert_eq!((says(&two[1], "weir"), says(&two[1], "boathouse")), (1, 0));
    }
    assert_eq!(broken.broken.unwrap().cause.name(), "compaction", "the prefix changed anyway");
    assert_eq!((says(&broken, "Never touch the weir"), says(&broken, "Never touch the boathouse.")), (0, 1));
    let changed = Followed::Changed { path: path.display().to_string(), pin: PinId(2) };
    assert_eq!((broken.followed, broken.certificate.pins), (vec![changed], vec![PinId(2)]));
    let next = place.turn();
    assert_eq!(next.broken, None, "it broke once");
    let rows = place.host.pins(&place.lane, PI).unwrap();
    assert_eq!(rows[0].pin.state, PinState::SupersededBy(PinId(2)), "what it said is kept");
    sent.extend([next]);
    for made in sent {
        let rebuilt = place.host.engine().rebuild(place.id(), made.recipe.unwrap()).unwrap();
        assert_eq!((rebuilt.messages, rebuilt.is_same), (made.messages, true), "composed again");
    }
}

#[test]
fn other_prompts_of_the_conversation_keep_their_beginnings_too() {
    let mut place = Place::new(12_000);
    let path = place.write("A.md", "one rule");
    place.pin(&path).unwrap();
    let wide = Ask::new(100_000, Dialect::Pi);
    place.turn();
    let one = place.host.assemble(&place.lane, PI, &wide).unwrap();
    place.write("A.md", "another rule");
    let (_, broken) = place.until_break();
    assert_eq!((says(&broken, "one rule"), says(&broken, "another rule")), (0, 1));
    let two = place.host.assemble(&place.lane, PI, &wide).unwrap();
    assert_eq!((two.broken, says(&two, "one rule"), says(&two, "another rule")), (None, 1, 0));
    assert_eq!(one.messages[..], two.messages[..one.messages.len()]);
    place.host.close(&place.lane);
    let opened = place.host.assemble(&place.lane, PI, &wide).unwrap();
    assert_eq!((says(&opened, "one rule"), says(&opened, "another rule")), (0, 1), "opened: read");
    place.host.engine().pin(place.id(), "a typed rule", None, NOW).unwrap();
    place.write("A.md", "a third rule");
    let typed = place.host.assemble(&place.lane, PI, &wide).unwrap();
    assert_eq!(typed.broken.unwrap().cause.name(), "pins");
    assert_eq!(
        (says(&typed, "a typed rule"), says(&typed, "a third rule")),
        (1, 1),
        "a break like any other"
    );
}

#[test]
fn trouble_is_told_and_the_last_content_stays() {
    let mut place = Place::new(12_000);
    let path = place.write("A.md", "never push to main");
    let pin = place.pin(&path).unwrap();
    place.turn();
    let large = "x".repeat(32 * 1024 + 1);
    let steps: [(&dyn Fn(), Trouble); 6] = [
        (&|| fs::remove_file(&path).unwrap(), Trouble::Gone),
        (&|| fs::create_dir(&path).unwrap(), Trouble::Folder),
        (&|| fs::remove_dir(&path).and_then(|()| fs::write(&path, b"\xff")).unwrap(), Trouble::NotText),
        (&|| fs::write(&path, &large).unwrap(), Trouble::TooLarge),
        (&|| fs::write(&path, " \n").unwrap(), Trouble::Blank),
        (
            &|| {
                let other = path.with_extension("txt");
                fs::rename(&path, &other).unwrap();
                #[cfg(unix)]
                std::os::unix::fs::symlink(&other, &path).unwrap();
            },
            if cfg!(unix) { Trouble::Link } else { Trouble::Gone },
        ),
    ];
    for (change, trouble) in steps {
        change();
        let (before, broken) = place.until_break();
        assert!(before.iter().all(|made| made.followed.is_empty()));
        let told = Followed::Troubled { path: path.display().to_string(), pin, trouble };
        assert_eq!(broken.followed, [told]);
        assert_eq!(says(&broken, "never push to main"), 1, "{trouble:?}");
        let files = place.host.engine().followed_files(place.id()).unwrap();
        assert_eq!((files[0].file.trouble, files[0].read), (Some(trouble), NOW));
        let (_, again) = place.until_break();
        assert_eq!(again.followed, [], "told once");
    }
    fs::remove_file(&path).ok();
    place.write("A.md", "never push to main");
    let mended = Followed::Mended { path: path.display().to_string(), pin };
    assert_eq!(place.until_break().1.followed, [mended]);
    assert_eq!(place.host.engine().followed_files(place.id()).unwrap()[0].file.trouble, None);
}

#[test]
fn what_cannot_be_pinned_is_an_error_and_changes_nothing() {
    let place = Place::new(12_000);
    let gone = place.folder.path().join("nobody");
    let error = place.pin(&gone).unwrap_err();
    assert!(matches!(error, EngineError::PinFile { trouble: Trouble::Gone, .. }), "{error}");
    let blank = place.pin(&place.write("blank", "\n")).unwrap_err();
    assert_eq!(blank.to_string(), "the pin has no words");
    let relative = place.pin(std::path::Path::new("CLAUDE.md")).unwrap_err();
    assert!(matches!(relative, EngineError::Usage { .. }), "{relative}");
    assert_eq!(place.host.pins(&place.lane, PI).unwrap(), []);
    assert_eq!(place.host.pin_files(&place.lane, PI).unwrap(), []);
}

#[test]
fn words_stand_once_whoever_brings_them() {
    let mut place = Place::new(12_000);
    let (one, two) =
        (place.write("CLAUDE.md", "be brief in all"), place.write("AGENTS.md", "be brief in all"));
    assert_eq!(place.pin(&one).unwrap(), place.pin(&one).unwrap(), "a file is one pin");
    place.pin(&two).unwrap();
    assert_eq!(says(&place.turn(), "be brief in all"), 1, "two files that say the same");
    place.ask.texts_beside = vec![Arc::from("# Instructions\n\nbe brief in all\n")];
    assert_eq!(says(&place.turn(), "be brief in all"), 1, "the beginning stays until a break");
    let (before, broken) = place.until_break();
    assert!(before.iter().all(|made| says(made, "be brief in all") == 1));
    assert_eq!(
        (says(&broken, "be brief in all"), broken.certificate.pins),
        (0, vec![]),
        "it stands beside it"
    );
    assert_eq!(place.turn().broken, None);
    place.write("AGENTS.md", "be thorough");
    let (before, broken) = place.until_break();
    assert!(before.iter().all(|made| says(made, "be brief in all") == 0));
    assert_eq!((says(&broken, "be brief in all"), says(&broken, "be thorough")), (0, 1));
    place.ask.texts_beside = Vec::new();
    let made = place.turn();
    assert_eq!(made.broken.unwrap().cause.name(), "pins", "nobody else says it any more");
    assert_eq!(says(&made, "be brief in all"), 1);
}

#[test]
fn a_long_file_is_shortened_where_there_is_no_room_and_that_is_told() {
    let mut place = Place::new(12_000);
    let lines: Vec<String> = (0..600).map(|n| format!("Rule {n}: keep it short and simple.")).collect();
    let path = place.write("LONG.md", &lines.join("\n"));
    place.pin(&path).unwrap();
    let made = place.turn();
    assert!(says(&made, "Rule 0:") == 1 && says(&made, "Rule 599:") == 0);
    assert_eq!(says(&made, "[shortened for room: the first "), 1, "the model is told");
    let short = &made.short_pins[0];
    assert_eq!((short.pin, short.bytes), (PinId(1), lines.join("\n").len()), "and the caller");
    assert!(
        short.shown > 2_000 && made.certificate.sections.pins.upper < 12_000 / 7,
        "{short:?} {:?}",
        made.certificate.sections.pins
    );
    place.ask.budget = 150_000;
    let made = place.turn();
    assert!(says(&made, "Rule 599:") == 1 && made.short_pins.is_empty(), "a larger window shows it whole");
}

#[test]
fn a_fork_follows_the_files_of_its_parent() {
    let mut place = Place::new(12_000);
    let path = place.write("A.md", "one rule");
    place.pin(&path).unwrap();
    place.turn();
    place.until_break();
    place.turn();
    let child = lane("forked");
    place.host.event(&child, PI, &Event::Fork { from: place.lane.clone(), until: None }).unwrap();
    let made = place.host.assemble(&child, PI, &place.ask).unwrap();
    assert_eq!(says(&made, "one rule"), 1);
    let of = |lane: &LaneKey| place.host.pin_files(lane, PI).unwrap();
    assert_eq!(of(&child), of(&place.lane));
    place.write("A.md", "another rule");
    place.host.close(&child);
    let made = place.host.assemble(&child, PI, &place.ask).unwrap();
    assert_eq!((says(&made, "one rule"), says(&made, "another rule")), (0, 1), "opened: read");
    assert_eq!(of(&place.lane)[0].file.pin, PinId(1), "the parent has a pin of its own");
}
