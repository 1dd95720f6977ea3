//! Which entries a prompt does not show word for word: those that a break took out, or all of a call, and since which break.

use crate::id::Seq;

/// The form that a prompt gives to entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftForm {
    /// Verbatim.
    Whole,
    /// With texts or results cut.
    Short,
    /// A summary stands for them.
    Summarised,
    /// A line for a run of entries at most: the prompt had no room.
    LeftOut,
}

/// Entries of a prompt that have one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftPart {
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Their form.
    pub form: LeftForm,
}

/// How far the summaries and stubs of a break reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakReach {
    /// Number of the break within its conversation, from 1.
    pub number: u32,
    /// The last entry that its summaries stand for; `None` without summaries.
    pub covered: Option<Seq>,
    /// Large results before this entry are replaced by stubs.
    pub stub_below: Seq,
}

/// Why a prompt does not show entries word for word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftWhy {
    /// Summaries stand for them since the break of this number.
    Summarised(u32),
    /// Summaries stand for them since this break or an earlier one, of which nothing is kept.
    SummarisedBefore(u32),
    /// Their long texts and results are cut since the break of this number.
    Shortened(u32),
    /// Their long texts and results are cut; no break tells since when.
    Cut,
    /// This call had no room for them.
    NoRoom,
}

impl LeftWhy {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summarised(_) => "summarised",
            Self::SummarisedBefore(_) => "summarised-before",
            Self::Shortened(_) => "shortened",
            Self::Cut => "cut",
            Self::NoRoom => "no-room",
        }
    }

    /// The number of its break.
    pub const fn number(self) -> Option<u32> {
        match self {
            Self::Summarised(number) | Self::SummarisedBefore(number) | Self::Shortened(number) => {
                Some(number)
            }
            Self::Cut | Self::NoRoom => None,
        }
    }
}

/// Neighbouring entries that a prompt does not show word for word, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftRun {
    /// First and last entry.
    pub span: (Seq, Seq),
    /// The reason.
    pub why: LeftWhy,
}

/// Entries that stood word for word in the earlier of two prompts and do not in the later one, or were cut and are gone. In the
/// order of the earlier prompt.
///
/// Cost: O(parts log parts).
pub fn left_between(was: &[LeftPart], is: &[LeftPart]) -> Vec<(Seq, Seq)> {
    let whole = HeldSpans::of(is, |form| form == LeftForm::Whole);
    let any = HeldSpans::of(is, |form| matches!(form, LeftForm::Whole | LeftForm::Short));
    let left = was.iter().filter(|part| match part.form {
        LeftForm::Whole => !whole.has(part.span.0),
        LeftForm::Short => !any.has(part.span.0),
        LeftForm::Summarised | LeftForm::LeftOut => false,
    });
    left.map(|part| part.span).collect()
}

/// Spans in order, each with the last entry of it and all before.
struct HeldSpans(Vec<(Seq, Seq)>);

impl HeldSpans {
    fn of(parts: &[LeftPart], wanted: fn(LeftForm) -> bool) -> Self {
        let mut spans: Vec<_> = parts.iter().filter(|part| wanted(part.form)).map(|part| part.span).collect();
        spans.sort_unstable();
        let mut last = Seq(0);
        for span in &mut spans {
            last = last.max(span.1);
            span.1 = last;
        }
        Self(spans)
    }

    fn has(&self, seq: Seq) -> bool {
        let behind = self.0.partition_point(|span| span.0 <= seq);
        let before = behind.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|span| span.1 >= seq)
    }
}

/// Joins neighbouring spans, so that each run of entries is read once.
///
/// * `spans` - in order.
pub fn joined(spans: &[(Seq, Seq)]) -> Vec<(Seq, Seq)> {
    let mut all: Vec<(Seq, Seq)> = Vec::new();
    for (first, last) in spans {
        match all.last_mut() {
            Some(before) if before.1.0 + 1 == first.0 => before.1 = *last,
            _ => all.push((*first, *last)),
        }
    }
    all
}

