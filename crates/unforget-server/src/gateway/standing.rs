//! Standing context of a client's in prompts of ours: what a prompt has left out of it is put back.
//!
//! The pieces are found by [`Context`], and chosen by [`unforget_core::standing`]. They stand before everything else of the
//! messages, so that the beginning of the prompt keeps its bytes from call to call:
//!
//! * At a break of the context, what holds then and the prompt does not show is put back.
//! * Until the next break that stays so. What replaces a piece meanwhile is shown where it came, and the old one too.
//! * What was put back is remembered in memory. After a restart it is chosen anew, from the client's messages and the prompt: it
//!   is the same unless a piece was replaced since the last break.
//! * Room for all pieces is kept free in every prompt of ours, whether they are put back or shown in their messages.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use unforget_core::digest::Digest;
use unforget_core::standing::{self, Piece, Share, Size};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{Assembled, LaneKey};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::exchange::{Call, Context};

use super::ask::Begun;

/// Lanes of which it is remembered what was put back into their prompts.
const LANES: usize = 4_096;

/// Tokens around a piece.
const FRAME: Tokens = Tokens::exact(8);

/// A lane, and the model that is asked: prompts for another have other breaks.
type Of = (LaneKey, Option<String>);

/// What was put back, and what was told.
#[derive(Default)]
pub(super) struct PutBack(Mutex<Known>);

#[derive(Default)]
struct Known {
    chosen: HashMap<Of, BTreeSet<Digest>>,
    told: HashSet<(LaneKey, Digest)>,
}

/// The standing context of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    /// Tokens that all that holds needs, as far as there is room for it.
    reserved: Tokens,
    /// Tokens that may be put back.
    room: u64,
    /// What the prompt before was given back.
    before: Option<BTreeSet<Digest>>,
    /// What this prompt was given back.
    chosen: BTreeSet<Digest>,
    /// Blocks of the first message that were put back.
    blocks: usize,
    /// What its texts weigh.
    weights: BTreeMap<Digest, Tokens>,
    /// Bytes that are missing of it, by what they are.
    left_out: BTreeMap<&'static str, u64>,
}

impl Standing {
    /// Tokens to keep free.
    pub(super) const fn reserved(&self) -> Tokens {
        self.reserved
    }

    /// Blocks of the first message that were put back (Anthropic).
    pub(super) const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bytes that are missing for want of room.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// * `messages` - tokens that the messages may have.
    fn of(call: &Call<'_>, messages: u64, before: Option<BTreeSet<Digest>>) -> Self {
        let mut scale = Scale::of(call, BTreeMap::new());
        if scale.pieces.is_empty() {
            return Self::default();
        }
        let room = standing::room(messages);
        // What a prompt may be given back is what holds, or what the one before was.
        let reserved = scale.reserve(None, room);
        let stood = before.as_ref().map_or(reserved, |before| scale.reserve(Some(before), room));
        let reserved = if stood.upper > reserved.upper { stood } else { reserved };
        Self { reserved, room, before, weights: scale.weights, ..Self::default() }
    }

    /// Puts back what a prompt does not show. Gives what that weighs.
    pub(super) fn put_back(
        &mut self,
        call: &Call<'_>,
        assembled: &Assembled,
        messages: &mut Vec<String>,
    ) -> Tokens {
        let mut scale = Scale::of(call, std::mem::take(&mut self.weights));
        if scale.pieces.is_empty() {
            return Tokens::default();
        }
        let mut shown = Context::shown(messages.iter().map(String::as_str));
        shown.extend(assembled.system.iter().map(|text| Digest::of(text.as_bytes())));
        let before = self.before.as_ref().filter(|_| assembled.broken.is_none());
        let due = standing::due(&scale.pieces, &shown, before);
        let shares = scale.shares(&due, self.room.min(self.reserved.upper));
        self.chosen = due.iter().filter_map(|index| scale.digest(*index)).collect();
        self.left_out = scale.missing(&shares);
        self.blocks = scale.context.put_back(call.dialect, &shares, messages);
        let tokens = scale.tokens(&shares);
        self.weights = scale.weights;
        tokens
    }
}

/// The pieces of a call, and what they weigh for its model.
struct Scale {
    context: Context,
    pieces: Vec<Piece>,
    ruler: ModelRuler,
    /// Of texts, as far as they were weighed.
    weights: BTreeMap<Digest, Tokens>,
}

