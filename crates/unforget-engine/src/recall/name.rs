//! Names of entries and summaries, and their resolution.

use std::ops::Range;

use unforget_core::id::{ConversationId, ConversationKey};
use unforget_store::{Conversation, SummaryRow, walk};

use crate::summary_name::summary_name;
use crate::{Engine, EngineError};

/// Maximum length of a name in bytes: longer than any key.
const NAME_BYTES_MAX: usize = 4_096;

/// Number of characters of an overlong name repeated in an error.
const SHOWN_CHARS: usize = 80;

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Entries, by seq.
    Entries {
        /// The conversation.
        conversation: ConversationId,
        /// The entries; never empty.
        seqs: Range<u64>,
    },
    /// A summary.
    Summary {
        /// The conversation.
        conversation: ConversationId,
        /// The summary.
        row: Box<SummaryRow>,
    },
}

impl Engine {
    /// Resolves a name.
    ///
    /// | name | meaning |
    /// |---|---|
    /// | `s:12`, `s:12-40` | entries of the current conversation by seq, both ends included |
    /// | `e:KEY:12`, `e:KEY:12-40` | entries of the conversation with this key |
    /// | `sum:8000.0.3f09…` | a summary, of the current conversation or of another one |
    ///
    /// * `conversation` - the current conversation.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the name is unknown.
    pub fn address(&self, conversation: Option<ConversationId>, name: &str) -> Result<Address, EngineError> {
        if name.starts_with("sum:") {
            return self.summary_address(conversation, name);
        }
        let (id, seqs) = if let Some(rest) = name.strip_prefix("e:") {
            let Some((key, seqs)) = rest.rsplit_once(':') else { return Err(unknown(name)) };
            (self.keyed(key)?.id, seqs)
        } else if let (Some(seqs), Some(id)) = (name.strip_prefix("s:"), conversation) {
            (id, seqs)
        } else {
            return Err(unknown(name));
        };
        let seqs = parse_seqs(seqs).ok_or_else(|| unknown(name))?;
        if seqs.is_empty() {
            let what = format!("{name}: the first entry comes after the last");
            return Err(EngineError::Usage { what, hint: "write the smaller number first".to_owned() });
        }
        let entries = self.store().conversation(id)?.entries;
        if seqs.start >= entries {
            let what = format!("there is no entry {}: the conversation has {entries} entries", seqs.start);
            return Err(EngineError::Usage { what, hint: "seqs count from 0".to_owned() });
        }
        Ok(Address::Entries { conversation: id, seqs: seqs.start..seqs.end.min(entries) })
    }

    /// Resolves a name within a conversation. Names of other conversations are refused with the same message as unknown
    /// names, so that a confined caller learns nothing about other conversations.
    ///
    /// * `scope` - the only permitted conversation; `None` for any.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the scope has no such name.
    pub fn address_within(&self, scope: Option<ConversationId>, name: &str) -> Result<Address, EngineError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(unknown(&name.chars().take(SHOWN_CHARS).chain(['…']).collect::<String>()));
        }
        let Some(only) = scope else { return self.address(None, name) };
        let foreign = |key: ConversationKey| EngineError::Usage {
            what: format!("nothing is called {name} in {}", key.0),
            hint: "only this conversation is read; leave it out to read from others".to_owned(),
        };
        let is_foreign = match name.strip_prefix("e:").and_then(|rest| rest.rsplit_once(':')) {
            Some((key, _)) => match self.keyed(key) {
                Ok(found) => found.id != only,
                Err(EngineError::NoConversation { .. } | EngineError::Ambiguous { .. }) => true,
                Err(error) => return Err(error),
            },
            None => false,
        };
        if is_foreign {
            return Err(foreign(self.store().conversation(only)?.key));
        }
        match self.address(Some(only), name) {
            Err(EngineError::Usage { .. }) if name.starts_with("sum:") => {
                Err(foreign(self.store().conversation(only)?.key))
            }
            found => found,
        }
    }

    /// The conversation with this key, or with a unique abbreviation of it.
    fn keyed(&self, key: &str) -> Result<Conversation, EngineError> {
        match self.store().find(&ConversationKey(key.to_owned()))? {
            Some(conversation) => Ok(conversation),
            None => Ok(self.resolve(key)?.conversation),
        }
    }

    fn summary_address(&self, only: Option<ConversationId>, name: &str) -> Result<Address, EngineError> {
        for conversation in self.conversations_in(only)? {
            for row in walk(|page| self.store().summaries(conversation.id, page)) {
                let row = row?;
                if summary_name(&row.key) == name {
                    return Ok(Address::Summary { conversation: conversation.id, row: Box::new(row) });
                }
            }
        }
        Err(unknown(name))
    }
}

/// Parses `12` or `12-40`, both ends included. Empty if the first comes after the last.
fn parse_seqs(text: &str) -> Option<Range<u64>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some(first..if first <= last { last.saturating_add(1) } else { first })
}

fn unknown(name: &str) -> EngineError {
    EngineError::Usage {
        what: format!("nothing is called {name}"),
        hint: "names look like s:12, s:12-40 (with a conversation), e:KEY:12 or sum:8000.0.3f09a1b2c4d5"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seqs_table() {
        let table = [
            ("12", Some(12..13), "one"),
            ("12-40", Some(12..41), "both ends included"),
            ("40-12", Some(40..40), "backwards"),
            ("-", None, "nothing"),
            ("1-2-3", None, "too much"),
            ("18446744073709551615", Some(u64::MAX..u64::MAX), "the largest number does not overflow"),
            ("99999999999999999999", None, "larger than that"),
        ];
        for (text, want, why) in table {
            assert_eq!(parse_seqs(text), want, "{why}");
        }
    }
}
