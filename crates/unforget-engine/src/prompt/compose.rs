//! A session's request on each rung of admission.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::admit::{Compose, Composed, Cover, Rung, Sections};
use unforget_core::assemble::{NO_BEGINNING, NO_INPUT, assemble, ours, place};
use unforget_core::compact::{CoverError, prove_cover};
use unforget_core::group::Group;
use unforget_core::id::Seq;
use unforget_core::media::{Limit, Pick};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_core::pair::Detail;
use unforget_core::pin::{PinId, PinsMissing};
use unforget_core::tokens::{Ruler, Tokens};

use super::cause::{Region, Sent};
use super::pieces::{Piece, handle, pick_piece, weigh};
use super::shorten::{Caps, collapse, shorten};
use super::{Cause, Session};

/// Tokens of brackets and names around the pieces of any request.
const FRAME: Tokens = Tokens::exact(32);

/// Tokens of one placeholder as a message of its own, in the longest dialect.
const PLACEHOLDER_TOKENS: u64 = 48;

/// Smallest cap of a part, in tokens: what an excerpt needs to say anything.
const CAP_MIN: u64 = 64;

/// Tokens that another call id may weigh more: a mapped one is `uf_` and 32 hex digits.
const CALL_ID_TOKENS: u64 = 32;

/// Tokens that a number behind a call id weighs at most.
const SUFFIX_TOKENS: u64 = 6;

/// Room that the last rung leaves for new call ids and its stubs.
const NEWEST_MARGIN: u64 = 320;

/// Composes a session's request. Pieces are shared with the session, nothing of it changes.
pub(super) struct Composer<'a> {
    session: &'a Session,
    outline: Vec<Sent>,
    /// Groups of which an image or document is left out.
    picked: BTreeMap<usize, Piece>,
    carried: Option<Piece>,
}

/// The pieces of a request in order, with what they stand for.
#[derive(Default)]
struct Layout {
    pins: Option<Piece>,
    summaries: Vec<Piece>,
    ledger: Option<Piece>,
    carried: Option<Piece>,
    tail: Vec<Piece>,
    cover: Cover,
}

impl<'a> Composer<'a> {
    /// A composer for what the session holds now.
    pub(super) fn new(session: &'a Session) -> Self {
        let carried = session.carried.as_ref().map(|(_, piece)| piece.clone());
        let mut made = Self { session, outline: Vec::new(), picked: BTreeMap::new(), carried };
        if !session.media.is_all() {
            made.pick();
        }
        made
    }

    /// Leaves out what may not be sent of images and documents, the oldest first.
    fn pick(&mut self) {
        let shape = &self.session.shape;
        let mut pick = Pick::new(&self.session.media);
        for index in (0..self.session.view.groups.len()).rev() {
            if let Some(piece) = pick_piece(&self.piece(index), &mut pick, shape) {
                self.picked.insert(index, piece);
            }
        }
        let carried = self.carried.as_ref().and_then(|piece| pick_piece(piece, &mut pick, shape));
        self.carried = carried.or_else(|| self.carried.take());
    }

    /// The pieces of the request composed last, the system first.
    pub(super) fn outline(self) -> Vec<Sent> {
        self.outline
    }

    /// What a rung sends of the groups behind the summaries.
    pub(super) fn tail(&self, rung: Rung) -> Vec<Piece> {
        self.layout(rung).tail
    }

    fn layout(&self, rung: Rung) -> Layout {
        match rung {
            Rung::Assembled => self.assembled(),
            Rung::ShortResults => self.short_results(),
            Rung::ActiveTurn => self.fitted(self.caps(8, false), Some(self.session.summary_pieces())),
            Rung::ShortTurn => self.fitted(self.caps(24, true), Some(self.session.summary_pieces())),
            Rung::Titles => self.fitted(self.caps(24, true), None),
            Rung::Newest => self.newest(),
        }
    }

    fn assembled(&self) -> Layout {
        let mut layout = self.start(self.session.summary_pieces());
        for (index, group) in self.session.view.groups.iter().enumerate() {
            let piece = self.piece(index);
            layout.count(group, piece.replaced);
            layout.tail.push(piece);
        }
        layout
    }

    fn short_results(&self) -> Layout {
        let cap = Some(self.session.shape.policy.result_share / 2);
        let caps = Caps { result: cap, text: None, arguments: None };
        let mut layout = self.start(self.session.summary_pieces());
        for (index, group) in self.session.view.groups.iter().enumerate() {
            let piece = self.shortened(index, caps);
            layout.count(group, piece.replaced);
            layout.tail.push(piece);
        }
        layout
    }

