//! The actions of a simulated host, as plain values: a history is a seed, and any of its steps can be left out.

use unforget_bench::Random;
use unforget_wire::Format;

/// Kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Op {
    /// A turn from a person's message to its end, in whatever way it ends.
    #[default]
    Turn,
    /// A page of the transcript.
    CatchUp,
    /// All of the transcript as an array.
    Sync,
    /// A question for a prompt.
    Ask,
    /// A request to make the prompt smaller.
    Compact,
    /// A message of the transcript changes its text, or the transcript is cut back.
    Edit,
    /// The path is cut back to an entry.
    Rewind,
    /// The conversation begins anew.
    Reset,
    /// The lane becomes a copy of another one.
    Fork,
    /// An event that does not change the history.
    Note,
    /// The clock is set.
    Clock,
    /// The process ends and starts again.
    Restart,
    /// Another process serves the calls from now on. This one keeps its lanes in memory.
    Takeover,
    /// One of the next writes fails.
    Fault,
    /// The transcript's entries get new ids.
    Reissue,
    /// A committed turn is delivered again.
    Again,
    /// Models write summaries while the host continues.
    Write,
    /// A rule is pinned, or taken back.
    Pin,
    /// Entries are put back into the prompt, or taken away again.
    Raise,
}

const OPS: [(Op, u32); 19] = [
    (Op::Turn, 40),
    (Op::CatchUp, 14),
    (Op::Sync, 8),
    (Op::Ask, 18),
    (Op::Compact, 4),
    (Op::Edit, 4),
    (Op::Rewind, 4),
    (Op::Reset, 4),
    (Op::Fork, 2),
    (Op::Note, 3),
    (Op::Clock, 3),
    (Op::Restart, 5),
    (Op::Takeover, 12),
    (Op::Fault, 12),
    (Op::Reissue, 2),
    (Op::Again, 5),
    (Op::Write, 10),
    (Op::Pin, 5),
    (Op::Raise, 5),
];

/// One step. Its details follow from `r` and the host's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind.
    pub op: Op,
    /// The lane.
    pub lane: usize,
    /// Randomness for everything else.
    pub r: u64,
}

/// A host's way of delivering, for a whole history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// pi: times and entry ids; turns, pages, windows.
    #[default]
    Pi,
    /// Times without ids.
    Timed,
    /// Chat messages without any names; always the whole array.
    Chat,
    /// Like [`Profile::Chat`], with keyed turns.
    Keyed,
    /// Unnamed messages in windows: nothing can be proved.
    Blind,
}

impl Profile {
    /// Form of its messages.
    pub const fn form(self) -> Format {
        match self {
            Self::Pi | Self::Timed => Format::Pi,
            Self::Chat | Self::Keyed | Self::Blind => Format::OpenAiChat,
        }
    }

    /// Whether messages carry their time.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Pi | Self::Timed)
    }

    /// Whether it reports turns by key.
    pub const fn has_turns(self) -> bool {
        matches!(self, Self::Pi | Self::Timed | Self::Keyed)
    }
}

/// The history behind a seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the host delivers.
    pub profile: Profile,
    /// Whether the store is a file instead of memory.
    pub is_on_disk: bool,
    /// Lanes.
    pub lanes: usize,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// The history of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let profiles = [Profile::Pi, Profile::Timed, Profile::Chat, Profile::Keyed, Profile::Blind];
    let profile = profiles.get(random.weighted(&[45, 15, 15, 15, 10])).copied().unwrap_or_default();
    let lanes = if random.chance(0.3) { 2 } else { 1 };
    let length = if seed.is_multiple_of(50) { random.between(20, 60) } else { random.between(3, 12) };
    let weights: Vec<u32> = OPS.iter().map(|(_, weight)| *weight).collect();
    let step = |_| Step {
        op: OPS.get(random.weighted(&weights)).map(|(op, _)| *op).unwrap_or_default(),
        lane: random.below(lanes),
        r: random.bits(),
    };
    Plan { profile, is_on_disk: seed % 100 == 7, lanes, steps: (0..length).map(step).collect() }
}
