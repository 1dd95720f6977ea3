//! What a provider's refusals tell about a model's limits, and for how long they are believed.

use std::time::Duration;

use super::{Refused, SHRINK_PERMILLE, Unit, share};
use crate::policy::WINDOW_MIN;
use crate::tokens::Tokens;

/// How long a figure is believed. Servers restart with other windows, and some figures are wrong.
pub const BELIEVED: Duration = Duration::from_hours(1);

/// A guessed limit grows after answered calls that fill at least this share of it, in thousandths.
const FULL_PERMILLE: u64 = 900;

/// A guessed limit stops growing once the refused size is less than this share above it, in thousandths of that size.
const NEAR_PERMILLE: u64 = 50;

/// Each growth covers one over this of the way to the refused size.
const STEP: u64 = 4;

/// A refused call: its size by our ruler, and the answer that it requested, 0 if unspecified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its input, in expected tokens.
    pub input: u64,
    /// Its requested answer, in tokens.
    pub output: u64,
}

/// A guessed limit of the input, in tokens of our ruler: between the accepted and the refused sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guess {
    /// The current limit.
    tokens: u64,
    /// The smallest refused size.
    refused: u64,
    /// The largest size accepted since.
    taken: u64,
    /// The requested answer of the refused call.
    output: u64,
    at: Duration,
}

/// A figure in tokens and the time of its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figure {
    tokens: u64,
    at: Duration,
}

/// The known limits of one model, for callers that share them.
///
/// Times are counted from an arbitrary fixed moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The limit of input and answer together.
    window: Option<Figure>,
    /// The limit of the input, and the requested answer of the call that revealed it.
    input: Option<(Figure, u64)>,
    /// The largest accepted input.
    taken: Option<Figure>,
    /// The largest accepted sum of input and answer.
    taken_in_all: Option<Figure>,
    /// The limit guessed from refusals without a figure.
    guess: Option<Guess>,
}

impl Told {
    /// Takes a refusal. A limit is not believed if no model has it, if it does not explain the refusal, or if the model
    /// accepted a larger call. A refusal without a figure gives a limit too: a share of the refused size, which grows
    /// back step by step while calls that fill it are answered.
    ///
    /// Source: vLLM, whose limits have the answer subtracted; OpenAI, which tells no limit; F003.
    pub fn refused(&mut self, refused: Refused, asked: Asked, now: Duration) {
        let (unit, limit, sent) = match refused {
            Refused::Overflow { unit: Unit::Input | Unit::InputAndOutput, limit: None, .. }
            | Refused::Suspected => return self.guess(asked, now),
            Refused::Overflow { unit, limit: Some(limit), sent, .. } => (unit, limit, sent),
            _ => return,
        };
        if limit < WINDOW_MIN || sent.is_some_and(|sent| sent <= limit) {
            return;
        }
        let told = Figure { tokens: limit, at: now };
        let is_possible = |taken: Option<Figure>| fresh(taken, now).is_none_or(|taken| taken <= limit);
        match unit {
            Unit::InputAndOutput if is_possible(self.taken_in_all) => self.window = Some(told),
            Unit::Input if is_possible(self.taken) => self.input = Some((told, asked.output)),
            _ => return,
        }
        self.guess = None;
    }

    /// Takes a refusal without a figure. Sizes accepted before under the same guess may still be sent.
    fn guess(&mut self, asked: Asked, now: Duration) {
        let known = self.guess.filter(|guess| is_fresh(guess.at, now));
        let refused = known.map_or(asked.input, |guess| guess.refused.min(asked.input));
        let taken = known.map(|guess| guess.taken).filter(|taken| *taken < refused).unwrap_or_default();
        let tokens = share(refused, SHRINK_PERMILLE).max(taken);
        self.guess = Some(Guess { tokens, refused, taken, output: asked.output, at: now });
    }

