//! The engine of a running agent: a host delivers what happens and asks for prompts.
//!
//! Every delivery goes through [`unforget_core::deliver`]: a host may deliver the same things again, in any
//! split, across restarts and crashes. What it delivers is kept in a journal, one conversation per lane, whose shape
//! is that of [`unforget_wire::journal`]; everything else here is derived from it.

mod ask;
mod bodies;
mod chained;
mod compare;
mod deliver;
mod emit;
mod exact;
mod inherit;
mod lane;
mod names;
mod pins;
mod probe;
mod rebuild;
mod recalled;
mod recover;
mod register;
mod track;
mod types;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unforget_core::counts::SuspectedTruncation;
use unforget_core::deliver::{How, Why};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::recover::Refused;
use unforget_core::zoo::{self, Bug};
use unforget_store::Name;
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use deliver::{Delivery, Manner};
use lane::{Lane, Line};
use names::Incoming;

use crate::{Engine, EngineError};

pub use compare::{Changed, Difference, Kept, Represented};
pub use exact::{Answered, Array, Brings, Foreseen, Said};
pub use names::face;
pub use rebuild::Rebuilt;
pub use recalled::Recalled;
pub use recover::{Counted, Recovered};
pub use register::{Asking, Recognised, is_internal};
pub use types::*;
pub use unforget_store::WriteLatency;

/// The lanes of a host. Calls of one lane wait for each other; lanes do not.
pub struct Host {
    engine: Engine,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    lanes: Mutex<Lanes>,
}

/// Lanes in memory at most, but for those that are worked on or have a turn open. Others are opened when they are used.
const LANES_MAX: usize = 512;

#[derive(Default)]
struct Lanes {
    by_key: HashMap<LaneKey, Slot>,
    /// Times that any was used.
    used: u64,
}

struct Slot {
    lane: Arc<Mutex<Option<Lane>>>,
    /// When it was used last.
    used: u64,
}

impl Lanes {
    /// The slot of a lane. Forgets the one that was used least lately if there are too many.
    fn slot(&mut self, key: &LaneKey) -> Arc<Mutex<Option<Lane>>> {
        self.used += 1;
        if let Some(slot) = self.by_key.get_mut(key) {
            slot.used = self.used;
            return Arc::clone(&slot.lane);
        }
        if self.by_key.len() >= LANES_MAX {
            let idle = self.by_key.iter().filter(|(_, slot)| slot.is_idle());
            let last = idle.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone());
            last.map(|key| self.by_key.remove(&key));
        }
        let slot = Slot { lane: Arc::default(), used: self.used };
        Arc::clone(&self.by_key.entry(key.clone()).or_insert(slot).lane)
    }
}

impl Slot {
    /// Whether nobody works on it and nothing of it is in memory only.
    fn is_idle(&self) -> bool {
        let is_between_turns = |lane: &Option<Lane>| lane.as_ref().is_none_or(|lane| lane.turn.is_none());
        Arc::strong_count(&self.lane) == 1 && self.lane.try_lock().is_ok_and(|lane| is_between_turns(&lane))
    }
}

impl Host {
    /// A host's view of a store.
    ///
    /// * `clock` - now. No rule depends on it.
    pub fn new(engine: Engine, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { engine, clock: Box::new(clock), lanes: Mutex::default() }
    }

    /// The engine below.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Opens a lane, or begins it. Cheap if it is open.
    ///
    /// * `form` - of its messages, if it is new: [`Format::Pi`], [`Format::OpenAiChat`],
    ///   [`Format::OpenAiResponses`], [`Format::AnthropicMessages`].
    pub fn open(&self, key: &LaneKey, form: Format) -> Result<Status, HostError> {
        self.with(key, form, |lane, _| status(lane))
    }

