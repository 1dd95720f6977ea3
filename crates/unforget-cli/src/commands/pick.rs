//! Bare `unforget` on a terminal: the picker.

use unforget_core::id::{ConversationKey, Thread};
use unforget_engine::Engine;
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::{SearchQuery, TurnRange};

use crate::app::App;
use crate::args::{ResumeArgs, ShowArgs, TuiArgs};
use crate::failure::{Exit, Outcome};
use crate::output::{Palette, Screen};
use crate::picker::{PickerAction, PickerState, preview_columns, view};
use crate::reading::shown::{self, ShownStyle};
use crate::reading::{ReadOptions, ReadTurn, ToolsShown, TurnReader};
use crate::text;
use crate::tui::picker_rows;
use crate::when::Clock;

/// Most conversations that a search in what was said adds.
const FOUND_MAX: usize = 50;

/// Turns and lines of a preview.
const TURNS: u64 = 2;
const LINES: usize = 60;

/// Lets a person choose conversations, and does what they choose.
pub(crate) fn run(app: &mut App) -> Outcome {
    let engine = app.read()?;
    let mut state = PickerState::new(picker_rows(&engine)?);
    loop {
        match choose(&engine, &mut state, preview_columns(app.out.width()))? {
            PickerAction::Read(key) => {
                let read = ShowArgs {
                    conversation: key,
                    last: None,
                    from: None,
                    tools: ToolsShown::Line,
                    all: false,
                    format: None,
                    no_pager: true,
                };
                app.out.page_until_left()?;
                let shown = super::show::run(app, &read);
                // A person may leave the pager before the end, which closes its pipe.
                for done in [shown.map(drop), app.out.finish()] {
                    done.or_else(|failure| if failure.is_closed_pipe() { Ok(()) } else { Err(failure) })?;
                }
            }
            PickerAction::Whole => {
                let conversation = state.choice().map(|row| row.key.clone());
                return super::tui::run(app, &TuiArgs { conversation, ..TuiArgs::default() });
            }
            PickerAction::Resume(key) => {
                return super::resume::run(app, &ResumeArgs { conversation: Some(key), print: false });
            }
            _ => return Ok(Exit::Done),
        }
    }
}

/// Shows the picker until something is chosen.
fn choose(engine: &Engine, state: &mut PickerState, columns: usize) -> Outcome<PickerAction> {
    let mut screen = Screen::open()?;
    loop {
        if let Some(key) = state.wanted_preview().map(str::to_owned) {
            let lines = preview(engine, &key, columns)?;
            state.show_preview(key, lines);
        }
        screen.draw(|frame| view(state, frame))?;
        let Some(key) = Screen::key()? else { continue };
        match state.update(key) {
            PickerAction::Nothing => {}
            PickerAction::Search(query) => {
                let found = said(engine, &query);
                state.found(&query, &found);
            }
            PickerAction::Copy(name) => {
                screen.copy(&name)?;
                state.remark_on(format!("{name} is copied, if this terminal allows it"));
            }
            done => return Ok(done),
        }
    }
}

/// The conversations in which the words were said, best first. None for a query without a word.
fn said(engine: &Engine, query: &str) -> Vec<String> {
    let wanted = SearchQuery { text: query.to_owned(), limit: Some(FOUND_MAX), ..SearchQuery::default() };
    let answer = engine.search(&wanted).unwrap_or_default();
    answer.results.into_iter().map(|hit| hit.conversation.0).collect()
}

/// The last turns of a conversation.
fn preview(engine: &Engine, key: &str, columns: usize) -> Outcome<Vec<String>> {
    let Some(stored) = engine.store().find(&ConversationKey(key.to_owned()))? else { return Ok(Vec::new()) };
    let of = ThreadRef { conversation: stored.id, thread: Thread(0) };
    let clock = Clock::here();
    let style = ShownStyle {
        palette: Palette::default(),
        columns,
        tools: ToolsShown::Line,
        clock: &clock,
        folder: None,
    };
    let mut lines = Vec::new();
    let mut each = |turn: ReadTurn| lines.extend(shown::turn(&turn, style).lines().map(text::harmless));
    let mut reader = TurnReader::new(ReadOptions { tools: true, all: false }, &mut each);
    engine.read_turns(of, TurnRange::Last(TURNS), &mut |read| reader.take(&read))?;
    reader.finish();
    lines.truncate(LINES);
    Ok(lines)
}
