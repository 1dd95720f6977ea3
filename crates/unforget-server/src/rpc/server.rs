//! The server: a host's engine, the queue of its calls, and the memory between calls.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use unforget_engine::host::{Host, LaneKey};
use unforget_engine::summarise::{Cancel, Current, Model};

use super::array::Arrays;
use super::frame::Envelope;
use super::held::Prompts;
use super::own::OwnModel;
use super::protocol::{Call, Code, Failure, Form, VERBS};
use super::queue::{Alarm, Queue};

use super::connection::Peer;

/// The verb that takes as long as a model does.
const ANSWER: &str = "answer";

/// Most waiting answers.
const ANSWERS_QUEUED: u64 = 64;

/// Most bytes of a lane's name.
const LANE_MAX: usize = 512;

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Most bytes of a line.
    pub frame_bytes: usize,
    /// Most waiting calls.
    pub queued: usize,
    /// Most bytes of waiting and running calls.
    pub queued_bytes: usize,
    /// Most bytes of answers that a connection has not read.
    pub unread_bytes: usize,
    /// Most concurrent calls.
    pub workers: usize,
    /// Most lanes in memory. The least recently used one is closed, and opened again on its next use.
    pub lanes: usize,
    /// Most remembered messages of arrays, some 60 bytes each, and as many of prompts held by hosts, 16 bytes each.
    pub remembered: usize,
    /// Most connections to a socket.
    pub connections: usize,
    /// Most concurrent answers by models.
    pub answers: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            frame_bytes: 64 << 20,
            queued: 10_000,
            queued_bytes: 256 << 20,
            unread_bytes: 256 << 20,
            workers: 16,
            lanes: 256,
            remembered: 500_000,
            connections: 64,
            answers: 4,
        }
    }
}

/// The engine for other processes.
pub struct Server {
    pub(super) host: Host,
    pub(super) limits: CallLimits,
    pub(super) arrays: Arrays,
    pub(super) prompts: Prompts,
    pub(super) queue: Arc<Queue>,
    /// Answers by models: they take long, and no other call waits for them.
    answers: Arc<Queue>,
    pub(super) own: Arc<OwnModel>,
    pub(super) models: Current,
    /// Cancels the running answers.
    pub(super) cancel: Cancel,
    alarm: Arc<Alarm>,
    lanes: Mutex<OpenLanes>,
    held: Arc<AtomicUsize>,
    is_ending: AtomicBool,
}

/// The lanes opened so far.
#[derive(Default)]
struct OpenLanes {
    by_name: HashMap<Arc<str>, LaneUse>,
    /// Number of lanes in memory.
    in_memory: usize,
    /// Number of calls so far.
    uses: u64,
}

/// A lane opened before.
struct LaneUse {
    form: Form,
    /// Number of its last call.
    last: u64,
    is_in_memory: bool,
}

/// A call in progress.
pub(super) struct QueuedCall {
    /// Its id, verbatim.
    pub(super) id: Box<str>,
    method: &'static str,
    lane: Option<Arc<str>>,
    form: Option<Form>,
    deadline: Option<Instant>,
    /// Number of its deadline's alarm.
    alarm: OnceLock<u64>,
    /// Whoever takes this value answers the call.
    frame: Mutex<Option<Held>>,
    is_cancelled: AtomicBool,
    peer: Arc<Peer>,
}

/// The line of a call, counted while it is kept.
struct Held {
    line: String,
    params: Option<Range<usize>>,
    counter: Arc<AtomicUsize>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counter.fetch_sub(self.line.len(), Ordering::Relaxed);
    }
}

/// A call being carried out.
pub(super) struct Running<'a> {
    /// The lane, if it has one.
    pub(super) lane: Option<&'a Arc<str>>,
    /// The form given in the call.
    pub(super) form: Option<Form>,
    /// Its deadline.
    pub(super) deadline: Option<Instant>,
    /// Its parameters: a JSON object.
    pub(super) params: &'a str,
    /// The caller.
    pub(super) peer: &'a Arc<Peer>,
}

/// A lane of a call.
pub(super) struct Lane<'a> {
    /// Its name.
    pub(super) name: &'a Arc<str>,
    /// Its key in the engine.
    pub(super) key: LaneKey,
    /// Form of its messages.
    pub(super) form: Form,
}

impl Server {
    /// A server on a host's engine.
    pub fn new(host: Host, limits: CallLimits) -> Arc<Self> {
        Arc::new(Self {
            host,
            limits,
            arrays: Arrays::new(limits.remembered),
            prompts: Prompts::new(limits.remembered),
            queue: Queue::new(limits.workers),
            answers: Queue::new(limits.answers),
            own: OwnModel::new(),
            models: Current::default(),
            cancel: Cancel::default(),
            alarm: Alarm::new(),
            lanes: Mutex::default(),
            held: Arc::default(),
            is_ending: AtomicBool::new(false),
        })
    }

