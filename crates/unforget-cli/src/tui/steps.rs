//! What each command does to the state, and what is asked for then.

use super::keys::TuiCommand;
use super::layout::room;
use super::lines::{break_lines, fit_lines};
use super::rows::{LineKind, RowTarget, TuiRow};
use super::state::{
    CallFace, DetailText, MiddleKind, MiddleList, PageWanted, TimeSpan, TuiAsk, TuiEnd, TuiOverlay, TuiPane,
    TuiState, WINDOWS,
};
use super::{filters, label};
use crate::picker::PickerFilter;

/// What is asked for first: the conversation that is chosen, at the entry at which a person left.
pub(crate) fn begin(state: &mut TuiState) -> Vec<TuiAsk> {
    let jump = state.jump;
    let mut asks = open_chosen(state);
    if let Some(seq) = jump {
        asks = page(state, PageWanted::Around(seq));
    }
    asks
}

/// What is asked for first where a person named a conversation. A sub-agent or a lane has no row in the list, and is
/// opened by its key.
///
/// * `key` - of a stored conversation.
pub(crate) fn begin_at(state: &mut TuiState, key: &str) -> Vec<TuiAsk> {
    state.span = TimeSpan::Always;
    state.list.filter_by(PickerFilter::default());
    state.list.choose(key);
    state.jump = None;
    open_key(state, key.to_owned())
}

/// Does what a command says.
pub(super) fn run(state: &mut TuiState, command: TuiCommand) -> Vec<TuiAsk> {
    if let TuiOverlay::Help(top) = state.overlay
        && let Some(by) = lines_of(state, command)
    {
        state.overlay = TuiOverlay::Help(top.saturating_add_signed(by));
        return Vec::new();
    }
    if matches!(state.overlay, TuiOverlay::Help(_)) && command != TuiCommand::Help {
        state.overlay = TuiOverlay::None;
        if command == TuiCommand::Back {
            return Vec::new();
        }
    }
    if let Some(by) = lines_of(state, command) {
        return go(state, by);
    }
    match command {
        TuiCommand::NextPane => go_to(state, next_pane(state.pane)),
        TuiCommand::PaneBefore => go_to(state, pane_before(state.pane)),
        TuiCommand::Open => open(state),
        TuiCommand::Back => back(state),
        TuiCommand::Search => {
            state.is_typing = true;
            Vec::new()
        }
        TuiCommand::NextHost | TuiCommand::NextProject | TuiCommand::NextTime | TuiCommand::NextLabel => {
            filter(state, command)
        }
        TuiCommand::EveryConversation => {
            state.span = TimeSpan::Always;
            filtered(state, PickerFilter::default())
        }
        TuiCommand::Context => in_middle(state, series),
        TuiCommand::BreakBefore | TuiCommand::NextBreak => to_break(state, command),
        TuiCommand::Prompt => face(state, CallFace::Prompt),
        TuiCommand::Diff => face(state, CallFace::Diff),
        TuiCommand::Left => face(state, CallFace::Left),
        TuiCommand::Window => window(state),
        TuiCommand::Ledger => in_middle(state, |state| table(state, MiddleKind::Ledger)),
        TuiCommand::Pins => in_middle(state, |state| table(state, MiddleKind::Pins)),
        TuiCommand::Calls => in_middle(state, |state| table(state, MiddleKind::Calls)),
        TuiCommand::Star | TuiCommand::Rename | TuiCommand::Tags => label::begin(state, command),
        TuiCommand::Copy | TuiCommand::CopyName => copy(state, command),
        TuiCommand::Edit => with_text(state, |text| TuiAsk::End(TuiEnd::Edit(text))),
        TuiCommand::Resume => with_open(state, |key| TuiAsk::End(TuiEnd::Resume(key))),
        TuiCommand::Reload => reload(state),
        TuiCommand::Theme => {
            state.theme = state.theme.next();
            state.remark = format!("theme: {}", state.theme.name());
            Vec::new()
        }
        TuiCommand::Palette => {
            state.overlay = TuiOverlay::Palette(String::new(), 0);
            Vec::new()
        }
        TuiCommand::Help => {
            let is_shown = matches!(state.overlay, TuiOverlay::Help(_));
            state.overlay = if is_shown { TuiOverlay::None } else { TuiOverlay::Help(0) };
            Vec::new()
        }
        TuiCommand::Quit => vec![TuiAsk::End(TuiEnd::Quit)],
        _ => Vec::new(),
    }
}

/// How many lines a command goes; `None` for any other command.
fn lines_of(state: &TuiState, command: TuiCommand) -> Option<isize> {
    let page = isize::try_from(room(state, state.pane).height).unwrap_or(isize::MAX).max(2) - 1;
    Some(match command {
        TuiCommand::Down => 1,
        TuiCommand::Up => -1,
        TuiCommand::PageDown => page,
        TuiCommand::PageUp => -page,
        TuiCommand::First => isize::MIN,
        TuiCommand::Last => isize::MAX,
        _ => return None,
    })
}

