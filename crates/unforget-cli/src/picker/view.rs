//! How the picker looks.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use super::state::{PickerMode, PickerRow, PickerState};
use crate::columns::{cut, cut_middle};

/// Columns from which the preview stands beside the list, and lines from which it stands below it.
const BESIDE_FROM: u16 = 110;
const BELOW_FROM: u16 = 18;

/// Columns from which the host is shown, and the project.
const HOST_FROM: usize = 90;
const PROJECT_FROM: usize = 50;

/// Columns from which the time is shown.
const WHEN_FROM: usize = 44;

/// Most columns of a name, a time, a project and a host.
const NAME: usize = 14;
const WHEN: usize = 12;
const PROJECT: usize = 16;
const HOST: usize = 12;

/// Columns of the preview on a terminal of some columns.
pub(crate) fn preview_columns(columns: usize) -> usize {
    let width = u16::try_from(columns).unwrap_or(u16::MAX);
    let (list, preview) = parts(Rect::new(0, 0, width, BELOW_FROM));
    let line = usize::from(preview.is_some_and(|preview| preview.x > list.x));
    usize::from(preview.map_or(width, |preview| preview.width)).saturating_sub(line)
}

/// Draws the picker.
pub(crate) fn view(state: &PickerState, frame: &mut Frame<'_>) {
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(question(state)), top);
    let (list, preview) = parts(middle);
    frame.render_widget(Paragraph::new(lines(state, list, PickerInk::default())), list);
    if let Some(area) = preview {
        let border = if area.x > list.x { Borders::LEFT } else { Borders::TOP };
        let block = Block::new().borders(border).border_style(dim());
        let text: Vec<Line<'_>> = state.preview().iter().map(|line| Line::from(line.as_str())).collect();
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
    }
    frame.render_widget(Paragraph::new(help(state, bottom.width)), bottom);
    // Behind `› ` and what was typed.
    let column = 2 + Line::from(state.query()).width() as u16;
    frame.set_cursor_position((top.x + column.min(top.width.saturating_sub(1)), top.y));
}

/// The places of the list and of the preview.
fn parts(area: Rect) -> (Rect, Option<Rect>) {
    if area.width >= BESIDE_FROM {
        let [list, preview] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Min(1)]).areas(area);
        return (list, Some(preview));
    }
    if area.height >= BELOW_FROM {
        let [list, preview] = Layout::vertical([Constraint::Percentage(60), Constraint::Min(1)]).areas(area);
        return (list, Some(preview));
    }
    (area, None)
}

fn question(state: &PickerState) -> Line<'_> {
    let count = format!("  {} of {}", state.shown().len(), state.count());
    let hint = if state.query().is_empty() { "type to search" } else { "" };
    Line::from(vec![
        Span::styled("› ", Style::new().fg(Color::Cyan)),
        Span::styled(state.query(), Style::new().add_modifier(Modifier::BOLD)),
        Span::styled(hint, dim()),
        Span::styled(count, dim()),
    ])
}

/// The styles of the list.
#[derive(Clone, Copy)]
pub(crate) struct PickerInk {
    /// Names, and the mark of the chosen row.
    pub(crate) name: Style,
    /// Of facts.
    pub(crate) dim: Style,
    /// Of the chosen one.
    pub(crate) chosen: Style,
}

impl Default for PickerInk {
    fn default() -> Self {
        let chosen = Style::new().add_modifier(Modifier::BOLD);
        Self { name: Style::new().fg(Color::Cyan), dim: dim(), chosen }
    }
}

/// The list of conversations: the lines around the chosen one.
pub(crate) fn lines(state: &PickerState, area: Rect, ink: PickerInk) -> Vec<Line<'static>> {
    let height = usize::from(area.height).max(1);
    let first = (state.chosen() + 1).saturating_sub(height);
    let shown: Vec<_> = state.shown().enumerate().skip(first).take(height).collect();
    let widest = shown.iter().map(|(_, row)| Line::from(row.name.as_str()).width()).max().unwrap_or(0);
    let look = RowLook { width: usize::from(area.width), name: widest.min(NAME), ink };
    let lines: Vec<Line<'static>> =
        shown.into_iter().map(|(at, row)| line(row, at == state.chosen(), look)).collect();
    if lines.is_empty() {
        let what = if state.count() == 0 {
            "nothing is stored: unforget import --discover"
        } else if !state.filter().is_open() {
            "no conversation is like that: 0 takes the filters away"
        } else if state.is_searching() {
            "nothing is called so; looking who said it …"
        } else {
            "nothing is called so, and nobody said it"
        };
        return vec![Line::styled(cut(what, usize::from(area.width)), ink.dim)];
    }
    lines
}

/// How a row is laid out: columns of the line and of the name, and the styles.
#[derive(Clone, Copy)]
struct RowLook {
    width: usize,
    name: usize,
    ink: PickerInk,
}

