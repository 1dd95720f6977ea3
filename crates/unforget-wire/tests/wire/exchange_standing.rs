//! Standing context: found in bodies of known and unknown clients, and put back into prompts.
//!
//! The files in `standing/` have the form of requests of Claude Code 2.1.331, Codex 0.169.0, opencode 1.18.33 and pi
//! 0.73.1; their texts are ours.
use proptest::prelude::*;
use serde_json::{Value, json};
use unforget_core::standing::{Rank, Share, latest};
use unforget_wire::Dialect::{self, Anthropic, OpenAiChat, OpenAiResponses};
use unforget_wire::exchange::{Call, Context};

const CLAUDE_CODE: &str = include_str!("standing/claude_code.json");
const CODEX: &str = include_str!("standing/codex.json");
const OPENCODE: &str = include_str!("standing/opencode.json");
const PI: &str = include_str!("standing/pi.json");

fn context(dialect: Dialect, body: &str) -> Context {
    Call::read(dialect, body.as_bytes()).unwrap().context()
}

/// The valid pieces of a body: rank, topic, and a word of the text.
fn holding(context: &Context) -> Vec<(Rank, &'static str, String)> {
    let pieces = context.pieces();
    let text = |index: usize| context.text(index).unwrap().into_owned();
    latest(&pieces).into_iter().map(|index| (pieces[index].rank, pieces[index].topic, text(index))).collect()
}

