//! Tools for a model about its own conversation: the gateway offers and runs them.

use serde_json::{Map, Value};
use unforget_core::entry::ToolCall;
use unforget_engine::Engine;
use unforget_gateway::RecallTools;
use unforget_wire::exchange::Offer;

use super::calls::recall;
use super::tools::Tool;
use super::trouble::Trouble;

/// Prefix of these tools' names.
const PREFIX: &str = "unforget_";

/// The offered tools.
const OFFERED: [Tool; 2] = [Tool::Search, Tool::Expand];

/// Most bytes of arguments read.
const ARGUMENTS: usize = 64 * 1024;

/// The MCP tools that a model may call about its own conversation.
#[derive(Clone, Copy, Debug)]
pub struct ConversationTools;

impl RecallTools for ConversationTools {
    fn prefix(&self) -> &str {
        PREFIX
    }

    fn offers(&self) -> Vec<Offer> {
        OFFERED.into_iter().map(offer).collect()
    }

    fn run(&self, call: &ToolCall, engine: Engine, tokens: u64) -> Result<String, String> {
        let told = |trouble: Trouble| trouble.text();
        let tool = call.name.strip_prefix(PREFIX).and_then(Tool::of).filter(|tool| OFFERED.contains(tool));
        let tool = tool.ok_or_else(|| "there is no such tool".to_owned())?;
        let bytes = call.arguments.len();
        if bytes > ARGUMENTS {
            return Err(format!("arguments have {bytes} bytes; at most {ARGUMENTS} are read"));
        }
        let given: Map<String, Value> = serde_json::from_str(&call.arguments)
            .map_err(|_| "the arguments are no JSON object\nNext: call it again with an object".to_owned())?;
        let given = tool.arguments(Some(given)).map_err(told)?.within(tokens);
        recall(tool, engine, &given).map(|told| told.text).map_err(told)
    }
}

/// The description of a tool for a model: name, purpose, JSON Schema of the parameters.
fn offer(tool: Tool) -> Offer {
    let about = match tool {
        Tool::Search => {
            "Find what was said or done earlier in this conversation and is not shown any more, by words or a question."
        }
        _ => {
            "Read an entry that a search, a summary or a stub names (e:..., s:..., sum:...), word for word, page by page. Many entries begin with a page that outlines them."
        }
    };
    Offer {
        name: format!("{PREFIX}{}", tool.name()),
        about,
        schema: Value::Object(tool.schema_of_one()).to_string(),
    }
}
