//! The state of a conversation's prompt: left-out entries, the reasons, the ids for expanding them, and the provider's
//! cache.

use serde::{Deserialize, Serialize};
use unforget_core::cache::{CacheFate, CacheLedger};
use unforget_engine::meaning::MeaningState;
use unforget_engine::prompt::{How, Part, Recipe};
use unforget_engine::{Engine, EngineError};
use unforget_store::{Conversation, PinFileRow};
use utoipa::ToSchema;

use super::{PinFileJson, iso};
use unforget_gateway::{CallCount, LaneRecord};

/// Number of conversations in the list.
pub const LISTED: usize = 20;

/// Number of breaks shown, the newest ones.
const BREAKS: usize = 10;

/// Entries that a prompt does not show verbatim.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeftJson {
    /// First and last entry.
    pub first: u64,
    /// Last entry.
    pub last: u64,
    /// What represents them: `summary`, `coarse-summary` (provisional), `stub`, `left-out`.
    pub how: &'static str,
    /// Whether a model wrote the shown summary; null for other representations.
    pub by_model: Option<bool>,
    /// Expected tokens of the representation.
    pub tokens: u64,
    /// Id for expanding all of them.
    pub expand: String,
}

/// A prompt that does not simply extend the previous one.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrokenJson {
    /// Number of the prompt.
    pub prompt: u64,
    /// Time of the prompt.
    pub time: Option<String>,
    /// The cause, as a name.
    pub cause: &'static str,
    /// The cause, for people.
    pub words: &'static str,
    /// The place of the change.
    pub at: &'static str,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// Tokens that the cache should have held and that were billed again.
    pub rebilled: u64,
}

/// The newest prompt of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewestJson {
    /// Its number.
    pub prompt: u64,
    /// Time of the prompt.
    pub time: Option<String>,
    /// Tokens of its messages.
    pub tokens: u64,
    /// Tokens of the call at most, with instructions, tools and standing context: what the prompt was admitted by.
    pub tokens_upper: u64,
    /// What the call had room for.
    pub budget: u64,
    /// Of the budget, what was charged for instructions, tools and standing context.
    pub beside: u64,
    /// Share of the budget that the bound takes.
    pub used: f64,
    /// `assembled`, or the rung by which it was shortened.
    pub rung: &'static str,
    /// Number of breaks since the conversation began.
    pub epoch: u32,
    /// Number of entries that people put back and that had no room in it.
    pub raised_left_out: u64,
}

/// The output of `status SESSION`.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Its first words.
    pub title: Option<String>,
    /// The newest prompt; null if none was made, since all calls were sent unchanged.
    pub prompt: Option<NewestJson>,
    /// Left-out entries, oldest first.
    pub left: Vec<LeftJson>,
    /// Why the left-out entries are unknown: the prompt's context was purged, dropped, or written by another version.
    /// Null if `left` is complete.
    pub left_unknown: Option<String>,
    /// Number of prompts kept.
    pub kept: u64,
    /// Number of these that broke.
    pub broke: u64,
    /// The most recent breaks, newest first.
    pub breaks: Vec<BrokenJson>,
    /// Files that pins follow, by place.
    pub pinned_files: Vec<PinFileJson>,
    /// Facts that only a running daemon knows; null if no daemon was asked.
    pub live: Option<LiveJson>,
    /// How far the vectors of its entries are; null without a model of vectors.
    pub meaning: Option<VectorsJson>,
}

/// How far the vectors of a conversation are.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VectorsJson {
    /// The model.
    pub model: String,
    /// Entries with a vector.
    pub entries: u64,
    /// Entries that wait, with words or without.
    pub left: u64,
    /// Pieces of texts that the model made no vector of, asked for each alone.
    pub without: u64,
}

impl VectorsJson {
    /// * `stored` - the conversation.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(engine: &Engine, stored: &Conversation) -> Result<Option<Self>, EngineError> {
        let Some(model) = engine.meaning() else { return Ok(None) };
        let MeaningState { entries, left, without } = engine.meaning_state(stored, &model)?;
        Ok(Some(Self { model: model.name().to_owned(), entries, left, without }))
    }
}

/// Sums over calls with one fate.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct FateJson {
    /// `hit`, `first`, `cold`, `client`, `ours`, `unknown`.
    pub fate: String,
    /// The cause of a change of ours, otherwise null.
    pub cause: Option<String>,
    /// Number of calls.
    pub calls: u64,
    /// Tokens of previous prompts that were billed anew.
    pub missed: u64,
    /// Extra cost, in tokens of fresh input.
    pub lost: u64,
}

