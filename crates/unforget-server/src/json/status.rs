//! How a conversation's prompt stands: what left it, why, how to get it back, and what the provider's cache did.

use serde::{Deserialize, Serialize};
use unforget_core::cache::{Fate, Ledger};
use unforget_engine::EngineError;
use unforget_engine::prompt::{How, Part, Recipe};
use unforget_store::Conversation;
use utoipa::ToSchema;

use super::iso;
use crate::gateway::{Count, Kept};

/// Conversations that are listed.
pub const LISTED: usize = 20;

/// Breaks that are shown, the newest.
const BREAKS: usize = 10;

/// Entries that a prompt does not show as they are.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeftJson {
    /// First and last entry.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// What stands for them: `summary`, `stub`, `left-out`.
    pub how: &'static str,
    /// Whether the summary is shown as a model wrote it; null if it is none.
    pub by_model: Option<bool>,
    /// Expected tokens of what stands for them.
    pub tokens: u64,
    /// What `expand` gives all of it for.
    pub expand: String,
}

/// A prompt whose beginning was not the one before with more behind it.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrokenJson {
    /// Number of the prompt.
    pub prompt: u64,
    /// When.
    pub time: Option<String>,
    /// Why: a name.
    pub cause: &'static str,
    /// The same, for people.
    pub words: &'static str,
    /// Where.
    pub at: &'static str,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// Tokens that the cache should have had and that were billed again.
    pub rebilled: u64,
}

/// The newest prompt that was made for a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewestJson {
    /// Its number.
    pub prompt: u64,
    /// When.
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
    /// `assembled`, or how it was shortened.
    pub rung: &'static str,
    /// Breaks since the conversation began.
    pub epoch: u32,
}

/// What `status SESSION` prints.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Its first words.
    pub title: Option<String>,
    /// The newest prompt; null if none was made: calls went as they came.
    pub prompt: Option<NewestJson>,
    /// What left it, oldest first.
    pub left: Vec<LeftJson>,
    /// Why nobody can say what left it: its context was purged, left, or written by another version. Null if `left` is all.
    pub left_unknown: Option<String>,
    /// Prompts that are kept.
    pub kept: u64,
    /// Of these, those that broke.
    pub broke: u64,
    /// The newest of these, the newest first.
    pub breaks: Vec<BrokenJson>,
    /// What only a running daemon knows; null if none was asked.
    pub live: Option<LiveJson>,
}

/// Calls with the same fate.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub struct FateJson {
    /// `hit`, `first`, `cold`, `client`, `ours`, `unknown`.
    pub fate: String,
    /// The cause of a change of ours, else null.
    pub cause: Option<String>,
    /// How many.
    pub calls: u64,
    /// Tokens that stood in the prompt before and were billed anew.
    pub missed: u64,
    /// What that cost more, in tokens of fresh input.
    pub lost: u64,
}

/// What became of a provider's cache.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
pub struct CacheJson {
    /// Calls.
    pub calls: u64,
    /// Tokens of input, as the provider counted them.
    pub input: u64,
    /// Of these, from the cache.
    pub cached: u64,
    /// What the input cost, in tokens of fresh input.
    pub cost: u64,
    /// By what became of the cache.
    pub fates: Vec<FateJson>,
}

/// A call as we weighed it and as the provider counted it, with instructions and tools.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
pub struct CountJson {
    /// Ours, expected.
    pub expected: u64,
    /// Ours, at most.
    pub upper: u64,
    /// The provider's.
    pub counted: u64,
    /// Of these, from the cache.
    pub cached: u64,
    /// What there was room for.
    pub budget: u64,
}

/// What a running daemon knows, since it began.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
pub struct LiveJson {
    /// What became of the provider's cache.
    pub cache: CacheJson,
    /// The newest calls, oldest first; none of all conversations together.
    pub counts: Vec<CountJson>,
}

/// A conversation in the list of `status`.
#[derive(Debug, Serialize, ToSchema)]
pub struct BriefJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Its first words.
    pub title: Option<String>,
    /// When it spoke last.
    pub last: Option<String>,
    /// The newest prompt; null if none was made.
    pub prompt: Option<NewestJson>,
    /// Prompts that are kept.
    pub kept: u64,
    /// Of these, those that broke.
    pub broke: u64,
}

/// What `status` prints.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusesJson {
    /// Those that spoke last, the newest first.
    pub conversations: Vec<BriefJson>,
    /// What only a running daemon knows; null if none was asked.
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
        }
    }
}

impl BriefJson {
    /// * `recipes` - of the prompts that are kept, oldest first.
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
    /// * `recipes` - of the prompts that are kept, oldest first.
    /// * `parts` - of the newest of them.
    pub fn new(
        stored: &Conversation,
        recipes: &[(u64, Recipe)],
        parts: &Result<Vec<Part>, EngineError>,
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
            live,
        }
    }
}

fn broke(recipes: &[(u64, Recipe)]) -> u64 {
    recipes.iter().filter(|(_, recipe)| recipe.broken.is_some()).count() as u64
}

/// What is not there as it is. Neighbours of one kind are one row, but summaries, which have names.
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
            How::Stub | How::LeftOut => match rows.last_mut().filter(|row| is_next && row.how == how) {
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
            },
        }
        is_next = true;
    }
    rows
}

fn span(first: u64, last: u64) -> String {
    if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") }
}

impl From<&Ledger<&'static str>> for CacheJson {
    fn from(ledger: &Ledger<&'static str>) -> Self {
        let fates = ledger.rows().map(|(fate, sum)| FateJson {
            fate: fate.name().to_owned(),
            cause: if let Fate::Ours(cause) = fate { Some((*cause).to_owned()) } else { None },
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

impl From<&Kept> for LiveJson {
    fn from(kept: &Kept) -> Self {
        let count = |count: &Count| CountJson {
            expected: count.ours.expected,
            upper: count.ours.upper,
            counted: count.input,
            cached: count.cached,
            budget: count.budget,
        };
        Self { cache: (&kept.ledger).into(), counts: kept.counts.iter().map(count).collect() }
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
