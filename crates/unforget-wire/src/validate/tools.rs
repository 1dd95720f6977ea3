//! The rules for tools, where the host sends them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::FoundViolations;
use super::{field, items, schema};
use crate::dialect::Dialect;

const NULL: &Value = &Value::Null;

/// A tool in its dialect's form.
struct Tool<'a> {
    /// The object with the name.
    spec: &'a Value,
    /// Its schema, if one may stand here.
    schema: Option<&'a Value>,
}

/// Checks the tools of a body.
pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    let (key, list) = match found.dialect() {
        Dialect::BedrockConverse => {
            ("/toolConfig/tools", body.get("toolConfig").and_then(|c| c.get("tools")))
        }
        _ => ("/tools", body.get("tools")),
    };
    let Some(list) = list else {
        let missing = found.checks.whole && found.tools_used;
        return found.want(!missing, "tools-defined", "", "calls or results, and no tools");
    };
    let Some(list) = list.as_array() else {
        return found.add("tools-shape", key, "tools are no list");
    };
    found.want(!list.is_empty(), "tools-empty", key, "an empty list of tools");
    let all: Vec<Tool<'_>> = list.iter().flat_map(|tool| specs(tool, found.dialect())).collect();
    found.want(all.len() <= 128, "tools-count", key, "more than 128 tools");
    let mut names = BTreeSet::new();
    for (index, tool) in all.iter().enumerate() {
        let place = format!("{key}/{index}");
        found.want(tool.spec.is_object(), "tools-shape", &place, "tool has another form");
        let name = field(tool.spec, "name").unwrap_or_default();
        found.want(found.is_tool_name(name), "tools-name", &place, "tool name is refused");
        found.want(names.insert(name), "tools-unique", &place, "two tools have one name");
        description(tool.spec, &place, found);
        if let Some(schema) = tool.schema {
            schema::check(schema, field_is(tool.spec, "strict"), &place, found);
        }
    }
}

fn field_is(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

fn description(spec: &Value, place: &str, found: &mut FoundViolations) {
    let Some(text) = spec.get("description") else { return };
    let longest = match found.dialect() {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => 1_024,
        _ => usize::MAX,
    };
    let good = text.as_str().is_some_and(|text| text.len() <= longest);
    let empty = found.dialect() == Dialect::BedrockConverse && text == "";
    found.want(good && !empty, "tools-description", place, "description is too long, empty or no text");
}

/// The tools in one element of the list. Provider-run tools have no schema.
fn specs(tool: &Value, dialect: Dialect) -> Vec<Tool<'_>> {
    let kind = field(tool, "type");
    let declared = tool.get("functionDeclarations");
    let has_form = match dialect {
        Dialect::OpenAiResponses => kind.is_some(),
        Dialect::Gemini => tool.is_object() && declared.is_none_or(Value::is_array),
        _ => true,
    };
    if !has_form {
        return vec![Tool { spec: NULL, schema: None }];
    }
    match dialect {
        Dialect::Anthropic if kind.is_some_and(|kind| kind != "custom") => {
            vec![Tool { spec: tool, schema: None }]
        }
        Dialect::OpenAiResponses if kind != Some("function") => Vec::new(),
        Dialect::BedrockConverse if tool.get("cachePoint").is_some() => Vec::new(),
        Dialect::Anthropic => with_schema(tool, "input_schema"),
        Dialect::OpenAiChat => with_schema(tool.get("function").unwrap_or(NULL), "parameters"),
        Dialect::OpenAiResponses | Dialect::Pi => with_schema(tool, "parameters"),
        Dialect::Gemini => {
            let declared = items(tool, "functionDeclarations").iter();
            declared.map(|spec| Tool { spec, schema: spec.get("parameters") }).collect()
        }
        Dialect::BedrockConverse => {
            let spec = tool.get("toolSpec").unwrap_or(NULL);
            let schema = spec.get("inputSchema").and_then(|schema| schema.get("json"));
            vec![Tool { spec, schema: schema.or(Some(NULL)) }]
        }
    }
}

fn with_schema<'a>(spec: &'a Value, key: &str) -> Vec<Tool<'a>> {
    vec![Tool { spec, schema: Some(spec.get(key).unwrap_or(NULL)) }]
}
