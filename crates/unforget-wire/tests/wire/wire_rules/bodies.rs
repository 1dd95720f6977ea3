//! One accepted body per dialect, with everything that the rules concern. Texts and ids are equal in all of them, so
//! that one replacement breaks one rule everywhere.

use unforget_wire::Dialect;

/// A body that the provider accepts.
pub(crate) fn good(dialect: Dialect) -> String {
    match dialect {
        Dialect::Anthropic => ANTHROPIC.concat(),
        Dialect::OpenAiChat => CHAT.concat(),
        Dialect::OpenAiResponses => RESPONSES.concat(),
        Dialect::Pi => PI.concat(),
        Dialect::Gemini => GEMINI.concat(),
        Dialect::BedrockConverse => BEDROCK.concat(),
    }
}

/// The pieces: tools, instructions, the user's message, the model's, the results.
pub(crate) fn pieces(dialect: Dialect) -> [&'static str; 5] {
    match dialect {
        Dialect::Anthropic => ANTHROPIC,
        Dialect::OpenAiChat => CHAT,
        Dialect::OpenAiResponses => RESPONSES,
        Dialect::Pi => PI,
        Dialect::Gemini => GEMINI,
        Dialect::BedrockConverse => BEDROCK,
    }
}

const ANTHROPIC: [&str; 5] = [
    r#"{"thinking":{"type":"enabled"},"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}},{"name":"g","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],"#,
    r#""system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":["#,
    r#"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}"#,
    r#",{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"ok"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"tool_use","id":"t-1","name":"f","input":{"q":1}},{"type":"tool_use","id":"t-2","name":"g","input":{}}]}"#,
    r#",{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-1","content":[{"type":"text","text":"1"}],"is_error":true},{"type":"tool_result","tool_use_id":"t-2","content":"2"},{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}]}"#,
];

const CHAT: [&str; 5] = [
    r#"{"tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"],"additionalProperties":false}}},{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}],"#,
    r#""messages":[{"role":"system","content":"be brief"},"#,
    r#"{"role":"user","name":"ann","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}"#,
    r#",{"role":"assistant","content":"ok","tool_calls":[{"id":"t-1","type":"function","function":{"name":"f","arguments":"{\"q\":1}"}},{"id":"t-2","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
    r#",{"role":"tool","tool_call_id":"t-1","content":"1"},{"role":"tool","tool_call_id":"t-2","content":"2"},{"role":"user","content":"go on"}]}"#,
];

const RESPONSES: [&str; 5] = [
    r#"{"tools":[{"type":"function","name":"f","description":"d","strict":true,"parameters":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"],"additionalProperties":false}},{"type":"function","name":"g","parameters":{"type":"object"}},{"type":"web_search"}],"#,
    r#""instructions":"be brief","input":["#,
    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}"#,
    r#",{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call","id":"fc_1","call_id":"t-1","name":"f","arguments":"{\"q\":1}"},{"type":"function_call","call_id":"t-2","name":"g","arguments":"{}"}"#,
    r#",{"type":"function_call_output","call_id":"t-1","output":"1"},{"type":"function_call_output","call_id":"t-2","output":[{"type":"input_text","text":"2"}]},{"role":"user","content":"go on"}]}"#,
];

const PI: [&str; 5] = [
    r#"{"tools":[{"name":"f","description":"d","parameters":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}},{"name":"g","parameters":{"type":"object"}}],"#,
    r#""systemPrompt":"be brief","messages":["#,
    r#"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":0}"#,
    r#",{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"text","text":"ok"},{"type":"toolCall","id":"t-1","name":"f","arguments":{"q":1}},{"type":"toolCall","id":"t-2","name":"g","arguments":{}}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"toolUse","timestamp":0}"#,
    r#",{"role":"toolResult","toolCallId":"t-1","toolName":"f","content":[{"type":"text","text":"1"}],"isError":false,"timestamp":0},{"role":"toolResult","toolCallId":"t-2","toolName":"g","content":[{"type":"text","text":"2"}],"isError":false,"timestamp":0},{"role":"user","content":"go on","timestamp":0}]}"#,
];

const GEMINI: [&str; 5] = [
    r#"{"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}},{"name":"g","parameters":{"type":"object"}}]},{"googleSearch":{}}],"#,
    r#""systemInstruction":{"parts":[{"text":"be brief"}]},"contents":["#,
    r#"{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}"#,
    r#",{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"},{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"text":"ok"},{"functionCall":{"id":"t-1","name":"f","args":{"q":1}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"t-2","name":"g","args":{}}}]}"#,
    r#",{"role":"user","parts":[{"functionResponse":{"id":"t-1","name":"f","response":{"output":"1"}}},{"functionResponse":{"id":"t-2","name":"g","response":{"error":"2"}}}]}]}"#,
];

const BEDROCK: [&str; 5] = [
    r#"{"additionalModelRequestFields":{"thinking":{"type":"enabled"}},"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object","properties":{"p":{"type":"string"}},"required":["p"]}}}},{"toolSpec":{"name":"g","inputSchema":{"json":{"type":"object"}}}},{"cachePoint":{"type":"default"}}]},"#,
    r#""system":[{"text":"be brief"},{"cachePoint":{"type":"default"}}],"messages":["#,
    r#"{"role":"user","content":[{"text":"look"},{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}},{"document":{"format":"pdf","name":"My report (2)","source":{"bytes":"AA=="}}}]}"#,
    r#",{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}},{"text":"ok"},{"toolUse":{"toolUseId":"t-1","name":"f","input":{"q":1}}},{"toolUse":{"toolUseId":"t-2","name":"g","input":{}}}]}"#,
    r#",{"role":"user","content":[{"toolResult":{"toolUseId":"t-1","content":[{"text":"1"}],"status":"error"}},{"toolResult":{"toolUseId":"t-2","content":[{"json":{"x":2}}]}},{"text":"go on"}]}]}"#,
];
