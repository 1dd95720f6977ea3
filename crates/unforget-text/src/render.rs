//! Renders a summary as text for a model, within a number of tokens.

mod block;
mod line;
mod offered;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;

use crate::anchors::CUT;
use crate::clip::clip;
use crate::fence::time_text;
use crate::host::within;
use crate::sections::{CORRECTED, Item, SectionKind, Summary};
use block::{Block, STEPS};
use line::{STORY_CHARS, line};
use offered::{offered, request_of};

/// Share of the text, in percent, for identifiers in their turn, and share at the end, of room that nothing else uses.
const ANCHORS_PERCENT: u64 = 8;
const ANCHORS_LEFT_PERCENT: u64 = 14;
/// Share of the text, in percent, for identifiers that only outputs show.
const SIGHTINGS_PERCENT: u64 = 20;

/// Lengths in characters at which the newest request is tried, if it does not fit whole: it is never left out.
const AIM_CHARS: [usize; 3] = [160, 80, 40];
/// Length in characters at which an older request is tried in the second round: a few of its words are better than none.
const STORY_CHARS_MIN: usize = 60;
/// Share of the room, in percent, from which the second round places requests.
const SECOND_ROUND: u64 = 92;

/// Least share of a request, in percent, that is told as the request alone although it is a rule.
const REQUEST_PERCENT: usize = 60;

/// Lengths in bytes at which a text of several lines is tried.
const LINES_BYTES: [usize; 4] = [2_400, 1_800, 1_200, 600];

/// Tokens of the number of an entry, or of the gap before a further piece of it.
const EXCERPT_FRAME: u64 = 3;

/// Renders `summary` for a prompt in at most `max_tokens` by `ruler`'s upper bound.
///
/// The text is a record of the past, in the third person, never an order. It begins with the state: the last request,
/// the state of the work, open asks, valid rules. Then comes the story, and behind it files, failures, tools and
/// identifiers. The most important items are placed first; items that do not fit are left out whole. With little room,
/// the title and a few items remain; with none, nothing. Wrap the text with [`crate::fence`], whose own tokens are not
/// counted here.
///
/// Cost: linear in the summary, a few token counts per section.
pub fn render(summary: &Summary, max_tokens: u64, ruler: &dyn Ruler) -> String {
    render_among(summary, Surroundings::Alone, max_tokens, ruler)
}

/// What stands around a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings<'a> {
    /// Nothing.
    Alone,
    /// Summaries of later entries follow: what was open at its end may be so no longer, and is not called open.
    Followed,
    /// This state of the work stands before it, and no summary follows: what the state tells of the end is not told again.
    Last(&'a str),
}

/// Renders like [`render`], for a prompt with other summaries.
pub fn render_among(
    summary: &Summary,
    around: Surroundings<'_>,
    max_tokens: u64,
    ruler: &dyn Ruler,
) -> String {
    // In a prompt the wrapper names the entries.
    let alone = summary.span.filter(|_| around == Surroundings::Alone);
    let short = alone.map(|span| format!("Entries {}-{}", span.first, span.last)).unwrap_or_default();
    let times = summary.span.and_then(|span| match (span.from.map(time_text), span.to.map(time_text)) {
        (Some(from), Some(to)) if from != to => Some(format!("{from} to {to} UTC")),
        (from, _) => from.map(|from| format!("{from} UTC")),
    });
    let full = [Some(short.clone()).filter(|short| !short.is_empty()), times].into_iter().flatten();
    let full = full.collect::<Vec<_>>().join(", ");
    let heads = [(&full, 160), (&full, 80), (&short, 48), (&short, 24), (&short, 0)];
    // A title made of a file or a call would only repeat its line.
    let title = if summary.has_own_title() { summary.title.as_str() } else { "" };
    let heads = heads.map(|(prefix, chars)| headed(prefix, &clip(title, chars)));
    fill(Page::new(summary, View::Among(around), PageRoom { max: max_tokens, ruler }), &heads)
}

/// Renders the result of [`crate::state_of`]: the state of the work, to be put before the summaries of the story.
///
/// Takes at most `max_tokens` by `ruler`'s upper bound, like [`render`], at an equal cost.
pub fn render_state(state: &Summary, max_tokens: u64, ruler: &dyn Ruler) -> String {
    let at = state.span.map(|span| {
        format!("How things stood at entry {}; what came later follows below, word for word", span.last)
    });
    fill(Page::new(state, View::State, PageRoom { max: max_tokens, ruler }), &[at.unwrap_or_default()])
}

