//! The picker: a list of conversations in which a person types to search, and reads or goes on with one.
//!
//! | module | holds |
//! |---|---|
//! | `state` | what a key does: a pure struct |
//! | `view` | how the state looks in a number of columns and lines |
//!
//! The list is the left pane of the terminal interface (`tui`) too. Effects are in `commands::pick`, the terminal is in `output::screen`.

mod state;
mod view;

pub(crate) use state::{PickerAction, PickerFilter, PickerRow, PickerState};
pub(crate) use view::{PickerInk, lines, preview_columns, view};
