//! Text of the kinds that agents read and write: prose, code, logs, listings, matches.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::random::Random;

/// Writes formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { write!($out, $($arg)*).ok() };
}
pub(crate) use put;

const SYLLABLES: &str = "ba co di fe ga hu jo ka li mo nu pa qui ra se ti ul ve wo xa yo zu an er in on st tr pl gr sh th \
    ch ment tion ing ous able ist ic al ate";
const COMMON: &str = "the of to and a in is for on that with this it as are be from or by an at we can not will if have \
    file run test error function value return when then need should check update add use set new code line data call get \
    one all but has timeout retry config session message token user model build failed passed path server client request \
    response index table query schema import export module class method object string number array type null true false";
const EXTENSIONS: [&str; 10] = ["ts", "py", "rs", "go", "md", "json", "yaml", "sql", "sh", "toml"];
const FOLDERS: [&str; 10] = [
    "src",
    "lib",
    "test",
    "docs",
    "scripts",
    "packages/core",
    "packages/cli",
    "internal/store",
    "cmd",
    "web/components",
];
const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
const VOCABULARY: usize = 24_000;
const POOL: usize = 400_000;

/// The kind of text that a tool returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbered lines of a file.
    Code,
    /// Matching lines of several files.
    Matches,
    /// A fetched page.
    Prose,
    /// Output of a command: log lines, listings, test lines.
    Shell,
    /// A short confirmation.
    Words,
}

/// A source of words: a Zipf-like vocabulary, drawn once into a long run of words. Every text consists of slices of
/// that run, which keeps generation near the speed of copying.
pub(crate) struct Words {
    pub(crate) random: Random,
    pool: String,
    /// Byte offset of each word in `pool`, and the pool's length at the end.
    starts: Vec<u32>,
}

