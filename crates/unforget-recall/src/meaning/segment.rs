//! Codes of a range of entries in stored form: a header, and one block.
//!
//! Header: the version; number of entries with a code; number of codes; in version `0x82`, number of pieces without a code;
//! length of the model's vectors; the model's name.
//! Block: for each code its entry, as the distance from the entry of the code before; then all codes, one after another.

use super::code::CODE_BYTES;
use crate::varint;

/// Version of the form. Codes of another version are made again. No header of posting lists begins with it.
const VERSION: u8 = 0x81;

/// Version of a form with pieces that the model made no vector of. Written only where there are some.
const VERSION_WITHOUT: u8 = 0x82;

/// Longest name of a model that is taken, in bytes.
const NAME_BYTES_MAX: u64 = 1024;

/// Whether a header is one of a segment of meaning, and not of posting lists.
pub fn is_meaning(header: &[u8]) -> bool {
    header.first().is_some_and(|version| *version >= 0x80)
}

/// What vectors belong to: vectors of two models say nothing about each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorModel {
    /// Name of the model.
    pub name: String,
    /// Length of its vectors.
    pub dimension: u32,
}

/// Why stored codes cannot be read. They are derived: drop them, and they are made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment of meaning is damaged: {rule}")]
pub struct MeaningError {
    /// What does not hold.
    pub rule: &'static str,
}

const fn damaged(rule: &'static str) -> MeaningError {
    MeaningError { rule }
}

/// Codes of a range of entries in stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeaningSegment {
    /// See the module.
    pub header: Vec<u8>,
    /// See the module; empty without codes.
    pub block: Vec<u8>,
}

/// A code and its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The entry.
    pub seq: u64,
    /// The code of one of its pieces.
    pub code: [u8; CODE_BYTES],
}

/// Collects codes, ascending by entry.
#[derive(Clone, Debug)]
pub struct MeaningBuilder {
    model: VectorModel,
    start: u64,
    codes: Vec<Coded>,
    without: u64,
}

impl MeaningBuilder {
    /// * `start` - first entry of the range.
    pub const fn new(model: VectorModel, start: u64) -> Self {
        Self { model, start, codes: Vec::new(), without: 0 }
    }

    /// Counts pieces that the model made no vector of.
    pub const fn add_without(&mut self, pieces: u64) {
        self.without = self.without.saturating_add(pieces);
    }

    /// Adds a code of an entry, which must not come before those that were added.
    pub fn add(&mut self, coded: Coded) {
        debug_assert!(self.codes.last().is_none_or(|last| last.seq <= coded.seq), "entries ascend");
        self.codes.push(coded);
    }

    /// The stored form. A range without any code has one too: it says that nothing is missing.
    pub fn finish(self) -> MeaningSegment {
        let Self { model, start, codes, without } = self;
        let mut block = Vec::new();
        let (mut last, mut entries) = (None, 0);
        for Coded { seq, .. } in &codes {
            varint::put(&mut block, seq.saturating_sub(last.unwrap_or(start)));
            entries += u64::from(last != Some(*seq));
            last = Some(*seq);
        }
        for coded in &codes {
            block.extend_from_slice(&coded.code);
        }
        let mut header = vec![if without > 0 { VERSION_WITHOUT } else { VERSION }];
        varint::put(&mut header, entries);
        varint::put(&mut header, codes.len() as u64);
        if without > 0 {
            varint::put(&mut header, without);
        }
        varint::put(&mut header, u64::from(model.dimension));
        varint::put(&mut header, model.name.len() as u64);
        header.extend_from_slice(model.name.as_bytes());
        MeaningSegment { header, block }
    }
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeaningHead {
    /// The model of the codes.
    pub model: VectorModel,
    /// Entries with a code.
    pub entries: u64,
    /// Codes.
    pub codes: u64,
    /// Pieces of entries that the model made no vector of: they are found by words alone.
    pub without: u64,
}

impl MeaningHead {
    /// Parses and checks a header.
    ///
    /// # Errors
    /// [`MeaningError`] also for another version.
    pub fn parse(header: &[u8]) -> Result<Self, MeaningError> {
        let (version, mut rest) = header.split_first().ok_or(damaged("the header is empty"))?;
        if !matches!(*version, VERSION | VERSION_WITHOUT) {
            return Err(damaged("the version is another one"));
        }
        let mut number = || varint::take(&mut rest).ok_or(damaged("the header is cut off"));
        let (entries, codes) = (number()?, number()?);
        let without = if *version == VERSION_WITHOUT { number()? } else { 0 };
        let (dimension, bytes) = (number()?, number()?);
        let dimension =
            u32::try_from(dimension).map_err(|_| damaged("the length of vectors is too large"))?;
        if entries > codes {
            return Err(damaged("there are more entries than codes"));
        }
        if bytes > NAME_BYTES_MAX || bytes != rest.len() as u64 {
            return Err(damaged("the name does not fill the header"));
        }
        let name = std::str::from_utf8(rest).map_err(|_| damaged("the name is no text"))?;
        Ok(Self { model: VectorModel { name: name.to_owned(), dimension }, entries, codes, without })
    }