fn line(row: &PickerRow, is_chosen: bool, look: RowLook) -> Line<'static> {
    let RowLook { width, name: columns, ink } = look;
    let cell = |text: &str, columns: usize| {
        let text = cut(text, columns);
        let space = columns.saturating_sub(Line::from(text.as_str()).width()) + 2;
        text + &" ".repeat(space)
    };
    let mut facts = if width >= WHEN_FROM { cell(&row.when, WHEN) } else { String::new() };
    if width >= PROJECT_FROM {
        facts += &cell(&row.project, PROJECT);
    }
    if width >= HOST_FROM {
        facts += &cell(&row.host, HOST);
    }
    let name = cell(&cut_middle(&row.name, columns), columns);
    let marks = row.labels.iter().fold(String::new(), |marks, label| marks + label + " ");
    let used = 2 + Line::from(name.as_str()).width() + Line::from(facts.as_str()).width();
    let marks = cut(&marks, width.saturating_sub(used) / 2);
    let title = cut(&row.title, width.saturating_sub(used + Line::from(marks.as_str()).width()));
    let mark = if is_chosen { "▌ " } else { "  " };
    let line = Line::from(vec![
        Span::styled(mark, ink.name),
        Span::styled(name, ink.name),
        Span::styled(facts, ink.dim),
        Span::styled(marks, ink.name),
        Span::raw(title),
    ]);
    if is_chosen { line.style(ink.chosen) } else { line }
}

fn help(state: &PickerState, width: u16) -> Line<'static> {
    let keys = match state.mode() {
        PickerMode::Search => "↑↓ choose · Enter read · Tab all · ^R resume · ^Y copy id · Esc end",
        PickerMode::Choose => "Enter read · Tab all · r resume · y copy · / search · q end",
    };
    let text = if state.remark().is_empty() { keys } else { state.remark() };
    Line::styled(cut(text, usize::from(width)), dim())
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::output::ScreenKey;

    fn state() -> PickerState {
        let row = |at: usize| PickerRow {
            key: format!("claude-code:{at}"),
            name: format!("4a36{at:02}"),
            title: format!(
                "{at}: why does the parser fail on 修复测试 in a title that is longer than the line is wide"
            ),
            labels: vec!["★".to_owned(), "#later".to_owned()],
            project: "a-project-with-a-long-name".to_owned(),
            host: "claude-code".to_owned(),
            when: "yesterday".to_owned(),
            last_ms: 0,
            words: "parser".to_owned(),
        };
        let mut state = PickerState::new((0..40).map(row).collect());
        let key = state.wanted_preview().unwrap().to_owned();
        state.show_preview(key, vec!["you".to_owned(), "Why does it fail?".to_owned()]);
        state
    }

    fn drawn(state: &PickerState, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view(state, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y: u16| {
            (0..width).filter_map(|x| buffer.cell((x, y)).map(ratatui::buffer::Cell::symbol)).collect()
        };
        (0..height).map(line).collect()
    }

    #[test]
    fn every_width_shows_name_title_and_keys() {
        for (width, height) in [(60, 16), (80, 24), (120, 30), (200, 50)] {
            let lines = drawn(&state(), width, height);
            assert!(
                lines[0].contains("type to search") && lines[0].contains("40 of 40"),
                "{width}: {lines:#?}"
            );
            assert!(
                lines[1].starts_with("▌ 4a3600") && lines[1].contains("★ #later 0: why"),
                "{width}: {lines:#?}"
            );
            assert!(lines.last().unwrap().contains("Enter read"), "{width}: {lines:#?}");
            let has_preview = lines.iter().any(|line| line.contains("Why does it fail?"));
            assert_eq!(has_preview, width >= BESIDE_FROM || height > BELOW_FROM, "{width}");
            assert_eq!(lines[1].contains("claude-code"), width == 200, "{width}: {lines:#?}");
        }
    }

    #[test]
    fn the_chosen_line_is_always_seen() {
        let mut state = state();
        state.update(ScreenKey::End);
        let lines = drawn(&state, 60, 10);
        assert!(lines[8].starts_with("▌ 4a3639"), "{lines:#?}");
        assert!(lines[9].contains("q end"), "{lines:#?}");
        for (width, height) in [(1, 1), (3, 2), (20, 3)] {
            drawn(&state, width, height);
        }
    }

    #[test]
    fn an_empty_list_says_what_to_do() {
        assert!(drawn(&PickerState::new(Vec::new()), 60, 8)[1].contains("unforget import --discover"));
        let mut state = state();
        "zzz".chars().for_each(|one| {
            state.update(ScreenKey::Char(one));
        });
        assert!(drawn(&state, 60, 8)[1].contains("looking who said it"), "nobody knows yet");
        state.found("zzz", &[]);
        assert!(drawn(&state, 60, 8)[1].contains("nobody said it"));
    }
}
