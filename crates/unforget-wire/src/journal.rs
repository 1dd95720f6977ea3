//! Writes our own journal and reads the properties by which delivered messages are recognised. The form of the journal
//! is described in `format/journal.rs`.

use unforget_core::entry::{Entry, Origin};
use unforget_core::mutants::{self, Bug};

use crate::format::{self, Format};
use crate::json::{Tape, Value, trim};
use crate::reader::{Record, large_parts};

/// A message as a host delivers it, read once.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its JSON, as one line.
    pub text: String,
    /// Its content.
    pub entry: Entry,
    /// The host's key for it, unique within its lane: an idempotency key or a response id.
    pub key: Option<String>,
    /// Whether it is our own output coming back: a summary or a stub.
    pub is_own: bool,
    /// The host's statement, in fields of its own, that the host wrote the message and no person did.
    pub provenance: Option<String>,
}

/// The source of a message, as the host declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// No declaration: a user message counts as a person's.
    #[default]
    External,
    /// Written by another session or a sub-agent.
    InterSession,
    /// An event of the host.
    InternalEvent,
    /// A repeated request of the host.
    RetryPrompt,
}

impl Provenance {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::External, Self::InterSession, Self::InternalEvent, Self::RetryPrompt];

    /// Name in journals and protocols.
    pub const fn name(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::InterSession => "inter-session",
            Self::InternalEvent => "internal-event",
            Self::RetryPrompt => "retry-prompt",
        }
    }

    /// The provenance with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The predecessor of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// The newest message of the journal.
    #[default]
    Newest,
    /// Nothing: a new beginning.
    Root,
    /// The message with this name.
    Entry(String),
}

impl After {
    /// As a field of a line, with a leading comma; empty for the newest message.
    fn field(&self) -> String {
        match self {
            Self::Newest => String::new(),
            Self::Root => r#","after":null"#.to_owned(),
            Self::Entry(name) => format!(r#","after":{}"#, quoted(name)),
        }
    }
}

/// Why a message stands beside the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffPath<'a> {
    /// It is, or may be, another copy of the entry with this name; `?` if nobody knows of which.
    Copy(&'a str),
    /// It answers the entry with this name, which had left the path when the answer came.
    Overtaken(&'a str),
}

/// One line about a message.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Form of the message.
    pub form: Format,
    /// The message: [`Message::text`].
    pub message: &'a str,
    /// The host's id of the message, if no other entry of the journal has it.
    pub id: Option<&'a str>,
    /// Its predecessor.
    pub after: &'a After,
    /// Its source.
    pub provenance: Provenance,
    /// Whether the host keeps it out of its transcript.
    pub is_volatile: bool,
    /// Its relation to an entry of the path, if it stands beside the path; prompts do not show it then.
    pub beside: Option<OffPath<'a>>,
    /// Key of its turn, if any.
    pub turn: Option<&'a str>,
    /// Time of arrival, in ms since 1970.
    pub at: i64,
}

/// Reads a delivered message.
///
/// # Errors
/// A description of the defect and its byte offset, if the body is not one JSON object in UTF-8.
///
/// Cost: O(bytes).
pub fn read_message(form: Format, body: &[u8]) -> Result<Message, String> {
    let text =
        std::str::from_utf8(body).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
    let text = trim(text);
    let mut tape = Tape::default();
    match tape.read(text.as_bytes()) {
        Ok(length) if length == text.len() => {}
        Ok(length) => return Err(format!("more than one JSON value, from byte {length} on")),
        Err(broken) => return Err(format!("not JSON: {broken:?}")),
    }
    let record = tape.value(text).and_then(Value::obj).ok_or("not a JSON object")?;
    let entry = format::decode_object(form, record);
    if form == Format::Pi && record.has("type") && !record.has("role") {
        return Err("a line of a transcript, not a message: it has a type and no role".to_owned());
    }
    let key = ["idempotencyKey", "responseId"].into_iter().find_map(|key| record.string(key));
    let is_own =
        record.is("customType", OWN) || record.obj("details").is_some_and(|details| details.has(OWN));
    let provenance = record.obj("provenance").and_then(|given| given.string("kind"));
    let is_own = is_own && !mutants::is(Bug::OwnIngested);
    let text = drop_line_breaks(text);
    let text = if mutants::is(Bug::BytesChanged) { text.replace('ü', "u") } else { text };
    Ok(Message { text, entry, key, is_own, provenance })
}

/// Marks our own messages in hosts that let us name a type.
pub const OWN: &str = "unforget";

/// Replaces line breaks by spaces. They can only stand between tokens, since JSON strings contain none.
fn drop_line_breaks(text: &str) -> String {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        text.replace(['\n', '\r'], " ")
    } else {
        text.to_owned()
    }
}

