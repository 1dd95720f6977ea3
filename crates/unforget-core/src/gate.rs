//! Decides whether a draft of a summary may stand for its source, and what to try if not.
//!
//! `unforget-text` examines the draft and delivers [`Findings`]; nothing here reads text. A refused draft is requested
//! once more with stricter instructions, and then the deterministic summariser writes: at most two calls, and always an
//! end. A summariser that rejects the credential (401, 403) leads to no summary at all.
//!
//! Source: design §4 Summarise; F018, F019, F024, F026, F028, F031.

use crate::tokens::Tokens;

/// How the summariser's answer ended, according to its provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// At its natural end.
    Finished,
    /// At the token limit of the answer.
    CutOff,
    /// With a tool call.
    Call,
    /// At the provider's filter, or as a typed refusal.
    Filtered,
    /// The provider did not say.
    #[default]
    Unstated,
}

/// A defect of a draft. The order is the priority in which a flaw is named as the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flaw {
    /// The draft calls a tool.
    Call,
    /// The draft has no text: empty, blank, or reasoning alone.
    Blank,
    /// The draft refuses the task.
    Refusal,
    /// The draft is an error message of a provider or of something in between.
    ProviderError,
    /// The draft stops in the middle.
    CutOff,
    /// The draft contains the summariser's reasoning.
    Reasoning,
    /// The draft contains turns of a dialogue or tokens of a chat template.
    Roles,
    /// The draft gives orders to its reader.
    Orders,
    /// The draft repeats the summariser's own instructions, or copies its source.
    Echo,
    /// The draft repeats itself again and again.
    Repeats,
    /// The draft contains identifiers that its source lacks.
    Invented,
    /// The draft is not smaller than its source by a real margin.
    TooLarge,
    /// The draft does not have the requested form.
    Form,
}

impl Flaw {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Blank => "blank",
            Self::Refusal => "refusal",
            Self::ProviderError => "provider-error",
            Self::CutOff => "cut-off",
            Self::Reasoning => "reasoning",
            Self::Roles => "roles",
            Self::Orders => "orders",
            Self::Echo => "echo",
            Self::Repeats => "repeats",
            Self::Invented => "invented",
            Self::TooLarge => "too-large",
            Self::Form => "form",
        }
    }
}

/// The findings about a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Size of the stored text: the draft, with the line of missing identifiers if there are any.
    pub draft: Tokens,
    /// Size of its source.
    pub source: Tokens,
    /// How the answer ended.
    pub ending: Ending,
    /// Flaws of its text, ascending, without duplicates. [`Flaw::TooLarge`] is never among them, since [`judge`]
    /// decides it, nor is [`Flaw::Form`], which the parser of the form finds.
    pub flaws: Vec<Flaw>,
    /// Identifiers of the draft that its source lacks, in order, without duplicates.
    pub invented: Vec<String>,
    /// Required identifiers that the draft lacks, in order.
    pub missing: Vec<String>,
}

/// The decision about a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The draft is stored unchanged.
    Accept,
    /// The draft is stored with the missing identifiers appended.
    AcceptWithAnchors,
    /// The draft is not stored.
    Reject {
        /// The first flaw, by priority.
        why: Flaw,
    },
}

/// Largest summary of a source, in expected tokens: the target, or half of the source where that is more,
/// and never more than nine tenths of the source.
///
/// Source: F019; field notes §5.3 (a pass must reclaim a real share).
pub const fn size_max(source: u64, target: u64) -> u64 {
    let wanted = if source / 2 > target { source / 2 } else { target };
    let margin = source - source.div_ceil(10);
    if wanted < margin { wanted } else { margin }
}

