//! Answers a question with a model that reads recalled passages, within a grant.
//!
//! The entries named by the question are read first; its words find further passages. The model reads these passages
//! and may ask for more. It gets no tools, and an answer never triggers another question. Citations are checked against
//! the passages read. The grant is a row of the store: every passage is counted there before the model reads it, the
//! grant can be revoked there, and a grant left behind by a crash expires by itself. Without a model, or if the answer
//! is unusable, the passages are the answer.

use std::time::Duration;

use unforget_core::entry::Role;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_llm::{Call, Cancel, Clock, Request, Stop, SystemClock, Urgency};
use unforget_recall::coverage::Coverage;
use unforget_recall::tuning::Tuning;
use unforget_store::{GrantRow, Reading as Used};
use unforget_text::{StatusQuestion, fence_passage, redact, status_question};

use crate::summarise::Summarisers;
use crate::{Engine, EngineError};

mod gather;
mod lines;
mod named;
mod replies;
mod reply;
mod standing;
mod status;

use gather::Gathered;
pub use lines::AnswerLine;
use lines::AskedWords;
use reply::{More, citations, requests};
use status::StatusLines;

/// The system prompt of the model.
const SYSTEM: &str = include_str!("answer.txt");

/// Number of requests for more passages that are carried out per reply.
const REQUESTS_MAX: usize = 4;

/// Number of grants kept in the store.
const GRANTS_KEPT: u64 = 1_000;

/// Tokens of the text around passages and question.
const REST_TOKENS: u64 = 256;

/// Minimum room in tokens for further reading.
const READ_MIN: u64 = 128;

/// Least [`Answered::held`] of an answer. Of 21 questions with an answer in 29 real sessions the lowest was 56; of 24 without, 17
/// were below 50.
pub(super) const HELD_MIN: u32 = 50;

/// Explains an empty answer about the state of the work.
const NOTHING_OF_STATE: &str = "no session has work that this asks for, in the time that it names";

/// Reason of a partial answer after the time limit.
const TOO_LATE: &str = "the time was over";

/// A question and the entries to read first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// The question in words.
    pub text: &'a str,
    /// Names of entries and summaries to read first, in this order, in the form of [`Engine::address`]: at most 64.
    /// Under a scope, only names of its conversation.
    pub from: &'a [String],
    /// Reference time for words such as `yesterday`.
    pub now: Option<Timestamp>,
}

/// Limits on reading and time for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Restricts the answer to this conversation.
    pub scope: Option<ConversationId>,
    /// Maximum tokens of all passages.
    pub tokens: u64,
    /// Number of times that the model may ask for more passages.
    pub depth: u32,
    /// Maximum tokens of the answer.
    pub output_tokens_max: u64,
    /// Time limit for the whole answer.
    pub within: Duration,
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            scope: None,
            tokens: 6_000,
            depth: 2,
            output_tokens_max: 1_000,
            within: Duration::from_mins(2),
        }
    }
}

/// A passage read for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Its number in the answer, from 1.
    pub number: u32,
    /// Name for `expand`: `e:KEY:SEQ`.
    pub name: String,
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The entry.
    pub seq: Seq,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Role of the speaker.
    pub role: Role,
    /// The text that was read.
    pub text: String,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Whether the answer cites it.
    pub is_cited: bool,
}

/// How much was read of a given name. Entries in none of the counts were not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Number of entries behind the name.
    pub entries: u64,
    /// Number of entries read completely.
    pub read: u64,
    /// Number of entries read in part.
    pub cut: u64,
    /// Number of entries with purged bytes.
    pub purged: u64,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A model answered with citations of passages that it read.
    Answered,
    /// A model answered without a valid citation: treat the answer as a guess.
    Uncited,
    /// There is no model: the evidence is the answer.
    NoModel,
    /// There is no model, and no statement holds half of the question: the evidence is what is nearest.
    Unsure,
    /// Nothing was found.
    NothingFound,
    /// The answer was cut short, with the reason; the evidence, and the text so far, are the answer.
    Partial(String),
}

impl Ended {
    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Uncited => "uncited",
            Self::NoModel => "no-model",
            Self::Unsure => "unsure",
            Self::NothingFound => "nothing-found",
            Self::Partial(_) => "partial",
        }
    }
}

