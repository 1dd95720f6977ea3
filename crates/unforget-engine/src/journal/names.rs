//! Names of delivered messages: digests under which the store finds their entries.
//!
//! Strong names are the host's id, the message's key, speaker and time, and the place in a keyed turn. A message without
//! a strong name has names of its bytes and words only, which prove nothing by themselves.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use unforget_core::deliver::{DeliveredItem, Path};
use unforget_core::digest::{Digest, role_tag};
use unforget_core::entry::{Entry, Part, Role};
use unforget_core::id::Seq;
use unforget_store::Name;
use unforget_wire::exchange::annotations;
use unforget_wire::journal::{self, Kept, Message, Provenance};
use unforget_wire::{Format, legacy};

use super::name_cache::KnownNames;
use super::types::{BodyDigest, Delivered, HostError};

/// Digest of a message's JSON, as hosts compute it.
pub fn body_digest(text: &[u8]) -> BodyDigest {
    let mut digest = [0; 16];
    for (to, from) in digest.iter_mut().zip(Sha256::digest(text)) {
        *to = from;
    }
    BodyDigest(digest)
}

/// Stored entries with strong names of a message.
struct NamedEntries {
    seqs: Vec<Seq>,
    /// Whether an entry has the host's id but not the other names: hosts reuse ids, so the entry may be another message.
    is_doubtful: bool,
}

/// The place of a message in a keyed turn.
#[derive(Clone, Copy)]
pub(crate) struct KeyedPlace<'a> {
    /// The host's key of the turn.
    pub(crate) key: &'a str,
    /// Index in the turn.
    pub(crate) index: usize,
}

/// A delivered message, read.
#[derive(Clone)]
pub(crate) struct Incoming {
    /// The message; `None` if only its digest was sent. Shared, since arrays come again with each call.
    pub(crate) message: Option<Arc<Message>>,
    /// Strong names without the place in a turn.
    own: Vec<Name>,
    /// Whether one of the strong names is the time.
    is_dated: bool,
    /// Name of the place in a keyed turn.
    place: Option<Name>,
    /// Name of the words, if there is no strong name.
    words: Option<Name>,
    /// Name of the bytes, for a message with strong names.
    bytes: Name,
    /// Name of the bytes, for a message without strong names.
    plain_bytes: Name,
    pub(crate) id: Option<String>,
    pub(crate) provenance: Provenance,
    pub(crate) is_volatile: bool,
    pub(crate) turn: Option<String>,
}

impl Incoming {
    /// Reads a delivered message.
    ///
    /// * `index` - place in the delivered array, for errors.
    pub(crate) fn read(
        form: Format,
        delivered: Delivered,
        index: usize,
        turn: Option<KeyedPlace<'_>>,
    ) -> Result<Self, HostError> {
        let bad = |what| HostError::BadMessage { index, what };
        let message = delivered.body.as_deref().map(|body| journal::read_message(form, body)).transpose();
        let message = message.map_err(bad)?.map(Arc::new);
        let own = delivered.body.as_deref().map(body_digest);
        let digest = match (own, delivered.digest) {
            (Some(own), Some(given)) if own != given => {
                return Err(bad("its digest does not match its body".to_owned()));
            }
            (Some(digest), _) | (None, Some(digest)) => digest,
            (None, None) => return Err(bad("it has neither a body nor a digest".to_owned())),
        };
        let (mut own, mut is_dated) = (Vec::new(), false);
        own.extend(delivered.id.as_deref().map(id_name));
        if let Some(message) = &message {
            own.extend(message.key.as_deref().map(|key| keyed(&message.entry, key)));
            let when = when(&message.entry);
            is_dated = when.is_some();
            own.extend(when);
        }
        let place = turn.map(turn_place);
        let words = message.as_ref().filter(|_| own.is_empty()).map(|message| words(&message.entry));
        let (provenance, is_volatile) = provenance(form, &delivered, message.as_deref());
        Ok(Self {
            message,
            own,
            is_dated,
            place,
            words,
            bytes: name("face", &[&digest.0]),
            plain_bytes: name("plain", &[&digest.0]),
            provenance,
            is_volatile,
            turn: turn.map(|turn| turn.key.to_owned()),
            id: delivered.id,
        })
    }

