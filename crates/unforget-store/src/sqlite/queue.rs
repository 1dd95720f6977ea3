//! The queue of waiting writes, and the choice of the thread that carries them out.
//!
//! One of the waiting threads leads: it carries out the queued writes and reports the results. Then the next urgent
//! (`Now`) writer takes over. A thread wakes only for its own result or for leadership, and a finished one never waits
//! for others. An urgent leader takes only urgent writes; a leader whose patience ran out takes all writes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::fault::Outcome;
use crate::port::{Result, WriteLatency};

/// How long a write without a waiting caller lets others go first, and then how long it waits for another's sync.
pub(super) const PATIENCE: Duration = Duration::from_millis(2);

/// The work of a write within the transaction.
type Work = Box<dyn FnOnce(&Connection) -> Outcome<()> + Send>;

/// A write before queueing.
pub(super) struct QueuedWrite {
    pub(super) operation: &'static str,
    pub(super) work: Work,
}

/// A write in the queue.
pub(super) struct Waiting {
    write: QueuedWrite,
    number: u64,
    latency: WriteLatency,
    told: Sender<Message>,
}

/// A message to a waiting write.
pub(super) enum Message {
    /// The result: the number of its transaction.
    Done(Result<u64>),
    /// The order to carry out its own write and others.
    Lead,
}

/// A place in the queue.
pub(super) struct Ticket {
    number: u64,
    latency: WriteLatency,
    hears: Receiver<Message>,
}

/// The queue of waiting writes. Its rules are in the module documentation.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    waiting: Vec<Waiting>,
    /// Whether a thread leads, or was told to.
    is_led: bool,
    /// Number of writes so far.
    count: u64,
}

/// The next step of a waiting thread.
pub(super) enum Turn<'a> {
    /// Its write is done, in the transaction with this number.
    Done(Result<u64>),
    /// The thread has to carry out its write, together with other writes.
    Lead(Lead<'a>),
    /// The leader panicked.
    Lost,
}

impl WriteQueue {
    /// Queues a write.
    pub(super) fn enter(&self, write: QueuedWrite, latency: WriteLatency) -> Ticket {
        let (told, hears) = channel();
        let mut state = self.state();
        state.count += 1;
        let number = state.count;
        state.waiting.push(Waiting { write, number, latency, told });
        if latency == WriteLatency::Now && !state.is_led {
            state.appoint();
        }
        Ticket { number, latency, hears }
    }

