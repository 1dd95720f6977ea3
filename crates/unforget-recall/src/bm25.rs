//! BM25 over weighted terms and their near words.

use crate::coverage::TermWeight;
use crate::near::near;
use crate::query::{Kind, Query};
use crate::segment::Posting;
use crate::source::PostingSource;
use crate::terms::Term;
use crate::tuning::Tuning;

/// Most near words that are looked up for a word of a query.
const NEAR_WORDS: usize = 10;

/// BM25 scores. Each list has a value per document.
pub(crate) struct Scored {
    /// Of words, to be smoothed.
    pub(crate) words: Vec<f32>,
    /// Of exact terms.
    pub(crate) exact: Vec<f32>,
    /// Sum of weight times rarity of the query's terms that a document has.
    pub(crate) covered: Vec<f32>,
    /// Occurrences of the query's terms in a document.
    pub(crate) shared: Vec<f32>,
    /// Sum of weight times rarity of all terms of the query.
    pub(crate) rarity: f32,
    /// Terms without a document.
    pub(crate) unknown: Vec<Term>,
    /// Weight times rarity of each term.
    pub(crate) weights: Vec<TermWeight>,
}

/// The facts of an index that BM25 needs.
struct Bm25<'a> {
    docs: f32,
    k1: f32,
    /// By document: `k1`, more for a long document and less for a short one.
    norms: &'a [f32],
}

impl Bm25<'_> {
    /// Rarity of a term with this many documents.
    fn rarity(&self, documents: usize) -> f32 {
        (1.0 + (self.docs - documents as f32 + 0.5) / (documents as f32 + 0.5)).ln()
    }

    /// Score of a posting for weight and rarity 1.
    fn score(&self, posting: Posting) -> f32 {
        let (count, norm) =
            (posting.count as f32, self.norms.get(posting.doc as usize).copied().unwrap_or(1.0));
        (self.k1 + 1.0) * count / (count + norm)
    }
}

/// Scores the query's terms.
pub(crate) fn score_terms<S: PostingSource>(
    query: &Query,
    source: &mut S,
    tuning: &Tuning,
) -> Result<Scored, S::Error> {
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
        for &posting in &list {
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
    fn add(&mut self, kind: Kind, posting: Posting, most: f32, bm25: &Bm25<'_>) {
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
        for &posting in list {
            let own = most * bm25.score(posting);
            if let Some(best) = self.best.get_mut(posting.doc as usize) {
                *best = own;
                self.touched.push((posting.doc, own));
            }
        }
    }

    fn near(&mut self, list: &[Posting], most: f32, bm25: &Bm25<'_>) {
        for &posting in list {
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
