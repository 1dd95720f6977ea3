//! Writes the blocks and the header of a segment.

use super::bits::{BitWriter, rice_bits};
use super::build::Docs;
use super::{BLOCK_BYTES, Gaps, SKIP_MIN, Segment, VERSION, doc_bits};
use crate::terms::Term;
use crate::varint;

/// Bits of a block, without the count of its lists.
const BLOCK_BITS: usize = (BLOCK_BYTES - 2) * 8;

/// Most bits of a term with the head of its list.
const HEAD_BITS: usize = 192;

/// Writes postings sorted by term, then doc.
pub(super) struct Writer {
    docs: Docs,
    doc_bits: u32,
    firsts: Vec<Term>,
    blocks: Vec<Vec<u8>>,
    block: BitWriter,
    /// Number of lists in the open block; the block's last term follows.
    lists: u16,
    last: Term,
    gaps: Gaps,
    terms: u64,
    /// The open list.
    term: Option<Term>,
    list: Vec<(u32, u32)>,
}

impl Writer {
    pub(super) fn new(docs: Docs) -> Self {
        Self {
            doc_bits: doc_bits(docs.lengths.len() as u64),
            docs,
            firsts: Vec::new(),
            blocks: Vec::new(),
            block: BitWriter::default(),
            lists: 0,
            last: Term(0),
            gaps: Gaps::new(),
            terms: 0,
            term: None,
            list: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn posting(&mut self, term: Term, doc: u32, count: u32) {
        if self.term != Some(term) {
            self.flush();
            self.term = Some(term);
            self.terms += 1;
        }
        self.list.push((doc, count));
    }

    /// Writes the open list, over as many blocks as it needs.
    fn flush(&mut self) {
        let Some(term) = self.term else { return };
        let list = std::mem::take(&mut self.list);
        let mut rest = list.as_slice();
        while !rest.is_empty() {
            if self.block.len() + HEAD_BITS > BLOCK_BITS {
                self.close();
            }
            let room = BLOCK_BITS - self.block.len() - HEAD_BITS;
            if let &[(doc, 1)] = rest {
                self.term(term);
                self.block.put(1, 1);
                self.block.put(u64::from(doc), self.doc_bits);
                break;
            }
            let widths = widths(rest);
            let fitting = 1 + fitting(rest, widths, room);
            // For a few postings the end of a block is not worth the head of a list.
            if fitting < rest.len() && fitting < 16 && self.lists > 0 {
                self.close();
                continue;
            }
            let (part, after) = rest.split_at_checked(fitting).unwrap_or((rest, &[]));
            rest = after;
            self.term(term);
            self.many(part, widths.gaps, widths.counts);
        }
        self.list = list;
        self.list.clear();
    }

    /// Writes a term; the first term of a block goes to the header.
    fn term(&mut self, term: Term) {
        if self.lists == 0 {
            self.firsts.push(term);
        } else {
            let gap = term.0 - self.last.0 - 1;
            self.block.rice(gap, self.gaps.width());
            self.gaps.learn(gap);
        }
        self.lists += 1;
        self.last = term;
    }

    /// Writes a list.
    ///
    /// * `k`, `t` - widths for gaps of documents and for counts.
    fn many(&mut self, list: &[(u32, u32)], k: u32, t: u32) {
        self.block.put(0, 1);
        self.block.gamma(list.len() as u32);
        self.block.put(u64::from(t), 2);
        if list.len() > 1 {
            self.block.put(u64::from(k), 5);
        }
        if list.len() >= SKIP_MIN {
            let gaps = list.windows(2).map(|two| rice_bits(gap(two), k)).sum::<usize>();
            let counts = list.iter().map(|posting| rice_bits(posting.1 - 1, t)).sum::<usize>();
            self.block.put((gaps + counts + self.doc_bits as usize) as u64, 16);
        }
        let mut previous = None;
        for &(doc, count) in list {
            match previous {
                None => self.block.put(u64::from(doc), self.doc_bits),
                Some(previous) => self.block.rice(doc - previous - 1, k),
            }
            self.block.rice(count - 1, t);
            previous = Some(doc);
        }
    }

    fn close(&mut self) {
        if self.lists == 0 {
            return;
        }
        let bits = self.block.take();
        let mut block = Vec::with_capacity(bits.len() + 2);
        block.extend_from_slice(&self.lists.to_le_bytes());
        block.extend_from_slice(&bits);
        self.blocks.push(block);
        self.lists = 0;
        self.gaps = Gaps::new();
    }

    pub(super) fn finish(mut self) -> Segment {
        self.flush();
        self.close();
        let runs = &self.docs.runs;
        let start = runs.first().map_or(0, |run| run.0);
        let end = runs.last().map_or(0, |run| run.0 + run.1);
        let mut header = vec![VERSION];
        for value in [self.docs.lengths.len() as u64, start, self.docs.sum, self.terms] {
            varint::put(&mut header, value);
        }
        let mut next = start;
        for &(first, count) in runs {
            varint::put(&mut header, count);
            varint::put(&mut header, first - next);
            next = first + count;
        }
        header.extend_from_slice(&self.docs.lengths);
        varint::put(&mut header, self.blocks.len() as u64);
        let mut last = 0;
        for first in &self.firsts {
            varint::put(&mut header, u64::from(first.0 - last));
            last = first.0;
        }
        Segment { seqs: start..end, header, blocks: self.blocks }
    }
}

/// Parameters of Rice codes, in bits.
#[derive(Clone, Copy)]
struct RiceWidths {
    /// For gaps between documents.
    gaps: u32,
    /// For counts of a term in a document.
    counts: u32,
}

/// The widths that make a list short: for gaps, from their mean down, since documents with a word come in clusters; for
/// counts, all.
fn widths(list: &[(u32, u32)]) -> RiceWidths {
    let bits =
        |values: &mut dyn Iterator<Item = u32>, k| values.map(|value| rice_bits(value, k)).sum::<usize>();
    let span = match list {
        [first, .., last] => last.0 - first.0,
        _ => 0,
    };
    let mean = span / (list.len() as u32 - 1).max(1);
    let top = mean.max(1).ilog2();
    let gaps = || list.windows(2).map(gap);
    let k = (top.saturating_sub(3)..=top).min_by_key(|&k| bits(&mut gaps(), k)).unwrap_or(top);
    let t = (0..=2).min_by_key(|&t| bits(&mut list.iter().map(|posting| posting.1 - 1), t)).unwrap_or(0);
    RiceWidths { gaps: k, counts: t }
}

/// Number of documents between two postings.
fn gap(two: &[(u32, u32)]) -> u32 {
    if let [a, b] = two { b.0 - a.0 - 1 } else { 0 }
}

/// Number of postings after the first that fit into this many bits.
fn fitting(list: &[(u32, u32)], widths: RiceWidths, room: usize) -> usize {
    let mut bits = 0;
    list.windows(2)
        .take_while(|two| {
            bits += rice_bits(gap(two), widths.gaps)
                + two.last().map_or(0, |posting| rice_bits(posting.1 - 1, widths.counts));
            bits <= room
        })
        .count()
}
