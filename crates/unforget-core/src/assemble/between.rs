//! Places instructions between messages, in dialects that allow them.

use std::borrow::Cow;

use crate::message::{Between, Message, Speaker};

/// The messages, with instructions at places that the dialect accepts.
///
/// Where the dialect accepts instructions only behind input, they wait for the next input and become one message;
/// instructions between two answers become input. More messages at the end leave the beginning unchanged, up to the
/// last input.
///
/// Cost: O(messages), and a copy of each message that moves or changes.
pub fn place<'a>(messages: impl IntoIterator<Item = &'a Message>, between: Between) -> Vec<Cow<'a, Message>> {
    let mut placed = Vec::new();
    let mut waiting: Option<Cow<'a, Message>> = None;
    for message in messages {
        match (between, message.speaker) {
            (Between::AsInput, Speaker::System) => placed.push(Cow::Owned(as_input(message))),
            (Between::BehindInput, Speaker::System) => match &mut waiting {
                Some(held) => {
                    held.to_mut().blocks.extend(message.blocks.iter().cloned());
                    held.to_mut().seqs.extend(&message.seqs);
                }
                None => waiting = Some(Cow::Borrowed(message)),
            },
            (_, speaker) => {
                if speaker == Speaker::Assistant {
                    release(&mut placed, waiting.take());
                }
                placed.push(Cow::Borrowed(message));
            }
        }
    }
    release(&mut placed, waiting);
    placed
}

/// Puts the waiting instructions behind the last input.
fn release<'a>(placed: &mut Vec<Cow<'a, Message>>, waiting: Option<Cow<'a, Message>>) {
    let Some(held) = waiting else { return };
    let is_behind = placed.last().is_some_and(|last| last.speaker == Speaker::User);
    placed.push(if is_behind { held } else { Cow::Owned(as_input(&held)) });
}

fn as_input(message: &Message) -> Message {
    Message { speaker: Speaker::User, ..message.clone() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::format_push_string, reason = "tests")]

    use super::*;
    use crate::message::Block;

    fn message(word: &str) -> Message {
        let speaker = match word.chars().next() {
            Some('u') => Speaker::User,
            Some('a') => Speaker::Assistant,
            _ => Speaker::System,
        };
        Message { speaker, blocks: vec![Block::Ours(word.into())], model: None, seqs: Vec::new() }
    }

    fn show(messages: &[Cow<'_, Message>]) -> String {
        let mut text = String::new();
        for message in messages {
            text += match message.speaker {
                Speaker::User => " U",
                Speaker::Assistant => " A",
                Speaker::System => " S",
            };
            for block in &message.blocks {
                if let Block::Ours(word) = block {
                    text += &format!(":{word}");
                }
            }
        }
        text.trim_start().to_owned()
    }

    #[test]
    fn place_table() {
        use Between::{Anywhere, AsInput, BehindInput};
        let table = [
            (AsInput, "u1 s1 a1", "U:u1 U:s1 A:a1", "the dialect knows none"),
            (Anywhere, "u1 a1 s1 u2", "U:u1 A:a1 S:s1 U:u2", "as it was"),
            (BehindInput, "u1 s1 a1 u2", "U:u1 S:s1 A:a1 U:u2", "as it was"),
            (BehindInput, "u1 s1", "U:u1 S:s1", "last"),
            (BehindInput, "a1 s1 u2 a2", "A:a1 U:u2 S:s1 A:a2", "behind the input that follows"),
            (BehindInput, "u1 s1 s2 u2 s3 a1", "U:u1 U:u2 S:s1:s2:s3 A:a1", "several are one"),
            (BehindInput, "u1 a1 s1 a2", "U:u1 A:a1 U:s1 A:a2", "between answers they are input"),
            (BehindInput, "s1 a1", "U:s1 A:a1", "at the beginning too"),
            (BehindInput, "u1 a1 s1", "U:u1 A:a1 U:s1", "and at the end"),
            (BehindInput, "", "", "nothing"),
        ];
        for (between, words, want, why) in table {
            let all: Vec<_> = words.split_whitespace().map(message).collect();
            assert_eq!(show(&place(&all, between)), want, "{why}: {words}");
        }
    }

    /// Placing the placed messages again changes nothing.
    #[test]
    fn placing_again_changes_nothing() {
        for number in 0..3_u32.pow(6) {
            let words = (0..6).map(|at| ["u", "a", "s"].get((number / 3_u32.pow(at) % 3) as usize).copied());
            let all: Vec<_> = words.flatten().map(message).collect();
            for between in [Between::AsInput, Between::BehindInput, Between::Anywhere] {
                let once = place(&all, between);
                let twice = place(once.iter().map(AsRef::as_ref), between);
                assert_eq!(show(&once), show(&twice), "{number}");
                let is_legal = |pair: &[Cow<'_, Message>]| match pair {
                    [before, here] if between == Between::BehindInput && here.speaker == Speaker::System => {
                        before.speaker == Speaker::User
                    }
                    _ => true,
                };
                assert!(once.windows(2).all(is_legal), "{}", show(&once));
            }
        }
    }
}
