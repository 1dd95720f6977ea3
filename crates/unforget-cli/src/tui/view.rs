//! How the state looks.

mod over;
pub(super) mod panel;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::layout::{inside, places};
use super::rows::{LineKind, TuiLine, TuiRow, padded, wrapped};
use super::state::{MiddleKind, TuiOverlay, TuiPane, TuiState};
use super::theme::TuiTheme;
use crate::columns::cut;
use crate::found::{words_in, words_of};
use crate::picker;
use crate::text::{harmless, one_line};

/// Most columns of the first word of a row, and of its speaker.
const LEAD: usize = 10;
const WHO: usize = 9;

/// Draws the state.
pub(crate) fn view(state: &TuiState, frame: &mut Frame<'_>) {
    let theme = TuiTheme::of(state.theme);
    let places = places(state);
    frame.render_widget(Paragraph::new(top(state, theme, places.top.width)), places.top);
    if let Some(place) = places.list {
        let head = format!("conversations {} of {}", state.list.shown().len(), state.list.count());
        let area = pane(state, TuiPane::List, &head, frame, place);
        let ink = picker::PickerInk { name: theme.accent, dim: theme.dim, chosen: theme.chosen };
        frame.render_widget(Paragraph::new(picker::lines(&state.list, area, ink)), area);
    }
    if let Some(place) = places.middle {
        let area = pane(state, TuiPane::Middle, &middle_head(state), frame, place);
        frame.render_widget(Paragraph::new(middle(state, theme, area)), area);
    }
    if let Some(place) = places.detail {
        let title = if state.detail.title.is_empty() { "detail" } else { &state.detail.title };
        let area = pane(state, TuiPane::Detail, title, frame, place);
        frame.render_widget(Paragraph::new(detail(state, theme, area)), area);
    }
    frame.render_widget(Paragraph::new(bottom(state, theme, places.bottom.width)), places.bottom);
    match &state.overlay {
        TuiOverlay::None => {}
        TuiOverlay::Help(top) => over::help(state.area, *top, theme, frame),
        TuiOverlay::Label(part, text) => over::label(state.area, *part, text, frame, theme),
        TuiOverlay::Palette(query, at) => over::palette(state.area, query, *at, frame, theme),
    }
    if state.is_typing && state.overlay == TuiOverlay::None {
        let column = places.top.x + 2 + state.query.width() as u16;
        frame.set_cursor_position((column.min(places.top.right().saturating_sub(1)), places.top.y));
    }
}

/// Draws the frame of a pane, and returns what is inside.
fn pane(state: &TuiState, pane: TuiPane, head: &str, frame: &mut Frame<'_>, place: Rect) -> Rect {
    let theme = TuiTheme::of(state.theme);
    let area = inside(place, state.area);
    if area.x > place.x {
        frame.render_widget(Block::new().borders(Borders::LEFT).border_style(theme.dim), place);
    }
    let has_keys = state.pane == pane && !state.is_typing;
    let (mark, style) = if has_keys { ("▸ ", theme.accent.patch(theme.strong)) } else { ("  ", theme.dim) };
    let line = Line::styled(cut(&format!("{mark}{head}"), usize::from(area.width)), style);
    let place = Rect { y: place.y, height: place.height.min(1), ..area };
    frame.render_widget(Paragraph::new(line), place);
    area
}

/// The query and the filters.
fn top(state: &TuiState, theme: TuiTheme, width: u16) -> Line<'static> {
    let mut spans = vec![Span::styled(if state.is_typing { "/ " } else { "› " }, theme.accent)];
    if state.query.is_empty() {
        spans.push(Span::styled(if state.is_typing { "type to search" } else { "/ search" }, theme.dim));
    } else {
        spans.push(Span::styled(cut(&state.query, usize::from(width / 2)), theme.strong));
    }
    let filter = state.list.filter();
    let days = state.span.days().map(|days| format!("{days}d"));
    let chips = [
        ("1 ", "host", filter.host.clone()),
        ("2 ", "project", filter.project.clone()),
        ("3 ", "time", days),
        ("4 ", "label", filter.label.clone()),
    ];
    for (key, name, value) in chips {
        spans.push(Span::raw("  "));
        match value {
            Some(value) => spans.push(Span::styled(format!("[{name}: {}]", cut(&value, 24)), theme.chosen)),
            None => spans.push(Span::styled(format!("{key}{name}"), theme.dim)),
        }
    }
    Line::from(spans)
}

fn middle_head(state: &TuiState) -> String {
    let middle = &state.middle;
    let title = match middle.kind {
        MiddleKind::Entries | MiddleKind::Context | MiddleKind::Ledger | MiddleKind::Pins => {
            let row = state.list.rows().iter().find(|row| row.key == state.open);
            let name = row.map(|row| row.name.clone());
            // A sub-agent or a lane has no row.
            let name =
                name.or_else(|| (!state.open.is_empty()).then(|| one_line(&harmless(&state.open), 40)));
            name.map(|name| format!(" of {name}")).unwrap_or_default()
        }
        MiddleKind::Hits | MiddleKind::Calls => String::new(),
    };
    let about = if middle.about.is_empty() { String::new() } else { format!(" · {}", middle.about) };
    if !middle.is_waiting && !middle.failure.is_empty() {
        return format!("{} ✗ {}", middle.kind.name(), middle.failure);
    }
    let waiting = if middle.is_waiting { " …" } else { "" };
    format!("{}{title}{about}{waiting}", middle.kind.name())
}

