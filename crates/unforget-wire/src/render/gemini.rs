//! Gemini `generateContent`: `{"systemInstruction":{"parts":[…]},"contents":[…]}`.

use unforget_core::message::Speaker;

use super::form::{Form, Piece, ResultForm};
use super::json::Json;

/// The instructions and the opening of the contents.
pub(super) fn head<'a>(texts: impl Iterator<Item = &'a str>, json: &mut Json) {
    let mut texts = texts.peekable();
    json.lit("{");
    if texts.peek().is_some() {
        json.lit(r#""systemInstruction":{"parts":["#);
        for text in texts {
            json.comma().lit(r#"{"text":"#).string(text).lit("}");
        }
        json.lit("]},");
    }
    json.lit(r#""contents":["#);
}

/// One content: responses first, then the other parts.
pub(super) fn content(form: &Form<'_>, json: &mut Json) {
    let role = match form.speaker {
        Speaker::User | Speaker::System => "user",
        Speaker::Assistant => "model",
    };
    json.comma().lit(r#"{"role":""#).lit(role).lit(r#"","parts":["#);
    form.answers.iter().for_each(|answer| response(answer, json));
    form.pieces.iter().for_each(|piece| part(piece, json));
    json.lit("]}");
}

/// A response is an object: `output` with the tool's text, or `error`. [`super::form`] keeps images out of it.
fn response(answer: &ResultForm<'_>, json: &mut Json) {
    let text = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => Some(text.clone().into_owned()),
        _ => None,
    };
    let texts: Vec<String> = answer.content.iter().filter_map(text).collect();
    json.comma().lit(r#"{"functionResponse":{"id":"#).string(&answer.id);
    json.lit(r#","name":"#).string(&answer.name).lit(r#","response":{""#);
    json.lit(if answer.is_error { "error" } else { "output" }).lit(r#"":"#).string(&texts.join("\n"));
    json.lit("}}}");
}

fn part(piece: &Piece<'_>, json: &mut Json) {
    match piece {
        Piece::Text(text) => json.comma().lit(r#"{"text":"#).string(text).lit("}"),
        Piece::Raw(raw) | Piece::RawThinking(raw) => json.comma().lit(raw),
        Piece::Thinking { text, signature } => json
            .comma()
            .lit(r#"{"text":"#)
            .string(text)
            .lit(r#","thought":true,"thoughtSignature":"#)
            .string(signature.unwrap_or_default())
            .lit("}"),
        Piece::Call { id, name, arguments, proof } => {
            json.comma().lit(r#"{"functionCall":{"id":"#).string(id).lit(r#","name":"#).string(name);
            json.lit(r#","args":"#).lit(arguments).lit("}");
            if let Some(proof) = proof {
                json.lit(r#","thoughtSignature":"#).string(proof);
            }
            json.lit("}")
        }
        Piece::Image { mime, data } => json
            .comma()
            .lit(r#"{"inlineData":{"mimeType":""#)
            .lit(mime)
            .lit(r#"","data":""#)
            .lit(data)
            .lit(r#""}}"#),
        // [`super::form`] never passes addresses to this dialect.
        Piece::ImageUrl(_) => json,
    };
}
