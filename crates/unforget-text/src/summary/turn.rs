//! The model's statements in a turn, and the effect of the next message on them.

use unforget_core::id::Seq;

use crate::anchors::CUT;
use crate::clip::clip;
use crate::discourse::{Class, Point, TextPoints, answer, findings, option, overturns, plan};
use crate::outline::GAP;
use crate::sections::{AGREED, CHOSEN, CORRECTED, Item, SectionKind, State};

/// Most causes kept of a turn whose end names none, and of a span that ends inside a turn.
const FOUND_MAX: usize = 1;
const FOUND_OPEN_MAX: usize = 3;
/// Most bytes of the texts of one answer.
const ANSWER_BYTES: usize = 256 << 10;
/// Most characters of a correction, and of what a person agreed to or chose.
const CORRECTION_CHARS: usize = 240;
const OFFER_CHARS: usize = 240;

/// The model's side of a conversation, turn by turn.
#[derive(Default)]
pub(super) struct Turn {
    /// The texts that nothing has followed yet, with their first entry.
    last: Option<(Seq, String)>,
    /// Causes found in earlier texts of the turn.
    found: Vec<(Seq, Point)>,
    /// Other statements of the turn.
    remarks: Told,
    /// The answer's statements, which the next message may overturn.
    standing: Vec<(SectionKind, Item)>,
    /// The question at the answer's end.
    question: Option<Item>,
    /// The answer's text, in which a person may choose one of several things.
    offered: Option<(Seq, String)>,
    /// Remaining work, according to the answer.
    next: Vec<Item>,
    /// Whether the span has an answer or causes before the newest message.
    spoke: bool,
}

/// First words of a model's question in a summary.
const ASKED: &str = "the model asked: ";

/// Items with their target sections.
pub(super) type Told = Vec<(SectionKind, Item)>;

impl Turn {
    /// Takes a text of the model.
    pub(super) fn said(&mut self, seq: Seq, text: &str) {
        match &mut self.last {
            Some((_, last)) if last.len() < ANSWER_BYTES => last.extend(["\n\n", text]),
            _ => self.last = Some((seq, text.to_owned())),
        }
    }

    /// The texts so far were no answer: a call followed, or somebody stopped the model.
    ///
    /// * `changes` - whether the call changes a file: then a cause is worth little without what the model made of it.
    pub(super) fn went_on(&mut self, changes: bool) {
        (self.question, self.next) = (None, Vec::new());
        let Some((seq, text)) = self.last.take() else { return };
        let TextPoints { mut points, remarks, .. } = findings(&text);
        if changes
            && let Some(cause) = points.last_mut()
            && let Some(plan) = plan(&text).filter(|plan| !cause.text.contains(plan.trim_end_matches(CUT)))
        {
            cause.text.extend([GAP, &plan]);
        }
        self.found.extend(points.into_iter().map(|point| (seq, point)));
        self.remark(seq, remarks);
        let excess = self.found.len().saturating_sub(FOUND_OPEN_MAX);
        self.found.drain(..excess);
    }

    fn remark(&mut self, seq: Seq, remarks: Vec<Point>) {
        let items = remarks.into_iter().map(|point| (SectionKind::Remarks, Item::new(point.text, seq)));
        self.remarks.extend(items);
    }

    /// Ends the turn and reads its answer.
    pub(super) fn ends(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        self.offered = self.last.take();
        if let Some((seq, text)) = &self.offered {
            let (seq, read) = (*seq, answer(text));
            self.next.clear();
            let explains = read.points.iter().any(|point| point.class == Class::Cause);
            // The answer's own explanation supersedes earlier causes.
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
            self.remark(seq, read.remarks);
        }
        self.spoke |= !(found.is_empty() && self.standing.is_empty());
        let causes = found.into_iter().map(|(seq, point)| (SectionKind::Causes, Item::new(point.text, seq)));
        self.standing.splice(0..0, causes);
        self.standing.append(&mut self.remarks);
    }

    /// The last answer that no request has followed yet, with its first entry.
    pub(super) fn answer(&self) -> Option<(Seq, &str)> {
        self.offered.as_ref().map(|(seq, text)| (*seq, text.as_str()))
    }

    /// The standing statements, after a message that leaves them alone.
    pub(super) fn settled(&mut self) -> Told {
        (self.question, self.next) = (None, Vec::new());
        std::mem::take(&mut self.standing)
    }

    /// The standing statements, after a message that accepts the offer at the end.
    pub(super) fn agreed(&mut self, seq: Seq) -> Told {
        let question = self.question.take();
        let mut told = self.settled();
        let telling = |question: &Item| crate::discourse::is_offer(question.text.trim_start_matches(ASKED));
        if let Some(question) = question.filter(telling) {
            let offer = question.text.trim_start_matches(ASKED);
            let mut item = Item::new(format!("{AGREED}{}", clip(offer, OFFER_CHARS)), seq);
            item.seqs.splice(0..0, question.seqs);
            told.push((SectionKind::Decisions, item));
        }
        told
    }

    /// The standing statements, after a message that neither accepts nor corrects them. A word or two mean nothing without
    /// what they choose.
    pub(super) fn replied(&mut self, seq: Seq, words: &str) -> Told {
        let offered = self.offered.take();
        let mut told = self.settled();
        if let Some((at, text)) = offered
            && let Some(option) = option(&text, words)
        {
            told.push((SectionKind::Decisions, chosen(&option, at, seq)));
        }
        told
    }

    /// The remaining statements after a message that corrects them, with the correction.
    ///
    /// A correction at the start of a span concerns statements before the span: it stays open until summaries are
    /// merged.
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

    /// The open items at the end of the span.
    pub(super) fn open(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.next).into_iter().chain(self.question.take()).collect()
    }
}

/// What a person chose of an answer with a word or two.
///
/// * `at`, `seq` - the entries of the answer and of the choice.
pub(crate) fn chosen(option: &str, at: Seq, seq: Seq) -> Item {
    let mut item = Item::new(format!("{CHOSEN}{}", clip(option, OFFER_CHARS)), seq);
    item.seqs.insert(0, at);
    item
}
