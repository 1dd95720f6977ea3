//! Prompts for a host.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use unforget_core::deliver::How;
use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, Media, Part, Role};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::loop_view::Mark;
use unforget_core::media::{self, Pick};
use unforget_core::message::Request;
use unforget_core::mutants::{self, Bug};
use unforget_core::policy::{HOST_TEXT_SEAM, IMAGE_TOKENS};
use unforget_core::reported::Reported;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_store::{DecisionRow, NewDecision, NewRecipe};

use super::emit::{StoredMessage, emit};
use super::lane::HostLane;
use super::learning::CallPlace;
use super::prompts::PromptParts;
use super::rebuild::{LiveInput, with_live_input};
use super::types::{Ask, Assembled, Compacted, Debt, LiveArray};
use crate::decisions;
use crate::error::EngineError;
use crate::journal::{Delivered, Delivery, HostError, Journal, Receipt, body_digest};
use crate::prompt::{Broken, Cause, Prompt, Recipe, Region, Session, Shape, pick, sent_digest};
use crate::ruler::ModelRuler;

/// Maximum number of stored recipes per conversation.
const RECIPES: u64 = 256;

/// A prompt of the host's window: the admitted prompt, and required entries that it does not show.
struct LivePrompt {
    prompt: Prompt,
    /// The entries that stand behind the prompt.
    live: Vec<Seq>,
    /// Their weight.
    extra: Tokens,
}

/// A delivered live array.
struct TakenLive {
    receipt: Receipt,
    /// The entries that the prompt has to show.
    required: Vec<Seq>,
}

impl HostLane {
    /// The prompt for the next call.
    pub(super) fn assemble(&mut self, ask: &Ask, now: Timestamp) -> Result<Assembled, HostError> {
        let head = self.journal().head();
        self.learning.begin_call(ask, head);
        self.assemble_with(ask, Vec::new(), now)
    }

    /// Like [`HostLane::assemble`], within the same call.
    ///
    /// * `required` - entries that the prompt has to show if the question has no live array.
    pub(super) fn assemble_with(
        &mut self,
        ask: &Ask,
        required: Vec<Seq>,
        now: Timestamp,
    ) -> Result<Assembled, HostError> {
        self.with_prompts(|prompts, journal, _| prompts.check_decisions(journal))?;
        let live = live_digest(ask);
        let mark = self.mark(ask, live);
        let remade = match self.prompts.last(&mark) {
            Ok(view) => {
                self.remember(ask, &view);
                return Ok(view);
            }
            Err(stale) => stale,
        };
        match self.make(ask, required, now) {
            Ok(MadePrompt { assembled, recipe }) => {
                let mut made = Assembled { remade: Some(remade), ..assembled };
                self.remember(ask, &made);
                made.recipe = self.keep_with(recipe.as_ref())?;
                // The live array that was stored meanwhile is part of the source now.
                let mark = self.mark(ask, live);
                self.prompts.keep(mark, made.clone());
                Ok(made)
            }
            Err(error) => {
                self.prompts.drop_view();
                Err(error)
            }
        }
    }

    /// Remembers a prompt that is about to be sent.
    fn remember(&mut self, ask: &Ask, assembled: &Assembled) {
        let window = self.prompts.session().map_or(0, |session| session.shape().policy.window);
        let at = CallPlace { head: self.journal().head(), window };
        // Without pins, no text beside the messages matters.
        let texts_beside = if self.prompts.has_pins() { ask.texts_beside.clone() } else { Vec::new() };
        self.learning.remember(Ask { texts_beside, ..ask.clone() }, assembled, at);
    }

    fn make(&mut self, ask: &Ask, required: Vec<Seq>, now: Timestamp) -> Result<MadePrompt, HostError> {
        let (receipt, required) = match &ask.live {
            Some(live) => {
                let TakenLive { receipt, required } = self.take_live(live, now)?;
                (Some(receipt), required)
            }
            None => (None, required),
        };
        let budget = self.budget(ask);
        let shape = self.with_prompts(|prompts, journal, _| prompts.shape(journal, ask, budget))?;
        let limit = self.learning.media_limit();
        let reported = self.learning.reported(ask.model.as_deref());
        let call = PromptCall {
            shape,
            beside: ask.beside,
            texts_beside: &ask.texts_beside,
            reported,
            window: HostWindow { budget, required: &required, limit: &limit, now, keeps_recipe: true },
        };
        let ComposedPrompt { assembled, recipe, .. } = self.compose(&call)?;
        self.learning.require(required);
        Ok(MadePrompt { assembled: Assembled { receipt, ..assembled }, recipe })
    }

