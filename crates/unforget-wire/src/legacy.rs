//! Provenance for hosts that do not state it: the only module that looks into text to learn a fact.
//!
//! OpenClaw versions without structured provenance mark their own messages by the first words of a user message.
//! Messages of hosts that state the provenance never pass through here.

use unforget_core::entry::{Entry, Origin, Part};

use crate::journal::Provenance;

/// The beginning of a marked message, after white space, and its provenance.
///
/// Source: seed 002 (lossless-claw 688) for the first three; host.md §2 for the rest.
const MARKERS: [(&str, Provenance); 6] = [
    ("[Inter-session message]", Provenance::InterSession),
    ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>", Provenance::InternalEvent),
    ("[Internal task completion event]", Provenance::InternalEvent),
    ("[System] Your previous turn was interrupted by a gateway restart", Provenance::InternalEvent),
    ("Continue the current task from the existing transcript", Provenance::RetryPrompt),
    ("[Queued user message from a previous active turn;", Provenance::RetryPrompt),
];

/// Reads the provenance of a message from its first words.
///
/// A marker further inside is a quotation and proves nothing: a person may talk about markers.
pub fn provenance(entry: &Entry) -> Provenance {
    let Some(Part::Text(text)) = entry.parts.first().filter(|_| entry.origin == Origin::Human) else {
        return Provenance::External;
    };
    let start = without_date(text.trim_start());
    let found = MARKERS.iter().find(|(marker, _)| start.starts_with(marker));
    found.map_or(Provenance::External, |(_, provenance)| *provenance)
}

/// The provenance for OpenClaw's `provenance.kind` of a message.
pub fn kind(kind: &str) -> Option<Provenance> {
    match kind {
        "external_user" | "third_party_user" => Some(Provenance::External),
        "inter_session" => Some(Provenance::InterSession),
        "internal_system" => Some(Provenance::InternalEvent),
        _ => Provenance::by_name(kind),
    }
}

/// Removes the `[Wed 2026-05-06 10:00 UTC]` that the host puts before some messages.
fn without_date(text: &str) -> &str {
    let Some((date, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("] ")) else {
        return text;
    };
    let is_date = date.len() < 40 && date.bytes().filter(u8::is_ascii_digit).count() >= 8;
    if is_date { rest.trim_start() } else { text }
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::Role;

    use super::*;

    #[test]
    fn f040_markers_table() {
        use Provenance::{External, InterSession, InternalEvent, RetryPrompt};
        let table = [
            ("[Inter-session message] from=agent:main:sub done", InterSession, "an announcement"),
            ("\n [Inter-session message]\nx", InterSession, "behind white space"),
            ("[Wed 2026-05-06 10:00 UTC] [Inter-session message] x", InterSession, "behind the host's date"),
            ("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n…", InternalEvent, "internal context"),
            ("[Internal task completion event]\nid: 4", InternalEvent, "a task ended"),
            ("Continue the current task from the existing transcript, …", RetryPrompt, "a retry"),
            ("why does it say [Inter-session message] here?", External, "a person who quotes a marker"),
            ("[inter-session message] x", External, "not the host's spelling"),
            ("", External, "nothing"),
        ];
        for (text, want, why) in table {
            let part = Part::Text(text.to_owned());
            let entry = Entry { role: Role::User, parts: vec![part], ..Entry::bare(Origin::Human) };
            assert_eq!(provenance(&entry), want, "{why}");
            assert_eq!(provenance(&Entry { origin: Origin::Model, ..entry }), External, "only input has one");
        }
    }
}