const fn next_pane(pane: TuiPane) -> TuiPane {
    match pane {
        TuiPane::List => TuiPane::Middle,
        TuiPane::Middle => TuiPane::Detail,
        TuiPane::Detail => TuiPane::List,
    }
}

const fn pane_before(pane: TuiPane) -> TuiPane {
    match pane {
        TuiPane::List => TuiPane::Detail,
        TuiPane::Middle => TuiPane::List,
        TuiPane::Detail => TuiPane::Middle,
    }
}

/// Gives the keys to the middle, and shows another list there.
fn in_middle(state: &mut TuiState, show: fn(&mut TuiState) -> Vec<TuiAsk>) -> Vec<TuiAsk> {
    state.pane = TuiPane::Middle;
    show(state)
}

fn go_to(state: &mut TuiState, pane: TuiPane) -> Vec<TuiAsk> {
    state.pane = pane;
    fit_lines(state);
    Vec::new()
}

/// Moves in the pane with the keys.
pub(super) fn go(state: &mut TuiState, by: isize) -> Vec<TuiAsk> {
    match state.pane {
        TuiPane::List => {
            let at = state.list.chosen().saturating_add_signed(by);
            state.list.choose_at(at);
            open_chosen(state)
        }
        TuiPane::Middle => {
            let at = state.middle.chosen.saturating_add_signed(by);
            choose(state, at, by)
        }
        TuiPane::Detail => {
            let last = state.detail.broken.len().saturating_sub(1);
            state.detail.top = state.detail.top.saturating_add_signed(by).min(last);
            Vec::new()
        }
    }
}

/// Chooses a row of the middle; the first and the last of all rows may have to be read.
pub(super) fn choose(state: &mut TuiState, at: usize, by: isize) -> Vec<TuiAsk> {
    let middle = &mut state.middle;
    middle.failed = None;
    let is_far = middle.kind == MiddleKind::Entries;
    if is_far && by == isize::MIN && middle.has_older {
        return page(state, PageWanted::From(0));
    }
    if is_far && by == isize::MAX && middle.has_newer {
        return page(state, PageWanted::Newest);
    }
    middle.chosen = at.min(middle.rows.len().saturating_sub(1));
    show_chosen(state)
}

/// Opens the chosen conversation of the list.
pub(super) fn open_chosen(state: &mut TuiState) -> Vec<TuiAsk> {
    let key = state.list.choice().map(|row| row.key.clone());
    key.map(|key| open_key(state, key)).unwrap_or_default()
}

/// Opens a conversation, which needs no row in the list.
fn open_key(state: &mut TuiState, key: String) -> Vec<TuiAsk> {
    if key == state.open {
        return Vec::new();
    }
    let kind = state.middle.kind;
    state.open = key;
    state.window = None;
    state.detail = DetailText::default();
    match kind {
        MiddleKind::Hits | MiddleKind::Calls => Vec::new(),
        MiddleKind::Entries => {
            // Nobody may take the rows of another conversation for its own.
            state.middle = MiddleList::default();
            page(state, PageWanted::Newest)
        }
        MiddleKind::Context => series(state),
        MiddleKind::Ledger | MiddleKind::Pins => table(state, kind),
    }
}

/// Asks for entries, in place of those that are shown or beside them.
pub(super) fn page(state: &mut TuiState, wanted: PageWanted) -> Vec<TuiAsk> {
    state.generation += 1;
    state.middle.is_waiting = true;
    (state.middle.failed, state.middle.failure) = (None, String::new());
    if let PageWanted::Around(seq) = wanted {
        state.jump = Some(seq);
    }
    vec![TuiAsk::Page { generation: state.generation, key: state.open.clone(), wanted }]
}

/// Shows the chosen row of the middle at the right.
pub(super) fn show_chosen(state: &mut TuiState) -> Vec<TuiAsk> {
    let Some(row) = state.middle.choice().cloned() else { return Vec::new() };
    if row.target == state.detail.of && row.target != RowTarget::None && row.about.is_empty() {
        return Vec::new();
    }
    state.detail.top = 0;
    state.detail.of = row.target.clone();
    if !row.about.is_empty() {
        state.detail.title = row.lead;
        state.detail.lines = row.about;
        state.detail.panel = None;
        break_lines(state);
        return Vec::new();
    }
    match row.target {
        RowTarget::Entry { key, seq } => vec![TuiAsk::Entry { key, seq }],
        RowTarget::Call(at) => vec![TuiAsk::Call { key: state.open.clone(), at, face: state.face }],
        RowTarget::Sent { .. } | RowTarget::None => Vec::new(),
    }
}

