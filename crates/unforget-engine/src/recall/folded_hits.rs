//! Hits that say nearly the same, folded into the one that a person knows.

use unforget_core::id::{ConversationId, Timestamp};
use unforget_recall::select::Sketch;

use super::search::{Hit, HitCopy};

/// A hit and the sketch of its whole text.
pub(super) struct SketchedHit {
    pub(super) hit: Hit,
    /// Its conversation.
    pub(super) id: ConversationId,
    /// Share of the query that its whole text holds, from 0 to 1.
    pub(super) share: f32,
    pub(super) sketch: Option<Sketch>,
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
    pub(super) fn fold(&mut self, mut other: Self) {
        // A copy says the same, so a verdict on one is about both.
        let verdict = self.hit.verdict.take().or_else(|| other.hit.verdict.take());
        if other.is_original_of(self) {
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

    const fn source(&self) -> HitSource {
        match (self.is_journal, self.hit.is_earlier) {
            (true, _) => HitSource::Journal,
            (false, true) => HitSource::EarlierForm,
            (false, false) => HitSource::Transcript,
        }
    }

    /// Whether another hit says nearly the same.
    pub(super) fn is_copied_by(&self, other: &Self) -> bool {
        let near = self.sketch.as_ref().zip(other.sketch.as_ref()).is_some_and(|(one, two)| one.is_near(two));
        let is_form = self.hit.is_earlier != other.hit.is_earlier
            && self.hit.conversation == other.hit.conversation
            && self.hit.host_id.is_some()
            && self.hit.host_id == other.hit.host_id;
        let is_same = near || is_form || (self.hit.is_whole && self.hit.text == other.hit.text);
        self.hit.role == other.hit.role && is_same
    }
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::Role;
    use unforget_core::id::{ConversationKey, Seq};

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
            tokens: 1,
            also: Vec::new(),
            verdict: None,
            is_earlier: false,
        };
        SketchedHit { hit, id: ConversationId(id), share: 0.0, sketch: None, is_journal: false }
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
            first.fold(second);
            assert_eq!((first.hit.seq, first.hit.also.len()), (Seq(want), 1), "{why}");
        }
    }
}
