//! What the model says in a turn, and what becomes of it in the next.

use unforget_core::id::Seq;

use crate::clip::clip;
use crate::discourse::{Class, Point, answer, findings, overturns};
use crate::sections::{CORRECTED, Item, SectionKind, State};

/// Most causes that are kept of a turn whose end tells none, and of a span that ends before its turn does.
const FOUND_MAX: usize = 1;
const FOUND_OPEN_MAX: usize = 3;
/// Most bytes of the texts that make up an answer.
const ANSWER_BYTES: usize = 256 << 10;
/// Most characters of a correction.
const CORRECTION_CHARS: usize = 240;

/// The model's side of a conversation, turn by turn.
#[derive(Default)]
pub(super) struct Turn {
    /// The texts that nothing followed yet, and the first entry of them.
    last: Option<(Seq, String)>,
    /// Causes that were found on the way.
    found: Vec<(Seq, Point)>,
    /// What the answer said: the next message may overturn it.
    standing: Vec<(SectionKind, Item)>,
    /// What the answer asks at its end.
    question: Option<Item>,
    /// What the answer says is left to do.
    next: Vec<Item>,
    /// Whether the span has an answer or causes before the newest message.
    spoke: bool,
}

/// How a question of the model begins in a summary.
const ASKED: &str = "the model asked: ";

/// Items with the sections that they go to.
pub(super) type Told = Vec<(SectionKind, Item)>;

impl Turn {
    /// Takes in a text of the model.
    pub(super) fn said(&mut self, seq: Seq, text: &str) {
        match &mut self.last {
            Some((_, last)) if last.len() < ANSWER_BYTES => last.extend(["\n\n", text]),
            _ => self.last = Some((seq, text.to_owned())),
        }
    }

    /// What was said so far was no answer: a call followed, or somebody stopped it.
    pub(super) fn went_on(&mut self) {
        (self.question, self.next) = (None, Vec::new());
        let Some((seq, text)) = self.last.take() else { return };
        self.found.extend(findings(&text).into_iter().map(|point| (seq, point)));
        let excess = self.found.len().saturating_sub(FOUND_OPEN_MAX);
        self.found.drain(..excess);
    }

    /// The turn is over: reads its answer.
    pub(super) fn ends(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        if let Some((seq, text)) = self.last.take() {
            let read = answer(&text);
            self.next.clear();
            let explains = read.points.iter().any(|point| point.class == Class::Cause);
            // The last word on it is the answer's.
            found.drain(..if explains { found.len() } else { found.len().saturating_sub(FOUND_MAX) });
            self.question = read
                .question
                .map(|question| Item { state: State::Open, ..Item::new(format!("{ASKED}{question}"), seq) });
            for point in read.points {
                match point.class {
                    Class::Next => {
                        let words = format!("left to do, by the model's words: {}", point.text);
                        self.next.push(Item { state: State::Open, ..Item::new(words, seq) });
                    }
                    Class::Cause | Class::Choice => {
                        self.standing.push((SectionKind::Decisions, Item::new(point.text, seq)));
                    }
                    Class::Deed | Class::Denial | Class::Other => {
                        self.standing.push((SectionKind::Outcomes, Item::new(point.text, seq)));
                    }
                }
            }
        }
        self.spoke |= !(found.is_empty() && self.standing.is_empty());
        let causes =
            found.into_iter().map(|(seq, point)| (SectionKind::Decisions, Item::new(point.text, seq)));
        self.standing.splice(0..0, causes);
    }

    /// What stood, after a message that leaves it as it is.
    pub(super) fn settled(&mut self) -> Told {
        (self.question, self.next) = (None, Vec::new());
        std::mem::take(&mut self.standing)
    }

    /// What stood, after a message that takes the offer at its end.
    pub(super) fn agreed(&mut self, seq: Seq) -> Told {
        let question = self.question.take();
        let mut told = self.settled();
        let telling = |question: &Item| crate::discourse::is_offer(question.text.trim_start_matches(ASKED));
        if let Some(question) = question.filter(telling) {
            let offer = question.text.trim_start_matches(ASKED);
            let mut item = Item::new(format!("agreed to by a person: {}", clip(offer, 240)), seq);
            item.seqs.splice(0..0, question.seqs);
            told.push((SectionKind::Decisions, item));
        }
        told
    }

    /// What is left of what stood, after a message that corrects it, with the correction.
    ///
    /// One that stands first in a span corrects what stands before the span: it stays open until summaries are merged.
    pub(super) fn corrected(&mut self, seq: Seq, words: &str) -> Told {
        let told = self.settled();
        let texts: Vec<&str> = told.iter().map(|(_, item)| item.text.as_str()).collect();
        let mut gone = overturns(words, &texts).into_iter();
        let mut told: Told = told.into_iter().filter(|_| !gone.next().unwrap_or_default()).collect();
        let state = if self.spoke { State::Fact } else { State::Open };
        if words.split_whitespace().count() > 3 {
            let text = format!("{CORRECTED}\"{}\"", clip(words, CORRECTION_CHARS));
            told.push((SectionKind::Decisions, Item { state, ..Item::new(text, seq) }));
        }
        self.spoke = true;
        told
    }

    /// What is open at the end of the span.
    pub(super) fn open(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.next).into_iter().chain(self.question.take()).collect()
    }
}
