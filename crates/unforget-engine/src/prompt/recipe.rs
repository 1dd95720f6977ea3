//! How a prompt was composed, in few bytes, and composing it again.

use std::collections::BTreeSet;

use unforget_core::admit::{Admitted, Rung, admit};
use unforget_core::digest::Digest;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::pin::{Pin, PinId, PinState, Pins};
use unforget_core::policy::Policy;
use unforget_core::raised::RAISED_MAX;
use unforget_core::tokens::Tokens;
use unforget_store::{RaisedRow, SaidRows};
use unforget_wire::{Dialect, Family};

use super::compose::Composer;
use super::fixed::Fixed;
use super::open::PathEnd;
use super::pins::PinBlock;
use super::raised::RaisedBlock;
use super::shape::ModelForm;
use super::{Broken, Cause, Prompt, Region, Session, Shape, stored_context};
use crate::ruler::ModelRuler;
use crate::thread::ThreadRef;
use crate::varint::{put, take};
use crate::{Engine, EngineError};

/// Longest stored form of a recipe, in bytes.
pub const RECIPE_BYTES_MAX: usize = 360;

/// Format of the encoding; another number is not read.
const VERSION: u64 = 5;

/// The format before, without what people put back. Read as if nothing had been.
const VERSION_UNRAISED: u64 = 4;

/// The format before that, also without what stood beside the messages. Read as if nothing had.
const VERSION_ALONE: u64 = 3;

/// The format before that, also without a bound. Read as if its prompts were bounded by our ruler alone.
const VERSION_UNBOUNDED: u64 = 2;

/// The format before that, also without what a break cost. Read as if it had cost nothing.
const VERSION_UNCOSTED: u64 = 1;

/// Most live entries that a recipe names.
const LIVE_MAX: usize = 16;

/// How a prompt that was sent was composed: references and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// When.
    pub time: Timestamp,
    /// Form of the request.
    pub dialect: Dialect,
    /// Whose reasoning the model takes.
    pub family: Option<Family>,
    /// Tokens of the model.
    pub ruler: ModelRuler,
    /// Window and reserve that the thresholds are of.
    pub window: (u64, u64),
    /// Window that this one call had.
    pub window_now: u64,
    /// Newest entry of the path.
    pub head: Option<Seq>,
    /// Breaks of the context so far.
    pub epoch: u32,
    /// The rung that was admitted.
    pub rung: Rung,
    /// How the prompt before was not its beginning.
    pub broken: Option<Broken>,
    /// What it weighed.
    pub tokens: Tokens,
    /// What it was admitted by: see [`unforget_core::admit::Certificate::bound`].
    pub bound: u64,
    /// What was charged for instructions, tools and standing context beside it: they had window and bound together.
    pub beside: u64,
    /// Live input that was put behind it.
    pub live: Vec<Seq>,
    /// The newest input, where live input stands before it.
    pub newest: Option<Seq>,
    /// Pins that were active.
    pub pins: Vec<PinId>,
    /// Numbers of the spans that people put back and that stood.
    pub raised: Vec<u64>,
    /// Number of their entries that had no room.
    pub raised_left_out: u64,
    /// Whether the prompt has no ledger although its window is large enough.
    pub has_no_ledger: bool,
    /// Whether images or documents were left out because a provider refused them: then it cannot be composed again.
    pub is_limited: bool,
    /// Of the bytes that were sent.
    pub digest: [u8; 16],
}

