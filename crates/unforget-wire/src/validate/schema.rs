//! The rules for the JSON schemas of tools.

use serde_json::Value;

use super::found::FoundViolations;
use super::{field, items, name_char};
use crate::dialect::Dialect;

/// Limits of OpenAI's strict mode.
const STRICT_DEPTH_MAX: usize = 10;
const STRICT_PROPERTIES_MAX: usize = 5_000;
const STRICT_VALUES_MAX: usize = 1_000;

/// The fields of Gemini's `Schema`.
const GEMINI_FIELDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// Counts over one schema.
struct SchemaCounts {
    strict: bool,
    properties: usize,
    values: usize,
    deepest: usize,
}

/// Checks the schema of one tool.
pub(super) fn check(schema: &Value, strict: bool, place: &str, found: &mut FoundViolations) {
    let object = field(schema, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("object"));
    found.want(object, "schema-object", place, "schema is not of type object");
    let union = ["anyOf", "oneOf", "allOf"].iter().any(|key| schema.get(key).is_some());
    found.want(!union, "schema-top", place, "schema is a union at its top");
    let mut counts = SchemaCounts { strict, properties: 0, values: 0, deepest: 0 };
    node(schema, 0, place, &mut counts, found);
    if strict {
        let deep = counts.deepest > STRICT_DEPTH_MAX;
        found.want(!deep, "schema-depth", place, "schema nests too deep for strict mode");
        let wide = counts.properties > STRICT_PROPERTIES_MAX;
        found.want(!wide, "schema-count", place, "schema has too many properties for strict mode");
        let long = counts.values > STRICT_VALUES_MAX;
        found.want(!long, "schema-enum", place, "schema has too many enum values for strict mode");
    }
}

/// Checks one nested schema. The parser limits the depth.
fn node(schema: &Value, depth: usize, place: &str, counts: &mut SchemaCounts, found: &mut FoundViolations) {
    let Some(members) = schema.as_object() else { return };
    valid(schema, place, found);
    let properties = schema.get("properties").and_then(Value::as_object);
    for key in properties.into_iter().flat_map(|properties| properties.keys()) {
        let legal = (1..=64).contains(&key.len()) && key.chars().all(|c| name_char(c) || c == '.');
        found.want(legal, "schema-key", place, "property name is refused");
        counts.properties += 1;
    }
    let kind = field(schema, "type").unwrap_or_default();
    let listed = !kind.eq_ignore_ascii_case("array") || schema.get("items").is_some();
    found.want(listed, "schema-array", place, "array without items");
    counts.values += items(schema, "enum").len();
    match found.dialect() {
        Dialect::Gemini => gemini(schema, place, found),
        _ if counts.strict => strict(schema, place, found),
        _ => {}
    }
    let depth = depth + usize::from(properties.is_some());
    counts.deepest = counts.deepest.max(depth);
    for (key, value) in members {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(inner)) => {
                for inner in inner.values() {
                    node(inner, depth, place, counts, found);
                }
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(inner)) => {
                for inner in inner {
                    node(inner, depth, place, counts, found);
                }
            }
            ("items" | "additionalProperties", inner) => node(inner, depth, place, counts, found),
            _ => {}
        }
    }
}

/// Checks that keywords have the types of the schema language.
fn valid(schema: &Value, place: &str, found: &mut FoundViolations) {
    let kind = schema.get("type").is_none_or(|kind| match kind {
        Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_type_name),
        kind => is_type_name(kind),
    });
    let properties = schema.get("properties").is_none_or(Value::is_object);
    let texts = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    let required = schema.get("required").is_none_or(texts);
    let values = schema.get("enum").is_none_or(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    found.want(kind && properties && required && values, "schema-valid", place, "no valid json schema");
}

/// Whether a value names a type of JSON Schema.
fn is_type_name(kind: &Value) -> bool {
    let known = ["object", "array", "string", "number", "integer", "boolean", "null"];
    kind.as_str().is_some_and(|kind| known.iter().any(|known| kind.eq_ignore_ascii_case(known)))
}

fn gemini(schema: &Value, place: &str, found: &mut FoundViolations) {
    let members = schema.as_object().into_iter().flat_map(|members| members.keys());
    for key in members.filter(|key| !GEMINI_FIELDS.contains(&key.as_str())) {
        found.add("schema-keyword", place, format!("keyword {key:?} is not known"));
    }
    let properties = schema.get("properties");
    let named = |name: &Value| {
        name.as_str().is_some_and(|name| properties.is_some_and(|properties| properties.get(name).is_some()))
    };
    let known = items(schema, "required").iter().all(named);
    found.want(known, "schema-required", place, "a required property is not defined");
    let words = items(schema, "enum").iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    found.want(words, "schema-enum", place, "enum values are no texts, or empty");
}

/// Checks that every object is closed and requires all of its properties.
fn strict(schema: &Value, place: &str, found: &mut FoundViolations) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = items(schema, "required");
    let all = properties.keys().all(|key| required.iter().any(|name| name == key));
    found.want(all, "schema-required", place, "strict mode wants every property required");
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    found.want(closed, "schema-closed", place, "strict mode wants additionalProperties false");
}
