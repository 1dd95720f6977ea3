//! Random sequences of operations for comparing stores, and entries for them.

use std::ops::Range;

use proptest::prelude::*;
use unforget_core::digest::{Chain, Digest};
use unforget_core::entry::{Origin, Role, Status};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::tokens::Tokens;

use crate::pack::pack;
use crate::port::{
    Append, ContextRow, Durability, EntryRow, NewConversation, NewEntry, OpenedBy, Segment, Snapshot, Store,
    SummaryKey, SummaryRow, Target, WriteLatency, kept_content, read_all,
};

/// One operation. Numbers are taken modulo the number of existing things, so that every step has an effect.
#[derive(Clone, Debug)]
pub enum Step {
    /// Appends `count` entries to a generation, optionally with a snapshot at the new end.
    Extend(u64, Vec<Vec<u8>>, bool),
    /// Opens a generation, forked from another one at some position, or empty.
    Open(Option<(u64, u64)>, Vec<Vec<u8>>, bool),
    /// An append planned for a wrong length.
    Stale(u64),
    /// Moves the head back.
    Rewind(u64),
    /// A segment over seqs, replacing another one.
    Segment(u64, u64),
    /// A summary over seqs.
    Summary(u64, u64),
    /// The state of a prompt.
    Context(u64, Vec<u8>),
    /// Purges entries.
    Purge(u64, u64),
    /// Housekeeping.
    Maintain,
    /// Closes the store and opens it again, if possible.
    Reopen,
}

/// A named history to which entries are appended.
#[derive(Debug)]
pub struct Tape<'a> {
    store: &'a dyn Store,
    /// The conversation.
    pub id: ConversationId,
}

impl std::fmt::Debug for dyn Store + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl<'a> Tape<'a> {
    /// The conversation with this key, created if it is missing.
    pub fn new(store: &'a dyn Store, key: &str) -> Self {
        let new = NewConversation {
            key: ConversationKey(key.to_owned()),
            format: "test".to_owned(),
            title: Some("a title".to_owned()),
            parent: None,
        };
        Self { store, id: store.ensure(&new).unwrap().id }
    }

    /// The target that extends a generation at its end.
    pub fn end(&self, generation: u64) -> Target {
        let rows = read_all(|page| self.store.generations(self.id, page)).unwrap();
        Target::Extend(Generation(generation), rows.get(generation as usize).map_or(0, |row| row.length))
    }

    /// Chain heads of the first `length` entries' path.
    fn chain_at(&self, target: Target) -> Chain {
        let (generation, length) = match target {
            Target::Extend(generation, length) => (generation, length),
            Target::Open { parent: Some((generation, Position(fork))), .. } => (generation, fork),
            Target::Open { parent: None, .. } => return Chain::root(),
        };
        let Some(last) = length.checked_sub(1) else { return Chain::root() };
        let chains = self.store.chains(self.id, generation, last..length).unwrap_or_default();
        chains.first().copied().unwrap_or_else(Chain::root)
    }

    /// An append of these bodies.
    pub fn plan(&self, target: Target, bodies: &[Vec<u8>]) -> Append {
        let mut chain = self.chain_at(target);
        let entries = bodies.iter().map(|body| entry(body, &mut chain)).collect();
        // The filter is the digest, which shows exactly the bytes behind it.
        let packed = pack(entries, &|bytes| Digest::of(bytes).0.to_vec(), self.store.dictionary().as_deref());
        Append {
            conversation: self.id,
            entries: self.store.conversation(self.id).unwrap().entries,
            target,
            packed,
            snapshot: None,
            contexts: Vec::new(),
            names: Vec::new(),
            durability: Durability::OnReturn,
            latency: WriteLatency::Now,
        }
    }

    /// Appends bodies and returns the receipt's generation.
    pub fn append(&self, target: Target, bodies: &[&str]) -> u64 {
        let bodies: Vec<Vec<u8>> = bodies.iter().map(|body| body.as_bytes().to_vec()).collect();
        self.store.append(self.plan(target, &bodies)).unwrap().generation.0
    }