    /// Caps of a share of the budget for each part.
    fn caps(&self, divisor: u64, texts: bool) -> Caps {
        let cap = Some((self.session.shape.policy.budget() / divisor).max(CAP_MIN));
        Caps { result: cap, text: cap.filter(|_| texts), arguments: cap }
    }

    /// As many of the newest groups as fit, shortened; one stub for those before them.
    ///
    /// * `summaries` - `None` for one line in their place, and no ledger.
    fn fitted(&self, caps: Caps, summaries: Option<Vec<Piece>>) -> Layout {
        let is_short = summaries.is_none();
        let mut layout = self.start(summaries.unwrap_or_else(|| self.titles()));
        layout.ledger = layout.ledger.filter(|_| !is_short);
        let groups = &self.session.view.groups;
        let human = self.session.newest_human();
        let mut room = self.session.shape.policy.budget().saturating_sub(self.fixed(&layout).upper);
        if let Some(human) = human {
            room = room.saturating_sub(self.shortened(human, caps).tokens.upper);
        }
        let mut kept = Vec::new();
        for index in (0..groups.len()).rev() {
            let piece = self.shortened(index, caps);
            if Some(index) != human && piece.tokens.upper > room && !kept.is_empty() {
                break;
            }
            if Some(index) != human {
                room = room.saturating_sub(piece.tokens.upper);
            }
            kept.push((index, piece));
        }
        self.place(&mut layout, kept, human, caps);
        layout
    }

    /// The stub for what is left out, the newest human message if it is among that, then what is kept.
    fn place(&self, layout: &mut Layout, mut kept: Vec<(usize, Piece)>, human: Option<usize>, caps: Caps) {
        kept.reverse();
        let first = kept.first().map_or(0, |(index, _)| *index);
        let groups = &self.session.view.groups;
        let left_out = || groups.iter().take(first).enumerate().filter(|(index, _)| Some(*index) != human);
        let count: u64 = left_out().map(|(_, group)| group.items.len() as u64).sum();
        if count > 0 {
            let from = left_out().map(|(_, group)| group.first_seq()).min().unwrap_or_default();
            let to = left_out().map(|(_, group)| group.last_seq()).max().unwrap_or_default();
            layout.summaries.push(self.elision(from, to, count));
            layout.cover.elided += count;
        }
        if let Some(index) = human.filter(|human| *human < first)
            && let Some(group) = groups.get(index)
        {
            let piece = self.shortened(index, caps);
            layout.count(group, piece.replaced);
            layout.tail.push(piece);
        }
        for (index, piece) in kept {
            if let Some(group) = groups.get(index) {
                layout.count(group, piece.replaced);
            }
            layout.tail.push(piece);
        }
    }

    /// The newest human message and the last group, each in a share of the budget whatever its size.
    fn newest(&self) -> Layout {
        let mut layout = self.start(self.titles());
        (layout.carried, layout.ledger) = (None, None);
        let groups = &self.session.view.groups;
        let room =
            self.session.shape.policy.budget().saturating_sub(self.fixed(&layout).upper + NEWEST_MARGIN);
        let human = self.session.newest_human();
        let last = groups.len().checked_sub(1);
        let wanted: Vec<usize> = human.into_iter().chain(last.filter(|last| Some(*last) != human)).collect();
        let carried = self.session.carried.is_some() && human.is_none();
        let share = room / (wanted.len() + usize::from(carried)).max(1) as u64;
        if let Some(piece) = self.carried.as_ref().filter(|_| carried) {
            let short = self.shrink(piece, share);
            layout.cover.stubbed += 1;
            layout.cover.summarised = layout.cover.summarised.saturating_sub(1);
            layout.carried = Some(short);
        }
        let shown: u64 =
            wanted.iter().filter_map(|index| groups.get(*index)).map(|g| g.items.len() as u64).sum();
        let all: u64 = groups.iter().map(|group| group.items.len() as u64).sum();
        if all > shown {
            let from = groups.first().map(Group::first_seq).unwrap_or_default();
            let to = groups.last().map(Group::last_seq).unwrap_or_default();
            layout.summaries.push(self.elision(from, to, all - shown));
            layout.cover.elided += all - shown;
        }
        for index in wanted {
            let piece = self.shrink(&self.settled(index), share);
            layout.cover.stubbed += groups.get(index).map_or(0, |group| group.items.len() as u64);
            layout.tail.push(piece);
        }
        layout
    }

