//! A prompt and its certificate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unforget_core::admit::{Certificate, Cover, Sections};
use unforget_core::compact::Provisional;
use unforget_core::raised::RaisedCount;
use unforget_core::tokens::Tokens;
use unforget_engine::prompt::{Counters, Prompt, ShortPin};
use utoipa::ToSchema;

use super::{RunJson, Worked};

/// A request and its certificate.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromptJson {
    #[schema(value_type = Object)]
    request: Box<RawValue>,
    certificate: CertificateJson,
}

impl PromptJson {
    /// * `request` - the rendered request.
    pub fn new(request: String, certificate: CertificateJson) -> serde_json::Result<Self> {
        Ok(Self { request: RawValue::from_string(request)?, certificate })
    }
}

/// A pinned file that a request shows in part.
#[derive(Debug, Serialize, ToSchema)]
struct ShortPinJson {
    pin: u64,
    path: String,
    shown_bytes: usize,
    bytes: usize,
}

impl From<&ShortPin> for ShortPinJson {
    fn from(short: &ShortPin) -> Self {
        Self { pin: short.pin.0, path: short.path.clone(), shown_bytes: short.shown, bytes: short.bytes }
    }
}

/// A count: the expected value, and a bound for the true value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct TokensJson {
    /// Best guess.
    pub expected: u64,
    /// A bound for the true number.
    pub upper: u64,
}

impl From<Tokens> for TokensJson {
    fn from(tokens: Tokens) -> Self {
        Self { expected: tokens.expected, upper: tokens.upper }
    }
}

/// Sizes of the sections of a prompt. Their sum is the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct SectionsJson {
    /// Recorded system instructions and tools.
    system: TokensJson,
    /// Pinned rules.
    pins: TokensJson,
    /// Summaries and stubs.
    summaries: TokensJson,
    /// The ledger of tool work, for the span that the summaries cover.
    ledger: TokensJson,
    /// Entries that people put back.
    raised: TokensJson,
    /// The newest human message, carried out of a summary.
    carried: TokensJson,
    /// Entries sent verbatim or with stubs.
    tail: TokensJson,
    /// Framing between the pieces.
    frame: TokensJson,
}

impl From<Sections> for SectionsJson {
    fn from(sections: Sections) -> Self {
        Self {
            system: sections.system.into(),
            pins: sections.pins.into(),
            summaries: sections.summaries.into(),
            ledger: sections.ledger.into(),
            raised: sections.raised.into(),
            carried: sections.carried.into(),
            tail: sections.tail.into(),
            frame: sections.frame.into(),
        }
    }
}

/// How the entries of the path are represented, in numbers of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct CoverJson {
    /// Sent verbatim.
    verbatim: u64,
    /// Sent with large results stubbed or shortened.
    stubbed: u64,
    /// Represented by a summary.
    summarised: u64,
    /// Represented by one stub for a whole run.
    elided: u64,
}

impl From<Cover> for CoverJson {
    fn from(cover: Cover) -> Self {
        Self {
            verbatim: cover.verbatim,
            stubbed: cover.stubbed,
            summarised: cover.summarised,
            elided: cover.elided,
        }
    }
}

/// What a prompt shows of the entries that people put back, in numbers of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct RaisedCountJson {
    /// Word for word.
    whole: u64,
    /// With long texts cut.
    short: u64,
    /// Not at all, for want of room.
    left_out: u64,
}

impl From<RaisedCount> for RaisedCountJson {
    fn from(count: RaisedCount) -> Self {
        Self { whole: count.whole, short: count.short, left_out: count.left_out }
    }
}

/// Summarised entries whose summaries are provisional: those of all of the history take their place at a later break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct ProvisionalJson {
    /// By summaries that were made for another window.
    other: u64,
    /// By a coarse summary, which was made from a few places of them; at most so many.
    coarse: u64,
}

