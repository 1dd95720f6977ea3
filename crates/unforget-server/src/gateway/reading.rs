//! An answer read on its way, streamed or whole.

use unforget_wire::Dialect;
use unforget_wire::exchange::sse::{EVENT_MAX, Event, Splitter};
use unforget_wire::exchange::{ANSWER_MAX, Answer, Answered, Ended, Why};

/// See the module.
pub(super) enum Reading {
    Streamed { splitter: Splitter, answer: Box<Answer> },
    Whole { dialect: Dialect, body: Vec<u8>, is_too_large: bool },
}

impl Reading {
    pub(super) fn new(dialect: Dialect, is_streamed: bool) -> Self {
        if is_streamed {
            Self::Streamed { splitter: Splitter::new(EVENT_MAX), answer: Box::new(Answer::new(dialect)) }
        } else {
            Self::Whole { dialect, body: Vec::new(), is_too_large: false }
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Streamed { splitter, answer } => splitter.push(bytes, &mut |event| take(answer, event)),
            Self::Whole { body, is_too_large, .. } => {
                *is_too_large |= body.len() + bytes.len() > ANSWER_MAX;
                if !*is_too_large {
                    body.extend_from_slice(bytes);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Answered {
        match self {
            Self::Streamed { splitter, mut answer } => {
                splitter.finish(&mut |event| take(&mut answer, event));
                answer.finish()
            }
            Self::Whole { dialect, body, is_too_large } => {
                let mut answered = Answer::whole(dialect, &body);
                if is_too_large {
                    answered.ended = Ended::Interrupted(Why::TooLarge);
                }
                answered
            }
        }
    }
}

fn take(answer: &mut Answer, event: Event<'_>) {
    match event {
        Event::Message { name, data } => answer.event(name, data),
        Event::TooLarge => answer.lost(),
    }
}

/// Why an answer is not whole, for the log; `None` if it is.
pub(super) fn interrupted(answered: &Answered) -> Option<String> {
    match &answered.ended {
        Ended::Complete => None,
        Ended::Interrupted(Why::Cut) => Some("cut off".to_owned()),
        Ended::Interrupted(Why::TooLarge) => Some("too large".to_owned()),
        Ended::Interrupted(Why::Told(why)) => Some(why.clone()),
        Ended::Error(error) => Some(error.clone()),
    }
}
