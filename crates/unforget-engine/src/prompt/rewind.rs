//! A transcript that continues from an earlier entry.

use unforget_core::id::Seq;
use unforget_core::prefix::Cause;

use super::Session;
use super::open::Until;
use crate::error::EngineError;

impl Session {
    /// Removes the entries behind `parent` from the path.
    pub(super) fn go_back(&mut self, parent: Option<Seq>) -> Result<(), EngineError> {
        self.account.breaks(Cause::Rewind);
        match self.window.rewind_point(parent, self.cover.boundary()) {
            Some(seq) => self.cut_after(seq),
            None => self.rebuild(parent),
        }
    }

    /// Removes the entries behind one that the window holds, by adding the others again.
    fn cut_after(&mut self, seq: Seq) -> Result<(), EngineError> {
        self.cover.cut_after(seq);
        for entry in self.window.cut_after(seq, self.cover.context()) {
            self.add(entry);
        }
        self.window.set_head(Some(seq));
        // A summary of the host among the removed entries no longer hides the one before it.
        self.render_cover(&[])
    }

    /// Plays the path to `parent` again, because it leads into the summaries.
    fn rebuild(&mut self, parent: Option<Seq>) -> Result<(), EngineError> {
        let mut fresh = Self {
            source: self.source.again(),
            fixed: self.fixed.again(self.source.shape()),
            account: self.account.again(),
            window: super::window::Window::new(),
            cover: super::cover::Cover::default(),
        };
        if let Some(parent) = parent {
            let stored = self.source.conversation()?;
            fresh.play(&stored, Until::Seq(parent), &mut |_, _| {})?;
        }
        fresh.window.set_head(parent);
        fresh.account.rewound();
        *self = fresh;
        Ok(())
    }
}
