//! The headline of a prompt: the state of the work, which stands before the summaries.
//!
//! It is made from the shown summaries when the first prompt after a break is composed, and stored nowhere. It changes at
//! breaks, and when a request behind the summaries is rewound. The last summary is rendered once more behind it, without
//! what it tells already.

use std::sync::Arc;

use unforget_core::assemble::ours;
use unforget_core::compact::{Context, end_of};
use unforget_core::policy::STATE_FENCE;
use unforget_text::{Summary, Surroundings, fence_state, render_state, state_before, state_of};

use super::Shape;
use super::cover::Cover;
use super::pieces::{OwnText, PromptPiece, fitted};
use super::window::AskedSince;
use crate::entry_text::words;

/// The headline of a context.
#[derive(Clone, Debug, Default)]
pub(super) struct Headline {
    /// The break after which it was made.
    pub(super) epoch: u32,
    /// What a person asked behind the summaries, up to the break.
    asked: Option<AskedSince>,
    /// Without summaries there is none.
    pub(super) state: Option<PromptPiece>,
    /// The last block of summaries where it stands before newer requests, or behind this state; `None` if it is shown as the
    /// cover has it.
    pub(super) last: Option<PromptPiece>,
}

impl Headline {
    /// Cost: O(items of the shown summaries).
    pub(super) fn of(cover: &Cover, asked: Option<AskedSince>, shape: &Shape) -> Self {
        let epoch = cover.context().epoch;
        let state = state(cover, asked.as_ref(), shape);
        let around = match &state {
            _ if asked.is_some() => Some(Surroundings::Followed),
            Some(state) => Some(Surroundings::Last(&state.text)),
            None => None,
        };
        let last = cover.last_block().zip(around);
        let last = last.and_then(|((block, last), around)| block.again(around, last, shape));
        Self { epoch, asked, state: state.map(|state| state.piece), last }
    }

    /// Whether it was made for this context and these requests behind the summaries. A rewound request is gone from there.
    pub(super) fn is_of(&self, context: &Context, asked: Option<&AskedSince>) -> bool {
        self.epoch == context.epoch && AskedSince::is_same(self.asked.as_ref(), asked)
    }
}

fn state(cover: &Cover, asked: Option<&AskedSince>, shape: &Shape) -> Option<OwnText> {
    let until = end_of(cover.context())?;
    let parts: Vec<Arc<Summary>> = cover.shown().iter().map(|shown| Arc::clone(&shown.told)).collect();
    let state = match asked {
        None => state_of(&parts),
        Some(asked) => {
            let words = asked.opening.as_ref().map(|item| words(&item.entry));
            state_before(&parts, words.as_deref())
        }
    };
    // The first line alone says nothing.
    let render =
        |room| Some(render_state(&state, room, &shape.ruler)).filter(|text| text.lines().count() > 1);
    let wrap = |text: &str| vec![ours(&fence_state(until, text))];
    fitted(shape.policy.headline(), STATE_FENCE, &render, &wrap, shape)
}
