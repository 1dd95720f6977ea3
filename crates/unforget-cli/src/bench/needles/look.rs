//! Searches for needles: in a prompt, behind one expand, by a search.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use unforget_bench::{Probe, ProbeKind, Random, Voice, identifiers};
use unforget_core::id::Seq;
use unforget_core::message::Request;
use unforget_engine::recall::{SearchQuery, VERBATIM};

use super::play::{CHECKPOINTS, Play};
use crate::failure::Outcome;

/// Most needles of one kind drawn from a session at a checkpoint.
const DRAWN: usize = 12;

/// Number of entries tried per needle.
const TRIES: usize = 200;

/// Most missed needles listed by name.
const MISSED: usize = 400;

/// Tokens of a page of `expand`: the command's default.
const PAGE: u64 = 2_000;

/// Tokens of the results of a search.
const BUDGET: u64 = 2_000;

/// Token limit for the whole source of a summary, read at once to look for its identifiers.
const SOURCES: u64 = 1 << 40;

/// The results for some needles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) drawn: u64,
    /// Found letter by letter in the prompt.
    pub(super) verbatim: u64,
    /// Found in the prompt, or on the first page of one expand of a name in the prompt.
    pub(super) reachable: u64,
    /// Drawn with surrounding words, so that a search could be asked.
    pub(super) asked: u64,
    /// Found letter by letter in 2,000 tokens of results.
    pub(super) hit: u64,
    /// Found in the prompt, behind an expand, or by a search.
    pub(super) any: u64,
}

impl Found {
    pub(super) fn add(&mut self, other: &Self) {
        self.drawn += other.drawn;
        self.verbatim += other.verbatim;
        self.reachable += other.reachable;
        self.asked += other.asked;
        self.hit += other.hit;
        self.any += other.any;
    }
}

/// The results of one writer over all sessions.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By checkpoint, kind, and whether a tool said it.
    pub(super) found: BTreeMap<(usize, ProbeKind, bool), Found>,
    /// Number of required pins over all prompts, and of those present.
    pub(super) pins: (u64, u64),
    /// Number of identifiers in summaries, and of those missing from all their sources.
    pub(super) shown: (u64, u64),
    /// The first few of the latter, each with its summary.
    pub(super) invented: Vec<String>,
    /// The first few needles that are not at hand: session, entry, kind, letters.
    pub(super) missed: Vec<String>,
    /// The outcomes of models' jobs, with reasons.
    pub(super) jobs: BTreeMap<(&'static str, String), u64>,
    /// Number of entries by level of their summary at the end.
    pub(super) depth: BTreeMap<u8, u64>,
    /// Number of entries in a summary of a higher level than log₄ of the leaves allows.
    pub(super) too_deep: u64,
    /// The largest prompt at an end, in expected tokens.
    pub(super) largest: u64,
}

/// A prompt under inspection.
pub(super) struct Looked<'a> {
    pub(super) play: &'a Play,
    /// Its text. See [`words_of`].
    pub(super) said: &'a str,
    pub(super) seed: u64,
}

/// Summaries in the prompt, and the pages behind them that were read.
struct ShownPages<'a> {
    summaries: Vec<ShownSummary<'a>>,
    pages: BTreeMap<String, String>,
}

/// A summary in the prompt.
struct ShownSummary<'a> {
    name: &'a str,
    /// Of one summary, or of several that are told together.
    spans: Vec<RangeInclusive<u64>>,
    body: &'a str,
}

impl ShownSummary<'_> {
    /// The name behind which a reader looks for an entry: of several summaries, the span that holds it.
    fn name_of(&self, seq: Seq) -> Option<String> {
        let span = self.spans.iter().find(|span| span.contains(&seq.0))?;
        let is_alone = self.spans.len() == 1;
        Some(if is_alone { self.name.to_owned() } else { format!("s:{}-{}", span.start(), span.end()) })
    }
}

