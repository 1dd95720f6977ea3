//! The state of the terminal interface: plain values.

use ratatui::layout::Rect;
use unforget_engine::LabelChange;

use super::rows::{CallPanel, RowTarget, TuiLine, TuiRow};
use super::theme::ThemeName;
use crate::output::{MouseDeed, ScreenKey};
use crate::picker::{PickerFilter, PickerRow, PickerState};

/// A pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TuiPane {
    /// The conversations.
    #[default]
    List,
    /// What is in the open one.
    Middle,
    /// One thing in full.
    Detail,
}

/// What the list in the middle shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MiddleKind {
    /// Entries of the conversation.
    #[default]
    Entries,
    /// What a search found.
    Hits,
    /// Calls of the conversation.
    Context,
    /// Work with tools.
    Ledger,
    /// Pins and proposals.
    Pins,
    /// Prompts that were sent, of all conversations.
    Calls,
}

impl MiddleKind {
    /// The heading.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Hits => "hits",
            Self::Context => "context",
            Self::Ledger => "ledger",
            Self::Pins => "pins",
            Self::Calls => "calls",
        }
    }
}

/// A page of rows to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageWanted {
    /// The newest ones.
    Newest,
    /// Those before an entry.
    Before(u64),
    /// Those from an entry on.
    From(u64),
    /// Those around an entry.
    Around(u64),
}

/// What of a call is shown at the right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallFace {
    /// Its use of the window and the cover map.
    #[default]
    Gauge,
    /// The exact request.
    Prompt,
    /// What changed since the call before.
    Diff,
    /// What left the prompt at it.
    Left,
}

/// The list in the middle.
#[derive(Clone, Debug, Default)]
pub(crate) struct MiddleList {
    /// What it shows.
    pub(crate) kind: MiddleKind,
    /// Its rows.
    pub(crate) rows: Vec<TuiRow>,
    /// The chosen one.
    pub(crate) chosen: usize,
    /// The first one that is seen.
    pub(crate) top: usize,
    /// Whether there are entries before the first row.
    pub(crate) has_older: bool,
    /// Whether there are entries behind the last row.
    pub(crate) has_newer: bool,
    /// What stands in the heading beside the name.
    pub(crate) about: String,
    /// Whether rows are on their way.
    pub(crate) is_waiting: bool,
    /// The page that failed: it is asked for again when a person moves.
    pub(crate) failed: Option<PageWanted>,
    /// Why the newest question failed; empty if it did not.
    pub(crate) failure: String,
}

impl MiddleList {
    /// The chosen row.
    pub(crate) fn choice(&self) -> Option<&TuiRow> {
        self.rows.get(self.chosen)
    }
}

/// What is shown at the right.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetailText {
    /// The heading.
    pub(crate) title: String,
    /// The lines as they came.
    pub(crate) lines: Vec<TuiLine>,
    /// The lines, broken to the width of the pane.
    pub(crate) broken: Vec<TuiLine>,
    /// The width that they are broken to.
    pub(crate) columns: usize,
    /// The first broken line that is seen.
    pub(crate) top: usize,
    /// The use of a window, above the lines.
    pub(crate) panel: Option<CallPanel>,
    /// The row whose text this is: an answer for another row is stale.
    pub(crate) of: RowTarget,
}

/// The part of a label that is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelPart {
    /// The title.
    Title,
    /// All tags.
    Tags,
}

impl LabelPart {
    /// The heading of its field.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Title => "title of your own · Enter keeps · empty takes it away",
            Self::Tags => "tags, parted by spaces · Enter keeps",
        }
    }
}

/// What lies over the panes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TuiOverlay {
    /// Nothing.
    #[default]
    None,
    /// The keys; the first line that is seen.
    Help(usize),
    /// The palette: what was typed, and the chosen command.
    Palette(String, usize),
    /// What a person writes about the open conversation.
    Label(LabelPart, String),
}

/// How the interface ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TuiEnd {
    /// The person is done.
    Quit,
    /// Go on with this conversation in its agent.
    Resume(String),
    /// Show this text in the editor, and come back.
    Edit(String),
}

/// What has to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TuiAsk {
    /// Read the conversations again.
    Conversations,
    /// Read rows of a conversation.
    Page {
        /// Of which question it is the answer.
        generation: u64,
        /// Its key.
        key: String,
        /// Which rows.
        wanted: PageWanted,
    },
    /// Read an entry in full.
    Entry {
        /// Key of the conversation.
        key: String,
        /// The entry.
        seq: u64,
    },
    /// Search.
    Search {
        /// Of which question it is the answer.
        generation: u64,
        /// The words.
        text: String,
        /// The conversations.
        filter: PickerFilter,
    },
    /// Read or play the calls of a conversation.
    Series {
        /// Of which question it is the answer.
        generation: u64,
        /// Its key.
        key: String,
        /// The window to play for; `None` takes the calls that were sent where there are any.
        window: Option<u64>,
    },
    /// Compose a call again.
    Call {
        /// Key of the conversation.
        key: String,
        /// Index of the call.
        at: usize,
        /// What of it.
        face: CallFace,
    },
    /// Read another list.
    Table {
        /// Of which question it is the answer.
        generation: u64,
        /// The list.
        kind: MiddleKind,
        /// Key of the conversation.
        key: String,
    },
    /// Change what a person says of a conversation.
    Label {
        /// Its key.
        key: String,
        /// The change.
        change: LabelChange,
    },
    /// Copy a text.
    Copy(String),
    /// End.
    End(TuiEnd),
}

