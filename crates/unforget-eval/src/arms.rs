//! Ways to search the turns of a case.

use std::fmt::Write;

use std::rc::Rc;

use rusqlite::Connection;
use unforget_core::entry::Role;
use unforget_recall::fields::DocTerms;
use unforget_recall::meaning::{CODE_BYTES, CodedQuery, Nearness, code, pieces};
use unforget_recall::query::Query;
use unforget_recall::rank::{Limits, search};
use unforget_recall::source::{MemoryIndex, PostingSource as _};
use unforget_recall::terms::Analyser;
use unforget_recall::tuning::Tuning;

use crate::case::Turn;

/// A way to search the turns of one case.
pub trait Arm {
    /// Places of turns for a question, best first, at most `most`.
    ///
    /// # Errors
    /// Why the arm cannot rank as its name says. It never ranks in another way instead.
    fn ask(&mut self, question: &str, most: usize) -> Result<Vec<usize>, String>;
}

/// Makes the vector of a text, of length 1.
pub trait Vectors {
    /// The vector of a piece of a turn.
    ///
    /// # Errors
    /// What the model says.
    fn of_turn(&self, piece: &str) -> Result<Vec<f32>, String>;

    /// The vector of a question.
    ///
    /// # Errors
    /// What the model says.
    fn of_question(&self, question: &str) -> Result<Vec<f32>, String>;
}

/// Most pieces of a turn that get a vector.
const PIECES: usize = 8;

/// Codes of turns, and the model that made them.
struct Meaning {
    vectors: Rc<dyn Vectors>,
    /// Numbers of a vector; 0 without any.
    length: usize,
    /// The place of its turn, and a code; ascending.
    codes: Vec<(u32, [u8; CODE_BYTES])>,
}

impl Meaning {
    fn new(turns: &[Turn], vectors: Rc<dyn Vectors>) -> Result<Self, String> {
        let mut codes = Vec::new();
        let mut length = 0;
        for (place, turn) in (0..).zip(turns) {
            for piece in pieces(&turn.text, PIECES) {
                let author =
                    if turn.author.is_empty() { String::new() } else { format!("{}: ", turn.author) };
                let vector = vectors.of_turn(&format!("{author}{piece}"))?;
                length = same_length(length, vector.len())?;
                codes.push((place, code(&vector)));
            }
        }
        Ok(Self { vectors, length, codes })
    }

    /// How near the turns are to a question.
    fn nearness(&self, question: &str, turns: u32) -> Result<Nearness, String> {
        let vector = self.vectors.of_question(question)?;
        same_length(self.length, vector.len())?;
        let query = CodedQuery::new(&vector);
        let mut nearness = Nearness::none(turns);
        self.codes.iter().for_each(|(place, code)| nearness.add(*place, query.nearness(code)));
        Ok(nearness)
    }
}

/// The length of vectors so far, 0 before the first, compared with that of another one.
fn same_length(known: usize, next: usize) -> Result<usize, String> {
    if known == 0 || known == next {
        return Ok(next);
    }
    Err(format!("vectors of {next} and of {known} numbers cannot be compared: give a new file of vectors"))
}

/// Our ranking over an index in memory.
pub struct Ranking {
    analyser: Analyser,
    index: MemoryIndex,
    meaning: Option<Meaning>,
    /// The weights; may be changed between questions.
    pub tuning: Tuning,
}

impl Ranking {
    /// Indexes the turns of a case. Cost: O(text).
    pub fn new(turns: &[Turn], tuning: Tuning) -> Self {
        let mut analyser = Analyser::new();
        let mut index = MemoryIndex::new();
        let mut doc = DocTerms::new();
        for (seq, turn) in (0..).zip(turns) {
            doc.clear();
            doc.text(&mut analyser, &turn.text);
            doc.role(turn.role);
            if turn.role == Role::None {
                doc.asks(turn.text.lines().next().unwrap_or_default());
            }
            if !turn.author.is_empty() {
                doc.author(&mut analyser, &turn.author);
            }
            if let Some(time) = turn.time {
                doc.time(time);
            }
            // The numbers ascend, so no entry is refused.
            let added = index.add(seq, &doc);
            debug_assert!(added.is_ok());
        }
        Self { analyser, index, meaning: None, tuning }
    }

