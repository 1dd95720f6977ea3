//! Cache marks in messages: removed, read, placed again.
use proptest::prelude::*;
use unforget_wire::exchange::annotations::{MARKS_MAX, Mark, marks, place, place_behind, with, without};

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// A message of these blocks.
fn user(blocks: &[&str]) -> String {
    format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))
}

fn text(words: &str, is_marked: bool) -> String {
    let mark = if is_marked { format!(",{MARK}") } else { String::new() };
    format!(r#"{{"type":"text","text":"{words}"{mark}}}"#)
}

#[test]
fn without_table() {
    let table = [
        (format!(r#"{{"content":[{{"type":"text",{MARK}}}]}}"#), r#"{"content":[{"type":"text"}]}"#, "last"),
        (format!(r#"{{"content":[{{{MARK} , "a":1}}]}}"#), r#"{"content":[{"a":1}]}"#, "first"),
        (format!(r#"{{"content":[{{"a":1,{MARK},"b":2}}]}}"#), r#"{"content":[{"a":1,"b":2}]}"#, "between"),
        (format!(r#"{{"content":[{{{MARK}}}]}}"#), r#"{"content":[{}]}"#, "alone"),
        (format!(r#"{{"content":[{{{MARK},{MARK}}}]}}"#), r#"{"content":[{}]}"#, "twice"),
        (format!(r#"{{"content":"x",{MARK}}}"#), r#"{"content":"x"}"#, "on the message, as routers take it"),
        (
            format!(r#"{{"content":[{{"type":"tool_result","content":[{{"a":1,{MARK}}}],{MARK}}}]}}"#),
            r#"{"content":[{"type":"tool_result","content":[{"a":1}]}]}"#,
            "in a result",
        ),
        (
            format!(
                r#"{{"content":[{{"type":"document","source":{{"type":"content","content":[{{{MARK}}}]}}}}]}}"#
            ),
            r#"{"content":[{"type":"document","source":{"type":"content","content":[{}]}}]}"#,
            "in a document of blocks",
        ),
        (
            r#"{"content":[{"type":"input_text","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#.to_owned(),
            r#"{"content":[{"type":"input_text"}]}"#,
            "OpenAI's",
        ),
        (
            r#"{"type":"function_call_output","output":[{"prompt_cache_breakpoint":{"mode":"explicit"}}]}"#
                .to_owned(),
            r#"{"type":"function_call_output","output":[{}]}"#,
            "in an output",
        ),
        (
            r#"{"content":[{"\u0063ache_control":null,"a":"\u0000"}]}"#.to_owned(),
            r#"{"content":[{"a":"\u0000"}]}"#,
            "a key in escapes is the same key",
        ),
    ];
    for (message, want, why) in &table {
        assert_eq!(without(message), *want, "{why}: {message}");
    }
    let kept = [
        format!(r#"{{"content":[{{"type":"tool_use","input":{{{MARK}}}}}]}}"#),
        format!(r#"{{"tool_calls":[{{"function":{{{MARK}}}}}]}}"#),
        r#"{"content":"\"cache_control\":{}"}"#.to_owned(),
        format!("not json {MARK}"),
        format!("[{{{MARK}}}]"),
    ];
    for message in &kept {
        assert_eq!(without(message), message.as_str(), "content, not annotation");
        assert!(marks(message).is_empty());
    }
}

#[test]
fn marks_say_where() {
    let inner = format!(r#"{{"type":"tool_result","content":[{{"a":1}},{{{MARK}}}]}}"#);
    let message = user(&[&text("a", true), &inner]);
    let found = marks(&message);
    let paths: Vec<&[usize]> = found.iter().map(|mark| mark.path.as_slice()).collect();
    assert_eq!(paths, [&[0][..], &[1, 1]]);
    assert_eq!(found[0].value, r#"{"type":"ephemeral"}"#);
    assert_eq!(with(&without(&message), &found), message, "taken out and put back");
    assert!(marks(r#"{"content":[{"cache_control":null}]}"#).is_empty(), "null is none");
}

#[test]
fn the_mark_moves_to_the_newest_block() {
    let client = user(&[&text("a", false), &text("b", true)]);
    let thinking = r#"{"type":"thinking","thinking":"x","signature":"s"}"#;
    let table = [
        (vec![user(&[&text("s", false), &text("t", false)])], "0/1", "the last block"),
        (vec![user(&[&text("s", false), &text("", false)])], "0/0", "not an empty text"),
        (vec![user(&[&text("s", false), thinking])], "0/0", "not thinking"),
        (vec![user(&[&text("s", false)]), user(&[thinking])], "0/0", "else the message before"),
        (vec![r#"{"role":"user","content":"words"}"#.to_owned()], "", "a string has no block"),
        (vec![user(&[&text("old", true)]), user(&[&text("new", false)])], "1/0", "its own marks go"),
    ];
    for (sent, want, why) in table {
        let placed = place(&[&client], &sent, &|_| None, 0);
        let found: Vec<String> = placed
            .iter()
            .enumerate()
            .flat_map(|(at, message)| {
                marks(message).into_iter().map(move |mark| format!("{at}/{}", mark.path[0]))
            })
            .collect();
        assert_eq!(found.join(" "), want, "{why}");
    }
}

#[test]
fn marks_of_whole_messages_stay_and_the_newest_win() {
    let client: Vec<String> = (0..6).map(|at| user(&[&text(&at.to_string(), true)])).collect();
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let sent: Vec<String> = client.iter().map(|message| without(message).into_owned()).collect();
    let count = |taken| {
        let placed = place(&client, &sent, &Some, taken);
        placed.iter().map(|message| marks(message).len().to_string()).collect::<String>()
    };
    assert_eq!(count(0), "001111");
    assert_eq!(count(3), "000001");
    assert_eq!(count(9), "000000", "the client has more than the provider takes");
    let unmarked = [r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#];
    assert_eq!(place(&unmarked, &sent[..1], &|_| None, 0), sent[..1], "a client without marks gets none");
    let breakpoint = r#"{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#;
    let answer = r#"{"role":"assistant","content":[{"type":"text","text":"y"}]}"#.to_owned();
    let placed = place(&[breakpoint], std::slice::from_ref(&answer), &|_| None, 0);
    assert_eq!(placed, [answer], "OpenAI takes none in what the model wrote");
}

#[test]
fn one_more_mark_goes_behind_what_is_stable() {
    let summaries = || user(&[&text("pins", false), &text("s", false), &text("t", false)]);
    let end = || user(&[&text("new", true)]);
    let one = || vec![user(&[&text("s", false), &text("new", true)])];
    let table = [
        (vec![summaries(), end()], 2, 0, "0/1 1/0", "behind the second block"),
        (vec![summaries(), end()], 2, 2, "0/1 1/0", "the client has two: the fourth is free"),
        (vec![summaries(), end()], 2, 3, "1/0", "there is no room for a fifth"),
        (vec![summaries(), end()], 2, 9, "1/0", "nor for a tenth"),
        (vec![summaries(), end()], 0, 0, "1/0", "nothing is stable"),
        (vec![summaries(), end()], 4, 0, "1/0", "there is no such block"),
        (vec![user(&[&text("", false)]), end()], 1, 0, "1/0", "an empty text takes none"),
        (one(), 1, 0, "0/0 0/1", "in one message"),
        (one(), 2, 0, "0/1", "it has one there"),
        (vec![summaries(), user(&[&text("new", false)])], 2, 0, "", "a client without marks gets none"),
        (vec![], 2, 0, "", "no message"),
    ];
    for (sent, blocks, taken, want, why) in table {
        let mut placed = sent.clone();
        place_behind(&mut placed, blocks, taken);
        let found = placed.iter().enumerate().flat_map(|(at, message)| {
            marks(message).into_iter().map(move |mark| format!("{at}/{}", mark.path[0]))
        });
        assert_eq!(found.collect::<Vec<_>>().join(" "), want, "{why}");
        let bare = |messages: &[String]| messages.iter().map(|m| without(m).into_owned()).collect::<Vec<_>>();
        assert_eq!(bare(&placed), bare(&sent), "{why}: the rest is the same");
    }
}

#[test]
fn two_places_get_a_mark_each_while_there_is_room() {
    for (taken, want) in [(0, "0/0 0/1 1/0"), (1, "0/0 0/1 1/0"), (2, "0/1 1/0"), (3, "1/0")] {
        let mut placed =
            vec![user(&[&text("standing", false), &text("s", false)]), user(&[&text("new", true)])];
        place_behind(&mut placed, 2, taken);
        place_behind(&mut placed, 1, taken);
        let found = placed.iter().enumerate().flat_map(|(at, message)| {
            marks(message).into_iter().map(move |mark| format!("{at}/{}", mark.path[0]))
        });
        assert_eq!(found.collect::<Vec<_>>().join(" "), want, "{taken} marks outside the history");
    }
}

fn block() -> impl Strategy<Value = String> {
    let kinds = prop_oneof!["text|thinking|tool_use|document|input_text", Just("tool_result".to_owned())];
    let fields = proptest::collection::vec((0..6_u8, " ?"), 0..4);
    let leaf = (kinds.clone(), fields.clone()).prop_map(|(kind, fields)| object(&kind, &fields, None));
    leaf.prop_recursive(3, 12, 3, move |inner| {
        (kinds.clone(), fields.clone(), proptest::collection::vec(inner, 0..3))
            .prop_map(|(kind, fields, inner)| object(&kind, &fields, Some(&inner.join(", "))))
    })
}

fn object(kind: &str, fields: &[(u8, String)], inner: Option<&str>) -> String {
    let mut all: Vec<String> = fields
        .iter()
        .map(|(which, space)| match which {
            0 => format!("{space}{MARK}"),
            1 => format!("{space}\"prompt_cache_breakpoint\" : {{}}{space}"),
            2 => format!("\"type\":{kind:?}"),
            3 => "\"text\":\"w\"".to_owned(),
            _ => format!("\"x{space}\":[1]"),
        })
        .collect();
    all.extend(inner.map(|inner| format!("\"content\":[{inner}]")));
    all.push(format!("\"type\":{kind:?}"));
    format!("{{{}}}", all.join(","))
}

proptest! {
    /// Marks are outside the content: placing them changes nothing else, and the result is JSON.
    #[test]
    fn placing_changes_nothing_else(
        message in block(),
        other in block(),
        paths in proptest::collection::vec(proptest::collection::vec(0..3_usize, 0..4), 0..5),
        taken in 0..6_usize,
        blocks in 0..4_usize,
    ) {
        let bare = without(&message).into_owned();
        prop_assert_eq!(without(&bare), bare.as_str());
        prop_assert!(marks(&bare).is_empty());
        let key = "cache_control";
        let new: Vec<Mark> =
            paths.into_iter().map(|path| Mark { path, key, value: "{\"type\":\"x\"}".to_owned() }).collect();
        let marked = with(&message, &new);
        prop_assert_eq!(without(&marked), bare.as_str());
        prop_assert!(serde_json::from_str::<serde_json::Value>(&marked).is_ok(), "{}", marked);
        prop_assert!(marks(&marked).len() <= new.len());
        let again = with(&message, &marks(&message));
        prop_assert_eq!(marks(&again), marks(&message));

        let sent = vec![other.clone(), message.clone()];
        let placed = place(&[&message, &other], &sent, &|at| Some(1 - at), taken);
        let mut placed = placed;
        place_behind(&mut placed, blocks, taken);
        let total: usize = placed.iter().map(|message| marks(message).len()).sum();
        prop_assert!(total <= MARKS_MAX.saturating_sub(taken));
        for (placed, sent) in placed.iter().zip(&sent) {
            prop_assert_eq!(without(placed), without(sent));
        }
    }
}
