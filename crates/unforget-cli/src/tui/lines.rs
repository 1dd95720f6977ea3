//! The lines at the right, broken to the width of their pane.

use super::layout::room;
use super::rows::wrapped;
use super::state::{TuiPane, TuiState};

/// Breaks the lines at the right to the width of their pane.
pub(super) fn break_lines(state: &mut TuiState) {
    let width = usize::from(room(state, TuiPane::Detail).width);
    state.detail.broken = wrapped(&state.detail.lines, width);
    state.detail.columns = width;
    state.detail.top = state.detail.top.min(state.detail.broken.len().saturating_sub(1));
}

/// Breaks the same lines again if their pane has another width now.
pub(super) fn fit_lines(state: &mut TuiState) {
    if usize::from(room(state, TuiPane::Detail).width) != state.detail.columns {
        break_lines(state);
    }
}