    /// The prompt for a call in a shape of its own, with everything that the policy says. No recipe of it is kept, and the
    /// lane does not remember the call: a refusal cannot follow.
    pub(crate) fn assemble_in(&mut self, shape: Shape, now: Timestamp) -> Result<ComposedPrompt, HostError> {
        let (limit, budget) = (self.learning.media_limit(), shape.policy.budget());
        self.compose(&PromptCall {
            shape,
            beside: Tokens::default(),
            texts_beside: &[],
            reported: None,
            window: HostWindow { budget, required: &[], limit: &limit, now, keeps_recipe: false },
        })
    }

    /// Composes the prompt for a call.
    fn compose(&mut self, call: &PromptCall<'_>) -> Result<ComposedPrompt, HostError> {
        let composed = self.compose_once(call);
        if !matches!(&composed, Err(HostError::Engine(EngineError::MissingSummary { .. }))) {
            return composed;
        }
        // A summary behind the open prompt was damaged: opened anew, the prompt makes it again from the log.
        self.with_prompts(|prompts, _, _| {
            prompts.close_all();
            Ok(())
        })?;
        self.compose_once(call)
    }

    fn compose_once(&mut self, call: &PromptCall<'_>) -> Result<ComposedPrompt, HostError> {
        self.with_prompts(|prompts, journal, learning| {
            prompts.open(journal, learning, call.shape, call.window.now)?;
            prompts.work(|parts| {
                parts.session.limit_media(call.window.limit);
                parts.session.stands_beside(call.beside);
                if let Some(reported) = call.reported {
                    parts.session.learn(reported);
                }
                parts.session.bring_beside(call.texts_beside);
                call.window.compose(parts, journal)
            })
        })
    }

    /// Stores the new messages of the host's window. The prompt has to show volatile input and the newest message, if that
    /// is input, even where a summary covers them.
    fn take_live(&mut self, live: &LiveArray, now: Timestamp) -> Result<TakenLive, HostError> {
        let how = if live.is_whole { How::Whole } else { How::Window };
        let is_open = self.journal().open_turn().is_some();
        let delivery = Delivery { is_open, ..Delivery::new(how, live.messages.clone(), now) };
        let effect = self.record(|journal| journal.deliver_with(delivery, Vec::new()))?;
        let places = effect.places;
        let journal = self.journal();
        // An array that ends before the path does is no question: the path already answers its last message.
        let last = places.iter().flatten().next_back().copied().filter(|last| Some(*last) == journal.head());
        let is_live = |(message, place): (&Delivered, &Option<Seq>)| {
            place.filter(|seq| message.is_volatile || Some(*seq) == last)
        };
        let mut required: Vec<Seq> = live.messages.iter().zip(&places).filter_map(is_live).collect();
        required.sort_unstable();
        required.dedup();
        let mut input = Vec::new();
        for seq in required.into_iter().filter(|_| !mutants::is(Bug::LiveNotRequired)) {
            let row = journal.row(seq)?;
            input.extend(row.filter(|row| row.role == Role::User && row.tokens.expected > 0).map(|_| seq));
        }
        Ok(TakenLive { receipt: effect.receipt, required: input })
    }

    /// The budget of the messages: no more than that of the first call of the turn, less the text behind them.
    fn budget(&mut self, ask: &Ask) -> u64 {
        let budget = self.learning.bound(ask.budget, ask.is_first || mutants::is(Bug::LoopBudget));
        let budget = budget.min(self.learning.cap(ask.model.as_deref()));
        let ruler = ModelRuler::of(ask.model.as_deref(), ask.dialect);
        let behind = ask.prompt.as_deref().map_or(0, |text| ruler.count(text).upper + HOST_TEXT_SEAM);
        budget.saturating_sub(behind)
    }

