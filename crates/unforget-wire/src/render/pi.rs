//! pi and OpenClaw (pi-ai's `Context`): `{"systemPrompt":…,"messages":[…]}`.
//!
//! A request does not contain the time, API and cost of a message: times are 0, `api` and `provider` are `unknown`,
//! usage is 0.

use unforget_core::message::Speaker;

use super::form::{Form, Piece, ResultForm};
use super::json::Json;

const NO_USAGE: &str = concat!(
    r#""usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"#,
    r#""cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#
);

/// The system prompt, joined by an empty line, and the opening of the messages.
pub(super) fn head<'a>(texts: impl Iterator<Item = &'a str>, json: &mut Json) {
    let texts: Vec<&str> = texts.collect();
    json.lit("{");
    if !texts.is_empty() {
        json.lit(r#""systemPrompt":"#).string(&texts.join("\n\n")).lit(",");
    }
    json.lit(r#""messages":["#);
}

/// The message objects: `toolResult` messages first, then the user's, or the assistant's.
pub(super) fn messages(form: &Form<'_>, json: &mut Json) {
    for answer in &form.answers {
        tool_result(answer, json);
    }
    if form.pieces.is_empty() {
        return;
    }
    json.comma();
    match form.speaker {
        Speaker::User | Speaker::System => json.lit(r#"{"role":"user","content":["#),
        Speaker::Assistant => json.lit(r#"{"role":"assistant","content":["#),
    };
    form.pieces.iter().for_each(|piece| block(piece, json));
    json.lit("]");
    if form.speaker == Speaker::Assistant {
        let calls = form.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
        json.lit(r#","api":"unknown","provider":"unknown","model":"#)
            .string(form.model.unwrap_or("unknown"))
            .lit(",");
        json.lit(NO_USAGE).lit(r#","stopReason":""#).lit(if calls { "toolUse" } else { "stop" }).lit(r#"""#);
    }
    json.lit(r#","timestamp":0}"#);
}

fn tool_result(answer: &ResultForm<'_>, json: &mut Json) {
    json.comma().lit(r#"{"role":"toolResult","toolCallId":"#).string(&answer.id);
    json.lit(r#","toolName":"#).string(&answer.name).lit(r#","content":["#);
    answer.content.iter().for_each(|piece| block(piece, json));
    json.lit(r#"],"isError":"#).lit(if answer.is_error { "true" } else { "false" }).lit(r#","timestamp":0}"#);
}

fn block(piece: &Piece<'_>, json: &mut Json) {
    match piece {
        Piece::Text(text) => json.comma().lit(r#"{"type":"text","text":"#).string(text).lit("}"),
        Piece::Raw(raw) | Piece::RawThinking(raw) => json.comma().lit(raw),
        Piece::Thinking { text, signature } => {
            json.comma().lit(r#"{"type":"thinking","thinking":"#).string(text);
            if let Some(signature) = signature {
                json.lit(r#","thinkingSignature":"#).string(signature);
            }
            json.lit("}")
        }
        Piece::Call { id, name, arguments, .. } => json
            .comma()
            .lit(r#"{"type":"toolCall","id":"#)
            .string(id)
            .lit(r#","name":"#)
            .string(name)
            .lit(r#","arguments":"#)
            .lit(arguments)
            .lit("}"),
        Piece::Image { mime, data } => json
            .comma()
            .lit(r#"{"type":"image","data":""#)
            .lit(data)
            .lit(r#"","mimeType":""#)
            .lit(mime)
            .lit(r#""}"#),
        // [`super::form`] never passes addresses to this dialect.
        Piece::ImageUrl(_) => json,
    };
}
