//! Finds possible improvements, each with the command that makes it.

use std::fs;
use std::iter::once;
use std::path::Path;
use std::time::UNIX_EPOCH;

use unforget_core::entry::Origin;
use unforget_core::id::Seq;
use unforget_recall::segment::SegmentReader;
use unforget_store::{Conversation, Snapshot, walk};
use unforget_text::numbers::plural;

use super::unfinished::is_unfinished;
use crate::index::{UNINDEXED_MAX, gaps, heads};
use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// An issue that a person may want to fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Description of the issue.
    pub what: String,
    /// Place of the issue: a key, an entry or a path.
    pub place: String,
    /// The command that fixes the issue or shows more.
    pub command: String,
}

impl Engine {
    /// Looks for unfinished, stale or inconsistent data. Reads rows and heads, not the bytes, which `verify` reads.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn doctor(&self) -> Result<Vec<Finding>, EngineError> {
        let mut findings = Vec::new();
        for conversation in walk(|page| self.store().conversations(page)) {
            let conversation = conversation?;
            let latest = self.store().latest_snapshot(conversation.id)?;
            check_import(&conversation, latest.as_ref(), &mut findings);
            self.check_parent(&conversation, &mut findings)?;
            self.check_search(&conversation, &mut findings)?;
            self.check_waiting(&conversation, &mut findings)?;
            self.check_records(&conversation, &mut findings)?;
        }
        let passed_over =
            self.store().broken_rows().into_iter().filter(|broken| broken.kind == "conversation");
        findings.extend(passed_over.map(|broken| Finding {
            what: format!("{}: {}", plural(broken.rows, "damaged row"), broken.what),
            place: "the database".to_owned(),
            command: "unforget restore FILE".to_owned(),
        }));
        Ok(findings)
    }

    fn check_parent(
        &self,
        conversation: &Conversation,
        findings: &mut Vec<Finding>,
    ) -> Result<(), EngineError> {
        let Some(parent) = &conversation.parent else { return Ok(()) };
        if self.store().find(parent)?.is_none() {
            let what = format!("the conversation that started it, {parent}, is not stored");
            let command = "unforget import FOLDER".to_owned();
            findings.push(Finding { what, place: conversation.key.0.clone(), command });
        }
        Ok(())
    }

    fn check_search(
        &self,
        conversation: &Conversation,
        findings: &mut Vec<Finding>,
    ) -> Result<(), EngineError> {
        let heads = heads(self.store(), conversation.id)?;
        let missing: u64 = gaps(&heads, conversation.entries).iter().map(|gap| gap.end - gap.start).sum();
        let broken = heads
            .iter()
            .filter(|head| !head.header.is_empty() && SegmentReader::parse(&head.header).is_err())
            .count();
        let command = format!("unforget reindex {}", quoted(&conversation.key.0));
        let place = conversation.key.0.clone();
        if broken > 0 {
            let what = format!("{broken} segments of the search index cannot be read");
            findings.push(Finding { what, place, command });
        } else if missing > UNINDEXED_MAX {
            let what = format!("{missing} entries are not in the search index; searches read them each time");
            findings.push(Finding { what, place, command });
        }
        Ok(())
    }

    /// Entries that wait for vectors. Where a daemon owns the database, they get them in the background.
    fn check_waiting(
        &self,
        conversation: &Conversation,
        findings: &mut Vec<Finding>,
    ) -> Result<(), EngineError> {
        let Some(model) = self.meaning() else { return Ok(()) };
        let left = self.meaning_state(conversation, &model)?.left;
        if left > 0 {
            let what = format!(
                "entries wait for vectors of {}: until then, searches know only their words",
                model.name()
            );
            let place = format!("{} ({left} of {})", conversation.key, conversation.entries);
            findings.push(Finding { what, place, command: "unforget embed".to_owned() });
        }
        Ok(())
    }

    fn check_records(
        &self,
        conversation: &Conversation,
        findings: &mut Vec<Finding>,
    ) -> Result<(), EngineError> {
        if conversation.format == "unknown" {
            return Ok(());
        }
        let mut opaque = 0_u64;
        let mut first = None;
        for row in stored_rows(self.store(), conversation.id, once(0..conversation.entries)) {
            let row = row?;
            if row.origin == Origin::Opaque && !row.purged {
                opaque += 1;
                first.get_or_insert(row.seq);
            }
        }
        if let Some(Seq(seq)) = first {
            let what = format!(
                "{} without a parser that understands it; kept, never shown to a model",
                plural(opaque, "record")
            );
            let place = format!("e:{}:{seq}", conversation.key);
            let command = format!("unforget expand {}", quoted(&place));
            findings.push(Finding { what, place, command });
        }
        Ok(())
    }
}

fn check_import(conversation: &Conversation, latest: Option<&Snapshot>, findings: &mut Vec<Finding>) {
    let place = conversation.key.0.clone();
    if is_unfinished(conversation, latest) {
        let what = format!("{} entries and no whole file: an import was interrupted", conversation.entries);
        let file = latest.map_or_else(|| "FILE".to_owned(), |latest| quoted(&latest.path));
        findings.push(Finding { what, place, command: format!("unforget import {file}") });
        return;
    }
    let Some(latest) = latest else { return };
    // A name with escapes is not a path; a deleted file is a normal reason to keep its transcript here.
    let Ok(facts) = fs::metadata(Path::new(&latest.path)) else { return };
    let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let is_newer = modified.is_some_and(|time| time.as_nanos() as i128 > latest.modified_ns);
    if facts.len() != latest.file_bytes && is_newer {
        let what =
            format!("the file has {} bytes now, {} when it was imported", facts.len(), latest.file_bytes);
        let command = format!("unforget import {}", quoted(&latest.path));
        findings.push(Finding { what, place, command });
    }
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_table() {
        let table = [
            ("/a/b.jsonl", "/a/b.jsonl", "plain"),
            ("/a b", "'/a b'", "a space"),
            ("it's", r"'it'\''s'", "a quote"),
            ("$(rm)", "'$(rm)'", "nothing is run"),
            ("", "''", "nothing"),
        ];
        for (text, want, why) in table {
            assert_eq!(quoted(text), want, "{why}");
        }
    }
}
