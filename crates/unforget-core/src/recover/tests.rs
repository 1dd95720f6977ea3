//! A table for every rule, and the proof that recovery ends for any provider.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::too_many_lines, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::admit::{Compose, Composed, Cover, Rung, Sections, admit};
use crate::compact::CoverError;
use crate::message::Request;
use crate::raised::RaisedCount;
use crate::tokens::Tokens;

/// A request of a 200k window, 16k of it for the answer.
fn sent(input: u64) -> Sent {
    let digest = Digest::of(b"refused");
    Sent { input, output: 16_000, window: 200_000, bytes: input * 4, media: 3, digest }
}

const fn tokens(limit: Option<u64>, sent: Option<u64>) -> Refused {
    Refused::Overflow { unit: Unit::Input, limit, sent, output: None }
}

const fn total(limit: Option<u64>, sent: Option<u64>, output: Option<u64>) -> Refused {
    Refused::Overflow { unit: Unit::InputAndOutput, limit, sent, output }
}

const fn of(unit: Unit, limit: Option<u64>, sent: Option<u64>) -> Refused {
    Refused::Overflow { unit, limit, sent, output: None }
}

/// `input output media why`, or the reason.
fn told(recovery: Recovery) -> String {
    match recovery {
        Recovery::Retry(retry) => {
            let without = retry.without.map(|(message, block)| format!(" without {message}/{block}"));
            let why = format!("{:?}{}", retry.why, without.unwrap_or_default());
            format!("{} {} {} {why}", retry.input, retry.output, retry.media)
        }
        Recovery::Surface(reason) => format!("{reason:?}"),
    }
}

#[test]
fn f003_f005_f011_f064_plan_table() {
    let table = [
        // sent  refused  plan  why
        (
            170_000,
            tokens(Some(160_000), Some(200_000)),
            "133280 16000 3 Told",
            "scaled by its count and ours, less 2 %",
        ),
        (170_000, tokens(Some(128_000), None), "125440 16000 3 Told", "its limit in our tokens"),
        (170_000, tokens(None, None), "127500 16000 3 Guessed", "no figure: three quarters"),
        (
            170_000,
            tokens(Some(200_000), None),
            "127500 16000 3 Guessed",
            "a limit that we are under: we count too little",
        ),
        (
            170_000,
            tokens(Some(200_000), Some(150_000)),
            "127500 16000 3 Guessed",
            "figures that contradict the refusal",
        ),
        (170_000, tokens(Some(3), Some(8)), "127500 16000 3 Guessed", "vLLM's wrong limit (its PR 33425)"),
        (30_000, tokens(Some(4_096), Some(33_000)), "3649 16000 3 Told", "a local model with a small window"),
        (1_200, tokens(None, None), "900 16000 3 Guessed", "a host's instructions and tools may be the rest"),
        (340, tokens(None, None), "NothingLeft", "three quarters are nothing"),
        (
            178_000,
            total(Some(200_000), Some(206_000), Some(16_000)),
            "178000 9800 3 Told",
            "enough is left for the answer: only that is shortened",
        ),
        (
            198_000,
            total(Some(200_000), Some(214_000), Some(16_000)),
            "180320 16000 3 Told",
            "too little is left for it: the input is",
        ),
        (
            130_000,
            total(Some(131_072), None, None),
            "112771 16000 3 Told",
            "our own figures where it gave none",
        ),
        (170_000, total(None, None, None), "127500 16000 3 Guessed", "no figure"),
        (
            3_000,
            total(Some(2_048), Some(4_778), Some(2_000)),
            "1083 1024 3 Told",
            "a small window: both are shortened",
        ),
        (
            3_000,
            total(Some(1_500), Some(4_778), Some(2_000)),
            "793 750 3 Told",
            "a smaller one: half for each",
        ),
        (
            100,
            total(Some(8_000), Some(16_100), Some(16_000)),
            "100 7742 3 Told",
            "the answer alone is longer than the window",
        ),
        (
            170_000,
            of(Unit::Bytes, None, None),
            "127500 16000 1 Guessed",
            "bytes are mostly images: one is kept",
        ),
        (170_000, of(Unit::Bytes, Some(340_000), Some(680_000)), "83300 16000 1 Told", "half the bytes"),
        (170_000, of(Unit::Media, Some(2), Some(3)), "170000 16000 2 Media", "too many images"),
        (170_000, of(Unit::Media, None, None), "170000 16000 1 Media", "too many images, not told how many"),
        (170_000, of(Unit::Other, Some(2_048), Some(2_431)), "127500 16000 3 Guessed", "too many messages"),
        (170_000, Refused::Media { place: None }, "170000 16000 0 Media", "a bad image: none is sent"),
        (
            170_000,
            Refused::Media { place: Some((7, 2)) },
            "170000 16000 2 Media without 7/2",
            "told which: that one is not",
        ),
        (20_000, Refused::Suspected, "15000 16000 3 Suspected", "a provider that is known for it"),
        (125_000, Refused::Unrecognised, "93750 16000 3 Suspected", "above 70 % of the window"),
        (124_000, Refused::Unrecognised, "NotSize", "at 70 %: some other rule"),
        (
            20_000,
            Refused::Output { limit: Some(8_192) },
            "20000 8192 3 Told",
            "the answer is clamped to the model's",
        ),
        (20_000, Refused::Output { limit: None }, "20000 8000 3 Guessed", "halved"),
        (20_000, Refused::Output { limit: Some(64_000) }, "20000 15999 3 Told", "less in any case"),
        (20_000, Refused::Output { limit: Some(0) }, "NothingLeft", "no answer at all"),
        (199_000, Refused::Other, "NotSize", "a wrong key stays wrong"),
    ];
    for (input, refused, want, why) in table {
        assert_eq!(told(plan(0, refused, &sent(input))), want, "{why}: {input} {refused:?}");
        let last = told(plan(RETRIES_MAX, refused, &sent(input)));
        assert_eq!(last, if want == "NotSize" { "NotSize" } else { "Tried" }, "it ends: {why}");
    }
}