impl Words {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let vocabulary = vocabulary(&mut random);
        let mut total = 0.0;
        let cumulative: Vec<f64> = (0..vocabulary.len())
            .map(|rank| {
                total += 1.0 / (rank as f64 + 2.7);
                total
            })
            .collect();
        let mut pool = String::with_capacity(POOL * 7);
        let mut starts = Vec::with_capacity(POOL + 1);
        for _ in 0..POOL {
            let at = random.fraction() * total;
            let rank = cumulative.partition_point(|sum| *sum <= at);
            starts.push(pool.len() as u32);
            pool.push_str(vocabulary.get(rank).map_or("the", String::as_str));
            pool.push(' ');
        }
        starts.push(pool.len() as u32);
        Self { random, pool, starts }
    }

    /// A place in the pool with at least `count` words behind it.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        self.random.below(POOL.saturating_sub(count))
    }

    /// The `count` words from a place on, separated by spaces.
    pub(crate) fn run(&self, place: usize, count: usize) -> &str {
        let from = self.starts.get(place).copied().unwrap_or_default() as usize;
        let to = self.starts.get(place + count).copied().unwrap_or_default() as usize;
        self.pool.get(from..to.saturating_sub(1)).unwrap_or_default()
    }

    /// Appends `count` words.
    pub(crate) fn words(&mut self, out: &mut String, count: usize) {
        let place = self.place(count);
        out.push_str(self.run(place, count));
    }

    /// Appends a path of a source file.
    pub(crate) fn path(&mut self, out: &mut String) {
        let (folder, extension) = (self.random.pick(&FOLDERS), self.random.pick(&EXTENSIONS));
        let place = self.place(2);
        put!(out, "{folder}/{}_{}.{extension}", self.run(place, 1), self.run(place + 1, 1));
    }

    /// Appends a folder.
    pub(crate) fn folder(&mut self, out: &mut String) {
        out.push_str(self.random.pick(&FOLDERS));
    }

    /// Appends `count` letters and digits, as in providers' ids.
    pub(crate) fn letters(&mut self, out: &mut String, count: usize) {
        for _ in 0..count {
            out.push(char::from(self.random.pick(LETTERS)));
        }
    }

    /// Appends `count` hex digits, at most 16.
    pub(crate) fn hex(&mut self, out: &mut String, count: usize) {
        let bits = self.random.bits() >> (64 - 4 * count.clamp(1, 16));
        put!(out, "{bits:0count$x}");
    }

    /// Appends sentences, exactly `bytes` long.
    pub(crate) fn prose(&mut self, out: &mut String, bytes: usize) {
        let end = out.len() + bytes.max(2);
        while out.len() < end {
            let from = out.len();
            let count = self.random.between(6, 22) as usize;
            self.words(out, count);
            if let Some(first) = out.get_mut(from..=from) {
                first.make_ascii_uppercase();
            }
            out.push_str(self.random.pick(&[".", ".", ".", ":", "?", ","]));
            if self.random.chance(0.12) {
                out.push_str(" See `");
                self.path(out);
                out.push('`');
            }
            if self.random.chance(0.05) {
                out.push_str("\n\n- ");
                self.words(out, 5);
            }
            out.push(' ');
        }
        out.truncate(end);
    }

    /// Appends a line of code, without its end.
    pub(crate) fn code_line(&mut self, out: &mut String) {
        let at = self.place(4);
        let indent = "        ".get(..2 * self.random.below(5)).unwrap_or_default();
        let (kind, number) = (self.random.fraction(), self.random.below(10_000));
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| self.run(at + n, 1));
        if kind < 0.2 {
            put!(out, "{indent}const {a}_{b} = await {c}.{d}({number});");
        } else if kind < 0.4 {
            put!(out, "{indent}if ({a} !== \"{b}\") {{ return {c}({d}); }}");
        } else if kind < 0.55 {
            put!(out, "{indent}// {a} {b} {c} {d}");
        } else if kind < 0.7 {
            put!(out, "{indent}{a}: {{ \"{b}\": 0.{number:04}, \"{c}\": \"{d}\" }},");
        } else if kind < 0.85 {
            put!(out, "{indent}def {a}_{b}(self, {c}): return self.{d}");
        } else {
            put!(out, "{indent}}}");
        }
    }

    /// Appends a log line, without its end.
    fn log_line(&mut self, out: &mut String) {
        let level = ["INFO", "DEBUG", "WARN", "ERROR"]
            .get(self.random.weighted(&[70, 18, 8, 4]))
            .copied()
            .unwrap_or_default();
        let count = self.random.between(4, 12) as usize;
        let place = self.place(count + 1);
        let r = &mut self.random;
        let (month, day, hour) = (r.between(1, 12), r.between(1, 28), r.between(0, 23));
        let (minute, second) = (r.between(0, 59), r.between(0, 59));
        let (id, ms) = (r.bits() >> 16, r.between(0, 5000));
        put!(
            out,
            "2025-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z {level} [{}] {} id={id:012x} ms={ms}",
            self.run(place, 1),
            self.run(place + 1, count),
        );
    }

    fn shell_line(&mut self, out: &mut String) {
        let kind = self.random.fraction();
        if kind < 0.55 {
            self.log_line(out);
        } else if kind < 0.8 {
            let r = &mut self.random;
            let (size, day) = (r.between(10, 99_999), r.between(1, 28));
            let (hour, minute) = (r.between(0, 23), r.between(0, 59));
            put!(out, "-rw-r--r-- 1 root root {size:8} Jun {day:2} {hour:02}:{minute:02} ");
            self.path(out);
        } else {
            let (number, ms) = (self.random.between(1, 999), self.random.between(1, 900));
            put!(out, "  ok {number} - ");
            self.words(out, 6);
            put!(out, " ({ms}ms)");
        }
    }

    /// Appends tool output of a kind, exactly `bytes` long.
    pub(crate) fn tool_text(&mut self, out: &mut String, kind: Kind, bytes: usize) {
        let end = out.len() + bytes;
        let mut line = 1;
        while out.len() < end {
            match kind {
                Kind::Code => {
                    put!(out, "{line:6}\t");
                    self.code_line(out);
                }
                Kind::Matches => {
                    self.path(out);
                    let number = self.random.between(1, 900);
                    put!(out, ":{number}:");
                    self.code_line(out);
                }
                Kind::Prose => {
                    let length = self.random.between(80, 400) as usize;
                    self.prose(out, length);
                }
                Kind::Shell => self.shell_line(out),
                Kind::Words => self.words(out, 9),
            }
            out.push('\n');
            line += 1;
        }
        out.truncate(end);
    }
}

/// The vocabulary, most frequent first. All words are ASCII, so texts may be cut at any byte.
fn vocabulary(random: &mut Random) -> Vec<String> {
    let syllables: Vec<&str> = SYLLABLES.split_whitespace().collect();
    let mut list: Vec<String> = COMMON.split_whitespace().map(String::from).collect();
    let mut seen: BTreeSet<String> = list.iter().cloned().collect();
    while list.len() < VOCABULARY {
        let count = random.pick(&[2, 2, 3, 3, 4]);
        let word: String = (0..count).map(|_| random.pick(&syllables)).collect();
        if seen.insert(word.clone()) {
            list.push(word);
        }
    }
    list
}
