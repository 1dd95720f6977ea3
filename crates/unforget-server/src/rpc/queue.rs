//! Runs the calls of one lane in order, and those of different lanes concurrently.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Something to be done once.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Cancelled alarms that are tolerated before the list is cleaned up.
const SLACK: usize = 1024;

/// Jobs, in order within a lane, on a bounded number of threads.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    /// Signals new work, or the end.
    work: Condvar,
    /// Signals that nothing is left.
    idle: Condvar,
    workers_max: usize,
}

#[derive(Default)]
struct QueueState {
    /// Lanes with a running or next job, and the jobs waiting behind it.
    lanes: HashMap<Arc<str>, VecDeque<Job>>,
    /// Jobs ready to run, at most one per lane.
    ready: VecDeque<(Option<Arc<str>>, Job)>,
    waiting: u64,
    running: u64,
    workers: usize,
    idle_workers: usize,
    is_closed: bool,
}

impl Queue {
    /// * `workers_max` - most threads; they are created on demand.
    pub(super) fn new(workers_max: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            work: Condvar::new(),
            idle: Condvar::new(),
            workers_max: workers_max.max(1),
        })
    }

    /// Runs a job after all earlier ones of its lane; without a lane, as soon as a thread is free.
    pub(super) fn submit(self: &Arc<Self>, lane: Option<Arc<str>>, job: Job) {
        let mut state = self.state();
        state.waiting += 1;
        if let Some(key) = &lane {
            if let Some(behind) = state.lanes.get_mut(key) {
                behind.push_back(job);
                return;
            }
            state.lanes.insert(Arc::clone(key), VecDeque::new());
        }
        state.ready.push_back((lane, job));
        if state.ready.len() > state.idle_workers && state.workers < self.workers_max {
            let queue = Arc::clone(self);
            state.workers += 1;
            // If no thread can be created, the existing ones run the job later; without any thread nobody would.
            if thread::Builder::new().name("unforget-call".to_owned()).spawn(move || queue.run()).is_err() {
                state.workers -= 1;
                if state.workers == 0 {
                    let next = state.ready.pop_front();
                    drop(state);
                    if let Some((lane, job)) = next {
                        self.begin();
                        job();
                        self.finish(lane);
                    }
                }
                return;
            }
        }
        self.work.notify_one();
    }

    /// Waits until no job is left.
    pub(super) fn drain(&self) {
        let mut state = self.state();
        while state.waiting + state.running > 0 {
            state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the threads end when no job is left.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.work.notify_all();
    }

    /// Number of waiting jobs, and of running ones.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.waiting, state.running)
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some((lane, job)) = state.ready.pop_front() {
                drop(state);
                self.begin();
                job();
                self.finish(lane);
                state = self.state();
            } else if state.is_closed {
                state.workers -= 1;
                return;
            } else {
                state.idle_workers += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_workers -= 1;
            }
        }
    }

    fn begin(&self) {
        let mut state = self.state();
        state.waiting -= 1;
        state.running += 1;
    }

    fn finish(&self, lane: Option<Arc<str>>) {
        let mut state = self.state();
        state.running -= 1;
        if let Some(key) = lane {
            match state.lanes.get_mut(&key).and_then(VecDeque::pop_front) {
                // Queued behind the other lanes, so that a busy lane does not monopolise a thread.
                Some(next) => {
                    state.ready.push_back((Some(key), next));
                    self.work.notify_one();
                }
                None => {
                    state.lanes.remove(&key);
                }
            }
        }
        if state.waiting + state.running == 0 {
            self.idle.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Jobs at a future time, on one thread.
pub(super) struct Alarm {
    state: Mutex<Alarms>,
    changed: Condvar,
}

#[derive(Default)]
struct Alarms {
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    jobs: HashMap<u64, Job>,
    next: u64,
    has_thread: bool,
    is_closed: bool,
}

impl Alarm {
    /// An alarm without jobs.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new() })
    }

    /// Runs a short job at a given time, unless it is forgotten before. Returns its number.
    pub(super) fn at(self: &Arc<Self>, when: Instant, job: Job) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        state.heap.push(Reverse((when, number)));
        state.jobs.insert(number, job);
        if !state.has_thread {
            let alarm = Arc::clone(self);
            let made = thread::Builder::new().name("unforget-alarm".to_owned()).spawn(move || alarm.run());
            state.has_thread = made.is_ok();
        }
        self.changed.notify_one();
        number
    }

    /// Forgets a job.
    pub(super) fn forget(&self, number: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.jobs.remove(&number);
        if state.heap.len() > 2 * state.jobs.len() + SLACK {
            let Alarms { heap, jobs, .. } = &mut *state;
            heap.retain(|Reverse((_, number))| jobs.contains_key(number));
        }
    }

    /// Forgets all jobs.
    pub(super) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.is_closed {
            let now = Instant::now();
            match state.heap.peek() {
                Some(Reverse((when, number))) if *when <= now => {
                    let number = *number;
                    state.heap.pop();
                    if let Some(job) = state.jobs.remove(&number) {
                        drop(state);
                        job();
                        state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                    }
                }
                Some(Reverse((when, _))) => {
                    let wait = when.saturating_duration_since(now);
                    state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_lane_is_done_in_order_and_blocks_no_other() {
        let queue = Queue::new(4);
        let (sender, receiver) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let slow = sender.clone();
        queue.submit(
            Some("a".into()),
            Box::new(move || {
                gate.recv().unwrap();
                slow.send(("a", 0)).unwrap();
            }),
        );
        for at in 1..50 {
            for lane in ["a", "b"] {
                let sender = sender.clone();
                queue.submit(Some(lane.into()), Box::new(move || sender.send((lane, at)).unwrap()));
            }
        }
        let first: Vec<_> = (1..50).map(|_| receiver.recv().unwrap()).collect();
        assert_eq!(first, (1..50).map(|at| ("b", at)).collect::<Vec<_>>(), "b does not wait for a");
        open.send(()).unwrap();
        let rest: Vec<_> = (0..50).map(|_| receiver.recv().unwrap()).collect();
        assert_eq!(rest, (0..50).map(|at| ("a", at)).collect::<Vec<_>>());
        queue.drain();
        assert_eq!(queue.counts(), (0, 0));
        queue.close();
    }

    #[test]
    fn more_lanes_than_threads_are_all_done() {
        let queue = Queue::new(2);
        let (sender, receiver) = mpsc::channel();
        for at in 0..200 {
            let sender = sender.clone();
            let lane = (at % 3 > 0).then(|| Arc::from((at % 40).to_string()));
            queue.submit(lane, Box::new(move || sender.send(at).unwrap()));
        }
        queue.drain();
        let mut all: Vec<_> = receiver.try_iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
        queue.close();
    }

    #[test]
    fn alarms_that_are_forgotten_take_no_room() {
        let alarm = Alarm::new();
        let late = Instant::now() + Duration::from_hours(1);
        for _ in 0..10 * SLACK {
            alarm.forget(alarm.at(late, Box::new(|| ())));
        }
        let state = alarm.state.lock().unwrap();
        assert!(state.jobs.is_empty() && state.heap.len() <= SLACK);
    }

    #[test]
    fn alarms_go_off_in_order() {
        let alarm = Alarm::new();
        let (sender, receiver) = mpsc::channel();
        let now = Instant::now();
        for at in [3, 1, 2] {
            let sender = sender.clone();
            alarm.at(now + Duration::from_millis(20 * at), Box::new(move || sender.send(at).unwrap()));
        }
        assert_eq!((0..3).map(|_| receiver.recv().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
        alarm.close();
    }
}
