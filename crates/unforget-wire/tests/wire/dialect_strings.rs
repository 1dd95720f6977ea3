//! For any order of roles in a history, every dialect accepts core's request, and nothing is lost.
use unforget_core::entry::{Entry, Role, Status};
use unforget_core::id::Seq;
use unforget_core::pair::OmissionReason;
use unforget_wire::{Checks, Dialect, Target, render, validate};

use crate::support::{History, call, entry, result, text};

/// A user, the model, a call, a result, a summary. All calls have one id.
const KINDS: [char; 5] = ['U', 'A', 'C', 'R', 'S'];

/// The word that identifies the entry in every form of the request.
fn word(kind: char, index: usize) -> String {
    format!("{kind}{index}x")
}

fn history(kinds: &[char]) -> History {
    let mut history = History::default();
    for (index, kind) in kinds.iter().enumerate() {
        let word = word(*kind, index);
        match kind {
            'U' => history.entry(entry(Role::User, vec![text(&word)])),
            'A' => history.entry(entry(Role::Assistant, vec![text(&word)])),
            'C' => history.entry(entry(Role::Assistant, vec![call("c", &format!(r#"{{"word":"{word}"}}"#))])),
            'R' => history.entry(entry(Role::Tool, vec![result("c", false, vec![text(&word)])])),
            _ => history.summary(&word),
        }
    }
    history
}

/// The string of roles with this number, in base 5 with `length` digits.
fn string(number: usize, length: u32) -> Vec<char> {
    (0..length).map(|digit| KINDS[number / 5_usize.pow(digit) % 5]).collect()
}

fn check(kinds: &[char], targets: &[Target]) {
    let (request, omitted) = history(kinds).request();
    let name: String = kinds.iter().collect();
    for target in targets {
        let body = render(&request, *target);
        assert_eq!(validate(&body, *target), Ok(()), "{name} {target:?}: {body}");
        for (index, kind) in kinds.iter().enumerate() {
            let times = body.matches(&word(*kind, index)).count();
            let left_out = |reason| omitted.contains(&(Seq(index as u64), reason));
            let orphan =
                *kind == 'R' && (left_out(OmissionReason::NoCall) || left_out(OmissionReason::SecondResult));
            assert_eq!(times, usize::from(!orphan), "{name}, {kind} at {index}, {target:?}: {body}");
        }
    }
}

/// Every string up to length 6, and every 1009th of lengths 7 and 8.
#[test]
fn f047_f049_f060_f061_every_order_of_roles_is_accepted_and_nothing_is_lost() {
    let mut targets: Vec<Target> = Dialect::ALL.map(Target::from).to_vec();
    for model in ["mistral-large", "deepseek-reasoner"] {
        targets.push(Target::of(Dialect::OpenAiChat, Some(model)));
    }
    let mut count = 0;
    for length in 0..=8 {
        for number in (0..5_usize.pow(length)).step_by(if length > 6 { 1_009 } else { 1 }) {
            check(&string(number, length), &targets);
            count += 1;
        }
    }
    println!("{count} strings in {} forms", targets.len());
}

/// F046: the seed's case. The model was stopped inside a call, but the host still wrote a result for it.
#[test]
fn f046_a_stopped_call_and_its_synthetic_result_both_go() {
    let mut history = History::default();
    history.entry(entry(Role::User, vec![text("go")]));
    let stopped = entry(Role::Assistant, vec![text("I will"), call("c", r#"{"pa"#)]);
    history.entry(Entry { status: Status::Aborted, ..stopped });
    history.entry(entry(Role::Tool, vec![result("c", true, vec![text("no result provided")])]));
    history.entry(entry(Role::User, vec![text("again")]));
    let (request, omitted) = history.request();
    for dialect in Dialect::ALL {
        let body = render(&request, dialect);
        assert_eq!(validate(&body, dialect), Ok(()), "{}: {body}", dialect.name());
        assert!(!body.contains("no result provided") && body.contains("I will"), "{body}");
    }
    assert_eq!(omitted, [(Seq(1), OmissionReason::CutOff), (Seq(2), OmissionReason::NoCall)]);
}

/// The bodies from the reports, each made the naive way, and our requests for these histories.
#[test]
fn f059_f066_what_bedrock_was_reported_to_refuse_is_sent_so_that_it_does_not() {
    let asked = r#"{"role":"user","content":[{"text":"go"}]}"#;
    let naive = |said: &str, answered: &str| {
        format!(
            r#"{{"messages":[{asked},{{"role":"assistant","content":[{said}]}},{{"role":"user","content":[{answered}]}}]}}"#
        )
    };
    let tool_use = r#"{"toolUse":{"toolUseId":"c","name":"read","input":{}}}"#;
    let tool_result = r#"{"toolResult":{"toolUseId":"c","content":[{"text":"1"}]}}"#;
    let silent = r#"{"toolResult":{"toolUseId":"c","content":[],"status":"error"}}"#;
    let done = || result("c", false, vec![text("1")]);
    let table = [
        (
            "calls-last",
            naive(&format!(r#"{tool_use},{{"text":"so"}}"#), tool_result),
            vec![call("c", "{}"), text("so")],
            vec![done()],
            "fast-agent#668: text behind a call",
        ),
        (
            "error-content",
            naive(tool_use, silent),
            vec![call("c", "{}")],
            vec![result("c", true, vec![])],
            "sample-multi-agent-orchestration-chat-on-agentcore#15: an error without content",
        ),
        (
            "call-id-unique",
            naive(&format!("{tool_use},{tool_use}"), &format!("{tool_result},{tool_result}")),
            vec![call("c", "{}"), call("c", "{}")],
            vec![done(), done()],
            "Cyber-AutoAgent-ng#72: two calls with one id",
        ),
        (
            "call-answered",
            naive(tool_use, r#"{"text":"go on"}"#),
            vec![call("c", "{}")],
            vec![],
            "fast-agent#668: a call that has no result",
        ),
        (
            "text-not-blank",
            naive(&format!(r#"{{"text":" \n"}},{tool_use}"#), tool_result),
            vec![text(" \n"), call("c", "{}")],
            vec![done()],
            "blank text",
        ),
        (
            "tools-defined",
            naive(tool_use, tool_result),
            vec![call("c", "{}")],
            vec![done()],
            "fast-agent#668: tools were used and are not defined",
        ),
    ];
    let checks = Checks { whole: true, ..Dialect::BedrockConverse.into() };
    let tools =
        r#"{"toolConfig":{"tools":[{"toolSpec":{"name":"read","inputSchema":{"json":{"type":"object"}}}}]},"#;
    for (rule, rejected, said, answered, why) in table {
        let found = validate(&rejected, checks).unwrap_err();
        assert!(found.iter().any(|violation| violation.rule == rule), "{why}: {found:?}");
        let mut history = History::default();
        history.entry(entry(Role::User, vec![text("go")]));
        history.entry(entry(Role::Assistant, said));
        if !answered.is_empty() {
            history.entry(entry(Role::Tool, answered));
        }
        let body = render(&history.request().0, Dialect::BedrockConverse);
        let whole = body.replacen('{', tools, 1);
        assert_eq!(validate(&whole, checks), Ok(()), "{why}: {whole}");
    }
}
