//! Standing context that a gateway put before a lane's prompts: noted by digest beside the answer, so that a past prompt can be
//! shown as it was sent. The words stay where they are: in the lane's own entries.

use std::iter::once;

use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_core::entry::Origin;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::standing::Share;
use unforget_wire::exchange::Context;
use unforget_wire::{Dialect, journal};

use super::bodies::Bodies;
use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// Name of the event.
pub(super) const EVENT: &str = "standing";

/// Most rows looked through for an event: one is written where a break changes the choice.
const LOOK: u64 = 65_536;

/// Rows of one step.
const STEP: u64 = 1_024;

/// The pieces of standing context that stand before prompts from one on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingEvent {
    /// Number of the first prompt.
    pub prompt: u64,
    /// In order of arrival.
    pub pieces: Vec<StandingPiece>,
}

/// A piece of standing context in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingPiece {
    /// Digest of its text.
    digest: Digest,
    /// Number of its first bytes that were put back at most; `None` for all.
    bytes: Option<u64>,
}

impl StandingEvent {
    /// The event's detail: `{"prompt":7,"pieces":[["HEX",null],["HEX",812]]}`.
    pub(super) fn detail(&self) -> String {
        let pieces: Vec<Value> =
            self.pieces.iter().map(|piece| json!([piece.digest.hex(), piece.bytes])).collect();
        json!({ "prompt": self.prompt, "pieces": pieces }).to_string()
    }

    /// Reads what [`StandingEvent::detail`] wrote; `None` for anything else.
    fn read(detail: &str) -> Option<Self> {
        let detail: Value = serde_json::from_str(detail).ok()?;
        let piece = |piece: &Value| {
            let digest = Digest::from_hex(piece.get(0)?.as_str()?)?;
            Some(StandingPiece { digest, bytes: piece.get(1)?.as_u64() })
        };
        let pieces = detail.get("pieces")?.as_array()?.iter().map(piece).collect::<Option<_>>()?;
        Some(Self { prompt: detail.get("prompt")?.as_u64()?, pieces })
    }
}

impl StandingPiece {
    /// `None` for a piece that was left out.
    pub fn new(digest: &Digest, share: Share) -> Option<Self> {
        let bytes = match share {
            Share::Whole => None,
            Share::Begun(bytes) => Some(bytes),
            Share::Out => return None,
        };
        Some(Self { digest: *digest, bytes })
    }

    fn share(&self) -> Share {
        self.bytes.map_or(Share::Whole, Share::Begun)
    }
}

impl Engine {
    /// The event that holds for a prompt; `None` without one among the newest rows.
    ///
    /// Cost: O(rows behind it), which are read without their bodies.
    fn standing_event(
        &self,
        conversation: ConversationId,
        number: u64,
    ) -> Result<Option<StandingEvent>, EngineError> {
        let mut end = self.store().conversation(conversation)?.entries;
        let least = end.saturating_sub(LOOK);
        while end > least {
            let from = least.max(end.saturating_sub(STEP));
            let mut kept: Vec<u64> = Vec::new();
            for row in stored_rows(self.store(), conversation, once(from..end)) {
                let row = row?;
                kept.extend((row.origin == Origin::Bookkeeping).then_some(row.seq.0));
            }
            for seq in kept.into_iter().rev() {
                let raw = self.store().raw(conversation, seq..seq + 1)?;
                let line = raw.first().map(|raw| journal::read_line(&raw.body)).unwrap_or_default();
                let detail = line.detail.filter(|_| line.event.as_deref() == Some(EVENT));
                let event = detail.and_then(|detail| StandingEvent::read(&detail));
                if let Some(event) = event.filter(|event| event.prompt <= number) {
                    return Ok(Some(event));
                }
            }
            end = from;
        }
        Ok(None)
    }

    /// Puts the standing context of a past prompt back before its messages. Returns false if a piece of it is gone.
    ///
    /// Cost: reads the lane's messages up to the last piece, most often its first few.
    pub(super) fn stand_before(
        &self,
        prompt: PastPrompt,
        bodies: &Bodies,
        messages: &mut Vec<String>,
    ) -> Result<bool, EngineError> {
        let PastPrompt { conversation, number, dialect, head } = prompt;
        let Some(event) = self.standing_event(conversation, number)? else { return Ok(true) };
        let digests: Vec<Digest> = event.pieces.iter().map(|piece| piece.digest).collect();
        let mut wanted = digests.clone();
        let mut holding = Vec::new();
        for seq in 0..=head.0 {
            if wanted.is_empty() {
                break;
            }
            let Some((message, _)) = bodies.get(Seq(seq)) else { continue };
            let shown = Context::shown(once(message.as_str()));
            if wanted.iter().any(|digest| shown.contains(digest)) {
                wanted.retain(|digest| !shown.contains(digest));
                holding.push(message);
            }
        }
        let context = Context::found(holding.iter().map(String::as_str), &digests);
        let shares: Vec<_> = context
            .pieces()
            .iter()
            .enumerate()
            .filter_map(|(index, found)| {
                let piece = event.pieces.iter().find(|piece| piece.digest == found.digest)?;
                Some((index, piece.share()))
            })
            .collect();
        context.put_back(dialect, &shares, messages);
        Ok(shares.len() == event.pieces.len())
    }
}

/// A prompt of the past.
#[derive(Clone, Copy)]
pub(super) struct PastPrompt {
    pub(super) conversation: ConversationId,
    pub(super) number: u64,
    pub(super) dialect: Dialect,
    /// The newest entry of its path.
    pub(super) head: Seq,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn details_are_read_again() {
        let piece = |text: &str, share| StandingPiece::new(&Digest::of(text.as_bytes()), share);
        let pieces = [piece("a", Share::Whole), piece("b", Share::Begun(812)), piece("c", Share::Out)];
        let event = StandingEvent { prompt: 7, pieces: pieces.into_iter().flatten().collect() };
        assert_eq!(event.pieces.len(), 2, "what is left out does not stand");
        assert_eq!(StandingEvent::read(&event.detail()), Some(event));
        for damaged in [
            "",
            "{}",
            r#"{"prompt":7}"#,
            r#"{"prompt":7,"pieces":[["zz",null]]}"#,
            r#"{"prompt":-1,"pieces":[]}"#,
        ] {
            assert_eq!(StandingEvent::read(damaged), None, "{damaged}");
        }
    }
}
