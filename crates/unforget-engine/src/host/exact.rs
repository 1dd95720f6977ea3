//! Clients of a provider's API: each call brings the active path itself, and the engine appends the answer.

use std::borrow::Cow;
use std::sync::Arc;

use unforget_core::counts::SuspectedTruncation;
use unforget_core::deliver::{Base, How, Why};
use unforget_core::digest::Digest;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::message::wordless;
use unforget_core::recover::Refused;
use unforget_core::tokens::Tokens;
use unforget_store::{Name, WriteLatency};
use unforget_wire::Format;
use unforget_wire::exchange::annotations;
use unforget_wire::journal::{self, After};

use super::lane::Lane;
use super::names::{self, Incoming};
use super::recover::Counted;
use super::types::{Ask, Assembled, Delivered, HostError, LaneKey, Receipt};
use super::{Host, Recovered, deliver};
use crate::measure;

/// What a provider counts around a message.
const FRAME: Tokens = Tokens::exact(8);

/// Messages of a call, read once.
#[derive(Clone, Default)]
pub struct Array {
    pub(super) messages: Arc<[Incoming]>,
    /// Digest of the bytes and tokens of each.
    weights: Vec<(Digest, Tokens)>,
}

impl Array {
    /// Reads the messages of a call. O(bytes); of messages that stood at the same place before, only their digest.
    ///
    /// * `before` - an array of an earlier call: clients send the same beginning again and again.
    ///
    /// # Errors
    /// [`HostError::BadMessage`] with the first that cannot be read.
    pub fn read<'a>(
        form: Format,
        bodies: impl IntoIterator<Item = &'a [u8]>,
        before: &Self,
    ) -> Result<Self, HostError> {
        let (mut messages, mut weights) = (Vec::new(), Vec::new());
        for (index, body) in bodies.into_iter().enumerate() {
            let plain = plain(body);
            let digest = Digest::of(&plain);
            let known = before.weights.get(index).filter(|known| known.0 == digest);
            let known = before.messages.get(index).zip(known.map(|(_, tokens)| *tokens));
            let (incoming, tokens) = if let Some((incoming, tokens)) = known {
                (incoming.clone(), tokens)
            } else {
                let incoming = Incoming::read(form, Delivered::new(body), index, None)?;
                let incoming = incoming.with_face(names::face(&plain));
                let tokens = incoming.message.as_ref().map(|message| measure::tokens(&message.entry).0);
                (incoming, tokens.unwrap_or_default() + FRAME)
            };
            messages.push(incoming);
            weights.push((digest, tokens));
        }
        Ok(Self { messages: messages.into(), weights })
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many parts of the messages no words stand for: images, documents, and what is not known.
    pub fn wordless(&self) -> u64 {
        let messages = self.messages.iter().filter_map(|incoming| incoming.message.as_ref());
        messages.flat_map(|message| &message.entry.parts).map(wordless).sum()
    }

    /// Digest of the bytes of the first message.
    pub fn first(&self) -> Option<Digest> {
        self.weights.first().map(|(digest, _)| *digest)
    }

    /// Tokens of all messages for a model that is not known.
    pub fn tokens(&self) -> Tokens {
        self.weights.iter().map(|(_, tokens)| *tokens).sum()
    }

    /// Tokens of the messages from this index on.
    pub fn tokens_from(&self, index: usize) -> Tokens {
        self.weights.iter().skip(index).map(|(_, tokens)| *tokens).sum()
    }

    /// Digest of the bytes of the first messages; `None` if there are not so many. O(count).
    pub fn beginning(&self, count: usize) -> Option<Digest> {
        let first = self.weights.get(..count)?;
        let bytes: Vec<u8> = first.iter().flat_map(|(digest, _)| digest.0).collect();
        Some(Digest::of(&bytes))
    }

    /// What its messages say, without themselves.
    pub fn said(&self) -> Said {
        Said(self.messages.iter().map(Incoming::said).collect())
    }

    /// Bytes in memory, about.
    pub fn size(&self) -> usize {
        let text = |message: &Incoming| message.message.as_ref().map_or(0, |message| message.text.len());
        // Beside its JSON, a message is kept as what it says.
        self.messages.iter().map(|message| 2 * text(message) + 512).sum()
    }
}

/// What messages say, in order: enough to know them again.
#[derive(Clone, Debug, Default)]
pub struct Said(Vec<Name>);

impl Said {
    /// Names of its beginnings: the first is of its first message, the last of all of them. Equal beginnings have equal
    /// names, whatever annotations and reasoning came with them. O(messages).
    ///
    /// * `seed` - beginnings under different seeds have different names.
    pub(super) fn beginnings(&self, seed: Name) -> Vec<Name> {
        let next = |name: &mut Name, said: &Name| {
            *name = names::beginning(*name, *said);
            Some(*name)
        };
        self.0.iter().scan(seed, next).collect()
    }
}

/// The bytes of a message without annotations, which clients move from message to message: they are not content.
pub(super) fn plain(body: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(body) {
        Ok(text) if text.contains(annotations::IN_COMMON) => match annotations::without(text) {
            Cow::Borrowed(_) => Cow::Borrowed(body),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        _ => Cow::Borrowed(body),
    }
}

/// What an array is to a lane, before anything is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// What delivering it would be.
    pub why: Why,
    /// Messages of it that are on the path.
    pub kept: usize,
    /// Messages of the path behind them.
    pub left: u64,
}