    /// Opens a generation with bodies.
    pub fn open(&self, parent: Option<(u64, u64)>, bodies: &[&str]) -> u64 {
        self.append(opening(parent), bodies)
    }

    /// Bodies of a generation's path.
    pub fn read(&self, generation: u64, length: u64) -> Vec<String> {
        let path = self.store.path(self.id, Generation(generation), length).unwrap();
        let raw = path.into_iter().flat_map(|seqs| self.store.raw(self.id, seqs).unwrap());
        raw.map(|raw| String::from_utf8_lossy(&raw.body).into_owned()).collect()
    }
}

/// The target that opens a generation.
pub fn opening(parent: Option<(u64, u64)>) -> Target {
    let parent = parent.map(|(generation, fork)| (Generation(generation), Position(fork)));
    Target::Open { parent, opened_by: if parent.is_some() { OpenedBy::Branch } else { OpenedBy::FirstSight } }
}

/// An entry with the body `body` and facts derived from its bytes. Runs of `#` are its large parts.
pub fn entry(body: &[u8], chain: &mut Chain) -> NewEntry {
    let lead = if body.len().is_multiple_of(3) { b"\n".to_vec() } else { Vec::new() };
    *chain = chain.next(&lead, body);
    let digest = Digest::of(body);
    let number = u64::from(digest.0[0]);
    let tokens = Tokens { expected: number, upper: number + u64::from(digest.0[1] % 4) };
    NewEntry {
        lead,
        body: body.to_vec(),
        large: hashes(body),
        row: EntryRow {
            seq: Seq(0),
            generation: Generation(0),
            position: Position(0),
            parent: (number > 9).then_some(Seq(number % 5)),
            thread: Thread(number % 3),
            role: [Role::System, Role::User, Role::Assistant, Role::Tool, Role::None][number as usize % 5],
            origin: [Origin::Human, Origin::Model, Origin::Copy, Origin::Opaque][number as usize % 4],
            status: [Status::Complete, Status::Aborted, Status::Error][number as usize % 3],
            host_id: (number > 50).then(|| format!("id-{number}")),
            time: (number > 70).then_some(Timestamp(number as i64 * 1000 - 200_000)),
            tokens,
            stubbed: if number > 128 { tokens } else { Tokens::exact(number / 2) },
            chain: *chain,
            content: kept_content(digest),
            bytes: number..number + body.len() as u64,
            purged: false,
        },
    }
}

/// Runs of at least four `#`.
fn hashes(body: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in body.iter().enumerate().filter(|(_, byte)| **byte == b'#') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs.retain(|run| run.len() >= 4);
    runs
}

/// A snapshot of the first `length` entries.
pub fn snapshot(length: u64, path: &str) -> Snapshot {
    let trailer = if length.is_multiple_of(2) { b"\n".to_vec() } else { b"{\"half".to_vec() };
    Snapshot {
        number: 0,
        generation: Generation(0),
        length,
        trailer,
        file_bytes: length * 10,
        path: path.to_owned(),
        modified_ns: 1_750_000_000_123_456_789 + i128::from(length),
        time: Timestamp(1_750_000_000_000),
    }
}

/// A summary over seqs.
pub fn summary(first: u64, last: u64) -> SummaryRow {
    let key = |seq: u64, level| SummaryKey {
        thread: Thread(seq % 2),
        grain: 1000,
        level,
        end: Digest::of(&seq.to_le_bytes()),
    };
    SummaryRow {
        key: key(last, u8::from(first != last)),
        span: (Seq(first), Seq(last)),
        count: last - first + 1,
        sources: (first..last).map(|seq| key(seq, 0)).collect(),
        writer: "test/1".to_owned(),
        body: format!("what {first} to {last} said"),
        tokens: (100, 10),
        time: Timestamp(5),
    }
}

