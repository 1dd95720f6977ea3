//! Where the panes are.

use ratatui::layout::{Constraint, Layout, Rect};

use super::state::{TuiPane, TuiState};

/// Columns from which three panes are shown, and two.
const THREE_FROM: u16 = 110;
const TWO_FROM: u16 = 76;

/// The places of what is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TuiPlaces {
    /// The query and the filters.
    pub(crate) top: Rect,
    /// The conversations.
    pub(crate) list: Option<Rect>,
    /// The list in the middle.
    pub(crate) middle: Option<Rect>,
    /// The right.
    pub(crate) detail: Option<Rect>,
    /// Keys and remarks.
    pub(crate) bottom: Rect,
}

impl TuiPlaces {
    /// The place of a pane.
    pub(crate) const fn of(&self, pane: TuiPane) -> Option<Rect> {
        match pane {
            TuiPane::List => self.list,
            TuiPane::Middle => self.middle,
            TuiPane::Detail => self.detail,
        }
    }
}

/// The places: three panes, two around the one with the keys, or only this one.
pub(crate) fn places(state: &TuiState) -> TuiPlaces {
    let lines = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [top, panes, bottom] = Layout::vertical(lines).areas(state.area);
    let none = TuiPlaces { top, bottom, ..TuiPlaces::default() };
    if panes.width >= THREE_FROM {
        let columns = [Constraint::Percentage(27), Constraint::Percentage(33), Constraint::Min(1)];
        let [list, middle, detail] = Layout::horizontal(columns).areas(panes);
        return TuiPlaces { list: Some(list), middle: Some(middle), detail: Some(detail), ..none };
    }
    if panes.width >= TWO_FROM {
        let columns = [Constraint::Percentage(45), Constraint::Min(1)];
        let [left, right] = Layout::horizontal(columns).areas(panes);
        return if state.pane == TuiPane::List {
            TuiPlaces { list: Some(left), middle: Some(right), ..none }
        } else {
            TuiPlaces { middle: Some(left), detail: Some(right), ..none }
        };
    }
    match state.pane {
        TuiPane::List => TuiPlaces { list: Some(panes), ..none },
        TuiPane::Middle => TuiPlaces { middle: Some(panes), ..none },
        TuiPane::Detail => TuiPlaces { detail: Some(panes), ..none },
    }
}

/// What is inside a pane: without its heading, and without the line at its left.
pub(crate) const fn inside(pane: Rect, area: Rect) -> Rect {
    let left = if pane.x > area.x { 2 } else { 0 };
    let left = if left < pane.width { left } else { pane.width };
    let head = if pane.height > 0 { 1 } else { 0 };
    Rect { x: pane.x + left, y: pane.y + head, width: pane.width - left, height: pane.height - head }
}

/// Lines and columns of a pane. A hidden pane has those of the moment it is shown.
pub(crate) fn room(state: &TuiState, pane: TuiPane) -> Rect {
    let hidden = || places(&TuiState { area: state.area, pane, ..TuiState::default() }).of(pane);
    let place = places(state).of(pane).or_else(hidden);
    inside(place.unwrap_or(state.area), state.area)
}
