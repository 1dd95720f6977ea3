//! What a key does.

use crate::output::ScreenKey;

/// A conversation in the list. Its texts are harmless and on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PickerRow {
    /// Its key.
    pub(crate) key: String,
    /// Its short name.
    pub(crate) name: String,
    /// Its title.
    pub(crate) title: String,
    /// Its star and tags as filters: `★`, `#tag`.
    pub(crate) labels: Vec<String>,
    /// Its project.
    pub(crate) project: String,
    /// Its host.
    pub(crate) host: String,
    /// When it was last active.
    pub(crate) when: String,
    /// When it was last active, in milliseconds since 1970; 0 if unknown.
    pub(crate) last_ms: i64,
    /// What of it is compared with the words of a query, in lower case.
    pub(crate) words: String,
}

/// Which conversations are in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PickerFilter {
    /// Only those of this host.
    pub(crate) host: Option<String>,
    /// Only those of this project.
    pub(crate) project: Option<String>,
    /// Only those with this star or tag, as in [`PickerRow::labels`].
    pub(crate) label: Option<String>,
    /// Only those that were active since then, in milliseconds since 1970.
    pub(crate) since_ms: Option<i64>,
}

impl PickerFilter {
    /// Whether it takes a conversation.
    pub(crate) fn takes(&self, row: &PickerRow) -> bool {
        self.host.as_ref().is_none_or(|host| row.host == *host)
            && self.project.as_ref().is_none_or(|project| row.project == *project)
            && self.label.as_ref().is_none_or(|label| row.labels.contains(label))
            && self.since_ms.is_none_or(|since| row.last_ms >= since)
    }

    /// Whether it takes every conversation.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// What has to be done after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PickerAction {
    /// Nothing but drawing.
    Nothing,
    /// Search for the query in what was said, and call [`PickerState::found`].
    Search(String),
    /// Read this conversation.
    Read(String),
    /// Go on with this conversation in its agent.
    Resume(String),
    /// Open the terminal interface.
    Whole,
    /// Copy this name.
    Copy(String),
    /// End.
    End,
}

/// Lines of a page.
const PAGE: usize = 10;

/// Longest query, in characters.
const QUERY_CHARS: usize = 200;

/// What letters do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PickerMode {
    /// They are typed into the query.
    #[default]
    Search,
    /// They are commands: the person has begun to choose.
    Choose,
}

/// The state of the picker.
#[derive(Clone, Debug, Default)]
pub(crate) struct PickerState {
    /// The newest first.
    rows: Vec<PickerRow>,
    /// Indices of the shown rows: those whose title, project or name has all words, then those in which the words were said.
    shown: Vec<usize>,
    query: String,
    filter: PickerFilter,
    mode: PickerMode,
    /// Index in `shown`.
    chosen: usize,
    /// The preview and the key of its conversation.
    preview: Option<(String, Vec<String>)>,
    /// A remark, until the next key.
    remark: String,
    /// Whether the answer is still to come in which conversations the query was said.
    is_searching: bool,
}

impl PickerState {
    /// * `rows` - the newest first.
    pub(crate) fn new(rows: Vec<PickerRow>) -> Self {
        let shown = (0..rows.len()).collect();
        Self { rows, shown, ..Self::default() }
    }

    /// The query.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    /// What letters do.
    pub(crate) const fn mode(&self) -> PickerMode {
        self.mode
    }

    /// Every conversation, the newest first.
    pub(crate) fn rows(&self) -> &[PickerRow] {
        &self.rows
    }

    /// Which conversations are in the list.
    pub(crate) const fn filter(&self) -> &PickerFilter {
        &self.filter
    }

    /// Shows only some conversations. The choice stays where it can.
    pub(crate) fn filter_by(&mut self, filter: PickerFilter) {
        let chosen = self.choice().map(|row| row.key.clone());
        self.filter = filter;
        self.list();
        if let Some(key) = chosen {
            self.choose(&key);
        }
    }

    /// Chooses a conversation, if it is shown.
    pub(crate) fn choose(&mut self, key: &str) {
        let place = self.shown().position(|row| row.key == key);
        self.chosen = place.unwrap_or(self.chosen);
    }

    /// Chooses the conversation at a place among the shown ones.
    pub(crate) fn choose_at(&mut self, at: usize) {
        self.chosen = at.min(self.shown.len().saturating_sub(1));
    }

    /// Takes other conversations in place of these, the newest first.
    pub(crate) fn renew(&mut self, rows: Vec<PickerRow>) {
        let chosen = self.choice().map(|row| row.key.clone());
        self.rows = rows;
        self.list();
        if let Some(key) = chosen {
            self.choose(&key);
        }
    }

    /// Shows what another query finds by title, project or name. Returns whether it has a word.
    pub(crate) fn search_for(&mut self, query: &str) -> bool {
        self.search(query.to_owned()) != PickerAction::Nothing
    }