/// Decides whether a draft may stand for its source.
///
/// * `target` - what the summary should take, in tokens.
///
/// Compares the draft's upper bound with the source's expected size, so that any doubt speaks against the draft.
pub fn judge(findings: &Findings, target: u64) -> Verdict {
    let ending = match findings.ending {
        Ending::CutOff => Some(Flaw::CutOff),
        Ending::Call => Some(Flaw::Call),
        Ending::Filtered => Some(Flaw::Refusal),
        Ending::Finished | Ending::Unstated => None,
    };
    let invented = (!findings.invented.is_empty()).then_some(Flaw::Invented);
    let large = (findings.draft.upper > size_max(findings.source.expected, target)).then_some(Flaw::TooLarge);
    let flaws = findings.flaws.iter().copied().chain(ending).chain(invented).chain(large);
    match flaws.min() {
        Some(why) => Verdict::Reject { why },
        None if findings.missing.is_empty() => Verdict::Accept,
        None => Verdict::AcceptWithAnchors,
    }
}

/// The way a summary is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Escalation {
    /// In full sections, to the target.
    #[default]
    Normal,
    /// In short points, to half of the target.
    Aggressive,
    /// Without a model. The result is a fallback: a model's summary may replace it later.
    Deterministic,
}

impl Escalation {
    /// The requested size, in tokens, for a target.
    pub const fn target(self, target: u64) -> u64 {
        match self {
            Self::Normal | Self::Deterministic => target,
            Self::Aggressive => target / 2,
        }
    }
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// There is a draft, with this verdict.
    Draft(Verdict),
    /// There is no answer after the client's own retries: transport, timeout, rate limit, server error.
    Unavailable,
    /// The provider does not accept the credential (401, 403). Known from the status alone, never from text.
    Denied,
}

/// The step after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Store the draft.
    Commit {
        /// Whether to append the line of missing identifiers.
        anchors: bool,
        /// Whether to write it again once a model is available.
        fallback: bool,
    },
    /// Make this attempt.
    Try(Escalation),
    /// Store nothing; the source stays unsummarised.
    Nothing {
        /// Whether the credential was refused, which opens the breaker of that provider and credential.
        denied: bool,
    },
}

