//! The filters of the list: each key goes to the next value.

use std::collections::BTreeSet;
use std::slice::from_ref;

use super::keys::TuiCommand;
use super::load::STAR;
use super::state::TuiState;
use crate::picker::{PickerFilter, PickerRow};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The filter that a key leads to.
pub(super) fn next(state: &mut TuiState, command: TuiCommand) -> PickerFilter {
    let mut filter = state.list.filter().clone();
    match command {
        TuiCommand::NextHost => filter.host = next_of(state, filter.host, |row| from_ref(&row.host)),
        TuiCommand::NextProject => {
            filter.project = next_of(state, filter.project, |row| from_ref(&row.project));
        }
        TuiCommand::NextLabel => filter.label = next_label(state, filter.label),
        _ => {
            state.span = state.span.next();
            filter.since_ms = state.span.days().map(|days| state.now_ms.saturating_sub(days * DAY_MS));
        }
    }
    filter
}

/// The value behind the present one, in alphabetical order; `None` behind the last one.
fn next_of(state: &TuiState, now: Option<String>, of: fn(&PickerRow) -> &[String]) -> Option<String> {
    let all: BTreeSet<&String> =
        state.list.rows().iter().flat_map(of).filter(|text| !text.is_empty() && *text != STAR).collect();
    match now {
        Some(now) => all.into_iter().find(|one| **one > now).cloned(),
        None => all.into_iter().next().cloned(),
    }
}

/// The star, then each tag.
fn next_label(state: &TuiState, now: Option<String>) -> Option<String> {
    let has_star = state.list.rows().iter().any(|row| row.labels.iter().any(|label| label == STAR));
    match now {
        None if has_star => Some(STAR.to_owned()),
        Some(now) if now == STAR => next_of(state, None, |row| &row.labels),
        now => next_of(state, now, |row| &row.labels),
    }
}
