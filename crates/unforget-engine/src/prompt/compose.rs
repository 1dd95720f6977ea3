//! The request of a session on each rung of admission. Pure: nothing of the session changes.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::admit::{Compose, Composed, Cover as EntryCover, Rung, Sections};
use unforget_core::assemble::{NO_BEGINNING, NO_INPUT, assemble, ours, place};
use unforget_core::compact::{CoverError, Provisional, prove_cover};
use unforget_core::digest::Digest;
use unforget_core::group::Group;
use unforget_core::ladder::{self, GroupRoom, PartCaps};
use unforget_core::media::Pick;
use unforget_core::message::{Block, Message, Request};
use unforget_core::pair::Detail;
use unforget_core::pin::{PinId, PinsMissing};
use unforget_core::policy::{
    CALL_ID_BYTES_MAX, CALL_ID_TOKENS, ELISION_TOKENS, FRAME, NEWEST_MARGIN, NEWEST_PART, NEWEST_PART_MIN,
    PLACEHOLDER_TOKENS, Policy, SUFFIX_TOKENS,
};
use unforget_core::prefix::{Region, SentPiece};
use unforget_core::tokens::{Ruler, Tokens};

use super::Shape;
use super::counts::PromptCounts;
use super::cover::Cover;
use super::fixed::Fixed;
use super::layout::{NewestPlace, PromptLayout};
use super::newest::{self, Uncut};
use super::pieces::{PromptPiece, handle, pick_piece, weigh};
use super::shorten::shorten;
use super::window::Window;

/// The inputs of a request.
#[derive(Clone, Copy)]
pub(super) struct ComposeParts<'a> {
    pub(super) cover: &'a Cover,
    pub(super) window: &'a Window,
    pub(super) fixed: &'a Fixed,
    pub(super) counts: &'a PromptCounts,
    pub(super) shape: &'a Shape,
    /// Limits of this call. They may be tighter than those of the shape.
    pub(super) policy: Policy,
}

/// Composes requests for admission.
pub(super) struct Composer<'a> {
    parts: ComposeParts<'a>,
    /// Groups without some of their images and documents.
    picked: BTreeMap<usize, PromptPiece>,
    carried: Option<PromptPiece>,
    /// Pieces of the request composed last.
    outline: Vec<SentPiece>,
}

/// The messages of a request in two parts.
pub(super) struct DividedLayout {
    /// Pins, summaries, ledger and raised entries.
    pub(super) front: Vec<Message>,
    /// The carried message, and everything behind it.
    pub(super) behind: Vec<Message>,
}

/// The newest group of a window, whose results fit no budget.
struct OverGroup<'a> {
    index: usize,
    group: &'a Group,
    /// Its size as a whole, in tokens.
    whole: u64,
}

impl<'a> Composer<'a> {
    pub(super) fn new(parts: ComposeParts<'a>) -> Self {
        let carried = parts.cover.carried().map(|carried| carried.piece.clone());
        let mut made = Self { parts, picked: BTreeMap::new(), carried, outline: Vec::new() };
        if !parts.fixed.media().is_all() {
            made.pick();
        }
        made
    }

    /// Leaves out images and documents above the limit, the oldest first.
    fn pick(&mut self) {
        let shape = self.parts.shape;
        let mut pick = Pick::new(self.parts.fixed.media());
        for index in (0..self.parts.window.groups().len()).rev() {
            if let Some(piece) = pick_piece(&self.piece(index), &mut pick, shape) {
                self.picked.insert(index, piece);
            }
        }
        let carried = self.carried.as_ref().and_then(|piece| pick_piece(piece, &mut pick, shape));
        self.carried = carried.or_else(|| self.carried.take());
    }

    /// The pieces of the request composed last, the system instructions first.
    pub(super) fn outline(self) -> Vec<SentPiece> {
        self.outline
    }

