//! What lies over the panes: the keys, the palette.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use crate::columns::{cut, cut_front};
use crate::text::harmless;
use crate::tui::keys::{KEYS, KeyRow, commands_for};
use crate::tui::rows::padded;
use crate::tui::state::LabelPart;
use crate::tui::theme::TuiTheme;

/// Columns of the keys.
const WIDE: usize = 10;

/// Columns of a name in the palette.
const NAME: usize = 16;

/// Commands that are seen in the palette.
const SEEN: usize = 12;

fn place(area: Rect, columns: u16, lines: u16) -> Rect {
    let (width, height) = (columns.min(area.width), lines.min(area.height));
    let (x, y) = (area.x + (area.width - width) / 2, area.y + (area.height - height) / 2);
    Rect { x, y, width, height }
}

fn cover(frame: &mut Frame<'_>, place: Rect, title: &str, theme: TuiTheme) -> Rect {
    frame.render_widget(Clear, place);
    let block = Block::new().borders(Borders::ALL).border_style(theme.accent).title(format!(" {title} "));
    let inner = block.inner(place);
    frame.render_widget(block, place);
    inner
}

/// Shows the keys.
pub(super) fn help(area: Rect, top: usize, theme: TuiTheme, frame: &mut Frame<'_>) {
    let lines = u16::try_from(KEYS.len() + 2).unwrap_or(u16::MAX);
    let place = place(area, 92, lines);
    let inner = cover(frame, place, "keys · jk scroll · Esc close", theme);
    let width = usize::from(inner.width).saturating_sub(WIDE + 1);
    let row = |row: &KeyRow| {
        let keys = Span::styled(padded(row.keys, WIDE) + " ", theme.accent);
        Line::from(vec![keys, Span::raw(cut(row.what, width))])
    };
    let lines: Vec<Line<'static>> = KEYS.iter().skip(top).map(row).collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Shows the palette.
pub(super) fn palette(area: Rect, query: &str, at: usize, frame: &mut Frame<'_>, theme: TuiTheme) {
    let place = place(area, 76, SEEN as u16 + 3);
    let inner = cover(frame, place, "commands", theme);
    let width = usize::from(inner.width).saturating_sub(NAME + WIDE + 4);
    let mut lines = vec![Line::from(vec![
        Span::styled(": ", theme.accent),
        Span::styled(query.to_owned(), theme.strong),
    ])];
    let found = commands_for(query);
    let first = (at + 1).saturating_sub(SEEN);
    for (number, row) in found.iter().enumerate().skip(first).take(SEEN) {
        let mark = if number == at { "▌ " } else { "  " };
        let spans = vec![
            Span::styled(mark, theme.accent),
            Span::raw(padded(row.name, NAME) + " "),
            Span::styled(padded(row.keys, WIDE) + " ", theme.accent),
            Span::styled(cut(row.what, width), theme.dim),
        ];
        let line = Line::from(spans);
        lines.push(if number == at { line.style(theme.chosen) } else { line });
    }
    if found.is_empty() {
        let is_number = query.trim().parse::<u64>().is_ok();
        let what = if is_number {
            "  Enter goes to the call or entry of this number"
        } else {
            "  no command is called so"
        };
        lines.push(Line::styled(what, theme.dim));
    }
    frame.render_widget(Paragraph::new(lines), inner);
    let column = inner.x + 2 + Line::from(query).width() as u16;
    frame.set_cursor_position((column.min(inner.right().saturating_sub(1)), inner.y));
}

/// Shows the field for a part of a label.
pub(super) fn label(area: Rect, part: LabelPart, text: &str, frame: &mut Frame<'_>, theme: TuiTheme) {
    let place = place(area, 76, 3);
    let inner = cover(frame, place, part.name(), theme);
    let shown = cut_front(&harmless(text), usize::from(inner.width).saturating_sub(1));
    let column = inner.x + Line::from(shown.as_str()).width() as u16;
    frame.render_widget(Paragraph::new(Line::styled(shown, theme.strong)), inner);
    frame.set_cursor_position((column.min(inner.right().saturating_sub(1)), inner.y));
}
