//! What of a summary still holds at the end of its span.

use unforget_core::id::Seq;

use crate::sections::{CORRECTED, Item, SectionKind, Summary};

/// The newest request of a summary, and what came of it so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    /// The first entry of the newest answer to the newest request; `None` while there is none.
    pub(crate) answer: Option<Seq>,
    /// The entry from which on a cause may still hold: behind the newest answer and the newest change of a file.
    changed: Option<Seq>,
    /// The entry of the newest request.
    asked: Option<Seq>,
}

impl Present {
    /// Cost: linear in the items.
    pub(crate) fn of(summary: &Summary) -> Self {
        let asked = summary.items(SectionKind::Goal).get(summary.aim()).and_then(|ask| ask.seqs.first());
        let asked = asked.copied();
        let answer = summary.newest_answer();
        let written = summary.items(SectionKind::FilesWritten).iter().filter_map(|file| file.seqs.last());
        Self {
            // What was said before the newest request is no state of its work.
            answer: answer.filter(|answer| asked.is_none_or(|asked| *answer >= asked)),
            changed: written.copied().max().max(answer),
            asked,
        }
    }

    /// Whether a statement tells how things stand: it is of the newest answer, or a cause that was found since and behind
    /// which no file was written, so that it cannot be mended yet.
    pub(crate) fn holds(&self, kind: SectionKind, item: &Item) -> bool {
        let said = item.seqs.first().copied();
        match kind {
            SectionKind::Outcomes | SectionKind::Decisions => said.is_some() && said == self.answer,
            SectionKind::Causes => said >= self.asked && said > self.changed,
            _ => false,
        }
    }

    /// Whether something at this entry came after the newest answer, or after the newest request without one.
    pub(crate) fn is_behind(&self, seq: Seq) -> bool {
        self.answer.or(self.asked).is_some_and(|told| seq > told)
    }
}

impl Summary {
    /// The entry of the newest answer among outcomes and decisions.
    pub(crate) fn newest_answer(&self) -> Option<Seq> {
        let told = self.items(SectionKind::Outcomes).iter().chain(self.items(SectionKind::Decisions));
        told.filter(|item| !item.text.starts_with(CORRECTED))
            .filter_map(|item| item.seqs.first())
            .max()
            .copied()
    }
}
