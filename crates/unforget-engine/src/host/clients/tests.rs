#![allow(clippy::unwrap_used, reason = "tests")]

use unforget_core::id::Timestamp;

use super::*;
use crate::Engine;
use crate::client_api::BEGINNINGS_AT_ONCE;

const fn asking(session: Option<&str>) -> Asking<'_> {
    Asking {
        tenant: "default",
        session,
        is_named: false,
        user: None,
        kind: "",
        is_bare: false,
        form: REGISTER_FORM,
    }
}

fn host() -> Host {
    Host::new(Engine::in_memory(), || Timestamp(7))
}

/// Calls with one message, that of this number.
fn recognise(host: &Host, asking: &Asking<'_>, number: usize) -> Recognised {
    let message = format!(r#"{{"role":"user","content":"question {number}"}}"#);
    let array = Array::read(REGISTER_FORM, [message.as_bytes()], &Array::default()).unwrap();
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
    assert_eq!(names, ["s", "s/3", "s/2", "s/5", "s/4", "question-5-6"], "s/3 is a name that a client gave");
}

/// A title that is asked for first does not take the session's name.
#[test]
fn the_session_s_name_is_for_the_talk() {
    let host = host();
    let bare = Asking { is_bare: true, kind: "title", ..asking(Some("s")) };
    let again = Asking { is_bare: true, kind: "other", ..asking(Some("s")) };
    let named = Asking { is_named: true, ..bare };
    let table = [
        (bare, "s/side", "a title"),
        (asking(Some("s")), "s", "the talk"),
        (again, "s/side/3", "another one"),
        (asking(Some("s")), "s/4", "a sub-agent"),
        (Asking { session: Some("mine"), ..named }, "mine", "a person gave the name to it"),
    ];
    for (number, (asking, want, why)) in table.into_iter().enumerate() {
        assert_eq!(recognise(&host, &asking, number).name(), want, "{why}");
    }
}

#[test]
fn lanes_without_a_name_are_called_by_their_first_words() {
    let host = host();
    let reminder = r#"{"type":"text","text":"<system-reminder>rules</system-reminder>"}"#;
    let blocks =
        format!(r#"{{"role":"user","content":[{reminder},{{"type":"text","text":"Fix the\nlogin test"}}]}}"#);
    let table = [
        (r#"{"role":"user","content":"Hello there"}"#, "hello-there-1", Some("Hello there"), "words"),
        (blocks.as_str(), "fix-the-login-test-2", Some("Fix the login test"), "behind what a client puts in"),
        (r#"{"role":"user","content":""}"#, "call-3", None, "no words"),
        (r#"{"role":"assistant","content":"I"}"#, "call-4", None, "no person's"),
    ];
    for (message, want, title, why) in table {
        let array = Array::read(REGISTER_FORM, [message.as_bytes()], &Array::default()).unwrap();
        let lane = host.recognise(&asking(None), &array).unwrap();
        assert_eq!(lane.name(), want, "{why}");
        assert!(lane.wordless_name().starts_with("call-"), "{why}: traces tell no words");
        let stored = host.engine().store().find(&conversation_key(&lane.lane)).unwrap().unwrap();
        assert_eq!(stored.title.as_deref(), title, "{why}");
        assert_eq!(host.recognise(&asking(None), &array).unwrap(), lane, "{why}: known again");
    }
}

#[test]
fn what_is_remembered_of_names_is_bounded() {
    let host = host();
    let remembered = || {
        host.with(&register("default"), REGISTER_FORM, |lane, _| Ok(lane.journal().cached_names())).unwrap()
    };
    let first = recognise(&host, &asking(None), 0);
    let mut most = 0;
    for number in 1..REGISTER_NAMES_MAX {
        recognise(&host, &asking(None), number);
        most = most.max(remembered());
    }
    assert!(most > REGISTER_NAMES_MAX / 2, "the loop reaches the bound: {most}");
    assert!(
        most <= REGISTER_NAMES_MAX + BEGINNINGS_AT_ONCE,
        "{most} names of which {REGISTER_NAMES_MAX} are enough"
    );
    assert_eq!(recognise(&host, &asking(None), 0), first, "what was forgotten is looked up");
}
