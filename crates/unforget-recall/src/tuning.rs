//! Weights of the ranking, and their values.

/// Weights of the ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// BM25: how fast repetition stops counting.
    pub k1: f32,
    /// BM25: how much length counts against a document, 0 to 1.
    pub b: f32,
    /// Share that an entry gets of the scores of the entries before it: of the next, the second next, and so on.
    pub before: [f32; 4],
    /// Share that an entry gets of the scores of the entries after it.
    pub after: [f32; 4],
    /// Share that an answer gets, beyond `before`, of the question right before it, in a talk between people.
    pub answer: f32,
    /// Factor for an entry that asks, in a talk between people.
    pub asks: f32,
    /// Factor for words with little content.
    pub stop: f32,
    /// How much likelier an entry by an author is whom the query names.
    pub author: f32,
    /// Factor for a word of the query that is an author's name, when found in the text.
    pub name: f32,
    /// How much likelier a person's entry is: people state the essentials in the fewest words. An entry without a role
    /// is a person's.
    pub user: f32,
    /// How much likelier an entry is that fits a date of the query.
    pub date: f32,
    /// How much likelier an entry is that failed, if the query asks for failures.
    pub failed: f32,
    /// How much an entry gains that holds all of the query; less for a part, by a power of the part's rarity.
    pub covered: f32,
    /// Exponent of the covered part in that gain.
    pub power: f32,
    /// How much an entry gains that holds the query and nothing else.
    pub equal: f32,
    /// Factor for near words of a word, beside their nearness; 0 looks none up.
    pub near: f32,
    /// What the nearest document in meaning gains, as a share of the best score of words.
    pub meaning: f32,
}

impl Default for Tuning {
    /// Chosen on the dev half of all sets of `unforget bench recall`; docs/figures.md has both halves.
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.9,
            before: [0.2, 0.25, 0.15, 0.05],
            after: [0.3, 0.2, 0.0, 0.05],
            answer: 0.6,
            asks: 0.85,
            stop: 0.2,
            author: 0.5,
            name: 0.1,
            user: 1.0,
            date: 1.6,
            failed: 0.3,
            covered: 2.0,
            power: 8.0,
            equal: 10.0,
            near: 0.55,
            meaning: 0.5,
        }
    }
}

impl Tuning {
    /// Weights for hits that nobody asked for. [`crate::select::Floor`] was chosen with them, before entries could be known
    /// as failed.
    ///
    /// A copy of the question gains nothing, since it answers nothing. Words that mean nearly the same count nothing, and
    /// common words little, since a hit has to be about the question and not only the best there is.
    pub fn unasked() -> Self {
        Self {
            k1: 0.9,
            b: 0.3,
            before: [0.5, 0.3, 0.15, 0.1],
            after: [0.5, 0.3, 0.15, 0.1],
            answer: 0.0,
            asks: 1.0,
            stop: 0.05,
            name: 0.3,
            user: 0.1,
            date: 1.2,
            covered: 0.0,
            equal: 0.0,
            near: 0.0,
            meaning: 0.0,
            ..Self::default()
        }
    }

    /// Names of all weights.
    pub const NAMES: [&str; 23] = [
        "k1", "b", "before1", "before2", "before3", "before4", "after1", "after2", "after3", "after4",
        "answer", "asks", "stop", "author", "name", "user", "date", "failed", "covered", "power", "equal",
        "near", "meaning",
    ];

    /// A weight by name, to change it.
    pub fn weight(&mut self, name: &str) -> Option<&mut f32> {
        let [before1, before2, before3, before4] = &mut self.before;
        let [after1, after2, after3, after4] = &mut self.after;
        Some(match name {
            "k1" => &mut self.k1,
            "b" => &mut self.b,
            "before1" => before1,
            "before2" => before2,
            "before3" => before3,
            "before4" => before4,
            "after1" => after1,
            "after2" => after2,
            "after3" => after3,
            "after4" => after4,
            "answer" => &mut self.answer,
            "asks" => &mut self.asks,
            "stop" => &mut self.stop,
            "author" => &mut self.author,
            "name" => &mut self.name,
            "user" => &mut self.user,
            "date" => &mut self.date,
            "failed" => &mut self.failed,
            "covered" => &mut self.covered,
            "power" => &mut self.power,
            "equal" => &mut self.equal,
            "near" => &mut self.near,
            "meaning" => &mut self.meaning,
            _ => return None,
        })
    }
}