/// The entries that a prompt does not show word for word, each once, in order, with the reason.
///
/// A summary stands for an entry since the first break whose summaries reach it. An entry that stands word for word beside its
/// summary, as a carried message or because a person put it back, is shown.
///
/// * `parts` - of the prompt, in any order.
/// * `breaks` - up to the call, by number, ascending.
///
/// Cost: O(parts log parts + breaks).
pub fn not_shown(parts: &[LeftPart], breaks: &[BreakReach]) -> Vec<LeftRun> {
    let (mut taken, mut runs) = (Vec::new(), Vec::new());
    // Of two forms of an entry, the one with more of its words counts.
    for form in [LeftForm::Whole, LeftForm::Short, LeftForm::Summarised, LeftForm::LeftOut] {
        let spans = merged(parts.iter().filter(|part| part.form == form).map(|part| part.span));
        let free = spans.iter().flat_map(|span| without(span.0, span.1, &taken));
        runs.extend(free.flat_map(|span| reasons(LeftPart { span, form }, breaks)));
        taken = merged(taken.into_iter().chain(spans));
    }
    runs.sort_by_key(|run| run.span);
    runs
}

/// Disjoint spans in order that hold the same entries.
fn merged(spans: impl IntoIterator<Item = (Seq, Seq)>) -> Vec<(Seq, Seq)> {
    let mut spans: Vec<_> = spans.into_iter().collect();
    spans.sort_unstable();
    let mut all: Vec<(Seq, Seq)> = Vec::new();
    for (first, last) in spans {
        match all.last_mut() {
            Some(before) if before.1.0.saturating_add(1) >= first.0 => before.1 = before.1.max(last),
            _ => all.push((first, last)),
        }
    }
    all
}

/// What of a span other spans leave.
///
/// * `taken` - disjoint, in order.
fn without(first: Seq, last: Seq, taken: &[(Seq, Seq)]) -> Vec<(Seq, Seq)> {
    let from = taken.partition_point(|span| span.1 < first);
    let mut next = first.0;
    let mut left = Vec::new();
    for (start, end) in taken.iter().skip(from).take_while(|span| span.0 <= last) {
        if next < start.0 {
            left.push((Seq(next), Seq(start.0 - 1)));
        }
        next = end.0.saturating_add(1);
    }
    if next <= last.0 {
        left.push((Seq(next), last));
    }
    left
}

/// The runs of a part: summarised entries parted where a break's summaries end.
fn reasons(part: LeftPart, breaks: &[BreakReach]) -> Vec<LeftRun> {
    let LeftPart { span: (first, last), form } = part;
    let alone = |why| vec![LeftRun { span: (first, last), why }];
    match form {
        LeftForm::Whole => Vec::new(),
        LeftForm::LeftOut => alone(LeftWhy::NoRoom),
        LeftForm::Short => {
            let since = breaks.iter().find(|reach| reach.stub_below > first);
            alone(since.map_or(LeftWhy::Cut, |reach| LeftWhy::Shortened(reach.number)))
        }
        LeftForm::Summarised => summarised(first, last, breaks),
    }
}