/// Decides what follows an attempt.
///
/// Every step goes down or ends, so a summary costs at most two model calls. After a refused credential nothing is
/// written, not even without a model: the break itself covers whatever must shrink at once, and for that it needs no
/// model.
pub const fn next(step: Escalation, attempt: Attempt) -> Next {
    let last = matches!(step, Escalation::Deterministic);
    match attempt {
        Attempt::Denied => Next::Nothing { denied: true },
        Attempt::Draft(Verdict::Accept) => Next::Commit { anchors: false, fallback: last },
        Attempt::Draft(Verdict::AcceptWithAnchors) => Next::Commit { anchors: true, fallback: last },
        Attempt::Unavailable if !last => Next::Try(Escalation::Deterministic),
        Attempt::Draft(Verdict::Reject { .. }) if !last => Next::Try(match step {
            Escalation::Normal => Escalation::Aggressive,
            Escalation::Aggressive | Escalation::Deterministic => Escalation::Deterministic,
        }),
        Attempt::Draft(Verdict::Reject { .. }) | Attempt::Unavailable => Next::Nothing { denied: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(draft: u64, source: u64) -> Findings {
        Findings { draft: Tokens::exact(draft), source: Tokens::exact(source), ..Findings::default() }
    }

    #[test]
    fn f019_size_table() {
        let table = [
            // source target  most   why
            (10_000, 1_200, 5_000, "half of a large source, should the target be overrun"),
            (2_000, 1_200, 1_200, "the target"),
            (1_000, 1_200, 900, "a short source: smaller by a tenth at least"),
            (17, 1_200, 15, "F019: 404 became 17,133"),
            (1, 1_200, 0, "nothing is smaller than one token by a real margin"),
            (0, 1_200, 0, "an empty source has no summary"),
        ];
        for (source, target, want, why) in table {
            assert_eq!(size_max(source, target), want, "{why}");
            let grown = found(want + 1, source);
            assert_eq!(judge(&grown, target), Verdict::Reject { why: Flaw::TooLarge }, "{why}");
        }
        let unsure = Findings { draft: Tokens { expected: 800, upper: 1_300 }, ..found(0, 2_000) };
        assert_eq!(
            judge(&unsure, 1_200),
            Verdict::Reject { why: Flaw::TooLarge },
            "the bound counts, not the guess"
        );
    }

    #[test]
    fn judge_table() {
        let fine = || found(100, 1_000);
        let reject = |why| Verdict::Reject { why };
        let table = [
            (fine(), Verdict::Accept, "nothing found"),
            (
                Findings { missing: vec!["a.rs".into()], ..fine() },
                Verdict::AcceptWithAnchors,
                "missing identifiers are put behind it",
            ),
            (
                Findings { invented: vec!["b.rs".into()], ..fine() },
                reject(Flaw::Invented),
                "one invented identifier is one too many",
            ),
            (Findings { ending: Ending::CutOff, ..fine() }, reject(Flaw::CutOff), "cut at the most tokens"),
            (
                Findings { ending: Ending::Call, ..fine() },
                reject(Flaw::Call),
                "F024: a call, and words before it",
            ),
            (Findings { ending: Ending::Filtered, ..fine() }, reject(Flaw::Refusal), "refused by type"),
            (
                Findings { ending: Ending::Unstated, ..fine() },
                Verdict::Accept,
                "what was not said is not held against it",
            ),
            (
                Findings {
                    flaws: vec![Flaw::Reasoning, Flaw::Echo],
                    ending: Ending::CutOff,
                    ..found(2_000, 1_000)
                },
                reject(Flaw::CutOff),
                "the first reason is named",
            ),
        ];
        for (findings, want, why) in table {
            assert_eq!(judge(&findings, 400), want, "{why}");
        }
    }

    #[test]
    fn f018_f026_next_table() {
        use Attempt::{Denied, Draft, Unavailable};
        use Escalation::{Aggressive, Deterministic, Normal};
        let bad = Draft(Verdict::Reject { why: Flaw::Blank });
        let nothing = |denied| Next::Nothing { denied };
        let commit = |anchors, fallback| Next::Commit { anchors, fallback };
        let table = [
            (Normal, Draft(Verdict::Accept), commit(false, false), "good at once"),
            (Normal, Draft(Verdict::AcceptWithAnchors), commit(true, false), "good with anchors"),
            (Normal, bad, Next::Try(Aggressive), "asked once more, harder"),
            (Aggressive, bad, Next::Try(Deterministic), "then without a model"),
            (Normal, Unavailable, Next::Try(Deterministic), "F017: nobody answers"),
            (Aggressive, Unavailable, Next::Try(Deterministic), "F017: nobody answers any more"),
            (Deterministic, Draft(Verdict::Accept), commit(false, true), "F032: marked, to be written again"),
            (Deterministic, bad, nothing(false), "F019, F020: even that did not shrink: nothing is written"),
            (Deterministic, Unavailable, nothing(false), "cannot be, and ends all the same"),
            (Normal, Denied, nothing(true), "401 writes nothing"),
            (Aggressive, Denied, nothing(true), "403 between two calls writes nothing"),
        ];
        for (step, attempt, want, why) in table {
            assert_eq!(next(step, attempt), want, "{why}");
        }
    }

    proptest! {
        /// F012: for any outcomes, there are at most two model calls, and then an end.
        #[test]
        fn f012_escalation_ends(outcomes in prop::collection::vec(0_u8..5, 3)) {
            let mut step = Escalation::Normal;
            let mut steps = 0;
            for outcome in outcomes {
                let attempt = match outcome {
                    0 => Attempt::Draft(Verdict::Accept),
                    1 => Attempt::Draft(Verdict::AcceptWithAnchors),
                    2 => Attempt::Draft(Verdict::Reject { why: Flaw::Echo }),
                    3 => Attempt::Unavailable,
                    _ => Attempt::Denied,
                };
                steps += 1;
                match next(step, attempt) {
                    Next::Try(lower) => {
                        prop_assert!(lower > step);
                        step = lower;
                    }
                    Next::Commit { .. } | Next::Nothing { .. } => return Ok(()),
                }
            }
            prop_assert!(false, "no end after {} steps", steps);
        }

        /// Every accepted draft is smaller than its source.
        #[test]
        fn f019_growth_is_never_accepted(draft in 0_u64..5_000, source in 0_u64..5_000, target in 0_u64..5_000) {
            if judge(&found(draft, source), target) == Verdict::Accept {
                prop_assert!(draft * 10 <= source * 9);
            }
        }
    }
}
