//! What letters do while a query or the name of a command is typed.

use super::keys::{TuiCommand, commands_for};
use super::state::{MiddleKind, TuiAsk, TuiEnd, TuiOverlay, TuiPane, TuiState};
use super::steps::{back, run, search, show_chosen, to_number};
use crate::output::ScreenKey;

/// Longest query, in characters.
const QUERY_CHARS: usize = 200;

/// Takes a key into the query.
pub(super) fn query(state: &mut TuiState, key: ScreenKey) -> Vec<TuiAsk> {
    match key {
        ScreenKey::Ctrl('c' | 'd') => vec![TuiAsk::End(TuiEnd::Quit)],
        ScreenKey::Esc => {
            state.is_typing = false;
            state.pane = TuiPane::Middle;
            back(state)
        }
        ScreenKey::Enter => {
            state.is_typing = false;
            state.pane = TuiPane::Middle;
            if state.middle.kind == MiddleKind::Hits {
                return run(state, TuiCommand::Open);
            }
            Vec::new()
        }
        ScreenKey::Up | ScreenKey::Ctrl('p') => step(state, -1),
        ScreenKey::Down | ScreenKey::Ctrl('n') => step(state, 1),
        ScreenKey::PageUp => step(state, -10),
        ScreenKey::PageDown => step(state, 10),
        ScreenKey::Tab => {
            state.is_typing = false;
            state.pane = TuiPane::Middle;
            Vec::new()
        }
        ScreenKey::Ctrl('u') => {
            state.query.clear();
            search(state)
        }
        ScreenKey::Backspace => {
            state.query.pop();
            search(state)
        }
        ScreenKey::Char(one) if state.query.chars().count() < QUERY_CHARS => {
            state.query.push(one);
            search(state)
        }
        _ => Vec::new(),
    }
}

fn step(state: &mut TuiState, by: isize) -> Vec<TuiAsk> {
    state.middle.chosen = state.middle.chosen.saturating_add_signed(by);
    state.middle.chosen = state.middle.chosen.min(state.middle.rows.len().saturating_sub(1));
    show_chosen(state)
}

/// Takes a key into the palette.
pub(super) fn palette(state: &mut TuiState, key: ScreenKey) -> Vec<TuiAsk> {
    let TuiOverlay::Palette(query, at) = &mut state.overlay else { return Vec::new() };
    match key {
        ScreenKey::Ctrl('c' | 'd') => return vec![TuiAsk::End(TuiEnd::Quit)],
        ScreenKey::Esc => state.overlay = TuiOverlay::None,
        ScreenKey::Enter => {
            let command = commands_for(query).get(*at).map(|row| row.command);
            let number = query.trim().parse::<u64>().ok();
            state.overlay = TuiOverlay::None;
            return match (command, number) {
                (Some(command), _) => run(state, command),
                (None, Some(number)) => to_number(state, number),
                (None, None) => Vec::new(),
            };
        }
        ScreenKey::Up | ScreenKey::Ctrl('p') => *at = at.saturating_sub(1),
        ScreenKey::Down | ScreenKey::Ctrl('n') | ScreenKey::Tab => *at = at.saturating_add(1),
        ScreenKey::Backspace => {
            query.pop();
            *at = 0;
        }
        ScreenKey::Char(one) if query.chars().count() < QUERY_CHARS => {
            query.push(one);
            *at = 0;
        }
        _ => {}
    }
    Vec::new()
}
