//! What a key does.

/// A conversation in the list. Its texts are harmless and on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PickerRow {
    /// Its key.
    pub(crate) key: String,
    /// Its short name.
    pub(crate) name: String,
    /// Its title.
    pub(crate) title: String,
    /// Its project.
    pub(crate) project: String,
    /// Its host.
    pub(crate) host: String,
    /// When it was last active.
    pub(crate) when: String,
    /// What of it is compared with the words of a query, in lower case.
    pub(crate) words: String,
}

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickerKey {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Deletes the last character.
    Backspace,
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
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
    mode: PickerMode,
    /// Index in `shown`.
    chosen: usize,
    /// The preview and the key of its conversation.
    preview: Option<(String, Vec<String>)>,
    /// A remark, until the next key.
    remark: String,
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

    /// The remark of the last key.
    pub(crate) fn remark(&self) -> &str {
        &self.remark
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
        let chosen = self.choice().map(|row| row.key.clone());
        for key in keys {
            if let Some(at) = self.rows.iter().position(|row| row.key == *key)
                && !self.shown.contains(&at)
            {
                self.shown.push(at);
            }
        }
        let place = chosen.and_then(|key| self.shown().position(|row| row.key == key));
        self.chosen = place.unwrap_or(0);
    }

    /// Does what a key says.
    pub(crate) fn update(&mut self, key: PickerKey) -> PickerAction {
        self.remark.clear();
        let on_choice = |make: fn(String) -> PickerAction| {
            self.choice().map_or(PickerAction::Nothing, |row| make(row.key.clone()))
        };
        let key = match (key, self.mode) {
            (PickerKey::Char('j'), PickerMode::Choose) => PickerKey::Down,
            (PickerKey::Char('k'), PickerMode::Choose) => PickerKey::Up,
            (key, _) => key,
        };
        match (key, self.mode) {
            (PickerKey::Ctrl('c' | 'd'), _) | (PickerKey::Char('q'), PickerMode::Choose) => PickerAction::End,
            (PickerKey::Enter, _) => on_choice(PickerAction::Read),
            (PickerKey::Ctrl('r'), _) | (PickerKey::Char('r'), PickerMode::Choose) => {
                on_choice(PickerAction::Resume)
            }
            (PickerKey::Ctrl('y'), _) | (PickerKey::Char('y'), PickerMode::Choose) => {
                self.choice().map_or(PickerAction::Nothing, |row| PickerAction::Copy(row.name.clone()))
            }
            (PickerKey::Esc, _) if self.query.is_empty() => PickerAction::End,
            (PickerKey::Esc | PickerKey::Ctrl('u'), _) => self.search(String::new()),
            (PickerKey::Backspace, _) => {
                let mut query = self.query.clone();
                query.pop();
                self.search(query)
            }
            (PickerKey::Char('/'), PickerMode::Choose) => {
                self.mode = PickerMode::Search;
                PickerAction::Nothing
            }
            (PickerKey::Char(one), _) => {
                let query: String = self.query.chars().chain([one]).take(QUERY_CHARS).collect();
                self.search(query)
            }
            (PickerKey::Up | PickerKey::Ctrl('p'), _) => self.go(-1),
            (PickerKey::Down | PickerKey::Ctrl('n'), _) => self.go(1),
            (PickerKey::PageUp, _) => self.go(-(PAGE as isize)),
            (PickerKey::PageDown, _) => self.go(PAGE as isize),
            (PickerKey::Home, _) => self.go(isize::MIN),
            (PickerKey::End, _) => self.go(isize::MAX),
            (PickerKey::Ctrl(_), _) => PickerAction::Nothing,
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
        let lower = query.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let fits = |row: &PickerRow| words.iter().all(|word| row.words.contains(word));
        self.shown = self.rows.iter().enumerate().filter(|(_, row)| fits(row)).map(|(at, _)| at).collect();
        self.chosen = 0;
        self.query = query;
        if words.is_empty() { PickerAction::Nothing } else { PickerAction::Search(self.query.clone()) }
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
        text.chars().map(|one| state.update(PickerKey::Char(one))).last().unwrap_or(PickerAction::Nothing)
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
        state.update(PickerKey::Esc);
        assert_eq!(names(&state), ["aa", "bb", "cc"]);
        state.update(PickerKey::Down);
        assert_eq!(state.update(PickerKey::Char('r')), PickerAction::Resume("pi:bb".into()));
        assert_eq!(state.update(PickerKey::Char('y')), PickerAction::Copy("bb".into()));
        assert_eq!(state.update(PickerKey::Enter), PickerAction::Read("pi:bb".into()));
        assert_eq!(
            state.update(PickerKey::Char('h')),
            PickerAction::Search("h".into()),
            "any other letter searches"
        );
        assert_eq!(typed(&mut state, "q"), PickerAction::Search("hq".into()));
        assert_eq!(state.update(PickerKey::Ctrl('u')), PickerAction::Nothing);
        state.update(PickerKey::End);
        assert_eq!(state.update(PickerKey::Char('q')), PickerAction::End);
    }

    #[test]
    fn what_was_said_stands_behind_what_is_called_so() {
        let mut state = PickerState::new(rows());
        typed(&mut state, "parser");
        state.found("parser", &["pi:bb".into(), "pi:aa".into(), "pi:unknown".into()]);
        assert_eq!(names(&state), ["aa", "cc", "bb"], "each once");
        state.found("pars", &[]);
        typed(&mut state, "x");
        state.found("parser", &["pi:aa".into()]);
        assert!(names(&state).is_empty(), "an answer that comes late");
        assert_eq!(state.update(PickerKey::Enter), PickerAction::Nothing);
        assert_eq!(state.wanted_preview(), None);
    }

    #[test]
    fn the_choice_stays_in_the_list_and_its_preview_is_asked_for_once() {
        let mut state = PickerState::new(rows());
        for (key, want) in [
            (PickerKey::Up, 0),
            (PickerKey::PageDown, 2),
            (PickerKey::Down, 2),
            (PickerKey::Home, 0),
            (PickerKey::End, 2),
        ] {
            state.update(key);
            assert_eq!(state.chosen(), want, "{key:?}");
        }
        assert_eq!(state.wanted_preview(), Some("pi:cc"));
        state.show_preview("pi:cc".into(), vec!["you".into()]);
        assert_eq!((state.wanted_preview(), state.preview().len()), (None, 1));
        state.update(PickerKey::Home);
        assert!(state.preview().is_empty(), "of another one");
        assert_eq!(PickerState::new(Vec::new()).update(PickerKey::Down), PickerAction::Nothing);
    }
}
