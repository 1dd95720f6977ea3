//! Prompts of the past.

use serde::Serialize;
use serde_json::value::RawValue;
use unforget_core::id::Seq;
use unforget_engine::host::{Difference, Rebuilt, Represented};
use unforget_engine::prompt::{How, Part, Recipe};
use utoipa::ToSchema;

use super::iso;
use super::recall::WriterJson;

/// A prompt that was sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecipeJson {
    prompt: u64,
    time: Option<String>,
    dialect: &'static str,
    window: u64,
    head: Option<u64>,
    epoch: u32,
    rung: &'static str,
    broken: Option<&'static str>,
    broken_at: Option<&'static str>,
    rebilled: Option<u64>,
    cache_hit: Option<u64>,
    tokens: u64,
    tokens_upper: u64,
    pins: Vec<u64>,
    live: Vec<u64>,
}

impl RecipeJson {
    /// * `number` - the prompt's number.
    pub fn new(number: u64, recipe: &Recipe) -> Self {
        Self {
            prompt: number,
            time: iso(recipe.time),
            dialect: recipe.dialect.name(),
            window: recipe.window_now,
            head: recipe.head.map(|seq| seq.0),
            epoch: recipe.epoch,
            rung: recipe.rung.name(),
            broken: recipe.broken.map(|broken| broken.cause.name()),
            broken_at: recipe.broken.map(|broken| broken.region.name()),
            rebilled: recipe.broken.map(|broken| broken.rebilled),
            cache_hit: recipe.broken.map(|broken| broken.hit),
            tokens: recipe.tokens.expected,
            tokens_upper: recipe.tokens.upper,
            pins: recipe.pins.iter().map(|pin| pin.0).collect(),
            live: recipe.live.iter().map(|seq| seq.0).collect(),
        }
    }
}

/// The output of `prompts`.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromptsJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Recipes, oldest first.
    pub prompts: Vec<RecipeJson>,
}

/// The output of `prompt --at rN`.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebuiltJson {
    conversation: String,
    same: bool,
    recipe: RecipeJson,
    system: Vec<String>,
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Box<RawValue>>,
}

impl RebuiltJson {
    /// * `key` - the conversation's key.
    pub fn new(key: &str, number: u64, rebuilt: &Rebuilt) -> serde_json::Result<Self> {
        let messages = rebuilt.messages.iter().cloned().map(RawValue::from_string);
        Ok(Self {
            conversation: key.to_owned(),
            same: rebuilt.is_same,
            recipe: RecipeJson::new(number, &rebuilt.recipe),
            system: rebuilt.system.clone(),
            messages: messages.collect::<Result<_, _>>()?,
        })
    }
}

/// Entries and how they are represented.
#[derive(Debug, Serialize, ToSchema)]
struct PartJson {
    first: u64,
    last: u64,
    how: &'static str,
    summary: Option<String>,
    /// Whether a model wrote the shown summary; null for other representations.
    by_model: Option<bool>,
    tokens: u64,
}

impl From<&Part> for PartJson {
    fn from(part: &Part) -> Self {
        let (summary, by_model) = match &part.how {
            How::Summary { name, by_model } => (Some(name.clone()), Some(*by_model)),
            _ => (None, None),
        };
        let (first, last) = part.span;
        Self { first: first.0, last: last.0, how: part.how.name(), summary, by_model, tokens: part.tokens }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct ChangedPartJson {
    was: PartJson,
    is: Option<PartJson>,
}

#[derive(Debug, Serialize, ToSchema)]
struct BreakJson {
    prompt: u64,
    cause: Option<&'static str>,
    at: Option<&'static str>,
    rebilled: Option<u64>,
}

/// The output of `diff`.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffJson {
    conversation: String,
    from: RecipeJson,
    to: RecipeJson,
    breaks: Vec<BreakJson>,
    changed: Vec<ChangedPartJson>,
    added: Vec<PartJson>,
    pinned: Vec<u64>,
    unpinned: Vec<u64>,
}

impl DiffJson {
    /// * `key` - the conversation's key.
    pub fn new(key: &str, from: u64, to: u64, difference: &Difference) -> Self {
        let changed = difference.changed.iter();
        let breaks = difference.breaks.iter();
        Self {
            conversation: key.to_owned(),
            from: RecipeJson::new(from, &difference.recipes.0),
            to: RecipeJson::new(to, &difference.recipes.1),
            breaks: breaks
                .map(|(prompt, recipe)| BreakJson {
                    prompt: *prompt,
                    cause: recipe.broken.map(|broken| broken.cause.name()),
                    at: recipe.broken.map(|broken| broken.region.name()),
                    rebilled: recipe.broken.map(|broken| broken.rebilled),
                })
                .collect(),
            changed: changed
                .map(|one| ChangedPartJson { was: (&one.was).into(), is: one.is.as_ref().map(Into::into) })
                .collect(),
            added: difference.added.iter().map(Into::into).collect(),
            pinned: difference.pins.0.iter().map(|pin| pin.0).collect(),
            unpinned: difference.pins.1.iter().map(|pin| pin.0).collect(),
        }
    }
}

/// The output of `why`.
#[derive(Debug, Serialize, ToSchema)]
pub struct WhyJson<'a> {
    conversation: String,
    seq: u64,
    /// Number of the prompt; null if it was made just now.
    prompt: Option<u64>,
    /// The part that represents the entry; null if there is none.
    part: Option<PartJson>,
    /// The writer of its stored summary; null without a summary.
    writer: Option<WriterJson<'a>>,
    pins: Vec<u64>,
    /// The first prompt with that representation; null if it was made just now.
    since: Option<RecipeJson>,
}

impl<'a> WhyJson<'a> {
    /// * `key` - the conversation's key.
    pub fn new(key: &str, seq: Seq, why: &'a Represented) -> Self {
        Self {
            conversation: key.to_owned(),
            seq: seq.0,
            prompt: why.kept.as_ref().map(|kept| kept.number),
            part: why.part.as_ref().map(Into::into),
            writer: why.writer.as_ref().map(Into::into),
            pins: why.pins.iter().map(|pin| pin.0).collect(),
            since: why.kept.as_ref().map(|kept| RecipeJson::new(kept.since.0, &kept.since.1)),
        }
    }
}
