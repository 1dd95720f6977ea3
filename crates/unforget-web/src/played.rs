//! The calls of a session, played for a view, or a page that says how far that is.

use std::sync::Arc;

use maud::html;
use unforget_text::numbers::count;

use crate::frame::{Frame, Here, frame};
use crate::play_cache::PlayKey;
pub(crate) use crate::play_cache::{Playing, WorkingPage};
use crate::reply::{Reply, Trouble};
use crate::visit::{Found, Visit};

impl Visit {
    /// The calls of a conversation in the shape that the query asks for.
    pub(crate) fn played(&self, found: &Found) -> Result<Playing, Trouble> {
        let shape = self.shape(found)?;
        let stored = &found.resolved.conversation;
        let key = PlayKey {
            conversation: stored.id,
            thread: found.of.thread,
            revision: stored.revision,
            shape: format!("{shape:?}"),
        };
        let (slot, is_new) = self.site.played.slot(key)?;
        if is_new {
            let (engine, slot, of) = (self.engine.confined([stored.id].into()), Arc::clone(&slot), found.of);
            std::thread::Builder::new()
                .name("play".to_owned())
                .spawn(move || slot.play(&engine, of, shape))
                .map_err(|error| {
                    Trouble::new(503, format!("no thread can be started: {error}"), "look again")
                })?;
        }
        slot.wait()
    }
}

impl WorkingPage {
    /// A page that looks again by itself.
    pub(crate) fn into_reply(self, visit: &Visit, found: &Found, here: Here) -> Reply {
        let Self { done, total } = self;
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
