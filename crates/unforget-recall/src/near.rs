//! Near words: a table of English words and the words that mean nearly the same, made once by a language model.
//!
//! A question's word also finds entries by its near words, at a lower weight. There is no vector in any index, and words of
//! other languages are simply not in the table. `near/README.md` says how the table is made.
//!
//! Layout, little endian: number of words (u32) · neighbours per word (u8) · the terms, ascending (u32 each) · for each
//! term its neighbours, nearest first: place among the terms (u16), cosine × 255 (u8; 0 for no more).

use crate::terms::Term;

/// The table as it is shipped.
static BYTES: &[u8] = include_bytes!("../near/near.bin");

/// A near word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearWord {
    /// Its term.
    pub term: Term,
    /// How near it is, above 0, at most 1.
    pub cosine: f32,
}

/// Bytes of a neighbour.
const NEIGHBOUR: usize = 3;

/// The words near a term, nearest first; none for a term that is not in the table.
///
/// Cost: O(log words).
pub fn near(term: Term) -> impl Iterator<Item = NearWord> {
    let table = Table::of(BYTES);
    let place = table.and_then(|table| table.place(term));
    table.zip(place).into_iter().flat_map(|(table, place)| table.row(place))
}

/// The parts of the table.
#[derive(Clone, Copy)]
struct Table<'a> {
    terms: &'a [[u8; 4]],
    rows: &'a [u8],
    width: usize,
}

impl<'a> Table<'a> {
    /// `None` for bytes of another layout.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let (&width, rest) = rest.split_first()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (terms, rows) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (terms, _) = terms.as_chunks::<4>();
        Some(Self { terms, rows, width: usize::from(width) })
    }

    fn place(self, term: Term) -> Option<usize> {
        self.terms.binary_search_by_key(&term.0, |bytes| u32::from_le_bytes(*bytes)).ok()
    }

    fn row(self, place: usize) -> impl Iterator<Item = NearWord> {
        let bytes = self.width * NEIGHBOUR;
        let row = self.rows.get(place * bytes..(place + 1) * bytes).unwrap_or_default();
        let (neighbours, _) = row.as_chunks::<NEIGHBOUR>();
        neighbours.iter().take_while(|[.., cosine]| *cosine > 0).filter_map(move |[low, high, cosine]| {
            let term = self.terms.get(usize::from(u16::from_le_bytes([*low, *high])))?;
            Some(NearWord { term: Term(u32::from_le_bytes(*term)), cosine: f32::from(*cosine) / 255.0 })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Analyser, Shape, Sink};

    struct First(Option<Term>);

    impl Sink for First {
        fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
            self.0.get_or_insert(term);
        }
    }

    fn term(word: &str) -> Term {
        let mut first = First(None);
        Analyser::new().text(word, &mut first);
        first.0.unwrap_or_else(|| Term::exact(b""))
    }

    #[test]
    fn near_table() {
        let table = [
            ("doctor", "physician", true, "equal meaning"),
            ("kids", "children", true, "inflected on both sides"),
            ("doctor", "doctors", false, "the word itself, inflected, is no neighbour"),
            ("doctor", "violin", false, "another subject"),
            ("zzyzxq", "physician", false, "a word that is not in the table"),
            ("café", "coffee", false, "another spelling than in the table"),
        ];
        for (word, other, want, why) in table {
            let found = near(term(word)).any(|one| one.term == term(other));
            assert_eq!(found, want, "{why}: {word} and {other}");
        }
    }

    #[test]
    fn the_table_is_in_order_and_small() {
        let table = Table::of(BYTES).map(|table| (table.terms.len(), table.rows.len() / table.width.max(1)));
        assert!(table.is_some_and(|(terms, rows)| terms > 20_000 && rows == terms * NEIGHBOUR), "{table:?}");
        assert!(BYTES.len() <= 2_000_000, "the bound of the repository");
        let cosines: Vec<f32> = near(term("doctor")).map(|one| one.cosine).collect();
        assert!(cosines.is_sorted_by(|a, b| a >= b) && cosines.iter().all(|cosine| *cosine <= 1.0));
    }

    #[test]
    fn damaged_bytes_have_no_words() {
        for length in [0, 3, 4, 5, 100, BYTES.len() / 2] {
            let cut = BYTES.get(..length).unwrap_or_default();
            let Some(table) = Table::of(cut) else { continue };
            assert!(table.terms.len() < 100_000 && table.row(table.terms.len()).next().is_none());
        }
    }
}
