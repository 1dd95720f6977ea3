//! Prompts for a host.

use std::borrow::Cow;
use std::collections::BTreeSet;

use unforget_core::deliver::How;
use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, Media, Part, Role};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::loop_view::Mark;
use unforget_core::media::{self, Pick};
use unforget_core::message::Request;
use unforget_core::policy::Policy;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_core::zoo::{self, Bug};
use unforget_store::{DecisionRow, NewDecision, read_all};
use unforget_wire::Family;

use super::deliver::Delivery;
use super::emit::{Stored, emit};
use super::lane::Lane;
use super::names::face;
use super::rebuild::with_live_input;
use super::types::{Ask, Assembled, Compacted, Debt, Delivered, HostError, LiveArray, Receipt};
use crate::Engine;
use crate::prompt::{
    Broken, Cause, IMAGE_TOKENS, Lane as PromptLane, Prompt, Recipe, Region, Session, Shape, Until, pick,
    sent_digest,
};
use crate::ruler::ModelRuler;
use crate::summarise::DECISIONS_KEPT;

/// Open prompts that are kept in memory.
const SESSIONS: usize = 4;

/// Recipes that are kept of a conversation.
const RECIPES: u64 = 256;

/// Tokens around a text that a host sends behind the messages.
const SEAM: u64 = 16;

impl Lane {
    /// The prompt for the next call.
    pub(super) fn assemble(&mut self, ask: &Ask, now: Timestamp) -> Result<Assembled, HostError> {
        self.begin_call(ask);
        self.assemble_with(ask, Vec::new(), now)
    }

    /// The same.
    ///
    /// * `required` - entries that it has to show beside what comes with the question.
    pub(super) fn assemble_with(
        &mut self,
        ask: &Ask,
        required: Vec<Seq>,
        now: Timestamp,
    ) -> Result<Assembled, HostError> {
        self.look_at_pins()?;
        let live = live_digest(ask);
        let mark = self.mark(ask, live);
        let remade = match self.view.serve(&mark) {
            Ok(view) => {
                let view = Assembled {
                    remade: None,
                    broken: None,
                    receipt: None,
                    recipe: None,
                    followed: Vec::new(),
                    ..view.clone()
                };
                self.remember(ask, &view);
                return Ok(view);
            }
            Err(stale) => stale,
        };
        match self.make(ask, required, now) {
            Ok(made) => {
                let made = Assembled { remade: Some(remade), ..made };
                // What was stored on the way is part of the source from now on.
                let mark = self.mark(ask, live);
                self.view.keep(mark, made.clone());
                self.remember(ask, &made);
                Ok(made)
            }
            Err(error) => {
                self.view.fail();
                Err(error)
            }
        }
    }

    /// Drops the prompt that is kept if the pins are other ones.
    fn look_at_pins(&mut self) -> Result<(), HostError> {
        let pins = read_all(|page| self.engine.store().pins(self.conversation, page))?;
        if pins != self.pins {
            self.pins = pins;
            self.view.fail();
        }
        Ok(())
    }

