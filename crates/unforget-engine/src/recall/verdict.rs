//! What people and agents said of stored entries: wrong, or superseded. Recall shows the word beside the entry, ranks
//! the entry behind others, and never brings it unasked.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_store::VerdictRow;
use unforget_text::{Summary, is_meant};

use super::name::Address;
use super::search::Hit;
use super::text;
use crate::presence::{Presence, PresenceCache};
use crate::{Engine, EngineError};

/// Most bytes of a reason, and of the words that are meant.
const VERDICT_BYTES: usize = 2_000;

/// A word on an entry, before it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewVerdict<'a> {
    /// The words that are meant, as they stand in the entry up to white space; `None` for the whole entry.
    pub line: Option<&'a str>,
    /// The reason, at most 2,000 bytes.
    pub why: &'a str,
    /// The name of an entry that holds now, in the form of [`Engine::address`].
    pub instead: Option<&'a str>,
    /// The author: a person, or the name of an agent.
    pub author: &'a str,
}

/// A verdict that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedVerdict {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its number in the conversation.
    pub number: u64,
}

/// The verdicts of the conversations that were asked for, read once each.
#[derive(Default)]
pub(crate) struct VerdictCache(BTreeMap<ConversationId, Vec<VerdictRow>>);

impl VerdictCache {
    /// The verdict to show beside an entry: the newest one on the whole entry, else the newest one on words of it.
    ///
    /// Cost: one read of the store per conversation.
    pub(super) fn shown(
        &mut self,
        engine: &Engine,
        id: ConversationId,
        seq: Seq,
    ) -> Result<Option<VerdictRow>, EngineError> {
        let standing = self.standing(engine, id, seq)?;
        Ok(standing.max_by_key(|row| (row.line.is_none(), row.number)).cloned())
    }

    /// Whether any verdict on an entry is about a statement of it.
    ///
    /// Cost: one read of the store per conversation.
    pub(crate) fn rejects(
        &mut self,
        engine: &Engine,
        id: ConversationId,
        seq: Seq,
        statement: &str,
    ) -> Result<bool, EngineError> {
        Ok(self.standing(engine, id, seq)?.any(|row| is_about(row, statement)))
    }

    /// The verdicts on an entry that nobody took back.
    fn standing(
        &mut self,
        engine: &Engine,
        id: ConversationId,
        seq: Seq,
    ) -> Result<impl Iterator<Item = &VerdictRow>, EngineError> {
        let rows = match self.0.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(engine.verdicts_now(id)?),
        };
        Ok(rows.iter().filter(move |row| row.seq == seq && row.is_standing()))
    }
}

/// Whether a verdict is about a statement of its entry: about all of the entry, or about words that the statement shares.
fn is_about(verdict: &VerdictRow, statement: &str) -> bool {
    verdict.line.as_ref().is_none_or(|line| is_meant(line, statement))
}

/// Puts the hits that somebody called wrong as a whole behind the others, or leaves them out if nobody asked.
pub(super) fn rejected_last(hits: &mut Vec<Hit>, is_unasked: bool) {
    let is_rejected = |hit: &Hit| hit.verdict.as_ref().is_some_and(|verdict| verdict.line.is_none());
    if is_unasked {
        hits.retain(|hit| hit.verdict.is_none());
    }
    // Stable: the order of the ranking stays within both groups.
    hits.sort_by_key(is_rejected);
}