/// An answer with its evidence and receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The model's text; `[n]` refers to [`Evidence::number`]. `None` without an answer by a model.
    pub text: Option<String>,
    /// The statements of the passages that hold most of the question, each with its passage: the answer without a model.
    /// By kind, the kind of the best statement first, and within a kind the best first; at most 600 tokens.
    pub lines: Vec<AnswerLine>,
    /// Outcome of the answer.
    pub ended: Ended,
    /// The passages in the order of reading.
    pub evidence: Vec<Evidence>,
    /// The coverage of the given names, in their order.
    pub named: Vec<Named>,
    /// Cited numbers without a passage.
    pub invented: Vec<u32>,
    /// Number of entries searched, and of entries in the store.
    pub searched: (u64, u64),
    /// What speaks against an answer: why nothing was found, or words of the question that no entry has. May be empty.
    pub negative: String,
    /// Percent of the question's words, weighed by rarity, in the statement of the passages that holds most.
    pub held: u32,
    /// Number of calls of models.
    pub calls: u32,
    /// Number of the grant; `None` without a model.
    pub grant: Option<u64>,
    /// Of a question about the state of the work: entries of sessions whose work was not read, because that takes long.
    pub behind: u64,
}

impl Evidence {
    /// The passage in the form that a model reads.
    fn fenced(&self) -> String {
        let (number, time) =
            (self.number.to_string(), self.time.map(unforget_text::time_text).unwrap_or_default());
        let facts = [
            ("number", number.as_str()),
            ("role", self.role.name()),
            ("time", &time),
            ("from", &self.conversation.0),
        ];
        fence_passage("entry", &facts, &redact(&self.text)) + "\n"
    }
}

/// The models for an answer.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The models.
    pub models: &'a Summarisers,
    /// Cancels the answer.
    pub cancel: &'a Cancel,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Engine {
    /// Answers a question from stored entries.
    ///
    /// The entries named by the question are read first, completely if the grant has room. Of a name too large for the
    /// grant, entries with the question's words come first, then others in order. A search with the question's words
    /// fills the remaining room.
    ///
    /// * `reader` - the models; with `None` the evidence is the answer.
    ///
    /// Cost: one [`Engine::search`], one [`Engine::address`] per name, and one [`Engine::expand`]; at most `depth + 1`
    /// calls of the model, each with one durable write of the grant. No transaction is open during a call.
    ///
    /// Errors of [`Engine::search`] and of the store. [`EngineError::Usage`] if a name is unknown or out of scope, or
    /// if there are too many names; nothing was read in this case. A failing model is not an error: see
    /// [`Ended::Partial`].
    pub fn answer(
        &self,
        question: &Question<'_>,
        grant: &Grant,
        reader: Option<Reader<'_>>,
    ) -> Result<Answered, EngineError> {
        let own = SystemClock::new();
        let clock = reader.map_or(&own as &dyn Clock, |reader| reader.models.clock());
        let cancel = reader.map(|reader| reader.cancel);
        let watch = Watch { clock, cancel, start: clock.elapsed(), within: grant.within };
        let made = clock.time();
        let members = self.members_of(question.from, grant.scope)?;
        let models = reader.map(|reader| reader.models);
        let mut gathered = Gathered::new(self, watch, models, question, grant);
        let named = gathered.named(question, &members)?;
        let mut answered = Answered {
            text: None,
            lines: Vec::new(),
            ended: Ended::NothingFound,
            evidence: Vec::new(),
            named,
            invented: Vec::new(),
            searched: (0, 0),
            negative: String::new(),
            held: 0,
            calls: 0,
            grant: None,
            behind: 0,
        };
        let asked = status_question(question.text).filter(|_| question.from.is_empty());
        let state = match &asked {
            Some(asked) => status::status(&mut gathered, question.text, asked, grant.scope)?,
            None => StatusLines::default(),
        };
        answered.behind = state.behind;
        let of_state = if asked.is_some() { gathered.evidence.len() } else { 0 };
        // `Still open` is in many texts that are open in another sense.
        let words = asked.as_ref().and_then(StatusQuestion::searched);
        let weights = if state.is_whole && state.lines.is_empty() {
            NOTHING_OF_STATE.clone_into(&mut answered.negative);
            Vec::new()
        } else {
            gathered.fill(words.unwrap_or(question.text), &mut answered)?
        };
        if !gathered.evidence.is_empty() {
            let coverage = Coverage::new(&weights, Tuning::default().near);
            let replies = gathered.replies(question.text, &coverage, of_state)?;
            let passages =
                if state.is_whole { &[] } else { gathered.evidence.get(of_state..).unwrap_or_default() };
            let is_of_state = !state.lines.is_empty();
            let asked = AskedWords { text: question.text, coverage: &coverage, replies: &replies };
            let found = lines::lines(self, passages, &asked, state.lines)?;
            (answered.lines, answered.held) = (found.lines, found.held);
            let is_sure = is_of_state || answered.held >= HELD_MIN || !question.from.is_empty();
            answered.ended = if is_sure { Ended::NoModel } else { Ended::Unsure };
            if watch.left().is_zero() {
                answered.ended = Ended::Partial(TOO_LATE.to_owned());
            }
            if let Some(reader) = reader {
                let mut reading =
                    EvidenceReading { gathered: &mut gathered, question, grant, made, counted: 0 };
                reading.within_grant(reader, &mut answered)?;
            }
        }
        answered.evidence = gathered.evidence;
        Ok(answered)
    }
}

