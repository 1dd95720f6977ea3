//! A violation of each rule, as a replacement in the accepted body.

use unforget_wire::{Bound, Checks, Dialect, FakeSigner, Target, rules};

use super::bodies::{good, pieces};

const A: Dialect = Dialect::Anthropic;
const C: Dialect = Dialect::OpenAiChat;
const R: Dialect = Dialect::OpenAiResponses;
const P: Dialect = Dialect::Pi;
const G: Dialect = Dialect::Gemini;
const B: Dialect = Dialect::BedrockConverse;

/// An accepted body, and one that a single rule rejects under the same checks.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    pub(crate) checks: Checks,
    pub(crate) good: String,
    pub(crate) bad: String,
}

/// All cases of a dialect.
pub(crate) fn all(dialect: Dialect) -> Vec<Case> {
    let mut cases = Vec::new();
    let rows = shared().into_iter().chain(own(dialect));
    for (rule, from, to) in rows.filter(|(rule, ..)| rules(dialect).any(|known| known.id == *rule)) {
        let good = good(dialect);
        assert!(good.contains(from), "{} {rule}: {from} is not in the body", dialect.name());
        let bad = good.replace(from, &to);
        cases.push(Case { rule, checks: dialect.into(), good, bad });
    }
    cases.extend(signers(dialect));
    cases.extend(special(dialect));
    cases
}

type Row = (&'static str, &'static str, String);

fn row(rule: &'static str, from: &'static str, to: impl Into<String>) -> Row {
    (rule, from, to.into())
}

