//! What people say of a history, as records that machines exchange: titles, stars, tags, verdicts, entries put back, and all of them
//! taken away again.
//!
//! A saying is never changed. Machines that have equal sayings show equal labels, verdicts and raised spans, in whatever order the
//! sayings came: of two about one thing the newest counts, and of two of one time the one with the greater digest. Taking something
//! back is a saying too, and holds for good: who thinks otherwise says it anew.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::id::Timestamp;

/// The order of sayings: by time, then by digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SayingPlace {
    /// When it was said.
    pub made: Timestamp,
    /// Digest of its bytes, which names it.
    pub digest: Digest,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaidThing {
    /// The title; `None` takes it away.
    Title(Option<String>),
    /// Whether there is a star.
    Star(bool),
    /// Whether there is this tag.
    Tag {
        /// The tag.
        tag: String,
        /// Whether it is there.
        is_there: bool,
    },
    /// An entry, or words of it, are wrong.
    Verdict,
    /// A span of entries is put back.
    Raised,
    /// The verdict or raised span of this digest is taken back.
    TakenBack(Digest),
}

/// A saying, as far as the rules look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// Its place in the order.
    pub place: SayingPlace,
    /// What it says.
    pub thing: SaidThing,
}

/// A value with the saying that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidPart<T> {
    /// The value.
    pub value: T,
    /// Place of the saying.
    pub place: SayingPlace,
}

/// What sayings make of a label. A part of which nothing was said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidLabel {
    /// The title.
    pub title: Option<SaidPart<Option<String>>>,
    /// The star.
    pub star: Option<SaidPart<bool>>,
    /// Each tag, and whether it is there.
    pub tags: BTreeMap<String, SaidPart<bool>>,
}

impl SaidLabel {
    /// The tags that are there: if they are more than `most`, the ones said last.
    pub fn tags_there(&self, most: usize) -> Vec<&str> {
        let mut there: Vec<(&SayingPlace, &str)> = self
            .tags
            .iter()
            .filter(|(_, said)| said.value)
            .map(|(tag, said)| (&said.place, tag.as_str()))
            .collect();
        there.sort_by(|one, other| other.cmp(one));
        there.truncate(most);
        there.into_iter().map(|(_, tag)| tag).collect()
    }
}

/// The label of a conversation.
///
/// Cost: O(sayings log sayings).
pub fn label_of(sayings: &[Saying]) -> SaidLabel {
    let mut label = SaidLabel::default();
    for Saying { place, thing } in sayings {
        let place = *place;
        match thing {
            SaidThing::Title(title) => newer(&mut label.title, SaidPart { value: title.clone(), place }),
            SaidThing::Star(star) => newer(&mut label.star, SaidPart { value: *star, place }),
            SaidThing::Tag { tag, is_there } => {
                let said = SaidPart { value: *is_there, place };
                match label.tags.get_mut(tag) {
                    Some(known) if known.place >= place => {}
                    Some(known) => *known = said,
                    None => {
                        label.tags.insert(tag.clone(), said);
                    }
                }
            }
            SaidThing::Verdict | SaidThing::Raised | SaidThing::TakenBack(_) => {}
        }
    }
    label
}

/// Keeps the newer one of two.
fn newer<T>(known: &mut Option<SaidPart<T>>, said: SaidPart<T>) {
    if known.as_ref().is_none_or(|known| known.place < said.place) {
        *known = Some(said);
    }
}

/// When verdicts and raised spans were taken back, by their digest: the first time counts.
pub fn taken_back(sayings: &[Saying]) -> BTreeMap<Digest, Timestamp> {
    let mut back: BTreeMap<Digest, SayingPlace> = BTreeMap::new();
    for Saying { place, thing } in sayings {
        if let SaidThing::TakenBack(of) = thing {
            let first = back.entry(*of).or_insert(*place);
            *first = (*first).min(*place);
        }
    }
    back.into_iter().map(|(of, place)| (of, place.made)).collect()
}

/// The raised spans that stand: those that nobody took back, at most `most`, the ones said last.
pub fn raised_standing(sayings: &[Saying], most: usize) -> Vec<SayingPlace> {
    let back = taken_back(sayings);
    let raised = sayings.iter().filter(|saying| saying.thing == SaidThing::Raised).map(|saying| saying.place);
    let mut standing: Vec<SayingPlace> = raised.filter(|place| !back.contains_key(&place.digest)).collect();
    standing.sort_unstable_by(|one, other| other.cmp(one));
    standing.dedup();
    standing.truncate(most);
    standing
}

