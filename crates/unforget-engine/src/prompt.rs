//! The prompt of a thread: compacted when due, assembled, admitted.
//!
//! A [`Session`] holds one thread of a conversation in the shape of one request: dialect, ruler, window. Give it the
//! entries in order and ask for the prompt before every model call. It keeps in memory only the content of the prompt,
//! never the history. Its state is a function of history and shape, so a session opened from the store continues with
//! the same bytes.
//!
//! A session owns five states. Only the methods of a state touch its fields, and only the session's own methods, the order of
//! the steps, see more than two states (`cargo xtask tidy` checks it):
//!
//! | state | holds |
//! |---|---|
//! | `source` | the store, the thread, the shape, the time of writes |
//! | `window` | the entries behind the summaries, in groups, prepared and weighed |
//! | `cover` | the decisions of the last break, and the summaries in the prompt |
//! | `fixed` | instructions, pins, guide, headline, ledger, raised entries, media limit |
//! | `account` | the last prompt, the events since then, counters, the provider's counts |
//!
//! `session` orders the steps. `open`, `update`, `compact` and `rewind` are its longer procedures. `played` makes the prompts of past calls. `compose` makes a request from
//! the states and changes none of them. The rules are in [`unforget_core`]: `compact`, `ladder`, `prefix`, `policy`.

mod access;
mod account;
mod background;
mod blocks;
mod coarse;
mod compact;
mod compose;
mod counts;
mod cover;
mod decisions;
mod fixed;
mod headline;
mod host_words;
mod inherit;
mod layout;
mod ledger_view;
mod newest;
mod open;
mod parts;
mod path_rows;
mod pieces;
mod pins;
mod played;
mod prefetch;
mod provisional;
mod raised;
mod recipe;
mod resumed;
mod rewind;
mod session;
mod shape;
mod shared;
mod shorten;
mod source;
mod stored_context;
mod summaries;
mod system;
mod tally;
mod turns;
mod update;
mod window;

use unforget_core::admit::Admitted;
use unforget_wire::{Target, render};

pub(crate) use counts::StoredCount;
pub(crate) use inherit::Inherited;
pub(crate) use pieces::{pick, without_media};
pub(crate) use recipe::sent_digest;
pub(crate) use shape::ModelForm;
pub(crate) use stored_context::{break_reaches, covered_span};

pub use crate::thread::ThreadRef;
pub use account::Counters;
pub use background::{WholeHistories, WholeNews};
pub use counts::PromptWeight;
pub use open::Until;
pub use parts::{How, Part};
pub use pins::ShortPin;
pub use played::{PlayedCall, PlayedCalls, PlayedFigures, PlayedPrompt};
pub use recipe::{RECIPE_BYTES_MAX, Recipe};
pub use resumed::{SaidThread, ThreadCuts};
pub use session::Session;
pub use shape::Shape;
pub use turns::TurnPlace;
pub use unforget_core::prefix::{Broken, Cause, Region};

/// A prompt, and its relation to the prompt before.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The certified request.
    pub admitted: Admitted,
    /// Expected tokens of the beginning that equals the prompt before: the part that a provider's cache can serve.
    pub reused: u64,
    /// The break of that beginning; `None` if the prompt only grew.
    pub broken: Option<Broken>,
    /// Milliseconds since the call before, by the times of the history; `None` if a time is unknown.
    pub idle_ms: Option<u64>,
    /// Number of breaks since the context was opened.
    pub epoch: u32,
    /// Number of blocks at the beginning of the first message that change only at breaks: pins and summaries.
    pub leading: usize,
    /// Pinned files shown in part.
    pub short_pins: Vec<ShortPin>,
    /// Weight to be compared with the provider's count, by [`Session::reported`]; `None` if the prompt was shortened.
    pub weighed: Option<PromptWeight>,
}

impl Prompt {
    /// The request body for the session's target: [`Shape::target`].
    pub fn render(&self, target: impl Into<Target>) -> String {
        render(self.admitted.request(), target)
    }
}
