//! Checks of the models' work: jobs, rewrites, spend, breakers, decisions.

use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::tape::{Tape, summary};
use crate::error::StoreError;
use crate::port::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobState, Lease, NewDecision, NewJob, Reading, SPEND_HOURS,
    Spend, SpendHour, SpendKind, Store, SummaryKey, SummaryRow, read_all,
};

const fn at(ms: i64) -> Timestamp {
    Timestamp(ms)
}

pub(super) fn jobs_leased(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c", "d", "e", "f"]);
    let (early, late, merge) = (summary(1, 1), summary(3, 3), summary(0, 1));
    let names = [&merge, &late, &early].map(|row| NewJob { key: row.key, span: row.span });
    assert_eq!(store.put_jobs(tape.id, &names, at(10)).unwrap(), 3);
    assert_eq!(store.put_jobs(tape.id, &names, at(99)).unwrap(), 0, "those that are there stay");
    assert_eq!(store.take_job(tape.id, at(9), at(20), false).unwrap(), None, "nothing is due");
    let first = store.take_job(tape.id, at(10), at(20), false).unwrap().unwrap();
    assert_eq!((first.key, first.attempts), (early.key, 1), "lower levels first, then the oldest");
    assert_eq!(store.take_job(tape.id, at(19), at(30), true).unwrap(), None, "one worker per conversation");
    let again = store.take_job(tape.id, at(20), at(30), false).unwrap().unwrap();
    assert_eq!((again.key, again.attempts), (early.key, 2), "a lease that is over is taken");
    let done = JobEnd::Done(Box::new(early.clone()));
    let refused = [
        (early.key, 1, 21, "the first worker lost it"),
        (early.key, 2, 30, "I19: the lease is over"),
        (late.key, 1, 21, "nobody took that one"),
    ];
    for (key, attempt, now, why) in refused {
        assert!(!store.end_job(tape.id, Lease { key, attempt }, &done, at(now)).unwrap(), "{why}");
    }
    assert_eq!(store.rewrite(tape.id, &early.key).unwrap(), None, "nothing was written");
    assert!(store.end_job(tape.id, Lease { key: early.key, attempt: 2 }, &done, at(29)).unwrap());
    assert_eq!(store.rewrite(tape.id, &early.key).unwrap(), Some(early.clone()));
    assert_eq!(store.summary(tape.id, &early.key).unwrap(), None, "they are apart");

    let next = store.take_job(tape.id, at(30), at(40), false).unwrap().unwrap();
    let later = JobEnd::Later { due: at(100), why: "busy".into() };
    assert!(store.end_job(tape.id, next.lease(), &later, at(31)).unwrap());
    let third = store.take_job(tape.id, at(32), at(40), false).unwrap().unwrap();
    assert_eq!((next.key, third.key), (late.key, merge.key));
    let end = JobEnd::GivenUp { why: "no".into() };
    assert!(store.end_job(tape.id, Lease { key: merge.key, attempt: 1 }, &end, at(33)).unwrap());
    assert_eq!(store.take_job(tape.id, at(99), at(120), false).unwrap(), None);
    let states: Vec<_> = read_all(|page| store.jobs(tape.id, page))
        .unwrap()
        .into_iter()
        .map(|job| (job.state, job.why))
        .collect();
    let want = [
        (JobState::Done { at: at(29) }, ""),
        (JobState::Waiting { due: at(100) }, "busy"),
        (JobState::GivenUp { at: at(33) }, "no"),
    ];
    assert_eq!(states, want.map(|(state, why)| (state, why.to_owned())));
    assert_eq!(
        (
            read_all(|page| store.due(at(99), page)).unwrap(),
            read_all(|page| store.due(at(100), page)).unwrap()
        ),
        (vec![], vec![tape.id])
    );
    let asked = store.take_job(tape.id, at(50), at(60), true).unwrap().unwrap();
    assert_eq!((asked.key, asked.attempts), (late.key, 2), "a person may ask early");
    assert_eq!(read_all(|page| store.due(at(55), page)).unwrap(), [], "a worker is at it");
    let none = JobEnd::NotAsked { due: at(70), why: "nobody there".into() };
    assert!(store.end_job(tape.id, Lease { key: late.key, attempt: 2 }, &none, at(55)).unwrap());
    assert!(
        !store.end_job(tape.id, Lease { key: late.key, attempt: 2 }, &none, at(55)).unwrap(),
        "a lease ends once"
    );
    let job = store.job(tape.id, &late.key).unwrap().unwrap();
    assert_eq!((job.attempts, job.why.as_str()), (1, "nobody there"), "no attempt was made");
    assert_eq!(store.job(tape.id, &summary(5, 5).key).unwrap(), None);
    assert_eq!(store.take_job(tape.id, at(50), at(60), true).unwrap().unwrap().attempts, 2);
    assert_eq!(read_all(|page| store.rewrites(tape.id, page)).unwrap(), [early.key]);
    assert_eq!(store.drop_jobs(tape.id, at(55)).unwrap(), 1, "all but the one under a lease, and done ones");
    assert_eq!(read_all(|page| store.jobs(tape.id, page)).unwrap().len(), 2);
    assert_eq!(store.conversation(tape.id).unwrap().revision, 1, "only the append counts");
}

