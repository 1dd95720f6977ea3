//! Writers that race on one conversation while connections and the server are killed: what was acknowledged is stored,
//! nothing twice, nothing that was refused, without gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Generation};
use unforget_store::conformance::{Tape, entry};
use unforget_store::{
    Append, Durability, Log as _, Page, StoreError, Target, Upkeep as _, WriteLatency, pack,
};
use unforget_store_pg::PgStore;
use unforget_testkit::Postgres;

use super::open;

const WRITERS: usize = 8;

/// What a writer saw of an append.
enum Seen {
    Acknowledged(u64),
    /// Nothing was written.
    Refused,
    /// Not known.
    Failed,
}

/// An append as it was asked for, and what became of it.
struct Event {
    body: String,
    seen: Seen,
}

/// What a race showed.
#[derive(Debug, Default)]
struct Findings {
    acknowledged: usize,
    refused: usize,
    failed: usize,
    defects: Vec<String>,
}

/// Plans an append of one entry at the end and carries it out.
fn write(store: &PgStore, id: ConversationId, body: &str) -> Result<u64, StoreError> {
    let entries = store.conversation(id)?.entries;
    let generations = store.generations(id, Page::first(1))?;
    let length = generations.first().map_or(0, |row| row.length);
    let mut chain = match length.checked_sub(1) {
        Some(last) => {
            store.chains(id, Generation(0), last..length)?.first().copied().unwrap_or_else(Chain::root)
        }
        None => Chain::root(),
    };
    let packed = pack(vec![entry(body.as_bytes(), &mut chain)], &|_| Vec::new(), None);
    let append = Append {
        conversation: id,
        entries,
        target: Target::Extend(Generation(0), length),
        packed,
        snapshot: None,
        contexts: Vec::new(),
        names: Vec::new(),
        durability: Durability::OnReturn,
        latency: WriteLatency::Now,
    };
    store.append(append).map(|receipt| receipt.first_seq.0)
}

fn writer(store: &PgStore, id: ConversationId, number: usize, is_over: &AtomicBool, tell: &Sender<Event>) {
    for turn in 0_u64.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let body = format!("writer {number}, turn {turn}");
        let seen = match write(store, id, &body) {
            Ok(seq) => Seen::Acknowledged(seq),
            Err(StoreError::Overtaken { .. } | StoreError::Moved { .. }) => Seen::Refused,
            Err(StoreError::Backend { .. } | StoreError::Unreachable { .. }) => Seen::Failed,
            Err(error) => panic!("{error:?}"),
        };
        if tell.send(Event { body, seen }).is_err() {
            return;
        }
    }
}

/// What disturbs the writers.
#[derive(Clone, Copy)]
struct Trouble {
    /// Acknowledgements until connections are cut.
    cut: usize,
    /// Acknowledgements until the server is killed.
    kill: usize,
    /// Acknowledgements until the end.
    end: usize,
}

/// Runs the writers and looks at what is stored.
///
/// * `plant` - what is done to each store before it is used.
fn race(server: &Postgres, trouble: Trouble, plant: fn(PgStore) -> PgStore) -> Findings {
    let address = server.database();
    let name = address.rsplit('/').next().unwrap().to_owned();
    let (id, is_over) = {
        let store = open(&address);
        let tape = Tape::new(&store, "t:race");
        tape.open(None, &["the first"]);
        (tape.id, AtomicBool::new(false))
    };
    let (tell, hear) = channel();
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            let (tell, is_over) = (tell.clone(), &is_over);
            let store = plant(open(&address));
            scope.spawn(move || writer(&store, id, number, is_over, &tell));
        }
        drop(tell);
        let mut acknowledged = 0;
        for event in hear {
            let is_new = matches!(event.seen, Seen::Acknowledged(_));
            events.push(event);
            acknowledged += usize::from(is_new);
            if is_new && acknowledged % trouble.kill == 0 && acknowledged < trouble.end {
                server.kill();
                server.start();
            } else if is_new && acknowledged % trouble.cut == 0 {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'unforget' ORDER BY random() LIMIT 3";
                server.sql(&name, cut).ok();
            }
            if acknowledged >= trouble.end {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    });
    check(&open(&address), id, &events)
}

fn check(store: &PgStore, id: ConversationId, events: &[Event]) -> Findings {
    let mut found = Findings::default();
    let head = store.conversation(id).unwrap();
    let mut stored: BTreeMap<u64, String> = BTreeMap::new();
    match store.raw(id, 0..u64::MAX) {
        Ok(all) => {
            stored.extend(all.into_iter().map(|raw| (raw.seq.0, String::from_utf8(raw.body).unwrap())));
        }
        Err(error) => found.defects.push(error.to_string()),
    }
    if stored.len() as u64 != head.entries || stored.keys().copied().ne(0..stored.len() as u64) {
        found.defects.push(format!("{} rows, {} entries", stored.len(), head.entries));
    }
    let mut seen = BTreeSet::new();
    for (seq, body) in &stored {
        if !seen.insert(body.as_str()) {
            found.defects.push(format!("{body} is stored twice, the second time as entry {seq}"));
        }
    }
    for Event { body, seen: how } in events {
        match how {
            Seen::Acknowledged(seq) => {
                found.acknowledged += 1;
                if stored.get(seq) != Some(body) {
                    found.defects.push(format!(
                        "{body} was acknowledged as entry {seq}, which is {:?}",
                        stored.get(seq)
                    ));
                }
            }
            Seen::Refused => {
                found.refused += 1;
                if seen.contains(body.as_str()) {
                    found.defects.push(format!("{body} was refused and is stored"));
                }
            }
            Seen::Failed => found.failed += 1,
        }
    }
    found.defects.extend(store.verify(&mut |_, _| {}).unwrap().iter().map(|problem| format!("{problem:?}")));
    found
}

fn told(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// `UNFORGET_PG_APPENDS` makes it a campaign.
#[test]
fn acknowledged_appends_survive_kills() {
    let Some(server) = Postgres::new() else { return };
    let end = told("UNFORGET_PG_APPENDS", 1_200);
    let found = race(&server, Trouble { cut: 60, kill: 400, end }, |store| store);
    println!(
        "{} acknowledged, {} refused, {} failed, {} defects",
        found.acknowledged,
        found.refused,
        found.failed,
        found.defects.len()
    );
    assert_eq!(found.defects, Vec::<String>::new());
    assert!(found.acknowledged >= end && found.refused > 0, "they raced");
}

/// The checker finds a commit that compares nothing.
#[cfg(debug_assertions)]
#[test]
fn a_missing_comparison_is_found() {
    use unforget_store_pg::PlantedFault;
    let Some(server) = Postgres::new() else { return };
    let trouble = Trouble { cut: 1_000, kill: 1_000, end: 200 };
    let found = race(&server, trouble, |store| store.with_planted(PlantedFault::CasMissing));
    assert!(
        found.defects.iter().any(|defect| defect.contains("was acknowledged")),
        "{:?}",
        found.defects.len()
    );
}
