//! Records made of the rows of a host's database, as `unforget-hosts` writes them.
//!
//! ```text
//! {"HOST":"session","row":{"id":"…","title":"…",…}}
//! {"HOST":"message","row":{"id":"…","role":"…",…},"parts":[{…}]}
//! {"HOST":"gone","id":"…"}
//! {"HOST":"rewind","to":"…"}
//! ```
//!
//! HOST is the name of the format. A row that changed is written again whole, and the later record replaces the earlier one.
//! `rewind` takes back the message with that id and all behind it; `gone` says that the host deleted a row.

use std::borrow::Cow;

use unforget_core::entry::{Entry, Media, Origin, Part, Role};

use crate::format::{Head, Identity};
use crate::json::Object;

/// Id of the record that describes the session itself.
const SESSION: &str = "session";

/// Whether a transcript with this head holds rows of a host.
pub(crate) fn is_of(head: &Head<'_>, host: &str) -> bool {
    head.records.first().is_some_and(|record| kind(*record, host).is_some())
}

/// The kind of a host's record; `None` for any other record.
pub(crate) fn kind<'a>(record: Object<'a>, host: &str) -> Option<Cow<'a, str>> {
    let (key, value) = record.fields().next()?;
    if key == host { value.str() } else { None }
}

/// The row of a host's record of this kind.
pub(crate) fn row<'a>(record: Object<'a>, host: &str, wanted: &str) -> Option<Object<'a>> {
    record.obj("row").filter(|_| kind(record, host).is_some_and(|kind| kind == wanted))
}

/// The id of the message with which a rewind begins.
pub(crate) fn rewind<'a>(record: Object<'a>, host: &str) -> Option<Cow<'a, str>> {
    record.str("to").filter(|_| kind(record, host).is_some_and(|kind| kind == "rewind"))
}

/// The conversation's identity by columns of the session's row.
pub(crate) fn identity(head: &Head<'_>, host: &str, columns: &IdentityColumns) -> Identity {
    let row = head.records.iter().find_map(|record| row(*record, host, SESSION));
    let text = |key: &str| row.and_then(|row| row.string(key)).filter(|text| !text.is_empty());
    Identity { session: text(columns.session), parent: text(columns.parent), title: text(columns.title) }
}

/// Names of the columns that tell of a session; empty for what a host does not keep.
pub(crate) struct IdentityColumns {
    pub(crate) session: &'static str,
    /// The session that started it as a sub-agent.
    pub(crate) parent: &'static str,
    pub(crate) title: &'static str,
}

/// An entry for a record that is no message.
pub(crate) fn mark(record: Object<'_>) -> Entry {
    let id = record.string("id").or_else(|| record.has("row").then(|| SESSION.to_owned()));
    Entry { host_id: id, ..Entry::bare(Origin::Bookkeeping) }
}

/// The id of a record whose row has a number.
pub(crate) fn numbered(row: Object<'_>, column: &str) -> Option<String> {
    row.i64(column).map(|number| format!("#{number}"))
}

/// The role and origin of a message of a person, a model, a tool or the host.
pub(crate) fn speaker(role: &str) -> Option<Entry> {
    let (role, origin) = match role {
        "system" | "developer" => (Role::System, Origin::Injected),
        "user" => (Role::User, Origin::Human),
        "assistant" => (Role::Assistant, Origin::Model),
        "tool" => (Role::Tool, Origin::Tool),
        _ => return None,
    };
    Some(Entry { role, ..Entry::bare(origin) })
}

/// An image or another file whose bytes are base64 in a field: in the form of pi, which every target can be given.
pub(crate) fn media(block: Object<'_>, mime: &str, data: &str) -> Part {
    let raw = format!(
        r#"{{"type":"image","data":{},"mimeType":{}}}"#,
        block.raw(data).unwrap_or(r#""""#),
        block.raw(mime).unwrap_or(r#""image/png""#)
    );
    let mime = block.string(mime).unwrap_or_else(|| "image/png".to_owned());
    Part::Media(Media { mime, size: None, raw: raw.into() })
}
