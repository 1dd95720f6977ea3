//! Commits with an unknown outcome.

use unforget_core::id::Generation;
use unforget_store::conformance::{Tape, opening};
use unforget_store::{Log as _, Target, Upkeep as _};
use unforget_testkit::Postgres;

use super::open;

/// Asks the server until the answer is not empty.
fn until(server: &Postgres, database: &str, statement: &str) {
    while server.sql(database, statement).unwrap().is_empty() {}
}

/// A commit that waits for a standby and is cancelled is stored, and only a warning says that no standby has it. It is
/// acknowledged once the server can promise it.
#[test]
fn a_warning_is_no_acknowledgement() {
    let Some(server) = Postgres::new() else { return };
    let address = server.database();
    let name = address.rsplit('/').next().unwrap();
    let store = open(&address);
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["a"]);
    server.sql(name, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'").unwrap();
    server.sql(name, "SELECT pg_reload_conf()").unwrap();
    until(&server, name, "SELECT 1 WHERE current_setting('synchronous_standby_names') = 'nobody'");
    std::thread::scope(|scope| {
        let append = tape.plan(Target::Extend(Generation(0), 1), &[b"b".to_vec()]);
        let waiting = scope.spawn(|| store.append(append).unwrap());
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        until(&server, name, cancel);
        until(&server, name, "SELECT entries FROM unforget.conversation WHERE entries = 2");
        assert!(!waiting.is_finished(), "no standby has it");
        server.sql(name, "ALTER SYSTEM RESET synchronous_standby_names").unwrap();
        server.sql(name, "SELECT pg_reload_conf()").unwrap();
        let receipt = waiting.join().unwrap();
        assert_eq!((receipt.first_seq.0, receipt.revision), (1, 2));
    });
    assert_eq!(tape.read(0, 9), ["a", "b"], "once");
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}

/// A store whose counters are those of before another writer looks again, and tells of the other's entries only then.
#[test]
fn old_counters_refuse_nothing() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let (one, two) = (open(&address), open(&address));
    let (here, there) = (Tape::new(&one, "t:1"), Tape::new(&two, "t:1"));
    here.open(None, &["a"]);
    there.append(there.end(0), &["b"]);
    here.append(here.end(0), &["c"]);
    there.open(Some((0, 1)), &["d"]);
    here.append(here.end(0), &["e"]);
    two.purge(there.id, 1..2).unwrap();
    here.append(here.end(1), &["f"]);
    two.append(there.plan(opening(None), &[])).unwrap();
    here.append(here.end(2), &["g"]);
    assert_eq!(here.read(0, 9), ["a", "", "c", "e"]);
    assert_eq!(
        (here.read(1, 9), here.read(2, 9)),
        (vec!["a".to_owned(), "d".into(), "f".into()], vec!["g".to_owned()])
    );
    assert_eq!(one.verify(&mut |_, _| {}).unwrap(), []);
}