    /// Halves the caps until the piece fits its share; then one text for all of it, then only its handle.
    fn shrink(&self, piece: &Piece, share: u64) -> Piece {
        let shape = &self.session.shape;
        let mut cap = share.max(CAP_MIN);
        while cap >= CAP_MIN {
            let caps = Caps { result: Some(cap), text: Some(cap), arguments: Some(cap) };
            let short = self.short_piece(piece, caps);
            if short.tokens.upper <= share {
                return short;
            }
            cap /= 2;
        }
        for cap in [share / 2, share / 4, share / 8, 0] {
            let messages = collapse(&piece.messages, cap, shape);
            let short = weigh(messages, piece.omitted.clone(), true, shape);
            if short.tokens.upper <= share || cap == 0 {
                return short;
            }
        }
        piece.clone()
    }

    fn start(&self, summaries: Vec<Piece>) -> Layout {
        let carried = self.carried.clone();
        let covered = self.session.context.covered;
        let carried_count = u64::from(carried.is_some());
        let cover = Cover {
            summarised: covered.saturating_sub(carried_count),
            verbatim: carried_count,
            ..Cover::default()
        };
        let pins = self.session.pinned.piece.clone();
        let ledger = self.session.worked.piece().cloned();
        Layout { pins, summaries, ledger, carried, tail: Vec::new(), cover }
    }

    fn fixed(&self, layout: &Layout) -> Tokens {
        let weight = |piece: &Option<Piece>| piece.as_ref().map(|piece| piece.tokens).unwrap_or_default();
        let carried = weight(&layout.carried) + weight(&layout.ledger);
        let summaries: Tokens = layout.summaries.iter().map(|piece| piece.tokens).sum();
        // A stub for what is left out may still be added.
        self.session.fixed() + FRAME + summaries + carried + Tokens::exact(64)
    }

    fn detail(&self, index: usize) -> Detail {
        self.session.view.groups.get(index).map_or(Detail::Full, |group| self.session.detail(group))
    }

    fn piece(&self, index: usize) -> Piece {
        if let Some(picked) = self.picked.get(&index) {
            return picked.clone();
        }
        let pieces = self.session.pieces.get(index);
        pieces.map(|pieces| pieces.at(self.detail(index)).clone()).unwrap_or_default()
    }

    /// The piece without reasoning, stubbed if the context says so.
    fn settled(&self, index: usize) -> Piece {
        let detail = self.detail(index).max(Detail::Settled);
        self.session.pieces.get(index).map(|pieces| pieces.at(detail).clone()).unwrap_or_default()
    }

    fn shortened(&self, index: usize, caps: Caps) -> Piece {
        let piece = if caps.text.is_some() { self.settled(index) } else { self.piece(index) };
        self.short_piece(&piece, caps)
    }

    fn short_piece(&self, piece: &Piece, caps: Caps) -> Piece {
        let shape = &self.session.shape;
        let messages: Vec<_> = piece.messages.iter().map(|message| shorten(message, caps, shape)).collect();
        if messages == *piece.messages {
            return piece.clone();
        }
        weigh(messages, piece.omitted.clone(), true, shape)
    }

    fn elision(&self, from: Seq, to: Seq, count: u64) -> Piece {
        let at = handle(from, to);
        let text = format!("[{count} stored entries are left out here for room: expand {at}]");
        weigh(vec![ours(&text)], Vec::new(), true, &self.session.shape)
    }

    /// One line for all summaries.
    fn titles(&self) -> Vec<Piece> {
        let roots = &self.session.context.roots;
        let (Some(first), Some(last)) = (roots.first(), roots.last()) else { return Vec::new() };
        let at = handle(first.span.0, last.span.1);
        let count = self.session.context.covered;
        let text = format!("[{count} earlier entries are summarised and stored: expand {at}]");
        vec![weigh(vec![ours(&text)], Vec::new(), true, &self.session.shape)]
    }
}

impl Layout {
    fn count(&mut self, group: &Group, replaced: bool) {
        let items = group.items.len() as u64;
        if replaced { self.cover.stubbed += items } else { self.cover.verbatim += items }
    }

    fn outline(&self, system: Tokens) -> Vec<Sent> {
        let sent = |(region, piece): (Region, &Piece)| Sent {
            print: piece.print,
            tokens: piece.tokens.expected,
            blocks: piece.messages.iter().map(|message| message.blocks.len()).sum(),
            region,
        };
        let system = Sent { print: 0, tokens: system.expected, blocks: 0, region: Region::System };
        let pins = self.pins.iter().map(|piece| (Region::Pins, piece));
        let summaries = self.summaries.iter().map(|piece| (Region::Summaries, piece));
        let ledger = self.ledger.iter().map(|piece| (Region::Ledger, piece));
        let carried = self.carried.iter().map(|piece| (Region::Carried, piece));
        let tail = self.tail.iter().map(|piece| (Region::Tail, piece));
        let pieces = pins.chain(summaries).chain(ledger).chain(carried).chain(tail);
        std::iter::once(system).chain(pieces.map(sent)).collect()
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let before = self.pins.iter().chain(&self.summaries).chain(&self.ledger);
        before.chain(&self.carried).chain(&self.tail)
    }
}