    /// Digest of the pieces that change only when the beginning of the prompt does.
    pub(super) fn beginning(&self) -> u64 {
        let layout = self.with_raised(self.start(self.summaries()));
        let epoch = u64::from(self.parts.cover.context().epoch);
        let prints = layout.sections().filter(|(region, _)| *region != Region::Tail);
        let prints = std::iter::once(epoch).chain(prints.map(|(_, piece)| piece.print));
        Digest::of(&prints.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()).short() as u64
    }

    /// The pieces of a rung behind the summaries.
    pub(super) fn tail(&self, rung: Rung) -> Vec<PromptPiece> {
        self.layout(rung).tail
    }

    /// The messages of a rung, divided.
    pub(super) fn divided(&self, rung: Rung) -> DividedLayout {
        let layout = self.layout(rung);
        let mut divided = DividedLayout { front: Vec::new(), behind: Vec::new() };
        for (region, piece) in layout.sections() {
            let part = match region {
                Region::Carried | Region::Tail => &mut divided.behind,
                Region::System | Region::Pins | Region::Summaries | Region::Ledger | Region::Raised => {
                    &mut divided.front
                }
            };
            part.extend(piece.messages.iter().cloned());
        }
        divided
    }

    fn layout(&self, rung: Rung) -> PromptLayout {
        let caps = ladder::rung_caps(rung, &self.parts.policy);
        match rung {
            Rung::Assembled => self.with_raised(self.all_groups(caps)),
            Rung::WithoutRaised | Rung::ShortResults => self.all_groups(caps),
            Rung::CutNewest => self.filled(self.all_groups(caps), Some(NEWEST_PART)),
            Rung::ActiveTurn | Rung::ShortTurn => self.fitted(self.start(self.summaries()), caps),
            Rung::Titles => {
                let start = PromptLayout { ledger: None, ..self.start(self.titles()) };
                self.fitted(start, caps)
            }
            Rung::Newest => self.newest(),
        }
    }

    /// Puts the raised entries into a layout. Below the top of the ladder there is no room for them.
    fn with_raised(&self, mut layout: PromptLayout) -> PromptLayout {
        let raised = self.parts.fixed.raised();
        let count = raised.count();
        layout.cover.summarised = layout.cover.summarised.saturating_sub(count.shown());
        layout.cover.verbatim += count.whole;
        layout.cover.stubbed += count.short;
        layout.raised = raised.piece().cloned();
        layout
    }

    /// Every group, in the form that the context prescribes, with these caps.
    fn all_groups(&self, caps: PartCaps) -> PromptLayout {
        let mut layout = self.start(self.summaries());
        for (index, group) in self.parts.window.groups().iter().enumerate() {
            layout.push(index, group, self.shortened(index, caps));
        }
        layout
    }

    /// As many of the newest groups as fit, shortened. One line stands for the groups before them, the newest human
    /// message excepted.
    fn fitted(&self, mut layout: PromptLayout, caps: PartCaps) -> PromptLayout {
        let (groups, sizes) = (self.parts.window.groups(), self.parts.window.sizes());
        let human = ladder::newest_human(sizes);
        let human_piece = human.map(|human| self.shortened(human, caps));
        let reserved = human_piece.as_ref().map_or(0, |piece| piece.tokens.upper);
        let room = self.room(&layout).saturating_sub(reserved);
        let mut newest = Vec::new();
        let rooms = (0..groups.len()).rev().map(|index| {
            let piece = self.shortened(index, caps);
            let room = GroupRoom { upper: piece.tokens.upper, is_reserved: Some(index) == human };
            newest.push(piece);
            room
        });
        let kept = ladder::newest_that_fit(room, rooms);
        newest.truncate(kept);
        let first = groups.len() - kept;
        layout.elide(ladder::elided_before(sizes, first, human), self.parts.shape);
        let before = human.filter(|human| *human < first);
        let before = before.and_then(|human| Some((human, groups.get(human)?)));
        if let Some(((index, group), piece)) = before.zip(human_piece) {
            layout.push(index, group, piece);
        }
        for ((index, group), piece) in groups.iter().enumerate().skip(first).zip(newest.into_iter().rev()) {
            layout.push(index, group, piece);
        }
        self.filled(layout, Some(NEWEST_PART_MIN))
    }

