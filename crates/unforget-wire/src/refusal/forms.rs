//! The forms of error messages.
//!
//! A form is a message in lower case, without backticks, with `'` for every quote, one space for any white
//! space and without the full stop at its end. Its holes:
//!
//! | hole | stands for |
//! |---|---|
//! | `{limit}` `{sent}` `{in}` `{out}` `{over}` | a number, thousands separators allowed |
//! | `{end}` | a limit that is itself excluded |
//! | `{n}` | an irrelevant number |
//! | `{w}` | a word, up to the next space |
//! | `{..}` | anything, only at the end, and never in a form of an overflow |
//!
//! The whole message must match. Behind a form with figures, another sentence or parenthesis may follow.

mod table;

use super::{Breach, What};
use table::TABLES;

/// The meaning of a form or a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Overflow(What),
    Output,
    RateLimited,
    Overloaded,
    Auth,
    Quota,
    BadImage,
    ToolPairing,
    Invalid(Breach),
    NotFound,
    Policy,
    Server,
    /// A string above its limit; the parameter names the string.
    TooLong,
    /// An array above its limit.
    TooMany,
}

impl Class {
    /// Whether it means that something is too large.
    pub(super) const fn is_size(self) -> bool {
        matches!(self, Self::Overflow(_) | Self::TooLong | Self::TooMany)
    }
}

/// The numbers in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) limit: Option<u64>,
    pub(super) sent: Option<u64>,
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) over: Option<u64>,
}

/// The first form that matches a message.
///
/// Cost: O(forms + message); most forms fail at their first letters.
pub(super) fn find(message: &str) -> Option<(Class, Figures)> {
    let message = plain(message);
    TABLES.iter().find_map(|(class, forms)| {
        let figures = forms.iter().find_map(|form| fit(form, &message))?;
        Some((*class, figures))
    })
}

/// A message in the notation of forms.
fn plain(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for word in message.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        for c in word.chars().filter(|c| *c != '`') {
            text.push(if matches!(c, '"' | '’' | '‘' | '“' | '”') {
                '\''
            } else {
                c.to_ascii_lowercase()
            });
        }
    }
    text
}

/// The figures of a text, if it matches this form.
fn fit(form: &str, text: &str) -> Option<Figures> {
    let mut figures = Figures::default();
    let (mut form, mut text) = (form, text);
    loop {
        let (literal, rest) = form.split_once('{').unwrap_or((form, ""));
        text = text.strip_prefix(literal)?;
        let Some((hole, behind)) = rest.split_once('}') else { break };
        form = behind;
        if hole == ".." {
            return Some(figures);
        }
        let used = if hole == "w" { word(text, form)? } else { number(text)? };
        let (head, tail) = text.split_at_checked(used)?;
        take(&mut figures, hole, head);
        text = tail;
    }
    // With figures, the text before is the provider's own sentence; more may follow.
    let has_figures = figures != Figures::default();
    let behind = text.trim_start_matches('.');
    let may_follow = if behind.len() < text.len() { behind.starts_with(' ') } else { is_aside(text) };
    (behind.is_empty() || (has_figures && may_follow)).then_some(figures)
}

/// Whether a text is a parenthesis, or one that ends a sentence.
fn is_aside(text: &str) -> bool {
    let behind = text.strip_prefix(" (").and_then(|text| text.split_once(')')).map(|(_, behind)| behind);
    behind
        .map(|behind| behind.trim_start_matches(')'))
        .is_some_and(|text| text.is_empty() || text.starts_with('.'))
}

/// Length of the word at the start, up to a space or the punctuation that the form has next.
fn word(text: &str, form: &str) -> Option<usize> {
    let next = form.chars().next().filter(|c| !c.is_whitespace() && *c != '{');
    let length = text.find(|c: char| c == ' ' || Some(c) == next).unwrap_or(text.len());
    (1..=200).contains(&length).then_some(length)
}

/// Length of the number at the start.
fn number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut length = 0;
    while is_digit(length) || (length > 0 && bytes.get(length) == Some(&b',') && is_digit(length + 1)) {
        length += 1;
    }
    (1..=26).contains(&length).then_some(length)
}

/// Stores the number of a hole; a number that does not fit is ignored.
fn take(figures: &mut Figures, hole: &str, text: &str) {
    let number = text.replace(',', "").parse::<u64>().ok();
    match hole {
        "limit" => figures.limit = number,
        "end" => figures.limit = number.map(|number| number.saturating_sub(1)),
        "sent" => figures.sent = number,
        "in" => figures.input = number,
        "out" => figures.output = number,
        "over" => figures.over = number,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_as_they_are_matched() {
        for (class, forms) in TABLES {
            for form in *forms {
                let literal = form.replace("{w}", "w").replace(['{', '}'], "|");
                assert_eq!(plain(&literal), literal, "lower case, one space, ' and no backticks: {form}");
                assert!(!form.ends_with('.') || form.ends_with(".."), "no full stop: {form}");
                assert_eq!(form.matches("{..}").count(), usize::from(form.ends_with("{..}")), "{form}");
                let is_open = form.ends_with("{..}");
                assert!(!(is_open && matches!(class, Class::Overflow(_))), "an overflow fits whole: {form}");
            }
        }
    }

    #[test]
    fn every_form_fits_its_own_message_and_nothing_longer() {
        for (class, forms) in TABLES {
            for form in *forms {
                let message = form
                    .replace("{limit}", "4,096")
                    .replace("{end}", "4097")
                    .replace("{n}", "7")
                    .replace("{w}", "word")
                    .replace("{..}", "more");
                let message = ["{sent}", "{in}", "{out}", "{over}"]
                    .iter()
                    .fold(message, |message, hole| message.replace(hole, "5000"));
                let Some((found, figures)) = find(&message) else { panic!("no form fits {message}") };
                assert_eq!(found, *class, "another form is first: {message}");
                if form.contains("{limit}") || form.contains("{end}") {
                    assert_eq!(figures.limit, Some(4_096), "{message}");
                }
                if matches!(class, Class::Overflow(_)) {
                    assert_eq!(find(&format!("you said: {message}")), None, "a quotation: {message}");
                    assert_eq!(fit(form, &format!("{message} is not a tool")), None, "a name: {message}");
                }
            }
        }
    }

    #[test]
    fn numbers_table() {
        let table = [
            ("12", Some(2), "plain"),
            ("1,234,567 tokens", Some(9), "with separators"),
            ("12, 13", Some(2), "a comma that separates"),
            (",1", None, "a comma first"),
            ("", None, "nothing"),
            ("123456789012345678901234567", None, "no number is that long"),
        ];
        for (text, want, why) in table {
            assert_eq!(number(text), want, "{why}: {text}");
        }
    }
}
