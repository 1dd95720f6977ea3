//! What a model's words say beyond what it is about to do: what was done, found and decided, and why.
//!
//! A turn's last text weighs most, for it is written for the person who asked. What comes before is a model talking to
//! itself: of that only causes are taken. A heading, or a sentence that ends in a colon, says nothing alone: it goes before what
//! follows it. Nothing is reworded but for marks of emphasis, so that no identifier is made up here.

mod cues;
mod reply;
#[cfg(test)]
mod tests;

use crate::clip::{clip, one_line};
use crate::sentences::{Line, LineKind, prose, split_line};
use cues::{Label, is};
pub(crate) use reply::{Reply, overturns, reply};

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Why something is as it is.
    Cause,
    /// What was chosen, and over what.
    Choice,
    /// What was done or how it came out.
    Deed,
    /// What is not so, or does not work.
    Denial,
    /// What is left to do.
    Next,
    /// Anything else.
    Other,
}

/// A statement, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// What it is.
    pub(crate) class: Class,
    /// On one line, of at most [`POINT_CHARS`].
    pub(crate) text: String,
}

/// What the last text of a turn says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What it tells, in its order.
    pub(crate) points: Vec<Point>,
    /// What it asks at its end, with what it asks about.
    pub(crate) question: Option<String>,
}

/// Most characters of a statement.
pub(crate) const POINT_CHARS: usize = 280;
/// Most statements of one answer, of one that ends in a question, of its next steps, and of one text before it.
const POINTS_MAX: usize = 6;
const OFFER_POINTS_MAX: usize = 3;
const NEXT_MAX: usize = 3;
const FINDINGS_MAX: usize = 2;
/// Weight from which a statement is taken whatever else there is.
const WEIGHT_MIN: u32 = 3;

/// Reads the last text of a turn. Cost: linear.
pub(crate) fn answer(text: &str) -> Answer {
    let mut statements = Statements::of(text, Voice::Final);
    let question = statements.question.take();
    let mut weighed: Vec<(u32, usize)> = statements
        .found
        .iter()
        .enumerate()
        .map(|(at, found)| (found.weight(at == 0, question.is_some()), at))
        .filter(|(weight, _)| *weight > 0)
        .collect();
    weighed.sort_by_key(|(weight, at)| (std::cmp::Reverse(*weight), *at));
    let mut kept: Vec<usize> = Vec::new();
    let mut next = 0;
    for (weight, at) in weighed {
        let is_next = statements.found.get(at).is_some_and(|found| found.class == Class::Next);
        let max = if question.is_some() { OFFER_POINTS_MAX } else { POINTS_MAX };
        let fits = if is_next { next < NEXT_MAX } else { kept.len() - next < max };
        if fits && (weight >= WEIGHT_MIN || kept.len() < 2) {
            next += usize::from(is_next);
            kept.push(at);
        }
    }
    kept.sort_unstable();
    let points = kept.iter().filter_map(|at| statements.found.get(*at)).map(Statement::point).collect();
    Answer { points, question }
}

/// Reads a text that more work followed: its causes, the newest last. Cost: linear.
pub(crate) fn findings(text: &str) -> Vec<Point> {
    let found = Statements::of(text, Voice::Aside).found;
    let causes = found.iter().filter(|found| found.class == Class::Cause && !is(&cues::GUESS, &found.text));
    let mut points: Vec<Point> = causes.map(Statement::point).collect();
    points.drain(..points.len().saturating_sub(FINDINGS_MAX));
    points
}

/// Whether a question says what a person agrees to with `yes`.
pub(crate) fn is_offer(question: &str) -> bool {
    let words = question.split_whitespace().count();
    words > 5 && (words > 14 || is(&cues::EXACT, question) || !is(&cues::ASSURES, question))
}

/// Whether a text is the last of a turn.
#[derive(Clone, Copy, PartialEq)]
enum Voice {
    Final,
    Aside,
}

struct Statement {
    class: Class,
    text: String,
    /// It stands among things that were not done: options, examples.
    is_aside: bool,
}

impl Statement {
    /// How much it says. Zero is nothing.
    ///
    /// * `first` - whether it opens the text.
    /// * `offers` - whether the text ends in a question: what it would do is not done.
    fn weight(&self, first: bool, offers: bool) -> u32 {
        let would = is(&cues::WOULD, &self.text);
        let known = match self.class {
            Class::Cause => 6,
            Class::Choice => 5,
            Class::Deed | Class::Next => 4,
            Class::Denial => 3,
            Class::Other if is(&cues::EXACT, &self.text) => 2,
            Class::Other => 1,
        };
        match known {
            _ if self.is_aside && self.class != Class::Choice => 0,
            known if would && (offers || known < 5) => u32::from(known > 4),
            known if first => known + 1,
            known => known,
        }
    }

    fn point(&self) -> Point {
        Point { class: self.class, text: clip(&self.text, POINT_CHARS).into_owned() }
    }
}

/// Collects statements line by line.
struct Statements {
    voice: Voice,
    found: Vec<Statement>,
    question: Option<String>,
    /// What the next statement stands under.
    label: Option<Label>,
    /// Items of a list that stand under one label.
    items: Vec<String>,
}