/// Measures the remaining time.
#[derive(Clone, Copy)]
struct Watch<'a> {
    clock: &'a dyn Clock,
    cancel: Option<&'a Cancel>,
    start: Duration,
    within: Duration,
}

impl Watch<'_> {
    /// The remaining time; zero after cancellation.
    fn left(&self) -> Duration {
        if self.cancel.is_some_and(Cancel::is_cancelled) {
            return Duration::ZERO;
        }
        self.within.saturating_sub(self.clock.elapsed().saturating_sub(self.start))
    }
}

/// Tokens of the model's window available for passages.
fn space(question: &str, grant: &Grant, models: &Summarisers) -> u64 {
    let rest = models
        .count(SYSTEM)
        .saturating_add(models.count(&redact(question)))
        .saturating_add(grant.output_tokens_max)
        .saturating_add(REST_TOKENS);
    models.window().saturating_sub(rest)
}

/// The state of a model that reads passages.
struct EvidenceReading<'a, 'g> {
    gathered: &'a mut Gathered<'g>,
    question: &'a Question<'a>,
    grant: &'a Grant,
    /// Start time of the grant.
    made: Timestamp,
    /// Number of passages already counted in the grant.
    counted: usize,
}

impl EvidenceReading<'_, '_> {
    /// Asks the model under a new grant, which ends together with the answer.
    fn within_grant(&mut self, reader: Reader<'_>, answered: &mut Answered) -> Result<(), EngineError> {
        let (store, clock) = (self.gathered.engine.store(), reader.models.clock());
        let within = i64::try_from(self.grant.within.as_millis()).unwrap_or(i64::MAX);
        let most = Used { tokens: self.grant.tokens, calls: u64::from(self.grant.depth) + 1 };
        let row = GrantRow {
            number: 0,
            scope: self.grant.scope,
            most,
            used: Used::default(),
            made: self.made,
            until: Timestamp(self.made.0.saturating_add(within)),
            ended: None,
        };
        let number = store.put_grant(&row, GRANTS_KEPT)?;
        answered.grant = Some(number);
        let done = self.ask(reader, number, answered);
        let how = if done.is_ok() { answered.ended.name() } else { "failed" };
        store.end_grant(number, how, clock.time())?;
        done
    }

    /// Counts passages in the grant before a model reads them. False if the grant does not allow them any more.
    fn count(&mut self, number: u64, now: Timestamp) -> Result<bool, EngineError> {
        let new = self.gathered.evidence.get(self.counted..).unwrap_or_default();
        let more = Used { tokens: new.iter().map(|one| one.tokens).sum(), calls: 1 };
        self.counted = self.gathered.evidence.len();
        Ok(self.gathered.engine.store().use_grant(number, more, now)?)
    }

