//! Expands a name: to a description, or to the entries themselves, page by page.

use std::ops::Range;

use unforget_core::entry::{Origin, Role};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_core::tokens::Ruler;
use unforget_store::{EntryRow, Raw, SummaryRow, read_all};
use unforget_wire::{Format, decode};

use super::copies::EntryCopy;
use super::name::Address;
use super::outlined::SpanOutline;
use super::text;
use crate::rows::{stored_raw, stored_row, stored_rows};
use crate::summarise::Writer;
use crate::summary_name::summary_name;
use crate::{Engine, EngineError};

/// Maximum characters of an entry shown in a description.
const PREVIEW_CHARS: usize = 200;

/// The cursor of the first page of words, behind an outline.
pub const VERBATIM: &str = "0.0";

/// Minimum size of a page in tokens; smaller pages would make no progress.
const PAGE_MIN: u64 = 64;

/// A short description of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name.
    pub name: String,
    /// `entry`, `entries` or `summary`.
    pub kind: &'static str,
    /// Key of the conversation.
    pub conversation: ConversationKey,
    /// Seqs of the first and the last entry.
    pub span: (Seq, Seq),
    /// Number of entries returned by `expand`.
    pub entries: u64,
    /// Tokens of these entries.
    pub tokens: u64,
    /// Times of the first and the last entry with a time.
    pub time: Option<(Timestamp, Timestamp)>,
    /// Number of entries per role, in the order of [`Role`].
    pub roles: Vec<(Role, u64)>,
    /// Author of the summary, if the name stands for a summary.
    pub writer: Option<Writer>,
    /// Names of the summaries merged into this one.
    pub sources: Vec<String>,
    /// Beginning of the text; the whole text of a summary.
    pub preview: String,
    /// Other copies of the entries as the host delivered them.
    pub copies: Vec<EntryCopy>,
}

/// An entry, or a part of a long entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The entry.
    pub seq: Seq,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Role of the speaker.
    pub role: Role,
    /// Author, in conversations with several people.
    pub author: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Range of its record in the file.
    pub bytes: Range<u64>,
    /// The text of the entry, verbatim.
    pub text: String,
    /// Range of `text` within the whole text of the entry, in characters; `None` if `text` is the whole.
    pub piece: Option<Range<u64>>,
    /// Tokens of `text`.
    pub tokens: u64,
    /// True if the bytes were purged.
    pub purged: bool,
    /// The record as received; empty if it was purged.
    pub raw: Vec<u8>,
    /// Other copies of the entry as the host delivered it.
    pub copies: Vec<EntryCopy>,
}

impl Item {
    /// The cursor of a page that begins with this item.
    pub fn cursor(&self) -> String {
        format!("{}.{}", self.seq, self.piece.as_ref().map_or(0, |piece| piece.start))
    }
}

/// One page of the entries behind a name: an outline of them, or some of them word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPage {
    /// On the first page of entries that do not fit one: what each of them says. No items stand beside it.
    pub outline: Option<SpanOutline>,
    /// In the order of the conversation.
    pub items: Vec<Item>,
    /// Tokens of the outline or the items.
    pub tokens: u64,
    /// Cursor of the next page; `None` at the end.
    pub next: Option<String>,
    /// Number of entries behind the name.
    pub entries: u64,
}

/// Start of a page: an entry and the number of its characters already shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    seq: u64,
    chars: u64,
}

