//! A summary as typed sections, and its text encoding.

use std::fmt::Write as _;

use unforget_core::id::{Seq, Timestamp};

/// The topic of a summary's section. The order is the order of rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectionKind {
    /// People's requests, in order, with their outcome.
    Goal,
    /// Completed work and its outcome, according to the model's answers.
    Outcomes,
    /// People's rules, verbatim.
    Constraints,
    /// Decisions and findings of answers with their reasons, verbatim.
    Decisions,
    /// Causes that the model named on the way to an answer, verbatim.
    Causes,
    /// Tool runs: target and outcome.
    Actions,
    /// Files whose content was read.
    FilesRead,
    /// Files that were written or changed.
    FilesWritten,
    /// Failures.
    Errors,
    /// Requests and questions without an answer at the end of the span.
    OpenAsks,
    /// Identifiers: paths, hashes, URLs, versions, quantities.
    Anchors,
    /// The model's statements beside its main points, and on the way to an answer: for room that nothing else uses.
    Remarks,
    /// Identifiers that stand in outputs and that nobody named again: for room that nothing else uses.
    Sightings,
    /// Pieces of the entries in their own words, the most telling first: for room that nothing else uses.
    Excerpts,
    /// The model's text before a short request, in its words and lines: such a request means little alone. The item names
    /// the entry of the text first. Behind it stands the entry of the request, if one came.
    RepliedTo,
    /// Prose that a tool returned, in its lines: the text of an issue, a plan, a review, which the work at hand may follow. The
    /// newest one alone.
    Specs,
    /// The host's own summary of the history before one of the entries, in its words. Only the newest is shown, once,
    /// beside the summaries. An item with an author is about an abandoned branch.
    HostSummary,
}

impl SectionKind {
    /// All kinds in order.
    pub const ALL: [Self; 17] = [
        Self::Goal,
        Self::Outcomes,
        Self::Constraints,
        Self::Decisions,
        Self::Causes,
        Self::Actions,
        Self::FilesRead,
        Self::FilesWritten,
        Self::Errors,
        Self::OpenAsks,
        Self::Anchors,
        Self::Remarks,
        Self::Sightings,
        Self::Excerpts,
        Self::RepliedTo,
        Self::Specs,
        Self::HostSummary,
    ];

    /// The kind's name in the text encoding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Outcomes => "outcomes",
            Self::Constraints => "constraints",
            Self::Decisions => "decisions",
            Self::Causes => "causes",
            Self::Actions => "actions",
            Self::FilesRead => "files-read",
            Self::FilesWritten => "files-written",
            Self::Errors => "errors",
            Self::OpenAsks => "open-asks",
            Self::Anchors => "anchors",
            Self::Remarks => "remarks",
            Self::Sightings => "sightings",
            Self::Excerpts => "excerpts",
            Self::RepliedTo => "replied-to",
            Self::Specs => "specs",
            Self::HostSummary => "host-summary",
        }
    }

    /// Most items of this kind that a merge keeps; the oldest are dropped first.
    pub(crate) const fn items_max(self) -> usize {
        match self {
            Self::Anchors | Self::Actions | Self::Sightings | Self::Excerpts => 120,
            _ => 80,
        }
    }
}

/// The state of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// A fact, which cannot change its state.
    #[default]
    Fact,
    /// Open at the end of the span; of a rule, that it belongs to a request without an answer.
    Open,
    /// Answered, finished or mended within the span.
    Done,
    /// Stopped or taken back.
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

/// One item of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The text. Secrets are already replaced by typed placeholders.
    pub text: String,
    /// The entries of origin, ascending, at most [`Item::SEQS_MAX`].
    pub seqs: Vec<Seq>,
    /// Its state.
    pub state: State,
    /// The author, where the host names authors.
    pub author: Option<String>,
}

impl Item {
    /// Most entries named by one item; the first and the newest are kept.
    pub const SEQS_MAX: usize = 4;

