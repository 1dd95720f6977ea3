//! Turns in JSON.

use serde::Serialize;

use super::{Block, ReadTurn, outcome_of};
use crate::json::iso;

/// A turn.
#[derive(Debug, Serialize)]
pub(crate) struct TurnJson<'a> {
    turn: u64,
    time: Option<String>,
    blocks: Vec<BlockJson<'a>>,
}

/// One thing in a turn.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum BlockJson<'a> {
    Said {
        by: &'static str,
        text: &'a str,
    },
    Thought {
        text: &'a str,
    },
    Tool {
        name: &'a str,
        what: &'a str,
        outcome: &'static str,
        error: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a str>,
    },
}

impl<'a> TurnJson<'a> {
    /// * `full` - whether tools are told with arguments and results.
    pub(crate) fn new(turn: &'a ReadTurn, full: bool) -> Self {
        let block = |block: &'a Block| match block {
            Block::Said(speaker, text) => BlockJson::Said { by: speaker.name(), text },
            Block::Thought(text) => BlockJson::Thought { text },
            Block::Tool(tool) => BlockJson::Tool {
                name: &tool.name,
                what: &tool.what,
                outcome: outcome_of(tool.outcome).1,
                error: tool.error.as_deref(),
                arguments: full.then_some(tool.arguments.as_str()),
                result: full.then_some(tool.result.as_str()),
            },
        };
        Self {
            turn: turn.number,
            time: turn.time.and_then(iso),
            blocks: turn.blocks.iter().map(block).collect(),
        }
    }
}