    /// All names that may lead to its entry.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Name> {
        self.own.iter().copied().chain(self.place).chain(self.words).chain([self.bytes, self.plain_bytes])
    }

    /// The names under which the message is stored. A digest without a body adds no name.
    pub(crate) fn kept(&self) -> impl Iterator<Item = Name> {
        let bytes = match (&self.message, self.own.is_empty()) {
            (None, true) => None,
            (Some(_), true) => Some(self.plain_bytes),
            (_, false) => Some(self.bytes),
        };
        self.own.iter().copied().chain(self.place).chain(self.words).chain(bytes)
    }

    /// Adds the body to a message of which only the digest was sent, and so its other names.
    pub(crate) fn with_body(&self, form: Format, body: String) -> Result<Self, HostError> {
        let said = Some(self.provenance).filter(|said| *said != Provenance::External);
        let delivered = Delivered {
            id: self.id.clone(),
            body: Some(body.into_bytes()),
            is_volatile: self.is_volatile,
            provenance: said,
            ..Delivered::default()
        };
        let read = Self::read(form, delivered, 0, None)?;
        Ok(Self { turn: self.turn.clone(), ..read }.at_place(self.place))
    }

    /// Names to add to the entry that this message matched. A message sent by digest alone adds no name of its bytes,
    /// because they were not compared with those of the entry.
    pub(crate) fn learnt(&self) -> impl Iterator<Item = Name> {
        self.kept().filter(|name| self.message.is_some() || *name != self.bytes)
    }

    /// Name of the words, without what clients rewrite.
    pub(crate) fn said(&self) -> Name {
        let said = || self.message.as_ref().map(|message| words(&message.entry));
        self.words.or_else(said).unwrap_or(self.plain_bytes)
    }

    /// Both names of the bytes.
    pub(crate) fn byte_names(&self) -> impl Iterator<Item = Name> {
        [self.bytes, self.plain_bytes].into_iter()
    }

    /// Replaces the digest of the bytes.
    #[must_use]
    pub(crate) fn with_digest(self, digest: BodyDigest) -> Self {
        Self { bytes: name("face", &[&digest.0]), plain_bytes: name("plain", &[&digest.0]), ..self }
    }

    /// Sets the place in a turn.
    #[must_use]
    pub(crate) fn at_place(self, place: Option<Name>) -> Self {
        Self { place, ..self }
    }

    /// Whether the message has a strong name.
    pub(crate) const fn has_name(&self) -> bool {
        !self.own.is_empty()
    }

    /// Whether the message is our own output.
    pub(crate) fn is_own(&self) -> bool {
        self.message.as_ref().is_some_and(|message| message.is_own)
    }

    /// Name of the bytes, for a copy of an entry with strong names.
    pub(crate) const fn byte_name(&self) -> Name {
        self.bytes
    }

    /// Whether these bytes are stored.
    pub(crate) fn is_stored(&self, known: KnownNames<'_>) -> bool {
        known.has(&self.bytes) || known.has(&self.plain_bytes)
    }

    /// Entries of the path that have all strong names, else all entries that have any.
    fn named(&self, known: KnownNames<'_>, path: Path<'_>) -> NamedEntries {
        let lists: Vec<_> = self.own.iter().map(|name| known.of(name)).collect();
        let any: Vec<Seq> = lists.iter().flat_map(|seqs| seqs.iter().copied()).collect();
        if lists.len() < 2 || any.is_empty() {
            return NamedEntries { seqs: any, is_doubtful: false };
        }
        let has_all = |seq: &Seq| lists.iter().all(|seqs| seqs.contains(seq));
        let all: Vec<Seq> = any.iter().copied().filter(has_all).collect();
        if all.iter().any(|seq| path.holds(*seq)) {
            return NamedEntries { seqs: all, is_doubtful: false };
        }
        let has_id = self.id.as_deref().is_some_and(|id| known.has(&id_name(id)));
        NamedEntries { seqs: any, is_doubtful: has_id && all.is_empty() }
    }

    /// The message as planning needs it.
    pub(crate) fn item(&self, known: KnownNames<'_>, path: Path<'_>) -> DeliveredItem {
        let (bytes, plain) = (known.of(&self.bytes), known.of(&self.plain_bytes));
        let NamedEntries { seqs: mut named, is_doubtful } = self.named(known, path);
        named.extend(bytes.iter());
        if let Some(place) = &self.place {
            named.extend(known.of(place).iter());
        }
        if named.len() > 1 {
            named.sort_unstable();
            named.dedup();
        }
        let by_digest = self.message.is_none() && !bytes.is_empty();
        // Equal bytes have equal words, so the longer list contains the shorter one.
        DeliveredItem {
            named,
            has_name: !self.own.is_empty() || by_digest,
            is_dated: self.is_dated,
            is_doubtful,
            alike: self.words.as_ref().map_or_else(|| Arc::clone(&plain), |words| known.of(words)),
            exact: if plain.is_empty() { bytes } else { plain },
            parts: self.message.as_ref().map(|message| parts(&message.entry)),
            is_volatile: self.is_volatile,
            is_answer: self.message.as_ref().is_some_and(|message| message.entry.role == Role::Assistant),
            is_excluded: self.message.as_ref().is_some_and(|message| is_excluded(message)),
        }
    }
}

