//! Finds standing context in the history by the forms of known clients.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unforget_core::digest::Digest;
use unforget_core::standing::{Piece, Rank};

use super::super::{Call, Shape};
use super::{claude_code, codex, is_input, opencode, pi, unknown, with_message};
use crate::json::{Object, Value, unescape};

/// The classification of a text.
#[derive(Clone, Debug)]
pub(super) struct ContextKind {
    rank: Rank,
    topic: &'static str,
    covers: BTreeSet<String>,
}

impl ContextKind {
    /// A text that adds to earlier ones.
    pub(super) const fn adds(rank: Rank, topic: &'static str) -> Self {
        Self { rank, topic, covers: BTreeSet::new() }
    }

    /// A text that replaces all earlier ones of its topic.
    pub(super) fn replaces(rank: Rank, topic: &'static str) -> Self {
        Self::covering(rank, topic, [topic.to_owned()])
    }

    /// A text that replaces earlier ones with no wider coverage.
    pub(super) fn covering(
        rank: Rank,
        topic: &'static str,
        covers: impl IntoIterator<Item = String>,
    ) -> Self {
        Self { rank, topic, covers: covers.into_iter().collect() }
    }
}

/// The place of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextPlace {
    /// Before the first answer.
    pub(super) is_opening: bool,
    /// In a message of role `system` or `developer`.
    pub(super) is_instruction: bool,
}

/// A text of the history.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Index of its message in the history.
    pub(super) message: usize,
    /// Role of the message.
    pub(super) role: String,
    /// Type of its part; `None` if the message has a string and no parts.
    pub(super) part: Option<String>,
    /// The text as a JSON string, as it came.
    pub(super) raw: String,
    piece: Piece,
}

impl Found {
    /// Sets its classification.
    pub(super) fn is(&mut self, kind: ContextKind) {
        let ContextKind { rank, topic, covers } = kind;
        self.piece = Piece { rank, topic, covers, digest: self.piece.digest };
    }

    fn is_instruction(&self) -> bool {
        self.role != "user"
    }

    /// The text.
    pub(super) fn text(&self) -> Cow<'_, str> {
        let inside = self.raw.strip_prefix('"').and_then(|inside| inside.strip_suffix('"'));
        unescape(inside.unwrap_or_default())
    }
}

/// Standing context in a history, piece by piece, in order of arrival. See [`Call::context`].
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub(super) found: Vec<Found>,
}

impl Context {
    /// Whether there is no standing context.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Its pieces.
    pub fn pieces(&self) -> Vec<Piece> {
        self.found.iter().map(|found| found.piece.clone()).collect()
    }

    /// The text of a piece.
    pub fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        self.found.get(index).map(Found::text)
    }

    /// Digests of all texts in the messages other than answers.
    ///
    /// Cost: one pass over the messages.
    pub fn shown<'m>(messages: impl IntoIterator<Item = &'m str>) -> BTreeSet<Digest> {
        let found = messages.into_iter().flat_map(|message| texts(message, 0));
        found.map(|found| found.piece.digest).collect()
    }

    /// The texts with these digests in messages of a history, in order, each once: to be put back as they once were.
    ///
    /// Cost: one pass over the messages.
    pub fn found<'m>(messages: impl IntoIterator<Item = &'m str>, wanted: &[Digest]) -> Self {
        let mut left: BTreeSet<Digest> = wanted.iter().copied().collect();
        let texts = messages.into_iter().enumerate().flat_map(|(index, message)| texts(message, index));
        Self { found: texts.filter(|found| left.remove(&found.piece.digest)).collect() }
    }

    /// The standing context of a call.
    pub(in super::super) fn of(call: &Call<'_>) -> Self {
        if call.shape != Shape::List || call.hints.is_partial() {
            return Self::default();
        }
        let message = |index: usize| call.messages.get(index).and_then(|at| call.text.get(at.clone()));
        let is_open = |text: &&str| with_message(text, is_input).unwrap_or_default();
        let opening: Vec<&str> = (0..).map_while(message).take_while(is_open).collect();
        let texts_of = |(index, text): (usize, &&str)| texts(text, index);
        let opened: Vec<Found> = opening.iter().enumerate().flat_map(texts_of).collect();
        let client = Client::of(call, &opened);
        let (instructions, words): (Vec<Found>, Vec<Found>) =
            opened.into_iter().partition(Found::is_instruction);
        // Instructions beyond the limit of fixed ones.
        let mut found: Vec<Found> =
            instructions.into_iter().map(|found| as_instructions(client, found)).collect();
        if client == Client::Unknown {
            found.extend(unknown::take(words));
        } else {
            found.extend(words.into_iter().filter_map(|found| client.take(found, true)));
        }
        let later = (opening.len()..).map_while(|index| Some((index, message(index)?)));
        let later = later.filter(|(_, text)| client.may_have(text));
        let later = later.flat_map(|(index, text)| texts(text, index));
        found.extend(later.filter_map(|found| client.take(found, false)));
        found.sort_by_key(|found| found.message);
        Self { found }
    }
}

