//! Standing context in our prompts: puts back the pieces that a prompt left out.
//!
//! [`Context`] finds the pieces, and [`unforget_core::standing`] chooses among them. They stand before all other
//! messages, so that the beginning of the prompt keeps its bytes from call to call:
//!
//! * At a break of the context, the valid pieces that the prompt does not show are put back.
//! * They stay unchanged until the next break. A replacement that arrives meanwhile is shown at its own place, beside
//!   the old piece.
//! * The choice is stored with the lane ([`KnownLane`](unforget_engine::host::KnownLane)), so that a restart or another
//!   process changes nothing.
//! * Every prompt of ours keeps room for all pieces, whether they are put back or shown in their messages.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use unforget_core::digest::Digest;
use unforget_core::policy::STANDING_BYTES_MAX;
use unforget_core::standing::{self, Piece, Share, Size};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{Assembled, ClientMemory, Host, LaneKey, StandingEvent, StandingPiece};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::exchange::{Call, Context};

use super::caller::CallIdentity;
use super::fault::CallProblem;

/// Most logged omissions that are remembered.
const TOLD_MAX: usize = 4_096;

/// Tokens of framing around a piece.
const FRAME: Tokens = Tokens::exact(8);

/// Omissions for lack of room that were logged: the lane, and a digest of what was left out.
#[derive(Default)]
pub(super) struct ToldOmissions(Mutex<HashSet<(LaneKey, Digest)>>);

/// The pieces that were noted last beside an answer of each lane.
#[derive(Default)]
pub(super) struct NotedStanding(Mutex<BTreeMap<LaneKey, Vec<StandingPiece>>>);

impl NotedStanding {
    /// The note, unless the lane has an equal one. A process that does not know notes again.
    pub(super) fn new_of(&self, lane: &LaneKey, note: StandingEvent) -> Option<StandingEvent> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (noted.get(lane) != Some(&note.pieces)).then_some(note)
    }

    /// The note of a lane is stored.
    pub(super) fn stored(&self, lane: &LaneKey, note: StandingEvent) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() >= TOLD_MAX {
            noted.clear();
        }
        noted.insert(lane.clone(), note.pieces);
    }
}

/// The standing context of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct StandingContext {
    /// Tokens needed for all valid pieces, as far as there is room.
    reserved: Tokens,
    /// Whether every valid piece stands whole in each prompt until the next break, shown or put back.
    is_whole: bool,
    /// Texts beside the prompt that may contain pinned files, until the prompt is made; empty if no file is pinned.
    texts: Vec<Arc<str>>,
    /// Tokens that may be put back.
    room: u64,
    /// The pieces put back into the previous prompt.
    before: Option<BTreeSet<Digest>>,
    /// The pieces put back into this prompt.
    chosen: BTreeSet<Digest>,
    /// How much of each of them.
    pieces: Vec<StandingPiece>,
    /// Number of blocks of the first message that were put back.
    blocks: usize,
    /// Sizes of its texts.
    weights: BTreeMap<Digest, Tokens>,
    /// Missing bytes by kind of piece.
    left_out: BTreeMap<&'static str, u64>,
}

impl StandingContext {
    /// Tokens to keep free.
    pub(super) const fn reserved(&self) -> Tokens {
        self.reserved
    }

