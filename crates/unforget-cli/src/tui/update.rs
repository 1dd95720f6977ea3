//! What a message does to the state, and what has to be done outside then.

use ratatui::layout::{Position as ScreenPosition, Rect};

use super::keys::{KEYS, command_of, commands_for};
use super::layout::{inside, places, room};
use super::lines::fit_lines;
use super::rows::RowTarget;
use super::state::{MiddleKind, PageWanted, TuiAsk, TuiMessage, TuiOverlay, TuiPane, TuiState};
use super::steps::{choose, go, open_chosen, page, remark, run};
use super::view::panel::{PressedCell, pressed_cell};
use super::{label, told, typed};
use crate::output::{MouseDeed, ScreenKey};

/// Rows from an end of the list at which more are asked for.
const NEAR: usize = 40;

/// Lines of a turn of the wheel.
const WHEEL: isize = 3;

/// Does what a message says. Returns what has to be done outside, in order.
pub(crate) fn update(state: &mut TuiState, message: TuiMessage) -> Vec<TuiAsk> {
    let mut asks = match message {
        TuiMessage::Area(area) => {
            state.area = area;
            fit_lines(state);
            Vec::new()
        }
        TuiMessage::Changed => follow(state),
        TuiMessage::Told(answer) => told::take(state, answer),
        TuiMessage::Key(key) => {
            state.remark.clear();
            on_key(state, key)
        }
        TuiMessage::Mouse(deed, column, line) => on_mouse(state, deed, column, line),
    };
    keep_in_sight(state);
    asks.extend(more(state));
    if state.query.is_empty() && std::mem::take(&mut state.is_list_stale) {
        asks.push(TuiAsk::Conversations);
    }
    asks
}

fn on_key(state: &mut TuiState, key: ScreenKey) -> Vec<TuiAsk> {
    if let TuiOverlay::Palette(..) = state.overlay {
        return typed::palette(state, key);
    }
    if let TuiOverlay::Label(..) = state.overlay {
        return label::typed(state, key);
    }
    if state.is_typing {
        return typed::query(state, key);
    }
    let Some(command) = command_of(key) else {
        remark(state, "? shows the keys");
        return Vec::new();
    };
    run(state, command)
}

/// What is still wanted: rows beyond the ends of the list.
fn more(state: &mut TuiState) -> Vec<TuiAsk> {
    let middle = &state.middle;
    if middle.kind != MiddleKind::Entries || middle.is_waiting || middle.rows.is_empty() {
        return Vec::new();
    }
    let seq_of = |at: usize| match middle.rows.get(at).map(|row| &row.target) {
        Some(RowTarget::Entry { seq, .. }) => Some(*seq),
        _ => None,
    };
    let is_near_end = middle.chosen + NEAR >= middle.rows.len();
    let older = seq_of(0).filter(|_| middle.has_older && middle.chosen < NEAR).map(PageWanted::Before);
    let newer = seq_of(middle.rows.len().saturating_sub(1)).filter(|_| middle.has_newer && is_near_end);
    let newer = newer.map(|seq| PageWanted::From(seq + 1));
    // What failed is not asked for again by itself.
    let wanted = [older, newer].into_iter().flatten().find(|wanted| middle.failed != Some(*wanted));
    wanted.map(|wanted| page(state, wanted)).unwrap_or_default()
}

/// What is read again after somebody wrote: conversations, and entries behind the newest one that is shown.
fn follow(state: &mut TuiState) -> Vec<TuiAsk> {
    let mut asks = Vec::new();
    if state.query.is_empty() {
        asks.push(TuiAsk::Conversations);
    } else {
        state.is_list_stale = true;
    }
    let middle = &state.middle;
    let last = match middle.rows.last().map(|row| &row.target) {
        Some(RowTarget::Entry { seq, .. }) => Some(*seq),
        _ => None,
    };
    let is_at_end = middle.kind == MiddleKind::Entries && !middle.has_newer && !middle.is_waiting;
    if let Some(seq) = last.filter(|_| is_at_end) {
        asks.extend(page(state, PageWanted::From(seq + 1)));
    }
    asks
}

fn on_mouse(state: &mut TuiState, deed: MouseDeed, column: u16, line: u16) -> Vec<TuiAsk> {
    let places = places(state);
    let at = ScreenPosition { x: column, y: line };
    let under = [TuiPane::List, TuiPane::Middle, TuiPane::Detail]
        .into_iter()
        .find(|pane| places.of(*pane).is_some_and(|place| place.contains(at)));
    let Some(pane) = under else { return Vec::new() };
    state.overlay = TuiOverlay::None;
    let place = inside(places.of(pane).unwrap_or_default(), state.area);
    state.pane = pane;
    let by = match deed {
        MouseDeed::WheelUp => -WHEEL,
        MouseDeed::WheelDown => WHEEL,
        MouseDeed::Press => {
            let at = ScreenPosition { x: column.saturating_sub(place.x), y: line.saturating_sub(place.y) };
            return press(state, pane, at, place);
        }
    };
    go(state, by)
}

/// * `at` - within the pane.
/// * `place` - of the pane.
fn press(state: &mut TuiState, pane: TuiPane, at: ScreenPosition, place: Rect) -> Vec<TuiAsk> {
    fit_lines(state);
    let (offset, height) = (usize::from(at.y), usize::from(place.height).max(1));
    match pane {
        TuiPane::List => {
            let first = (state.list.chosen() + 1).saturating_sub(height);
            state.list.choose_at(first + offset);
            open_chosen(state)
        }
        TuiPane::Middle => {
            let at = state.middle.top + offset;
            choose(state, at, 0)
        }
        TuiPane::Detail => press_cell(state, at, place),
    }
}

/// Shows the entry whose cell of the cover map was pressed. Where a cell stands for several, that is the first one shown in
/// the way of the cell's sign.
fn press_cell(state: &mut TuiState, at: ScreenPosition, place: Rect) -> Vec<TuiAsk> {
    let Some(call) = &state.detail.panel else { return Vec::new() };
    let Some(pressed) = pressed_cell(call, place, at) else { return Vec::new() };
    let PressedCell { entries, entry, cell } = pressed;
    let among = if entries.len() > 1 {
        format!(", the first of its kind from s:{} to s:{}", entries.start, entries.end.saturating_sub(1))
    } else {
        String::new()
    };
    state.remark = format!("s:{entry} is {}{among} · Esc back to the call", cell.words());
    let (key, seq) = (state.open.clone(), entry as u64);
    state.detail.of = RowTarget::Entry { key: key.clone(), seq };
    vec![TuiAsk::Entry { key, seq }]
}

/// Lets the chosen row be seen.
fn keep_in_sight(state: &mut TuiState) {
    let height = usize::from(room(state, TuiPane::Middle).height).max(1);
    let middle = &mut state.middle;
    middle.chosen = middle.chosen.min(middle.rows.len().saturating_sub(1));
    let first = (middle.chosen + 1).saturating_sub(height);
    let last = middle.rows.len().saturating_sub(height);
    middle.top = middle.top.clamp(first, middle.chosen.max(first)).min(last.max(first));
    if let TuiOverlay::Palette(query, at) = &mut state.overlay {
        *at = (*at).min(commands_for(query).len().saturating_sub(1));
    }
    if let TuiOverlay::Help(top) = &mut state.overlay {
        let lines = usize::from(state.area.height).saturating_sub(2).max(1);
        *top = (*top).min(KEYS.len().saturating_sub(lines));
    }
}
