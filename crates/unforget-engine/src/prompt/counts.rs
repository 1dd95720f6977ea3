//! What the provider counted of this lane's prompts, as far as the next one is concerned.
//!
//! In memory only: a session that is opened again bounds its first prompt by the ruler alone.

use unforget_core::admit::Rung;
use unforget_core::policy::Policy;
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;

use super::Session;

/// Weights of a prompt by our ruler.
#[derive(Clone, Copy, Debug)]
struct Weights {
    /// As it was admitted.
    prompt: Tokens,
    /// As [`Session::total`] foresees it.
    view: Tokens,
}

/// A prompt as the provider counted it, in the same two measures.
#[derive(Clone, Copy, Debug)]
struct Counted {
    prompt: Reported,
    view: Reported,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// The last prompt, if a longer one may begin with it.
    sent: Option<Weights>,
    /// The newest count.
    counted: Option<Counted>,
    /// Whether the next prompt may begin with the one that was counted.
    is_beginning: bool,
}

impl Counts {
    /// A prompt is about to be sent.
    pub(super) fn sent(&mut self, prompt: Tokens, view: Tokens, rung: Rung) {
        self.sent = (rung == Rung::Assembled).then_some(Weights { prompt, view });
    }

    /// The beginning of prompts changes: what was counted is the beginning of none any more.
    pub(super) const fn broke(&mut self) {
        self.sent = None;
        self.is_beginning = false;
    }

    /// Weight of a prompt, in the provider's tokens as far as they were counted.
    ///
    /// * `total` - of its sections, by our ruler.
    pub(super) fn prompt(&self, total: Tokens) -> Tokens {
        self.counted.map_or(total, |counted| counted.prompt.next(total, self.is_beginning))
    }

    /// The same for a weight that [`Session::total`] gave.
    fn view(&self, total: Tokens) -> Tokens {
        self.counted.map_or(total, |counted| counted.view.next(total, self.is_beginning))
    }
}

impl Session {
    /// The provider counted so many tokens of the prompt that was made last.
    pub fn reported(&mut self, counted: u64) {
        let Some(sent) = self.counts.sent.take() else { return };
        let both = Reported::of(sent.prompt, counted).zip(Reported::of(sent.view, counted));
        if let Some((prompt, view)) = both {
            self.counts.counted = Some(Counted { prompt, view });
            self.counts.is_beginning = true;
        }
    }

    /// Weight of the next prompt in the provider's tokens, as far as they were counted.
    pub(super) fn weight(&self) -> Tokens {
        self.counts.view(self.total())
    }

    /// The policy in tokens of our bound, by what the provider counted last.
    pub(super) fn scaled_policy(&self) -> Policy {
        let policy = &self.shape.policy;
        self.counts.counted.map_or(*policy, |counted| counted.view.scaled(policy))
    }
}