/// What comes in.
#[derive(Clone, Debug)]
pub(crate) enum TuiMessage {
    /// A key.
    Key(ScreenKey),
    /// A mouse, at a column and a line.
    Mouse(MouseDeed, u16, u16),
    /// The screen is here now.
    Area(Rect),
    /// Somebody wrote to the store.
    Changed,
    /// An answer.
    Told(TuiTold),
}

/// An answer to what was asked for.
#[derive(Clone, Debug)]
pub(crate) enum TuiTold {
    /// The conversations, the newest first.
    Conversations(Vec<PickerRow>),
    /// Rows of a conversation.
    Page {
        /// The question.
        generation: u64,
        /// Which rows were wanted.
        wanted: PageWanted,
        /// The rows, in order.
        rows: Vec<TuiRow>,
        /// Whether there are some before them, and behind them.
        more: (bool, bool),
        /// Number of all entries.
        total: u64,
    },
    /// What was asked for is this text.
    Text {
        /// What it is of.
        of: RowTarget,
        /// What of a call.
        face: CallFace,
        /// The heading.
        title: String,
        /// The lines.
        lines: Vec<TuiLine>,
        /// The use of a window.
        panel: Option<CallPanel>,
    },
    /// What a search found.
    Found {
        /// The question.
        generation: u64,
        /// The hits, best first.
        rows: Vec<TuiRow>,
        /// Keys of their conversations.
        keys: Vec<String>,
        /// How much was searched.
        about: String,
    },
    /// A list.
    Table {
        /// The question.
        generation: u64,
        /// Its rows.
        rows: Vec<TuiRow>,
        /// What stands beside its name.
        about: String,
    },
    /// A label was changed; the list comes by itself.
    Labelled(String),
    /// How far an answer is.
    Progress {
        /// The question.
        generation: u64,
        /// In words.
        about: String,
    },
    /// A question failed.
    Failed {
        /// The question.
        of: TuiAsk,
        /// Why, on one line.
        what: String,
    },
}

/// Windows for which calls are played.
pub(crate) const WINDOWS: [u64; 5] = [32_000, 64_000, 128_000, 200_000, 1_000_000];

/// The state.
#[derive(Clone, Debug, Default)]
pub(crate) struct TuiState {
    /// The screen.
    pub(crate) area: Rect,
    /// The conversations: the list of the picker.
    pub(crate) list: PickerState,
    /// Whether somebody wrote while a query kept the list as it was.
    pub(crate) is_list_stale: bool,
    /// The pane that has the keys.
    pub(crate) pane: TuiPane,
    /// Key of the open conversation.
    pub(crate) open: String,
    /// The list in the middle.
    pub(crate) middle: MiddleList,
    /// The entries, while the list shows something else.
    pub(crate) entries: MiddleList,
    /// What is shown at the right.
    pub(crate) detail: DetailText,
    /// What of a call is shown.
    pub(crate) face: CallFace,
    /// The window that calls are played for, if the person chose one.
    pub(crate) window: Option<u64>,
    /// What lies over the panes.
    pub(crate) overlay: TuiOverlay,
    /// Whether letters are typed into the query.
    pub(crate) is_typing: bool,
    /// The query.
    pub(crate) query: String,
    /// Number of the newest question; an answer to an older one is dropped.
    pub(crate) generation: u64,
    /// The entry at which the next page opens.
    pub(crate) jump: Option<u64>,
    /// The colours.
    pub(crate) theme: ThemeName,
    /// A remark, until the next key.
    pub(crate) remark: String,
    /// The present, in milliseconds since 1970: filters by time count from here.
    pub(crate) now_ms: i64,
    /// Span of the filter by time.
    pub(crate) span: TimeSpan,
}

/// A span before the present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimeSpan {
    /// All time.
    #[default]
    Always,
    /// A day.
    Day,
    /// Seven days.
    Week,
    /// Thirty days.
    Month,
}

impl TimeSpan {
    /// The next one.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Always => Self::Day,
            Self::Day => Self::Week,
            Self::Week => Self::Month,
            Self::Month => Self::Always,
        }
    }

    /// Its days; `None` for all time.
    pub(crate) const fn days(self) -> Option<i64> {
        match self {
            Self::Always => None,
            Self::Day => Some(1),
            Self::Week => Some(7),
            Self::Month => Some(30),
        }
    }

    /// The span of some days.
    pub(crate) fn of_days(days: i64) -> Self {
        [Self::Day, Self::Week, Self::Month]
            .into_iter()
            .find(|span| span.days() == Some(days))
            .unwrap_or_default()
    }
}
