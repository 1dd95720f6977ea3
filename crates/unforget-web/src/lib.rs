//! The page: what is stored, and what a model saw, in a browser. `docs/page.md` shows it.
//!
//! Every view is HTML that is made here and read without JavaScript; the modules under `assets/` add keys, stepping and live
//! changes. The page reads with the engine's own functions and holds no rule about histories; only the owner's forms (`decide`) change something. Whatever a transcript says
//! is hostile text and passes the template's escaping and [`unforget_text::visible`].
//!
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | `site`, `state` | the routes, the shared state |
//! | `visit`, `reply`, `trouble` | a request of a view; its answer, with the headers of every answer; why there is none |
//! | `frame`, `words`, `markdown`, `assets`, `login` | the frame of a view, texts in it, markdown, style sheet and scripts, the way in with a token |
//! | `home`, `conversations`, `reader`, `search`, `ledger`, `summaries`, `calls`, `today`, `trust` | views, by what they show |
//! | `context/*`, `left`, `diff` | the window over a session: calls as a chart, one prompt with its cover; what a break took; two prompts compared |
//! | `decide`, `labels`, `owner_form`, `form_seal` | what the owner decides here: entries put back, statements rejected, and both undone; titles, stars and tags |
//! | `turns`, `mask`, `page_file`, `sealed_page` | turns as HTML; credentials replaced; a conversation as one file, perhaps encrypted |
//! | `played`, `day_cache` | played sessions and the cost of today, kept for the next visit |

mod assets;
mod calls;
mod context;
mod conversations;
mod day_cache;
mod decide;
mod diff;
mod form_seal;
mod frame;
mod home;
mod labels;
mod ledger;
mod left;
mod login;
mod markdown;
mod mask;
mod owner_form;
mod page_file;
mod played;
mod reader;
mod reply;
mod sealed_page;
mod search;
mod site;
mod state;
mod summaries;
mod today;
mod trouble;
mod trust;
mod turns;
mod visit;
mod words;

pub use page_file::{PageFile, PageFileError, PageReport};
pub use sealed_page::{SealError, sealed_page};
pub use state::{Site, SiteSettings};

/// What the views compute of prompts before they are HTML, for the terminal interface.
pub mod figures {
    pub use crate::context::BreakCost;
    pub use crate::context::{CoverCell, Series, cells};
    pub use crate::diff::sides;
}
