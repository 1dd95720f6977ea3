//! A host with its lanes, over an engine on a failing store.

mod ask;
mod call;
mod history;
mod pin;
mod raise;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use unforget_bench::Random;
use unforget_core::id::Timestamp;
use unforget_core::pin::PinId;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Host, LaneKey};
use unforget_engine::migrate::{Migration, MigrationState};
use unforget_store::{MemoryStore, OpenOptions, SqliteStore, Store, StoreLayer as _, read_all};

use crate::check;
use crate::fault::FaultStore;
use crate::step::{Op, Plan, Profile, Step};
use crate::words::{Msg, Writer};

/// Start of the simulation, in ms since 1970.
const START: i64 = 1_795_292_714_534;

/// A lane from the host's point of view.
pub(crate) struct Lane {
    pub(crate) key: LaneKey,
    pub(crate) writer: Writer,
    /// The host's own transcript: the truth.
    pub(crate) transcript: Vec<Msg>,
    /// The required path of the engine.
    pub(crate) path: Vec<Msg>,
    /// The required path before the last call.
    pub(crate) was: Vec<Msg>,
    /// Start of the next page.
    pub(crate) page: usize,
    /// Key of the turn that is open in the engine, and its reported messages.
    pub(crate) open: (Option<String>, BTreeSet<u64>),
    /// Number of turns begun.
    pub(crate) turns: u64,
    /// Turns reported as done: key and messages.
    pub(crate) committed: Vec<(String, Vec<Msg>)>,
    /// Keys of the turns that the engine acknowledged.
    pub(crate) done: Vec<String>,
    /// Volatile input of the open turn, and the message that each follows.
    pub(crate) volatile: Vec<(u64, Msg)>,
    /// Messages whose ids the engine knows.
    pub(crate) named: BTreeSet<u64>,
    /// Acknowledged messages, with the required number of occurrences in the store.
    pub(crate) acked: BTreeMap<String, usize>,
    /// All messages ever sent.
    pub(crate) sent: BTreeSet<String>,
    /// The previous prompt, and its question.
    pub(crate) before: Option<(Ask, Vec<String>)>,
    /// The budget of the open turn's first call; [`u64::MAX`] if it is not known.
    pub(crate) first: Option<u64>,
    /// Whether the messages of the running call belong to the open turn.
    pub(crate) is_opening: bool,
    /// Rules that every prompt must contain; `None` if a fault has left them unknown.
    pub(crate) pins: Option<Vec<(PinId, String)>>,
    /// Time of the newest message.
    pub(crate) time: i64,
}

/// A store that survives a process.
enum Disk {
    Memory(Arc<MemoryStore>),
    File(tempfile::TempDir),
}

/// The whole simulation.
pub struct World {
    profile: Profile,
    disk: Disk,
    store: Option<Arc<FaultStore>>,
    host: Option<Arc<Host>>,
    /// Another host on the store, which may have lanes in memory.
    spare: Option<Arc<Host>>,
    clock: Arc<AtomicI64>,
    lanes: Vec<Lane>,
    steps: usize,
    /// The steps so far, in words.
    pub story: Vec<String>,
}

impl World {
    /// The state before the first step.
    pub fn new(plan: &Plan) -> Self {
        let disk = if plan.is_on_disk {
            Disk::File(tempfile::tempdir().expect("a folder for a store"))
        } else {
            Disk::Memory(Arc::new(MemoryStore::new()))
        };
        let profile = plan.profile;
        let lanes = (0..plan.lanes).map(|lane| Lane::new(profile, lane)).collect();
        let clock = Arc::new(AtomicI64::new(START));
        let mut world = Self {
            profile,
            disk,
            store: None,
            host: None,
            spare: None,
            clock,
            lanes,
            steps: 0,
            story: vec![format!("{profile:?}")],
        };
        world.start();
        world
    }

    /// Starts a new process on the store.
    fn start(&mut self) {
        self.host = None;
        self.spare = None;
        self.store = None;
        let inner: Arc<dyn Store> = match &self.disk {
            Disk::Memory(store) => Arc::clone(store) as Arc<dyn Store>,
            Disk::File(folder) => {
                let path = folder.path().join("store.sqlite");
                Arc::new(SqliteStore::open(&path, &OpenOptions::default()).expect("the store opens"))
            }
        };
        let store = Arc::new(FaultStore::new(inner));
        self.store = Some(Arc::clone(&store));
        self.host = Some(Arc::new(self.another(Arc::clone(&store))));
        self.spare = Some(Arc::new(self.another(store)));
    }

    /// Starts a new process, one time of three on another store to which everything was migrated.
    fn restart(&mut self, random: &mut Random) -> Result<(), String> {
        if random.below(3) == 0 {
            self.story.push("  on another store".to_owned());
            self.migrate()?;
        }
        self.start();
        Ok(())
    }

