//! English stems, cached, and irregular forms unknown to a stemmer.

use rust_stemmers::{Algorithm, Stemmer};

use crate::term::{Term, folded};

/// Number of slots of the cache; a word that hashes to a taken slot replaces the old one.
const SLOTS: usize = 1 << 16;

/// Final letters of no English suffix that the stemmer removes.
const INERT: [char; 14] = ['a', 'b', 'f', 'h', 'j', 'k', 'o', 'p', 'q', 'u', 'v', 'w', 'x', 'z'];

/// A direct-mapped cache from the hash of a word to the term of its stem.
pub(crate) struct Stems {
    stemmer: Stemmer,
    slots: Box<[(u64, Term)]>,
}

impl std::fmt::Debug for Stems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stems").finish_non_exhaustive()
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![(0, Term(0)); SLOTS].into_boxed_slice(),
        }
    }
}

impl Stems {
    /// The term of the stem of `word` (ASCII letters, any case), whose folded hash is `hash`.
    #[inline]
    pub(crate) fn stem(&mut self, hash: u64, word: &[u8]) -> Term {
        let index = (hash >> 40) as usize & (SLOTS - 1);
        match self.slots.get(index) {
            Some(&(key, term)) if key == hash => term,
            _ => self.fill(index, hash, word),
        }
    }

    #[cold]
    fn fill(&mut self, index: usize, hash: u64, word: &[u8]) -> Term {
        let word: String = word.iter().map(|&byte| char::from(byte.to_ascii_lowercase())).collect();
        let base = irregular(&word).unwrap_or(&word);
        let term = if base.ends_with(INERT) {
            folded(base.as_bytes())
        } else {
            folded(self.stemmer.stem(base).as_bytes())
        };
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = (hash, term);
        }
        term
    }
}

/// The base form of an irregular English verb form or plural.
///
/// General English, from school grammar lists; forms that are also common words of their own
/// (`found`, `saw`, `left`, `felt`, `lay`, `wound`) are mapped only where the verb is the usual reading.
fn irregular(word: &str) -> Option<&'static str> {
    IRREGULAR
        .binary_search_by(|(form, _)| (*form).cmp(word))
        .ok()
        .and_then(|at| IRREGULAR.get(at))
        .map(|row| row.1)
}

/// Sorted by form.
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"),
    ("awoke", "awake"),
    ("beaten", "beat"),
    ("became", "become"),
    ("been", "be"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bent", "bend"),
    ("bitten", "bite"),
    ("blew", "blow"),
    ("blown", "blow"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("burnt", "burn"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("crept", "creep"),
    ("dealt", "deal"),
    ("did", "do"),
    ("does", "do"),
    ("done", "do"),
    ("dove", "dive"),
    ("drank", "drink"),
    ("drawn", "draw"),
    ("dreamt", "dream"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("drunk", "drink"),
    ("dug", "dig"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("fed", "feed"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("forgave", "forgive"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("gave", "give"),
    ("geese", "goose"),
    ("given", "give"),
    ("goes", "go"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("had", "have"),
    ("has", "have"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("hung", "hang"),
    ("kept", "keep"),
    ("knew", "know"),
    ("knives", "knife"),
    ("known", "know"),
    ("laid", "lay"),
    ("lain", "lie"),
    ("leaves", "leaf"),
    ("led", "lead"),
    ("left", "leave"),
    ("lent", "lend"),
    ("lives", "life"),
    ("lost", "lose"),
    ("made", "make"),
    ("meant", "mean"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("paid", "pay"),
    ("people", "person"),
    ("proven", "prove"),
    ("ran", "run"),
    ("rang", "ring"),
    ("ridden", "ride"),
    ("risen", "rise"),
    ("rode", "ride"),
    ("rose", "rise"),
    ("said", "say"),
    ("sang", "sing"),
    ("sank", "sink"),
    ("sat", "sit"),
    ("saw", "see"),
    ("seen", "see"),
    ("sent", "send"),
    ("shaken", "shake"),
    ("shone", "shine"),
    ("shook", "shake"),
    ("shot", "shoot"),
    ("shown", "show"),
    ("slept", "sleep"),
    ("slid", "slide"),
    ("sold", "sell"),
    ("sought", "seek"),
    ("spent", "spend"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("stood", "stand"),
    ("struck", "strike"),
    ("stuck", "stick"),
    ("sung", "sing"),
    ("swam", "swim"),
    ("swept", "sweep"),
    ("swum", "swim"),
    ("taken", "take"),
    ("taught", "teach"),
    ("teeth", "tooth"),
    ("thought", "think"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("tore", "tear"),
    ("torn", "tear"),
    ("understood", "understand"),
    ("was", "be"),
    ("went", "go"),
    ("wept", "weep"),
    ("were", "be"),
    ("wives", "wife"),
    ("woke", "wake"),
    ("woken", "wake"),
    ("wolves", "wolf"),
    ("women", "woman"),
    ("won", "win"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("wove", "weave"),
    ("written", "write"),
    ("wrote", "write"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_forms_are_sorted_for_binary_search() {
        assert!(IRREGULAR.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn inert_endings_are_left_alone_by_the_stemmer() {
        let stems = Stems::default();
        for last in INERT {
            for word in ["ration", "happi", "relat", "nationaliz", "y", "ing", "generous", "abl"] {
                let word = format!("{word}{last}");
                assert_eq!(stems.stemmer.stem(&word), word);
            }
        }
    }

    #[test]
    fn a_taken_slot_is_replaced_not_believed() {
        let mut stems = Stems::default();
        let first = stems.stem(1 << 40, b"running");
        let second = stems.stem((1 << 40) | 1, b"walked");
        assert_eq!(first, folded(b"run"));
        assert_eq!(second, folded(b"walk"));
        assert_eq!(stems.stem(1 << 40, b"running"), first);
    }
}
