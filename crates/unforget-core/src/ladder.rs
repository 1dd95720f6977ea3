//! The rules of the rungs of admission: caps for message parts, the groups that a request keeps, and the groups that one
//! line stands for.
//!
//! See [`crate::admit`] for the order of the rungs.

use crate::admit::Rung;
use crate::compact::{Context, Sizes};
use crate::id::Seq;
use crate::pair::Detail;
use crate::policy::{ACTIVE_PART, CAP_MIN, NEWEST_FILLED, NEWEST_TRIES, Policy, SHORT_PART, TEXT_ROOM_MIN};
use crate::tokens::fair_share;

/// Maximum tokens of each part of a message. `None` leaves the part whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartCaps {
    /// Each tool result.
    pub result: Option<u64>,
    /// Each text of any author.
    pub text: Option<u64>,
    /// The arguments of each call.
    pub arguments: Option<u64>,
}

impl PartCaps {
    /// Caps for tool results only.
    pub const fn results(cap: u64) -> Self {
        Self { result: Some(cap), text: None, arguments: None }
    }

    /// One cap for every part.
    pub const fn all(cap: u64) -> Self {
        Self { result: Some(cap), text: Some(cap), arguments: Some(cap) }
    }
}

/// The caps of a rung. The last rung gives each message a share of the budget instead; see [`newest_share`].
pub fn rung_caps(rung: Rung, policy: &Policy) -> PartCaps {
    match rung {
        Rung::Assembled | Rung::WithoutRaised | Rung::CutNewest | Rung::Newest => PartCaps::default(),
        Rung::ShortResults => PartCaps::results(policy.result_share / 2),
        Rung::ActiveTurn => PartCaps { text: None, ..PartCaps::all(budget_part(policy, ACTIVE_PART)) },
        Rung::ShortTurn | Rung::Titles => PartCaps::all(budget_part(policy, SHORT_PART)),
    }
}

fn budget_part(policy: &Policy, part: u64) -> u64 {
    (policy.budget() / part).max(CAP_MIN)
}

/// The form in which a context sends a group.
///
/// * `first` - first entry of the group.
pub fn detail(context: &Context, first: Seq) -> Detail {
    if first < context.stub_below {
        Detail::Stubbed
    } else if first < context.settled_below {
        Detail::Settled
    } else {
        Detail::Full
    }
}

/// The size of a group on a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRoom {
    /// Upper bound in tokens.
    pub upper: u64,
    /// Whether the group has its own room: the newest message of a person.
    pub is_reserved: bool,
}

/// Number of the newest groups that fit into the room. At least one is kept.
///
/// * `room` - tokens for the groups without their own room.
/// * `newest_first` - read only up to the first group that does not fit.
pub fn newest_that_fit(room: u64, newest_first: impl Iterator<Item = GroupRoom>) -> usize {
    let (mut room, mut kept) = (room, 0);
    for group in newest_first {
        if !group.is_reserved {
            if group.upper > room && kept > 0 {
                break;
            }
            room = room.saturating_sub(group.upper);
        }
        kept += 1;
    }
    kept
}

/// Entries behind the summaries that one line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElidedRun {
    /// First entry.
    pub from: Seq,
    /// Last entry.
    pub to: Seq,
    /// Number of entries.
    pub count: u64,
}

/// The entries of the groups before `first` without one of them. `None` if there are none.
///
/// * `human` - index of the group that the request shows in any case.
pub fn elided_before(groups: &[Sizes], first: usize, human: Option<usize>) -> Option<ElidedRun> {
    let before = groups.iter().take(first).enumerate().filter(|(index, _)| Some(*index) != human);
    let runs =
        before.map(|(_, group)| ElidedRun { from: group.span.0, to: group.span.1, count: group.count });
    let all = runs.reduce(|a, b| ElidedRun {
        from: a.from.min(b.from),
        to: a.to.max(b.to),
        count: a.count + b.count,
    });
    all.filter(|run| run.count > 0)
}