fn summarised(first: Seq, last: Seq, breaks: &[BreakReach]) -> Vec<LeftRun> {
    let (mut next, mut runs) = (first, Vec::new());
    let covering = breaks.iter().filter_map(|reach| Some((reach.number, reach.covered?)));
    let mut newest = 0;
    for (at, (number, end)) in covering.enumerate() {
        newest = number;
        if end < next {
            continue;
        }
        // Nobody knows what the breaks before the oldest kept one had taken already.
        let is_exact = at > 0 || number <= 1;
        let why = if is_exact { LeftWhy::Summarised(number) } else { LeftWhy::SummarisedBefore(number) };
        runs.push(LeftRun { span: (next, end.min(last)), why });
        if end >= last {
            return runs;
        }
        next = Seq(end.0 + 1);
    }
    runs.push(LeftRun { span: (next, last), why: LeftWhy::SummarisedBefore(newest) });
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn part(first: u64, last: u64, form: LeftForm) -> LeftPart {
        LeftPart { span: (Seq(first), Seq(last)), form }
    }

    const fn reach(number: u32, covered: u64, stub_below: u64) -> BreakReach {
        BreakReach { number, covered: Some(Seq(covered)), stub_below: Seq(stub_below) }
    }

    #[test]
    fn what_left_table() {
        use LeftForm::{Short, Summarised, Whole};
        let was = [part(1, 2, Whole), part(3, 3, Short), part(4, 5, Whole), part(6, 6, Summarised)];
        let is = [part(1, 3, Summarised), part(4, 5, Short), part(6, 6, Summarised)];
        assert_eq!(left_between(&was, &is), [(Seq(1), Seq(2)), (Seq(3), Seq(3)), (Seq(4), Seq(5))]);
        assert_eq!(left_between(&is, &is), [], "a cut entry still stands");
        assert_eq!(left_between(&is, &was), [], "nothing left on the way back");
        let all = [part(1, 9, Whole), part(2, 3, Whole)];
        assert_eq!(left_between(&[part(8, 8, Whole)], &all), [], "a longer span before a shorter one");
        let spans = [(1, 2), (3, 3), (5, 6)].map(|(first, last)| (Seq(first), Seq(last)));
        assert_eq!(joined(&spans), [(Seq(1), Seq(3)), (Seq(5), Seq(6))]);
    }

    const BREAKS: [BreakReach; 2] = [reach(1, 4, 0), reach(2, 9, 15)];
    const KEPT: [BreakReach; 2] = [reach(3, 4, 0), reach(4, 9, 0)];

    /// Parts, breaks, and first and last entry of each run with its reason.
    type ReasonsRow<'a> = (&'a [LeftPart], &'a [BreakReach], &'a [(u64, u64, LeftWhy)], &'a str);

    #[test]
    fn reasons_table() {
        use LeftForm::{LeftOut, Short, Summarised, Whole};
        use LeftWhy::{Cut, NoRoom, Shortened, SummarisedBefore};
        let table: [ReasonsRow<'_>; 9] = [
            (&[part(0, 9, Whole)], &BREAKS, &[], "all of it is shown"),
            (
                &[part(0, 9, Summarised), part(10, 12, Whole)],
                &BREAKS,
                &[(0, 4, LeftWhy::Summarised(1)), (5, 9, LeftWhy::Summarised(2))],
                "each break took its own",
            ),
            (
                &[part(0, 9, Summarised)],
                &KEPT,
                &[(0, 4, SummarisedBefore(3)), (5, 9, LeftWhy::Summarised(4))],
                "the breaks before the oldest kept one are not known",
            ),
            (
                &[part(0, 4, Summarised), part(2, 2, Whole)],
                &BREAKS,
                &[(0, 1, LeftWhy::Summarised(1)), (3, 4, LeftWhy::Summarised(1))],
                "an entry that was put back is shown",
            ),
            (
                &[part(0, 4, Summarised), part(1, 1, Short)],
                &BREAKS,
                &[(0, 0, LeftWhy::Summarised(1)), (1, 1, Shortened(2)), (2, 4, LeftWhy::Summarised(1))],
                "a cut entry beside its summary",
            ),
            (&[part(14, 14, Short)], &BREAKS, &[(14, 14, Shortened(2))], "stubs of the second break"),
            (&[part(15, 16, Short)], &BREAKS, &[(15, 16, Cut)], "cut without a break"),
            (&[part(20, 30, LeftOut)], &BREAKS, &[(20, 30, NoRoom)], "no room"),
            (&[part(0, 2, Summarised)], &[], &[(0, 2, SummarisedBefore(0))], "no break is known"),
        ];
        for (parts, breaks, want, why) in table {
            let want: Vec<LeftRun> = want
                .iter()
                .map(|(first, last, why)| LeftRun { span: (Seq(*first), Seq(*last)), why: *why })
                .collect();
            assert_eq!(not_shown(parts, breaks), want, "{why}");
        }
    }

    fn parts() -> impl Strategy<Value = Vec<LeftPart>> {
        let form = prop::sample::select(vec![
            LeftForm::Whole,
            LeftForm::Short,
            LeftForm::Summarised,
            LeftForm::LeftOut,
        ]);
        let one = (0_u64..40, 0_u64..8, form).prop_map(|(first, more, form)| part(first, first + more, form));
        prop::collection::vec(one, 0..12)
    }

    proptest! {
        /// Every entry of a part is shown word for word or in one run; no run overlaps another.
        #[test]
        fn every_entry_is_shown_or_in_one_run(parts in parts(), ends in prop::collection::vec(0_u64..40, 0..5)) {
            let mut ends = ends;
            ends.sort_unstable();
            let breaks: Vec<BreakReach> = (1..).zip(&ends).map(|(number, end)| reach(number, *end, *end)).collect();
            let runs = not_shown(&parts, &breaks);
            for seq in (0..50).map(Seq) {
                let holds = |span: (Seq, Seq)| (span.0..=span.1).contains(&seq);
                let is_whole = parts.iter().any(|part| part.form == LeftForm::Whole && holds(part.span));
                let is_there = parts.iter().any(|part| holds(part.span));
                let times = runs.iter().filter(|run| holds(run.span)).count();
                prop_assert_eq!(times, usize::from(is_there && !is_whole), "{:?}", seq);
            }
        }
    }
}