    /// Takes a page of the host's transcript. Doing it again changes nothing.
    pub fn catch_up(&self, key: &LaneKey, form: Format, page: Page) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            let incoming = lane.read(page.messages, None)?;
            let is_same = page.cursor.is_some() && page.cursor == cursor(lane)?;
            // Of a page that was lost on the way back, the reset was carried out too.
            let is_again = is_same && lane.foresee(How::Window, &incoming)? == Why::UpToDate;
            if page.is_reset && !is_again && !zoo::is(Bug::ResetIgnored) {
                cut(lane, "reset", None, None, now)?;
            }
            let behind = page.cursor.as_deref().map(|cursor| {
                let detail = serde_json::Value::from(cursor).to_string();
                (journal::event("cursor", Some(&detail), &After::Newest, now.0), vec![names::cursor()])
            });
            let behind = behind.into_iter().filter(|_| !is_same && !zoo::is(Bug::CursorForgotten)).collect();
            let manner = Manner { how: How::Window, is_open: false, now };
            Ok(lane.deliver_read(&incoming, manner, behind)?.0)
        })
    }

    /// Takes an array that is all of the host's history.
    pub fn sync(&self, key: &LaneKey, form: Format, messages: Vec<Delivered>) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            lane.deliver(Delivery { how: How::Whole, messages, turn: None, is_open: false, now })
        })
    }

    /// A turn begins: its user message is durable before the model is called.
    pub fn begin_turn(&self, key: &LaneKey, form: Format, turn: Turn) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            if lane.turn.as_deref() != Some(&turn.key) {
                lane.tighten();
            }
            lane.turn = Some(turn.key.clone());
            let delivery = Delivery {
                how: How::Turn,
                messages: begun(turn.messages),
                turn: Some(&turn.key),
                is_open: true,
                now,
            };
            lane.deliver(delivery)
        })
    }

    /// A turn is done. The same key again is recognised, whatever comes with it.
    pub fn commit_turn(&self, key: &LaneKey, form: Format, turn: Turn) -> Result<Committed, HostError> {
        self.with(key, form, |lane, now| {
            let done = names::turn_done(&turn.key);
            if !lane.under(&[done])?.is_empty() && !zoo::is(Bug::TurnKeyForgotten) {
                let receipt = up_to_date(lane);
                return Ok(Committed { is_duplicate: true, receipt });
            }
            let detail = serde_json::Value::from(turn.key.as_str()).to_string();
            let behind = vec![(journal::event("turn", Some(&detail), &After::Newest, now.0), vec![done])];
            let delivery = Delivery {
                how: How::Turn,
                messages: turn.messages,
                turn: Some(&turn.key),
                is_open: false,
                now,
            };
            let (receipt, _) = lane.deliver_with(delivery, behind)?;
            lane.tighten();
            Ok(Committed { is_duplicate: false, receipt })
        })
    }

    /// A turn was given up. What was delivered of it stays stored, and on the path.
    pub fn abort_turn(
        &self,
        key: &LaneKey,
        form: Format,
        turn: &str,
        reason: &str,
    ) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            let detail = serde_json::json!({ "turn": turn, "reason": reason }).to_string();
            let text = journal::event("abort", Some(&detail), &After::Newest, now.0);
            let parent = lane.head().filter(|_| !zoo::is(Bug::AbortCuts));
            let line = Line { text, parent, names: Vec::new(), is_open: false };
            lane.write(vec![line], Vec::new())?;
            lane.tighten();
            Ok(up_to_date(lane))
        })
    }

    /// For hosts that hand over an array after each turn.
    ///
    /// * `before` - how many of its messages the host held before the turn.
    pub fn after_turn(
        &self,
        key: &LaneKey,
        form: Format,
        messages: Vec<Delivered>,
        before: usize,
    ) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            let mut incoming = lane.read(messages, None)?;
            let how = match lane.foresee(How::Whole, &incoming)? {
                Why::UpToDate | Why::Append => How::Whole,
                _ if incoming.iter().any(Incoming::has_name) => How::Window,
                _ => {
                    incoming.drain(..before.min(incoming.len()));
                    How::Turn
                }
            };
            let (receipt, _) =
                lane.deliver_read(&incoming, Manner { how, is_open: false, now }, Vec::new())?;
            lane.tighten();
            Ok(receipt)
        })
    }

    /// The prompt for the next call of a model.
    pub fn assemble(&self, key: &LaneKey, form: Format, ask: &Ask) -> Result<Assembled, HostError> {
        self.with(key, form, |lane, now| lane.assemble(ask, now))
    }

    /// Makes the prompt smaller. Without need and without `is_forced` it does nothing.
    pub fn compact(
        &self,
        key: &LaneKey,
        form: Format,
        ask: &Ask,
        is_forced: bool,
    ) -> Result<Compacted, HostError> {
        self.with(key, form, |lane, now| lane.compact(ask, is_forced, now))
    }

    /// The provider refused the call for which the last prompt was made. See [`unforget_wire::refusal`].
    ///
    /// * `behind` - tokens of a running turn that the host had put behind the prompt, and will deliver before it asks again.
    pub fn refused(
        &self,
        key: &LaneKey,
        form: Format,
        refused: Refused,
        behind: u64,
    ) -> Result<Recovered, HostError> {
        self.with(key, form, |lane, now| lane.refused(refused, behind, now))
    }

    /// The call was answered. Gives an alarm if the provider counted far less than was sent.
    ///
    /// * `input` - tokens of input as the provider counted them, cached ones included.
    pub fn answered(
        &self,
        key: &LaneKey,
        form: Format,
        input: u64,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        self.with(key, form, |lane, _| Ok(lane.answered(input)))
    }

    /// Something happened to a lane.
    pub fn event(&self, key: &LaneKey, form: Format, event: &Event) -> Result<Receipt, HostError> {
        if let Event::Fork { from, until } = event {
            return self.fork(key, form, from, until.as_deref());
        }
        self.with(key, form, |lane, now| {
            match event {
                Event::Reset | Event::New if zoo::is(Bug::ResetIgnored) => {}
                Event::Reset | Event::New => cut(lane, event.name(), None, None, now)?,
                Event::Rewind { to } => {
                    let seq = called(lane, to)?;
                    let to = if zoo::is(Bug::RewindKeepsTail) { lane.head() } else { Some(seq) };
                    cut(lane, event.name(), to, detail(event).as_deref(), now)?;
                }
                _ => {
                    let text = journal::event(event.name(), detail(event).as_deref(), &After::Newest, now.0);
                    let line = Line { text, parent: lane.head(), names: Vec::new(), is_open: false };
                    lane.write(vec![line], Vec::new())?;
                }
            }
            if matches!(event, Event::Model { .. }) {
                // What the other model's provider refused says nothing about this one.
                lane.cap = None;
                lane.refusals = recover::Refusals::default();
                lane.view.fail();
            }
            Ok(up_to_date(lane))
        })
    }

    /// How a lane stands.
    pub fn status(&self, key: &LaneKey, form: Format) -> Result<Status, HostError> {
        self.with(key, form, |lane, _| status(lane))
    }

    /// The messages of the path as they were delivered, oldest first. O(path).
    pub fn path(&self, key: &LaneKey, form: Format) -> Result<Vec<String>, HostError> {
        self.with(key, form, |lane, _| {
            let line = |seq| Ok(lane.line(seq)?.message);
            lane.path_after(None).into_iter().filter_map(|seq| line(seq).transpose()).collect()
        })
    }

    /// Housekeeping of the store. Short.
    pub fn maintain(&self) -> Result<(), HostError> {
        Ok(self.engine.store().maintain()?)
    }

    /// Forgets what is in memory of a lane, after all calls of it that came before. It is opened again when it is used.
    pub fn close(&self, key: &LaneKey) {
        let slot = self.lanes().by_key.get(key).map(|slot| Arc::clone(&slot.lane));
        if let Some(slot) = slot {
            // The slot stays: with another one, a call that is at work now would not be the only writer.
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a lane, after all calls of it that came before. After an error it is opened again.
    fn with<T>(
        &self,
        key: &LaneKey,
        form: Format,
        act: impl FnOnce(&mut Lane, Timestamp) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let slot = self.lanes().slot(key);
        // A panic left a lane in the slot that may be half done: it is taken out below and dropped.
        let mut slot = slot.lock().unwrap_or_else(|poisoned| {
            let mut slot = poisoned.into_inner();
            *slot = None;
            slot
        });
        let now = (self.clock)();
        let mut lane = match slot.take() {
            Some(lane) => lane,
            None => Lane::open(&self.engine, key, form, now)?,
        };
        let outcome = act(&mut lane, now);
        let is_sound = match &outcome {
            Err(HostError::Engine(error)) => {
                matches!(error, EngineError::Irreducible(_) | EngineError::Pin(_))
            }
            _ => true,
        };
        if is_sound || zoo::is(Bug::LaneKeptAfterError) {
            *slot = Some(lane);
        }
        outcome
    }
}

/// The path ends with `to` from now on.
fn cut(
    lane: &mut Lane,
    event: &str,
    to: Option<Seq>,
    detail: Option<&str>,
    now: Timestamp,
) -> Result<(), HostError> {
    lane.tighten();
    let after = lane.after(to)?;
    let text = journal::event(event, detail, &after, now.0);
    lane.write(vec![Line { text, parent: to, names: Vec::new(), is_open: false }], Vec::new())?;
    lane.view.fail();
    Ok(())
}

/// The entry of the path that has a host's id: the newest, since hosts give ids anew.
fn called(lane: &Lane, id: &str) -> Result<Seq, HostError> {
    let mut seqs = lane.under(&[names::id_name(id)])?;
    lane.follow(&mut seqs)?;
    let on_path = seqs.into_iter().rfind(|seq| lane.path().holds(*seq));
    on_path.ok_or_else(|| HostError::Refused { what: format!("no entry of the path is called {id}") })
}

fn detail(event: &Event) -> Option<String> {
    let value = match event {
        Event::Rewind { to } => serde_json::json!({ "to": to }),
        Event::Model { name } => serde_json::json!({ "model": name }),
        Event::SubagentPrepared { child, forks } => serde_json::json!({ "child": child.0, "forks": forks }),
        Event::SubagentRolledBack { child } => serde_json::json!({ "child": child.0 }),
        Event::SubagentEnded { child, reason } => serde_json::json!({ "child": child.0, "reason": reason }),
        Event::Fork { .. } | Event::Reset | Event::New | Event::Rotate | Event::Delete => return None,
    };
    Some(value.to_string())
}

/// What is stored when a turn begins: all of it.
fn begun(messages: Vec<Delivered>) -> Vec<Delivered> {
    if zoo::is(Bug::BeginNotStored) { Vec::new() } else { messages }
}

fn up_to_date(lane: &Lane) -> Receipt {
    Receipt { why: Why::UpToDate, added: 0, aside: 0, generation: lane.generation(), head: lane.head() }
}

/// The host's cursor that was kept last.
fn cursor(lane: &Lane) -> Result<Option<String>, HostError> {
    let name: Name = names::cursor();
    let last = lane.under(&[name])?.into_iter().max();
    let kept = last.map(|seq| lane.line(seq)).transpose()?;
    Ok(kept.and_then(|kept| kept.detail).and_then(|detail| serde_json::from_str(&detail).ok()))
}

fn status(lane: &Lane) -> Result<Status, HostError> {
    Ok(Status {
        conversation: lane::conversation_key(&lane.key).0,
        form: lane.form,
        entries: lane.next().0,
        path: lane.path_length(),
        generation: lane.generation(),
        cursor: cursor(lane)?,
        turn: lane.turn.clone(),
        debt: lane.debt()?,
    })
}
