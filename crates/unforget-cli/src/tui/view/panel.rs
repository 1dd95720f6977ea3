//! A prompt: how it fills its window, and what it shows of each entry.

use std::ops::Range;

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::text::{percent, short};
use crate::tui::rows::{CallPanel, LineKind, MapCell, wrapped};
use crate::tui::theme::{ThemeName, TuiTheme};

/// Columns of the name and the figures of a class.
const NAME: usize = 13;
const FIGURES: usize = 15;

/// Colours of the classes, in their order.
const KINDS: [LineKind; 7] = [
    LineKind::Tool,
    LineKind::Person,
    LineKind::Model,
    LineKind::Code,
    LineKind::Warn,
    LineKind::Good,
    LineKind::Dim,
];

/// The gauge, the facts and the map, in at most `area`.
pub(super) fn lines(call: &CallPanel, theme: TuiTheme, area: Rect) -> Vec<Line<'static>> {
    let width = usize::from(area.width);
    let mut out = gauge(call, theme, width);
    let facts = wrapped(&call.facts, width);
    out.extend(facts.into_iter().map(|line| Line::styled(line.text, theme.of_kind(line.kind))));
    if let Some(place) = map_place(call, out.len(), area) {
        out.push(Line::default());
        out.extend(map(call, theme, place));
    }
    out.truncate(usize::from(area.height));
    out
}

/// The place of the cover map.
#[derive(Clone, Copy)]
struct MapPlace {
    /// Columns.
    width: usize,
    /// Entries of a cell.
    per: usize,
}

/// * `above` - lines above the map.
fn map_place(call: &CallPanel, above: usize, area: Rect) -> Option<MapPlace> {
    let (width, left) = (usize::from(area.width), usize::from(area.height).saturating_sub(above + 4));
    let per = call.cells.len().div_ceil((width * left).max(1)).max(1);
    (left > 0 && !call.cells.is_empty()).then_some(MapPlace { width, per })
}

/// A cell of the cover map that was pressed.
pub(in crate::tui) struct PressedCell {
    /// The entries that it stands for.
    pub(in crate::tui) entries: Range<usize>,
    /// The first of them that is shown in the way of the cell's sign.
    pub(in crate::tui) entry: usize,
    /// That way.
    pub(in crate::tui) cell: MapCell,
}

/// The cell at a place within the pane; `None` beside the map.
pub(in crate::tui) fn pressed_cell(call: &CallPanel, area: Rect, at: Position) -> Option<PressedCell> {
    let (theme, columns) = (TuiTheme::of(ThemeName::Plain), usize::from(area.width));
    let above = gauge(call, theme, columns).len() + wrapped(&call.facts, columns).len();
    let MapPlace { width, per } = map_place(call, above, area)?;
    // An empty line, the heading and what the signs mean stand between.
    let first = above + 2 + legend(call, theme, width).len();
    let row = usize::from(at.y).checked_sub(first)?;
    let column = Some(usize::from(at.x)).filter(|column| *column < width)?;
    let from = (row * width + column) * per;
    let entries = from..(from + per).min(call.cells.len());
    let cells = call.cells.get(entries.clone()).filter(|cells| !cells.is_empty())?;
    let cell = most(cells);
    let entry = from + cells.iter().position(|one| *one == cell)?;
    Some(PressedCell { entries, entry, cell })
}

/// The whole window as one bar, and each class with its share.
fn gauge(call: &CallPanel, theme: TuiTheme, width: usize) -> Vec<Line<'static>> {
    let room = call.room.max(1);
    let used: u64 = call.shares.iter().map(|share| share.tokens).sum();
    let columns =
        |tokens: u64, bar: usize| (tokens as f64 / room.max(used) as f64 * bar as f64).round() as usize;
    let mut bar = Vec::new();
    let mut drawn = 0;
    for (share, kind) in call.shares.iter().zip(KINDS) {
        let wide = columns(share.tokens, width).min(width.saturating_sub(drawn));
        drawn += wide;
        bar.push(Span::styled("█".repeat(wide), theme.of_kind(kind)));
    }
    bar.push(Span::styled("░".repeat(width.saturating_sub(drawn)), theme.dim));
    let head =
        format!("{} of {} tokens, {}", short(used), short(call.room), percent(used as f64 / room as f64));
    let mut out = vec![Line::styled(head, theme.strong), Line::from(bar)];
    let rest = width.saturating_sub(NAME + FIGURES + 2);
    for (share, kind) in call.shares.iter().zip(KINDS) {
        let figures = format!("{:>7} {:>6}", short(share.tokens), percent(share.tokens as f64 / room as f64));
        let mut spans = vec![
            Span::raw(format!("{:<NAME$}", share.name)),
            Span::styled(format!("{figures:<FIGURES$}"), theme.dim),
        ];
        let wide = columns(share.tokens, rest);
        spans.push(Span::styled("▆".repeat(wide), theme.of_kind(kind)));
        out.push(Line::from(spans));
    }
    out
}

/// The cover map; where there are more entries than cells, a cell stands for the most frequent of its entries.
fn map(call: &CallPanel, theme: TuiTheme, place: MapPlace) -> Vec<Line<'static>> {
    let MapPlace { width, per } = place;
    let cells: Vec<MapCell> = call.cells.chunks(per).map(most).collect();
    let what = if per > 1 {
        format!("{} entries, {per} a cell", call.cells.len())
    } else {
        format!("{} entries", call.cells.len())
    };
    let mut out = vec![Line::styled(format!("{what}, oldest first"), theme.strong)];
    out.extend(legend(call, theme, width));
    for row in cells.chunks(width.max(1)) {
        let spans = row.chunk_by(|one, other| one == other).filter_map(|same| {
            let first = same.first()?;
            Some(Span::styled(first.sign().repeat(same.len()), theme.of_kind(first.kind())))
        });
        out.push(Line::from(spans.collect::<Vec<_>>()));
    }
    out
}

/// What the signs mean, in as many lines as it needs.
fn legend(call: &CallPanel, theme: TuiTheme, width: usize) -> Vec<Line<'static>> {
    let mut out = vec![Line::default()];
    for cell in MapCell::ALL {
        let count = call.cells.iter().filter(|one| **one == cell).count();
        if count == 0 {
            continue;
        }
        let sign = Span::styled(cell.sign(), theme.of_kind(cell.kind()));
        let words = Span::styled(format!(" {} {count}  ", cell.words()), theme.dim);
        let used = out.last().map_or(0, Line::width);
        if used > 0 && used + sign.width() + words.content.trim_end().width() > width {
            out.push(Line::default());
        }
        if let Some(line) = out.last_mut() {
            line.extend([sign, words]);
        }
    }
    out
}

/// The most frequent of neighbouring cells.
fn most(cells: &[MapCell]) -> MapCell {
    let count = |cell: &MapCell| cells.iter().filter(|one| *one == cell).count();
    MapCell::ALL.into_iter().max_by_key(|cell| (count(cell), *cell)).unwrap_or(MapCell::Hidden)
}
