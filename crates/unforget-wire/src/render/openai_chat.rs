//! OpenAI Chat Completions: `{"messages":[…]}`.
//!
//! Two things differ by model. Models that replay reasoning get it as `reasoning_content`, and a placeholder beside
//! calls that have none (F056). Mistral requires an assistant message between results and a user (F061).

use unforget_core::message::Speaker;

use super::PLACEHOLDER;
use super::form::{Form, Piece, ResultForm};
use super::json::Json;
use crate::target::Family;

/// The opening and the system messages.
pub(super) fn head<'a>(texts: impl Iterator<Item = &'a str>, json: &mut Json) {
    json.lit(r#"{"messages":["#);
    for text in texts {
        json.comma().lit(r#"{"role":"system","content":"#).string(text).lit("}");
    }
}

/// The message objects: `tool` messages first, then the user's, or the assistant's.
pub(super) fn messages(form: &Form<'_>, json: &mut Json) {
    for answer in &form.answers {
        tool(answer, json);
    }
    if form.pieces.is_empty() {
        return;
    }
    let role = match form.speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::System => "system",
    };
    if form.speaker == Speaker::User
        && !form.answers.is_empty()
        && form.target.family == Some(Family::Mistral)
    {
        json.comma().lit(r#"{"role":"assistant","content":"#).string(PLACEHOLDER).lit("}");
    }
    json.comma().lit(r#"{"role":""#).lit(role).lit(r#"","content":"#);
    content(&form.pieces, json);
    let calls = form.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
    reasoning(form, calls, json);
    if calls {
        json.lit(r#","tool_calls":["#);
        for piece in &form.pieces {
            call(piece, json);
        }
        json.lit("]");
    }
    json.lit("}");
}

fn reasoning(form: &Form<'_>, calls: bool, json: &mut Json) {
    let thought = |piece: &Piece<'_>| match piece {
        Piece::Thinking { text, .. } => Some((*text).to_owned()),
        _ => None,
    };
    let texts: Vec<String> = form.pieces.iter().filter_map(thought).collect();
    if !texts.is_empty() {
        json.lit(r#","reasoning_content":"#).string(&texts.join("\n\n"));
    } else if calls && form.target.family.is_some_and(Family::replays_reasoning) {
        json.lit(r#","reasoning_content":"#).string(PLACEHOLDER);
    }
}

fn tool(answer: &ResultForm<'_>, json: &mut Json) {
    json.comma().lit(r#"{"role":"tool","tool_call_id":"#).string(&answer.id).lit(r#","content":"#);
    content(&answer.content, json);
    json.lit("}");
}

/// `null` without text, a string for one text, else an array of parts.
fn content(pieces: &[Piece<'_>], json: &mut Json) {
    let mut shown =
        pieces.iter().filter(|piece| !matches!(piece, Piece::Call { .. } | Piece::Thinking { .. }));
    match (shown.next(), shown.next()) {
        (None, _) => {
            json.lit("null");
        }
        (Some(Piece::Text(text)), None) => {
            json.string(text);
        }
        _ => {
            json.lit("[");
            for piece in pieces {
                part(piece, json);
            }
            json.lit("]");
        }
    }
}

/// A content part. Raw blocks are the client's own; thinking stands in its own field.
fn part(piece: &Piece<'_>, json: &mut Json) {
    match piece {
        Piece::Text(text) => json.comma().lit(r#"{"type":"text","text":"#).string(text).lit("}"),
        Piece::Image { mime, data } => json
            .comma()
            .lit(r#"{"type":"image_url","image_url":{"url":"data:"#)
            .lit(mime)
            .lit(";base64,")
            .lit(data)
            .lit(r#""}}"#),
        Piece::ImageUrl(url) => {
            json.comma().lit(r#"{"type":"image_url","image_url":{"url":"#).string(url).lit("}}")
        }
        Piece::Raw(raw) => json.comma().lit(raw),
        Piece::Call { .. } | Piece::Thinking { .. } | Piece::RawThinking(_) => json,
    };
}

fn call(piece: &Piece<'_>, json: &mut Json) {
    if let Piece::Call { id, name, arguments, .. } = piece {
        json.comma()
            .lit(r#"{"id":"#)
            .string(id)
            .lit(r#","type":"function","function":{"name":"#)
            .string(name);
        json.lit(r#","arguments":"#).string(arguments).lit("}}");
    }
}