impl Recipe {
    /// The stored form; `None` if it is longer than [`RECIPE_BYTES_MAX`] or names too many live entries.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = self.digest.to_vec();
        let (family, print) = match self.family {
            None => (0, 0),
            Some(Family::Named(print)) => (8, print),
            Some(known) => (1 + KNOWN.iter().position(|family| *family == known)? as u64, 0),
        };
        let ruler = RULERS.iter().position(|ruler| *ruler == self.ruler)? as u64;
        let head = self.head.map_or(0, |seq| seq.0 + 1);
        let flags = u64::from(self.is_limited) | u64::from(self.has_no_ledger) << 1;
        let numbers = [
            VERSION,
            u64::try_from(self.time.0).unwrap_or(0),
            Dialect::ALL.iter().position(|dialect| *dialect == self.dialect)? as u64,
            family,
            print,
            ruler,
            self.window.0,
            self.window.1,
            self.window_now,
            head,
            self.epoch.into(),
            RUNGS.iter().position(|rung| *rung == self.rung)? as u64,
            self.broken.map_or(0, |broken| broken.cause as u64 + 1),
            self.tokens.expected,
            self.tokens.upper,
            flags,
            self.newest.map_or(0, |seq| seq.0 + 1),
            self.live.len() as u64,
        ];
        let live = self.live.iter().map(|seq| head.saturating_sub(seq.0));
        let pins = std::iter::once(self.pins.len() as u64).chain(self.pins.iter().map(|pin| pin.0));
        let broken =
            self.broken.iter().flat_map(|broken| [broken.region as u64, broken.rebilled, broken.hit]);
        let numbers =
            numbers.into_iter().chain(live).chain(pins).chain(broken).chain([self.bound, self.beside]);
        let raised = std::iter::once(self.raised.len() as u64)
            .chain(self.raised.iter().copied())
            .chain([self.raised_left_out]);
        let numbers = numbers.chain(raised);
        numbers.for_each(|number| put(&mut bytes, number));
        (bytes.len() <= RECIPE_BYTES_MAX && self.live.len() <= LIVE_MAX).then_some(bytes)
    }

    /// Reads what [`Recipe::encode`] wrote; `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (digest, mut rest) = bytes.split_first_chunk::<16>()?;
        let mut next = || take(&mut rest);
        let version = next()?;
        if ![VERSION, VERSION_UNRAISED, VERSION_ALONE, VERSION_UNBOUNDED, VERSION_UNCOSTED].contains(&version)
        {
            return None;
        }
        let time = Timestamp(i64::try_from(next()?).ok()?);
        let dialect = *Dialect::ALL.get(usize::try_from(next()?).ok()?)?;
        let family = match (next()?, next()?) {
            (0, _) => None,
            (8, print) => Some(Family::Named(print)),
            (known, _) => Some(*KNOWN.get(usize::try_from(known - 1).ok()?)?),
        };
        let ruler = *RULERS.get(usize::try_from(next()?).ok()?)?;
        let (window, window_now) = ((next()?, next()?), next()?);
        let head = next()?;
        let epoch = u32::try_from(next()?).ok()?;
        let rung = *RUNGS.get(usize::try_from(next()?).ok()?)?;
        let cause = match next()? {
            0 => None,
            number => Some(*Cause::ALL.get(usize::try_from(number - 1).ok()?)?),
        };
        let tokens = Tokens { expected: next()?, upper: next()? };
        let flags = next()?;
        let (is_limited, has_no_ledger) = (flags & 1 == 1, flags & 2 == 2);
        let newest = next()?.checked_sub(1).map(Seq);
        let live = next()?;
        let live: Vec<Seq> = (0..live.min(LIVE_MAX as u64))
            .map(|_| next().map(|back| Seq(head.saturating_sub(back))))
            .collect::<Option<_>>()?;
        let pins = next()?.min(Pins::ACTIVE_MAX as u64);
        let pins: Vec<PinId> = (0..pins).map(|_| next().map(PinId)).collect::<Option<_>>()?;
        let head = head.checked_sub(1).map(Seq);
        let broken = match cause {
            Some(cause) if version != VERSION_UNCOSTED => {
                let region = *Region::ALL.get(usize::try_from(next()?).ok()?)?;
                Some(Broken { cause, region, rebilled: next()?, hit: next()? })
            }
            cause => cause.map(|cause| Broken { cause, region: Region::System, rebilled: 0, hit: 0 }),
        };
        let (bound, beside) = match version {
            VERSION | VERSION_UNRAISED => (next()?, next()?),
            VERSION_ALONE => (tokens.upper.saturating_sub(next()?), 0),
            _ => (tokens.upper, 0),
        };
        let (raised, raised_left_out) = raised_of(version, &mut next)?;
        Some(Self {
            time,
            dialect,
            family,
            ruler,
            window,
            window_now,
            head,
            epoch,
            rung,
            broken,
            tokens,
            bound,
            beside,
            live,
            newest,
            pins,
            raised,
            raised_left_out,
            has_no_ledger,
            is_limited,
            digest: *digest,
        })
    }

    /// The shape that it was composed in.
    pub fn shape(&self) -> Shape {
        let policy = Policy::with_reserve(self.window.0, self.window.1);
        let policy = if self.has_no_ledger { policy.without_ledger() } else { policy };
        let form = ModelForm { dialect: self.dialect, family: self.family, ruler: self.ruler };
        Shape::with_policy(policy, form)
    }
}

