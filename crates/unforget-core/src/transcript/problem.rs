//! The problems that a transcript can have.

/// A pattern that makes a transcript toxic, or is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// The last line was cut off while being written.
    TornLine,
    /// A line, or a part of one, that is no record.
    BrokenLine,
    /// NUL bytes before a record.
    NulBytes,
    /// Several records on one line.
    GluedLine,
    /// The last record is whole but lacks its newline.
    NoNewline,
    /// A record repeated byte for byte.
    RepeatedRecord,
    /// Two different records with one id.
    ReusedId,
    /// A record whose parent does not stand before it.
    LostParent,
    /// A compaction that keeps everything from a missing record on.
    LostKept,
    /// A compaction that keeps a result but cut away its call.
    SplitPair,
    /// A result without a call before it.
    OrphanResult,
    /// A result of a call that was cut off: aborted, failed, or half written.
    ResultOfCutOff,
    /// A second result of one call.
    SecondResult,
    /// A result that does not follow its call.
    DisplacedResult,
    /// Two calls with one id.
    RepeatedCallId,
    /// A call without a result in a conversation that continued.
    OrphanCall,
    /// A call that was cut off and has no result.
    CutOffCall,
    /// A message without content.
    Blank,
    /// A call without a result at the end of its branch.
    RunningCall,
    /// A result that the host invented.
    SyntheticResult,
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Unusual but harmless.
    Note,
    /// Harmless until something else happens: the branch is resumed, the host fills a gap.
    Latent,
    /// The host silently misses a part of the history.
    Loss,
    /// Every later request is refused.
    Fatal,
}

impl Severity {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Latent => "latent",
            Self::Loss => "loss",
            Self::Fatal => "fatal",
        }
    }
}

/// One place where a problem shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The problem.
    pub problem: Problem,
    /// The record where it shows.
    pub record: usize,
    /// The call, id or parent concerned.
    pub name: Option<Box<str>>,
    /// Its severity.
    pub severity: Severity,
    /// Whether the plan mends it.
    pub is_mended: bool,
}

impl Problem {
    /// Every problem, in the order in which a reader of the file would meet them.
    pub const ALL: [Self; 20] = [
        Self::TornLine,
        Self::BrokenLine,
        Self::NulBytes,
        Self::GluedLine,
        Self::NoNewline,
        Self::RepeatedRecord,
        Self::ReusedId,
        Self::LostParent,
        Self::LostKept,
        Self::SplitPair,
        Self::OrphanResult,
        Self::ResultOfCutOff,
        Self::SecondResult,
        Self::DisplacedResult,
        Self::RepeatedCallId,
        Self::OrphanCall,
        Self::CutOffCall,
        Self::Blank,
        Self::RunningCall,
        Self::SyntheticResult,
    ];

    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TornLine => "torn-line",
            Self::BrokenLine => "broken-line",
            Self::NulBytes => "nul-bytes",
            Self::GluedLine => "glued-line",
            Self::NoNewline => "no-newline",
            Self::RepeatedRecord => "repeated-record",
            Self::ReusedId => "reused-id",
            Self::LostParent => "lost-parent",
            Self::LostKept => "lost-kept",
            Self::SplitPair => "split-pair",
            Self::OrphanResult => "orphan-result",
            Self::ResultOfCutOff => "result-of-cut-off-call",
            Self::SecondResult => "second-result",
            Self::DisplacedResult => "displaced-result",
            Self::RepeatedCallId => "repeated-call-id",
            Self::OrphanCall => "orphan-call",
            Self::CutOffCall => "cut-off-call",
            Self::Blank => "blank",
            Self::RunningCall => "running-call",
            Self::SyntheticResult => "synthetic-result",
        }
    }

    /// Description of the problem: lower case, no full stop.
    pub const fn what(self) -> &'static str {
        match self {
            Self::TornLine => "the last line was cut off while it was written",
            Self::BrokenLine => "bytes that are no record",
            Self::NulBytes => "NUL bytes in front of a record",
            Self::GluedLine => "two records on one line",
            Self::NoNewline => "no newline behind the last record",
            Self::RepeatedRecord => "the same record twice",
            Self::ReusedId => "two different records with one id",
            Self::LostParent => "the parent is not in front of the record",
            Self::LostKept => "a compaction keeps everything from a record on that is not on its path",
            Self::SplitPair => "a compaction keeps a result and cuts its call away",
            Self::OrphanResult => "a result without a call",
            Self::ResultOfCutOff => "a result of a call that was cut off",
            Self::SecondResult => "a second result of one call",
            Self::DisplacedResult => "a result that does not follow its call",
            Self::RepeatedCallId => "a call id that an earlier call has, too",
            Self::OrphanCall => "a call without a result",
            Self::CutOffCall => "a call that was cut off",
            Self::Blank => "a message without words",
            Self::RunningCall => "a call without a result at the end: it may be running",
            Self::SyntheticResult => "a result that the host made up",
        }
    }

    /// Consequence for the person whose session it is.
    pub const fn consequence(self) -> &'static str {
        match self {
            Self::TornLine => {
                "the host does not see it, and the next record is glued onto it and lost as well"
            }
            Self::BrokenLine => "the host skips it without a word, or stops reading there",
            Self::NulBytes => "the host cannot parse the line and does not see the record behind them",
            Self::GluedLine => "the host cannot parse the line and sees none of its records",
            Self::NoNewline => "the next record is glued onto the last line, and both are lost",
            Self::RepeatedRecord => "the host keeps the last copy; what counts records counts it twice",
            Self::ReusedId => "the host keeps only the last one; a path through both never ends",
            Self::LostParent => "the host stops there: everything before it is gone for the model",
            Self::LostKept => "the messages that the compaction meant to keep are not sent",
            Self::SplitPair | Self::OrphanResult | Self::ResultOfCutOff => {
                "every later request fails: Anthropic says unexpected tool_use_id found in tool_result blocks, \
                 OpenAI says no tool call found for function call output"
            }
            Self::SecondResult => {
                "every later request to Anthropic fails: each tool_use must have a single result"
            }
            Self::DisplacedResult => {
                "every later request fails: the call counts as unanswered and the result as unexpected"
            }
            Self::RepeatedCallId => "every later request to Anthropic fails: tool_use ids must be unique",
            Self::OrphanCall => "requests fail unless the host puts a result in its place when it sends",
            Self::CutOffCall => "as soon as the host puts a result behind it, every later request fails",
            Self::Blank => "providers that insist on words refuse it unless the host leaves it out",
            Self::RunningCall => "none while the host still works on it",
            Self::SyntheticResult => "the model believes that the tool gave nothing",
        }
    }

    /// The severity of the problem.
    ///
    /// * `is_active` - whether the record is part of the host's next request.
    pub const fn severity(self, is_active: bool) -> Severity {
        match self {
            Self::SplitPair
            | Self::OrphanResult
            | Self::ResultOfCutOff
            | Self::SecondResult
            | Self::DisplacedResult
            | Self::RepeatedCallId
                if is_active =>
            {
                Severity::Fatal
            }
            Self::LostParent | Self::LostKept if is_active => Severity::Loss,
            Self::TornLine | Self::NulBytes | Self::GluedLine | Self::ReusedId => Severity::Loss,
            Self::RepeatedRecord | Self::RunningCall | Self::SyntheticResult => Severity::Note,
            _ => Severity::Latent,
        }
    }
}