    fn make(&mut self, ask: &Ask, required: Vec<Seq>, now: Timestamp) -> Result<Assembled, HostError> {
        let (receipt, required) = match &ask.live {
            Some(live) => self.take_live(live, now).map(|(receipt, required)| (Some(receipt), required))?,
            None => (None, required),
        };
        let budget = self.budget(ask);
        self.session(ask, budget, now)?;
        let bodies = &self.bodies;
        let limit = self.refusals.limit();
        let stored = |seq: Seq| bodies.get(seq);
        let (learned, Some(session)) = (&self.learned, self.sessions.first_mut()) else {
            return Err(HostError::Refused { what: "no prompt is open".to_owned() });
        };
        session.limit_media(&limit);
        session.stands_beside(ask.beside);
        learned.reported_of(ask.model.as_deref()).into_iter().for_each(|reported| session.learn(reported));
        session.bring_beside(&ask.texts_beside);
        let (prompt, live, extra) = with_live(session, budget, &required, &stored)?;
        let target = session.shape().target();
        let mut system = prompt.admitted.request().system.clone();
        system.extend(zoo::is(Bug::ClockInPrompt).then(|| format!("It is {}.", now.0)));
        let newest = required.last().copied().filter(|newest| live.last().is_some_and(|live| live < newest));
        let (shown_request, given) = (prompt.admitted.request(), &stored);
        let request = with_live_input(shown_request, &live, newest, (given, &limit));
        let is_between = newest.is_some() && !live.is_empty();
        let moved = std::mem::replace(&mut self.is_between, is_between).then_some(Broken {
            cause: Cause::LiveInput,
            region: Region::Tail,
            rebilled: 0,
            hit: prompt.reused,
        });
        let emitted = emit(&request, target, self.form, &stored);
        let media = places(&request, &emitted);
        let messages = emitted.concat();
        let (mut recipe, state) = session.recipe(&prompt);
        (recipe.live, recipe.newest) = (live.clone(), newest);
        recipe.broken = recipe.broken.or(moved);
        recipe.digest = sent_digest(system.iter().chain(&messages));
        bodies.check()?;
        self.required = required;
        bodies.keep(&shown(prompt.admitted.request()).chain(live.iter().copied()).collect());
        let raw_tail = session.group_sizes().sum();
        let turn = session.note_turn(&prompt);
        let recipe = keep(&self.engine, self.conversation, (&recipe, state), turn.as_ref());
        let certificate = prompt.admitted.certificate().clone();
        Ok(Assembled {
            messages,
            system,
            tokens: certificate.sections.total() + extra,
            live: extra,
            media,
            wordless: request.wordless(),
            leading: prompt.leading,
            weighed: prompt.weighed,
            certificate,
            remade: None,
            broken: prompt.broken.or(moved),
            receipt,
            followed: session.take_followed(),
            short_pins: prompt.short_pins,
            recipe,
            debt: Debt { stored: self.engine.store().conversation(self.conversation)?.tokens, raw_tail },
        })
    }

    /// Stores what is new of the host's window. Also gives the entries that the prompt has to show, whatever a
    /// summary says: volatile input and the newest message, if that is input.
    fn take_live(&mut self, live: &LiveArray, now: Timestamp) -> Result<(Receipt, Vec<Seq>), HostError> {
        let how = if live.is_whole { How::Whole } else { How::Window };
        let is_open = self.turn.is_some();
        let delivery = Delivery { how, messages: live.messages.clone(), turn: None, is_open, now };
        let (receipt, places) = self.deliver_with(delivery, Vec::new())?;
        // An array that ends before the path does asks for nothing: what it ends with is covered.
        let last = places.iter().flatten().next_back().copied().filter(|last| Some(*last) == self.head());
        let is_live = |(message, place): (&Delivered, &Option<Seq>)| {
            place.filter(|seq| message.is_volatile || Some(*seq) == last)
        };
        let mut required: Vec<Seq> = live.messages.iter().zip(&places).filter_map(is_live).collect();
        required.sort_unstable();
        required.dedup();
        let mut input = Vec::new();
        for seq in required.into_iter().filter(|_| !zoo::is(Bug::LiveNotRequired)) {
            let rows = self.engine.store().rows(self.conversation, seq.0..seq.0 + 1)?;
            input.extend(
                rows.first().filter(|row| row.role == Role::User && row.tokens.expected > 0).map(|_| seq),
            );
        }
        Ok((receipt, input))
    }

    /// What the messages may have: no more than the first call of the turn, and less what comes behind them.
    fn budget(&mut self, ask: &Ask) -> u64 {
        let first =
            self.turn_budget.filter(|_| !ask.is_first && !zoo::is(Bug::LoopBudget)).unwrap_or(ask.budget);
        let budget = ask.budget.min(first);
        self.turn_budget = Some(budget);
        let budget = budget.min(self.cap(ask.model.as_deref()));
        let ruler = ModelRuler::of(ask.model.as_deref(), ask.dialect);
        let behind = ask.prompt.as_deref().map_or(0, |text| ruler.count(text).upper + SEAM);
        budget.saturating_sub(behind)
    }

