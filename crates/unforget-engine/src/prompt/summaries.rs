//! Summaries: made from groups or from other summaries, and rendered for a prompt.

use std::sync::Arc;
use std::time::Instant;

use unforget_core::assemble::ours;
use unforget_core::compact::{Job, Root, Tree};
use unforget_core::group::Item;
use unforget_core::id::Timestamp;
use unforget_core::policy::Policy;
use unforget_core::tokens::Ruler;
use unforget_store::{SummaryKey, SummaryRow};
use unforget_text::{Source as TextSource, Summary, Surroundings, fence, render_among, summarise};

use super::Shape;
use super::account::Counters;
use super::cover::Cover;
use super::pieces::{PromptPiece, handle, weigh};
use super::source::Source;
use super::window::Window;
use crate::error::EngineError;
use crate::summary_name::summary_name;

/// Writer of a summary by code, with its version.
const WRITER: &str = "deterministic/6";

/// Says what a coarse summary is.
const COARSE: &str =
    "[Coarse: made from a few places of these entries. Search or expand them for what it leaves out.]";

/// Room for that.
const COARSE_TOKENS: u64 = 48;

/// A stored summary.
#[derive(Clone, Debug)]
pub(super) struct WrittenSummary {
    pub(super) summary: Arc<Summary>,
    /// Expected tokens of its stored text.
    pub(super) tokens: u64,
}

impl WrittenSummary {
    pub(super) fn of(row: &SummaryRow) -> Option<Self> {
        let summary = Arc::new(Summary::parse(&row.body).ok()?);
        Some(Self { summary, tokens: row.tokens.1 })
    }

    /// Of its stored text; `None` without one.
    pub(super) fn read(text: &str, ruler: &dyn Ruler) -> Option<Self> {
        let summary = (!text.is_empty()).then(|| Summary::parse(text).ok()).flatten()?;
        Some(Self { summary: Arc::new(summary), tokens: ruler.count(text).expected })
    }
}

/// The appearance of a summary in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SummaryFace {
    pub(super) root: Root,
    /// Tokens that it is rendered into.
    pub(super) room: u64,
    /// Whether a model wrote it.
    pub(super) by_model: bool,
    /// Whether no summary of later entries stands behind it.
    pub(super) is_last: bool,
}

/// A summary in a prompt.
#[derive(Clone, Debug)]
pub(super) struct ShownSummary {
    pub(super) face: SummaryFace,
    /// The handle for expanding it.
    name: String,
    pub(super) written: WrittenSummary,
    /// What is shown of it: all but what readers rejected.
    pub(super) told: Arc<Summary>,
    pub(super) piece: PromptPiece,
}

impl ShownSummary {
    pub(super) fn render(face: SummaryFace, written: WrittenSummary, source: &Source) -> Self {
        let shape = source.shape();
        let told = source.told(&written.summary);
        let (first, last) = face.root.span;
        let name = match face.root.tree {
            Tree::Coarse => handle(first, last),
            _ => summary_name(&source.key(&face.root)),
        };
        let around = if face.is_last { Surroundings::Alone } else { Surroundings::Followed };
        let mut shown = Self { face, name, written, told, piece: PromptPiece::default() };
        shown.piece = shown.at(around, Policy::summary_body(face.room), shape);
        shown
    }

    /// Its piece in these surroundings.
    ///
    /// * `room` - most tokens of its text.
    fn at(&self, around: Surroundings<'_>, room: u64, shape: &Shape) -> PromptPiece {
        let (first, last) = self.face.root.span;
        let body = if self.face.root.tree == Tree::Coarse {
            let body = render_among(&self.told, around, room.saturating_sub(COARSE_TOKENS), &shape.ruler);
            format!("{COARSE}\n{body}")
        } else {
            render_among(&self.told, around, room, &shape.ruler)
        };
        let text = fence(&self.name, first, last, &body);
        weigh(vec![ours(&text)], Vec::new(), false, shape)
    }

    /// Its piece in other surroundings, at most as large as it is: the room of a break is planned with that. `None` if it
    /// would be larger.
    pub(super) fn again(&self, around: Surroundings<'_>, shape: &Shape) -> Option<PromptPiece> {
        let most = self.piece.tokens;
        // The wrapper has its tokens outside of the room.
        let room = Policy::summary_body(self.face.room).min(Policy::summary_body(most.upper));
        let piece = self.at(around, room, shape);
        (piece.tokens.upper <= most.upper).then_some(piece)
    }

    /// Renders it again if readers rejected other statements since. Returns whether it changed.
    pub(super) fn strike(&mut self, source: &Source) -> bool {
        let is_new = source.told(&self.written.summary) != self.told;
        if is_new {
            *self = Self::render(self.face, self.written.clone(), source);
        }
        is_new
    }
}

/// A summary made for a break.
#[derive(Clone, Debug)]
pub(super) struct MadeSummary {
    pub(super) root: Root,
    pub(super) written: WrittenSummary,
    /// As a prompt with room shows it; `None` unless it was prepared ahead of the break.
    pub(super) shown: Option<ShownSummary>,
}