pub(super) fn rewrites_taken_over(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c"]);
    let (first, second) = (summary(0, 0), summary(1, 1));
    store.put_jobs(tape.id, &[NewJob { key: first.key, span: first.span }], at(10)).unwrap();
    for now in [20, 30] {
        store.put_rewrites(tape.id, &[first.clone(), second.clone()], at(now)).unwrap();
    }
    assert_eq!(store.rewrite(tape.id, &first.key).unwrap(), Some(first.clone()));
    assert_eq!(read_all(|page| store.rewrites(tape.id, page)).unwrap(), [first.key, second.key]);
    let states: Vec<_> =
        read_all(|page| store.jobs(tape.id, page)).unwrap().into_iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Done { at: at(20) }; 2], "nobody is asked for it again");
    let other = SummaryRow { body: "other words".to_owned(), ..second.clone() };
    store.put_rewrites(tape.id, &[other], at(40)).unwrap();
    assert_eq!(store.rewrite(tape.id, &second.key).unwrap(), Some(second), "the first stays");
    assert_eq!(store.conversation(tape.id).unwrap().revision, 1, "only the append counts");
    let nobody = store.put_rewrites(ConversationId(99), &[first], at(40));
    assert!(matches!(nobody, Err(StoreError::NoConversation { .. })));
}

pub(super) fn grants_bounded(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let most = Reading { tokens: 100, calls: 2 };
    let grant = |scope| GrantRow {
        number: 0,
        scope,
        most,
        used: Reading::default(),
        made: at(10),
        until: at(50),
        ended: None,
    };
    assert_eq!(store.put_grant(&grant(None), 2).unwrap(), 1);
    assert_eq!(store.put_grant(&grant(Some(tape.id)), 2).unwrap(), 2);
    let more = |tokens, calls| Reading { tokens, calls };
    assert!(store.use_grant(2, more(60, 1), at(20)).unwrap());
    assert!(!store.use_grant(2, more(60, 1), at(20)).unwrap(), "more tokens than may be read");
    assert!(store.use_grant(2, more(40, 1), at(20)).unwrap(), "the refused one was not counted");
    assert!(!store.use_grant(2, more(0, 1), at(20)).unwrap(), "more calls than may be made");
    assert!(!store.use_grant(1, more(1, 1), at(50)).unwrap(), "over");
    assert!(!store.use_grant(9, more(1, 1), at(20)).unwrap(), "not there");
    assert!(store.end_grant(2, "answered", at(30)).unwrap());
    assert!(!store.end_grant(2, "again", at(31)).unwrap());
    assert!(!store.use_grant(2, more(0, 0), at(32)).unwrap(), "revoked");
    let ended =
        GrantRow { number: 2, used: most, ended: Some((at(30), "answered".into())), ..grant(Some(tape.id)) };
    assert_eq!(store.grants().unwrap(), [GrantRow { number: 1, ..grant(None) }, ended.clone()]);
    assert_eq!(store.put_grant(&grant(None), 2).unwrap(), 3);
    assert_eq!(store.grants().unwrap(), [ended, GrantRow { number: 3, ..grant(None) }]);
}

pub(super) fn summaries_beside(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c", "d", "e", "f"]);
    let (early, late) = (summary(0, 1), summary(2, 3));
    store.put_summaries(tape.id, &[early.clone(), late.clone()], None).unwrap();
    let before = |seq| store.summary_before(tape.id, &late.key, Seq(seq)).unwrap();
    assert_eq!((before(1), before(2), before(9)), (None, Some(early), Some(late)));
    let other = SummaryKey { level: 9, ..summary(2, 3).key };
    assert_eq!(store.summary_before(tape.id, &other, Seq(9)).unwrap(), None, "another level");
}

