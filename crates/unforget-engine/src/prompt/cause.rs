//! Why a prompt breaks, where, and what that costs.

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

impl Cause {
    /// Whether pinned files are read again at such a break: only where the beginning of the prompt changes anyway. A change late
    /// in the prompt leaves its beginning in the provider's cache.
    pub const fn reads_files(self) -> bool {
        matches!(self, Self::First | Self::Compaction | Self::Pins)
    }

    /// What happened, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::First => "this is the first prompt that was made for it",
            Self::Compaction => "older entries are summarised now",
            Self::Ladder => "it had to be shortened to fit, or fits again",
            Self::LateEntry => "something came late into an earlier place",
            Self::Rewind => "the client went back and on differently",
            Self::Pins => "pins changed",
            Self::LiveInput => "live input moved behind what came since",
        }
    }
}

/// A place in a prompt, most stable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Recorded instructions.
    System,
    /// Pinned rules.
    Pins,
    /// Summaries.
    Summaries,
    /// The newest message of a person, out of what is summarised.
    Carried,
    /// Messages, whole or shortened.
    Tail,
    /// What was done with tools, as far as the summaries go: stands behind them.
    Ledger,
}

impl Region {
    /// All, in the order of their stored numbers.
    pub const ALL: [Self; 6] =
        [Self::System, Self::Pins, Self::Summaries, Self::Carried, Self::Tail, Self::Ledger];

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Pins => "pins",
            Self::Summaries => "summaries",
            Self::Carried => "carried",
            Self::Tail => "tail",
            Self::Ledger => "ledger",
        }
    }
}

/// A break: the beginning of a prompt is not all of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Why.
    pub cause: Cause,
    /// What of the prompt before is the first that is not there any more.
    pub region: Region,
    /// Expected tokens that the provider's cache should have held behind that place: they are billed again.
    pub rebilled: u64,
    /// Expected tokens of this prompt that it should still serve.
    pub hit: u64,
}

/// A piece of a prompt that was composed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Of its content.
    pub(super) print: u64,
    /// Expected.
    pub(super) tokens: u64,
    /// Blocks of its messages.
    pub(super) blocks: usize,
    /// Where it stands.
    pub(super) region: Region,
}

/// Expected tokens and number of pieces at the beginning that are equal.
pub(super) fn common_prefix(before: &[Sent], now: &[Sent]) -> (u64, usize) {
    let equal = before.iter().zip(now).take_while(|(a, b)| a.print == b.print);
    equal.fold((0, 0), |(tokens, count), (piece, _)| (tokens + piece.tokens, count + 1))
}