    /// Takes the size, by our ruler, of an answered call. A call that filled the guessed limit makes the limit grow. A
    /// call above the refused size disproves the guess, which is dropped.
    pub fn fitted(&mut self, ours: Tokens, now: Duration) {
        let Some(guess) = &mut self.guess else { return };
        if !is_fresh(guess.at, now) || ours.expected >= guess.refused {
            self.guess = None;
            return;
        }
        guess.taken = guess.taken.max(ours.expected);
        let left = guess.refused.saturating_sub(guess.tokens);
        let is_full = ours.upper >= share(guess.tokens, FULL_PERMILLE);
        if is_full && left > share(guess.refused, NEAR_PERMILLE) {
            guess.tokens += left / STEP;
        }
    }

    /// Takes the provider's count of an answered call: any lower limit is wrong.
    ///
    /// * `input`, `output` - as the provider counted them.
    pub fn took(&mut self, input: u64, output: u64, now: Duration) {
        let all = input.saturating_add(output);
        self.window = self.window.filter(|told| told.tokens >= all);
        self.input = self.input.filter(|(told, _)| told.tokens >= input);
        self.taken = most(self.taken, input, now);
        self.taken_in_all = most(self.taken_in_all, all, now);
    }

    /// The limit of input and answer together, if one is known.
    pub fn window(&self, now: Duration) -> Option<u64> {
        fresh(self.window, now)
    }

    /// The limit of the input alone, if one was named or guessed. A call with a shorter answer may have as much more
    /// input: the limit may be the window less the answer. If it is not, the next refusal corrects it.
    ///
    /// * `output` - the requested answer; 0 if unspecified.
    pub fn input(&self, output: u64, now: Duration) -> Option<u64> {
        let told = self.input.and_then(|(told, of)| Some((fresh(Some(told), now)?, of)));
        let guess = self.guess.filter(|guess| is_fresh(guess.at, now));
        let guess = guess.map(|guess| (guess.tokens, guess.output));
        let limits = told.into_iter().chain(guess);
        limits.map(|(limit, of)| limit.saturating_add(of.saturating_sub(output))).min()
    }
}

fn is_fresh(at: Duration, now: Duration) -> bool {
    now.saturating_sub(at) < BELIEVED
}

fn fresh(figure: Option<Figure>, now: Duration) -> Option<u64> {
    figure.filter(|figure| is_fresh(figure.at, now)).map(|figure| figure.tokens)
}

