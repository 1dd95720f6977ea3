//! The model of vectors: what it is asked, and what is done when it does not answer.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

    /// The vector of a query.
    ///
    /// # Errors
    /// Why there is none, for a person.
    pub(crate) fn query(&self, text: &str, dimension: usize) -> Result<Vec<f32>, String> {
        {
            let state = self.state();
            if let Some((_, vector)) = state.last.as_ref().filter(|(last, _)| last == text) {
                return Ok(vector.clone());
            }
            if let Some((until, why)) = &state.rests
                && self.clock.elapsed() < *until
            {
                return Err(format!("{why} (not asked again for {} s)", REST.as_secs()));
            }
        }
        // Small models read no more, and a provider refuses much more.
        let end = text.char_indices().nth(QUERY_CHARS_MAX).map_or(text.len(), |(end, _)| end);
        let asked = self.sent(&self.config.query_prefix, text.get(..end).unwrap_or_default());
        let made = unit_vectors(self.embedder.as_ref(), &[&asked], Some(dimension), self.config.query_within);
        let mut state = self.state();
        match made.map(|mut made| made.vectors.pop().unwrap_or_default()) {
            Ok(vector) => {
                state.rests = None;
                state.last = Some((text.to_owned(), vector.clone()));
                Ok(vector)
            }
            Err(fault) => {
                let why = fault.to_string();
                // A text that the model refuses says nothing about the next one.
                if is_about_texts(&fault.cause) {
                    return Err(why);
                }
                state.rests = Some((self.clock.elapsed().saturating_add(REST), why.clone()));
                Err(why)
            }
        }
    }

    /// The vectors of texts; `None` for those that the model refuses while it takes others.
    pub(crate) fn texts(&self, texts: &[String]) -> Result<TextVectors, Fault> {
        let texts: Vec<String> = texts.iter().map(|text| self.sent(&self.config.text_prefix, text)).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let refusal = match self.call(&all) {
            Ok(Embedded { vectors, tokens }) => {
                return Ok(TextVectors { vectors: vectors.into_iter().map(Some).collect(), tokens });
            }
            Err(fault) if is_about_texts(&fault.cause) => fault,
            Err(fault) => return Err(fault),
        };
        let mut vectors = Vec::with_capacity(all.len());
        for text in all.iter().copied() {
            vectors.push(match self.call(&[text]) {
                Ok(mut made) => made.vectors.pop(),
                Err(fault) if is_about_texts(&fault.cause) => None,
                Err(fault) => return Err(fault),
            });
        }
        // Where it takes none, the requests may be what it does not like.
        if vectors.iter().all(Option::is_none) && self.call(&["text"]).is_err() {
            return Err(refusal);
        }
        Ok(TextVectors { vectors, tokens: None })
    }

    fn call(&self, texts: &[&str]) -> Result<Embedded, Fault> {
        unit_vectors(self.embedder.as_ref(), texts, None, self.config.within)
    }

    /// A text as the model gets it: what leaves this process holds no credentials.
    fn sent(&self, prefix: &str, text: &str) -> String {
        if self.is_local() { format!("{prefix}{text}") } else { format!("{prefix}{}", redact(text)) }
    }

    fn state(&self) -> MutexGuard<'_, ModelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The vectors of texts.
#[derive(Default)]
pub(crate) struct TextVectors {
    /// For each text; `None` for those that the model refuses while it takes others.
    pub(crate) vectors: Vec<Option<Vec<f32>>>,
    /// Tokens as the model counted them.
    pub(crate) tokens: Option<u64>,
}

/// Whether a fault may be about what the texts say, and not about the model.
const fn is_about_texts(cause: &Cause) -> bool {
    matches!(cause, Cause::TooLong { .. } | Cause::Policy | Cause::Invalid)
}