    /// The newest human message and the last group, each in a share of the budget, and then in what room is left.
    fn newest(&self) -> PromptLayout {
        let mut layout = self.start(self.titles());
        (layout.carried, layout.ledger) = (None, None);
        let (groups, sizes) = (self.parts.window.groups(), self.parts.window.sizes());
        let room = self.room(&layout).saturating_sub(NEWEST_MARGIN);
        let wanted = ladder::newest_groups(sizes);
        let has_human = ladder::newest_human(sizes).is_some();
        let carried = self.carried.as_ref().filter(|_| !has_human);
        let share = ladder::newest_share(room, wanted.len() + usize::from(carried.is_some()));
        if let Some(piece) = carried {
            layout.carried = Some(piece.clone());
            let short = Uncut::of(piece.clone()).within(share, self.parts.shape);
            layout.put(NewestPlace::Carried, short, 1);
        } else if self.carried.is_some() {
            layout.cover.verbatim = layout.cover.verbatim.saturating_sub(1);
            layout.cover.summarised += 1;
        }
        layout.elide(ladder::elided_beside(sizes, &wanted), self.parts.shape);
        let shown = wanted.into_iter().filter_map(|index| Some((index, groups.get(index)?)));
        for (index, group) in shown {
            let short = Uncut::of(self.settled(index)).within(share, self.parts.shape);
            layout.push(index, group, short);
        }
        self.filled(layout, None)
    }

    /// The layout with its newest inputs, the newest message of a person and the last group, in all the room that the
    /// rest leaves. Without enough room for them, or if they would exceed the room, the layout as it is.
    ///
    /// * `least` - see [`ladder::newest_room`].
    fn filled(&self, layout: PromptLayout, least: Option<u64>) -> PromptLayout {
        let ComposeParts { policy, shape, .. } = self.parts;
        let places = self.newest_places(&layout);
        let inputs: Vec<_> = places.iter().map(|place| self.uncut(*place, &layout)).collect();
        let shown = places.iter().filter_map(|place| layout.at(*place)).map(|piece| piece.tokens.upper).sum();
        let rest = self.sized(&layout).0.total().upper.saturating_sub(shown);
        let wanted = inputs.iter().map(Uncut::wanted).collect();
        let Some(most) = ladder::newest_room(wanted, rest, least, &policy) else { return layout };
        let mut filled = layout.clone();
        for (place, input) in places.into_iter().zip(inputs) {
            let share = input.wanted().min(most);
            let shown = layout.at(place).map(|piece| piece.tokens.upper).filter(|shown| *shown != share);
            let Some(shown) = shown else { continue };
            let cut = input.within(share, shape);
            // In little room the form of the rung may say more than a new cut.
            if shown > share || cut.tokens.upper > shown {
                filled.put(place, cut, self.entries(place, &layout));
            }
        }
        if self.sized(&filled).0.total().upper > policy.budget() { layout } else { filled }
    }

    fn newest_places(&self, layout: &PromptLayout) -> Vec<NewestPlace> {
        let human = ladder::newest_human(self.parts.window.sizes());
        let human = human.and_then(|human| layout.placed.iter().position(|index| *index == human));
        let last = layout.tail.len().checked_sub(1);
        let carried = layout.carried.as_ref().filter(|_| human.is_none()).map(|_| NewestPlace::Carried);
        let tail = human.into_iter().chain(last.filter(|last| Some(*last) != human));
        carried.into_iter().chain(tail.map(NewestPlace::Tail)).collect()
    }

