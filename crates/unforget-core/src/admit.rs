//! The last check before the wire. It covers every request, and only it makes an [`Admitted`].
//!
//! Admission judges the exact outgoing request and nothing else: the amount of raw history can neither block nor shrink
//! nor reset anything (F001). A request that does not fit is composed again, one rung further down a ladder that needs
//! no model and ends.

use crate::compact::{CoverError, Provisional};
use crate::id::Seq;
use crate::message::Request;
use crate::mutants::{self, Bug};
use crate::pair::OmissionReason;
use crate::pin::{PinId, PinsMissing};
use crate::policy::Policy;
use crate::raised::RaisedCount;
use crate::tokens::Tokens;

/// A way to compose the request. Each rung leaves out more than the rung before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// As the context prescribes.
    Assembled,
    /// Without the entries that people put back.
    WithoutRaised,
    /// Large tool results of the tail are shortened to their first and last lines.
    ShortResults,
    /// Only the active turn stands behind the summaries; one stub stands for everything between.
    ActiveTurn,
    /// The newest message of a person and the last group are cut to the room that everything else leaves.
    CutNewest,
    /// Inside the active turn, everything is a stub or an excerpt; the newest input has the room that is left.
    ShortTurn,
    /// Summaries are reduced to titles and ids.
    Titles,
    /// Only the newest message, shortened, and the last exchange.
    Newest,
}

impl Rung {
    /// All rungs, top first.
    pub const ALL: [Self; 8] = [
        Self::Assembled,
        Self::WithoutRaised,
        Self::ShortResults,
        Self::ActiveTurn,
        Self::CutNewest,
        Self::ShortTurn,
        Self::Titles,
        Self::Newest,
    ];

    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assembled => "assembled",
            Self::WithoutRaised => "without-put-back",
            Self::ShortResults => "short-results",
            Self::ActiveTurn => "active-turn",
            Self::CutNewest => "cut-newest",
            Self::ShortTurn => "short-turn",
            Self::Titles => "titles",
            Self::Newest => "newest",
        }
    }
}

/// Sizes of the sections of a request. Their sum is exactly the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// System instructions and tools.
    pub system: Tokens,
    /// Pinned rules, verbatim.
    pub pins: Tokens,
    /// Summaries and stubs that stand for covered entries.
    pub summaries: Tokens,
    /// The ledger of tool work, for the span that the summaries cover.
    pub ledger: Tokens,
    /// Entries that people put back, beside the summaries that cover them.
    pub raised: Tokens,
    /// The newest human message, carried out of a summary.
    pub carried: Tokens,
    /// Entries sent verbatim or with stubs.
    pub tail: Tokens,
    /// Framing between the pieces: roles, brackets, placeholders.
    pub frame: Tokens,
}

impl Sections {
    /// Size of the whole request.
    pub fn total(&self) -> Tokens {
        self.system
            + self.pins
            + self.summaries
            + self.ledger
            + self.raised
            + self.carried
            + self.tail
            + self.frame
    }
}

/// How many visible entries are represented in which way. The sum is the whole view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Sent verbatim.
    pub verbatim: u64,
    /// Sent with large results stubbed or shortened.
    pub stubbed: u64,
    /// Represented by a summary.
    pub summarised: u64,
    /// Represented by one stub for a whole run of entries, on the lower rungs.
    pub elided: u64,
}

impl Cover {
    /// Number of entries in the view.
    pub const fn total(&self) -> u64 {
        self.verbatim + self.stubbed + self.summarised + self.elided
    }
}

/// A composed request on its way to admission.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The request.
    pub request: Request,
    /// Its size.
    pub sections: Sections,
    /// How it represents the view.
    pub cover: Cover,
    /// Upper bound of its size in tokens: the bound of its sections, or less where the provider has already counted its
    /// beginning.
    pub bound: u64,
    /// Entries that are sent only in part or not at all, with the reason.
    pub omitted: Vec<(Seq, OmissionReason)>,
    /// Number of entries put back by people: shown whole, cut, and left out.
    pub raised: RaisedCount,
}

/// Composes the request of a view on a given rung. Must not fail. The last rung must be of bounded size for any
/// history.
pub trait Compose {
    /// The request at this rung.
    fn compose(&mut self, rung: Rung) -> Composed;

    /// Whether the request of this rung can differ from that of the rung before. One that cannot is not tried.
    fn offers(&self, rung: Rung) -> bool;

    /// Whether the cover is exact. See [`crate::compact::prove_cover`].
    fn proof(&self) -> Result<(), CoverError>;

