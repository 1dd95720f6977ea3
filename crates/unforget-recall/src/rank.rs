//! Ranking: BM25 over weighted terms, smoothed over neighbours, moved by author and date.

use unforget_core::entry::Role;

use crate::bm25::{Scored, score_terms};
use crate::coverage::TermWeight;
use crate::fields::{asks_term, failed_term, role_term};
use crate::meaning::Nearness;
use crate::query::Query;
use crate::source::PostingSource;
use crate::terms::Term;
use crate::tuning::Tuning;

/// The limits of a search beside the query.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Number of hits to return at most. The rest is counted in [`Ranked::matched`].
    pub hits: usize,
    /// Accepts entries as hits, by seq: the scope. Entries out of scope lend no score to their neighbours either.
    pub accept: &'a dyn Fn(u64) -> bool,
    /// Weights; the default is the one measured by the bench.
    pub tuning: Tuning,
    /// How near the documents are to the query in meaning, if that is known.
    pub nearness: Option<&'a Nearness>,
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits")
            .field("hits", &self.hits)
            .field("tuning", &self.tuning)
            .field("has_nearness", &self.nearness.is_some())
            .finish_non_exhaustive()
    }
}

impl Default for Limits<'_> {
    /// The best 20 of all entries.
    fn default() -> Self {
        Self { hits: 20, accept: &|_| true, tuning: Tuning::default(), nearness: None }
    }
}

/// A found entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The entry.
    pub seq: u64,
    /// Comparable within one result only; above 0.
    pub score: f32,
    /// Whether the entry has a term of the query itself.
    pub has_term: bool,
}

/// The result of a search and its extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Best first; equal scores newest first.
    pub hits: Vec<Hit>,
    /// Entries in scope with a term of the query, shown or not.
    pub matched: u64,
    /// Entries in scope with a score and without a term of the query: with a near word, beside an entry with either, or from a
    /// date of the query.
    pub nearby: u64,
    /// Entries in scope with a score for their meaning alone, or near such an entry.
    pub meant: u64,
    /// Entries in scope.
    pub searched: u64,
    /// Entries in the index.
    pub total: u64,
    /// Terms of the query that occur in no entry, in scope or not: evidence of absence.
    pub unknown: Vec<Term>,
    /// The terms of the query with their weight times rarity.
    pub weights: Vec<TermWeight>,
    /// Number of terms that were not looked up. See [`Query::ignored`].
    pub ignored: usize,
}

/// Scores every entry and returns the best.
///
/// Cost: O(entries + postings of the terms). Memory: some 30 bytes per entry.
///
/// # Errors
/// The source's error; there is no partial result.
pub fn search<S: PostingSource>(
    query: &Query,
    source: &mut S,
    limits: &Limits<'_>,
) -> Result<Ranked, S::Error> {
    let scope = Scope::new(query, source, limits)?;
    let mut scored = score_terms(query, source, &limits.tuning)?;
    scope.apply(&mut scored.words);
    let asking = asking(source)?;
    let gains = limits.nearness.map(|nearness| scope.gains(nearness, &scored, &limits.tuning));
    let mut scores = smoothed(&scored.words, &asking, &limits.tuning);
    scores.iter_mut().zip(&scored.exact).for_each(|(score, exact)| *score += exact);
    add_coverage(&scored, source, &limits.tuning, &mut scores);
    let by_words = gains.is_some().then(|| scores.clone());
    if let Some(gains) = gains {
        let gains = smoothed(&gains, &asking, &limits.tuning);
        scores.iter_mut().zip(gains).for_each(|(score, gain)| *score += gain);
    }
    apply_hints(query, source, &limits.tuning, &mut scores)?;
    scope.apply(&mut scores);
    let Best { hits, found, matched } = best(&scores, &scored.covered, source, limits.hits);
    let meant = match by_words {
        None => 0,
        Some(mut by_words) => {
            apply_hints(query, source, &limits.tuning, &mut by_words)?;
            scope.apply(&mut by_words);
            found - by_words.iter().filter(|score| **score > 0.0).count() as u64
        }
    };
    Ok(Ranked {
        hits,
        matched,
        nearby: (found - meant).saturating_sub(matched),
        meant,
        searched: scope.searched,
        total: u64::from(source.docs()),
        unknown: scored.unknown,
        weights: scored.weights,
        ignored: query.ignored,
    })
}

/// The documents that may be hits.
struct Scope {
    accepted: Vec<bool>,
    searched: u64,
}

impl Scope {
    fn new<S: PostingSource>(query: &Query, source: &mut S, limits: &Limits<'_>) -> Result<Self, S::Error> {
        let docs = source.docs();
        let mut accepted: Vec<bool> =
            (0..docs).map(|doc| source.seq(doc).is_some_and(|seq| (limits.accept)(seq))).collect();
        let mut list = Vec::new();
        for &term in &query.only {
            list.clear();
            source.postings(term, &mut list)?;
            let mut has = vec![false; docs as usize];
            for posting in &list {
                if let Some(slot) = has.get_mut(posting.doc as usize) {
                    *slot = true;
                }
            }
            accepted.iter_mut().zip(has).for_each(|(slot, has)| *slot &= has);
        }
        let searched = accepted.iter().filter(|&&slot| slot).count() as u64;
        Ok(Self { accepted, searched })
    }