#[test]
fn f004_f005_a_retry_that_is_refused_too_is_halved() {
    let table = [
        // attempt  sent  refused  plan  why
        (1, 127_500, tokens(None, None), "63750 16000 3 Guessed", "three quarters were too much"),
        (2, 63_750, tokens(None, None), "31875 16000 3 Guessed", "and once more"),
        (3, 31_875, tokens(None, None), "Tried", "then it is handed on"),
        (1, 133_280, tokens(Some(128_000), None), "66640 16000 3 Told", "a limit that was kept did not help"),
        (1, 133_280, tokens(Some(32_000), None), "31360 16000 3 Told", "another limit, and less than half"),
        (1, 511, tokens(None, None), "NothingLeft", "half is nothing"),
        (1, 20_000, Refused::Suspected, "10000 16000 3 Suspected", "a provider that is known for it"),
        (1, 170_000, of(Unit::Media, Some(2), Some(3)), "Tried", "fewer images once"),
        (1, 170_000, Refused::Media { place: None }, "Tried", "without them once"),
        (1, 20_000, Refused::Output { limit: Some(8_192) }, "Tried", "a shorter answer once"),
        (1, 190_000, Refused::Unrecognised, "Tried", "a guess at the reason once"),
        (1, 190_000, Refused::Other, "NotSize", "a wrong key stays wrong"),
    ];
    for (attempt, input, refused, want, why) in table {
        assert_eq!(told(plan(attempt, refused, &sent(input))), want, "{why}: {input} {refused:?}");
    }
}

#[test]
fn f064_without_images_there_is_nothing_to_drop() {
    let sent = Sent { media: 0, ..sent(20_000) };
    assert_eq!(told(plan(0, Refused::Media { place: Some((7, 2)) }, &sent)), "NotSize");
}

#[test]
fn f010_the_same_bytes_are_not_sent_again() {
    let Recovery::Retry(retry) = plan(0, tokens(None, None), &sent(170_000)) else { panic!("no retry") };
    assert!(!retry.is_new(&Digest::of(b"refused")));
    assert!(retry.is_new(&Digest::of(b"refused, shortened")));
}