fn headed(prefix: &str, title: &str) -> String {
    match (prefix.is_empty(), title.is_empty()) {
        (_, true) => prefix.to_owned(),
        (true, false) => title.to_owned(),
        (false, false) => format!("{prefix}: {title}"),
    }
}

/// * `heads` - alternatives for the first line, the longest first.
fn fill(mut page: Page<'_>, heads: &[String]) -> String {
    if !page.head(heads) {
        return String::new();
    }
    for (block, percent) in STEPS {
        page.fill(block, percent);
    }
    page.finish()
}

/// An item by kind and index.
type Place = (SectionKind, usize);

/// The candidates for a block, most telling first, and those already placed.
#[derive(Default)]
struct Shelf {
    offered: Vec<Place>,
    shown: Vec<Place>,
}

/// Room for the next item of a block.
#[derive(Clone, Copy)]
struct FillRoom {
    tokens: u64,
    /// Whether the block shows nothing yet.
    is_first: bool,
    is_second_round: bool,
}

/// What a page shows of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View<'a> {
    /// The state of the work, before all summaries.
    State,
    Among(Surroundings<'a>),
}

/// The room of a page.
#[derive(Clone, Copy)]
struct PageRoom<'a> {
    /// Most tokens by the ruler's upper bound.
    max: u64,
    ruler: &'a dyn Ruler,
}

struct Page<'a> {
    summary: &'a Summary,
    view: View<'a>,
    ruler: &'a dyn Ruler,
    max: u64,
    used: u64,
    head: String,
    /// Tokens of the first line.
    head_cost: u64,
    /// Most characters of items that are shown in part; of texts of several lines, most bytes.
    clipped: BTreeMap<Place, usize>,
    /// By [`Block::ALL`].
    shelves: [Shelf; 17],
}

impl<'a> Page<'a> {
    fn new(summary: &'a Summary, view: View<'a>, PageRoom { max, ruler }: PageRoom<'a>) -> Self {
        let shelves =
            Block::ALL.map(|block| Shelf { offered: offered(block, view, summary), shown: Vec::new() });
        let (head, clipped) = (String::new(), BTreeMap::new());
        Self { summary, view, ruler, max, used: 0, head, head_cost: 0, clipped, shelves }
    }

    fn cost(&self, text: &str) -> u64 {
        self.ruler.count(text).upper
    }

    /// Takes the longest first line that fits; false if not even the shortest does.
    fn head(&mut self, heads: &[String]) -> bool {
        for head in heads {
            let cost = self.cost(head);
            // A third of a small room is enough for it.
            if cost * 3 <= self.max.max(120) && cost <= self.max {
                (self.head, self.used, self.head_cost) = (head.clone(), cost, cost);
                return true;
            }
        }
        false
    }

