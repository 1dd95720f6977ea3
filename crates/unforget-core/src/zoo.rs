//! Defects put back on purpose, one at a time, to prove that a check catches each of them.
//!
//! Without the feature `zoo` every question is answered no at compile time and nothing is left of this module. Only
//! `unforget-sim` turns it on; `cargo xtask ci` runs that.

/// A defect, at the place of the rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// Equal words prove that a message is stored (F035).
    WordsAsProof = 1,
    /// Names prove nothing: a replay is new (F034).
    NamesIgnored,
    /// A window cuts off what comes behind it.
    WindowRewinds,
    /// A whole array that ends earlier cuts nothing off.
    CutIgnored,
    /// A rewritten copy is shown beside its original (F038).
    FaceShown,
    /// Other words under an old name are not seen.
    EditIgnored,
    /// The view of a tool loop is given for ever (F074).
    ViewNeverDropped,
    /// It is given for another budget.
    ViewKeepsBudget,
    /// It is given for another model or dialect.
    ViewKeepsShape,
    /// It is given though more was said.
    ViewKeepsGrown,
    /// Nothing is too large (F009).
    AdmitAll,
    /// The raw history is judged, not the request (F001).
    AdmitRaw,
    /// Results without a call are sent (F047).
    OrphanKept,
    /// A synthetic result is sent where there is a real one (F048).
    SyntheticBeatsReal,
    /// Calls that were cut off are sent (F046).
    PartialKept,
    /// Calls of one request have one id (F049).
    SameIdsKept,
    /// A message is stored in other bytes.
    BytesChanged,
    /// Our own output that comes back is taken for a message.
    OwnIngested,
    /// The text that stands for no input is sent.
    PlaceholderKept,
    /// A reset is not written (F100).
    ResetIgnored,
    /// The keys of turns are not remembered (F042).
    TurnKeyForgotten,
    /// The host's cursor is not written (F039).
    CursorForgotten,
    /// A rewind leaves the end of the path (F098).
    RewindKeepsTail,
    /// A fork takes more than was asked for.
    ForkTakesAll,
    /// A person's words are not written when the turn begins (F043).
    BeginNotStored,
    /// An array has to have the open turn.
    LoosenMissing,
    /// An array may leave out what was committed.
    TightenMissing,
    /// A lane is used on after a write failed.
    LaneKeptAfterError,
    /// All lanes are one (F110).
    LanesShared,
    /// An abort drops the path.
    AbortCuts,
    /// Later calls of a turn get the room that the host gives, not that of the first.
    LoopBudget,
    /// A summary may stand for live input (F040).
    LiveNotRequired,
    /// The prompt says what time it is (F075).
    ClockInPrompt,
    /// What comes late is dropped (F036).
    LateDropped,
    /// The chain does not go on.
    ChainStuck,
    /// Names are written after their entries, not with them (F039).
    WriteNotAtomic,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 36] = [
        Self::WordsAsProof,
        Self::NamesIgnored,
        Self::WindowRewinds,
        Self::CutIgnored,
        Self::FaceShown,
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
    ];
}

#[cfg(feature = "zoo")]
static ON: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);

/// Whether this defect is in the program.
#[cfg(feature = "zoo")]
pub fn is(bug: Bug) -> bool {
    ON.load(std::sync::atomic::Ordering::Relaxed) == bug as u8
}

/// Whether this defect is in the program: no.
#[cfg(not(feature = "zoo"))]
#[inline]
pub const fn is(_: Bug) -> bool {
    false
}

/// Puts a defect into the whole process, or takes it out.
#[cfg(feature = "zoo")]
pub fn set(bug: Option<Bug>) {
    ON.store(bug.map_or(0, |bug| bug as u8), std::sync::atomic::Ordering::SeqCst);
}
