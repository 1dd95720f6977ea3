//! Caches the prompt of a tool loop while it is still valid.
//!
//! A host asks for the prompt before every model call. A cached prompt may be returned again only while its source is
//! unchanged. Any other source drops it, and so does any error on the way.

use crate::digest::Digest;
use crate::mutants::{self, Bug};

/// The identity of a prompt's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of beginnings of the conversation so far: resets, rewinds, forks, rotations.
    pub generation: u64,
    /// Number of messages of the source.
    pub length: u64,
    /// Digest of all of them, in order.
    pub chain: Digest,
    /// Token budget of the prompt.
    pub budget: u64,
    /// Digest of everything else that shapes the prompt: model, dialect, instructions.
    pub shape: u64,
}

/// Why a cached prompt is not returned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Nothing is cached.
    Nothing,
    /// The conversation began anew, or was cut back.
    Generation,
    /// The source has fewer messages.
    Shrunk,
    /// The source has more messages.
    Grown,
    /// The source has as many messages, but different ones.
    Edited,
    /// The budget differs.
    Budget,
    /// The model or the dialect differs.
    Shape,
    /// The last attempt failed.
    Error,
}

impl Stale {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-kept",
            Self::Generation => "new-generation",
            Self::Shrunk => "source-shrunk",
            Self::Grown => "source-grown",
            Self::Edited => "source-edited",
            Self::Budget => "other-budget",
            Self::Shape => "other-model",
            Self::Error => "error",
        }
    }
}

/// At most one prompt, with its mark.
#[derive(Clone, Debug)]
pub struct LoopView<V> {
    kept: Result<(Mark, V), Stale>,
}

impl<V> Default for LoopView<V> {
    fn default() -> Self {
        Self { kept: Err(Stale::Nothing) }
    }
}

impl<V> LoopView<V> {
    /// The prompt made from exactly this source. Otherwise the cache is emptied and the reason is returned.
    ///
    /// Source: seed 000; F074.
    pub fn serve(&mut self, now: &Mark) -> Result<&V, Stale> {
        let stale = match &self.kept {
            Ok((mark, _)) => differs(mark, now),
            Err(stale) => Some(*stale),
        };
        if let Some(stale) = stale {
            self.kept = Err(Stale::Nothing);
            return Err(stale);
        }
        self.kept.as_ref().map(|(_, view)| view).map_err(|stale| *stale)
    }

    /// Caches a prompt.
    pub fn keep(&mut self, mark: Mark, view: V) {
        self.kept = Ok((mark, view));
    }

    /// Drops the cached prompt after a failure while the next one was made.
    pub fn fail(&mut self) {
        self.kept = Err(Stale::Error);
    }
}

/// The most telling difference between two sources.
fn differs(kept: &Mark, now: &Mark) -> Option<Stale> {
    if mutants::is(Bug::ViewNeverDropped) {
        None
    } else if kept.generation != now.generation {
        Some(Stale::Generation)
    } else if now.length < kept.length {
        Some(Stale::Shrunk)
    } else if now.length > kept.length {
        (!mutants::is(Bug::ViewKeepsGrown)).then_some(Stale::Grown)
    } else if now.chain != kept.chain {
        Some(Stale::Edited)
    } else if now.shape != kept.shape && !mutants::is(Bug::ViewKeepsShape) {
        Some(Stale::Shape)
    } else if now.budget != kept.budget && !mutants::is(Bug::ViewKeepsBudget) {
        Some(Stale::Budget)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(generation: u64, words: &str, budget: u64, shape: u64) -> Mark {
        Mark { generation, length: words.len() as u64, chain: Digest::of(words.as_bytes()), budget, shape }
    }

    #[test]
    fn f074_serve_table() {
        let kept = mark(1, "abc", 9, 7);
        let table = [
            (mark(1, "abc", 9, 7), None, "the same source"),
            (mark(2, "abc", 9, 7), Some(Stale::Generation), "a reset in between"),
            (mark(1, "ab", 9, 7), Some(Stale::Shrunk), "seed 000: the source shrank"),
            (mark(1, "", 9, 7), Some(Stale::Shrunk), "seed 000: the source is empty"),
            (mark(1, "abcd", 9, 7), Some(Stale::Grown), "a new message has to be seen"),
            (mark(1, "abx", 9, 7), Some(Stale::Edited), "an edit of the same length"),
            (mark(1, "abc", 8, 7), Some(Stale::Budget), "another budget"),
            (mark(1, "abc", 9, 8), Some(Stale::Shape), "another model"),
        ];
        for (now, want, why) in table {
            let mut view = LoopView::default();
            view.keep(kept, "view");
            assert_eq!(view.serve(&now).err(), want, "{why}");
            if want.is_some() {
                assert_eq!(view.serve(&kept), Err(Stale::Nothing), "what was dropped stays dropped: {why}");
            }
        }
        let mut view = LoopView::default();
        view.keep(kept, "view");
        view.fail();
        assert_eq!(view.serve(&kept), Err(Stale::Error), "seed 000: an error drops it");
    }

    proptest! {
        /// Whatever happens in between, a served prompt equals a newly made one.
        #[test]
        fn f074_served_is_what_would_be_made(
            calls in prop::collection::vec((0_u64..2, "[ab]{0,3}", 0_u64..2, 0_u64..2, prop::bool::weighted(0.2)), 1..30),
        ) {
            let mut view = LoopView::default();
            for (generation, words, budget, shape, fails) in calls {
                let now = mark(generation, &words, budget, shape);
                match view.serve(&now) {
                    Ok(served) => prop_assert_eq!(served, &now),
                    Err(_) if fails => view.fail(),
                    Err(_) => view.keep(now, now),
                }
            }
        }
    }
}
