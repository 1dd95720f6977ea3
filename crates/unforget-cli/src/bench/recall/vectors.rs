//! Vectors for the arm that ranks by meaning too: of turns from a file if it has them, of questions always by the model.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use unforget_core::digest::Digest;
use unforget_eval::Vectors;
use unforget_llm::embed::{Embedder as _, LocalEmbedder, unit_vectors};

use crate::failure::{Failure, Outcome};

/// Longest time of a text.
const WITHIN: Duration = Duration::from_mins(1);

/// Length of a vector that a file may hold, in numbers.
const LENGTH_MAX: u32 = 8192;

/// Bytes of the digest of a text.
const KEY_BYTES: usize = 16;

/// A model with a file of vectors: for each the digest of model and text, its length, its numbers.
pub(super) struct ModelVectors {
    model: LocalEmbedder,
    kept: RefCell<HashMap<[u8; KEY_BYTES], Vec<f32>>>,
    file: Option<RefCell<BufWriter<File>>>,
}

impl ModelVectors {
    /// * `folder` - of the model.
    /// * `file` - keeps vectors of turns for the next run.
    pub(super) fn new(folder: &Path, file: Option<&PathBuf>) -> Outcome<Self> {
        let model = LocalEmbedder::new(folder, None)
            .map_err(|error| Failure::input("model", error.to_string(), "see docs/models.md"))?;
        let mut kept = HashMap::new();
        let mut writer = None;
        if let Some(path) = file {
            let failed = |error: io::Error| Failure::file(path, &error);
            let mut bytes = Vec::new();
            let mut file =
                OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
            file.read_to_end(&mut bytes).map_err(failed)?;
            let whole = read(&bytes, &mut kept);
            // A run that was ended leaves part of a vector.
            file.set_len(whole as u64).map_err(failed)?;
            writer = Some(RefCell::new(BufWriter::new(file)));
        }
        Ok(Self { model, kept: RefCell::new(kept), file: writer })
    }

    fn made(&self, text: &str) -> Result<Vec<f32>, String> {
        let mut made = unit_vectors(&self.model, &[text], None, WITHIN).map_err(|fault| fault.to_string())?;
        made.vectors.pop().ok_or_else(|| "no vector".to_owned())
    }

    fn keep(&self, key: [u8; KEY_BYTES], vector: &[f32]) -> io::Result<()> {
        self.kept.borrow_mut().insert(key, vector.to_vec());
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file.borrow_mut();
        file.write_all(&key)?;
        file.write_all(&(vector.len() as u32).to_le_bytes())?;
        vector.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))
    }
}

/// Reads vectors; returns the number of bytes of whole ones.
fn read(bytes: &[u8], kept: &mut HashMap<[u8; KEY_BYTES], Vec<f32>>) -> usize {
    let mut rest = bytes;
    while let Some((key, after)) = rest.split_first_chunk::<KEY_BYTES>()
        && let Some((length, after)) = after.split_first_chunk::<4>()
        && let length = u32::from_le_bytes(*length)
        && length <= LENGTH_MAX
        && let Some((numbers, after)) = after.split_at_checked(length as usize * 4)
    {
        let vector = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        kept.insert(*key, vector);
        rest = after;
    }
    bytes.len() - rest.len()
}

impl Vectors for ModelVectors {
    fn of_turn(&self, piece: &str) -> Result<Vec<f32>, String> {
        let digest = Digest::of(format!("{}\n{piece}", self.model.name()).as_bytes());
        let key = digest.0.first_chunk().copied().unwrap_or_default();
        if let Some(vector) = self.kept.borrow().get(&key) {
            return Ok(vector.clone());
        }
        let vector = self.made(piece)?;
        self.keep(key, &vector).map_err(|error| error.to_string())?;
        Ok(vector)
    }

    fn of_question(&self, question: &str) -> Result<Vec<f32>, String> {
        self.made(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_vector_is_left_out() {
        let one =
            [&[7; KEY_BYTES][..], &2_u32.to_le_bytes(), &1_f32.to_le_bytes(), &2_f32.to_le_bytes()].concat();
        let two = [&[8; KEY_BYTES][..], &1_u32.to_le_bytes(), &3_f32.to_le_bytes()].concat();
        let whole = [one.clone(), two].concat();
        for (length, want) in
            [(0, 0), (one.len(), 1), (one.len() + 3, 1), (whole.len() - 1, 1), (whole.len(), 2)]
        {
            let mut kept = HashMap::new();
            let read = read(whole.get(..length).unwrap_or_default(), &mut kept);
            assert_eq!(kept.len(), want, "{length}");
            assert!(read <= length && (want == 2 || read == want * one.len()), "{length}: {read}");
        }
    }
}