    /// The remark of the last key.
    pub(crate) fn remark(&self) -> &str {
        &self.remark
    }

    /// Whether the answer is still to come in which conversations the query was said.
    pub(crate) const fn is_searching(&self) -> bool {
        self.is_searching
    }

    /// Number of all conversations.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// The shown conversations.
    pub(crate) fn shown(&self) -> impl ExactSizeIterator<Item = &PickerRow> {
        // Indices are of rows, which never change.
        self.shown.iter().filter_map(|at| self.rows.get(*at)).collect::<Vec<_>>().into_iter()
    }

    /// Place of the chosen conversation among the shown ones.
    pub(crate) const fn chosen(&self) -> usize {
        self.chosen
    }

    /// The chosen conversation; `None` if none is shown.
    pub(crate) fn choice(&self) -> Option<&PickerRow> {
        self.shown.get(self.chosen).and_then(|at| self.rows.get(*at))
    }

    /// Key of the chosen conversation if its preview is not there yet.
    pub(crate) fn wanted_preview(&self) -> Option<&str> {
        let choice = self.choice()?;
        let is_there = self.preview.as_ref().is_some_and(|(key, _)| *key == choice.key);
        (!is_there).then_some(choice.key.as_str())
    }

    /// The preview of the chosen conversation.
    pub(crate) fn preview(&self) -> &[String] {
        let choice = self.choice();
        self.preview
            .as_ref()
            .filter(|(key, _)| choice.is_some_and(|one| one.key == *key))
            .map_or(&[], |(_, lines)| lines)
    }

    /// Takes the preview of a conversation.
    pub(crate) fn show_preview(&mut self, key: String, lines: Vec<String>) {
        self.preview = Some((key, lines));
    }

    /// Takes a remark for the person.
    pub(crate) fn remark_on(&mut self, remark: String) {
        self.remark = remark;
    }

    /// Takes the conversations in which the words of a query were said, best first. An answer to an older query changes nothing.
    pub(crate) fn found(&mut self, query: &str, keys: &[String]) {
        if query != self.query {
            return;
        }
        self.is_searching = false;
        let chosen = self.choice().map(|row| row.key.clone());
        for key in keys {
            if let Some(at) = self.rows.iter().position(|row| row.key == *key && self.filter.takes(row))
                && !self.shown.contains(&at)
            {
                self.shown.push(at);
            }
        }
        let place = chosen.and_then(|key| self.shown().position(|row| row.key == key));
        self.chosen = place.unwrap_or(0);
    }

    /// Does what a key says.
    pub(crate) fn update(&mut self, key: ScreenKey) -> PickerAction {
        self.remark.clear();
        let on_choice = |make: fn(String) -> PickerAction| {
            self.choice().map_or(PickerAction::Nothing, |row| make(row.key.clone()))
        };
        let key = match (key, self.mode) {
            (ScreenKey::Char('j'), PickerMode::Choose) => ScreenKey::Down,
            (ScreenKey::Char('k'), PickerMode::Choose) => ScreenKey::Up,
            (key, _) => key,
        };
        match (key, self.mode) {
            (ScreenKey::Ctrl('c' | 'd'), _) | (ScreenKey::Char('q'), PickerMode::Choose) => PickerAction::End,
            (ScreenKey::Enter, _) => on_choice(PickerAction::Read),
            (ScreenKey::Ctrl('r'), _) | (ScreenKey::Char('r'), PickerMode::Choose) => {
                on_choice(PickerAction::Resume)
            }
            (ScreenKey::Ctrl('y'), _) | (ScreenKey::Char('y'), PickerMode::Choose) => {
                self.choice().map_or(PickerAction::Nothing, |row| PickerAction::Copy(row.name.clone()))
            }
            (ScreenKey::Esc, _) if self.query.is_empty() => PickerAction::End,
            (ScreenKey::Esc | ScreenKey::Ctrl('u'), _) => self.search(String::new()),
            (ScreenKey::Backspace, _) => {
                let mut query = self.query.clone();
                query.pop();
                self.search(query)
            }
            (ScreenKey::Char('/'), PickerMode::Choose) => {
                self.mode = PickerMode::Search;
                PickerAction::Nothing
            }
            (ScreenKey::Char(one), _) => {
                let query: String = self.query.chars().chain([one]).take(QUERY_CHARS).collect();
                self.search(query)
            }
            (ScreenKey::Up | ScreenKey::Ctrl('p'), _) => self.go(-1),
            (ScreenKey::Down | ScreenKey::Ctrl('n'), _) => self.go(1),
            (ScreenKey::PageUp, _) => self.go(-(PAGE as isize)),
            (ScreenKey::PageDown, _) => self.go(PAGE as isize),
            (ScreenKey::Home, _) => self.go(isize::MIN),
            (ScreenKey::End, _) => self.go(isize::MAX),
            (ScreenKey::Tab, _) => PickerAction::Whole,
            (ScreenKey::Ctrl(_) | ScreenKey::BackTab | ScreenKey::Left | ScreenKey::Right, _) => {
                PickerAction::Nothing
            }
        }
    }

