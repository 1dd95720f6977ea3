//! Ranking: BM25 over weighted terms, smoothed over neighbours, moved by author and date.

use unforget_core::entry::Role;

use crate::coverage::TermWeight;
use crate::fields::{asks_term, failed_term, role_term};
use crate::near::near;
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

/// Most near words that are looked up for a word of a query.
const NEAR_WORDS: usize = 10;

/// Weights of the ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// BM25: how fast repetition stops counting.
    pub k1: f32,
    /// BM25: how much length counts against a document, 0 to 1.
    pub b: f32,
    /// Share that an entry gets of the scores of the entries before it: of the next, the second next, and so on.
    pub before: [f32; 4],
    /// Share that an entry gets of the scores of the entries after it.
    pub after: [f32; 4],
    /// Share that an answer gets, beyond `before`, of the question right before it, in a talk between people.
    pub answer: f32,
    /// Factor for an entry that asks, in a talk between people.
    pub asks: f32,
    /// Factor for words with little content.
    pub stop: f32,
    /// How much likelier an entry by an author is whom the query names.
    pub author: f32,
    /// Factor for a word of the query that is an author's name, when found in the text.
    pub name: f32,
    /// How much likelier a person's entry is: people state the essentials in the fewest words. An entry without a role
    /// is a person's.
    pub user: f32,
    /// How much likelier an entry is that fits a date of the query.
    pub date: f32,
    /// How much likelier an entry is that failed, if the query asks for failures.
    pub failed: f32,
    /// How much an entry gains that holds all of the query; less for a part, by a power of the part's rarity.
    pub covered: f32,
    /// That power.
    pub power: f32,
    /// How much an entry gains that holds the query and nothing else.
    pub equal: f32,
    /// Factor for near words of a word, beside their nearness; 0 looks none up.
    pub near: f32,
}

impl Default for Tuning {
    /// Chosen on the dev half of all sets of `unforget bench recall`; docs/figures.md has both halves.
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.9,
            before: [0.2, 0.25, 0.15, 0.05],
            after: [0.3, 0.2, 0.0, 0.05],
            answer: 0.6,
            asks: 0.85,
            stop: 0.2,
            author: 0.5,
            name: 0.1,
            user: 1.0,
            date: 1.6,
            failed: 0.3,
            covered: 2.0,
            power: 8.0,
            equal: 10.0,
            near: 0.55,
        }
    }
}

impl Tuning {
    /// Names of all weights.
    pub const NAMES: [&str; 22] = [
        "k1", "b", "before1", "before2", "before3", "before4", "after1", "after2", "after3", "after4",
        "answer", "asks", "stop", "author", "name", "user", "date", "failed", "covered", "power", "equal",
        "near",
    ];