    /// Proves that a request has every active pin, and names those that it has: see [`crate::pin::ShownPins::prove`].
    ///
    /// # Errors
    /// [`PinsMissing`]: then no such request is admitted.
    fn prove_pins(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing>;

    /// Entries that provisional summaries stand for.
    fn provisional(&self) -> Provisional {
        Provisional::default()
    }

    /// Name of the ruler.
    fn ruler(&self) -> &'static str;
}

/// How far the request is from the request that the context prescribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Exactly as assembled.
    Assembled,
    /// Shortened, on this rung.
    Degraded(Rung),
    /// Only the newest message remains, whole or in part.
    Emergency,
}

impl Authority {
    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assembled => "assembled",
            Self::Degraded(_) => "degraded",
            Self::Emergency => "emergency",
        }
    }
}

/// The guarantees of an admission, in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Sizes per section.
    pub sections: Sections,
    /// Sum of the sections.
    pub total: Tokens,
    /// Upper bound of its size in tokens, never above the budget. See [`Composed::bound`].
    pub bound: u64,
    /// The model's limit for input and answer together.
    pub window: u64,
    /// Tokens kept free for the answer.
    pub reserve: u64,
    /// Name of the ruler.
    pub ruler: &'static str,
    /// How far the request is from the assembled one.
    pub authority: Authority,
    /// The rung on which it was composed.
    pub rung: Rung,
    /// How the entries of the view are represented.
    pub cover: Cover,
    /// The proved cover, or why it is not exact. A defect of ours is reported, never hidden.
    pub proof: Result<(), CoverError>,
    /// The summarised entries whose summaries are provisional: others take their place at a later break.
    pub provisional: Provisional,
    /// The pins in the request, in its order: all active ones without the files whose words the client sends itself. They
    /// stand verbatim, except for a file that is too long for its share.
    pub pins: Vec<PinId>,
    /// Entries that are sent only in part or not at all.
    pub omitted: Vec<(Seq, OmissionReason)>,
    /// Number of entries put back by people: shown whole, cut, and left out.
    pub raised: RaisedCount,
}

/// A request that fits. Only [`admit`] makes one, and only an `Admitted` can be rendered for a provider.
#[derive(Clone, Debug)]
pub struct Admitted {
    request: Request,
    certificate: Certificate,
}

impl Admitted {
    /// The request.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// The certificate of its admission.
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}

/// The request does not fit although everything that may be left out is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the smallest possible request needs {} tokens ({} for instructions, {} for {} pins), and the budget is {budget}",
    sections.total().upper,
    sections.system.upper,
    sections.pins.upper,
    pins.len()
)]
pub struct Irreducible {
    /// Sizes on the last rung.
    pub sections: Box<Sections>,
    /// The budget that it exceeds, in tokens.
    pub budget: u64,
    /// The active pins, which are never left out.
    pub pins: Box<[PinId]>,
}

/// Certifies the first rung that fits.
///
/// Cost: at most one composition per rung. Source: design §4 Admit; F001, F002, F009, F010.
pub fn admit(compose: &mut dyn Compose, policy: &Policy) -> Result<Admitted, Irreducible> {
    let (mut smallest, mut pins) = (Sections::default(), Vec::new());
    for rung in Rung::ALL {
        if !compose.offers(rung) {
            continue;
        }
        let composed = compose.compose(rung);
        let total = composed.sections.total();
        let is_raw_too_large = mutants::is(Bug::AdmitRaw) && composed.cover.summarised > 0;
        let proved = compose.prove_pins(&composed.request);
        smallest = composed.sections;
        // A request without a rule that people pinned would be a defect of ours, and is never sent.
        let is_whole = proved.is_ok();
        pins = proved.unwrap_or_else(|missing| missing.missing);
        if (composed.bound <= policy.budget() || mutants::is(Bug::AdmitAll)) && !is_raw_too_large && is_whole
        {
            let certificate = Certificate {
                sections: composed.sections,
                total,
                bound: composed.bound,
                window: policy.window,
                reserve: policy.reserve,
                ruler: compose.ruler(),
                authority: authority(rung),
                rung,
                cover: composed.cover,
                proof: compose.proof(),
                provisional: compose.provisional(),
                pins,
                omitted: composed.omitted,
                raised: composed.raised,
            };
            return Ok(Admitted { request: composed.request, certificate });
        }
    }
    Err(Irreducible { sections: Box::new(smallest), budget: policy.budget(), pins: pins.into() })
}

