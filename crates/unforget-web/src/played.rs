//! The calls of a session, played for a view, or a page that says how far that is.

use std::sync::Arc;
use std::time::Duration;

use maud::html;
use unforget_engine::prompt::PlayedCalls;
use unforget_server::play_cache::{PlayedProgress, PlayedState};
use unforget_text::numbers::count;

use crate::frame::{Frame, Here, frame};
use crate::reply::{Reply, Trouble};
use crate::visit::{Found, Visit};

/// How long a visit waits for a session to be played; then it says how far that is.
const PATIENCE: Duration = Duration::from_millis(1_200);

/// The page of a session that is being played.
pub(crate) struct WorkingPage(PlayedProgress);

impl Visit {
    /// The calls of a conversation in the shape that the query asks for, or how far they are.
    pub(crate) fn played(&self, found: &Found) -> Result<Result<Arc<PlayedCalls>, WorkingPage>, Trouble> {
        let (stored, thread) = (&found.resolved.conversation, found.of.thread);
        let slot = self.site.played.play(&self.engine, stored, thread, self.shape(found)?)?;
        Ok(match slot.wait(PATIENCE)? {
            PlayedState::Done(played) => Ok(played),
            PlayedState::Working(progress) => Err(WorkingPage(progress)),
        })
    }
}

impl WorkingPage {
    /// A page that looks again by itself.
    pub(crate) fn into_reply(self, visit: &Visit, found: &Found, here: Here) -> Reply {
        let PlayedProgress { done, total } = self.0;
        let body = html! {
            section class="empty" data-again="700" {
                h1 { "Reading the history" }
                p { "Every call of this session is made once more for this window. That is done once, and kept while the daemon runs." }
                progress max=(total.max(1)) value=(done) aria-label="Entries read" { }
                p class="dim" role="status" { (count(done)) " of " (count(total)) " entries" }
                noscript { p class="next" { a href="" { "Look again" } } }
            }
        };
        Reply::page(frame(visit, &Frame { title: "Reading the history", here, of: Some(found) }, &body))
    }
}
