//! Titles, stars and tags by keys; the cover map by mouse.

use unforget_engine::LabelChange;

use super::scenes::{SIZES, WIDE, conversation, drawn, key, opened, series, told, typed};
use crate::output::{MouseDeed, ScreenKey};
use crate::tui::rows::{MapCell, RowTarget};
use crate::tui::state::{TuiAsk, TuiMessage, TuiOverlay, TuiState, TuiTold};
use crate::tui::update::update;

fn asked(asks: &[TuiAsk]) -> Option<(&str, &LabelChange)> {
    asks.iter().find_map(|ask| match ask {
        TuiAsk::Label { key, change } => Some((key.as_str(), change)),
        _ => None,
    })
}

#[test]
fn keys_change_the_label_of_the_open_conversation() {
    let mut state = opened(WIDE);
    let own = conversation(0).key;
    let asks = key(&mut state, ScreenKey::Char('s'));
    assert_eq!(asked(&asks), Some((own.as_str(), &LabelChange::star(true))));
    key(&mut state, ScreenKey::Char('n'));
    assert!(drawn(&state).contains("Mend the parser of the journal"), "the title that is there");
    key(&mut state, ScreenKey::Ctrl('u'));
    typed(&mut state, "Parser q");
    let asks = key(&mut state, ScreenKey::Enter);
    let titled = LabelChange { title: Some("Parser q".to_owned()), ..LabelChange::default() };
    assert_eq!(asked(&asks), Some((own.as_str(), &titled)), "letters are no commands in the field");
    key(&mut state, ScreenKey::Char('#'));
    typed(&mut state, "later  infra");
    let asks = key(&mut state, ScreenKey::Enter);
    let tags = ["later", "infra"].map(str::to_owned).to_vec();
    assert_eq!(asked(&asks), Some((own.as_str(), &LabelChange { tags, ..LabelChange::default() })));
    told(&mut state, TuiTold::Labelled("the tags are kept".to_owned()));
    assert!(drawn(&state).contains("the tags are kept"));
    key(&mut state, ScreenKey::Char('n'));
    key(&mut state, ScreenKey::Esc);
    assert_eq!(state.overlay, TuiOverlay::None);
}

#[test]
fn the_list_is_filtered_by_star_and_tag() {
    let mut state = opened(WIDE);
    let shown = |state: &TuiState| state.list.shown().map(|row| row.name.clone()).collect::<Vec<_>>();
    for want in [Some("★"), Some("#later"), None] {
        key(&mut state, ScreenKey::Char('4'));
        assert_eq!(state.list.filter().label.as_deref(), want);
        assert_eq!(shown(&state).len(), if want.is_some() { 1 } else { 4 }, "{want:?}");
    }
}

#[test]
fn a_click_shows_the_entry_of_its_cell() {
    for size in SIZES {
        let mut state = opened(size);
        series(&mut state);
        if crate::tui::layout::places(&state).detail.is_none() {
            key(&mut state, ScreenKey::Tab);
        }
        let frame = drawn(&state);
        let lines: Vec<&str> = frame.lines().collect();
        let place = crate::tui::layout::places(&state).detail.unwrap();
        let inside = crate::tui::layout::inside(place, state.area);
        let at_column = |line: &str| line.chars().nth(usize::from(inside.x));
        let heading = lines.iter().position(|line| line.contains("entries") && line.contains("oldest first"));
        let Some(heading) = heading else { continue };
        let first = (heading + 1..lines.len())
            .find(|at| at_column(lines[*at]) == Some('s') && !lines[*at].contains("summary"));
        let first = first.unwrap() as u16;
        let wanted = |state: &mut TuiState, column: u16, line: u16| {
            let asks = update(state, TuiMessage::Mouse(MouseDeed::Press, column, line));
            asks.iter().find_map(|ask| if let TuiAsk::Entry { seq, .. } = ask { Some(*seq) } else { None })
        };
        let per = 444_usize.div_ceil(cells_of(&frame, usize::from(inside.x), first as usize)) as u64;
        assert_eq!(wanted(&mut state.clone(), inside.x, first), Some(0), "{size}: the first cell");
        let third = wanted(&mut state.clone(), inside.x + 2, first).unwrap();
        assert!(third > 0 && third <= 2 * per.max(2), "{size}: the third cell is entry {third}");
        let mut clicked = state.clone();
        wanted(&mut clicked, inside.x + 2, first);
        assert!(matches!(clicked.detail.of, RowTarget::Entry { seq, .. } if seq == third));
        assert!(clicked.remark.contains(MapCell::Summary.words()), "{}", clicked.remark);
        let asks = key(&mut clicked, ScreenKey::Esc);
        assert!(asks.iter().any(|ask| matches!(ask, TuiAsk::Call { .. })), "{size}: back to the call");
        assert_eq!(wanted(&mut state.clone(), inside.x, inside.y), None, "{size}: the gauge is no map");
    }
}

#[test]
fn a_number_in_the_palette_goes_to_that_call() {
    let mut state = opened(WIDE);
    series(&mut state);
    key(&mut state, ScreenKey::Char(':'));
    typed(&mut state, "120");
    assert!(drawn(&state).contains("goes to the call or entry"));
    key(&mut state, ScreenKey::Enter);
    assert_eq!(state.middle.choice().map(|row| row.lead.as_str()), Some("120"));
    key(&mut state, ScreenKey::Char(':'));
    typed(&mut state, "9999");
    key(&mut state, ScreenKey::Enter);
    assert_eq!(state.remark, "there is nothing with this number");
}

/// Cells of the map as it is drawn.
fn cells_of(frame: &str, column: usize, first: usize) -> usize {
    let rows = frame.lines().skip(first).map(|line| line.chars().skip(column));
    rows.map(|row| row.take_while(|one| "█▒s_·".contains(*one)).count())
        .take_while(|count| *count > 0)
        .sum::<usize>()
        .max(1)
}
