//! The blocks in which our summaries stand in a prompt: neighbours that tell of one turn share a wrapper.
//!
//! A turn of many calls is summarised span by span. Told apart, each span has a wrapper and times, names files again, and
//! tells outcomes far from their request. Told together, they are merged within the tokens that they take apart. The
//! summaries themselves stay as they are: what a block shows is stored nowhere.

use std::sync::Arc;

use unforget_core::assemble::ours;
use unforget_core::compact::Tree;
use unforget_core::policy::{BLOCK_TOKENS_MAX, Policy};
use unforget_core::tokens::{Ruler as _, Tokens};
use unforget_text::{Summary, Surroundings, fence_spans, render_among};

use super::Shape;
use super::pieces::{PromptPiece, handle, weigh};
use super::summaries::{ShownSummary, SummaryFace};

/// Neighbouring summaries in one wrapper.
#[derive(Clone, Debug)]
pub(super) struct SummaryBlock {
    /// Of its summaries, oldest first; never empty.
    faces: Vec<SummaryFace>,
    /// All of them merged; `None` of a single one, which stands as it is.
    told: Option<Arc<Summary>>,
    pub(super) piece: PromptPiece,
}

/// The blocks of the shown summaries.
#[derive(Clone, Debug, Default)]
pub(super) struct SummaryBlocks {
    /// Before the host's summary.
    pub(super) earlier: Vec<SummaryBlock>,
    /// Behind it.
    pub(super) later: Vec<SummaryBlock>,
}

impl SummaryBlocks {
    /// * `behind` - number of summaries before the host's, if that one stands among them.
    /// * `known` - blocks rendered before, which are taken over where they show no other summaries.
    ///
    /// Cost: O(items of the summaries in new blocks).
    pub(super) fn of(shown: &[ShownSummary], behind: Option<usize>, known: &Self, shape: &Shape) -> Self {
        let before = behind.unwrap_or(shown.len()).min(shown.len());
        let (earlier, later) = shown.split_at(before);
        let known: Vec<&SummaryBlock> = known.iter().collect();
        let blocks = |shown: &[ShownSummary]| {
            runs(shown).into_iter().flat_map(|run| block(run, &known, shape)).collect::<Vec<_>>()
        };
        Self { earlier: blocks(earlier), later: blocks(later) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SummaryBlock> {
        self.earlier.iter().chain(&self.later)
    }

    /// The expected tokens of each shown summary: of a block, in proportion to what its summaries take apart.
    pub(super) fn tokens(&self, shown: &[ShownSummary]) -> Vec<u64> {
        let mut tokens = Vec::with_capacity(shown.len());
        for block in self.iter() {
            let of_block = shown.iter().skip(tokens.len()).take(block.faces.len());
            let apart: Vec<u64> = of_block.map(|shown| shown.piece.tokens.expected).collect();
            let whole: u64 = apart.iter().sum();
            let (mut before, mut told) = (0, 0);
            for one in apart {
                before += one;
                let until = block.piece.tokens.expected * before / whole.max(1);
                tokens.push(until - told);
                told = until;
            }
        }
        tokens
    }

    pub(super) fn last(&self) -> Option<&SummaryBlock> {
        self.later.last().or(self.earlier.last())
    }
}

/// Runs of summaries that tell of one turn, as far as a wrapper may hold them.
fn runs(shown: &[ShownSummary]) -> Vec<&[ShownSummary]> {
    let mut runs = Vec::new();
    let (mut from, mut tokens) = (0, 0);
    for (at, one) in shown.iter().enumerate() {
        let taken = one.piece.tokens.upper;
        let before = at.checked_sub(1).and_then(|before| shown.get(before));
        let goes_on =
            one.told.begins_inside_a_turn() && is_mergeable(one) && before.is_some_and(is_mergeable);
        if at > from && !(goes_on && tokens + taken <= BLOCK_TOKENS_MAX) {
            runs.extend(shown.get(from..at));
            (from, tokens) = (at, 0);
        }
        tokens += taken;
    }
    runs.extend(shown.get(from..).filter(|run| !run.is_empty()));
    runs
}

/// Whether a summary may be merged with its neighbours: those of models are shown as they were written.
const fn is_mergeable(shown: &ShownSummary) -> bool {
    !shown.face.by_model && !matches!(shown.face.root.tree, Tree::Coarse)
}

/// The block of a run, or one block for each of its summaries if they take fewer tokens apart.
fn block(run: &[ShownSummary], known: &[&SummaryBlock], shape: &Shape) -> Vec<SummaryBlock> {
    let alone = |shown: &ShownSummary| SummaryBlock {
        faces: vec![shown.face],
        told: None,
        piece: shown.piece.clone(),
    };
    let faces: Vec<SummaryFace> = run.iter().map(|shown| shown.face).collect();
    if let Some(same) = known.iter().find(|known| known.told.is_some() && known.faces == faces) {
        return vec![(*same).clone()];
    }
    let apart = || run.iter().map(alone).collect();
    if run.len() < 2 {
        return apart();
    }
    let parts: Vec<&Summary> = run.iter().map(|shown| &*shown.told).collect();
    let told = Some(Arc::new(Summary::merge(&parts)));
    let is_last = faces.last().is_some_and(|face| face.is_last);
    let around = if is_last { Surroundings::Alone } else { Surroundings::Followed };
    let most: Tokens = run.iter().map(|shown| shown.piece.tokens).sum();
    let block = SummaryBlock { faces, told, piece: PromptPiece::default() };
    match block.within(around, most, shape) {
        Some(piece) => vec![SummaryBlock { piece, ..block }],
        None => apart(),
    }
}

impl SummaryBlock {
    /// The piece of merged summaries in these surroundings, at most of this size. `None` if it would be larger, and for a
    /// single summary.
    fn within(&self, around: Surroundings<'_>, most: Tokens, shape: &Shape) -> Option<PromptPiece> {
        let told = self.told.as_ref()?;
        let (first, last) = (self.faces.first()?.root.span.0, self.faces.last()?.root.span.1);
        let spans: Vec<String> =
            self.faces.iter().map(|face| format!("{}-{}", face.root.span.0, face.root.span.1)).collect();
        let spans = spans.join(",");
        let named = shape.ruler.count(&spans).upper;
        let room = Policy::summary_body(most.upper).saturating_sub(named);
        let body = render_among(told, around, room, &shape.ruler);
        let text = fence_spans(&handle(first, last), &spans, &body);
        let piece = weigh(vec![ours(&text)], Vec::new(), false, shape);
        (piece.tokens.upper <= most.upper).then_some(piece)
    }

    /// Its piece in other surroundings, at most as large as it is: the room of a break is planned with that. `None` if it
    /// would be larger.
    ///
    /// * `last` - its last summary.
    pub(super) fn again(
        &self,
        around: Surroundings<'_>,
        last: &ShownSummary,
        shape: &Shape,
    ) -> Option<PromptPiece> {
        match self.told {
            Some(_) => self.within(around, self.piece.tokens, shape),
            None => last.again(around, shape),
        }
    }
}
