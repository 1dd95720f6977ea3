//! What people say of histories travels: every machine shows the same, in whatever order they meet.

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;

use proptest::prelude::*;
use unforget_core::id::{Seq, Timestamp};
use unforget_engine::recall::NewVerdict;
use unforget_engine::{LabelChange, NewRaised};
use unforget_store::{LabelRow, VerdictRow};
use unforget_sync::{HistorySource as _, LocalHistory, PipeHistory, SyncFolder, serve_history};

use crate::machine::{Machine, key, session, words};

/// What a person does.
#[derive(Clone, Debug)]
enum Word {
    Title(Option<u8>),
    Star(bool),
    Tag(u8),
    Untag(u8),
    Reject { entry: u64, why: u8 },
    TakeVerdictBack,
    PutBack { first: u64, more: u64 },
    TakeRaisedBack,
}

#[derive(Clone, Debug)]
enum Step {
    /// A person says something on a machine. Its clock is so many ms off.
    Say { machine: usize, session: usize, word: Word, skew: i64 },
    /// A machine takes from another one.
    Meet { machine: usize, other: usize },
    /// A machine meets the shared folder.
    Folder { machine: usize },
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        prop::option::of(0_u8..4).prop_map(Word::Title),
        any::<bool>().prop_map(Word::Star),
        (0_u8..4).prop_map(Word::Tag),
        (0_u8..4).prop_map(Word::Untag),
        (1_u64..6, 0_u8..3).prop_map(|(entry, why)| Word::Reject { entry, why }),
        Just(Word::TakeVerdictBack),
        (1_u64..6, 0_u64..3).prop_map(|(first, more)| Word::PutBack { first, more }),
        Just(Word::TakeRaisedBack),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 0..2_usize, word(), -40_i64..40)
            .prop_map(|(machine, session, word, skew)| Step::Say { machine, session, word, skew }),
        2 => (0..3_usize, 0..3_usize).prop_map(|(machine, other)| Step::Meet { machine, other }),
        1 => (0..3_usize).prop_map(|machine| Step::Folder { machine }),
    ]
}

impl Machine {
    fn say(&self, name: &str, word: &Word, now: Timestamp) {
        let engine = &self.engine;
        let Some(stored) = engine.store().find(&key(name)).unwrap() else { return };
        let id = stored.id;
        let change = |change: LabelChange| drop(engine.change_label(id, &change, now).unwrap());
        match word {
            Word::Title(title) => {
                let title = title.map(|title| format!("Title {title}")).unwrap_or_default();
                change(LabelChange { title: Some(title), ..LabelChange::default() });
            }
            Word::Star(star) => change(LabelChange::star(*star)),
            Word::Tag(tag) => change(LabelChange { tags: vec![format!("t{tag}")], ..LabelChange::default() }),
            Word::Untag(tag) => {
                change(LabelChange { untags: vec![format!("t{tag}")], ..LabelChange::default() });
            }
            Word::Reject { entry, why } => {
                let why = format!("reason {why}");
                let new = NewVerdict { line: None, why: &why, instead: Some("s:1"), author: "ann" };
                engine.reject(id, Seq(*entry), &new, now).unwrap();
            }
            Word::TakeVerdictBack => {
                let standing = engine.verdicts(id).unwrap().into_iter().find(VerdictRow::is_standing);
                if let Some(row) = standing {
                    engine.withdraw_verdict(id, row.number, now).unwrap();
                }
            }
            Word::PutBack { first, more } => {
                let new = NewRaised { first: Seq(*first), last: Seq(first + more), author: "bea" };
                engine.raise(id, &new, now).unwrap();
            }
            Word::TakeRaisedBack => {
                let rows = engine.raised(id).unwrap();
                if let Some(row) = rows.into_iter().find(unforget_store::RaisedRow::is_standing) {
                    engine.lower(id, row.number, now).unwrap();
                }
            }
        }
    }

    /// Digests of all sayings, by conversation, in order.
    fn sayings(&self) -> Vec<String> {
        let mut all = Vec::new();
        for sent in
            LocalHistory::new(&self.engine).sayings(&unforget_sync::KnownSayings::new()).unwrap().unwrap()
        {
            all.push(format!("{} {}", sent.key, unforget_core::digest::Digest::of(&sent.body).hex()));
        }
        all.sort();
        all
    }

    /// Labels, verdicts and raised spans, with entries named by their chain, in order.
    fn shown(&self) -> Vec<String> {
        let store = self.engine.store();
        let mut all = Vec::new();
        for stored in unforget_store::read_all(|page| store.conversations(page)).unwrap() {
            let chain = |seq: Seq| store.rows(stored.id, seq.0..seq.0 + 1).unwrap()[0].chain.0.hex();
            let label = self.engine.label(stored.id).unwrap();
            all.push(format!("{} {:?} {} {:?}", stored.key, label.title, label.is_starred, label.tags));
            for row in self.engine.verdicts(stored.id).unwrap() {
                let instead = row
                    .instead
                    .as_ref()
                    .map(|name| chain(Seq(name.rsplit(':').next().unwrap().parse().unwrap())));
                let (at, why, stands) = (chain(row.seq), &row.why, row.is_standing());
                all.push(format!("{} {at} {why} {} {instead:?} {stands}", stored.key, row.made.0));
            }
            for row in self.engine.raised(stored.id).unwrap() {
                let (first, last) = (chain(row.span.0), chain(row.span.1));
                all.push(format!("{} {first} {last} {} {}", stored.key, row.made.0, row.is_standing()));
            }
        }
        all.sort();
        all
    }