pub(super) fn purge_takes_jobs(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c", "d"]);
    let (touched, kept) = (summary(1, 1), summary(3, 3));
    let names = [&touched, &kept].map(|row| NewJob { key: row.key, span: row.span });
    store.put_jobs(tape.id, &names, at(0)).unwrap();
    let job = store.take_job(tape.id, at(0), at(9), false).unwrap().unwrap();
    store.purge(tape.id, 1..2).unwrap();
    let done = JobEnd::Done(Box::new(touched.clone()));
    assert!(!store.end_job(tape.id, job.lease(), &done, at(1)).unwrap(), "its entries are purged");
    assert_eq!(store.rewrite(tape.id, &touched.key).unwrap(), None);
    let job = store.take_job(tape.id, at(1), at(9), false).unwrap().unwrap();
    assert_eq!(job.key, kept.key);
    store
        .end_job(tape.id, Lease { key: kept.key, attempt: 1 }, &JobEnd::Done(Box::new(kept.clone())), at(2))
        .unwrap();
    store.purge(tape.id, 3..4).unwrap();
    assert_eq!(store.rewrite(tape.id, &kept.key).unwrap(), None, "purge takes what a model wrote");
}

const fn hour(hour: i64) -> SpendHour {
    SpendHour::of_summaries(hour)
}

pub(super) fn spend_capped(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let one = Spend { calls: 1, input: 10, output: 5, micros: 3 };
    let caps = Spend { calls: 9, input: 20, output: 99, micros: 99 };
    assert!(store.charge(tape.id, hour(7), one, caps).unwrap());
    assert!(store.charge(tape.id, hour(7), one, caps).unwrap());
    assert!(!store.charge(tape.id, hour(7), one, caps).unwrap(), "more input than may be");
    assert_eq!(store.spent(tape.id, hour(7)).unwrap(), one.plus(one), "a refused charge changes nothing");
    store.refund(tape.id, hour(7), Spend { calls: 0, input: 4, output: 50, micros: 0 }).unwrap();
    assert_eq!(store.spent(tape.id, hour(7)).unwrap(), Spend { calls: 2, input: 16, output: 0, micros: 6 });
    store.refund(tape.id, hour(8), one).unwrap();
    assert_eq!(store.spent(tape.id, hour(8)).unwrap(), Spend::default(), "another hour");
    let vectors = SpendHour { kind: SpendKind::Meaning, hour: 7 };
    assert!(store.charge(tape.id, vectors, one, caps).unwrap(), "each kind has an hour of its own");
    assert_eq!(store.spent(tape.id, vectors).unwrap(), one);
    assert!(store.charge(tape.id, hour(7 + SPEND_HOURS), one, caps).unwrap());
    assert_eq!(store.spent(tape.id, hour(7)).unwrap(), Spend::default(), "old hours go");
    assert_eq!(store.spent(tape.id, vectors).unwrap(), Spend::default(), "of all kinds");
    let nobody = ConversationId(99);
    assert!(matches!(store.spent(nobody, hour(7)), Err(StoreError::NoConversation { .. })));
    assert!(matches!(store.charge(nobody, hour(7), one, caps), Err(StoreError::NoConversation { .. })));
}

pub(super) fn breakers_and_decisions(store: &dyn Store) {
    let row = |provider: &str, state: &str| BreakerRow {
        provider: provider.into(),
        credential: "env:K#1".into(),
        state: state.into(),
    };
    store.put_breakers(&[row("b", "open"), row("a", "closed")]).unwrap();
    store.put_breakers(&[row("b", "blocked")]).unwrap();
    assert_eq!(store.breakers().unwrap(), [row("a", "closed"), row("b", "blocked")]);
    let tape = Tape::new(store, "t:1");
    let decision = |number| DecisionRow {
        number,
        seq: Seq(number),
        time: at(5),
        looked: "all".into(),
        decided: "break".into(),
        why: "hard".into(),
    };
    for number in 1..=5 {
        assert_eq!(store.decide(tape.id, NewDecision { row: &decision(number), keep: 3 }).unwrap(), number);
    }
    assert_eq!(store.decisions(tape.id).unwrap(), [decision(3), decision(4), decision(5)]);
    let nine = decision(9);
    assert_eq!(
        store.decide(tape.id, NewDecision { row: &nine, keep: 9 }).unwrap(),
        9,
        "a greater number stays"
    );
}
