//! Searches by words.

use std::collections::HashSet;
use std::iter::once;
use std::ops::Range;

use unforget_core::entry::Role;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_core::tokens::Ruler;
use unforget_recall::coverage::{Coverage, TermWeight};
use unforget_recall::fields::{author_term, role_term, tool_term};
use unforget_recall::query::Query;
use unforget_recall::rank::{self, Limits, Ranked};
use unforget_recall::select::sketch;
use unforget_recall::terms::{Analyser, Term};
use unforget_recall::tuning::Tuning;
use unforget_store::{Conversation, EntryRow, StoreError, VerdictRow, read_all};
use unforget_wire::{Format, decode};

use super::answer::HELD_MIN;
use super::clues::Clues;
use super::folded_hits::SketchedHit;
use super::text;
use super::verdict::{VerdictCache, rejected_last};
use crate::index::{Corpus, past_damage, place};
use crate::meaning::{MeaningReceipt, Meant};
use crate::presence::{Presence, PresenceCache};
use crate::rows::{stored_raw, stored_row, stored_rows};
use crate::{Engine, EngineError};

/// Default number of results without a limit and without a budget.
const LIMIT: usize = 10;

/// Number of candidates for a budget of tokens.
const CANDIDATES: usize = 400;

/// Number of candidates for each result: some say what a better one says.
const COPIES: usize = 3;

/// Maximum characters of an entry shown as a whole.
const WHOLE_CHARS: usize = 1200;

/// Text and scope of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// Any text: words, names, questions.
    pub text: String,
    /// Restricts the search to this conversation.
    pub conversation: Option<ConversationId>,
    /// Restricts the search to entries of this role.
    pub role: Option<Role>,
    /// Restricts the search to entries of this author.
    pub author: Option<String>,
    /// Restricts the search to calls and results of this tool.
    pub tool: Option<String>,
    /// Restricts the search to entries from this time on. Entries without a time are in scope only if their whole
    /// conversation is.
    pub since: Option<Timestamp>,
    /// Restricts the search to entries before this time.
    pub until: Option<Timestamp>,
    /// Maximum number of results; `None` is 10, or as many as the budget holds.
    pub limit: Option<usize>,
    /// Maximum tokens of all result texts.
    pub budget_tokens: Option<u64>,
    /// Reference time for words such as `yesterday`.
    pub now: Option<Timestamp>,
    /// Whether nobody asked for the hits. Copies of the query then gain nothing, and the score of the query itself is a
    /// measure for others.
    pub is_unasked: bool,
    /// Maximum number of clues beside the hits: see [`Clues`]. A search for one role, author, tool or time has none.
    pub clues: usize,
}

/// What of a ranking is shown.
#[derive(Clone, Copy)]
struct HitSelection<'a> {
    wanted: &'a SearchQuery,
    narrow: &'a Narrow<'a>,
    limit: usize,
    coverage: &'a Coverage,
}

/// An entry with its score.
struct RankedEntry {
    row: EntryRow,
    found: rank::Hit,
}

/// What of a ranking was shown.
#[derive(Default)]
struct ShownHits {
    hits: Vec<Hit>,
    /// Number of entries that a shown one says again: in an earlier form of its transcript, or in other words.
    folded: u64,
    /// Of these, entries with a word of the query that their transcript has again, which are no second match.
    repeated: u64,
    /// Share of the query in the hit that holds most, from 0 to 1.
    held: f32,
}

/// Further restrictions of a search.
pub(super) struct Narrow<'a> {
    /// Accepts entries that may be found.
    pub only: &'a dyn Fn(&ConversationKey, Seq) -> bool,
    /// Accepts entries to be skipped. Skipped entries still add to the score of their neighbours.
    pub but: &'a dyn Fn(&ConversationKey, Seq) -> bool,
    /// Upper bound of the number of skipped entries.
    pub passed: usize,
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The entry.
    pub seq: Seq,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// Range of its record in the file.
    pub bytes: Range<u64>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Author, in conversations with several people.
    pub author: Option<String>,
    /// Role of the speaker.
    pub role: Role,
    /// Score, comparable only within one answer.
    pub score: f32,
    /// The whole text if it is short, otherwise the part that fits the query best.
    pub text: String,
    /// Whether `text` is the whole text.
    pub is_whole: bool,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Entries of the same role that say nearly the same, in order of their rank: copies in forks, texts read again.
    pub also: Vec<HitCopy>,
    /// What somebody said of the entry: wrong, or superseded. A hit that is wrong as a whole stands behind all others.
    pub verdict: Option<VerdictRow>,
    /// Whether only an earlier form of its transcript has the entry: see [`Presence::Earlier`].
    pub is_earlier: bool,
}

