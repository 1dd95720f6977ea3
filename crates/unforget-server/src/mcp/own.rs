//! Tools for a model about its own conversation: the gateway offers and runs them.

use serde_json::{Map, Value};
use unforget_engine::Engine;

use super::calls::{Trouble, recall};
use super::tools::Tool;

/// Prefix of these tools' names.
pub(crate) const PREFIX: &str = "unforget_";

/// The offered tools.
const OFFERED: [Tool; 2] = [Tool::Search, Tool::Expand];

/// Most bytes of arguments read.
const ARGUMENTS: usize = 64 * 1024;

/// The descriptions of the tools for a model: name, purpose, JSON Schema of the parameters.
pub(crate) fn offered() -> impl Iterator<Item = (String, &'static str, String)> {
    OFFERED.into_iter().map(|tool| {
        let about = match tool {
            Tool::Search => {
                "Find what was said or done earlier in this conversation and is not shown any more, by words or a question."
            }
            _ => "Read an entry that a search, a summary or a stub names (e:..., s:..., sum:...), word for word, page by page.",
        };
        (format!("{PREFIX}{}", tool.name()), about, Value::Object(tool.schema_of_one()).to_string())
    })
}

/// Runs a call. Returns the result, or as an error the defect of the call with advice.
///
/// * `name` - with its prefix.
/// * `arguments` - in the model's own form.
/// * `engine` - an engine limited to what the model may read.
/// * `tokens` - approximate limit of the result.
pub(crate) fn run(name: &str, arguments: &str, engine: Engine, tokens: u64) -> Result<String, String> {
    let told = |trouble: Trouble| format!("{}\nNext: {}", trouble.what, trouble.next);
    let tool = name.strip_prefix(PREFIX).and_then(Tool::of).filter(|tool| OFFERED.contains(tool));
    let tool = tool.ok_or_else(|| "there is no such tool".to_owned())?;
    if arguments.len() > ARGUMENTS {
        return Err(format!("arguments have {} bytes; at most {ARGUMENTS} are read", arguments.len()));
    }
    let given: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|_| "the arguments are no JSON object\nNext: call it again with an object".to_owned())?;
    let given = tool.arguments(Some(given)).map_err(told)?.within(tokens);
    recall(tool, engine, &given).map(|told| told.text).map_err(told)
}