    /// This ranking by meaning too. Cost: a call of the model for each piece of each turn.
    ///
    /// # Errors
    /// What the model says.
    pub fn with_meaning(self, turns: &[Turn], vectors: Rc<dyn Vectors>) -> Result<Self, String> {
        Ok(Self { meaning: Some(Meaning::new(turns, vectors)?), ..self })
    }

    /// Bytes of the stored codes.
    pub fn meaning_bytes(&self) -> u64 {
        self.meaning.as_ref().map_or(0, |meaning| (meaning.codes.len() * CODE_BYTES) as u64)
    }
}

impl Arm for Ranking {
    fn ask(&mut self, question: &str, most: usize) -> Result<Vec<usize>, String> {
        // A question without words finds nothing.
        let Ok(query) = Query::parse(&mut self.analyser, question, None) else { return Ok(Vec::new()) };
        let docs = self.index.docs();
        let nearness = self.meaning.as_ref().map(|one| one.nearness(question, docs)).transpose()?;
        let limits =
            Limits { hits: most, tuning: self.tuning, nearness: nearness.as_ref(), ..Limits::default() };
        let Ok(ranked) = search(&query, &mut self.index, &limits);
        Ok(ranked.hits.iter().map(|hit| hit.seq as usize).collect())
    }
}

/// SQLite's FTS5 with its own `bm25()` over the same turns: stemmed, authors beside the text, any word of the question.
pub struct FullText {
    connection: Connection,
}

impl FullText {
    /// Indexes the turns of a case in memory.
    ///
    /// # Errors
    /// Those of SQLite.
    pub fn new(turns: &[Turn]) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE words USING fts5(text, author, content='', tokenize='porter unicode61');",
        )?;
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare("INSERT INTO words (rowid, text, author) VALUES (?1, ?2, ?3)")?;
            for (place, turn) in (0_i64..).zip(turns) {
                insert.execute((place, &turn.text, &turn.author))?;
            }
        }
        transaction.commit()?;
        Ok(Self { connection })
    }

    fn found(&self, expression: &str, most: usize) -> rusqlite::Result<Vec<usize>> {
        let mut select = self
            .connection
            .prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words) LIMIT ?2")?;
        let rows = select.query_map((expression, most as i64), |row| row.get::<_, i64>(0))?;
        rows.map(|row| row.map(|place| place as usize)).collect()
    }
}

impl Arm for FullText {
    fn ask(&mut self, question: &str, most: usize) -> Result<Vec<usize>, String> {
        let mut expression = String::new();
        let words =
            question.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        // A longer expression is beyond SQLite's depth of parsing.
        for word in words.take(500) {
            let or = if expression.is_empty() { "" } else { " OR " };
            // Writing to a string does not fail.
            let _ = write!(expression, "{or}\"{word}\"");
        }
        if expression.is_empty() {
            return Ok(Vec::new());
        }
        self.found(&expression, most).map_err(|error| format!("SQLite's full text search: {error}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A model that makes vectors of some length, and fails for questions of one word.
    struct Planted(usize);

    impl Vectors for Planted {
        fn of_turn(&self, piece: &str) -> Result<Vec<f32>, String> {
            // As a file of another model would.
            let length = if piece.contains("old") { 2 } else { 4 };
            Ok(vec![1.0; length])
        }

        fn of_question(&self, question: &str) -> Result<Vec<f32>, String> {
            if question.contains(' ') { Ok(vec![1.0; self.0]) } else { Err("the model is gone".to_owned()) }
        }
    }

    #[test]
    fn an_arm_that_cannot_rank_by_meaning_fails() {
        let turn = |text: &str| Turn {
            author: String::new(),
            role: Role::User,
            time: None,
            session: 0,
            text: text.to_owned(),
        };
        let arm = |length: usize, texts: &[&str]| {
            let turns: Vec<Turn> = texts.iter().map(|text| turn(text)).collect();
            Ranking::new(&turns, Tuning::default()).with_meaning(&turns, Rc::new(Planted(length)))
        };
        let mut sound = arm(4, &["a cat", "a dog"]).unwrap();
        assert_eq!(sound.ask("the cat", 9).unwrap().first(), Some(&0));
        assert_eq!(sound.ask("cat", 9).unwrap_err(), "the model is gone", "words would find it");
        let told = arm(3, &["a cat"]).unwrap().ask("the cat", 9).unwrap_err();
        assert!(told.contains("of 3 and of 4 numbers"), "{told}");
        assert!(arm(4, &["a cat", "an old one"]).err().unwrap().contains("of 2 and of 4"));
    }
}
