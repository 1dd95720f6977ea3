//! Documents: the indexed words and fields of one entry.

use unforget_core::entry::Role;
use unforget_core::id::Timestamp;

use crate::calendar::Day;
use crate::terms::{Analyser, Shape, Sink, Term};

/// Initial number of slots: they fit the first-level cache.
const SLOTS_MIN: usize = 1024;

/// The terms of one entry with their counts. Reuse one for many entries: [`DocTerms::clear`].
#[derive(Debug, Default)]
pub struct DocTerms {
    terms: Vec<(Term, u32)>,
    /// Open addressing: term, number of the clearing before it was written, index into `terms`.
    slots: Vec<(u32, u32, u32)>,
    /// Number of slots in use, a power of two; the remaining slots are kept for larger documents.
    used: usize,
    epoch: u32,
    length: u32,
}

impl DocTerms {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.terms.clear();
        self.length = 0;
        self.used = self.used.min(SLOTS_MIN);
        self.next_epoch();
    }

    fn next_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.fill((0, 0, 0));
            self.epoch = 1;
        }
    }

    /// Adds words of the entry: text, tool arguments, output.
    pub fn text(&mut self, analyser: &mut Analyser, text: &str) {
        analyser.text(text, self);
    }

    /// Adds the role, for scoping.
    pub fn role(&mut self, role: Role) {
        self.field(role_term(role));
    }

    /// Marks an entry of a talk between people that ends with a question.
    pub fn asks(&mut self, text: &str) {
        if text.trim_end().ends_with(['?', '\u{FF1F}', '\u{061F}']) {
            self.field(asks_term());
        }
    }

    /// Marks an entry that failed.
    pub fn failed(&mut self) {
        self.field(failed_term());
    }

    /// Adds the author: verbatim for scoping, by the words of the name for ranking.
    pub fn author(&mut self, analyser: &mut Analyser, author: &str) {
        self.field(author_term(author));
        author_words(analyser, author, |term| self.field(term));
    }

    /// Adds a tool that the entry calls or whose result it holds.
    pub fn tool(&mut self, name: &str) {
        self.field(tool_term(name));
    }

    /// Adds the day (UTC), its month, its year and the name of its month.
    pub fn time(&mut self, time: Timestamp) {
        let day = Day::of(time);
        for term in [day_term(day), month_term(day), year_term(day.year), month_name_term(day.month)] {
            self.field(term);
        }
    }

    /// Terms with their counts, in no particular order, without duplicates.
    pub fn terms(&self) -> &[(Term, u32)] {
        &self.terms
    }

    /// Number of words; fields and whole identifiers do not count.
    pub fn length(&self) -> u32 {
        self.length
    }

    fn field(&mut self, term: Term) {
        self.add(term);
    }

    /// Counts one more occurrence.
    fn add(&mut self, term: Term) {
        if self.used < 2 * (self.terms.len() + 1) {
            self.grow();
        }
        let epoch = self.epoch;
        let mask = self.used - 1;
        let mut at = term.0 as usize & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.1 != epoch {
                *slot = (term.0, epoch, self.terms.len() as u32);
                self.terms.push((term, 1));
                return;
            }
            if slot.0 == term.0 {
                if let Some((_, count)) = self.terms.get_mut(slot.2 as usize) {
                    *count = count.saturating_add(1);
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        self.used = (4 * (self.terms.len() + 1)).next_power_of_two().max(SLOTS_MIN);
        if self.slots.len() < self.used {
            self.slots.resize(self.used, (0, 0, 0));
        }
        self.next_epoch();
        let mask = self.used - 1;
        for (index, (term, _)) in self.terms.iter().enumerate() {
            let mut at = term.0 as usize & mask;
            while self.slots.get(at).is_some_and(|slot| slot.1 == self.epoch) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = (term.0, self.epoch, index as u32);
            }
        }
    }
}

impl Sink for DocTerms {
    #[inline]
    fn term(&mut self, term: Term, shape: Shape, _source: &[u8]) {
        self.length = self.length.saturating_add(u32::from(shape.counts()));
        self.add(term);
    }
}

/// The term of all entries of this role.
pub fn role_term(role: Role) -> Term {
    Term::exact(match role {
        Role::System => b"\x01role:system",
        Role::User => b"\x01role:user",
        Role::Assistant => b"\x01role:assistant",
        Role::Tool => b"\x01role:tool",
        Role::None => b"\x01role:none",
    })
}

/// The term of entries that ask: people's talk whose last sentence is a question.
pub fn asks_term() -> Term {
    Term::exact(b"\x01asks")
}

/// The term of entries that failed: results of tools with an error, answers that a provider broke off.
pub fn failed_term() -> Term {
    Term::exact(b"\x01failed")
}

/// The term of all entries of this author; case does not matter.
pub fn author_term(author: &str) -> Term {
    Term::exact(format!("\u{1}author:{}", author.trim().to_lowercase()).as_bytes())
}

/// The term of all calls and results of this tool; case does not matter.
pub fn tool_term(name: &str) -> Term {
    Term::exact(format!("\u{1}tool:{}", name.trim().to_lowercase()).as_bytes())
}

/// The term of entries of this day, `\u{1}day:2023-05-07`.
pub fn day_term(day: Day) -> Term {
    Term::exact(format!("\u{1}day:{:04}-{:02}-{:02}", day.year, day.month, day.day).as_bytes())
}

/// The term of entries of this day's month, `\u{1}month:2023-05`.
pub fn month_term(day: Day) -> Term {
    Term::exact(format!("\u{1}month:{:04}-{:02}", day.year, day.month).as_bytes())
}

/// The term of entries of this year.
pub fn year_term(year: i64) -> Term {
    Term::exact(format!("\u{1}year:{year:04}").as_bytes())
}

/// The term of entries of this month (1 to 12) in any year.
pub fn month_name_term(month: u8) -> Term {
    Term::exact(format!("\u{1}in:{month:02}").as_bytes())
}

/// The term of entries whose author's name contains this word.
pub fn author_word_term(word: Term) -> Term {
    Term::exact(format!("\u{1}by:{:08x}", word.0).as_bytes())
}

/// Terms of the words of a name.
fn author_words(analyser: &mut Analyser, author: &str, mut each: impl FnMut(Term)) {
    struct Words(Vec<Term>);
    impl Sink for Words {
        fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
            self.0.push(term);
        }
    }
    let mut words = Words(Vec::new());
    analyser.text(author, &mut words);
    words.0.into_iter().for_each(|word| each(author_word_term(word)));
}
