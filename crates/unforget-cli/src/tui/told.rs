//! What an answer does to the state.

use super::lines::break_lines;
use super::rows::{LineKind, RowTarget, TuiLine, TuiRow};
use super::state::{DetailText, MiddleKind, MiddleList, PageWanted, TuiAsk, TuiState, TuiTold};
use super::steps::{open_chosen, page, show_chosen};
use crate::found::{words_in, words_of};

/// Most rows of a conversation that are held; the ones farthest from the chosen one are let go.
const ROWS: usize = 1_200;

/// Lines above the words of a query.
const ABOVE: usize = 3;

/// Takes an answer. Returns what has to be done then.
pub(super) fn take(state: &mut TuiState, answer: TuiTold) -> Vec<TuiAsk> {
    match answer {
        TuiTold::Conversations(rows) => {
            let is_first = state.open.is_empty();
            state.list.renew(rows);
            if is_first { open_chosen(state) } else { Vec::new() }
        }
        TuiTold::Page { generation, wanted, rows, more, total } => {
            if generation != state.generation || state.middle.kind != MiddleKind::Entries {
                return Vec::new();
            }
            state.middle.is_waiting = false;
            state.middle.about = crate::text::count(total);
            rows_came(state, CameRows { wanted, rows, has_older: more.0, has_newer: more.1 })
        }
        TuiTold::Text { of, face, title, lines, panel } => {
            let is_call = matches!(of, RowTarget::Call(_));
            if of != state.detail.of || (is_call && face != state.face) {
                return Vec::new();
            }
            (state.detail.title, state.detail.lines, state.detail.panel) = (title, lines, panel);
            state.detail.top = 0;
            break_lines(state);
            if state.middle.kind == MiddleKind::Hits {
                state.detail.top = first_found(state);
            }
            Vec::new()
        }
        TuiTold::Found { generation, rows, keys, about } => {
            if generation != state.generation || state.middle.kind != MiddleKind::Hits {
                return Vec::new();
            }
            let query = state.query.clone();
            state.list.found(&query, &keys);
            list_came(state, rows, about, 0)
        }
        TuiTold::Table { generation, rows, about } => {
            if generation != state.generation {
                return Vec::new();
            }
            let before = state.middle.choice();
            let same = before.and_then(|before| rows.iter().position(|row| row.target == before.target));
            if let Some((at, before)) = same.zip(before)
                && rows.get(at) == Some(before)
            {
                renew(&mut state.middle, rows, about, at);
                return Vec::new();
            }
            let last = rows.len().saturating_sub(1);
            let usual = if state.middle.kind == MiddleKind::Context { last } else { 0 };
            list_came(state, rows, about, same.unwrap_or(usual))
        }
        TuiTold::Labelled(what) => {
            state.remark = what;
            Vec::new()
        }
        TuiTold::Progress { generation, about } => {
            if generation == state.generation {
                state.middle.about = about;
            }
            Vec::new()
        }
        TuiTold::Failed { of, what } => {
            failed(state, &of, what);
            Vec::new()
        }
    }
}

/// Tells of a question that failed, in the pane that waits for its answer. A question that is no longer the newest one
/// failed for nobody.
fn failed(state: &mut TuiState, of: &TuiAsk, what: String) {
    let target = match of {
        TuiAsk::Page { generation, .. }
        | TuiAsk::Search { generation, .. }
        | TuiAsk::Series { generation, .. }
        | TuiAsk::Table { generation, .. } => {
            if *generation != state.generation {
                return;
            }
            let query = state.query.clone();
            if matches!(of, TuiAsk::Search { .. }) {
                state.list.found(&query, &[]);
            }
            let middle = &mut state.middle;
            middle.is_waiting = false;
            middle.failure.clone_from(&what);
            if let TuiAsk::Page { wanted, .. } = of {
                middle.failed = Some(*wanted);
                state.jump = None;
            } else if !matches!(of, TuiAsk::Table { .. }) {
                // Rows of the question before are no answer to this one.
                middle.rows.clear();
            }
            RowTarget::None
        }
        TuiAsk::Entry { key, seq } => RowTarget::Entry { key: key.clone(), seq: *seq },
        TuiAsk::Call { at, face, key } if *face == state.face && *key == state.open => RowTarget::Call(*at),
        TuiAsk::Call { .. } => return,
        TuiAsk::Conversations | TuiAsk::Label { .. } | TuiAsk::Copy(_) | TuiAsk::End(_) => RowTarget::None,
    };
    if target != RowTarget::None {
        if target != state.detail.of {
            return;
        }
        state.detail.lines = vec![TuiLine::new(LineKind::Bad, &what)];
        (state.detail.panel, state.detail.title) = (None, "failed".to_owned());
        break_lines(state);
    }
    state.remark = what;
}