/// The numbers of raised spans, and that of their entries without room.
fn raised_of(version: u64, next: &mut impl FnMut() -> Option<u64>) -> Option<(Vec<u64>, u64)> {
    if version != VERSION {
        return Some((Vec::new(), 0));
    }
    let count = next()?.min(RAISED_MAX as u64);
    let raised = (0..count).map(|_| next()).collect::<Option<_>>()?;
    Some((raised, next()?))
}

const KNOWN: [Family; 7] = [
    Family::Claude,
    Family::OpenAi,
    Family::Gemini,
    Family::DeepSeek,
    Family::Kimi,
    Family::Glm,
    Family::Mistral,
];

/// Rungs by stored number. New ones go to the end.
const RUNGS: [Rung; 8] = [
    Rung::Assembled,
    Rung::ShortResults,
    Rung::ActiveTurn,
    Rung::ShortTurn,
    Rung::Titles,
    Rung::Newest,
    Rung::WithoutRaised,
    Rung::CutNewest,
];

const RULERS: [ModelRuler; 3] = [ModelRuler::O200k, ModelRuler::Cl100k, ModelRuler::Estimate];

/// Digest of what is sent: system instructions and messages, each with its length.
pub(crate) fn sent_digest<'a>(texts: impl IntoIterator<Item = &'a String>) -> [u8; 16] {
    let digests: Vec<u8> = texts.into_iter().flat_map(|text| Digest::of(text.as_bytes()).0).collect();
    let mut short = [0; 16];
    short.iter_mut().zip(Digest::of(&digests).0).for_each(|(to, from)| *to = from);
    short
}

impl Session {
    /// The recipe of a prompt that this session just made, without the host's additions, and the state of its context.
    pub(crate) fn recipe(&self, prompt: &Prompt) -> (Recipe, Vec<u8>) {
        let certificate = prompt.admitted.certificate();
        let shape = self.source.shape();
        let recipe = Recipe {
            time: self.source.now(),
            dialect: shape.dialect,
            family: shape.family,
            ruler: shape.ruler,
            window: (shape.policy.window, shape.policy.reserve),
            window_now: certificate.window,
            head: self.window.head(),
            epoch: prompt.epoch,
            rung: certificate.rung,
            broken: prompt.broken,
            tokens: certificate.total,
            bound: certificate.bound,
            beside: self.account.counts().charged(),
            live: Vec::new(),
            newest: None,
            pins: certificate.pins.clone(),
            raised: self.fixed.raised().spans().iter().map(|raised| raised.number).collect(),
            raised_left_out: certificate.raised.left_out,
            has_no_ledger: shape.policy.ledger == 0
                && Policy::with_reserve(shape.policy.window, shape.policy.reserve).ledger > 0,
            is_limited: !self.fixed.media().is_all(),
            digest: [0; 16],
        };
        (recipe, self.cover.encoded(self.fixed.ledger().text(), &self.source))
    }

    /// A session as it was when a prompt was composed, from its stored parts. Writes nothing.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if one of the parts is missing.
    pub(crate) fn of_recipe(
        engine: &Engine,
        of: ThreadRef,
        recipe: &Recipe,
        state: &[u8],
    ) -> Result<Self, EngineError> {
        let stored = engine.store().conversation(of.conversation)?;
        let shape = recipe.shape().of_conversation(engine, of.conversation)?;
        let pins = pins_then(engine, of, &recipe.pins)?;
        let mut session = Self::new(engine, of, shape, false);
        session.source.load_verdicts_of(recipe.time)?;
        session.fixed = Fixed::with_pins(PinBlock::new(pins, BTreeSet::new(), &shape), &shape);
        let context = stored_context::decode(state);
        let context = context.ok_or_else(|| gone("its context is damaged, or of another version"))?;
        if !session.restore(&stored, context, PathEnd::Head(recipe.head))? {
            return Err(gone("its path is left"));
        }
        session.show_raised_then(&recipe.raised)?;
        session.prepare();
        Ok(session)
    }

