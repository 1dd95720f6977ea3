//! A saying as bytes: what machines exchange, and what its digest names.

use serde::{Deserialize, Serialize};
use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationKey, Seq, Timestamp};
use unforget_core::saying::{SaidThing, Saying, SayingPlace};

use crate::label::{is_tag, is_title};

/// Most bytes of a saying.
pub const SAYING_BYTES_MAX: usize = 32 << 10;

/// Most bytes of the name of a machine or a person.
const NAME_BYTES: usize = 4_000;

/// The latest time that is believed: the end of the year 9999.
const LATEST_MS: i64 = 253_402_300_799_999;

/// A saying as its bytes say it. Fields are written in this order: the digest is of these bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SayingRecord {
    /// Key of the conversation.
    pub(super) conversation: String,
    /// When it was said.
    pub(super) made_ms: i64,
    /// The machine on which it was said.
    pub(super) origin: String,
    /// Heads of the chain at the first and last entry that it is about, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entries: Option<EntriesDto>,
    /// What is said.
    pub(super) says: SaysDto,
}

/// The entries that a saying is about, by the heads of their chain, in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntriesDto {
    pub(super) first: String,
    pub(super) last: String,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum SaysDto {
    Title {
        title: Option<String>,
    },
    Star {
        starred: bool,
    },
    Tag {
        tag: String,
        there: bool,
    },
    Verdict {
        line: Option<String>,
        why: String,
        instead: Option<InsteadDto>,
        author: String,
    },
    Raised {
        author: String,
    },
    TakenBack {
        /// Digest of the saying, in hex.
        of: String,
    },
    /// What a newer program says: kept and passed on, and without effect here.
    #[serde(other)]
    Other,
}

/// The entry that holds in place of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InsteadDto {
    pub(super) conversation: String,
    /// Head of the chain at the entry, in hex.
    pub(super) entry: String,
}

/// A saying with its name.
#[derive(Clone, Debug)]
pub(super) struct NamedSaying {
    pub(super) digest: Digest,
    /// First and last entry here; `None` if it is about the conversation.
    pub(super) span: Option<(Seq, Seq)>,
    pub(super) record: SayingRecord,
}

impl SayingRecord {
    /// The bytes.
    pub(super) fn encoded(&self) -> Vec<u8> {
        // A struct of numbers and strings always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a saying of a conversation; `None` for bytes that are none, or one of another conversation.
    pub(super) fn read(bytes: &[u8], key: &ConversationKey) -> Option<Self> {
        let whole = Some(bytes).filter(|bytes| bytes.len() <= SAYING_BYTES_MAX)?;
        let record: Self = serde_json::from_slice(whole).ok()?;
        (record.conversation == key.0 && record.is_fit()).then_some(record)
    }

    /// Whether its time and names can be believed and its entries are named.
    fn is_fit(&self) -> bool {
        let is_about_entries =
            matches!(self.says, SaysDto::Verdict { .. } | SaysDto::Raised { .. } | SaysDto::TakenBack { .. });
        let (author, is_said_well) = match &self.says {
            SaysDto::Title { title } => (0, title.as_deref().is_none_or(is_title)),
            SaysDto::Tag { tag, .. } => (0, is_tag(tag)),
            SaysDto::Verdict { author, .. } | SaysDto::Raised { author } => (author.len(), true),
            SaysDto::Star { .. } | SaysDto::TakenBack { .. } | SaysDto::Other => (0, true),
        };
        is_said_well
            && (0..=LATEST_MS).contains(&self.made_ms)
            && self.origin.len().max(author) <= NAME_BYTES
            && (self.chains().is_some() || !is_about_entries)
            && self.entries.is_some() == self.chains().is_some()
    }

    /// As [`SayingRecord::chains`], of bytes.
    pub(super) fn chains_of(bytes: &[u8]) -> Option<(Chain, Chain)> {
        serde_json::from_slice::<Self>(bytes).ok()?.chains()
    }

    /// Heads of the chain at the entries that it is about; `None` if it is about the conversation.
    pub(super) fn chains(&self) -> Option<(Chain, Chain)> {
        let EntriesDto { first, last } = self.entries.as_ref()?;
        Some((Chain(Digest::from_hex(first)?), Chain(Digest::from_hex(last)?)))
    }
}

impl NamedSaying {
    /// As the rules look at it; `None` for what a newer program says.
    pub(super) fn saying(&self) -> Option<Saying> {
        let thing = match &self.record.says {
            SaysDto::Title { title } => SaidThing::Title(title.clone()),
            SaysDto::Star { starred } => SaidThing::Star(*starred),
            SaysDto::Tag { tag, there } => SaidThing::Tag { tag: tag.clone(), is_there: *there },
            SaysDto::Verdict { .. } => SaidThing::Verdict,
            SaysDto::Raised { .. } => SaidThing::Raised,
            SaysDto::TakenBack { of } => SaidThing::TakenBack(Digest::from_hex(of)?),
            SaysDto::Other => return None,
        };
        Some(Saying { place: self.place(), thing })
    }

    pub(super) const fn place(&self) -> SayingPlace {
        SayingPlace { made: Timestamp(self.record.made_ms), digest: self.digest }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_whole_sayings_of_the_conversation_are_read() {
        let key = ConversationKey("pi:1".to_owned());
        let hex = "11".repeat(32);
        let read = |text: &str| SayingRecord::read(text.replace("HEX", &hex).as_bytes(), &key);
        let star =
            r#"{"conversation":"pi:1","made_ms":5,"origin":"boat","says":{"kind":"star","starred":true}}"#;
        let record = read(star).unwrap();
        assert_eq!(record.encoded(), star.as_bytes(), "the bytes that the digest is of");
        let fit = [
            r#"{"conversation":"pi:1","made_ms":5,"origin":"boat","entries":{"first":"HEX","last":"HEX"},"says":{"kind":"raised","author":"ann"}}"#,
            r#"{"conversation":"pi:1","made_ms":5,"origin":"boat","says":{"kind":"of-a-newer-program","x":1}}"#,
        ];
        for text in fit {
            assert!(read(text).is_some(), "{text}");
        }
        let unfit = [
            (
                r#"{"conversation":"pi:2","made_ms":5,"origin":"","says":{"kind":"star","starred":true}}"#,
                "another conversation",
            ),
            (
                r#"{"conversation":"pi:1","made_ms":-1,"origin":"","says":{"kind":"star","starred":true}}"#,
                "before 1970",
            ),
            (
                r#"{"conversation":"pi:1","made_ms":999999999999999,"origin":"","says":{"kind":"star","starred":true}}"#,
                "after 9999",
            ),
            (
                r#"{"conversation":"pi:1","made_ms":5,"origin":"","says":{"kind":"raised","author":"ann"}}"#,
                "no entries",
            ),
            (
                r#"{"conversation":"pi:1","made_ms":5,"origin":"","entries":{"first":"HEX","last":"x"},"says":{"kind":"raised","author":"ann"}}"#,
                "no chain",
            ),
            (r#"{"conversation":"pi:1"}"#, "no saying"),
            ("", "nothing"),
        ];
        for (text, why) in unfit {
            assert!(read(text).is_none(), "{why}");
        }
        let long = star.replace("boat", &"x".repeat(5_000));
        assert!(read(&long).is_none(), "a name of 5,000 bytes");
    }
}