impl Engine {
    /// Describes a name: see [`Engine::address`] for the form of names.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the name is unknown.
    pub fn describe(
        &self,
        conversation: Option<ConversationId>,
        name: &str,
    ) -> Result<Description, EngineError> {
        let address = self.address(conversation, name)?;
        let (id, rows) = self.members(&address)?;
        let mut roles: Vec<(Role, u64)> = Vec::new();
        for row in &rows {
            match roles.iter_mut().find(|(role, _)| *role == row.role) {
                Some((_, count)) => *count += 1,
                None => roles.push((row.role, 1)),
            }
        }
        roles.sort_unstable();
        let times: Vec<Timestamp> = rows.iter().filter_map(|row| row.time).collect();
        let mut writer = None;
        let (kind, span, sources, preview) = match &address {
            Address::Summary { row, .. } => {
                writer = Some(self.writer(id, &row.key)?);
                let body = self.body(id, row)?;
                ("summary", row.span, row.sources.iter().map(summary_name).collect(), body)
            }
            Address::Entries { seqs, .. } => {
                let kind = if rows.len() == 1 { "entry" } else { "entries" };
                let preview = self.preview(id, rows.first())?;
                (kind, (Seq(seqs.start), Seq(seqs.end.saturating_sub(1))), Vec::new(), preview)
            }
        };
        Ok(Description {
            name: name.to_owned(),
            kind,
            conversation: self.store().conversation(id)?.key,
            span,
            entries: rows.len() as u64,
            tokens: rows.iter().map(|row| row.tokens.expected).sum(),
            time: times.first().copied().zip(times.last().copied()),
            roles,
            writer,
            sources,
            preview,
            copies: self.copies(id, &rows)?,
        })
    }

    /// The words of a summary.
    ///
    /// Cost: that of finding it by its name; what it stands for is not read, unlike by [`Engine::describe`].
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the name is unknown, or one of entries.
    pub fn summary_words(
        &self,
        conversation: Option<ConversationId>,
        name: &str,
    ) -> Result<String, EngineError> {
        match self.address(conversation, name)? {
            Address::Summary { conversation, row } => self.body(conversation, &row),
            Address::Entries { .. } => Err(EngineError::Usage {
                what: format!("{name} names entries, and no summary"),
                hint: "a summary is called sum:GRAIN.LEVEL.DIGEST".to_owned(),
            }),
        }
    }

    /// Returns the entries behind a name, one page at a time. Several entries that do not fit a page begin with a page
    /// that outlines them; its `next` is the first page of their words.
    ///
    /// * `page_tokens` - size of a page in tokens, at least 64. A longer entry is split over several pages.
    /// * `cursor` - [`EntryPage::next`] of the previous page; `None` for the first page, [`VERBATIM`] for the first
    ///   page of words.
    ///
    /// All pages together contain every entry once, complete, verbatim and in order.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the name is unknown or the cursor invalid.
    pub fn expand(
        &self,
        conversation: Option<ConversationId>,
        name: &str,
        page_tokens: u64,
        cursor: Option<&str>,
    ) -> Result<EntryPage, EngineError> {
        let address = self.address(conversation, name)?;
        let (id, rows) = self.members(&address)?;
        let budget = page_tokens.max(PAGE_MIN);
        if cursor.is_none()
            && let Some(page) = self.outlined(&address, &rows, budget)?
        {
            return Ok(page);
        }
        let cursor = cursor.map(parse_cursor).transpose()?.unwrap_or_default();
        let mut page =
            EntryPage { outline: None, items: Vec::new(), tokens: 0, next: None, entries: rows.len() as u64 };
        let format = self.store().conversation(id)?.format;
        let format = Format::by_name(&format).unwrap_or(Format::Unknown);
        for row in rows.into_iter().filter(|row| row.seq.0 >= cursor.seq) {
            let seq = row.seq.0;
            let from = if seq == cursor.seq { cursor.chars } else { 0 };
            let left = budget.saturating_sub(page.tokens);
            let (item, rest) = self.item(id, format, row, from..left)?;
            let is_first = page.items.is_empty();
            // An entry that fits a page of its own is not split, but waits for the next page.
            if !is_first && (item.tokens > left || rest.is_some()) {
                page.next = Some(format!("{seq}.{from}"));
                break;
            }
            page.tokens += item.tokens;
            page.items.push(item);
            if let Some(chars) = rest {
                page.next = Some(format!("{seq}.{chars}"));
                break;
            }
        }
        self.add_copies(id, &mut page)?;
        Ok(page)
    }

    /// The text of a summary as prompts show it.
    pub(super) fn body(&self, id: ConversationId, row: &SummaryRow) -> Result<String, EngineError> {
        let rewrite = self.store().rewrite(id, &row.key)?;
        Ok(rewrite.map_or_else(|| row.body.clone(), |rewrite| rewrite.body))
    }