/// Names of a copied entry, from its line alone. Places in turns, ends of turns, cursors and ids of answers belong to the
/// first lane and are left out.
pub(crate) fn names_of_line(form: Format, kept: &Kept) -> Vec<Name> {
    let Some(incoming) = of_kept(form, kept).filter(|_| kept.of.is_none()) else { return Vec::new() };
    let mut names: Vec<Name> = incoming.iter().flat_map(Incoming::kept).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// All names by which the message of a line may be found.
pub(crate) fn wanted_of_line(form: Format, kept: &Kept) -> Vec<Name> {
    of_kept(form, kept).iter().flatten().flat_map(Incoming::wanted).collect()
}

/// The message of a line as hosts send it, and as clients of a provider's API send it: without annotations.
fn of_kept(form: Format, kept: &Kept) -> Option<[Incoming; 2]> {
    let body = kept.message.as_ref()?.as_bytes();
    let delivered = Delivered {
        id: kept.id.clone(),
        body: Some(body.to_vec()),
        is_volatile: kept.is_volatile,
        provenance: Some(kept.provenance),
        ..Delivered::default()
    };
    let incoming = Incoming::read(form, delivered, 0, None).ok()?;
    let plain = incoming.clone().with_digest(body_digest(&annotation_free(body)));
    Some([incoming, plain])
}

/// The bytes of a message without annotations. Clients move annotations from message to message: they are not content.
pub(crate) fn annotation_free(body: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(body) {
        Ok(text) if text.contains(annotations::IN_COMMON) => match annotations::without(text) {
            Cow::Borrowed(_) => Cow::Borrowed(body),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        _ => Cow::Borrowed(body),
    }
}

/// The provenance of a message, and whether the host keeps the message. The host's statement beside the message counts
/// first, then the message's own field, then the marker words of old hosts.
fn provenance(form: Format, delivered: &Delivered, message: Option<&Message>) -> (Provenance, bool) {
    let own = message.and_then(|message| message.provenance.as_deref()).and_then(legacy::kind);
    if let Some(said) = delivered.provenance.or(own) {
        return (said, delivered.is_volatile);
    }
    let Some(message) = message.filter(|_| form == Format::Pi) else {
        return (Provenance::External, delivered.is_volatile);
    };
    // The marker words tell the provenance, not whether the host keeps the message: some hosts do.
    (legacy::provenance(&message.entry), delivered.is_volatile)
}

/// Name of a place in a keyed turn.
pub(crate) fn turn_place(KeyedPlace { key, index }: KeyedPlace<'_>) -> Name {
    name("turn", &[key.as_bytes(), &(index as u64).to_le_bytes()])
}

/// Name of the entry with a host's id.
pub(crate) fn id_name(id: &str) -> Name {
    name("id", &[id.as_bytes()])
}

/// Name of the copy that marks an entry as possibly delivered twice. At most one copy per entry is kept.
pub(crate) fn replay(seq: Seq) -> Name {
    name("replay", &[&seq.0.to_le_bytes()])
}

/// Name of the place to which an entry was moved.
pub(crate) fn moved_to(seq: Seq) -> Name {
    name("again", &[&seq.0.to_le_bytes()])
}

/// Name of the line that ends a turn.
pub(crate) fn turn_done(key: &str) -> Name {
    name("turn-done", &[key.as_bytes()])
}

/// Name of something that a client refers to by these words.
pub(crate) fn named(kind: &str, words: &[&str]) -> Name {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    name(kind, &words)
}

/// Name of the last entry of an answer with a provider's id.
pub(crate) fn answer_id(id: &str) -> Name {
    name("answer", &[id.as_bytes()])
}

/// Name of the entry that was answered, for an answer that is kept beside the path.
pub(crate) fn asked(id: &str) -> Name {
    name("asked", &[id.as_bytes()])
}

/// Name of an array that begins as `before` and continues with a message.
pub(crate) fn beginning(before: Name, said: Name) -> Name {
    name("beginning", &[&before.0, &said.0])
}

/// Name of the lines that keep the host's cursor.
pub(crate) fn cursor() -> Name {
    name("cursor", &[])
}

fn is_excluded(message: &Message) -> bool {
    journal::is_off_path(message) || message.entry.role == Role::System || message.entry.role == Role::None
}

fn name(kind: &str, parts: &[&[u8]]) -> Name {
    let length: usize = parts.iter().map(|part| part.len() + 8).sum();
    let mut bytes = Vec::with_capacity(kind.len() + length);
    bytes.extend_from_slice(kind.as_bytes());
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    let mut name = [0; 16];
    for (to, from) in name.iter_mut().zip(Digest::of(&bytes).0) {
        *to = from;
    }
    Name(name)
}

/// A key names one message per speaker: a response id is that of the answer, not of its results.
fn keyed(entry: &Entry, key: &str) -> Name {
    name("key", &[&[role_tag(entry.role)], key.as_bytes()])
}

/// Name of speaker and time, and for a result also its call: hosts that rewrite messages keep these.
fn when(entry: &Entry) -> Option<Name> {
    let time = entry.time.filter(|time| time.0 > 0)?;
    let call = entry.results().next().map(|result| plain_id(&result.call_id)).unwrap_or_default();
    Some(name("when", &[&[role_tag(entry.role)], &time.0.to_le_bytes(), call.as_bytes()]))
}

fn words(entry: &Entry) -> Name {
    let parts: Vec<u8> = parts(entry).iter().flat_map(|part| part.to_le_bytes()).collect();
    name("words", &[&[role_tag(entry.role)], &parts])
}

/// The content of a message, one digest per part, without what hosts rewrite: ids lose their punctuation, reasoning and
/// details are left out, and a text is equal as a string and as a block.
pub(crate) fn parts(entry: &Entry) -> Vec<u64> {
    entry.parts.iter().filter_map(part).collect()
}

fn part(part: &Part) -> Option<u64> {
    match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(part_digest("text", &[text.trim().as_bytes()])),
        Part::Thinking { .. } => None,
        Part::ToolCall(call) => {
            Some(part_digest("call", &[call.name.as_bytes(), plain_id(&call.id).as_bytes()]))
        }
        Part::ToolResult(result) => {
            let inner: Vec<u8> =
                result.content.iter().filter_map(self::part).flat_map(u64::to_le_bytes).collect();
            Some(part_digest("result", &[plain_id(&result.call_id).as_bytes(), &inner]))
        }
        Part::Media(media) => Some(part_digest("media", &[media.raw.as_bytes()])),
        Part::Opaque { kind, raw } => Some(part_digest("opaque", &[kind.as_bytes(), raw.as_bytes()])),
    }
}

/// Digest of one part of a message.
fn part_digest(kind: &str, pieces: &[&[u8]]) -> u64 {
    let name = name(kind, pieces);
    u64::from_le_bytes(name.0.first_chunk().copied().unwrap_or_default())
}

/// A call id without punctuation, which hosts drop for some providers.
fn plain_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).collect()
}
