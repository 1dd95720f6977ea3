//! What several processes on one database agree on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use unforget_core::digest::Digest;
use unforget_core::id::ConversationId;
use unforget_store::{CallStanding, Change, KeptAnswer, KeyedCall, PeerNews, Peers as _};
use unforget_testkit::Postgres;

use super::open;

const LONG: Duration = Duration::from_hours(1);

fn call(key: &str, request: &str) -> KeyedCall {
    KeyedCall { key: Digest::of(key.as_bytes()), request: Digest::of(request.as_bytes()) }
}

#[test]
fn work_has_one_holder_until_its_time_is_over() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let (one, other) = (open(&address), open(&address));
    assert!(one.hold("vectors", LONG).unwrap());
    assert!(one.hold("vectors", LONG).unwrap(), "held, it is held on");
    assert!(!other.hold("vectors", LONG).unwrap());
    assert!(other.hold("another work", LONG).unwrap());
    let name = address.rsplit('/').next().unwrap();
    server.sql(name, "UPDATE unforget.held SET until_ms = 0").unwrap();
    assert!(other.hold("vectors", LONG).unwrap(), "nothing is heard of the first one");
    assert!(!one.hold("vectors", LONG).unwrap());
    assert_eq!(one.secret().unwrap(), other.secret().unwrap());
    assert_ne!(one.secret().unwrap(), open(&server.database()).secret().unwrap());
}

#[test]
fn a_keyed_call_is_carried_out_by_one_process() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let name = address.rsplit('/').next().unwrap();
    let (one, other) = (open(&address), open(&address));
    let (asked, again) = (call("key", "who?"), call("key", "when?"));
    assert_eq!(one.begin_call(&asked, LONG).unwrap(), CallStanding::Ours);
    assert_eq!(
        one.begin_call(&asked, LONG).unwrap(),
        CallStanding::Ours,
        "an answer of the server that got lost"
    );
    assert_eq!(other.begin_call(&asked, LONG).unwrap(), CallStanding::Elsewhere);
    assert_eq!(other.begin_call(&again, LONG).unwrap(), CallStanding::Conflict);
    one.end_call(&asked, None, LONG).unwrap();
    assert_eq!(other.begin_call(&again, LONG).unwrap(), CallStanding::Ours, "the first one came to nothing");
    // The other process is heard of no more, and its late answer changes nothing.
    server.sql(name, "UPDATE unforget.call SET until_ms = 0").unwrap();
    assert_eq!(one.begin_call(&asked, LONG).unwrap(), CallStanding::Ours);
    let (late, answer) = (
        KeptAnswer { head: b"late".to_vec(), body: Vec::new() },
        KeptAnswer { head: b"{}".to_vec(), body: vec![0, 1, 255] },
    );
    other.end_call(&again, Some(&late), LONG).unwrap();
    other.keep_call(&again, Duration::ZERO).unwrap();
    assert_eq!(other.begin_call(&asked, LONG).unwrap(), CallStanding::Elsewhere);
    one.keep_call(&asked, LONG).unwrap();
    one.end_call(&asked, Some(&answer), LONG).unwrap();
    for store in [&one, &other] {
        assert_eq!(store.begin_call(&asked, LONG).unwrap(), CallStanding::Answered(answer.clone()));
        assert_eq!(store.begin_call(&again, LONG).unwrap(), CallStanding::Conflict);
        store.end_call(&asked, None, LONG).unwrap();
    }
    server.sql(name, "UPDATE unforget.call SET until_ms = 0").unwrap();
    assert_eq!(one.begin_call(&call("another key", "who?"), LONG).unwrap(), CallStanding::Ours);
    assert_eq!(server.sql(name, "SELECT count(*) FROM unforget.call").unwrap(), "1", "old answers go");
}

#[test]
fn news_reach_the_other_processes_only() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let (one, other) = (open(&address), open(&address));
    let heard = [&one, &other].map(|store| {
        let (tell, heard) = channel();
        store.hear(Arc::new(move |news| tell.send(news).unwrap_or_default()));
        // A connection begins with the news that some may have been missed.
        assert_eq!(heard.recv().unwrap(), PeerNews::Missed);
        heard
    });
    let change = (ConversationId(7), Change::Entries);
    let purge = (ConversationId(9), Change::Purged);
    one.tell(&BTreeSet::from([change])).unwrap();
    other.tell(&BTreeSet::from([purge])).unwrap();
    assert_eq!(heard[1].recv().unwrap(), PeerNews::Changed(change.0, change.1));
    assert_eq!(heard[0].recv().unwrap(), PeerNews::Changed(purge.0, purge.1), "not its own");
    // Cut off, they hear again, and know that they missed something.
    let name = address.rsplit('/').next().unwrap();
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    assert_eq!(server.sql(name, cut).unwrap(), "2");
    assert_eq!(heard[1].recv().unwrap(), PeerNews::Missed);
    one.tell(&BTreeSet::from([purge])).unwrap();
    assert_eq!(heard[1].recv().unwrap(), PeerNews::Changed(purge.0, purge.1));
}