    fn meet(&self, other: &Self) {
        assert_eq!(self.take(&mut LocalHistory::new(&other.engine), false).0.left, 0);
    }
}

/// Two sessions that three machines know in part, and went on with differently: their entries have other numbers everywhere.
fn machines() -> [Machine; 3] {
    let all = [Machine::new(), Machine::new(), Machine::new()];
    for (at, machine) in all.iter().enumerate() {
        for name in ["s0", "s1"] {
            let mut said = words(6, "heron");
            said.extend(words(at + 1, &format!("of machine {at}")));
            machine.has(&session(name, &said));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever people say on three machines whose clocks are off, and in whatever order these meet: in the end all have the same
    /// sayings and show the same, no transcript changed, and one more meeting changes nothing.
    #[test]
    fn machines_end_with_the_same_words_of_people(steps in prop::collection::vec(step(), 1..30)) {
        let folder = tempfile::tempdir().unwrap();
        let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
        let machines = machines();
        let mut now = 1_000;
        for step in steps {
            now += 10;
            match step {
                Step::Say { machine, session, word, skew } => {
                    machines[machine].say(&format!("s{session}"), &word, Timestamp(now + skew));
                }
                Step::Meet { machine, other } if machine != other => machines[machine].meet(&machines[other]),
                Step::Meet { .. } => {}
                Step::Folder { machine } => {
                    machines[machine].sync(&mut shared);
                }
            }
        }
        for _ in 0..3 {
            for (one, other) in [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)] {
                machines[one].meet(&machines[other]);
            }
        }
        let (sayings, shown) = (machines[0].sayings(), machines[0].shown());
        for machine in &machines {
            prop_assert_eq!(machine.sayings(), sayings.clone());
            prop_assert_eq!(machine.shown(), shown.clone());
            machine.is_sound();
            let taken = machine.take(&mut LocalHistory::new(&machines[1].engine), false).0;
            prop_assert_eq!((taken.sayings, taken.entries), (0, 0), "one more meeting");
            machine.sync(&mut shared);
        }
        let late = Machine::new();
        late.sync(&mut shared);
        prop_assert_eq!(late.shown(), shown, "a machine that comes late to the folder");
        for machine in &machines {
            prop_assert_eq!(machine.sync(&mut shared).sayings, 0, "and brings nothing new");
        }
    }
}

const NOW: Timestamp = Timestamp(5_000);

fn two() -> (Machine, Machine) {
    let (ann, bea) = (Machine::new(), Machine::new());
    ann.has(&session("s1", &words(8, "heron")));
    bea.meet(&ann);
    (ann, bea)
}

fn reject(machine: &Machine, entry: u64) {
    machine.say("s1", &Word::Reject { entry, why: 1 }, NOW);
}

#[test]
fn what_was_said_before_sayings_were_noted_travels_too() {
    let (ann, bea) = two();
    let store = ann.engine.store();
    let id = store.find(&key("s1")).unwrap().unwrap().id;
    // As an older program wrote them.
    let label = LabelRow {
        title: Some("Herons".to_owned()),
        is_starred: true,
        tags: ["birds".to_owned()].into(),
        changed: Timestamp(70),
        ..LabelRow::blank(id)
    };
    assert!(store.put_label(id, &LabelRow::blank(id), &label).unwrap());
    let verdict = VerdictRow {
        number: 0,
        seq: Seq(3),
        line: Some("heron 2".to_owned()),
        why: "it was a crane".to_owned(),
        instead: None,
        author: "ann".to_owned(),
        made: Timestamp(80),
        withdrawn: None,
    };
    let number = store.put_verdict(id, &verdict).unwrap();
    assert!(store.withdraw_verdict(id, number, Timestamp(90)).unwrap());
    bea.meet(&ann);
    assert_eq!(bea.shown(), ann.shown());
    assert_eq!(bea.sayings(), ann.sayings());
    let other = bea.engine.store().find(&key("s1")).unwrap().unwrap().id;
    assert_eq!(bea.engine.label(other).unwrap(), LabelRow { conversation: other, ..label });
    assert_eq!(bea.engine.verdicts(other).unwrap()[0].withdrawn, Some(Timestamp(90)));
    ann.meet(&bea);
    assert_eq!(ann.take(&mut LocalHistory::new(&bea.engine), false).0.sayings, 0);
}

#[test]
fn a_word_on_a_purged_entry_goes_and_does_not_come_back() {
    let (ann, bea) = two();
    reject(&ann, 3);
    ann.say("s1", &Word::TakeVerdictBack, NOW);
    reject(&ann, 4);
    ann.say("s1", &Word::Star(true), NOW);
    bea.meet(&ann);
    assert_eq!(bea.sayings().len(), 4);
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    bea.put(&mut shared);
    let said = |range: Range<usize>| {
        let files = walk(folder.path()).into_iter().filter(|name| is_saying(Path::new(name)));
        assert!(range.contains(&files.count()), "{:?}", walk(folder.path()));
    };
    said(4..5);
    ann.purge("s1", 3..4);
    assert_eq!(ann.sayings().len(), 2, "the verdict and that it was taken back are gone");
    ann.meet(&bea);
    assert_eq!(ann.sayings().len(), 2, "the other machine has them, and they do not come back");
    ann.put(&mut shared);
    said(2..3);
    bea.put(&mut shared);
    said(2..3);
    // The other machine purges too, and has as little.
    bea.take(&mut LocalHistory::new(&ann.engine), true);
    assert_eq!(bea.sayings(), ann.sayings());
    assert_eq!(bea.shown(), ann.shown());
}

fn is_saying(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "said")
}

