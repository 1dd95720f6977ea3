//! Several processes on one database: purges of one and rows of another, clocks that differ, round trips.

use unforget_core::digest::Digest;
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_store::conformance::{Tape, opening};
use unforget_store::{
    ContextRow, Index as _, JobEnd, Jobs as _, Log as _, Name, NamedEntry, NewJob, Page, Segment, StoreError,
    Summaries as _, SummaryKey, SummaryRow, Upkeep as _, VerdictRow, WriteLatency,
};
use unforget_store_pg::{PgClock, PgOptions, PgStore};
use unforget_testkit::Postgres;

use super::{fresh, open, options, place};

fn key(number: u8) -> SummaryKey {
    SummaryKey { end: Digest([number; 32]), ..SummaryKey::FIRST }
}

fn row(number: u8, body: &str) -> SummaryRow {
    SummaryRow {
        key: key(number),
        span: (Seq(0), Seq(1)),
        count: 2,
        sources: Vec::new(),
        writer: "test/1".to_owned(),
        body: body.to_owned(),
        tokens: (9, 3),
        time: Timestamp(1),
    }
}

/// The places of a database in which a word stands, whatever the table.
fn places_of(server: &Postgres, database: &str, word: &str) -> Vec<String> {
    let tables =
        "SELECT relname FROM pg_class WHERE relnamespace = 'unforget'::regnamespace AND relkind = 'r'";
    let tables = server.sql(database, tables).unwrap();
    let hex = word.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    tables
        .lines()
        .filter(|table| {
            let sql = format!("SELECT count(*) FROM unforget.{table} t WHERE t::text LIKE '%{hex}%'");
            server.sql(database, &sql).unwrap() != "0"
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_was_read_before_a_purge_of_another_process_is_not_written_after_it() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let database = address.rsplit('/').next().unwrap();
    let (one, two) = (open(&address), open(&address));
    let tape = Tape::new(&one, "t:1");
    tape.open(None, &["the secret word", "another"]);
    let id = tape.id;
    let read = String::from_utf8(one.raw(id, 0..1).unwrap().remove(0).body).unwrap();
    assert_eq!(read, "the secret word");
    let job = NewJob { key: key(9), span: (Seq(1), Seq(1)) };
    one.put_jobs(id, &[job], Timestamp(1)).unwrap();
    let lease = one.take_job(id, Timestamp(1), Timestamp(9_000), false).unwrap().unwrap().lease();
    two.purge(id, 0..1).unwrap();
    let context = ContextRow { thread: Thread(0), budget: 7, state: read.clone().into_bytes() };
    let segment = Segment { seqs: 0..2, header: vec![1], blocks: vec![read.clone().into_bytes()] };
    let verdict = VerdictRow {
        number: 0,
        seq: Seq(0),
        line: Some(read.clone()),
        why: read.clone(),
        instead: None,
        author: "ann".to_owned(),
        made: Timestamp(1),
        withdrawn: None,
    };
    let name = NamedEntry::new(Name(*b"the secret word!"), Seq(0));
    let mut append = tape.plan(tape.end(0), &[b"more".to_vec()]);
    append.contexts = vec![context.clone()];
    let refused = |what: &str, done: Result<(), StoreError>| {
        assert!(matches!(done, Err(StoreError::PurgedMeanwhile { id: of }) if of == id), "{what}: {done:?}");
    };
    refused("summary", one.put_summaries(id, &[row(1, &read)], None));
    refused("context", one.put_summaries(id, &[], Some(&context)));
    refused("segment", one.put_segment(id, &segment, &[]).map(drop));
    refused("rewrite", one.put_rewrites(id, &[row(2, &read)], Timestamp(2)));
    refused(
        "end of a job",
        one.end_job(id, lease, &JobEnd::Done(Box::new(row(9, &read))), Timestamp(2)).map(drop),
    );
    refused("verdict", one.put_verdict(id, &verdict).map(drop));
    refused("name", one.put_names(id, &[name], WriteLatency::Now).map(drop));
    refused("append with a context", one.append(append).map(drop));
    assert_eq!(places_of(&server, database, "secret"), Vec::<String>::new(), "it is gone");
    // Who looks at the conversation again reads what is left.
    one.conversation(id).unwrap();
    one.put_summaries(id, &[row(1, "another")], Some(&context)).unwrap();
    assert_eq!(one.summary(id, &key(1)).unwrap().unwrap().body, "another");
    // A purge of its own is no surprise.
    one.purge(id, 1..2).unwrap();
    one.put_summaries(id, &[row(3, "made later")], None).unwrap();
    // What was never read here cannot be of before.
    open(&address).put_summaries(id, &[row(4, "by a newcomer")], None).unwrap();
    assert_eq!(one.verify(&mut |_, _| {}).unwrap(), []);
}

#[test]
fn the_server_decides_when_a_lease_is_over() {
    const HOUR: i64 = 3_600_000;
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let shared =
        || PgStore::open(&place(&address), PgOptions { clock: PgClock::Server, ..options() }).unwrap();
    let (one, two) = (shared(), shared());
    let id = Tape::new(&one, "t:1").id;
    let job = NewJob { key: key(1), span: (Seq(0), Seq(0)) };
    // Their clocks are years apart.
    let (early, late) = (Timestamp(1_000), Timestamp(9_000_000_000_000));
    one.put_jobs(id, &[job], late).unwrap();
    assert_eq!(two.due(early, Page::first(9)).unwrap(), [id], "due at once, for all");
    let lease = one.take_job(id, early, Timestamp(early.0 + HOUR), false).unwrap().unwrap().lease();
    assert_eq!(two.take_job(id, late, Timestamp(late.0 + HOUR), false).unwrap(), None, "it is held");
    assert_eq!(two.due(late, Page::first(9)).unwrap(), []);
    let later = JobEnd::Later { due: Timestamp(early.0 + HOUR), why: "busy".to_owned() };
    assert!(one.end_job(id, lease, &later, early).unwrap(), "whatever its clock says");
    assert_eq!(two.take_job(id, late, Timestamp(late.0 + HOUR), false).unwrap(), None, "in an hour");
    let asked = two.take_job(id, late, late, true).unwrap().unwrap();
    assert_eq!(asked.attempts, 2);
    assert!(
        one.take_job(id, early, Timestamp(early.0 + HOUR), false).unwrap().is_some(),
        "a lease of no time"
    );
}

#[test]
fn a_list_of_rows_is_one_statement() {
    let Some(server) = Postgres::shared() else { return };
    let store = fresh(&server);
    let id = Tape::new(&store, "t:1").id;
    let rows = |from: u8, to: u8| (from..to).map(|number| row(number, "body")).collect::<Vec<_>>();
    let trips = |work: &dyn Fn()| {
        let before = store.round_trips();
        work();
        store.round_trips() - before
    };
    let jobs: Vec<NewJob> =
        (0..200).map(|number| NewJob { key: key(number), span: (Seq(0), Seq(0)) }).collect();
    let (few, many) = (rows(0, 2), rows(2, 102));
    // The first of each prepares its statements.
    store.put_summaries(id, &few, None).unwrap();
    store.put_rewrites(id, &few, Timestamp(1)).unwrap();
    assert!(trips(&|| store.put_summaries(id, &many, None).unwrap()) <= 4);
    assert!(trips(&|| store.put_rewrites(id, &many, Timestamp(1)).unwrap()) <= 6);
    assert!(trips(&|| assert_eq!(store.put_jobs(id, &jobs, Timestamp(1)).unwrap(), 98)) <= 4);
    assert_eq!(store.count_summaries(id).unwrap(), 102);
    assert_eq!(store.rewrites(id, Page::first(999)).unwrap().len(), 102);
    let breakers: Vec<_> = (0..50)
        .map(|number| unforget_store::BreakerRow {
            provider: format!("p{}", number % 40),
            credential: "none".to_owned(),
            state: number.to_string(),
        })
        .collect();
    store.put_breakers(&breakers).unwrap();
    let stored = store.breakers().unwrap();
    assert_eq!((stored.len(), stored[0].state.as_str()), (40, "40"), "the last of an account counts");
    assert!(trips(&|| store.put_breakers(&breakers).unwrap()) <= 4);
}

#[test]
fn verify_holds_some_bytes_at_once() {
    let Some(server) = Postgres::shared() else { return };
    let store = fresh(&server);
    let trips = |key: &str, bytes: usize| {
        let tape = Tape::new(&store, key);
        let mut random = unforget_testkit::Random::new(7);
        let body = |_| (0..bytes / 8).flat_map(|_| random.bits().to_le_bytes()).collect::<Vec<u8>>();
        let bodies: Vec<Vec<u8>> = (0..24).map(body).collect();
        store.append(tape.plan(opening(None), &bodies)).unwrap();
        // The first prepares statements.
        store.verify(&mut |_, _| {}).unwrap();
        let before = store.round_trips();
        assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
        store.round_trips() - before
    };
    let small = trips("t:small", 80);
    let both = trips("t:large", 2 << 20);
    // Six parts in place of one.
    assert!(both >= 2 * small - 1 + 5, "48 MiB are read in parts: {small}, {both}");
}

#[test]
fn another_mark_follows_each_change() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let (one, two) = (open(&address), open(&address));
    let mut before = one.change_mark().unwrap().unwrap();
    let tape = Tape::new(&two, "t:1");
    let mut is_other = |why: &str| {
        let now = one.change_mark().unwrap().unwrap();
        assert_ne!(now, before, "{why}");
        before = now;
    };
    is_other("a conversation");
    tape.open(None, &["a"]);
    is_other("an append");
    two.purge(tape.id, 0..1).unwrap();
    is_other("a purge");
}

#[test]
fn tables_are_made_on_request_and_beside_those_of_others() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let database = address.rsplit('/').next().unwrap();
    let plain = || PgOptions { may_make: false, ..options() };
    let error = PgStore::open(&place(&address), plain()).unwrap_err();
    assert!(matches!(&error, StoreError::NotAStore { detail, .. } if detail.contains("import")), "{error:?}");
    assert_eq!(
        server.sql(database, "SELECT to_regnamespace('unforget') IS NULL").unwrap(),
        "t",
        "nothing was made"
    );
    server
        .sql(database, "CREATE TABLE theirs (a int); CREATE SCHEMA more; CREATE TABLE more.theirs (a int)")
        .unwrap();
    let made = open(&address);
    assert_eq!(made.made().map(|made| made.others), Some(2));
    let again = PgStore::open(&place(&address), plain()).unwrap();
    assert_eq!(again.made(), None);
    let empty = open(&server.database());
    assert_eq!(empty.made().map(|made| made.others), Some(0));
}
