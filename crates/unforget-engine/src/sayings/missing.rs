//! Sayings that the rows of a conversation tell, and that are not noted.

use std::collections::BTreeSet;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::saying::{Saying, SayingPlace, label_of, said_after, taken_back};
use unforget_store::{Conversation, RaisedRow, SayingRow, VerdictRow};

use super::machine;
use super::record::{EntriesDto, InsteadDto, NamedSaying, SayingRecord, SaysDto};
use crate::label::TAGS_MAX;
use crate::{Engine, EngineError};

/// Sayings that are being found.
struct FoundSayings<'a> {
    stored: &'a Conversation,
    origin: String,
    rows: Vec<SayingRow>,
}

/// The entries of a saying.
struct SaidEntries {
    span: (Seq, Seq),
    dto: EntriesDto,
}

impl FoundSayings<'_> {
    /// Adds a saying, and returns its digest.
    fn add(&mut self, made: Timestamp, entries: Option<SaidEntries>, says: SaysDto) -> Digest {
        let (span, dto) = entries.map_or((None, None), |of| (Some(of.span), Some(of.dto)));
        let record = SayingRecord {
            conversation: self.stored.key.0.clone(),
            made_ms: made.0.max(0),
            origin: self.origin.clone(),
            entries: dto,
            says,
        };
        let body = record.encoded();
        let digest = Digest::of(&body);
        self.rows.push(SayingRow { number: 0, digest, span, body });
        digest
    }
}

impl Engine {
    /// * `noted` - the sayings that are noted.
    /// * `now` - when a person changed the label just now; `None` otherwise. A blank label is then a lost one, not one taken away.
    pub(super) fn missing_sayings(
        &self,
        stored: &Conversation,
        noted: &[NamedSaying],
        now: Option<Timestamp>,
    ) -> Result<Vec<SayingRow>, EngineError> {
        let mut found = FoundSayings { stored, origin: machine(), rows: Vec::new() };
        let sayings: Vec<Saying> = noted.iter().filter_map(NamedSaying::saying).collect();
        self.missing_label(&sayings, now, &mut found)?;
        let back: BTreeSet<Digest> = taken_back(&sayings).into_keys().collect();
        for row in self.verdicts(stored.id)? {
            let Some(entries) = self.said_entries(stored.id, row.seq, row.seq)? else { continue };
            let known = noted.iter().find(|one| is_of_verdict(one, &row, &entries.dto));
            let digest = match known {
                Some(known) => known.digest,
                None => found.add(row.made, Some(entries), self.verdict_says(&row)?),
            };
            self.missing_back(
                row.withdrawn.filter(|_| !back.contains(&digest)),
                digest,
                SaidSpan { first: row.seq, last: row.seq },
                &mut found,
            )?;
        }
        for row in self.raised(stored.id)? {
            let (first, last) = row.span;
            let Some(entries) = self.said_entries(stored.id, first, last)? else { continue };
            let known = noted.iter().find(|one| is_of_raised(one, &row, &entries.dto));
            let digest = match known {
                Some(known) => known.digest,
                None => found.add(row.made, Some(entries), SaysDto::Raised { author: row.author.clone() }),
            };
            self.missing_back(
                row.withdrawn.filter(|_| !back.contains(&digest)),
                digest,
                SaidSpan { first, last },
                &mut found,
            )?;
        }
        Ok(found.rows)
    }