    /// A newest input before it is cut.
    fn uncut(&self, place: NewestPlace, layout: &PromptLayout) -> Uncut {
        let index = match place {
            NewestPlace::Carried => None,
            NewestPlace::Tail(at) => layout.placed.get(at).copied(),
        };
        match index {
            None => Uncut::of(self.carried.clone().unwrap_or_default()),
            Some(index) => match self.over().filter(|over| over.index == index) {
                Some(over) => Uncut::over(over.group, over.whole),
                None => Uncut::of(self.piece(index)),
            },
        }
    }

    /// The newest group, if its results fit no budget.
    fn over(&self) -> Option<OverGroup<'_>> {
        let ComposeParts { window, policy, .. } = self.parts;
        let index = window.groups().len().checked_sub(1)?;
        let (group, pieces) = (window.groups().get(index)?, window.pieces().get(index)?);
        let is_over = newest::is_over(group, pieces, &policy) && !self.picked.contains_key(&index);
        is_over.then(|| OverGroup { index, group, whole: pieces.whole() })
    }

    /// Number of entries of a newest input.
    fn entries(&self, place: NewestPlace, layout: &PromptLayout) -> u64 {
        let index = match place {
            NewestPlace::Carried => return 1,
            NewestPlace::Tail(at) => layout.placed.get(at),
        };
        let group = index.and_then(|index| self.parts.window.groups().get(*index));
        group.map_or(0, |group| group.items.len() as u64)
    }

    /// A layout as a request, with its sizes.
    fn sized(&self, layout: &PromptLayout) -> (Sections, Request) {
        let system = self.parts.fixed.system();
        let mut sections = layout.sizes(system.tokens);
        let messages = || layout.pieces().flat_map(|piece| piece.messages.iter());
        sections.frame += renamed(messages());
        let placed = place(messages(), self.parts.shape.target().between());
        let request = assemble(&system.texts, placed.iter().map(AsRef::as_ref));
        sections.frame += placeholders(&request);
        (sections, request)
    }

    fn start(&self, summaries: Vec<PromptPiece>) -> PromptLayout {
        let carried = self.carried.clone();
        let verbatim = u64::from(carried.is_some());
        let summarised = self.parts.cover.context().covered.saturating_sub(verbatim);
        PromptLayout {
            pins: self.parts.fixed.pins().piece().cloned(),
            summaries,
            ledger: self.parts.fixed.ledger().piece().cloned(),
            raised: None,
            carried,
            tail: Vec::new(),
            placed: Vec::new(),
            cover: EntryCover { summarised, verbatim, ..EntryCover::default() },
        }
    }

    /// Room for the tail of a layout.
    fn room(&self, layout: &PromptLayout) -> u64 {
        let pieces = layout.summaries.iter().chain(&layout.carried).chain(&layout.ledger);
        let taken: Tokens = pieces.map(|piece| piece.tokens).sum();
        let taken = self.parts.fixed.tokens() + FRAME + taken + Tokens::exact(ELISION_TOKENS);
        self.parts.policy.budget().saturating_sub(taken.upper)
    }

    fn detail(&self, index: usize) -> Detail {
        let group = self.parts.window.groups().get(index);
        group.map_or(Detail::Full, |group| self.parts.cover.detail(group))
    }

    /// A group in the form that the context prescribes.
    fn piece(&self, index: usize) -> PromptPiece {
        self.picked.get(&index).cloned().unwrap_or_else(|| self.form(index, self.detail(index)))
    }

    /// A group without reasoning, stubbed if the context prescribes that.
    fn settled(&self, index: usize) -> PromptPiece {
        self.form(index, self.detail(index).max(Detail::Settled))
    }

    fn form(&self, index: usize, detail: Detail) -> PromptPiece {
        let pieces = self.parts.window.pieces().get(index);
        pieces.map(|pieces| pieces.at(detail).clone()).unwrap_or_default()
    }

    fn shortened(&self, index: usize, caps: PartCaps) -> PromptPiece {
        let piece = if caps.text.is_some() { self.settled(index) } else { self.piece(index) };
        self.short_piece(&piece, caps)
    }

    fn short_piece(&self, piece: &PromptPiece, caps: PartCaps) -> PromptPiece {
        if caps == PartCaps::default() {
            return piece.clone();
        }
        let shape = self.parts.shape;
        let messages: Vec<_> = piece.messages.iter().map(|message| shorten(message, caps, shape)).collect();
        if messages == *piece.messages {
            return piece.clone();
        }
        weigh(messages, piece.omitted.clone(), true, shape)
    }

    /// Guide, headline, our summaries and the host's.
    fn summaries(&self) -> Vec<PromptPiece> {
        let ComposeParts { cover, fixed, .. } = self.parts;
        let pieces = cover.pieces(fixed.last_summary(cover.context()));
        fixed.before_summaries(cover.context()).chain(pieces).cloned().collect()
    }

    /// One line for all summaries.
    fn titles(&self) -> Vec<PromptPiece> {
        let context = self.parts.cover.context();
        let (Some(first), Some(last)) = (context.roots.first(), context.roots.last()) else {
            return Vec::new();
        };
        let (at, count) = (handle(first.span.0, last.span.1), context.covered);
        let text = format!("[{count} earlier entries are summarised and stored: expand {at}]");
        vec![weigh(vec![ours(&text)], Vec::new(), true, self.parts.shape)]
    }
}