/// The fate of a provider's cache.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
pub struct CacheJson {
    /// Number of calls.
    pub calls: u64,
    /// Input tokens, by the provider's count.
    pub input: u64,
    /// Number of these that came from the cache.
    pub cached: u64,
    /// Cost of the input, in tokens of fresh input.
    pub cost: u64,
    /// Sums by fate.
    pub fates: Vec<FateJson>,
}

/// A call's size by our ruler and by the provider's count, including instructions and tools.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
pub struct CountJson {
    /// Our expected count.
    pub expected: u64,
    /// Our upper bound.
    pub upper: u64,
    /// Most tokens that it might weigh, by which it was admitted: earlier counts of the provider lower it.
    #[serde(default)]
    pub bound: u64,
    /// The provider's count.
    pub counted: u64,
    /// Number of these that came from the cache.
    pub cached: u64,
    /// Budget of the input.
    pub budget: u64,
}

/// A part of a client's standing context that does not fit.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct StandingLeftJson {
    /// Its kind: `rules`, `environment`, `tools` and so on.
    pub kind: String,
    /// Its bytes that no call has room for.
    pub bytes: u64,
}

/// Facts that only a running daemon knows, since its start.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
pub struct LiveJson {
    /// The fate of the provider's cache.
    pub cache: CacheJson,
    /// The newest calls, oldest first; empty for all conversations together.
    pub counts: Vec<CountJson>,
    /// Parts of the client's standing context that the newest call has no room for.
    #[serde(default)]
    pub standing_left_out: Vec<StandingLeftJson>,
}

/// A conversation in the list of `status`.
#[derive(Debug, Serialize, ToSchema)]
pub struct BriefJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Its first words.
    pub title: Option<String>,
    /// Time of its last activity.
    pub last: Option<String>,
    /// The newest prompt; null if none was made.
    pub prompt: Option<NewestJson>,
    /// Number of prompts kept.
    pub kept: u64,
    /// Number of these that broke.
    pub broke: u64,
}

/// The output of `status`.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusesJson {
    /// The most recently active conversations, newest first.
    pub conversations: Vec<BriefJson>,
    /// Facts that only a running daemon knows; null if no daemon was asked.
    pub live: Option<LiveJson>,
}

impl NewestJson {
    fn new(number: u64, recipe: &Recipe) -> Self {
        let budget = recipe.window_now.saturating_sub(recipe.window.1) + recipe.beside;
        let bound = recipe.bound + recipe.beside;
        Self {
            prompt: number,
            time: iso(recipe.time),
            tokens: recipe.tokens.expected,
            tokens_upper: bound,
            budget,
            beside: recipe.beside,
            used: bound as f64 / budget.max(1) as f64,
            rung: recipe.rung.name(),
            epoch: recipe.epoch,
            raised_left_out: recipe.raised_left_out,
        }
    }
}

impl BriefJson {
    /// * `recipes` - of the kept prompts, oldest first.
    pub fn new(stored: &Conversation, recipes: &[(u64, Recipe)]) -> Self {
        Self {
            conversation: stored.key.0.clone(),
            title: stored.title.clone(),
            last: stored.time.and_then(|(_, last)| iso(last)),
            prompt: recipes.last().map(|(number, recipe)| NewestJson::new(*number, recipe)),
            kept: recipes.len() as u64,
            broke: broke(recipes),
        }
    }
}

impl StatusJson {
    /// * `recipes` - of the kept prompts, oldest first.
    /// * `parts` - of the newest prompt.
    /// * `files` - the pinned files.
    pub fn new(
        stored: &Conversation,
        recipes: &[(u64, Recipe)],
        parts: &Result<Vec<Part>, EngineError>,
        files: &[PinFileRow],
        live: Option<LiveJson>,
    ) -> Self {
        let broken = recipes.iter().rev().filter_map(|(number, recipe)| {
            let broken = recipe.broken?;
            Some(BrokenJson {
                prompt: *number,
                time: iso(recipe.time),
                cause: broken.cause.name(),
                words: broken.cause.words(),
                at: broken.region.name(),
                tokens: recipe.tokens.expected,
                rebilled: broken.rebilled,
            })
        });
        Self {
            conversation: stored.key.0.clone(),
            title: stored.title.clone(),
            prompt: recipes.last().map(|(number, recipe)| NewestJson::new(*number, recipe)),
            left: parts.as_deref().map(left).unwrap_or_default(),
            left_unknown: parts.as_ref().err().map(ToString::to_string),
            kept: recipes.len() as u64,
            broke: broke(recipes),
            breaks: broken.take(BREAKS).collect(),
            pinned_files: files.iter().map(Into::into).collect(),
            live,
            meaning: None,
        }
    }