/// Replacements that break a rule in every dialect that has it.
fn shared() -> Vec<Row> {
    let digits = |count: usize| (0..count).map(|n| n.to_string());
    let properties: Vec<String> = digits(5_001).map(|n| format!(r#""p{n}":{{"type":"string"}}"#)).collect();
    let deep = r#"{"type":"object","properties":{"p":"#;
    let wide_image = "iVBORw0KGgoAAAANSUhEUgAAH0EAAAABCAIAAAA=";
    vec![
        row("json", r#""look""#, r#""look"#),
        row("surrogate", "be brief", r"\ud800"),
        row("depth", r#""look""#, format!("{}1{}", "[".repeat(200), "]".repeat(200))),
        row("request-size", "look", "x".repeat(51_000_000)),
        row("instructions", "be brief", " "),
        row("text-not-blank", "look", r"\u200b \u00a0"),
        row("text-length", "look", "x".repeat(10_485_761)),
        row("image-shape", "iVBORw0KGgo=", r"iVBORw0KGgo\n="),
        row("image-type", "iVBORw0KGgo=", "/9j/4AAQ"),
        row("image-size", "iVBORw0KGgo=", format!("iVBORw0KGgo{}A", "A".repeat(20 << 20))),
        row("image-side", "iVBORw0KGgo=", wide_image),
        row("tools-name", r#""name":"f""#, r#""name":"""#),
        row("tools-unique", r#""name":"g""#, r#""name":"f""#),
        row("tools-shape", r#""tools":["#, r#""tools":[1,"#),
        row("schema-object", r#"{"type":"object","properties""#, r#"{"type":"string","properties""#),
        row("schema-top", r#""required":["p"]"#, r#""required":["p"],"anyOf":[]"#),
        row("schema-valid", r#""p":{"type":"string"}"#, r#""p":{"type":"text"}"#),
        row("schema-key", r#""p":{"#, r#""p q":{"#),
        row("schema-array", r#""p":{"type":"string"}"#, r#""p":{"type":"array"}"#),
        row("schema-required", r#""required":["p"]"#, r#""required":["x"]"#),
        row("schema-closed", r#""additionalProperties":false"#, r#""additionalProperties":true"#),
        row("schema-count", r#""p":{"type":"string"}"#, properties.join(",")),
        row(
            "schema-depth",
            r#"{"type":"object","properties":{"p":{"type":"string"}}"#,
            format!(r#"{}{{"type":"string"}}{}"#, deep.repeat(11), "}}".repeat(10) + "}"),
        ),
        row("tool-name", r#""name":"f""#, r#""name":"""#),
    ]
}

/// Replacements in the words of one dialect.
fn own(dialect: Dialect) -> Vec<Row> {
    let [_, _, user, model, results] = pieces(dialect);
    let list = if dialect == R {
        "input"
    } else if dialect == G {
        "contents"
    } else {
        "messages"
    };
    let results_before_end = results.strip_suffix("]}").unwrap_or(results);
    let mut rows = vec![
        row("shape", if dialect == R { r#""input""# } else { list_name(list) }, r#""list""#),
        row("first-user", user, model.trim_start_matches(',')),
        row("last-not-assistant", results, format!("{results_before_end}{}]}}", last_words(dialect))),
        row("alternate", user, format!("{user},{user}")),
        row("system-place", user, format!(r#"{user},{{"role":"system","content":"x"}},{user}"#)),
        row("call-answered", results, ending(dialect)),
        row("result-orphan", model, last_words(dialect)),
    ];
    rows.extend(match dialect {
        A => anthropic(),
        C => chat(),
        R => responses(),
        P => pi(),
        G => gemini(),
        B => bedrock(),
    });
    rows
}

fn list_name(list: &str) -> &'static str {
    if list == "contents" { r#""contents""# } else { r#""messages""# }
}

/// A message of the model at the end of the request.
fn last_words(dialect: Dialect) -> &'static str {
    match dialect {
        A | C | R => r#",{"role":"assistant","content":"done"}"#,
        P => {
            r#",{"role":"assistant","content":[{"type":"text","text":"done"}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"stopReason":"stop","timestamp":0}"#
        }
        G => r#",{"role":"model","parts":[{"text":"done"}]}"#,
        B => r#",{"role":"assistant","content":[{"text":"done"}]}"#,
    }
}

/// The user continues without results.
fn ending(dialect: Dialect) -> &'static str {
    match dialect {
        G => r#",{"role":"user","parts":[{"text":"go on"}]}]}"#,
        B => r#",{"role":"user","content":[{"text":"go on"}]}]}"#,
        _ => r#",{"role":"user","content":"go on"}]}"#,
    }
}

fn anthropic() -> Vec<Row> {
    let long = "a".repeat(65);
    vec![
        row("role", r#""role":"user""#, r#""role":"human""#),
        row("extra-field", r#"{"role":"assistant","#, r#"{"id":"m","role":"assistant","#),
        row("content-shape", r#"[{"type":"text","text":"look"}"#, r#"[{"type":"text"}"#),
        row("content-not-empty", pieces(A)[2], r#"{"role":"user","content":[]}"#),
        row("block-type", r#"{"type":"text","text":"ok"}"#, r#"{"type":"toolCall"}"#),
        row("call-id", "t-1", "t|1"),
        row("call-id", "t-1", long),
        row("call-id-unique", r#""id":"t-2""#, r#""id":"t-1""#),
        row("arguments", r#""input":{"q":1}"#, r#""input":"{}""#),
        row("result-once", r#""tool_use_id":"t-2""#, r#""tool_use_id":"t-1""#),
        row(
            "results-first",
            r#"{"role":"user","content":[{"type":"tool_result""#,
            r#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result""#,
        ),
        row("result-content", r#"[{"type":"text","text":"1"}]"#, r#"[{"type":"thinking"}]"#),
        row("result-flag", r#""is_error":true"#, r#""is_error":"yes""#),
        row("error-content", r#"[{"type":"text","text":"1"}]"#, "[]"),
        row("thinking-signature", r#""signature":"c2ln""#, r#""signature":"""#),
        row(
            "thinking-not-last",
            r#"{"type":"tool_use","id":"t-2","name":"g","input":{}}]"#,
            r#"{"type":"tool_use","id":"t-2","name":"g","input":{}},{"type":"thinking","thinking":"x","signature":"c2ln"}]"#,
        ),
        row("thinking-first", r#"{"type":"thinking","thinking":"hm","signature":"c2ln"},"#, " "),
        row(
            "cache-control",
            r#"{"type":"text","text":"look"}"#,
            r#"{"type":"text","text":"look","cache_control":{"type":"ephemeral","ttl":"1h"}},"#.repeat(3)
                + r#"{"type":"text","text":"look"}"#,
        ),
        row(
            "cache-place",
            r#""signature":"c2ln""#,
            r#""signature":"c2ln","cache_control":{"type":"ephemeral"}"#,
        ),
        row("cache-shape", r#"{"type":"ephemeral","ttl":"1h"}"#, r#"{"type":"ephemeral","ttl":"2h"}"#),
        row(
            "cache-order",
            r#"{"type":"ephemeral"}"#,
            r#"{"type":"ephemeral"}},{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        ),
        row("server-tool-pair", r#""tool_use_id":"srvtoolu_1""#, r#""tool_use_id":"srvtoolu_2""#),
        row("server-tool-id", "srvtoolu_1", "s_1"),
    ]
}

fn chat() -> Vec<Row> {
    vec![
        row("role", r#""role":"user""#, r#""role":"human""#),
        row("extra-field", r#"{"role":"assistant","#, r#"{"id":"m","role":"assistant","#),
        row("author-name", r#""name":"ann""#, r#""name":"ann b""#),
        row("content-shape", r#""content":"go on""#, r#""content":1"#),
        row("content-not-empty", r#""content":"go on""#, r#""content":null"#),
        row("block-type", r#"{"type":"text","text":"look"}"#, r#"{"type":"tool_use"}"#),
        row("call-shape", r#""id":"t-1","type":"function""#, r#""id":"t-1","type":"custom""#),
        row("call-id", "t-1", "t".repeat(41)),
        row("call-id-unique", r#""id":"t-2""#, r#""id":"t-1""#),
        row(
            "call-count",
            r#"{"id":"t-2","type":"function","function":{"name":"g","arguments":"{}"}}"#,
            vec![r#"{"id":"t-2","type":"function","function":{"name":"g","arguments":"{}"}}"#; 128].join(","),
        ),
        row("arguments", r#""arguments":"{}""#, r#""arguments":"{""#),
        row("result-once", r#""tool_call_id":"t-2""#, r#""tool_call_id":"t-1""#),
        row("result-content", r#""content":"1""#, r#""content":[{"type":"image_url"}]"#),
        row("tools-description", r#""description":"d""#, format!(r#""description":"{}""#, "d".repeat(1_025))),
        row("reasoning-foreign", r#""content":"ok""#, r#""content":"ok","reasoning_content":"hm""#),
        row(
            "schema-enum",
            r#""p":{"type":"string"}"#,
            format!(r#""p":{{"type":"string","enum":[{}]}}"#, vec![r#""v""#; 1_001].join(",")),
        ),
    ]
}

fn responses() -> Vec<Row> {
    vec![
        row("role", r#""role":"user""#, r#""role":"human""#),
        row("extra-field", r#""role":"assistant","#, r#""role":"assistant","timestamp":1,"#),
        row("content-shape", r#""content":"go on""#, r#""content":1"#),
        row("content-not-empty", pieces(R)[2], r#"{"type":"message","role":"user","content":[]}"#),
        row("block-type", r#""type":"input_text","text":"look""#, r#""type":"output_text","text":"look""#),
        row("call-shape", r#""id":"fc_1","call_id":"t-1","#, r#""id":"fc_1","#),
        row("call-id", "t-1", "t 1"),
        row("call-id-unique", r#""id":"fc_1","call_id":"t-1""#, r#""id":"fc_1","call_id":"t-2""#),
        row("arguments", r#""arguments":"{}""#, r#""arguments":"[]""#),
        row(
            "result-once",
            r#""type":"function_call_output","call_id":"t-2""#,
            r#""type":"function_call_output","call_id":"t-1""#,
        ),
        row("result-content", r#""output":"1""#, r#""output":null"#),
        row("thinking-signature", r#","encrypted_content":"c2ln""#, " "),
        row(
            "thinking-alone",
            r#""output":"1"}"#,
            r#""output":"1"},{"type":"reasoning","summary":[],"encrypted_content":"x"}"#,
        ),
        row("reasoning-summary", r#""summary":[],"#, r#""summary":"x","#),
        row("tools-description", r#""description":"d""#, format!(r#""description":"{}""#, "d".repeat(1_025))),
        row("item-id", "fc_1", "call_1"),
        row("item-id-unique", r#""call_id":"t-2","name""#, r#""id":"fc_1","call_id":"t-2","name""#),
        row(
            "item-id-alone",
            r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"},"#,
            " ",
        ),
        row(
            "schema-enum",
            r#""p":{"type":"string"}"#,
            format!(r#""p":{{"type":"string","enum":[{}]}}"#, vec![r#""v""#; 1_001].join(",")),
        ),
    ]
}

fn pi() -> Vec<Row> {
    vec![
        row("role", r#""role":"user""#, r#""role":"human""#),
        row("content-shape", r#"[{"type":"text","text":"1"}]"#, r#""1""#),
        row("content-not-empty", r#"[{"type":"text","text":"1"}]"#, "[]"),
        row("block-type", r#"{"type":"text","text":"look"}"#, r#"{"type":"toolCall"}"#),
        row("call-shape", r#","arguments":{"q":1}"#, " "),
        row("call-id", "t-1", ""),
        row("call-id-unique", r#""id":"t-2""#, r#""id":"t-1""#),
        row("arguments", r#""arguments":{"q":1}"#, r#""arguments":"{}""#),
        row("partial-call", r#""arguments":{"q":1}"#, r#""arguments":{"q":1},"partialJson":"{\"q\"""#),
        row("result-once", r#""toolCallId":"t-2""#, r#""toolCallId":"t-1""#),
        row("result-content", r#"{"type":"text","text":"1"}"#, r#"{"type":"json"}"#),
        row("result-fields", r#","isError":false"#, " "),
        row("assistant-fields", r#""api":"a","#, " "),
        row("assistant-usage", r#""usage":{"input":0,"#, r#""usage":{"#),
        row("stop-reason", r#""stopReason":"toolUse""#, r#""stopReason":"tired""#),
        row("dead-call", r#""stopReason":"toolUse""#, r#""stopReason":"aborted""#),
        row("thinking-signature", r#""thinkingSignature":"c2ln""#, r#""thinkingSignature":1"#),
    ]
}

fn gemini() -> Vec<Row> {
    vec![
        row("role", r#""role":"model""#, r#""role":"assistant""#),
        row("extra-field", r#"{"role":"model","#, r#"{"role":"model","id":"m","#),
        row("content-shape", r#"{"text":"look"}"#, r#"{"text":1}"#),
        row("content-not-empty", pieces(G)[2], r#"{"role":"user","parts":[]}"#),
        row("block-type", r#"{"text":"look"}"#, r#"{"type":"text"}"#),
        row("block-one-kind", r#"{"text":"look"}"#, r#"{"text":"look","fileData":{}}"#),
        row("block-role", r#"{"text":"look"}"#, r#"{"functionCall":{"id":"x","name":"f","args":{}}}"#),
        row("call-shape", r#","args":{"q":1}"#, " "),
        row("call-id", r#""id":"t-1","#, " "),
        row("call-id-unique", r#""id":"t-2","name":"g","args""#, r#""id":"t-1","name":"g","args""#),
        row("tool-name", r#""name":"f""#, r#""name":"1f""#),
        row("arguments", r#""args":{"q":1}"#, r#""args":"{}""#),
        row("result-once", r#""id":"t-2","name":"g","response""#, r#""id":"t-1","name":"f","response""#),
        row(
            "results-first",
            r#"{"role":"user","parts":[{"functionResponse""#,
            r#"{"role":"user","parts":[{"text":"x"},{"functionResponse""#,
        ),
        row("result-content", r#"{"output":"1"}"#, r#""1""#),
        row("result-name", r#""id":"t-2","name":"g","response""#, r#""id":"t-2","name":"f","response""#),
        row("thinking-signature", r#""thoughtSignature":"c2ln""#, r#""thoughtSignature":"c""#),
        row("call-signature", r#","thoughtSignature":"skip_thought_signature_validator""#, " "),
        row("server-tool-pair", r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},"#, " "),
        row("schema-keyword", r#""p":{"type":"string"}"#, r#""p":{"type":"string","$ref":"x"}"#),
        row("schema-enum", r#""p":{"type":"string"}"#, r#""p":{"type":"string","enum":[""]}"#),
    ]
}

fn bedrock() -> Vec<Row> {
    let document = r#"{"document":{"format":"pdf","name":"My report (2)","source":{"bytes":"AA=="}}}"#;
    vec![
        row("role", r#""role":"assistant""#, r#""role":"model""#),
        row("extra-field", r#"{"role":"assistant","#, r#"{"role":"assistant","id":"m","#),
        row("content-shape", pieces(B)[2], r#"{"role":"user","content":"look"}"#),
        row("content-not-empty", pieces(B)[2], r#"{"role":"user","content":[]}"#),
        row("block-type", r#"{"text":"ok"}"#, r#"{"type":"text"}"#),
        row("block-one-kind", r#"{"text":"ok"}"#, r#"{"text":"ok","cachePoint":{"type":"default"}}"#),
        row(
            "block-role",
            r#"{"text":"ok"}"#,
            r#"{"image":{"format":"png","source":{"bytes":"iVBORw0KGgo="}}}"#,
        ),
        row("call-shape", r#","input":{"q":1}"#, " "),
        row("call-id", "t-1", "t|1"),
        row("call-id-unique", r#"{"toolUse":{"toolUseId":"t-2""#, r#"{"toolUse":{"toolUseId":"t-1""#),
        row("tool-name", r#""name":"f""#, r#""name":"f.g""#),
        row("arguments", r#""input":{"q":1}"#, r#""input":"{}""#),
        row("calls-last", r#""name":"g","input":{}}}]"#, r#""name":"g","input":{}}},{"text":"so"}]"#),
        row("result-once", r#"{"toolResult":{"toolUseId":"t-2""#, r#"{"toolResult":{"toolUseId":"t-1""#),
        row(
            "results-first",
            r#"{"role":"user","content":[{"toolResult""#,
            r#"{"role":"user","content":[{"text":"x"},{"toolResult""#,
        ),
        row("result-content", r#"[{"json":{"x":2}}]"#, r#"[{"reasoningContent":{}}]"#),
        row("result-flag", r#""status":"error""#, r#""status":"failed""#),
        row("error-content", r#"[{"text":"1"}]"#, "[]"),
        row("thinking-signature", r#","signature":"c2ln""#, " "),
        row(
            "thinking-not-last",
            r#"{"toolUse":{"toolUseId":"t-2","name":"g","input":{}}}]"#,
            r#"{"toolUse":{"toolUseId":"t-2","name":"g","input":{}}},{"reasoningContent":{"redactedContent":"x"}}]"#,
        ),
        row(
            "thinking-first",
            r#"{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}},"#,
            " ",
        ),
        row(
            "cache-control",
            r#"{"text":"look"}"#,
            r#"{"text":"look"},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}}"#,
        ),
        row(
            "cache-shape",
            r#"{"cachePoint":{"type":"default"}}],"#,
            r#"{"cachePoint":{"type":"ephemeral"}}],"#,
        ),
        row("document-count", document, [document; 6].join(",")),
        row("document-name", "My report (2)", "my_report.pdf"),
        row("document-text", r#"{"text":"look"},"#, " "),
        row("tools-description", r#""description":"d""#, r#""description":"""#),
    ]
}

/// A provider that checks its signatures: changed reasoning, and changed instructions.
fn signers(dialect: Dialect) -> Vec<Case> {
    let content = if dialect == R { "[]" } else { "hm" };
    let case = |rule, bound, from: &str, to: &str| {
        let signer = FakeSigner { bound, key: 7 };
        let [tools, system, user, ..] = pieces(dialect);
        let signature = signer.sign(content, &[tools, system, user, "]}"].concat(), dialect);
        let good = good(dialect).replace("c2ln", &signature);
        let bad = good.replace(from, to);
        assert_ne!(good, bad, "{} {rule}: {from} is not in the body", dialect.name());
        Case { rule, checks: Checks { signer: Some(signer), ..dialect.into() }, good, bad }
    };
    if dialect == C {
        return Vec::new();
    }
    let changed =
        if dialect == R { (r#""summary":[]"#, r#""summary":[{}]"#) } else { (r#""hm""#, r#""hmm""#) };
    vec![
        case("signature-content", Bound::Content, changed.0, changed.1),
        case("signature-prefix", Bound::Prefix, changed.0, changed.1),
        case("signature-prefix", Bound::Prefix, "look", "[summary]"),
        case("signature-prefix", Bound::Prefix, "be brief", "be long"),
        case("signature-prefix", Bound::Prefix, r#""description":"d""#, r#""description":"e""#),
    ]
}

/// Cases beyond replacements.
fn special(dialect: Dialect) -> Vec<Case> {
    let case = |rule, bad: String| Case { rule, checks: dialect.into(), good: good(dialect), bad };
    let [tools, system, user, model, results] = pieces(dialect);
    let empty = match dialect {
        R => r#"{"input":[]}"#,
        G => r#"{"contents":[]}"#,
        _ => r#"{"messages":[]}"#,
    };
    let mut cases = vec![case("not-empty", empty.to_owned()), images(dialect, small_png(), "image-count")];
    if matches!(dialect, A | P) {
        cases.push(images(dialect, "iVBORw0KGgoAAAANSUhEUgAAB9EAAAABCAIAAAA=", "image-side-many"));
    }
    if matches!(dialect, A | B) {
        let whole = Checks { whole: true, ..dialect.into() };
        let bad = ["{", system, user, model, results].concat();
        cases.push(Case { rule: "tools-defined", checks: whole, good: good(dialect), bad });
    }
    if matches!(dialect, C | B) {
        let list = if dialect == C { r#"{"tools":[],"# } else { r#"{"toolConfig":{"tools":[]},"# };
        cases.push(case("tools-empty", [list, system, user, model, results].concat()));
    }
    if matches!(dialect, C | R | G) {
        let more = match dialect {
            C => r#"{"type":"function","function":{"name":"x","parameters":{"type":"object"}}},"#,
            R => r#"{"type":"function","name":"x","parameters":{"type":"object"}},"#,
            _ => r#"{"functionDeclarations":[{"name":"x"}]},"#,
        };
        let many = tools.replacen(r#""tools":["#, &format!(r#""tools":[{}"#, more.repeat(127)), 1);
        cases.push(case("tools-count", [&many, system, user, model, results].concat()));
    }
    if dialect == C {
        cases.extend(models());
    }
    cases
}

/// Rules of models that use OpenAI's form.
fn models() -> Vec<Case> {
    let reasoned = good(C).replace(r#""content":"ok""#, r#""content":"ok","reasoning_content":"hm""#);
    let mut cases = Vec::new();
    for model in ["deepseek-reasoner", "kimi-k2-thinking", "glm-4.6"] {
        let checks = Target::of(C, Some(model)).into();
        let without = good(C);
        let blank = reasoned.replace(r#""hm""#, r#""""#);
        for bad in [without, blank] {
            cases.push(Case { rule: "reasoning-replay", checks, good: reasoned.clone(), bad });
        }
    }
    let checks = Target::of(C, Some("mistral-large")).into();
    let good = good(C).replace("t-1", "abcdefgh1").replace("t-2", "abcdefgh2").replace(
        r#"{"role":"user","content":"go on"}"#,
        r#"{"role":"assistant","content":"so"},{"role":"user","content":"go on"}"#,
    );
    let bad = good.replacen(
        r#",{"role":"assistant""#,
        r#",{"role":"system","content":"x"},{"role":"assistant""#,
        1,
    );
    cases.push(Case { rule: "system-first", checks, good: good.clone(), bad });
    let bad = good.replace("abcdefgh1", "call_00000001");
    cases.push(Case { rule: "call-id-mistral", checks, good: good.clone(), bad });
    let bad = good.replace(r#"{"role":"assistant","content":"so"},"#, "");
    cases.push(Case { rule: "after-tool-mistral", checks, good, bad });
    cases
}

const fn small_png() -> &'static str {
    "iVBORw0KGgo="
}

/// The accepted number of images, and one more; for `image-side-many` 20 and 21.
fn images(dialect: Dialect, data: &str, rule: &'static str) -> Case {
    let count = match (rule, dialect) {
        ("image-side-many", _) | (_, B) => 20,
        (_, A | P) => 100,
        (_, C | R) => 500,
        (_, G) => 3_000,
    };
    let image = match dialect {
        A => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
        ),
        C => format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#),
        R => format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
        P => format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#),
        G => format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
        B => format!(r#"{{"image":{{"format":"png","source":{{"bytes":"{data}"}}}}}}"#),
    };
    let body = |count: usize| {
        let images = vec![image.as_str(); count].join(",");
        match dialect {
            R => format!(r#"{{"input":[{{"role":"user","content":[{images}]}}]}}"#),
            G => format!(r#"{{"contents":[{{"role":"user","parts":[{images}]}}]}}"#),
            _ => format!(r#"{{"messages":[{{"role":"user","content":[{images}]}}]}}"#),
        }
    };
    Case { rule, checks: dialect.into(), good: body(count), bad: body(count + 1) }
}