/// The time of a new saying: now, but later than the one that it answers, so that it counts although a clock is slow.
pub fn said_after(now: Timestamp, answered: Option<SayingPlace>) -> Timestamp {
    answered.map_or(now, |answered| now.max(Timestamp(answered.made.0.saturating_add(1))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn saying(made: i64, digest: u8, thing: SaidThing) -> Saying {
        Saying { place: SayingPlace { made: Timestamp(made), digest: Digest([digest; 32]) }, thing }
    }

    fn title(text: &str) -> SaidThing {
        SaidThing::Title(Some(text.to_owned()))
    }

    fn tag(tag: &str, is_there: bool) -> SaidThing {
        SaidThing::Tag { tag: tag.to_owned(), is_there }
    }

    #[test]
    fn labels_table() {
        let table = [
            (vec![], "- - ", "nothing said"),
            (vec![saying(1, 1, title("a")), saying(2, 0, title("b"))], "b - ", "the newest"),
            (vec![saying(2, 0, title("b")), saying(1, 1, title("a"))], "b - ", "in any order"),
            (
                vec![saying(1, 1, title("a")), saying(1, 2, title("b"))],
                "b - ",
                "at one time the greater digest",
            ),
            (
                vec![saying(1, 1, title("a")), saying(2, 1, SaidThing::Title(None))],
                "- - ",
                "a title taken away",
            ),
            (
                vec![
                    saying(1, 1, tag("x", true)),
                    saying(2, 2, SaidThing::Star(true)),
                    saying(3, 3, tag("y", true)),
                ],
                "- ★ x y",
                "parts do not touch each other",
            ),
            (
                vec![saying(3, 1, tag("x", false)), saying(1, 2, tag("x", true))],
                "- - ",
                "a tag taken away later",
            ),
            (vec![saying(1, 1, tag("x", false)), saying(3, 2, tag("x", true))], "- - x", "and given again"),
        ];
        for (sayings, want, why) in table {
            let label = label_of(&sayings);
            let title = label.title.as_ref().and_then(|said| said.value.clone());
            let star = if label.star.as_ref().is_some_and(|said| said.value) { "★" } else { "-" };
            let mut tags = label.tags_there(9);
            tags.sort_unstable();
            let text = format!("{} {star} {}", title.as_deref().unwrap_or("-"), tags.join(" "));
            assert_eq!(text, want, "{why}");
        }
        let many: Vec<Saying> = (1..6).map(|at| saying(at, 1, tag(&at.to_string(), true))).collect();
        assert_eq!(label_of(&many).tags_there(2), ["5", "4"], "the ones said last");
    }

    #[test]
    fn taken_back_table() {
        let of = Digest([1; 32]);
        let back = |made| saying(made, 9, SaidThing::TakenBack(of));
        let verdict = saying(1, 1, SaidThing::Verdict);
        assert_eq!(taken_back(std::slice::from_ref(&verdict)).get(&of), None);
        assert_eq!(taken_back(&[back(7), verdict, back(5)]).get(&of), Some(&Timestamp(5)), "the first time");
        let raised: Vec<Saying> = (1..5).map(|at| saying(at.into(), at, SaidThing::Raised)).collect();
        let taken = saying(9, 9, SaidThing::TakenBack(Digest([4; 32])));
        let all: Vec<Saying> = raised.into_iter().chain([taken]).collect();
        let made: Vec<i64> = raised_standing(&all, 2).iter().map(|place| place.made.0).collect();
        assert_eq!(made, [3, 2], "the ones said last of those that stand");
        let newest = SayingPlace { made: Timestamp(50), digest: of };
        assert_eq!(said_after(Timestamp(9), Some(newest)), Timestamp(51), "a slow clock");
        assert_eq!(said_after(Timestamp(90), Some(newest)), Timestamp(90));
        assert_eq!(said_after(Timestamp(9), None), Timestamp(9));
    }

    fn sayings() -> impl Strategy<Value = Vec<Saying>> {
        let thing = prop_oneof![
            prop::option::of("[ab]").prop_map(SaidThing::Title),
            any::<bool>().prop_map(SaidThing::Star),
            ("[ab]", any::<bool>()).prop_map(|(name, is_there)| tag(&name, is_there)),
            Just(SaidThing::Verdict),
            Just(SaidThing::Raised),
            (0_u8..6).prop_map(|of| SaidThing::TakenBack(Digest([of; 32]))),
        ];
        let one = (0_i64..4, 0_u8..6, thing).prop_map(|(made, digest, thing)| saying(made, digest, thing));
        // A digest names one saying.
        prop::collection::vec(one, 0..14).prop_map(|all| {
            let by_place: BTreeMap<SayingPlace, Saying> =
                all.into_iter().map(|one| (one.place, one)).collect();
            by_place.into_values().collect()
        })
    }

    proptest! {
        /// The order in which sayings come, and how often, changes nothing.
        #[test]
        fn the_order_of_arrival_changes_nothing(all in sayings(), cut in 0_usize..14) {
            let mut turned = all.clone();
            turned.rotate_left(cut.min(all.len()));
            turned.extend(all.iter().take(cut).cloned());
            prop_assert_eq!(label_of(&turned), label_of(&all));
            prop_assert_eq!(taken_back(&turned), taken_back(&all));
            prop_assert_eq!(raised_standing(&turned, 3), raised_standing(&all, 3));
        }
    }
}
