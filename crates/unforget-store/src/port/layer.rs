//! Stores over another store. The port is listed here once more, so that each of them lists only what it changes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};

use super::{
    Append, BlobBytes, BreakerRow, BrokenRows, ChunkBytes, ContextRow, Conversation, DecisionRow,
    DerivedNumbers, DerivedRows, EntryRow, Filter, FilterOf, FoundSnapshot, GenerationRow, GrantRow, Index,
    JobEnd, JobPlace, JobRow, Jobs, LabelRow, LaneLook, LaneRows, Lease, Log, LostEntries, Name, NamedEntry,
    NewConversation, NewJob, Page, PinFileRow, PinRow, Problem, Purged, RaisedRow, Raw, Reading, Receipt,
    RecipeRow, Result, SaidRows, SayingRow, Scan, Scanned, Segment, SegmentHead, Snapshot, Spend, SpendHour,
    Store, Summaries, SummaryKey, SummaryPlace, SummaryRow, TableSize, Upkeep, VerdictRow, WriteLatency,
};
use crate::pack::Dictionary;
use crate::unpack::Scratch;

/// The body of a method, by its kind: of the whole store (`any`) or of one conversation (`one`), a write or a read.
macro_rules! passed_on {
    ($self:ident, any $name:ident($($arg:ident),*)) => { $self.inner().$name($($arg),*) };
    ($self:ident, one $name:ident($id:ident $(, $arg:ident)*)) => {
        $self.of($id)?.$name($id $(, $arg)*)
    };
    ($self:ident, write_any $name:ident($($arg:ident),*)) => {
        $self.write(stringify!($name), || $self.inner().$name($($arg),*))
    };
    ($self:ident, write_one $name:ident($id:ident $(, $arg:ident)*)) => {{
        let inner = $self.of($id)?;
        $self.write(stringify!($name), || inner.$name($id $(, $arg)*))
    }};
    ($self:ident, append $name:ident($append:ident)) => {{
        let inner = $self.of($append.conversation)?;
        $self.write(stringify!($name), || inner.$name($append))
    }};
}

/// Declares [`StoreLayer`] and, for every layer, the traits of the port.
macro_rules! layer {
    ($($port:ident { $($kind:ident $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)* })*) => {
        /// A store over another one. Without changes, each method calls the one of the inner store. A layer changes all
        /// methods of one conversation by [`StoreLayer::of`], all writes by [`StoreLayer::write`], and a single method
        /// by its own version.
        pub trait StoreLayer: Send + Sync {
            /// The other store.
            fn inner(&self) -> &dyn Store;

            /// The store that a call about one conversation goes to.
            ///
            /// # Errors
            /// Those of the layer: the call then fails with the error.
            fn of(&self, id: ConversationId) -> Result<&dyn Store> {
                let _ = id;
                Ok(self.inner())
            }

            /// Carries out a write.
            ///
            /// * `operation` - name of the method.
            ///
            /// # Errors
            /// Those of the layer and of `act`.
            fn write<T>(&self, operation: &'static str, act: impl FnOnce() -> Result<T>) -> Result<T> {
                let _ = operation;
                act()
            }

            $($(
                #[doc = concat!("See [`", stringify!($port), "::", stringify!($name), "`].")]
                fn $name(&self, $($arg: $type),*) -> $out {
                    passed_on!(self, $kind $name($($arg),*))
                }
            )*)*
        }

        $(
            impl<L: StoreLayer> $port for L {
                $(
                    fn $name(&self, $($arg: $type),*) -> $out {
                        StoreLayer::$name(self, $($arg),*)
                    }
                )*
            }
        )*
    };
}

