//! Two machines at the ends of a pipe.

use std::io::{BufReader, Cursor, PipeReader, PipeWriter, pipe};
use std::thread;

use unforget_sync::{
    EngineIntake, HistorySource as _, LocalHistory, PipeHistory, SyncError, serve_history, take,
};

use crate::machine::{Machine, session, words};

type Ends = (BufReader<PipeReader>, PipeWriter);

fn ends() -> (Ends, Ends) {
    let ((near_in, far_out), (far_in, near_out)) = (pipe().unwrap(), pipe().unwrap());
    ((BufReader::new(near_in), near_out), (BufReader::new(far_in), far_out))
}

#[test]
fn both_sides_have_everything_after_one_meeting() {
    let (ann, bea) = (Machine::new(), Machine::new());
    ann.has(&session("s1", &words(40, "heron")));
    bea.has(&session("s2", &words(30, "bakery")));
    let long: Vec<String> = (0..30).map(|number| format!("{number} {}", "z".repeat(90_000))).collect();
    bea.has(&session("s3", &long));
    ann.has(&session("s3", &long[..20]));
    let ((near_in, near_out), (mut far_in, mut far_out)) = ends();
    thread::scope(|scope| {
        scope.spawn(|| {
            let served =
                serve_history(&mut LocalHistory::new(&bea.engine), &mut far_in, &mut far_out, true).unwrap();
            assert!(served.peer.has_sayings);
            let mut ann_there = PipeHistory::turned(far_in, far_out, served.peer);
            let taken =
                take(&bea.engine, &mut ann_there, Some(&mut EngineIntake(&bea.engine)), false, &mut |_| ());
            ann_there.end(taken.unwrap()).unwrap();
        });
        let mut bea_there = PipeHistory::begin(near_in, near_out).unwrap();
        let taken =
            take(&ann.engine, &mut bea_there, Some(&mut EngineIntake(&ann.engine)), false, &mut |_| ());
        let taken = taken.unwrap();
        assert_eq!((taken.conversations, taken.grown, taken.entries), (2, 2, 41));
        let (mut near_in, mut near_out) = bea_there.end(taken).unwrap();
        let given = serve_history(&mut LocalHistory::new(&ann.engine), &mut near_in, &mut near_out, false);
        assert_eq!(given.unwrap().taken.entries, 41);
    });
    assert_eq!(ann.tips(), bea.tips());
    assert_eq!(ann.export("s3"), session("s3", &long));
    assert_eq!(bea.export("s1"), session("s1", &words(40, "heron")));
    ann.is_sound();
    bea.is_sound();
}

#[test]
fn greetings_of_a_login_are_passed_over_and_other_programs_are_named() {
    let table = [
        ("Welcome!\nLast login: today\n{\"unforget-sync\":1}\n{\"answer\":\"done\"}\n", None),
        ("", Some("the other machine said nothing")),
        (
            "sh: unforget: command not found\n",
            Some("the other machine said: sh: unforget: command not found"),
        ),
        ("{\"unforget-sync\":7}\n", Some("the other machine speaks protocol 7, this one 1")),
        ("{\"unforget-sync\":1}", Some("the other machine ended in the middle of a line")),
    ];
    for (said, want) in table {
        let begun = PipeHistory::begin(Cursor::new(said), Vec::new());
        match (begun, want) {
            (Ok(mut there), None) => assert!(there.tips().unwrap().is_empty()),
            (Err(error), Some(want)) => assert_eq!(error.to_string(), want),
            (begun, want) => panic!("{said:?}: {:?}, {want:?}", begun.map(|_| "begun")),
        }
    }
}

#[test]
fn whatever_the_other_side_says_only_whole_records_are_stored() {
    let zeros = "0".repeat(64);
    let tip = format!(
        r#"{{"answer":"tip","tip":{{"conversation":"pi:s1","chain":"{zeros}","length":2,"bytes":9,"newest_ms":0}}}}"#
    );
    let layout = format!(
        r#"{{"answer":"layout","parts":[{{"end":2,"chain":"{zeros}","bytes":9}}],"trailer":"","name":"x"}}"#
    );
    let lists = format!("{{\"unforget-sync\":1}}\n{tip}\n{{\"answer\":\"done\"}}\n{{\"answer\":\"done\"}}\n");
    let table = [
        (format!("{lists}{{\"answer\":\"gone\",\"purged\":4}}\n"), "left", "4 entries of it were purged"),
        (
            format!("{lists}{{\"answer\":\"layout\",\"parts\":[],\"trailer\":\"\",\"name\":\"\"}}\n"),
            "left",
            "not the whole transcript",
        ),
        (format!("{lists}{layout}\n{{\"answer\":\"bytes\",\"bytes\":3}}\nabc"), "left", "a part is cut"),
        (format!("{lists}{layout}\n{{\"answer\":\"bytes\",\"bytes\":0}}\n"), "left", "other records"),
        (format!("{lists}{layout}\n{{\"answer\":\"failed\",\"why\":\"disk\"}}\n"), "left", "disk"),
        (
            format!("{lists}{layout}\n{{\"answer\":\"bytes\",\"bytes\":99}}\nabc"),
            "ends",
            "in the middle of a part",
        ),
        (
            format!("{lists}{layout}\n{{\"answer\":\"bytes\",\"bytes\":99999999999999}}\n"),
            "ends",
            "announced",
        ),
        (format!("{lists}{layout}\n{{\"answer\":\"done\"}}\n"), "ends", "something else"),
        (format!("{lists}{layout}\nnonsense\n"), "ends", "no answer"),
        (format!("{{\"unforget-sync\":1}}\n{}\n", tip.replace(&zeros, "0")), "ends", "digest"),
        ("{\"unforget-sync\":1}\n".to_owned(), "ends", "in the middle"),
    ];
    for (said, want, why) in table {
        let ann = Machine::new();
        let mut there = PipeHistory::begin(Cursor::new(&said), Vec::new()).unwrap();
        let mut told = Vec::new();
        let mut into = EngineIntake(&ann.engine);
        let taken = take(&ann.engine, &mut there, Some(&mut into), false, &mut |event| {
            told.push(format!("{event:?}"));
        });
        match taken {
            Ok(report) => {
                assert_eq!((want, report.left), ("left", 1), "{said}");
                assert!(told.concat().contains(why) || why.contains("purged"), "{told:?}: {why}");
            }
            Err(SyncError::Pipe { what }) => {
                assert_eq!(want, "ends", "{said}: {what}");
                assert!(what.contains(why), "{what}: {why}");
            }
            Err(other) => panic!("{said}: {other}"),
        }
        assert!(ann.tips().is_empty());
    }
}
