//! What the gateway remembers of a lane between two calls. It shapes prompts, so it is stored with what the lane learned:
//! any process goes on with it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unforget_core::digest::Digest;
use unforget_core::tokens::Tokens;
use unforget_wire::Format;

use super::stored_learning::TokensDto;
use super::{Host, HostError, LaneKey};

/// Maximum number of models whose pieces of standing context are remembered.
const MODELS_MAX: usize = 16;

/// A provider's count of a call that was forwarded unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredCall {
    /// Number of its messages.
    pub messages: usize,
    /// Digest of their bytes: [`Array::beginning`](super::Array::beginning).
    pub digest: Digest,
    /// Its instructions and tools, by our ruler.
    pub fixed: Tokens,
    /// The provider's count of its whole input.
    pub input: u64,
}

/// What the gateway remembers of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMemory {
    /// The newest count of a call that was forwarded unchanged.
    pub measured: Option<MeasuredCall>,
    /// Whether all of a conversation that its provider keeps is stored here, judged by the count of its last call.
    pub has_all: bool,
    /// The standing context that prompts got back, the newest last.
    put_back: Vec<PutBack>,
}

/// The pieces of standing context that the last prompt for one model got back.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PutBack {
    model: Option<String>,
    pieces: BTreeSet<Digest>,
}

impl ClientMemory {
    #[cfg(test)]
    pub(super) fn of_all(has_all: bool) -> Self {
        Self { has_all, ..Self::default() }
    }

    /// The pieces of standing context that the last prompt for a model got back; `None` without such a prompt.
    pub fn put_back(&self, model: Option<&str>) -> Option<&BTreeSet<Digest>> {
        self.put_back.iter().find(|one| one.model.as_deref() == model).map(|one| &one.pieces)
    }

    /// Notes the pieces that a prompt for a model got back. Of too many models, the oldest is forgotten.
    pub fn note_put_back(&mut self, model: Option<&str>, pieces: BTreeSet<Digest>) {
        self.put_back.retain(|one| one.model.as_deref() != model);
        self.put_back.push(PutBack { model: model.map(str::to_owned), pieces });
        self.put_back.drain(..self.put_back.len().saturating_sub(MODELS_MAX));
    }
}

/// State of a lane that shapes its next call.
#[derive(Clone, Debug)]
pub struct KnownLane {
    /// Maximum size of a prompt for the model, by refusals and counts of its provider; [`u64::MAX`] without a bound.
    pub cap: u64,
    /// What the gateway remembers.
    pub memory: ClientMemory,
}

impl Host {
    /// Reads the state of a lane that shapes its next call.
    pub fn known_lane(
        &self,
        key: &LaneKey,
        form: Format,
        model: Option<&str>,
    ) -> Result<KnownLane, HostError> {
        self.with_again(key, form, |lane, _| {
            Ok(KnownLane { cap: lane.learning.cap(model), memory: lane.learning.client.clone() })
        })
    }

    /// Notes the pieces of standing context that a prompt for a model got back.
    pub fn note_put_back(
        &self,
        key: &LaneKey,
        form: Format,
        model: Option<&str>,
        pieces: &BTreeSet<Digest>,
    ) -> Result<(), HostError> {
        self.with_again(key, form, |lane, _| {
            lane.learning.client.note_put_back(model, pieces.clone());
            Ok(())
        })
    }
}

/// The stored form.
#[derive(Serialize, Deserialize)]
pub(super) struct ClientDto {
    measured: Option<MeasuredDto>,
    has_all: bool,
    put_back: Vec<PutBackDto>,
}

#[derive(Serialize, Deserialize)]
struct MeasuredDto {
    messages: usize,
    /// In hex.
    digest: String,
    fixed: TokensDto,
    input: u64,
}

#[derive(Serialize, Deserialize)]
struct PutBackDto {
    model: Option<String>,
    /// Digests in hex.
    pieces: Vec<String>,
}

impl ClientDto {
    /// `None` if there is nothing to remember.
    pub(super) fn of(memory: &ClientMemory) -> Option<Self> {
        let ClientMemory { measured, has_all, put_back } = memory;
        if *memory == ClientMemory::default() {
            return None;
        }
        let measured = measured.map(|call| MeasuredDto {
            messages: call.messages,
            digest: call.digest.hex(),
            fixed: TokensDto::of(call.fixed),
            input: call.input,
        });
        let put_back = put_back.iter().map(|one| PutBackDto {
            model: one.model.clone(),
            pieces: one.pieces.iter().map(Digest::hex).collect(),
        });
        Some(Self { measured, has_all: *has_all, put_back: put_back.collect() })
    }

    /// `None` for an invalid value.
    pub(super) fn read(&self) -> Option<ClientMemory> {
        let measured = match &self.measured {
            Some(MeasuredDto { messages, digest, fixed, input }) => Some(MeasuredCall {
                messages: *messages,
                digest: Digest::from_hex(digest)?,
                fixed: fixed.read()?,
                input: *input,
            }),
            None => None,
        };
        let pieces = |one: &PutBackDto| one.pieces.iter().map(|hex| Digest::from_hex(hex)).collect();
        let put_back = self.put_back.iter().map(|one| {
            let pieces: Option<BTreeSet<Digest>> = pieces(one);
            Some(PutBack { model: one.model.clone(), pieces: pieces? })
        });
        Some(ClientMemory { measured, has_all: self.has_all, put_back: put_back.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_its_own_pieces_and_the_oldest_goes() {
        let mut memory = ClientMemory::default();
        let piece = |text: &str| BTreeSet::from([Digest::of(text.as_bytes())]);
        assert!(ClientDto::of(&memory).is_none(), "nothing is stored for a lane of an agent host");
        memory.note_put_back(None, piece("a"));
        memory.note_put_back(Some("m"), piece("b"));
        memory.note_put_back(None, BTreeSet::new());
        assert_eq!(memory.put_back(None), Some(&BTreeSet::new()));
        assert_eq!(memory.put_back(Some("m")), Some(&piece("b")));
        assert_eq!(memory.put_back(Some("n")), None);
        memory.measured =
            Some(MeasuredCall { messages: 3, digest: Digest::of(b"c"), fixed: Tokens::exact(7), input: 90 });
        memory.has_all = true;
        assert_eq!(ClientDto::of(&memory).and_then(|dto| dto.read()), Some(memory.clone()));
        for model in 0..MODELS_MAX {
            memory.note_put_back(Some(&model.to_string()), BTreeSet::new());
        }
        assert_eq!(memory.put_back(Some("m")), None);
        assert_eq!(memory.put_back(Some("0")), Some(&BTreeSet::new()));
    }
}
