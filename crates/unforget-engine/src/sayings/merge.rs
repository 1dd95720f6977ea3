//! What all sayings of a conversation together say, shown in the rows that the rest of the engine reads.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Timestamp};
use unforget_core::raised::RAISED_MAX;
use unforget_core::saying::{SaidLabel, Saying, SayingPlace, label_of, raised_standing, taken_back};
use unforget_store::{Conversation, LabelRow, RaisedRow, VerdictRow};

use super::named;
use super::record::{InsteadDto, NamedSaying, SaysDto};
use crate::label::{TAGS_MAX, TRIES};
use crate::{Engine, EngineError};

impl Engine {
    /// Brings the rows of a conversation in line with its sayings.
    pub(super) fn show_sayings(&self, stored: &Conversation) -> Result<(), EngineError> {
        self.show_label(stored)?;
        let mut named = named(&self.noted(stored.id)?, &stored.key);
        // Numbers ascend with time, as far as they are given here.
        named.sort_by_key(NamedSaying::place);
        let sayings: Vec<Saying> = named.iter().filter_map(NamedSaying::saying).collect();
        let back = taken_back(&sayings);
        self.show_verdicts(stored.id, &named, &back)?;
        let standing = raised_standing(&sayings, RAISED_MAX);
        self.show_raised(stored.id, &named, &RaisedSayings { back, standing })
    }

    pub(super) fn show_label(&self, stored: &Conversation) -> Result<(), EngineError> {
        for _ in 0..TRIES {
            let before = self.label(stored.id)?;
            let named = named(&self.noted(stored.id)?, &stored.key);
            let sayings: Vec<Saying> = named.iter().filter_map(NamedSaying::saying).collect();
            let after = label_row(stored.id, &label_of(&sayings));
            let is_same = after == before || (after.is_blank() && before.is_blank());
            if is_same || self.store().put_label(stored.id, &before, &after)? {
                return Ok(());
            }
            // Somebody changed it meanwhile: that is a saying too.
            self.note_sayings(stored.id)?;
        }
        Ok(())
    }

    fn show_verdicts(
        &self,
        id: ConversationId,
        named: &[NamedSaying],
        back: &BTreeMap<Digest, Timestamp>,
    ) -> Result<(), EngineError> {
        let rows = self.verdicts(id)?;
        for one in named {
            let (SaysDto::Verdict { line, why, instead, author }, Some((seq, _))) =
                (&one.record.says, one.span)
            else {
                continue;
            };
            let is_it = |row: &&VerdictRow| {
                row.made.0 == one.record.made_ms
                    && row.seq == seq
                    && (&row.line, &row.why, &row.author) == (line, why, author)
            };
            let (number, is_standing) = if let Some(row) = rows.iter().find(is_it) {
                (row.number, row.is_standing())
            } else {
                let instead = instead.as_ref().map(|dto| self.instead_here(dto)).transpose()?.flatten();
                let row = VerdictRow {
                    number: 0,
                    seq,
                    line: line.clone(),
                    why: why.clone(),
                    instead,
                    author: author.clone(),
                    made: Timestamp(one.record.made_ms),
                    withdrawn: None,
                };
                (self.store().put_verdict(id, &row)?, true)
            };
            if let Some(at) = back.get(&one.digest).filter(|_| is_standing) {
                self.store().withdraw_verdict(id, number, *at)?;
            }
        }
        Ok(())
    }

    /// The name of an entry that another machine meant; `None` if it is not here.
    fn instead_here(&self, dto: &InsteadDto) -> Result<Option<String>, EngineError> {
        let Some(stored) = self.store().find(&ConversationKey(dto.conversation.clone()))? else {
            return Ok(None);
        };
        let Some(chain) = Digest::from_hex(&dto.entry) else { return Ok(None) };
        let row = self.store().by_chain(stored.id, Chain(chain))?;
        Ok(row.map(|row| format!("e:{}:{}", stored.key.0, row.seq)))
    }

    fn show_raised(
        &self,
        id: ConversationId,
        named: &[NamedSaying],
        said: &RaisedSayings,
    ) -> Result<(), EngineError> {
        let rows = self.raised(id)?;
        let standing: BTreeSet<Digest> = said.standing.iter().map(|place| place.digest).collect();
        // Where more stand than may, the oldest go, at the time of the newest.
        let newest = said.standing.first().map_or(Timestamp(0), |place| place.made);
        for one in named {
            let (SaysDto::Raised { author }, Some(span)) = (&one.record.says, one.span) else { continue };
            let made = Timestamp(one.record.made_ms);
            let is_it = |row: &&RaisedRow| row.made == made && row.span == span && row.author == *author;
            let (stands, back) = (standing.contains(&one.digest), said.back.get(&one.digest).copied());
            let row = match rows.iter().find(is_it) {
                Some(row) => Some((row.number, row.is_standing())),
                None if stands || back.is_some() => {
                    let row = RaisedRow { number: 0, span, author: author.clone(), made, withdrawn: None };
                    Some((self.store().put_raised(id, &row)?, true))
                }
                None => None,
            };
            if let Some((number, true)) = row.filter(|_| !stands) {
                self.store().withdraw_raised(id, number, back.unwrap_or(newest))?;
            }
        }
        Ok(())
    }
}

/// What sayings say of raised spans.
struct RaisedSayings {
    back: BTreeMap<Digest, Timestamp>,
    /// The newest first.
    standing: Vec<SayingPlace>,
}

/// The row of a label that was said.
fn label_row(id: ConversationId, said: &SaidLabel) -> LabelRow {
    let places = said.title.iter().map(|title| title.place).chain(said.star.iter().map(|star| star.place));
    let newest = places.chain(said.tags.values().map(|tag| tag.place)).max();
    LabelRow {
        conversation: id,
        title: said.title.as_ref().and_then(|title| title.value.clone()),
        is_starred: said.star.as_ref().is_some_and(|star| star.value),
        tags: said.tags_there(TAGS_MAX).into_iter().map(str::to_owned).collect(),
        changed: newest.map_or(Timestamp(0), |place| place.made),
    }
}
