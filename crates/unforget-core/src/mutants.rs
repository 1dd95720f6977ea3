//! Mutants: defects put back on purpose, one at a time, to prove that a check catches each of them.
//!
//! Without debug assertions, that is in every released program, [`is`] is `false` at compile time and the module vanishes.
//! Only the tests of `unforget-sim` activate defects, in a process of their own.

/// A defect, located at the rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// Equal words prove that a message is stored (F035).
    WordsAsProof = 1,
    /// Names prove nothing: a replay is new (F034).
    NamesIgnored,
    /// A window cuts off the entries behind it.
    WindowRewinds,
    /// A whole array that ends earlier does not cut the path.
    CutIgnored,
    /// A rewritten copy is shown beside its original (F038).
    CopyShown,
    /// Changed content under an old name goes unnoticed.
    EditIgnored,
    /// The cached prompt of a tool loop is returned for ever (F074).
    ViewNeverDropped,
    /// The cached prompt is returned for another budget.
    ViewKeepsBudget,
    /// The cached prompt is returned for another model or dialect.
    ViewKeepsShape,
    /// The cached prompt is returned although the history grew.
    ViewKeepsGrown,
    /// Nothing is too large (F009).
    AdmitAll,
    /// Admission judges the raw history, not the request (F001).
    AdmitRaw,
    /// Results without a call are sent (F047).
    OrphanKept,
    /// A synthetic result is sent beside a real one (F048).
    SyntheticBeatsReal,
    /// Cut-off calls are sent (F046).
    PartialKept,
    /// Calls of one request keep equal ids (F049).
    SameIdsKept,
    /// A message is stored with other bytes.
    BytesChanged,
    /// Our own output is stored as a message when it comes back.
    OwnIngested,
    /// The placeholder for missing input is sent.
    PlaceholderKept,
    /// A reset is not written (F100).
    ResetIgnored,
    /// The keys of turns are forgotten (F042).
    TurnKeyForgotten,
    /// The host's cursor is not written (F039).
    CursorForgotten,
    /// A rewind leaves the end of the path (F098).
    RewindKeepsTail,
    /// A fork takes more than requested.
    ForkTakesAll,
    /// A person's message is not written when the turn begins (F043).
    BeginNotStored,
    /// An array must contain the open turn.
    LoosenMissing,
    /// An array may leave out committed entries.
    TightenMissing,
    /// A lane stays in use after a failed write.
    LaneKeptAfterError,
    /// All lanes are treated as one (F110).
    LanesShared,
    /// An abort drops the path.
    AbortCuts,
    /// Later calls of a turn get the host's budget instead of the first call's.
    LoopBudget,
    /// A summary may stand for live input (F040).
    LiveNotRequired,
    /// The prompt contains the current time (F075).
    ClockInPrompt,
    /// Late messages are dropped (F036).
    LateDropped,
    /// The chain is not continued.
    ChainStuck,
    /// Names are written after their entries, not with them (F039).
    WriteNotAtomic,
    /// A name that nobody had stays nobody's, whatever other processes stored since.
    EmptyNameCached,
    /// A lane in memory is used as it is, whatever other processes stored since.
    StaleLaneKept,
    /// The open turn of a lane is forgotten when the lane is opened again.
    TurnForgotten,
    /// The last call of a lane, and the bounds of its turn, are forgotten when the lane is opened again.
    CallForgotten,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 40] = [
        Self::WordsAsProof,
        Self::NamesIgnored,
        Self::WindowRewinds,
        Self::CutIgnored,
        Self::CopyShown,
        Self::EditIgnored,
        Self::ViewNeverDropped,
        Self::ViewKeepsBudget,
        Self::ViewKeepsShape,
        Self::ViewKeepsGrown,
        Self::AdmitAll,
        Self::AdmitRaw,
        Self::OrphanKept,
        Self::SyntheticBeatsReal,
        Self::PartialKept,
        Self::SameIdsKept,
        Self::BytesChanged,
        Self::OwnIngested,
        Self::PlaceholderKept,
        Self::ResetIgnored,
        Self::TurnKeyForgotten,
        Self::CursorForgotten,
        Self::RewindKeepsTail,
        Self::ForkTakesAll,
        Self::BeginNotStored,
        Self::LoosenMissing,
        Self::TightenMissing,
        Self::LaneKeptAfterError,
        Self::LanesShared,
        Self::AbortCuts,
        Self::LoopBudget,
        Self::LiveNotRequired,
        Self::ClockInPrompt,
        Self::LateDropped,
        Self::ChainStuck,
        Self::WriteNotAtomic,
        Self::EmptyNameCached,
        Self::StaleLaneKept,
        Self::TurnForgotten,
        Self::CallForgotten,
    ];
}

#[cfg(debug_assertions)]
static ON: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Whether this defect is active.
#[cfg(debug_assertions)]
pub fn is(bug: Bug) -> bool {
    ON.load(std::sync::atomic::Ordering::Relaxed) == bug as u8
}

/// Whether this defect is active: never without debug assertions.
#[cfg(not(debug_assertions))]
#[inline]
pub const fn is(_: Bug) -> bool {
    false
}

/// Activates a defect for the whole process, or none.
#[cfg(debug_assertions)]
pub fn set(bug: Option<Bug>) {
    ON.store(bug.map_or(0, |bug| bug as u8), std::sync::atomic::Ordering::SeqCst);
}