    fn item(&self, (kind, index): Place) -> Option<&'a Item> {
        self.summary.items(kind).get(index)
    }

    /// An item as a line of a block.
    fn line(&self, block: Block, place: Place) -> Option<String> {
        let item = self.item(place)?;
        Some(match self.clipped.get(&place) {
            Some(chars) => {
                let text = match block {
                    Block::Reply => within(&item.text, *chars),
                    _ => clip(&item.text, *chars).into_owned(),
                };
                line(block, self.view, place.0, &Item { text, ..item.clone() })
            }
            None => line(block, self.view, place.0, item),
        })
    }

    /// Tokens of an item of a block.
    fn cost_of(&self, block: Block, place: Place) -> u64 {
        let frame = if block == Block::Excerpts { EXCERPT_FRAME } else { u64::from(!block.is_joined()) };
        self.line(block, place).map_or(0, |line| self.cost(&line)) + frame
    }

    /// Tokens of an item if it fits into `room`: whole, or as a part of a request that would be left out otherwise.
    fn fitted(&mut self, block: Block, place: Place, room: FillRoom) -> Option<u64> {
        let whole = self.cost_of(block, place);
        if whole <= room.tokens {
            return Some(whole);
        }
        let lengths: &[usize] = match (block, place.0) {
            (Block::Aim, SectionKind::Goal) if room.is_first => &AIM_CHARS,
            (Block::Reply | Block::Spec, _) => &LINES_BYTES,
            (Block::Story, SectionKind::Goal) if room.is_second_round => &[STORY_CHARS_MIN],
            _ => &[],
        };
        for chars in lengths {
            self.clipped.insert(place, *chars);
            let cost = self.cost_of(block, place);
            if cost <= room.tokens {
                return Some(cost);
            }
        }
        self.clipped.remove(&place);
        None
    }

    /// Whether the request that an outcome belongs to is shown, or there is none. Under another one it would be its answer.
    fn has_its_request(&self, shown: &[Place], (kind, index): Place) -> bool {
        let outcome = self.item((kind, index)).filter(|_| kind == SectionKind::Outcomes);
        let Some(request) = outcome.and_then(|outcome| request_of(self.summary, outcome)) else {
            return true;
        };
        let request = (SectionKind::Goal, request);
        shown.contains(&request) || self.shows(Block::Aim, request) || self.is_told(request)
    }

    fn is_followed(&self) -> bool {
        self.view == View::Among(Surroundings::Followed)
    }

    fn shows(&self, block: Block, place: Place) -> bool {
        self.shelves.get(block as usize).is_some_and(|shelf| shelf.shown.contains(&place))
    }

    /// Whether the state before the summary tells an item.
    fn is_told(&self, place: Place) -> bool {
        let View::Among(Surroundings::Last(state)) = self.view else { return false };
        self.item(place).is_some_and(|item| state.contains(&item.text))
    }

    /// Whether an item of a block would only repeat another line.
    fn is_repeated(&self, block: Block, place: Place) -> bool {
        match block {
            Block::Aim => self.is_told(place) || self.shows(Block::Reasons, place),
            Block::Now | Block::Open => self.is_told(place),
            Block::Rules => self.is_told(place) || self.item(place).is_some_and(|rule| self.is_request(rule)),
            // The request that corrects an answer is its correction.
            Block::Reasons => {
                self.shows(Block::Aim, place)
                    || self.is_told(place)
                    || self.item(place).is_some_and(|item| self.is_asked(item))
            }
            _ => false,
        }
    }

    /// Whether a rule is most of a newest request, which is shown whole.
    fn is_request(&self, rule: &Item) -> bool {
        let asks = self.summary.items(SectionKind::Goal).iter().enumerate();
        let is_most = |ask: &Item| {
            ask.text.contains(rule.text.as_str()) && rule.text.len() * 100 >= ask.text.len() * REQUEST_PERCENT
        };
        let mut whole = asks.filter(|(at, _)| {
            let place = (SectionKind::Goal, *at);
            self.shows(Block::Aim, place) && !self.clipped.contains_key(&place)
        });
        whole.any(|(_, ask)| is_most(ask))
    }

    /// Whether a correction is told as the request that it is, not much shortened.
    fn is_asked(&self, correction: &Item) -> bool {
        let is_it = |ask: &Item| ask.seqs.first() == correction.seqs.first();
        let mut asks = self.summary.items(SectionKind::Goal).iter().enumerate();
        let asked = asks.find(|(_, ask)| correction.text.starts_with(CORRECTED) && is_it(ask));
        asked.is_some_and(|(at, ask)| {
            let ask_place = (SectionKind::Goal, at);
            let is_short = ask.text.chars().count() <= STORY_CHARS;
            self.shows(Block::Aim, ask_place)
                || self.is_told(ask_place)
                || (is_short && self.shows(Block::Story, ask_place))
        })
    }

    /// Places items of a block while they fit in `percent` of the room behind the first line.
    fn fill(&mut self, block: Block, percent: u64) {
        let Some(mut shelf) = self.shelves.get_mut(block as usize).map(std::mem::take) else { return };
        let mut limit = self.head_cost + (self.max - self.head_cost) * percent / 100;
        let mut said = String::new();
        if block == Block::Excerpts {
            said = self.said(block);
        }
        if matches!(block, Block::Anchors | Block::Sightings) {
            let most = match block {
                Block::Sightings => SIGHTINGS_PERCENT,
                _ if shelf.shown.is_empty() => ANCHORS_PERCENT,
                _ => ANCHORS_LEFT_PERCENT,
            };
            limit = limit.min(self.used + self.used * most / (100 - most));
            said = self.said(block);
        }
        let mut heading =
            if shelf.shown.is_empty() { self.cost(block.heading(self.is_followed())) + 2 } else { 0 };
        let mut misses = 0;
        let mut left = Vec::new();
        for place in std::mem::take(&mut shelf.offered) {
            let Some(item) = self.item(place).filter(|_| !self.is_repeated(block, place)) else { continue };
            // An identifier in another line need not be listed again.
            if !said.is_empty() && said.contains(item.text.trim_end_matches(CUT)) {
                continue;
            }
            // Later items may be shorter, but not all of them need to be tried.
            if misses > 8 {
                left.push(place);
                continue;
            }
            if block == Block::Story && !self.has_its_request(&shelf.shown, place) {
                left.push(place);
                continue;
            }
            let room = FillRoom {
                tokens: limit.saturating_sub(self.used + heading),
                is_first: shelf.shown.is_empty(),
                is_second_round: percent >= SECOND_ROUND,
            };
            if let Some(cost) = self.fitted(block, place, room) {
                self.used += heading + cost;
                heading = 0;
                shelf.shown.push(place);
            } else {
                misses += 1;
                left.push(place);
            }
        }
        shelf.offered = left;
        if let Some(place) = self.shelves.get_mut(block as usize) {
            *place = shelf;
        }
    }

    /// The text placed so far, without the items of one block.
    fn said(&self, without: Block) -> String {
        let mut said = self.head.clone();
        if let View::Among(Surroundings::Last(state)) = self.view {
            said.extend([" ", state]);
        }
        for (block, shelf) in Block::ALL.into_iter().zip(&self.shelves).filter(|(block, _)| *block != without)
        {
            for line in shelf.shown.iter().filter_map(|place| self.line(block, *place)) {
                said.extend([" ", line.as_str()]);
            }
        }
        said
    }

    /// The text. Drops the most recently placed items until the whole fits by the ruler.
    fn finish(mut self) -> String {
        use Block::{
            Aim, Anchors, Earlier, Excerpts, Failures, Now, Open, Read, Reasons, Remarks, Reply, Rules,
            Sightings, Spec, Story, Tools, Written,
        };
        loop {
            let text = self.text();
            let count = self.cost(&text);
            if count <= self.max {
                return text;
            }
            let drop = (count - self.max).div_ceil(40).max(1);
            for _ in 0..drop {
                let order = [
                    Excerpts, Sightings, Remarks, Read, Tools, Failures, Story, Earlier, Written, Reasons,
                    Anchors, Spec, Rules, Open, Reply, Now, Aim,
                ];
                let shown = |block: &Block| {
                    self.shelves.get(*block as usize).is_some_and(|shelf| !shelf.shown.is_empty())
                };
                match order.into_iter().find(shown).and_then(|block| self.shelves.get_mut(block as usize)) {
                    Some(shelf) => _ = shelf.shown.pop(),
                    None if self.head.is_empty() => return String::new(),
                    None => self.head = clip(&self.head, self.head.chars().count() / 2).into_owned(),
                }
            }
        }
    }

    fn text(&self) -> String {
        let mut text = self.head.clone();
        let is_followed = self.is_followed();
        for block in Block::in_order(is_followed) {
            let shown = self.shown_in_order(block);
            if shown.is_empty() {
                continue;
            }
            if block == Block::Excerpts {
                text.extend(["\n", block.heading(is_followed), &self.by_entry(&shown)]);
                continue;
            }
            let lines: Vec<String> = shown.into_iter().filter_map(|place| self.line(block, place)).collect();
            text.extend(["\n", block.heading(is_followed)]);
            if block.is_joined() {
                text.extend([" ", &lines.join(", ")]);
            } else {
                for line in lines {
                    text.extend(["\n", &line]);
                }
            }
        }
        text
    }

    /// The items of a block in the order of its text.
    fn shown_in_order(&self, block: Block) -> Vec<Place> {
        let mut shown = self.shelves.get(block as usize).map(|shelf| shelf.shown.clone()).unwrap_or_default();
        let seq = |place: &Place| self.item(*place).and_then(|item| item.seqs.first().copied());
        match block {
            // Weightiest first.
            Block::Anchors | Block::Sightings => {}
            Block::Excerpts => shown.sort_by_key(seq),
            // What came of a repeated request stands below its only line.
            Block::Story => shown.sort_by_key(|place| (self.request_seq(*place), seq(place), *place)),
            Block::Now | Block::Aim | Block::Reasons | Block::Earlier => {
                shown.sort_by_key(|place| (seq(place), *place));
            }
            _ => shown.sort_unstable(),
        }
        shown
    }

    /// The first entry of the request that an outcome belongs to; of a request, its own.
    fn request_seq(&self, place: Place) -> Option<Seq> {
        let item = self.item(place)?;
        let request = match place.0 {
            SectionKind::Outcomes => self.item((SectionKind::Goal, request_of(self.summary, item)?))?,
            _ => item,
        };
        request.seqs.first().copied()
    }

    /// Pieces of entries, a line for each entry.
    fn by_entry(&self, shown: &[Place]) -> String {
        let mut text = String::new();
        let mut before = None;
        for item in shown.iter().filter_map(|place| self.item(*place)) {
            let seq = item.seqs.first().copied();
            match seq.filter(|_| seq != before) {
                Some(seq) => _ = write!(text, "\n- {seq}: {}", item.text),
                None => text.extend([" | ", &item.text]),
            }
            before = seq;
        }
        text
    }
}