/// The entries of all groups without the groups at these indexes. `None` if there are none.
pub fn elided_beside(groups: &[Sizes], shown: &[usize]) -> Option<ElidedRun> {
    let all: u64 = groups.iter().map(|group| group.count).sum();
    let shown: u64 = shown.iter().filter_map(|index| groups.get(*index)).map(|group| group.count).sum();
    let (first, last) = (groups.first()?, groups.last()?);
    (all > shown).then(|| ElidedRun { from: first.span.0, to: last.span.1, count: all - shown })
}

/// Index of the newest message of a person.
pub fn newest_human(groups: &[Sizes]) -> Option<usize> {
    groups.iter().rposition(|group| group.human.is_some())
}

/// The groups of the last rung, in order: the newest message of a person, and the last group.
pub fn newest_groups(groups: &[Sizes]) -> Vec<usize> {
    let human = newest_human(groups);
    let last = groups.len().checked_sub(1).filter(|last| Some(*last) != human);
    human.into_iter().chain(last).collect()
}

/// The room of each message on the last rung.
///
/// * `messages` - number of messages that share the room.
pub fn newest_share(room: u64, messages: usize) -> u64 {
    room / messages.max(1) as u64
}

/// The room of each newest input: what the rest of the request leaves, in equal parts; what a small input does not need
/// goes to the other. `None` if there is too little room to cut the newest inputs into: then older entries have to go.
///
/// * `wanted` - tokens of each newest input as a whole.
/// * `rest` - tokens of everything else in the request.
/// * `least` - the least part of the budget that cut inputs are worth, as one over this; `None` for any.
///
/// Returns the largest size of an input; `u64::MAX` if all fit whole.
pub fn newest_room(wanted: Vec<u64>, rest: u64, least: Option<u64>, policy: &Policy) -> Option<u64> {
    let room = policy.budget().saturating_sub(rest);
    match fair_share(wanted, room) {
        None => Some(u64::MAX),
        Some(each) => least.is_none_or(|part| room >= policy.budget() / part).then_some(each),
    }
}

/// Whether an answer of this many tokens has to be cut to what room there is: more than the whole budget.
pub const fn is_over_budget(whole: u64, policy: &Policy) -> bool {
    whole > policy.budget()
}

/// The widest cut of a message that fits its share, nearly full; `None` if not even the narrowest one fits.
///
/// * `cut` - the message with its parts cut to a cap in tokens. A higher cap makes no smaller message.
/// * `size` - tokens of a cut message.
///
/// Cost: at most [`NEWEST_TRIES`] cuts beside the narrowest one.
pub fn widest_cut<T>(share: u64, cut: &mut dyn FnMut(u64) -> T, size: &dyn Fn(&T) -> u64) -> Option<T> {
    let mut best = Some(cut(CAP_MIN)).filter(|least| size(least) <= share)?;
    let (mut fits, mut over, mut cap) = (CAP_MIN, share.saturating_mul(2), share);
    for _ in 0..NEWEST_TRIES {
        if over <= fits + 1 || size(&best) * 1_000 >= share * NEWEST_FILLED {
            break;
        }
        cap = cap.clamp(fits + 1, over - 1);
        let made = cut(cap);
        let found = size(&made).max(1);
        if found <= share {
            (fits, best) = (cap, made);
        } else {
            over = cap;
        }
        // Sizes grow nearly like caps; a text whose cuts fall on its long lines needs the middle instead.
        let near = cap.saturating_mul(share * (NEWEST_FILLED + 1_000) / 2_000) / found;
        cap = if near > fits && near < over { near } else { fits.midpoint(over) };
    }
    Some(best)
}

/// Caps for a message with too many blocks to shorten each, in the order of their trial: one excerpt for the whole
/// message. The last cap leaves only the name under which the message is stored.
pub const fn collapsed_caps(share: u64) -> [u64; 4] {
    [share / 2, share / 4, share / 8, 0]
}