    /// Moves the choice.
    fn go(&mut self, by: isize) -> PickerAction {
        self.mode = PickerMode::Choose;
        let last = self.shown.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
        PickerAction::Nothing
    }

    /// Shows what another query finds.
    fn search(&mut self, query: String) -> PickerAction {
        self.mode = PickerMode::Search;
        if query == self.query {
            return PickerAction::Nothing;
        }
        self.query = query;
        self.list();
        self.is_searching = !self.query.trim().is_empty();
        if self.is_searching { PickerAction::Search(self.query.clone()) } else { PickerAction::Nothing }
    }

    /// Shows the rows that have all words of the query and that the filter takes; the first one is chosen.
    fn list(&mut self) {
        let lower = self.query.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let fits =
            |row: &PickerRow| self.filter.takes(row) && words.iter().all(|word| row.words.contains(word));
        self.shown = self.rows.iter().enumerate().filter(|(_, row)| fits(row)).map(|(at, _)| at).collect();
        self.chosen = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<PickerRow> {
        let row = |name: &str, title: &str| PickerRow {
            key: format!("pi:{name}"),
            name: name.to_owned(),
            title: title.to_owned(),
            words: format!("{name} {}", title.to_lowercase()),
            ..PickerRow::default()
        };
        vec![row("aa", "Mend the parser"), row("bb", "Herons nest"), row("cc", "Retry the parser")]
    }

    fn names(state: &PickerState) -> Vec<&str> {
        state.shown().map(|row| row.name.as_str()).collect()
    }

    fn typed(state: &mut PickerState, text: &str) -> PickerAction {
        text.chars().map(|one| state.update(ScreenKey::Char(one))).last().unwrap_or(PickerAction::Nothing)
    }

    #[test]
    fn letters_search_until_a_person_begins_to_choose() {
        let mut state = PickerState::new(rows());
        assert_eq!(
            typed(&mut state, "retry"),
            PickerAction::Search("retry".into()),
            "r is a letter of a word"
        );
        assert_eq!(names(&state), ["cc"]);
        state.update(ScreenKey::Esc);
        assert_eq!(names(&state), ["aa", "bb", "cc"]);
        state.update(ScreenKey::Down);
        assert_eq!(state.update(ScreenKey::Char('r')), PickerAction::Resume("pi:bb".into()));
        assert_eq!(state.update(ScreenKey::Char('y')), PickerAction::Copy("bb".into()));
        assert_eq!(state.update(ScreenKey::Enter), PickerAction::Read("pi:bb".into()));
        assert_eq!(
            state.update(ScreenKey::Char('h')),
            PickerAction::Search("h".into()),
            "any other letter searches"
        );
        assert_eq!(typed(&mut state, "q"), PickerAction::Search("hq".into()));
        assert_eq!(state.update(ScreenKey::Ctrl('u')), PickerAction::Nothing);
        state.update(ScreenKey::End);
        assert_eq!(state.update(ScreenKey::Char('q')), PickerAction::End);
    }

    #[test]
    fn what_was_said_stands_behind_what_is_called_so() {
        let mut state = PickerState::new(rows());
        typed(&mut state, "parser");
        state.found("parser", &["pi:bb".into(), "pi:aa".into(), "pi:unknown".into()]);
        assert_eq!(names(&state), ["aa", "cc", "bb"], "each once");
        state.found("pars", &[]);
        assert!(!state.is_searching());
        typed(&mut state, "x");
        state.found("parser", &["pi:aa".into()]);
        assert!(names(&state).is_empty() && state.is_searching(), "an answer that comes late");
        assert_eq!(state.update(ScreenKey::Enter), PickerAction::Nothing);
        assert_eq!(state.wanted_preview(), None);
    }

    #[test]
    fn the_choice_stays_in_the_list_and_its_preview_is_asked_for_once() {
        let mut state = PickerState::new(rows());
        for (key, want) in [
            (ScreenKey::Up, 0),
            (ScreenKey::PageDown, 2),
            (ScreenKey::Down, 2),
            (ScreenKey::Home, 0),
            (ScreenKey::End, 2),
        ] {
            state.update(key);
            assert_eq!(state.chosen(), want, "{key:?}");
        }
        assert_eq!(state.wanted_preview(), Some("pi:cc"));
        state.show_preview("pi:cc".into(), vec!["you".into()]);
        assert_eq!((state.wanted_preview(), state.preview().len()), (None, 1));
        state.update(ScreenKey::Home);
        assert!(state.preview().is_empty(), "of another one");
        assert_eq!(PickerState::new(Vec::new()).update(ScreenKey::Down), PickerAction::Nothing);
    }
}
