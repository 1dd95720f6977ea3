//! Hits that say nearly the same, folded into the one that a person knows.

use unforget_core::id::{ConversationId, Timestamp};
use unforget_recall::coverage::HeldQuery;
use unforget_recall::select::Sketch;

use super::search::{Hit, HitCopy};

/// A hit and the sketch of its whole text.
pub(super) struct SketchedHit {
    pub(super) hit: Hit,
    /// Its conversation.
    pub(super) id: ConversationId,
    /// What its whole text holds of the query.
    pub(super) held: HeldQuery,
    pub(super) sketch: Option<Sketch>,
    /// Whether the index has it for a term of the query.
    pub(super) has_term: bool,
    /// Whether its conversation is the journal of a lane. A copy in a transcript is shown instead of it.
    pub(super) is_journal: bool,
}

/// What a hit is a copy of, in the order in which copies are preferred.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum HitSource {
    /// The transcript as it stands.
    Transcript,
    /// An earlier form of it.
    EarlierForm,
    /// The journal of a lane.
    Journal,
}

impl SketchedHit {
    /// Takes a copy that ranks lower. A person knows the transcript of a session, and not the lane in which the gateway kept it.
    /// The copy is shown if it is nearer to the original, holds as much of the query, and has room.
    ///
    /// * `left` - tokens that the result may grow by.
    pub(super) fn fold(&mut self, mut other: Self, left: u64) {
        // A copy says the same, so a verdict on one is about both.
        let verdict = self.hit.verdict.take().or_else(|| other.hit.verdict.take());
        let has_room = other.hit.tokens <= self.hit.tokens.saturating_add(left);
        if other.is_original_of(self) && other.holds_what(self) && has_room {
            other.hit.score = self.hit.score;
            std::mem::swap(self, &mut other);
            self.hit.also = std::mem::take(&mut other.hit.also);
        }
        // An earlier form of the same transcript is no other place.
        if !other.hit.is_earlier || other.hit.conversation != self.hit.conversation {
            self.hit.also.push(HitCopy { conversation: other.hit.conversation, seq: other.hit.seq });
        }
        self.hit.verdict = verdict;
    }

    /// Whether this hit is to be shown instead of its copy `shown`: it stands nearer to the transcript, or it has the text of
    /// `shown` and is older. A session that was converted for another agent keeps the times of the messages, so the
    /// conversation that came first decides between equal times.
    fn is_original_of(&self, shown: &Self) -> bool {
        if self.source() != shown.source() {
            return self.source() < shown.source();
        }
        let age = |one: &Self| (one.hit.time.unwrap_or(Timestamp(i64::MAX)), one.id);
        self.id != shown.id && self.hit.text == shown.hit.text && age(self) < age(shown)
    }

    /// Whether this hit has every word of the query that `shown` has: nobody is shown a form without the word that was found.
    fn holds_what(&self, shown: &Self) -> bool {
        self.held.terms.is_superset(&shown.held.terms)
    }

    const fn source(&self) -> HitSource {
        match (self.is_journal, self.hit.is_earlier) {
            (true, _) => HitSource::Journal,
            (false, true) => HitSource::EarlierForm,
            (false, false) => HitSource::Transcript,
        }
    }