    /// Number of blocks of the first message that were put back (Anthropic).
    pub(super) const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Number of bytes missing for lack of room.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    /// Bytes left out for lack of room, by kind.
    pub(super) const fn left_out_by_kind(&self) -> &BTreeMap<&'static str, u64> {
        &self.left_out
    }

    /// Texts that the body contains beside a prompt of ours: a pinned file in one of them needs no second place.
    pub(super) fn texts(&self) -> Vec<Arc<str>> {
        self.texts.clone()
    }

    /// Reads the standing context of a call that gets a prompt of ours.
    ///
    /// * `messages` - token budget of the messages.
    pub(super) fn of_call(
        host: &Host,
        who: &CallIdentity,
        memory: &ClientMemory,
        call: &Call<'_>,
        messages: u64,
    ) -> Result<Self, CallProblem> {
        let before = memory.put_back(call.model.as_deref()).cloned();
        let mut standing = Self::of(call, messages, before);
        if !host.pin_files(&who.lane.lane, who.caller.form)?.is_empty() {
            standing.texts = standing.beside(call);
        }
        Ok(standing)
    }

    /// The pieces put back into the prompt, for later prompts of the lane; `None` for a call without standing context.
    pub(super) fn to_note(&self) -> Option<&BTreeSet<Digest>> {
        (self.room > 0).then_some(&self.chosen)
    }

    /// What stands before a prompt, to be noted beside its answer; `None` for a call without standing context.
    ///
    /// * `prompt` - the number of the prompt.
    pub(super) fn note(&self, prompt: u64) -> Option<StandingEvent> {
        (self.room > 0).then(|| StandingEvent { prompt, pieces: self.pieces.clone() })
    }

    /// * `messages` - token budget of the messages.
    fn of(call: &Call<'_>, messages: u64, before: Option<BTreeSet<Digest>>) -> Self {
        let mut scale = PieceScale::of(call, BTreeMap::new());
        if scale.pieces.is_empty() {
            return Self::default();
        }
        let room = standing::room(messages);
        // A prompt may get back the valid pieces, or those of the previous prompt.
        let (reserved, is_whole) = scale.reserve(None, room);
        let (stood, stood_whole) =
            before.as_ref().map_or((reserved, is_whole), |before| scale.reserve(Some(before), room));
        let is_whole = is_whole && stood_whole;
        let reserved = if stood.upper > reserved.upper { stood } else { reserved };
        Self { reserved, is_whole, room, before, weights: scale.weights, ..Self::default() }
    }

    /// Texts that the body contains whole, whatever the prompt shows: instructions and standing context.
    fn beside(&self, call: &Call<'_>) -> Vec<Arc<str>> {
        let mut texts: Vec<Arc<str>> = Vec::new();
        call.fixed_text(&mut |text| texts.push(text.into()));
        if self.is_whole {
            let context = call.context();
            let holding = standing::latest(&context.pieces());
            texts.extend(holding.into_iter().filter_map(|index| Some(context.text(index)?.as_ref().into())));
        }
        texts
    }

    /// Puts back the pieces that a prompt does not show. Returns their size.
    pub(super) fn put_back(
        &mut self,
        call: &Call<'_>,
        assembled: &Assembled,
        messages: &mut Vec<String>,
    ) -> Tokens {
        self.texts = Vec::new();
        let mut scale = PieceScale::of(call, std::mem::take(&mut self.weights));
        if scale.pieces.is_empty() {
            return Tokens::default();
        }
        let mut shown = Context::shown(messages.iter().map(String::as_str));
        shown.extend(assembled.system.iter().map(|text| Digest::of(text.as_bytes())));
        let before = self.before.as_ref().filter(|_| assembled.broken.is_none());
        let due = standing::due(&scale.pieces, &shown, before);
        let shares = scale.shares(&due, self.room.min(self.reserved.upper));
        self.chosen = due.iter().filter_map(|index| scale.digest(*index)).collect();
        let piece = |(index, share): &(usize, Share)| StandingPiece::new(&scale.digest(*index)?, *share);
        self.pieces = shares.iter().filter_map(piece).collect();
        self.left_out = scale.missing(&shares);
        self.blocks = scale.context.put_back(call.dialect, &shares, messages);
        let tokens = scale.tokens(&shares);
        self.weights = scale.weights;
        tokens
    }
}

/// The pieces of a call, and their sizes for its model.
struct PieceScale {
    context: Context,
    pieces: Vec<Piece>,
    ruler: ModelRuler,
    /// Sizes of texts weighed so far.
    weights: BTreeMap<Digest, Tokens>,
}

impl PieceScale {
    fn of(call: &Call<'_>, weights: BTreeMap<Digest, Tokens>) -> Self {
        let context = call.context();
        let pieces = context.pieces();
        Self { context, pieces, ruler: ModelRuler::of(call.model.as_deref(), call.dialect), weights }
    }

    fn digest(&self, index: usize) -> Option<Digest> {
        self.pieces.get(index).map(|piece| piece.digest)
    }

    /// Size of a piece. Of a text that cannot be put back whole, only the beginning is weighed.
    fn size(&mut self, index: usize) -> Size {
        let (Some(text), Some(digest)) = (self.context.text(index), self.digest(index)) else {
            return Size { bytes: 0, tokens: Tokens::default() };
        };
        let end = text.floor_char_boundary(usize::try_from(STANDING_BYTES_MAX).unwrap_or(usize::MAX));
        let weigh = || self.ruler.count(text.get(..end).unwrap_or_default()) + FRAME;
        Size { bytes: text.len() as u64, tokens: *self.weights.entry(digest).or_insert_with(weigh) }
    }

    /// How much of each due piece fits.
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

    /// Tokens for a prompt that shows none of the pieces, and whether every piece fits whole.
    fn reserve(&mut self, before: Option<&BTreeSet<Digest>>, room: u64) -> (Tokens, bool) {
        let due = standing::due(&self.pieces, &BTreeSet::new(), before);
        let shares = self.shares(&due, room);
        (self.tokens(&shares), shares.iter().all(|(_, share)| *share == Share::Whole))
    }

    /// Bytes that are not put back, by kind of piece.
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

impl ToldOmissions {
    /// Logs omissions for lack of room, each set of omissions once.
    pub(super) fn tell(&self, lane: &LaneKey, standing: &StandingContext) {
        let what: Vec<String> =
            standing.left_out.iter().map(|(what, bytes)| format!("{what} {bytes} bytes")).collect();
        let what = what.join(", ");
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        if !what.is_empty() && told.insert((lane.clone(), Digest::of(what.as_bytes()))) {
            tracing::warn!(
                lane = lane.0,
                left_out = what,
                "standing context of the client does not fit its prompts"
            );
        }
    }
}
