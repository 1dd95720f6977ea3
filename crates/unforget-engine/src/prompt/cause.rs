//! Why a prompt breaks.

/// Why the beginning of a prompt is not that of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The first prompt of a session.
    First,
    /// Compaction: summaries or stubs took the place of older entries.
    Compaction,
    /// It did not fit as assembled, or the one before did not.
    Ladder,
    /// A late result or a further piece went into an earlier group.
    LateEntry,
    /// The transcript went back and on differently.
    Rewind,
    /// Pins were added, taken back or changed.
    Pins,
    /// Live input beside a summary stood before the newest message, and goes behind what came since.
    LiveInput,
}

impl Cause {
    /// All, in the order of their stored numbers: new ones go to the end.
    pub const ALL: [Self; 7] = [
        Self::First,
        Self::Compaction,
        Self::Ladder,
        Self::LateEntry,
        Self::Rewind,
        Self::Pins,
        Self::LiveInput,
    ];

    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Compaction => "compaction",
            Self::Ladder => "ladder",
            Self::LateEntry => "late-entry",
            Self::Rewind => "rewind",
            Self::Pins => "pins",
            Self::LiveInput => "live-input",
        }
    }
}
