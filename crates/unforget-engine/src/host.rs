//! The engine of a running agent: a host delivers messages and asks for prompts.
//!
//! Every delivery goes through [`unforget_core::deliver`]: a host may deliver the same messages again, in any split, across
//! restarts and crashes. Deliveries are kept in one journal per lane ([`unforget_wire::journal`]); everything else here is
//! derived from the journals.
//!
//! Modules depend in one direction: `host` (turns and prompts) on `client_api` (arrays and answers of clients of a
//! provider's API), and both on `journal`.

mod ask;
mod bodies;
mod client_memory;
mod clients;
mod compare;
mod emit;
mod ended;
mod inherit;
mod lane;
mod learning;
mod one_call;
mod pins;
mod probe;
mod prompts;
mod raised;
mod rebuild;
mod recover;
mod standing_event;
mod stored_call;
mod stored_learning;
mod touch;
mod types;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use unforget_core::counts::SuspectedTruncation;
use unforget_core::deliver::{DeliveryOutcome, How};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_core::recover::Refused;
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

pub(crate) use inherit::{fork_source, with_fork_source};
pub(crate) use lane::{HostLane, PathCut};

use crate::Engine;
use crate::journal::{
    BehindLine, Delivery, DeliveryManner, Incoming, Journal, JournalLine, JournalWrite, WriteUrgency,
    conversation_key, cursor as cursor_name, id_name, turn_done,
};

pub use crate::client_api::{Array, Asking, Brings, DeliveredAnswer, Foreseen, Recalled, Recognised, Said};
pub use crate::internal::is_internal;
pub use crate::journal::{BodyDigest, Delivered, HostError, LaneKey, Receipt, body_digest};
pub use ask::ComposedPrompt;
pub use client_memory::{ClientMemory, KnownLane, MeasuredCall};
pub use clients::{DeliveredArray, RecallRoom, RegisterAnswer, TakenArray};
pub use compare::{Changed, Difference, Kept, Represented};
pub use ended::EndedCall;
pub use one_call::HostCall;
pub use rebuild::Rebuilt;
pub use recover::{Counted, Recovered};
pub use standing_event::{StandingEvent, StandingPiece};
pub use types::*;
pub use unforget_store::WriteLatency;

/// The lanes of a host. Calls of one lane run one after another; calls of different lanes do not wait. Other hosts on the same
/// database may serve the same lanes: each call sees what was stored before it.
pub struct Host {
    engine: Engine,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    lanes: Mutex<OpenLanes>,
}

/// How often a call is carried out while other processes write to what it reads.
pub const OVERTAKEN_MAX: u32 = 8;

/// Maximum number of lanes in memory, without busy ones. Others are opened when they are used.
const LANES_MAX: usize = 512;

#[derive(Default)]
struct OpenLanes {
    by_key: HashMap<LaneKey, LaneSlot>,
    /// Number of uses so far, of all lanes.
    used: u64,
}

struct LaneSlot {
    lane: Arc<Mutex<Option<HostLane>>>,
    /// Value of the counter at the last use.
    used: u64,
}

impl OpenLanes {
    /// The slot of a lane. Drops the least recently used lane if there are too many.
    fn slot(&mut self, key: &LaneKey) -> Arc<Mutex<Option<HostLane>>> {
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
        let slot = LaneSlot { lane: Arc::default(), used: self.used };
        Arc::clone(&self.by_key.entry(key.clone()).or_insert(slot).lane)
    }
}

impl LaneSlot {
    /// Whether no call uses the lane.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.lane) == 1 && self.lane.try_lock().is_ok()
    }
}

impl Host {
    /// A host's view of a store.
    ///
    /// * `clock` - the current time. No rule depends on it.
    pub fn new(engine: Engine, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { engine, clock: Box::new(clock), lanes: Mutex::default() }
    }

    /// The engine below.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Opens a lane, or creates it. Cheap if it is open.
    ///
    /// * `form` - form of its messages, if the lane is new: [`Format::Pi`], [`Format::OpenAiChat`],
    ///   [`Format::OpenAiResponses`], [`Format::AnthropicMessages`].
    pub fn open(&self, key: &LaneKey, form: Format) -> Result<Status, HostError> {
        self.with(key, form, |lane, _| status(lane))
    }