impl Looked<'_> {
    /// Draws needles from entries that left the tail, and looks for each.
    ///
    /// * `checkpoint` - index among [`CHECKPOINTS`].
    pub(super) fn at(&self, checkpoint: usize, tally: &mut Tally) -> Outcome<()> {
        let mut shown = ShownPages { summaries: shown(self.said), pages: BTreeMap::new() };
        for kind in ProbeKind::ALL {
            let seed = self.seed ^ CHECKPOINTS.get(checkpoint).unwrap_or(&0) << 8 ^ kind as u64;
            let mut random = Random::new(seed);
            for (seq, voice, probe) in self.draw(kind, &mut random) {
                let found = self.look(seq, probe, &mut shown, &mut random)?;
                if found.any == 0 && tally.missed.len() < MISSED {
                    let (key, kind) = (&self.play.key, kind.name());
                    tally.missed.push(format!("{key} s:{seq} {kind} {voice:?}: {}", probe.text));
                }
                tally.found.entry((checkpoint, kind, voice == Voice::Tool)).or_default().add(&found);
            }
        }
        self.invented(&shown.summaries, tally)
    }

    /// Needles of a kind from summarised entries: first an entry is drawn, then one of its needles.
    fn draw(&self, kind: ProbeKind, random: &mut Random) -> Vec<(Seq, Voice, &Probe)> {
        let context = self.play.session.context();
        let boundary = context.roots.iter().map(|root| root.span.1).max();
        let is_covered = |seq: Seq| Some(seq) <= boundary && context.carried != Some(seq);
        let of_kind = |probe: &&Probe| probe.kind == kind && !self.play.pins.contains(&probe.text);
        let entries: Vec<_> = self
            .play
            .asked
            .iter()
            .filter(|asked| is_covered(asked.seq) && asked.probes.iter().any(|probe| of_kind(&probe)))
            .collect();
        let mut drawn: Vec<(Seq, Voice, &Probe)> = Vec::new();
        for _ in 0..TRIES {
            let Some(asked) = entries.get(random.below(entries.len())) else { break };
            let probes: Vec<_> = asked.probes.iter().filter(of_kind).collect();
            let Some(probe) = probes.get(random.below(probes.len())) else { continue };
            if drawn.iter().all(|(_, _, other)| other.text != probe.text) {
                drawn.push((asked.seq, asked.voice, probe));
            }
            if drawn.len() == DRAWN {
                break;
            }
        }
        drawn
    }

    fn look(
        &self,
        seq: Seq,
        probe: &Probe,
        shown: &mut ShownPages<'_>,
        random: &mut Random,
    ) -> Outcome<Found> {
        let is_verbatim = says(self.said, &probe.text);
        let mut is_reachable = is_verbatim;
        let named = shown.summaries.iter().find_map(|of| Some((of.name_of(seq)?, of.body)));
        if let Some((name, body)) = named {
            let entry = names(body, seq).then(|| format!("s:{seq}"));
            for name in [Some(name), entry].into_iter().flatten() {
                is_reachable = is_reachable || says(self.page(&name, &mut shown.pages)?, &probe.text);
            }
        }
        let question = probe.question(random);
        let asked = u64::from(question.is_some());
        let is_found = question.map_or(Ok(false), |text| self.search(text, &probe.text))?;
        Ok(Found {
            drawn: 1,
            verbatim: u64::from(is_verbatim),
            reachable: u64::from(is_reachable),
            asked,
            hit: u64::from(is_found),
            any: u64::from(is_reachable || is_found),
        })
    }

    /// The first page behind a name.
    fn page<'p>(&self, name: &str, pages: &'p mut BTreeMap<String, String>) -> Outcome<&'p str> {
        if !pages.contains_key(name) {
            let page = self.play.engine.expand(Some(self.play.lane.conversation), name, PAGE, None)?;
            let outline = page.outline.iter().flat_map(|outline| &outline.lines);
            let texts: Vec<&str> = outline
                .map(|line| line.text.as_str())
                .chain(page.items.iter().map(|item| item.text.as_str()))
                .collect();
            pages.insert(name.to_owned(), blanks(&texts.join("\n")));
        }
        Ok(pages.get(name).map_or("", String::as_str))
    }

    fn search(&self, text: String, needle: &str) -> Outcome<bool> {
        let conversation = Some(self.play.lane.conversation);
        let query = SearchQuery { text, conversation, budget_tokens: Some(BUDGET), ..SearchQuery::default() };
        let answer = self.play.engine.search(&query)?;
        Ok(answer.results.iter().any(|hit| says(&blanks(&hit.text), needle)))
    }

    /// Counts identifiers in summaries, and those missing from all their sources.
    fn invented(&self, shown: &[ShownSummary<'_>], tally: &mut Tally) -> Outcome<()> {
        let conversation = Some(self.play.lane.conversation);
        for summary in shown {
            let all = self.play.engine.expand(conversation, summary.name, SOURCES, Some(VERBATIM))?;
            let texts: Vec<&str> = all.items.iter().map(|item| item.text.as_str()).collect();
            let source = texts.join("\n");
            for (kind, text) in identifiers(summary.body) {
                // Plain numbers may also be our own seqs, times and counts.
                if kind == ProbeKind::Number && text.bytes().all(|byte| byte.is_ascii_digit()) {
                    continue;
                }
                tally.shown.0 += 1;
                if !source.contains(&text) {
                    tally.shown.1 += 1;
                    if tally.invented.len() < 20 {
                        tally.invented.push(format!("{text} in {}", summary.name));
                    }
                }
            }
        }
        Ok(())
    }
}

/// All text of a request, with single blanks inside lines and between them.
pub(super) fn words_of(request: &Request) -> String {
    blanks(&request.words())
}

fn blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text with single blanks contains some words, other than as part of a longer identifier.
pub(in crate::bench) fn says(text: &str, words: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    let words = blanks(words);
    text.match_indices(&words).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + words.len()..).and_then(|after| after.chars().next());
        let begins = !words.starts_with(is_inside) || !before.is_some_and(is_inside);
        begins && (!words.ends_with(is_inside) || !after.is_some_and(is_inside))
    })
}

/// The summaries in a prompt's text, without the line that names their span.
fn shown(said: &str) -> Vec<ShownSummary<'_>> {
    let mut found = Vec::new();
    for piece in said.split("<history-summary id=\"").skip(1) {
        let Some((name, rest)) = piece.split_once("\" entries=\"") else { continue };
        let Some((spans, rest)) = rest.split_once("\" trust=") else { continue };
        let span = |text: &str| {
            let (first, last) = text.split_once('-')?;
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        let Some((body, _)) = rest.split_once("</history-summary>") else { continue };
        found.push(ShownSummary {
            name,
            spans: spans.split(',').filter_map(span).collect(),
            body: body.split_once("UTC").map_or(body, |cut| cut.1),
        });
    }
    found
}

/// Whether a summary names an entry: `(12,15, answered)`.
fn names(body: &str, seq: Seq) -> bool {
    let seq = seq.to_string();
    body.split('(')
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .any(|inside| inside.split([',', ' ']).any(|word| word == seq))
}
