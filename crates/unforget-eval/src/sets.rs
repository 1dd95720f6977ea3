//! Data sets, read from files and folders and known by their content.

mod beam;
mod known;
mod locomo;
mod longmemeval;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::case::Case;

/// A data set: cases that are searched one by one.
#[derive(Clone, Debug)]
pub struct EvalSet {
    /// Its name in reports.
    pub name: String,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// A half of every data set: weights are chosen on one and reported on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, third, fifth conversation, by name of their files.
    Odd,
    /// The second, fourth, sixth conversation.
    Even,
}

impl Half {
    /// Those of some conversations, in order, that belong to the half.
    fn of<T>(half: Option<Self>, all: Vec<T>) -> Vec<T> {
        let belongs = |place: usize| match half {
            None => true,
            Some(Self::Odd) => place.is_multiple_of(2),
            Some(Self::Even) => !place.is_multiple_of(2),
        };
        (0..).zip(all).filter(|(place, _)| belongs(*place)).map(|(_, one)| one).collect()
    }
}

/// Why a data set cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The file or folder cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A transcript cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Transcript {
        /// The transcript.
        path: PathBuf,
        /// The reason.
        source: unforget_wire::ReadError,
    },
    /// A file that was named holds no data set.
    #[error("{} holds no questions: {detail}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        detail: String,
    },
}

/// The content of some files and folders.
#[derive(Debug, Default)]
pub struct Sources {
    locomo: Vec<Case>,
    longmemeval: Vec<Case>,
    /// By size, such as `100K`.
    beam: BTreeMap<String, Vec<Case>>,
    transcripts: Vec<PathBuf>,
    /// JSON files in folders that hold no data set.
    pub passed_over: Vec<PathBuf>,
}

impl Sources {
    /// Reads files, and folders with all that is in them.
    ///
    /// # Errors
    /// [`SetError::Read`]; [`SetError::Unknown`] for a named JSON file that holds no data set.
    pub fn read(paths: &[PathBuf]) -> Result<Self, SetError> {
        let mut sources = Self::default();
        for path in paths {
            if path.is_dir() {
                sources.folder(path)?;
            } else if let Some(detail) = sources.file(path)? {
                return Err(SetError::Unknown { path: path.clone(), detail });
            }
        }
        Ok(sources)
    }

    fn folder(&mut self, folder: &Path) -> Result<(), SetError> {
        let failed = |source| SetError::Read { path: folder.to_path_buf(), source };
        let mut items = Vec::new();
        for item in fs::read_dir(folder).map_err(failed)? {
            items.push(item.map_err(failed)?.path());
        }
        items.sort_by_key(|path| natural(path));
        for path in items {
            if path.is_dir() {
                self.folder(&path)?;
            } else if self.file(&path)?.is_some() {
                self.passed_over.push(path);
            }
        }
        Ok(())
    }

    /// Takes a file; a description of what it is, if it holds no data set.
    fn file(&mut self, path: &Path) -> Result<Option<String>, SetError> {
        let failed = |source| SetError::Read { path: path.to_path_buf(), source };
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("jsonl") => {
                self.transcripts.push(path.to_path_buf());
                return Ok(None);
            }
            Some("json") => (),
            _ => return Ok(Some("neither JSON nor JSONL".to_owned())),
        }
        let value: Value = match serde_json::from_slice(&fs::read(path).map_err(failed)?) {
            Ok(value) => value,
            Err(error) => return Ok(Some(error.to_string())),
        };
        if let Some(cases) = locomo::cases(&value) {
            self.locomo.extend(cases);
        } else if let Some(cases) = longmemeval::cases(&value) {
            self.longmemeval.extend(cases);
        } else if path.file_name().is_some_and(|name| name == beam::CHAT)
            && let Some(turns) = beam::turns(&value)
        {
            let questions = path.with_file_name("probing_questions").join("probing_questions.json");
            let asked = serde_json::from_slice(&fs::read(&questions).unwrap_or_default());
            let Ok(asked) = asked else { return Ok(Some("a chat of BEAM without its questions".to_owned())) };
            self.beam.entry(beam::size(path)).or_default().push(beam::case(turns, &asked));
        } else {
            return Ok(Some("no known data set".to_owned()));
        }
        Ok(None)
    }

    /// The data sets, by name.
    ///
    /// * `seed` - of the items that are drawn from transcripts.
    ///
    /// # Errors
    /// [`SetError::Read`] for a transcript.
    pub fn sets(self, half: Option<Half>, seed: u64) -> Result<Vec<EvalSet>, SetError> {
        let mut sets = Vec::new();
        let mut add = |name: String, cases: Vec<Case>| {
            if !cases.is_empty() {
                sets.push(EvalSet { name, cases });
            }
        };
        let locomo = Half::of(half, self.locomo);
        let mut beam: Vec<(String, Vec<Case>)> =
            self.beam.into_iter().map(|(size, cases)| (size, Half::of(half, cases))).collect();
        beam.sort_by_key(|(size, _)| natural(Path::new(size)));
        let mixed = mix(&locomo, beam.first().map_or(&[], |(_, cases)| cases.as_slice()));
        add("LoCoMo".to_owned(), locomo);
        for (size, cases) in beam {
            add(format!("BEAM {size}"), cases);
        }
        add("LongMemEval".to_owned(), Half::of(half, self.longmemeval));
        add(
            "known items".to_owned(),
            known::case(&Half::of(half, self.transcripts), seed)?.into_iter().collect(),
        );
        add("mix".to_owned(), mixed.into_iter().collect());
        Ok(sets)
    }
}

/// The questions of LoCoMo in one index with all its conversations and the chats of BEAM: recall at scale.
fn mix(locomo: &[Case], hay: &[Case]) -> Option<Case> {
    if locomo.is_empty() || hay.is_empty() {
        return None;
    }
    let mut all = Case::default();
    // Questions stand between chats, so that neither the newest nor the oldest turns are favoured.
    let (before, after) = hay.split_at(hay.len() / 2);
    for (cases, with_questions) in [(before, false), (locomo, true), (after, false)] {
        for case in cases {
            all.append(case, with_questions);
        }
    }
    Some(all)
}

/// Sorts `2` before `10`, and `100K` before `1M`.
fn natural(path: &Path) -> (u64, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    let unit = if name.get(digits.len()..) == Some("M") { 1_000_000 } else { 1_000 };
    (digits.parse::<u64>().map_or(u64::MAX, |number| number.saturating_mul(unit)), name)
}

/// The text under a key; empty if there is none.
fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