fn most(before: Option<Figure>, tokens: u64, now: Duration) -> Option<Figure> {
    let is_more = fresh(before, now).is_none_or(|before| tokens >= before);
    if is_more { Some(Figure { tokens, at: now }) } else { before }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event at a minute.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// A refusal: unit, limit, sent, and the requested answer.
        No(Unit, u64, Option<u64>, u64),
        /// An answer: input and output.
        Yes(u64, u64),
    }
    use Event::{No, Yes};

    const BOTH: Unit = Unit::InputAndOutput;
    const INPUT: Unit = Unit::Input;

    /// The events, then the window and the input's limit.
    type Row = (&'static [(u64, Event)], Option<u64>, Option<u64>, &'static str);

    /// The limits for a call that requests an answer of 8k, at minute 70.
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
                        told.refused(refused, Asked { input: 50_000, output }, minute(*at));
                    }
                    Yes(input, output) => told.took(input, output, minute(*at)),
                }
            }
            let now = minute(70);
            assert_eq!((told.window(now), told.input(8_000, now)), (*window, *input), "{why}: {events:?}");
        }
        let mut told = Told::default();
        let others = [Unit::Bytes, Unit::Media, Unit::Other].map(silent);
        let others = others.into_iter().chain([
            Refused::Output { limit: Some(8_000) },
            Refused::Unrecognised,
            Refused::Other,
        ]);
        for refused in others {
            told.refused(refused, Asked { input: 50_000, output: 8_000 }, Duration::ZERO);
        }
        assert_eq!(told, Told::default(), "what tells no limit of a prompt");
    }

    const fn silent(unit: Unit) -> Refused {
        Refused::Overflow { unit, limit: None, sent: None, output: None }
    }

    /// A call by our ruler, at a minute: refused without a figure, or answered.
    #[derive(Clone, Copy, Debug)]
    enum Ours {
        Refused(u64),
        Taken(u64, u64),
    }
    use Ours::{Refused as Out, Taken as In};

    /// Calls by minute, the resulting limit, and why.
    type Guess<'a> = (&'a [(u64, Ours)], Option<u64>, &'a str);

    #[test]
    fn guesses_table() {
        let table: &[Guess<'_>] = &[
            (&[(60, Out(100_000))], Some(75_000), "a share of what was refused, at once"),
            (&[(10, Out(100_000))], None, "an hour ago"),
            (&[(60, Out(100_000)), (61, Out(75_000))], Some(56_250), "refused again: less"),
            (&[(60, Out(75_000)), (61, Out(100_000))], Some(56_250), "another one that was larger"),
            (&[(60, Out(100_000)), (61, In(40_000, 45_000))], Some(75_000), "a small one proves nothing"),
            (
                &[(60, Out(100_000)), (61, In(62_000, 68_000))],
                Some(81_250),
                "one that fills it: a step back up",
            ),
            (
                &[(60, Out(100_000)), (61, In(62_000, 68_000)), (62, In(70_000, 80_000))],
                Some(85_937),
                "and another",
            ),
            (
                &[(60, Out(100_000)), (61, In(70_000, 74_000)), (62, Out(78_000))],
                Some(70_000),
                "a step too far: back to what was taken",
            ),
            (
                &[(60, Out(100_000)), (61, In(70_000, 74_000)), (62, Out(73_000)), (63, In(70_000, 70_000))],
                Some(70_000),
                "near what was refused it grows no more",
            ),
            (&[(60, Out(100_000)), (61, In(100_000, 110_000))], None, "what was refused is taken now"),
        ];
        let minute = Duration::from_mins;
        for (events, want, why) in table {
            for refused in [silent(INPUT), silent(BOTH), Refused::Suspected] {
                let mut told = Told::default();
                for (at, event) in *events {
                    match *event {
                        Out(input) => told.refused(refused, Asked { input, output: 8_000 }, minute(*at)),
                        In(expected, upper) => told.fitted(Tokens { expected, upper }, minute(*at)),
                    }
                }
                assert_eq!(told.input(8_000, minute(70)), *want, "{why}: {events:?}");
                let shorter = want.map(|want| want + 3_000);
                assert_eq!(told.input(5_000, minute(70)), shorter, "{why}: with a shorter answer");
            }
        }
        let mut told = Told::default();
        told.refused(silent(INPUT), Asked { input: 100_000, output: 0 }, minute(1));
        let figure = Refused::Overflow { unit: INPUT, limit: Some(90_000), sent: None, output: None };
        told.refused(figure, Asked { input: 100_000, output: 0 }, minute(2));
        assert_eq!(told.input(0, minute(3)), Some(90_000), "a figure is worth more than a guess");
    }

    /// For any limit, few calls are refused until it is known well enough.
    #[test]
    fn a_silent_limit_costs_few_refusals() {
        for limit in (10_000..200_000).step_by(1_237) {
            let (mut told, mut refusals) = (Told::default(), 0);
            for call in 0..500 {
                let now = Duration::from_secs(call);
                let input = told.input(0, now).unwrap_or(200_000);
                if input > limit {
                    refusals += 1;
                    told.refused(silent(INPUT), Asked { input, output: 0 }, now);
                } else {
                    told.fitted(Tokens::exact(input), now);
                }
            }
            let kept = told.input(0, Duration::from_secs(500)).unwrap_or(200_000);
            assert!(kept <= limit && kept >= limit / 100 * 90, "{kept} of {limit}");
            assert!(refusals <= 15, "{refusals} for {limit}");
        }
    }
}