/// An entry that says nearly what a better hit says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitCopy {
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The entry.
    pub seq: Seq,
}

/// Result of a search and its receipts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchAnswer {
    /// Best first.
    pub results: Vec<Hit>,
    /// Number of entries in scope with a word of the query, shown or not. What a transcript has again counts once, as far
    /// as the search met it.
    pub matched: u64,
    /// Number of entries in scope that were found without a word of the query, shown or not: by a near word, beside an entry that
    /// was found, or by a date of the query.
    pub nearby: u64,
    /// Number of entries in scope that were found by their meaning alone, shown or not.
    pub meant: u64,
    /// Number of entries with words in scope.
    pub searched: u64,
    /// Number of entries with words in total.
    pub total: u64,
    /// Whether all matching results are shown.
    pub is_complete: bool,
    /// Words of the query that occur nowhere.
    pub absent: Vec<String>,
    /// Percent of the query's words, weighed by rarity, in the result that holds most. Below half, what was asked for may not be
    /// stored.
    pub held: u32,
    /// Explanation of an empty result; empty if there are results.
    pub evidence: String,
    /// The terms of the query with their weight times rarity, to weigh sentences by.
    pub weights: Vec<TermWeight>,
    /// Rows of ours that hold much of the query; only if they were wanted.
    pub clues: Clues,
    /// What the search says of meaning; `None` without a model of vectors, and for hits that nobody asked for.
    pub meaning: Option<MeaningReceipt>,
}

impl SearchAnswer {
    /// Whether no result holds half of the query's words, and none was found by its meaning: what was asked for may not be
    /// stored.
    pub fn is_weak(&self) -> bool {
        self.held < HELD_MIN && self.meant == 0 && !self.results.is_empty()
    }
}

impl SearchQuery {
    /// Whether rows that are no entries are in scope.
    const fn takes_clues(&self) -> bool {
        self.clues > 0
            && self.role.is_none()
            && self.author.is_none()
            && self.tool.is_none()
            && self.since.is_none()
            && self.until.is_none()
    }
}

impl Engine {
    /// Searches by words: any text, in any language, is a valid query. Omitted results are always reported.
    ///
    /// Cost: O(entries in the index + postings of the words), plus reading of the shown texts.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if the query has no word; [`EngineError::Store`], [`EngineError::Index`].
    pub fn search(&self, wanted: &SearchQuery) -> Result<SearchAnswer, EngineError> {
        self.search_narrowed(wanted, &Narrow { only: &|_, _| true, but: &|_, _| false, passed: 0 })
    }

    /// [`Engine::search`] with further restrictions.
    pub(super) fn search_narrowed(
        &self,
        wanted: &SearchQuery,
        narrow: &Narrow<'_>,
    ) -> Result<SearchAnswer, EngineError> {
        past_damage(|| self.search_once(wanted, narrow))
    }

    fn search_once(&self, wanted: &SearchQuery, narrow: &Narrow<'_>) -> Result<SearchAnswer, EngineError> {
        let mut analyser = Analyser::new();
        let query = Query::parse(&mut analyser, &wanted.text, wanted.now).map_err(bad_query)?;
        let only = [
            wanted.role.map(role_term),
            wanted.author.as_deref().map(author_term),
            wanted.tool.as_deref().map(tool_term),
        ];
        let query = query.only(only.into_iter().flatten());
        let conversations = self.conversations_in(wanted.conversation)?;
        let times = self.times(wanted, &conversations)?;
        let mut corpus = Corpus::open(self.store(), &conversations)?;
        let is_wanted = |number: u64| {
            let (at, seq) = place(number);
            conversations.get(at).is_some_and(|conversation| (narrow.only)(&conversation.key, seq))
        };
        let accept = |number: u64| times.accepts(number) && is_wanted(number);
        let limit = wanted.limit.unwrap_or(if wanted.budget_tokens.is_some() { CANDIDATES } else { LIMIT });
        let candidates = limit.saturating_mul(COPIES).saturating_add(narrow.passed);
        let tuning = if wanted.is_unasked { Tuning::unasked() } else { Tuning::default() };
        let Meant { nearness, receipt } = if wanted.is_unasked {
            Meant::default()
        } else {
            self.meant(&wanted.text, &conversations, &corpus)?
        };
        let limits = Limits { hits: candidates, accept: &accept, tuning, nearness: nearness.as_ref() };
        let ranked = rank::search(&query, &mut corpus, &limits)?;
        let mut answer = SearchAnswer {
            matched: ranked.matched,
            nearby: ranked.nearby,
            meant: ranked.meant,
            meaning: receipt,
            searched: ranked.searched,
            total: corpus.entries(),
            absent: absent(&mut analyser, &wanted.text, &ranked),
            weights: ranked.weights.clone(),
            ..SearchAnswer::default()
        };
        let coverage = Coverage::new(&ranked.weights, tuning.near);
        let shown = HitSelection { wanted, narrow, limit, coverage: &coverage };
        let shown = self.show(&shown, &mut analyser, &conversations, &ranked)?;
        let found = answer.matched + answer.nearby + answer.meant;
        answer.is_complete = shown.hits.len() as u64 + shown.folded == found;
        answer.matched = answer.matched.saturating_sub(shown.repeated);
        answer.held = (shown.held * 100.0).round() as u32;
        answer.results = shown.hits;
        if answer.results.is_empty() {
            answer.evidence = evidence(&answer, conversations.len());
        }
        if wanted.takes_clues() {
            answer.clues = self.clues(&answer, &conversations, wanted.clues)?;
        }
        Ok(answer)
    }