    /// The open prompt for a question, opened if it is not; always the first.
    fn session(&mut self, ask: &Ask, budget: u64, now: Timestamp) -> Result<(), HostError> {
        let shape = self.shape(ask, budget)?;
        let open = self.sessions.iter().position(|session| session.shape().key() == shape.key());
        let mut session = if let Some(at) = open {
            self.sessions.remove(at)
        } else {
            let lane = PromptLane { conversation: self.conversation, thread: Thread(0) };
            let mut session = Session::open(&self.engine, lane, shape, Until::Now, &mut |_, _| {})?;
            if let Some(at) = self.counted.iter().position(|(key, _)| *key == shape.key()) {
                session.take_counts(self.counted.swap_remove(at).1);
            }
            session
        };
        session.at(now);
        self.sessions.insert(0, session);
        self.sessions.truncate(SESSIONS);
        if let Some(session) = self.sessions.first_mut() {
            session.at(now);
        }
        Ok(())
    }

    /// The shape of the prompt for a question. Budgets of neighbouring calls differ a little, so a prompt keeps its
    /// thresholds while they fit; in another process, too.
    fn shape(&mut self, ask: &Ask, budget: u64) -> Result<Shape, HostError> {
        let family = ask.model.as_deref().map(Family::of);
        let ruler = ModelRuler::of(ask.model.as_deref(), ask.dialect);
        let shape =
            |window| Shape::with_policy(Policy::with_reserve(window, 0), (ask.dialect, family, ruler));
        let fits = |own: u64| budget >= own - own / 10 && budget <= own + own / 2;
        let known = self.shapes()?.iter().filter(|(key, window)| *key == shape(*window).key());
        let fitting = known.map(|(_, window)| *window).filter(|window| fits(*window)).max();
        let new = shape(fitting.unwrap_or_else(|| rounded(budget)));
        self.add_shape((new.key(), new.policy.window))?;
        Ok(new)
    }

    /// What a prompt for this question is made from.
    ///
    /// * `live` - see [`live_digest`].
    fn mark(&self, ask: &Ask, live: Digest) -> Mark {
        let length = self.path_length() + ask.live.as_ref().map_or(0, |live| live.messages.len() as u64);
        let bytes = [self.next().0.to_le_bytes().as_slice(), &live.0].concat();
        let shape = format!(
            "{:?} {:?} {:?} {} {:?} {:?}",
            ask.dialect,
            ask.model,
            ask.prompt,
            ask.is_first,
            self.refusals.limit(),
            ask.texts_beside.iter().map(|text| Digest::of(text.as_bytes()).short()).collect::<Vec<_>>()
        );
        Mark {
            generation: self.generation(),
            length,
            chain: Digest::of(&bytes),
            budget: ask.budget.min(self.cap(ask.model.as_deref())),
            shape: Digest::of(shape.as_bytes()).short() as u64,
        }
    }

    /// Makes the open prompt smaller, if anything in it is old enough.
    ///
    /// * `is_forced` - all that is old enough, whatever the pressure.
    pub(super) fn compact(
        &mut self,
        ask: &Ask,
        is_forced: bool,
        now: Timestamp,
    ) -> Result<Compacted, HostError> {
        let budget = self.budget(ask);
        self.session(ask, budget, now)?;
        let Some(session) = self.sessions.first_mut() else {
            return Err(HostError::Refused { what: "no prompt is open".to_owned() });
        };
        let before = session.measure().expected;
        if is_forced {
            session.compact()?;
        } else {
            session.settle()?;
        }
        let after = session.measure().expected;
        if after != before {
            self.view.fail();
        }
        Ok(Compacted { shrank: after < before, before, after })
    }

    /// How much history there is.
    pub(super) fn debt(&self) -> Result<Debt, HostError> {
        let stored = self.engine.store().conversation(self.conversation)?.tokens;
        let raw_tail = self.sessions.first().map_or(stored, |session| session.group_sizes().sum());
        Ok(Debt { stored, raw_tail })
    }
}

/// Digest of the host's live messages, in order. O(bytes).
fn live_digest(ask: &Ask) -> Digest {
    let messages = ask.live.iter().flat_map(|live| &live.messages);
    let faces = messages.map(|message| message.face.or_else(|| message.body.as_deref().map(face)));
    let bytes: Vec<u8> = faces.flat_map(|face| face.map_or([0; 16], |face| face.0)).collect();
    Digest::of(&bytes)
}

