//! Every command of the terminal interface, with its keys.

use crate::output::ScreenKey;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TuiCommand {
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    NextPane,
    PaneBefore,
    Open,
    Back,
    Search,
    NextHost,
    NextProject,
    NextTime,
    NextLabel,
    EveryConversation,
    Context,
    BreakBefore,
    NextBreak,
    Prompt,
    Diff,
    Left,
    Window,
    Ledger,
    Pins,
    Calls,
    Star,
    Rename,
    Tags,
    Copy,
    CopyName,
    Edit,
    Resume,
    Reload,
    Theme,
    Palette,
    Help,
    Quit,
}

/// A command with its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRow {
    /// The command.
    pub(crate) command: TuiCommand,
    /// The keys as people write them, parted by spaces.
    pub(crate) keys: &'static str,
    /// Its name in the palette.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) what: &'static str,
}

const fn row(command: TuiCommand, keys: &'static str, name: &'static str, what: &'static str) -> KeyRow {
    KeyRow { command, keys, name, what }
}

/// Every command, in the order of the help.
pub(crate) const KEYS: &[KeyRow] = &[
    row(TuiCommand::Down, "j ↓", "down", "one line down"),
    row(TuiCommand::Up, "k ↑", "up", "one line up"),
    row(TuiCommand::PageDown, "PgDn ^F", "page down", "one page down"),
    row(TuiCommand::PageUp, "PgUp ^B", "page up", "one page up"),
    row(TuiCommand::First, "g Home", "first", "to the first line"),
    row(TuiCommand::Last, "G End", "last", "to the last line"),
    row(TuiCommand::NextPane, "Tab l →", "next pane", "to the next pane"),
    row(TuiCommand::PaneBefore, "S-Tab h ←", "pane before", "to the pane before"),
    row(TuiCommand::Open, "Enter", "open", "open what is chosen: a conversation, a hit, the entry of a row"),
    row(TuiCommand::Back, "Esc", "back", "close what is open, end a search, back to the entries"),
    row(TuiCommand::Search, "/", "search", "search everything as you type; Enter jumps to the entry"),
    row(TuiCommand::NextHost, "1", "filter host", "only conversations of one host; again for the next one"),
    row(
        TuiCommand::NextProject,
        "2",
        "filter project",
        "only conversations of one project; again for the next one",
    ),
    row(TuiCommand::NextTime, "3", "filter time", "only those active in the last day, week or month"),
    row(TuiCommand::NextLabel, "4", "filter label", "only starred ones; again for each tag"),
    row(TuiCommand::EveryConversation, "0", "no filter", "show every conversation again"),
    row(TuiCommand::Context, "c", "context", "the calls of the conversation, and what each prompt held"),
    row(TuiCommand::BreakBefore, "[", "break before", "in the context: the break before"),
    row(TuiCommand::NextBreak, "]", "next break", "in the context: the next break"),
    row(TuiCommand::Prompt, "p", "prompt", "in the context: the exact prompt of the call"),
    row(TuiCommand::Diff, "d", "diff", "in the context: this prompt against the one before"),
    row(TuiCommand::Left, "x", "left", "in the context: what left the prompt at this call"),
    row(TuiCommand::Window, "w", "window", "in the context: play the calls for another window"),
    row(
        TuiCommand::Ledger,
        "f",
        "ledger",
        "files, commands, failures, commits and tasks of the conversation",
    ),
    row(TuiCommand::Pins, "P", "pins", "pins of the conversation, and proposals"),
    row(TuiCommand::Calls, "a", "calls", "the newest prompts that were sent, of all conversations"),
    row(TuiCommand::Star, "s", "star", "give the conversation a star, or take it away"),
    row(TuiCommand::Rename, "n", "rename", "give the conversation a title of your own; empty takes it away"),
    row(TuiCommand::Tags, "#", "tags", "write the tags of the conversation, parted by spaces"),
    row(TuiCommand::Copy, "y", "copy", "copy what is shown at the right (OSC 52)"),
    row(TuiCommand::CopyName, "Y", "copy name", "copy the name of the entry or the conversation"),
    row(TuiCommand::Edit, "e", "edit", "open what is shown at the right in your editor"),
    row(TuiCommand::Resume, "r", "resume", "leave, and go on with the conversation in its agent"),
    row(TuiCommand::Reload, "^R", "reload", "read the store again"),
    row(TuiCommand::Theme, "t", "theme", "the next theme: dark, light, high contrast, plain"),
    row(
        TuiCommand::Palette,
        ":",
        "palette",
        "choose a command by its name; a number goes to that call or entry",
    ),
    row(TuiCommand::Help, "?", "help", "show or hide the keys"),
    row(TuiCommand::Quit, "q ^C", "quit", "end; the state is kept"),
];

/// The command of a key; `None` if it has none.
pub(crate) fn command_of(key: ScreenKey) -> Option<TuiCommand> {
    let name = name_of(key);
    let has = |row: &&KeyRow| row.keys.split(' ').any(|one| one == name);
    KEYS.iter().find(has).map(|row| row.command)
}

/// A key as people write it.
pub(crate) fn name_of(key: ScreenKey) -> String {
    let name = match key {
        ScreenKey::Char(one) => return one.to_string(),
        ScreenKey::Ctrl(one) => return format!("^{}", one.to_ascii_uppercase()),
        ScreenKey::Backspace => "Backspace",
        ScreenKey::Enter => "Enter",
        ScreenKey::Esc => "Esc",
        ScreenKey::Tab => "Tab",
        ScreenKey::BackTab => "S-Tab",
        ScreenKey::Up => "↑",
        ScreenKey::Down => "↓",
        ScreenKey::Left => "←",
        ScreenKey::Right => "→",
        ScreenKey::PageUp => "PgUp",
        ScreenKey::PageDown => "PgDn",
        ScreenKey::Home => "Home",
        ScreenKey::End => "End",
    };
    name.to_owned()
}

/// The commands whose names or words have all words of a query, in their order.
pub(crate) fn commands_for(query: &str) -> Vec<&'static KeyRow> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let has = |row: &&KeyRow| words.iter().all(|word| row.name.contains(word) || row.what.contains(word));
    let (mut named, rest): (Vec<_>, Vec<_>) =
        KEYS.iter().filter(has).partition(|row| words.iter().all(|word| row.name.contains(word)));
    named.extend(rest);
    named
}