    /// A weight by name, to change it.
    pub fn weight(&mut self, name: &str) -> Option<&mut f32> {
        let [before1, before2, before3, before4] = &mut self.before;
        let [after1, after2, after3, after4] = &mut self.after;
        Some(match name {
            "k1" => &mut self.k1,
            "b" => &mut self.b,
            "before1" => before1,
            "before2" => before2,
            "before3" => before3,
            "before4" => before4,
            "after1" => after1,
            "after2" => after2,
            "after3" => after3,
            "after4" => after4,
            "answer" => &mut self.answer,
            "asks" => &mut self.asks,
            "stop" => &mut self.stop,
            "author" => &mut self.author,
            "name" => &mut self.name,
            "user" => &mut self.user,
            "date" => &mut self.date,
            "failed" => &mut self.failed,
            "covered" => &mut self.covered,
            "power" => &mut self.power,
            "equal" => &mut self.equal,
            "near" => &mut self.near,
            _ => return None,
        })
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
    /// The terms of the query with their weight times rarity.
    pub weights: Vec<TermWeight>,
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
    let asking = asking(source, &limits.tuning)?;
    let mut scores = smoothed(&scored.words, &asking, &limits.tuning);
    scores.iter_mut().zip(&scored.exact).for_each(|(score, exact)| *score += exact);
    add_coverage(&scored, source, &limits.tuning, &mut scores);
    apply_hints(query, source, &limits.tuning, &mut scores)?;
    scope.apply(&mut scores);
    let (hits, matched) = best(&scores, source, limits.hits);
    Ok(Ranked {
        hits,
        matched,
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
    /// Rarity of the query's terms that a document has, and of all of them.
    covered: Vec<f32>,
    /// Number of words of a document that the query has.
    shared: Vec<f32>,
    rarity: f32,
    /// Terms without a document.
    unknown: Vec<Term>,
    weights: Vec<TermWeight>,
}

/// BM25 of one list.
struct Bm25<'a> {
    docs: f32,
    k1: f32,
    norms: &'a [f32],
}

impl Bm25<'_> {
    /// Rarity of a term with this many documents.
    fn rarity(&self, documents: usize) -> f32 {
        (1.0 + (self.docs - documents as f32 + 0.5) / (documents as f32 + 0.5)).ln()
    }

    /// Score of a posting for weight and rarity 1.
    fn score(&self, posting: &Posting) -> f32 {
        let (count, norm) =
            (posting.count as f32, self.norms.get(posting.doc as usize).copied().unwrap_or(1.0));
        (self.k1 + 1.0) * count / (count + norm)
    }
}

/// Scores the query's terms.
fn score_terms<S: PostingSource>(query: &Query, source: &mut S, tuning: &Tuning) -> Result<Scored, S::Error> {
    let docs = source.docs() as f32;
    let average = (source.length_sum() as f32 / docs.max(1.0)).max(1.0);
    let norms: Vec<f32> = (0..source.docs())
        .map(|doc| tuning.k1 * (1.0 - tuning.b + tuning.b * source.length(doc) as f32 / average))
        .collect();
    let bm25 = Bm25 { docs, k1: tuning.k1, norms: &norms };
    let zeros = vec![0.0; source.docs() as usize];
    let mut scored = Scored {
        words: zeros.clone(),
        covered: zeros.clone(),
        shared: zeros.clone(),
        exact: zeros.clone(),
        rarity: 0.0,
        unknown: Vec::new(),
        weights: Vec::new(),
    };
    let mut nearby = Nearby { best: zeros, touched: Vec::new() };
    let mut list = Vec::<Posting>::new();
    for wanted in &query.terms {
        list.clear();
        source.postings(wanted.term, &mut list)?;
        let rarity = bm25.rarity(list.len());
        let mut weight = wanted.weight;
        if wanted.kind == Kind::Stop {
            weight *= tuning.stop;
        }
        if let Some(author) = wanted.author
            && has_any(source, author)?
        {
            weight *= tuning.name;
        }
        scored.rarity += weight * rarity;
        scored.weights.push(TermWeight { term: wanted.term, weight: weight * rarity });
        if list.is_empty() {
            scored.unknown.push(wanted.term);
        }
        for posting in &list {
            scored.add(wanted.kind, posting, weight * rarity, &bm25);
        }
        if wanted.kind == Kind::Word && tuning.near > 0.0 {
            nearby.own(&list, weight * rarity, &bm25);
            for word in near(wanted.term).take(NEAR_WORDS) {
                list.clear();
                source.postings(word.term, &mut list)?;
                let rarity = bm25.rarity(list.len()).min(rarity);
                nearby.near(&list, tuning.near * word.cosine * weight * rarity, &bm25);
            }
            nearby.finish(&mut scored.words);
        }
    }
    Ok(scored)
}

impl Scored {
    fn add(&mut self, kind: Kind, posting: &Posting, most: f32, bm25: &Bm25<'_>) {
        let doc = posting.doc as usize;
        let scores = if kind == Kind::Exact { &mut self.exact } else { &mut self.words };
        for (list, more) in [
            (scores, most * bm25.score(posting)),
            (&mut self.covered, most),
            (&mut self.shared, posting.count as f32),
        ] {
            if let Some(sum) = list.get_mut(doc) {
                *sum += more;
            }
        }
    }
}

/// What near words add beyond the word itself: a document counts the best of them.
struct Nearby {
    /// By document; 0 but for those touched.
    best: Vec<f32>,
    touched: Vec<(u32, f32)>,
}

impl Nearby {
    /// Documents with the word itself, which they have counted already.
    fn own(&mut self, list: &[Posting], most: f32, bm25: &Bm25<'_>) {
        for posting in list {
            let own = most * bm25.score(posting);
            if let Some(best) = self.best.get_mut(posting.doc as usize) {
                *best = own;
                self.touched.push((posting.doc, own));
            }
        }
    }

    fn near(&mut self, list: &[Posting], most: f32, bm25: &Bm25<'_>) {
        for posting in list {
            let score = most * bm25.score(posting);
            let Some(best) = self.best.get_mut(posting.doc as usize) else { continue };
            if *best == 0.0 {
                self.touched.push((posting.doc, 0.0));
            }
            *best = best.max(score);
        }
    }

    /// Adds the difference to what the documents have already.
    fn finish(&mut self, scores: &mut [f32]) {
        for (doc, own) in self.touched.drain(..) {
            if let (Some(best), Some(score)) = (self.best.get_mut(doc as usize), scores.get_mut(doc as usize))
            {
                *score += *best - own;
                *best = 0.0;
            }
        }
    }
}

fn has_any<S: PostingSource>(source: &mut S, term: Term) -> Result<bool, S::Error> {
    let mut list = Vec::new();
    source.postings(term, &mut list)?;
    Ok(!list.is_empty())
}

/// For each document whether it asks, in a talk between people; empty if that changes nothing.
fn asking<S: PostingSource>(source: &mut S, tuning: &Tuning) -> Result<Vec<bool>, S::Error> {
    if tuning.answer == 0.0 && tuning.asks == 1.0 {
        return Ok(Vec::new());
    }
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
