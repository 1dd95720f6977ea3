//! An answer on its way from a provider: read, written to its file, and stored when it ends.

use std::io;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use unforget_wire::Dialect;
use unforget_wire::exchange::Fault;

use super::broadcast::{BodyEnd, Broadcast};
use super::byte_budget::BudgetShare;
use super::prepared::PreparedCall;
use super::reading::AnswerReader;
use super::spool::SpoolFile;

/// Most bytes kept of an answer: an endless answer is broken off.
const LONGEST: u64 = 256 << 20;

/// Whether later calls may refer to an answer by its id, as soon as a client has it.
pub(super) fn is_referred_to(dialect: Dialect) -> bool {
    dialect == Dialect::OpenAiResponses
}

/// The file and the reader of an answer that is not stored yet.
pub(super) struct OpenAnswer {
    pub(super) file: SpoolFile,
    pub(super) reader: AnswerReader,
}

/// An arriving answer.
pub(super) struct ArrivingAnswer {
    pub(super) prepared: Arc<PreparedCall>,
    /// The model's own recall, as JSON.
    pub(super) rounds: Option<String>,
    dialect: Dialect,
    /// Whether later calls may refer to it by id, so that it must be stored before any client knows that it is
    /// complete.
    pub(super) is_referred_to: bool,
    /// Open until it is stored.
    pub(super) open: Option<OpenAnswer>,
    /// Memory budget for reading it.
    pub(super) room: BudgetShare,
}

impl ArrivingAnswer {
    pub(super) fn new(
        prepared: Arc<PreparedCall>,
        dialect: Dialect,
        open: OpenAnswer,
        room: BudgetShare,
    ) -> Self {
        let is_referred_to = is_referred_to(dialect);
        Self { prepared, rounds: None, dialect, is_referred_to, open: Some(open), room }
    }

    /// Takes a chunk. Returns whether the answer ends in it.
    pub(super) fn take(&mut self, chunk: &[u8]) -> io::Result<bool> {
        let Some(OpenAnswer { file: spooled, reader: read }) = &mut self.open else { return Ok(false) };
        spooled.push(chunk)?;
        if spooled.place().from > LONGEST {
            return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
        }
        if let Some(file) = spooled.due() {
            // Not awaited: it limits the loss in a power failure, not what a client gets.
            drop(spawn_blocking(move || file.sync_data()));
        }
        let had_ended = read.has_ended();
        read.push(chunk);
        Ok(!had_ended && read.has_ended())
    }

    /// Its kind of end, after the provider has closed the connection.
    pub(super) fn end(&self) -> BodyEnd {
        let is_short = self.open.as_ref().is_some_and(|open| !open.reader.is_all());
        if is_short { BodyEnd::Short } else { BodyEnd::Whole }
    }

    /// Tells the clients that the answer broke off, in their dialect where the stream allows it.
    pub(super) fn broken_off(&self, broadcast: &Broadcast) -> BodyEnd {
        let is_between = self.open.as_ref().is_some_and(|open| open.reader.is_between());
        if is_between {
            broadcast.push(Fault::NotStored.event(self.dialect, "").as_bytes(), None);
        }
        BodyEnd::Broken
    }
}
