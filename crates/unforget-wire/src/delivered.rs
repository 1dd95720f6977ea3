//! Records of a transcript as the messages that a live host would have delivered.

use std::fmt::Write as _;

use unforget_core::entry::Origin;

use crate::format::Format;
use crate::journal::{self, Provenance};
use crate::json::{Object, Tape, Value, trim};
use crate::reader::Record;

/// Fields of a pi line that are not of its message.
const LINE_FIELDS: [&str; 3] = ["type", "id", "parentId"];

/// The message of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedMessage {
    /// Form of the message.
    pub form: Format,
    /// The message as JSON.
    pub body: String,
    /// The statement of a live host beside the message, if the transcript is such a host's journal.
    pub provenance: Option<Provenance>,
    /// Whether the host keeps the message out of its transcript.
    pub is_volatile: bool,
    /// Whether the message tells its own time.
    pub is_dated: bool,
}

/// The message of a record, as a live host hands it over: for pi the message without its line, for our own journal the
/// message in its line, for all other formats the record itself. `None` for a record that is not for a model.
///
/// * `format` - of the transcript.
///
/// Cost: O(bytes).
pub fn message_of(format: Format, record: &Record) -> Option<RecordedMessage> {
    let entry = &record.entry;
    if !entry.origin.is_visible() && entry.origin != Origin::HostSummary {
        return None;
    }
    match format {
        Format::Pi => pi(record),
        Format::Journal => journaled(record),
        _ => {
            let text = String::from_utf8_lossy(&record.body);
            Some(RecordedMessage { is_dated: entry.time.is_some(), ..whole(format, trim(&text)) })
        }
    }
}

fn whole(form: Format, body: &str) -> RecordedMessage {
    let body = body.to_owned();
    RecordedMessage { form, body, provenance: None, is_volatile: false, is_dated: false }
}

fn pi(record: &Record) -> Option<RecordedMessage> {
    let text = String::from_utf8_lossy(&record.body);
    let text = trim(&text);
    let mut tape = Tape::default();
    tape.read(text.as_bytes()).ok()?;
    let line = tape.value(text).and_then(Value::obj)?;
    let is_dated = |message: Object<'_>| message.time("timestamp").is_some();
    let head = match line.str("type").as_deref() {
        Some("custom_message") => r#""role":"custom""#,
        Some("compaction") => r#""role":"compactionSummary""#,
        // The words of an abandoned branch keep the author by which prompts tell them from a compaction's.
        Some("branch_summary") => r#""role":"compactionSummary","author":"branch""#,
        Some(_) => {
            let message = line.obj("message")?;
            return Some(RecordedMessage {
                is_dated: is_dated(message),
                ..whole(Format::Pi, message.raw_text())
            });
        }
        None => return Some(RecordedMessage { is_dated: is_dated(line), ..whole(Format::Pi, text) }),
    };
    Some(RecordedMessage { is_dated: is_dated(line), ..whole(Format::Pi, &behind(head, line)) })
}

/// A line that is a message by itself: these fields, and then its own.
fn behind(head: &str, line: Object<'_>) -> String {
    let mut json = format!("{{{head}");
    for (key, value) in line.members() {
        if !key.str().is_some_and(|key| LINE_FIELDS.contains(&&*key)) {
            // Writing to a string never fails.
            _ = write!(json, ",{}:{}", key.raw(), value.raw());
        }
    }
    json.push('}');
    json
}

fn journaled(record: &Record) -> Option<RecordedMessage> {
    let kept = journal::read_line(&record.body);
    let form = kept.form.as_deref().and_then(Format::by_name).unwrap_or(Format::Pi);
    let (provenance, is_volatile) = (Some(kept.provenance), kept.is_volatile);
    Some(RecordedMessage { provenance, is_volatile, ..whole(form, &kept.message?) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::Reader;

    /// The messages of a transcript, with its records.
    fn messages(text: &str) -> Vec<(Record, Option<RecordedMessage>)> {
        let mut reader = Reader::open(text.as_bytes()).unwrap();
        let format = reader.source().format;
        let mut all = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            let message = message_of(format, &record);
            all.push((record, message));
        }
        all
    }

    #[test]
    fn pi_lines_become_messages_with_the_same_content() {
        let lines = [
            (
                r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
                None,
            ),
            (
                r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi  é","odd":[1, 2]}}"#,
                Some((r#"{"role":"user","content":"hi  é","odd":[1, 2]}"#, false)),
            ),
            (
                r#"{"type":"custom_message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","content":"note","display":true}"#,
                Some((
                    r#"{"role":"custom","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","content":"note","display":true}"#,
                    true,
                )),
            ),
            (
                r#"{"type":"compaction","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","summary":"So far.","tokensBefore":9}"#,
                Some((
                    r#"{"role":"compactionSummary","timestamp":"2026-01-01T00:00:03.000Z","summary":"So far.","tokensBefore":9}"#,
                    true,
                )),
            ),
            (
                r#"{"type":"branch_summary","id":"e","parentId":"c","timestamp":"2026-01-01T00:00:03.000Z","fromId":"b","summary":"No."}"#,
                Some((
                    r#"{"role":"compactionSummary","author":"branch","timestamp":"2026-01-01T00:00:03.000Z","fromId":"b","summary":"No."}"#,
                    true,
                )),
            ),
            (r#"{"type":"label","id":"d","parentId":"c","timestamp":"2026-01-01T00:00:03.000Z"}"#, None),
        ];
        let text = lines.map(|(line, _)| line).join("\n") + "\n";
        for ((record, message), (line, want)) in messages(&text).into_iter().zip(lines) {
            let found = message.as_ref().map(|message| (message.body.as_str(), message.is_dated));
            assert_eq!(found, want, "{line}");
            let Some(message) = message else { continue };
            let read = journal::read_message(message.form, message.body.as_bytes()).unwrap();
            let as_read = |entry: &unforget_core::entry::Entry| {
                (entry.role, entry.origin, entry.author.clone(), entry.parts.clone())
            };
            assert_eq!(as_read(&read.entry), as_read(&record.entry), "{line}");
        }
    }

    #[test]
    fn lines_of_a_journal_give_back_their_messages() {
        let said = r#"{"role":"user","content":"hi"}"#;
        let line = journal::Line {
            form: Format::OpenAiChat,
            message: said,
            id: Some("e1"),
            after: &journal::After::Newest,
            provenance: Provenance::RetryPrompt,
            is_volatile: true,
            beside: None,
            turn: None,
            at: 1_795_292_714_534,
        };
        let text = format!(
            "{}\n{}\n",
            journal::header("agent:main", Format::OpenAiChat, 1_795_292_714_534),
            journal::message(&line)
        );
        let found: Vec<_> = messages(&text).into_iter().filter_map(|(_, message)| message).collect();
        let want = RecordedMessage {
            provenance: Some(Provenance::RetryPrompt),
            is_volatile: true,
            ..whole(Format::OpenAiChat, said)
        };
        assert_eq!(found, [want]);
    }
}
