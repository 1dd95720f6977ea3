//! Amazon Bedrock Converse: `{"system":[…],"messages":[…]}`. The tools are the host's (`toolConfig`).

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
            json.comma().lit(r#"{"text":"#).string(text).lit("}");
        }
        json.lit("],");
    }
    json.lit(r#""messages":["#);
}

/// One message object: results first, calls last.
pub(super) fn message(form: &Form<'_>, json: &mut Json) {
    let role = match form.speaker {
        Speaker::User | Speaker::System => "user",
        Speaker::Assistant => "assistant",
    };
    json.comma().lit(r#"{"role":""#).lit(role).lit(r#"","content":["#);
    form.answers.iter().for_each(|answer| result(answer, json));
    form.pieces.iter().for_each(|piece| block(piece, json));
    json.lit("]}");
}

fn result(answer: &ResultForm<'_>, json: &mut Json) {
    json.comma().lit(r#"{"toolResult":{"toolUseId":"#).string(&answer.id).lit(r#","content":["#);
    answer.content.iter().for_each(|piece| block(piece, json));
    json.lit("]");
    if answer.is_error {
        json.lit(r#","status":"error""#);
    }
    json.lit("}}");
}

fn block(piece: &Piece<'_>, json: &mut Json) {
    match piece {
        Piece::Text(text) => json.comma().lit(r#"{"text":"#).string(text).lit("}"),
        Piece::Raw(raw) | Piece::RawThinking(raw) => json.comma().lit(raw),
        Piece::Thinking { text, signature } => json
            .comma()
            .lit(r#"{"reasoningContent":{"reasoningText":{"text":"#)
            .string(text)
            .lit(r#","signature":"#)
            .string(signature.unwrap_or_default())
            .lit("}}}"),
        Piece::Call { id, name, arguments, .. } => json
            .comma()
            .lit(r#"{"toolUse":{"toolUseId":"#)
            .string(id)
            .lit(r#","name":"#)
            .string(name)
            .lit(r#","input":"#)
            .lit(arguments)
            .lit("}}"),
        Piece::Image { mime, data } => json
            .comma()
            .lit(r#"{"image":{"format":""#)
            .lit(mime.strip_prefix("image/").unwrap_or(mime))
            .lit(r#"","source":{"bytes":""#)
            .lit(data)
            .lit(r#""}}}"#),
        // [`super::form`] never passes addresses to this dialect.
        Piece::ImageUrl(_) => json,
    };
}
