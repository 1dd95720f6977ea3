//! The stored form of what a lane learned from providers.
//!
//! A lane that is opened again, after a restart or in another process, goes on as if it had stayed open. The row is small and
//! replaced as a whole. Without it, counts and limits are learned again: nothing else is lost.

use serde::{Deserialize, Serialize};
use unforget_core::counts::Counts;
use unforget_core::digest::Digest;
use unforget_core::media::Limit;
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;

use super::client_memory::{ClientDto, ClientMemory};
use crate::prompt::StoredCount;

/// Version of the encoding. Other versions are not read.
const VERSION: u32 = 1;

/// The count of the newest prompt of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredShapeCount {
    /// Key of the shape.
    pub(super) shape: u64,
    /// The count.
    pub(super) count: StoredCount,
}

/// What a lane learned, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredLearning {
    /// The model that was counted.
    pub(super) model: Option<String>,
    /// The evidence of its counts.
    pub(super) counts: Counts,
    /// The newest count of a call that was forwarded unchanged.
    pub(super) reported: Option<Reported>,
    /// Images and documents that providers refused.
    pub(super) media: Limit,
    /// Maximum number of images and documents until a call is answered.
    pub(super) newest: Option<u32>,
    /// Counts of prompts, the newest last.
    pub(super) prompts: Vec<StoredShapeCount>,
    /// What the gateway remembers.
    pub(super) client: ClientMemory,
}

#[derive(Serialize, Deserialize)]
struct LearningDto {
    version: u32,
    model: Option<String>,
    counts: CountsDto,
    reported: Option<ReportedDto>,
    media: MediaDto,
    /// Rows of earlier versions have none.
    #[serde(default)]
    newest: Option<u32>,
    prompts: Vec<PromptDto>,
    /// Rows of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<ClientDto>,
}

#[derive(Serialize, Deserialize)]
struct CountsDto {
    read: u64,
    rate: u64,
    cut: Option<u64>,
    cap: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct MediaDto {
    newest: u32,
    /// Digests in hex.
    without: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct PromptDto {
    shape: u64,
    prompt: ReportedDto,
    view: ReportedDto,
    beginning: Option<u64>,
}

/// Expected tokens and their bound.
#[derive(Serialize, Deserialize)]
pub(super) struct TokensDto {
    expected: u64,
    upper: u64,
}

#[derive(Serialize, Deserialize)]
struct ReportedDto {
    messages: TokensDto,
    beside: TokensDto,
    counted: u64,
}

impl StoredLearning {
    /// The bytes of the row.
    pub(super) fn encode(&self) -> Vec<u8> {
        let Self { model, counts, reported, media, newest, prompts, client } = self;
        let dto = LearningDto {
            version: VERSION,
            model: model.clone(),
            counts: CountsDto { read: counts.read, rate: counts.rate, cut: counts.cut, cap: counts.cap },
            reported: reported.as_ref().map(ReportedDto::of),
            media: MediaDto {
                newest: media.newest,
                without: media.without.iter().map(Digest::hex).collect(),
            },
            newest: *newest,
            prompts: prompts.iter().map(PromptDto::of).collect(),
            client: ClientDto::of(client),
        };
        // A struct of numbers and strings always serialises.
        serde_json::to_vec(&dto).unwrap_or_default()
    }

    /// Decodes the output of [`StoredLearning::encode`]; `None` for all other bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let dto: LearningDto =
            serde_json::from_slice(bytes).ok().filter(|dto: &LearningDto| dto.version == VERSION)?;
        let CountsDto { read, rate, cut, cap } = dto.counts;
        let without = dto.media.without.iter().map(|hex| Digest::from_hex(hex)).collect::<Option<_>>()?;
        Some(Self {
            model: dto.model,
            counts: Counts { read, rate, cut, cap },
            reported: dto.reported.as_ref().and_then(ReportedDto::read),
            media: Limit { newest: dto.media.newest, without },
            newest: dto.newest,
            prompts: dto.prompts.iter().map(PromptDto::read).collect::<Option<_>>()?,
            client: match &dto.client {
                Some(client) => client.read()?,
                None => ClientMemory::default(),
            },
        })
    }
}

impl PromptDto {
    fn of(StoredShapeCount { shape, count }: &StoredShapeCount) -> Self {
        let (prompt, view) = (ReportedDto::of(&count.prompt), ReportedDto::of(&count.view));
        Self { shape: *shape, prompt, view, beginning: count.beginning }
    }

    fn read(&self) -> Option<StoredShapeCount> {
        let (prompt, view) = (self.prompt.read()?, self.view.read()?);
        let count = StoredCount { prompt, view, beginning: self.beginning };
        Some(StoredShapeCount { shape: self.shape, count })
    }
}

impl TokensDto {
    pub(super) const fn of(tokens: Tokens) -> Self {
        Self { expected: tokens.expected, upper: tokens.upper }
    }

    pub(super) fn read(&self) -> Option<Tokens> {
        let Self { expected, upper } = *self;
        (expected <= upper).then_some(Tokens { expected, upper })
    }
}

impl ReportedDto {
    const fn of(reported: &Reported) -> Self {
        let (messages, beside) = (TokensDto::of(reported.messages()), TokensDto::of(reported.beside()));
        Self { messages, beside, counted: reported.counted() }
    }

    fn read(&self) -> Option<Reported> {
        Reported::of(self.messages.read()?, self.beside.read()?, self.counted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn reported()(expected in 0_u64..900_000, more in 0_u64..100_000, beside in 0_u64..9_000) -> Reported {
            let (messages, beside) = (Tokens { expected, upper: expected + more }, Tokens::exact(beside));
            let counted = (messages.expected + beside.expected).max(1);
            Reported::of(messages, beside, counted).unwrap()
        }
    }

    prop_compose! {
        fn learning()(
            model in prop::option::of(".*"), read: u64, rate: u64, cut: Option<u64>, cap: Option<u64>,
            forwarded in prop::option::of(reported()), newest: u32, now: Option<u32>, without in prop::collection::btree_set(any::<[u8; 32]>(), 0..4),
            prompts in prop::collection::vec((any::<u64>(), reported(), reported(), any::<Option<u64>>()), 0..4),
            has_all: bool,
        ) -> StoredLearning {
            let prompts = prompts.into_iter().map(|(shape, prompt, view, beginning)| {
                StoredShapeCount { shape, count: StoredCount { prompt, view, beginning } }
            });
            StoredLearning {
                model,
                counts: Counts { read, rate, cut, cap },
                reported: forwarded,
                media: Limit { newest, without: without.into_iter().map(Digest).collect() },
                newest: now,
                prompts: prompts.collect(),
                client: ClientMemory::of_all(has_all),
            }
        }
    }

    proptest! {
        #[test]
        fn comes_back_and_half_of_it_is_refused(learning in learning(), cut in 0.0..1.0) {
            let bytes = learning.encode();
            let half = bytes.get(..(bytes.len() as f64 * cut) as usize).unwrap_or_default();
            prop_assert_eq!(StoredLearning::decode(half), None);
            prop_assert_eq!(StoredLearning::decode(&bytes), Some(learning));
        }
    }
}