/// Plays one step and returns the store's answer. The caller handles `Reopen`.
pub fn play(store: &dyn Store, step: &Step) -> String {
    let tape = Tape::new(store, "test:1");
    let head = store.conversation(tape.id).unwrap();
    let generations = read_all(|page| store.generations(tape.id, page)).unwrap();
    let length = |number: u64| generations.get(number as usize).map_or(0, |row| row.length);
    let some = |number: u64| number % (generations.len() as u64).max(1);
    let seqs = |from: u64, count: u64| from % (head.entries + 1)..from % (head.entries + 1) + count % 6;
    let append = |target: Target, bodies: &[Vec<u8>], snap: Option<u64>| {
        let mut append = tape.plan(target, bodies);
        append.snapshot = snap.map(|length| snapshot(length, ["a", "b"][length as usize % 2]));
        format!("{:?}", store.append(append))
    };
    match step {
        Step::Extend(number, bodies, snap) => {
            let number = some(*number);
            append(tape.end(number), bodies, snap.then(|| length(number) + bodies.len() as u64))
        }
        Step::Open(parent, bodies, snap) => {
            let parent = parent.map(|(number, fork)| (some(number), fork % (length(some(number)) + 1)));
            let parent = parent.filter(|_| !generations.is_empty());
            append(
                opening(parent),
                bodies,
                snap.then(|| parent.map_or(0, |(_, fork)| fork) + bodies.len() as u64),
            )
        }
        Step::Stale(number) => {
            let number = some(*number);
            append(Target::Extend(Generation(number), length(number) + 1), &[b"stale".to_vec()], None)
        }
        Step::Rewind(to) => {
            let number = head.current.0;
            append(tape.end(number), &[], Some(to % (length(number) + 1)))
        }
        Step::Segment(from, count) => {
            let blocks = vec![from.to_le_bytes().to_vec(), vec![7; *count as usize % 100]];
            let segment = Segment { seqs: seqs(*from, *count), header: vec![1, 2], blocks };
            format!("{:?}", store.put_segment(tape.id, &segment, &[from % 4, 99]))
        }
        Step::Summary(from, count) => {
            let Some(last) = head.entries.checked_sub(1) else { return String::new() };
            let from = from % head.entries;
            format!(
                "{:?}",
                store.put_summaries(tape.id, &[summary(from, (from + count % 5).min(last))], None)
            )
        }
        Step::Context(budget, state) => {
            let context = ContextRow { thread: Thread(0), budget: budget % 4, state: state.clone() };
            format!("{:?}", store.put_summaries(tape.id, &[], Some(&context)))
        }
        Step::Purge(from, count) => {
            let seqs = seqs(*from, *count);
            let plan = store.purge_plan(tape.id, seqs.clone()).unwrap();
            let done = store.purge(tape.id, seqs).unwrap();
            assert_eq!(plan, done, "a plan says what will be done");
            format!("{done:?}")
        }
        Step::Maintain => format!("{:?}", store.maintain()),
        Step::Reopen => String::new(),
    }
}

/// Random steps, mostly appends.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let body = prop_oneof![
        4 => "[a-e]{0,12}".prop_map(String::into_bytes),
        1 => "[a-b]{0,3}#{3,9}[a-b]{0,3}#{0,9}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (100_000_usize..300_000, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]),
    ];
    let bodies = prop::collection::vec(body, 0..5);
    let step = prop_oneof![
        6 => (any::<u64>(), bodies.clone(), any::<bool>()).prop_map(|(a, b, c)| Step::Extend(a, b, c)),
        3 => (any::<Option<(u64, u64)>>(), bodies, any::<bool>()).prop_map(|(a, b, c)| Step::Open(a, b, c)),
        1 => any::<u64>().prop_map(Step::Stale),
        1 => any::<u64>().prop_map(Step::Rewind),
        1 => any::<(u64, u64)>().prop_map(|(a, b)| Step::Segment(a, b)),
        1 => any::<(u64, u64)>().prop_map(|(a, b)| Step::Summary(a, b)),
        1 => (any::<u64>(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(a, b)| Step::Context(a, b)),
        2 => any::<(u64, u64)>().prop_map(|(a, b)| Step::Purge(a, b)),
        1 => Just(Step::Maintain),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..most)
}
