//! Spans of entries that people put back into the prompts of a conversation.

use std::collections::BTreeMap;

use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::left::BreakReach;
use unforget_core::raised::RAISED_MAX;
use unforget_store::{RaisedRow, read_all};

use crate::prompt::{Recipe, Shape, ThreadRef, break_reaches, covered_span};
use crate::recall::Address;
use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// Entries to put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRaised<'a> {
    /// The first.
    pub first: Seq,
    /// The last.
    pub last: Seq,
    /// A person, or the name of a program.
    pub author: &'a str,
}

/// The weight of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaisedWeight {
    /// Its entries that a model may see.
    pub entries: u64,
    /// Tokens that they take whole, by the store's counts. Prompts cut their long texts.
    pub tokens: u64,
}

impl Engine {
    /// Spans that people put back, by number, also those that were taken back.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn raised(&self, id: ConversationId) -> Result<Vec<RaisedRow>, EngineError> {
        Ok(self.store().said(id)?.raised)
    }

    /// Spans that people put back, each with its weight.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    ///
    /// Cost: O(rows of the spans).
    pub fn raised_with_weights(
        &self,
        id: ConversationId,
    ) -> Result<Vec<(RaisedRow, RaisedWeight)>, EngineError> {
        let rows = self.raised(id)?.into_iter();
        rows.map(|row| self.raised_weight(id, row.span.0, row.span.1).map(|weight| (row, weight))).collect()
    }

    /// The span of entries that a name stands for.
    ///
    /// * `name` - `12`, `12-20`, `s:12-20`, or `e:KEY:12-20` of this conversation.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if it stands for anything else.
    pub fn span_of(&self, id: ConversationId, name: &str) -> Result<(Seq, Seq), EngineError> {
        let is_plain = name.starts_with(|first: char| first.is_ascii_digit());
        let name = if is_plain { format!("s:{name}") } else { name.to_owned() };
        match self.address(Some(id), &name)? {
            Address::Entries { conversation, seqs } if conversation == id && !seqs.is_empty() => {
                Ok((Seq(seqs.start), Seq(seqs.end - 1)))
            }
            _ => Err(EngineError::Usage {
                what: format!("{name} names no entries of this conversation"),
                hint: "name an entry or a span: 120, or 120-130".to_owned(),
            }),
        }
    }

    /// Puts a span of entries back: from the next prompt on, those that summaries cover stand in prompts again, as far as
    /// they have room. A span that stands already stays one.
    ///
    /// Returns the number of the decision.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the span has no entry that a model may see, or too many spans stand; then nothing changed.
    pub fn raise(&self, id: ConversationId, new: &NewRaised<'_>, now: Timestamp) -> Result<u64, EngineError> {
        let usage = |what: String, hint: &str| EngineError::Usage { what, hint: hint.to_owned() };
        let NewRaised { first, last, author } = *new;
        let span = (first, last);
        let mut standing = self.raised(id)?;
        standing.retain(RaisedRow::is_standing);
        if let Some(same) = standing.iter().find(|row| row.span == span) {
            return Ok(same.number);
        }
        if standing.len() >= RAISED_MAX {
            let what = format!("{RAISED_MAX} spans are put back already, the most that are allowed");
            return Err(usage(what, "take one away first: unforget uncompact CONVERSATION --undo NUMBER"));
        }
        if self.raised_weight(id, first, last)?.entries == 0 {
            let what = format!("s:{}-{} has no entry that a model could see", span.0, span.1);
            return Err(usage(what, "unforget show lists the entries of a conversation"));
        }
        let author = author.to_owned();
        let row = RaisedRow { number: 0, span, author, made: now, withdrawn: None };
        let number = self.store().put_raised(id, &row)?;
        self.note_sayings(id)?;
        Ok(number)
    }

    /// Takes a span away again: from the next prompt on, only summaries stand for its entries.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if no span of this number stands.
    pub fn lower(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<(), EngineError> {
        if self.store().withdraw_raised(id, number, now)? {
            return self.note_sayings(id);
        }
        Err(EngineError::Usage {
            what: format!("no span with the number {number} is put back in this conversation"),
            hint: "`unforget uncompact CONVERSATION --list` shows them".to_owned(),
        })
    }

    /// The weight of a span.
    ///
    /// Cost: O(rows of the span), without their bodies.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn raised_weight(
        &self,
        id: ConversationId,
        first: Seq,
        last: Seq,
    ) -> Result<RaisedWeight, EngineError> {
        let mut weight = RaisedWeight { entries: 0, tokens: 0 };
        for row in stored_rows(self.store(), id, std::iter::once(first.0..last.0.saturating_add(1))) {
            let row = row?;
            if row.origin.is_visible() && !row.purged {
                weight.entries += 1;
                weight.tokens += row.tokens.expected;
            }
        }
        Ok(weight)
    }

    /// The states of the contexts of the kept prompts up to this one, in order.
    fn sent_states(&self, id: ConversationId, number: u64) -> Result<Vec<Vec<u8>>, EngineError> {
        let (mut states, mut before) = (Vec::new(), None);
        for row in read_all(|page| self.store().recipes(id, page))? {
            if row.number > number || Recipe::decode(&row.body).is_none() || before == Some(row.context) {
                continue;
            }
            before = Some(row.context);
            states.extend(self.store().recipe_state(id, &row.context)?);
        }
        Ok(states)
    }

    /// How far the breaks of the kept prompts up to this one reach, by number, ascending.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub(crate) fn sent_breaks(
        &self,
        id: ConversationId,
        number: u64,
    ) -> Result<Vec<BreakReach>, EngineError> {
        Ok(break_reaches(self.sent_states(id, number)?.iter().map(Vec::as_slice)))
    }

    /// The entries that left the prompt at each break, by the number of the break, from 1: those of the newest kept prompts,
    /// or, if none is kept, those of prompts in this shape, for which the history is played.
    ///
    /// # Errors
    /// Errors of the store.
    ///
    /// Cost: O(kept prompts), or O(history).
    pub fn spans_of_breaks(&self, of: ThreadRef, shape: Shape) -> Result<BreakSpans, EngineError> {
        let mut spans = BTreeMap::new();
        let states = self.sent_states(of.conversation, u64::MAX)?;
        spans.extend(states.iter().filter_map(|state| covered_span(state)));
        let are_played = spans.is_empty();
        if are_played && let Some(played) = self.play_calls(of, shape, &mut |_, _| true)? {
            spans.extend(played.states().filter_map(covered_span));
        }
        // Each break covers more than the one before; what it covers anew has left there.
        let mut left = BTreeMap::new();
        let mut end = None;
        for (epoch, (first, last)) in spans {
            // Of the oldest kept one, nobody knows where the one before ended.
            let from = end.map_or(first, |end: Seq| Seq(end.0 + 1));
            let is_known = end.is_some() || epoch == 1;
            if is_known && from <= last {
                left.insert(epoch, (from, last));
            }
            end = end.max(Some(last));
        }
        Ok(BreakSpans { by_break: left, are_played })
    }
}

/// The entries that left the prompt at breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakSpans {
    /// First and last entry, by the number of the break.
    pub by_break: BTreeMap<u32, (Seq, Seq)>,
    /// Whether the breaks are those of a played history: no kept prompt has a summary.
    pub are_played: bool,
}
