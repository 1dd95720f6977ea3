//! The forms by class. The first table with a matching form decides.
//!
//! Sources: the fixtures in `tests/refusals/`, each of which names where its wording was reported.

use super::super::{Breach, What};
use super::Class;

/// Forms by class.
pub(super) const TABLES: &[(Class, &[&str])] = &[
    (Class::Overflow(What::Input), INPUT),
    (Class::Overflow(What::InputPlusOutput), INPUT_PLUS_OUTPUT),
    (Class::Overflow(What::RequestBytes), REQUEST_BYTES),
    (Class::Overflow(What::Media), &["too many images and documents: {sent} + {n} > {limit}"]),
    (
        Class::TooLong,
        &[
            "invalid '{w}': string too long. expected a string with maximum length {limit}, but got a string with length {sent} instead",
        ],
    ),
    (
        Class::TooMany,
        &[
            "invalid '{w}': array too long. expected an array with maximum length {limit}, but got an array with length {sent} instead",
        ],
    ),
    (Class::Output, OUTPUT),
    (Class::RateLimited, RATE_LIMITED),
    (Class::Quota, QUOTA),
    (Class::Auth, AUTH),
    (Class::ToolPairing, TOOL_PAIRING),
    (Class::Invalid(Breach::RoleOrder), ROLE_ORDER),
    (Class::Invalid(Breach::EmptyText), EMPTY_TEXT),
    (Class::Invalid(Breach::Reasoning), REASONING),
    (
        Class::Invalid(Breach::CacheMarks),
        &["a maximum of {n} blocks with cache_control may be provided. found {n}"],
    ),
    (Class::Invalid(Breach::CallId), CALL_ID),
    (Class::BadImage, BAD_IMAGE),
    (Class::NotFound, &["model '{w}' not found", "model '{w}' not found, try pulling it first"]),
    (Class::Policy, POLICY),
    (Class::Overloaded, &["the model is overloaded. please try again later", "overloaded"]),
];

/// The input alone is above the limit.
const INPUT: &[&str] = &[
    // Anthropic, and Claude on Bedrock and Vertex.
    "prompt is too long: {sent} tokens > {limit} maximum",
    "prompt is too long",
    "input is too long for requested model",
    "input is too long",
    // OpenAI and Azure.
    "this model's maximum context length is {limit} tokens. however, your messages resulted in {sent} tokens. please reduce the length of the messages",
    "this model's maximum context length is {limit} tokens. however, your messages resulted in {sent} tokens ({n} in the messages, {n} in the functions). please reduce the length of the messages or functions",
    "your input exceeds the context window of this model. please adjust your input and try again",
    "input tokens exceed the configured limit of {limit} tokens. your messages resulted in {sent} tokens. please reduce the length of the messages",
    "request body too large for {w} model. max size: {limit} tokens",
    // Google.
    "the input token count ({sent}) exceeds the maximum number of tokens allowed ({limit})",
    "the input token count exceeds the maximum number of tokens allowed {limit}",
    "unable to submit request because the input token count is {sent} but model only supports up to {limit}. reduce the input token count and try again",
    "unable to submit request because the input token count is {sent} but the model only supports up to {limit}. reduce the input token count and try again",
    // xAI, Copilot, Kimi, MiniMax, Z.ai, Qwen, Mistral.
    "this model's maximum prompt length is {limit} but the request contains {sent} tokens",
    "prompt token count of {sent} exceeds the limit of {limit}",
    "your request exceeded model token limit: {limit} (requested: {sent})",
    "invalid request: your request exceeded model token limit: {limit} (requested: {sent})",
    "invalid request: your request exceeded model token limit: {limit}",
    "invalid params, context window exceeds limit",
    "invalid params, context window exceeds limit ({n})",
    "prompt exceeds max length",
    "range of input length should be [{n}, {limit}]",
    "prompt contains {sent} tokens and {n} draft tokens, too large for model with {limit} maximum context length",
    "prompt contains {sent} tokens, too large for model with {limit} maximum context length",
    // OpenRouter and the servers behind it.
    "this endpoint's maximum context length is {limit} tokens. however, you requested about {sent} tokens ({n} of text input)",
    "this endpoint's maximum context length is {limit} tokens. however, you requested about {sent} tokens ({n} of text input, {n} of tool input)",
    "input length {sent} exceeds the maximum allowed input length of {limit} tokens",
    "input length ({sent}) exceeds model's maximum context length ({limit})",
    "the input ({sent} tokens) is longer than the model's context length ({limit} tokens)",
    "input length ({sent} tokens) exceeds the maximum allowed length ({limit} tokens)",
    "length of prompt_tokens ({sent}) must be less than max_seq_len ({limit})",
    // Cohere.
    "too many tokens: total number of tokens in the prompt cannot exceed {limit} - received {sent}",
    "too many tokens: size limit exceeded by {over} tokens. try using shorter or fewer inputs. the limit for this model is {limit} tokens",
    // vLLM.
    "this model's maximum context length is {limit} tokens. however, your request has {sent} input tokens. please reduce the length of the input messages",
    "the prompt (total length {sent}) is too long to fit into the model (context length {limit})",
    "the decoder prompt (length {sent}) is longer than the maximum model length of {limit}",
    "max_tokens must be at least 1, got -{over}",
    "input validation error: inputs must have less than {limit} tokens. given: {sent}",
    // llama.cpp, LM Studio, Ollama, MLX servers.
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "the request exceeds the available context size, try increasing it",
    "request ({sent} tokens) exceeds the available context size ({limit} tokens), try increasing it",
    "requested tokens ({sent}) exceed context window of {limit}",
    "context size has been exceeded",
    "trying to keep the first {sent} tokens when context the overflows. however, the model is loaded with context length of only {limit} tokens, which is not enough. try to load the model with a larger context length, or provide a shorter input",
    "cannot truncate prompt with n_keep ({sent}) >= n_ctx ({limit})",
    "the number of tokens to keep from the initial prompt is greater than the context length (n_keep: {sent}>= n_ctx: {limit})",
    "the number of tokens to keep from the initial prompt is greater than the context length (n_keep: {sent} >= n_ctx: {limit})",
    "the number of tokens to keep from the initial prompt is greater than the context length",
    "input length {sent} exceeds context length {limit}",
    "prompt too long; exceeded max context length by {over} tokens",
    "prompt too long; exceeded context length by {over} tokens",
    "the input length exceeds the context length",
    "prompt too long: {sent} tokens exceeds max context window of {limit} tokens",
    "prompt has {sent} tokens, but the configured context size is {limit} tokens",
    "prompt exceeds maximum context length",
];

