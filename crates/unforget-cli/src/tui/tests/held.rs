//! The rows that stay in memory, and a conversation without a row.

use super::scenes::{WIDE, drawn, key, opened, page, series, told, typed};
use crate::output::ScreenKey;
use crate::tui::rows::{LineKind, RowTarget, TuiLine, TuiRow};
use crate::tui::state::{PageWanted, TimeSpan, TuiAsk, TuiMessage, TuiState, TuiTold};
use crate::tui::steps::begin_at;
use crate::tui::update::update;

#[test]
fn a_conversation_without_a_row_is_opened_by_its_key() {
    let mut state = opened(WIDE);
    typed(&mut state, "13");
    state.open.clear();
    let asks = begin_at(&mut state, "pi:agent\u{1b}[2J");
    assert!(
        matches!(&asks[..], [TuiAsk::Page { key, wanted: PageWanted::Newest, .. }] if key == "pi:agent\u{1b}[2J"),
        "{asks:?}"
    );
    assert_eq!((state.list.shown().len(), state.span), (4, TimeSpan::Always), "filters do not hide it");
    page(&mut state, PageWanted::Newest, 0..9, (false, false));
    assert_eq!((state.middle.rows.len(), state.middle.chosen), (9, 8));
    let frame = drawn(&state);
    assert!(frame.contains("entries of pi:agent␛[2J"), "{frame}");
    let asks = begin_at(&mut state, "codex:4a31");
    assert!(matches!(&asks[..], [TuiAsk::Page { key, .. }] if key == "codex:4a31"), "{asks:?}");
    assert_eq!(state.list.choice().unwrap().key, "codex:4a31", "one with a row is chosen in the list");
}

#[test]
fn no_more_than_1_200_rows_are_held() {
    let follow = |state: &mut TuiState, at: u64| {
        let from = 50_000 + at * 60;
        update(state, TuiMessage::Changed);
        page(state, PageWanted::From(from), from..from + 60, (true, false));
        assert!(state.middle.rows.len() <= 1_200, "{}", state.middle.rows.len());
    };
    let mut state = opened(WIDE);
    for at in 0..40 {
        follow(&mut state, at);
        assert_eq!(state.middle.chosen, state.middle.rows.len() - 1, "at the end");
    }
    assert_eq!(state.middle.choice().unwrap().lead, "52399");
    assert!(state.middle.has_older && !state.middle.has_newer);

    let mut state = opened(WIDE);
    state.middle.chosen = 45;
    for at in 0..18 {
        follow(&mut state, at);
    }
    let asks = update(&mut state, TuiMessage::Changed);
    assert_eq!(asks.len(), 2, "the newest are still there: {asks:?}");
    follow(&mut state, 18);
    assert_eq!((state.middle.choice().unwrap().lead.as_str(), state.middle.has_newer), ("49925", true));
    let asks = update(&mut state, TuiMessage::Changed);
    assert_eq!(asks, [TuiAsk::Conversations], "what is behind the rows is read when a person comes there");
}

#[test]
fn lines_are_broken_again_only_for_another_width() {
    let mut state = opened(WIDE);
    let broken = state.detail.broken.len();
    assert!(broken > 0);
    state.detail.broken.clear();
    key(&mut state, ScreenKey::Tab);
    assert!(state.detail.broken.is_empty(), "the pane is as wide as before");
    update(&mut state, TuiMessage::Area(ratatui::layout::Rect::new(0, 0, 200, 60)));
    assert!(!state.detail.broken.is_empty());
}

#[test]
fn a_newer_reading_of_a_table_leaves_what_is_read_in_its_place() {
    let row = |number: u64| TuiRow {
        lead: number.to_string(),
        target: RowTarget::Sent { key: "pi:a".to_owned(), number },
        about: (0..200).map(|line| TuiLine::new(LineKind::Plain, format!("{number}: line {line}"))).collect(),
        ..TuiRow::default()
    };
    let mut state = opened(WIDE);
    key(&mut state, ScreenKey::Char('a'));
    let table = |state: &mut TuiState, newest: u64| {
        let rows = (1..=newest).rev().map(row).collect();
        let generation = state.generation;
        told(state, TuiTold::Table { generation, rows, about: newest.to_string() })
    };
    table(&mut state, 80);
    for _ in 0..60 {
        key(&mut state, ScreenKey::Char('j'));
    }
    state.detail.top = 30;
    let (chosen, above) = (state.middle.choice().unwrap().clone(), state.middle.chosen - state.middle.top);
    assert_eq!(table(&mut state, 83), [], "nothing is asked for again");
    assert_eq!(state.middle.choice(), Some(&chosen));
    assert_eq!((state.middle.chosen - state.middle.top, state.detail.top), (above, 30));
    assert_eq!((state.middle.rows.len(), state.middle.about.as_str()), (83, "83"));
}

#[test]
fn what_cannot_be_copied_is_told() {
    let mut state = opened(WIDE);
    series(&mut state);
    state.detail.lines.clear();
    for letter in ['y', 'e'] {
        assert_eq!(key(&mut state, ScreenKey::Char(letter)), []);
        assert_eq!(state.remark, "p shows the prompt, which can be taken along", "{letter}");
    }
}
