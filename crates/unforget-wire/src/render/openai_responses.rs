//! OpenAI Responses: `{"instructions":…,"input":[…]}`. Items carry no ids of the provider's store, so that none can
//! refer to a missing item (F058).

use unforget_core::message::Speaker;

use super::form::{Form, Piece, ResultForm};
use super::head::BodyHead;
use super::json::Json;

/// The instructions, joined by an empty line, and the opening of the input.
pub(super) fn head<'a>(texts: impl Iterator<Item = &'a str>, json: &mut Json) {
    let texts: Vec<&str> = texts.collect();
    json.lit("{");
    if !texts.is_empty() {
        json.lit(r#""instructions":"#).string(&texts.join("\n\n")).lit(",");
    }
    json.lit(r#""input":["#);
}

/// The items: outputs first, then messages, reasoning and calls in order.
pub(super) fn items(form: &Form<'_>, json: &mut Json) {
    for answer in &form.answers {
        output(answer, json);
    }
    let mut rest = form.pieces.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let shown = rest.iter().take_while(|piece| is_content(piece)).count();
        let (content, after) = rest.split_at(shown);
        if content.is_empty() {
            item(first, json);
            rest = others;
        } else {
            message(form.speaker, content, json);
            rest = after;
        }
    }
}

/// Whether a piece stands inside a message. Raw pieces are items, except for the client's own parts.
fn is_content(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Text(_) | Piece::Image { .. } | Piece::ImageUrl(_) => true,
        Piece::Raw(raw) => BodyHead::of(raw).is_some_and(|head| head.kind.starts_with("input_")),
        _ => false,
    }
}

fn message(speaker: Speaker, content: &[Piece<'_>], json: &mut Json) {
    let (role, kind) = match speaker {
        Speaker::User => ("user", "input_text"),
        Speaker::Assistant => ("assistant", "output_text"),
        Speaker::System => ("developer", "input_text"),
    };
    json.comma().lit(r#"{"type":"message","role":""#).lit(role).lit(r#"","content":["#);
    for piece in content {
        part(piece, kind, json);
    }
    json.lit("]}");
}

fn part(piece: &Piece<'_>, kind: &str, json: &mut Json) {
    match piece {
        Piece::Text(text) => {
            json.comma().lit(r#"{"type":""#).lit(kind).lit(r#"","text":"#).string(text).lit("}")
        }
        Piece::Image { mime, data } => json
            .comma()
            .lit(r#"{"type":"input_image","image_url":"data:"#)
            .lit(mime)
            .lit(";base64,")
            .lit(data)
            .lit(r#""}"#),
        Piece::ImageUrl(url) => {
            json.comma().lit(r#"{"type":"input_image","image_url":"#).string(url).lit("}")
        }
        Piece::Raw(raw) => json.comma().lit(raw),
        Piece::Call { .. } | Piece::Thinking { .. } | Piece::RawThinking(_) => json,
    };
}

fn item(piece: &Piece<'_>, json: &mut Json) {
    match piece {
        Piece::Raw(raw) | Piece::RawThinking(raw) => json.comma().lit(raw),
        Piece::Call { id, name, arguments, .. } => json
            .comma()
            .lit(r#"{"type":"function_call","call_id":"#)
            .string(id)
            .lit(r#","name":"#)
            .string(name)
            .lit(r#","arguments":"#)
            .string(arguments)
            .lit("}"),
        _ => json,
    };
}

/// A string for one text, else an array of parts.
fn output(answer: &ResultForm<'_>, json: &mut Json) {
    json.comma().lit(r#"{"type":"function_call_output","call_id":"#).string(&answer.id).lit(r#","output":"#);
    if let [Piece::Text(text)] = answer.content.as_slice() {
        json.string(text);
    } else {
        json.lit("[");
        for piece in &answer.content {
            part(piece, "input_text", json);
        }
        json.lit("]");
    }
    json.lit("}");
}