/// The first line of a journal.
pub fn header(lane: &str, form: Format, at: i64) -> String {
    let (lane, form) = (quoted(lane), quoted(form.name()));
    format!(r#"{{"unforget":1,"is":"journal","lane":{lane},"form":{form},"at":{at}}}"#)
}

/// A line about a message.
pub fn message(line: &Line<'_>) -> String {
    let (is, of) = match line.beside {
        None => ("message", None),
        Some(OffPath::Copy(of)) => ("face", Some(of)),
        Some(OffPath::Overtaken(of)) => ("overtaken", Some(of)),
    };
    let mut json =
        format!(r#"{{"unforget":1,"is":"{is}","at":{},"form":{}"#, line.at, quoted(line.form.name()));
    let origin = (line.provenance != Provenance::External).then(|| line.provenance.name());
    let fields = [("id", line.id), ("of", of), ("turn", line.turn), ("origin", origin)];
    for (name, value) in fields {
        if let Some(value) = value {
            json.push_str(r#",""#);
            json.push_str(name);
            json.push_str(r#"":"#);
            json.push_str(&quoted(value));
        }
    }
    json += &line.after.field();
    if line.is_volatile {
        json += r#","volatile":true"#;
    }
    json += r#","message":"#;
    json += line.message;
    json.push('}');
    json
}

/// A line about an event.
///
/// * `detail` - a JSON value in one line.
/// * `after` - the new end of the path.
pub fn event(event: &str, detail: Option<&str>, after: &After, at: i64) -> String {
    let detail = detail.map(|detail| format!(r#","detail":{detail}"#)).unwrap_or_default();
    let after = after.field();
    format!(r#"{{"unforget":1,"is":"event","at":{at},"event":{}{after}{detail}}}"#, quoted(event))
}

/// A line as a record for the store.
///
/// * `lead` - the bytes between it and the previous line.
pub fn record(lead: Vec<u8>, line: String) -> Record {
    let body = line.into_bytes();
    let large = large_parts(&body);
    let entry = format::decode(Format::Journal, &body);
    Record { lead, body, entry, large, warning: None }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The content of a journal line beside the entry from [`crate::decode`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The message's bytes as the host sent them.
    pub message: Option<String>,
    /// See [`Line::is_volatile`].
    pub is_volatile: bool,
    /// See [`Line::provenance`].
    pub provenance: Provenance,
    /// See [`Line::turn`].
    pub turn: Option<String>,
    /// See [`Line::id`].
    pub id: Option<String>,
    /// The entry that [`Line::beside`] names.
    pub of: Option<String>,
    /// Name of the form of the message or of the journal's messages.
    pub form: Option<String>,
    /// Name of the event.
    pub event: Option<String>,
    /// Detail of the event, as JSON.
    pub detail: Option<String>,
}

/// Reads a line that this module wrote. Any other line gives an empty value.
pub fn read_line(body: &[u8]) -> Kept {
    let text = String::from_utf8_lossy(body);
    let text = trim(&text);
    let mut tape = Tape::default();
    if tape.read(text.as_bytes()) != Ok(text.len()) {
        return Kept::default();
    }
    let Some(record) = tape.value(text).and_then(Value::obj) else { return Kept::default() };
    Kept {
        message: record.raw("message").map(str::to_owned),
        is_volatile: record.bool("volatile") == Some(true),
        provenance: record.str("origin").and_then(|name| Provenance::by_name(&name)).unwrap_or_default(),
        turn: record.string("turn"),
        of: record.string("of"),
        id: record.string("id"),
        form: record.string("form"),
        event: record.string("event"),
        detail: record.raw("detail").map(str::to_owned),
    }
}

/// Whether a message is excluded from the comparison: the host's own summary, or our output.
pub fn is_off_path(message: &Message) -> bool {
    message.is_own || matches!(message.entry.origin, Origin::HostSummary | Origin::Bookkeeping)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use Origin::{Bookkeeping, Copy, Human, Overtaken, Volatile};
    use unforget_core::entry::{HostParent, Part, Role};

    use super::*;
    use crate::Reader;

    const SAID: &str = r#"{"role":"user","content":"hi  \u00e9","timestamp":1795292714534,"odd":[1, 2]}"#;

    fn line() -> Line<'static> {
        Line {
            form: Format::Pi,
            message: SAID,
            id: None,
            after: &After::Newest,
            provenance: Provenance::External,
            is_volatile: false,
            beside: None,
            turn: None,
            at: 5,
        }
    }

    #[test]
    fn lines_come_back() {
        let lines = [
            header("agent:main", Format::Pi, 1),
            message(&Line { id: Some("e1"), turn: Some("t\"1"), ..line() }),
            message(&Line { provenance: Provenance::InterSession, is_volatile: true, ..line() }),
            message(&Line { beside: Some(OffPath::Copy("e1")), ..line() }),
            message(&Line { beside: Some(OffPath::Overtaken("e1")), ..line() }),
            event("reset", Some(r#"{"why":1}"#), &After::Root, 2),
            message(&Line { after: &After::Root, ..line() }),
            message(&Line { after: &After::Entry("e1".into()), ..line() }),
        ];
        let mut reader = Reader::open(lines.join("\n").into_bytes().leak() as &[u8]).unwrap();
        assert_eq!(reader.source().key.0, "journal:agent:main");
        let mut seen = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            assert_eq!(record.warning, None);
            seen.push((record.entry, read_line(&record.body)));
        }
        let origins: Vec<_> = seen.iter().map(|(entry, _)| entry.origin).collect();
        assert_eq!(origins, [Bookkeeping, Human, Volatile, Copy, Overtaken, Bookkeeping, Human, Human]);
        assert_eq!(seen[1].0.parts, [Part::Text("hi  é".into())]);
        assert_eq!(seen[1].1.message.as_deref(), Some(SAID), "the bytes as sent");
        assert_eq!((seen[1].1.turn.as_deref(), seen[2].1.is_volatile), (Some("t\"1"), true));
        assert_eq!((seen[1].0.host_id.as_deref(), seen[2].0.host_id.as_deref()), (Some("e1"), Some("#2")));
        assert_eq!(seen[4].1.of.as_deref(), Some("e1"));
        assert_eq!(seen[5].1.event.as_deref(), Some("reset"));
        assert_eq!(seen[6].0.parent, HostParent::Root);
        assert_eq!(seen[7].0.parent, HostParent::Id("e1".into()));
    }

    #[test]
    fn messages_are_read_or_refused() {
        let read = |text: &str| read_message(Format::Pi, text.as_bytes());
        let said = read(" {\"role\":\"user\",\n\"content\":\"a\\nb\",\"idempotencyKey\":\"k\"}\n").unwrap();
        assert_eq!(said.text, r#"{"role":"user", "content":"a\nb","idempotencyKey":"k"}"#);
        assert_eq!((said.entry.role, said.key.as_deref()), (Role::User, Some("k")));
        assert!(read(r#"{"role":"custom","customType":"unforget","content":"s"}"#).unwrap().is_own);
        for bad in ["", "[]", "{", "{} {}", "{\"a\":1}}", r#"{"type":"message","message":{}}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read_message(Format::Pi, b"{\"a\":\"\xff\"}").is_err());
    }
}