/// Input and requested answer together are above the limit.
const INPUT_PLUS_OUTPUT: &[&str] = &[
    "input length and max_tokens exceed context limit: {in} + {out} > {limit}, decrease input length or max_tokens and try again",
    "this model's maximum context length is {limit} tokens. however, you requested {sent} tokens ({in} in the messages, {out} in the completion). please reduce the length of the messages or completion",
    "this model's maximum context length is {limit} tokens. however, you requested {sent} tokens ({n} in the messages, {n} in the functions, and {out} in the completion). please reduce the length of the messages, functions, or completion",
    "this model's maximum context length is {limit} tokens, however you requested {sent} tokens ({in} in your prompt; {out} for the completion). please reduce your prompt; or completion length",
    "please reduce the length of the messages or completion",
    "requested token count exceeds the model's maximum context length of {limit} tokens. you requested a total of {sent} tokens: {in} tokens from the input messages and {out} tokens for the completion",
    "requested token count exceeds the model's maximum context length of {limit} tokens",
    "this endpoint's maximum context length is {limit} tokens. however, you requested about {sent} tokens ({n} of text input, {out} in the output)",
    "this endpoint's maximum context length is {limit} tokens. however, you requested about {sent} tokens ({n} of text input, {n} of tool input, {out} in the output)",
    "'max_tokens' or 'max_completion_tokens' is too large: {out}. this model's maximum context length is {limit} tokens and your request has {in} input tokens ({n} > {n} - {n})",
    "this model's maximum context length is {limit} tokens. however, your request has {in} input tokens plus {out} 'max_tokens'. please reduce one or the other",
    "this model's maximum context length is {limit} tokens. however, you requested {out} output tokens and your prompt contains at least {in} input tokens, for a total of at least {sent} tokens. please reduce the length of the input prompt or the number of requested output tokens",
    "this model's maximum context length is {limit} tokens. however, you requested {out} output tokens and your prompt contains {in} input tokens, for a total of {sent} tokens. please reduce the length of the input prompt or the number of requested output tokens",
    "too many tokens: total number of tokens (prompt and prediction) cannot exceed {limit} - received {sent}. try using a shorter prompt or a smaller max_tokens value",
    "input validation error: inputs tokens + max_new_tokens must be <= {limit}. given: {in} inputs tokens and {out} max_new_tokens",
];

/// The request is too long in bytes.
const REQUEST_BYTES: &[&str] = &[
    "request exceeds the maximum size",
    "request payload size exceeds the limit: {limit} bytes",
    "too many total text bytes: {sent} > {limit}",
    "too many total text bytes",
    "1 validation error detected: value at 'body' failed to satisfy constraint: member must have length less than or equal to {limit}",
    "maximum request body size {limit} exceeded, actual body size {sent}",
];

/// The requested answer alone exceeds the model's limit.
const OUTPUT: &[&str] = &[
    "max_tokens: {out} > {limit}, which is the maximum allowed number of output tokens for {w}",
    "max_tokens is too large: {out}. this model supports at most {limit} completion tokens, whereas you provided {n}",
    "max_tokens must be less than or equal to {limit}, the maximum value for max_tokens is less than the context_window for this model",
    "max_completion_tokens must be less than or equal to {limit}, the maximum value for max_completion_tokens is less than the context_window for this model",
    "max_tokens must be less than or equal to {limit}",
    "the maximum tokens you requested exceeds the model limit of {limit}. try again with a maximum tokens value that is lower than {n}",
    "the maximum tokens you requested exceed the model limit of {limit}. try again with a maximum tokens value lower than {n}",
    "unable to submit request because it has a maxoutputtokens value of {out} but the supported range is from {n} (inclusive) to {end} (exclusive). update the value and try again",
    "invalid max_tokens value, the valid range of max_tokens is [{n}, {limit}]",
    "the parameter max_completion_tokens specified in the request are not valid: integer above maximum value, expected a value <= {limit}, but got {out} instead",
];

