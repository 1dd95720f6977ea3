//! The table of rules. One row per rule, one line per source.

use super::Row;
use crate::dialect::Dialect;

const A: Dialect = Dialect::Anthropic;
const C: Dialect = Dialect::OpenAiChat;
const R: Dialect = Dialect::OpenAiResponses;
const P: Dialect = Dialect::Pi;
const G: Dialect = Dialect::Gemini;
const B: Dialect = Dialect::BedrockConverse;

const ALL: &[Dialect] = &[A, C, R, P, G, B];

/// By topic: body, messages, calls, results, reasoning, caching and server tools, media, tools.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    Row { id: "json", what: "strict JSON", on: &[(ALL, "all provider docs")] },
    Row { id: "surrogate", what: "no lone surrogates", on: &[(ALL, "F062")] },
    Row { id: "depth", what: "values nest less than 128 deep", on: &[(ALL, "parsers of the providers")] },
    Row { id: "shape", what: "an object with the dialect's list of messages", on: &[(ALL, "all provider docs")] },
    Row { id: "not-empty", what: "at least one message", on: &[(ALL, "all provider docs")] },
    Row { id: "request-size", what: "the whole request is not too large", on: &[
        (&[A, P], "Anthropic \"Request size limits\": 32 MB"),
        (&[C, R], "OpenAI \"Images and vision\": 50 MB per request"),
        (&[G], "Gemini \"Image understanding\": 20 MB with inline data"),
        (&[B], "Bedrock quotas: 25 MB"),
    ] },
    Row { id: "instructions", what: "system text has the dialect's form and is not blank", on: &[(ALL, "provider docs, F059")] },

    Row { id: "role", what: "only roles of the dialect", on: &[(ALL, "provider docs")] },
    Row { id: "extra-field", what: "no fields that the provider does not know", on: &[
        (&[A], "\"Extra inputs are not permitted\""),
        (&[C], "Groq, Mistral, Cerebras: \"property … is unsupported\""),
        (&[R], "\"Unknown parameter: 'input[…]'\""),
        (&[G], "\"Invalid JSON payload received. Unknown name\""),
        (&[B], "\"Unknown parameter in input\""),
    ] },
    Row { id: "author-name", what: "`name` has no white space and none of `<|\\/>`, 64 at most", on: &[(&[C], "OpenAI \"string does not match pattern '^[^\\s<|\\\\/>]+$'\"")] },
    Row { id: "system-first", what: "system messages come before all others, for models whose templates want that", on: &[(&[C], "F061 (vLLM, Qwen templates)")] },
    Row { id: "system-place", what: "a system message stands behind a user's, and before an assistant's or nothing", on: &[(&[A], "provider docs: mid-conversation system messages")] },
    Row { id: "first-user", what: "the first message is the user's", on: &[(ALL, "F060")] },
    Row { id: "last-not-assistant", what: "the last message is not the assistant's", on: &[(ALL, "F060 (prefill refused)")] },
    Row { id: "alternate", what: "roles alternate", on: &[
        (&[A], "F061 (Bedrock, Vertex)"),
        (&[G], "Vertex \"ensure that multiturn requests alternate between user and model\""),
        (&[B], "Converse \"roles must alternate between user and assistant\""),
    ] },
    Row { id: "content-shape", what: "content is a string or a list of objects, as the role allows", on: &[(ALL, "provider docs")] },
    Row { id: "content-not-empty", what: "content holds something", on: &[(ALL, "F059")] },
    Row { id: "text-not-blank", what: "text has something to see", on: &[(ALL, "F059")] },
    Row { id: "text-length", what: "one text has at most 10,485,760 bytes", on: &[(&[C, R], "OpenAI \"string too long. Expected a string with maximum length 10485760\"")] },
    Row { id: "block-type", what: "block types of the dialect, where they are allowed", on: &[
        (&[A, C, R, P], "F050, provider docs"),
        (&[G], "Gemini API `Part`"),
        (&[B], "Bedrock API `ContentBlock`"),
    ] },
    Row { id: "block-one-kind", what: "a block holds one kind of content", on: &[
        (&[G], "Gemini API `Part`: data is a union field"),
        (&[B], "Bedrock API `ContentBlock`: \"only one of the following members\""),
    ] },
    Row { id: "block-role", what: "calls and reasoning are the model's; results, images and documents the user's", on: &[
        (&[G], "Gemini \"function call turn comes immediately after a user turn\""),
        (&[B], "Bedrock API `Message`: images and documents only if the role is user"),
    ] },

    Row { id: "call-shape", what: "a call has its fields, of the right types", on: &[
        (&[C, R], "OpenAI API reference"), (&[P], "pi-ai types"), (&[G], "Gemini API `FunctionCall`"), (&[B], "Bedrock API `ToolUseBlock`"),
    ] },
    Row { id: "call-id", what: "charset and length of call ids", on: &[
        (&[A], "F063: ^[a-zA-Z0-9_-]{1,64}$"),
        (&[C], "F063: 40 characters"),
        (&[R], "F063: 64 characters"),
        (&[P], "pi-ai types: not empty"),
        (&[G], "Gemini 3 \"function calling\": an id on both halves"),
        (&[B], "Bedrock API `toolUseId`: [a-zA-Z0-9_-]{1,64}"),
    ] },
    Row { id: "call-id-unique", what: "no call id twice", on: &[(&[A, C, R, P, G], "F049"), (&[B], "F049, F066")] },
    Row { id: "call-id-mistral", what: "for Mistral: a call id is nine letters and digits", on: &[(&[C], "F063 (Mistral \"must be a-z, A-Z, 0-9, with a length of 9\")")] },
    Row { id: "call-count", what: "at most 128 calls in a message", on: &[(&[C], "OpenAI \"array too long. Expected an array with maximum length 128\"")] },
    Row { id: "tool-name", what: "charset and length of tool names", on: &[
        (&[A, C, R], "F063, ^[a-zA-Z0-9_-]{1,64}$"),
        (&[P], "pi-ai types: not empty"),
        (&[G], "Gemini \"Must start with a letter or an underscore … maximum length of 64\""),
        (&[B], "Bedrock API `ToolUseBlock.name`: [a-zA-Z0-9_-]{1,64}"),
    ] },
    Row { id: "arguments", what: "arguments are an object, or a string that holds one, as the dialect has it", on: &[(ALL, "provider docs")] },
    Row { id: "partial-call", what: "no call that was cut off while it was written", on: &[(&[P], "F046 (`partialJson`)")] },
    Row { id: "calls-last", what: "no text behind a call", on: &[(&[B], "F066 (fast-agent#668)")] },

    Row { id: "call-answered", what: "each call is answered where the dialect wants it", on: &[(ALL, "F047")] },
    Row { id: "result-orphan", what: "each result has its call where the dialect wants it", on: &[(ALL, "F046, F047")] },
    Row { id: "result-once", what: "no call is answered twice", on: &[(ALL, "F049")] },
    Row { id: "results-first", what: "results come before other blocks", on: &[
        (&[A, B], "F061"), (&[G], "Vertex \"number of function response parts is equal to the number of function call parts\""),
    ] },
    Row { id: "result-content", what: "what a result may hold", on: &[
        (&[A, C, R], "provider docs, F066"), (&[P], "pi-ai types"), (&[G], "Gemini API `FunctionResponse.response`: Struct"), (&[B], "Bedrock API `ToolResultContentBlock`"),
    ] },
    Row { id: "result-name", what: "a response has the name of its call", on: &[(&[G], "Gemini API `FunctionResponse.name`: matches the FunctionCall")] },
    Row { id: "result-flag", what: "the mark of failure has its type", on: &[(&[A], "Anthropic `is_error`: boolean"), (&[B], "Bedrock API `status`: success or error")] },
    Row { id: "error-content", what: "a failed result says something", on: &[
        (&[A], "\"content cannot be empty if `is_error` is true\""),
        (&[B], "F066 \"cannot be empty when status value is error\""),
    ] },
    Row { id: "after-tool-mistral", what: "for Mistral: no user directly behind a result", on: &[(&[C], "F061 (Mistral \"Unexpected role 'user' after role 'tool'\")")] },
    Row { id: "result-fields", what: "toolCallId, toolName, isError, timestamp", on: &[(&[P], "pi-ai types")] },
    Row { id: "assistant-fields", what: "api, provider, model, timestamp", on: &[(&[P], "pi-ai types")] },
    Row { id: "assistant-usage", what: "usage with its four counts", on: &[(&[P], "pi-ai types")] },
    Row { id: "stop-reason", what: "a stopReason that is known", on: &[(&[P], "pi-ai types")] },
    Row { id: "dead-call", what: "calls of an aborted or failed message have no results", on: &[(&[P], "F046")] },

    Row { id: "thinking-signature", what: "reasoning carries its proof", on: &[
        (&[A, R, P], "F053, F055"),
        (&[G], "Gemini \"Thought signatures\": base64 bytes"),
        (&[B], "Bedrock API `ReasoningTextBlock.signature`, F055"),
    ] },
    Row { id: "thinking-not-last", what: "an assistant message does not end in thinking", on: &[(&[A, B], "Anthropic \"final block cannot be thinking\"")] },
    Row { id: "thinking-first", what: "with thinking on, the answer in an open tool loop begins with it", on: &[(&[A, B], "F053 (\"must start with a thinking block\")")] },
    Row { id: "thinking-alone", what: "reasoning is followed by what it led to", on: &[(&[R], "F058 (\"without its required following item\")")] },
    Row { id: "reasoning-summary", what: "reasoning has a list `summary`", on: &[(&[R], "OpenAI \"Missing required parameter: 'input[…].summary'\"")] },
    Row { id: "reasoning-replay", what: "for DeepSeek, Kimi and GLM: calls come with their `reasoning_content`", on: &[(&[C], "F056")] },
    Row { id: "reasoning-foreign", what: "no `reasoning_content` for other models", on: &[(&[C], "F055 (Groq \"property 'reasoning_content' is unsupported\")")] },
    Row { id: "call-signature", what: "the first call of each step of the current turn has a thoughtSignature", on: &[(&[G], "F057")] },
    Row { id: "signature-content", what: "with a signer: signed reasoning is unchanged", on: &[(&[A, R, P, B], "F053"), (&[G], "F053, F057")] },
    Row { id: "signature-prefix", what: "with a signer that binds the prefix: everything before signed reasoning is unchanged", on: &[(&[A, R, P, G, B], "F054")] },
    Row { id: "item-id", what: "ids of items have the prefix of their type", on: &[(&[R], "F058 (\"Expected an ID that begins with …\")")] },
    Row { id: "item-id-unique", what: "no item id twice", on: &[(&[R], "OpenAI \"Duplicate item found with id\"")] },
    Row { id: "item-id-alone", what: "no item id without the reasoning that it implies", on: &[(&[R], "F058 (\"without its required 'reasoning' item\")")] },

    Row { id: "cache-control", what: "at most 4 marks for caching", on: &[(&[A], "F065"), (&[B], "F065, Bedrock \"Prompt caching\"")] },
    Row { id: "cache-place", what: "no mark on thinking", on: &[(&[A], "Anthropic \"Prompt caching\": what cannot be cached")] },
    Row { id: "cache-shape", what: "marks have a type and time that are known", on: &[(&[A], "Anthropic `cache_control`: ephemeral, 5m or 1h"), (&[B], "Bedrock API `CachePointBlock`")] },
    Row { id: "cache-order", what: "marks for an hour come before those for five minutes", on: &[(&[A], "\"a ttl='1h' cache_control block must not come after a ttl='5m'\"")] },
    Row { id: "server-tool-pair", what: "a tool run at the provider has call, then result, in one message", on: &[(&[A], "F050"), (&[G], "F050, Gemini \"Code execution\"")] },
    Row { id: "server-tool-id", what: "its id begins with `srvtoolu_` or `mcptoolu_`", on: &[(&[A], "F050 (\"should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'\")")] },

    Row { id: "image-shape", what: "an image has bytes or an address, in base64 without line breaks", on: &[(ALL, "provider docs")] },
    Row { id: "image-type", what: "a type that is taken, and the label is true", on: &[
        (&[A, P, B], "F064, Anthropic \"does not match the provided media type\""),
        (&[C, R], "OpenAI \"Images and vision\": png, jpeg, gif, webp"),
        (&[G], "Gemini \"Image understanding\": png, jpeg, webp"),
    ] },
    Row { id: "image-size", what: "an image is not too large", on: &[
        (&[A, P], "F064: 5 MB of base64"), (&[C, R], "OpenAI \"Images and vision\": 20 MB"), (&[G], "Vertex: 7 MB inline"), (&[B], "Bedrock API `Message`: 3.75 MB"),
    ] },
    Row { id: "image-count", what: "not too many images", on: &[
        (&[A, P], "Anthropic \"Vision\": 100"), (&[C, R], "OpenAI \"Images and vision\": 500"), (&[G], "Vertex: 3,000"), (&[B], "Bedrock API `Message`: 20"),
    ] },
    Row { id: "image-side", what: "no side above 8,000 pixels", on: &[(&[A, P], "F064, Anthropic \"Vision\""), (&[B], "Bedrock API `Message`")] },
    Row { id: "image-side-many", what: "among more than 20 images no side above 2,000 pixels", on: &[(&[A, P], "F064, Anthropic \"Vision\"")] },
    Row { id: "document-count", what: "at most 5 documents", on: &[(&[B], "Bedrock API `Message`")] },
    Row { id: "document-name", what: "letters, digits, single spaces, hyphens, brackets; 200 at most", on: &[(&[B], "Bedrock API `DocumentBlock.name`")] },
    Row { id: "document-text", what: "text stands beside a document", on: &[(&[B], "Bedrock API `Message`")] },

    Row { id: "tools-defined", what: "in a whole request: calls and results come with tools", on: &[
        (&[A], "\"Requests which have `tool_use` or `tool_result` blocks in them must define tools\""),
        (&[B], "F066 \"The toolConfig field must be defined\""),
    ] },
    Row { id: "tools-shape", what: "tools have the dialect's form", on: &[(ALL, "provider docs")] },
    Row { id: "tools-empty", what: "the list of tools is not empty", on: &[(&[C], "OpenAI \"[] is too short - 'tools'\""), (&[B], "F066, Bedrock API `ToolConfiguration`")] },
    Row { id: "tools-count", what: "at most 128 tools", on: &[(&[C, R], "OpenAI \"array too long\""), (&[G], "Vertex `FunctionDeclaration`: 128")] },
    Row { id: "tools-name", what: "charset and length of tool names", on: &[(ALL, "as tool-name")] },
    Row { id: "tools-unique", what: "no name twice", on: &[(&[A], "\"Tool names must be unique\""), (&[G], "\"Duplicate function declaration found\""), (&[B], "\"duplicate tool names\"")] },
    Row { id: "tools-description", what: "a description is text of a length that is taken", on: &[(&[C, R], "OpenAI: 1,024 characters"), (&[B], "Bedrock API `ToolSpecification.description`: 1 at least")] },
    Row { id: "schema-object", what: "the schema is of type object", on: &[
        (&[A], "\"input_schema.type: Input should be 'object'\""),
        (&[C, R], "\"schema must be a JSON Schema of 'type: \"object\"'\""),
        (&[G], "\"parameters schema should be of type OBJECT\""),
        (&[B], "\"inputSchema.json.type must be one of the following: object\""),
    ] },
    Row { id: "schema-top", what: "no union at the top", on: &[
        (&[A, B], "\"input_schema does not support oneOf, allOf, or anyOf at the top level\""),
        (&[C, R], "\"must … not have 'oneOf'/'anyOf'/'allOf' at the top level\""),
    ] },
    Row { id: "schema-valid", what: "keywords have the types of JSON Schema", on: &[
        (&[A, B], "\"must match JSON Schema draft 2020-12\""), (&[C, R], "\"Invalid schema for function\""), (&[G], "Gemini API `Schema`"),
    ] },
    Row { id: "schema-key", what: "property names match ^[a-zA-Z0-9_.-]{1,64}$", on: &[(&[A, B], "\"Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'\"")] },
    Row { id: "schema-array", what: "an array has items", on: &[(&[C, R], "\"array schema missing items\""), (&[G], "\"items: missing field\"")] },
    Row { id: "schema-required", what: "required names fit the properties", on: &[
        (&[C, R], "OpenAI strict: \"an array including every key in properties\""), (&[G], "\"required[0]: property is not defined\""),
    ] },
    Row { id: "schema-closed", what: "in strict mode an object has no other properties", on: &[(&[C, R], "OpenAI strict: \"'additionalProperties' is required to be supplied and to be false\"")] },
    Row { id: "schema-depth", what: "in strict mode at most 10 levels", on: &[(&[C, R], "OpenAI \"Structured outputs\"")] },
    Row { id: "schema-count", what: "in strict mode at most 5,000 properties", on: &[(&[C, R], "OpenAI \"Structured outputs\"")] },
    Row { id: "schema-enum", what: "enum values are few and usable", on: &[(&[C, R], "OpenAI \"Structured outputs\": 1,000 in strict mode"), (&[G], "\"enum[0]: cannot be empty\"")] },
    Row { id: "schema-keyword", what: "only keywords of Gemini's Schema", on: &[(&[G], "\"Unknown name \\\"$schema\\\"\"")] },
];
