#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;

use unforget_core::id::Timestamp;

use super::*;
use crate::Engine;

const fn asking(session: Option<&str>) -> Asking<'_> {
    Asking { tenant: "default", session, is_named: false, user: None, kind: "", form: FORM }
}

fn host() -> Host {
    Host::new(Engine::in_memory(), || Timestamp(7))
}

/// Calls with one message, that of this number.
fn recognise(host: &Host, asking: &Asking<'_>, number: usize) -> Recognised {
    let message = format!(r#"{{"role":"user","content":"question {number}"}}"#);
    let array = Array::read(FORM, [message.as_bytes()], &Array::default()).unwrap();
    host.recognise(asking, &array).unwrap()
}

#[test]
fn lanes_of_a_session_are_named_in_turn() {
    let host = host();
    let named = Asking { is_named: true, ..asking(Some("s/3")) };
    let lines =
        [asking(Some("s")), named, asking(Some("s")), asking(Some("s")), asking(Some("s")), asking(None)];
    let lanes: Vec<Recognised> =
        lines.iter().enumerate().map(|(number, asking)| recognise(&host, asking, number)).collect();
    let names: Vec<&str> = lanes.iter().map(Recognised::name).collect();
    assert_eq!(names, ["s", "s/3", "s/2", "s/5", "s/4", "call-6"], "s/3 is a name that a client gave");
}

/// Weeks of side requests, or clients that share the name of a session.
#[test]
fn a_name_is_found_at_once_whatever_the_session_has() {
    for (others, taken, want) in [
        (0, vec![], "s"),
        (50_000, vec![], "s/50001"),
        (50_000, vec!["s/50001"], "s/60001"),
        (0, vec!["s"], "s/60001"),
    ] {
        let asked = Cell::new(0);
        let is_taken = |name: &str| {
            asked.set(asked.get() + 1);
            Ok::<_, ()>(taken.contains(&name))
        };
        assert_eq!(free_name("s", others, Seq(60_000), is_taken).unwrap(), want);
        assert_eq!(asked.get(), taken.len() + 1, "{want}");
    }
}

#[test]
fn what_is_remembered_of_names_is_bounded() {
    let host = host();
    let remembered =
        || host.with(&register("default"), FORM, |lane, _| Ok(lane.seen.borrow().len())).unwrap();
    let first = recognise(&host, &asking(None), 0);
    let mut most = 0;
    for number in 1..SEEN {
        recognise(&host, &asking(None), number);
        most = most.max(remembered());
    }
    assert!(most > SEEN / 2, "the loop reaches the bound: {most}");
    assert!(most <= SEEN + AT_ONCE, "{most} names of which {SEEN} are enough");
    assert_eq!(recognise(&host, &asking(None), 0), first, "what was forgotten is looked up");
}
