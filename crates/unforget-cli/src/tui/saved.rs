//! What of the state survives the end: a small file in the person's state folder.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::rows::RowTarget;
use super::state::{TimeSpan, TuiState};
use super::theme::ThemeName;

/// Most bytes of the file that are read.
const BYTES: u64 = 64 << 10;

/// The kept state. An unreadable file is none: nothing depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TuiSaved {
    /// The colours.
    pub(super) theme: Option<ThemeName>,
    /// Key of the open conversation.
    open: String,
    /// The chosen entry.
    entry: Option<u64>,
    /// The filters.
    host: Option<String>,
    project: Option<String>,
    label: Option<String>,
    days: Option<i64>,
}

impl TuiSaved {
    /// Reads the file; the default if there is none, or if it is no such file.
    pub(super) fn read(path: &Path) -> Self {
        let is_small = std::fs::metadata(path).is_ok_and(|facts| facts.len() <= BYTES);
        let text = is_small.then(|| std::fs::read_to_string(path).ok()).flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// What of a state is kept.
    pub(super) fn of(state: &TuiState) -> Self {
        let filter = state.list.filter();
        let mut entries = [&state.middle, &state.entries].into_iter().filter_map(|list| list.choice());
        let entry = entries.find_map(|row| match &row.target {
            RowTarget::Entry { key, seq } if *key == state.open => Some(*seq),
            _ => None,
        });
        Self {
            theme: Some(state.theme),
            open: state.open.clone(),
            entry,
            host: filter.host.clone(),
            project: filter.project.clone(),
            label: filter.label.clone(),
            days: state.span.days(),
        }
    }

    /// With another theme, if there is one.
    pub(super) fn with_theme(self, theme: Option<ThemeName>) -> Self {
        Self { theme: theme.or(self.theme), ..self }
    }

    /// Puts it into a state that has its conversations. A conversation, host or project that is gone is passed over.
    pub(super) fn apply(self, state: &mut TuiState) {
        let rows = state.list.rows();
        let host = self.host.filter(|host| rows.iter().any(|row| row.host == *host));
        let project = self.project.filter(|project| rows.iter().any(|row| row.project == *project));
        let label = self.label.filter(|label| rows.iter().any(|row| row.labels.contains(label)));
        state.span = self.days.map(TimeSpan::of_days).unwrap_or_default();
        let since_ms = state.span.days().map(|days| state.now_ms.saturating_sub(days * 86_400_000));
        state.list.filter_by(crate::picker::PickerFilter { host, project, label, since_ms });
        if let Some(theme) = self.theme {
            state.theme = theme;
        }
        if state.list.rows().iter().any(|row| row.key == self.open) {
            state.list.choose(&self.open);
            state.jump = self.entry.filter(|_| !self.open.is_empty());
        }
    }

    /// Writes the file: another name first, so that it is never half written.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let part = path.with_extension("part");
        std::fs::write(&part, serde_json::to_vec(self)?)?;
        std::fs::rename(part, path)
    }
}

#[cfg(test)]
mod unit {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::picker::{PickerRow, PickerState};

    #[test]
    fn a_state_comes_back_and_a_broken_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below").join("tui.json");
        let row = |key: &str, host: &str| PickerRow {
            key: key.to_owned(),
            host: host.to_owned(),
            last_ms: 90_000_000,
            ..PickerRow::default()
        };
        let list = || PickerState::new(vec![row("pi:a", "pi"), row("pi:b", "pi"), row("codex:c", "codex")]);
        let mut state = TuiState { list: list(), now_ms: 100_000_000, ..TuiState::default() };
        state.open = "pi:b".to_owned();
        state.theme = ThemeName::Contrast;
        state.span = TimeSpan::Week;
        TuiSaved::of(&state).write(&path).unwrap();
        let mut next = TuiState { list: list(), now_ms: 100_000_000, ..TuiState::default() };
        TuiSaved::read(&path).apply(&mut next);
        assert_eq!(next.list.choice().unwrap().key, "pi:b");
        assert_eq!((next.theme, next.span), (ThemeName::Contrast, TimeSpan::Week));
        for bytes in ["", "{\"theme\":7}", "[", "{\"open\":\"gone\",\"host\":\"none\",\"days\":-1}"] {
            std::fs::write(&path, bytes).unwrap();
            let mut next = TuiState { list: list(), ..TuiState::default() };
            TuiSaved::read(&path).apply(&mut next);
            assert_eq!(next.list.shown().len(), 3, "{bytes}");
            assert_eq!(next.list.chosen(), 0, "{bytes}");
        }
    }
}
