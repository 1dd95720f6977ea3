//! Arrays of clients: each call brings the active path itself, or its end.

use std::sync::Arc;

use unforget_core::deliver::{Base, DeliveryOutcome, How};
use unforget_core::digest::Digest;
use unforget_core::entry::{Part, Role};
use unforget_core::id::Timestamp;
use unforget_core::message::wordless;
use unforget_core::tokens::Tokens;
use unforget_store::Name;
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use crate::journal::{
    BehindLine, Delivered, DeliveryManner, HostError, Incoming, Journal, Receipt, annotation_free, beginning,
    body_digest, named, stored_as,
};
use crate::measure;

/// Maximum length of a question in a search, in bytes.
const QUESTION: usize = 2_000;

/// Tokens that providers count around a message.
const FRAME: Tokens = Tokens::exact(8);

/// The messages of a call, read.
#[derive(Clone, Default)]
pub struct Array {
    pub(crate) messages: Arc<[Incoming]>,
    /// For each message, the digest of its bytes and its tokens.
    weights: Vec<(Digest, Tokens)>,
}

impl Array {
    /// Reads the messages of a call. O(bytes); a message that is equal in `before` is only hashed.
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
            let plain = annotation_free(body);
            let digest = Digest::of(&plain);
            let known = before.weights.get(index).filter(|known| known.0 == digest);
            let known = before.messages.get(index).zip(known.map(|(_, tokens)| *tokens));
            let (incoming, tokens) = if let Some((incoming, tokens)) = known {
                (incoming.clone(), tokens)
            } else {
                let incoming = Incoming::read(form, Delivered::new(body), index, None)?;
                let incoming = incoming.with_digest(body_digest(&plain));
                let tokens = incoming.message.as_ref().map(|message| measure::tokens(&message.entry).0);
                (incoming, tokens.unwrap_or_default() + FRAME)
            };
            messages.push(incoming);
            weights.push((digest, tokens));
        }
        Ok(Self { messages: messages.into(), weights })
    }

    /// All names that may lead to the messages' entries.
    pub(crate) fn wanted(&self) -> Vec<Name> {
        self.messages.iter().flat_map(Incoming::wanted).collect()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Number of parts without words: images, documents, and unknown parts.
    pub fn wordless(&self) -> u64 {
        let messages = self.messages.iter().filter_map(|incoming| incoming.message.as_ref());
        messages.flat_map(|message| &message.entry.parts).map(wordless).sum()
    }

    /// Digest of the bytes of the first message.
    pub fn first(&self) -> Option<Digest> {
        self.weights.first().map(|(digest, _)| *digest)
    }

    /// Tokens of all messages, for an unknown model.
    pub fn tokens(&self) -> Tokens {
        self.weights.iter().map(|(_, tokens)| *tokens).sum()
    }

    /// Tokens of the messages from this index on.
    pub fn tokens_from(&self, index: usize) -> Tokens {
        self.weights.iter().skip(index).map(|(_, tokens)| *tokens).sum()
    }

    /// Digest of the bytes of the first `count` messages; `None` if there are fewer. O(count).
    pub fn beginning(&self, count: usize) -> Option<Digest> {
        let first = self.weights.get(..count)?;
        let bytes: Vec<u8> = first.iter().flat_map(|(digest, _)| digest.0).collect();
        Some(Digest::of(&bytes))
    }

    /// Names of the words of the messages.
    pub fn said(&self) -> Said {
        Said(self.messages.iter().map(Incoming::said).collect())
    }

    /// The first words of a person: the last text before the first answer, since clients put their own texts in front.
    pub fn opening(&self) -> Option<&str> {
        let said = self.messages.iter().filter_map(|incoming| incoming.message.as_ref());
        let opening = said.take_while(|message| message.entry.role != Role::Assistant);
        let of_user = opening.filter(|message| message.entry.role == Role::User);
        let texts = of_user.flat_map(|message| &message.entry.parts).filter_map(|part| match part {
            Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.last()
    }

    /// The last words of a person, clipped for a search.
    pub fn question(&self) -> Option<String> {
        let said = self.messages.iter().rev().find_map(|incoming| {
            let entry = &incoming.message.as_ref()?.entry;
            let texts = entry.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let words: Vec<&str> = texts.collect();
            (entry.role == Role::User && !words.is_empty()).then(|| words.join("\n"))
        })?;
        let cut = said.char_indices().map(|(at, _)| at).find(|at| *at >= QUESTION).unwrap_or(said.len());
        said.get(..cut).map(str::to_owned)
    }

    /// Approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        let text = |message: &Incoming| message.message.as_ref().map_or(0, |message| message.text.len());
        // A message is kept twice: as JSON and as an entry.
        self.messages.iter().map(|message| 2 * text(message) + 512).sum()
    }
}

/// Names of the words of messages, in order: enough to recognise the messages.
#[derive(Clone, Debug, Default)]
pub struct Said(Vec<Name>);

impl Said {
    /// Names of all beginnings, the shortest first. Equal beginnings have equal names, whatever their annotations and
    /// reasoning. O(messages).
    ///
    /// * `seed` - beginnings under different seeds have different names.
    pub(crate) fn beginnings(&self, seed: Name) -> Vec<Name> {
        let mut names = Vec::with_capacity(self.0.len());
        let mut name = seed;
        for said in &self.0 {
            name = beginning(name, *said);
            names.push(name);
        }
        names
    }
}

/// Comparison of an array with the path of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Outcome of delivering the array.
    pub why: DeliveryOutcome,
    /// Number of its messages on the path.
    pub kept: usize,
    /// Number of path entries that the array would cut.
    pub left: u64,
}

