//! Cuts passages into portions, each small enough for one call.

use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;

use crate::passage::Passage;

/// The content of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The passages, in their wrappers.
    pub text: String,
    /// The first entry in it.
    pub first: Seq,
    /// The last entry in it.
    pub last: Seq,
}

/// The room is too small for any portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model's window leaves only {room} tokens for its source, which is too few")]
pub struct NoRoom {
    /// The available room, in tokens.
    pub room: u64,
}

/// A passage, or a part of one.
struct Piece {
    seq: Seq,
    text: String,
    tokens: u64,
    is_output: bool,
}

/// Cuts passages into portions of at most `room` tokens by the ruler's upper bound, in order; without passages there
/// are no portions.
///
/// A passage that is too large is split between paragraphs, or else lines, sentences, words, characters. A portion
/// starts with a tool's output only if there is no better place nearby. Nothing is left out.
///
/// # Errors
/// [`NoRoom`] if not even one character in its wrapper fits.
///
/// Cost: linear in the text, some token counts per passage and portion.
pub fn portions(passages: &[Passage], room: u64, ruler: &dyn Ruler) -> Result<Vec<Portion>, NoRoom> {
    let mut pieces: Vec<Piece> = Vec::new();
    for passage in passages {
        let text = passage.text();
        let tokens = ruler.count(&text).upper;
        let (seq, is_output) = (passage.seq, passage.is_output());
        if tokens <= room {
            pieces.push(Piece { seq, text, tokens, is_output });
        } else {
            pieces.extend(split(passage, tokens, room, ruler)?);
        }
    }
    let mut found = Vec::new();
    let mut rest = pieces.as_slice();
    while !rest.is_empty() {
        let count = fitting(rest, room, ruler);
        let (head, tail) = rest.split_at(count.min(rest.len()).max(1));
        found.extend(portion(head));
        rest = tail;
    }
    Ok(found)
}

/// Number of leading pieces that fit into one portion.
fn fitting(pieces: &[Piece], room: u64, ruler: &dyn Ruler) -> usize {
    let mut sum = 0;
    let fits = |piece: &&Piece| {
        sum += piece.tokens + 1;
        sum <= room + 1
    };
    let mut count = pieces.iter().take_while(fits).count().max(1);
    // The sum is an estimate, since seams may cost tokens.
    while count > 1 {
        let text = pieces.get(..count).and_then(portion).map(|portion| portion.text).unwrap_or_default();
        if ruler.count(&text).upper <= room {
            break;
        }
        count -= 1;
    }
    let starts_badly = |at: usize| pieces.get(at).is_some_and(|piece| piece.is_output);
    (count / 2 + 1..=count).rev().find(|&at| !starts_badly(at)).unwrap_or(count)
}

fn portion(pieces: &[Piece]) -> Option<Portion> {
    let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    Some(Portion { text: texts.join("\n"), first: pieces.first()?.seq, last: pieces.last()?.seq })
}

/// The parts of a passage of `tokens`, each of which fits.
fn split(passage: &Passage, tokens: u64, room: u64, ruler: &dyn Ruler) -> Result<Vec<Piece>, NoRoom> {
    let body = passage.body();
    // Number of bytes that probably fit, reduced a little for the wrapper.
    let share = (body.len() as u64).saturating_mul(room) / tokens.max(1) * 7 / 8;
    let guess = usize::try_from(share).unwrap_or(usize::MAX).max(1);
    let mut parts = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let mut bytes = guess;
        loop {
            let end = boundary(rest, bytes);
            let (head, tail) = rest.split_at(end);
            // The longer of both forms must fit, so that either may be used.
            let text = passage.part(head, parts.len() + 1, true);
            let tokens = ruler.count(&text).upper;
            if tokens <= room {
                let text = if tail.is_empty() { passage.part(head, parts.len() + 1, false) } else { text };
                parts.push(Piece { seq: passage.seq, text, tokens, is_output: passage.is_output() });
                rest = tail;
                break;
            }
            if head.chars().nth(1).is_none() {
                return Err(NoRoom { room });
            }
            bytes = (end * 3 / 4).max(1);
        }
    }
    Ok(parts)
}

/// Where to cut `text` to at most `bytes`, but never to nothing: behind a paragraph, a line, a sentence or a word in
/// the second half, otherwise between characters.
fn boundary(text: &str, bytes: usize) -> usize {
    if text.len() <= bytes {
        return text.len();
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let mut end = bytes.max(first);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    let behind = |mark: &str| head.rfind(mark).map(|at| at + mark.len()).filter(|&at| at * 2 > head.len());
    ["\n\n", "\n", ". ", "。", " "].iter().find_map(|mark| behind(mark)).unwrap_or(end)
}