    /// The conversations in scope.
    pub(super) fn conversations_in(
        &self,
        only: Option<ConversationId>,
    ) -> Result<Vec<Conversation>, EngineError> {
        Ok(match only {
            Some(id) => vec![self.store().conversation(id)?],
            None => read_all(|page| self.store().conversations(page))?,
        })
    }

    /// Reads the hits, folds copies, and cuts the list to limit and budget; a hit that does not fit is skipped. Hits without a
    /// word of the query stand beside one that has a word, not in place of one that had no room.
    fn show(
        &self,
        selection: &HitSelection<'_>,
        analyser: &mut Analyser,
        conversations: &[Conversation],
        ranked: &Ranked,
    ) -> Result<ShownHits, EngineError> {
        let HitSelection { wanted, narrow, limit, .. } = *selection;
        let mut left = wanted.budget_tokens.unwrap_or(u64::MAX);
        let mut has_passed_word = false;
        let mut results: Vec<SketchedHit> = Vec::new();
        let mut shown = ShownHits::default();
        let (mut verdicts, mut presences) = (VerdictCache::default(), PresenceCache::default());
        for found in &ranked.hits {
            // Fewer tokens are of no use.
            if results.len() == limit || left < 4 {
                break;
            }
            let (at, seq) = place(found.seq);
            let Some(conversation) = conversations.get(at) else { continue };
            if (narrow.but)(&conversation.key, seq) {
                continue;
            }
            let row = self.row(conversation.id, seq)?;
            let presence = presences.presence(self, conversation, &row)?;
            if matches!(presence, Presence::Repeated(_)) {
                shown.folded += 1;
                shown.repeated += u64::from(found.has_term);
                continue;
            }
            let mut new = self.hit(conversation, analyser, RankedEntry { row, found: *found }, selection)?;
            new.hit.verdict = verdicts.shown(self, conversation.id, seq)?;
            new.hit.is_earlier = presence == Presence::Earlier;
            if let Some(known) = results.iter_mut().find(|known| known.is_copied_by(&new)) {
                shown.folded += 1;
                let before = known.hit.tokens;
                known.fold(new, left);
                left = left.saturating_add(before).saturating_sub(known.hit.tokens);
            } else if new.hit.tokens <= left {
                left -= new.hit.tokens;
                results.push(new);
            } else {
                has_passed_word |= new.has_term;
            }
        }
        if has_passed_word && ranked.meant == 0 && !results.iter().any(|one| one.has_term) {
            results.clear();
        }
        shown.held = results.iter().map(|one| one.held.share).fold(0.0, f32::max);
        shown.hits = results.into_iter().map(|one| one.hit).collect();
        rejected_last(&mut shown.hits, wanted.is_unasked);
        Ok(shown)
    }

