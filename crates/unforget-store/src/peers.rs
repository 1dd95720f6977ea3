//! What processes on one store agree on beside the histories. Only a store that several processes write at once has it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use unforget_core::digest::Digest;
use unforget_core::id::ConversationId;

use crate::port::Result;
use crate::watched::Change;

/// A call under a key of its client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedCall {
    /// Digest of the caller and its key.
    pub key: Digest,
    /// Digest of the request.
    pub request: Digest,
}

/// A complete answer, for clients that ask for it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Status and headers, in the form of who keeps it.
    pub head: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

/// How a keyed call relates to those of all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStanding {
    /// It is new, and this process carries it out from now on.
    Ours,
    /// Another process carries it out.
    Elsewhere,
    /// It was answered.
    Answered(KeptAnswer),
    /// The key belongs to another request.
    Conflict,
}

/// Something that another process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerNews {
    /// A conversation changed.
    Changed(ConversationId, Change),
    /// The connection was gone: changes may be missing.
    Missed,
}

/// The callback for what other processes say. It must be quick and may not use the store.
pub type PeerCallback = Arc<dyn Fn(PeerNews) + Send + Sync>;

/// The other processes on a store. Times are measured by the store's clock.
pub trait Peers: Send + Sync {
    /// Takes a piece of work for a time, or takes it again. False while another process has it.
    ///
    /// * `work` - its name.
    fn hold(&self, work: &str, time: Duration) -> Result<bool>;

    /// A secret that all processes on the store know, and nobody else.
    fn secret(&self) -> Result<Digest>;

    /// Begins a keyed call, unless another process carries it out or did so.
    ///
    /// * `time` - how long other processes wait for the answer if nothing is heard of it; [`Peers::keep_call`] says so.
    fn begin_call(&self, call: &KeyedCall, time: Duration) -> Result<CallStanding>;

    /// Tells that this process still carries a call out.
    fn keep_call(&self, call: &KeyedCall, time: Duration) -> Result<()>;

    /// Ends a call of this process: with its answer, which is kept for a time, or as if it had not begun. A call that another
    /// process took over meanwhile stays with that process.
    fn end_call(&self, call: &KeyedCall, answer: Option<&KeptAnswer>, time: Duration) -> Result<()>;

    /// Tells other processes of changes that this one made.
    fn tell(&self, changes: &BTreeSet<(ConversationId, Change)>) -> Result<()>;

    /// Calls back with what other processes tell from now on, until the store is closed.
    fn hear(&self, news: PeerCallback);
}