/// One request above a limit per minute.
const RATE_LIMITED: &[&str] = &[
    "request too large for {w} in organization {w} on tokens per min (tpm): limit {limit}, requested {sent}",
    "request too large for {w} on tokens per min (tpm): limit {limit}, requested {sent}",
    "request too large for {w} (for limit {w}) in organization {w} on tokens per min (tpm): limit {limit}, requested {sent}",
    "request too large for model {w} in organization {w} service tier {w} on tokens per minute (tpm): limit {limit}, requested {sent}, {..}",
    "request too large for model {w} in organization {w} on tokens per minute (tpm): limit {limit}, requested {sent}, {..}",
    "rate limit reached for {..}",
    "this request would exceed your organization's rate limit of {..}",
    "this request would exceed the rate limit for your organization {..}",
    "too many tokens, please wait before trying again",
    "too many tokens per day, please wait before trying again",
];

const QUOTA: &[&str] = &[
    "your credit balance is too low to access the {..}",
    "extra usage is required for long context requests",
    "the long context beta is not yet available for this subscription",
    "insufficient balance",
    "prompt tokens limit exceeded: {n} > {n}. to increase, visit {..}",
    "this request requires more credits, or fewer max_tokens. {..}",
    "your team {w} has either used all available credits or reached its monthly spending limit{..}",
];

const AUTH: &[&str] = &[
    "incorrect api key provided: {..}",
    "api key not valid. please pass a valid api key",
    "invalid api key",
    "unauthorized",
    "invalid token",
];

const TOOL_PAIRING: &[&str] = &[
    "messages.{n}: tool_use ids were found without tool_result blocks immediately after: {..}",
    "messages.{n}.content.{n}: unexpected tool_use_id found in tool_result blocks: {..}",
    "messages.{n}: unexpected tool_use_id found in tool_result blocks: {..}",
    "messages.{n}.content.{n}: tool_use ids must be unique",
    "messages: tool_use ids must be unique",
    "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. {..}",
    "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
    "invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "no tool output found for function call {w}",
    "no tool call found for function call output with call_id {w}",
    "please ensure that the number of function response parts is equal to the number of function call parts of the function call turn",
    "expected toolresult blocks at messages.{n}.content for the following ids: {..}",
    "the number of toolresult blocks at messages.{n}.content exceeds the number of tooluse blocks of previous turn",
    "not the same number of function calls and responses",
];

const ROLE_ORDER: &[&str] = &[
    "messages: roles must alternate between 'user' and 'assistant', but found multiple '{w}' roles in a row",
    "messages: first message must use the 'user' role",
    "unexpected role '{w}' after role '{w}'",
    "expected last role user or tool (or assistant with prefix true) for serving but got {w}",
    "please ensure that function call turn comes immediately after a user turn or after a function response turn",
    "this model does not support assistant message prefill. the conversation must end with a user message",
    "conversation roles must alternate user/assistant/user/assistant/...",
    "after the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
];

const EMPTY_TEXT: &[&str] = &[
    "messages: text content blocks must be non-empty",
    "messages: text content blocks must contain non-whitespace text",
    "messages.{n}: all messages must have non-empty content except for the optional final assistant message",
    "messages: final assistant content cannot end with trailing whitespace",
    "the text field in the contentblock object at messages.{n}.content.{n} is blank. {..}",
];

const REASONING: &[&str] = &[
    "the reasoning_content in the thinking mode must be passed back to the api",
    "the content[].thinking in the thinking mode must be passed back to the api",
    "messages.{n}.content.{n}: invalid signature in thinking block",
    "messages.{n}.content.{n}: thinking or redacted_thinking blocks in the latest assistant message cannot be modified. {..}",
    "messages.{n}.content.{n}.type: expected thinking or redacted_thinking, but found {..}",
    "item '{w}' of type 'reasoning' was provided without its required following item",
    "item '{w}' of type 'function_call' was provided without its required 'reasoning' item: '{w}'",
    "function call is missing a thought_signature in functioncall parts{..}",
];

const CALL_ID: &[&str] = &[
    "messages.{n}.content.{n}.tool_use.id: string should match pattern {..}",
    "tool call id was {w} but must be a-z, a-z, 0-9, with a length of {n}",
];

const BAD_IMAGE: &[&str] = &[
    "could not process image",
    "you uploaded an unsupported image. please make sure {..}",
    "unable to process input image{..}",
    "provided image is not valid",
];

const POLICY: &[&str] = &[
    "the response was filtered due to the prompt triggering azure openai's content management policy. {..}",
    "content violates usage guidelines{..}",
    "output blocked by content filtering policy",
];
