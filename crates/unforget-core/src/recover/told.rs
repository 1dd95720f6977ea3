//! What a provider's refusals say of a model's limits, and for how long that is believed.

use std::time::Duration;

use super::{Refused, Unit};
use crate::policy::WINDOW_MIN;

/// How long a figure is believed. Servers are started again with other windows, and some tell what is not so.
pub const BELIEVED: Duration = Duration::from_hours(1);

/// A figure in tokens, and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figure {
    tokens: u64,
    at: Duration,
}

/// What is known of the limits of one model, for callers that have the same.
///
/// Times are counted from any fixed moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The limit of input and answer together.
    window: Option<Figure>,
    /// The limit of the input, and what was asked for as an answer when it was told.
    input: Option<(Figure, u64)>,
    /// The most input that was taken.
    taken: Option<Figure>,
    /// The most input with its answer that was taken.
    taken_in_all: Option<Figure>,
}

impl Told {
    /// Takes a refusal. Limits that no model has, that do not explain the refusal, or that a call was above which the model
    /// took, are not believed.
    ///
    /// * `output` - what the call asked for as an answer; 0 if it did not say.
    ///
    /// Source: vLLM, whose limits have the answer subtracted; F003.
    pub fn refused(&mut self, refused: Refused, output: u64, now: Duration) {
        let Refused::Overflow { unit, limit: Some(limit), sent, .. } = refused else { return };
        if limit < WINDOW_MIN || sent.is_some_and(|sent| sent <= limit) {
            return;
        }
        let told = Figure { tokens: limit, at: now };
        let is_possible = |taken: Option<Figure>| fresh(taken, now).is_none_or(|taken| taken <= limit);
        match unit {
            Unit::InputAndOutput if is_possible(self.taken_in_all) => self.window = Some(told),
            Unit::Input if is_possible(self.taken) => self.input = Some((told, output)),
            _ => {}
        }
    }

    /// Takes what a call was counted that the model answered: a limit below it is not one.
    ///
    /// * `input`, `output` - as the provider counted them.
    pub fn took(&mut self, input: u64, output: u64, now: Duration) {
        let all = input.saturating_add(output);
        self.window = self.window.filter(|told| told.tokens >= all);
        self.input = self.input.filter(|(told, _)| told.tokens >= input);
        self.taken = most(self.taken, input, now);
        self.taken_in_all = most(self.taken_in_all, all, now);
    }

    /// The limit of input and answer together, if one was told.
    pub fn window(&self, now: Duration) -> Option<u64> {
        fresh(self.window, now)
    }

    /// The limit of the input alone, if one was told. A call that asks for a shorter answer may have as much more: the limit
    /// may have had the answer subtracted. If it had not, the next refusal says so, of that call.
    ///
    /// * `output` - what the call asks for as an answer; 0 if it does not say.
    pub fn input(&self, output: u64, now: Duration) -> Option<u64> {
        let (told, of) = self.input?;
        let limit = fresh(Some(told), now)?;
        Some(limit.saturating_add(of.saturating_sub(output)))
    }
}

fn fresh(figure: Option<Figure>, now: Duration) -> Option<u64> {
    figure.filter(|figure| now.saturating_sub(figure.at) < BELIEVED).map(|figure| figure.tokens)
}