    /// Shows what the spans of these numbers raise, whether they stand now or not.
    fn show_raised_then(&mut self, numbers: &[u64]) -> Result<(), EngineError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut rows = self.source.engine().raised(self.source.thread().conversation)?;
        rows.retain(|row| numbers.contains(&row.number));
        let spans = rows.iter().map(RaisedRow::raised).collect();
        self.fixed.show_raised(RaisedBlock::new(spans, &self.cover, &self.source)?);
        Ok(())
    }

    /// Composes the present entries by a recipe, without a break.
    pub(crate) fn compose_again(&mut self, recipe: &Recipe) -> Result<Admitted, EngineError> {
        let policy = *self.source.policy();
        self.show_headline();
        // With a known count of its beginning, a prompt may exceed its window by our bound.
        let counted = recipe.tokens.upper.saturating_add(policy.reserve);
        let is_assembled = recipe.rung == Rung::Assembled;
        let window = if is_assembled { recipe.window_now.max(counted) } else { recipe.window_now };
        let policy = Policy { window, ..policy };
        Ok(admit(&mut Composer::new(self.parts_within(policy)), &policy)?)
    }
}

fn gone(what: &str) -> EngineError {
    EngineError::Usage {
        what: format!("this prompt cannot be composed again: {what}"),
        hint: "unforget prompts lists those that are kept".to_owned(),
    }
}

/// The pins of a conversation with only these active.
fn pins_then(engine: &Engine, of: ThreadRef, active: &[PinId]) -> Result<Pins, EngineError> {
    let SaidRows { pins: rows, files, .. } = engine.store().said(of.conversation)?;
    let then = |pin: Pin| {
        let state = if active.contains(&pin.id) { PinState::Active } else { PinState::Retired };
        Pin { state, ..pin }
    };
    let files = files.into_iter().map(|row| row.file);
    Ok(Pins::restore(rows.into_iter().map(|row| then(row.pin)).collect(), files.collect())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn recipe() -> Recipe {
        Recipe {
            time: Timestamp(1_795_000_000_000),
            dialect: Dialect::Gemini,
            family: Some(Family::Named(u64::MAX)),
            ruler: ModelRuler::Estimate,
            window: (1_000_000, 16_384),
            window_now: 983_616,
            head: Some(Seq(20_000_000)),
            epoch: 70_000,
            rung: Rung::Newest,
            broken: Some(Broken {
                cause: Cause::LiveInput,
                region: Region::Tail,
                rebilled: 999_999,
                hit: 999_999,
            }),
            tokens: Tokens { expected: 900_000, upper: 999_999 },
            bound: 700_000,
            beside: 99_999,
            live: (0..16).map(|n| Seq(20_000_000 - n)).collect(),
            newest: Some(Seq(20_000_000)),
            pins: (100..164).map(PinId).collect(),
            raised: (100..132).collect(),
            raised_left_out: 999_999,
            has_no_ledger: true,
            is_limited: true,
            digest: [7; 16],
        }
    }

    #[test]
    fn the_largest_recipe_is_small_and_comes_back() {
        let bytes = recipe().encode().unwrap();
        assert!(bytes.len() <= RECIPE_BYTES_MAX, "{}", bytes.len());
        assert_eq!(Recipe::decode(&bytes), Some(recipe()));
        for cut in 0..bytes.len() {
            assert_eq!(Recipe::decode(bytes.get(..cut).unwrap()), None, "cut at {cut}");
        }
        let plain = Recipe {
            family: Some(Family::Glm),
            head: None,
            newest: None,
            broken: None,
            live: vec![],
            ..recipe()
        };
        assert_eq!(Recipe::decode(&plain.encode().unwrap()), Some(plain));
        let many = Recipe { live: vec![Seq(1); 17], ..recipe() };
        assert_eq!(many.encode(), None, "what cannot be told whole is not told");
    }
}