#[test]
fn f011_clamp_table() {
    let none = None;
    let some = |tokens, thinking| Some(Output { tokens, thinking });
    let table = [
        // window, max_out, model_max, thinking, used, want, why
        (200_000, 8_192, 64_000, 0, 100_000, some(8_192, 0), "all fits"),
        (200_000, 8_192, 64_000, 0, 199_759, some(241, 0), "the figures of the Anthropic error"),
        (200_000, 64_000, 64_000, 10_000, 100_000, some(64_000, 0), "thinking counts to the model's most"),
        (200_000, 16_000, 64_000, 10_000, 100_000, some(26_000, 10_000), "answer and thinking"),
        (200_000, 16_000, 64_000, 10_000, 180_000, some(20_000, 4_000), "thinking yields"),
        (200_000, 16_000, 64_000, 10_000, 183_500, some(16_000, 0), "too little of it left: off"),
        (1_048_576, 339_835, 65_536, 0, 1_000, some(65_536, 0), "a configured length above the model's"),
        (8_192, 4_096, 4_096, 0, 8_192, none, "the input fills the window"),
        (8_192, 4_096, 4_096, 0, 9_000, none, "and more"),
        (8_192, 0, 4_096, 2_000, 1_000, none, "no answer wanted"),
    ];
    for (window, max_out, model_max, thinking, used, want, why) in table {
        assert_eq!(clamp(window, max_out, model_max, thinking, used), want, "{why}");
    }
}

#[test]
fn f007_switch_table() {
    let table = [
        // window, reserve, floor, budget, why
        (200_000, None, 30_000, Ok(183_616), "fits"),
        (8_192, None, 7_168, Ok(7_168), "to the token"),
        (8_192, None, 7_169, Err(TooSmall { window: 8_192, budget: 7_168, floor: 7_169 }), "one too many"),
        (32_000, Some(8_000), 20_000, Ok(24_000), "the host's own reserve"),
        (
            600,
            None,
            700,
            Err(TooSmall { window: 600, budget: 600, floor: 700 }),
            "less than the smallest policy",
        ),
    ];
    for (window, reserve, floor, want, why) in table {
        assert_eq!(switch(window, reserve, floor).map(|policy| policy.budget()), want, "{why}");
    }
}

/// A history of this size: each rung halves it, down to the floor.
struct History {
    size: u64,
    floor: u64,
}

impl Compose for History {
    fn compose(&mut self, rung: Rung) -> Composed {
        let at = Rung::ALL.iter().position(|one| *one == rung).unwrap_or(0).saturating_sub(1);
        let size = if rung == Rung::Newest { self.floor } else { (self.size >> (3 * at)).max(self.floor) };
        let sections = Sections { tail: Tokens::exact(size), ..Sections::default() };
        let (bound, cover) = (sections.total().upper, Cover::default());
        Composed {
            request: Request::default(),
            sections,
            cover,
            bound,
            omitted: Vec::new(),
            raised: RaisedCount::default(),
        }
    }

    fn offers(&self, rung: Rung) -> bool {
        rung != Rung::WithoutRaised
    }

    fn proof(&self) -> Result<(), CoverError> {
        Ok(())
    }

    fn prove_pins(&self, _: &Request) -> Result<Vec<crate::pin::PinId>, crate::pin::PinsMissing> {
        Ok(Vec::new())
    }

    fn ruler(&self) -> &'static str {
        "exact"
    }
}

fn figure() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(prop_oneof![0..300_000_u64, Just(u64::MAX), any::<u64>()])
}

fn unit() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![Unit::Input, Unit::InputAndOutput, Unit::Bytes, Unit::Media, Unit::Other])
}

fn refused() -> impl Strategy<Value = Refused> {
    prop_oneof![
        (unit(), figure(), figure(), figure()).prop_map(|(unit, limit, sent, output)| Refused::Overflow {
            unit,
            limit,
            sent,
            output
        }),
        Just(Refused::Suspected),
        figure().prop_map(|limit| Refused::Output { limit }),
        proptest::option::of(any::<(u32, u32)>()).prop_map(|place| Refused::Media { place }),
        Just(Refused::Unrecognised),
        Just(Refused::Other),
    ]
}

fn any_sent() -> impl Strategy<Value = Sent> {
    let size = || prop_oneof![0..2_000_000_u64, any::<u64>()];
    (size(), size(), size(), size(), 0..200_u32).prop_map(|(input, output, window, bytes, media)| Sent {
        input,
        output,
        window,
        bytes,
        media,
        digest: Digest::of(b"refused"),
    })
}