/// The line at which the words of the query are seen.
fn first_found(state: &TuiState) -> usize {
    let words = words_of(&state.query);
    let found = |line: &TuiLine| words_in(&line.text, &words).len();
    let lines = state.detail.broken.iter().enumerate().rev();
    let best = lines.map(|(at, line)| (found(line), at)).max_by_key(|(count, _)| *count);
    best.filter(|(count, _)| *count > 0).map_or(0, |(_, at)| at.saturating_sub(ABOVE))
}

fn list_came(state: &mut TuiState, rows: Vec<TuiRow>, about: String, chosen: usize) -> Vec<TuiAsk> {
    state.middle.is_waiting = false;
    state.middle.failure.clear();
    state.middle.rows = rows;
    state.middle.about = about;
    state.middle.chosen = chosen;
    state.middle.top = 0;
    state.detail = DetailText::default();
    show_chosen(state)
}

/// Puts a newer reading of a table in its place. The chosen row is the same: its text and its line on the screen stay.
///
/// * `at` - the place of the chosen row in `rows`.
fn renew(middle: &mut MiddleList, rows: Vec<TuiRow>, about: String, at: usize) {
    let above = middle.chosen.saturating_sub(middle.top);
    middle.is_waiting = false;
    middle.failure.clear();
    (middle.rows, middle.about) = (rows, about);
    (middle.chosen, middle.top) = (at, at.saturating_sub(above));
}

/// Lets the rows go that are farthest from the chosen one, so that no more than [`ROWS`] are held.
fn trim(middle: &mut MiddleList) {
    let extra = middle.rows.len().saturating_sub(ROWS);
    let older = middle.chosen.saturating_sub(ROWS / 2).min(extra);
    middle.rows.drain(..older);
    middle.chosen -= older;
    middle.top = middle.top.saturating_sub(older);
    middle.has_older |= older > 0;
    middle.has_newer |= extra > older;
    middle.rows.truncate(ROWS);
}

/// Entries that came.
struct CameRows {
    wanted: PageWanted,
    rows: Vec<TuiRow>,
    has_older: bool,
    has_newer: bool,
}

/// Puts entries into the list: beside those that are there, or in their place.
fn rows_came(state: &mut TuiState, page_came: CameRows) -> Vec<TuiAsk> {
    let CameRows { wanted, rows, has_older, has_newer } = page_came;
    let middle = &mut state.middle;
    let came = rows.len();
    let is_next = match (wanted, middle.rows.last().map(|row| &row.target)) {
        (PageWanted::From(from), Some(RowTarget::Entry { key, seq })) => {
            from == seq + 1 && *key == state.open
        }
        _ => false,
    };
    match wanted {
        PageWanted::Before(_) => {
            middle.rows.splice(0..0, rows);
            middle.chosen += came;
            middle.top += came;
            middle.has_older = has_older;
            trim(middle);
            return Vec::new();
        }
        PageWanted::From(_) if is_next => {
            let is_followed = !middle.has_newer && came > 0 && middle.chosen + 1 == middle.rows.len();
            middle.rows.extend(rows);
            middle.has_newer = has_newer;
            if is_followed {
                middle.chosen = middle.rows.len() - 1;
            }
            trim(middle);
            return if is_followed { show_chosen(state) } else { Vec::new() };
        }
        PageWanted::Newest => middle.chosen = came.saturating_sub(1),
        PageWanted::From(_) | PageWanted::Around(_) => middle.chosen = 0,
    }
    middle.rows = rows;
    (middle.has_older, middle.has_newer) = (has_older, has_newer);
    middle.top = 0;
    if let Some(wanted) = state.jump.take() {
        let at = middle
            .rows
            .iter()
            .position(|row| matches!(row.target, RowTarget::Entry { seq, .. } if seq >= wanted));
        match at {
            Some(at) => middle.chosen = at,
            // It is behind what a person reads: a page from there shows what follows.
            None if middle.has_newer => return page(state, PageWanted::From(wanted)),
            None => middle.chosen = came.saturating_sub(1),
        }
    }
    state.detail.of = RowTarget::None;
    show_chosen(state)
}