/// A prompt and the required entries that it does not show, with what they weigh: they go behind it. Live input
/// is in every prompt, whatever a summary says of it and however little room there is.
fn with_live(
    session: &mut Session,
    budget: u64,
    required: &[Seq],
    stored: &dyn Fn(Seq) -> Option<Stored>,
) -> Result<(Prompt, Vec<Seq>, Tokens), HostError> {
    let missing = |prompt: &Prompt| {
        let shown: BTreeSet<Seq> = shown(prompt.admitted.request()).collect();
        required.iter().copied().filter(|seq| !shown.contains(seq)).collect::<Vec<_>>()
    };
    let ruler = session.shape().ruler;
    let weight = |live: &[Seq]| -> Tokens {
        let messages = live.iter().filter_map(|seq| stored(*seq));
        messages.map(|(text, entry)| weigh(&text, &entry, ruler)).sum()
    };
    let mut prompt = session.prompt_within(budget)?;
    let (mut live, broken) = (missing(&prompt), prompt.broken);
    while !live.is_empty() {
        prompt = session.prompt_within(budget.saturating_sub(weight(&live).upper))?;
        let still = missing(&prompt);
        if still.iter().all(|seq| live.contains(seq)) {
            live = still;
            break;
        }
        // Less room pushed more of it out. Each round requires more, so this ends.
        live.extend(still.into_iter().filter(|seq| !live.contains(seq)).collect::<Vec<_>>());
        live.sort_unstable();
    }
    // The first composing found the break; the others only make room.
    prompt.broken = broken.or(prompt.broken);
    let extra = weight(&live);
    Ok((prompt, live, extra))
}

/// Keeps a recipe and what was decided about its turn, in one write, and gives its number. `None` if it could not be
/// kept: the prompt is right all the same.
fn keep(
    engine: &Engine,
    conversation: ConversationId,
    (recipe, state): (&Recipe, Vec<u8>),
    turn: Option<&DecisionRow>,
) -> Option<u64> {
    let body = recipe.encode()?;
    let mut context = [0; 16];
    context.iter_mut().zip(Digest::of(&state).0).for_each(|(to, from)| *to = from);
    let row = unforget_store::Recipe { context, state, body };
    let turn = turn.map(|row| NewDecision { row, keep: DECISIONS_KEPT });
    engine.store().put_recipe(conversation, &row, RECIPES, turn).ok()
}

/// Leaves images and documents out of a request that got live input, which may have some.
pub(super) fn limited(request: &mut Request, limit: &media::Limit) {
    let mut left = Pick::new(limit);
    for message in request.messages.iter_mut().rev() {
        if let Some(picked) = pick(message, &mut left) {
            *message = picked;
        }
    }
}

/// Where images and documents stand in the messages that a request became.
fn places(request: &Request, emitted: &[Vec<String>]) -> Vec<media::Place> {
    let mut places = media::places(&request.messages);
    let mut starts = Vec::with_capacity(emitted.len());
    let mut next = 0_u32;
    for messages in emitted {
        starts.push(Some(next).filter(|_| messages.len() == 1));
        next = next.saturating_add(u32::try_from(messages.len()).unwrap_or(u32::MAX));
    }
    for place in &mut places {
        let start = usize::try_from(place.message).ok().and_then(|index| *starts.get(index)?);
        place.message = start.unwrap_or(u32::MAX);
    }
    places
}

/// What a message weighs behind the others. Images and documents count by formula, not by their encoding (F069).
fn weigh(text: &str, entry: &Entry, ruler: ModelRuler) -> Tokens {
    let (mut words, mut media) = (Cow::Borrowed(text), 0);
    for part in entry.parts.iter().filter_map(as_media) {
        media += 1;
        words = Cow::Owned(words.replacen(&*part.raw, "", 1));
    }
    ruler.count(&words) + Tokens::exact(SEAM + media * IMAGE_TOKENS)
}

const fn as_media(part: &Part) -> Option<&Media> {
    match part {
        Part::Media(media) => Some(media),
        _ => None,
    }
}

/// The entries that a request shows, whole or shortened.
fn shown(request: &Request) -> impl Iterator<Item = Seq> {
    request.messages.iter().flat_map(|message| message.seqs.iter().copied())
}

/// Down to the next thirty-second of a power of two: calls of similar budgets share a prompt.
fn rounded(budget: u64) -> u64 {
    let step = (1_u64 << budget.max(32).ilog2()) / 32;
    budget / step * step
}
