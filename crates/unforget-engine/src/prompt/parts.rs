//! The representation of entries in a composed prompt.

use unforget_core::admit::Rung;
use unforget_core::compact::Tree;
use unforget_core::group::Group;
use unforget_core::id::Seq;
use unforget_core::policy::Policy;

use super::Session;
use super::compose::Composer;
use super::pieces::PromptPiece;
use crate::summary_name::summary_name;

/// How a prompt represents entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// Verbatim.
    Whole,
    /// With results or texts replaced by stubs or excerpts.
    Stub,
    /// By this summary.
    Summary {
        /// Its name.
        name: String,
        /// Whether a model wrote it.
        by_model: bool,
    },
    /// By a coarse summary, which was made from a few places of them. Better ones are being made.
    Coarse,
    /// Left out for room behind the summaries: one line stands for a run of entries.
    LeftOut,
}

impl How {
    /// Name for reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stub => "stub",
            Self::Summary { .. } => "summary",
            Self::Coarse => "coarse-summary",
            Self::LeftOut => "left-out",
        }
    }

    /// Name of the summary that stands for the entries.
    pub const fn summary(&self) -> Option<&str> {
        match self {
            Self::Summary { name, .. } => Some(name.as_str()),
            Self::Whole | Self::Stub | Self::Coarse | Self::LeftOut => None,
        }
    }
}

/// A part of a prompt, with its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Their representation.
    pub how: How,
    /// Expected tokens.
    pub tokens: u64,
}

impl Session {
    /// The parts of a rung's request in this window, oldest first. A carried message and raised entries stand beside their
    /// summary.
    pub(crate) fn parts(&self, window: u64, rung: Rung) -> Vec<Part> {
        let policy = Policy { window, ..*self.source.policy() };
        let tail = Composer::new(self.parts_within(policy)).tail(rung);
        let summaries = self.cover.weighed().map(|(shown, tokens)| Part {
            span: shown.face.root.span,
            how: match shown.face.root.tree {
                Tree::Coarse => How::Coarse,
                Tree::Own | Tree::Other { .. } => How::Summary {
                    name: summary_name(&self.source.key(&shown.face.root)),
                    by_model: shown.face.by_model,
                },
            },
            tokens,
        });
        let carried = self.cover.carried().map(|carried| Part {
            span: (carried.item.seq, carried.item.seq),
            how: How::Whole,
            tokens: carried.piece.tokens.expected,
        });
        let shown = if rung == Rung::Assembled { self.fixed.raised().shown() } else { &[] };
        let raised = shown.iter().map(|entry| Part {
            span: (entry.seq, entry.seq),
            how: if entry.is_short { How::Stub } else { How::Whole },
            tokens: entry.tokens,
        });
        let groups = self.window.groups().iter().map(|group| group_part(group, &tail));
        summaries.chain(raised).chain(carried).chain(groups).collect()
    }
}

/// The part of a group.
///
/// * `tail` - the pieces behind the summaries.
fn group_part(group: &Group, tail: &[PromptPiece]) -> Part {
    let holds = |seq: &Seq| group.items.iter().any(|item| item.seq == *seq);
    let mut pieces = tail.iter();
    let piece = pieces.find(|piece| piece.messages.iter().any(|message| message.seqs.iter().any(holds)));
    let how = match piece {
        Some(piece) if piece.replaced => How::Stub,
        Some(_) => How::Whole,
        None => How::LeftOut,
    };
    let span = (group.first_seq(), group.last_seq());
    Part { span, how, tokens: piece.map_or(0, |piece| piece.tokens.expected) }
}