    /// The models that answer questions, set by the starter of the server.
    pub fn models(&self) -> Current {
        self.models.clone()
    }

    /// The models offered by hosts, as one.
    pub fn own_model(&self) -> Arc<dyn Model> {
        Arc::clone(&self.own) as Arc<dyn Model>
    }

    /// Whether a call for an answer may stem from another one: while an answer is being made, its caller's own model is
    /// asked.
    pub(super) fn is_nested(&self, peer: &Arc<Peer>) -> bool {
        self.answers.counts().1 > 1 && self.own.is_asking(peer)
    }

    /// Sets whether models offered by hosts are asked. Initially they are not.
    pub fn may_ask_host(&self, wanted: bool) {
        self.own.want(wanted);
    }

    /// Carries out all accepted calls, then ends the threads. Later calls are refused. Running answers of models are
    /// cancelled and become partial.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.cancel.cancel();
        self.own.close();
        for queue in [&self.queue, &self.answers] {
            queue.drain();
            queue.close();
        }
        self.alarm.close();
    }

    /// Accepts a call, which is answered to its peer now or later.
    pub(super) fn take(self: &Arc<Self>, line: String, envelope: Envelope, peer: &Arc<Peer>) {
        let Some(id) = envelope.id.clone() else { return };
        if let Err(failure) = self.queue_call(line, envelope, peer) {
            peer.fail(Some(&id), &failure);
        }
    }

    fn queue_call(
        self: &Arc<Self>,
        line: String,
        envelope: Envelope,
        peer: &Arc<Peer>,
    ) -> Result<(), Failure> {
        let Some((method, _)) = VERBS.into_iter().find(|(verb, _)| *verb == envelope.method) else {
            let known: Vec<_> = VERBS.iter().map(|(verb, _)| *verb).collect();
            let hint = format!("there are {}", known.join(", "));
            return Err(Failure::new(
                Code::Method,
                format!("there is no method {}", clipped(&envelope.method)),
                hint,
            ));
        };
        if self.is_ending.load(Ordering::Acquire) {
            return Err(Failure::new(
                Code::ShuttingDown,
                "the server is shutting down",
                "start another server and send the call there",
            ));
        }
        let bytes = line.len();
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let params = envelope.params.clone();
        let held_line = Held { line, params, counter: Arc::clone(&self.held) };
        if held > self.limits.queued_bytes.max(self.limits.frame_bytes)
            || self.queue.counts().0 >= self.limits.queued as u64
            || (method == ANSWER && self.answers.counts().0 >= ANSWERS_QUEUED)
        {
            let hint = "wait for answers, then send the call again";
            return Err(Failure::new(Code::Busy, "too many calls wait already", hint));
        }
        let call: Call<'_> =
            serde_json::from_str(held_line.params()).map_err(|error| Failure::params(error.to_string()))?;
        let lane: Option<Arc<str>> = call.lane.as_deref().map(Arc::from);
        if lane.as_deref().is_some_and(|lane| lane.is_empty() || lane.len() > LANE_MAX) {
            return Err(Failure::params(format!("a lane's name has 1 to {LANE_MAX} bytes")));
        }
        let (form, after) = (call.form, call.deadline_ms.map(Duration::from_millis));
        let task = Arc::new(QueuedCall {
            id: envelope.id.unwrap_or_default(),
            method,
            lane: lane.clone(),
            form,
            deadline: after.and_then(|after| Instant::now().checked_add(after)),
            alarm: OnceLock::new(),
            frame: Mutex::new(Some(held_line)),
            is_cancelled: AtomicBool::new(false),
            peer: Arc::clone(peer),
        });
        peer.begin(&task)?;
        if let Some(deadline) = task.deadline {
            let weak = Arc::downgrade(&task);
            let expire = move || {
                if let Some(task) = weak.upgrade() {
                    task.expire();
                }
            };
            task.alarm.set(self.alarm.at(deadline, Box::new(expire))).ok();
        }
        let server = Arc::clone(self);
        let job = Box::new(move || server.run(&task));
        if method == ANSWER {
            self.answers.submit(None, job);
        } else {
            self.queue.submit(lane, job);
        }
        Ok(())
    }

    fn run(self: &Arc<Self>, task: &Arc<QueuedCall>) {
        if task.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            task.expire();
        }
        if let Some(number) = task.alarm.get() {
            self.alarm.forget(*number);
        }
        let Some(frame) = task.claim() else { return };
        let running = Running {
            lane: task.lane.as_ref(),
            form: task.form,
            deadline: task.deadline,
            params: frame.params(),
            peer: &task.peer,
        };
        let done = catch_unwind(AssertUnwindSafe(|| self.carry_out(task.method, &running)));
        drop(frame);
        let answer = done.unwrap_or_else(|_| {
            let hint = "a defect of unforget: please report it; sending the call again is safe";
            let mut failure = Failure::new(Code::Internal, format!("{} failed", task.method), hint);
            failure.data.stored = None;
            Err(failure)
        });
        task.answer(answer);
        if let Some(lane) = &task.lane {
            self.crowd(lane);
        }
    }

    /// The lane of a call. Its form is given in the call, or was given in an earlier one.
    pub(super) fn lane<'a>(&self, running: &Running<'a>) -> Result<Lane<'a>, Failure> {
        let Some(name) = running.lane else { return Err(Failure::params("the method needs a `lane`")) };
        let mut lanes = self.lanes();
        lanes.uses += 1;
        let OpenLanes { by_name, in_memory, uses } = &mut *lanes;
        let form = match (by_name.get_mut(name), running.form) {
            (Some(lane), Some(form)) if lane.form != form => {
                let what =
                    format!("the lane is open with messages of the form {}", lane.form.format().name());
                return Err(Failure::new(Code::Refused, what, "close it first, or name another lane"));
            }
            (Some(lane), _) => {
                lane.last = *uses;
                *in_memory += usize::from(!lane.is_in_memory);
                lane.is_in_memory = true;
                lane.form
            }
            (None, Some(form)) => {
                by_name.insert(Arc::clone(name), LaneUse { form, last: *uses, is_in_memory: true });
                *in_memory += 1;
                form
            }
            (None, None) => {
                let what = "the lane is not open on this server, and the call does not say its form";
                return Err(Failure::new(Code::NotOpen, what, "send open with lane and form first"));
            }
        };
        Ok(Lane { name, key: LaneKey(name.to_string()), form })
    }

    /// Forgets a lane's state in memory. Only between its calls.
    pub(super) fn forget(&self, lane: &str) {
        self.host.close(&LaneKey(lane.to_owned()));
        self.arrays.forget(lane);
        self.prompts.forget(lane);
    }

    /// Also forgets how a lane was opened.
    pub(super) fn close(&self, lane: &str) {
        let mut lanes = self.lanes();
        let closed = lanes.by_name.remove(lane);
        lanes.in_memory -= usize::from(closed.is_some_and(|lane| lane.is_in_memory));
        drop(lanes);
        self.forget(lane);
    }

    pub(super) fn lanes_open(&self) -> u64 {
        self.lanes().by_name.len() as u64
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed) as u64
    }

    /// Removes the least recently used lane from memory, if there are too many.
    fn crowd(self: &Arc<Self>, used: &Arc<str>) {
        let oldest = {
            let mut lanes = self.lanes();
            if lanes.in_memory <= self.limits.lanes {
                return;
            }
            let others = lanes.by_name.iter_mut().filter(|(name, lane)| *name != used && lane.is_in_memory);
            let Some((name, lane)) = others.min_by_key(|(_, lane)| lane.last) else { return };
            lane.is_in_memory = false;
            let name = Arc::clone(name);
            lanes.in_memory -= 1;
            name
        };
        // In the lane's own order: never while one of its calls runs.
        let server = Arc::clone(self);
        let lane = Arc::clone(&oldest);
        self.queue.submit(Some(oldest), Box::new(move || server.forget(&lane)));
    }

    fn lanes(&self) -> MutexGuard<'_, OpenLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn params(&self) -> &str {
        self.params.clone().and_then(|params| self.line.get(params)).unwrap_or("{}")
    }
}