layer! {
    Log {
        write_any ensure(new: &NewConversation) -> Result<Conversation>;
        any find(key: &ConversationKey) -> Result<Option<Conversation>>;
        one conversation(id: ConversationId) -> Result<Conversation>;
        any conversations(page: Page<ConversationId>) -> Result<Vec<Conversation>>;
        any labels(page: Page<ConversationId>) -> Result<Vec<LabelRow>>;
        write_one put_label(id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool>;
        one generations(id: ConversationId, page: Page<Generation>) -> Result<Vec<GenerationRow>>;
        one snapshots(id: ConversationId, page: Page<u64>) -> Result<Vec<Snapshot>>;
        one latest_snapshot(id: ConversationId) -> Result<Option<Snapshot>>;
        any snapshot_of_path(path: &str) -> Result<Option<FoundSnapshot>>;
        append append(append: Append) -> Result<Receipt>;
        one named(id: ConversationId, names: &[Name]) -> Result<Vec<NamedEntry>>;
        one names(id: ConversationId, page: Page<NamedEntry>) -> Result<Vec<NamedEntry>>;
        write_one put_names(id: ConversationId, names: &[NamedEntry], latency: WriteLatency) -> Result<u64>;
        one by_chain(id: ConversationId, chain: Chain) -> Result<Option<EntryRow>>;
        one chains(id: ConversationId, generation: Generation, positions: Range<u64>) -> Result<Vec<Chain>>;
        one path(id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>>;
        one rows(id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>>;
        one raw(id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>>;
        one purge_plan(id: ConversationId, seqs: Range<u64>) -> Result<Purged>;
        write_one purge(id: ConversationId, seqs: Range<u64>) -> Result<Purged>;
    }
    Index {
        one filters(id: ConversationId, page: Page<FilterOf>) -> Result<Vec<Filter>>;
        one chunk(id: ConversationId, chunk: u64) -> Result<ChunkBytes>;
        one scan(id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned>;
        one blob(id: ConversationId, digest: Digest) -> Result<BlobBytes>;
        one scan_blob(id: ConversationId, digest: Digest, scratch: &mut Scratch, wants: &mut dyn FnMut(&[u8]) -> bool) -> Result<Vec<Seq>>;
        write_one put_segment(id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64>;
        one segments(id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>>;
        one block(id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>>;
        write_one drop_segments(id: ConversationId) -> Result<()>;
    }
    Summaries {
        write_one put_derived(id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers>;
        one summaries_of(id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>>;
        one summary_before(id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>>;
        one summaries(id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>>;
        one count_summaries(id: ConversationId) -> Result<u64>;
        one context(id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>>;
        any lane_rows(looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>>;
        one contexts(id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>>;
        one context_threads(id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>>;
        one said(id: ConversationId) -> Result<SaidRows>;
        write_one put_pins(id: ConversationId, before: &[PinRow], after: &[PinRow], files: &[PinFileRow]) -> Result<()>;
        write_one put_verdict(id: ConversationId, verdict: &VerdictRow) -> Result<u64>;
        write_one withdraw_verdict(id: ConversationId, number: u64, now: Timestamp) -> Result<bool>;
        write_one put_raised(id: ConversationId, raised: &RaisedRow) -> Result<u64>;
        write_one withdraw_raised(id: ConversationId, number: u64, now: Timestamp) -> Result<bool>;
        one sayings(id: ConversationId, page: Page<u64>) -> Result<Vec<SayingRow>>;
        write_one put_sayings(id: ConversationId, sayings: &[SayingRow]) -> Result<u64>;
        one recipes(id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>>;
        one recipe_state(id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>>;
        one decisions(id: ConversationId) -> Result<Vec<DecisionRow>>;
    }
    Jobs {
        write_one put_jobs(id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Result<u64>;
        write_one take_job(id: ConversationId, now: Timestamp, until: Timestamp, all: bool) -> Result<Option<JobRow>>;
        write_one end_job(id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Result<bool>;
        one job(id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>>;
        any due(now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>>;
        one jobs(id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>>;
        write_one drop_jobs(id: ConversationId, now: Timestamp) -> Result<u64>;
        write_one put_rewrites(id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()>;
        one rewrites_of(id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>>;
        one rewrites(id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>>;
        write_one charge(id: ConversationId, hour: SpendHour, spend: Spend, caps: Spend) -> Result<bool>;
        write_one refund(id: ConversationId, hour: SpendHour, spend: Spend) -> Result<()>;
        one spent(id: ConversationId, hour: SpendHour) -> Result<Spend>;
        any breakers() -> Result<Vec<BreakerRow>>;
        write_any put_breakers(rows: &[BreakerRow]) -> Result<()>;
        write_any put_grant(grant: &GrantRow, keep: u64) -> Result<u64>;
        write_any use_grant(number: u64, more: Reading, now: Timestamp) -> Result<bool>;
        write_any end_grant(number: u64, how: &str, now: Timestamp) -> Result<bool>;
        any grants() -> Result<Vec<GrantRow>>;
    }
    Upkeep {
        any verify(progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>>;
        any lost_entries() -> Result<Vec<LostEntries>>;
        any broken_rows() -> Vec<BrokenRows>;
        any change_mark() -> Result<Option<u64>>;
        any backup(to: &Path) -> Result<()>;
        any sizes() -> Result<Vec<TableSize>>;
        write_any maintain() -> Result<()>;
        any dictionary() -> Option<Arc<Dictionary>>;
    }
}
