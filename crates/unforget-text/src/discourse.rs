//! Extracts statements from a model's words: completed work, findings, decisions, and their reasons.
//!
//! A turn's last text weighs most, for it is written for the person who asked. In earlier texts the model talks to
//! itself, so only causes are taken from them. A heading, or a sentence that ends in a colon, means nothing alone: it
//! is put before the text that follows it. Nothing is reworded except for marks of emphasis, so that no identifier is
//! invented here.

mod cues;
mod open;
mod reply;
#[cfg(test)]
mod tests;

use crate::clip::{clip, one_line};
use crate::sentences::{Line, LineKind, prose, split_line};
pub(crate) use cues::is_intention;
use cues::{Label, is};
pub(crate) use open::open_items;
pub(crate) use reply::{Reply, is_again, option, overturns, refers, reply};

/// The kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The reason for a state of affairs.
    Cause,
    /// A choice, with the rejected alternative.
    Choice,
    /// Completed work, or its outcome.
    Deed,
    /// A denial: something is not so, or does not work.
    Denial,
    /// Remaining work.
    Next,
    /// Anything else.
    Other,
}

/// A statement and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// Its kind.
    pub(crate) class: Class,
    /// On one line, of at most [`POINT_CHARS`].
    pub(crate) text: String,
}

/// The content of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextPoints {
    /// Its main statements, in order.
    pub(crate) points: Vec<Point>,
    /// Its other statements about the work, in order.
    pub(crate) remarks: Vec<Point>,
    /// The question at its end, with its subject.
    pub(crate) question: Option<String>,
}

/// Most characters of a statement.
pub(crate) const POINT_CHARS: usize = 280;
/// Limits: statements of one answer, of an answer that ends in a question, next steps, and statements of an earlier
/// text.
const POINTS_MAX: usize = 6;
const OFFER_POINTS_MAX: usize = 3;
const NEXT_MAX: usize = 3;
const FINDINGS_MAX: usize = 2;
/// Limits of what a text says that it will do: fewest words, and most characters.
const PLAN_WORDS_MIN: usize = 6;
const PLAN_CHARS: usize = 240;
/// Weight from which a statement is always taken, and least weight of the first one.
const WEIGHT_MIN: u32 = 3;
const OPENING_MIN: u32 = 5;
/// Fewest words of a first sentence that answers.
const OPENING_WORDS_MIN: usize = 5;

/// Reads the last text of a turn. Cost: linear.
pub(crate) fn answer(text: &str) -> TextPoints {
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
    let left = statements.found.iter().enumerate().filter(|(at, _)| kept.binary_search(at).is_err());
    let remarks =
        left.map(|(_, found)| found).filter(|found| found.is_remark()).map(Statement::point).collect();
    TextPoints { points, remarks, question }
}

/// All statements of a text, in order, without narration. Cost: linear.
pub(crate) fn statements(text: &str) -> Vec<Point> {
    let found = Statements::of(text, Voice::Final).found;
    found.iter().filter(|statement| !statement.is_aside).map(Statement::point).collect()
}

/// Whether a statement is a supposition. Cost: linear.
pub(crate) fn is_guess(statement: &str) -> bool {
    is(&cues::GUESS, statement)
}

/// Reads a text that was followed by more work: as points its causes, the newest last. Cost: linear.
pub(crate) fn findings(text: &str) -> TextPoints {
    let found = Statements::of(text, Voice::Aside).found;
    let is_cause = |found: &&Statement| found.class == Class::Cause && !is_guess(&found.text);
    let mut points: Vec<Point> = found.iter().filter(is_cause).map(Statement::point).collect();
    points.drain(..points.len().saturating_sub(FINDINGS_MAX));
    let left = found.iter().filter(|found| found.is_remark()).map(Statement::point);
    let remarks = left.filter(|point| !points.contains(point)).collect();
    TextPoints { points, remarks, question: None }
}