    /// Asks the model until it answers or must not ask for more.
    fn ask(&mut self, reader: Reader<'_>, number: u64, answered: &mut Answered) -> Result<(), EngineError> {
        let (models, watch) = (reader.models, self.gathered.watch);
        let mut is_dry = false;
        for step in 0..=self.grant.depth {
            let is_last = is_dry || step == self.grant.depth || self.gathered.left < READ_MIN;
            let within = watch.left();
            if within.is_zero() {
                answered.ended = Ended::Partial(TOO_LATE.to_owned());
                return Ok(());
            }
            if !self.count(number, models.clock().time())? {
                answered.ended = Ended::Partial("the grant is over, or was revoked".to_owned());
                return Ok(());
            }
            let user = self.request(&answered.named, is_last);
            if !models.fits(&[SYSTEM, &user], self.grant.output_tokens_max) {
                answered.ended = Ended::Partial("the passages are above the model's window".to_owned());
                return Ok(());
            }
            let output_tokens_max = self.grant.output_tokens_max;
            let request =
                Request { system: SYSTEM, user: &user, output_tokens_max, within, temperature: None };
            let call = Call { request, from: 0, urgency: Urgency::Manual, cancel: reader.cancel };
            let outcome = models.call(self.gathered.engine, &call)?;
            answered.calls += outcome.attempts.iter().filter(|attempt| attempt.was_made()).count() as u32;
            let (answer, _) = match outcome.result {
                Ok(answer) => answer,
                Err(fault) => {
                    answered.ended = Ended::Partial(fault.to_string());
                    return Ok(());
                }
            };
            let asked = requests(&answer.text);
            if is_last || asked.is_empty() {
                self.finish(&answer.text, &answer.stop, answered);
                return Ok(());
            }
            // A model whose requests found nothing new is told to answer from the passages it has.
            is_dry = !self.carry_out(asked)?;
        }
        Ok(())
    }

    /// The question and the passages as one text.
    fn request(&self, named: &[Named], is_last: bool) -> String {
        let mut text = String::new();
        for one in &self.gathered.evidence {
            text += &one.fenced();
        }
        let (read, entries) =
            named.iter().fold((0, 0), |(read, all), one| (read + one.read, all + one.entries));
        if read < entries {
            let told = format!("\nThe question is about {entries} entries; {read} of them are here whole.\n");
            text += &told;
        }
        text += "\nQuestion: ";
        text += &redact(self.question.text);
        if is_last {
            text += "\n\nAnswer now; no more passages can be asked for.";
        }
        text
    }

    /// Carries out the model's requests. Returns whether there are new passages.
    fn carry_out(&mut self, asked: Vec<More>) -> Result<bool, EngineError> {
        let before = self.gathered.evidence.len();
        for request in asked.into_iter().take(REQUESTS_MAX) {
            match request {
                More::Search(words) => {
                    // Words that search rejects find nothing.
                    match self.gathered.search(&words, self.gathered.left) {
                        Ok(_) | Err(EngineError::Usage { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                More::Around(number) => self.gathered.around(number)?,
            }
        }
        Ok(self.gathered.evidence.len() > before)
    }

    fn finish(&mut self, reply: &str, stop: &Stop, answered: &mut Answered) {
        let text = redact(reply.trim()).into_owned();
        let cited = citations(&text);
        for one in &mut self.gathered.evidence {
            one.is_cited = cited.contains(&one.number);
        }
        let known = self.gathered.evidence.len() as u32;
        answered.invented = cited.iter().copied().filter(|number| *number == 0 || *number > known).collect();
        answered.ended = match stop {
            _ if text.is_empty() => Ended::Partial(format!("the model said nothing ({})", stop.name())),
            Stop::End if !requests(&text).is_empty() => {
                Ended::Partial("the model asked for more than the grant allows".to_owned())
            }
            Stop::End if self.gathered.evidence.iter().any(|one| one.is_cited) => Ended::Answered,
            Stop::End => Ended::Uncited,
            stop => Ended::Partial(format!("the answer is not whole ({})", stop.name())),
        };
        answered.text = (!text.is_empty()).then_some(text);
    }
}
