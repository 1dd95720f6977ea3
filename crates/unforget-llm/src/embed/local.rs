//! A small model of the BERT family in this process: `all-MiniLM-L6-v2` and others of its form, from a folder.
//!
//! The folder holds `model.safetensors`, `config.json` and `vocab.txt`, as they are published. Nothing is
//! downloaded. Memory: the numbers of the layers (42 MB for that one); the vectors of the words stay in the file.

mod bert;
mod matrix;
mod tensors;
mod wordpiece;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use unforget_core::digest::Digest;

use self::bert::{Bert, Sizes};
use self::tensors::Tensors;
use self::wordpiece::WordPieces;
use super::port::{Embedded, Embedder};
use crate::fault::{Account, Cause, Fault};

/// Most pieces of a text if the folder does not say.
const PIECES: usize = 256;

/// Largest file of settings and words, in bytes.
const TEXT_BYTES_MAX: u64 = 32 << 20;

/// Why a local model cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A model in this process.
pub struct LocalEmbedder {
    folder: PathBuf,
    name: String,
    account: Account,
    /// Loaded when the first text comes.
    loaded: Mutex<Option<Arc<Loaded>>>,
}

struct Loaded {
    bert: Bert,
    pieces: WordPieces,
    /// Most pieces of a text.
    most: usize,
    /// Whether the first piece stands for the text, and not the mean of all.
    is_first: bool,
}

impl LocalEmbedder {
    /// A model in a folder. Looks at the files, but loads the numbers only for the first text.
    ///
    /// # Errors
    /// [`LocalError`] if a file is missing or no model of this kind.
    pub fn new(folder: &Path, name: Option<&str>) -> Result<Self, LocalError> {
        for file in ["config.json", "vocab.txt"] {
            let path = folder.join(file);
            fs::metadata(&path).map_err(|source| LocalError::Unread { path, source })?;
        }
        let tensors = Tensors::open(&folder.join("model.safetensors"))?;
        let usual = folder.file_name().unwrap_or_default().to_string_lossy();
        // Two models of one name are two models: vectors of the one say nothing about those of the other.
        let digest = Digest::of(&tensors.sample()?).hex();
        let name = format!("{}#{}", name.unwrap_or(&usual), digest.get(..8).unwrap_or_default());
        let account = Account { provider: "local".to_owned(), credential: "none".to_owned() };
        Ok(Self { folder: folder.to_path_buf(), name, account, loaded: Mutex::new(None) })
    }

    /// The model, loaded if it was not. Whoever comes meanwhile waits for the loading, but for no text of another.
    fn loaded(&self) -> Result<Arc<Loaded>, LocalError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = loaded.as_ref() {
            return Ok(Arc::clone(loaded));
        }
        let model = Arc::new(Loaded::new(&self.folder)?);
        *loaded = Some(Arc::clone(&model));
        Ok(model)
    }

    fn fault(&self, error: &LocalError) -> Fault {
        let place = "the model's files".to_owned();
        Fault::told(Cause::BadAnswer { place }, &self.account, &self.name, &error.to_string())
    }
}

/// What the files of a folder say, but for the numbers.
struct Parts {
    sizes: Sizes,
    pieces: WordPieces,
    tensors: Tensors,
    most: usize,
    is_first: bool,
}

impl Parts {
    fn read(folder: &Path) -> Result<Self, LocalError> {
        let config = folder.join("config.json");
        let wrong = |path: &Path, what: String| LocalError::Wrong { path: path.to_path_buf(), what };
        let sizes = Sizes::of(&json(&config)?).map_err(|what| wrong(&config, what))?;
        let vocabulary = folder.join("vocab.txt");
        let optional = |name: &str| json(&folder.join(name)).unwrap_or(Value::Null);
        let tokenizer = optional("tokenizer_config.json");
        let is_lower = tokenizer.get("do_lower_case").and_then(Value::as_bool).unwrap_or(true);
        let pieces = WordPieces::new(&text(&vocabulary)?, is_lower)
            .ok_or_else(|| wrong(&vocabulary, "it has no line [UNK], [CLS] or [SEP]".to_owned()))?;
        if pieces.len() > sizes.vocabulary {
            return Err(wrong(&vocabulary, format!("it has more than {} lines", sizes.vocabulary)));
        }
        let told = optional("sentence_bert_config.json").get("max_seq_length").and_then(Value::as_u64);
        let most = told
            .map_or(PIECES, |most| usize::try_from(most).unwrap_or(PIECES))
            .clamp(3, sizes.positions.max(3));
        let pooling = optional("1_Pooling/config.json");
        let is_first = pooling.get("pooling_mode_cls_token").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { sizes, pieces, tensors: Tensors::open(&folder.join("model.safetensors"))?, most, is_first })
    }
}

impl Loaded {
    fn new(folder: &Path) -> Result<Self, LocalError> {
        let Parts { sizes, pieces, tensors, most, is_first } = Parts::read(folder)?;
        Ok(Self { bert: Bert::new(sizes, tensors)?, pieces, most, is_first })
    }

    /// The vector of a text, and the number of its pieces.
    fn vector(&self, text: &str) -> Result<(Vec<f32>, usize), LocalError> {
        let pieces = self.pieces.numbers(text, self.most);
        let rows = self.bert.forward(&pieces)?;
        let width = self.bert.sizes().width;
        let count = if self.is_first { 1 } else { pieces.len() };
        let mut vector = vec![0.0; width];
        for row in rows.chunks_exact(width).take(count) {
            vector.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Ok((vector, pieces.len()))
    }
}

fn json(path: &Path) -> Result<Value, LocalError> {
    let wrong =
        |error: serde_json::Error| LocalError::Wrong { path: path.to_path_buf(), what: error.to_string() };
    serde_json::from_str(&text(path)?).map_err(wrong)
}

fn text(path: &Path) -> Result<String, LocalError> {
    let unread = |source| LocalError::Unread { path: path.to_path_buf(), source };
    let bytes = fs::metadata(path).map_err(unread)?.len();
    if bytes > TEXT_BYTES_MAX {
        return Err(LocalError::Wrong { path: path.to_path_buf(), what: format!("it has {bytes} bytes") });
    }
    fs::read_to_string(path).map_err(unread)
}

impl Embedder for LocalEmbedder {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_local(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str], within: Duration) -> Result<Embedded, Fault> {
        let deadline = Instant::now() + within;
        let model = self.loaded().map_err(|error| self.fault(&error))?;
        let mut embedded = Embedded::default();
        let mut tokens = 0;
        for text in texts {
            if Instant::now() >= deadline {
                return Err(Fault::told(Cause::Timeout, &self.account, &self.name, ""));
            }
            let (vector, pieces) = model.vector(text).map_err(|error| self.fault(&error))?;
            embedded.vectors.push(vector);
            tokens += pieces as u64;
        }
        embedded.tokens = Some(tokens);
        Ok(embedded)
    }
}