/// Names of all files.
fn walk(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            names.extend(walk(&entry.path()));
        } else {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names
}

#[test]
fn the_newest_word_counts_although_its_clock_is_slow() {
    let (ann, bea) = two();
    ann.say("s1", &Word::Title(Some(1)), Timestamp(9_000));
    bea.meet(&ann);
    bea.say("s1", &Word::Title(Some(2)), Timestamp(1_000));
    ann.meet(&bea);
    assert_eq!(ann.shown(), bea.shown());
    assert!(ann.shown()[0].contains("Title 2"), "{:?}", ann.shown());
}

#[test]
fn words_about_what_is_not_here_wait_and_broken_ones_are_told() {
    let (ann, bea) = two();
    reject(&ann, 3);
    let sent = LocalHistory::new(&ann.engine).sayings(&unforget_sync::KnownSayings::new()).unwrap().unwrap();
    let bodies: Vec<Vec<u8>> = sent.iter().map(|one| one.body.clone()).collect();
    let carol = Machine::new();
    let taken = carol.engine.take_sayings(&key("s1"), &bodies).unwrap();
    assert_eq!((taken.added, taken.absent), (0, 1), "no such conversation");
    carol.has(&session("s1", &words(1, "heron")));
    assert_eq!(carol.engine.take_sayings(&key("s1"), &bodies).unwrap().absent, 1, "no such entry");
    carol.has(&session("s1", &words(8, "heron")));
    assert_eq!(carol.engine.take_sayings(&key("s1"), &bodies).unwrap().added, 1);
    assert_eq!(carol.engine.take_sayings(&key("s1"), &bodies).unwrap().added, 0, "each once");
    let broken = [b"{}".to_vec(), b"\xff".to_vec(), vec![b'x'; 100_000]];
    let taken = bea.engine.take_sayings(&key("s1"), &broken).unwrap();
    assert_eq!((taken.added, taken.unfit), (0, 3));
    // A file that is not what its name says is told, and the others are taken.
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), Some("nine blue herons"), false).unwrap();
    reject(&ann, 4);
    ann.put(&mut shared);
    let histories =
        std::fs::read_dir(folder.path().join("histories")).unwrap().next().unwrap().unwrap().path();
    let files = std::fs::read_dir(&histories).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| is_saying(path)).unwrap();
    let mut content = std::fs::read(&file).unwrap();
    *content.last_mut().unwrap() ^= 1;
    std::fs::write(&file, content).unwrap();
    let taken = bea.take(&mut shared, false).0;
    assert_eq!((taken.sayings, shared.damaged()), (1, [file].as_slice()));
}

#[test]
fn a_program_that_is_older_than_sayings_is_met_and_told() {
    let (ann, _) = two();
    reject(&ann, 3);
    // An older program answers: its greeting says nothing of sayings, and it would not know the question.
    let answers = "{\"unforget-sync\":1}\n{\"answer\":\"done\"}\n{\"answer\":\"done\"}\n";
    let mut asked = Vec::new();
    let mut there = PipeHistory::begin(Cursor::new(answers), &mut asked).unwrap();
    let (taken, told) = ann.take(&mut there, false);
    assert_eq!((taken.left, told), (0, vec!["no sayings".to_owned()]));
    let asked = String::from_utf8(asked).unwrap();
    assert!(!asked.contains("\"ask\":\"sayings\""), "{asked}");
    // An older program asks.
    let asks = concat!(
        "{\"unforget-sync\":1}\n{\"ask\":\"tips\"}\n",
        "{\"ask\":\"end\",\"taken\":{\"conversations\":1,\"grown\":0,\"waiting\":0,\"entries\":0,\"purged\":0,\"kept\":0,\"left\":0}}\n"
    );
    let mut said = Vec::new();
    let served =
        serve_history(&mut LocalHistory::new(&ann.engine), &mut Cursor::new(asks), &mut said, true).unwrap();
    assert!(!served.peer.has_sayings && served.taken.conversations == 1);
    assert!(
        String::from_utf8(said).unwrap().starts_with("{\"unforget-sync\":1"),
        "the number is the one that it knows"
    );
}
