//! What stands for which entries in a composed prompt.

use unforget_core::admit::Rung;
use unforget_core::id::Seq;

use super::summaries::name;
use super::{Session, compose};

/// How a prompt represents entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// As they are.
    Whole,
    /// With results or texts replaced by stubs or excerpts.
    Stub,
    /// By this summary.
    Summary {
        /// Its name.
        name: String,
        /// Whether it is shown as a model wrote it.
        by_model: bool,
    },
    /// Behind the summaries, but left out for room: one line stands for a run of them.
    LeftOut,
}

impl How {
    /// Name for reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stub => "stub",
            Self::Summary { .. } => "summary",
            Self::LeftOut => "left-out",
        }
    }
}

/// A part of a prompt and the entries that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// First and last entry.
    pub span: (Seq, Seq),
    /// How they are represented.
    pub how: How,
    /// Expected tokens of the part.
    pub tokens: u64,
}

impl Session {
    /// The parts of what a rung composes in this window, oldest first. A carried message stands beside its summary.
    pub(crate) fn parts(&mut self, window: u64, rung: Rung) -> Vec<Part> {
        let policy = self.shape.policy;
        self.shape.policy.window = window;
        let tail = compose::Composer::new(self).tail(rung);
        self.shape.policy = policy;
        let summaries = self.roots.iter().map(|shown| Part {
            span: shown.root.span,
            how: How::Summary { name: name(&self.key(&shown.root)), by_model: shown.rewritten },
            tokens: shown.piece.tokens.expected,
        });
        let carried = self.carried.iter().map(|(item, piece)| Part {
            span: (item.seq, item.seq),
            how: How::Whole,
            tokens: piece.tokens.expected,
        });
        let groups = self.view.groups.iter().map(|group| {
            let span = (group.first_seq(), group.last_seq());
            let holds = |seq: &Seq| group.items.iter().any(|item| item.seq == *seq);
            let piece =
                tail.iter().find(|piece| piece.messages.iter().any(|message| message.seqs.iter().any(holds)));
            let how = match piece {
                Some(piece) if piece.replaced => How::Stub,
                Some(_) => How::Whole,
                None => How::LeftOut,
            };
            Part { span, how, tokens: piece.map_or(0, |piece| piece.tokens.expected) }
        });
        summaries.chain(carried).chain(groups).collect()
    }
}