    /// Takes everything to a new store, which is the store from then on.
    fn migrate(&mut self) -> Result<(), String> {
        let from = self.store();
        let to = Arc::new(MemoryStore::new());
        let way = Migration::new(from.inner(), to.as_ref());
        let failed = |error: &dyn std::fmt::Display| format!("migration: {error}");
        for stored in read_all(|page| from.inner().conversations(page)).map_err(|error| failed(&error))? {
            let done = way.carry(&stored, Timestamp(START), &mut |_| {}).map_err(|error| failed(&error))?;
            if done.state != MigrationState::Equal {
                return Err(format!("a migrated conversation is another one: {done:?}"));
            }
        }
        self.disk = Disk::Memory(to);
        Ok(())
    }

    /// Another host on the store.
    fn another(&self, store: Arc<FaultStore>) -> Host {
        let clock = Arc::clone(&self.clock);
        Host::new(Engine::on(store).with_models(), move || Timestamp(clock.fetch_add(1, Ordering::SeqCst)))
    }

    fn store(&self) -> Arc<FaultStore> {
        Arc::clone(self.store.as_ref().expect("a store"))
    }

    /// The host, for concurrent actions.
    pub(crate) fn host_handle(&self) -> Arc<Host> {
        Arc::clone(self.host.as_ref().expect("a host"))
    }

    fn host(&self) -> &Host {
        self.host.as_ref().expect("a host")
    }

    /// Carries one step out and checks everything.
    ///
    /// # Errors
    /// The broken promise, and how it is broken.
    pub fn step(&mut self, step: Step) -> Result<(), String> {
        self.steps += 1;
        self.story.push(format!("{:?} in {}", step.op, step.lane));
        let mut random = Random::new(step.r);
        let lane = step.lane.min(self.lanes.len() - 1);
        match step.op {
            Op::Turn => self.turn(lane, &mut random)?,
            Op::CatchUp => self.catch_up(lane, &mut random)?,
            Op::Sync => self.sync(lane, &mut random)?,
            Op::Ask => self.ask(lane, &mut random)?,
            Op::Compact => self.compact(lane, &mut random)?,
            Op::Edit => self.edit(lane, &mut random)?,
            Op::Rewind => self.rewind(lane, &mut random)?,
            Op::Reset => self.reset(lane, &mut random)?,
            Op::Fork => self.fork(lane, &mut random)?,
            Op::Note => self.note(lane, &mut random)?,
            Op::Clock => {
                let jump = random.pick(&[-25_200_000, 25_200_000, -1_000, 0, 86_400_000 * 400]);
                self.clock.fetch_add(jump, Ordering::SeqCst);
            }
            Op::Restart => self.restart(&mut random)?,
            Op::Takeover => std::mem::swap(&mut self.host, &mut self.spare),
            Op::Fault => {
                let mode = crate::fault::Mode::ALL[random.below(4)];
                let nth = random.between(1, 3);
                self.story.push(format!("  the write {nth} from now: {mode:?}"));
                self.store().arm(nth, mode);
            }
            Op::Reissue => self.reissue(lane),
            Op::Again => self.again(lane, &mut random)?,
            Op::Write => self.write(lane, &mut random)?,
            Op::Pin => self.pin(lane, &mut random)?,
            Op::Raise => self.raise(lane, &mut random)?,
        }
        self.check()
    }

    /// The checks after every step.
    fn check(&mut self) -> Result<(), String> {
        let engine = Engine::on(self.store());
        for lane in &self.lanes {
            let key = format!("journal:{}", lane.key.0);
            check::journal(&engine, &key, &lane.acked, &lane.sent)?;
        }
        if self.steps.is_multiple_of(4) {
            check::verified(&engine)?;
        }
        Ok(())
    }
}

impl Lane {
    fn new(profile: Profile, lane: usize) -> Self {
        let writer = Writer {
            form: profile.form(),
            is_timed: profile.is_timed(),
            has_ids: profile == Profile::Pi,
            lane,
            generation: 0,
            count: 0,
            ids: 0,
        };
        Self {
            key: LaneKey(format!("agent:{lane}")),
            writer,
            transcript: Vec::new(),
            path: Vec::new(),
            was: Vec::new(),
            page: 0,
            open: Default::default(),
            turns: 0,
            committed: Vec::new(),
            done: Vec::new(),
            volatile: Vec::new(),
            named: BTreeSet::new(),
            acked: BTreeMap::new(),
            sent: BTreeSet::new(),
            before: None,
            first: None,
            is_opening: false,
            pins: Some(Vec::new()),
            time: START,
        }
    }

    /// A time equal to the previous message's, or an unused one. Only for messages that differ in their speaker, or in
    /// the call that they answer.
    pub(crate) fn tick_or_same(&mut self, random: &mut Random) -> i64 {
        if random.chance(0.3) { self.time } else { self.tick(random) }
    }

    /// A time that no message of the lane has.
    pub(crate) fn tick(&mut self, random: &mut Random) -> i64 {
        self.time += random.between(1, 5_000) as i64;
        self.time
    }
}
