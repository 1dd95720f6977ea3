//! A summary as typed sections, and its text encoding.

use std::fmt::Write as _;

use unforget_core::id::{Seq, Timestamp};

/// What a section of a summary tells. The order is the order of rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionKind {
    /// What people asked for, in order, with what became of it.
    Goal,
    /// What the model's answers say was done, and how it came out.
    Outcomes,
    /// Rules that people gave, verbatim.
    Constraints,
    /// What was decided or found, and why, verbatim.
    Decisions,
    /// Tools that were run: target and outcome.
    Actions,
    /// Files whose content was looked at.
    FilesRead,
    /// Files that were written or changed.
    FilesWritten,
    /// What failed.
    Errors,
    /// Requests and questions without an answer at the end of the span.
    OpenAsks,
    /// Identifiers: paths, hashes, URLs, versions, quantities.
    Anchors,
    /// The host's own summary of what came before one of the entries, in its words. Shown beside the summaries, once:
    /// the newest. An item with an author is about a branch that was left.
    HostSummary,
}

impl SectionKind {
    /// All kinds in order.
    pub const ALL: [Self; 11] = [
        Self::Goal,
        Self::Outcomes,
        Self::Constraints,
        Self::Decisions,
        Self::Actions,
        Self::FilesRead,
        Self::FilesWritten,
        Self::Errors,
        Self::OpenAsks,
        Self::Anchors,
        Self::HostSummary,
    ];

    /// The kind's name in the text encoding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Outcomes => "outcomes",
            Self::Constraints => "constraints",
            Self::Decisions => "decisions",
            Self::Actions => "actions",
            Self::FilesRead => "files-read",
            Self::FilesWritten => "files-written",
            Self::Errors => "errors",
            Self::OpenAsks => "open-asks",
            Self::Anchors => "anchors",
            Self::HostSummary => "host-summary",
        }
    }

    /// Most items of this kind that a merge keeps; the oldest go first.
    pub(crate) const fn items_max(self) -> usize {
        match self {
            Self::Anchors | Self::Actions => 120,
            _ => 80,
        }
    }
}

/// What became of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The item is a fact; nothing is to become of it.
    #[default]
    Fact,
    /// It was open at the end of the span.
    Open,
    /// It was answered, finished or mended within the span.
    Done,
    /// It was stopped or taken back.
    Cancelled,
}

impl State {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Fact, Self::Open, Self::Done, Self::Cancelled];

    /// Its name in the text encoding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Open => "open",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One thing that a summary tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The words. Secrets are already replaced by typed placeholders.
    pub text: String,
    /// The entries that it came from, ascending, at most [`Item::SEQS_MAX`].
    pub seqs: Vec<Seq>,
    /// What became of it.
    pub state: State,
    /// Who said it, where the host names authors.
    pub author: Option<String>,
}

impl Item {
    /// Most entries that one item names; the first and the newest are kept.
    pub const SEQS_MAX: usize = 4;

    /// An item that came from one entry.
    pub fn new(text: impl Into<String>, seq: Seq) -> Self {
        Self { text: text.into(), seqs: vec![seq], ..Self::default() }
    }

    /// Adds the sources of an equal item, and takes its state, which is newer.
    pub fn absorb(&mut self, newer: &Self) {
        self.state = newer.state;
        self.seqs.extend(&newer.seqs);
        self.seqs.sort_unstable();
        self.seqs.dedup();
        if self.seqs.len() > Self::SEQS_MAX {
            let cut = self.seqs.len() - (Self::SEQS_MAX - 1);
            self.seqs.drain(1..cut);
        }
    }
}

/// The items of one kind, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What they tell.
    pub kind: SectionKind,
    /// Never empty in a summary made by this crate.
    pub items: Vec<Item>,
}

/// What a summary stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first entry.
    pub first: Seq,
    /// The last entry.
    pub last: Seq,
    /// The earliest host time in the span, if the host gives times.
    pub from: Option<Timestamp>,
    /// The latest host time in the span.
    pub to: Option<Timestamp>,
}