/// Size of the placeholders that assembly put between consecutive answers.
fn placeholders(request: &Request) -> Tokens {
    let is_placeholder =
        |block: &&Block| matches!(block, Block::Ours(text) if text == NO_INPUT || text == NO_BEGINNING);
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    Tokens::exact(blocks.filter(is_placeholder).count() as u64 * PLACEHOLDER_TOKENS)
}

/// Size of new names for repeated call ids, on both sides of each pair.
fn renamed<'a>(messages: impl Iterator<Item = &'a Message>) -> Tokens {
    let mut seen = BTreeSet::new();
    let mut tokens = 0;
    for block in messages.flat_map(|message| &message.blocks) {
        if let Block::Call(call) = block
            && !seen.insert(call.id.as_str())
        {
            // A suffix, unless the dialect has to map the longer id.
            tokens += 2 * if call.id.len() > CALL_ID_BYTES_MAX { CALL_ID_TOKENS } else { SUFFIX_TOKENS };
        }
    }
    Tokens::exact(tokens)
}

impl Compose for Composer<'_> {
    fn compose(&mut self, rung: Rung) -> Composed {
        let layout = self.layout(rung);
        let system = self.parts.fixed.system();
        self.outline = layout.outline(system.tokens);
        let (sections, request) = self.sized(&layout);
        let unsent = layout.pieces().flat_map(|piece| piece.omitted.iter().copied());
        let omitted = system.shortened.iter().copied().chain(unsent).collect();
        let total = sections.total();
        let is_assembled = rung == Rung::Assembled;
        let bound = if is_assembled { self.parts.counts.prompt(total).upper } else { total.upper };
        let raised = self.parts.fixed.raised();
        let raised = if is_assembled { raised.count() } else { raised.count_without() };
        Composed { request, sections, cover: layout.cover, bound, omitted, raised }
    }

    fn offers(&self, rung: Rung) -> bool {
        let is_cut = self.over().is_some();
        let has_raised = self.parts.fixed.raised().piece().is_some();
        // Results that fit no budget are cut and told, not shown in the share of each as if that were all there is.
        rung >= Rung::CutNewest || (!is_cut && (rung != Rung::WithoutRaised || has_raised))
    }

    fn proof(&self) -> Result<(), CoverError> {
        let window = self.parts.window;
        prove_cover(self.parts.cover.context(), window.sizes(), window.visible())
    }

    fn provisional(&self) -> Provisional {
        Provisional::of(self.parts.cover.context())
    }

    fn prove_pins(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
        self.parts.fixed.pins().prove(request)
    }

    fn ruler(&self) -> &'static str {
        self.parts.shape.ruler.name()
    }
}