/// The next smaller room for a text that takes more as a message than alone: less by the excess and a quarter of the
/// excess, between a half and three quarters of the room before. `None` if that room is too small.
pub fn smaller_room(room: u64, over: u64) -> Option<u64> {
    let next = room.saturating_sub(over + over / 4).clamp(room / 2, room - room / 4);
    Some(next).filter(|next| *next >= TEXT_ROOM_MIN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, reason = "tables")]

    use super::*;
    use crate::digest::Digest;
    use crate::tokens::Tokens;

    /// Groups of these numbers of entries; `!` marks a message of a person.
    fn groups(shape: &str) -> Vec<Sizes> {
        let mut next = 0;
        let mut made = Vec::new();
        for c in shape.chars() {
            let count = c.to_digit(10).map_or(1, u64::from);
            let span = (Seq(next), Seq(next + count - 1));
            let human = (c == '!').then_some(span.0);
            next += count;
            let (size, end) = (Tokens::default(), Digest([0; 32]));
            made.push(Sizes {
                full: size,
                settled: size,
                stubbed: size,
                source: 0,
                span,
                count,
                human,
                open: false,
                end,
            });
        }
        made
    }

    #[test]
    fn caps_table() {
        let policy = Policy::with_reserve(25_000, 1_000);
        let table = [
            (Rung::Assembled, PartCaps::default(), "as the context prescribes"),
            (Rung::WithoutRaised, PartCaps::default(), "only what was put back goes"),
            (Rung::ShortResults, PartCaps::results(policy.result_share / 2), "half of a result's share"),
            (
                Rung::ActiveTurn,
                PartCaps { text: None, ..PartCaps::all(3_000) },
                "an eighth of the budget; texts stay whole",
            ),
            (Rung::CutNewest, PartCaps::default(), "the newest inputs have the room that is left"),
            (Rung::ShortTurn, PartCaps::all(1_000), "a twenty-fourth"),
            (Rung::Titles, PartCaps::all(1_000), "the same below"),
            (Rung::Newest, PartCaps::default(), "shares of the budget instead"),
        ];
        for (rung, want, why) in table {
            assert_eq!(rung_caps(rung, &policy), want, "{why}");
        }
        let small = Policy::with_reserve(1_024, 512);
        assert_eq!(rung_caps(Rung::Titles, &small), PartCaps::all(CAP_MIN), "no cap below an excerpt");
    }

    #[test]
    fn fit_table() {
        let table: [(u64, &[u64], Option<usize>, usize, &str); 7] = [
            (10, &[4, 4, 4], None, 2, "the third exceeds the room"),
            (12, &[4, 4, 4], None, 3, "to the token"),
            (1, &[4, 4], None, 1, "one is kept whatever its size"),
            (0, &[0, 0], None, 2, "nothing fits into no room"),
            (8, &[4, 90, 4, 4], Some(1), 3, "a group with its own room takes none"),
            (0, &[90, 4], Some(0), 1, "and counts as kept"),
            (9, &[], None, 0, "no groups"),
        ];
        for (room, sizes, reserved, want, why) in table {
            let groups = sizes
                .iter()
                .enumerate()
                .map(|(at, upper)| GroupRoom { upper: *upper, is_reserved: Some(at) == reserved });
            assert_eq!(newest_that_fit(room, groups), want, "{why}");
        }
    }

    #[test]
    fn elided_table() {
        let run = |from, to, count| Some(ElidedRun { from: Seq(from), to: Seq(to), count });
        let four = groups("2!31");
        let before = [
            (0, None, None, "nothing before the first"),
            (2, None, run(0, 2, 3), "two groups"),
            (2, Some(1), run(0, 1, 2), "the message of a person is shown"),
            (3, Some(0), run(2, 5, 4), "a message at the beginning is shown"),
            (1, Some(0), None, "nothing remains"),
        ];
        for (first, human, want, why) in before {
            assert_eq!(elided_before(&four, first, human), want, "{why}");
        }
        assert_eq!(newest_groups(&four), [1, 3]);
        assert_eq!(elided_beside(&four, &[1, 3]), run(0, 6, 5), "the span is that of all groups");
        assert_eq!(newest_groups(&groups("3!")), [1], "the last group is the message");
        assert_eq!(newest_groups(&[]), [] as [usize; 0]);
        assert_eq!(elided_beside(&groups("!"), &[0]), None, "all are shown");
    }

    #[test]
    fn newest_room_table() {
        let policy = Policy::with_reserve(5_000, 1_000);
        let table: [(&[u64], u64, Option<u64>, Option<u64>, &str); 7] = [
            (&[3_000], 900, None, Some(u64::MAX), "the rest leaves room for it"),
            (&[9_000], 900, None, Some(3_100), "all room that the rest leaves"),
            (&[9_000, 100], 900, None, Some(3_000), "a small one leaves its room to the other"),
            (&[9_000, 9_000], 900, None, Some(1_550), "two large ones share"),
            (&[9_000], 3_001, Some(4), None, "less than a quarter of the budget: older entries go"),
            (&[9_000], 3_000, Some(4), Some(1_000), "a quarter is worth the cut"),
            (&[9_000], 6_000, None, Some(0), "no room"),
        ];
        for (wanted, rest, least, want, why) in table {
            assert_eq!(newest_room(wanted.to_vec(), rest, least, &policy), want, "{why}");
        }
        assert_eq!([4_000, 4_001].map(|whole| is_over_budget(whole, &policy)), [false, true]);
    }

    #[test]
    fn widest_cut_table() {
        let table: [(u64, &dyn Fn(u64) -> u64, Option<u64>, &str); 6] = [
            (1_000, &|cap| cap, Some(985), "the size of its cap"),
            (1_000, &|cap| cap + 40, Some(985), "with a frame"),
            (1_000, &|cap| cap * 5, Some(985), "five parts"),
            (1_000, &|cap| cap * 7 / 10, Some(985), "cuts fall on line ends before the cap"),
            (1_000, &|cap| cap / 300 * 300, Some(900), "nothing between two lines"),
            (1_000, &|_| 1_001, None, "too many parts"),
        ];
        for (share, size, least, why) in table {
            let mut tries = 0;
            let mut cut = |cap: u64| {
                tries += 1;
                cap
            };
            let found = widest_cut(share, &mut cut, &|cap: &u64| size(*cap));
            let found = found.map(size);
            assert!(found.is_none_or(|found| found <= share), "{why}: {found:?}");
            assert!(found >= least && found.is_some() == least.is_some(), "{why}: {found:?}");
            assert!(tries <= NEWEST_TRIES + 1, "{why}");
        }
    }

    #[test]
    fn shares_table() {
        assert_eq!([newest_share(900, 2), newest_share(900, 0)], [450, 900]);
        assert_eq!(collapsed_caps(80), [40, 20, 10, 0]);
        let rooms = [
            (100, 4, Some(75), "by a quarter at least"),
            (100, 30, Some(63), "by the excess and a quarter of it"),
            (100, 500, Some(50), "by a half at most"),
            (30, 20, None, "too small"),
        ];
        for (room, over, want, why) in rooms {
            assert_eq!(smaller_room(room, over), want, "{why}");
        }
    }

    #[test]
    fn detail_table() {
        let context = Context { stub_below: Seq(3), settled_below: Seq(6), ..Context::default() };
        let found = [2, 3, 5, 6].map(|first| detail(&context, Seq(first)));
        assert_eq!(found, [Detail::Stubbed, Detail::Settled, Detail::Settled, Detail::Full]);
    }
}
