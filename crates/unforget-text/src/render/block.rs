//! The parts of a summary's text, and the order in which they get room.

/// A part of the text. The order is the order in the text: first the state, then the story, then details to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Aim,
    Reply,
    Now,
    Open,
    Rules,
    Spec,
    Earlier,
    Story,
    Reasons,
    Written,
    Failures,
    Remarks,
    Tools,
    Read,
    Anchors,
    Sightings,
    Excerpts,
}

impl Block {
    pub(super) const ALL: [Self; 17] = [
        Self::Aim,
        Self::Reply,
        Self::Now,
        Self::Open,
        Self::Rules,
        Self::Spec,
        Self::Earlier,
        Self::Story,
        Self::Reasons,
        Self::Written,
        Self::Failures,
        Self::Remarks,
        Self::Tools,
        Self::Read,
        Self::Anchors,
        Self::Sightings,
        Self::Excerpts,
    ];

    /// The order in the text.
    ///
    /// * `is_followed` - whether summaries of later entries stand behind: then the story comes first, as it happened.
    pub(super) fn in_order(is_followed: bool) -> Vec<Self> {
        let mut order = Self::ALL.to_vec();
        if is_followed {
            order.sort_by_key(|block| !matches!(block, Self::Earlier | Self::Story));
        }
        order
    }

    /// * `is_followed` - as for [`Block::in_order`].
    pub(super) const fn heading(self, is_followed: bool) -> &'static str {
        match self {
            Self::Aim if is_followed => "Then asked:",
            Self::Aim => "Asked last:",
            Self::Reply => "What the newest request replies to, in the model's words:",
            Self::Now if is_followed => "Where things stood then:",
            Self::Now => "Where things stood at the end:",
            Self::Open => "Open at the end of these entries:",
            Self::Rules => "Rules that people gave, verbatim:",
            Self::Spec => "A document that a tool returned, which the work may follow:",
            Self::Earlier => "What came of the request before these entries:",
            Self::Story if is_followed => "What was asked and what came of it:",
            Self::Story => "Before that, what was asked and what came of it:",
            Self::Reasons => "Decided or found, and why:",
            Self::Written => "Files written:",
            Self::Failures => "Failures:",
            Self::Tools => "Tools run:",
            Self::Read => "Files read:",
            Self::Anchors => "Identifiers:",
            Self::Remarks => "Also said by the model:",
            Self::Sightings => "Also seen in outputs:",
            Self::Excerpts => "Pieces of these entries, in their words:",
        }
    }

    /// Whether all items share one line instead of a line each.
    pub(super) const fn is_joined(self) -> bool {
        matches!(self, Self::Written | Self::Read | Self::Anchors | Self::Sightings)
    }
}

/// The placement order: each block, and the share of the room, in percent, that may be used up to and with that block.
/// Remaining room is distributed in a second round. Identifiers get a share of the room that the other blocks use.
pub(super) const STEPS: [(Block, u64); 33] = [
    (Block::Aim, 20),
    (Block::Reply, 40),
    (Block::Now, 40),
    (Block::Open, 48),
    (Block::Rules, 58),
    (Block::Earlier, 65),
    (Block::Story, 72),
    (Block::Reasons, 84),
    (Block::Spec, 86),
    (Block::Written, 88),
    (Block::Failures, 91),
    (Block::Tools, 93),
    (Block::Anchors, 100),
    (Block::Aim, 100),
    (Block::Now, 100),
    (Block::Open, 100),
    (Block::Rules, 100),
    (Block::Reply, 100),
    (Block::Spec, 100),
    (Block::Earlier, 88),
    (Block::Story, 92),
    (Block::Reasons, 100),
    (Block::Story, 100),
    (Block::Written, 100),
    (Block::Failures, 100),
    (Block::Anchors, 100),
    (Block::Remarks, 90),
    (Block::Tools, 94),
    (Block::Read, 97),
    (Block::Sightings, 100),
    (Block::Remarks, 100),
    (Block::Tools, 100),
    (Block::Excerpts, 100),
];