/// The summaries of a break.
pub(super) struct SummaryWork {
    /// All of them, in the order of their jobs.
    pub(super) made: Vec<MadeSummary>,
    /// Rows that are not stored yet.
    pub(super) rows: Vec<SummaryRow>,
    /// Number of summaries made and reused, and the time spent.
    pub(super) counters: Counters,
}

/// The summaries of a break before the merges among them are made.
pub(super) struct BegunWork {
    begun: Vec<BegunSummary>,
    /// The time of new rows.
    time: Timestamp,
    counters: Counters,
    started: Instant,
}

struct BegunSummary {
    root: Root,
    stage: SummaryStage,
}

/// How far a summary is.
enum SummaryStage {
    Stored(WrittenSummary),
    /// Made of entries.
    Leaf(SummaryDraft),
    /// To be made of these summaries.
    Merge(Vec<Root>),
}

const fn root_of(job: &Job) -> Root {
    let (Job::Leaf { root, .. } | Job::Merge { root, .. }) = job;
    *root
}

impl BegunWork {
    /// Looks the summaries of these jobs up, and makes those of entries that are not stored.
    pub(super) fn of(jobs: &[Job], window: &Window, source: &Source) -> Result<Self, EngineError> {
        let started = Instant::now();
        let mut counters = Counters::default();
        let roots: Vec<Root> = jobs.iter().map(root_of).collect();
        let mut stored = source.summaries(&roots)?;
        let mut begun = Vec::with_capacity(jobs.len());
        for (job, root) in jobs.iter().zip(roots) {
            let stage = match (stored.remove(&source.key(&root)), job) {
                (Some(written), _) => {
                    counters.summaries_reused += 1;
                    SummaryStage::Stored(written)
                }
                (None, Job::Leaf { groups, .. }) => {
                    counters.leaves += 1;
                    SummaryStage::Leaf(SummaryDraft::leaf(window, groups.0..groups.1))
                }
                (None, Job::Merge { sources, .. }) => {
                    counters.merges += 1;
                    SummaryStage::Merge(sources.to_vec())
                }
            };
            begun.push(BegunSummary { root, stage });
        }
        Ok(Self { begun, time: source.stamp(window.newest_time()), counters, started })
    }
}

impl SummaryWork {
    /// Completes summaries behind the given ones: a merge needs those that were made before it.
    pub(super) fn complete(
        BegunWork { begun, time, counters, started }: BegunWork,
        prepared: Vec<MadeSummary>,
        cover: &Cover,
        source: &Source,
    ) -> Result<Self, EngineError> {
        let mut work = Self { made: prepared, rows: Vec::new(), counters };
        for BegunSummary { root, stage } in begun {
            let draft = match stage {
                SummaryStage::Stored(written) => {
                    work.made.push(MadeSummary { root, written, shown: None });
                    continue;
                }
                SummaryStage::Leaf(draft) => draft,
                SummaryStage::Merge(sources) => SummaryDraft::merge(&sources, &work.made, cover, source)?,
            };
            let row = draft.row(&root, time, source);
            let written = WrittenSummary { summary: Arc::new(draft.summary), tokens: row.tokens.1 };
            work.rows.push(row);
            work.made.push(MadeSummary { root, written, shown: None });
        }
        work.counters.summariser_us = started.elapsed().as_micros() as u64;
        Ok(work)
    }
}

/// A new summary before it has a row.
struct SummaryDraft {
    summary: Summary,
    sources: Vec<SummaryKey>,
    /// Expected tokens of its input.
    read: u64,
}

impl SummaryDraft {
    fn leaf(window: &Window, groups: std::ops::Range<usize>) -> Self {
        let run = window.groups().get(groups).unwrap_or_default();
        let mut items: Vec<&Item> = run.iter().flat_map(|group| &group.items).collect();
        items.sort_by_key(|item| item.seq);
        let texts: Vec<_> =
            items.iter().map(|item| TextSource { seq: item.seq, entry: &item.entry }).collect();
        let read = run.iter().map(|group| window.source(group)).sum();
        Self { summary: summarise(&texts), sources: Vec::new(), read }
    }

    fn merge(
        sources: &[Root],
        made: &[MadeSummary],
        cover: &Cover,
        source: &Source,
    ) -> Result<Self, EngineError> {
        let parts = cover.find(sources, made, source)?;
        let read = parts.iter().map(|part| part.tokens).sum();
        let parts: Vec<_> = parts.into_iter().map(|part| part.summary).collect();
        let keys = sources.iter().map(|root| source.key(root)).collect();
        Ok(Self { summary: Summary::merge(&parts), sources: keys, read })
    }

    fn row(&self, root: &Root, time: Timestamp, source: &Source) -> SummaryRow {
        let body = self.summary.to_text();
        let tokens = (self.read, source.shape().ruler.count(&body).expected);
        SummaryRow {
            key: source.key(root),
            span: root.span,
            count: root.count,
            sources: self.sources.clone(),
            writer: WRITER.to_owned(),
            body,
            tokens,
            time,
        }
    }
}
