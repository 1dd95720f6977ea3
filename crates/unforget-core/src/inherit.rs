//! Forks: whether a new lane takes over the journal of its parent, the lane that it begins like, and which state of the
//! parent's prompts goes with it.
//!
//! Summaries and prompts cite entries by their places. A fork whose journal begins with the lines of its parent has the
//! same places, so its prompts begin with the same bytes, and a provider's cache serves them.

use crate::compact::Context;
use crate::id::Seq;
use crate::pin::{Pin, PinState};

/// Most lines that are copied for each entry of the path up to the fork point. With more, most copied lines would be off the path.
const LINES_PER_ENTRY: u64 = 4;

/// What a fork has in common with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Lines that the fork has already.
    pub own: u64,
    /// The fork point: the last entry of the path that both have.
    pub until: Seq,
    /// Entries of the path up to the fork point.
    pub entries: u64,
    /// Prompts of the parent whose summaries stand for no entry behind the fork point.
    pub prompts: usize,
    /// Whether a line up to the fork point was purged.
    pub is_purged: bool,
}

/// Why a fork does not take over its parent's journal. Its messages are delivered to it instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The lane has a history of its own.
    #[error("the new lane has a history of its own already")]
    Begun,
    /// No prompt of the other lane has a beginning that the new one could share: none broke before the fork point.
    #[error("no prompt of the other lane broke before the fork point")]
    Unbroken,
    /// Most lines of the other journal belong to abandoned branches.
    #[error("most lines of the other lane belong to branches that it left")]
    Left,
    /// What was purged does not come again, and nothing stands in its place.
    #[error("entries before the fork point were purged")]
    Purged,
}

/// Decides whether a lane takes over the journal of the one that it begins like.
///
/// # Errors
/// Why it does not.
///
/// Cost: O(1). Source: ADR-0020.
pub const fn inherit(shared: &Shared) -> Result<(), Unfit> {
    // The header is no history.
    if shared.own > 1 {
        return Err(Unfit::Begun);
    }
    if shared.prompts == 0 {
        return Err(Unfit::Unbroken);
    }
    if shared.is_purged {
        return Err(Unfit::Purged);
    }
    if shared.until.0 > shared.entries.saturating_mul(LINES_PER_ENTRY) {
        return Err(Unfit::Left);
    }
    Ok(())
}

/// The parent's context, cut for a path that ends at the fork point; `None` if its summaries stand for later entries too.
///
/// Entries behind the fork point are the fork's own, so no threshold reaches them.
///
/// Cost: O(roots).
pub fn context_until(context: &Context, until: Seq) -> Option<Context> {
    let is_within = |seq: Seq| seq <= until;
    let fits =
        context.roots.iter().all(|root| is_within(root.span.1)) && context.carried.is_none_or(is_within);
    let end = Seq(until.0 + 1);
    fits.then(|| Context {
        stub_below: context.stub_below.min(end),
        settled_below: context.settled_below.min(end),
        ..context.clone()
    })
}

/// What a fork has of a span that a person put back: its entries up to the fork point; `None` if there are none.
pub fn raised_until(first: Seq, last: Seq, until: Seq) -> Option<(Seq, Seq)> {
    (first <= until).then(|| (first, last.min(until)))
}

/// The text of a pin whose words come from an entry behind the fork point.
pub const LATER: &str = "[pinned behind the fork point]";

/// The parent's pins as they are in a fork. A pin of words behind the fork point is no rule there and loses its words; its
/// number stays, since numbers have no gaps.
pub fn pins_until(pins: &[Pin], until: Seq) -> Vec<Pin> {
    pins.iter().map(|pin| pin_until(pin, pins, until)).collect()
}

/// One of `pins` as it is in a fork.
fn pin_until(pin: &Pin, pins: &[Pin], until: Seq) -> Pin {
    match pin.state {
        _ if is_pinned_behind(pin, until) => {
            Pin { text: LATER.to_owned(), source: None, state: PinState::Retired, ..pin.clone() }
        }
        // The new lane does not have the superseding pin.
        PinState::SupersededBy(by) if pins.iter().any(|pin| pin.id == by && is_pinned_behind(pin, until)) => {
            Pin { state: PinState::Active, ..pin.clone() }
        }
        _ => pin.clone(),
    }
}