    fn add_copies(&self, id: ConversationId, page: &mut EntryPage) -> Result<(), EngineError> {
        let mut rows = Vec::with_capacity(page.items.len());
        for item in &page.items {
            rows.extend(stored_row(self.store(), id, item.seq)?);
        }
        for copy in self.copies(id, &rows)? {
            if let Some(item) = page.items.iter_mut().find(|item| item.seq == copy.of) {
                item.copies.push(copy);
            }
        }
        Ok(())
    }

    /// The bytes of the records behind a name, as received.
    ///
    /// * `most` - maximum number of entries, counted from the first.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the name is unknown.
    pub fn expand_raw(
        &self,
        conversation: Option<ConversationId>,
        name: &str,
        most: usize,
    ) -> Result<Vec<Raw>, EngineError> {
        let (id, rows) = self.members(&self.address(conversation, name)?)?;
        let mut all = Vec::new();
        for row in rows.iter().take(most) {
            all.extend(stored_raw(self.store(), id, row.seq)?);
        }
        Ok(all)
    }

    /// One entry as an item: the characters from `from` on that fit `from.end` tokens, and the start of the rest.
    pub(super) fn item(
        &self,
        id: ConversationId,
        format: Format,
        row: EntryRow,
        Range { start: from, end: left }: Range<u64>,
    ) -> Result<(Item, Option<u64>), EngineError> {
        let raw = stored_raw(self.store(), id, row.seq)?;
        let entry = raw.as_ref().map(|raw| decode(format, &raw.body));
        // Records that no parser understood are shown as bytes.
        let whole = match &entry {
            Some(entry) if !entry.parts.is_empty() => text::text(entry),
            _ => raw.as_ref().map(|raw| String::from_utf8_lossy(&raw.body).into_owned()).unwrap_or_default(),
        };
        let rest: String = whole.chars().skip(from as usize).collect();
        let (text, taken) = fitting(&rest, left.max(PAGE_MIN));
        let end = from + taken;
        let is_end = text.len() == rest.len();
        let piece = (from > 0 || !is_end).then_some(from..end);
        let item = Item {
            seq: row.seq,
            host_id: row.host_id,
            role: row.role,
            author: entry.and_then(|entry| entry.author),
            time: row.time,
            bytes: row.bytes,
            tokens: ClassEstimate.count(&text).expected,
            text,
            piece,
            purged: row.purged,
            raw: raw.map(|raw| raw.body).unwrap_or_default(),
            copies: Vec::new(),
        };
        Ok((item, (!is_end).then_some(end)))
    }

    /// The entries of an address, in order.
    pub(crate) fn members(&self, address: &Address) -> Result<(ConversationId, Vec<EntryRow>), EngineError> {
        match address {
            Address::Entries { conversation, seqs } => {
                Ok((*conversation, self.store().rows(*conversation, seqs.clone())?))
            }
            Address::Summary { conversation, row } => Ok((*conversation, self.sources(*conversation, row)?)),
        }
    }

    /// The entries of a summary: the visible entries of its span, on a path with as many of them as the summary counts.
    /// Purged ones among them are not counted: a purge drops every summary over them, and a later one has nothing of
    /// them.
    pub(crate) fn sources(&self, id: ConversationId, row: &SummaryRow) -> Result<Vec<EntryRow>, EngineError> {
        let conversation = self.store().conversation(id)?;
        let mut generations = read_all(|page| self.store().generations(id, page))?;
        generations.sort_by_key(|one| (one.number != conversation.current, one.number));
        let mut closest = Vec::new();
        for generation in generations {
            let path = self.store().path(id, generation.number, generation.length)?;
            let rows = self.in_span(id, &path, row)?;
            if left(&rows) == row.count {
                return Ok(rows);
            }
            if closest.is_empty() {
                closest = rows;
            }
        }
        Ok(closest)
    }

    fn in_span(
        &self,
        id: ConversationId,
        path: &[Range<u64>],
        row: &SummaryRow,
    ) -> Result<Vec<EntryRow>, EngineError> {
        let (first, last) = (row.span.0.0, row.span.1.0);
        let mut rows = Vec::new();
        let runs = path.iter().map(|run| run.start.max(first)..run.end.min(last.saturating_add(1)));
        for one in stored_rows(self.store(), id, runs) {
            rows.extend(Some(one?).filter(|one| one.thread == row.key.thread));
        }
        let rows = on_path(rows);
        let mut shown = Vec::with_capacity(rows.len());
        for one in rows {
            if self.is_shown(id, &one)? {
                shown.push(one);
            }
        }
        Ok(latest_records(shown))
    }

