//! The stored form of a lane's last call, with the bounds that hold within its turn.
//!
//! A lane that is opened again goes on as if it had stayed open: the first call's budget still bounds the turn, a refusal is
//! answered by a smaller prompt, and a count is of the prompt that it answers. The row is replaced as a whole, and means
//! nothing once the turn has ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::media::Place;
use unforget_core::recover::Sent;
use unforget_core::tokens::Tokens;
use unforget_wire::Dialect;

use super::learning::{CallPlace, LastCall};
use super::stored_learning::TokensDto;
use super::types::Ask;

/// Version of the encoding. Other versions are not read.
const VERSION: u32 = 1;

/// The last call and the bounds of its turn, as they are stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LaneCall {
    /// Number of writes of the row: a lane in memory is as stored if its row is.
    pub(super) written: u64,
    /// Number of turns that had ended: the row belongs to the turn behind them.
    pub(super) ended: u64,
    /// Tokens that the first call of the turn had for its messages.
    pub(super) budget: Option<u64>,
    /// Maximum size of a prompt after a refusal.
    pub(super) cap: Option<u64>,
    /// Live input that the last prompt had to show.
    pub(super) required: Vec<Seq>,
    /// The last call, if it is not answered.
    pub(super) last: Option<LastCall>,
}

#[derive(Serialize, Deserialize)]
struct CallDto {
    version: u32,
    written: u64,
    ended: u64,
    budget: Option<u64>,
    cap: Option<u64>,
    required: Vec<u64>,
    last: Option<LastDto>,
}

#[derive(Serialize, Deserialize)]
struct LastDto {
    ask: AskDto,
    head: Option<u64>,
    window: u64,
    sent: SentDto,
    media: Vec<PlaceDto>,
    estimate: TokensDto,
    attempt: u8,
}

#[derive(Serialize, Deserialize)]
struct AskDto {
    budget: u64,
    beside: TokensDto,
    output: u64,
    prompt: Option<String>,
    model: Option<String>,
    dialect: String,
    is_first: bool,
    texts_beside: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SentDto {
    input: u64,
    output: u64,
    window: u64,
    bytes: u64,
    media: u32,
    /// In hex.
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct PlaceDto {
    message: u32,
    block: u32,
    /// In hex.
    print: String,
}

impl LaneCall {
    /// Whether it says nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.budget.is_none() && self.cap.is_none() && self.last.is_none()
    }

    /// The bytes of the row.
    pub(super) fn encode(&self) -> Vec<u8> {
        let dto = CallDto {
            version: VERSION,
            written: self.written,
            ended: self.ended,
            budget: self.budget,
            cap: self.cap,
            required: self.required.iter().map(|seq| seq.0).collect(),
            last: self.last.as_ref().map(LastDto::of),
        };
        // A struct of numbers and strings always serialises.
        serde_json::to_vec(&dto).unwrap_or_default()
    }

    /// Decodes the output of [`LaneCall::encode`]; `None` for all other bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let dto: CallDto =
            serde_json::from_slice(bytes).ok().filter(|dto: &CallDto| dto.version == VERSION)?;
        let last = match &dto.last {
            Some(last) => Some(last.read()?),
            None => None,
        };
        let required = dto.required.iter().copied().map(Seq).collect();
        let CallDto { written, ended, budget, cap, .. } = dto;
        Some(Self { written, ended, budget, cap, required, last })
    }
}

impl LastDto {
    fn of(last: &LastCall) -> Self {
        let LastCall { ask, at, sent, media, estimate, attempt } = last;
        let media = media.iter().map(|place| PlaceDto {
            message: place.message,
            block: place.block,
            print: place.print.hex(),
        });
        Self {
            ask: AskDto::of(ask),
            head: at.head.map(|seq| seq.0),
            window: at.window,
            sent: SentDto {
                input: sent.input,
                output: sent.output,
                window: sent.window,
                bytes: sent.bytes,
                media: sent.media,
                digest: sent.digest.hex(),
            },
            media: media.collect(),
            estimate: TokensDto::of(*estimate),
            attempt: *attempt,
        }
    }

