//! The model of vectors: what it is asked, and what is done when it does not answer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;
use unforget_llm::embed::{Embedded, Embedder, unit_vectors};
use unforget_llm::{Cause, Clock, Fault};
use unforget_recall::meaning::VectorModel;
use unforget_store::Spend;
use unforget_text::redact;

/// Time during which a model that failed for a query is not asked again.
const REST: Duration = Duration::from_secs(30);

/// Most characters of a query that a model gets.
const QUERY_CHARS_MAX: usize = 2_000;

/// Failures of a batch after which its texts are asked one by one.
const BATCH_FAILURES_MAX: u32 = 2;

/// Failures of a text alone, each right after an answer to another text, after which it is asked no more. A text that ends
/// the model's process is one of these.
const ALONE_FAILURES_MAX: u32 = 2;

/// Failures that are remembered. Beyond, all are forgotten: a text is then asked once more.
const REMEMBERED_MAX: usize = 4_096;

/// A text that any model takes, to tell a model that fails from a text that makes it fail.
const PROBE: &str = "text";

/// Settings of a model of vectors, and its limits.
#[derive(Clone, Debug)]
pub struct MeaningConfig {
    /// Longest that a search waits for the vector of its query.
    pub query_within: Duration,
    /// Time limit of a call with texts of entries.
    pub within: Duration,
    /// Number of texts of a call.
    pub batch: usize,
    /// What stands before a query, for models that tell queries from texts.
    pub query_prefix: String,
    /// What stands before a text.
    pub text_prefix: String,
    /// Spending limit of a conversation per hour. A model in this process costs nothing.
    pub caps: Spend,
    /// Price of a million tokens, in millionths of the operator's currency.
    pub price: u64,
}

impl Default for MeaningConfig {
    fn default() -> Self {
        Self {
            query_within: Duration::from_millis(800),
            within: Duration::from_mins(1),
            batch: 32,
            query_prefix: String::new(),
            text_prefix: String::new(),
            caps: Spend { calls: 600, input: 5_000_000, output: 0, micros: u64::MAX },
            price: 0,
        }
    }
}

/// What a search says of meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeaningReceipt {
    /// The configured model.
    pub model: String,
    /// Entries with words and a vector, in the conversations that were searched.
    pub entries: u64,
    /// Entries with words in these conversations.
    pub of: u64,
    /// Why the search ranked by words alone; `None` if it ranked by meaning too.
    pub trouble: Option<String>,
}

impl MeaningReceipt {
    /// What a view with little room says where the search ranked by words alone: `ranked by words only: WHY`.
    pub fn words_only(&self) -> Option<String> {
        self.trouble.as_ref().map(|why| format!("ranked by words only: {why}"))
    }
}

impl fmt::Display for MeaningReceipt {
    /// The receipt in a line: `meaning: model X, 7 of 9 entries`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, entries, of, trouble } = self;
        match trouble {
            None => write!(f, "meaning: model {model}, {entries} of {of} entries"),
            Some(why) => {
                write!(f, "by words alone, not by meaning (model {model}, {entries} of {of} entries): {why}")
            }
        }
    }
}

/// A model of vectors with its settings. All users of an engine share one.
pub struct MeaningModel {
    embedder: Arc<dyn Embedder>,
    config: MeaningConfig,
    clock: Arc<dyn Clock>,
    state: Mutex<ModelState>,
}

#[derive(Default)]
struct ModelState {
    /// The newest query with its vector: pages of one search ask once.
    last: Option<(String, Vec<f32>)>,
    /// When queries may be asked again, by the clock, and why not before.
    rests: Option<(Duration, String)>,
    /// How often texts failed, by their digest.
    failures: HashMap<Digest, u32>,
    /// Numbers of the newest vector that was made; 0 before.
    length: usize,
    /// Cost of the calls of this hour that no store could count.
    uncounted: HourCost,
}

/// Cost of the calls of an hour.
#[derive(Clone, Copy, Default)]
struct HourCost {
    hour: i64,
    spend: Spend,
}

impl MeaningModel {
    /// A model with settings. Calls nothing.
    pub fn new(embedder: Arc<dyn Embedder>, config: MeaningConfig, clock: Arc<dyn Clock>) -> Self {
        Self { embedder, config, clock, state: Mutex::default() }
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        self.embedder.name()
    }

    /// The settings.
    pub const fn config(&self) -> &MeaningConfig {
        &self.config
    }

