//! Checks of what is written and read together: what prompts leave, and what prompts read.

use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::pin::Pins;

use super::tape::{Tape, summary};
use crate::port::{
    ContextRow, DecisionRow, DerivedNumbers, DerivedRows, LaneLook, NewDecision, NewRecipe, PinFileRow,
    PinRow, RaisedRow, Recipe, SaidRows, Store, SummaryRow, VerdictRow, read_all,
};

fn context(budget: u64, state: &[u8]) -> ContextRow {
    ContextRow { thread: Thread(2), budget, state: state.to_vec() }
}

fn decision(number: u64) -> DecisionRow {
    DecisionRow {
        number,
        seq: Seq(1),
        time: Timestamp(9),
        looked: "all".into(),
        decided: "break".into(),
        why: "full".into(),
    }
}

pub(super) fn derived_written_together(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c", "d"]);
    assert_eq!(store.put_derived(tape.id, DerivedRows::default()).unwrap(), DerivedNumbers::default());
    let (summaries, contexts) = ([summary(0, 1), summary(2, 3)], [context(5, b"five"), context(6, b"six")]);
    let recipe = Recipe { number: 0, context: [7; 16], state: vec![1, 2], body: b"recipe".to_vec() };
    let row = decision(0);
    let rows = DerivedRows {
        summaries: &summaries,
        contexts: &contexts,
        recipe: Some(NewRecipe { row: &recipe, keep: 9 }),
        decision: Some(NewDecision { row: &row, keep: 9 }),
    };
    let first = store.put_derived(tape.id, rows).unwrap();
    assert_eq!(first, DerivedNumbers { recipe: Some(1), decision: Some(1) });
    assert_eq!(read_all(|page| store.summaries(tape.id, page)).unwrap(), summaries);
    assert_eq!(read_all(|page| store.contexts(tape.id, Thread(2), page)).unwrap(), contexts);
    assert_eq!(read_all(|page| store.recipes(tape.id, page)).unwrap()[0].body, b"recipe");
    assert_eq!(store.recipe_state(tape.id, &[7; 16]).unwrap(), Some(vec![1, 2]));
    assert_eq!(store.decisions(tape.id).unwrap(), [decision(1)]);
    let later = DerivedRows { summaries: &[], contexts: &[context(6, b"another")], ..rows };
    let second = store.put_derived(tape.id, later).unwrap();
    assert_eq!(second, DerivedNumbers { recipe: Some(2), decision: Some(2) });
    let of_view = read_all(|page| store.contexts(tape.id, Thread(2), page)).unwrap();
    assert_eq!(of_view, [context(5, b"five"), context(6, b"another")], "others stay");
    assert!(read_all(|page| store.summaries(other.id, page)).unwrap().is_empty());
    let head = store.conversation(tape.id).unwrap();
    assert_eq!((head.revision, head.names), (1, 0), "derived rows do not count");
    assert!(store.put_derived(ConversationId(77), rows).is_err(), "there is no such conversation");
}

pub(super) fn summaries_found_by_keys(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c", "d"]);
    let rows = [summary(0, 1), summary(2, 2), summary(0, 3), summary(3, 3)];
    store.put_summaries(tape.id, &rows, None).unwrap();
    let written = |row: &SummaryRow| SummaryRow { body: "a model's".into(), ..row.clone() };
    let rewrites: Vec<SummaryRow> = rows.iter().take(2).map(written).collect();
    store.put_rewrites(tape.id, &rewrites, Timestamp(1)).unwrap();
    let by_key = |mut rows: Vec<SummaryRow>| {
        rows.sort_by_key(|row| row.key);
        rows
    };
    let mut keys: Vec<_> = rows.iter().rev().map(|row| row.key).collect();
    keys.extend([rows[1].key, summary(9, 9).key]);
    assert_eq!(store.summaries_of(tape.id, &keys).unwrap(), by_key(rows.to_vec()), "each once, by key");
    assert_eq!(store.rewrites_of(tape.id, &keys).unwrap(), by_key(rewrites.clone()), "they are apart");
    let one = std::slice::from_ref(&rows[2].key);
    assert_eq!(store.summaries_of(tape.id, one).unwrap(), [rows[2].clone()], "and no others");
    assert_eq!(store.rewrites_of(tape.id, one).unwrap(), []);
    assert_eq!(store.summaries_of(tape.id, &[]).unwrap(), []);
    assert_eq!(store.rewrite(tape.id, &rows[0].key).unwrap().as_ref(), rewrites.first());
}

pub(super) fn said_read_together(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c"]);
    assert_eq!(store.said(tape.id).unwrap(), SaidRows::default());
    let mut pins = Pins::default();
    pins.pin("be brief", Some(Seq(1))).unwrap();
    pins.pin_file("/w/CLAUDE.md", "never push\n", None).unwrap();
    let row = |pin: &unforget_core::pin::Pin| PinRow {
        pin: pin.clone(),
        made: Timestamp(5),
        changed: Timestamp(6),
    };
    let verdict = |number| VerdictRow {
        number,
        seq: Seq(number - 1),
        line: None,
        why: "measured again".into(),
        instead: None,
        author: "ann".into(),
        made: Timestamp(5),
        withdrawn: (number == 2).then_some(Timestamp(8)),
    };
    let raised = |number| RaisedRow {
        number,
        span: (Seq(0), Seq(number)),
        author: "ann".into(),
        made: Timestamp(5),
        withdrawn: (number == 1).then_some(Timestamp(8)),
    };
    let said = SaidRows {
        pins: pins.all().iter().map(row).collect(),
        files: pins
            .files()
            .iter()
            .map(|file| PinFileRow { file: file.clone(), read: Timestamp(7) })
            .collect(),
        verdicts: vec![verdict(1), verdict(2)],
        raised: vec![raised(1), raised(2)],
    };
    store.put_pins(tape.id, &[], &said.pins, &said.files).unwrap();
    for row in &said.verdicts {
        store.put_verdict(tape.id, row).unwrap();
    }
    for row in &said.raised {
        store.put_raised(tape.id, row).unwrap();
    }
    assert!(store.withdraw_verdict(tape.id, 2, Timestamp(8)).unwrap());
    assert!(store.withdraw_raised(tape.id, 1, Timestamp(8)).unwrap());
    assert_eq!(store.said(tape.id).unwrap(), said, "also what was taken back");
    assert_eq!(store.said(other.id).unwrap(), SaidRows::default(), "words belong to their conversation");
    let look = |conversation, reads_said| LaneLook {
        conversation,
        thread: Thread(0),
        budget: 1,
        names: &[],
        reads_said,
    };
    let looks = [look(tape.id, true), look(tape.id, false), look(other.id, true)];
    let rows = store.lane_rows(&looks).unwrap().into_iter().map(|rows| rows.said);
    assert_eq!(rows.collect::<Vec<_>>(), [Some(said), None, Some(SaidRows::default())]);
}