    /// Opens the prompt for a question, unless it is open.
    fn open_prompt(&mut self, ask: &Ask, budget: u64, now: Timestamp) -> Result<(), HostError> {
        let shape = self.with_prompts(|prompts, journal, _| prompts.shape(journal, ask, budget))?;
        self.with_prompts(|prompts, journal, learning| prompts.open(journal, learning, shape, now))
    }

    /// The source of a prompt for this question: the history, and the question itself.
    ///
    /// * `live` - see [`live_digest`].
    fn mark(&self, ask: &Ask, live: Digest) -> Mark {
        let length =
            self.journal().path_length() + ask.live.as_ref().map_or(0, |live| live.messages.len() as u64);
        let bytes = [self.journal().next().0.to_le_bytes().as_slice(), &live.0].concat();
        let shape = format!(
            "{:?} {:?} {:?} {} {:?} {:?}",
            ask.dialect,
            ask.model,
            ask.prompt,
            ask.is_first,
            self.learning.media_limit(),
            ask.texts_beside.iter().map(|text| Digest::of(text.as_bytes()).short()).collect::<Vec<_>>()
        );
        Mark {
            generation: self.journal().generation(),
            length,
            chain: Digest::of(&bytes),
            budget: ask.budget.min(self.learning.cap(ask.model.as_deref())),
            shape: Digest::of(shape.as_bytes()).short() as u64,
        }
    }

    /// Makes the prompt for a question smaller, if anything in it is old enough.
    ///
    /// * `is_forced` - compact everything that is old enough, whatever the pressure.
    pub(super) fn compact(
        &mut self,
        ask: &Ask,
        is_forced: bool,
        now: Timestamp,
    ) -> Result<Compacted, HostError> {
        let budget = self.budget(ask);
        self.open_prompt(ask, budget, now)?;
        let compacted = self.prompts.compact(is_forced)?;
        self.is_compacted |= compacted.shrank;
        Ok(compacted)
    }
}

/// A prompt for a host, and what it was made from.
pub struct ComposedPrompt {
    /// What the host gets.
    pub assembled: Assembled,
    /// The admitted prompt, without live input.
    pub prompt: Prompt,
    /// How it was composed, to be stored.
    recipe: Option<ComposedRecipe>,
}

/// A prompt for a question.
struct MadePrompt {
    assembled: Assembled,
    /// How it was composed, to be stored.
    recipe: Option<ComposedRecipe>,
}

/// How a prompt was composed, and the decision about the turn that begins with it.
pub(super) struct ComposedRecipe {
    row: unforget_store::Recipe,
    turn: Option<DecisionRow>,
}

impl ComposedRecipe {
    /// `None` for a recipe that cannot be told whole.
    fn new(recipe: &Recipe, state: Vec<u8>, turn: Option<DecisionRow>) -> Option<Self> {
        let body = recipe.encode()?;
        let mut context = [0; 16];
        context.iter_mut().zip(Digest::of(&state).0).for_each(|(to, from)| *to = from);
        Some(Self { row: unforget_store::Recipe { number: 0, context, state, body }, turn })
    }

    /// The row of the recipe.
    pub(super) const fn row(&self) -> NewRecipe<'_> {
        NewRecipe { row: &self.row, keep: RECIPES }
    }

    /// The row of the decision.
    pub(super) fn turn(&self) -> Option<NewDecision<'_>> {
        self.turn.as_ref().map(decisions::kept)
    }
}

/// A call for which a prompt is composed.
struct PromptCall<'a> {
    shape: Shape,
    /// Tokens of everything else that the host sends.
    beside: Tokens,
    /// Its texts.
    texts_beside: &'a [Arc<str>],
    /// The newest count of a call that was forwarded unchanged.
    reported: Option<Reported>,
    window: HostWindow<'a>,
}

/// The window of a host for which a prompt is composed.
struct HostWindow<'a> {
    /// Tokens of the messages.
    budget: u64,
    /// Entries that the prompt has to show, ascending.
    required: &'a [Seq],
    /// The limit on images and documents.
    limit: &'a media::Limit,
    now: Timestamp,
    /// Whether the prompt can be composed again later.
    keeps_recipe: bool,
}