    /// The time of day.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.time()
    }

    /// Whether the model runs in this process: then its calls cost nothing, and no text leaves.
    pub(crate) fn is_local(&self) -> bool {
        self.embedder.is_local()
    }

    /// Whether segments of this model are those of ours.
    pub(crate) fn is(&self, model: &VectorModel) -> bool {
        model.name == self.name()
    }

    /// The vector of a query if it is known, or why the model is not asked now; `None` if it is to be asked.
    pub(crate) fn known_query(&self, text: &str) -> Option<Result<Vec<f32>, String>> {
        let state = self.state();
        if let Some((_, vector)) = state.last.as_ref().filter(|(last, _)| last == text) {
            return Some(Ok(vector.clone()));
        }
        let (until, why) = state.rests.as_ref()?;
        (self.clock.elapsed() < *until)
            .then(|| Err(format!("{why} (not asked again for {} s)", REST.as_secs())))
    }

    /// A query as the model gets it.
    pub(crate) fn sent_query(&self, text: &str) -> String {
        let text = self.shown(text);
        // Small models read no more, and a provider refuses much more.
        let end = text.char_indices().nth(QUERY_CHARS_MAX).map_or(text.len(), |(end, _)| end);
        self.sent(&self.config.query_prefix, text.get(..end).unwrap_or_default())
    }

    /// Asks for the vector of a query.
    ///
    /// * `text` - the query.
    /// * `sent` - as the model gets it, see [`MeaningModel::sent_query`].
    ///
    /// # Errors
    /// Why there is none, for a person.
    pub(crate) fn ask_query(&self, text: &str, sent: &str) -> Result<QueryVector, String> {
        let made = unit_vectors(self.embedder.as_ref(), &[sent], None, self.config.query_within);
        let mut state = self.state();
        match made {
            Ok(Embedded { mut vectors, tokens }) => {
                let vector = vectors.pop().unwrap_or_default();
                state.rests = None;
                state.length = vector.len();
                state.last = Some((text.to_owned(), vector.clone()));
                Ok(QueryVector { vector, tokens })
            }
            Err(fault) => {
                let why = fault.to_string();
                // A text that the model refuses says nothing about the next one.
                if suspect(&fault.cause) == Suspect::Texts {
                    return Err(why);
                }
                state.rests = Some((self.clock.elapsed().saturating_add(REST), why.clone()));
                Err(why)
            }
        }
    }

    /// Texts as the model gets them.
    pub(crate) fn sent_texts<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<String> {
        texts.map(|text| self.sent(&self.config.text_prefix, text)).collect()
    }

    /// Whether these texts failed together so often that they are asked one by one at once. A batch that ends the model's
    /// process would leave nobody to answer the next call.
    pub(crate) fn is_for_one_by_one(&self, texts: &[String]) -> bool {
        self.failures(batch(texts)) >= BATCH_FAILURES_MAX
    }

    /// The vectors of texts, by one call.
    ///
    /// # Errors
    /// The fault, and whether the texts are to be asked [one by one](MeaningModel::one_by_one).
    pub(crate) fn texts(&self, texts: &[String]) -> Result<TextVectors, BatchFault> {
        if texts.is_empty() {
            return Ok(TextVectors::default());
        }
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let key = batch(texts);
        match self.call(&all) {
            Ok(Embedded { vectors, tokens }) => {
                let mut state = self.state();
                state.failures.remove(&key);
                state.length = vectors.first().map_or(0, Vec::len);
                Ok(TextVectors { vectors: vectors.into_iter().map(Some).collect(), tokens })
            }
            Err(fault) => {
                let is_next = match suspect(&fault.cause) {
                    Suspect::Model => false,
                    Suspect::Texts => true,
                    Suspect::Either => self.failed(key) >= BATCH_FAILURES_MAX,
                };
                Err(BatchFault { fault, is_next })
            }
        }
    }

    /// The vectors of texts, by a call for each; `None` for a text that fails alone while the model answers to another one.
    pub(crate) fn one_by_one(&self, texts: &[String]) -> OneByOne {
        // The model is asked for something else first: where it fails for all, the texts are not to blame.
        let mut calls = 1;
        if let Err(fault) = self.call(&[PROBE]) {
            return OneByOne { calls, made: Err(fault) };
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let key = alone(text);
            if self.failures(key) >= ALONE_FAILURES_MAX {
                vectors.push(None);
                continue;
            }
            calls += 1;
            let fault = match self.call(&[text]) {
                Ok(mut made) => {
                    vectors.push(made.vectors.pop());
                    continue;
                }
                Err(fault) => fault,
            };
            let suspect = suspect(&fault.cause);
            if suspect == Suspect::Model {
                return OneByOne { calls, made: Err(fault) };
            }
            self.failed(key);
            calls += 1;
            // A server under load answers to short texts only: what does not name the text as the cause is tried again.
            let is_certain = suspect == Suspect::Texts || self.failures(key) >= ALONE_FAILURES_MAX;
            if self.call(&[PROBE]).is_err() || !is_certain {
                return OneByOne { calls, made: Err(fault) };
            }
            vectors.push(None);
        }
        self.state().failures.remove(&batch(texts));
        OneByOne { calls, made: Ok(TextVectors { vectors, tokens: None }) }
    }

    /// Most calls of [`MeaningModel::one_by_one`].
    pub(crate) const fn one_by_one_max(texts: usize) -> u64 {
        1 + 2 * texts as u64
    }

    /// Numbers of the newest vector that was made; `None` before.
    pub(crate) fn length(&self) -> Option<usize> {
        Some(self.state().length).filter(|length| *length > 0)
    }

    /// Counts the cost of calls that no store can count; false if it is above the rest of the limit.
    pub(crate) fn charge_in_memory(&self, hour: i64, most: Spend, left: Spend) -> bool {
        let mut state = self.state();
        let known = if state.uncounted.hour == hour { state.uncounted.spend } else { Spend::default() };
        let spend = known.plus(most);
        let is_within = spend.is_within(left);
        if is_within {
            state.uncounted = HourCost { hour, spend };
        }
        is_within
    }

    /// Counts a failure of a text or batch; how often it failed by now.
    fn failed(&self, key: Digest) -> u32 {
        let mut state = self.state();
        if state.failures.len() >= REMEMBERED_MAX && !state.failures.contains_key(&key) {
            state.failures.clear();
        }
        let count = state.failures.entry(key).or_default();
        *count = count.saturating_add(1);
        *count
    }

    fn failures(&self, key: Digest) -> u32 {
        self.state().failures.get(&key).copied().unwrap_or_default()
    }

    fn call(&self, texts: &[&str]) -> Result<Embedded, Fault> {
        unit_vectors(self.embedder.as_ref(), texts, None, self.config.within)
    }

    /// What may be shown to the model of a text: what leaves this process holds no credentials. A text is shown as a whole before it is
    /// cut, since a piece of a credential is not recognised.
    pub(crate) fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_local() { Cow::Borrowed(text) } else { redact(text) }
    }

    fn sent(&self, prefix: &str, text: &str) -> String {
        format!("{prefix}{}", self.shown(text))
    }

    fn state(&self) -> MutexGuard<'_, ModelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The vectors of texts.
