//! What a person says of a conversation: the keys for its title, star and tags.

use unforget_engine::{LABEL_TITLE_CHARS, LabelChange};

use super::keys::TuiCommand;
use super::load::STAR;
use super::state::{LabelPart, TuiAsk, TuiEnd, TuiOverlay, TuiState};
use crate::output::ScreenKey;
use crate::picker::PickerRow;

/// Most characters of all tags together.
const TAGS_CHARS: usize = 1_000;

/// The row of the open conversation.
fn open_row(state: &TuiState) -> Option<&PickerRow> {
    state.list.rows().iter().find(|row| row.key == state.open)
}

/// Changes the star at once; opens a field for the rest.
pub(super) fn begin(state: &mut TuiState, command: TuiCommand) -> Vec<TuiAsk> {
    let Some(row) = open_row(state) else {
        "choose a conversation of the list first".clone_into(&mut state.remark);
        return Vec::new();
    };
    let has_star = row.labels.iter().any(|label| label == STAR);
    let tags = row.labels.iter().filter_map(|label| label.strip_prefix('#')).collect::<Vec<_>>().join(" ");
    let title = row.title.clone();
    match command {
        TuiCommand::Star => {
            vec![TuiAsk::Label { key: state.open.clone(), change: LabelChange::star(!has_star) }]
        }
        TuiCommand::Rename => field(state, LabelPart::Title, title),
        _ => field(state, LabelPart::Tags, tags),
    }
}

fn field(state: &mut TuiState, part: LabelPart, text: String) -> Vec<TuiAsk> {
    state.overlay = TuiOverlay::Label(part, text);
    Vec::new()
}

/// Takes a key into the field.
pub(super) fn typed(state: &mut TuiState, key: ScreenKey) -> Vec<TuiAsk> {
    let TuiOverlay::Label(part, text) = &mut state.overlay else { return Vec::new() };
    let most = if *part == LabelPart::Title { LABEL_TITLE_CHARS } else { TAGS_CHARS };
    match key {
        ScreenKey::Ctrl('c' | 'd') => return vec![TuiAsk::End(TuiEnd::Quit)],
        ScreenKey::Esc => state.overlay = TuiOverlay::None,
        ScreenKey::Enter => {
            let (part, text) = (*part, std::mem::take(text));
            state.overlay = TuiOverlay::None;
            return kept(state, part, text);
        }
        ScreenKey::Ctrl('u') => text.clear(),
        ScreenKey::Backspace => drop(text.pop()),
        ScreenKey::Char(one) if text.chars().count() < most => text.push(one),
        _ => {}
    }
    Vec::new()
}

fn kept(state: &TuiState, part: LabelPart, text: String) -> Vec<TuiAsk> {
    let change = match part {
        LabelPart::Title => LabelChange { title: Some(text), ..LabelChange::default() },
        LabelPart::Tags => {
            let tags = text.split([' ', ',']).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
            let row = open_row(state);
            let before = row.map(|row| row.labels.iter().filter_map(|label| label.strip_prefix('#')));
            let untags = before.map(|tags| tags.map(str::to_owned).collect()).unwrap_or_default();
            LabelChange { tags, untags, ..LabelChange::default() }
        }
    };
    vec![TuiAsk::Label { key: state.open.clone(), change }]
}