    fn read(&self) -> Option<LastCall> {
        let Self { ask, head, window, sent, media, estimate, attempt } = self;
        let place = |place: &PlaceDto| {
            let print = Digest::from_hex(&place.print)?;
            Some(Place { message: place.message, block: place.block, print })
        };
        Some(LastCall {
            ask: ask.read()?,
            at: CallPlace { head: head.map(Seq), window: *window },
            sent: Sent {
                input: sent.input,
                output: sent.output,
                window: sent.window,
                bytes: sent.bytes,
                media: sent.media,
                digest: Digest::from_hex(&sent.digest)?,
            },
            media: media.iter().map(place).collect::<Option<_>>()?,
            estimate: estimate.read()?,
            attempt: *attempt,
        })
    }
}

impl AskDto {
    fn of(ask: &Ask) -> Self {
        Self {
            budget: ask.budget,
            beside: TokensDto::of(ask.beside),
            output: ask.output,
            prompt: ask.prompt.clone(),
            model: ask.model.clone(),
            dialect: ask.dialect.name().to_owned(),
            is_first: ask.is_first,
            texts_beside: ask.texts_beside.iter().map(ToString::to_string).collect(),
        }
    }

    fn read(&self) -> Option<Ask> {
        let beside: Tokens = self.beside.read()?;
        Some(Ask {
            live: None,
            budget: self.budget,
            beside,
            output: self.output,
            prompt: self.prompt.clone(),
            model: self.model.clone(),
            dialect: Dialect::by_name(&self.dialect)?,
            is_first: self.is_first,
            texts_beside: self.texts_beside.iter().map(|text| Arc::from(text.as_str())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn last()(
            texts in prop::collection::vec(".{0,9}", 0..3), model in prop::option::of(".{0,9}"), prompt in prop::option::of(".{0,9}"),
            numbers in any::<[u32; 8]>(), head in any::<Option<u32>>(), is_first: bool, attempt: u8,
            digests in prop::collection::vec(any::<[u8; 32]>(), 1..4), dialect in prop::sample::select(Dialect::ALL.as_slice()),
        ) -> LastCall {
            let [budget, expected, more, output, shape, window, message, block] = numbers;
            let tokens = Tokens { expected: expected.into(), upper: u64::from(expected) + u64::from(more) };
            let ask = Ask {
                beside: tokens,
                output: output.into(),
                prompt,
                model,
                is_first,
                texts_beside: texts.iter().map(|text| Arc::from(text.as_str())).collect(),
                ..Ask::new(budget.into(), dialect)
            };
            let digest = Digest(digests[0]);
            LastCall {
                ask,
                at: CallPlace { head: head.map(|seq| Seq(seq.into())), window: shape.into() },
                sent: Sent { input: 1, output: output.into(), window: window.into(), bytes: 7, media: message, digest },
                media: digests.iter().map(|print| Place { message, block, print: Digest(*print) }).collect(),
                estimate: tokens,
                attempt,
            }
        }
    }

    prop_compose! {
        fn calls()(
            written: u64, ended: u64, budget: Option<u64>, cap: Option<u64>, required in prop::collection::vec(0_u64..99, 0..4),
            last in prop::option::of(last()),
        ) -> LaneCall {
            LaneCall { written, ended, budget, cap, required: required.into_iter().map(Seq).collect(), last }
        }
    }

    proptest! {
        #[test]
        fn comes_back_and_half_of_it_is_refused(call in calls(), cut in 0.0..1.0) {
            let bytes = call.encode();
            let half = bytes.get(..(bytes.len() as f64 * cut) as usize).unwrap_or_default();
            prop_assert_eq!(LaneCall::decode(half), None);
            prop_assert_eq!(LaneCall::decode(&bytes), Some(call));
        }
    }
}