proptest! {
    /// For any refusal with any figures, a retry asks for less in one part and for no more in the others, and its
    /// policy admits exactly that.
    #[test]
    fn f010_every_retry_is_strictly_smaller(attempt in 0..4_u8, refused in refused(), sent in any_sent()) {
        if let Recovery::Retry(retry) = plan(attempt, refused, &sent) {
            prop_assert!(retry.input <= sent.input && retry.output <= sent.output && retry.media <= sent.media);
            prop_assert!((retry.input, retry.output, retry.media) != (sent.input, sent.output, sent.media));
            prop_assert!(retry.output > 0);
            prop_assert_eq!(retry.policy().budget(), retry.input);
        }
    }

    /// The second attempt keeps within a limit that the provider named in its own count.
    #[test]
    fn f005_f011_a_told_limit_is_kept(
        input in 2_000..3_000_000_u64, percent in 30..400_u64, limit in WINDOW_MIN..2_000_000,
        output in 1..200_000_u64, together in any::<bool>(),
    ) {
        let theirs = input * percent / 100;
        let (unit, total) =
            if together { (Unit::InputAndOutput, theirs + output) } else { (Unit::Input, theirs) };
        prop_assume!(total > limit);
        let sent = Sent { input, output, window: limit, bytes: 0, media: 0, digest: Digest::of(b"refused") };
        let refused = Refused::Overflow {
            unit,
            limit: Some(limit),
            sent: Some(total),
            output: together.then_some(output),
        };
        if let Recovery::Retry(retry) = plan(0, refused, &sent) {
            let theirs = u128::from(retry.input) * u128::from(theirs) / u128::from(input);
            let total = theirs + if together { u128::from(retry.output) } else { 0 };
            prop_assert!(total <= u128::from(limit), "{total} > {limit}: {retry:?}");
            prop_assert_eq!(retry.why, Why::Told);
        }
    }

    /// A provider that refuses for ever is asked a few times per call at most, with ever smaller requests.
    #[test]
    fn f005_f010_recovery_ends(refusals in prop::collection::vec(refused(), 1..20), sent in any_sent()) {
        let (mut now, mut sendings) = (sent, 1);
        for (attempt, refused) in refusals.iter().enumerate() {
            let Recovery::Retry(retry) = plan(u8::try_from(attempt).unwrap(), *refused, &now) else { break };
            now = Sent { input: retry.input, output: retry.output, media: retry.media, ..now };
            sendings += 1;
        }
        prop_assert!(sendings <= 1 + usize::from(RETRIES_MAX));
    }

    /// Input, answer and thinking fit the window, the answer fits the model.
    #[test]
    fn f011_clamped_output_fits(
        window in any::<u64>(), max_out in any::<u64>(), model_max in any::<u64>(),
        thinking in any::<u64>(), used in any::<u64>(),
    ) {
        match clamp(window, max_out, model_max, thinking, used) {
            Some(output) => {
                prop_assert!(u128::from(used) + u128::from(output.tokens) <= u128::from(window));
                prop_assert!(output.tokens <= model_max);
                prop_assert!(output.thinking < output.tokens && output.tokens - output.thinking <= max_out);
            }
            None => prop_assert!(max_out == 0 || model_max == 0 || used >= window),
        }
    }

    /// For models switched in any order on a history of any size, every request fits the current window, or the switch
    /// is refused because the floor does not fit. Nothing of an earlier window remains.
    #[test]
    fn f007_every_request_fits_the_window_of_the_moment(
        windows in prop::collection::vec(prop::sample::select(vec![1_000_000, 200_000, 128_000, 32_000, 8_000_u64]), 1..12),
        size in 1_000..30_000_000_u64,
        floor in 500..40_000_u64,
    ) {
        let mut last = std::collections::BTreeMap::new();
        for window in windows {
            match switch(window, None, floor) {
                Ok(policy) => {
                    let admitted = admit(&mut History { size, floor: floor.min(size) }, &policy).unwrap();
                    let total = admitted.certificate().total.upper;
                    prop_assert!(total + policy.reserve <= window);
                    prop_assert_eq!(*last.entry(window).or_insert(total), total);
                }
                Err(error) => prop_assert!(floor > error.budget && error.budget < window),
            }
        }
    }
}
