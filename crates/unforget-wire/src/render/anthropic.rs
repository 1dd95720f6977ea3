//! Anthropic Messages: `{"system":[…],"messages":[…]}`.

use unforget_core::message::Speaker;

use super::form::{Form, Piece, ResultForm};
use super::json::Json;

/// System blocks and the opening of the messages.
pub(super) fn head<'a>(texts: impl Iterator<Item = &'a str>, json: &mut Json) {
    let mut texts = texts.peekable();
    json.lit("{");
    if texts.peek().is_some() {
        json.lit(r#""system":["#);
        for text in texts {
            json.comma().lit(r#"{"type":"text","text":"#).string(text).lit("}");
        }
        json.lit("],");
    }
    json.lit(r#""messages":["#);
}

/// One message object.
pub(super) fn message(form: &Form<'_>, json: &mut Json) {
    let role = match form.speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::System => "system",
    };
    json.comma().lit(r#"{"role":""#).lit(role).lit(r#"","content":["#);
    for answer in &form.answers {
        result(answer, json);
    }
    for piece in &form.pieces {
        block(piece, json);
    }
    json.lit("]}");
}

fn result(answer: &ResultForm<'_>, json: &mut Json) {
    json.comma().lit(r#"{"type":"tool_result","tool_use_id":"#).string(&answer.id);
    json.lit(r#","content":["#);
    for piece in &answer.content {
        block(piece, json);
    }
    json.lit("]");
    if answer.is_error {
        json.lit(r#","is_error":true"#);
    }
    json.lit("}");
}

fn block(piece: &Piece<'_>, json: &mut Json) {
    json.comma();
    match piece {
        Piece::Text(text) => json.lit(r#"{"type":"text","text":"#).string(text).lit("}"),
        Piece::Raw(raw) | Piece::RawThinking(raw) => json.lit(raw),
        Piece::Thinking { text, signature } => json
            .lit(r#"{"type":"thinking","thinking":"#)
            .string(text)
            .lit(r#","signature":"#)
            .string(signature.unwrap_or_default())
            .lit("}"),
        Piece::Call { id, name, arguments, .. } => json
            .lit(r#"{"type":"tool_use","id":"#)
            .string(id)
            .lit(r#","name":"#)
            .string(name)
            .lit(r#","input":"#)
            .lit(arguments)
            .lit("}"),
        Piece::Image { mime, data } => json
            .lit(r#"{"type":"image","source":{"type":"base64","media_type":""#)
            .lit(mime)
            .lit(r#"","data":""#)
            .lit(data)
            .lit(r#""}}"#),
        Piece::ImageUrl(url) => {
            json.lit(r#"{"type":"image","source":{"type":"url","url":"#).string(url).lit("}}")
        }
    };
}
