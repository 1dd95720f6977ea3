//! The queue of waiting writes, and the choice of the thread that carries them out.
//!
//! One of the waiting threads leads: it carries out the queued writes and reports the results. The next `Now` writer
//! leads after it. A thread wakes only for its own result or for leadership, and a finished one never waits for others.
//! A `Now` leader takes only `Now` writes; a leader whose patience ran out takes all writes.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::fault::Outcome;
use crate::port::{Haste, Result};

/// How long a write without a waiting caller lets others go first, and then how long it waits for another's sync.
pub(super) const PATIENCE: Duration = Duration::from_millis(2);

/// The work of a write within the transaction.
type Work = Box<dyn FnOnce(&Connection) -> Outcome<()> + Send>;

/// A write before queueing.
pub(super) struct Write {
    pub(super) operation: &'static str,
    pub(super) work: Work,
}

/// A write in the queue.
pub(super) struct Waiting {
    write: Write,
    number: u64,
    haste: Haste,
    told: Sender<Told>,
}

/// A message to a waiting write.
pub(super) enum Told {
    /// The result: the number of its transaction.
    Done(Result<u64>),
    /// The order to carry out its own write and others.
    Lead,
}

/// A place in the queue.
pub(super) struct Ticket {
    number: u64,
    haste: Haste,
    hears: Receiver<Told>,
}

/// The queue of waiting writes. Its rules are in the module documentation.
#[derive(Default)]
pub(super) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
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

impl Queue {
    /// Queues a write.
    pub(super) fn enter(&self, write: Write, haste: Haste) -> Ticket {
        let (told, hears) = channel();
        let mut state = self.state();
        state.count += 1;
        let number = state.count;
        state.waiting.push(Waiting { write, number, haste, told });
        if haste == Haste::Now && !state.is_led {
            state.appoint();
        }
        Ticket { number, haste, hears }
    }

