//! Pages: lists of unknown length are read part by part, in order of a key.

use unforget_core::id::{ConversationId, Generation, Seq, Thread};

use super::{
    ContextRow, Conversation, Filter, FilterOf, GenerationRow, JobRow, LabelRow, NamedEntry, RecipeRow,
    Result, SayingRow, SegmentHead, Snapshot, SummaryKey, SummaryRow,
};

/// Most rows that [`walk`] asks for at once.
pub const PAGE_ROWS: usize = 512;

/// A part of a list: the first `limit` rows whose keys are greater than `after`. A list with fewer rows than `limit`
/// has come to its end. Each page is one read; rows that are written in between show up if their keys are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<K> {
    /// Key of the last row of the page before; `None` for the first page.
    pub after: Option<K>,
    /// Most rows of the page; more than zero.
    pub limit: usize,
}

impl<K> Page<K> {
    /// The first `limit` rows.
    pub const fn first(limit: usize) -> Self {
        Self { after: None, limit }
    }
}

/// A row of a list that is read in pages.
pub trait PageRow {
    /// Its place in the list.
    type Key: Copy + Ord;

    /// The key. No two rows of a list have an equal one.
    fn page_key(&self) -> Self::Key;
}

/// The place of a summary in the list of a conversation: by span, then level, then the rest of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SummaryPlace {
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Level in the tree.
    pub level: u8,
    /// The whole key.
    pub key: SummaryKey,
}

/// The place of a job in the list of a conversation: by level, then span, then the rest of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobPlace {
    /// Level in the tree.
    pub level: u8,
    /// First and last entry.
    pub span: (Seq, Seq),
    /// The whole key.
    pub key: SummaryKey,
}

macro_rules! page_rows {
    ($($row:ty, $key:ty, |$one:ident| $of:expr;)*) => {$(
        impl PageRow for $row {
            type Key = $key;

            fn page_key(&self) -> $key {
                let $one = self;
                $of
            }
        }
    )*};
}

page_rows! {
    Conversation, ConversationId, |one| one.id;
    ConversationId, Self, |one| *one;
    LabelRow, ConversationId, |one| one.conversation;
    GenerationRow, Generation, |one| one.number;
    Snapshot, u64, |one| one.number;
    Filter, FilterOf, |one| one.of;
    SegmentHead, u64, |one| one.number;
    SummaryRow, SummaryPlace, |one| SummaryPlace { span: one.span, level: one.key.level, key: one.key };
    SummaryKey, Self, |one| *one;
    ContextRow, u64, |one| one.budget;
    Thread, Self, |one| *one;
    NamedEntry, Self, |one| *one;
    SayingRow, u64, |one| one.number;
    RecipeRow, u64, |one| one.number;
    JobRow, JobPlace, |one| JobPlace { level: one.key.level, span: one.span, key: one.key };
}

/// Every row of a list, read page by page while the iterator is used. It ends after the first error.
///
/// * `read` - reads one page, such as `|page| store.conversations(page)`.
pub fn walk<R: PageRow>(
    mut read: impl FnMut(Page<R::Key>) -> Result<Vec<R>>,
) -> impl Iterator<Item = Result<R>> {
    let mut next = Some(Page::first(PAGE_ROWS));
    let pages = std::iter::from_fn(move || {
        let page = next.take()?;
        let rows = read(page);
        if let Ok(rows) = &rows {
            let last = rows.last().filter(|_| rows.len() >= page.limit);
            next = last.map(|last| Page { after: Some(last.page_key()), ..page });
        }
        Some(rows)
    });
    pages.flat_map(|rows| match rows {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    })
}

/// All rows of a list, read page by page; for lists that a caller needs as a whole.
///
/// # Errors
/// Those of `read`, see [`walk`].
pub fn read_all<R: PageRow>(read: impl FnMut(Page<R::Key>) -> Result<Vec<R>>) -> Result<Vec<R>> {
    walk(read).collect()
}

/// The rows of a page, from a list in memory in order of the keys.
pub(crate) fn page_of<R: PageRow>(rows: impl Iterator<Item = R>, page: Page<R::Key>) -> Vec<R> {
    rows.filter(|row| page.after.is_none_or(|after| row.page_key() > after)).take(page.limit).collect()
}