impl Scale {
    fn of(call: &Call<'_>, weights: BTreeMap<Digest, Tokens>) -> Self {
        let context = call.context();
        let pieces = context.pieces();
        Self { context, pieces, ruler: ModelRuler::of(call.model.as_deref(), call.dialect), weights }
    }

    fn digest(&self, index: usize) -> Option<Digest> {
        self.pieces.get(index).map(|piece| piece.digest)
    }

    /// A piece; of a text that can't be put back whole, only the beginning is weighed.
    fn size(&mut self, index: usize) -> Size {
        let (Some(text), Some(digest)) = (self.context.text(index), self.digest(index)) else {
            return Size { bytes: 0, tokens: Tokens::default() };
        };
        let end = text.floor_char_boundary(usize::try_from(standing::BYTES_MAX).unwrap_or(usize::MAX));
        let weigh = || self.ruler.count(text.get(..end).unwrap_or_default()) + FRAME;
        Size { bytes: text.len() as u64, tokens: *self.weights.entry(digest).or_insert_with(weigh) }
    }

    /// How much of the pieces that are due there is room for.
    fn shares(&mut self, due: &[usize], room: u64) -> Vec<(usize, Share)> {
        let ranks: Vec<_> = due.iter().filter_map(|index| Some(self.pieces.get(*index)?.rank)).collect();
        let mut size = |at: usize| self.size(due.get(at).copied().unwrap_or(usize::MAX));
        let shares = standing::fit(&ranks, room, &mut size);
        due.iter().copied().zip(shares).collect()
    }

    fn tokens(&mut self, shares: &[(usize, Share)]) -> Tokens {
        let weigh = |(index, share): &(usize, Share)| match share {
            Share::Whole => self.size(*index).tokens,
            Share::Begun(_) => self.ruler.count(&self.context.share(*index, *share)) + FRAME,
            Share::Out => Tokens::default(),
        };
        shares.iter().map(weigh).sum()
    }

    /// What a prompt needs that shows nothing of it.
    fn reserve(&mut self, before: Option<&BTreeSet<Digest>>, room: u64) -> Tokens {
        let due = standing::due(&self.pieces, &BTreeSet::new(), before);
        let shares = self.shares(&due, room);
        self.tokens(&shares)
    }

    /// Bytes that are not put back, by what they are.
    fn missing(&self, shares: &[(usize, Share)]) -> BTreeMap<&'static str, u64> {
        let mut missing = BTreeMap::new();
        for (index, share) in shares.iter().filter(|(_, share)| *share != Share::Whole) {
            let (Some(piece), Some(text)) = (self.pieces.get(*index), self.context.text(*index)) else {
                continue;
            };
            let bytes = text.len().saturating_sub(self.context.share(*index, *share).len());
            *missing.entry(piece.rank.name()).or_default() += bytes as u64;
        }
        missing
    }
}

impl PutBack {
    /// Reads the standing context of a call that gets a prompt of ours.
    ///
    /// * `messages` - tokens that the messages may have.
    pub(super) fn read(&self, begun: &Begun, call: &Call<'_>, messages: u64) -> Standing {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.chosen.get(&of(begun)).cloned();
        drop(known);
        Standing::of(call, messages, before)
    }

    /// Remembers what a prompt was given back, and tells what there was not room for: once, until it is something else.
    pub(super) fn note(&self, begun: &Begun) {
        let standing = &begun.standing;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.chosen.len() >= LANES || known.told.len() >= LANES {
            *known = Known::default();
        }
        if standing.room > 0 {
            known.chosen.insert(of(begun), standing.chosen.clone());
        }
        let what: Vec<String> =
            standing.left_out.iter().map(|(what, bytes)| format!("{what} {bytes} bytes")).collect();
        let what = what.join(", ");
        let lane = &begun.who.lane.lane;
        if !what.is_empty() && known.told.insert((lane.clone(), Digest::of(what.as_bytes()))) {
            tracing::warn!(
                lane = lane.0,
                left_out = what,
                "standing context of the client does not fit its prompts"
            );
        }
    }
}

fn of(begun: &Begun) -> Of {
    (begun.who.lane.lane.clone(), begun.model.clone())
}