    /// Waits until a write is done, or its thread has to lead. A leader calls it once more afterwards.
    pub(super) fn turn(&self, ticket: &Ticket) -> Turn<'_> {
        let told = match ticket.haste {
            Haste::Now => ticket.hears.recv().ok(),
            Haste::Soon => match ticket.hears.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => {
                    self.hurry(ticket.number);
                    ticket.hears.recv().ok()
                }
                told => told.ok(),
            },
        };
        match told {
            Some(Told::Done(done)) => Turn::Done(done),
            Some(Told::Lead) => Turn::Lead(Lead { queue: self, haste: ticket.haste }),
            None => Turn::Lost,
        }
    }

    /// Makes a write urgent after its patience ran out. A write that is no longer in the queue is being carried out.
    fn hurry(&self, number: u64) {
        let mut state = self.state();
        if let Some(own) = state.waiting.iter_mut().find(|one| one.number == number) {
            own.haste = Haste::Now;
            if !state.is_led {
                state.appoint();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells the first `Now` write to lead. Others become `Now` themselves once their patience runs out.
    fn appoint(&mut self) {
        let mut in_haste = self.waiting.iter().filter(|one| one.haste == Haste::Now);
        self.is_led = in_haste.any(|one| one.told.send(Told::Lead).is_ok());
    }
}

/// The leadership of a queue. Dropping it passes it on.
pub(super) struct Lead<'a> {
    queue: &'a Queue,
    /// Urgency of the leader's write.
    haste: Haste,
}

impl Lead<'_> {
    /// The writes to carry out now, in order.
    pub(super) fn taken(&self) -> Vec<Waiting> {
        let waiting = &mut self.queue.state().waiting;
        match self.haste {
            Haste::Now => waiting.extract_if(.., |one| one.haste == Haste::Now).collect(),
            Haste::Soon => std::mem::take(waiting),
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
    pub(super) fn begin(self) -> (Write, Sender<Told>) {
        (self.write, self.told)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    fn write(operation: &'static str) -> Write {
        Write { operation, work: Box::new(|_| Ok(())) }
    }

    fn lead<'a>(queue: &'a Queue, ticket: &Ticket) -> Lead<'a> {
        match queue.turn(ticket) {
            Turn::Lead(lead) => lead,
            Turn::Done(_) | Turn::Lost => panic!("it does not lead"),
        }
    }

    /// Carries out all writes and returns their names.
    fn carry_out(lead: &Lead<'_>) -> Vec<&'static str> {
        let all = lead.taken().into_iter().map(|one| {
            let (write, told) = one.begin();
            told.send(Told::Done(Ok(1))).unwrap();
            write.operation
        });
        all.collect()
    }

    #[test]
    fn one_leads_and_the_next_in_haste_after_it() {
        let queue = Queue::default();
        let soon = queue.enter(write("soon"), Haste::Soon);
        let [first, second] = ["first", "second"].map(|name| queue.enter(write(name), Haste::Now));
        let leading = lead(&queue, &first);
        assert_eq!(carry_out(&leading), ["first", "second"], "those in haste, in order");
        drop(leading);
        let leading = lead(&queue, &soon);
        let third = queue.enter(write("third"), Haste::Now);
        assert_eq!(carry_out(&leading), ["soon", "third"], "who waited takes all");
        drop(leading);
        for ticket in [&soon, &first, &second, &third] {
            assert!(matches!(queue.turn(ticket), Turn::Done(Ok(1))));
        }
        let third = queue.enter(write("third"), Haste::Now);
        let leading = lead(&queue, &third);
        assert_eq!(leading.taken().len(), 1);
        let (later, fourth) =
            (queue.enter(write("later"), Haste::Soon), queue.enter(write("fourth"), Haste::Now));
        drop(leading);
        assert!(matches!(queue.turn(&third), Turn::Lost), "it did not carry out what it took");
        assert_eq!(carry_out(&lead(&queue, &fourth)), ["fourth"]);
        assert_eq!(carry_out(&lead(&queue, &later)), ["later"]);
        assert!(matches!(queue.turn(&later), Turn::Done(Ok(1))));
    }

    #[test]
    fn who_is_not_in_haste_leads_when_nobody_else_does() {
        let queue = Queue::default();
        let tickets = ["a", "b"].map(|name| queue.enter(write(name), Haste::Soon));
        let [first, second] = &tickets;
        assert_eq!(carry_out(&lead(&queue, second)), ["a", "b"]);
        assert!(matches!(queue.turn(first), Turn::Done(Ok(1))));
        assert!(!queue.state().is_led && queue.state().waiting.is_empty());
    }

    #[test]
    fn who_waited_long_enough_is_not_passed_over() {
        let queue = Queue::default();
        let [soon, other] = ["soon", "other"].map(|name| queue.enter(write(name), Haste::Soon));
        let first = queue.enter(write("first"), Haste::Now);
        let leading = lead(&queue, &first);
        assert_eq!(carry_out(&leading), ["first"]);
        queue.hurry(soon.number);
        let later = queue.enter(write("later"), Haste::Now);
        drop(leading);
        assert_eq!(
            carry_out(&lead(&queue, &soon)),
            ["soon", "other", "later"],
            "it leads before who came later"
        );
        for ticket in [&other, &later] {
            assert!(matches!(queue.turn(ticket), Turn::Done(Ok(1))));
        }
        // Or the present leader takes it along, if it has not begun yet.
        let soon = queue.enter(write("soon"), Haste::Soon);
        let first = queue.enter(write("first"), Haste::Now);
        let leading = lead(&queue, &first);
        queue.hurry(soon.number);
        assert_eq!(carry_out(&leading), ["soon", "first"]);
    }

    #[test]
    fn who_went_away_does_not_get_the_lead() {
        let queue = Queue::default();
        let first = queue.enter(write("first"), Haste::Now);
        let leading = lead(&queue, &first);
        drop(queue.enter(write("gone"), Haste::Now));
        let last = queue.enter(write("last"), Haste::Now);
        leading.taken().truncate(1);
        let (gone, last_but_one) =
            (queue.enter(write("gone"), Haste::Now), queue.enter(write("here"), Haste::Now));
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