    /// Waits until a write is done, or its thread has to lead. A leader calls it once more afterwards.
    pub(super) fn turn(&self, ticket: &Ticket) -> Turn<'_> {
        let told = match ticket.latency {
            WriteLatency::Now => ticket.hears.recv().ok(),
            WriteLatency::Soon => match ticket.hears.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => {
                    self.hurry(ticket.number);
                    ticket.hears.recv().ok()
                }
                told => told.ok(),
            },
        };
        match told {
            Some(Message::Done(done)) => Turn::Done(done),
            Some(Message::Lead) => Turn::Lead(Lead { queue: self, latency: ticket.latency }),
            None => Turn::Lost,
        }
    }

    /// Makes a write urgent after its patience ran out. A write that is no longer in the queue is being carried out.
    fn hurry(&self, number: u64) {
        let mut state = self.state();
        if let Some(own) = state.waiting.iter_mut().find(|one| one.number == number) {
            own.latency = WriteLatency::Now;
            if !state.is_led {
                state.appoint();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Tells the first urgent writer to lead. The others become urgent themselves once their patience runs out.
    fn appoint(&mut self) {
        let mut urgent = self.waiting.iter().filter(|one| one.latency == WriteLatency::Now);
        self.is_led = urgent.any(|one| one.told.send(Message::Lead).is_ok());
    }
}

/// The leadership of a queue. Dropping it passes it on.
pub(super) struct Lead<'a> {
    queue: &'a WriteQueue,
    /// Latency of the leader's own write.
    latency: WriteLatency,
}

impl Lead<'_> {
    /// The writes to carry out now, in order.
    pub(super) fn taken(&self) -> Vec<Waiting> {
        let waiting = &mut self.queue.state().waiting;
        match self.latency {
            WriteLatency::Now => waiting.extract_if(.., |one| one.latency == WriteLatency::Now).collect(),
            WriteLatency::Soon => std::mem::take(waiting),
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.queue.state().appoint();
    }
}

impl Waiting {
    /// The write, and the channel for its result.
    pub(super) fn begin(self) -> (QueuedWrite, Sender<Message>) {
        (self.write, self.told)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    fn write(operation: &'static str) -> QueuedWrite {
        QueuedWrite { operation, work: Box::new(|_| Ok(())) }
    }

    fn lead<'a>(queue: &'a WriteQueue, ticket: &Ticket) -> Lead<'a> {
        match queue.turn(ticket) {
            Turn::Lead(lead) => lead,
            Turn::Done(_) | Turn::Lost => panic!("it does not lead"),
        }
    }

    /// Carries out all writes and returns their names.
    fn carry_out(lead: &Lead<'_>) -> Vec<&'static str> {
        let all = lead.taken().into_iter().map(|one| {
            let (write, told) = one.begin();
            told.send(Message::Done(Ok(1))).unwrap();
            write.operation
        });
        all.collect()
    }

    #[test]
    fn one_leads_and_the_next_urgent_writer_takes_over() {
        let queue = WriteQueue::default();
        let soon = queue.enter(write("soon"), WriteLatency::Soon);
        let [first, second] = ["first", "second"].map(|name| queue.enter(write(name), WriteLatency::Now));
        let leading = lead(&queue, &first);
        assert_eq!(carry_out(&leading), ["first", "second"], "the urgent ones, in order");
        drop(leading);
        let leading = lead(&queue, &soon);
        let third = queue.enter(write("third"), WriteLatency::Now);
        assert_eq!(carry_out(&leading), ["soon", "third"], "a leader that waited takes all");
        drop(leading);
        for ticket in [&soon, &first, &second, &third] {
            assert!(matches!(queue.turn(ticket), Turn::Done(Ok(1))));
        }
        let third = queue.enter(write("third"), WriteLatency::Now);
        let leading = lead(&queue, &third);
        assert_eq!(leading.taken().len(), 1);
        let (later, fourth) = (
            queue.enter(write("later"), WriteLatency::Soon),
            queue.enter(write("fourth"), WriteLatency::Now),
        );
        drop(leading);
        assert!(matches!(queue.turn(&third), Turn::Lost), "it did not carry out what it took");
        assert_eq!(carry_out(&lead(&queue, &fourth)), ["fourth"]);
        assert_eq!(carry_out(&lead(&queue, &later)), ["later"]);
        assert!(matches!(queue.turn(&later), Turn::Done(Ok(1))));
    }

    #[test]
    fn a_patient_writer_leads_if_no_other_does() {
        let queue = WriteQueue::default();
        let tickets = ["a", "b"].map(|name| queue.enter(write(name), WriteLatency::Soon));
        let [first, second] = &tickets;
        assert_eq!(carry_out(&lead(&queue, second)), ["a", "b"]);
        assert!(matches!(queue.turn(first), Turn::Done(Ok(1))));
        assert!(!queue.state().is_led && queue.state().waiting.is_empty());
    }

    #[test]
    fn a_writer_out_of_patience_is_not_passed_over() {
        let queue = WriteQueue::default();
        let [soon, other] = ["soon", "other"].map(|name| queue.enter(write(name), WriteLatency::Soon));
        let first = queue.enter(write("first"), WriteLatency::Now);
        let leading = lead(&queue, &first);
        assert_eq!(carry_out(&leading), ["first"]);
        queue.hurry(soon.number);
        let later = queue.enter(write("later"), WriteLatency::Now);
        drop(leading);
        assert_eq!(
            carry_out(&lead(&queue, &soon)),
            ["soon", "other", "later"],
            "it leads before later writers"
        );
        for ticket in [&other, &later] {
            assert!(matches!(queue.turn(ticket), Turn::Done(Ok(1))));
        }
        // Or the present leader takes it along, if it has not begun yet.
        let soon = queue.enter(write("soon"), WriteLatency::Soon);
        let first = queue.enter(write("first"), WriteLatency::Now);
        let leading = lead(&queue, &first);
        queue.hurry(soon.number);
        assert_eq!(carry_out(&leading), ["soon", "first"]);
    }

    #[test]
    fn a_writer_that_went_away_does_not_lead() {
        let queue = WriteQueue::default();
        let first = queue.enter(write("first"), WriteLatency::Now);
        let leading = lead(&queue, &first);
        drop(queue.enter(write("gone"), WriteLatency::Now));
        let last = queue.enter(write("last"), WriteLatency::Now);
        leading.taken().truncate(1);
        let (gone, last_but_one) =
            (queue.enter(write("gone"), WriteLatency::Now), queue.enter(write("here"), WriteLatency::Now));
        drop(gone);
        drop(leading);
        assert_eq!(carry_out_all(&lead(&queue, &last_but_one)), ["gone", "here"]);
        assert!(matches!(queue.turn(&last), Turn::Lost));
    }

    /// Like [`carry_out`], for writes whose threads may have gone away.
    fn carry_out_all(lead: &Lead<'_>) -> Vec<&'static str> {
        lead.taken().into_iter().map(|one| one.begin().0.operation).collect()
    }
}
