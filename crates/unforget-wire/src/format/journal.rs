//! Our own journal: a live host's deliveries, one record per line, in order of arrival.
//!
//! ```text
//! {"unforget":1,"is":"journal","lane":"agent:main","form":"pi","at":1795292714534}
//! {"unforget":1,"is":"message","at":…,"id":"…","after":"…","origin":"inter-session","volatile":true,"turn":"…","message":{…}}
//! {"unforget":1,"is":"face","at":…,"of":"…","message":{…}}
//! {"unforget":1,"is":"overtaken","at":…,"of":"…","message":{…}}
//! {"unforget":1,"is":"event","at":…,"event":"reset","detail":{…}}
//! ```
//!
//! `message` holds the bytes as the host sent them, in the journal's `form` (or the line's own). `after` names the
//! predecessor of the message where that is not the previous line's: `null` for a new beginning.
//!
//! **Model-visible:** `message`. **Second copies:** `face`, a message in another form, or a possible replay. **Beside
//! every path:** `overtaken`, an answer whose call (`of`) had left the path. **Noise:** the header, events.
//!
//! A record without `id` is named by its index among all records, header included: `#3`.

use unforget_core::entry::{Entry, HostParent, Origin, Role};

use crate::format::{self, Format, Head, Identity};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    head.records.first().is_some_and(|record| is_ours(*record))
}

fn is_ours(record: Object<'_>) -> bool {
    record.i64("unforget").is_some() && record.str("is").is_some()
}

/// The lane in the header.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let header = head.records.iter().find(|record| record.is("is", "journal"));
    let get = |key| header.and_then(|header| header.string(key));
    Identity { session: get("lane"), parent: get("parent"), title: get("title") }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let mut entry = match record.str("is").as_deref() {
        Some("message") => message(record),
        Some("face") => Entry { origin: Origin::Copy, ..message(record) },
        Some("overtaken") => Entry { origin: Origin::Overtaken, ..message(record) },
        Some("journal" | "event") => Entry::bare(Origin::Bookkeeping),
        _ => Entry::bare(Origin::Opaque),
    };
    entry.host_id = record.string("id");
    entry.parent = match record.get("after") {
        Some(after) if after.is_null() => HostParent::Root,
        Some(after) => after.str().map_or(HostParent::Previous, |id| HostParent::Id(id.into_owned())),
        None => HostParent::Previous,
    };
    if entry.time.is_none() {
        // A host without a clock writes 0.
        entry.time = record.time("at").filter(|time| time.0 > 0);
    }
    entry
}

fn message(record: Object<'_>) -> Entry {
    let form = record.str("form").and_then(|name| Format::by_name(&name)).unwrap_or(Format::Pi);
    let inner = record.get("message").and_then(Value::obj);
    let Some(inner) = inner.filter(|_| form != Format::Journal) else { return Entry::bare(Origin::Opaque) };
    let entry = format::decode_object(form, inner);
    let is_person = !record.has("origin");
    let is_input = matches!(entry.origin, Origin::Human | Origin::Injected);
    if is_input && record.bool("volatile") == Some(true) {
        // Instructions in the middle are input like any other.
        return Entry { role: Role::User, origin: Origin::Volatile, thread: None, ..entry };
    }
    let origin = if entry.origin == Origin::Human && !is_person { Origin::Injected } else { entry.origin };
    Entry { origin, thread: None, ..entry }
}