impl HostWindow<'_> {
    /// Composes and keeps the prompt.
    fn compose(&self, parts: PromptParts<'_>, journal: &Journal) -> Result<ComposedPrompt, HostError> {
        let PromptParts { session, bodies, is_between: was_between } = parts;
        let stored = |seq: Seq| bodies.get(seq);
        let LivePrompt { prompt, live, extra } = with_live(session, self.budget, self.required, &stored)?;
        let target = session.shape().target();
        let mut system = prompt.admitted.request().system.clone();
        system.extend(mutants::is(Bug::ClockInPrompt).then(|| format!("It is {}.", self.now.0)));
        let newest =
            self.required.last().copied().filter(|newest| live.last().is_some_and(|live| live < newest));
        let input = LiveInput { entries: &live, newest, limit: self.limit };
        let request = with_live_input(prompt.admitted.request(), &input, &stored);
        let is_between = newest.is_some() && !live.is_empty();
        let moved = std::mem::replace(was_between, is_between).then_some(Broken {
            cause: Cause::LiveInput,
            region: Region::Tail,
            rebilled: 0,
            hit: prompt.reused,
        });
        let emitted = emit(&request, target, journal.form(), &stored);
        let media = places(&request, &emitted);
        let messages = emitted.concat();
        bodies.check()?;
        bodies.keep(&shown(prompt.admitted.request()).chain(live.iter().copied()).collect());
        let recipe = self.keeps_recipe.then(|| {
            let (mut recipe, state) = session.recipe(&prompt);
            (recipe.live, recipe.newest) = (live.clone(), newest);
            recipe.broken = recipe.broken.or(moved);
            recipe.digest = sent_digest(system.iter().chain(&messages));
            let turn = session.note_turn(&prompt);
            ComposedRecipe::new(&recipe, state, turn)
        });
        let raw_tail = session.group_sizes().sum();
        let certificate = prompt.admitted.certificate().clone();
        let assembled = Assembled {
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
            receipt: None,
            followed: session.take_followed(),
            short_pins: prompt.short_pins.clone(),
            recipe: None,
            debt: Debt { stored: journal.tokens(), raw_tail },
        };
        Ok(ComposedPrompt { assembled, prompt, recipe: recipe.flatten() })
    }
}

/// Digest of the host's live messages, in order. O(bytes).
fn live_digest(ask: &Ask) -> Digest {
    let messages = ask.live.iter().flat_map(|live| &live.messages);
    let digests = messages.map(|message| message.digest.or_else(|| message.body.as_deref().map(body_digest)));
    let bytes: Vec<u8> = digests.flat_map(|digest| digest.map_or([0; 16], |digest| digest.0)).collect();
    Digest::of(&bytes)
}

/// Composes a prompt with all required entries. Those that the prompt does not show itself go behind it, since live input
/// is in every prompt, even where a summary covers it.
fn with_live(
    session: &mut Session,
    budget: u64,
    required: &[Seq],
    stored: &dyn Fn(Seq) -> Option<StoredMessage>,
) -> Result<LivePrompt, HostError> {
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
        // Less room pushed out more entries. Each round requires more of them, so the loop ends.
        live.extend(still.into_iter().filter(|seq| !live.contains(seq)).collect::<Vec<_>>());
        live.sort_unstable();
    }
    // The first prompt tells the break; the others only make room.
    prompt.broken = broken.or(prompt.broken);
    let extra = weight(&live);
    Ok(LivePrompt { prompt, live, extra })
}

/// Applies the limit on images and documents to a request with live input.
pub(super) fn limited(request: &mut Request, limit: &media::Limit) {
    let mut left = Pick::new(limit);
    for message in request.messages.iter_mut().rev() {
        if let Some(picked) = pick(message, &mut left) {
            *message = picked;
        }
    }
}

/// Places of images and documents in the emitted messages.
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

/// Weight of a message behind the prompt. Images and documents count by formula, not by their encoding (F069).
fn weigh(text: &str, entry: &Entry, ruler: ModelRuler) -> Tokens {
    let (mut words, mut media) = (Cow::Borrowed(text), 0);
    for part in entry.parts.iter().filter_map(as_media) {
        media += 1;
        words = Cow::Owned(words.replacen(&*part.raw, "", 1));
    }
    ruler.count(&words) + Tokens::exact(HOST_TEXT_SEAM + media * IMAGE_TOKENS)
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
