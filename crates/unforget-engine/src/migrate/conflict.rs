//! Why a conversation of the target is no beginning of the one to carry.

use std::iter::once;

use unforget_core::id::{ConversationId, Seq};
use unforget_store::{
    Conversation, EntryRow, GenerationRow, PinRow, RaisedRow, Snapshot, Store, StoreError, VerdictRow,
    read_all,
};

use super::digests::label_of;
use crate::rows::{stored_row, stored_rows};

/// The first thing that the target has and the source has not, in words for a person; `None` if the target has a
/// beginning of the conversation, or all of it.
///
/// Cost: reads the rows of the target's entries in both stores, no bytes.
pub(super) fn find(
    from: &dyn Store,
    source: &Conversation,
    to: &dyn Store,
    there: &Conversation,
) -> Result<Option<String>, StoreError> {
    let pair = Pair { from, id: source.id, to, there: there.id };
    if let Some(what) = of_head(source, there) {
        return Ok(Some(what));
    }
    let found = [Pair::generations, Pair::entries, Pair::saves, Pair::pins, Pair::verdicts, Pair::raised];
    for look in found {
        if let Some(what) = look(&pair)? {
            return Ok(Some(what));
        }
    }
    pair.label()
}

fn of_head(source: &Conversation, there: &Conversation) -> Option<String> {
    let what = |row: &Conversation| (row.format.clone(), row.title.clone(), row.parent.clone());
    if what(source) != what(there) {
        return Some("its format, title or parent is another one there".to_owned());
    }
    let more = there.entries.checked_sub(source.entries).filter(|more| *more > 0)?;
    let first = source.entries;
    Some(format!("it has {more} entries more there, from entry {first} on: it went on in the target"))
}

/// A conversation in both stores.
struct Pair<'a> {
    from: &'a dyn Store,
    id: ConversationId,
    to: &'a dyn Store,
    there: ConversationId,
}

impl Pair<'_> {
    fn generations(&self) -> Result<Option<String>, StoreError> {
        let here = read_all(|page| self.from.generations(self.id, page))?;
        let there = read_all(|page| self.to.generations(self.there, page))?;
        let is_later = |here: &GenerationRow, there: &GenerationRow| {
            there.length <= here.length && GenerationRow { length: here.length, ..*there } == *here
        };
        Ok(differing("generation", &there, &here, is_later))
    }

    fn entries(&self) -> Result<Option<String>, StoreError> {
        let there = stored_rows(self.to, self.there, once(0..u64::MAX));
        let here = stored_rows(self.from, self.id, once(0..u64::MAX));
        for (there, here) in there.zip(here) {
            let (there, here) = (there?, here?);
            let seq = here.seq.0;
            if there.purged && !here.purged {
                return Ok(Some(format!("entry {seq} was purged there: purge it in the source too")));
            }
            if (EntryRow { purged: here.purged, ..there }) != here {
                return Ok(Some(format!("entry {seq} is another one there")));
            }
        }
        Ok(None)
    }

    fn saves(&self) -> Result<Option<String>, StoreError> {
        let here = read_all(|page| self.from.snapshots(self.id, page))?;
        let there = read_all(|page| self.to.snapshots(self.there, page))?;
        // A purge in the source may have taken a trailer.
        let is_same = |here: &Snapshot, there: &Snapshot| {
            Snapshot { trailer: here.trailer.clone(), ..there.clone() } == *here
        };
        Ok(differing("save", &there, &here, is_same))
    }

    fn pins(&self) -> Result<Option<String>, StoreError> {
        let here = self.from.said(self.id)?.pins;
        let there = self.to.said(self.there)?.pins;
        // A purge changes the words, and neither time.
        let is_later = |here: &PinRow, there: &PinRow| {
            there.changed <= here.changed && (there.pin.id, there.made) == (here.pin.id, here.made)
        };
        Ok(differing("pin", &there, &here, is_later))
    }

    fn verdicts(&self) -> Result<Option<String>, StoreError> {
        let here = self.from.said(self.id)?.verdicts;
        for there in self.to.said(self.there)?.verdicts {
            let is_of = |here: &&VerdictRow| here.number == there.number;
            let withdrawn = |here: &VerdictRow| there.withdrawn.or(here.withdrawn);
            let is_later =
                |here: &VerdictRow| VerdictRow { withdrawn: withdrawn(here), ..there.clone() } == *here;
            let is_known = here.iter().find(is_of).map(is_later);
            if !self.may_be_there(is_known, there.seq)? {
                return Ok(Some(only_there("verdict", there.number)));
            }
        }
        Ok(None)
    }

    fn raised(&self) -> Result<Option<String>, StoreError> {
        let here = self.from.said(self.id)?.raised;
        for there in self.to.said(self.there)?.raised {
            let is_of = |here: &&RaisedRow| here.number == there.number;
            let withdrawn = |here: &RaisedRow| there.withdrawn.or(here.withdrawn);
            let is_later =
                |here: &RaisedRow| RaisedRow { withdrawn: withdrawn(here), ..there.clone() } == *here;
            let is_known = here.iter().find(is_of).map(is_later);
            if !self.may_be_there(is_known, there.span.0)? {
                return Ok(Some(only_there("raised span", there.number)));
            }
        }
        Ok(None)
    }

    /// Whether a row of the target may be there: the source has it too, or purged it with its entry since.
    ///
    /// * `is_known` - whether the source's row of its number is a later form of it; `None` if there is none.
    fn may_be_there(&self, is_known: Option<bool>, seq: Seq) -> Result<bool, StoreError> {
        match is_known {
            Some(is_later) => Ok(is_later),
            None => Ok(stored_row(self.from, self.id, seq)?.is_some_and(|row| row.purged)),
        }
    }

    fn label(&self) -> Result<Option<String>, StoreError> {
        let (here, there) = (label_of(self.from, self.id)?, label_of(self.to, self.there)?);
        let is_newer = !there.is_blank() && there.changed > here.changed;
        Ok(is_newer.then(|| "its title, star or tags were changed there".to_owned()))
    }
}

/// The first row of a list of the target that is not the one of the source in its place, or an earlier form of it.
fn differing<T>(what: &str, there: &[T], here: &[T], is_later: impl Fn(&T, &T) -> bool) -> Option<String> {
    let place = there.iter().zip(here).position(|(there, here)| !is_later(here, there));
    let place = place.or_else(|| (there.len() > here.len()).then_some(here.len()))?;
    Some(only_there(what, place as u64 + 1))
}

fn only_there(what: &str, number: u64) -> String {
    format!("its {what} {number} is another one there, or only there")
}