    /// Whether another hit says nearly the same, or is another form of the same message without a further word of the query.
    pub(super) fn is_copied_by(&self, other: &Self) -> bool {
        let near = self.held.terms == other.held.terms
            && self.sketch.as_ref().zip(other.sketch.as_ref()).is_some_and(|(one, two)| one.is_near(two));
        let is_form = self.hit.is_earlier != other.hit.is_earlier
            && self.hit.conversation == other.hit.conversation
            && self.hit.host_id.is_some()
            && self.hit.host_id == other.hit.host_id
            && self.held.terms.is_superset(&other.held.terms);
        let is_same = near || is_form || (self.hit.is_whole && self.hit.text == other.hit.text);
        self.hit.role == other.hit.role && is_same
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use unforget_core::entry::Role;
    use unforget_core::estimate::ClassEstimate;
    use unforget_core::id::{ConversationKey, Seq};
    use unforget_core::tokens::Ruler;
    use unforget_recall::coverage::{Coverage, TermWeight};
    use unforget_recall::query::Query;
    use unforget_recall::select::sketch;
    use unforget_recall::terms::Analyser;

    use super::*;

    fn hit(id: u64, time: i64, text: &str) -> SketchedHit {
        let hit = Hit {
            conversation: ConversationKey(format!("claude-code:{id}")),
            seq: Seq(id),
            host_id: None,
            bytes: 0..1,
            time: Some(Timestamp(time)),
            author: None,
            role: Role::User,
            score: 1.0,
            text: text.to_owned(),
            is_whole: true,
            tokens: ClassEstimate.count(text).expected,
            also: Vec::new(),
            verdict: None,
            is_earlier: false,
        };
        SketchedHit {
            hit,
            id: ConversationId(id),
            held: HeldQuery::default(),
            sketch: None,
            has_term: true,
            is_journal: false,
        }
    }

    #[test]
    fn the_hit_that_is_shown_of_two_copies() {
        let journal = |hit| SketchedHit { is_journal: true, ..hit };
        let table = [
            (hit(2, 5, "a"), hit(1, 5, "a"), 1, "converted for another agent: the older conversation"),
            (hit(1, 5, "a"), hit(2, 5, "a"), 1, "the older conversation ranks first already"),
            (hit(1, 9, "a"), hit(2, 5, "a"), 2, "said first, imported later"),
            (hit(2, 9, "a!"), hit(1, 5, "a"), 2, "other words: the rank decides"),
            (journal(hit(1, 1, "a")), hit(2, 5, "a"), 2, "a transcript instead of a lane"),
            (hit(2, 5, "a"), journal(hit(1, 1, "a")), 2, "a transcript instead of a lane"),
        ];
        for (mut first, second, want, why) in table {
            first.fold(second, 0);
            assert_eq!((first.hit.seq, first.hit.also.len()), (Seq(want), 1), "{why}");
        }
    }

    #[test]
    fn the_form_with_the_words_is_shown() {
        let mut analyser = Analyser::new();
        let query = Query::parse(&mut analyser, "port 6432", None).unwrap();
        let weights: Vec<TermWeight> =
            query.terms.iter().map(|one| TermWeight { term: one.term, weight: 1.0 }).collect();
        let coverage = Coverage::new(&weights, 0.5);
        let mut form = |seq, text: &str, is_earlier| {
            let mut form = hit(seq, 5, text);
            form.held = coverage.held(&mut analyser, text);
            form.sketch = sketch(&mut analyser, text);
            form.hit.is_earlier = is_earlier;
            form.hit.host_id = Some("message".to_owned());
            form.hit.conversation = ConversationKey("claude-code:one".to_owned());
            form
        };
        // The better hit, the other form, the one that is shown.
        let table = [
            (
                form(1, "port 6432", true),
                form(2, "port 5432", false),
                1,
                "only the earlier form has the number",
            ),
            (form(1, "a port 6432", true), form(2, "the port 6432", false), 2, "both have it"),
            (form(2, "port 6432", false), form(1, "port 5432", true), 2, "the transcript has it"),
            (
                form(1, "port", true),
                form(2, "a port which has far more words than the other", false),
                1,
                "no room",
            ),
        ];
        for (mut first, second, want, why) in table {
            assert!(first.is_copied_by(&second), "{why}");
            first.fold(second, 3);
            assert_eq!((first.hit.seq, first.hit.is_earlier), (Seq(want), want == 1), "{why}");
        }
        let (one, other) = (form(2, "port 5432", false), form(1, "port 6432", true));
        assert!(!one.is_copied_by(&other), "the other form has the number");
    }

    #[test]
    fn a_hit_with_another_word_of_the_query_is_no_copy() {
        let mut analyser = Analyser::new();
        let query = Query::parse(&mut analyser, "proxy gateway", None).unwrap();
        let weights: Vec<TermWeight> =
            query.terms.iter().map(|one| TermWeight { term: one.term, weight: 1.0 }).collect();
        let coverage = Coverage::new(&weights, 0.5);
        let mut said = |seq, text: &str| {
            let mut said = hit(seq, 5, text);
            said.held = coverage.held(&mut analyser, text);
            said.sketch = sketch(&mut analyser, text);
            said
        };
        let (one, two) = (
            said(
                1,
                "restart the proxy of the second rack before the long nightly backup begins to run again",
            ),
            said(
                2,
                "restart the gateway of the second rack before the long nightly backup begins to run again",
            ),
        );
        let again =
            said(3, "restart the proxy of the second rack before a long nightly backup begins to run again");
        assert!(!one.is_copied_by(&two), "another word of the query");
        assert!(one.is_copied_by(&again), "nearly the same");
    }
}