/// Enter.
fn open(state: &mut TuiState) -> Vec<TuiAsk> {
    if state.pane == TuiPane::List {
        let mut asks = open_chosen(state);
        if state.middle.kind == MiddleKind::Hits {
            asks.extend(entries_at(state, PageWanted::Newest));
        }
        asks.extend(go_to(state, TuiPane::Middle));
        return asks;
    }
    if state.pane == TuiPane::Detail {
        return Vec::new();
    }
    let target = state.middle.choice().map(|row| row.target.clone());
    match (state.middle.kind, target) {
        (MiddleKind::Entries, _) => go_to(state, TuiPane::Detail),
        (_, Some(RowTarget::Entry { key, seq })) => jump(state, key, seq),
        (MiddleKind::Context, Some(RowTarget::Call(_))) => face(state, CallFace::Gauge),
        (_, Some(RowTarget::Sent { key, .. })) => {
            state.list.choose(&key);
            state.open = key;
            series(state)
        }
        _ => go_to(state, TuiPane::Detail),
    }
}

/// Goes to an entry of a conversation.
fn jump(state: &mut TuiState, key: String, seq: u64) -> Vec<TuiAsk> {
    state.list.choose(&key);
    state.open = key;
    entries_at(state, PageWanted::Around(seq))
}

/// Shows entries in the middle again.
fn entries_at(state: &mut TuiState, wanted: PageWanted) -> Vec<TuiAsk> {
    state.middle = MiddleList::default();
    state.is_typing = false;
    state.pane = TuiPane::Middle;
    page(state, wanted)
}

/// Escape: closes the uppermost thing.
pub(super) fn back(state: &mut TuiState) -> Vec<TuiAsk> {
    if state.overlay != TuiOverlay::None {
        state.overlay = TuiOverlay::None;
        return Vec::new();
    }
    let is_of_cell = matches!(state.detail.of, RowTarget::Entry { .. });
    if state.middle.kind == MiddleKind::Context && (state.face != CallFace::Gauge || is_of_cell) {
        return face(state, CallFace::Gauge);
    }
    if state.pane == TuiPane::Detail {
        return go_to(state, TuiPane::Middle);
    }
    let had_query = !state.query.is_empty();
    if had_query {
        state.query.clear();
        state.list.search_for("");
        let open = state.open.clone();
        state.list.choose(&open);
    }
    if state.middle.kind != MiddleKind::Entries {
        // Rows of an older question must not come into the entries.
        state.generation += 1;
        state.middle = std::mem::take(&mut state.entries);
        state.middle.is_waiting = false;
        state.detail.of = RowTarget::None;
        let mut asks = Vec::new();
        let is_of_open = matches!(state.middle.rows.first().map(|row| &row.target),
            Some(RowTarget::Entry { key, .. }) if *key == state.open);
        if !is_of_open {
            asks = page(state, PageWanted::Newest);
        }
        asks.extend(show_chosen(state));
        return asks;
    }
    if !had_query && state.pane == TuiPane::Middle {
        return go_to(state, TuiPane::List);
    }
    Vec::new()
}

/// Shows another list in the middle, and keeps the entries.
pub(super) fn switch(state: &mut TuiState, kind: MiddleKind) {
    if state.middle.kind == MiddleKind::Entries {
        state.entries = std::mem::take(&mut state.middle);
    }
    state.middle = MiddleList { kind, is_waiting: true, ..MiddleList::default() };
    state.detail = DetailText::default();
    state.generation += 1;
}

fn table(state: &mut TuiState, kind: MiddleKind) -> Vec<TuiAsk> {
    if state.open.is_empty() && kind != MiddleKind::Calls {
        return Vec::new();
    }
    switch(state, kind);
    vec![TuiAsk::Table { generation: state.generation, kind, key: state.open.clone() }]
}

fn series(state: &mut TuiState) -> Vec<TuiAsk> {
    if state.open.is_empty() {
        return Vec::new();
    }
    switch(state, MiddleKind::Context);
    state.face = CallFace::Gauge;
    vec![TuiAsk::Series { generation: state.generation, key: state.open.clone(), window: state.window }]
}

fn window(state: &mut TuiState) -> Vec<TuiAsk> {
    if state.middle.kind != MiddleKind::Context {
        return Vec::new();
    }
    let at = state.window.and_then(|window| WINDOWS.iter().position(|one| *one == window));
    state.window = match at {
        Some(at) => WINDOWS.get(at + 1).copied(),
        None => WINDOWS.first().copied(),
    };
    series(state)
}

fn face(state: &mut TuiState, face: CallFace) -> Vec<TuiAsk> {
    if state.middle.kind != MiddleKind::Context {
        remark(state, "c shows the calls first");
        return Vec::new();
    }
    state.face = face;
    state.detail.of = RowTarget::None;
    show_chosen(state)
}