    fn hit(
        &self,
        conversation: &Conversation,
        analyser: &mut Analyser,
        RankedEntry { row, found }: RankedEntry,
        selection: &HitSelection<'_>,
    ) -> Result<SketchedHit, EngineError> {
        let seq = row.seq;
        let format = Format::by_name(&conversation.format).unwrap_or(Format::Unknown);
        let raw = stored_raw(self.store(), conversation.id, seq)?;
        let entry = raw.map(|raw| decode(format, &raw.body));
        let whole = entry.as_ref().map(text::text).unwrap_or_default();
        let shown = text::snippet(&whole, &selection.wanted.text, WHOLE_CHARS);
        let hit = Hit {
            conversation: conversation.key.clone(),
            seq,
            host_id: row.host_id,
            bytes: row.bytes,
            time: row.time,
            author: entry.and_then(|entry| entry.author),
            role: row.role,
            score: found.score,
            tokens: ClassEstimate.count(&shown).expected,
            is_whole: shown.len() == whole.len(),
            text: shown,
            also: Vec::new(),
            verdict: None,
            is_earlier: false,
        };
        let is_journal = format == Format::Journal;
        let held = selection.coverage.held(analyser, &whole);
        let (sketch, has_term) = (sketch(analyser, &whole), found.has_term);
        Ok(SketchedHit { hit, id: conversation.id, held, sketch, has_term, is_journal })
    }

    /// The row of one entry.
    pub(crate) fn row(&self, id: ConversationId, seq: Seq) -> Result<EntryRow, EngineError> {
        let row = stored_row(self.store(), id, seq)?;
        Ok(row.ok_or_else(|| StoreError::Missing { id, what: format!("entry {seq}") })?)
    }

    /// The entries within the requested period.
    fn times(&self, wanted: &SearchQuery, conversations: &[Conversation]) -> Result<Times, EngineError> {
        if wanted.since.is_none() && wanted.until.is_none() {
            return Ok(Times::All);
        }
        let since = wanted.since.map_or(i64::MIN, |time| time.0);
        let until = wanted.until.map_or(i64::MAX, |time| time.0);
        let mut scopes = Vec::with_capacity(conversations.len());
        for conversation in conversations {
            scopes.push(match conversation.time {
                Some((first, last)) if first.0 >= since && last.0 < until => Scope::Whole,
                Some((first, last)) if first.0 < until && last.0 >= since => {
                    Scope::Some(self.in_time(conversation, since..until)?)
                }
                _ => Scope::Nothing,
            });
        }
        Ok(Times::By(scopes))
    }

    fn in_time(&self, conversation: &Conversation, time: Range<i64>) -> Result<HashSet<u64>, EngineError> {
        let mut seqs = HashSet::new();
        for row in stored_rows(self.store(), conversation.id, once(0..conversation.entries)) {
            let row = row?;
            if row.time.is_some_and(|at| time.contains(&at.0)) {
                seqs.insert(row.seq.0);
            }
        }
        Ok(seqs)
    }
}

fn bad_query(error: unforget_recall::query::QueryError) -> EngineError {
    EngineError::Usage {
        what: error.to_string(),
        hint: "use `grep` for punctuation and exact bytes".to_owned(),
    }
}

/// Entries within the requested period, by conversation.
enum Times {
    All,
    By(Vec<Scope>),
}

enum Scope {
    Nothing,
    Whole,
    Some(HashSet<u64>),
}

impl Times {
    fn accepts(&self, number: u64) -> bool {
        let Self::By(scopes) = self else { return true };
        let (at, seq) = place(number);
        match scopes.get(at) {
            Some(Scope::Whole) => true,
            Some(Scope::Some(seqs)) => seqs.contains(&seq.0),
            Some(Scope::Nothing) | None => false,
        }
    }
}

/// Words of the query without any term in the index.
fn absent(analyser: &mut Analyser, text: &str, ranked: &Ranked) -> Vec<String> {
    let unknown: HashSet<Term> = ranked.unknown.iter().copied().collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let mut absent = Vec::new();
    for word in text.split_whitespace() {
        let Ok(query) = Query::parse(analyser, word, None) else { continue };
        let is_absent =
            !query.terms.is_empty() && query.terms.iter().all(|term| unknown.contains(&term.term));
        if is_absent && seen.insert(word) {
            absent.push(word.to_owned());
        }
    }
    absent
}

/// Explains an empty result.
fn evidence(answer: &SearchAnswer, conversations: usize) -> String {
    let of = if answer.searched == answer.total {
        format!("all {} entries", answer.total)
    } else {
        format!("the {} of {} entries in scope", answer.searched, answer.total)
    };
    let plural = if conversations == 1 { "" } else { "s" };
    let why = if answer.matched > 0 {
        format!("{} match and none of them fits the budget", answer.matched)
    } else if answer.absent.is_empty() {
        "none has a word of the query".to_owned()
    } else {
        format!("nowhere: {}", answer.absent.join(", "))
    };
    format!("searched {of} with words in {conversations} conversation{plural}; {why}")
}
