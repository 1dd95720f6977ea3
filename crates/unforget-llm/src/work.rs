//! Plans the calls for one summary: the questions, and the use of the answers. Pure: the caller makes the calls.

use unforget_core::tokens::Ruler;
use unforget_text::{Item, SectionKind, Source, Summary, excerpt, fence_passage, summarise};

use crate::passage::passages;
use crate::patch::{Draft, Patch, PatchError, Refused};
use crate::portion::{NoRoom, Portion, portions};

/// The instructions, as files.
const LEAF: &str = include_str!("../prompts/leaf.txt");
const MERGE: &str = include_str!("../prompts/merge.txt");
const HIGHER: &str = include_str!("../prompts/higher.txt");

/// The source of a summary.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// Entries, in order.
    Leaf(&'a [Source<'a>]),
    /// Summaries of neighbouring spans, oldest first.
    Merge {
        /// The summaries.
        parts: &'a [Summary],
        /// The level of the merged summary; from 2 on, outcomes count more than steps.
        level: u32,
    },
}

/// All inputs to the calls for one summary.
#[derive(Clone, Copy, Debug)]
pub struct Brief<'a> {
    /// The source.
    pub task: Task<'a>,
    /// The summary of earlier entries, as text, for understanding; may be empty. Shortened to an eighth of the window.
    pub previous: &'a str,
    /// The operator's wishes about what to keep, as text; may be empty.
    pub wishes: &'a str,
    /// Approximate size of the summary, in tokens.
    pub tokens: u64,
    /// The model's window, in tokens of the ruler; for a chain of models, the smallest window.
    pub window: u64,
    /// Limit of the answer, in tokens: [`crate::Request::output_tokens_max`].
    pub output_tokens_max: u64,
    /// Larger tool outputs are shortened before the model reads them.
    pub tool_output_tokens_max: u64,
}

/// One call to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Instructions.
    pub system: String,
    /// The content that the instructions apply to.
    pub user: String,
    /// Where in `user` the source of the summary begins; the text before it is for understanding only.
    about: usize,
}

impl Ask {
    /// The part of `user` that is the source of the summary.
    pub fn source(&self) -> &str {
        self.user.get(self.about..).unwrap_or(&self.user)
    }
}

/// The result of all calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The summary; deterministic where calls were skipped.
    pub summary: Summary,
    /// The parts of the answers that were not applied.
    pub refused: Vec<Refused>,
    /// Number of answered calls, and of skipped ones.
    pub answered: usize,
    /// If no call was answered, the summary is the deterministic one.
    pub skipped: usize,
}

/// A summary in progress: a list of calls, each of which fits the model's window by construction.
///
/// A leaf's entries are cut into portions; each answer is applied to the deterministic summary of its entries. Several
/// portions are then merged: the model is shown items and says which belong together. Items that it is not shown or
/// does not name stay. So a merge loses nothing, and fits however large its parts are.
///
/// ```no_run
/// # use unforget_llm::{Brief, Work, PatchError};
/// # fn ask_a_model(_: &unforget_llm::Ask) -> Option<String> { None }
/// # fn make(brief: Brief<'_>, ruler: &dyn unforget_core::tokens::Ruler) -> Result<(), Box<dyn std::error::Error>> {
/// let mut work = Work::new(brief, ruler)?;
/// while let Some(ask) = work.ask() {
///     match ask_a_model(&ask) {
///         Some(text) if work.answer(&text).is_ok() => {}
///         _ => work.skip(),
///     }
/// }
/// let made = work.finish();
/// # Ok(()) }
/// ```
pub struct Work<'a> {
    brief: Brief<'a>,
    ruler: &'a dyn Ruler,
    /// Portions of entries still to be described, the next one last.
    portions: Vec<Portion>,
    /// Summaries of the described portions.
    parts: Vec<Summary>,
    merge: Option<Merge>,
    refused: Vec<Refused>,
    answered: usize,
    skipped: usize,
}

/// A summary with items to merge.
struct Merge {
    level: u32,
    base: Summary,
    /// Pages of items still to be shown, the next one last.
    pages: Vec<Page>,
    /// Patches, each with its page.
    patches: Vec<(Patch, Vec<(SectionKind, usize)>)>,
}

struct Page {
    text: String,
    items: Vec<(SectionKind, usize)>,
}

/// Tokens of chat templates around the messages.
const TEMPLATE_TOKENS: u64 = 64;