/// A text with single blanks for all white space.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Engine {
    /// The verdicts of a conversation, on the entries as its transcript has them now: one on an entry that the transcript
    /// has again holds for it too.
    fn verdicts_now(&self, id: ConversationId) -> Result<Vec<VerdictRow>, EngineError> {
        let mut verdicts = self.verdicts(id)?;
        if verdicts.is_empty() {
            return Ok(verdicts);
        }
        let conversation = self.store().conversation(id)?;
        let mut presences = PresenceCache::default();
        for verdict in &mut verdicts {
            let row = self.row(id, verdict.seq)?;
            if let Presence::Repeated(now) = presences.presence(self, &conversation, &row)? {
                verdict.seq = now;
            }
        }
        Ok(verdicts)
    }

    /// All verdicts of a conversation, by number, also those that were taken back.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn verdicts(&self, id: ConversationId) -> Result<Vec<VerdictRow>, EngineError> {
        Ok(self.store().said(id)?.verdicts)
    }

    /// The one entry of a conversation that a name stands for.
    ///
    /// * `name` - `12`, `s:12` or `e:KEY:12`.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if it is none, several, or one of another conversation.
    pub fn entry_of(&self, id: ConversationId, name: &str) -> Result<Seq, EngineError> {
        let (of, seq) = self.entry_named(Some(id), name)?;
        if of == id {
            return Ok(seq);
        }
        Err(EngineError::Usage {
            what: format!("{name} belongs to another conversation"),
            hint: "name an entry of this conversation: s:12".to_owned(),
        })
    }

    /// Records that what a name stands for is wrong or superseded: an entry, words of it, or a statement of a summary.
    ///
    /// * `scope` - the only permitted conversation; `None` for any.
    /// * `name` - of one entry, or of a summary; then [`NewVerdict::line`] says which statement.
    ///
    /// A statement of a summary is recorded at the entry that it is from, in the summary's words: no prompt shows it any more.
    ///
    /// # Errors
    /// As [`Engine::reject`]; [`EngineError::Usage`] too if the summary has no such statement.
    pub fn reject_named(
        &self,
        scope: Option<ConversationId>,
        name: &str,
        new: &NewVerdict<'_>,
        now: Timestamp,
    ) -> Result<RecordedVerdict, EngineError> {
        if !name.starts_with("sum:") {
            let (conversation, seq) = match scope {
                Some(id) => (id, self.entry_of(id, name)?),
                None => self.entry_named(None, name)?,
            };
            let number = self.reject(conversation, seq, new, now)?;
            return Ok(RecordedVerdict { conversation, number });
        }
        let usage = |what: String, hint: &str| EngineError::Usage { what, hint: hint.to_owned() };
        let Address::Summary { conversation, row } = self.address_within(scope, name)? else {
            return Err(usage(format!("{name} is no summary"), "name an entry: e:KEY:12"));
        };
        let Some(line) = new.line else {
            return Err(usage(
                "a summary is rejected by its statements".to_owned(),
                "say which: --line WORDS, as the prompt shows them",
            ));
        };
        let rewrite = self.store().rewrite(conversation, &row.key)?;
        let bodies = rewrite.iter().map(|row| &row.body).chain([&row.body]);
        let meant = bodies.filter_map(|body| Summary::parse(body).ok()).find_map(|summary| {
            let item = summary.statement(line)?;
            Some((item.seqs.first().copied().unwrap_or(row.span.0), item.text.clone()))
        });
        let Some((seq, words)) = meant else {
            return Err(usage(
                format!("{name} has no statement with these words"),
                "copy a whole line of `unforget describe`, or of the prompt",
            ));
        };
        let new = NewVerdict { line: Some(&words), ..*new };
        let number = self.record(conversation, seq, &new, now)?;
        Ok(RecordedVerdict { conversation, number })
    }

    /// Records that an entry, or words of it, are wrong or superseded. Returns the verdict's number.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if there is no reason, the reason or the words are too long, the words do not stand in the
    /// entry, or `instead` names no single entry.
    pub fn reject(
        &self,
        id: ConversationId,
        seq: Seq,
        new: &NewVerdict<'_>,
        now: Timestamp,
    ) -> Result<u64, EngineError> {
        if let Some(line) = new.line.map(str::trim) {
            let entries = self.entries_in(id, seq.0..seq.0 + 1)?;
            let whole = entries.first().map(|(_, entry)| text::text(entry)).unwrap_or_default();
            if line.is_empty() || !squeezed(&whole).contains(&squeezed(line)) {
                let what = format!("entry {seq} does not say these words");
                let hint = "copy them from `unforget expand`, or leave --line out".to_owned();
                return Err(EngineError::Usage { what, hint });
            }
        } else {
            self.row(id, seq)?;
        }
        self.record(id, seq, new, now)
    }

    /// Stores a verdict on words that were checked.
    fn record(
        &self,
        id: ConversationId,
        seq: Seq,
        new: &NewVerdict<'_>,
        now: Timestamp,
    ) -> Result<u64, EngineError> {
        let (why, line) = (new.why.trim(), new.line.map(str::trim));
        let usage = |what: String, hint: &str| EngineError::Usage { what, hint: hint.to_owned() };
        if why.is_empty() {
            return Err(usage("a verdict needs a reason".to_owned(), "say why: --why TEXT"));
        }
        if why.len().max(line.map_or(0, str::len)) > VERDICT_BYTES {
            let what = format!("the reason or the words are longer than {VERDICT_BYTES} bytes");
            return Err(usage(what, "say it shorter"));
        }
        let instead = match new.instead {
            Some(name) => {
                let (of, seq) = self.entry_named(Some(id), name)?;
                Some(format!("e:{}:{seq}", self.store().conversation(of)?.key.0))
            }
            None => None,
        };
        let row = VerdictRow {
            number: 0,
            seq,
            line: line.map(str::to_owned),
            why: why.to_owned(),
            instead,
            author: new.author.to_owned(),
            made: now,
            withdrawn: None,
        };
        let number = self.store().put_verdict(id, &row)?;
        self.note_sayings(id)?;
        Ok(number)
    }

    /// Takes a verdict back.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if no verdict of this number stands.
    pub fn withdraw_verdict(
        &self,
        id: ConversationId,
        number: u64,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        if self.store().withdraw_verdict(id, number, now)? {
            return self.note_sayings(id);
        }
        Err(EngineError::Usage {
            what: format!("no verdict {number} stands in this conversation"),
            hint: "`unforget reject --list` shows the verdicts".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::recall::{Grant, Question, SearchQuery};

    const TALK: &str = concat!(
        r#"{"role":"user","content":"Which port does the heron service use?"}"#,
        "\n",
        r#"{"role":"assistant","content":"The heron service listens on port 8080. Its log is in /var/log/heron.log."}"#,
        "\n",
        r#"{"role":"assistant","content":"I moved the heron service to port 9090, because 8080 was taken."}"#,
        "\n",
    );

    fn engine() -> (Engine, ConversationId) {
        let engine = Engine::in_memory();
        let key = engine.import_reader(TALK.as_bytes(), "talk").unwrap().conversation;
        let id = engine.store().find(&key).unwrap().unwrap().id;
        (engine, id)
    }

    fn new<'a>(line: Option<&'a str>, why: &'a str) -> NewVerdict<'a> {
        NewVerdict { line, why, instead: Some("s:2"), author: "ann" }
    }

    fn order(engine: &Engine, is_unasked: bool) -> Vec<u64> {
        let text = "heron service listens on port 8080".to_owned();
        let wanted = SearchQuery { text, is_unasked, ..SearchQuery::default() };
        engine.search(&wanted).unwrap().results.iter().map(|hit| hit.seq.0).collect()
    }

    #[test]
    fn a_rejected_entry_ranks_last_and_is_never_offered() {
        let (engine, id) = engine();
        assert_eq!(order(&engine, false)[0], 1);
        let number = engine.reject(id, Seq(1), &new(None, "moved"), Timestamp(1)).unwrap();
        let after = order(&engine, false);
        assert_eq!(after.last(), Some(&1), "found, and behind the others: {after:?}");
        assert!(!order(&engine, true).contains(&1), "nobody asked");
        engine.withdraw_verdict(id, number, Timestamp(2)).unwrap();
        assert_eq!(order(&engine, false)[0], 1, "as before");
        assert!(engine.withdraw_verdict(id, number, Timestamp(3)).is_err(), "nothing stands any more");
    }

    #[test]
    fn an_answer_quotes_no_rejected_line() {
        let (engine, id) = engine();
        let question = Question { text: "Which port does the heron service use?", ..Question::default() };
        let quoted = |engine: &Engine| -> Vec<String> {
            let answer = engine.answer(&question, &Grant::default(), None).unwrap();
            answer.lines.into_iter().map(|line| line.text).collect()
        };
        let old = "The heron service listens on port 8080.";
        assert!(quoted(&engine).iter().any(|line| line == old), "{:?}", quoted(&engine));
        engine
            .reject(id, Seq(1), &new(Some("service listens  on port 8080"), "moved"), Timestamp(1))
            .unwrap();
        let after = quoted(&engine);
        assert!(!after.iter().any(|line| line == old), "{after:?}");
        assert!(after.iter().any(|line| line.contains("9090")), "{after:?}");
    }

    #[test]
    fn each_of_several_rejected_lines_is_left_out() {
        let (engine, id) = engine();
        let mut verdicts = VerdictCache::default();
        for line in ["listens on port 8080", "Its log is in"] {
            engine.reject(id, Seq(1), &new(Some(line), "no"), Timestamp(1)).unwrap();
        }
        let table = [
            (1, "The heron service listens on port 8080.", true, "the first"),
            (1, "Its log is in /var/log/heron.log.", true, "the second"),
            (1, "The heron", false, "words that no verdict has"),
            (2, "listens on port 8080", false, "another entry"),
        ];
        for (seq, statement, want, why) in table {
            assert_eq!(verdicts.rejects(&engine, id, Seq(seq), statement).unwrap(), want, "{why}");
        }
    }

    #[test]
    fn a_verdict_on_a_copy_holds_for_the_hit_that_stands_for_it() {
        let (engine, _) = engine();
        let longer =
            format!("{TALK}{}\n", r#"{"role":"user","content":"Thanks."}"#).replace("Which", "And which");
        let key = engine.import_reader(longer.as_bytes(), "copy").unwrap().conversation;
        let copy = engine.store().find(&key).unwrap().unwrap().id;
        engine.reject(copy, Seq(1), &new(None, "moved"), Timestamp(1)).unwrap();
        let text = "heron service listens on port 8080".to_owned();
        let found = engine.search(&SearchQuery { text, ..SearchQuery::default() }).unwrap().results;
        let hit = found.iter().find(|hit| hit.text.contains("listens on")).unwrap();
        assert_eq!((hit.also.len(), hit.verdict.is_some()), (1, true), "{hit:?}");
    }

    #[test]
    fn bad_verdicts_table() {
        let (engine, id) = engine();
        let long = "x".repeat(VERDICT_BYTES + 1);
        let table = [
            (Seq(1), new(None, "  "), "no reason"),
            (Seq(1), new(None, &long), "a reason without end"),
            (Seq(1), new(Some("port 1234"), "no"), "words that nobody said"),
            (Seq(1), new(Some(" "), "no"), "no words"),
            (Seq(9), new(None, "no"), "no such entry"),
            (Seq(1), NewVerdict { instead: Some("s:0-1"), ..new(None, "no") }, "two entries instead"),
        ];
        for (seq, bad, why) in table {
            assert!(engine.reject(id, seq, &bad, Timestamp(1)).is_err(), "{why}");
        }
        assert_eq!(engine.verdicts(id).unwrap(), [], "nothing was recorded");
    }
}