fn authority(rung: Rung) -> Authority {
    match rung {
        Rung::Assembled => Authority::Assembled,
        Rung::Newest => Authority::Emergency,
        lower => Authority::Degraded(lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halves with every rung.
    struct Halving(u64);

    impl Halving {
        fn size(&self, rung: Rung) -> u64 {
            self.0 >> Rung::ALL.iter().position(|one| *one == rung).unwrap_or(0)
        }
    }

    impl Compose for Halving {
        fn compose(&mut self, rung: Rung) -> Composed {
            let size = self.size(rung);
            let sections = Sections { tail: Tokens::exact(size), ..Sections::default() };
            let cover = Cover { verbatim: 1, ..Cover::default() };
            let bound = sections.total().upper;
            Composed {
                request: Request::default(),
                sections,
                cover,
                bound,
                omitted: Vec::new(),
                raised: RaisedCount::default(),
            }
        }

        fn offers(&self, _: Rung) -> bool {
            true
        }

        fn proof(&self) -> Result<(), CoverError> {
            Ok(())
        }

        fn prove_pins(&self, _: &Request) -> Result<Vec<PinId>, PinsMissing> {
            Ok(Vec::new())
        }

        fn ruler(&self) -> &'static str {
            "exact"
        }
    }

    #[test]
    fn ladder_table() {
        let policy = Policy::with_reserve(2_000, 1_000);
        let table = [
            (1_000, Some(Rung::Assembled), "fits to the token"),
            (1_001, Some(Rung::WithoutRaised), "one too many: what was put back goes first"),
            (2_002, Some(Rung::ShortResults), "then results are cut"),
            (127_000, Some(Rung::Newest), "only the last rung fits"),
            (129_000, None, "nothing fits: exact figures, no reset"),
        ];
        for (size, want, why) in table {
            let verdict = admit(&mut Halving(size), &policy);
            assert_eq!(verdict.as_ref().ok().map(|admitted| admitted.certificate().rung), want, "{why}");
            if let Err(irreducible) = verdict {
                assert_eq!(irreducible.sections.total().upper, size >> 7);
            }
        }
    }

    /// Too large for every rung, with nothing put back.
    struct Bare;

    impl Compose for Bare {
        fn compose(&mut self, rung: Rung) -> Composed {
            assert_ne!(rung, Rung::WithoutRaised, "the same request is not tried twice");
            Halving(u64::MAX).compose(rung)
        }

        fn offers(&self, rung: Rung) -> bool {
            rung != Rung::WithoutRaised
        }

        fn proof(&self) -> Result<(), CoverError> {
            Ok(())
        }

        fn prove_pins(&self, _: &Request) -> Result<Vec<PinId>, PinsMissing> {
            Ok(Vec::new())
        }

        fn ruler(&self) -> &'static str {
            "exact"
        }
    }

    #[test]
    fn a_rung_that_changes_nothing_is_left_out() {
        assert!(admit(&mut Bare, &Policy::with_reserve(2_000, 1_000)).is_err());
    }

    /// Contains its pins on one rung only.
    struct Forgetful(Rung);

    impl Compose for Forgetful {
        fn compose(&mut self, rung: Rung) -> Composed {
            let request = Request { system: vec![rung.name().to_owned()], messages: Vec::new() };
            let (sections, cover) = (Sections::default(), Cover::default());
            Composed {
                request,
                sections,
                cover,
                bound: 0,
                omitted: Vec::new(),
                raised: RaisedCount::default(),
            }
        }

        fn offers(&self, _: Rung) -> bool {
            true
        }

        fn proof(&self) -> Result<(), CoverError> {
            Ok(())
        }

        fn prove_pins(&self, request: &Request) -> Result<Vec<PinId>, PinsMissing> {
            let has = request.system.iter().any(|text| text == self.0.name());
            if has { Ok(vec![PinId(3)]) } else { Err(PinsMissing { missing: vec![PinId(3)] }) }
        }

        fn ruler(&self) -> &'static str {
            "exact"
        }
    }

    #[test]
    fn a_request_without_its_pins_is_never_admitted() {
        let policy = Policy::with_reserve(2_000, 1_000);
        for rung in Rung::ALL {
            let admitted = admit(&mut Forgetful(rung), &policy);
            let found = admitted.ok().map(|admitted| admitted.certificate().clone());
            let found = found.map(|certificate| (certificate.rung, certificate.pins));
            assert_eq!(found, Some((rung, vec![PinId(3)])));
        }
    }

    #[test]
    fn f001_seed_figures_are_admitted_whatever_the_history_weighs() {
        let policy = Policy::with_reserve(208_000 + 16_000, 16_000);
        let admitted = admit(&mut Halving(87_767), &policy);
        assert!(admitted.is_ok_and(|admitted| admitted.certificate().authority == Authority::Assembled));
    }
}