impl<'a> Work<'a> {
    /// Plans the calls.
    ///
    /// # Errors
    /// [`NoRoom`] if the instructions and the answer leave too little of the window.
    pub fn new(brief: Brief<'a>, ruler: &'a dyn Ruler) -> Result<Self, NoRoom> {
        let mut work = Self {
            brief,
            ruler,
            portions: Vec::new(),
            parts: Vec::new(),
            merge: None,
            refused: Vec::new(),
            answered: 0,
            skipped: 0,
        };
        // Even a leaf may need the merge's instructions, so each set of instructions must leave room.
        let room =
            [LEAF, MERGE, HIGHER].into_iter().map(|prompt| work.room(prompt)).min().unwrap_or_default();
        if room < TEMPLATE_TOKENS {
            return Err(NoRoom { room });
        }
        match brief.task {
            Task::Leaf(sources) => {
                let most = brief.tool_output_tokens_max.min(room / 2);
                work.portions = portions(&passages(sources, most, ruler), room, ruler)?;
                work.portions.reverse();
                if work.portions.is_empty() {
                    work.parts.push(summarise(sources));
                }
            }
            Task::Merge { parts, level } => work.merge = Some(work.pages(Summary::merge(parts), level)),
        }
        Ok(work)
    }

    /// The next call; `None` after the last.
    pub fn ask(&self) -> Option<Ask> {
        let (prompt, body) = match (&self.merge, self.portions.last()) {
            (None, Some(portion)) => (LEAF, &portion.text),
            (None, None) => return None,
            (Some(merge), _) => (prompt_of(merge.level), &merge.pages.last()?.text),
        };
        let previous = self.previous();
        let user = if previous.is_empty() { body.clone() } else { format!("{previous}\n{body}") };
        let about = user.len() - body.len();
        Some(Ask { system: self.system(prompt), user, about })
    }

    /// Number of remaining calls, as far as is known: a leaf of several portions is followed by a merge.
    pub fn left(&self) -> usize {
        self.merge.as_ref().map_or(self.portions.len(), |merge| merge.pages.len())
    }

    /// Takes the model's text for the call from [`Self::ask`].
    ///
    /// # Errors
    /// [`PatchError`] if it cannot be parsed: the call is then still to be made, or to be skipped.
    pub fn answer(&mut self, text: &str) -> Result<(), PatchError> {
        if self.merge.is_some() {
            let patch = Patch::parse(text)?;
            if let Some(merge) = &mut self.merge
                && let Some(page) = merge.pages.pop()
            {
                merge.patches.push((patch, page.items));
                self.answered += 1;
            }
            return Ok(());
        }
        let draft = Draft::parse(text)?;
        if let Some(portion) = self.portions.pop() {
            let (summary, refused) = draft.apply(&self.deterministic(&portion));
            self.refused.extend(refused);
            self.answered += 1;
            self.described(summary);
        }
        Ok(())
    }

    /// Skips the call from [`Self::ask`]: the deterministic content stands.
    pub fn skip(&mut self) {
        if let Some(merge) = &mut self.merge {
            self.skipped += usize::from(merge.pages.pop().is_some());
        } else if let Some(portion) = self.portions.pop() {
            self.skipped += 1;
            let summary = self.deterministic(&portion);
            self.described(summary);
        }
    }

    /// The summary. Remaining calls count as skipped.
    pub fn finish(mut self) -> Made {
        while self.left() > 0 {
            self.skip();
        }
        let summary = match self.merge.take() {
            None => self.parts.pop().unwrap_or_default(),
            Some(merge) => self.patched(merge),
        };
        let Self { refused, answered, skipped, .. } = self;
        Made { summary, refused, answered, skipped }
    }

    /// Applies the patches one after another. Pages do not overlap, and the patches are applied from the last page to
    /// the first: items behind a page may move, the page's own items do not.
    fn patched(&mut self, mut merge: Merge) -> Summary {
        let mut summary = std::mem::take(&mut merge.base);
        merge.patches.sort_by(|(_, a), (_, b)| b.cmp(a));
        for (patch, items) in merge.patches {
            let (next, refused) = patch.apply(&summary, &|kind, at| items.contains(&(kind, at)));
            summary = next;
            self.refused.extend(refused);
        }
        summary
    }

    /// Stores a portion's summary; after the last of several, plans the merge.
    fn described(&mut self, summary: Summary) {
        self.parts.push(summary);
        if self.portions.is_empty() && self.parts.len() > 1 {
            let parts = std::mem::take(&mut self.parts);
            self.merge = Some(self.pages(Summary::merge(&parts), 1));
        }
    }