    /// Whether the entry is part of the view. An entry without any block is not.
    fn is_shown(&self, id: ConversationId, row: &EntryRow) -> Result<bool, EngineError> {
        if !(row.origin.is_visible() || row.origin == Origin::HostSummary) {
            return Ok(false);
        }
        if row.tokens.expected > 0 || row.purged {
            return Ok(true);
        }
        let format = Format::by_name(&self.store().conversation(id)?.format).unwrap_or(Format::Unknown);
        let raw = stored_raw(self.store(), id, row.seq)?;
        Ok(raw.is_some_and(|raw| !decode(format, &raw.body).parts.is_empty()))
    }

    fn preview(&self, id: ConversationId, row: Option<&EntryRow>) -> Result<String, EngineError> {
        let Some(row) = row else { return Ok(String::new()) };
        let format = self.store().conversation(id)?.format;
        let format = Format::by_name(&format).unwrap_or(Format::Unknown);
        let (item, _) = self.item(id, format, row.clone(), 0..PAGE_MIN)?;
        Ok(text::snippet(&item.text, "", PREVIEW_CHARS))
    }
}

/// The longest prefix of `text` within `budget` tokens and its length in characters; at least one character.
pub(super) fn fitting(text: &str, budget: u64) -> (String, u64) {
    if ClassEstimate.count(text).expected <= budget {
        return (text.to_owned(), text.chars().count() as u64);
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, one)| at + one.len_utf8()).collect();
    // A character has at least a sixteenth of a token and at most a few tokens.
    let (mut low, mut high) = (1, ends.len().min((budget as usize).saturating_mul(16)));
    while low < high {
        let middle = low.midpoint(high + 1);
        let start = ends.get(middle - 1).and_then(|end| text.get(..*end)).unwrap_or_default();
        if ClassEstimate.count(start).expected <= budget { low = middle } else { high = middle - 1 }
    }
    let end = ends.get(low.saturating_sub(1)).copied().unwrap_or(0);
    (text.get(..end).unwrap_or_default().to_owned(), low as u64)
}

fn parse_cursor(text: &str) -> Result<Cursor, EngineError> {
    let parsed = text
        .split_once('.')
        .and_then(|(seq, chars)| Some(Cursor { seq: seq.parse().ok()?, chars: chars.parse().ok()? }));
    parsed.ok_or_else(|| EngineError::Usage {
        what: format!("{text} is not a cursor of a page"),
        hint: "take it from `next` of the page before".to_owned(),
    })
}

/// Filters rows in order of arrival to those on the path to the last one; rows discarded by a rewind are left out.
fn on_path(rows: Vec<EntryRow>) -> Vec<EntryRow> {
    let mut want = rows.last().map(|row| row.seq);
    let mut path = Vec::with_capacity(rows.len());
    for row in rows.into_iter().rev() {
        if Some(row.seq) == want {
            want = row.parent;
            path.push(row);
        }
    }
    path.reverse();
    path
}

/// Number of entries that are not purged.
pub(crate) fn left(rows: &[EntryRow]) -> u64 {
    rows.iter().filter(|row| !row.purged).count() as u64
}

/// The last of the rows with one host id, because the host rewrote the record. If that row is purged, the
/// newest unpurged row is named too.
fn latest_records(rows: Vec<EntryRow>) -> Vec<EntryRow> {
    let mut seen = std::collections::HashMap::new();
    let mut is_latest = |row: &EntryRow| {
        let Some(id) = &row.host_id else { return true };
        let was_left: &mut Option<bool> = seen.entry(id.clone()).or_default();
        let is_latest = was_left.is_none_or(|was_left| !was_left && !row.purged);
        *was_left = Some(was_left.unwrap_or_default() || !row.purged);
        is_latest
    };
    let mut kept: Vec<_> = rows.into_iter().rev().filter(|row| is_latest(row)).collect();
    kept.reverse();
    kept
}