    /// An item from one entry.
    pub fn new(text: impl Into<String>, seq: Seq) -> Self {
        Self { text: text.into(), seqs: vec![seq], ..Self::default() }
    }

    /// Adds the sources of an equal item and takes over its state, which is newer.
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
    /// Their topic.
    pub kind: SectionKind,
    /// Never empty in a summary made by this crate.
    pub items: Vec<Item>,
}

/// The span of a summary.
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

/// A deterministic summary: descriptive items, each with its entries of origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// One line about the subject; empty if nobody said anything.
    pub title: String,
    /// The entries that it stands for; `None` only for a summary of nothing.
    pub span: Option<Span>,
    /// At most one section per kind, in the order of [`SectionKind::ALL`].
    pub sections: Vec<Section>,
}

/// Why a stored summary could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The unintelligible line, from 1.
    pub line: usize,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} of the summary is not understood", self.line)
    }
}

impl std::error::Error for ParseError {}

/// Stands in a span's request list for the request that was already open when the span began.
pub(crate) const EARLIER: &str = "the request from before these entries";

/// Last word of a written file that was removed afterwards.
pub(crate) const REMOVED: &str = " removed";

/// First words of a decision that a person made with a word or two: what the answer before it offered.
pub(crate) const AGREED: &str = "agreed to by a person: ";
pub(crate) const CHOSEN: &str = "chosen by a person: ";

/// First words of a decision that is a person's correction of an answer. An open one corrects an answer before its
/// span.
pub(crate) const CORRECTED: &str = "corrected by a person: ";

/// Last words of a call whose result is not among the entries.
pub(crate) const NO_RESULT: &str = ": no result";

/// Most characters of a title.
pub(crate) const TITLE_CHARS: usize = 80;

/// The title of work on a file that nobody asked for by words.
pub(crate) fn title_of_file(path: &str) -> String {
    format!("work on {path}")
}

/// First line of the encoding, with its version.
const HEADER: &str = "unforget-summary 1";

impl Summary {
    /// The items of one kind, oldest first; possibly empty.
    pub fn items(&self, kind: SectionKind) -> &[Item] {
        self.sections.iter().find(|section| section.kind == kind).map_or(&[], |section| &section.items)
    }

    /// Whether its title says more than one of its files or calls.
    pub(crate) fn has_own_title(&self) -> bool {
        if self.title.is_empty() {
            return false;
        }
        let first = |kind| self.items(kind).first().map(|item| item.text.as_str());
        let told = first(SectionKind::FilesWritten).map(title_of_file).into_iter();
        let mut told = told.chain(first(SectionKind::Actions).map(str::to_owned));
        !told.any(|told| crate::clip::clip(&told, TITLE_CHARS) == self.title)
    }

    /// This summary without the items of one kind.
    #[must_use]
    pub fn without(&self, kind: SectionKind) -> Self {
        let kept = self.sections.iter().filter(|section| section.kind != kind).cloned();
        Self { title: self.title.clone(), span: self.span, sections: kept.collect() }
    }

    /// This summary without the calls whose result is not among its entries: for a span that ends wherever it was cut.
    #[must_use]
    pub fn without_pending(&self) -> Self {
        let mut kept = self.clone();
        for section in kept.sections.iter_mut().filter(|section| section.kind == SectionKind::Actions) {
            section.items.retain(|call| !call.text.ends_with(NO_RESULT));
        }
        kept.sections.retain(|section| !section.items.is_empty());
        kept
    }

    /// Whether it has no content: the entries held only blanks, reasoning or injected text.
    pub fn is_blank(&self) -> bool {
        self.sections.iter().all(|section| section.items.is_empty())
    }

    /// Encodes the summary as lines of text, for storing. [`Self::parse`] returns an equal value.
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

    /// Parses the output of [`Self::to_text`].
    ///
    /// # Errors
    /// [`ParseError`] with the first unintelligible line.
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
