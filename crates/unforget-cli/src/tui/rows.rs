//! What stands in the lists and at the right.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::broken_lines::pieces;
use crate::columns::cut;

/// What a text is, for its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Words.
    #[default]
    Plain,
    /// A heading.
    Head,
    /// What matters less.
    Dim,
    /// Of a person.
    Person,
    /// Of a model.
    Model,
    /// Of a tool.
    Tool,
    /// Code.
    Code,
    /// A good result, or a line that came.
    Good,
    /// A bad result, or a line that went.
    Bad,
    /// A break, or something to look at.
    Warn,
}

/// A line of a text. It is harmless, without tabs and ends of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TuiLine {
    /// What it is.
    pub(crate) kind: LineKind,
    /// The text.
    pub(crate) text: String,
}

impl TuiLine {
    /// A line of a text.
    pub(crate) fn new(kind: LineKind, text: impl AsRef<str>) -> Self {
        Self { kind, text: crate::text::harmless(text.as_ref()).replace('\t', "    ").replace('\n', " ") }
    }
}

/// The lines of a text, each of a kind.
pub(crate) fn text_lines(kind: LineKind, text: &str) -> Vec<TuiLine> {
    text.lines().map(|line| TuiLine::new(kind, line)).collect()
}

/// Where a row leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowTarget {
    /// Nowhere.
    #[default]
    None,
    /// To an entry of a conversation.
    Entry {
        /// Key of the conversation.
        key: String,
        /// The entry.
        seq: u64,
    },
    /// To a call of the open conversation, by its index.
    Call(usize),
    /// To a prompt of a conversation that was sent.
    Sent {
        /// Key of the conversation.
        key: String,
        /// Its number.
        number: u64,
    },
}

/// A row of the list in the middle. Its texts are harmless and on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TuiRow {
    /// What stands first, such as the number of an entry.
    pub(crate) lead: String,
    /// Who or what, in one word.
    pub(crate) who: String,
    /// Its colour.
    pub(crate) kind: LineKind,
    /// The text.
    pub(crate) text: String,
    /// Where it leads.
    pub(crate) target: RowTarget,
    /// What is shown at the right, where that is known with the row.
    pub(crate) about: Vec<TuiLine>,
}

/// How many entries a cell of the cover map stands for in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MapCell {
    /// Not for models, or on another path.
    Hidden,
    /// In a summary.
    Summary,
    /// One line stands for it.
    LeftOut,
    /// Shortened.
    Stub,
    /// Word for word.
    Whole,
}

impl MapCell {
    /// All of them, from the most to the least that is shown.
    pub(crate) const ALL: [Self; 5] = [Self::Whole, Self::Stub, Self::Summary, Self::LeftOut, Self::Hidden];

    /// Its sign in the map: it is read without colours too.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Whole => "█",
            Self::Stub => "▒",
            Self::Summary => "s",
            Self::LeftOut => "_",
            Self::Hidden => "·",
        }
    }

    /// What it means.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Whole => "word for word",
            Self::Stub => "shortened",
            Self::Summary => "in a summary",
            Self::LeftOut => "not sent",
            Self::Hidden => "not for models",
        }
    }

    /// Its colour.
    pub(crate) const fn kind(self) -> LineKind {
        match self {
            Self::Whole => LineKind::Good,
            Self::Stub => LineKind::Code,
            Self::Summary => LineKind::Model,
            Self::LeftOut => LineKind::Bad,
            Self::Hidden => LineKind::Dim,
        }
    }
}

/// Tokens of a class in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GaugeShare {
    /// Name of the class.
    pub(crate) name: &'static str,
    /// Expected tokens.
    pub(crate) tokens: u64,
}

/// A prompt: its use of the window, and what it shows of each entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallPanel {
    /// Tokens by class, in the order of the prompt.
    pub(crate) shares: Vec<GaugeShare>,
    /// Tokens that the call had for its input.
    pub(crate) room: u64,
    /// How each entry before the call is shown, oldest first.
    pub(crate) cells: Vec<MapCell>,
    /// Facts about it.
    pub(crate) facts: Vec<TuiLine>,
}

/// Lines broken to some columns of a terminal: between words where that is possible.
pub(crate) fn wrapped(lines: &[TuiLine], columns: usize) -> Vec<TuiLine> {
    let of = |line: &TuiLine| -> Vec<TuiLine> {
        let of_piece = |piece: Range<usize>| TuiLine {
            kind: line.kind,
            text: line.text.get(piece).unwrap_or_default().to_owned(),
        };
        pieces(&line.text, columns).into_iter().map(of_piece).collect()
    };
    lines.iter().flat_map(of).collect()
}

/// A text cut and padded to some columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let space = columns.saturating_sub(text.width());
    text + &" ".repeat(space)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn lines_are_harmless() {
        let line = TuiLine::new(LineKind::Plain, "a\u{1b}[2J\tb\u{202e}\u{9b}c\nd");
        assert_eq!(line.text, "a␛[2J    b<U+202E><U+009B>c d");
        assert_eq!(padded("修复测试", 5), "修复…");
        assert_eq!(padded("ab", 4), "ab  ");
    }
}