/// The last thing that a text says it will do: its last sentence, or the list at its end behind the words above it. `None`
/// for a question, and where that is only a few words. Cost: linear.
pub(crate) fn plan(text: &str) -> Option<String> {
    let lines = prose(text);
    let items = lines.iter().rev().take_while(|line| matches!(line.kind, LineKind::Bullet { .. })).count();
    let (above, list) = lines.split_at(lines.len() - items);
    let above = above.last().map(|line| one_line(&without_emphasis(line.text))).unwrap_or_default();
    let mut sentences = Vec::new();
    split_line(&above, &mut sentences);
    let mut plan = sentences.last().map(|last| (*last).to_owned()).unwrap_or_default();
    for item in list.iter().filter(|item| item.kind == LineKind::Bullet { inner: false }) {
        let gap = if plan.is_empty() || plan.ends_with([':', '：']) { " " } else { "; " };
        plan.extend([gap, one_line(&without_emphasis(item.text)).trim_end_matches('.')]);
    }
    let plan = plan.trim_end_matches([':', '：']).trim();
    let is_telling = !plan.is_ascii() || plan.split_whitespace().count() >= PLAN_WORDS_MIN;
    (is_telling && !plan.ends_with(['?', '？'])).then(|| clip(plan, PLAN_CHARS).into_owned())
}

/// Whether a question says what a person would agree to with `yes`.
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
    /// Whether it stands among things that were not done: options, examples.
    is_aside: bool,
}

impl Statement {
    /// The weight of its content. Zero means none.
    ///
    /// * `first` - whether it opens the text.
    /// * `offers` - whether the text ends in a question: the proposed work is not done then.
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
            // A direct answer stands first, whatever its words; an exclamation is none.
            known if first && self.is_answer() => (known + 1).max(OPENING_MIN),
            known => known,
        }
    }

    /// Whether it says more than `You were right.` or `That's a good point!`.
    fn is_answer(&self) -> bool {
        let is_long = !self.text.is_ascii() || self.text.split_whitespace().count() >= OPENING_WORDS_MIN;
        is(&cues::EXACT, &self.text) || (is_long && !self.text.ends_with('!'))
    }

    /// Whether it says something about the work that a later reader may look for.
    fn is_remark(&self) -> bool {
        let tells = !matches!(self.class, Class::Other | Class::Next) || is(&cues::EXACT, &self.text);
        tells && !self.is_aside
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
    /// The label above the next statement.
    label: Option<Label>,
    /// Items of a list under one label.
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
                // A label such as `Root problem: the diff was incomplete` is complete in itself.
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
            let label = Label::of(sentence);
            // `I see the problem. Here is what happens:`: the second announces what the first did.
            let is_announced = label.is_empty() && self.label.as_ref().is_some_and(Label::is_cause);
            if !is_announced {
                self.label = Some(label);
            }
        } else if sentence.ends_with(['?', '？']) {
            self.ask(sentence);
        } else {
            self.state(sentence);
        }
    }

    /// The question at the end, with its subject if the question does not name it.
    fn ask(&mut self, sentence: &str) {
        let about = self.found.iter().rev().find(|found| is(&cues::WOULD, &found.text) || found.is_aside);
        let about = about.or(self.found.last()).filter(|_| is(&cues::POINTS_BACK, sentence));
        let whole = about
            .map_or_else(|| sentence.to_owned(), |about| format!("{} {sentence}", clip(&about.text, 180)));
        self.question = Some(clip(&whole, POINT_CHARS).into_owned());
    }

    fn state(&mut self, sentence: &str) {
        if is(&cues::POINTER, sentence) {
            // `This is the actual root cause.`: the cause stands before it.
            if let Some(last) = self.found.last_mut() {
                last.class = Class::Cause;
            }
            return;
        }
        if is(&cues::EMPTY_CAUSE, sentence) {
            // `Now I see the problem.`: the problem comes next. After `Let me see what is happening.` only a look does.
            self.label = (!is_guess(sentence)).then(Label::cause);
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

    /// Turns the items of a list into statements: as many per statement as fit, behind their label.
    fn close_list(&mut self) {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return;
        }
        let label = self.label.take();
        let is_aside = label.as_ref().is_some_and(|label| label.is_aside() || label.intends());
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

/// A line without marks of bold text around words.
pub(crate) fn without_emphasis(line: &str) -> String {
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