    /// Takes a page of the host's transcript. Taking it again changes nothing.
    pub fn catch_up(&self, key: &LaneKey, form: Format, page: Page) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            let incoming = lane.journal().read(page.messages, None)?;
            let is_same = page.cursor.is_some() && page.cursor == cursor(lane.journal())?;
            // If our reply to an equal page was lost, its reset is already applied.
            let is_again =
                is_same && lane.journal().foresee(How::Window, &incoming)? == DeliveryOutcome::UpToDate;
            if page.is_reset && !is_again && !mutants::is(Bug::ResetIgnored) {
                lane.cut(&PathCut { event: "reset", ..PathCut::default() }, now)?;
            }
            let behind = page.cursor.as_deref().map(|cursor| {
                let detail = serde_json::Value::from(cursor).to_string();
                let text = journal::event("cursor", Some(&detail), &After::Newest, now.0);
                BehindLine { text, names: vec![cursor_name()] }
            });
            let behind =
                behind.into_iter().filter(|_| !is_same && !mutants::is(Bug::CursorForgotten)).collect();
            let manner = DeliveryManner::new(How::Window, now);
            Ok(lane.record(|journal| journal.deliver_read(&incoming, manner, behind))?.receipt)
        })
    }

    /// Takes an array of the host's whole history.
    pub fn sync(&self, key: &LaneKey, form: Format, messages: Vec<Delivered>) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            let delivery = Delivery::new(How::Whole, messages, now);
            lane.record(|journal| journal.deliver(delivery))
        })
    }

    /// A turn begins: its user message is durable before the model is called.
    pub fn begin_turn(&self, key: &LaneKey, form: Format, turn: Turn) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| {
            lane.begin_turn(&turn.key);
            let begun = Delivery::new(How::Turn, begun(turn.messages), now);
            let delivery = Delivery { turn: Some(&turn.key), is_open: true, ..begun };
            lane.record(|journal| journal.deliver(delivery))
        })
    }

    /// A turn is done. A key that was committed before is recognised, whatever messages come with it.
    pub fn commit_turn(&self, key: &LaneKey, form: Format, turn: Turn) -> Result<Committed, HostError> {
        self.with(key, form, |lane, now| {
            let done = turn_done(&turn.key);
            if !lane.journal().under(&[done])?.is_empty() && !mutants::is(Bug::TurnKeyForgotten) {
                let receipt = up_to_date(lane.journal());
                return Ok(Committed { is_duplicate: true, receipt });
            }
            let detail = serde_json::Value::from(turn.key.as_str()).to_string();
            let text = journal::event("turn", Some(&detail), &After::Newest, now.0);
            let behind = vec![BehindLine { text, names: vec![done] }];
            let done = Delivery::new(How::Turn, turn.messages, now);
            let delivery = Delivery { turn: Some(&turn.key), ends_turn: true, ..done };
            let receipt = lane.record(|journal| journal.deliver_with(delivery, behind))?.receipt;
            lane.forget_turn();
            Ok(Committed { is_duplicate: false, receipt })
        })
    }

    /// A turn was given up. Its delivered messages stay on the path.
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
            lane.record(|journal| {
                let parent = journal.head().filter(|_| !mutants::is(Bug::AbortCuts));
                let line = JournalLine { text, parent, names: Vec::new(), is_open: false };
                let (urgency, names) = (WriteUrgency::NOW, Vec::new());
                journal.carry_out_write(JournalWrite { urgency, lines: vec![line], names, ends_turn: true })
            })?;
            lane.forget_turn();
            Ok(up_to_date(lane.journal()))
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
            let mut incoming = lane.journal().read(messages, None)?;
            let how = match lane.journal().foresee(How::Whole, &incoming)? {
                DeliveryOutcome::UpToDate | DeliveryOutcome::Append => How::Whole,
                _ if incoming.iter().any(Incoming::has_name) => How::Window,
                _ => {
                    incoming.drain(..before.min(incoming.len()));
                    How::Turn
                }
            };
            let manner = DeliveryManner { ends_turn: true, ..DeliveryManner::new(how, now) };
            let effect = lane.record(|journal| journal.deliver_read(&incoming, manner, Vec::new()))?;
            lane.forget_turn();
            Ok(effect.receipt)
        })
    }

    /// The prompt for the next call of a model.
    pub fn assemble(&self, key: &LaneKey, form: Format, ask: &Ask) -> Result<Assembled, HostError> {
        self.with(key, form, |lane, now| lane.assemble(ask, now))
    }

    /// Makes the prompt smaller, if that is due or `is_forced`.
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
        self.with(key, form, |lane, now| {
            let recovered = lane.refused(refused, behind, now)?;
            lane.note_counts()?;
            Ok(recovered)
        })
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
        self.with(key, form, |lane, _| {
            let alarm = lane.learning.answered(input);
            lane.note_counts()?;
            // The next prompt has other bounds.
            lane.prompts.drop_view();
            Ok(alarm)
        })
    }

    /// Something happened to a lane.
    pub fn event(&self, key: &LaneKey, form: Format, event: &Event) -> Result<Receipt, HostError> {
        if let Event::Fork { from, until } = event {
            return self.fork(key, form, from, until.as_deref());
        }
        self.with(key, form, |lane, now| {
            match event {
                Event::Reset | Event::New if mutants::is(Bug::ResetIgnored) => {}
                Event::Reset | Event::New => {
                    lane.cut(&PathCut { event: event.name(), ..PathCut::default() }, now)?;
                }
                Event::Rewind { to } => {
                    let seq = entry_of_id(lane.journal(), to)?;
                    let to =
                        if mutants::is(Bug::RewindKeepsTail) { lane.journal().head() } else { Some(seq) };
                    lane.cut(&PathCut { event: event.name(), to, detail: detail(event).as_deref() }, now)?;
                }
                _ => {
                    let text = journal::event(event.name(), detail(event).as_deref(), &After::Newest, now.0);
                    lane.write_event(text)?;
                }
            }
            if matches!(event, Event::Model { .. }) {
                lane.learning.change_model();
                lane.prompts.drop_view();
            }
            Ok(up_to_date(lane.journal()))
        })
    }

    /// The state of a lane.
    pub fn status(&self, key: &LaneKey, form: Format) -> Result<Status, HostError> {
        self.with(key, form, |lane, _| status(lane))
    }

    /// The messages of the path as they were delivered, oldest first. O(path).
    pub fn path(&self, key: &LaneKey, form: Format) -> Result<Vec<String>, HostError> {
        self.with(key, form, |lane, _| {
            let line = |seq| Ok(lane.journal().line(seq)?.message);
            lane.journal().path_after(None).into_iter().filter_map(|seq| line(seq).transpose()).collect()
        })
    }

    /// Housekeeping of the store. Short.
    pub fn maintain(&self) -> Result<(), HostError> {
        Ok(self.engine.store().maintain()?)
    }

    /// Drops a lane from memory, after all earlier calls of the lane. It is opened again when it is used.
    pub fn close(&self, key: &LaneKey) {
        let slot = self.lanes().by_key.get(key).map(|slot| Arc::clone(&slot.lane));
        if let Some(slot) = slot {
            // The slot stays: a second slot would allow a second writer beside a running call.
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// The entry of the path with a host's id: the newest, since hosts reuse ids.
fn entry_of_id(journal: &Journal, id: &str) -> Result<Seq, HostError> {
    let mut seqs = journal.under(&[id_name(id)])?;
    journal.follow(&mut seqs)?;
    let on_path = seqs.into_iter().rfind(|seq| journal.path().holds(*seq));
    on_path.ok_or_else(|| HostError::Refused { what: format!("no entry of the path is called {id}") })
}

/// Detail of the line of an event, as JSON.
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

/// The messages that are stored when a turn begins: all of them.
fn begun(messages: Vec<Delivered>) -> Vec<Delivered> {
    if mutants::is(Bug::BeginNotStored) { Vec::new() } else { messages }
}

/// The receipt of a call that stored no message.
fn up_to_date(journal: &Journal) -> Receipt {
    let (generation, head) = (journal.generation(), journal.head());
    Receipt { why: DeliveryOutcome::UpToDate, added: 0, off_path: 0, generation, head }
}

/// The newest cursor of the host.
fn cursor(journal: &Journal) -> Result<Option<String>, HostError> {
    let last = journal.under(&[cursor_name()])?.into_iter().max();
    let kept = last.map(|seq| journal.line(seq)).transpose()?;
    Ok(kept.and_then(|kept| kept.detail).and_then(|detail| serde_json::from_str(&detail).ok()))
}

fn status(lane: &HostLane) -> Result<Status, HostError> {
    let journal = lane.journal();
    Ok(Status {
        conversation: conversation_key(journal.key()).0,
        form: journal.form(),
        entries: journal.next().0,
        path: journal.path_length(),
        generation: journal.generation(),
        cursor: cursor(journal)?,
        turn: journal.open_turn().map(str::to_owned),
        debt: lane.debt(),
    })
}