impl Statements {
    fn of(text: &str, voice: Voice) -> Self {
        let mut statements =
            Self { voice, found: Vec::new(), question: None, label: None, items: Vec::new() };
        for line in prose(text) {
            statements.line(line);
        }
        statements.close_list();
        statements
    }

    fn line(&mut self, line: Line<'_>) {
        let text = one_line(&without_emphasis(line.text));
        match line.kind {
            LineKind::Heading => {
                self.close_list();
                let label = Label::of(&text);
                // `Root problem: the diff was incomplete` says it all.
                if label.says() {
                    self.state(&text);
                } else {
                    self.label = Some(label);
                }
            }
            // Details of an item.
            LineKind::Bullet { inner: true } => {}
            LineKind::Bullet { inner: false } => self.item(&text),
            LineKind::Prose => {
                self.close_list();
                let mut told = Vec::new();
                split_line(&text, &mut told);
                for sentence in told {
                    self.sentence(sentence);
                }
            }
        }
    }

    fn sentence(&mut self, sentence: &str) {
        self.question = None;
        if sentence.ends_with([':', '：']) {
            self.label = Some(Label::of(sentence));
        } else if sentence.ends_with(['?', '？']) {
            self.ask(sentence);
        } else {
            self.state(sentence);
        }
    }

    /// The question at the end, with what it is about if it does not say so itself.
    fn ask(&mut self, sentence: &str) {
        let about = self.found.iter().rev().find(|found| is(&cues::WOULD, &found.text) || found.is_aside);
        let about = about.or(self.found.last()).filter(|_| is(&cues::POINTS_BACK, sentence));
        let whole = about
            .map_or_else(|| sentence.to_owned(), |about| format!("{} {sentence}", clip(&about.text, 180)));
        self.question = Some(clip(&whole, POINT_CHARS).into_owned());
    }

    fn state(&mut self, sentence: &str) {
        if is(&cues::POINTER, sentence) {
            // `This is the actual root cause.`: what it was stands before it.
            if let Some(last) = self.found.last_mut() {
                last.class = Class::Cause;
            }
            return;
        }
        if is(&cues::EMPTY_CAUSE, sentence) {
            // `Now I see the problem.`: what it is comes next.
            self.label = Some(Label::cause());
            return;
        }
        if is(&cues::FILLER, sentence) || cues::is_narration(sentence) || cues::is_vague(sentence) {
            return;
        }
        let label = self.label.take();
        let class = cues::class(sentence, label.as_ref());
        let few = sentence.is_ascii() && sentence.split_whitespace().count() < 4;
        if few && class == Class::Other {
            self.label = label;
            return;
        }
        let is_aside = label.as_ref().is_some_and(Label::is_aside);
        let text = match label.as_ref().and_then(Label::prefix) {
            Some(prefix) => format!("{prefix}: {sentence}"),
            None => sentence.to_owned(),
        };
        self.label = label.filter(Label::lasts);
        self.found.push(Statement { class, text, is_aside });
    }

    fn item(&mut self, text: &str) {
        self.question = None;
        let mut told = Vec::new();
        split_line(text.trim_end_matches([':', '：']), &mut told);
        let mut told = told.into_iter().filter(|sentence| !sentence.ends_with(['?', '？']));
        if let Some(first) = told.next() {
            self.items.push(clip(first.trim_end_matches('.'), 200).into_owned());
        }
    }

    /// Makes statements of the items of a list: as many in one as fit, behind the label that they stand under.
    fn close_list(&mut self) {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return;
        }
        let label = self.label.take();
        let is_aside = label.as_ref().is_some_and(Label::is_aside);
        let mut prefix = label.as_ref().and_then(Label::prefix_of_list);
        let mut text = String::new();
        let mut class = Class::Other;
        let mut close = |text: &mut String, class: &mut Class| {
            let text = std::mem::take(text);
            if !text.is_empty() {
                self.found.push(Statement { class: *class, text, is_aside });
            }
            *class = Class::Other;
        };
        for item in items {
            if self.voice == Voice::Final && cues::is_narration(&item) {
                continue;
            }
            let length = text.chars().count() + item.chars().count() + 2;
            if !text.is_empty() && length > POINT_CHARS {
                close(&mut text, &mut class);
            }
            match (prefix.take(), text.is_empty()) {
                (Some(prefix), true) => text = format!("{prefix}: {item}"),
                (None, true) => text.clone_from(&item),
                _ => text.extend(["; ", &item]),
            }
            class = cues::stronger(class, cues::class(&item, label.as_ref()));
        }
        close(&mut text, &mut class);
    }
}

/// A line without the marks of bold text that stand around words.
fn without_emphasis(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("**") {
        plain.push_str(before);
        let opens = plain.chars().next_back().is_none_or(|c| c.is_whitespace() || "([\"'—–/".contains(c));
        let closes = after.chars().next().is_none_or(|c| c.is_whitespace() || ".,:;!?)]\"'—–/".contains(c));
        if !(opens || closes) {
            plain.push_str("**");
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}
