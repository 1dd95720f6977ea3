//! Reasoning when the model changes, and when a provider checks its signatures.
use proptest::prelude::*;
use unforget_core::entry::{Part, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_wire::{Bound, Checks, Dialect, FakeSigner, Family, Target, losses, render, validate};

const SIGNATURE: &str = "U2lnbmF0dXJlT2ZUaGVQcm92aWRlcg==";

/// The models of the matrix and the dialect of each.
const MODELS: [(&str, Dialect); 8] = [
    ("claude-opus-4-5", Dialect::Anthropic),
    ("claude-sonnet-4-5", Dialect::Anthropic),
    ("gpt-5.5", Dialect::OpenAiResponses),
    ("o3", Dialect::OpenAiResponses),
    ("gemini-3-pro", Dialect::Gemini),
    ("deepseek-reasoner", Dialect::OpenAiChat),
    ("kimi-k2-thinking", Dialect::OpenAiChat),
    ("llama-4-70b", Dialect::OpenAiChat),
];

/// The reasoning that the column's model gets from the row's model: `s` signed, `t` as text, `-` nothing.
const WANT: [(&str, &str); 8] = [
    ("ss------", "same model, then same family"),
    ("ss------", "same family, then same model"),
    ("--ss----", "encrypted content is OpenAI's"),
    ("--ss----", "encrypted content is OpenAI's"),
    ("----s---", "thoughts and calls signed by Gemini"),
    ("-----t--", "reasoning_content wants to be passed back"),
    ("------t-", "reasoning_content wants to be passed back"),
    ("--------", "nothing signs it and nobody asks for it"),
];

/// Reasoning as the model's host stores it. Its text is never sent as the model's words.
fn thinking(model: &str) -> Part {
    let raw = match Family::of(model) {
        Family::Claude => format!(r#"{{"type":"thinking","thinking":"SECRET","signature":"{SIGNATURE}"}}"#),
        Family::OpenAi => format!(
            r#"{{"type":"reasoning","summary":[{{"type":"summary_text","text":"SECRET"}}],"encrypted_content":"{SIGNATURE}"}}"#
        ),
        Family::Gemini => format!(r#"{{"text":"SECRET","thought":true,"thoughtSignature":"{SIGNATURE}"}}"#),
        _ => return Part::Thinking { text: "SECRET".into(), signature: None, raw: None },
    };
    Part::Thinking { text: "SECRET".into(), signature: Some(SIGNATURE.into()), raw: Some(raw.into()) }
}

fn message(speaker: Speaker, model: Option<&str>, blocks: Vec<Block>) -> Message {
    Message { speaker, blocks, model: model.map(str::to_owned), seqs: Vec::new() }
}

fn text(text: &str) -> Block {
    Block::Part(Part::Text(text.to_owned()))
}

fn call(model: &str, id: &str) -> Block {
    let signed = format!(r#"{{"type":"toolCall","id":"{id}","thoughtSignature":"{SIGNATURE}"}}"#);
    let raw = (Family::of(model) == Family::Gemini).then(|| signed.into());
    Block::Call(ToolCall { id: id.into(), name: "read".into(), arguments: "{}".into(), complete: true, raw })
}

fn result(id: &str) -> Block {
    let content = vec![Part::Text("1".into())];
    let name = "read".into();
    Block::Result(ToolResult { call_id: id.into(), name, content, is_error: false, exit_code: None })
}

/// A session in the middle of a tool loop of the model's.
fn history(model: &str) -> Request {
    let messages = vec![
        message(Speaker::User, None, vec![text("hi")]),
        message(
            Speaker::Assistant,
            Some(model),
            vec![Block::Part(thinking(model)), text("ok"), call(model, "a")],
        ),
        message(Speaker::User, None, vec![result("a")]),
        message(Speaker::Assistant, Some(model), vec![Block::Part(thinking(model)), call(model, "b")]),
        message(Speaker::User, None, vec![result("b")]),
    ];
    Request { system: Vec::new(), messages }
}

#[test]
fn f053_f055_f056_f057_model_switch_matrix() {
    for ((from, _), (row, why)) in MODELS.into_iter().zip(WANT) {
        for ((to, dialect), want) in MODELS.into_iter().zip(row.chars()) {
            let (request, target) = (history(from), Target::of(dialect, Some(to)));
            let body = render(&request, target);
            let case = format!("{from} to {to}: {why}: {body}");
            assert_eq!(validate(&body, target), Ok(()), "{case}");
            assert_eq!(body.matches("SECRET").count(), if want == '-' { 0 } else { 2 }, "{case}");
            let calls = if want == 's' && dialect == Dialect::Gemini { 2 } else { 0 };
            let signed = if want == 's' { 2 + calls } else { 0 };
            assert_eq!(body.matches(SIGNATURE).count(), signed, "{case}");
            assert_eq!(losses(&request, target).len(), if want == '-' { 2 } else { 0 }, "{case}");
        }
    }
}

/// Hosts with a form of their own convert requests again: reasoning that they would turn into text must not reach them.
#[test]
fn f055_model_switch_in_pi_and_bedrock() {
    for (from, _) in MODELS {
        for (to, _) in MODELS {
            let same = Family::of(from) == Family::of(to);
            let request = history(from);
            for dialect in [Dialect::Pi, Dialect::BedrockConverse] {
                let target = Target::of(dialect, Some(to));
                let body = render(&request, target);
                assert_eq!(validate(&body, target), Ok(()), "{from} to {to}: {body}");
                let kept = same && (dialect == Dialect::Pi || Family::of(from) == Family::Claude);
                assert_eq!(body.contains("SECRET"), kept, "{from} to {to} in {}: {body}", dialect.name());
            }
        }
    }
}

/// Without a model's name nothing changes: the form of the block decides, as for whole transcripts.
#[test]
fn f055_without_a_model_the_form_decides() {
    for (from, dialect) in MODELS {
        let body = render(&history(from), dialect);
        let kept = dialect != Dialect::OpenAiChat;
        assert_eq!(body.contains(SIGNATURE), kept, "{from}: {body}");
    }
}

#[test]
fn f057_calls_that_gemini_did_not_sign_say_so() {
    let skip = r#""thoughtSignature":"skip_thought_signature_validator""#;
    let open = r#"{"id":"x","extra_content":{"google":{"thought_signature":"QUJDRA=="}}}"#;
    let table = [
        (None, "claude-opus-4-5", skip, "another model's call"),
        (None, "gemini-3-pro", skip, "the signature was lost on the way"),
        (
            Some(r#"{"thoughtSignature":"QUJDRA=="}"#),
            "gemini-3-pro",
            r#""thoughtSignature":"QUJDRA==""#,
            "pi's form",
        ),
        (
            Some(r#"{"thought_signature":"QUJDRA=="}"#),
            "gemini-3-pro",
            r#""thoughtSignature":"QUJDRA==""#,
            "snake case",
        ),
        (Some(open), "gemini-3-pro", r#""thoughtSignature":"QUJDRA==""#, "OpenAI's form of Gemini"),
        (Some(r#"{"thoughtSignature":"QUJDRA=="}"#), "claude-opus-4-5", skip, "a signature of another model"),
        (Some(r#"{"thoughtSignature":"no base64"}"#), "gemini-3-pro", skip, "a broken signature"),
    ];
    for (raw, model, want, why) in table {
        let mut request = history(model);
        for message in &mut request.messages {
            message.blocks.retain(|block| !matches!(block, Block::Part(Part::Thinking { .. })));
            for block in &mut message.blocks {
                if let Block::Call(call) = block {
                    call.raw = raw.map(Into::into);
                }
            }
        }
        let body = render(&request, Dialect::Gemini);
        assert_eq!(body.matches(want).count(), 2, "{why}: {body}");
        assert_eq!(validate(&body, Dialect::Gemini), Ok(()), "{why}: {body}");
    }
}

/// The provider's block, as a host stores it.
fn signed_block(dialect: Dialect, model: &str, thought: &str, body: &str, signer: FakeSigner) -> Part {
    let summary = format!(r#"[{{"type":"summary_text","text":"{thought}"}}]"#);
    let content = if dialect == Dialect::OpenAiResponses { summary.as_str() } else { thought };
    let proof = signer.sign(content, body, dialect);
    let raw = match dialect {
        Dialect::OpenAiResponses => {
            format!(r#"{{"type":"reasoning","summary":{summary},"encrypted_content":"{proof}"}}"#)
        }
        Dialect::Gemini => format!(r#"{{"text":"{thought}","thought":true,"thoughtSignature":"{proof}"}}"#),
        Dialect::Pi => {
            format!(r#"{{"type":"thinking","thinking":"{thought}","thinkingSignature":"{proof}"}}"#)
        }
        _ => format!(r#"{{"type":"thinking","thinking":"{thought}","signature":"{proof}"}}"#),
    };
    assert!(!model.is_empty());
    Part::Thinking { text: thought.into(), signature: Some(proof), raw: Some(raw.into()) }
}

/// A provider that checks its signatures accepts every request of a session that only grows. After a compaction, a
/// provider whose signatures cover the prefix refuses the kept tail until its reasoning is left out.
#[test]
fn f053_f054_a_provider_that_checks_its_signatures() {
    let providers = [
        (Dialect::Anthropic, "claude-opus-4-5"),
        (Dialect::OpenAiResponses, "gpt-5.5"),
        (Dialect::Pi, "claude-opus-4-5"),
        (Dialect::Gemini, "gemini-3-pro"),
        (Dialect::BedrockConverse, "claude-opus-4-5"),
    ];
    for (dialect, model) in providers {
        for bound in [Bound::Content, Bound::Prefix] {
            let signer = FakeSigner { bound, key: 11 };
            let target = Target::of(dialect, Some(model));
            let checks = Checks { signer: Some(signer), ..target.into() };
            let mut request = Request { system: vec!["be brief".into()], messages: Vec::new() };
            request.messages.push(message(Speaker::User, None, vec![text("hi")]));
            for turn in 0..30 {
                let body = render(&request, target);
                assert_eq!(validate(&body, checks), Ok(()), "{} turn {turn}", dialect.name());
                let thought = signed_block(dialect, model, &format!("thought {turn}"), &body, signer);
                let id = format!("call_{turn}");
                let call = Block::Call(ToolCall {
                    id: id.clone(),
                    name: "read".into(),
                    arguments: "{}".into(),
                    complete: true,
                    raw: None,
                });
                let said = vec![Block::Part(thought), text("so"), call];
                request.messages.push(message(Speaker::Assistant, Some(model), said));
                request.messages.push(message(Speaker::User, None, vec![result(&id)]));
            }
            // Compaction: a summary in place of the first twenty turns.
            request
                .messages
                .splice(0..41, [message(Speaker::User, None, vec![Block::Ours("[summary]".into())])]);
            let kept = validate(&render(&request, target), checks);
            assert_eq!(kept.is_ok(), bound == Bound::Content, "{}: {kept:?}", dialect.name());
            let wrong = kept.err().unwrap_or_default();
            assert!(wrong.iter().all(|found| found.rule == "signature-prefix"), "{wrong:?}");
            for message in &mut request.messages {
                message.blocks.retain(|block| !matches!(block, Block::Part(Part::Thinking { .. })));
            }
            assert_eq!(validate(&render(&request, target), checks), Ok(()), "{}", dialect.name());
        }
    }
}

/// Reasoning, text and a call, each optional.
fn any_answer() -> impl Strategy<Value = (usize, bool, bool, bool)> {
    (0..MODELS.len(), any::<bool>(), any::<bool>(), any::<bool>())
}

fn mixed(answers: &[(usize, bool, bool, bool)]) -> Request {
    let mut messages = vec![message(Speaker::User, None, vec![text("hi")])];
    for (turn, (model, thinks, speaks, calls)) in answers.iter().enumerate() {
        let (model, id) = (MODELS[*model].0, format!("call_{turn}"));
        let mut said = Vec::new();
        said.extend(thinks.then(|| Block::Part(thinking(model))));
        said.extend((*speaks || !calls).then(|| text("ok")));
        said.extend(calls.then(|| call(model, &id)));
        messages.push(message(Speaker::Assistant, Some(model), said));
        messages.push(message(Speaker::User, None, vec![if *calls { result(&id) } else { text("go on") }]));
    }
    Request { system: Vec::new(), messages }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// A session that moved from model to model is accepted by each of them, and none gets another's reasoning.
    #[test]
    fn f055_f056_f057_mixed_histories(answers in proptest::collection::vec(any_answer(), 1..8)) {
        let request = mixed(&answers);
        for (to, dialect) in MODELS {
            let target = Target::of(dialect, Some(to));
            let body = render(&request, target);
            prop_assert_eq!(validate(&body, target), Ok(()), "to {}: {}", to, body);
            let own = |model: usize| Family::of(MODELS[model].0) == Family::of(to) && to != "llama-4-70b";
            let want = answers.iter().filter(|(model, thinks, ..)| *thinks && own(*model)).count();
            prop_assert_eq!(body.matches("SECRET").count(), want, "to {}: {}", to, body);
        }
    }

    /// Wherever a history is cut and whatever reasoning is left out: no reasoning stands without its consequence, and
    /// no id of the provider's store is sent.
    #[test]
    fn f058_every_cut_of_a_responses_history(
        answers in proptest::collection::vec((Just(2_usize), any::<bool>(), any::<bool>(), any::<bool>()), 1..8),
        cut in 0_usize..8,
        left_out in any::<u8>(),
    ) {
        let mut request = mixed(&answers);
        let from = (cut * 2).min(request.messages.len() - 1);
        request.messages.splice(..=from, [message(Speaker::User, None, vec![text("[summary]")])]);
        for (index, message) in request.messages.iter_mut().enumerate() {
            if left_out >> (index / 2 % 8) & 1 == 1 {
                message.blocks.retain(|block| !matches!(block, Block::Part(Part::Thinking { .. })));
            }
        }
        let body = render(&request, Dialect::OpenAiResponses);
        prop_assert_eq!(validate(&body, Dialect::OpenAiResponses), Ok(()), "{}", body);
        prop_assert!(!body.contains(r#""id":"#), "{}", body);
    }
}