    /// The deterministic summary of a portion's entries.
    fn deterministic(&self, portion: &Portion) -> Summary {
        let Task::Leaf(sources) = self.brief.task else { return Summary::default() };
        let inside: Vec<Source<'_>> = sources
            .iter()
            .filter(|source| (portion.first..=portion.last).contains(&source.seq))
            .copied()
            .collect();
        summarise(&inside)
    }

    /// Tokens for the source, beside everything else in the request.
    fn room(&self, prompt: &str) -> u64 {
        let count = |text: &str| self.ruler.count(text).upper;
        let fixed = count(&self.system(prompt)) + count(&self.previous()) + TEMPLATE_TOKENS;
        self.brief.window.saturating_sub(fixed).saturating_sub(self.brief.output_tokens_max)
    }

    fn system(&self, prompt: &str) -> String {
        let mut system = prompt.replace("{tokens}", &self.brief.tokens.to_string());
        if !self.brief.wishes.trim().is_empty() {
            system.push_str(
                "\nThe operator says what matters here. It changes neither the form nor the rules above.\n",
            );
            system.push_str(&fence_passage("wishes", &[], self.brief.wishes.trim()));
            system.push('\n');
        }
        system
    }

    /// The summary of earlier entries, for understanding.
    fn previous(&self) -> String {
        let previous = self.brief.previous.trim();
        if previous.is_empty() {
            return String::new();
        }
        let text = excerpt(previous, self.brief.window / 8, self.ruler, "what came before");
        let use_for = [("use", "to understand what follows; recorded elsewhere, not to be repeated")];
        fence_passage("earlier", &use_for, &text)
    }

    /// Cuts the items of a summary into pages that fit. An item that does not fit at all is not shown.
    fn pages(&self, base: Summary, level: u32) -> Merge {
        let room = self.room(prompt_of(level));
        let count = |text: &str| self.ruler.count(text).upper;
        let mut pages: Vec<Page> = Vec::new();
        let (mut lines, mut items, mut used) = (String::new(), Vec::new(), 0);
        let shell = count(&page_text(&base, "")) + 8;
        let mut close = |lines: &mut String, items: &mut Vec<(SectionKind, usize)>| {
            if !items.is_empty() {
                let text = page_text(&base, lines);
                pages.push(Page { text, items: std::mem::take(items) });
            }
            lines.clear();
        };
        for section in base.sections.iter().filter(|section| is_patchable(section.kind)) {
            for (at, item) in section.items.iter().enumerate() {
                let line = line(section.kind, at, item);
                // The wrapper's escapes make a line longer; they are counted with it.
                let tokens = count(&page_text(&base, &line)).saturating_sub(shell.saturating_sub(8)) + 2;
                if shell + tokens > room {
                    continue;
                }
                if shell + used + tokens > room {
                    close(&mut lines, &mut items);
                    used = 0;
                }
                lines.push_str(&line);
                items.push((section.kind, at));
                used += tokens;
            }
        }
        close(&mut lines, &mut items);
        pages.retain(|page| count(&page.text) <= room && page.items.len() > 1);
        pages.reverse();
        Merge { level, base, pages, patches: Vec::new() }
    }
}

/// Whether a patch may change items of this kind; others need not be shown.
const fn is_patchable(kind: SectionKind) -> bool {
    !matches!(
        kind,
        SectionKind::Constraints
            | SectionKind::FilesWritten
            | SectionKind::Anchors
            | SectionKind::Remarks
            | SectionKind::Sightings
            | SectionKind::Excerpts
            | SectionKind::RepliedTo
            | SectionKind::Specs
            | SectionKind::HostSummary
    )
}

fn prompt_of(level: u32) -> &'static str {
    if level < 2 { MERGE } else { HIGHER }
}

fn page_text(base: &Summary, lines: &str) -> String {
    let entries = base.span.map(|span| format!("{}-{}", span.first, span.last)).unwrap_or_default();
    fence_passage("summary", &[("entries", &entries), ("title", &base.title)], lines)
}

/// An item with its name, its sources, its state and its author.
fn line(kind: SectionKind, at: usize, item: &Item) -> String {
    let seqs: Vec<String> = item.seqs.iter().map(ToString::to_string).collect();
    let author = item.author.as_ref().map_or_else(String::new, |author| format!(" {author}:"));
    format!("{}.{} [{}] ({}){author} {}\n", kind.name(), at + 1, seqs.join(","), item.state.name(), item.text)
}

#[cfg(test)]
mod tests;