/// What the placeholders weigh that assembly put between answers that follow each other.
fn placeholders(request: &Request) -> Tokens {
    let is_placeholder =
        |block: &Block| matches!(block, Block::Ours(text) if text == NO_INPUT || text == NO_BEGINNING);
    let count = request
        .messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| is_placeholder(block))
        .count();
    Tokens::exact(count as u64 * PLACEHOLDER_TOKENS)
}

/// What new names for repeated call ids weigh, on both sides of the pair.
fn renamed<'a>(messages: impl Iterator<Item = &'a Message>) -> Tokens {
    let mut seen = BTreeSet::new();
    let mut tokens = 0;
    for block in messages.flat_map(|message| &message.blocks) {
        if let Block::Call(call) = block
            && !seen.insert(call.id.as_str())
        {
            // A suffix, unless that makes the id one that the dialect has to map.
            tokens += 2 * if call.id.len() > 32 { CALL_ID_TOKENS } else { SUFFIX_TOKENS };
        }
    }
    Tokens::exact(tokens)
}

impl Compose for Composer<'_> {
    fn compose(&mut self, rung: Rung) -> Composed {
        let layout = self.layout(rung);
        let sum = |pieces: &[Piece]| pieces.iter().map(|piece| piece.tokens).sum();
        let mut sections = Sections {
            system: self.session.system.tokens,
            pins: layout.pins.as_ref().map(|piece| piece.tokens).unwrap_or_default(),
            summaries: sum(&layout.summaries),
            ledger: layout.ledger.as_ref().map(|piece| piece.tokens).unwrap_or_default(),
            carried: layout.carried.as_ref().map(|piece| piece.tokens).unwrap_or_default(),
            tail: sum(&layout.tail),
            frame: FRAME,
        };
        self.outline = layout.outline(self.session.system.tokens);
        let messages = || layout.pieces().flat_map(|piece| piece.messages.iter());
        sections.frame += renamed(messages());
        let placed = place(messages(), self.session.shape.target().between());
        let request = assemble(&self.session.system.texts, placed.iter().map(AsRef::as_ref));
        sections.frame += placeholders(&request);
        let unsent = layout.pieces().flat_map(|piece| piece.omitted.iter().copied());
        let omitted = self.session.system.shortened.iter().copied().chain(unsent).collect();
        let total = sections.total();
        let is_assembled = rung == Rung::Assembled;
        let bound = if is_assembled { self.session.counts.prompt(total).upper } else { total.upper };
        Composed { request, sections, cover: layout.cover, bound, omitted }
    }

    fn proof(&self) -> Result<(), CoverError> {
        self.session.proof()
    }

    fn prove_pins(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
        self.session.pinned.prove(request)
    }

    fn ruler(&self) -> &'static str {
        self.session.shape.ruler.name()
    }
}

impl Session {
    /// What stands around and between the groups: brackets, and placeholders where two answers follow each other.
    ///
    /// Cost: O(groups behind the summaries).
    pub(super) fn frame_room(&self) -> Tokens {
        let messages = self.pieces.iter().flat_map(|pieces| pieces.full.messages.iter());
        let mut before = Speaker::User;
        let mut placeholders = 0;
        for message in messages.filter(|message| message.speaker != Speaker::System) {
            let is_answer = message.speaker == Speaker::Assistant;
            placeholders += u64::from(is_answer && before == Speaker::Assistant);
            before = message.speaker;
        }
        placeholders += u64::from(before == Speaker::Assistant);
        FRAME + Tokens::exact(placeholders * PLACEHOLDER_TOKENS)
    }

    /// Proves that roots and groups tile the view.
    fn proof(&self) -> Result<(), CoverError> {
        prove_cover(&self.context, &self.sizes, self.view.visible)
    }

    /// Sets which images and documents may be sent from now on; the others go as stubs. Summaries and thresholds do
    /// not depend on it.
    pub fn limit_media(&mut self, limit: &Limit) {
        if self.media != *limit {
            self.media = limit.clone();
            self.cause = self.cause.or(Some(Cause::Ladder));
            self.counts.broke();
        }
    }

    /// Index of the newest message of a person behind the summaries.
    fn newest_human(&self) -> Option<usize> {
        self.sizes.iter().rposition(|sizes| sizes.human.is_some())
    }

    fn summary_pieces(&self) -> Vec<Piece> {
        let roots = self.roots.iter().map(|root| &root.piece);
        self.shown_guide()
            .into_iter()
            .chain(self.shown_headline())
            .chain(roots)
            .chain(&self.hosted)
            .cloned()
            .collect()
    }
}