    /// What the documents in scope gain by their meaning, on the scale of the scores of words.
    fn gains(&self, nearness: &Nearness, scored: &Scored, tuning: &Tuning) -> Vec<f32> {
        let mut gains = nearness.gains(&|place| self.accepted.get(place).copied().unwrap_or(false));
        let most = scored.words.iter().copied().fold(0.0, f32::max);
        let scale = tuning.meaning * if most > 0.0 { most } else { 1.0 };
        for gain in &mut gains {
            *gain *= scale;
        }
        gains
    }

    fn apply(&self, scores: &mut [f32]) {
        if self.searched < self.accepted.len() as u64 {
            scores
                .iter_mut()
                .zip(&self.accepted)
                .for_each(|(score, &ok)| *score = if ok { *score } else { 0.0 });
        }
    }
}

/// For each document whether it asks, in a talk between people.
fn asking<S: PostingSource>(source: &mut S) -> Result<Vec<bool>, S::Error> {
    let mut list = Vec::new();
    source.postings(asks_term(), &mut list)?;
    let mut asking = vec![false; source.docs() as usize];
    for posting in &list {
        if let Some(asks) = asking.get_mut(posting.doc as usize) {
            *asks = true;
        }
    }
    Ok(asking)
}

/// Every score plus a share of its neighbours' scores: the answer to a question often has none of its words.
fn smoothed(scores: &[f32], asking: &[bool], tuning: &Tuning) -> Vec<f32> {
    let mut out = scores.to_vec();
    out.iter_mut().zip(asking).filter(|(_, asks)| **asks).for_each(|(score, _)| *score *= tuning.asks);
    for (distance, (before, after)) in (1..).zip(tuning.before.into_iter().zip(tuning.after)) {
        let shifted = scores.get(distance..).unwrap_or_default();
        out.iter_mut().zip(shifted).for_each(|(score, theirs)| *score += after * theirs);
        let ahead = out.get_mut(distance..).unwrap_or_default();
        ahead.iter_mut().zip(scores).for_each(|(score, theirs)| *score += before * theirs);
    }
    let answers = out.get_mut(1..).unwrap_or_default();
    for ((score, theirs), asks) in answers.iter_mut().zip(scores).zip(asking) {
        *score += if *asks { tuning.answer * theirs } else { 0.0 };
    }
    out
}

/// Raises entries that hold much of the query themselves, by their own score.
fn add_coverage<S: PostingSource>(scored: &Scored, source: &S, tuning: &Tuning, scores: &mut [f32]) {
    if scored.rarity <= 0.0 {
        return;
    }
    for (doc, score) in (0..).zip(scores) {
        let at = doc as usize;
        let part = |list: &[f32]| list.get(at).copied().unwrap_or_default();
        let covered = (part(&scored.covered) / scored.rarity).min(1.0);
        if covered == 0.0 {
            continue;
        }
        let own = part(&scored.words) + part(&scored.exact);
        let shared = (part(&scored.shared) / source.length(doc).max(1) as f32).min(1.0);
        *score +=
            own * (tuning.covered * covered.powf(tuning.power) + tuning.equal * (covered * shared).powi(8));
    }
}

/// Raises entries of users, and of authors and dates that the query names.
fn apply_hints<S: PostingSource>(
    query: &Query,
    source: &mut S,
    tuning: &Tuning,
    scores: &mut [f32],
) -> Result<(), S::Error> {
    let top = scores.iter().copied().fold(0.0, f32::max);
    // Enough for a place at the end of the list if the query names nothing but a date.
    let floor = if top > 0.0 { top * 0.05 } else { 1.0 };
    let authors =
        query.terms.iter().filter_map(|term| term.author.map(|author| (author, tuning.author, 0.0)));
    let dates =
        query.hints.iter().map(|hint| (hint.term, tuning.date * hint.strength, floor * hint.strength));
    let user = [Role::User, Role::None].map(|role| (role_term(role), tuning.user, 0.0));
    let failed = query.asks_failures.then(|| (failed_term(), tuning.failed, 0.0));
    let mut list = Vec::new();
    for (term, factor, floor) in authors.chain(dates).chain(user).chain(failed) {
        list.clear();
        source.postings(term, &mut list)?;
        for posting in &list {
            if let Some(score) = scores.get_mut(posting.doc as usize) {
                *score = *score * (1.0 + factor) + floor;
            }
        }
    }
    Ok(())
}

/// The best of all documents with a score.
struct Best {
    /// At most as many as were asked for, best first.
    hits: Vec<Hit>,
    /// Number of documents with a score.
    found: u64,
    /// Of these, documents with a term of the query.
    matched: u64,
}

/// The best `count` documents with a score.
///
/// * `covered` - by document: above 0 if it has a term of the query.
fn best<S: PostingSource>(scores: &[f32], covered: &[f32], source: &S, count: usize) -> Best {
    let has_term = |doc: u32| covered.get(doc as usize).is_some_and(|covered| *covered > 0.0);
    let mut all: Vec<(f32, u32)> =
        (0..).zip(scores).filter(|(_, score)| **score > 0.0).map(|(doc, &score)| (score, doc)).collect();
    let found = all.len() as u64;
    let matched = all.iter().filter(|(_, doc)| has_term(*doc)).count() as u64;
    let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
    if count < all.len() {
        if count > 0 {
            all.select_nth_unstable_by(count - 1, order);
        }
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    let hits = all
        .into_iter()
        .filter_map(|(score, doc)| Some(Hit { seq: source.seq(doc)?, score, has_term: has_term(doc) }))
        .collect();
    Best { hits, found, matched }
}

#[cfg(test)]
mod tests;