/// A deterministic summary: descriptive, each item with the entries that it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// One line that says what this was about; empty if nobody said anything.
    pub title: String,
    /// What it stands for; `None` only for a summary of nothing.
    pub span: Option<Span>,
    /// At most one section per kind, in the order of [`SectionKind::ALL`].
    pub sections: Vec<Section>,
}

/// Why a stored summary could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line that was not understood, from 1.
    pub line: usize,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} of the summary is not understood", self.line)
    }
}

impl std::error::Error for ParseError {}

/// Stands, as the first request of a span, for the one that was open when the span began.
pub(crate) const EARLIER: &str = "the request from before these entries";

/// How a decision begins that is a person's correction of an answer. One that is open corrects what stands before its span.
pub(crate) const CORRECTED: &str = "corrected by a person: ";

/// First line of the encoding, with its version.
const HEADER: &str = "unforget-summary 1";

impl Summary {
    /// The items of one kind, oldest first; empty if there are none.
    pub fn items(&self, kind: SectionKind) -> &[Item] {
        self.sections.iter().find(|section| section.kind == kind).map_or(&[], |section| &section.items)
    }

    /// Whether it tells nothing: there was nothing but blanks, reasoning or injected text.
    pub fn is_blank(&self) -> bool {
        self.sections.iter().all(|section| section.items.is_empty())
    }

    /// Encodes the summary as lines of text, to be stored. [`Self::parse`] gives back an equal value.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\ntitle\t{}\n", escape(&self.title));
        if let Some(span) = &self.span {
            let time =
                |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), |time| time.0.to_string());
            let (from, to) = (time(span.from), time(span.to));
            _ = writeln!(text, "span\t{}\t{}\t{from}\t{to}", span.first, span.last);
        }
        for section in &self.sections {
            _ = writeln!(text, "{}", section.kind.name());
            for item in &section.items {
                let seqs: Vec<String> = item.seqs.iter().map(ToString::to_string).collect();
                let author = item
                    .author
                    .as_deref()
                    .map_or_else(|| "-".to_owned(), |author| format!("={}", escape(author)));
                _ = writeln!(
                    text,
                    "-\t{}\t{}\t{author}\t{}",
                    seqs.join(","),
                    item.state.name(),
                    escape(&item.text)
                );
            }
        }
        text
    }

    /// Reads what [`Self::to_text`] wrote.
    ///
    /// # Errors
    /// [`ParseError`] with the first line that is not understood.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut summary = Self::default();
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n').enumerate();
        if lines.next().map(|(_, line)| line) != Some(HEADER) {
            return Err(ParseError { line: 1 });
        }
        for (at, line) in lines {
            summary.read_line(line).ok_or(ParseError { line: at + 1 })?;
        }
        Ok(summary)
    }

    fn read_line(&mut self, line: &str) -> Option<()> {
        let mut fields = line.split('\t');
        match fields.next()? {
            "title" => self.title = unescape(fields.next()?)?,
            "span" => {
                let time = |field: &str| match field {
                    "-" => Some(None),
                    number => number.parse().ok().map(|time| Some(Timestamp(time))),
                };
                let first = Seq(fields.next()?.parse().ok()?);
                let last = Seq(fields.next()?.parse().ok()?);
                self.span =
                    Some(Span { first, last, from: time(fields.next()?)?, to: time(fields.next()?)? });
            }
            "-" => {
                let seqs = match fields.next()? {
                    "" => Vec::new(),
                    list => list.split(',').map(|seq| seq.parse().ok().map(Seq)).collect::<Option<_>>()?,
                };
                let name = fields.next()?;
                let state = State::ALL.into_iter().find(|state| state.name() == name)?;
                let author = match fields.next()? {
                    "-" => None,
                    author => Some(unescape(author.strip_prefix('=')?)?),
                };
                let text = unescape(fields.next()?)?;
                self.sections.last_mut()?.items.push(Item { text, seqs, state, author });
            }
            name => {
                let kind = SectionKind::ALL.into_iter().find(|kind| kind.name() == name)?;
                self.sections.push(Section { kind, items: Vec::new() });
            }
        }
        fields.next().is_none().then_some(())
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                't' => '\t',
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}