#[track_caller]
fn check(got: &[(Rank, &'static str, String)], want: &[(Rank, &str, &str)]) {
    let short: Vec<_> = got.iter().map(|(rank, topic, _)| (*rank, *topic)).collect();
    assert_eq!(short, want.iter().map(|(rank, topic, _)| (*rank, *topic)).collect::<Vec<_>>());
    for ((_, _, text), (_, _, word)) in got.iter().zip(want) {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_body_of_claude_code() {
    use Rank::{Agents, Environment, Instructions, Other, Tools};
    let want = [
        (Environment, "environment", "/srv/kestrel"),
        (Environment, "model", "Sonnet"),
        (Tools, "tools", "CronCreate"),
        (Agents, "agents", "Explore"),
        (Agents, "skills", "verify"),
        (Environment, "context", "gitStatus"),
        (Environment, "date", "2026"),
        (Other, "other", "nobody knows"),
        (Other, "counter", "14900000"),
        (Instructions, "instructions", "twice"),
        (Tools, "tools", "NotebookEdit"),
    ];
    check(&holding(&context(Anthropic, CLAUDE_CODE)), &want);
}

#[test]
fn a_body_of_codex() {
    let want = [
        (Rank::Instructions, "instructions", "check-kestrel"),
        (Rank::Environment, "environment", "<cwd>"),
        (Rank::Environment, "permissions", "workspace-write"),
        (Rank::Environment, "environment", "2026-11-25"),
    ];
    check(&holding(&context(OpenAiResponses, CODEX)), &want);
    let whole = CODEX.replace(
        "  <current_date>2026-11-25",
        "  <cwd>/srv/osprey</cwd>\\n  <shell>zsh</shell>\\n  <current_date>2026-11-25",
    );
    let want = [want[0], want[2], (Rank::Environment, "environment", "zsh")];
    check(&holding(&context(OpenAiResponses, &whole)), &want);
}

#[test]
fn bodies_of_opencode_and_pi_have_all_in_their_instructions() {
    for (dialect, body) in [(Anthropic, OPENCODE), (OpenAiChat, PI)] {
        assert!(context(dialect, body).is_empty(), "{dialect:?}");
        let mut fixed = String::new();
        Call::read(dialect, body.as_bytes()).unwrap().fixed_text(&mut |text| fixed.push_str(text));
        assert!(fixed.contains("check-kestrel"), "{fixed}");
    }
}

#[test]
fn bodies_of_others_table() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let parts = |texts: &[&str]| {
        let parts: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"role": "user", "content": parts})
    };
    let answer = json!({"role": "assistant", "content": "yes"});
    let long = "x".repeat(40_000);
    let table = [
        (vec![user("q"), answer.clone(), user("q2")], vec![], "what was asked is history"),
        (
            vec![parts(&["rules", "q"]), answer.clone(), user("q2")],
            vec!["rules"],
            "parts before the question",
        ),
        (vec![user("rules"), user("q"), answer.clone()], vec!["rules"], "messages before it"),
        (vec![answer.clone(), parts(&["a", "b"])], vec![], "behind the first answer"),
        (vec![parts(&["a", "b"])], vec!["a"], "no answer yet"),
        (
            vec![user("q"), json!({"role": "system", "content": long}), answer.clone()],
            vec![&*long],
            "instructions that are too long to be fixed",
        ),
        (vec![json!({"role": "user", "content": 5}), json!({"role": "user"}), answer], vec![], "odd ones"),
    ];
    for (messages, want, why) in table {
        let body = json!({"model": "m", "messages": messages}).to_string();
        let context = context(OpenAiChat, &body);
        let got: Vec<String> =
            (0..context.pieces().len()).map(|index| context.text(index).unwrap().into_owned()).collect();
        assert_eq!(got, want, "{why}");
    }
    let partial = json!({"previous_response_id": "r", "input": [user("a"), user("b")]}).to_string();
    assert!(context(OpenAiResponses, &partial).is_empty(), "the beginning is not here");
}

/// All valid pieces of a body, put back into a prompt of these messages.
fn put_back(dialect: Dialect, body: &str, share: Share, prompt: &[Value]) -> Vec<Value> {
    let context = context(dialect, body);
    let shares: Vec<_> = latest(&context.pieces()).into_iter().map(|index| (index, share)).collect();
    let mut messages: Vec<String> = prompt.iter().map(Value::to_string).collect();
    context.put_back(dialect, &shares, &mut messages);
    messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

#[test]
fn it_is_put_back_in_the_form_of_the_dialect() {
    let answer = json!({"role": "assistant", "content": "a"});
    for content in [json!("summary"), json!([{"type": "text", "text": "summary"}])] {
        let made = put_back(
            Anthropic,
            CLAUDE_CODE,
            Share::Whole,
            &[json!({"role": "user", "content": content}), answer.clone()],
        );
        assert_eq!(made.len(), 2, "roles alternate");
        let blocks = made[0]["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 12);
        assert_eq!(blocks.last().unwrap(), &json!({"type": "text", "text": "summary"}), "behind it");
    }
    let made = put_back(Anthropic, CLAUDE_CODE, Share::Whole, std::slice::from_ref(&answer));
    assert_eq!((made.len(), &made[0]["role"]), (2, &json!("user")), "the first is the user's");
    let made = put_back(
        OpenAiResponses,
        CODEX,
        Share::Whole,
        &[json!({"role": "user", "content": "summary"}), answer],
    );
    let input: Value = serde_json::from_str::<Value>(CODEX).unwrap()["input"].clone();
    let bare = |mut item: Value| {
        item.as_object_mut().unwrap().remove("id");
        item
    };
    assert_eq!(made[0], bare(input[3].clone()), "the item as it came");
    assert_eq!(made[1]["role"], "developer");
    assert_eq!(made[1]["content"].as_array().unwrap().len(), 1, "only what stands");
    assert_eq!((&made[2], made.len()), (&bare(input[7].clone()), 5));
}

#[test]
fn instructions_are_put_back_as_instructions() {
    let long = "line of the environment\n".repeat(2_000);
    let (user, answer) =
        (json!({"role": "user", "content": "q"}), json!({"role": "assistant", "content": "a"}));
    let messages = json!([user, {"role": "system", "content": long}, answer]);
    let body = json!({"model": "m", "max_tokens": 9, "messages": messages}).to_string();
    let made = put_back(Anthropic, &body, Share::Begun(1_000), &[user.clone(), answer.clone()]);
    assert_eq!(made.len(), 3);
    assert_eq!((&made[0], &made[2], &made[1]["role"]), (&user, &answer, &json!("system")));
    let text = made[1]["content"][0]["text"].as_str().unwrap();
    let (kept, note) = text.rsplit_once('\n').unwrap();
    assert!(kept.ends_with("environment") && kept.len() <= 1_000 && long.starts_with(kept), "whole lines");
    assert_eq!(note, format!("[{} more bytes of this text do not fit the window.]", long.len() - kept.len()));
    let other = json!({"role": "system", "content": "later"});
    let made = put_back(Anthropic, &body, Share::Whole, &[user.clone(), other, answer.clone()]);
    assert_eq!((made.len(), made[1]["content"].as_array().unwrap().len()), (3, 2), "one message at a place");
    let made = put_back(OpenAiChat, &body, Share::Whole, &[user, answer]);
    assert_eq!(made[0], json!({"role": "system", "content": long}));
}

proptest! {
    /// For any input of a client, the put-back messages are JSON and show each valid text.
    #[test]
    fn what_is_put_back_is_shown(
        texts in proptest::collection::vec("(<system-reminder>)?\n?(# Environment|Contents of /a|\"\\\\|é)?[a-z]{0,3}(</system-reminder>)?", 1..6),
        answered in 0_usize..6, bytes in 0_u64..40, is_list in any::<bool>(), dialect in 0_usize..3,
    ) {
        let dialect = [Anthropic, OpenAiChat, OpenAiResponses][dialect];
        let key = if dialect == OpenAiResponses { "input" } else { "messages" };
        let kind = if dialect == OpenAiResponses { "input_text" } else { "text" };
        let message = |text: &String| {
            let content = if is_list { json!([{"type": kind, "text": text}]) } else { json!(text) };
            json!({"role": "user", "content": content})
        };
        let mut messages: Vec<Value> = texts.iter().map(message).collect();
        messages.insert(answered.min(messages.len()), json!({"role": "assistant", "content": "a"}));
        let body = json!({"model": "m", key: messages}).to_string();
        let context = context(dialect, &body);
        let pieces = context.pieces();
        let made = put_back(dialect, &body, Share::Whole, &[json!({"role": "user", "content": "s"})]);
        let made: Vec<String> = made.iter().map(Value::to_string).collect();
        let shown = Context::shown(made.iter().map(String::as_str));
        for index in latest(&pieces) {
            prop_assert!(shown.contains(&pieces[index].digest));
        }
        put_back(dialect, &body, Share::Begun(bytes), &[]);
    }
}
