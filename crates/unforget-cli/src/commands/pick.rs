//! Bare `unforget` on a terminal: the picker.

use unforget_core::id::{ConversationKey, Thread};
use unforget_engine::prompt::ThreadRef;
use unforget_engine::recall::{SearchQuery, TurnRange};
use unforget_engine::{Engine, EngineError};

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

/// Longest remark on a search.
const REMARK_CHARS: usize = 160;

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
                // The search may take long: a person sees what is known until then.
                screen.draw(|frame| view(state, frame))?;
                let SaidIn { keys, remark } = said(engine, &query);
                state.found(&query, &keys);
                if let Some(remark) = remark {
                    state.remark_on(remark);
                }
            }
            PickerAction::Copy(name) => {
                screen.copy(&name)?;
                state.remark_on(format!("{name} is copied, if this terminal allows it"));
            }
            done => return Ok(done),
        }
    }
}

/// The conversations in which the words were said.
#[derive(Default)]
struct SaidIn {
    /// Their keys, best first.
    keys: Vec<String>,
    /// What the search could not do.
    remark: Option<String>,
}

/// The conversations in which the words were said. None for a query without a word.
fn said(engine: &Engine, query: &str) -> SaidIn {
    let wanted = SearchQuery { text: query.to_owned(), limit: Some(FOUND_MAX), ..SearchQuery::default() };
    let remark = |what: &str| Some(text::one_line(&text::harmless(what), REMARK_CHARS));
    match engine.search(&wanted) {
        Ok(answer) => SaidIn {
            keys: answer.results.into_iter().map(|hit| hit.conversation.0).collect(),
            remark: answer.meaning.and_then(|receipt| receipt.words_only()).and_then(|what| remark(&what)),
        },
        Err(EngineError::Usage { .. }) => SaidIn::default(),
        Err(error) => SaidIn { keys: Vec::new(), remark: remark(&error.to_string()) },
    }
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