    fn missing_label(
        &self,
        sayings: &[Saying],
        now: Option<Timestamp>,
        found: &mut FoundSayings<'_>,
    ) -> Result<(), EngineError> {
        let row = self.label(found.stored.id)?;
        let said = label_of(sayings);
        if now.is_none() && row.is_blank() {
            return Ok(());
        }
        let made = |answered: Option<SayingPlace>| said_after(now.unwrap_or(row.changed), answered);
        let title = said.title.as_ref();
        if title.and_then(|said| said.value.as_ref()) != row.title.as_ref() {
            let at = made(title.map(|said| said.place));
            found.add(at, None, SaysDto::Title { title: row.title.clone() });
        }
        let star = said.star.as_ref();
        if star.is_some_and(|said| said.value) != row.is_starred {
            found.add(made(star.map(|said| said.place)), None, SaysDto::Star { starred: row.is_starred });
        }
        let there: BTreeSet<&str> = said.tags_there(TAGS_MAX).into_iter().collect();
        let is: BTreeSet<&str> = row.tags.iter().map(String::as_str).collect();
        for tag in there.symmetric_difference(&is) {
            let at = made(said.tags.get(*tag).map(|said| said.place));
            found.add(at, None, SaysDto::Tag { tag: (*tag).to_owned(), there: is.contains(tag) });
        }
        Ok(())
    }

    /// Adds that a saying was taken back, if it was.
    fn missing_back(
        &self,
        withdrawn: Option<Timestamp>,
        of: Digest,
        span: SaidSpan,
        found: &mut FoundSayings<'_>,
    ) -> Result<(), EngineError> {
        let Some(made) = withdrawn else { return Ok(()) };
        let entries = self.said_entries(found.stored.id, span.first, span.last)?;
        if entries.is_some() {
            found.add(made, entries, SaysDto::TakenBack { of: of.hex() });
        }
        Ok(())
    }

    /// The heads of the chain at entries; `None` if one of them is purged.
    fn said_entries(
        &self,
        id: ConversationId,
        first: Seq,
        last: Seq,
    ) -> Result<Option<SaidEntries>, EngineError> {
        let mut heads = Vec::new();
        for seq in [first, last] {
            let row = self.store().rows(id, seq.0..seq.0.saturating_add(1))?.pop();
            heads.extend(row.filter(|row| !row.purged).map(|row| row.chain.0.hex()));
        }
        let [first_head, last_head] = heads.as_slice() else { return Ok(None) };
        let dto = EntriesDto { first: first_head.clone(), last: last_head.clone() };
        Ok(Some(SaidEntries { span: (first, last), dto }))
    }

    fn verdict_says(&self, row: &VerdictRow) -> Result<SaysDto, EngineError> {
        Ok(SaysDto::Verdict {
            line: row.line.clone(),
            why: row.why.clone(),
            instead: row.instead.as_deref().map(|name| self.instead_said(name)).transpose()?.flatten(),
            author: row.author.clone(),
        })
    }

    /// An entry of a name such as `e:KEY:12`, as other machines find it; `None` if it is not there.
    fn instead_said(&self, name: &str) -> Result<Option<InsteadDto>, EngineError> {
        let Some((key, seq)) = name.strip_prefix("e:").and_then(|name| name.rsplit_once(':')) else {
            return Ok(None);
        };
        let stored = self.store().find(&unforget_core::id::ConversationKey(key.to_owned()))?;
        let (Some(stored), Ok(seq)) = (stored, seq.parse::<u64>()) else { return Ok(None) };
        let row = self.store().rows(stored.id, seq..seq.saturating_add(1))?.pop();
        Ok(row.map(|row| InsteadDto { conversation: stored.key.0, entry: row.chain.0.hex() }))
    }
}

/// First and last entry.
#[derive(Clone, Copy)]
struct SaidSpan {
    first: Seq,
    last: Seq,
}

/// Whether a saying is the one of a verdict. What holds in its place may be elsewhere, and does not count.
pub(super) fn is_of_verdict(one: &NamedSaying, row: &VerdictRow, entries: &EntriesDto) -> bool {
    let SaysDto::Verdict { line, why, author, .. } = &one.record.says else { return false };
    one.record.made_ms == row.made.0
        && one.record.entries.as_ref() == Some(entries)
        && (line, why, author) == (&row.line, &row.why, &row.author)
}

/// Whether a saying is the one of a raised span.
pub(super) fn is_of_raised(one: &NamedSaying, row: &RaisedRow, entries: &EntriesDto) -> bool {
    let SaysDto::Raised { author } = &one.record.says else { return false };
    one.record.made_ms == row.made.0 && one.record.entries.as_ref() == Some(entries) && *author == row.author
}
