//! OpenClaw sessions: the rows of an agent's database.
//!
//! ```text
//! {"openclaw":"session","row":{"session_id":"…","session_key":"agent:main:…",…}}
//! {"openclaw":"event","row":{"session_id":"…","seq":4,"event_id":"…","event_json":{…},"created_at":…}}
//! ```
//!
//! An event is a line of pi's format, which the host wrote to files before; it is read as such.
//!
//! Source: OpenClaw 2026.9.6, its database. The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Origin};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity, pi};
use crate::json::Object;

pub(crate) const HOST: &str = "openclaw";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let columns =
        IdentityColumns { session: "session_id", parent: "parent_session_id", title: "display_name" };
    rows::identity(head, HOST, &columns)
}

/// The line of the transcript in a record; `None` if it holds none.
pub(crate) fn event(record: Object<'_>) -> Option<Object<'_>> {
    rows::row(record, HOST, "event")?.obj("event_json")
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(row) = rows::row(record, HOST, "event") else { return rows::mark(record) };
    let entry = event(record).map_or_else(|| Entry::bare(Origin::Opaque), pi::decode);
    // The first event has the id of the session.
    let own = row.string("event_id").filter(|id| row.str("session_id").as_deref() != Some(id));
    Entry { host_id: own.or_else(|| rows::numbered(row, "seq")), ..entry }
}