impl From<Provisional> for ProvisionalJson {
    fn from(provisional: Provisional) -> Self {
        Self { other: provisional.other, coarse: provisional.coarse }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct OmittedJson {
    seq: u64,
    reason: &'static str,
}

/// The guarantees of an admission, in figures.
#[derive(Debug, Serialize, ToSchema)]
pub struct CertificateJson {
    conversation: String,
    dialect: &'static str,
    model: Option<String>,
    ruler: &'static str,
    window: u64,
    reserve: u64,
    budget: u64,
    total: TokensJson,
    /// Upper bound of its size: less than `total.upper` where the provider has already counted its beginning.
    bound: u64,
    sections: SectionsJson,
    authority: &'static str,
    rung: &'static str,
    cover: CoverJson,
    /// Whether the request shows no entry: providers require a message, so it then holds a placeholder that nobody
    /// wrote.
    empty: bool,
    proof: Option<String>,
    /// Summarised entries whose summaries are provisional.
    provisional: ProvisionalJson,
    /// Numbers of the pins in the request.
    pins: Vec<u64>,
    /// Pinned files that the request shows in part, since they are too long for their share.
    short_pins: Vec<ShortPinJson>,
    omitted: Vec<OmittedJson>,
    /// Entries that people put back.
    raised: RaisedCountJson,
    violations: Vec<String>,
    epoch: u32,
}

impl CertificateJson {
    /// * `conversation` - its key.
    /// * `dialect` - name of the dialect.
    /// * `violations` - the provider's rules that it breaks; always empty unless we have a defect.
    pub fn new(
        conversation: &str,
        dialect: &'static str,
        model: Option<&str>,
        prompt: &Prompt,
        violations: Vec<String>,
    ) -> Self {
        let certificate: &Certificate = prompt.admitted.certificate();
        let omitted = certificate.omitted.iter();
        Self {
            conversation: conversation.to_owned(),
            dialect,
            model: model.map(str::to_owned),
            ruler: certificate.ruler,
            window: certificate.window,
            reserve: certificate.reserve,
            budget: certificate.window.saturating_sub(certificate.reserve),
            total: certificate.total.into(),
            bound: certificate.bound,
            sections: certificate.sections.into(),
            authority: certificate.authority.name(),
            rung: certificate.rung.name(),
            cover: certificate.cover.into(),
            empty: certificate.cover.total() == 0,
            proof: certificate.proof.as_ref().err().map(ToString::to_string),
            provisional: certificate.provisional.into(),
            pins: certificate.pins.iter().map(|pin| pin.0).collect(),
            short_pins: prompt.short_pins.iter().map(Into::into).collect(),
            omitted: omitted.map(|(seq, reason)| OmittedJson { seq: seq.0, reason: reason.name() }).collect(),
            raised: certificate.raised.into(),
            violations,
            epoch: prompt.epoch,
        }
    }
}

/// The result of compacting.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CompactJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Window of the prompt, in tokens.
    pub window: u64,
    /// Whether the prompt changed.
    pub changed: bool,
    /// Tokens of the prompt before.
    pub before: u64,
    /// Tokens of the prompt after.
    pub after: u64,
    /// Number of leaves made.
    pub leaves: u64,
    /// Number of merges made.
    pub merges: u64,
    /// Number of existing summaries used.
    pub reused: u64,
    /// Microseconds spent in the summariser.
    pub summariser_us: u64,
    /// Number of summaries by models; null if no model is configured.
    by_model: Option<u64>,
    /// The results of jobs; null if no model is configured.
    pub ran: Option<Vec<RunJson>>,
    /// Why due jobs wait; null if none does.
    pub held: Option<String>,
}

/// A compaction in figures.
#[derive(Clone, Copy, Debug)]
pub struct CompactFigures {
    /// Window of the prompt, in tokens.
    pub window: u64,
    /// Whether the prompt changed.
    pub is_changed: bool,
    /// Expected tokens of the prompt before.
    pub before: u64,
    /// Expected tokens of the prompt after.
    pub after: u64,
    /// Counters of the session that compacted.
    pub counters: Counters,
}

impl CompactJson {
    /// * `conversation` - its key.
    /// * `worked` - the work of models; `None` if no model is configured.
    pub fn new(conversation: &str, figures: CompactFigures, worked: Option<Worked>) -> Self {
        let CompactFigures { window, is_changed, before, after, counters: done } = figures;
        let (ran, held) = worked.map_or((None, None), |worked| (Some(worked.ran), worked.held));
        Self {
            conversation: conversation.to_owned(),
            window,
            changed: is_changed,
            before,
            after,
            leaves: done.leaves,
            merges: done.merges,
            reused: done.summaries_reused,
            summariser_us: done.summariser_us,
            by_model: ran.as_ref().map(|ran| ran.iter().filter(|one| one.is_written()).count() as u64),
            ran,
            held,
        }
    }
}

/// A violation on one line.
pub fn violation(violation: &unforget_wire::Violation) -> String {
    let place = if violation.place.is_empty() { "the request" } else { &violation.place };
    format!("{}: {} at {place}", violation.rule, violation.what)
}
