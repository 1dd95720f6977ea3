//! Commits on SQLite and PostgreSQL in turn, on one disk: `cargo bench -p unforget-store-pg`. The server is the tests' own,
//! with its default settings: each commit is synced.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a measurement")]

use std::time::{Duration, Instant};

use unforget_store::conformance::{Tape, opening};
use unforget_store::{Append, OpenOptions, SqliteStore, Store};
use unforget_store_pg::{PgOptions, PgStore};

/// Commits of each store.
const COMMITS: usize = 400;

/// Entries of a commit, and bytes of each.
const ENTRIES: u64 = 6;
const BYTES: usize = 3_500;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("store.sqlite"), &OpenOptions::default()).unwrap();
    let mut stores: Vec<(&str, Box<dyn Store>)> = vec![("sqlite", Box::new(sqlite))];
    #[cfg(unix)]
    let server = unforget_testkit::Postgres::new();
    #[cfg(unix)]
    if let Some(server) = &server {
        let place = server.database().parse().unwrap();
        let postgres = PgStore::open(&place, PgOptions { may_make: true, ..PgOptions::default() }).unwrap();
        stores.push(("postgresql", Box::new(postgres)));
    }
    let tapes: Vec<Tape<'_>> = stores.iter().map(|(_, store)| Tape::new(store.as_ref(), "t:1")).collect();
    for (tape, (_, store)) in tapes.iter().zip(&stores) {
        store.append(tape.plan(opening(None), &[])).unwrap();
    }
    let mut times = vec![Vec::with_capacity(COMMITS); stores.len()];
    for number in 0..COMMITS {
        for ((tape, (_, store)), times) in tapes.iter().zip(&stores).zip(&mut times) {
            let append = planned(tape, number as u64);
            let since = Instant::now();
            store.append(append).unwrap();
            times.push(since.elapsed());
        }
    }
    println!("{COMMITS} commits of {ENTRIES} entries and {} bytes each", ENTRIES as usize * BYTES);
    for ((name, _), mut times) in stores.iter().zip(times) {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(Duration::MAX);
        println!("{name:<12} p50 {:>8.2?}  p90 {:>8.2?}  p99 {:>8.2?}", at(50), at(90), at(99));
    }
    drop(tapes);
}

/// The next commit: entries whose bytes do not compress.
fn planned(tape: &Tape<'_>, number: u64) -> Append {
    let mut random = unforget_testkit::Random::new(number);
    let bodies: Vec<Vec<u8>> =
        (0..ENTRIES).map(|_| (0..BYTES / 8).flat_map(|_| random.bits().to_le_bytes()).collect()).collect();
    tape.plan(tape.end(0), &bodies)
}
