//! Words that text of PostgreSQL cannot hold, and keys that its indexes cannot.

use unforget_core::id::ConversationKey;
use unforget_core::id::{Seq, Timestamp};
use unforget_store::conformance::{Tape, opening, snapshot};
use unforget_store::{Log as _, NewConversation, Summaries as _, Upkeep as _, VerdictRow};
use unforget_testkit::Postgres;

use super::fresh;

#[test]
fn nul_and_long_words_come_back() {
    let Some(server) = Postgres::shared() else { return };
    let store = fresh(&server);
    let long = "k\0".repeat(5_000);
    let key = ConversationKey(format!("pi:{long}"));
    let title = Some("a\0title".to_owned());
    let new =
        NewConversation { key: key.clone(), format: "pi\0".to_owned(), title, parent: Some(key.clone()) };
    let made = store.ensure(&new).unwrap();
    assert_eq!((made.key, made.title, made.format.as_str()), (key.clone(), new.title.clone(), "pi\0"));
    assert_eq!(store.ensure(&new).unwrap().id, made.id);
    let path = format!("/home/ann/{long}");
    let tape = Tape::new(&store, &key.0);
    let mut append = tape.plan(opening(None), &[b"a\0b".to_vec()]);
    append.snapshot = Some(snapshot(1, &path));
    store.append(append).unwrap();
    assert_eq!(store.snapshot_of_path(&path).unwrap().unwrap().conversation, made.id);
    let word = "nul \0 in a verdict".to_owned();
    let verdict = VerdictRow {
        number: 0,
        seq: Seq(0),
        line: Some(word.clone()),
        why: word.clone(),
        instead: None,
        author: word,
        made: Timestamp(1),
        withdrawn: None,
    };
    store.put_verdict(made.id, &verdict).unwrap();
    let stored = store.said(made.id).unwrap().verdicts;
    assert_eq!(stored, [VerdictRow { number: 1, ..verdict }]);
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}