    /// This status with the state of the vectors.
    #[must_use]
    pub fn with_meaning(self, meaning: Option<VectorsJson>) -> Self {
        Self { meaning, ..self }
    }
}

fn broke(recipes: &[(u64, Recipe)]) -> u64 {
    recipes.iter().filter(|(_, recipe)| recipe.broken.is_some()).count() as u64
}

/// The entries that are not shown verbatim. Neighbours of one kind share a row, except summaries, which have names.
fn left(parts: &[Part]) -> Vec<LeftJson> {
    let mut rows: Vec<LeftJson> = Vec::new();
    let mut is_next = false;
    for part in parts {
        let ((first, last), how) = ((part.span.0.0, part.span.1.0), part.how.name());
        match &part.how {
            How::Whole => {
                is_next = false;
                continue;
            }
            How::Summary { name, by_model } => rows.push(LeftJson {
                first,
                last,
                how,
                by_model: Some(*by_model),
                tokens: part.tokens,
                expand: name.clone(),
            }),
            How::Stub | How::Coarse | How::LeftOut => {
                match rows.last_mut().filter(|row| is_next && row.how == how) {
                    Some(row) => {
                        row.last = last;
                        row.tokens += part.tokens;
                        row.expand = span(row.first, last);
                    }
                    None => rows.push(LeftJson {
                        first,
                        last,
                        how,
                        by_model: None,
                        tokens: part.tokens,
                        expand: span(first, last),
                    }),
                }
            }
        }
        is_next = true;
    }
    rows
}

fn span(first: u64, last: u64) -> String {
    if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") }
}

impl From<&CacheLedger<&'static str>> for CacheJson {
    fn from(ledger: &CacheLedger<&'static str>) -> Self {
        let fates = ledger.rows().map(|(fate, sum)| FateJson {
            fate: fate.name().to_owned(),
            cause: if let CacheFate::Ours(cause) = fate { Some((*cause).to_owned()) } else { None },
            calls: sum.calls,
            missed: sum.missed,
            lost: sum.lost,
        });
        Self {
            calls: ledger.calls(),
            input: ledger.input,
            cached: ledger.cached,
            cost: ledger.cost,
            fates: fates.collect(),
        }
    }
}

impl StandingLeftJson {
    fn new(kind: &str, bytes: u64) -> Self {
        Self { kind: kind.to_owned(), bytes }
    }
}

impl From<&LaneRecord> for LiveJson {
    fn from(kept: &LaneRecord) -> Self {
        let count = |count: &CallCount| CountJson {
            expected: count.ours.expected,
            upper: count.ours.upper,
            bound: count.bound,
            counted: count.input,
            cached: count.cached,
            budget: count.budget,
        };
        let left = kept.standing_left_out.iter();
        Self {
            cache: (&kept.ledger).into(),
            counts: kept.counts.iter().map(count).collect(),
            standing_left_out: left.map(|(kind, bytes)| StandingLeftJson::new(kind, *bytes)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use unforget_core::id::Seq;

    use super::*;

    #[test]
    fn left_table() {
        let part = |first, last, how| Part { span: (Seq(first), Seq(last)), how, tokens: 10 };
        let summary = |name: &str| How::Summary { name: name.to_owned(), by_model: true };
        let table = [
            (vec![], "", "nothing"),
            (vec![part(0, 3, How::Whole)], "", "all is there"),
            (
                vec![part(0, 9, summary("sum:a")), part(10, 19, summary("sum:b"))],
                "sum:a 10, sum:b 10",
                "summaries have names",
            ),
            (
                vec![part(20, 21, How::Stub), part(22, 25, How::Stub), part(26, 26, How::LeftOut)],
                "s:20-25 20, s:26 10",
                "a run of one kind",
            ),
            (
                vec![part(20, 21, How::Stub), part(22, 25, How::Whole), part(26, 26, How::Stub)],
                "s:20-21 10, s:26 10",
                "with something between them",
            ),
        ];
        for (parts, want, why) in table {
            let rows = left(&parts);
            let rows: Vec<String> = rows.iter().map(|row| format!("{} {}", row.expand, row.tokens)).collect();
            assert_eq!(rows.join(", "), want, "{why}");
        }
    }
}
