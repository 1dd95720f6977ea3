//! Properties of every prompt and every journal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use unforget_core::admit::Rung;
use unforget_core::entry::Part;
use unforget_core::id::Seq;
use unforget_core::message::{Block, Message, Speaker};
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Assembled};
use unforget_wire::{Dialect, TAIL, journal, render_head, render_message, validate};

use crate::words::POISON;
use crate::words::{Kind, Msg, markers};

/// Fails the check with a message if the condition does not hold.
#[macro_export]
macro_rules! hold {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}

/// A message of a prompt.
struct Sent {
    /// Whether it is ours: a summary, a stub.
    is_ours: bool,
    is_of_user: bool,
    text: String,
}

fn sent(message: &str) -> Sent {
    let value: Value = serde_json::from_str(message).unwrap_or_default();
    let is_ours = value["customType"] == journal::OWN;
    let role = value["role"].as_str().unwrap_or_default();
    let is_open =
        matches!(role, "user" | "custom" | "tool" | "toolResult") || value["type"] == "function_call_output";
    Sent { is_ours, is_of_user: is_open, text: without_summaries(message) }
}

/// A message without our texts, which may quote other messages when joined with one.
fn without_summaries(message: &str) -> String {
    let mut text = message.to_owned();
    for (opens, closes) in
        [("<history-summary", "</history-summary>"), ("<history-ledger", "</history-ledger>")]
    {
        let all = std::mem::take(&mut text);
        let mut rest = all.as_str();
        while let Some((before, from)) = rest.split_once(opens) {
            text += before;
            rest = from.split_once(closes).map_or("", |(_, after)| after);
        }
        text += rest;
    }
    text
}

