//! Packs the words of `near/make.py` into `near/near.bin`: lines on standard input, bytes on standard output.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "run by hand, on our own file")]

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};

use unforget_recall::terms::{Analyser, Shape, Sink, Term};

/// Neighbours per word.
const WIDTH: usize = 16;

/// Words, so that a place fits 16 bits.
const WORDS: usize = 65_535;

/// The first term of a text.
struct First(Option<Term>);

impl Sink for First {
    fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
        self.0.get_or_insert(term);
    }
}

fn main() {
    let mut lines = String::new();
    std::io::stdin().read_to_string(&mut lines).unwrap();
    let mut analyser = Analyser::new();
    let mut term = |word: &str| {
        let mut first = First(None);
        analyser.text(word, &mut first);
        first.0.unwrap().value() as u32
    };
    // Inflected forms are one term; its neighbours are those of all forms, each with its highest cosine.
    let mut rows: BTreeMap<u32, HashMap<u32, f32>> = BTreeMap::new();
    for line in lines.lines() {
        let (word, near) = line.split_once('\t').unwrap();
        let own = term(word);
        if rows.len() == WORDS && !rows.contains_key(&own) {
            break;
        }
        let row = rows.entry(own).or_default();
        for (other, cosine) in near.split(' ').filter_map(|one| one.split_once(':')) {
            let cosine: f32 = cosine.parse().unwrap();
            let other = term(other);
            if other != own {
                let known = row.entry(other).or_default();
                *known = known.max(cosine);
            }
        }
    }
    let places: HashMap<u32, u16> = rows.keys().copied().zip(0_u16..).collect();
    let mut out = Vec::new();
    out.extend((rows.len() as u32).to_le_bytes());
    out.push(WIDTH as u8);
    for term in rows.keys() {
        out.extend(term.to_le_bytes());
    }
    for row in rows.values() {
        let mut near: Vec<(f32, u16)> =
            row.iter().filter_map(|(term, cosine)| Some((*cosine, *places.get(term)?))).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.resize(WIDTH.max(near.len()), (0.0, 0));
        for (cosine, place) in near.into_iter().take(WIDTH) {
            out.extend(place.to_le_bytes());
            out.push((cosine * 255.0).round() as u8);
        }
    }
    eprintln!("{} words, {} bytes", rows.len(), out.len());
    std::io::stdout().write_all(&out).unwrap();
}