/// The part of the path that an array brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brings<'a> {
    /// The whole path.
    All,
    /// The entries after the answer with this provider's id, or after the newest entry.
    Rest(Option<&'a str>),
}

/// The name of the line that keeps a request.
pub(crate) fn request_name(request: &str) -> Name {
    named("request", &[request])
}

impl Journal {
    /// Compares an array with the path. Stores nothing.
    pub(crate) fn foresee_array(&self, array: &Array) -> Result<Foreseen, HostError> {
        let plan = self.foresee_plan(How::Alike, &array.messages)?;
        let kept = plan.fates.iter().take_while(|fate| stored_as(**fate).is_some()).count();
        let left = match plan.base {
            Base::Head => 0,
            Base::Root => self.path_length(),
            Base::After(seq) => self.path_after(Some(seq)).len() as u64,
        };
        Ok(Foreseen { why: plan.why, kept, left })
    }

    /// Takes an array of a client.
    ///
    /// * `request` - the client's request without its messages, as JSON.
    pub(crate) fn take_array(
        &mut self,
        brings: Brings<'_>,
        array: &Array,
        request: Option<&str>,
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        let request = request.map(|request| self.request(request, now)).transpose()?.flatten();
        let behind = request.into_iter().collect();
        match brings {
            Brings::All => {
                let manner = DeliveryManner::new(How::Exact, now);
                Ok(self.deliver_read(&array.messages, manner, behind)?.receipt)
            }
            Brings::Rest(answer) => self.follow_answer(answer, array, behind, now),
        }
    }

    /// The line that keeps a request, unless an equal request is kept.
    fn request(&self, request: &str, now: Timestamp) -> Result<Option<BehindLine>, HostError> {
        let name = request_name(request);
        if self.known([name])?.has(&name) {
            return Ok(None);
        }
        // In JSON, line breaks stand only between tokens.
        let detail = request.replace(['\n', '\r'], " ");
        let text = journal::event("request", Some(&detail), &After::Newest, now.0);
        Ok(Some(BehindLine { text, names: vec![name] }))
    }
}