/// The request that a host makes of a prompt: pi turns our own messages into a user's, and new text is appended.
pub fn request(assembled: &Assembled, dialect: Dialect) -> String {
    let mut messages: Vec<String> =
        assembled.messages.iter().map(|message| projected(message, dialect)).collect();
    if assembled.messages.last().is_none_or(|last| !sent(last).is_of_user) {
        let words = Block::Part(Part::Text("go on".into()));
        let last = Message { speaker: Speaker::User, blocks: vec![words], model: None, seqs: Vec::new() };
        let last = render_message(&last, dialect);
        messages.push(if dialect == Dialect::Pi {
            last.replace(r#""timestamp":0"#, r#""timestamp":1"#)
        } else {
            last
        });
    }
    format!("{}{}{TAIL}", render_head(&assembled.system, dialect, true), messages.join(","))
}

fn projected(message: &str, dialect: Dialect) -> String {
    let mut value: Value = serde_json::from_str(message).unwrap_or_default();
    if dialect != Dialect::Pi || value["role"] != "custom" {
        return message.to_owned();
    }
    value["role"] = Value::from("user");
    value.to_string()
}

/// Whether a provider sees two messages as equal. Hosts omit times: our text before a conversation's first message
/// takes over the first message's time.
pub fn is_as(a: &str, b: &str) -> bool {
    let timeless = |text: &str| {
        let mut value: Value = serde_json::from_str(text).unwrap_or_default();
        value["timestamp"] = Value::Null;
        value
    };
    a == b || (sent(a).is_ours && timeless(a) == timeless(b))
}

/// Checks the properties of a prompt.
///
/// * `path` - the messages that it has to represent.
/// * `live` - the host's volatile input sent with the question.
pub fn prompt(ask: &Ask, assembled: &Assembled, path: &[Msg], live: &[Msg]) -> Result<(), String> {
    let certificate = &assembled.certificate;
    let story = || {
        let short: Vec<String> =
            assembled.messages.iter().map(|text| text.chars().take(160).collect()).collect();
        format!("on {:?} with {} of {}: {short:#?}", certificate.rung, assembled.tokens.upper, ask.budget)
    };
    hold!(certificate.proof.is_ok(), "I6 proof: {:?}", certificate.proof);
    hold!(assembled.tokens.upper <= ask.budget, "I10 budget: {} of {}", assembled.tokens.upper, ask.budget);
    let sections = certificate.sections.total();
    hold!(certificate.total == sections, "f068 sum: {:?} is not {sections:?}", certificate.total);
    hold!(assembled.tokens.upper >= sections.upper, "f068 sum: {:?} of {sections:?}", assembled.tokens);
    let body = request(assembled, ask.dialect);
    if let Err(found) = validate(&body, ask.dialect) {
        return Err(format!("I9 valid: {found:?} in {body}"));
    }
    let is_filler = |last: &String| last.contains("[no new input]");
    hold!(!assembled.messages.last().is_some_and(is_filler), "placeholder: {body}");
    let is_cut_off = |message: &&String| !sent(message).is_ours && message.contains("_x\"");
    let cut_off = assembled.messages.iter().find(is_cut_off);
    hold!(cut_off.is_none(), "f046 cut off: {cut_off:?}");
    let bad = POISON.iter().find(|poison| body.contains(**poison));
    hold!(bad.is_none(), "f026 shown: {bad:?} in {body}");
    let all: Vec<Sent> = assembled.messages.iter().map(|message| sent(message)).collect();
    only_the_path(&all, path).map_err(|what| format!("{what}; {}", story()))?;
    newest(&all, path, ask.dialect).map_err(|what| format!("{what}; {}", story()))?;
    tail(&all, assembled, path, ask.dialect).map_err(|what| format!("{what}; {}", story()))?;
    if certificate.rung <= Rung::ShortResults {
        for message in live {
            let count = count(&all, message, ask.dialect);
            hold!(count == 1, "f040 volatile: {count} times {:?}; {}", message.marker, story());
        }
    }
    Ok(())
}

/// Checks that nothing comes from another lane, an earlier generation or an abandoned branch, or in another order.
fn only_the_path(all: &[Sent], path: &[Msg]) -> Result<(), String> {
    let places: BTreeMap<&str, usize> = path
        .iter()
        .enumerate()
        .flat_map(|(at, message)| markers(&message.text).into_iter().map(move |marker| (marker, at)))
        .collect();
    let mut at = 0;
    for sent in all {
        for marker in markers(&sent.text) {
            let Some(place) = places.get(marker) else {
                return Err(format!("I18 leak: {marker} is not on the path"));
            };
            // Live input covered by a summary is repeated at the end. A result moves to its call.
            let is_free = |message: &Msg| matches!(message.kind, Kind::Volatile | Kind::Result);
            if !sent.is_ours && !has_summary(sent) && !path.get(*place).is_some_and(is_free) {
                hold!(*place >= at, "I2 order: {marker} comes too late");
                at = *place;
            }
        }
    }
    Ok(())
}

/// Whether a message contains a summary. Other dialects join our texts with messages.
fn has_summary(sent: &Sent) -> bool {
    sent.is_ours || sent.text.contains("expand ")
}

/// Number of occurrences of a message, except in our own texts.
fn count(all: &[Sent], message: &Msg, dialect: Dialect) -> usize {
    let Some(marker) = message.marker.as_deref() else { return 1 };
    let is_theirs = |sent: &&Sent| if dialect == Dialect::Pi { !sent.is_ours } else { true };
    let found = |sent: &Sent| markers(&sent.text).into_iter().filter(|one| *one == marker).count();
    all.iter().filter(is_theirs).map(found).sum()
}

fn newest(all: &[Sent], path: &[Msg], dialect: Dialect) -> Result<(), String> {
    let Some(newest) = path.iter().rfind(|message| message.kind == Kind::User) else { return Ok(()) };
    let count = count(all, newest, dialect);
    hold!(count == 1, "I11 newest: {count} times {:?}", newest.marker);
    Ok(())
}

/// Checks that every message without a summary is there exactly once.
fn tail(all: &[Sent], assembled: &Assembled, path: &[Msg], dialect: Dialect) -> Result<(), String> {
    let (cover, rung) = (&assembled.certificate.cover, assembled.certificate.rung);
    hold!(cover.total() == path.len() as u64, "I6 cover: {cover:?} of {} on {rung:?}", path.len());
    if rung != Rung::Assembled {
        return Ok(());
    }
    // In parts that are sent whole, nothing is missing.
    let is_whole = cover.verbatim == cover.total()
        && assembled.certificate.raised.shown() == 0
        && assembled.certificate.omitted.is_empty();
    // A summary covers one more message if a person's message among its entries is shown beside it.
    // What was put back is quoted in texts of ours.
    let covered = (cover.summarised + cover.elided + assembled.certificate.raised.shown()) as usize;
    let is_beside = |message: &Msg| message.kind == Kind::User && is_shown(all, message);
    let covered = covered + usize::from(path.iter().take(covered).any(is_beside));
    for message in path.iter().skip(covered) {
        if is_whole || matches!(message.kind, Kind::User | Kind::Volatile) {
            let count = count(all, message, dialect);
            hold!(count == 1, "I3 once: {count} times {:?}", message.marker);
        }
    }
    Ok(())
}

/// Whether a prompt contains a message itself.
fn is_shown(all: &[Sent], message: &Msg) -> bool {
    let value: Value = serde_json::from_str(&message.text).unwrap_or_default();
    let content = &value["content"];
    let words = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default();
    all.iter().any(|sent| !sent.is_ours && sent.is_of_user && sent.text.contains(words))
}

/// Checks the properties of a lane's journal.
///
/// * `acked` - all acknowledged messages, with their required number of occurrences.
/// * `sent` - all messages ever sent.
pub fn journal(
    engine: &Engine,
    key: &str,
    acked: &BTreeMap<String, usize>,
    sent: &BTreeSet<String>,
) -> Result<(), String> {
    let key = unforget_core::id::ConversationKey(key.to_owned());
    let Some(stored) = engine.store().find(&key).map_err(|error| error.to_string())? else {
        hold!(acked.is_empty(), "I1 export: nothing is stored");
        return Ok(());
    };
    let mut export = Vec::new();
    engine.export(stored.id, None, &mut export).map_err(|error| format!("I1 export: {error}"))?;
    let export = String::from_utf8(export).map_err(|_| "I1 export: not text".to_owned())?;
    let mut have: BTreeMap<String, usize> = BTreeMap::new();
    for (seq, line) in export.lines().enumerate() {
        if let Some(message) = journal::read_line(line.as_bytes()).message {
            hold!(sent.contains(&message), "I4 invented: #{} {message}", Seq(seq as u64));
            *have.entry(message).or_default() += 1;
        }
    }
    for (text, times) in acked {
        let found = have.get(text).copied().unwrap_or_default();
        hold!(found >= *times, "I1 kept: {found} of {times} times {text}");
    }
    Ok(())
}

/// Checks that the whole store verifies.
pub fn verified(engine: &Engine) -> Result<(), String> {
    let verified = engine.verify(&mut |_, _| ()).map_err(|error| format!("I5 verify: {error}"))?;
    hold!(verified.problems.is_empty(), "I5 verify: {:?}", verified.problems);
    Ok(())
}