/// Rows of the middle that are seen.
fn middle(state: &TuiState, theme: TuiTheme, area: Rect) -> Vec<Line<'static>> {
    let middle = &state.middle;
    if middle.rows.is_empty() {
        let what = match (middle.is_waiting, middle.kind) {
            (true, _) => "reading …",
            _ if !middle.failure.is_empty() => &middle.failure,
            (_, MiddleKind::Hits) if state.query.trim().is_empty() => {
                "type words to find them in every conversation"
            }
            (_, MiddleKind::Hits) => "nothing has these words; 0 takes the filters away",
            (_, MiddleKind::Ledger) => "no work with tools is recorded",
            (_, MiddleKind::Pins) => "nothing is pinned: unforget pin CONVERSATION TEXT",
            (_, MiddleKind::Calls) => "no prompt was sent through Unforget yet",
            (_, MiddleKind::Context) => "it has no call of a model",
            (_, MiddleKind::Entries) => "nothing in it has words",
        };
        let mut lines = vec![Line::styled(cut(what, usize::from(area.width)), theme.dim)];
        let about = wrapped(&[TuiLine::new(LineKind::Dim, &middle.about)], usize::from(area.width));
        lines.extend(about.into_iter().map(|line| Line::styled(line.text, theme.dim)));
        return lines;
    }
    let height = usize::from(area.height);
    let seen: Vec<(usize, &TuiRow)> = middle.rows.iter().enumerate().skip(middle.top).take(height).collect();
    let widest = |of: fn(&TuiRow) -> &str, most: usize| {
        seen.iter().map(|(_, row)| of(row).width()).max().unwrap_or(0).min(most)
    };
    let words = words_of(&state.query);
    let (lead, who) = (widest(|row| &row.lead, LEAD), widest(|row| &row.who, WHO));
    seen.iter()
        .map(|(at, row)| {
            let used = 2 + lead + 1 + who + 1;
            let text = cut(&row.text, usize::from(area.width).saturating_sub(used));
            let is_chosen = *at == middle.chosen;
            let mut spans = vec![
                Span::styled(if is_chosen { "▌ " } else { "  " }, theme.accent),
                Span::styled(padded(&row.lead, lead) + " ", theme.dim),
                Span::styled(padded(&row.who, who) + " ", theme.of_kind(row.kind)),
            ];
            let words = if middle.kind == MiddleKind::Hits { words.as_slice() } else { &[] };
            spans.extend(marked(&text, words, Style::new(), theme));
            let style = if is_chosen { theme.chosen } else { Style::new() };
            Line::from(spans).style(style)
        })
        .collect()
}

/// What is seen at the right.
fn detail(state: &TuiState, theme: TuiTheme, area: Rect) -> Vec<Line<'static>> {
    let detail = &state.detail;
    let mut lines = match &detail.panel {
        Some(call) => panel::lines(call, theme, area),
        None => Vec::new(),
    };
    if lines.is_empty() && detail.broken.is_empty() {
        let waits = matches!(detail.of, super::rows::RowTarget::None);
        return vec![Line::styled(if waits { "" } else { "reading …" }, theme.dim)];
    }
    let rest = usize::from(area.height).saturating_sub(lines.len());
    let broken = detail.broken.iter().skip(detail.top).take(rest);
    let words = words_of(&state.query);
    lines.extend(broken.map(|line| Line::from(marked(&line.text, &words, theme.of_kind(line.kind), theme))));
    lines
}

/// A text in which the words of a query stand out.
fn marked(text: &str, words: &[String], style: Style, theme: TuiTheme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut at = 0;
    for found in words_in(text, words) {
        let before = text.get(at..found.start).unwrap_or_default();
        let word = text.get(found.start..found.end).unwrap_or_default();
        spans.push(Span::styled(before.to_owned(), style));
        spans.push(Span::styled(word.to_owned(), style.patch(theme.found)));
        at = found.end;
    }
    spans.push(Span::styled(text.get(at..).unwrap_or_default().to_owned(), style));
    spans
}

/// The remark, or the keys that matter most here.
fn bottom(state: &TuiState, theme: TuiTheme, width: u16) -> Line<'static> {
    if !state.remark.is_empty() {
        return Line::styled(cut(&state.remark, usize::from(width)), theme.strong);
    }
    let keys = match (state.is_typing, state.middle.kind) {
        (true, _) => "Enter jump · ↑↓ hits · Tab keep hits · ^U clear · Esc end",
        (_, MiddleKind::Context) => {
            "? keys · Esc back · jk call · [ ] break · p prompt · d diff · x left · w window"
        }
        (_, MiddleKind::Ledger | MiddleKind::Pins | MiddleKind::Hits) => {
            "? keys · Esc back · jk row · Enter entry · y copy"
        }
        (_, MiddleKind::Calls) => "? keys · Esc back · jk prompt · Enter its context",
        _ => "? keys · q end · Tab pane · / search · c context · f ledger · P pins · a calls",
    };
    Line::styled(cut(keys, usize::from(width)), theme.dim)
}
