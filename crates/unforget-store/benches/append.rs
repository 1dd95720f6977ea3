//! Measures appending: a whole history in batches, one more turn at its end, and reading it back.
//!
//! `cargo bench -p unforget-store --bench append [-- FILE.jsonl]`; without a file, lines are generated. CPU time is
//! this thread's, so it is meaningful on a busy machine too. `TMPDIR` names the folder of the database.
#![allow(missing_docs, reason = "a program")]

use std::time::{Duration, Instant};

use unforget_core::digest::{Chain, Digest};
use unforget_core::entry::{Origin, Role, Status};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::tokens::Tokens;
use unforget_store::{
    Append, Durability, EntryRow, Log as _, NewConversation, NewEntry, OpenOptions, OpenedBy, Packed, Packer,
    SqliteStore, TableSize, Target, Upkeep as _, WriteLatency,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let bytes = match &file {
        Some(path) => std::fs::read(path)?,
        None => made_up(20_000),
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("bench.sqlite");
    let store = SqliteStore::open(&path, &OpenOptions::default())?;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    println!("{} lines, {:.1} MB raw", lines.len(), bytes.len() as f64 / 1e6);
    let id = store.ensure(&new_conversation())?.id;
    let mut history = History { store: &store, id, target: first(), chain: Chain::root(), length: 0 };
    history.import(&lines)?;
    history.turns(&lines)?;
    read_back(&store, id)?;
    for TableSize { name, bytes } in store.sizes()? {
        println!("  {name:14} {:9.2} MB", bytes as f64 / 1e6);
    }
    drop(store);
    println!("file {:.2} MB", std::fs::metadata(&path)?.len() as f64 / 1e6);
    let clock = Clock::start();
    drop(SqliteStore::open(&path, &OpenOptions::default())?);
    println!("open and close {clock}, peak memory {} (file included)", peak_memory());
    Ok(())
}

struct History<'a> {
    store: &'a SqliteStore,
    id: ConversationId,
    target: Target,
    chain: Chain,
    length: u64,
}

impl History<'_> {
    /// Appends everything, in batches of 4 MB.
    fn import(&mut self, lines: &[&[u8]]) -> Result<(), Failure> {
        let (mut packing, mut writing) = (Spent::default(), Spent::default());
        let mut rest = lines.iter();
        loop {
            let clock = Clock::start();
            let mut packer = Packer::new(&|_| Vec::new(), None);
            for line in rest.by_ref() {
                packer.push(self.entry(line));
                if packer.raw_bytes() > 4 << 20 {
                    break;
                }
            }
            let packed = packer.finish();
            packing.add(&clock);
            if packed.is_empty() {
                break;
            }
            let clock = Clock::start();
            self.append(packed)?;
            writing.add(&clock);
        }
        println!("pack (with rows and chains) {packing}");
        println!("write {writing}");
        Ok(())
    }

    /// Appends 500 turns of 6 entries, about 10 kB each.
    fn turns(&mut self, lines: &[&[u8]]) -> Result<(), Failure> {
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for turn in lines.chunks(6).take(500) {
            let mut packer = Packer::new(&|_| Vec::new(), None);
            for line in turn {
                packer.push(self.entry(line.get(..1700).unwrap_or(line)));
            }
            let clock = Clock::start();
            self.append(packer.finish())?;
            wall.push(clock.wall());
            cpu.push(clock.cpu());
        }
        for (name, mut times) in [("wall", wall), ("cpu", cpu)] {
            times.sort();
            let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
            println!("turn of 6 at {}: {name} p50 {:.2?} p99 {:.2?}", self.length, at(50), at(99));
        }
        Ok(())
    }

    fn append(&mut self, packed: Packed) -> Result<(), Failure> {
        let append = Append {
            conversation: self.id,
            entries: self.length - packed.len() as u64,
            target: self.target,
            packed,
            snapshot: None,
            contexts: Vec::new(),
            names: Vec::new(),
            durability: Durability::OnReturn,
            latency: WriteLatency::Now,
        };
        self.target = Target::Extend(self.store.append(append)?.generation, self.length);
        Ok(())
    }

    fn entry(&mut self, line: &[u8]) -> NewEntry {
        self.chain = self.chain.next(b"", line);
        let number = self.length;
        self.length += 1;
        let tokens = Tokens { expected: line.len() as u64 / 4, upper: line.len() as u64 / 3 };
        let row = EntryRow {
            seq: Seq(0),
            generation: Generation(0),
            position: Position(0),
            parent: number.checked_sub(1).map(Seq),
            thread: Thread(0),
            role: Role::User,
            origin: Origin::Human,
            status: Status::Complete,
            host_id: Some(format!("{number:08x}")),
            time: Some(Timestamp(1_750_000_000_000 + number as i64 * 977)),
            tokens,
            stubbed: tokens,
            chain: self.chain,
            content: Digest::of(line),
            bytes: number * 1900..number * 1900 + line.len() as u64,
            purged: false,
        };
        NewEntry { lead: Vec::new(), body: line.to_vec(), large: Vec::new(), row }
    }
}

fn read_back(store: &SqliteStore, id: ConversationId) -> Result<(), Failure> {
    let clock = Clock::start();
    let entries = store.conversation(id)?.entries;
    let mut read = 0;
    for from in (0..entries).step_by(2000) {
        read += store.raw(id, from..from + 2000)?.iter().map(|raw| raw.body.len()).sum::<usize>();
    }
    println!("read {:.1} MB back {clock}", read as f64 / 1e6);
    let clock = Clock::start();
    println!("{} rows {clock}", store.rows(id, 0..u64::MAX)?.len());
    let clock = Clock::start();
    let problems = store.verify(&mut |_, _| {})?.len();
    println!("verify {clock}, {problems} problems");
    Ok(())
}

fn first() -> Target {
    Target::Open { parent: None, opened_by: OpenedBy::FirstSight }
}

fn new_conversation() -> NewConversation {
    NewConversation { key: ConversationKey("bench:1".into()), format: "pi".into(), title: None, parent: None }
}

fn made_up(lines: u64) -> Vec<u8> {
    let line = |number: u64| format!("{:?}", blake3::hash(&number.to_le_bytes())).repeat(24) + "\n";
    (0..lines).flat_map(|number| line(number).into_bytes()).collect()
}

/// Wall and CPU time since a moment.
struct Clock(Instant, Duration);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), thread_cpu())
    }

    fn wall(&self) -> Duration {
        self.0.elapsed()
    }

    fn cpu(&self) -> Duration {
        thread_cpu().saturating_sub(self.1)
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "wall {:.2?} cpu {:.2?}", self.wall(), self.cpu())
    }
}

#[derive(Default)]
struct Spent(Duration, Duration);

impl Spent {
    fn add(&mut self, clock: &Clock) {
        self.0 += clock.wall();
        self.1 += clock.cpu();
    }
}

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "wall {:.2?} cpu {:.2?}", self.0, self.1)
    }
}

fn thread_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0))
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim().to_owned()
}
