//! Hermes sessions: the rows of its database.
//!
//! ```text
//! {"hermes":"session","row":{"id":"20260301_…","title":"…","cwd":"/srv/x",…}}
//! {"hermes":"instructions","row":{"id":"…","system_prompt":"…"}}
//! {"hermes":"message","row":{"id":7,"role":"assistant","content":"…","tool_calls":[…],"timestamp":…,"active":1,"compacted":0}}
//! ```
//!
//! A message is one of OpenAI Chat; its content, if it is no plain text, is JSON behind a NUL and `json:`. A message that is neither
//! `active` nor `compacted` was taken back by the person: bookkeeping.
//!
//! Source: Hermes 0.19.0 (`hermes_state.py`). The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Origin, Part, Role};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Tape};

pub(crate) const HOST: &str = "hermes";

/// Beginning of a content that is JSON.
const JSON: &str = "\0json:";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    // A session that goes on after the host compacted it names the earlier one as its parent: both are a person's.
    let columns = IdentityColumns { session: "id", parent: "", title: "title" };
    rows::identity(head, HOST, &columns)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    if let Some(text) = rows::row(record, HOST, "instructions").and_then(|row| row.string("system_prompt")) {
        let entry = Entry { role: Role::System, ..Entry::bare(Origin::Injected) };
        return Entry { host_id: Some("instructions".to_owned()), parts: vec![Part::Text(text)], ..entry };
    }
    let Some(row) = rows::row(record, HOST, "message") else { return rows::mark(record) };
    let mut entry = openai_chat::decode(row);
    entry.host_id = rows::numbered(row, "id");
    entry.time = row.time("timestamp");
    unwrap_json(&mut entry.parts);
    if row.i64("active") == Some(0) && row.i64("compacted") != Some(1) {
        entry.origin = Origin::Bookkeeping;
    }
    entry
}

/// Puts the parts of a content that is JSON in its place.
fn unwrap_json(parts: &mut Vec<Part>) {
    let Some(Part::Text(text)) = parts.first() else { return };
    let Some(json) = text.strip_prefix(JSON) else { return };
    let mut tape = Tape::default();
    if tape.read(json.as_bytes()) != Ok(json.len()) {
        return;
    }
    let mut content = Vec::new();
    openai_chat::content(tape.value(json), &mut content);
    parts.splice(..1, content);
}