impl QueuedCall {
    /// Cancels a call.
    pub(super) fn cancel(self: &Arc<Self>) {
        if self.claim().is_some() {
            let hint = "nothing was done";
            self.answer(Err(Failure::new(Code::Cancelled, "the call was cancelled", hint)));
        } else {
            self.is_cancelled.store(true, Ordering::Release);
        }
    }

    fn expire(self: &Arc<Self>) {
        if self.claim().is_some() {
            let hint = "send the call again with a later deadline";
            self.answer(Err(Failure::new(
                Code::Deadline,
                "the deadline passed before the call was begun",
                hint,
            )));
        }
    }

    fn claim(&self) -> Option<Held> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn answer(self: &Arc<Self>, answer: Result<String, Failure>) {
        let late = if self.is_cancelled.load(Ordering::Acquire) {
            Some("cancelled")
        } else {
            self.deadline.filter(|deadline| *deadline <= Instant::now()).map(|_| "deadline")
        };
        // A call that expired or was cancelled in the queue has that kind already.
        let was_begun = |failure: &Failure| !matches!(failure.data.kind, "cancelled" | "deadline");
        self.peer.release(&self.id);
        match answer {
            Ok(result) => self.peer.answer(&self.id, result, late),
            Err(mut failure) => {
                failure.data.late = late.filter(|_| was_begun(&failure));
                self.peer.fail(Some(&self.id), &failure);
            }
        }
        self.peer.finish();
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(64).collect()
}