    /// Calls `each` with all codes of a block, ascending by entry.
    ///
    /// * `start` - first entry of the range.
    ///
    /// # Errors
    /// [`MeaningError`]; `each` may have been called.
    pub fn each(
        &self,
        start: u64,
        block: &[u8],
        each: &mut dyn FnMut(u64, &[u8; CODE_BYTES]),
    ) -> Result<(), MeaningError> {
        let bytes = usize::try_from(self.codes).ok().and_then(|codes| codes.checked_mul(CODE_BYTES));
        let entries = bytes.and_then(|bytes| block.len().checked_sub(bytes));
        let (mut entries, codes) =
            entries.and_then(|at| block.split_at_checked(at)).ok_or(damaged("the codes are cut off"))?;
        let mut seq = start;
        for code in codes.as_chunks::<CODE_BYTES>().0 {
            let distance = varint::take(&mut entries).ok_or(damaged("the entries are cut off"))?;
            seq = seq.checked_add(distance).ok_or(damaged("an entry number is too large"))?;
            each(seq, code);
        }
        if entries.is_empty() { Ok(()) } else { Err(damaged("bytes between entries and codes")) }
    }
}

/// One segment from neighbours of one model.
///
/// * `parts` - first entry, header and block of each, ascending.
///
/// # Errors
/// [`MeaningError`] if one is damaged, or of another model.
pub fn merge(parts: &[(u64, MeaningSegment)]) -> Result<MeaningSegment, MeaningError> {
    let mut heads = Vec::with_capacity(parts.len());
    for (start, part) in parts {
        heads.push((*start, MeaningHead::parse(&part.header)?, part));
    }
    // Without any code, nobody knows the length of the vectors.
    let first = heads.iter().find(|(_, head, _)| head.codes > 0).or(heads.first());
    let Some((_, first, _)) = first else { return Err(damaged("there is nothing to merge")) };
    let start = parts.first().map_or(0, |(start, _)| *start);
    let mut merged = MeaningBuilder::new(first.model.clone(), start);
    for (start, head, part) in heads {
        let is_one = head.model.name == merged.model.name && (head.codes == 0 || head.model == merged.model);
        if !is_one {
            return Err(damaged("two models in one segment"));
        }
        merged.add_without(head.without);
        head.each(start, &part.block, &mut |seq, code| merged.add(Coded { seq, code: *code }))?;
    }
    Ok(merged.finish())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn model() -> VectorModel {
        VectorModel { name: "mini".to_owned(), dimension: 384 }
    }

    fn coded(seq: u64) -> Coded {
        Coded { seq, code: [seq as u8; CODE_BYTES] }
    }

    fn built(start: u64, seqs: &[u64]) -> MeaningSegment {
        let mut builder = MeaningBuilder::new(model(), start);
        for seq in seqs {
            builder.add(coded(*seq));
        }
        builder.finish()
    }

    fn read(start: u64, segment: &MeaningSegment) -> Result<Vec<Coded>, MeaningError> {
        let mut found = Vec::new();
        let head = MeaningHead::parse(&segment.header)?;
        head.each(start, &segment.block, &mut |seq, code| found.push(Coded { seq, code: *code }))?;
        Ok(found)
    }

    proptest! {
        #[test]
        fn round_trip_and_merge(steps in proptest::collection::vec(0_u64..400, 0..60), cut in 0_usize..60) {
            let seqs: Vec<u64> = steps.iter().scan(1000, |seq, step| { *seq += step; Some(*seq) }).collect();
            let whole = built(1000, &seqs);
            let want: Vec<Coded> = seqs.iter().map(|seq| coded(*seq)).collect();
            prop_assert_eq!(read(1000, &whole).unwrap(), want);
            let (left, right) = seqs.split_at(cut.min(seqs.len()));
            let middle = right.first().copied().unwrap_or(1_000_000);
            // An entry belongs to one segment.
            prop_assume!(left.last() != right.first());
            let parts = [(1000, built(1000, left)), (middle, built(middle, right))];
            prop_assert_eq!(merge(&parts).unwrap(), whole);
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(header: Vec<u8>, block: Vec<u8>, good: bool) {
            let header = if good { built(0, &[1, 2]).header } else { header };
            if let Ok(head) = MeaningHead::parse(&header) {
                head.each(0, &block, &mut |_, _| ()).ok();
            }
        }
    }

    #[test]
    fn damage_table() {
        let sound = built(5, &[5, 5, 9]);
        assert_eq!(
            MeaningHead::parse(&sound.header).unwrap(),
            MeaningHead { model: model(), entries: 2, codes: 3, without: 0 }
        );
        let mut some = MeaningBuilder::new(model(), 10);
        some.add_without(3);
        let some = some.finish();
        let merged = merge(&[(5, sound.clone()), (10, some.clone())]).unwrap();
        let head = MeaningHead::parse(&merge(&[(5, merged), (11, some)]).unwrap().header).unwrap();
        assert_eq!(head, MeaningHead { model: model(), entries: 2, codes: 3, without: 6 });
        let with =
            |header: &[u8], block: &[u8]| MeaningSegment { header: header.to_vec(), block: block.to_vec() };
        let (header, block) = (&sound.header, &sound.block);
        let mut newer = header.clone();
        newer[0] = 0x83;
        let table = [
            (with(&[], block), "empty"),
            (with(&newer, block), "version"),
            (with(&header[..header.len() - 1], block), "name"),
            (with(header, &block[1..]), "cut off"),
            (with(header, &[&[0], block.as_slice()].concat()), "between"),
        ];
        for (segment, want) in table {
            let told = read(5, &segment).unwrap_err().to_string();
            assert!(told.contains(want), "{want}: {told}");
        }
        let mut other = MeaningBuilder::new(VectorModel { dimension: 3, ..model() }, 10);
        other.add(Coded { seq: 10, code: [0; CODE_BYTES] });
        let other = other.finish();
        assert!(merge(&[(5, sound), (10, other)]).is_err());
        assert!(merge(&[]).is_err());
    }
}
