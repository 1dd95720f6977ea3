//! Ranking: BM25 over weighted terms, smoothed over neighbours, moved by author and date.

use unforget_core::entry::Role;

use crate::fields::role_term;
use crate::query::{Kind, Query};
use crate::segment::Posting;
use crate::source::PostingSource;
use crate::terms::Term;

/// The limits of a search beside the query.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Number of hits to return at most. The rest is counted in [`Ranked::matched`].
    pub hits: usize,
    /// Accepts entries as hits, by seq: the scope. Entries out of scope lend no score to their neighbours either.
    pub accept: &'a dyn Fn(u64) -> bool,
    /// Weights; the default is the one measured by the bench.
    pub tuning: Tuning,
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits")
            .field("hits", &self.hits)
            .field("tuning", &self.tuning)
            .finish_non_exhaustive()
    }
}

impl Default for Limits<'_> {
    /// The best 20 of all entries.
    fn default() -> Self {
        Self { hits: 20, accept: &|_| true, tuning: Tuning::default() }
    }
}

/// Weights of the ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// BM25: how fast repetition stops counting.
    pub k1: f32,
    /// BM25: how much length counts against a document, 0 to 1.
    pub b: f32,
    /// Share of its neighbours' scores that an entry gets: of the next on both sides, of the second next, and so on.
    pub near: [f32; 4],
    /// Factor for words with little content.
    pub stop: f32,
    /// How much likelier an entry by an author is whom the query names.
    pub author: f32,
    /// Factor for a word of the query that is an author's name, when found in the text.
    pub name: f32,
    /// How much likelier a user's entry is: users state the essentials in the fewest words. Not measured here, since
    /// LoCoMo has no roles.
    pub user: f32,
    /// How much likelier an entry is that fits a date of the query.
    pub date: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            k1: 0.9,
            b: 0.3,
            near: [0.5, 0.3, 0.15, 0.1],
            stop: 0.05,
            author: 0.5,
            name: 0.3,
            user: 0.1,
            date: 1.2,
        }
    }
}

/// A found entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The entry.
    pub seq: u64,
    /// Comparable within one result only; above 0.
    pub score: f32,
}

/// The result of a search and its extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Best first; equal scores newest first.
    pub hits: Vec<Hit>,
    /// Entries in scope with a score, shown or not: with a term of the query, near such an entry, or from a date of the
    /// query.
    pub matched: u64,
    /// Entries in scope.
    pub searched: u64,
    /// Entries in the index.
    pub total: u64,
    /// Terms of the query that occur in no entry, in scope or not: evidence of absence.
    pub unknown: Vec<Term>,
    /// Number of terms that were not looked up. See [`Query::ignored`].
    pub ignored: usize,
}

/// Scores every entry and returns the best.
///
/// Cost: O(entries + postings of the terms). Memory: 12 bytes per entry.
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
    let mut scores = smoothed(&scored.words, &limits.tuning);
    scores.iter_mut().zip(&scored.exact).for_each(|(score, exact)| *score += exact);
    apply_hints(query, source, &limits.tuning, &mut scores)?;
    scope.apply(&mut scores);
    let (hits, matched) = best(&scores, source, limits.hits);
    Ok(Ranked {
        hits,
        matched,
        searched: scope.searched,
        total: u64::from(source.docs()),
        unknown: scored.unknown,
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

    fn apply(&self, scores: &mut [f32]) {
        if self.searched < self.accepted.len() as u64 {
            scores
                .iter_mut()
                .zip(&self.accepted)
                .for_each(|(score, &ok)| *score = if ok { *score } else { 0.0 });
        }
    }
}

/// BM25 scores by document.
struct Scored {
    /// Of words, to be smoothed.
    words: Vec<f32>,
    /// Of exact terms.
    exact: Vec<f32>,
    /// Terms without a document.
    unknown: Vec<Term>,
}

/// Scores the query's terms.
fn score_terms<S: PostingSource>(query: &Query, source: &mut S, tuning: &Tuning) -> Result<Scored, S::Error> {
    let docs = source.docs() as f32;
    let average = (source.length_sum() as f32 / docs.max(1.0)).max(1.0);
    let norms: Vec<f32> = (0..source.docs())
        .map(|doc| tuning.k1 * (1.0 - tuning.b + tuning.b * source.length(doc) as f32 / average))
        .collect();
    let zeros = vec![0.0; source.docs() as usize];
    let mut scored = Scored { words: zeros.clone(), exact: zeros, unknown: Vec::new() };
    let mut list = Vec::<Posting>::new();
    for wanted in &query.terms {
        list.clear();
        source.postings(wanted.term, &mut list)?;
        if list.is_empty() {
            scored.unknown.push(wanted.term);
            continue;
        }
        let (mut weight, scores) = match wanted.kind {
            Kind::Word => (wanted.weight, &mut scored.words),
            Kind::Stop => (wanted.weight * tuning.stop, &mut scored.words),
            Kind::Exact => (wanted.weight, &mut scored.exact),
        };
        if let Some(author) = wanted.author
            && has_any(source, author)?
        {
            weight *= tuning.name;
        }
        let rarity = (1.0 + (docs - list.len() as f32 + 0.5) / (list.len() as f32 + 0.5)).ln();
        let most = weight * rarity * (tuning.k1 + 1.0);
        for posting in &list {
            let (count, doc) = (posting.count as f32, posting.doc as usize);
            if let (Some(score), Some(norm)) = (scores.get_mut(doc), norms.get(doc)) {
                *score += most * count / (count + norm);
            }
        }
    }
    Ok(scored)
}

fn has_any<S: PostingSource>(source: &mut S, term: Term) -> Result<bool, S::Error> {
    let mut list = Vec::new();
    source.postings(term, &mut list)?;
    Ok(!list.is_empty())
}

/// Every score plus a share of its neighbours' scores: the answer to a question often has none of its words.
fn smoothed(scores: &[f32], tuning: &Tuning) -> Vec<f32> {
    let mut out = scores.to_vec();
    for (distance, share) in (1..).zip(tuning.near) {
        let shifted = scores.get(distance..).unwrap_or_default();
        out.iter_mut().zip(shifted).for_each(|(score, after)| *score += share * after);
        let ahead = out.get_mut(distance..).unwrap_or_default();
        ahead.iter_mut().zip(scores).for_each(|(score, before)| *score += share * before);
    }
    out
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
    let user = [(role_term(Role::User), tuning.user, 0.0)];
    let mut list = Vec::new();
    for (term, factor, floor) in authors.chain(dates).chain(user) {
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

/// The best `count` documents with a score, and the number of documents with one.
fn best<S: PostingSource>(scores: &[f32], source: &S, count: usize) -> (Vec<Hit>, u64) {
    let mut found: Vec<(f32, u32)> =
        (0..).zip(scores).filter(|(_, score)| **score > 0.0).map(|(doc, &score)| (score, doc)).collect();
    let matched = found.len() as u64;
    let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
    if count < found.len() {
        if count > 0 {
            found.select_nth_unstable_by(count - 1, order);
        }
        found.truncate(count);
    }
    found.sort_unstable_by(order);
    let hits =
        found.into_iter().filter_map(|(score, doc)| Some(Hit { seq: source.seq(doc)?, score })).collect();
    (hits, matched)
}

#[cfg(test)]
mod tests;