/// What of the path an array brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brings<'a> {
    /// All of it.
    All,
    /// What comes after the answer with this id of the provider's; after the newest entry without one.
    Rest(Option<&'a str>),
}

/// An answer of a model.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// The newest entry of the path when the model was asked.
    pub asked_at: Option<Seq>,
    /// What it said, in the lane's form: one message, or several items.
    pub messages: Vec<Vec<u8>>,
    /// The provider's id of it, by which later calls may refer to it.
    pub id: Option<String>,
    /// Why it is not whole, if it is not.
    pub interrupted: Option<String>,
    /// How soon it has to be stored.
    pub latency: WriteLatency,
}

impl Host {
    /// What an array would be to a lane. Stores nothing.
    pub fn foresee(&self, key: &LaneKey, form: Format, array: &Array) -> Result<Foreseen, HostError> {
        self.with(key, form, |lane, _| {
            let plan = lane.foresee_plan(How::Alike, &array.messages)?;
            let kept = plan.fates.iter().take_while(|fate| deliver::stored_as(**fate).is_some()).count();
            let left = match plan.base {
                Base::Head => 0,
                Base::Root => lane.path_length(),
                Base::After(seq) => lane.path_after(Some(seq)).len() as u64,
            };
            Ok(Foreseen { why: plan.why, kept, left })
        })
    }

    /// Takes an array that is the active path, or its end. What of the path it leaves out is not active any more; nothing
    /// stored goes.
    ///
    /// * `request` - the client's request without its messages, as JSON: kept where it is another than before.
    ///
    /// # Errors
    /// [`HostError::Refused`] if it brings the rest after an answer that this lane does not have.
    pub fn take(
        &self,
        key: &LaneKey,
        form: Format,
        (brings, array): (Brings<'_>, &Array),
        request: Option<&str>,
    ) -> Result<Receipt, HostError> {
        self.with(key, form, |lane, now| lane.take(brings, array, request, now))
    }

    /// The prompt for the call that brought an array. Another call of the same lane may have come in between: then the
    /// array is taken again, so that the prompt never holds what another call brought.
    ///
    /// * `head` - the newest entry of the path when the array was taken.
    ///
    /// Gives the newest entry for which the prompt is, too.
    pub fn assemble_at(
        &self,
        key: &LaneKey,
        form: Format,
        (brings, array, head): (Brings<'_>, &Array, Option<Seq>),
        ask: &Ask,
    ) -> Result<(Assembled, Option<Seq>), HostError> {
        self.with(key, form, |lane, now| {
            // A conversation that is named as such goes on at its newest entry, whoever brought that.
            if lane.head() != head && brings != Brings::Rest(None) {
                lane.take(brings, array, None, now)?;
            }
            Ok((lane.assemble(ask, now)?, lane.head()))
        })
    }

    /// The provider refused the call for which a prompt was made with this newest entry. As [`Host::refused`]; `None` if
    /// another call of the lane came in between.
    pub fn refused_at(
        &self,
        key: &LaneKey,
        form: Format,
        head: Option<Seq>,
        refused: Refused,
    ) -> Result<Option<Recovered>, HostError> {
        self.with(key, form, |lane, now| {
            if lane.head() != head {
                return Ok(None);
            }
            lane.refused(refused, 0, now).map(Some)
        })
    }

    /// A call was answered: as [`Host::answered`], but of the very call. Nothing is said of a prompt of ours if another was
    /// made since.
    pub fn counted(
        &self,
        key: &LaneKey,
        form: Format,
        counted: &Counted<'_>,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        self.with(key, form, |lane, _| Ok(lane.counted(counted)))
    }

    /// The most that a prompt for a model may have, by what its provider refused and counted: [`u64::MAX`] if nothing
    /// bounds it.
    pub fn cap(&self, key: &LaneKey, form: Format, model: Option<&str>) -> Result<u64, HostError> {
        self.with(key, form, |lane, _| Ok(lane.cap(model)))
    }

    /// Takes the answer of a model. It goes on the path if nothing else came in between, else beside it; the same again
    /// changes nothing.
    pub fn take_answer(
        &self,
        key: &LaneKey,
        form: Format,
        answered: &Answered,
    ) -> Result<Receipt, HostError> {
        let array = Array::read(form, answered.messages.iter().map(Vec::as_slice), &Array::default())?;
        self.with(key, form, |lane, now| lane.take_answer(answered, &array.messages, now))
    }
}

impl Lane {
    fn take(
        &mut self,
        brings: Brings<'_>,
        array: &Array,
        request: Option<&str>,
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        self.tighten();
        let request = request.map(|request| self.request(request, now)).transpose()?.flatten();
        let behind = request.into_iter().collect();
        match brings {
            Brings::All => {
                let manner = deliver::Manner { how: How::Exact, is_open: false, now };
                Ok(self.deliver_read(&array.messages, manner, behind)?.0)
            }
            Brings::Rest(answer) => self.follow_answer(answer, array, behind, now),
        }
    }

    /// The line that keeps a request, if no line does.
    fn request(&self, request: &str, now: Timestamp) -> Result<Option<(String, Vec<Name>)>, HostError> {
        let name = names::named("request", &[request]);
        if self.known([name])?.has(&name) {
            return Ok(None);
        }
        // Between tokens of JSON a line break is only space, and inside of them there is none.
        let detail = request.replace(['\n', '\r'], " ");
        Ok(Some((journal::event("request", Some(&detail), &After::Newest, now.0), vec![name])))
    }
}