fn to_break(state: &mut TuiState, command: TuiCommand) -> Vec<TuiAsk> {
    let middle = &state.middle;
    let is_break = |at: &usize| middle.rows.get(*at).is_some_and(|row| row.kind == LineKind::Warn);
    let found = if command == TuiCommand::NextBreak {
        (middle.chosen + 1..middle.rows.len()).find(is_break)
    } else {
        (0..middle.chosen).rev().find(is_break)
    };
    let Some(at) = found.filter(|_| middle.kind == MiddleKind::Context) else {
        remark(state, "there is no further break");
        return Vec::new();
    };
    state.middle.chosen = at;
    show_chosen(state)
}

/// Goes to the call or the entry with this number.
pub(super) fn to_number(state: &mut TuiState, number: u64) -> Vec<TuiAsk> {
    if state.middle.kind == MiddleKind::Entries {
        return page(state, PageWanted::Around(number));
    }
    let label = number.to_string();
    let is_it = |row: &TuiRow| row.lead.strip_prefix('r').unwrap_or(&row.lead) == label;
    let Some(at) = state.middle.rows.iter().position(is_it) else {
        remark(state, "there is nothing with this number");
        return Vec::new();
    };
    choose(state, at, 0)
}

fn filter(state: &mut TuiState, command: TuiCommand) -> Vec<TuiAsk> {
    let filter = filters::next(state, command);
    filtered(state, filter)
}

fn filtered(state: &mut TuiState, filter: PickerFilter) -> Vec<TuiAsk> {
    state.list.filter_by(filter);
    if state.query.is_empty() { open_chosen(state) } else { search(state) }
}

fn reload(state: &mut TuiState) -> Vec<TuiAsk> {
    let mut asks = vec![TuiAsk::Conversations];
    match state.middle.kind {
        MiddleKind::Entries => {
            let wanted = match state.middle.choice().map(|row| &row.target) {
                Some(RowTarget::Entry { seq, .. }) => PageWanted::Around(*seq),
                _ => PageWanted::Newest,
            };
            asks.extend(page(state, wanted));
        }
        MiddleKind::Hits => asks.extend(search(state)),
        MiddleKind::Context => asks.extend(series(state)),
        kind => asks.extend(table(state, kind)),
    }
    asks
}

fn copy(state: &mut TuiState, command: TuiCommand) -> Vec<TuiAsk> {
    let named = |state: &TuiState| match state.middle.choice().map(|row| &row.target) {
        Some(RowTarget::Entry { key, seq }) if state.pane != TuiPane::List => Some(format!("e:{key}:{seq}")),
        _ => state.list.choice().map(|row| row.name.clone()),
    };
    if command == TuiCommand::CopyName {
        let Some(name) = named(state) else { return Vec::new() };
        state.remark = format!("copied, if this terminal allows it: {name}");
        return vec![TuiAsk::Copy(name)];
    }
    let asks = with_text(state, TuiAsk::Copy);
    if !asks.is_empty() {
        remark(state, "the text is copied, if this terminal allows it");
    }
    asks
}

/// What to do with the text at the right.
fn with_text(state: &mut TuiState, make: fn(String) -> TuiAsk) -> Vec<TuiAsk> {
    let lines: Vec<&str> = state.detail.lines.iter().map(|line| line.text.as_str()).collect();
    if !lines.is_empty() {
        return vec![make(lines.join("\n"))];
    }
    let is_gauge = state.middle.kind == MiddleKind::Context && state.face == CallFace::Gauge;
    remark(
        state,
        if is_gauge {
            "p shows the prompt, which can be taken along"
        } else {
            "there is no text at the right"
        },
    );
    Vec::new()
}

fn with_open(state: &TuiState, make: fn(String) -> TuiAsk) -> Vec<TuiAsk> {
    if state.open.is_empty() { Vec::new() } else { vec![make(state.open.clone())] }
}

/// Tells the person something until the next key.
pub(super) fn remark(state: &mut TuiState, what: &str) {
    what.clone_into(&mut state.remark);
}

/// Searches for the query. The old hits stay until the new ones come.
pub(super) fn search(state: &mut TuiState) -> Vec<TuiAsk> {
    let query = state.query.clone();
    state.list.search_for(&query);
    if query.trim().is_empty() {
        state.generation += 1;
        if state.middle.kind == MiddleKind::Hits {
            state.middle.rows.clear();
            state.middle.about.clear();
            state.middle.failure.clear();
            state.middle.is_waiting = false;
        }
        return Vec::new();
    }
    if state.middle.kind == MiddleKind::Hits {
        state.generation += 1;
        state.middle.is_waiting = true;
        state.middle.failure.clear();
    } else {
        switch(state, MiddleKind::Hits);
    }
    let filter = state.list.filter().clone();
    vec![TuiAsk::Search { generation: state.generation, text: query, filter }]
}