fn most(before: Option<Figure>, tokens: u64, now: Duration) -> Option<Figure> {
    let is_more = fresh(before, now).is_none_or(|before| tokens >= before);
    if is_more { Some(Figure { tokens, at: now }) } else { before }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens, at a minute.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// A refusal: unit, limit, sent, and the answer that was asked for.
        No(Unit, u64, Option<u64>, u64),
        /// An answer: input and output.
        Yes(u64, u64),
    }
    use Event::{No, Yes};

    const BOTH: Unit = Unit::InputAndOutput;
    const INPUT: Unit = Unit::Input;

    /// The events, the window and the input's limit after them.
    type Row = (&'static [(u64, Event)], Option<u64>, Option<u64>, &'static str);

    /// What holds for a call that asks for an answer of 8k, at minute 70.
    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn told_table() {
        let table: &[Row] = &[
            (&[], None, None, "nothing told"),
            (&[(60, No(BOTH, 32_768, Some(41_000), 8_000))], Some(32_768), None, "a window"),
            (&[(60, No(BOTH, 32_768, None, 8_000))], Some(32_768), None, "without what was sent"),
            (&[(60, No(BOTH, 100, Some(8_000), 8_000))], None, None, "no model has such a window"),
            (&[(60, No(INPUT, 3, Some(8), 8_000))], None, None, "vLLM's defect"),
            (&[(60, No(INPUT, WINDOW_MIN, None, 8_000))], None, Some(WINDOW_MIN), "the smallest there is"),
            (&[(60, No(BOTH, 32_768, Some(20_000), 8_000))], None, None, "it does not explain the refusal"),
            (&[(10, No(BOTH, 32_768, None, 8_000))], None, None, "an hour ago"),
            (&[(11, No(BOTH, 32_768, None, 8_000))], Some(32_768), None, "less than an hour ago"),
            (
                &[(60, No(INPUT, 200_000, Some(210_000), 8_000))],
                None,
                Some(200_000),
                "an input's limit is not a window with the answer in it",
            ),
            (
                &[(60, No(INPUT, 12_768, Some(20_000), 20_000))],
                None,
                Some(24_768),
                "the answer may have been subtracted from it",
            ),
            (
                &[(60, No(INPUT, 200_000, None, 64_000)), (61, No(INPUT, 200_000, None, 8_000))],
                None,
                Some(200_000),
                "it was not: the refusal of a shorter one says so",
            ),
            (
                &[(60, No(INPUT, 200_000, None, 0))],
                None,
                Some(200_000),
                "nor is it less because the call asks for more than the one before",
            ),
            (&[(60, No(Unit::Bytes, 32_768, None, 8_000))], None, None, "bytes are no tokens"),
            (&[(60, No(Unit::Media, 32_768, None, 8_000))], None, None, "nor are images"),
            (
                &[(60, No(BOTH, 32_768, None, 8_000)), (61, Yes(32_000, 1_000))],
                None,
                None,
                "a larger call was taken",
            ),
            (
                &[(60, No(BOTH, 32_768, None, 8_000)), (61, Yes(32_000, 768))],
                Some(32_768),
                None,
                "one that is just as large",
            ),
            (
                &[(60, No(INPUT, 30_000, None, 8_000)), (61, Yes(30_001, 1))],
                None,
                None,
                "a larger input was taken",
            ),
            (
                &[(60, Yes(300_000, 1_000)), (61, No(INPUT, 200_000, None, 8_000))],
                None,
                None,
                "a larger one was taken before",
            ),
            (
                &[(60, Yes(32_000, 1_000)), (61, No(BOTH, 32_768, None, 8_000))],
                None,
                None,
                "the same of a window",
            ),
            (
                &[(0, Yes(300_000, 1_000)), (61, No(INPUT, 200_000, None, 8_000))],
                None,
                Some(200_000),
                "more than an hour ago: the server may be another",
            ),
            (
                &[(0, Yes(300_000, 0)), (50, Yes(1_000, 0)), (61, No(INPUT, 200_000, None, 8_000))],
                None,
                Some(200_000),
                "small ones do not keep a large one fresh",
            ),
            (
                &[(20, Yes(300_000, 0)), (50, Yes(1_000, 0)), (61, No(INPUT, 200_000, None, 8_000))],
                None,
                None,
                "nor hide it",
            ),
        ];
        let minute = Duration::from_mins;
        for (events, window, input, why) in table {
            let mut told = Told::default();
            for (at, event) in *events {
                match *event {
                    No(unit, limit, sent, output) => {
                        let refused = Refused::Overflow { unit, limit: Some(limit), sent, output: None };
                        told.refused(refused, output, minute(*at));
                    }
                    Yes(input, output) => told.took(input, output, minute(*at)),
                }
            }
            let now = minute(70);
            assert_eq!((told.window(now), told.input(8_000, now)), (*window, *input), "{why}: {events:?}");
        }
        let mut told = Told::default();
        for refused in [Refused::Suspected, Refused::Output { limit: Some(8_000) }, Refused::Other] {
            told.refused(refused, 8_000, Duration::ZERO);
        }
        assert_eq!(told, Told::default(), "what tells no limit of a prompt");
    }
}
