//! The cover map: every entry of the history before a call as a cell, by how the prompt shows it.

use std::collections::BTreeMap;

use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_engine::calls::{CallPoint, ShownCall};
use unforget_engine::prompt::{How, Part};
use unforget_text::numbers::{count, plural};

use crate::frame::Kept;
use crate::visit::{Found, Visit};

/// Most cells; of longer histories a cell stands for several entries.
const CELLS: u64 = 1_200;

/// How a prompt shows an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoverCell {
    /// No part of it: bookkeeping of the host, copies, other lanes.
    Hidden,
    /// In a summary of this level.
    Summary(u8),
    /// One line stands for it.
    LeftOut,
    /// Shortened.
    Stub,
    /// Word for word.
    Whole,
}

/// Stands for the level of a coarse summary, which has none.
const COARSE: u8 = u8::MAX;

impl CoverCell {
    pub(super) fn of(how: &How) -> Self {
        match how {
            How::Whole => Self::Whole,
            How::Stub => Self::Stub,
            How::LeftOut => Self::LeftOut,
            How::Summary { name, .. } => Self::Summary(level(name)),
            How::Coarse => Self::Summary(COARSE),
        }
    }

    fn class(self) -> String {
        match self {
            Self::Hidden => "cell hidden".to_owned(),
            Self::Whole => "cell whole".to_owned(),
            Self::Stub => "cell stub".to_owned(),
            Self::LeftOut => "cell leftout".to_owned(),
            Self::Summary(level) => format!("cell sum-{}", level.min(3)),
        }
    }

    pub(super) fn words(self) -> String {
        match self {
            Self::Hidden => "not for models".to_owned(),
            Self::Whole => "word for word".to_owned(),
            Self::Stub => "shortened".to_owned(),
            Self::LeftOut => "left out".to_owned(),
            Self::Summary(COARSE) => "in a coarse summary, until all of the history is read".to_owned(),
            Self::Summary(level) => format!("in a summary of level {level}"),
        }
    }
}

/// The level in a summary's name, such as `sum:8000.1.3f09a1b2c4d5`.
pub(super) fn level(name: &str) -> u8 {
    name.split('.').nth(1).and_then(|level| level.parse().ok()).unwrap_or(0)
}

/// How each entry up to `head` is shown.
pub fn cells(parts: &[Part], head: Option<Seq>) -> Vec<CoverCell> {
    let length = head.map_or(0, |head| head.0 + 1) as usize;
    let mut cells = vec![CoverCell::Hidden; length];
    let is_summary = |part: &&Part| matches!(part.how, How::Summary { .. } | How::Coarse);
    // A carried message stands for itself, though a summary covers it too.
    let (summaries, others): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(is_summary);
    for part in summaries.into_iter().chain(others) {
        let (first, last) = (part.span.0.0 as usize, part.span.1.0 as usize);
        if let Some(under) = cells.get_mut(first.min(length)..(last + 1).min(length)) {
            under.fill(CoverCell::of(&part.how));
        }
    }
    cells
}

/// The map of a call.
pub(super) fn map(visit: &Visit, found: &Found, point: &CallPoint, call: &ShownCall) -> Markup {
    let cells = cells(&call.parts, point.head);
    let chosen = visit.query.get("e").and_then(|text| text.parse::<u64>().ok());
    let query = |seq: u64| Kept::with(visit, &[("at", Some(&point.label)), ("e", Some(&seq.to_string()))]);
    let base = found.address();
    let link = |seq: u64| format!("{base}/context{}#words", query(seq));
    html! {
        section aria-labelledby="map-head" {
            h3 id="map-head" { "What it shows of each entry" }
            (grid(&CoverGrid { cells: &cells, chosen, link: &link }))
        }
    }
}

/// Cells to be drawn.
pub(crate) struct CoverGrid<'a> {
    pub(crate) cells: &'a [CoverCell],
    /// The chosen entry.
    pub(crate) chosen: Option<u64>,
    /// The address of an entry.
    pub(crate) link: &'a dyn Fn(u64) -> String,
}

/// Cells as links, with what they mean.
pub(crate) fn grid(CoverGrid { cells, chosen, link }: &CoverGrid<'_>) -> Markup {
    let length = cells.len() as u64;
    let per = length.div_ceil(CELLS).max(1);
    html! {
        p class="dim" {
            (plural(length, "entry")) " before this call, oldest first"
            @if per > 1 { "; a cell stands for " (count(per)) }
        }
        div class="cells" id="cells" {
            @for (at, chunk) in cells.chunks(per as usize).enumerate() {
                @let first = at as u64 * per;
                @let last = (first + per - 1).min(length.saturating_sub(1));
                @let cell = most(chunk);
                @let is_chosen = chosen.is_some_and(|chosen| (first..=last).contains(&chosen));
                @let name = if first == last { format!("s:{first}: {}", cell.words()) } else { format!("s:{first} to s:{last}: mostly {}", cell.words()) };
                a class={ (cell.class()) @if is_chosen { " chosen" } } href=(link(first)) title=(name) aria-label=(name) tabindex=(if is_chosen || (chosen.is_none() && at == 0) { "0" } else { "-1" }) {}
            }
        }
        (legend(cells))
    }
}

/// The most frequent of neighbouring cells.
fn most(cells: &[CoverCell]) -> CoverCell {
    let mut tally = BTreeMap::new();
    for cell in cells {
        *tally.entry(*cell).or_insert(0_u64) += 1;
    }
    let most = tally.into_iter().max_by_key(|(cell, count)| (*count, *cell));
    most.map_or(CoverCell::Hidden, |(cell, _)| cell)
}

fn legend(cells: &[CoverCell]) -> Markup {
    let mut kinds: Vec<CoverCell> = cells.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    html! {
        ul class="legend" {
            @for kind in kinds.iter().rev() {
                @let number = cells.iter().filter(|cell| *cell == kind).count() as u64;
                li { span class={ "swatch " (kind.class()) } {} (kind.words()) " " span class="dim" { (count(number)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_one_cell() {
        let part = |first, last, how| Part { span: (Seq(first), Seq(last)), how, tokens: 1 };
        let summary = |name: &str| How::Summary { name: name.to_owned(), by_model: false };
        let parts = [
            part(1, 3, summary("sum:8000.1.ab")),
            part(2, 2, How::Whole),
            part(4, 4, How::Stub),
            part(6, 9, How::LeftOut),
        ];
        let want = [
            CoverCell::Hidden,
            CoverCell::Summary(1),
            CoverCell::Whole,
            CoverCell::Summary(1),
            CoverCell::Stub,
            CoverCell::Hidden,
            CoverCell::LeftOut,
        ];
        assert_eq!(cells(&parts, Some(Seq(6))), want, "and nothing behind the head");
        assert_eq!(cells(&parts, None), []);
        assert_eq!(most(&[CoverCell::Stub, CoverCell::Whole, CoverCell::Stub]), CoverCell::Stub);
        assert_eq!(level("sum:8000.12.ab"), 12);
    }
}
