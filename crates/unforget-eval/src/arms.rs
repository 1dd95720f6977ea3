//! Ways to search the turns of a case.

use std::fmt::Write;

use rusqlite::Connection;
use unforget_core::entry::Role;
use unforget_recall::fields::DocTerms;
use unforget_recall::query::Query;
use unforget_recall::rank::{Limits, search};
use unforget_recall::source::MemoryIndex;
use unforget_recall::terms::Analyser;
use unforget_recall::tuning::Tuning;

use crate::case::Turn;

/// A way to search the turns of one case.
pub trait Arm {
    /// Places of turns for a question, best first, at most `most`.
    fn ask(&mut self, question: &str, most: usize) -> Vec<usize>;
}

/// Our ranking over an index in memory.
pub struct Ranking {
    analyser: Analyser,
    index: MemoryIndex,
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
        Self { analyser, index, tuning }
    }
}

impl Arm for Ranking {
    fn ask(&mut self, question: &str, most: usize) -> Vec<usize> {
        let Ok(query) = Query::parse(&mut self.analyser, question, None) else { return Vec::new() };
        let limits = Limits { hits: most, tuning: self.tuning, ..Limits::default() };
        let Ok(ranked) = search(&query, &mut self.index, &limits);
        ranked.hits.iter().map(|hit| hit.seq as usize).collect()
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
    fn ask(&mut self, question: &str, most: usize) -> Vec<usize> {
        let mut expression = String::new();
        let words =
            question.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        // A longer expression is beyond SQLite's depth of parsing.
        for word in words.take(500) {
            let or = if expression.is_empty() { "" } else { " OR " };
            // Writing to a string does not fail.
            let _ = write!(expression, "{or}\"{word}\"");
        }
        self.found(&expression, most).unwrap_or_default()
    }
}
