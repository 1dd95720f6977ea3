//! Puts standing context back into a prompt that lacks it.

use std::borrow::Cow;

use unforget_core::standing::Share;

use super::context::{Context, Found};
use super::{is_instruction_text, is_words_of_user, joined, with_message};
use crate::Dialect;
use crate::exchange::quoted;

impl Context {
    /// The text of a piece, as far as it is put back; empty for [`Share::Out`]. A shortened text ends with a whole line
    /// and with the size of the missing rest.
    pub fn share(&self, index: usize, share: Share) -> Cow<'_, str> {
        let Some(text) = self.text(index) else { return Cow::Borrowed("") };
        match share {
            Share::Whole => text,
            Share::Out => Cow::Borrowed(""),
            Share::Begun(bytes) => Cow::Owned(begun(&text, usize::try_from(bytes).unwrap_or(usize::MAX))),
        }
    }

    /// Puts pieces back at the beginning of a prompt's messages, in order of arrival; whole pieces keep the client's
    /// bytes.
    ///
    /// | dialect | text of role `user` | instructions |
    /// |---|---|---|
    /// | Anthropic | the first blocks of the first message, which is the user's | a message behind the first ones of the user |
    /// | OpenAI | messages of their own before all others, grouped as they came | the same |
    ///
    /// * `shares` - indices of pieces and the share of each, ascending.
    ///
    /// Returns the number of blocks added to the first message (Anthropic).
    pub fn put_back(&self, dialect: Dialect, shares: &[(usize, Share)], messages: &mut Vec<String>) -> usize {
        let pieces: Vec<(&Found, String)> = shares
            .iter()
            .filter(|(_, share)| *share != Share::Out)
            .filter_map(|(index, share)| {
                let found = self.found.get(*index)?;
                let is_whole = *share == Share::Whole;
                Some((found, if is_whole { found.raw.clone() } else { quoted(&self.share(*index, *share)) }))
            })
            .collect();
        if dialect != Dialect::Anthropic {
            let made = grouped(&pieces, dialect);
            messages.splice(0..0, made);
            return 0;
        }
        let blocks = |is_user: bool| {
            let own = pieces.iter().filter(|(found, _)| (found.role == "user") == is_user);
            own.map(|(_, raw)| block(raw)).collect::<Vec<_>>()
        };
        let (words, instructions) = (blocks(true), blocks(false));
        if !words.is_empty() {
            in_first(messages, &words);
        }
        if !instructions.is_empty() {
            behind_first(messages, &instructions);
        }
        words.len()
    }
}

/// The beginning of a text, up to the last line end within this many bytes.
fn begun(text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes);
    let kept = text.get(..end).unwrap_or_default();
    let kept = kept.rfind('\n').and_then(|at| kept.get(..at)).unwrap_or(kept);
    format!("{kept}\n[{} more bytes of this text do not fit the window.]", text.len() - kept.len())
}

fn block(raw: &str) -> String {
    format!(r#"{{"type":"text","text":{raw}}}"#)
}

/// Messages of OpenAI's APIs: parts that arrived in one message share a message again.
fn grouped(pieces: &[(&Found, String)], dialect: Dialect) -> Vec<String> {
    let kind = if dialect == Dialect::OpenAiResponses { r#""type":"message","# } else { "" };
    let message = |group: &[(&Found, String)]| {
        let (first, raw) = group.first()?;
        let part = |(found, raw): &(&Found, String)| {
            format!(r#"{{"type":"{}","text":{raw}}}"#, found.part.as_deref().unwrap_or("text"))
        };
        let content = match first.part {
            None => raw.clone(),
            Some(_) => format!("[{}]", group.iter().map(part).collect::<Vec<_>>().join(",")),
        };
        Some(format!(r#"{{{kind}"role":"{}","content":{content}}}"#, first.role))
    };
    pieces.chunk_by(|one, next| one.0.message == next.0.message).filter_map(message).collect()
}

/// Puts blocks before those of the first message, if it is the user's; otherwise into a new message before it.
fn in_first(messages: &mut Vec<String>, blocks: &[String]) {
    let blocks = blocks.join(",");
    let first = messages.first().filter(|first| is_words_of_user(first));
    let with = first.and_then(|first| with_blocks(first, &blocks));
    match (messages.first_mut(), with) {
        (Some(first), Some(with)) => *first = with,
        _ => messages.insert(0, format!(r#"{{"role":"user","content":[{blocks}]}}"#)),
    }
}

/// A message with these blocks before its own.
fn with_blocks(message: &str, blocks: &str) -> Option<String> {
    let (content, own) = with_message(message, |object| {
        let content = object.get("content")?;
        let own = if content.is_str() {
            block(content.raw())
        } else {
            content.raw().strip_prefix('[')?.strip_suffix(']')?.trim().to_owned()
        };
        Some((content.range(), own))
    })??;
    let comma = if own.is_empty() { "" } else { "," };
    let (before, behind) = (message.get(..content.start)?, message.get(content.end..)?);
    Some(format!("{before}[{blocks}{comma}{own}]{behind}"))
}

/// Puts a message of instructions behind the user's first messages. There may be only one at a place.
fn behind_first(messages: &mut Vec<String>, blocks: &[String]) {
    let at = messages.iter().take_while(|message| is_words_of_user(message)).count();
    let made = format!(r#"{{"role":"system","content":[{}]}}"#, blocks.join(","));
    match messages.get_mut(at).filter(|next| is_instruction_text(next)) {
        Some(next) => {
            if let Some(both) = joined(&[&made, next]) {
                *next = both;
            }
        }
        None => messages.insert(at, made),
    }
}