/// The client that wrote a body, as far as its history shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    ClaudeCode,
    Codex,
    /// A client whose standing context is all in its instructions.
    OfHead,
    Unknown,
}

impl Client {
    fn of(call: &Call<'_>, opened: &[Found]) -> Self {
        let head = call.instructions();
        let is_headed = |text: &Cow<'_, str>| opencode::is_its(text) || pi::is_its(text);
        if head.iter().any(is_headed) {
            return Self::OfHead;
        }
        let words = || opened.iter().filter(|found| !found.is_instruction());
        if words().any(|found| claude_code::is_its(&found.text())) {
            Self::ClaudeCode
        } else if words().any(|found| codex::is_its(&found.text())) {
            Self::Codex
        } else {
            Self::Unknown
        }
    }

    /// Whether the JSON of a message behind the first answer may have standing context.
    fn may_have(self, message: &str) -> bool {
        let has = |mark: &str| memchr::memmem::find(message.as_bytes(), mark.as_bytes()).is_some();
        match self {
            Self::ClaudeCode => has(claude_code::MARK) || has(r#""system""#),
            Self::Codex => codex::MARKS.into_iter().any(has) || has(r#""developer""#),
            Self::OfHead | Self::Unknown => false,
        }
    }

    fn kind(self, text: &str, place: ContextPlace) -> Option<ContextKind> {
        match self {
            Self::ClaudeCode => claude_code::kind(text, place),
            Self::Codex => codex::kind(text, place),
            Self::OfHead | Self::Unknown => None,
        }
    }

    /// The text, if it is standing context.
    fn take(self, mut found: Found, is_opening: bool) -> Option<Found> {
        let kind =
            self.kind(&found.text(), ContextPlace { is_opening, is_instruction: found.is_instruction() })?;
        found.is(kind);
        Some(found)
    }
}

/// Classifies instructions before the first answer: of whatever kind, they are standing context.
fn as_instructions(client: Client, mut found: Found) -> Found {
    let place = ContextPlace { is_opening: false, is_instruction: true };
    let known = client.kind(&found.text(), place);
    found.is(known.unwrap_or_else(|| ContextKind::adds(Rank::Instructions, "instructions")));
    found
}

/// The texts of a message that is no answer, without results of tools.
fn texts(message: &str, index: usize) -> Vec<Found> {
    with_message(message, |message| texts_in(message, index)).unwrap_or_default()
}

fn texts_in(message: Object<'_>, index: usize) -> Vec<Found> {
    let is_words = message.get("type").is_none() || message.is("type", "message");
    let role = message.string("role").unwrap_or_default();
    if !is_words || !["user", "system", "developer"].contains(&&*role) {
        return Vec::new();
    }
    let Some(content) = message.get("content") else { return Vec::new() };
    let whole = content.is_str().then_some((None, content));
    let parts = content.items().filter_map(Value::obj).filter_map(|part| {
        let kind = part.string("type").filter(|kind| kind == "text" || kind == "input_text")?;
        Some((Some(kind), part.get("text").filter(|text| text.is_str())?))
    });
    let found = whole.into_iter().chain(parts).map(|(part, text)| {
        let digest = Digest::of(text.str().unwrap_or_default().as_bytes());
        let piece = Piece { rank: Rank::Other, topic: "other", covers: BTreeSet::new(), digest };
        Found { message: index, role: role.clone(), part, raw: text.raw().to_owned(), piece }
    });
    found.collect()
}