/// Whether the words of a pin come from behind the fork point.
fn is_pinned_behind(pin: &Pin, until: Seq) -> bool {
    pin.source.is_some_and(|source| source > until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Root, Tree};
    use crate::digest::Digest;
    use crate::pin::{PinId, Pins};

    #[test]
    fn inherit_table() {
        let fork = Shared { own: 0, until: Seq(400), entries: 300, prompts: 1, is_purged: false };
        let table = [
            (fork, Ok(()), "a prompt broke before the fork point"),
            (Shared { own: 1, ..fork }, Ok(()), "the host opened the lane before it said that it is a fork"),
            (Shared { own: 2, ..fork }, Err(Unfit::Begun), "places are taken"),
            (Shared { prompts: 0, ..fork }, Err(Unfit::Unbroken), "delivered again, the prompt is the same"),
            (Shared { is_purged: true, ..fork }, Err(Unfit::Purged), "nothing comes again"),
            (Shared { entries: 100, ..fork }, Ok(()), "four lines for an entry: turns, requests, copies"),
            (Shared { entries: 99, ..fork }, Err(Unfit::Left), "the lane was reset again and again"),
            (Shared { until: Seq(u64::MAX), entries: u64::MAX, ..fork }, Ok(()), "no overflow"),
        ];
        for (shared, want, why) in table {
            assert_eq!(inherit(&shared), want, "{why}");
        }
    }

    #[test]
    fn contexts_table() {
        let root = |first, last| Root {
            tree: Tree::Own,
            level: 0,
            span: (Seq(first), Seq(last)),
            count: 3,
            end: Digest([1; 32]),
        };
        let context = Context {
            roots: vec![root(1, 4), root(5, 9)],
            carried: Some(Seq(8)),
            stub_below: Seq(14),
            settled_below: Seq(20),
            ..Context::default()
        };
        let table = [
            (8, None, "a summary stands for an entry behind the fork point"),
            (9, Some((10, 10)), "the fork point is the last entry that is summarised"),
            (15, Some((14, 16)), "what the new lane adds is as fresh as it can be"),
            (19, Some((14, 20)), "all that the break looked at"),
            (90, Some((14, 20)), "the other lane went on since"),
        ];
        for (until, want, why) in table {
            let cut = context_until(&context, Seq(until));
            assert_eq!(cut.as_ref().map(|cut| (cut.stub_below.0, cut.settled_below.0)), want, "{why}");
            assert!(cut.is_none_or(|cut| cut.roots == context.roots && cut.carried == context.carried));
        }
        let odd = Context { carried: Some(Seq(30)), ..context };
        assert_eq!(context_until(&odd, Seq(20)), None, "a carried message is on the path");
        assert!(context_until(&Context::default(), Seq(0)).is_some());
    }

    #[test]
    fn pins_table() {
        use PinState::{Active, Retired, SupersededBy};
        let pin = |id, source: Option<u64>, state| Pin {
            id: PinId(id),
            text: format!("rule {id}"),
            source: source.map(Seq),
            state,
            order: id,
        };
        let pins = [
            pin(1, None, Active),
            pin(2, Some(9), SupersededBy(PinId(4))),
            pin(3, Some(10), Retired),
            pin(4, Some(11), Active),
        ];
        let table = [
            (11, [Active, SupersededBy(PinId(4)), Retired, Active], "all words are there"),
            (10, [Active, Active, Retired, Retired], "the words that took the place of a rule are not"),
            (8, [Active, Retired, Retired, Retired], "nor those of the rule"),
        ];
        for (until, want, why) in table {
            let known = pins_until(&pins, Seq(until));
            assert_eq!(known.iter().map(|pin| pin.state).collect::<Vec<_>>(), want, "{why}");
            assert!(Pins::restore(known, vec![]).is_ok(), "{why}");
        }
    }

    #[test]
    fn raised_spans_end_at_the_fork_point() {
        let span = |first, last| (Seq(first), Seq(last));
        let table = [
            (span(2, 5), Some(span(2, 5)), "before it"),
            (span(2, 9), Some(span(2, 6)), "across it"),
            (span(6, 6), Some(span(6, 6)), "at it"),
            (span(7, 9), None, "behind it"),
        ];
        for (raised, want, why) in table {
            assert_eq!(raised_until(raised.0, raised.1, Seq(6)), want, "{why}");
        }
    }
}
