//! What a model replied when a person asked nearly the same before: the reply often repeats no word of the question.

use std::collections::BTreeMap;
use std::iter::once;

use unforget_core::entry::{Part, Role};
use unforget_core::id::{ConversationKey, Seq};
use unforget_recall::coverage::Coverage;
use unforget_recall::terms::Analyser;
use unforget_store::Conversation;
use unforget_wire::{Format, decode};

use super::Evidence;
use super::gather::{Gathered, ReadExtent};
use crate::EngineError;
use crate::entry_text::{snippet, text};
use crate::recall::turns::opens;
use crate::rows::{stored_raw, stored_row, stored_rows};

/// Least share of the question that a person's earlier words hold, to count as a question of that kind.
const ASKED_MIN: f32 = 0.5;

/// Most earlier questions whose replies are read.
const REPLIES: usize = 4;

/// Number of entries behind a question among which its reply is looked for.
const REPLY_WITHIN: u64 = 400;

/// Number of the model's entries that are read for words, from the end of the turn.
const READ_MAX: usize = 8;

/// Maximum characters of a reply as a passage.
const REPLY_CHARS: usize = 1200;

/// By the number of a passage: the share of the question that the request of its turn holds.
pub(super) type AskedShares = BTreeMap<u32, f32>;

/// An earlier question of a person.
struct EarlierQuestion {
    key: ConversationKey,
    seq: Seq,
    share: f32,
}

impl Gathered<'_> {
    /// Reads the last words of the turns whose requests hold much of the question.
    ///
    /// * `question` - its words.
    /// * `from` - number of passages that a search did not find.
    ///
    /// Cost: rows of at most [`REPLIES`] turns, and a few entries of each.
    pub(super) fn replies(
        &mut self,
        question: &str,
        coverage: &Coverage,
        from: usize,
    ) -> Result<AskedShares, EngineError> {
        let mut analyser = Analyser::new();
        let mut asked: Vec<EarlierQuestion> = Vec::new();
        for one in self.evidence.iter().skip(from).filter(|one| one.role == Role::User) {
            let share = coverage.of(&mut analyser, &one.text);
            if share >= ASKED_MIN && asked.len() < REPLIES {
                asked.push(EarlierQuestion { key: one.conversation.clone(), seq: one.seq, share });
            }
        }
        let mut shares = AskedShares::new();
        for one in asked {
            let Some(conversation) = self.engine.store().find(&one.key)? else { continue };
            let Some(reply) = self.reply(&conversation, one.seq, question)? else { continue };
            let seq = reply.seq;
            self.add(reply, ReadExtent::Part);
            let number = self.evidence.iter().find(|known| known.seq == seq && known.conversation == one.key);
            if let Some(known) = number {
                let share = shares.entry(known.number).or_insert(0.0_f32);
                *share = share.max(one.share);
            }
        }
        Ok(shares)
    }

    /// The last words of the model in the turn that an entry opened.
    fn reply(
        &self,
        conversation: &Conversation,
        asked: Seq,
        question: &str,
    ) -> Result<Option<Evidence>, EngineError> {
        let (store, id) = (self.engine.store(), conversation.id);
        let Some(request) = stored_row(store, id, asked)? else { return Ok(None) };
        let behind = asked.0.saturating_add(1);
        let until = behind.saturating_add(REPLY_WITHIN).min(conversation.entries);
        let mut turn = Vec::new();
        for row in stored_rows(store, id, once(behind..until)) {
            let row = row?;
            if row.thread != request.thread {
                continue;
            }
            if opens(&row) {
                break;
            }
            if row.role == Role::Assistant {
                turn.push(row);
            }
        }
        let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
        for row in turn.into_iter().rev().take(READ_MAX) {
            let Some(raw) = stored_raw(store, id, row.seq)? else { continue };
            let entry = decode(format, &raw.body);
            if !entry.parts.iter().any(|part| matches!(part, Part::Text(_))) {
                continue;
            }
            let shown = snippet(&text(&entry), question, REPLY_CHARS);
            return Ok(Some(Evidence::of_entry(conversation, row, shown)));
        }
        Ok(None)
    }
}