#[derive(Default)]
pub(crate) struct TextVectors {
    /// For each text; `None` for those that fail alone while the model answers to others.
    pub(crate) vectors: Vec<Option<Vec<f32>>>,
    /// Tokens as the model counted them.
    pub(crate) tokens: Option<u64>,
}

/// The vector of a query.
pub(crate) struct QueryVector {
    /// Of length 1.
    pub(crate) vector: Vec<f32>,
    /// Tokens as the model counted them.
    pub(crate) tokens: Option<u64>,
}

/// A call for several texts that failed.
pub(crate) struct BatchFault {
    /// Why.
    pub(crate) fault: Fault,
    /// Whether to ask one by one.
    pub(crate) is_next: bool,
}

/// What came of asking one by one.
pub(crate) struct OneByOne {
    /// Number of calls that were made.
    pub(crate) calls: u64,
    /// The vectors, or the fault of the model.
    pub(crate) made: Result<TextVectors, Fault>,
}

/// Who may be to blame for a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspect {
    /// What the texts say.
    Texts,
    /// The model, its account, or the way to it.
    Model,
    /// One of both.
    Either,
}

/// The key of texts that were asked together.
fn batch(texts: &[String]) -> Digest {
    Digest::of(texts.join("\0").as_bytes())
}

/// The key of a text that was asked alone.
fn alone(text: &str) -> Digest {
    Digest::of(format!("alone\0{text}").as_bytes())
}

/// Who may be to blame.
pub(crate) const fn suspect(cause: &Cause) -> Suspect {
    match cause {
        Cause::TooLong { .. } | Cause::Policy | Cause::Invalid => Suspect::Texts,
        Cause::Server { .. }
        | Cause::Timeout
        | Cause::Broken
        | Cause::BadAnswer { .. }
        | Cause::AnswerTooLarge { .. }
        | Cause::Command { .. }
        | Cause::Unknown { .. } => Suspect::Either,
        _ => Suspect::Model,
    }
}
