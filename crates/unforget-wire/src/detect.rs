//! Detects the format of a transcript from its first records.

use unforget_core::digest::Digest;
use unforget_core::id::ConversationKey;

use crate::error::ReadError;
use crate::format::{self, Format, Head, Layout};
use crate::json::{Object, Tape, Value};
use crate::split::FilePiece;

/// A transcript's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its format.
    pub format: Format,
    /// Its stable name: `format:session id`, or `format:` and 16 hex digits of the digest of its first
    /// record where the transcript has no session id, or one of more than 512 bytes.
    pub key: ConversationKey,
    /// The conversation of which it is a sub-agent.
    pub parent: Option<ConversationKey>,
    /// A title, if one occurs early in the file.
    pub title: Option<String>,
}

/// The start of a file, as far as detection looks at it.
pub(crate) struct Start<'a> {
    /// The layout of the records; `None` without records.
    pub(crate) layout: Option<Layout>,
    /// The document's fields in front of its records.
    pub(crate) header: Option<&'a [u8]>,
    /// The first pieces of the file.
    pub(crate) pieces: Vec<&'a FilePiece>,
    /// The bytes behind the last record, if the file is that short.
    pub(crate) trailer: &'a [u8],
}

/// Detects the format and names the conversation.
///
/// # Errors
/// [`ReadError::NotATranscript`] if nothing in it is a JSON object or array.
pub(crate) fn source(start: &Start<'_>) -> Result<Source, ReadError> {
    let parsed: Vec<Parsed> = start
        .pieces
        .iter()
        .filter(|piece| piece.is_json)
        .filter_map(|piece| Parsed::new(&piece.body))
        .collect();
    let header = start.header.and_then(Parsed::new);
    let head = Head {
        layout: start.layout.unwrap_or(Layout::Lines),
        header: header.as_ref().and_then(Parsed::object),
        records: parsed.iter().filter_map(Parsed::object).collect(),
    };
    let format = format::detect(&head);
    if head.records.is_empty() && (format == Format::Unknown || head.header.is_none()) {
        let is_begun = start.pieces.is_empty() && begins_record(start.trailer);
        return Err(ReadError::NotATranscript { what: why_not(start).to_owned(), is_begun });
    }
    let identity = format::identity(format, &head);
    let first = start.pieces.first().map_or(start.trailer, |piece| piece.body.as_slice());
    let named = |session: &str| ConversationKey(format!("{}:{session}", format.name()));
    let key = match identity.session.as_deref().filter(|session| names_one(session)) {
        Some(session) => named(session),
        None => named(Digest::of(first).hex().get(..16).unwrap_or_default()),
    };
    let parent = identity.parent.as_deref().filter(|session| names_one(session)).map(named);
    Ok(Source { format, key, parent, title: identity.title })
}

/// Most bytes of a session id. Those of known hosts have some 40, with a sub-agent's some 100.
const SESSION_ID_BYTES: usize = 512;

/// Whether a session id names one session. Files with an empty id have nothing else in common, and no person can name one by
/// an id of a page.
fn names_one(session: &str) -> bool {
    (1..=SESSION_ID_BYTES).contains(&session.len())
}

fn why_not(start: &Start<'_>) -> &'static str {
    match (start.pieces.is_empty(), start.trailer.is_empty()) {
        (true, true) => "empty file",
        (true, false) if begins_record(start.trailer) => "no complete record yet",
        (true, false) => "no JSON in it",
        (false, _) => "no JSON object at its start",
    }
}

/// Whether bytes behind the last record may be the beginning of one.
fn begins_record(trailer: &[u8]) -> bool {
    trailer.iter().any(|byte| matches!(byte, b'{' | b'['))
}

/// A JSON text with its tape.
struct Parsed {
    text: String,
    tape: Tape,
}

impl Parsed {
    fn new(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut tape = Tape::default();
        tape.read(text.as_bytes()).ok()?;
        Some(Self { text, tape })
    }

    fn object(&self) -> Option<Object<'_>> {
        self.tape.value(&self.text).and_then(Value::obj)
    }
}
